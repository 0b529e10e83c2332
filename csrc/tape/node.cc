#include "tape/node.h"

#include <atomic>
#include <mutex>
#include <set>

#include "base/enforce.h"
#include "base/pool.h"
#include "op/op_info.h"
#include "op/zero_derivative.h"
#include "tape/variable.h"

namespace dygraph {

// A thread takes numbers in blocks, without a locked instruction for each. One that continues what
// another thread began may hold a block that is too old.
uint64_t Node::NextSeq(uint64_t after) {
  constexpr uint64_t kBlock = 1024;
  static std::atomic<uint64_t> next_block{1};
  static __thread uint64_t next __attribute__((tls_model("initial-exec"))) = 0;
  static __thread uint64_t end __attribute__((tls_model("initial-exec"))) = 0;
  if (__builtin_expect(next == end || next <= after, 0)) {
    next = next_block.fetch_add(kBlock, std::memory_order_relaxed);
    end = next + kBlock;
  }
  return next++;
}

Node::Node(uint32_t outputs) : seq_(NextSeq(0)), outputs_(outputs) {}

void Node::Destroy(Node* self) {
  static __thread std::vector<Node*>* dying __attribute__((tls_model("initial-exec"))) = nullptr;
  if (dying) {
    dying->push_back(self);
    return;
  }
  std::vector<Node*> list;
  dying = &list;
  self->Delete();
  while (!list.empty()) {
    Node* next = list.back();
    list.pop_back();
    next->Delete();
  }
  dying = nullptr;
}

void Node::ThrowFreed() const {
  THROW(PreconditionNotMet, "backward(): the graph of ", name(),
        " must last while it is played, but another backward freed it meanwhile. Pass "
        "retain_graph=True to that one");
}

uint64_t Node::AddHook(uint32_t output, Hook hook, void* owner) {
  static std::atomic<uint64_t> next_handle{1};
  if (!hooks_) hooks_ = std::make_unique<std::vector<HookEntry>>();
  uint64_t handle = next_handle++;
  hooks_->push_back({handle, output, std::move(hook), owner});
  return handle;
}

void Node::VisitHookOwners(void (*visit)(void*, void*), void* arg) const {
  if (!hooks_) return;
  for (const HookEntry& h : *hooks_) visit(h.owner, arg);
}

bool Node::RemoveHook(uint64_t handle) {
  if (!hooks_) return false;
  for (size_t i = 0; i < hooks_->size(); ++i) {
    if ((*hooks_)[i].handle == handle) {
      hooks_->erase(hooks_->begin() + i);
      return true;
    }
  }
  return false;
}

void Node::RetainGrad(uint32_t output) {
  if (!retained_) retained_ = std::make_unique<std::vector<Retained>>();
  for (Retained& r : *retained_) {
    if (r.output == output) return;
  }
  retained_->push_back({output, nullptr});
}

Ref<Variable> Node::retained_grad(uint32_t output) const {
  if (retained_) {
    for (Retained& r : *retained_) {
      if (r.output == output) return r.grad;
    }
  }
  return nullptr;
}

void Node::ClearRetainedGrad(uint32_t output) {
  if (!retained_) return;
  for (Retained& r : *retained_) {
    if (r.output == output) r.grad.reset();
  }
}

namespace {
// The same text for as long as the process lives; functions are few.
const std::string* Lasting(const std::string& name) {
  static auto* names = new std::set<std::string>;
  static auto* lock = new std::mutex;
  std::lock_guard<std::mutex> locked(*lock);
  return &*names->insert(name).first;
}
}  // namespace

FunctionNode::FunctionNode(const std::string& name, uint32_t outputs, Backward backward)
    : Node(outputs), name_(Lasting(name)), backward_(std::move(backward)) {}

const Ref<Attrs>& OpNode::attrs() const { return attrs_ ? attrs_ : op_.default_attrs; }
const char* OpNode::name() const { return op_.type.c_str(); }
void* OpNode::operator new(size_t) { return Pool<OpNode>::Get(); }
void OpNode::operator delete(void* p) { Pool<OpNode>::Put(p); }

RecipeRef OpNode::InputAt(size_t edge) const {
  size_t slot = 0;
  while (in_ends[slot] <= edge) ++slot;
  uint32_t begin = slot ? in_ends[slot - 1] : 0;
  return {RecipeRef::kInputGrad, static_cast<uint8_t>(slot), static_cast<uint32_t>(edge - begin)};
}

bool OpNode::IsFlat(size_t edge) const {
  RecipeRef r = InputAt(edge);
  return DerivativeIsZero(op_, r.slot) && !Serves(*recipe_, r.slot, r.index);
}

bool OpNode::GivesZero(size_t edge, bool) const {
  RecipeRef r = InputAt(edge);
  return DerivativeIsZero(op_, r.slot) || Serves(*recipe_, r.slot, r.index);
}

Edge OpNode::ProducerOf(RecipeRef kept) {
  if (kept.kind == RecipeRef::kInput) return edges()[FlatInput(kept)];
  if (kept.kind == RecipeRef::kOutput)
    return {Ref<Node>(this), static_cast<uint32_t>(FlatOutput(kept))};
  return Edge();
}

}  // namespace dygraph
