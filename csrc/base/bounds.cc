#include "base/bounds.h"

#include "base/enforce.h"

namespace dygraph {

void FailIndex(size_t i, size_t size) {
  THROW(OutOfRange, "a position must be below ", size, ", got ", static_cast<int64_t>(i));
}

void FailCapacity(size_t size, size_t capacity) {
  THROW(OutOfRange, "a list holds at most ", capacity, " elements, got ", size);
}

}  // namespace dygraph
