#include "tape/variable.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "base/pool.h"

namespace dygraph {

void (*Variable::release_wrapper_state)(void*) = nullptr;

namespace {
const std::string kNoName;

// Living variables, each counted by the thread that made it and by the one it died on, whose share
// may be negative. A share is written by its thread alone, without locked instructions.
struct Shares {
  std::mutex mutex;
  std::vector<std::atomic<int64_t>*> threads;
  std::atomic<int64_t> ended{0};  // of threads that are gone
};
Shares& AllShares() {
  static Shares* shares = new Shares;  // late threads still count
  return *shares;
}

__thread std::atomic<int64_t>* t_share __attribute__((tls_model("initial-exec"))) = nullptr;
__thread bool t_share_ended __attribute__((tls_model("initial-exec"))) = false;

struct EndOfShare {
  ~EndOfShare() {
    Shares& all = AllShares();
    std::lock_guard<std::mutex> lock(all.mutex);
    all.threads.erase(std::find(all.threads.begin(), all.threads.end(), t_share));
    all.ended += *t_share;
    delete t_share;
    t_share = nullptr;
    t_share_ended = true;
  }
};

__attribute__((noinline)) void CountSlow(int64_t change) {
  Shares& all = AllShares();
  if (t_share_ended) {
    all.ended += change;
    return;
  }
  auto share = std::make_unique<std::atomic<int64_t>>(change);
  std::lock_guard<std::mutex> lock(all.mutex);
  all.threads.push_back(share.get());
  t_share = share.release();
  static thread_local EndOfShare at_end;
  (void)&at_end;
}

void Count(int64_t change) {
  std::atomic<int64_t>* share = t_share;
  if (__builtin_expect(!share, 0)) return CountSlow(change);
  share->store(share->load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
}
}  // namespace

__attribute__((always_inline)) inline Variable::Variable() { Count(1); }

Ref<Variable> Variable::Make() { return Ref<Variable>::New(new Variable()); }

Ref<Variable> Variable::Make(Value value) {
  Ref<Variable> v = Make();
  v->value_ = std::move(value);
  return v;
}

__attribute__((always_inline)) inline Variable::~Variable() {
  Count(-1);
  if (wrapper_state) release_wrapper_state(wrapper_state);
  if (leaf_) leaf_->Abandon();
}

int64_t Variable::live_count() {
  Shares& all = AllShares();
  std::lock_guard<std::mutex> lock(all.mutex);
  int64_t count = all.ended;
  for (std::atomic<int64_t>* share : all.threads) count += share->load(std::memory_order_relaxed);
  return count;
}
void* Variable::operator new(size_t) { return Pool<Variable>::Get(); }
void Variable::operator delete(void* p) { Pool<Variable>::Put(p); }
void Variable::Destroy(Variable* self) { delete self; }

void Variable::set_stop_gradient(bool stop) {
  static const std::string kStopped =
      "its stop_gradient was set to True. Leave that out, or use detach() for a copy";
  const bool cut = stop && producer_.node;
  if (stop) {
    producer_ = Edge();
  } else if (!value_.empty()) {
    ENFORCE(IsInexact(value_.dtype()), InvalidArgument,
            "only floating-point variables have gradients, so stop_gradient must stay True for ",
            value_.dtype(), ". Convert with astype('float32') first");
  }
  marks_ = stop ? marks_ & ~kWantsGradient : marks_ | kWantsGradient;
  set_not_recorded(cut ? &kStopped : nullptr);
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
  if (!leaf_) leaf_ = MakeRef<LeafNode>(this);
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
