// The state of each thread: the layers of its calls, the place of new data.
#pragma once

#include <string>

#include "platform/place.h"
#include "tensor/dtype.h"

namespace dygraph {

class AddedLayers;
class DescribingLayer;
class Layer;
class Listener;
class SavedValueHooks;
class TapeLayer;
class Variable;

struct ThreadState {
  // The first layer of a call; nullptr: the call is only computed.
  Layer* layer = nullptr;
  Listener* listeners = nullptr;  // below the tape, the newest first
  // Of this thread, switched on or not: an input that is symbolic brings it along.
  DescribingLayer* describing_layer = nullptr;
  AddedLayers* added_layers = nullptr;  // of this thread, above the tape
  // Added layers or listeners look at calls: values of inputs stay, results are there at the end.
  bool observed = false;
  bool recording = true;    // on the tape
  bool describing = false;  // calls without inputs are written into a program
  // A function is run to become a program: what it computes under no_grad() has no gradient there.
  bool exploring = false;
  // Why gradients are off, for the error of a later backward(): nullptr for no_grad.
  const std::string* grad_off_reason = nullptr;
  Place place;
  DType cast_floats_to = DType::kUnset;  // guard(dtype='float32'): incoming float64 becomes this
  SavedValueHooks* saved_value_hooks = nullptr;  // decide how the tape keeps values; innermost
  // A backward pass: how many play (a hook may start one in another), and who made the forward call
  // of the node that plays, where callers are noted.
  int playing = 0;
  const std::string* playing_caller = nullptr;

  // They give what was before.
  bool SetRecording(bool on);
  bool SetDescribing(bool on);

  void OnRead(Variable& v, const char* how) const;
  void OnWrite(Variable& v) const;
  void OnBackward(Variable& root) const;
  void Add(Listener* listener);
  void Remove(Listener* listener);
  void Link();  // the chain anew, where something was switched

 private:
  TapeLayer* tape_ = nullptr;
  friend struct OwnLayers;
};

namespace detail {
extern __thread ThreadState* t_state __attribute__((tls_model("initial-exec")));
ThreadState& MakeThreadState();
}  // namespace detail

inline ThreadState& CurrentThread() {
  ThreadState* state = detail::t_state;
  return __builtin_expect(state != nullptr, 1) ? *state : detail::MakeThreadState();
}

// Listens to this thread's calls until it is removed.
inline void AddListener(Listener* listener) { CurrentThread().Add(listener); }
inline void RemoveListener(Listener* listener) { CurrentThread().Remove(listener); }

// Switches recording for a scope of C++ code.
class GradSwitch {
 public:
  explicit GradSwitch(bool on) : saved_(CurrentThread().SetRecording(on)) {}
  ~GradSwitch() { CurrentThread().SetRecording(saved_); }
  GradSwitch(const GradSwitch&) = delete;
  GradSwitch& operator=(const GradSwitch&) = delete;

 private:
  bool saved_;
};

}  // namespace dygraph
