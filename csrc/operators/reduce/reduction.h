// What the reduce_* operators share: attributes, the shape rule, types, the way back from a result
// to the elements it was made of.
#pragma once

#include "kernels/broadcast.h"
#include "kernels/cast.h"
#include "kernels/complex.h"
#include "kernels/reduce.h"
#include "op/lod_rule.h"
#include "op/op_registry.h"
#include "op/open_attr.h"
#include "operators/reduce/results.h"

namespace dygraph::reduce {

constexpr int kX = 0, kOut = 0;

struct ReduceAttrs {
  std::vector<int32_t> dim = {0};
  bool keep_dim = false;
  bool reduce_all = false;
  DType in_dtype = DType::kUnset;
  DType out_dtype = DType::kUnset;
};

// Which axes of X go.
struct Axes {
  FixedArray<bool, kMaxRank> reduced{};
  Axes(int rank, const ReduceAttrs& a) {
    bool all = a.reduce_all || a.dim.empty();
    for (int i = 0; i < rank; ++i) reduced[i] = all;
    if (all) return;
    for (int32_t d : a.dim) {
      int axis = NormalizeAxis(d, rank, "dim");
      ENFORCE(!reduced[axis], InvalidArgument, "dim must not name an axis twice, got axis ", axis,
              " more than once");
      reduced[axis] = true;
    }
  }
};

inline Dims ReducedDims(const Dims& x, const ReduceAttrs& a) {
  ENFORCE(x.rank() <= kMaxRank, InvalidArgument, "X must have at most ", kMaxRank,
          " axes, got shape ", x);
  Axes axes(x.rank(), a);
  Dims out;
  for (int i = 0; i < x.rank(); ++i) {
    if (!axes.reduced[i]) {
      out.push_back(x[i]);
    } else if (a.keep_dim) {
      out.push_back(1);
    }
  }
  return out;
}

// The same where variables give dim: how many axes go is known, and not which.
inline Dims OpenDims(const Dims& x, const ReduceAttrs& a) {
  const int rank = x.rank(), gone = static_cast<int>(a.dim.size());
  ENFORCE(gone <= rank, InvalidArgument, "dim must not name more axes than X has, ", rank,
          ", got variables for ", gone);
  Dims out;
  for (int i = 0; i < (a.keep_dim ? rank : rank - gone); ++i)
    out.push_back(a.keep_dim && (gone == rank || x[i] == 1) ? 1 : -1);
  return out;
}

inline Dims OutDims(const InferContext& ctx) {
  const ReduceAttrs& a = ctx.attrs<ReduceAttrs>();
  if (!ctx.runtime() && !a.reduce_all && IsOpen(a.dim)) return OpenDims(ctx.dims(kX), a);
  return ReducedDims(ctx.dims(kX), a);
}

inline void InferShape(InferContext& ctx) {
  ctx.SetOutput(kOut, OutDims(ctx), ctx.attrs<ReduceAttrs>().out_dtype);
}

// Rows stay where the first axis does.
inline bool KeepsRows(const LoDCall& c) {
  const ReduceAttrs& a = c.attrs<ReduceAttrs>();
  if (c.described() && !a.reduce_all && IsOpen(a.dim)) return false;
  return !Axes(c.from.rank(), a).reduced[0];
}

// What all reduce_* operators declare.
inline OpDef& DefineReduce(OpDef& op, const char* comment) {
  return op.Comment(comment)
      .Input(kX, "X", "any shape")
      .Output(kOut, "Out", "shape of X without the axes of dim; [] where none is left")
      .Attr(&ReduceAttrs::dim, "dim", "axes to reduce; an empty list means all")
      .Attr(&ReduceAttrs::keep_dim, "keep_dim", "keep reduced axes as ones")
      .Attr(&ReduceAttrs::reduce_all, "reduce_all", "reduce all axes, whatever dim says")
      .Attr(&ReduceAttrs::in_dtype, "in_dtype", "element type of X, for programs; may be left out")
      .Attr(&ReduceAttrs::out_dtype, "out_dtype", "element type to reduce in; unset: X's")
      .ShareLoD(kX)
      .Shape(InferShape);
}

inline Tensor CastTo(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Tensor y(x.dims(), dtype, x.place());
  kernels::Cast(x.dtype(), x.raw_data(), dtype, y.mutable_raw_data(), x.numel());
  return y;
}

template <template <class> class Op, class T>
void Run(const Tensor& x, const Axes& axes, Tensor* out) {
  if constexpr (kIsComplex<T>) {  // pairs of real numbers, along one more axis that stays
    using Real = typename T::value_type;
    Dims pairs = x.dims();
    pairs.push_back(2);
    FixedArray<bool, kMaxRank + 1> reduced{};
    for (int i = 0; i < x.rank(); ++i) reduced[i] = axes.reduced[i];
    return kernels::Reduce<Op<Real>>(reinterpret_cast<const Real*>(x.data<T>()), pairs,
                                     Span<const bool>(reduced.data(), pairs.size()),
                                     reinterpret_cast<Real*>(out->mutable_data<T>()));
  } else {
    kernels::Reduce<Op<T>>(x.data<T>(), x.dims(),
                           Span<const bool>(axes.reduced.data(), x.dims().size()),
                           out->mutable_data<T>());
  }
}

// out = Op over the axes, computed in the type of out. `Ts`: the types there are kernels for.
template <template <class> class Op, class... Ts>
void Compute(KernelContext& ctx) {
  Tensor& out = ctx.Out(kOut);
  Tensor x = CastTo(ctx.In(kX), out.dtype());
  Axes axes(x.rank(), ctx.attrs<ReduceAttrs>());
  bool found = ((out.dtype() == DTypeOf<Ts>::value && (Run<Op, Ts>(x, axes, &out), true)) || ...);
  ENFORCE(found, Unimplemented, "there must be a kernel for the type of Out, got ", out.dtype(),
          ". Give out_dtype='float32' or 'int64'");
}

// Sums and means, of 16-bit floats where the device's loops add those.
template <template <class> class Op>
void ComputeSums(KernelContext& ctx) {
  if constexpr (kAddsNarrow) {
    Compute<Op, float, double, int32_t, int64_t, complex64, complex128, float16, bfloat16>(ctx);
  } else {
    Compute<Op, float, double, int32_t, int64_t, complex64, complex128>(ctx);
  }
}

// Walks of X and of a result, for each axis of X.
struct Strides {
  Dims x, out;
  Strides(const Dims& dims, const Axes& axes) : x(dygraph::Strides(dims)), out(dims.size(), 0) {
    int64_t stride = 1;
    for (int i = dims.rank() - 1; i >= 0; --i) {
      if (axes.reduced[i]) continue;
      out[i] = stride;
      stride *= dims[i];
    }
  }
};

// Each result at the place of all the elements it was made of, as f(result).
template <class T, class F>
void Spread(const Tensor& result, const ReduceAttrs& a, Tensor* out, F f) {
  if (out->numel() == 0) return;
  Strides strides(out->dims(), Axes(out->rank(), a));
  const T* r = result.data<T>();
  kernels::Broadcast(out->dims(), r, strides.out, r, strides.out, out->mutable_data<T>(),
                     [f] DYGRAPH_FN(kernels::Wide<T> v, kernels::Wide<T>) { return f(v); });
}

inline int64_t CountOf(const Tensor& x, const Axes& axes) {
  int64_t n = 1;
  for (int i = 0; i < x.rank(); ++i) n *= axes.reduced[i] ? x.dim(i) : 1;
  return n;
}

// The walk of X and of a result over the axes that stay, and the walk of X over the others.
inline kernels::Walk<2> KeptWalk(const Dims& dims, const Axes& axes) {
  Strides strides(dims, axes);
  kernels::Walk<2> walk;
  for (int i = 0; i < dims.rank(); ++i) {
    if (!axes.reduced[i]) walk.Push(dims[i], {strides.x[i], strides.out[i]});
  }
  return walk;
}
inline kernels::Walk<1> ReducedWalk(const Dims& dims, const Axes& axes) {
  Strides strides(dims, axes);
  kernels::Walk<1> walk;
  for (int i = 0; i < dims.rank(); ++i) {
    if (axes.reduced[i]) walk.Push(dims[i], {strides.x[i]});
  }
  return walk;
}

// f(place of the result, place in X of its first element, its elements, team) for every result, in
// parallel.
template <class F>
void ForEachResult(const Dims& dims, const Axes& axes, F f, int64_t cost = 4) {
  ForEachResult(KeptWalk(dims, axes), ReducedWalk(dims, axes), cost, f);
}

// On the host, f(place of the result, place in X of its first element) for one result after the
// other; and where the elements lie from the first one on.
template <class F>
void ForEachResultInOrder(const Dims& dims, const Axes& axes, F f) {
  const kernels::Walk<2> kept = KeptWalk(dims, axes);
  kernels::Odometer<2> at(kept, kept.rank, 0);
  for (int64_t n = kept.Count(0, kept.rank); n > 0; --n, at.Next()) f(at.offset[1], at.offset[0]);
}

inline std::vector<int64_t> ElementOffsets(const Dims& dims, const Axes& axes) {
  const kernels::Walk<1> walk = ReducedWalk(dims, axes);
  std::vector<int64_t> offsets(walk.Count(0, walk.rank));
  kernels::Odometer<1> at(walk, walk.rank, 0);
  for (int64_t& offset : offsets) {
    offset = at.offset[0];
    at.Next();
  }
  return offsets;
}

}  // namespace dygraph::reduce
