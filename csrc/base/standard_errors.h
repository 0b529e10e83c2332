// The standard library's exceptions as our own, so that the user always gets a typed error.
#pragma once

#include "base/enforce.h"

namespace dygraph {

// Throws the exception in flight again; std::bad_alloc, length_error and out_of_range as an Error.
// Call inside catch (...). Exceptions of other libraries pass through as they are.
[[noreturn]] void RethrowTyped();

}  // namespace dygraph
