// conv2d_fusion by Winograd's method, which the host has for windows of 3 x 3.
#pragma once

#include <cstring>
#include <memory>

#include "kernels/winograd.h"
#include "op/kept_form.h"
#include "operators/conv/conv_geometry.h"

namespace dygraph::fused {

// A filter in the points of Winograd's method, beside it.
struct FilterPoints : KeptForm::Form {
  explicit FilterPoints(const Tensor& filter)
      : Form(kernels::Winograd(filter.dim(1), filter.dim(0)).bytes(), Library::kPlain),
        winograd(filter.dim(1), filter.dim(0)),
        room(CPUPlace(), winograd.bytes()) {
    winograd.Pack(filter.data<float>(), room.as<float>());
  }
  const kernels::Winograd winograd;
  mutable Scratch room;
};

// Below, the points of an image cost more than its products save.
constexpr int64_t kLeastChannels = 16;
inline bool IsByWinograd(const conv::Geometry& g, const conv::Attrs<2>& a) {
  for (const window::Axis* axis : {&g.h, &g.w}) {
    if (axis->kernel != 3 || axis->stride != 1 || axis->dilation != 1) return false;
  }
  return g.groups == 1 && !a.channels_last() && g.c >= kLeastChannels && g.out_c >= kLeastChannels;
}

// False, and nothing is done, where it does not serve.
inline bool ByWinograd(const Tensor& input, const Tensor& filter, const Tensor* bias,
                       const Tensor* residual, KeptForm* kept, const conv::Geometry& g,
                       const conv::Attrs<2>& of, bool relu, Tensor* result) {
  if (!IsByWinograd(g, of)) return false;
  Tensor& out = *result;
  std::shared_ptr<const FilterPoints> points;
  if (kept) points = std::dynamic_pointer_cast<const FilterPoints>(kept->Find(filter));
  if (!points || !points->winograd.fits()) {
    points = std::make_shared<const FilterPoints>(filter);
    const size_t bytes = points->winograd.bytes();
    if (kept && KeptForm::MayKeep(filter) && KeptForm::HasRoom(bytes))
      kept->Keep(filter, points);
  }
  const Tensor x = ToLayout(input, Layout::kNHWC);
  const Tensor added = residual ? ToLayout(*residual, Layout::kNHWC) : Tensor();
  const bool plain = out.layout() == Layout::kPlain;
  Tensor own;
  if (plain) own.Allocate(out.dims(), DType::kFloat32, CPUPlace(), Layout::kNHWC);
  float* y = plain ? own.mutable_data<float>() : out.mutable_data<float>();
  points->winograd.Run({g.n, g.h.size, g.w.size, g.c, g.out_c, g.h.before, g.w.before, g.h.Out(),
                        g.w.Out()},
                       x.data<float>(), points->room.as<float>(),
                       bias ? bias->data<float>() : nullptr,
                       residual ? added.data<float>() : nullptr, relu, y);
  if (!plain) return true;
  const Tensor turned = ToLayout(own, Layout::kPlain);
  std::memcpy(out.mutable_data<float>(), turned.data<float>(), turned.bytes());
  return true;
}

}  // namespace dygraph::fused
