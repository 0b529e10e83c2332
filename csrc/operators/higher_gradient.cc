#include "operators/higher_gradient.h"

#include <cstring>
#include <type_traits>

namespace dygraph::higher {

Problem::Problem(KernelContext& context, const std::vector<Input>& inputs,
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

Problem::~Problem() = default;

Scalar Problem::Leaf(int i, int64_t at) {
  auto number = [at](const std::vector<double>& x) { return x.empty() ? 0.0 : x[at]; };
  const In& in = inputs_[i];
  CheckPlace(at, in.gradient.size(), in.at.value.slot < 0 ? in.at.along : in.at.value);
  Scalar x = tape_.Leaf({number(in.value), number(in.along), number(in.across)});
  uses_.push_back({x, i, at});
  return x;
}

std::vector<Scalar> Problem::Leaves(int i, int64_t begin, int64_t count) {
  std::vector<Scalar> list;
  for (int64_t at = begin; at < begin + count; ++at) list.push_back(Leaf(i, at));
  return list;
}

void Problem::Set(int k, int64_t at, Scalar y) {
  Out& out = results_[k];
  if (!out.given.empty()) CheckPlace(at, out.given.size(), out.at.given);
  if (!out.across.empty()) CheckPlace(at, out.across.size(), out.at.given);
  if (out.result.size() <= static_cast<size_t>(at)) out.result.resize(at + 1);
  out.result[at] = tape_.value(y);
  tape_.Seed(y, {out.given.empty() ? out.at.unless_given : out.given[at], 0.0,
                 out.across.empty() ? 0.0 : out.across[at]});
}

void Problem::Flush() {
  tape_.Play();
  for (const Use& use : uses_) inputs_[use.input].gradient[use.at] += tape_.gradient(use.x);
  uses_.clear();
  tape_.Clear();
}

void Problem::Write() {
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

void Problem::CheckPlace(int64_t at, size_t size, Place place) const {
  ENFORCE(static_cast<size_t>(at) < size, InvalidArgument, "Input(",
          ctx.call().op->inputs[place.slot < 0 ? 0 : place.slot].name,
          ") must have the shape that follows from the forward call, got ", size, " elements");
}

const Tensor* Problem::Find(Place place) const {
  return place.slot < 0 ? nullptr : ctx.InOrNull(place.slot, place.index);
}

std::vector<double> Problem::Read(Place place, const Tensor* like) const {
  const Tensor* t = Find(place);
  if (!t) return {};
  ENFORCE(!like || t->dims() == like->dims(), InvalidArgument, "Input(",
          ctx.call().op->inputs[place.slot].name, ") must have the shape ", like->dims(),
          " of what it is a direction of, got ", t->dims());
  if (t->dtype() == DType::kFloat64)
    return std::vector<double>(t->data<double>(), t->data<double>() + t->numel());
  return std::vector<double>(t->data<float>(), t->data<float>() + t->numel());
}

Place Problem::Across(Place result) const {
  return second_ < 0 || result.slot < 0 ? Place() : Place(second_ + result.slot, result.index);
}

void Problem::WriteTo(Place place, const std::vector<Jet>& from, double Jet::* part) {
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

void DefineThird(OpDef& op, const char* second, void (*define_second)(OpDef&)) {
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

void Solve(KernelContext& ctx, const std::vector<Input>& inputs,
           const std::vector<Result>& results, int inputs_of_second, void (*run)(Problem&)) {
  Problem problem(ctx, inputs, results, inputs_of_second);
  run(problem);
  problem.Flush();
  problem.Write();
}

}  // namespace dygraph::higher
