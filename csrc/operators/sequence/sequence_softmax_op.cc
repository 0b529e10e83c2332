#include "kernels/loops.h"
#include "kernels/math.h"
#include "kernels/table.h"
#include "op/gradient_call.h"
#include "operators/sequence/sequence.h"

namespace dygraph::sequence {
namespace {

constexpr int kX = 0, kOut = 0;

struct SequenceSoftmaxAttrs {
  std::string data_format = "AnyLayout";
};

void DefineSequenceSoftmax(OpDef& op) {
  op.Comment(
        "Out = exp(X) / sum(exp(X)), the sum over the rows of a sequence; each column of X by "
        "itself.")
      .Example(
          ">>> x = to_variable([[1.0], [1.0], [5.0]], lod=[[0, 2, 3]])\n"
          ">>> F.sequence_softmax(x).tolist()\n"
          "[[0.5], [0.5], [1.0]]")
      .Input(kX, "X", "rows with LoD, as a rule [rows, 1]")
      .Output(kOut, "Out", "shape and LoD of X")
      .Attr(&SequenceSoftmaxAttrs::data_format, "data_format", "of programs; changes nothing",
            OneOf({"NCHW", "NHWC", "AnyLayout"}))
      .SameShape(kX, kOut)
      .ShareLoD(kX)
      .Grad(CallGradient);
}

// What a sequence costs of which there are so many rows.
int64_t CostOf(const Offsets& offsets) {
  return 8 * (offsets.back() / std::max<int64_t>(Count(offsets), 1) + 1);
}

template <class T>
struct SequenceSoftmaxKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& in = ctx.In(kX);
    const Offsets& offsets = LastLevel(in, "X");
    int64_t width = WidthOf(in.dims());
    const T* x = in.data<T>();
    T* y = ctx.Out(kOut).mutable_data<T>();
    kernels::Table<int64_t> table(offsets);
    const int64_t* start = table.data();
    kernels::ForEach(
        Count(offsets) * width,
        [=] DYGRAPH_FN(int64_t i) {
          const int64_t s = i / width, begin = start[s] * width + i % width;
          const int64_t end = start[s + 1] * width;
          if (begin >= end) return;
          T top = x[begin], sum = 0;
          for (int64_t k = begin; k < end; k += width) top = x[k] > top ? x[k] : top;
          for (int64_t k = begin; k < end; k += width) sum += y[k] = kernels::Exp(x[k] - top);
          for (int64_t k = begin; k < end; k += width) y[k] /= sum;
        },
        CostOf(offsets));
  }
};

namespace grad {
constexpr int kOut = 0, kOutGrad = 1, kXGrad = 0;

void DefineSequenceSoftmaxGrad(OpDef& op) {
  op.Comment("X@GRAD = Out * (Out@GRAD - sum(Out@GRAD * Out)), the sum over a sequence.")
      .Input(kOut, "Out", "result of sequence_softmax")
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kXGrad, "X@GRAD", "shape of Out")
      .AttrsOf("sequence_softmax")
      .SameShape(kOut, kXGrad)
      .ShareLoD(kOut)
      .Grad([](GradBuilder& g) {
        // L = sum(v y g) - sum_s (sum v y) (sum g y), with v arriving: by g it is the same
        // operator.
        RecipeRef v = g.OutputGrad(kXGrad), y = g.Input(kOut), up = g.Input(kOutGrad);
        g.Call("sequence_softmax_grad", {y, v}, {g.InputGrad(kOutGrad)}).SameAttrs();
        auto sums = [&](RecipeRef weight) {
          RecipeRef product = g.Apply("elementwise_mul", {y, weight}), sum = g.Temp();
          g.Call("sequence_pool", {product}, {sum}).Attr("pooltype", std::string("SUM"));
          return g.Apply("sequence_expand_as", {sum, y});
        };
        RecipeRef a = g.Apply("elementwise_mul", {v, up}),
                  b = g.Apply("elementwise_mul", {v, sums(up)}),
                  c = g.Apply("elementwise_mul", {up, sums(v)});
        RecipeRef rest = g.Apply("elementwise_sub", {a, b});
        g.Call("elementwise_sub", {rest, c}, {g.InputGrad(kOut)});
      });
}

template <class T>
struct SequenceSoftmaxGradKernel {
  static void Compute(KernelContext& ctx) {
    const Tensor& out = ctx.In(kOut);
    const Offsets& offsets = LastLevel(out, "Out");
    int64_t width = WidthOf(out.dims());
    const T *y = out.data<T>(), *g = ctx.In(kOutGrad).data<T>();
    T* to = ctx.Out(kXGrad).mutable_data<T>();
    kernels::Table<int64_t> table(offsets);
    const int64_t* start = table.data();
    kernels::ForEach(
        Count(offsets) * width,
        [=] DYGRAPH_FN(int64_t i) {
          const int64_t s = i / width, begin = start[s] * width + i % width;
          const int64_t end = start[s + 1] * width;
          T sum = 0;
          for (int64_t k = begin; k < end; k += width) sum += y[k] * g[k];
          for (int64_t k = begin; k < end; k += width) to[k] = y[k] * (g[k] - sum);
        },
        CostOf(offsets));
  }
};
}  // namespace grad

REGISTER_OPERATOR(sequence_softmax, DefineSequenceSoftmax);
REGISTER_KERNELS(sequence_softmax, SequenceSoftmaxKernel, float, double);
REGISTER_OPERATOR(sequence_softmax_grad, grad::DefineSequenceSoftmaxGrad);
REGISTER_KERNELS(sequence_softmax_grad, grad::SequenceSoftmaxGradKernel, float, double);

}  // namespace
}  // namespace dygraph::sequence
