// The slot flag of inputs that may hold selected rows. It stands apart from SlotFlags because few
// files need it.
#pragma once

#include "op/op_info.h"

namespace dygraph {

constexpr uint8_t kRows = 32;
static_assert(kRows > kWeight, "kRows must be a bit of its own beside those of SlotFlags");

inline bool TakesRows(const SlotInfo& slot) { return slot.flags & kRows; }

}  // namespace dygraph
