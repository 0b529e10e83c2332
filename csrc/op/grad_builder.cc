#include "op/grad_builder.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <unordered_set>

#include "base/nearest.h"
#include "op/op_info.h"
#include "op/op_registry.h"
#include "op/recipes.h"

namespace dygraph {

RecipeSlot::RecipeSlot() = default;
RecipeSlot::RecipeSlot(RecipeRef ref) {
  if (ref.kind != RecipeRef::kAbsent) push_back(ref);
}
RecipeSlot::RecipeSlot(std::vector<RecipeRef> refs) : std::vector<RecipeRef>(std::move(refs)) {}
RecipeSlot::RecipeSlot(const RecipeSlot&) = default;
RecipeSlot::RecipeSlot(RecipeSlot&&) noexcept = default;
RecipeSlot& RecipeSlot::operator=(const RecipeSlot&) = default;
RecipeSlot& RecipeSlot::operator=(RecipeSlot&&) noexcept = default;
RecipeSlot::~RecipeSlot() = default;

GradBuilder::GradBuilder(const Situation& situation) : situation_(situation) {}

int GradBuilder::FlatInput(int slot, int i) const {
  int flat = i;
  for (int s = 0; s < slot; ++s) flat += static_cast<int>(situation_.in_counts[s]);
  return flat;
}

bool GradBuilder::Wants(int slot, int i) const {
  return i < InputCount(slot) && situation_.wanted.Has(FlatInput(slot, i));
}

RecipeRef GradBuilder::Make(RecipeRef::Kind kind, int slot, int i, uint32_t count) const {
  if (i >= static_cast<int>(count)) return {};
  return {kind, static_cast<uint8_t>(slot), static_cast<uint32_t>(i)};
}

RecipeRef GradBuilder::Input(int slot, int i) const {
  return Make(RecipeRef::kInput, slot, i, situation_.in_counts[slot]);
}
RecipeRef GradBuilder::InputShape(int slot, int i) const {
  return Make(RecipeRef::kInputShape, slot, i, situation_.in_counts[slot]);
}
RecipeRef GradBuilder::Output(int slot, int i) const {
  return Make(RecipeRef::kOutput, slot, i, situation_.out_counts[slot]);
}
RecipeRef GradBuilder::OutputGrad(int slot, int i) const {
  return Make(RecipeRef::kOutputGrad, slot, i, situation_.out_counts[slot]);
}
RecipeRef GradBuilder::InputGrad(int slot, int i) const {
  return Wants(slot, i) ? RecipeRef{RecipeRef::kInputGrad, static_cast<uint8_t>(slot),
                                    static_cast<uint32_t>(i)}
                        : RecipeRef{};
}
RecipeRef GradBuilder::Temp() {
  return {RecipeRef::kTemp, 0, static_cast<uint32_t>(recipe_.temps++)};
}

namespace {
// Positions matter: what is absent, as an unwanted gradient is, keeps its place.
template <class Ref>
RecipeSlot List(int count, const Ref& ref) {
  RecipeSlot refs;
  for (int i = 0; i < count; ++i) refs.push_back(ref(i));
  return refs;
}
}  // namespace

RecipeSlot GradBuilder::Inputs(int slot) const {
  return List(InputCount(slot), [&](int i) { return Input(slot, i); });
}
RecipeSlot GradBuilder::InputShapes(int slot) const {
  return List(InputCount(slot), [&](int i) { return InputShape(slot, i); });
}
RecipeSlot GradBuilder::OutputGrads(int slot) const {
  return List(OutputCount(slot), [&](int i) { return OutputGrad(slot, i); });
}
RecipeSlot GradBuilder::InputGrads(int slot) const {
  return List(InputCount(slot), [&](int i) { return InputGrad(slot, i); });
}

GradBuilder::CallRef& GradBuilder::CallRef::SameAttrs() {
  recipe_->calls[index_].same_attrs = true;
  return *this;
}

const Ref<Attrs>& RecipeCall::AttrsFor(bool float64) const {
  if (float64 && wide_attrs) return wide_attrs;
  return attrs ? attrs : op->default_attrs;
}

GradBuilder::CallRef& GradBuilder::CallRef::Number(const char* name, RecipeNumber number) {
  Attr(name, AttrValue(number.wide));
  const bool same = static_cast<float>(number.wide) == number.narrow;
  if (same || std::isnan(number.wide)) return *this;
  RecipeCall& call = recipe_->calls[index_];
  if (!call.wide_attrs) call.wide_attrs = Attrs::Copy(*call.attrs);
  call.attrs->Set(name, number.narrow);
  return *this;
}

GradBuilder::CallRef& GradBuilder::CallRef::Attr(const char* name, const AttrValue& value) {
  RecipeCall& call = recipe_->calls[index_];
  if (!call.attrs) call.attrs = Attrs::Make(call.op->attr_table);
  try {
    call.attrs->Set(name, value);
    if (call.wide_attrs) call.wide_attrs->Set(name, value);
  } catch (Error& e) {
    e.AddOperator("the call of " + call.op->type + " in a gradient recipe");
    throw;
  }
  return *this;
}

GradBuilder::CallRef& GradBuilder::CallRef::AttrsFrom(AttrFn fn) {
  recipe_->calls[index_].attr_fn = fn;
  return *this;
}

GradBuilder::CallRef GradBuilder::Call(const char* type, std::initializer_list<RecipeSlot> in,
                                       std::initializer_list<RecipeSlot> out) {
  return CallLists(type, in, out);
}

GradBuilder::CallRef GradBuilder::CallLists(const std::string& type, std::vector<RecipeSlot> in,
                                            std::vector<RecipeSlot> out) {
  RecipeCall call;
  call.op = FindOp(type);
  ENFORCE(call.op, NotFound, "the gradient recipe of ", situation_.op->type,
          " must call operators that are registered, got '", type, "'.",
          DidYouMean(type, OpNames()));
  call.in = std::move(in);
  call.out = std::move(out);
  ENFORCE(call.in.size() <= call.op->inputs.size() && call.out.size() <= call.op->outputs.size(),
          PreconditionNotMet, "the gradient recipe of ", situation_.op->type, " gives operator ",
          type, " more slots than it has: ", call.in.size(), " inputs, ", call.out.size(),
          " outputs");
  call.in.resize(call.op->inputs.size());
  call.out.resize(call.op->outputs.size());
  recipe_.calls.push_back(std::move(call));
  return CallRef(&recipe_, recipe_.calls.size() - 1);
}

RecipeRef GradBuilder::Apply(const char* type, std::initializer_list<RecipeSlot> in) {
  RecipeRef t = Temp();
  Call(type, in, {t});
  return t;
}

RecipeRef GradBuilder::ApplyScale(RecipeRef x, RecipeNumber factor) {
  RecipeRef t = Temp();
  Call("scale", {x}, {t}).Number("scale", factor);
  return t;
}

namespace {
// References in a set: lists may be a million long.
struct RefHash {
  size_t operator()(const RecipeRef& r) const {
    return std::hash<uint64_t>()(uint64_t{r.kind} << 40 | uint64_t{r.slot} << 32 | r.index);
  }
};
using RefSet = std::unordered_set<RecipeRef, RefHash>;
}  // namespace

Recipe GradBuilder::Finish() {
  std::vector<RecipeCall> live;
  std::vector<bool> temp_needed(recipe_.temps, false);
  RefSet kept_already, produced;
  for (auto call = recipe_.calls.rbegin(); call != recipe_.calls.rend(); ++call) {
    bool needed = false;
    for (RecipeSlot& slot : call->out) {
      for (RecipeRef& ref : slot) {
        bool wanted = ref.kind == RecipeRef::kInputGrad ||
                      (ref.kind == RecipeRef::kTemp && temp_needed[ref.index]);
        if (!wanted) ref = {};
        needed |= wanted;
      }
    }
    if (!needed) continue;
    for (const RecipeSlot& slot : call->in) {
      for (RecipeRef ref : slot) {
        if (ref.kind == RecipeRef::kTemp) temp_needed[ref.index] = true;
        bool kept = ref.kind == RecipeRef::kInput || ref.kind == RecipeRef::kInputShape ||
                    ref.kind == RecipeRef::kOutput;
        if (kept && kept_already.insert(ref).second) recipe_.kept.push_back(ref);
      }
    }
    live.push_back(std::move(*call));
  }
  std::reverse(live.begin(), live.end());
  std::vector<bool> written(recipe_.temps, false);
  for (const RecipeCall& call : live) {
    for (const RecipeSlot& slot : call.in) {
      for (RecipeRef ref : slot) {
        ENFORCE(ref.kind != RecipeRef::kTemp || written[ref.index], PreconditionNotMet,
                "the gradient recipe of ", situation_.op->type,
                " must write a Temp before it reads it, but its call of ", call.op->type,
                " reads one that no earlier call has among its outputs");
      }
    }
    for (const RecipeSlot& slot : call.out) {
      for (RecipeRef ref : slot) {
        if (ref.kind == RecipeRef::kTemp) written[ref.index] = true;
      }
    }
    for (const RecipeSlot& slot : call.out) {
      for (RecipeRef ref : slot) {
        if (ref.kind != RecipeRef::kInputGrad) continue;
        ENFORCE(produced.insert(ref).second, PreconditionNotMet,
                "exactly one call of a gradient recipe may produce each gradient; that of ",
                situation_.op->type, " produces that of input ",
                situation_.op->inputs[ref.slot].name, " twice");
      }
    }
  }
  for (RecipeCall& call : live) {
    int flat = 0;
    for (const RecipeSlot& slot : call.out) {
      call.out_counts.push_back(static_cast<int>(slot.size()));
      for (RecipeRef ref : slot) {
        if (ref.kind != RecipeRef::kAbsent) call.out_wanted.Set(flat);
        ++flat;
      }
    }
  }
  recipe_.calls = std::move(live);
  return std::move(recipe_);
}

struct OpInfo::RecipeCache {
  struct Entry {
    std::vector<uint32_t> in_ends, out_ends;
    SmallVector<uint64_t, 2> wanted;
    Ref<Attrs> attrs;  // only where the maker looked at them
    Recipe recipe;
  };
  std::mutex mutex;
  std::vector<std::unique_ptr<Entry>> entries;
  std::vector<std::shared_ptr<const Entry>> passing;  // the newest last
  size_t passing_values = 0;
  std::atomic<Entry*> latest{nullptr};  // the answer to nearly every question
};

namespace {

// What a recipe is looked up by.
struct Asked {
  const OpInfo& op;
  const Attrs& attrs;
  Span<const uint32_t> in_ends, out_ends;
  const WantedSet& wanted;
};

using Entry = OpInfo::RecipeCache::Entry;

__attribute__((noinline)) bool SameAttrs(const Attrs& a, const Attrs& b) {
  for (size_t i = 0; i < a.table().fields.size(); ++i) {
    if (!(a.Get(static_cast<int>(i)) == b.Get(static_cast<int>(i)))) return false;
  }
  return true;
}

// Of a few numbers, for which std::equal would call memcmp.
bool SameEnds(const std::vector<uint32_t>& kept, Span<const uint32_t> asked) {
  if (kept.size() != asked.size()) return false;
  const uint32_t* k = kept.data();
  for (uint32_t end : asked) {
    if (*k++ != end) return false;
  }
  return true;
}

inline bool Fits(const Entry& e, const Asked& a) {
  return SameEnds(e.in_ends, a.in_ends) && SameEnds(e.out_ends, a.out_ends) &&
         e.wanted == a.wanted.words() &&
         (!e.attrs || e.attrs.get() == &a.attrs || SameAttrs(*e.attrs, a.attrs));
}

std::vector<uint32_t> Counts(Span<const uint32_t> ends, size_t slots) {
  std::vector<uint32_t> counts(slots, 0);
  for (size_t i = 0; i < ends.size(); ++i) counts[i] = ends[i] - (i ? ends[i - 1] : 0);
  return counts;
}

template <class Ends>
size_t Total(const Ends& ends) {
  return ends.size() ? ends[ends.size() - 1] : 0;
}

std::unique_ptr<Entry> MakeEntry(const Asked& a) {
  ENFORCE(a.op.grad_maker, PreconditionNotMet, "the operator ", a.op.type,
          " has no gradient, so backward cannot pass through "
          "it. Detach its inputs or set their stop_gradient to True");
  GradBuilder::Situation situation;
  situation.op = &a.op;
  situation.attrs = a.attrs.data();
  situation.in_counts = Counts(a.in_ends, a.op.inputs.size());
  situation.out_counts = Counts(a.out_ends, a.op.outputs.size());
  situation.wanted = a.wanted;
  GradBuilder builder(situation);
  a.op.grad_maker(builder);
  auto entry = std::make_unique<Entry>();
  entry->recipe = builder.Finish();
  entry->in_ends.assign(a.in_ends.begin(), a.in_ends.end());
  entry->out_ends.assign(a.out_ends.begin(), a.out_ends.end());
  entry->wanted = a.wanted.words();
  if (entry->recipe.depends_on_attrs) entry->attrs = Attrs::Copy(a.attrs);
  return entry;
}

// `bounded`: nullptr where one more would be too many.
__attribute__((noinline)) const Recipe* SearchRecipe(const Asked& asked, bool bounded) {
  OpInfo::RecipeCache& cache = *asked.op.recipes;
  std::lock_guard<std::mutex> lock(cache.mutex);
  for (auto& e : cache.entries) {
    if (Fits(*e, asked)) {
      cache.latest.store(e.get(), std::memory_order_release);
      return &e->recipe;
    }
  }
  if (bounded && cache.entries.size() >= kMostKeptRecipes) return nullptr;
  cache.entries.push_back(MakeEntry(asked));
  cache.latest.store(cache.entries.back().get(), std::memory_order_release);
  return &cache.entries.back()->recipe;
}

inline const Recipe* Latest(const Asked& asked) {
  Entry* latest = asked.op.recipes->latest.load(std::memory_order_acquire);
  return latest && Fits(*latest, asked) ? &latest->recipe : nullptr;
}

}  // namespace

const Recipe& GetRecipe(const OpInfo& op, const Attrs& attrs, Span<const uint32_t> in_ends,
                        Span<const uint32_t> out_ends, const WantedSet& wanted) {
  const Asked asked{op, attrs, in_ends, out_ends, wanted};
  const Recipe* latest = Latest(asked);
  return latest ? *latest : *SearchRecipe(asked, false);
}

const Recipe* FindRecipe(const OpInfo& op, const Attrs& attrs, Span<const uint32_t> in_ends,
                         Span<const uint32_t> out_ends, const WantedSet& wanted) {
  const Asked asked{op, attrs, in_ends, out_ends, wanted};
  if (const Recipe* latest = Latest(asked)) return latest;
  if (Total(in_ends) + Total(out_ends) > kMostKeptValues) return nullptr;
  return SearchRecipe(asked, true);
}

std::shared_ptr<const Recipe> MakeRecipe(const OpInfo& op, const Attrs& attrs,
                                         Span<const uint32_t> in_ends,
                                         Span<const uint32_t> out_ends, const WantedSet& wanted) {
  const Asked asked{op, attrs, in_ends, out_ends, wanted};
  OpInfo::RecipeCache& cache = *op.recipes;
  auto size = [](const Entry& e) { return Total(e.in_ends) + Total(e.out_ends); };
  std::lock_guard<std::mutex> lock(cache.mutex);
  for (auto e = cache.passing.rbegin(); e != cache.passing.rend(); ++e) {
    if (Fits(**e, asked)) return std::shared_ptr<const Recipe>(*e, &(*e)->recipe);
  }
  std::shared_ptr<const Entry> made = MakeEntry(asked);
  if (size(*made) <= kMostPassingValues) {
    cache.passing.push_back(made);
    cache.passing_values += size(*made);
    while (cache.passing_values > kMostPassingValues) {
      cache.passing_values -= size(*cache.passing.front());
      cache.passing.erase(cache.passing.begin());
    }
  }
  return std::shared_ptr<const Recipe>(made, &made->recipe);
}

std::shared_ptr<const Recipe> HoldRecipe(const OpInfo& op, const Attrs& attrs,
                                         Span<const uint32_t> in_ends,
                                         Span<const uint32_t> out_ends, const WantedSet& wanted) {
  const Recipe* kept = FindRecipe(op, attrs, in_ends, out_ends, wanted);
  if (kept) return std::shared_ptr<const Recipe>(std::shared_ptr<const Recipe>(), kept);
  return MakeRecipe(op, attrs, in_ends, out_ends, wanted);
}

size_t KeptRecipes(const OpInfo& op) {
  std::lock_guard<std::mutex> lock(op.recipes->mutex);
  return op.recipes->entries.size() + op.recipes->passing.size();
}

std::shared_ptr<OpInfo::RecipeCache> MakeRecipeCache() {
  return std::make_shared<OpInfo::RecipeCache>();
}

}  // namespace dygraph
