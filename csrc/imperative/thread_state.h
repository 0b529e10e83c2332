// What each thread has switched on: recording, listeners, the place new data goes to.
#pragma once

#include <cstdint>
#include <string>

#include "base/small_vector.h"
#include "platform/place.h"
#include "tensor/dtype.h"

namespace dygraph {

class CallInputs;
class Listener;
class SavedValueHooks;

struct ThreadState {
  bool grad_enabled = true;
  // Why gradients are off, for the error of a later backward(): nullptr for no_grad.
  const std::string* grad_off_reason = nullptr;
  // Calls without inputs are written into the program that is being described, not computed.
  bool describing = false;
  Place place;
  DType cast_floats_to = DType::kUnset;  // guard(dtype='float32'): incoming float64 becomes this
  SmallVector<Listener*, 2> listeners;   // besides the tape
  SavedValueHooks* saved_value_hooks = nullptr;  // decide how the tape keeps values; innermost
  CallInputs* inputs = nullptr;  // of the eager call that runs; innermost
  // A backward pass: how many play (a hook may start one in another), and who made the forward call
  // of the node that plays, where callers are noted.
  int playing = 0;
  const std::string* playing_caller = nullptr;
};

namespace detail {
extern __thread ThreadState* t_state __attribute__((tls_model("initial-exec")));
ThreadState& MakeThreadState();
}  // namespace detail

inline ThreadState& CurrentThread() {
  ThreadState* state = detail::t_state;
  return __builtin_expect(state != nullptr, 1) ? *state : detail::MakeThreadState();
}

// Switches recording for a scope of C++ code.
class GradSwitch {
 public:
  explicit GradSwitch(bool on) : saved_(CurrentThread().grad_enabled) {
    CurrentThread().grad_enabled = on;
  }
  ~GradSwitch() { CurrentThread().grad_enabled = saved_; }

 private:
  bool saved_;
};

// Eager random numbers: stream = (seed, number of the random call).
void SeedGenerator(uint64_t seed);
uint64_t GeneratorSeed();
uint64_t NextRandomCall(uint64_t count = 1);  // the first of `count` numbers
struct GeneratorState {
  uint64_t seed, calls;
};
GeneratorState GetGeneratorState();
void SetGeneratorState(GeneratorState state);

// What the Python room lends: long kernels run without the interpreter's lock; loops of our own ask
// for signals.
struct InterpreterHooks {
  void* (*release_lock)() = nullptr;
  void (*acquire_lock)(void*) = nullptr;
  void (*check_signals)() = nullptr;  // throws Interrupted
};
InterpreterHooks& Interpreter();

}  // namespace dygraph
