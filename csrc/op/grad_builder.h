// Gradient recipes: what an operator's GradOpMaker writes, as data. The tape binds a recipe to live
// values, append_backward binds it to names, so eager and static gradients cannot differ.
//
//   void MulGrad(GradBuilder& g) {
//     g.Call("mul_grad", {g.Input(kX), g.Input(kY), g.OutputGrad(kOut)},
//                        {g.InputGrad(kX), g.InputGrad(kY)}).SameAttrs();
//   }
//
// Calls none of whose results is wanted are dropped, and with them what only they read. A maker may
// look at attributes, slot presence, list lengths and which gradients are wanted, never at sizes or
// data.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "base/small_vector.h"
#include "op/attribute.h"

namespace dygraph {

class OpInfo;

struct RecipeRef {
  enum Kind : uint8_t { kAbsent, kInput, kInputShape, kOutput, kOutputGrad, kInputGrad, kTemp };
  Kind kind = kAbsent;
  uint8_t slot = 0;
  uint32_t index = 0;  // within the slot; the number of a temporary
  bool operator==(const RecipeRef& o) const {
    return kind == o.kind && slot == o.slot && index == o.index;
  }
};

// The argument of one slot of a gradient call: nothing, one reference or several. Every recipe makes
// many, so that what it is made and ended by is compiled once.
struct RecipeSlot : public std::vector<RecipeRef> {
  RecipeSlot();
  RecipeSlot(RecipeRef ref);
  RecipeSlot(std::vector<RecipeRef> refs);
  RecipeSlot(const RecipeSlot&);
  RecipeSlot(RecipeSlot&&) noexcept;
  RecipeSlot& operator=(const RecipeSlot&);
  RecipeSlot& operator=(RecipeSlot&&) noexcept;
  ~RecipeSlot();
};

using AttrFn = void (*)(const void* forward, void* backward);

// Members of a flat list: inputs whose gradients are asked for, outputs that are to be made.
class WantedSet {
 public:
  WantedSet() = default;
  // The first 64 members as bits.
  explicit WantedSet(uint64_t bits) : any_(bits != 0) {
    if (any_) words_.push_back(bits);
  }
  void Set(int i) {
    while (words_.size() <= static_cast<size_t>(i) / 64) words_.push_back(0);
    words_[i / 64] |= uint64_t{1} << (i % 64);
    any_ = true;
  }
  bool Has(int i) const {
    return static_cast<size_t>(i) / 64 < words_.size() && (words_[i / 64] >> (i % 64) & 1);
  }
  bool any() const { return any_; }
  const SmallVector<uint64_t, 2>& words() const { return words_; }

 private:
  SmallVector<uint64_t, 2> words_;
  bool any_ = false;
};

// A number worked out from attributes: in floats for all types of elements but float64, in doubles
// for that one. WorkOut([&](auto one) { using T = decltype(one); return T(1) - T(a.share); })
struct RecipeNumber {
  float narrow;
  double wide;
  RecipeNumber(double number) : narrow(static_cast<float>(number)), wide(number) {}
  RecipeNumber(float narrow, double wide) : narrow(narrow), wide(wide) {}
};
template <class F>
RecipeNumber WorkOut(F f) {
  return {f(1.0f), f(1.0)};
}

struct RecipeCall {
  const OpInfo* op = nullptr;
  std::vector<RecipeSlot> in;
  std::vector<RecipeSlot> out;
  bool same_attrs = false;         // shares the forward call's attributes
  AttrFn attr_fn = nullptr;        // computes them from the forward's
  Ref<Attrs> attrs;                // fixed ones
  Ref<Attrs> wide_attrs;           // those of float64, where they differ
  SmallVector<int, 4> out_counts;  // what the door is asked to make, set by Finish()
  WantedSet out_wanted;

  // The fixed ones, or the operator's defaults.
  const Ref<Attrs>& AttrsFor(bool float64) const;
};

struct Recipe {
  std::vector<RecipeCall> calls;
  int temps = 0;
  // What the tape must keep, each once: kInput, kInputShape and kOutput references.
  std::vector<RecipeRef> kept;
  bool depends_on_attrs = false;
};

class GradBuilder {
 public:
  // What a maker may know of the forward call.
  struct Situation {
    const OpInfo* op = nullptr;
    const void* attrs = nullptr;
    std::vector<uint32_t> in_counts, out_counts;
    WantedSet wanted;
  };
  explicit GradBuilder(const Situation& situation);

  const OpInfo& op() const { return *situation_.op; }  // whose recipe this is
  bool HasInput(int slot) const { return InputCount(slot) > 0; }
  int InputCount(int slot) const { return static_cast<int>(situation_.in_counts[slot]); }
  int OutputCount(int slot) const { return static_cast<int>(situation_.out_counts[slot]); }
  bool Wants(int slot, int i = 0) const;  // is this input's gradient asked for?
  template <class A>
  const A& attrs() {
    recipe_.depends_on_attrs = true;
    return *static_cast<const A*>(situation_.attrs);
  }

  // References; those to absent inputs and unwanted gradients are absent themselves.
  RecipeRef Input(int slot, int i = 0) const;
  RecipeRef InputShape(int slot, int i = 0) const;  // sizes and type only: keeps no data alive
  RecipeRef Output(int slot, int i = 0) const;
  RecipeRef OutputGrad(int slot, int i = 0) const;
  RecipeRef InputGrad(int slot, int i = 0) const;
  RecipeRef Temp();
  RecipeSlot Inputs(int slot) const;
  RecipeSlot InputShapes(int slot) const;
  RecipeSlot OutputGrads(int slot) const;
  RecipeSlot InputGrads(int slot) const;

  class CallRef {
   public:
    CallRef(Recipe* recipe, size_t index) : recipe_(recipe), index_(index) {}
    // the operator has the forward's attribute struct
    CallRef& SameAttrs();
    CallRef& Attr(const char* name, const AttrValue& value);
    CallRef& Number(const char* name, RecipeNumber number);
    // fn(const Forward*, Backward*) as void pointers
    CallRef& AttrsFrom(AttrFn fn);

   private:
    Recipe* recipe_;
    size_t index_;
  };
  // Slots in declared order; trailing ones may be left out.
  CallRef Call(const char* type, std::initializer_list<RecipeSlot> in,
               std::initializer_list<RecipeSlot> out);
  CallRef CallLists(const std::string& type, std::vector<RecipeSlot> in,
                    std::vector<RecipeSlot> out);
  // The same with one temporary as the result: RecipeRef t = g.Apply("elementwise_mul", {a, b});
  RecipeRef Apply(const char* type, std::initializer_list<RecipeSlot> in);
  RecipeRef ApplyScale(RecipeRef x, RecipeNumber factor);

  Recipe Finish();  // drops what is not needed, lists what is kept

 private:
  RecipeRef Make(RecipeRef::Kind kind, int slot, int i, uint32_t count) const;
  int FlatInput(int slot, int i) const;
  const Situation& situation_;
  Recipe recipe_;
};

using GradMaker = void (*)(GradBuilder&);

// The recipe for a situation: made once per operator, slot presence, list lengths and wanted
// gradients (and attributes, where the maker looks at them), and kept for good. PreconditionNotMet
// when the operator has no gradient.
const Recipe& GetRecipe(const OpInfo& op, const Attrs& attrs, Span<const uint32_t> in_ends,
                        Span<const uint32_t> out_ends, const WantedSet& wanted);

}  // namespace dygraph
