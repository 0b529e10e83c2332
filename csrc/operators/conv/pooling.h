// What the pooling operators share, over 2 or 3 axes: attributes, geometry and shape rule.
#pragma once

#include <array>
#include <limits>

#include "kernels/pool.h"
#include "operators/conv/window.h"

namespace dygraph::pool {

template <int kAxes>
struct Attrs {
  std::string pooling_type = "max";
  std::vector<int32_t> ksize;
  bool global_pooling = false;
  std::vector<int32_t> strides = std::vector<int32_t>(kAxes, 1);
  std::vector<int32_t> paddings = std::vector<int32_t>(kAxes, 0);
  bool exclusive = true;
  bool adaptive = false;
  bool ceil_mode = false;
  std::string data_format = kAxes == 2 ? "NCHW" : "NCDHW";
  std::string padding_algorithm = "EXPLICIT";
  bool channels_last() const { return data_format == "NHWC" || data_format == "NDHWC"; }
  bool max() const { return pooling_type == "max"; }
};

template <int kAxes>
using Axes = std::array<window::Axis, kAxes>;

// Throws unless everything fits.
template <int kAxes>
Axes<kAxes> Describe(const Dims& x, const Attrs<kAxes>& a) {
  const char* order =
      kAxes == 2 ? (a.channels_last() ? "NHWC" : "NCHW") : (a.channels_last() ? "NDHWC" : "NCDHW");
  ENFORCE(x.rank() == kAxes + 2, InvalidArgument, "X must have ", kAxes + 2, " axes, ", order,
          ", got shape ", x);
  window::ImageDims in(x, a.channels_last());
  Axes<kAxes> axes;
  for (int i = 0; i < kAxes; ++i) axes[i].size = x[in.first + i];
  if (a.global_pooling) {
    for (window::Axis& axis : axes) axis.kernel = axis.size;
    return axes;
  }
  window::CheckCount("ksize", a.ksize, kAxes);
  window::CheckCount("strides", a.strides, kAxes);
  for (int32_t size : a.ksize) {
    ENFORCE(size > 0, InvalidArgument, "ksize must be positive unless global_pooling is set, got ",
            Dims(std::vector<int64_t>(a.ksize.begin(), a.ksize.end())));
  }
  for (int i = 0; i < kAxes; ++i) axes[i].kernel = a.ksize[i];
  if (a.adaptive) return axes;
  for (int i = 0; i < kAxes; ++i) axes[i].stride = a.strides[i];
  window::SetPaddings(a.paddings, a.padding_algorithm, axes.data(), kAxes);
  for (const window::Axis& axis : axes) {
    ENFORCE(std::max(axis.before, axis.after) < axis.kernel, InvalidArgument,
            "paddings must be smaller than ksize, got ", std::max(axis.before, axis.after), " and ",
            axis.kernel, ": a window would see padding only");
  }
  for (int i = 0; i < kAxes; ++i) window::CheckAxis(window::AxisName(i, kAxes), axes[i]);
  return axes;
}

template <int kAxes>
Dims OutDims(const Dims& x, const Attrs<kAxes>& a) {
  Axes<kAxes> axes = Describe(x, a);
  for (window::Axis& axis : axes) {
    if (a.global_pooling) {
      axis.size = 1;
    } else {
      axis.size = a.adaptive ? axis.kernel : axis.Out(a.ceil_mode);
    }
  }
  window::ImageDims in(x, a.channels_last());
  return window::MakeImageDims(in.n, in.c, axes.data(), kAxes, a.channels_last());
}

template <int kAxes>
kernels::PoolAxis Windows(const window::Axis& v, const Attrs<kAxes>& a) {
  if (a.global_pooling) return kernels::AdaptiveWindows(v.size, 1);
  if (a.adaptive) return kernels::AdaptiveWindows(v.size, v.kernel);
  return kernels::SlidingWindows(v.size, v.Out(a.ceil_mode), v.kernel, v.stride, v.before,
                                 a.exclusive);
}

// The attributes that all pooling operators have.
template <int kAxes>
OpDef& WindowAttrs(OpDef& op) {
  using A = Attrs<kAxes>;
  return op.Attr(&A::ksize, "ksize", "the window, or with adaptive the output's size")
      .Attr(&A::global_pooling, "global_pooling",
            "one window over the whole image; ksize and paddings do not count")
      .Attr(&A::adaptive, "adaptive", "windows share the image out evenly")
      .Attr(&A::strides, "strides", "of the window", EachAtLeast(1))
      .Attr(&A::paddings, "paddings", "one number for each axis, or one for each end",
            EachAtLeast(0));
}

template <int kAxes>
OpDef& AllAttrs(OpDef& op) {
  using A = Attrs<kAxes>;
  return WindowAttrs<kAxes>(op)
      .Attr(&A::pooling_type, "pooling_type", "max or avg", OneOf({"max", "avg"}))
      .Attr(&A::exclusive, "exclusive", "an average does not count padding")
      .Attr(&A::ceil_mode, "ceil_mode", "a last window may reach beyond the padding")
      .Attr(&A::data_format, "data_format", "the order of the axes",
            kAxes == 2 ? OneOf({"NCHW", "NHWC", "AnyLayout"})
                       : OneOf({"NCDHW", "NDHWC", "NCHW", "NHWC", "AnyLayout"}))
      .Attr(&A::padding_algorithm, "padding_algorithm", "SAME and VALID replace paddings",
            OneOf({"EXPLICIT", "SAME", "VALID"}));
}

}  // namespace dygraph::pool
