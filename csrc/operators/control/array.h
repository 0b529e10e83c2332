// What the operators on arrays share.
#pragma once

#include "kernels/elementwise.h"
#include "op/op_registry.h"
#include "operators/arguments.h"

// Kernels that move elements as they are.
#define REGISTER_MOVING_KERNEL(type, K) REGISTER_KERNELS(type, K, AllTypes)

namespace dygraph::array {

// One int32 or int64: the number of an element, of a step.
inline int64_t NumberIn(const KernelContext& ctx, int slot) {
  const Tensor& t = ctx.In(slot);
  ENFORCE(t.numel() == 1, InvalidArgument, "I must hold one integer, got shape ", t.dims());
  return Integers(t, "I")[0];
}

inline void RequireKind(const Call& call, int slot, const Value& v, VarKind kind, const char* what,
                        const char* fix) {
  ENFORCE(v.kind() == kind, Type, "Input(", call.op->inputs[slot].name, ") must be ", what,
          ", got a ", Name(v.kind()), fix);
}

// TypeError naming the slot where it holds something else.
inline const TensorArray& ArrayIn(const Call& call, int slot) {
  const Value& v = *call.in.at(slot);
  RequireKind(call, slot, v, VarKind::kArray, "an array",
              ". Make one with array_write(), or lod_tensor_to_array()");
  return v.array();
}

inline const LoDRankTable& TableIn(const Call& call, int slot) {
  const Value& v = *call.in.at(slot);
  RequireKind(call, slot, v, VarKind::kRankTable, "a rank table",
              ". Make one with lod_rank_table()");
  return v.rank_table();
}

inline void RequireWritten(const char* slot, const TensorArray& x, size_t i) {
  ENFORCE(x.items[i].has_data(), PreconditionNotMet, slot, "[", i,
          "] must have been written, but nothing has been written to element ", i, " of ",
          x.items.size());
}

// The type that chooses the kernel: of an array that holds nothing any will do.
template <int slot>
DType TypeOf(const Call& call) {
  const Value* v = call.in.at(slot);
  const DType dtype = v && !v->empty() ? v->dtype() : DType::kUnset;
  return dtype == DType::kUnset ? DType::kFloat32 : dtype;
}

// Describes an output array by the shape and type of all its elements.
inline void Describe(InferContext& ctx, int slot, const Dims& dims, DType dtype) {
  Value* out = ctx.call().out.at(slot);
  if (!out) return;
  Tensor element;
  element.SetMeta(dims, dtype);
  *out = Value(MakeRef<TensorArray>(std::vector<Tensor>{std::move(element)}));
}

// While a program is described: what stands for all elements.
inline const Tensor& Described(InferContext& ctx, int slot) {
  const TensorArray& x = ArrayIn(ctx.call(), slot);
  static const Tensor kNothing{};
  return x.items.empty() ? kNothing : x.items[0];
}

// The shape with an open first size.
inline Dims OpenRows(Dims dims) {
  if (dims.rank() > 0) dims[0] = -1;
  return dims;
}

inline void Clear(Tensor* t) {
  kernels::Fill(static_cast<uint8_t*>(t->mutable_raw_data()), static_cast<int64_t>(t->bytes()),
                uint8_t{0});
}

// A call of a backward pass, where a gradient that did not arrive stands for zeros.
inline bool IsBackward(const Call& call) { return call.from_tape || call.backward; }

}  // namespace dygraph::array
