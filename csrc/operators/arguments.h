// Sizes, positions and indices that a call gets as integer tensors.
#pragma once

#include <vector>

#include "op/op_registry.h"

namespace dygraph {

// Calls f(const int32_t*) or f(const int64_t*) with the values of `t`; any other type is a
// TypeError naming the slot.
template <class F>
decltype(auto) VisitIndices(const Tensor& t, const char* slot, F&& f) {
  if (t.dtype() == DType::kInt32) return f(t.data<int32_t>());
  ENFORCE(t.dtype() == DType::kInt64, Type, slot, " must be of int32 or int64, got ", t.dtype(),
          ". Convert with astype('int64')");
  return f(t.data<int64_t>());
}

std::vector<int64_t> Integers(const Tensor& t, const char* slot);

// While a program is built tensors have no values: then `known` is false and only the length is
// right.
struct IntList {
  SmallVector<int64_t, 8> values;
  bool known = true;
};

// The integers a call gives as a list of one-element tensors, as one tensor or, where neither is
// there, as an attribute.
template <class A>  // int32_t, int64_t
IntList ReadIntList(const Call& call, int tensor_slot, int list_slot, const std::vector<A>& attr);

}  // namespace dygraph
