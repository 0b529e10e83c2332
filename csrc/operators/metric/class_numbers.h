// Class numbers that metrics count.
#pragma once

#include "op/index_guard.h"

namespace dygraph {

// The host raises where one is no class; a device does so where they are read, by an IndexGuard.
template <class I>
void CheckClasses(const char* slot, const I* list, int64_t n, int64_t classes) {
  CheckEach(n, [=](int64_t i) {
    ENFORCE(list[i] >= 0 && list[i] < classes, OutOfRange, slot, " must be classes in [0, ",
            classes, "), got ", list[i], " at position ", i);
  });
}

}  // namespace dygraph
