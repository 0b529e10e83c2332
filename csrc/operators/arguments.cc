#include "operators/arguments.h"

#include "op/open_attr.h"

namespace dygraph {

std::vector<int64_t> Integers(const Tensor& t, const char* slot) {
  return VisitIndices(t, slot, [&](auto* v) { return std::vector<int64_t>(v, v + t.numel()); });
}

template <class A>
IntList ReadIntList(const Call& call, int tensor_slot, int list_slot, const std::vector<A>& attr) {
  IntList list;
  int count = list_slot < 0 ? 0 : call.in.count(list_slot);
  for (int i = 0; i < count; ++i) {
    const Tensor& t = call.in.at(list_slot, i)->tensor();
    const char* slot = call.op->inputs[list_slot].name.c_str();
    ENFORCE(t.numel() == 1 || t.dims().HasUnknown(), InvalidArgument, "each element of ", slot,
            " must hold one integer, got shape ", t.dims());
    list.known &= t.has_data();
    list.values.push_back(t.has_data() ? Integers(t, slot)[0] : -1);
  }
  if (count > 0) return list;
  if (tensor_slot >= 0 && call.in.count(tensor_slot) > 0) {
    const Tensor& t = call.in.at(tensor_slot)->tensor();
    const char* slot = call.op->inputs[tensor_slot].name.c_str();
    ENFORCE(t.rank() <= 1, InvalidArgument, slot, " must have one axis, got shape ", t.dims());
    list.known = t.has_data();
    ENFORCE(list.known || !t.dims().HasUnknown(), InvalidArgument, "the length of ", slot,
            " must be known while a program is built, got shape ", t.dims());
    std::vector<int64_t> given =
        list.known ? Integers(t, slot) : std::vector<int64_t>(t.numel(), -1);
    list.values.Append(given.begin(), given.end());
    return list;
  }
  for (A v : attr) {
    list.known &= !IsOpen(v);
    list.values.push_back(IsOpen(v) ? -1 : v);
  }
  return list;
}

template IntList ReadIntList(const Call&, int, int, const std::vector<int32_t>&);
template IntList ReadIntList(const Call&, int, int, const std::vector<int64_t>&);

}  // namespace dygraph
