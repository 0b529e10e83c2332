// X as [outer, n, inner] with one slope for each of the n.
#pragma once

#include <cstdint>

namespace dygraph {

struct Slopes {
  int64_t outer, n, inner;
};

}  // namespace dygraph
