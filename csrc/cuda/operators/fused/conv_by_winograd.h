// operators/fused/conv_by_winograd.h on the device: cuDNN itself chooses the method.
#pragma once

#include "op/kept_form.h"
#include "operators/conv/conv_geometry.h"

namespace dygraph::fused {

inline bool ByWinograd(const Tensor&, const Tensor&, const Tensor*, const Tensor*, KeptForm*,
                       const conv::Geometry&, const conv::Attrs<2>&, bool, Tensor*) {
  return false;
}

}  // namespace dygraph::fused
