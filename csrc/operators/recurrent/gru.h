// gru over ragged batches and gru_unit for one step: one computation, two sets of slots and
// attributes.
#pragma once

#include "op/gradient_call.h"
#include "operators/recurrent/recurrent_higher.h"

namespace dygraph::recurrent {

struct GruForm {
  kernels::Act gate, candidate;
  bool original;
};

// The four inputs, by any operator's slots; absent ones null.
struct GruTensors {
  const Tensor *input, *h0, *weight, *bias;
};

template <class V>
struct GruRun {
  GruRun(Place at, const GruForm& form, Packing packed, const GruTensors& values,
         const GruTensors& along)
      : place(at),
        packing(std::move(packed)),
        source(packing.source),
        order(packing.order),
        d(values.weight->dim(0)),
        weight(Read<V>(place, *values.weight, along.weight)),
        h0(Packed<V>(place, values.h0, along.h0, order)),
        cell{packing.steps, d} {
    if (values.bias) bias = Read<V>(place, *values.bias, along.bias);
    cell.gate_act = form.gate;
    cell.candidate_act = form.candidate;
    cell.original = form.original;
    cell.h0 = h0.data();
  }
  int64_t rows() const { return packing.steps.rows(); }

  // Into cell.gates, cell.reset and cell.h.
  void Forward(const Tensor& input, const Tensor* along) {
    using T = Real<V>;
    GatherRows<V>(input.data<T>(), along ? along->data<T>() : nullptr, source, 3 * d, cell.gates);
    if (bias.data()) kernels::AddToRows(cell.gates, rows(), 3 * d, 3 * d, bias.data());
    cell.Forward(weight.data());
  }

  struct Gradients {
    Numbers<V> gates, h0, weight, bias;
  };
  // From the gradient of the hidden states.
  Gradients Backward(const Tensor& d_hidden) const {
    Gradients g{{place, rows() * 3 * d},
                Zeros<V>(place, packing.steps.batch * d),
                {place, 3 * d * d},
                {place, 3 * d}};
    cell.Backward(weight.data(), Packed<V>(place, &d_hidden, nullptr, source).data(),
                  g.gates.data(), g.h0.data());
    Numbers<V> before(place, rows() * d);
    kernels::PreviousRows(packing.steps, cell.h0, cell.h, d, before.data());
    kernels::Product(true, false, d, 2 * d, rows(), before.data(), d, g.gates.data(), 3 * d, false,
                     g.weight.data(), 2 * d);
    kernels::Product(true, false, d, d, rows(), cell.reset, d, g.gates.data() + 2 * d, 3 * d, false,
                     g.weight.data() + 2 * d * d, d);
    kernels::ColumnSums(g.gates.data(), rows(), 3 * d, 3 * d, g.bias.data());
    return g;
  }

  void WriteGradients(const Gradients& g, Tensor* input, Tensor* first, Tensor* to_weight,
                      Tensor* to_bias, bool derivatives) const {
    using T = Real<V>;
    if (input) ScatterRows(g.gates.data(), source, 3 * d, input->mutable_data<T>(), derivatives);
    if (first) ScatterRows(g.h0.data(), order, d, first->mutable_data<T>(), derivatives);
    if (to_weight)
      Write(g.weight.data(), to_weight->numel(), to_weight->mutable_data<T>(), derivatives);
    if (to_bias) Write(g.bias.data(), to_bias->numel(), to_bias->mutable_data<T>(), derivatives);
  }

  Place place;
  Packing packing;
  RowTable source, order;
  int64_t d;
  Numbers<V> weight, bias, h0;
  kernels::Gru<V> cell;
};

// Buffers for a run that recomputes the forward pass.
template <class V>
struct GruBuffers {
  explicit GruBuffers(GruRun<V>* run)
      : gates(run->place, run->rows() * 3 * run->d),
        reset(run->place, run->rows() * run->d),
        h(run->place, run->rows() * run->d) {
    run->cell.gates = gates.data();
    run->cell.reset = reset.data();
    run->cell.h = h.data();
  }
  Numbers<V> gates, reset, h;
};

// Everything of gru and gru_unit but names, attributes and packing, which `Spec` gives: slots
// kInput, kH0, kWeight, kBias of the inputs, kGate, kReset, kHidden of the outputs (others unused),
// and
//   static GruForm Form(const void* attrs);
//   static Packing Pack(const Call&);
template <class Spec>
struct GruOps {
  static constexpr int kGateIn = 4, kResetIn = 5, kHiddenIn = 6,
                       kHiddenGrad = 7;             // of the gradient
  static constexpr int kAgainGrad = 4, kAlong = 5;  // of the gradient's gradient

  static GruTensors Inputs(const KernelContext& ctx, int first) {
    auto at = [&](int slot) { return ctx.InOrNull(first + slot); };
    return {at(Spec::kInput), at(Spec::kH0), at(Spec::kWeight), at(Spec::kBias)};
  }

  template <class T>
  struct Forward {
    static void Compute(KernelContext& ctx) {
      GruTensors in = Inputs(ctx, 0);
      GruRun<T> run(ctx.place(), Spec::Form(ctx.call().attrs), Spec::Pack(ctx.call()), in, {});
      Tensor& hidden = ctx.Out(Spec::kHidden);
      Numbers<T> h(run.place, hidden.numel());
      run.cell.gates = ctx.Out(Spec::kGate).template mutable_data<T>();
      run.cell.reset = ctx.Out(Spec::kReset).template mutable_data<T>();
      run.cell.h = h.data();
      run.Forward(*in.input, nullptr);
      ScatterRows(h.data(), run.source, run.d, hidden.mutable_data<T>());
      if (Spec::kBatchHidden < 0) return;  // one step, whose states are no sequences
      Write(h.data(), hidden.numel(), ctx.Out(Spec::kBatchHidden).template mutable_data<T>());
      if (in.input->lod()) hidden.SetLoD(in.input->lod_ref());
    }
  };

  template <class V>
  static void WriteAll(KernelContext& ctx, const GruRun<V>& run,
                       const typename GruRun<V>::Gradients& g, bool derivatives) {
    run.WriteGradients(g, ctx.OutOrNull(Spec::kInput), ctx.OutOrNull(Spec::kH0),
                       ctx.OutOrNull(Spec::kWeight), ctx.OutOrNull(Spec::kBias), derivatives);
  }

  template <class T>
  struct Backward {
    static void Compute(KernelContext& ctx) {
      GruRun<T> run(ctx.place(), Spec::Form(ctx.call().attrs), Spec::Pack(ctx.call()),
                    Inputs(ctx, 0), {});
      Numbers<T> h = Packed<T>(run.place, &ctx.In(kHiddenIn), nullptr, run.source);
      run.cell.gates = const_cast<T*>(ctx.In(kGateIn).template data<T>());
      run.cell.reset = const_cast<T*>(ctx.In(kResetIn).template data<T>());
      run.cell.h = h.data();
      WriteAll(ctx, run, run.Backward(ctx.In(kHiddenGrad)), false);
    }
  };

  // In dual numbers along the incoming directions, see kernels/dual.h.
  template <class T>
  struct Again {
    static void Compute(KernelContext& ctx) {
      using V = Dual<T>;
      GruTensors in = Inputs(ctx, 0), along = Inputs(ctx, kAlong);
      GruRun<V> run(ctx.place(), Spec::Form(ctx.call().attrs), Spec::Pack(ctx.call()), in, along);
      GruBuffers<V> buffers(&run);
      run.Forward(*in.input, along.input);
      WriteAll(ctx, run, run.Backward(ctx.In(kAgainGrad)), true);
      if (Tensor* out = ctx.OutOrNull(kAgainGrad))
        ScatterRows(buffers.h.data(), run.source, run.d, out->template mutable_data<T>(), true);
    }
  };

  static OpDef& AddInputs(OpDef& op, const char* suffix, int first, int flags) {
    const char* given[4] = {Spec::Name(0), Spec::Name(1), Spec::Name(2), Spec::Name(3)};
    for (int slot = 0; slot < 4; ++slot) {
      std::string name = std::string(given[slot]) + suffix;
      int own = slot == Spec::kBias || (slot == Spec::kH0 && Spec::kFirstMayBeAbsent) ? kDispensable
                                                                                      : flags;
      op.Input(first + slot, name.c_str(), Spec::Help(slot), own | flags);
    }
    return op;
  }

  static OpDef& AddGradients(OpDef& op) {
    for (int slot = 0; slot < 4; ++slot) {
      std::string name = std::string(Spec::Name(slot)) + "@GRAD";
      op.Output(slot, name.c_str(), "shape of the input");
    }
    return op;
  }

  static void InferGrad(InferContext& ctx) {
    Spec::Check(ctx);
    for (int slot = 0; slot < 4; ++slot) {
      if (ctx.HasInput(slot)) ctx.SetOutput(slot, ctx.dims(slot));
    }
  }

  static void DefineGrad(OpDef& op) {
    AddInputs(op.Comment("The gradients of the recurrent unit, backwards through its steps."), "",
              0, kSingle)
        .Input(kGateIn, Spec::kGateName, "result of the forward call")
        .Input(kResetIn, Spec::kResetName, "result of the forward call")
        .Input(kHiddenIn, "Hidden", "result of the forward call")
        .Input(kHiddenGrad, "Hidden@GRAD", "shape of Hidden");
    AddGradients(op)
        .AttrsOf(Spec::kType)
        .Shape([](InferContext& ctx) {
          InferGrad(ctx);
          const Dims& x = ctx.dims(Spec::kInput);
          int64_t d = ctx.dims(Spec::kWeight)[0];
          for (int slot : {kResetIn, kHiddenIn, kHiddenGrad})
            CheckShape(ctx, slot, {x[0], d}, "[rows, D]");
          CheckShape(ctx, kGateIn, {x[0], x[1]}, "[rows, 3 * D]");
        })
        .Grad(CallGradient);
  }

  struct Third {
    static constexpr uint32_t kServes = higher::kAllSlots;
    static void Define(OpDef& op) { DefineGradGrad(op); }
    static std::vector<higher::Input> Inputs(const KernelContext&) {
      std::vector<higher::Input> list;
      for (int slot = 0; slot < 4; ++slot) list.push_back({slot, kAlong + slot, slot});
      return list;
    }
    static std::vector<higher::Result> Results(const KernelContext&) {
      return {{kAgainGrad, kAgainGrad}};
    }
    static void Run(higher::Problem& p) {
      const GruForm form = Spec::Form(p.ctx.call().attrs);
      const Packing packing = Spec::Pack(p.ctx.call());
      const int64_t d = p.ctx.In(Spec::kWeight).dim(0);
      // [D, 2 D] for u and r, then [D, D] for m
      Matrix gates{p.Leaves(Spec::kWeight, 0, 2 * d * d), 2 * d},
          last{p.Leaves(Spec::kWeight, 2 * d * d, d * d), d};
      Row bias = RowOf(p, Spec::kBias, 0, 3 * d);
      std::vector<Row> states;
      for (int64_t s = 0; s < packing.steps.batch; ++s) states.push_back(RowOf(p, Spec::kH0, s, d));
      ForEachStep(packing, [&](int64_t s, int64_t row) {
        Row x = p.Leaves(Spec::kInput, row * 3 * d, 3 * d), reset, next;
        const Row& h = states[s];
        auto gate = [&](int64_t j) {
          return Activate(form.gate, gates.Times(x[j] + bias[j], h, j));
        };
        for (int64_t j = 0; j < d; ++j) reset.push_back(gate(d + j) * h[j]);
        for (int64_t j = 0; j < d; ++j) {
          Scalar u = gate(j), start = x[2 * d + j] + bias[2 * d + j];
          Scalar m = Activate(form.candidate, last.Times(start, reset, j));
          next.push_back(form.original ? m + u * (h[j] - m) : h[j] + u * (m - h[j]));
          p.Set(0, row * d + j, next[j]);
        }
        states[s] = next;
      });
    }
  };

  static void DefineGradGrad(OpDef& op) {
    AddInputs(op.Comment("The gradients of the gradients, by dual numbers."), "", 0, kSingle)
        .Input(kAgainGrad, "Hidden@GRAD", "shape of Hidden");
    AddInputs(op, "@GRAD@GRAD", kAlong, kDispensable);
    AddGradients(op)
        .Output(kAgainGrad, "Hidden@GRAD@GRAD", "shape of Hidden")
        .AttrsOf(Spec::kType)
        .Shape([](InferContext& ctx) {
          InferGrad(ctx);
          ctx.SetOutput(kAgainGrad, ctx.dims(kAgainGrad));
        })
        .Grad(higher::Recipe<Third>);
  }
};

}  // namespace dygraph::recurrent
