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
//     static constexpr const char* kSecond = "lrn_grad_grad";  // the second gradient operator
//     static constexpr int kInputs = 4, kResults = 3;          // how many slots it has
//     static constexpr bool kHasAttrs = true;
//     // its inputs that get gradients: what Inputs() and Results() name as value, along and given
//     static constexpr uint32_t kServes = higher::Slots(kX, kV, kOutGrad);
//     static void Define(OpDef& op);                            // describes it
//     static std::vector<higher::Input> Inputs(const KernelContext&);    // by its slots
//     static std::vector<higher::Result> Results(const KernelContext&);
//     static void Run(higher::Problem&);
//   };
#pragma once

#include <string>
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
          const std::vector<Result>& results, int inputs_of_second);
  ~Problem();

  KernelContext& ctx;
  // Whether input i is there: its value, or a direction of it.
  bool Has(int i) const { return !inputs_[i].gradient.empty(); }
  // Element `at` of input i as a variable; 0 where only directions are given. It may be made
  // several times.
  Scalar Leaf(int i, int64_t at);
  std::vector<Scalar> Leaves(int i, int64_t begin, int64_t count);
  // Element `at` of result k. Those never set are zeros.
  void Set(int k, int64_t at, Scalar y);
  // Differentiates what was set since the last time, and forgets it. To be called after the last,
  // and wherever the computation falls into parts.
  void Flush();
  // Outputs that get no gradient are zeros where a call by hand asks for them.
  void Write();

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
  void CheckPlace(int64_t at, size_t size, Place place) const;
  const Tensor* Find(Place place) const;
  std::vector<double> Read(Place place, const Tensor* like) const;
  // The gradient of an output of the second gradient operator.
  Place Across(Place result) const;
  void WriteTo(Place place, const std::vector<Jet>& from, double Jet::* part);

  int second_;
  kernels::ScalarTape tape_;
  std::vector<In> inputs_;
  std::vector<Out> results_;
  std::vector<Use> uses_;
};

// Makes the problem, runs it and writes the outputs.
void Solve(KernelContext& ctx, const std::vector<Input>& inputs,
           const std::vector<Result>& results, int inputs_of_second, void (*run)(Problem&));

// The third gradient operator, from the description of the second: its inputs, the gradients of its
// outputs, and the gradients of its inputs as outputs.
void DefineThird(OpDef& op, const char* second, void (*define_second)(OpDef&));

namespace internal {
template <class P, int kSlot>
RecipeSlot Argument(GradBuilder& g) {
  if constexpr (kSlot < P::kInputs) {
    return g.Inputs(kSlot);
  } else {
    return g.OutputGrads(kSlot - P::kInputs);
  }
}
template <class P, int kSlot>
RecipeSlot Gradient(GradBuilder& g) {
  return P::kServes >> kSlot & 1 ? g.InputGrads(kSlot) : RecipeSlot();
}
template <class P, size_t... kIn, size_t... kOut>
void Call(GradBuilder& g, std::index_sequence<kIn...>, std::index_sequence<kOut...>) {
  static const std::string type = std::string(P::kSecond) + "_grad";
  auto call = g.Call(type.c_str(), {Argument<P, static_cast<int>(kIn)>(g)...},
                     {Gradient<P, static_cast<int>(kOut)>(g)...});
  if (P::kHasAttrs) call.SameAttrs();
}
}  // namespace internal

// The recipe of the second gradient operator.
template <class P>
void Recipe(GradBuilder& g) {
  internal::Call<P>(g, std::make_index_sequence<P::kInputs + P::kResults>(),
                    std::make_index_sequence<P::kInputs>());
}

template <class P>
void DefineThirdOf(OpDef& op) {
  DefineThird(op, P::kSecond, P::Define);
  op.Grad([](GradBuilder& g) { RefuseFourthOrder(g, P::kInputs + P::kResults, P::kInputs); });
}

template <class P, class T>
struct ThirdKernel {
  static void Compute(KernelContext& ctx) {
    Solve(ctx, P::Inputs(ctx), P::Results(ctx), P::kInputs, P::Run);
  }
};

// For a second gradient operator that has no faster kernel.
template <class P, class T>
struct SecondKernel {
  static void Compute(KernelContext& ctx) {
    Solve(ctx, P::Inputs(ctx), P::Results(ctx), -1, P::Run);
  }
};

}  // namespace dygraph::higher

// The third gradient operator NAME_grad of the second gradient operator NAME, of policy P. The
// operators' library is one, so the policy must have a name of its own.
#define REGISTER_THIRD_GRADIENT(name, P)                               \
  template <class T>                                                   \
  using P##ThirdKernel = ::dygraph::higher::ThirdKernel<P, T>;         \
  REGISTER_OPERATOR(name##_grad, ::dygraph::higher::DefineThirdOf<P>); \
  REGISTER_CPU_KERNEL(name##_grad, P##ThirdKernel, float, double)
