// The plan of a program: its names resolved to slots, its operators to calls, in the order they
// run. Passes (execute/plan_passes.h) rewrite it once, before the first run.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "op/epilogue.h"
#include "op/kept_form.h"
#include "op/op_registry.h"
#include "program/desc.h"

namespace dygraph::program {

// Where a name's value is: in the outer scope or in the scope of the run.
struct PlanSlot {
  std::string name;
  bool persistable = false;
  int block = 0;  // where it is declared
};

struct PlanControl;

// What becomes of the terms of gradients in an operator (execute/term_order.h): slots of its inputs
// and outputs, each with the slot of its terms. -1: of an input that no operator makes, so that it
// comes first; of an output whose terms are not asked for.
struct TermNotes {
  enum class Kind {
    kMade,   // the outputs are terms
    kAdded,  // the output is the sum of the inputs
    kSame,   // the output is the input under another name
    kPut,    // the input is added to an element of an array
    kTaken,  // the output is an element that is taken out of an array
  };
  using Slots = std::vector<std::pair<int, int>>;
  Kind kind;
  Slots in, out;
};

struct PlanOp {
  const OpInfo* info = nullptr;
  Ref<Attrs> attrs;
  const OpDesc* desc = nullptr;
  int position = 0;  // in its block
  int block = 0;
  int random = -1;  // its number among the random operators
  // Slots, flat; -1: absent. Behind the inputs stand the variables of open attributes.
  SmallVector<int, 6> in, out;
  SmallVector<uint32_t, 4> in_ends, out_ends;
  struct OpenAttr {
    int field;
    uint32_t begin, end;  // of its variables, in `in`
  };
  std::vector<OpenAttr> open;
  std::vector<const std::string*> in_names;  // as `in`; in the slots
  // Outputs that are also inputs (a running mean), or last: made aside, then moved. What another
  // thread sets meanwhile frees nothing that is written; a call that fails leaves the old value.
  SmallVector<int, 2> staged;  // flat output numbers
  uint32_t reuse = 0;
  int updates = 0;                 // from here on, whose loops run together
  int chain = 0;                   // from here on, which may run block by block
  SmallVector<int, 4> read;        // slots of which only the sizes are asked after this operator
  SmallVector<int, 4> done;        // slots not used after this operator
  std::unique_ptr<KeptForm> kept;  // of a weight that the program does not write
  int weight = -1;                 // which input that is; -1: it is read elsewhere too
  // For one operator in place of several, with the same bits: the several, which run instead while
  // calls are watched or where the one does not take their values.
  std::vector<PlanOp> parts;

  // Not null: an operator whose call may end the kernel of the one before it, which alone makes its
  // input.
  MakeEpilogue as_end = nullptr;
  int into = -1;  // of such: the input that its result may be written into

  // Not null: an operator that runs a block. `in` and `out` are then what all operators of the
  // block read and write of the blocks around it.
  std::shared_ptr<PlanControl> control;
  // Some gradient it reads may be missing, since the block that gives it need not run. Where a
  // required one is, the operator is passed over, as a recipe leaves out such a call.
  bool lenient = false;
  std::shared_ptr<const TermNotes> terms;  // null: no sum asks for them

  bool Reads(int slot) const { return std::find(in.begin(), in.end(), slot) != in.end(); }
  bool Writes(int slot) const { return std::find(out.begin(), out.end(), slot) != out.end(); }
  bool Ends(int slot) const { return std::find(done.begin(), done.end(), slot) != done.end(); }
  // The first variable of an input or output; -1 where there is none.
  int Input(const char* name) const { return First(info->InputSlot(name), in, in_ends); }
  int Output(const char* name) const { return First(info->OutputSlot(name), out, out_ends); }

 private:
  static int First(int slot, const SmallVector<int, 6>& flat,
                   const SmallVector<uint32_t, 4>& ends) {
    uint32_t begin = slot ? ends[slot - 1] : 0;
    return begin < ends[slot] ? flat[begin] : -1;
  }
};

// delete_var reads nothing: passes look past it.
inline bool EndsValues(const PlanOp& op) { return op.desc && op.desc->type == "delete_var"; }

// Operators that one operator of another block runs. All blocks of a program work on one set of
// values.
struct BlockPlan {
  std::vector<PlanOp> ops;
  std::vector<int> locals;  // declared in the block and left with a value by a run of it
};

// How an operator runs its block.
struct PlanControl : std::enable_shared_from_this<PlanControl> {
  Control kind = Control::kNone;
  BlockPlan body;
  SmallVector<int, 2> conditions;
  bool scalar = true;  // the condition is one bool; else the block runs if each one has rows
  // Of recurrent and its gradient: pairs of a slot outside the block and one inside; of handed both
  // are inside, the state that a step gives and the one that the next step gets. `stacked_like`: of
  // a gradient, the input that it is like, where a step gives none.
  using Pairs = std::vector<std::pair<int, int>>;
  Pairs sliced, initial, handed, stacked;
  std::vector<int> stacked_like;
  bool reverse = false;

  // For the gradient: what a turn keeps, as it is when the turn begins and when it ends; the slot
  // that all of it goes into, -1 where nothing reads it.
  std::vector<int> kept_before, kept_after;
  // How each is kept, by its number: the sizes alone where no more is read; moved where the block
  // is the only one that has the variable.
  enum class Keeping : char { kSizes, kCopy, kMove };
  std::vector<Keeping> keeping;
  int steps = -1;
  const PlanControl* forward = nullptr;  // of a gradient: whose turns it goes back over
  bool only_reader = false;              // of what the turns kept
  // Of the gradient: the number of a kept value and the slot it returns to.
  Pairs restored;
  // A gradient that goes from turn to turn: where it comes from, what a turn calls what it gets and
  // what it gives, where it goes to; -1 for none of these.
  struct Flow {
    int from, in, out, to;
  };
  // A gradient that adds up: what comes first, the terms of a turn, where it goes to.
  struct Gather {
    int before;
    std::vector<int> terms;
    int to;
    std::shared_ptr<const TermNotes> notes = nullptr;  // in: before and terms; out: to
  };
  // Variables as they were before the first turn: where they are, the number of the kept value,
  // where they go to.
  struct Before {
    int now, number, to;
  };
  std::vector<Before> befores;
  // Second order. A gradient of first order keeps its turns in `own_steps`, as the forward operator
  // does. The gradient of such a one goes over them in the order of the forward turns, adds up
  // gradients of what the forward turns kept, after what `kept_from` holds, and leaves them in
  // `kept_to`. The next gradient of the forward operator gives each turn its own, in `slot`.
  struct KeptGradient {
    int number;              // of the value among those that the forward operator keeps
    int slot;                // -1 where they are added up
    std::vector<int> terms;  // of a turn
    int made_as;             // the number under which the turn before made the same value, or -1
    int first, last;         // outside: what comes first in the first turn; where the last one goes
  };
  std::vector<KeptGradient> kept_gradients;
  int own_steps = -1, kept_from = -1, kept_to = -1;
  std::vector<int> arrays;  // of gradients, which there are once a turn writes an element
  std::vector<Flow> flows;
  std::vector<Gather> gathers;
  bool is_gradient() const {
    return kind == Control::kWhileGrad || kind == Control::kConditionGrad ||
           kind == Control::kRecurrentGrad || kind == Control::kSecondGrad;
  }
};

struct Plan {
  std::vector<PlanSlot> slots;
  std::vector<PlanOp> ops;
  std::vector<int> fetches;  // slots that are asked for after a run
  // Of a block inside another: what the blocks around it write. Its slots are among the fetches
  // unless it alone uses them.
  bool inner = false;
  std::vector<int> written_outside;
};

// each(op) for all operators of a plan and of the blocks in it.
template <class Ops, class F>
void ForEachOp(Ops& ops, F&& each) {
  for (auto& op : ops) {
    each(op);
    if (op.control) ForEachOp(op.control->body.ops, each);
  }
}

// How often each slot is read, fetches counted, and which are written.
struct PlanUses {
  enum class Of { kOperators, kPartsToo };
  PlanUses(const Plan& plan, Of which);
  std::vector<int> readers;
  std::vector<bool> written;
};

}  // namespace dygraph::program
