#include "base/standard_errors.h"

#include <new>
#include <stdexcept>

namespace dygraph {

void RethrowTyped() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    THROW(ResourceExhausted, "the system has no memory left for what this call needs");
  } catch (const std::length_error& e) {
    THROW(ResourceExhausted, "a list must fit into memory, got one that cannot (", e.what(), ")");
  } catch (const std::out_of_range& e) {
    THROW(OutOfRange, "a position lies outside of its list (", e.what(), ")");
  }
}

}  // namespace dygraph
