#include <cmath>

#include "kernels/matmul.h"
#include "operators/fused/fused.h"
#include "operators/recurrent/packed_batch.h"

namespace dygraph::fused {
namespace {

constexpr int kX = 0, kC0 = 1, kH0 = 2, kAttention = 3, kAttentionBias = 4, kScalar = 5,
              kScalarBias = 6, kWeight = 7, kBias = 8;
constexpr int kHidden = 0, kCell = 1, kAttendedX = 2, kFcOut = 3, kLstmX = 4, kLstmOut = 5;

struct AttentionLstmAttrs {
  std::string gate_activation = "sigmoid";
  std::string cell_activation = "tanh";
  std::string candidate_activation = "tanh";
};

void InferShape(InferContext& ctx) {
  const Dims &x = ctx.dims(kX), &c0 = ctx.dims(kC0);
  ENFORCE(x.rank() == 2, InvalidArgument, "X must have shape [rows, M], got ", x);
  ENFORCE(c0.rank() == 2, InvalidArgument, "C0 must have shape [sequences, D], got ", c0);
  const int64_t m = x[1], d = c0[1];
  int64_t count = -1;
  if (ctx.runtime()) count = sequence::Count(sequence::LastLevel(ctx.value(kX).tensor(), "X"));
  CheckMatrix(ctx, kC0, count, d, "[sequences, D]");
  if (ctx.HasInput(kH0)) CheckMatrix(ctx, kH0, count, d, "[sequences, D]");
  CheckMatrix(ctx, kAttention, AddSizes(m, d), 1, "[M + D, 1]");
  CheckMatrix(ctx, kWeight, AddSizes(m, d), MulSizes(d, 4), "[D + M, 4 * D]");
  CheckMatrix(ctx, kBias, 1, MulSizes(d, 4), "[1, 4 * D]");
  for (int slot : {kAttentionBias, kScalar, kScalarBias}) {
    if (!ctx.HasInput(slot)) continue;
    const Dims& one = ctx.dims(slot);
    ENFORCE(one.HasUnknown() || Numel(one) == 1, InvalidArgument, NameOf(ctx, slot),
            " must hold one number, got shape ", one);
  }
  ctx.SetOutput(kHidden, {x[0], d});
  ctx.SetOutput(kCell, {x[0], d});
  ctx.SetOutput(kAttendedX, {x[0], 1});
  SetUnused(ctx, {kFcOut, kLstmX, kLstmOut});
}

void DefineAttentionLstm(OpDef& op) {
  op.Comment(
        "An LSTM whose input in each step is the mean of all rows x of its sequence, by weights: "
        "the softmax of relu(x A[:M] + b + c' A[M:]), times AttentionScalar and relu'd again with "
        "AttentionScalarBias where it is given; A is AttentionWeight, b AttentionBias, c' the cell "
        "before. Rows of LSTMWeight are those of the hidden state, then of the input; its columns "
        "are f, i, o and the candidate. For inference: no gradient passes.")
      .Example(
          ">>> x = to_variable([[1.0], [3.0]], lod=[[0, 2]])\n"
          ">>> none, zero = to_variable([[0.0], [0.0]]), to_variable([[0.0] * 4])\n"
          ">>> weight = to_variable([[0.0] * 4, [0.0, 0.0, 0.0, 1.0]])  # the gates are 1/2\n"
          ">>> same = {k + \"_activation\": \"identity\" for k in (\"cell\", \"candidate\")}\n"
          ">>> out = F.attention_lstm(x, to_variable([[0.0]]), none, weight, zero, **same)\n"
          ">>> [v.tolist() for v in out]\n"
          "[[[0.5], [0.75]], [[1.0], [1.5]]]")
      .Input(kX, "X", "[rows, M] with LoD")
      .Input(kC0, "C0", "[sequences, D], the first cells")
      .Input(kH0, "H0", "[sequences, D], the first hidden states; 0 where absent", kDispensable)
      .Input(kAttention, "AttentionWeight", "[M + D, 1], of a row and of the cell before")
      .Input(kAttentionBias, "AttentionBias", "[1, 1]", kDispensable)
      .Input(kScalar, "AttentionScalar", "[1, 1]", kDispensable)
      .Input(kScalarBias, "AttentionScalarBias", "[1, 1]", kDispensable)
      .Input(kWeight, "LSTMWeight", "[D + M, 4 * D]")
      .Input(kBias, "LSTMBias", "[1, 4 * D]")
      .Output(kHidden, "Hidden", "[rows, D], the LoD of X")
      .Output(kCell, "Cell", "[rows, D], the LoD of X")
      .Output(kAttendedX, "AttentionedX", "[rows, 1], x A[:M] + b", kIntermediate)
      .Output(kFcOut, "AttentionFCOut", "of programs: nothing", kIntermediate)
      .Output(kLstmX, "LSTMX", "of programs: nothing", kIntermediate)
      .Output(kLstmOut, "LSTMOUT", "of programs: nothing", kIntermediate)
      .Attr(&AttentionLstmAttrs::gate_activation, "gate_activation", "of f, i and o",
            recurrent::AnActivation())
      .Attr(&AttentionLstmAttrs::cell_activation, "cell_activation", "of the cell",
            recurrent::AnActivation())
      .Attr(&AttentionLstmAttrs::candidate_activation, "candidate_activation", "of the candidate",
            recurrent::AnActivation())
      .Shape(InferShape)
      .NoGrad();
}

// The weights of a sequence's rows in one step.
template <class T>
struct Attention {
  const T *scalar, *scalar_bias;
  void operator()(const T* attended, int64_t rows, T of_cell, T* to) const {
    T most = 0, total = 0;
    for (int64_t r = 0; r < rows; ++r) {
      T v = Relu(attended[r] + of_cell);
      if (scalar) v = Relu(v * *scalar + (scalar_bias ? *scalar_bias : T(0)));
      to[r] = v;
      most = v > most || v != v ? v : most;
    }
    for (int64_t r = 0; r < rows; ++r) total += to[r] = std::exp(to[r] - most);
    for (int64_t r = 0; r < rows; ++r) to[r] /= total;
  }
  static T Relu(T v) { return v < T(0) ? T(0) : v; }
};

template <class T>
struct AttentionLstmKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<AttentionLstmAttrs>();
    const Tensor &in = ctx.In(kX), &c0 = ctx.In(kC0), *h0 = ctx.InOrNull(kH0);
    const sequence::Offsets& offsets = sequence::LastLevel(in, "X");
    const int64_t rows = in.dim(0), m = in.dim(1), d = c0.dim(1);
    auto number = [&](int slot) {
      const Tensor* t = ctx.InOrNull(slot);
      return t ? t->data<T>() : nullptr;
    };
    const T *x = in.data<T>(), *attention = number(kAttention), *weight = number(kWeight),
            *bias = number(kAttentionBias);
    Tensor &hidden = ctx.Out(kHidden), &cell = ctx.Out(kCell);
    T *h = hidden.mutable_data<T>(), *c = cell.mutable_data<T>();
    std::vector<T> attended(rows), weights(rows), mean(m), activated(d);
    std::vector<T> gates(4 * d);
    for (int64_t r = 0; r < rows; ++r) {
      attended[r] = Dot(x + r * m, attention, m) + (bias ? *bias : T(0));
    }
    kernels::Steps one;
    one.batch = 1;
    one.begin.push_back(1);
    kernels::Lstm<T> step{one, d};
    step.forget = 0;
    step.input = 1;
    step.output = 2;
    step.candidate = 3;
    step.gate_act = recurrent::ActOf(a.gate_activation);
    step.cell_act = recurrent::ActOf(a.cell_activation);
    step.candidate_act = recurrent::ActOf(a.candidate_activation);
    step.bias = number(kBias);
    step.gates = gates.data();
    step.cell = activated.data();
    const Attention<T> attend{number(kScalar), number(kScalarBias)};
    for (int64_t s = 0; s < sequence::Count(offsets) && d > 0; ++s) {
      const int64_t begin = offsets[s], length = offsets[s + 1] - begin;
      step.c0 = c0.data<T>() + s * d;
      step.h0 = h0 ? h0->data<T>() + s * d : nullptr;
      for (int64_t t = begin; t < begin + length; ++t) {
        attend(attended.data() + begin, length, Dot(step.c0, attention + m, d), weights.data());
        std::fill(mean.begin(), mean.end(), T(0));
        for (int64_t r = 0; r < length; ++r) {
          for (int64_t j = 0; j < m; ++j) mean[j] += weights[r] * x[(begin + r) * m + j];
        }
        kernels::MatMul<T>(false, false, 1, 4 * d, m, T(1), mean.data(), m, weight + d * 4 * d,
                           4 * d, T(0), gates.data(), 4 * d);
        step.h = h + t * d;
        step.c = c + t * d;
        step.Forward({weight, false});
        step.h0 = step.h;
        step.c0 = step.c;
      }
    }
    if (Tensor* out = ctx.OutOrNull(kAttendedX))
      std::copy(attended.begin(), attended.end(), out->mutable_data<T>());
    hidden.SetLoD(in.lod_ref());
    cell.SetLoD(in.lod_ref());
  }

  static T Dot(const T* a, const T* b, int64_t n) {
    T sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
  }
};

REGISTER_OPERATOR(attention_lstm, DefineAttentionLstm);
REGISTER_CPU_KERNEL(attention_lstm, AttentionLstmKernel, float, double);

}  // namespace
}  // namespace dygraph::fused
