#include "imperative/variable.h"

#include <atomic>

#include "base/pool.h"
#include "imperative/thread_state.h"

namespace dygraph {

void (*Variable::release_wrapper_state)(void*) = nullptr;

namespace {
std::atomic<int64_t> live_variables{0};
const std::string kNoName;
}  // namespace

Variable::Variable(Value value) : value_(std::move(value)) {
  live_variables.fetch_add(1, std::memory_order_relaxed);
}

Variable::~Variable() {
  live_variables.fetch_sub(1, std::memory_order_relaxed);
  if (wrapper_state) release_wrapper_state(wrapper_state);
  if (leaf_) leaf_->Abandon();
}

int64_t Variable::live_count() { return live_variables.load(std::memory_order_relaxed); }
void* Variable::operator new(size_t) { return Pool<Variable>::Get(); }
void Variable::operator delete(void* p) { Pool<Variable>::Put(p); }
void Variable::Destroy(Variable* self) { delete self; }

void Variable::SetValue(Value value) {
  value_ = std::move(value);
  value_number = 0;
}

void Variable::Become(Variable& result) {
  ENFORCE(!(IsLeaf() && !stop_gradient_ && CurrentThread().grad_enabled), PreconditionNotMet,
          "a leaf that needs a gradient cannot be written in place while recording, got ",
          name().empty() ? "one" : "'" + name() + "'", " of shape ", value_.dims(),
          ". Write under dygraph.no_grad(), or compute a new variable");
  value_ = std::move(result.value_);
  if (result.producer_.node) {
    producer_ = std::move(result.producer_);
    stop_gradient_ = false;
  } else if (producer_.node) {
    producer_ = Edge();
    stop_gradient_ = true;
  }
  not_recorded = result.not_recorded;
  value_number = result.value_number;
}

void Variable::set_stop_gradient(bool stop) {
  if (stop) {
    producer_ = Edge();
  } else if (!value_.empty()) {
    ENFORCE(IsFloating(value_.dtype()), InvalidArgument,
            "only floating-point variables have gradients, so stop_gradient must stay True for ",
            value_.dtype(), ". Convert with astype('float32') first");
  }
  stop_gradient_ = stop;
  not_recorded = nullptr;
}

Edge Variable::GradEdge() {
  if (producer_.node) return producer_;
  if (stop_gradient_) return Edge();
  if (!leaf_) leaf_ = MakeRef<LeafNode>();
  return Edge{Ref<Node>(leaf_.get()), 0};
}

Ref<Variable> Variable::Detach() const {
  Ref<Variable> v = Make(value_);
  v->value_number = value_number;
  return v;
}

Ref<Variable> Variable::grad() const {
  if (producer_.node) return producer_.node->retained_grad(producer_.index);
  return leaf_ ? leaf_->grad : nullptr;
}

void Variable::SetGrad(Ref<Variable> grad) {
  ENFORCE(IsLeaf(), PreconditionNotMet,
          "only a leaf has a gradient of its own to set; this variable was computed by ",
          producer_.node->name());
  if (!leaf_) leaf_ = MakeRef<LeafNode>();
  leaf_->grad = std::move(grad);
}

void Variable::ClearGrad() {
  if (leaf_) leaf_->grad.reset();
  if (producer_.node) producer_.node->ClearRetainedGrad(producer_.index);
}

uint64_t Variable::AddHook(Hook hook, void* owner) {
  Edge edge = GradEdge();
  ENFORCE(edge, PreconditionNotMet,
          "a hook needs a variable that gets a gradient. Set stop_gradient = False before the "
          "forward call");
  return edge.node->AddHook(edge.index, std::move(hook), owner);
}

void Variable::RemoveHook(uint64_t handle) {
  if (producer_.node && producer_.node->RemoveHook(handle)) return;
  if (leaf_) leaf_->RemoveHook(handle);
}

void Variable::RetainGrad() {
  if (producer_.node) producer_.node->RetainGrad(producer_.index);
}

const std::string& Variable::name() const { return name_ ? *name_ : kNoName; }
void Variable::set_name(const std::string& name) { name_ = std::make_unique<std::string>(name); }

}  // namespace dygraph
