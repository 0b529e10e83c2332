// What the random numbers of a call are drawn from.
#pragma once

#include <cstdint>

#include "base/marks.h"

namespace dygraph {

// A seed and one of its streams. The recorded work of a device draws others each time it is played:
// then it finds a seed, and the stream that `stream` counts from, at an address of the device.
struct RandomSource {
  uint64_t seed = 0, stream = 0;
  const uint64_t* at = nullptr;

  // For loops, of the device where `at` is given.
  DYGRAPH_FN uint64_t Seed() const { return at ? at[0] : seed; }
  DYGRAPH_FN uint64_t Stream() const { return at ? at[1] + stream : stream; }
};

}  // namespace dygraph
