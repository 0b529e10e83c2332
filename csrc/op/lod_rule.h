// When an output takes the LoD of the input named by OpDef::ShareLoD(): where its rows are that
// input's rows, in their order. The first sizes must be equal. That is all where the operator has
// no rule; only an output with more axes than the input takes none, since broadcasting put an axis
// in front. If it depends on attributes, the file that registers the operator says so:
//
//   REGISTER_LOD_RULE(flip, [](const LoDCall& c) { return ...; });
//
// Eager calls pass values, descriptions of programs pass sizes of which some are -1, so that
// lod_level agrees with a run.
#pragma once

#include "op/call.h"

namespace dygraph {

struct LoDCall {
  const Call& call;
  const Tensor& from;  // the input that ShareLoD() names
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
  // Whether all inputs of a slot have the LoD of the first one.
  bool SameLoD(int slot) const;
};
using LoDRule = bool (*)(const LoDCall&);

// The rule of operators whose outputs may have more axes than the input.
inline bool RowsOfFirstAxis(const LoDCall&) { return true; }
// The rule of operators of which only the first output has rows.
inline bool RowsOfFirstOutput(const LoDCall& c) { return c.out_slot == 0; }

// Whether the output takes the LoD; `levels` as in LoDCall.
bool TakesLoD(const Call& call, int out_slot, const Tensor& out, const int* levels = nullptr);
// Gives the outputs of a call the LoD that they take.
void PassLoD(const Call& call);

class LoDRuleRegistration {
 public:
  LoDRuleRegistration(const char* type, LoDRule rule);
};

}  // namespace dygraph

#define REGISTER_LOD_RULE(type, ...) \
  static ::dygraph::LoDRuleRegistration lod_rule_##type(#type, __VA_ARGS__)
