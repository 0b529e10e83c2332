// What a prepared program consists of; for the files of the executor alone.
#pragma once

#include "execute/executor.h"
#include "op/epilogue.h"
#include "op/kept_form.h"
#include "op/op_registry.h"

namespace dygraph::program {

// Where a name's value is: in the outer scope or in the scope of the run.
struct PreparedProgram::Slot {
  std::string name;
  bool persistable = false;
};

struct PreparedProgram::Op {
  const OpInfo* info = nullptr;
  Ref<Attrs> attrs;
  const OpDesc* desc = nullptr;
  int position = 0;             // in its block
  int random = -1;              // its number among the random operators
  SmallVector<int, 6> in, out;  // slots, flat; -1: absent
  SmallVector<uint32_t, 4> in_ends, out_ends;
  std::vector<const std::string*> in_names;  // as `in`; into slots_
  // Outputs that are also inputs (a running mean), or last: made aside, then moved. What another
  // thread sets meanwhile frees nothing that is written, and a call that fails leaves the old value.
  SmallVector<int, 2> staged;  // flat output numbers
  uint32_t reuse = 0;
  int updates = 0;                 // from here on, whose loops run together
  SmallVector<int, 4> read;        // slots of which only the sizes are asked after this operator
  SmallVector<int, 4> done;        // slots nobody uses after this operator
  std::unique_ptr<KeptForm> kept;  // of a weight that the program does not write
  int weight = -1;                 // which input that is; -1: it is read elsewhere too
  // One operator in place of several, whose bits it has: these, which run instead while somebody
  // watches or where the one does not take their values.
  std::vector<Op> parts;

  // Not null: an operator whose call may end the kernel of the one before it, which alone makes its
  // input.
  MakeEpilogue as_end = nullptr;
  int into = -1;  // of such: the input that its result may be written into

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

// Sets a field of a call while it lives.
template <class T>
class Beside {
 public:
  Beside(T** field, T* value) : field_(field) { *field_ = value; }
  ~Beside() { *field_ = nullptr; }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

 private:
  T** field_;
};

// An operator's call on the values of a frame.
struct PreparedProgram::Bound {
  struct Names final : Caller {
    const Op* op = nullptr;
    const std::string* NameOf(int flat) const override {
      return op->in_names.empty() ? nullptr : op->in_names[flat];  // it stands for several
    }
  };
  Names names;
  Call call;
  SmallVector<const Value*, 6> in;  // transformed inputs may stand in their place
  std::vector<Bound> parts;         // as the operator's
  ScopeVar* weight = nullptr;       // whose kept form may take its place
  Dims suits;                       // of the first input, whose kernel takes that form
  // Whether the kernel that does the next operator's steps too gives the bits of both one after the
  // other: for a first input of these sizes, so many threads, and writing into the summand or not;
  // found out in the first such run.
  enum class Joint { kUnknown, kEqual, kApart };
  Joint joint = Joint::kUnknown;
  Dims joint_for;
  int joint_threads = 0;
  bool joint_into = false;
  Epilogue end;  // of the operator before, where this one is its end
};

// What one run at a time uses: the scope of temporaries and the calls bound to its values.
struct PreparedProgram::Frame {
  std::shared_ptr<Scope> scope;
  std::vector<Value*> values;  // by slot
  std::vector<ScopeVar*> vars;  // of persistable ones, by slot
  std::vector<Bound> calls;    // by operator
  std::vector<Value> staging;
  std::vector<Value*> temporaries;
  std::vector<std::shared_ptr<SharedValue>> shared;  // eager variables among them
  bool aliased = false;               // two names stand for one variable
  bool apart = false;                 // this run does no operator's steps in the kernel before it
};

// Ends a run whose values, such as NaN, want every operator by itself; it begins anew that way.
struct PreparedProgram::BeginAnew {};

}  // namespace dygraph::program
