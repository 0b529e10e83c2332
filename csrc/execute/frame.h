// What a run of a prepared program uses; for the files of the executor alone.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "execute/chain.h"
#include "execute/executor.h"
#include "execute/fitting_inputs.h"
#include "execute/planned_runs.h"
#include "run/run.h"

namespace dygraph::program {

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
    const PlanOp* op = nullptr;
    const std::string* NameOf(int flat) const override {
      return op->in_names.empty() ? nullptr : op->in_names[flat];  // it stands for several
    }
  };
  Names names;
  Call call;
  SmallVector<const Value*, 6> in;  // transformed inputs may stand in their place
  std::vector<Bound> parts;         // as the operator's
  std::vector<Bound> body;          // of the block that the operator runs
  ScopeVar* weight = nullptr;       // whose kept form may take its place
  size_t staging = 0;               // the first of its staged outputs in the frame's
  std::unique_ptr<Chain> chain;     // that begins here, once it ran
  Dims suits;                       // of the first input, whose kernel takes that form
  // Whether the kernel that does the next operator's steps too gives the bits of both one after the
  // other: for a first input of these sizes, so many threads, and writing into the summand or not;
  // found out in the first such run.
  enum class Joint { kUnknown, kEqual, kApart };
  Joint joint = Joint::kUnknown;
  Dims joint_for;
  int joint_threads = 0;
  bool joint_into = false;
  FittingInputs fitting;
  SettledCall* noting = nullptr;  // where this run notes what the call comes to
  Epilogue end;                   // of the operator before, where this one is its end
  bool IsWhole() const {          // all inputs hold something
    return std::all_of(in.begin(), in.end(), [](const Value* v) { return !v || !v->empty(); });
  }
};

// What one run at a time uses: the scope of temporaries and the calls bound to its values.
struct PreparedProgram::Frame {
  std::shared_ptr<Scope> scope;
  std::vector<Value*> values;   // by slot
  std::vector<ScopeVar*> vars;  // of persistable ones, by slot
  std::vector<Bound> calls;     // by operator
  std::vector<Value> staging;
  size_t bound_staging = 0;  // of those, while calls are bound
  std::vector<Value*> temporaries;
  std::deque<Value> inner;  // of blocks but the first, which no scope shows
  uint64_t made_terms = 0;  // of gradients whose order is noted
  uint64_t draws = 0;       // random operators that ran, in a program with blocks
  std::vector<std::shared_ptr<SharedValue>> shared;  // eager variables among them
  uint32_t unchecked = 0;  // operators of blocks that ran without a look for signals
  std::vector<std::unique_ptr<PlannedRun>> planned;  // the one that ran last comes first
  PlannedRun* installed = nullptr;                   // whose values stand at their slots
  std::vector<std::unique_ptr<GraphedRun>> graphed;  // likewise
  bool keeps_results = false;  // this run's are copied out of a graph's memory
  bool aliased = false;        // two names stand for one variable
  bool again = false;          // what this second half reads is read once more later
  OpTimes* times = nullptr;    // of a run that is timed
  bool apart = false;          // this run does no operator's steps in the kernel before it
};

// The operators of a block and their calls.
struct PreparedProgram::Stretch {
  const std::vector<PlanOp>& ops;
  std::vector<Bound>& calls;
  size_t begin = 0, end = static_cast<size_t>(-1);
};

// What a run is of a program: all of it, or one of its halves.
struct PreparedProgram::Part {
  const std::vector<Value>& feeds;
  size_t first_feed, end_feed, first_fetch, end_fetch;
  size_t begin, end;                      // operators
  std::vector<Value>* carried = nullptr;  // of the first half: what the second will read
  std::vector<Value>* brought = nullptr;  // of the second: that
  bool again = false;
  OpTimes* times = nullptr;
};

// Ends a run whose values, such as NaN, want every operator by itself; it begins anew that way.
struct PreparedProgram::BeginAnew {};

}  // namespace dygraph::program
