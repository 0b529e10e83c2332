#include <algorithm>
#include <cctype>

#include "kernels/einsum.h"
#include "kernels/elementwise.h"
#include "kernels/strided_copy.h"
#include "op/lod_rule.h"
#include "op/op_registry.h"

namespace dygraph {
namespace {

using kernels::EinsumOperand;
using kernels::Labels;

constexpr int kOperands = 0, kOut = 0, kInnerCache = 1, kXShape = 2;
constexpr int kEllipsis = 256;  // the label of the last axis under an ellipsis, rising to the front

struct EinsumAttrs {
  std::string equation;
};

struct Equation {
  std::vector<Labels> in;
  Labels out;
  std::map<int, int64_t> sizes;
  Dims dims;  // of the result
};

// Letters of one operand, the places of the ellipsis as kEllipsis.
Labels Letters(const std::string& text, const std::string& equation) {
  Labels labels;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, "...") == 0) {
      ENFORCE(std::count(labels.begin(), labels.end(), kEllipsis) == 0, InvalidArgument,
              "a term of equation may hold one ellipsis, got '", equation, "'");
      labels.push_back(kEllipsis);
      i += 2;
      continue;
    }
    ENFORCE(std::isalpha(static_cast<unsigned char>(text[i])), InvalidArgument,
            "equation must be made of letters, commas, '...' and one '->', got '", equation, "'");
    labels.push_back(text[i]);
  }
  return labels;
}

// The ellipsis in place, as `count` axes.
Labels Expanded(const Labels& labels, int count) {
  Labels all;
  for (int l : labels) {
    if (l != kEllipsis) {
      all.push_back(l);
      continue;
    }
    for (int i = count - 1; i >= 0; --i) all.push_back(kEllipsis + i);
  }
  return all;
}

Equation Parse(const std::string& text, const std::vector<Dims>& shapes) {
  std::string equation;
  for (char c : text) {
    if (c != ' ') equation += c;
  }
  size_t arrow = equation.find("->");
  std::string left = equation.substr(0, arrow);
  std::vector<std::string> terms(1);
  for (char c : left) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back().push_back(c);
    }
  }
  ENFORCE(terms.size() == shapes.size(), InvalidArgument, "equation '", text, "' must have a term ",
          "for each of Operands, got ", terms.size(), " terms for ", shapes.size(), " operands");
  Equation e;
  int widest = 0;
  std::map<int, int> seen;  // letters and how often
  bool ellipsis = false;
  for (size_t i = 0; i < terms.size(); ++i) {
    Labels letters = Letters(terms[i], text);
    bool open = std::count(letters.begin(), letters.end(), kEllipsis) > 0;
    int extra = shapes[i].rank() - static_cast<int>(letters.size()) + open;
    ENFORCE(open ? extra >= 0 : extra == 0, InvalidArgument, "the term '", terms[i],
            "' of equation '", text, "' must have a letter for each axis of Operands[", i, "] ",
            shapes[i], ", got ", static_cast<int>(letters.size()) - open, " letters");
    ellipsis |= open;
    widest = std::max(widest, open ? extra : 0);
    e.in.push_back(Expanded(letters, open ? extra : 0));
    for (int l : letters) seen[l] += l == kEllipsis ? 0 : 1;
    std::map<int, int64_t> own;
    for (size_t k = 0; k < e.in[i].size(); ++k) {
      int label = e.in[i][k];
      int64_t n = shapes[i][k];
      auto [at, fresh] = own.emplace(label, n);
      ENFORCE(fresh || at->second == n || n < 0 || at->second < 0, InvalidArgument,
              "the axes of a repeated letter must have one size, got Operands[", i, "] ", shapes[i],
              " for '", terms[i], "'");
      auto [whole, first] = e.sizes.emplace(label, n);
      int64_t& size = whole->second;
      ENFORCE(first || size == n || size == 1 || n == 1 || size < 0 || n < 0, InvalidArgument,
              "axes of one letter must have one size, or 1, got ", size, " and ", n, " in '", text,
              "' for Operands[", i, "] ", shapes[i]);
      if (size == 1 || (size < 0 && n > 1)) size = n;
    }
  }
  if (arrow == std::string::npos) {  // letters that appear once, in alphabetical order
    if (ellipsis) e.out = Expanded({kEllipsis}, widest);
    for (auto [letter, count] : seen) {
      if (count == 1) e.out.push_back(letter);
    }
  } else {
    Labels letters = Letters(equation.substr(arrow + 2), text);
    bool open = std::count(letters.begin(), letters.end(), kEllipsis) > 0;
    ENFORCE(open || widest == 0, InvalidArgument, "the result of equation '", text,
            "' must name the axes under the ellipsis by one of its own");
    e.out = Expanded(letters, widest);
    for (int l : e.out) {
      ENFORCE(std::count(e.out.begin(), e.out.end(), l) == 1, InvalidArgument,
              "the result of equation '", text, "' must not repeat a letter");
      ENFORCE(e.sizes.count(l) > 0, InvalidArgument, "each letter of the result of equation '",
              text, "' must stand in an operand");
    }
  }
  for (int l : e.out) e.dims.push_back(e.sizes.at(l));
  ENFORCE(e.sizes.size() <= kMaxRank, InvalidArgument, "equation must have at most ", kMaxRank,
          " different axes, got ", e.sizes.size(), " in '", text, "'");
  return e;
}

Equation ParseCall(const Call& call) {
  std::vector<Dims> shapes;
  for (int i = 0; i < call.in.count(kOperands); ++i)
    shapes.push_back(call.in.at(kOperands, i)->dims());
  return Parse(static_cast<const EinsumAttrs*>(call.attrs)->equation, shapes);
}

// Writes a result, whose labels may lack some of `labels`, into a tensor with the axes `labels`: a
// label twice is a diagonal, one that is missing is repeated. What is on no diagonal is 0.
template <class T>
void Place(const EinsumOperand& result, const Labels& labels, Tensor* out) {
  T* to = out->mutable_data<T>();
  if (out->numel() == 0) return;
  Dims own = Strides(out->dims()), from = Strides(result.value.dims()), dims, to_strides,
       from_strides;
  Labels seen;
  for (size_t i = 0; i < labels.size(); ++i) {
    auto at = std::find(seen.begin(), seen.end(), labels[i]);
    if (at != seen.end()) {
      to_strides[at - seen.begin()] += own[i];
      continue;
    }
    seen.push_back(labels[i]);
    dims.push_back(out->dims()[i]);
    to_strides.push_back(own[i]);
    auto found = std::find(result.labels.begin(), result.labels.end(), labels[i]);
    from_strides.push_back(found == result.labels.end() ? 0 : from[found - result.labels.begin()]);
  }
  if (seen.size() < labels.size()) kernels::Fill(to, out->numel(), T(0));
  kernels::CopyStrided(dims, result.value.data<T>(), from_strides, to, to_strides, sizeof(T));
}

// The gradient of operand i: the product of the others with g, summed over what it has not.
template <class T>
void OperandGrad(const Equation& e, std::vector<EinsumOperand> operands, size_t i, const Tensor& g,
                 Tensor* out) {
  operands[i] = {e.out, g};
  Labels target;
  for (size_t k = 0; k < e.in[i].size(); ++k) {
    int l = e.in[i][k];
    if (out->dim(static_cast<int>(k)) != 1 && std::count(target.begin(), target.end(), l) == 0)
      target.push_back(l);
  }
  Place<T>(kernels::Einsum<T>(std::move(operands), target, e.sizes), e.in[i], out);
}

std::vector<EinsumOperand> OperandsOf(const KernelContext& ctx, const Equation& e) {
  std::vector<EinsumOperand> operands;
  for (size_t i = 0; i < e.in.size(); ++i)
    operands.push_back({e.in[i], ctx.In(kOperands, static_cast<int>(i))});
  return operands;
}

void DefineEinsum(OpDef& op) {
  op.Comment(
        "Out = the product of Operands, summed over the axes whose letters the result does not "
        "name: 'ij,jk->ik' is a matrix product. A letter twice in a term takes the diagonal, '...' "
        "stands for axes that broadcast; without '->' the result has the letters that appear once, "
        "in alphabetical order.")
      .Input(kOperands, "Operands", "one for each term of equation", kDuplicable)
      .Output(kOut, "Out", "the axes that the result names")
      .Output(kInnerCache, "InnerCache", "for programs of other tools: empty",
              kDuplicable | kIntermediate | kExtra)
      .Output(kXShape, "XShape", "for programs of other tools: empty",
              kDuplicable | kIntermediate | kExtra)
      .Attr(&EinsumAttrs::equation, "equation", "'ij,jk->ik'")
      .OutputCount([](int, const Call&) { return 0; })
      .ShareLoD(kOperands)
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOut, ParseCall(ctx.call()).dims);
        for (int slot : {kInnerCache, kXShape}) {
          for (int i = 0; i < ctx.OutputCount(slot); ++i) ctx.SetOutputAt(slot, i, {0});
        }
      })
      .Grad([](GradBuilder& g) {
        int count = g.InputCount(kOperands), wanted = 0;
        for (int i = 0; i < count; ++i) wanted += g.Wants(kOperands, i);
        RecipeSlot operands;  // the value of one is read for the others' gradients
        for (int i = 0; i < count; ++i) {
          bool read = wanted > (g.Wants(kOperands, i) ? 1 : 0);
          operands.push_back(read ? g.Input(kOperands, i) : g.InputShape(kOperands, i));
        }
        g.Call("einsum_grad", {operands, g.OutputGrad(kOut)}, {g.InputGrads(kOperands)})
            .SameAttrs();
      });
}

template <class T>
struct EinsumKernel {
  static void Compute(KernelContext& ctx) {
    Equation e = ParseCall(ctx.call());
    Place<T>(kernels::Einsum<T>(OperandsOf(ctx, e), e.out, e.sizes), e.out, &ctx.Out(kOut));
  }
};

namespace grad {
constexpr int kOutGrad = 1, kOperandGrads = 0;

void DefineEinsumGrad(OpDef& op) {
  op.Comment("Operands[i]@GRAD = the product of Out@GRAD and the other Operands, as einsum.")
      .Input(kOperands, "Operands", "values, or the shape of one that is not read", kDuplicable)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Output(kOperandGrads, "Operands@GRAD", "shape of each", kDuplicable)
      .AttrsOf("einsum")
      .OutputCount([](int, const Call& call) { return call.in.count(kOperands); })
      .Shape([](InferContext& ctx) {
        for (int i = 0; i < ctx.InputCount(kOperands); ++i)
          ctx.SetOutputAt(kOperandGrads, i, ctx.dims(kOperands, i), ctx.dtype(kOperands, i));
      })
      .KernelDTypeOf(kOutGrad)
      .Grad([](GradBuilder& g) {
        g.Call("einsum_grad_grad",
               {g.Inputs(kOperands), g.Input(kOutGrad), g.OutputGrads(kOperandGrads)},
               {g.InputGrad(kOutGrad), g.InputGrads(kOperands)})
            .SameAttrs();
      });
}

template <class T>
struct EinsumGradKernel {
  static void Compute(KernelContext& ctx) {
    Equation e = ParseCall(ctx.call());
    const Tensor& g = ctx.In(kOutGrad);
    ENFORCE(g.dims() == e.dims, InvalidArgument, "Out@GRAD must have the shape of Out, ", e.dims,
            ", got ", g.dims());
    std::vector<EinsumOperand> operands = OperandsOf(ctx, e);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (Tensor* out = ctx.OutOrNull(kOperandGrads, static_cast<int>(i)))
        OperandGrad<T>(e, operands, i, g, out);
    }
  }
};
}  // namespace grad

// The operator is linear in each operand; so its second gradients are sums of products in which
// one operand, or two, gave way to gradients.
namespace grad_grad {
constexpr int kOutGrad = 1, kGradGrads = 2, kOutGradGrad = 0, kOperandGrads = 1;

// With E(x) the result, G_k(x, g) the gradient of operand k and x|i=d the operands with d in place
// of the i-th: this operator gives sum_i E(x|i=d_i) and to operand k sum_{i != k} G_k(x|i=d_i, g).
// What arrives there, w and w_k, gives
//   d_k: sum_{i != k} G_k(x|i=w_i, g) + G_k(x, w)
//   g:   sum_i sum_{j != i} E(x|i=d_i,j=w_j)
//   x_k: sum_{i != k} (sum_{j != i, k} G_k(x|i=d_i,j=w_j, g) + G_k(x|i=d_i, w))
// which are calls of this operator and of einsum_grad again.
void ThirdOrder(GradBuilder& g) {
  const int count = g.InputCount(kOperands);
  RecipeRef seed = g.Input(kOutGrad), w = g.OutputGrad(kOutGradGrad);
  RecipeSlot x = g.Inputs(kOperands), directions = g.Inputs(kGradGrads);
  std::vector<RecipeSlot> to_x(count), to_d(count);
  RecipeSlot to_seed;
  // calls `type`; result k of its list joins lists[k], where it is wanted
  auto temps = [&](std::vector<RecipeSlot>* lists, int slot, int but) {
    RecipeSlot made;
    for (int k = 0; k < count; ++k) {
      bool wanted = k != but && g.Wants(slot, k);
      made.push_back(wanted ? g.Temp() : RecipeRef());
      if (wanted) (*lists)[k].push_back(made.back());
    }
    return made;
  };
  RecipeSlot ws = g.OutputGrads(kOperandGrads);
  while (static_cast<int>(ws.size()) < count) ws.push_back({});
  if (!directions.empty()) {
    g.Call("einsum_grad_grad", {x, seed, ws}, {{}, temps(&to_d, kGradGrads, -1)}).SameAttrs();
    g.Call("einsum_grad", {x, w}, {temps(&to_d, kGradGrads, -1)}).SameAttrs();
    g.Call("einsum_grad_grad", {x, w, directions}, {{}, temps(&to_x, kOperands, -1)}).SameAttrs();
  }
  for (int i = 0; count > 1 && i < static_cast<int>(directions.size()); ++i) {
    // d_i, or zeros where it is absent: a list of operands must be complete
    RecipeRef zeros = g.Apply("fill_any_like", {g.InputShape(kOperands, i)});
    RecipeSlot changed = x, others = ws;
    changed[i] = g.Apply("sum", {RecipeSlot({zeros, directions[i]})});
    others[i] = {};
    RecipeRef mixed = g.Wants(kOutGrad) ? g.Temp() : RecipeRef();
    if (g.Wants(kOutGrad)) to_seed.push_back(mixed);
    g.Call("einsum_grad_grad", {changed, seed, others}, {mixed, temps(&to_x, kOperands, i)})
        .SameAttrs();
  }
  for (int k = 0; k < count; ++k) {
    if (!to_x[k].empty()) g.Call("sum", {to_x[k]}, {g.InputGrad(kOperands, k)});
    if (!to_d[k].empty()) g.Call("sum", {to_d[k]}, {g.InputGrad(kGradGrads, k)});
  }
  if (!to_seed.empty()) g.Call("sum", {to_seed}, {g.InputGrad(kOutGrad)});
}

void DefineEinsumGradGrad(OpDef& op) {
  op.Comment(
        "The gradients of einsum_grad with respect to Out@GRAD and Operands: with d what arrives "
        "at gradient i, Out@GRAD@GRAD = the sum over i of einsum with d in place of operand i, and "
        "each operand j other than i gets its gradient from that einsum.")
      .Input(kOperands, "Operands", "operands of einsum", kDuplicable)
      .Input(kOutGrad, "Out@GRAD", "shape of Out")
      .Input(kGradGrads, "Operands@GRAD@GRAD", "shape of each, elements may be absent",
             kDuplicable | kDispensable)
      .Output(kOutGradGrad, "Out@GRAD@GRAD", "shape of Out")
      .Output(kOperandGrads, "Operands@GRAD2", "shape of each operand", kDuplicable)
      .AttrsOf("einsum")
      .OutputCount([](int, const Call& call) { return call.in.count(kOperands); })
      .Shape([](InferContext& ctx) {
        ctx.SetOutput(kOutGradGrad, ctx.dims(kOutGrad), ctx.dtype(kOutGrad));
        for (int i = 0; i < ctx.InputCount(kOperands); ++i)
          ctx.SetOutputAt(kOperandGrads, i, ctx.dims(kOperands, i), ctx.dtype(kOperands, i));
      })
      .KernelDTypeOf(kOutGrad)
      .Grad(ThirdOrder);
}

template <class T>
void AddTo(Tensor* sum, const Tensor& term) {
  T* to = sum->mutable_data<T>();
  kernels::Zip(static_cast<const T*>(to), term.data<T>(), to, sum->numel(),
               [] DYGRAPH_FN(T a, T b) { return a + b; });
}

template <class T>
struct EinsumGradGradKernel {
  static void Compute(KernelContext& ctx) {
    Equation e = ParseCall(ctx.call());
    std::vector<EinsumOperand> operands = OperandsOf(ctx, e);
    const Tensor& g = ctx.In(kOutGrad);
    int count = static_cast<int>(operands.size());
    auto zeros = [](Tensor* out) {
      if (out) kernels::Fill(out->mutable_data<T>(), out->numel(), T(0));
    };
    zeros(ctx.OutOrNull(kOutGradGrad));
    for (int i = 0; i < count; ++i) zeros(ctx.OutOrNull(kOperandGrads, i));
    for (int i = 0; i < count; ++i) {
      const Tensor* d = i < ctx.InputCount(kGradGrads) ? ctx.InOrNull(kGradGrads, i) : nullptr;
      if (!d) continue;
      ENFORCE(d->dims() == operands[i].value.dims(), InvalidArgument,
              "each Operands@GRAD@GRAD must have the shape of its operand, ",
              operands[i].value.dims(), ", got ", d->dims());
      std::vector<EinsumOperand> changed = operands;
      changed[i].value = *d;
      if (Tensor* out = ctx.OutOrNull(kOutGradGrad)) {
        Tensor term(out->dims(), out->dtype(), out->place());
        Place<T>(kernels::Einsum<T>(changed, e.out, e.sizes), e.out, &term);
        AddTo<T>(out, term);
      }
      for (int j = 0; j < count; ++j) {
        Tensor* out = j == i ? nullptr : ctx.OutOrNull(kOperandGrads, j);
        if (!out) continue;
        Tensor term(out->dims(), out->dtype(), out->place());
        OperandGrad<T>(e, changed, static_cast<size_t>(j), g, &term);
        AddTo<T>(out, term);
      }
    }
  }
};
}  // namespace grad_grad

REGISTER_OPERATOR(einsum, DefineEinsum);
REGISTER_LOD_RULE(einsum, [](const LoDCall& c) {
  if (c.out_slot != kOut) return false;
  const Equation e = ParseCall(c.call);
  return e.in[c.element].front() == e.out.front();
});
REGISTER_KERNELS(einsum, EinsumKernel, float, double);
REGISTER_OPERATOR(einsum_grad, grad::DefineEinsumGrad);
REGISTER_KERNELS(einsum_grad, grad::EinsumGradKernel, float, double);
REGISTER_OPERATOR(einsum_grad_grad, grad_grad::DefineEinsumGradGrad);
REGISTER_KERNELS(einsum_grad_grad, grad_grad::EinsumGradGradKernel, float, double);

}  // namespace
}  // namespace dygraph
