// When an output takes the LoD of an input: where its rows are that input's rows, in their order.
// OpDef::ShareLoD() names the input. If the rows of other inputs are the output's too, the file
// that registers the operator names those:
//
//   REGISTER_LOD_ALSO(where, kCondition, kY);
//
// Then the first input that has a LoD gives it, and two different ones are refused. The first sizes
// of input and output must be equal. That is all where the operator has no rule; only an output
// with more axes than the input takes none, since broadcasting put an axis in front. If it depends
// on attributes, the file has a rule, which is asked about each of these inputs:
//
//   REGISTER_LOD_RULE(flip, [](const LoDCall& c) { return ...; });
//
// Eager calls pass values, descriptions of programs pass sizes of which some are -1, so that
// lod_level agrees with a run.
#pragma once

#include <vector>

#include "op/call.h"

namespace dygraph {

struct LoDCall {
  const Call& call;
  int slot, element;   // of the input that may give its LoD
  const Tensor& from;  // that input
  const Tensor& out;   // of equal first size, which may be -1
  int out_slot;
  const int* levels;  // in a description: how many, by input; nullptr: the values have them

  template <class A>
  const A& attrs() const {
    return *static_cast<const A*>(call.attrs);
  }
  bool described() const { return levels; }
  // Whether an attribute names another axis of the input than the first one.
  bool IsBehindFirst(int64_t axis) const { return axis != 0 && axis != -from.rank(); }
};
using LoDRule = bool (*)(const LoDCall&);

// The rule of operators whose outputs may have more axes than the input.
inline bool RowsOfFirstAxis(const LoDCall&) { return true; }
// The rule of operators of which only the first output has rows.
inline bool RowsOfFirstOutput(const LoDCall& c) { return c.out_slot == 0; }

// The input slots whose rows may be those of outputs, in the order in which they are asked.
std::vector<int> LoDSlots(const OpInfo& op);
// How many levels of detail an output has, from `levels`, how many the inputs have: one by one.
int PassedLevels(const Call& call, int out_slot, const Tensor& out, const int* levels);
// Gives the outputs of a call the LoD that they take.
void PassLoD(const Call& call);

class LoDRuleRegistration {
 public:
  LoDRuleRegistration(const char* type, LoDRule rule);
  LoDRuleRegistration(const char* type, std::vector<int> also);
};

}  // namespace dygraph

#define REGISTER_LOD_RULE(type, ...) \
  static ::dygraph::LoDRuleRegistration lod_rule_##type(#type, __VA_ARGS__)
#define REGISTER_LOD_ALSO(type, ...) \
  static ::dygraph::LoDRuleRegistration lod_also_##type(#type, std::vector<int>{__VA_ARGS__})
