#include "tape/thread_state.h"

#include <utility>

#include "tape/layer.h"

namespace dygraph {

// A thread's state and the layers that are always its own.
struct OwnLayers {
  ThreadState state;
  TapeLayer tape;
  DescribingLayer describing;

  OwnLayers() {
    state.tape_ = &tape;
    state.describing_layer = &describing;
    state.Link();
  }
};

namespace detail {

__thread ThreadState* t_state __attribute__((tls_model("initial-exec"))) = nullptr;

ThreadState& MakeThreadState() {
  static thread_local OwnLayers own;
  t_state = &own.state;
  return own.state;
}

}  // namespace detail

// Describing first, then the tape, then listeners, of which the newest comes first.
void ThreadState::Link() {
  tape_->below_ = listeners;
  Layer* first = recording ? static_cast<Layer*>(tape_) : listeners;
  describing_layer->below_ = first;
  layer = describing ? static_cast<Layer*>(describing_layer) : first;
}

bool ThreadState::SetRecording(bool on) {
  bool before = std::exchange(recording, on);
  if (before != on) Link();
  return before;
}

bool ThreadState::SetDescribing(bool on) {
  bool before = std::exchange(describing, on);
  if (before != on) Link();
  return before;
}

void ThreadState::OnRead(Variable& v, const char* how) const {
  for (Listener* l = listeners; l; l = l->next()) l->OnRead(v, how);
}

void ThreadState::OnWrite(Variable& v) const {
  for (Listener* l = listeners; l; l = l->next()) l->OnWrite(v);
}

void ThreadState::OnBackward(Variable& root) const {
  for (Listener* l = listeners; l; l = l->next()) l->OnBackward(root);
}

void ThreadState::Add(Listener* listener) {
  listener->below_ = listeners;
  listeners = listener;
  Link();
}

void ThreadState::Remove(Listener* listener) {
  Layer* above = nullptr;
  for (Listener* l = listeners; l; above = l, l = l->next()) {
    if (l != listener) continue;
    if (above) {
      above->below_ = l->below_;
    } else {
      listeners = l->next();
    }
    return Link();
  }
}

}  // namespace dygraph
