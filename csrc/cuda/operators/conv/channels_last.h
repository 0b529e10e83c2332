// The same kernels as of plain order, which cuDNN takes with the channels last as well. They are
// chosen for images that lie so, and where tensor cores compute, which want no other order: always
// in 16-bit floats.
#pragma once

#include "op/op_registry.h"
#include "operators/conv/conv_geometry.h"
#include "platform/device_flags.h"

namespace dygraph::conv {

// The first tensor is Input, the last Output@GRAD of a gradient. data_format says for itself that
// the channels are last.
inline bool WantsChannelsLast(const Call& call) {
  const Dims& x = call.in.at(0)->dims();
  const bool image = x.rank() == 4;
  if (!image && x.rank() != 5) return false;
  if (image ? static_cast<const Attrs<2>*>(call.attrs)->channels_last()
            : static_cast<const Attrs<3>*>(call.attrs)->channels_last())
    return false;
  if (FLAGS_allow_tf32 || IsNarrow(call.in.at(0)->dtype())) return true;
  for (const Value* v : call.in.flat()) {
    if (v && v->is_tensor() && v->tensor().layout() == Layout::kNHWC) return true;
  }
  return false;
}

}  // namespace dygraph::conv

#define REGISTER_CHANNELS_LAST(type, kernel, ...)                                         \
  REGISTER_KERNEL(type, kCUDA, kNHWC, kCUDNN, ::dygraph::conv::WantsChannelsLast, kernel, \
                  __VA_ARGS__)
