// The standard library's exceptions as our own: what one of ours did not refuse in time still
// reaches the user typed.
#pragma once

#include "base/enforce.h"

namespace dygraph {

// Throws the exception in flight again; std::bad_alloc, length_error and out_of_range as an Error.
// Call inside catch (...). Exceptions of other libraries pass through as they are.
[[noreturn]] void RethrowTyped();

}  // namespace dygraph
