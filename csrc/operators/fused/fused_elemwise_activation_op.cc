#include "operators/arithmetic/binary.h"
#include "operators/fused/fused.h"

namespace dygraph::fused {
namespace {

constexpr int kX = 0, kY = 1, kOut = 0, kMiddle = 1;

struct FusedElementwiseAttrs {
  int32_t axis = -1;
  double scale = 0.0;
  bool save_intermediate_out = false;
  std::vector<std::string> functor_list = {"relu", "elementwise_add"};
};

// unary(binary(X, Y)), or with `inside` binary(X, unary(Y)).
struct Functions {
  std::string binary, unary;
  bool inside;
};

bool IsBinary(const std::string& name) {
  return name == "elementwise_add" || name == "elementwise_mul";
}

bool IsUnary(const std::string& name) {
  return name == "scale" || name == "relu" || name == "tanh" || name == "sigmoid" || name == "gelu";
}

Functions FunctionsOf(const FusedElementwiseAttrs& a) {
  const std::vector<std::string>& list = a.functor_list;
  const bool inside = list.size() == 2 && IsBinary(list[0]);
  const bool fits =
      list.size() == 2 && (inside ? IsUnary(list[1]) : IsUnary(list[0]) && IsBinary(list[1]));
  ENFORCE(fits, InvalidArgument,
          "functor_list must hold elementwise_add or elementwise_mul, and scale, relu, tanh, "
          "sigmoid or gelu, got ",
          ToString(AttrValue(list)));
  return inside ? Functions{list[0], list[1], true} : Functions{list[1], list[0], false};
}

void InferShape(InferContext& ctx) {
  const auto& a = ctx.attrs<FusedElementwiseAttrs>();
  const Functions f = FunctionsOf(a);
  const Dims &x = ctx.dims(kX), &y = ctx.dims(kY);
  const Dims out = BroadcastDims(x, elementwise::AlignY(x, y, a.axis));
  ctx.SetOutput(kOut, out);
  ctx.SetOutput(kMiddle, !a.save_intermediate_out ? Dims{0} : f.inside ? y : out);
}

// What arrives at the argument of the unary function, by its result or its argument.
void UnaryGrad(GradBuilder& g, const std::string& unary, RecipeRef result, RecipeRef argument,
               RecipeRef arrived, RecipeRef to) {
  if (unary == "scale") {
    g.Call("scale", {arrived}, {to}).Number("scale", g.attrs<FusedElementwiseAttrs>().scale);
    return;
  }
  RecipeRef given = unary == "gelu" ? argument : result;
  g.CallLists(unary + "_grad", {given, arrived}, {to});
}

void Recipe(GradBuilder& g) {
  const auto& a = g.attrs<FusedElementwiseAttrs>();
  const Functions f = FunctionsOf(a);
  const bool sum = f.binary == "elementwise_add";
  auto binary_grad = [&](RecipeRef y, RecipeRef arrived, RecipeRef to_y) {
    RecipeRef x = sum || !g.Wants(kY) ? g.InputShape(kX) : g.Input(kX);
    RecipeRef other = sum || !g.Wants(kX) ? g.InputShape(kY) : y;
    g.CallLists(f.binary + "_grad", {x, other, arrived}, {g.InputGrad(kX), to_y})
        .Attr("axis", a.axis);
  };
  if (f.inside) {
    RecipeRef made = g.Temp(), back = g.Temp();
    auto call = g.CallLists(f.unary, {g.Input(kY)}, {made});
    if (f.unary == "scale") call.Number("scale", a.scale);
    binary_grad(made, g.OutputGrad(kOut), g.Wants(kY) ? back : RecipeRef());
    UnaryGrad(g, f.unary, made, g.Input(kY), back, g.InputGrad(kY));
    return;
  }
  RecipeRef argument, back = g.Temp();
  if (f.unary == "gelu") {
    argument = g.Temp();
    g.CallLists(f.binary, {g.Input(kX), g.Input(kY)}, {argument}).Attr("axis", a.axis);
  }
  UnaryGrad(g, f.unary, g.Output(kOut), argument, g.OutputGrad(kOut), back);
  binary_grad(g.Input(kY), back, g.InputGrad(kY));
}

OpDef& Declare(OpDef& op) {
  return op
      .Comment(
          "Out = f(b(X, Y)), or b(X, f(Y)) where b stands first in functor_list: b is "
          "elementwise_add or elementwise_mul, f is scale, relu, tanh, sigmoid or gelu. Shapes "
          "broadcast as NumPy's; axis >= 0 lays Y along X from that axis on.")
      .Input(kX, "X", "any shape")
      .Input(kY, "Y", "broadcasts with X")
      .Output(kOut, "Out", "the common shape")
      .Output(kMiddle, "IntermediateOut",
              "with save_intermediate_out what the outer function was given", kIntermediate)
      .Attr(&FusedElementwiseAttrs::axis, "axis", "where Y begins in X; -1: at its end",
            AtLeast(-1))
      .Attr(&FusedElementwiseAttrs::scale, "scale", "the factor of scale")
      .Attr(&FusedElementwiseAttrs::save_intermediate_out, "save_intermediate_out",
            "keep IntermediateOut")
      .Attr(&FusedElementwiseAttrs::functor_list, "functor_list",
            "the two functions, the outer one first")
      .Shape(InferShape)
      .KernelAllocates()
      .ShareLoD(kX)
      .Grad(Recipe);
}

void DefineFusedElemwiseActivation(OpDef& op) {
  Declare(op).Example(
      ">>> x, y = to_variable([1.0, -3.0]), to_variable([0.5, 1.0])\n"
      ">>> functions = [\"relu\", \"elementwise_add\"]\n"
      ">>> F.fused_elemwise_activation(x, y, functor_list=functions).tolist()\n"
      "[1.5, 0.0]");
}

void DefineFusedElemwiseAddActivation(OpDef& op) {
  Declare(op).Example(
      ">>> x, y = to_variable([1.0, -3.0]), to_variable([0.5, 1.0])\n"
      ">>> functions = [\"relu\", \"elementwise_add\"]\n"
      ">>> F.fused_elemwise_add_activation(x, y, functor_list=functions).tolist()\n"
      "[1.5, 0.0]");
}

template <class T>
struct FusedElementwiseKernel {
  static void Compute(KernelContext& ctx) {
    const auto& a = ctx.attrs<FusedElementwiseAttrs>();
    const Functions f = FunctionsOf(a);
    Value own;
    Value* middle = a.save_intermediate_out ? OutputOr(ctx, kMiddle, &own) : &own;
    if (!a.save_intermediate_out) FillUnused(ctx, {kMiddle});
    const Value &x = ctx.InValue(kX), &y = ctx.InValue(kY);
    auto unary = [&](const Value& in, Value* out) {
      PartCall call(ctx, f.unary.c_str());
      call.In(in).Out(out);
      if (f.unary == "scale") call.Attr("scale", a.scale);
      call.Run();
    };
    auto binary = [&](const Value& second, Value* out) {
      PartCall(ctx, f.binary.c_str()).In(x).In(second).Out(out).Attr("axis", a.axis).Run();
    };
    if (f.inside) {
      unary(y, middle);
      binary(*middle, &ctx.OutValue(kOut));
    } else {
      binary(y, middle);
      unary(*middle, &ctx.OutValue(kOut));
    }
  }
};

// As of elementwise_add.
bool KeepsRows(const LoDCall& c) {
  const bool laid_along_rows = c.slot == kY && c.attrs<FusedElementwiseAttrs>().axis == 0;
  return c.out_slot == kOut && (laid_along_rows || c.out.rank() <= c.from.rank());
}

REGISTER_OPERATOR(fused_elemwise_activation, DefineFusedElemwiseActivation);
REGISTER_LOD_ALSO(fused_elemwise_activation, kY);
REGISTER_LOD_RULE(fused_elemwise_activation, KeepsRows);
REGISTER_KERNELS(fused_elemwise_activation, FusedElementwiseKernel, float, double);
REGISTER_OPERATOR(fused_elemwise_add_activation, DefineFusedElemwiseAddActivation);
REGISTER_LOD_ALSO(fused_elemwise_add_activation, kY);
REGISTER_LOD_RULE(fused_elemwise_add_activation, KeepsRows);
REGISTER_KERNELS(fused_elemwise_add_activation, FusedElementwiseKernel, float, double);

}  // namespace
}  // namespace dygraph::fused
