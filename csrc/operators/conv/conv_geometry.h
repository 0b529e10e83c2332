// What convolutions and their transposes share, over 2 or 3 axes: attributes and geometry.
#pragma once

#include "op/open_attr.h"
#include "operators/conv/window.h"

namespace dygraph::conv {

template <int kAxes>
struct Attrs {
  std::vector<int32_t> strides = std::vector<int32_t>(kAxes, 1);
  std::vector<int32_t> paddings = std::vector<int32_t>(kAxes, 0);
  std::string padding_algorithm = "EXPLICIT";
  int32_t groups = 1;
  std::vector<int32_t> dilations = std::vector<int32_t>(kAxes, 1);
  // Of a transposed convolution; both empty: the smallest.
  std::vector<int32_t> output_size, output_padding;
  std::string data_format = kAxes == 2 ? "NCHW" : "NCDHW";
  // "AnyLayout" of old programs is NCHW; Fluid writes NCHW and NHWC for volumes too.
  bool channels_last() const { return data_format == "NHWC" || data_format == "NDHWC"; }
};

// Of the convolution, from `c` channels to `out_c`. A transposed one is described by the
// convolution that it transposes: its Input is that one's output. Images have depth 1.
struct Geometry {
  int64_t n, c, out_c, groups;
  window::Axis d, h, w;
};

namespace detail {

template <int kAxes>
void CheckRanks(const Dims& input, const Dims& filter, const Attrs<kAxes>& a, bool transposed) {
  const char* order =
      kAxes == 2 ? (a.channels_last() ? "NHWC" : "NCHW") : (a.channels_last() ? "NDHWC" : "NCDHW");
  ENFORCE(input.rank() == kAxes + 2, InvalidArgument, "Input must have ", kAxes + 2, " axes, ",
          order, ", got shape ", input);
  ENFORCE(
      filter.rank() == kAxes + 2, InvalidArgument, "Filter must have ", kAxes + 2, " axes, [",
      transposed ? "in channels, out channels / groups, " : "out channels, in channels / groups, ",
      window::AxisNames(kAxes), "], got shape ", filter);
  window::CheckCount("strides", a.strides, kAxes);
  window::CheckCount("dilations", a.dilations, kAxes);
}

// The axes with Input's sizes.
template <int kAxes>
void SetAxes(const Dims& input, const Dims& filter, const Attrs<kAxes>& a, window::Axis* axes) {
  window::ImageDims in(input, a.channels_last());
  for (int i = 0; i < kAxes; ++i) {
    window::Axis& axis = axes[i];
    axis.size = input[in.first + i];
    axis.kernel = filter[2 + i];
    axis.stride = a.strides[i];
    axis.dilation = a.dilations[i];
    ENFORCE(axis.kernel != 0, InvalidArgument, "Filter must have a positive ",
            kAxes == 2 ? "height and width" : "depth, height and width", ", got shape ", filter);
  }
  window::SetPaddings(a.paddings, a.padding_algorithm, axes, kAxes);
}

template <int kAxes>
Geometry Assemble(int64_t n, int64_t c, int64_t out_c, int64_t groups, const window::Axis* axes) {
  Geometry g = {n, c, out_c, groups, {}, axes[kAxes - 2], axes[kAxes - 1]};
  g.d.size = 1;
  if (kAxes == 3) g.d = axes[0];
  return g;
}

}  // namespace detail

// Throws unless everything fits. Filter [out_c, c / groups, kernel ...].
template <int kAxes>
Geometry Describe(const Dims& input, const Dims& filter, const Attrs<kAxes>& a) {
  detail::CheckRanks(input, filter, a, false);
  window::ImageDims in(input, a.channels_last());
  int64_t out_c = filter[0], groups = a.groups;
  ENFORCE(MulSizes(filter[1], groups) == in.c || !BothKnown(filter[1], in.c), InvalidArgument,
          "the channels of Input ", input, " must be groups times those of Filter ", filter,
          ", got ", in.c, " and ", groups, " x ", filter[1]);
  ENFORCE(out_c < 0 || out_c % groups == 0, InvalidArgument, "groups must divide the ", out_c,
          " output channels of Filter ", filter, ", got ", groups);
  window::Axis axes[kAxes];
  detail::SetAxes(input, filter, a, axes);
  for (int i = 0; i < kAxes; ++i) {
    if (axes[i].kernel > 0) window::CheckAxis(window::AxisName(i, kAxes), axes[i]);
  }
  return detail::Assemble<kAxes>(in.n, in.c, out_c, groups, axes);
}

// The same for a transposed convolution. Filter [channels of Input, channels of Output / groups,
// kernel ...].
template <int kAxes>
Geometry DescribeTransposed(const Dims& input, const Dims& filter, const Attrs<kAxes>& a) {
  detail::CheckRanks(input, filter, a, true);
  window::ImageDims in(input, a.channels_last());
  ENFORCE(filter[0] == in.c || !BothKnown(filter[0], in.c), InvalidArgument,
          "the channels of Input ", input, " must be those Filter ", filter, " begins with, got ",
          in.c, " and ", filter[0]);
  ENFORCE(in.c < 0 || in.c % a.groups == 0, InvalidArgument, "groups must divide the ", in.c,
          " channels of Input ", input, ", got ", a.groups);
  int given = static_cast<int>(a.output_size.size());
  ENFORCE(given == 0 || given == kAxes, InvalidArgument, "output_size must be [",
          window::AxisNames(kAxes), "] or empty, got ", given, " numbers");
  int more = static_cast<int>(a.output_padding.size());
  ENFORCE(more == 0 || more == kAxes, InvalidArgument, "output_padding must be [",
          window::AxisNames(kAxes), "] or empty, got ", more, " numbers");
  window::Axis axes[kAxes];
  detail::SetAxes(input, filter, a, axes);
  for (int i = 0; i < kAxes; ++i) {
    window::Axis& axis = axes[i];
    bool known = BothKnown(axis.size, axis.kernel);
    int64_t least = (axis.size - 1) * axis.stride + axis.Reach() - axis.before - axis.after;
    ENFORCE(!known || least > 0, InvalidArgument, "Output must have a positive ",
            window::AxisName(i, kAxes), ", got ", least, " from (", axis.size, " - 1) * ",
            axis.stride, " + ", axis.Reach(), " - ", axis.before, " - ", axis.after);
    axis.size = known ? least : -1;
    if (given == 0) {
      if (more == 0) continue;
      int64_t pixels = a.output_padding[i];
      ENFORCE(pixels < axis.stride, InvalidArgument,
              "output_padding must be less than the stride along the ", window::AxisName(i, kAxes),
              ", ", axis.stride, ", got ", pixels);
      if (known) axis.size += pixels;
      continue;
    }
    axis.size = IsOpen(a.output_size[i]) ? -1 : a.output_size[i];
    ENFORCE(!known || axis.size < 0 || (axis.size >= least && axis.size < least + axis.stride), InvalidArgument,
            "output_size must lie in [", least, ", ", least + axis.stride, ") along the ",
            window::AxisName(i, kAxes), ", got ", axis.size);
  }
  return detail::Assemble<kAxes>(in.n, MulSizes(filter[1], a.groups), in.c, a.groups, axes);
}

}  // namespace dygraph::conv
