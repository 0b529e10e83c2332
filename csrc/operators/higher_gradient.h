// Gradients of higher order of operators whose formulas would be long: an operator gives its
// forward computation on single numbers (kernels/scalar_tape.h), and gets them.
//
// With L = sum(result * R), R what arrives at the results, an operator's gradient is G(x, R) =
// dL/dx and its second gradient what G gives x and R for directions v of the inputs: D_v G, and D_v
// of the results. For the gradients w of those two the third gradient gives x what D_w D_v G is, R
// what D_w D_v of the results is, and v D_w G. So all are G and the results on numbers with one or
// two directions.
//
//   struct P {
//     // the inputs of the second gradient operator that get gradients: what Inputs() and Results()
//     // name as value, along and given
//     static constexpr uint32_t kServes = higher::Slots(kX, kV, kOutGrad);
//     static void Define(OpDef& op);                            // describes it
//     static std::vector<higher::Input> Inputs(const KernelContext&);    // by its slots
//     static std::vector<higher::Result> Results(const KernelContext&);
//     static void Run(higher::Problem&);
//   };
//   REGISTER_THIRD_GRADIENT(lrn_grad_grad, P);
#pragma once

#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/scalar_tape.h"
#include "operators/third_grad_limit.h"

namespace dygraph::higher {

using kernels::Jet;
using kernels::Scalar;

template <class... Ints>
constexpr uint32_t Slots(Ints... slots) {
  return (0u | ... | (1u << slots));
}

constexpr uint32_t kAllSlots = ~0u;

struct Place {
  int slot = -1, index = 0;
  Place() = default;
  Place(int in_slot, int in_index = 0) : slot(in_slot), index(in_index) {}  // -1: there is none
};

// A differentiable input of the forward operator, in the second gradient operator: the slot of its
// value, of its direction v, and the output with what D_v G gives it.
struct Input {
  Place value, along, result;
};
// A result of the forward operator: the slot of R, and the output with D_v of the result. R is
// `unless_given` where it has no slot or was left out.
struct Result {
  Place given, result;
  double unless_given = 0;
};

// Runs in a kernel of the second gradient operator, or of its gradient.
class Problem {
 public:
  // `inputs_of_second`: the number of its input slots, behind which the gradients of its results
  // stand; -1 where the call is of the second gradient operator itself.
  Problem(KernelContext& context, const std::vector<Input>& inputs,
          const std::vector<Result>& results, int inputs_of_second)
      : ctx(context), second_(inputs_of_second) {
    for (const Input& at : inputs) {
      In in{at, Read(at.value, nullptr), {}, {}, {}};
      const Tensor* like = Find(at.value);
      if (!like) like = Find(at.along);
      if (!like) like = Find(Across(at.result));
      in.along = Read(at.along, like);
      in.across = Read(Across(at.result), like);
      in.gradient.resize(like ? like->numel() : 0);
      inputs_.push_back(std::move(in));
    }
    for (const Result& at : results) {
      Out out{at, Read(at.given, nullptr), {}, {}};
      out.across = Read(Across(at.result), Find(at.given));
      results_.push_back(std::move(out));
    }
  }

  KernelContext& ctx;
  // Whether input i is there: its value, or a direction of it.
  bool Has(int i) const { return !inputs_[i].gradient.empty(); }
  // Element `at` of input i as a variable; 0 where only directions are given. It may be made
  // several times.
  Scalar Leaf(int i, int64_t at) {
    auto number = [at](const std::vector<double>& x) { return x.empty() ? 0.0 : x[at]; };
    const In& in = inputs_[i];
    CheckPlace(at, in.gradient.size(), in.at.value.slot < 0 ? in.at.along : in.at.value);
    Scalar x = tape_.Leaf({number(in.value), number(in.along), number(in.across)});
    uses_.push_back({x, i, at});
    return x;
  }
  std::vector<Scalar> Leaves(int i, int64_t begin, int64_t count) {
    std::vector<Scalar> list;
    for (int64_t at = begin; at < begin + count; ++at) list.push_back(Leaf(i, at));
    return list;
  }
  // Element `at` of result k. Those never set are zeros.
  void Set(int k, int64_t at, Scalar y) {
    Out& out = results_[k];
    if (!out.given.empty()) CheckPlace(at, out.given.size(), out.at.given);
    if (!out.across.empty()) CheckPlace(at, out.across.size(), out.at.given);
    if (out.result.size() <= static_cast<size_t>(at)) out.result.resize(at + 1);
    out.result[at] = tape_.value(y);
    tape_.Seed(y, {out.given.empty() ? out.at.unless_given : out.given[at], 0.0,
                   out.across.empty() ? 0.0 : out.across[at]});
  }
  // Differentiates what was set since the last time, and forgets it. To be called after the last,
  // and wherever the computation falls into parts.
  void Flush() {
    tape_.Play();
    for (const Use& use : uses_) inputs_[use.input].gradient[use.at] += tape_.gradient(use.x);
    uses_.clear();
    tape_.Clear();
  }
  // Outputs that get no gradient are zeros where a call by hand asks for them.
  void Write() {
    bool third = second_ >= 0;
    for (size_t s = 0; s < ctx.call().op->outputs.size(); ++s) {
      for (int i = 0; i < ctx.OutputCount(static_cast<int>(s)); ++i) {
        Tensor* out = ctx.OutOrNull(static_cast<int>(s), i);
        if (out && out->has_data()) std::memset(out->mutable_raw_data(), 0, out->bytes());
      }
    }
    for (const In& in : inputs_) {
      WriteTo(third ? in.at.value : in.at.result, in.gradient, third ? &Jet::ab : &Jet::a);
      if (third) WriteTo(in.at.along, in.gradient, &Jet::b);
    }
    for (const Out& out : results_)
      WriteTo(third ? out.at.given : out.at.result, out.result, third ? &Jet::ab : &Jet::a);
  }

 private:
  struct In {
    Input at;
    std::vector<double> value, along, across;  // empty: zeros
    std::vector<Jet> gradient;
  };
  struct Out {
    Result at;
    std::vector<double> given, across;
    std::vector<Jet> result;
  };
  struct Use {
    Scalar x;
    int input;
    int64_t at;
  };
  void CheckPlace(int64_t at, size_t size, Place place) const {
    ENFORCE(static_cast<size_t>(at) < size, InvalidArgument, "Input(",
            ctx.call().op->inputs[place.slot < 0 ? 0 : place.slot].name,
            ") must have the shape that follows from the forward call, got ", size, " elements");
  }
  const Tensor* Find(Place place) const {
    return place.slot < 0 ? nullptr : ctx.InOrNull(place.slot, place.index);
  }
  std::vector<double> Read(Place place, const Tensor* like) const {
    const Tensor* t = Find(place);
    if (!t) return {};
    ENFORCE(!like || t->dims() == like->dims(), InvalidArgument, "Input(",
            ctx.call().op->inputs[place.slot].name, ") must have the shape ", like->dims(),
            " of what it is a direction of, got ", t->dims());
    if (t->dtype() == DType::kFloat64)
      return std::vector<double>(t->data<double>(), t->data<double>() + t->numel());
    return std::vector<double>(t->data<float>(), t->data<float>() + t->numel());
  }
  // The gradient of an output of the second gradient operator.
  Place Across(Place result) const {
    return second_ < 0 || result.slot < 0 ? Place() : Place(second_ + result.slot, result.index);
  }
  void WriteTo(Place place, const std::vector<Jet>& from, double Jet::* part) {
    Tensor* out = place.slot < 0 ? nullptr : ctx.OutOrNull(place.slot, place.index);
    if (!out || !out->has_data()) return;
    auto fill = [&](auto* to) {
      using T = std::remove_pointer_t<decltype(to)>;
      for (int64_t i = 0; i < out->numel(); ++i)
        to[i] = static_cast<size_t>(i) < from.size() ? static_cast<T>(from[i].*part) : T(0);
    };
    if (out->dtype() == DType::kFloat64) {
      fill(out->mutable_data<double>());
    } else {
      fill(out->mutable_data<float>());
    }
  }

  int second_;
  kernels::ScalarTape tape_;
  std::vector<In> inputs_;
  std::vector<Out> results_;
  std::vector<Use> uses_;
};

// The third gradient operator, from the description of the second: its inputs, the gradients of its
// outputs, and the gradients of its inputs as outputs.
inline void DefineThird(OpDef& op, const char* second, void (*define_second)(OpDef&)) {
  OpInfo info;
  OpDef description(&info);
  define_second(description);
  const std::string text = std::string("The gradients of ") + second +
                           ", by numbers with two directions. They have no gradient of their own.";
  op.Comment(text.c_str());
  int count = 0;
  auto taken = [&](const std::string& name) {
    for (const SlotInfo& s : info.inputs) {
      if (s.name == name) return true;
    }
    return false;
  };
  for (const SlotInfo& s : info.inputs) op.Input(count++, s.name.c_str(), s.help.c_str(), s.flags);
  for (const SlotInfo& s : info.outputs) {
    std::string name = s.name + "@GRAD";
    while (taken(name)) name += "@GRAD";
    op.Input(count++, name.c_str(), s.help.c_str(), kDispensable | (s.flags & kDuplicable));
  }
  count = 0;
  for (const SlotInfo& s : info.inputs) {
    op.Output(count++, (s.name + "@GRAD").c_str(), ("shape of " + s.name).c_str(),
              s.flags & kDuplicable);
  }
  if (!info.attrs_of.empty()) op.AttrsOf(info.attrs_of.c_str());
  op.KernelDType(info.kernel_dtype)
      .MixedDTypes()
      .OutputCount([](int slot, const Call& call) { return call.in.count(slot); })
      .Shape([](InferContext& ctx) {
        for (size_t slot = 0; slot < ctx.call().op->outputs.size(); ++slot) {
          int s = static_cast<int>(slot);
          for (int i = 0; i < ctx.InputCount(s) && i < ctx.OutputCount(s); ++i) {
            if (ctx.call().in.at(s, i)) ctx.SetOutputAt(s, i, ctx.dims(s, i), ctx.dtype(s, i));
          }
        }
      });
}

inline void CallThird(GradBuilder& g, uint32_t serves) {
  const OpInfo& second = g.op();
  std::vector<RecipeSlot> in, out;
  for (int slot = 0; slot < static_cast<int>(second.inputs.size()); ++slot) {
    in.push_back(g.Inputs(slot));
    out.push_back(serves >> slot & 1 ? g.InputGrads(slot) : RecipeSlot());
  }
  for (int slot = 0; slot < static_cast<int>(second.outputs.size()); ++slot)
    in.push_back(g.OutputGrads(slot));
  auto call = g.CallLists(second.type + "_grad", std::move(in), std::move(out));
  if (!second.attrs_of.empty()) call.SameAttrs();
}

// The recipe of the second gradient operator.
template <class P>
void Recipe(GradBuilder& g) {
  CallThird(g, P::kServes);
}

template <class P>
void DefineThirdOf(OpDef& op, const char* second) {
  DefineThird(op, second, P::Define);
  op.Grad(RefuseFourthOrder);
}

template <class P, class T>
struct ThirdKernel {
  static void Compute(KernelContext& ctx) {
    int inputs_of_second = static_cast<int>(ctx.call().op->outputs.size());
    Problem problem(ctx, P::Inputs(ctx), P::Results(ctx), inputs_of_second);
    P::Run(problem);
    problem.Flush();
    problem.Write();
  }
};

// For a second gradient operator that has no faster kernel.
template <class P, class T>
struct SecondKernel {
  static void Compute(KernelContext& ctx) {
    Problem problem(ctx, P::Inputs(ctx), P::Results(ctx), -1);
    P::Run(problem);
    problem.Flush();
    problem.Write();
  }
};

}  // namespace dygraph::higher

// The third gradient operator NAME_grad of the second gradient operator NAME, of policy P. The
// operators' library is one, so the policy must have a name of its own.
#define REGISTER_THIRD_GRADIENT(name, P)                                                           \
  template <class T>                                                                               \
  using P##ThirdKernel = ::dygraph::higher::ThirdKernel<P, T>;                                     \
  REGISTER_OPERATOR(name##_grad,                                                                   \
                    [](::dygraph::OpDef& op) { ::dygraph::higher::DefineThirdOf<P>(op, #name); }); \
  REGISTER_CPU_KERNEL(name##_grad, P##ThirdKernel, float, double)
