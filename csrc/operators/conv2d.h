// What conv2d's kernels share: attributes, slots, geometry.
#pragma once

#include "operators/window.h"

namespace dygraph::conv2d {

constexpr int kInput = 0, kFilter = 1, kBias = 2, kResidual = 3, kOutput = 0;
namespace grad {
constexpr int kInput = 0, kFilter = 1, kBias = 2, kOutputGrad = 3;
constexpr int kInputGrad = 0, kFilterGrad = 1, kBiasGrad = 2;
}  // namespace grad

struct Attrs {
  std::vector<int32_t> strides = {1, 1};
  std::vector<int32_t> paddings = {0, 0};
  std::string padding_algorithm = "EXPLICIT";
  int32_t groups = 1;
  std::vector<int32_t> dilations = {1, 1};
  std::string data_format = "NCHW";
  bool channels_last() const {
    return data_format == "NHWC";
  }  // "AnyLayout" of old programs is NCHW
};

struct Geometry {
  int64_t n, c, out_c, groups;
  window::Axis h, w;
};

// Throws unless everything fits. Filter [out_c, c / groups, kernel_h, kernel_w].
inline Geometry Describe(const Dims& input, const Dims& filter, const Attrs& a) {
  ENFORCE(input.rank() == 4, InvalidArgument, "Input must have 4 axes, ",
          a.channels_last() ? "NHWC" : "NCHW", ", got shape ", input);
  ENFORCE(filter.rank() == 4, InvalidArgument,
          "Filter must have 4 axes, [out channels, in channels / groups, height, width], "
          "got shape ",
          filter);
  window::CheckPair("strides", a.strides);
  window::CheckPair("dilations", a.dilations);
  window::ImageDims in(input, a.channels_last());
  Geometry g;
  g.n = in.n;
  g.c = in.c;
  g.out_c = filter[0];
  g.groups = a.groups;
  ENFORCE(MulSizes(filter[1], g.groups) == g.c || !BothKnown(filter[1], g.c), InvalidArgument,
          "the channels of Input ", input, " must be groups times those of Filter ", filter,
          ", got ", g.c, " and ", g.groups, " x ", filter[1]);
  ENFORCE(g.out_c < 0 || g.out_c % g.groups == 0, InvalidArgument, "groups must divide the ",
          g.out_c, " output channels of Filter ", filter, ", got ", g.groups);
  g.h.size = in.h;
  g.w.size = in.w;
  for (int i = 0; i < 2; ++i) {
    window::Axis& axis = i == 0 ? g.h : g.w;
    axis.kernel = filter[2 + i];
    axis.stride = a.strides[i];
    axis.dilation = a.dilations[i];
    ENFORCE(axis.kernel != 0, InvalidArgument,
            "Filter must have a positive height and width, got shape ", filter);
  }
  window::SetPaddings(a.paddings, a.padding_algorithm, &g.h, &g.w);
  if (g.h.kernel > 0) window::CheckAxis("height", g.h);
  if (g.w.kernel > 0) window::CheckAxis("width", g.w);
  return g;
}

}  // namespace dygraph::conv2d
