// The processor's flag of invalid floating-point operations, of all compute threads.
#pragma once

namespace dygraph {

// Whether the flag can be read here.
#if defined(__x86_64__)
constexpr bool kSeesInvalid = true;
#else
constexpr bool kSeesInvalid = false;
#endif

// Whether an operation of any compute thread of the caller was invalid since the last call: a NaN
// that was compared or replaced by another number, infinity less infinity, and the like.
bool TakeInvalid();

}  // namespace dygraph
