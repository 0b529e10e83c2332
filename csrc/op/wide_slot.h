// Parameters and statistics of norms: they stay float32 where the values beside them have 16 bits.
#pragma once

#include "op/op_info.h"

namespace dygraph {

// A flag of slots: of float32 where the kernel's type is float16 or bfloat16.
constexpr int kWide = 8192;
inline bool IsWide(const SlotInfo& slot) { return slot.flags & kWide; }

inline bool IsNarrow(DType t) { return t == DType::kFloat16 || t == DType::kBFloat16; }
inline DType WideOf(DType t) { return IsNarrow(t) ? DType::kFloat32 : t; }

}  // namespace dygraph
