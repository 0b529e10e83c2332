#include <limits>

#include "operators/optimizer/optimizer.h"

namespace dygraph {
namespace {

constexpr int kParam = 0, kInSum1 = 1, kInSum2 = 2, kInSum3 = 3, kInNumAccumulates = 4,
              kInOldNumAccumulates = 5, kInNumUpdates = 6;
constexpr int kOutSum1 = 0, kOutSum2 = 1, kOutSum3 = 2, kOutNumAccumulates = 3,
              kOutOldNumAccumulates = 4, kOutNumUpdates = 5;
// Updates after which sum_1 moves to sum_2: a long sum of float32 would lose digits.
constexpr int64_t kMostInOneSum = 16384;

struct AverageAccumulatesAttrs {
  double average_window = 0.0;
  int64_t max_average_window = std::numeric_limits<int64_t>::max();
  int64_t min_average_window = 10000;
};

void InferShape(InferContext& ctx) {
  for (int slot : {kInSum1, kInSum2, kInSum3})
    optimizer::CheckLikeParam(ctx, kParam, slot, ctx.call().op->inputs[slot].name.c_str());
  for (int slot : {kInNumAccumulates, kInOldNumAccumulates, kInNumUpdates}) {
    const std::string& name = ctx.call().op->inputs[slot].name;
    ENFORCE(optimizer::IsScalar(ctx.dims(slot)), InvalidArgument, name,
            " must hold one number, shape [1] or [], got ", ctx.dims(slot));
    ENFORCE(ctx.dtype(slot) == DType::kInt64, Type, name, " must be of int64, got ",
            ctx.dtype(slot));
  }
  const auto& a = ctx.attrs<AverageAccumulatesAttrs>();
  ENFORCE(a.min_average_window <= a.max_average_window, InvalidArgument,
          "min_average_window must not exceed max_average_window ", a.max_average_window, ", got ",
          a.min_average_window);
  for (int out : {kOutSum1, kOutSum2, kOutSum3})
    ctx.SetOutput(out, ctx.dims(kParam), ctx.dtype(kParam));
  for (int i = 0; i < 3; ++i)
    ctx.SetOutput(kOutNumAccumulates + i, ctx.dims(kInNumAccumulates + i), DType::kInt64);
}

void DefineAverageAccumulates(OpDef& op) {
  op.Comment(
        "One update of the sums behind the mean of a parameter over its last updates. num_updates "
        "and num_accumulates count up, and param is added to sum_1; each 16384 updates sum_1 moves "
        "to sum_2, for the digits' sake. Where num_accumulates has reached min_average_window and "
        "min(max_average_window, num_updates * average_window), the window ends: sum_3 becomes "
        "sum_1 + sum_2, these become 0, old_num_accumulates takes num_accumulates, which becomes "
        "0. The mean is (sum_1 + sum_2 + sum_3) / (num_accumulates + old_num_accumulates).")
      .Example(
          ">>> param, total, zero = (to_variable([v]) for v in (2.0, 5.0, 0.0))\n"
          ">>> none = to_variable([0])\n"
          ">>> out = F.average_accumulates(param, total, zero, zero, none, none, none)\n"
          ">>> [v.item() for v in out]\n"
          "[7.0, 0.0, 0.0, 1, 0, 1]")
      .Input(kParam, "param", "any shape")
      .Input(kInSum1, "in_sum_1", "shape and type of param")
      .Input(kInSum2, "in_sum_2", "shape and type of param")
      .Input(kInSum3, "in_sum_3", "shape and type of param")
      .Input(kInNumAccumulates, "in_num_accumulates", "[1] int64")
      .Input(kInOldNumAccumulates, "in_old_num_accumulates", "[1] int64")
      .Input(kInNumUpdates, "in_num_updates", "[1] int64")
      .Output(kOutSum1, "out_sum_1", "shape of param")
      .Output(kOutSum2, "out_sum_2", "shape of param")
      .Output(kOutSum3, "out_sum_3", "shape of param")
      .Output(kOutNumAccumulates, "out_num_accumulates", "[1] int64")
      .Output(kOutOldNumAccumulates, "out_old_num_accumulates", "[1] int64")
      .Output(kOutNumUpdates, "out_num_updates", "[1] int64")
      .Attr(&AverageAccumulatesAttrs::average_window, "average_window",
            "length of the window as a part of all updates", AtLeast(0))
      .Attr(&AverageAccumulatesAttrs::max_average_window, "max_average_window",
            "the longest window", AtLeast(1))
      .Attr(&AverageAccumulatesAttrs::min_average_window, "min_average_window",
            "the shortest window", AtLeast(0))
      .Shape(InferShape)
      .MixedDTypes()
      .InPlace(kInSum1, kOutSum1)
      .InPlace(kInSum2, kOutSum2)
      .InPlace(kInSum3, kOutSum3)
      .InPlace(kInNumAccumulates, kOutNumAccumulates)
      .InPlace(kInOldNumAccumulates, kOutOldNumAccumulates)
      .InPlace(kInNumUpdates, kOutNumUpdates)
      .NoGrad();
}

// Counts of this update, and what it does with the sums.
struct Counts {
  int64_t updates, count;
  bool move, end;
};

template <class T>
struct AverageAccumulatesKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<AverageAccumulatesAttrs>();
    const int64_t *given_updates = ctx.In(kInNumUpdates).data<int64_t>(),
                  *given_count = ctx.In(kInNumAccumulates).data<int64_t>(),
                  *given_old = ctx.In(kInOldNumAccumulates).data<int64_t>();
    const double part = NumberFor<T>(a.average_window);
    const int64_t least = a.min_average_window, most = a.max_average_window;
    auto read = [=] DYGRAPH_FN() -> Counts {
      const int64_t updates = *given_updates + 1, count = *given_count + 1;
      const double window = std::floor(static_cast<double>(updates) * part);
      const bool end = count >= least && static_cast<double>(count) >=
                                             (window < most ? window : static_cast<double>(most));
      return {updates, count, updates % kMostInOneSum == 0, end};
    };
    const T *p = ctx.In(kParam).data<T>(), *s1 = ctx.In(kInSum1).data<T>(),
            *s2 = ctx.In(kInSum2).data<T>(), *s3 = ctx.In(kInSum3).data<T>();
    T *o1 = ctx.Out(kOutSum1).mutable_data<T>(), *o2 = ctx.Out(kOutSum2).mutable_data<T>(),
      *o3 = ctx.Out(kOutSum3).mutable_data<T>();
    int64_t *updates = ctx.Out(kOutNumUpdates).mutable_data<int64_t>(),
            *count = ctx.Out(kOutNumAccumulates).mutable_data<int64_t>(),
            *old = ctx.Out(kOutOldNumAccumulates).mutable_data<int64_t>();
    optimizer::EachElement<T>(ctx, ctx.In(kParam).numel(), 4, read,
                              [=] DYGRAPH_FN(const Counts& c, int64_t i) {
                                T first = s1[i] + p[i], second = c.move ? s2[i] + first : s2[i];
                                if (c.move) first = T(0);
                                o3[i] = c.end ? first + second : s3[i];
                                o1[i] = c.end ? T(0) : first;
                                o2[i] = c.end ? T(0) : second;
                              });
    optimizer::AfterStep(ctx, [=] DYGRAPH_FN() {
      const Counts c = read();
      const int64_t before = *given_old;
      *updates = c.updates;
      *count = c.end ? 0 : c.count;
      *old = c.end ? c.count : before;
    });
  }
};

REGISTER_OPERATOR(average_accumulates, DefineAverageAccumulates);
REGISTER_KERNELS(average_accumulates, AverageAccumulatesKernel, float, double);

}  // namespace
}  // namespace dygraph
