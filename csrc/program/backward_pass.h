// The backward pass while it is made; for the files of it alone.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "op/op_registry.h"
#include "op/recipes.h"
#include "program/backward.h"
#include "program/block_gradient.h"
#include "program/outer_uses.h"
#include "program/uses.h"

namespace dygraph::program {

// Of a mark without an operator behind it, such as read, too.
inline bool HasNoGradient(const OpDesc& op) {
  const OpInfo* info = FindOp(op.type);
  return !info || info->has_no_grad;
}

// A forward operator with its arguments by slot of the registry.
struct Forward {
  const OpInfo* op = nullptr;
  Ref<Attrs> attrs;
  std::vector<std::string> in, out;  // flat; kEmptyName: absent
  SmallVector<uint32_t, 4> in_ends, out_ends;

  explicit Forward(const OpDesc& desc);
  int FlatIn(RecipeRef r) const {
    return static_cast<int>((r.slot ? in_ends[r.slot - 1] : 0) + r.index);
  }
  int FlatOut(RecipeRef r) const {
    return static_cast<int>((r.slot ? out_ends[r.slot - 1] : 0) + r.index);
  }
};

// Of each block, the variables whose gradients go from turn to turn, as far as they are known. What
// is around a block finds its own by repeating; blocks in it then begin with what they had. `kept`:
// what second order has gradients of. `own_steps`: of the block of a gradient, what its turns are
// to be kept in for second order, by `keeper`.
struct Flows {
  std::set<std::string> flowing, handed;
  std::vector<std::string> kept;
  std::string own_steps;
  OpRef keeper;
};
using FoundFlows = std::map<int32_t, Flows>;

// The block of an operator, which is differentiated as a block of its own: one run of it.
struct BodyRequest {
  const OuterUses& uses;
  // Of arrays around the block, the array with their gradients, which is one for all runs.
  const std::map<std::string, std::string>& arrays;
  std::vector<std::string> asked = {};  // variables of the block whose gradient is wanted
  // Of second order: what a turn has of these before it writes them has a gradient of its own.
  std::vector<std::string> begun = {};
  FoundFlows* found;
};

// What one run of the block gives to the one before it, and to what lies around.
struct BodyResult {
  std::vector<GradientBlock::Made> ops;
  std::map<std::string, std::string> carried;             // goes from turn to turn: the gradient
  std::map<std::string, std::vector<std::string>> terms;  // read only: in the order they come
  std::set<std::string> arrays;                           // whose gradient the block writes
  std::set<std::string> read;  // values of variables around, which the block leaves as they are
};

// Whether operators of the block that run blocks use the variable: their terms go on with the sum
// of those that came before.
bool UsedByBlocks(const Block& body, const std::string& name);
void RenameReads(std::vector<GradientBlock::Made>* ops, const std::string& from,
                 const std::string& to);

class BackwardPass {
 public:
  explicit BackwardPass(const BackwardRequest& request, const BodyRequest* body = nullptr)
      : request_(request), body_(body), ops_(Forwards(request)), uses_(ops_) {}

  BackwardResult Run();
  BodyResult RunBody();

 private:
  // One term of a gradient: the variable that holds it, and where it was written, to rename it once
  // there are several.
  struct Term {
    std::string name;
    std::vector<OpDesc::Var>* outputs;
    size_t slot, index;
  };
  struct Step {
    std::unique_ptr<OpDesc> op;
    int forward;
    std::shared_ptr<GradientBlock> block = nullptr;
  };

  static std::vector<const OpDesc*> Forwards(const BackwardRequest& request);
  void PlayAll();
  bool Wants(const std::string& name) const;
  bool IsArray(const std::string& name) const;
  void FindUseful();
  bool HandsValuesOn(const OpDesc& op) const;
  bool IsMadeOfWanting(const Block& body, const std::string& name) const;
  void CheckWrites(const Block& body, const std::vector<std::string>& writes) const;
  const std::string* Complete(const std::string& name);
  void Rename(Term& term, const std::string& name);
  std::string Free(const std::string& name);
  OpDesc& Append(OpDesc op, int forward);
  void Play(int number);
  void NoteZeros(const Forward& f, const Recipe& recipe, const WantedSet& wanted,
                 const std::vector<std::string>& in_grads, bool any);
  void MakeZeros(const std::string& name);
  bool WorksOnFloat64(const Forward& f) const;
  void PlayRecipe(const Forward& f, int number, const std::vector<std::string>& out_grads,
                  bool any);
  std::string TermName(const std::string& of);
  std::string GradientArray(const std::string& of);
  std::string Keep(const std::string& name, int number, bool as_input);
  bool BeginsRead(const std::string& name);
  bool IsUndoneFrom(const std::string& name, size_t number) const;
  std::string Restore(const std::string& name, size_t writer);
  const std::string* Decremented(const std::string& name, size_t writer);
  bool Undo(const OpDesc& desc, int number);
  void PlayBlock(const OpDesc& desc, int number);
  // Of second order, in program/backward_second.cc.
  struct Second;
  void PlayGradientBlock(const OpDesc& desc, int number);
  bool FindArriving(Second* s);
  void DifferentiateTurns(Second* s, int number);
  void ListReads(Second* s);
  std::vector<std::string> ListKept(Second* s);
  void ListSlices(Second* s);
  void AddBegun(size_t number);
  std::map<std::string, std::string> ArraysOf(const OuterUses& uses,
                                              std::set<std::string>* flowing);
  std::string Arriving(const std::string& name);
  bool IsLeftBy(const Block& forward, const std::string& name) const;
  void NoteTerms(OpDesc& op, const std::string& slot, const std::vector<std::string>& of);
  void KeepOwnSteps();
  std::vector<GradientBlock::Made> TakeSteps();

  const BackwardRequest& request_;
  const BodyRequest* body_;  // null: the pass goes over operators that are run once
  const std::vector<const OpDesc*> ops_;
  const Uses uses_;
  const std::string block_text_ = std::to_string(request_.block.idx());
  std::vector<bool> useful_, led_;           // led: what is asked for leads to it
  std::unordered_set<std::string> reached_;  // what leads to a target, whether it wants a gradient
  std::unordered_map<std::string, std::vector<Term>> pending_;
  std::vector<std::string> order_;        // variables by their gradient's first term
  std::unordered_set<std::string> zero_;  // whose gradient has a term that is zero everywhere
  std::unordered_set<std::string> used_;
  std::unordered_set<std::string> read_terms_;  // terms that later operators read by name
  std::vector<Step> steps_;
  int temps_ = 0;
  BackwardResult result_;
  std::set<std::string> kept_, arrays_;   // of BodyResult: read, arrays
  std::map<size_t, size_t> block_steps_;  // the step that is the gradient of an operator's block
  std::map<std::pair<size_t, std::string>, std::string> restored_;
  FoundFlows own_flows_;  // of the whole program; passes over its blocks use them too
};

}  // namespace dygraph::program
