// The processor's flag of invalid floating-point operations, which each thread has.
#pragma once

namespace dygraph {

// Whether the flag can be read here.
#if defined(__x86_64__)
constexpr bool kSeesInvalid = true;
#else
constexpr bool kSeesInvalid = false;
#endif

// Whether an operation of the calling thread was invalid since its last call: a NaN that was
// compared or replaced by another number, infinity less infinity, and the like.
bool TakeInvalid();

}  // namespace dygraph
