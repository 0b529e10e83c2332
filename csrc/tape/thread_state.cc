#include "tape/thread_state.h"

#include <algorithm>
#include <utility>

#include "op/call_checks.h"
#include "tape/layer.h"

namespace dygraph {

// A thread's state and the layers that are always its own.
struct OwnLayers {
  ThreadState state;
  TapeLayer tape;
  DescribingLayer describing;
  AddedLayers added;

  OwnLayers() {
    state.tape_ = &tape;
    state.describing_layer = &describing;
    state.added_layers = &added;
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

// Describing first, then added layers, then the tape, then listeners; the newest comes first.
void ThreadState::Link() {
  tape_->below_ = listeners;
  Layer* first = recording ? static_cast<Layer*>(tape_) : listeners;
  added_layers->below_ = first;
  if (added_layers->any()) first = added_layers;
  describing_layer->below_ = first;
  layer = describing ? static_cast<Layer*>(describing_layer) : first;
  observed = listeners || added_layers->any();
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

// A layer that runs: at its end, those in force before are in force again.
class AddedLayers::Running {
 public:
  explicit Running(AddedLayers* all)
      : in_force(all->in_force_), outer(all->running_), layer(all->layers_[in_force - 1]),
        all_(*all) {
    all_.running_ = this;
    Set(in_force - 1);
  }
  ~Running() {
    all_.running_ = outer;
    Set(in_force);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  size_t in_force;
  Running* const outer;
  const std::shared_ptr<AddedLayer> layer;  // it may remove itself

 private:
  void Set(size_t count) {
    all_.in_force_ = count;
    CurrentThread().Link();
  }
  AddedLayers& all_;
};

void AddedLayers::Run(EagerCall& call) {
  Running running(this);
  try {
    running.layer->Run(call);
  } catch (...) {
    RethrowFor(call.op);
  }
  bool wanted = false, made = false;
  for (Variable* v : call.out.flat()) {
    wanted |= v != nullptr;
    made |= v && !v->value().empty();
  }
  ENFORCE(made || !wanted, PreconditionNotMet, call.op.type,
          ": an added layer must do the call, by Below or SetResults, got no result");
}

void AddedLayers::RunBelow(EagerCall& call) {
  if (any()) {
    Run(call);
  } else {
    Below(call);
  }
}

void AddedLayers::Add(std::shared_ptr<AddedLayer> layer) {
  layers_.insert(layers_.begin() + static_cast<ptrdiff_t>(in_force_), std::move(layer));
  ++in_force_;
  for (Running* r = running_; r; r = r->outer) ++r->in_force;
  CurrentThread().Link();
}

bool AddedLayers::Remove(const AddedLayer* layer) {
  auto found = std::find_if(layers_.rbegin(), layers_.rend(),
                            [layer](const auto& each) { return each.get() == layer; });
  if (found == layers_.rend()) return false;
  const std::shared_ptr<AddedLayer> gone = *found;  // its end may call operators
  auto at = static_cast<size_t>(layers_.rend() - found) - 1;
  layers_.erase(layers_.begin() + static_cast<ptrdiff_t>(at));
  if (at < in_force_) --in_force_;
  for (Running* r = running_; r; r = r->outer) {
    if (at < r->in_force) --r->in_force;
  }
  CurrentThread().Link();
  return true;
}

}  // namespace dygraph
