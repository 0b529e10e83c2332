// Records eager calls as a program: a listener (tape/layer.h) that gives values names.
//
// A name belongs to a value, not to a variable: it keys on the value number, which every write
// renews. So a variable written in the middle of a recording stands for two names, and two
// variables of one value for one.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "program/desc.h"
#include "tape/layer.h"
#include "tape/thread_state.h"
#include "tensor/storage_watch.h"

namespace dygraph::program {

VarDesc DescribeValue(const std::string& name, const Value& value, bool persistable);

struct Recording {
  ProgramDesc program;  // one block; feed and fetch operators as Fluid writes them
  std::map<std::string, Value>
      weights;  // every persistable variable the program names, as it was at its first sight
  std::unordered_set<std::string> constants;     // weights that are no parameter
  std::map<std::string, Ref<Variable>> sources;  // eager variables that the other weights are
  std::vector<std::string> feeds, fetches;
  bool trains = false;  // a backward pass is part of it
};

// Observes the first run of a function: the outer variables that it writes, and the leaves that may
// get gradients, with their earlier values.
class Journal : public Listener {
 public:
  ~Journal() override { RemoveListener(this); }
  void OnCall(const EagerCall& call) override;
  void OnWrite(Variable& var) override;
  void OnBackward(Variable& /*root*/) override { played_ = true; }

  struct Before {
    Ref<Variable> var;
    Ref<Variable> value;  // a copy of what was written, or the leaf's gradient
  };
  std::vector<Before> written() const;  // without what is no longer held
  const std::vector<Before>& leaves() const { return leaves_; }
  bool played() const { return played_; }  // a backward pass was
  void Prune();                            // at the end, and now and then before

 private:
  std::vector<Before> written_, leaves_;
  std::unordered_set<const Variable*> seen_written_, seen_leaves_;
  bool played_ = false;
  size_t next_prune_ = 16;
};

// Whose values lie in which storage, while it lives: nothing is held, so that a recorded run takes
// no more memory than another one.
class Makers {
 public:
  void Add(const Tensor& made, const std::string& name);
  std::string Find(const Tensor& value) const;  // empty: its maker is unknown

 private:
  mutable std::mutex mutex_;  // storage may end on any thread
  std::unordered_map<const Storage*, std::string> names_;
  StorageWatch ends_{[this](const Storage* storage) {  // the last member: it ends first
    std::lock_guard<std::mutex> lock(mutex_);
    names_.erase(storage);
  }};
};

class Recorder : public Listener {
 public:
  // `where` says which Python line is running, for operators and errors.
  explicit Recorder(std::function<std::string()> where) : where_(std::move(where)) {}
  ~Recorder() override { RemoveListener(this); }

  // Before the first call. Names are made unique; the one given is the result. `sizes` are names of
  // open sizes, by axis.
  std::string AddFeed(Variable& var, const std::string& name,
                      const std::map<int, std::string>& sizes);
  void AddParameter(Variable& var, const std::string& name);
  // Gets each operator before it is recorded, and may change it to a form for any batch.
  void SetReviser(std::function<void(OpDesc&)> revise) { revise_ = std::move(revise); }

  // While it records: the name of a fed or computed value, null for others; what is written so far.
  const std::string* FindName(const Variable& var) const;
  const BlockDesc& block() const { return block_; }
  // Sizes of what operator `i` writes, by its shape rule, where those of its inputs are replaced by
  // `dims`. Throws what the rule throws.
  std::map<std::string, std::vector<int64_t>> InferOp(
      size_t i, const std::map<std::string, std::vector<int64_t>>& dims) const;

  void OnCall(const EagerCall& call) override;
  void OnRead(Variable& var, const char* how) override;
  void OnWrite(Variable& var) override;
  void OnBackward(Variable& root) override;

  // The program that computes `outputs`. A parameter written by an operator is written in the
  // program too. Where there is a backward pass, operators have roles: forward, backward, and
  // update for what serves the parameters alone.
  Recording Finish(const std::vector<Variable*>& outputs);

 private:
  struct Parameter {
    Ref<Variable> var;
    std::string name;
    std::vector<uint64_t> numbers;  // of its values but for the last, in order
  };
  class Writes;
  std::string Unique(const std::string& name);
  const std::string& NameOf(
      Variable& var);  // an operand: an outside value seen first becomes a constant
  void Declare(Variable& var, const std::string& name, bool persistable);
  void DropDead(const std::vector<Variable*>& outputs);
  void MarkRoles(const std::vector<Variable*>& outputs);
  void WriteParameters(const std::vector<Variable*>& outputs);
  void WriteUnchangedParameters();
  void AddWeight(Variable& var, const std::string& name);

  std::function<std::string()> where_;
  std::function<void(OpDesc&)> revise_;
  BlockDesc block_;
  Recording result_;
  std::vector<Parameter> parameters_;
  std::unordered_map<const Variable*, size_t> parameter_of_;
  std::vector<bool> played_;                         // by operator: a backward pass ran it
  std::vector<std::string> roots_;                   // where backward passes began
  std::unordered_map<uint64_t, std::string> names_;  // of value numbers
  std::unordered_set<uint64_t> recorded_;            // numbers of feeds and of what operators made
  Makers made_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> counters_;  // operators of a type so far
  mutable std::unordered_map<std::string, size_t> places_;  // of variables in the block, by name
};

// Makes a fill_constant as long on its axis `at` as the variable `source` is on `axis`.
void FillLike(OpDesc* op, const std::string& source, int axis, int at);

// What two recordings of one function at two batch sizes have in common: sizes that differ become
// -1 in `first`. InvalidArgument where an operator, an attribute or a constant differs, naming it
// and its line.
void Generalize(Recording* first, const Recording& second);

}  // namespace dygraph::program
