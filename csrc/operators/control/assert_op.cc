#include <utility>

#include "op/op_registry.h"
#include "operators/text.h"

namespace dygraph {
namespace {

constexpr int kCond = 0, kData = 1;

struct AssertAttrs {
  int64_t summarize = -1;
  std::string message, error;
};

void DefineAssert(OpDef& op) {
  op.Comment(
        "Raises an error where Cond is false: with `message` and the numbers of Data, of the type "
        "that `error` names.")
      .Example(
          ">>> F.assert_(to_variable([2.0]) > 1.0, message='too small')\n"
          ">>> F.assert_(to_variable([0.5]) > 1.0, message='too small')\n"
          "Traceback (most recent call last):\n"
          "    ...\n"
          "dygraph.errors.AssertionFailedError: assert: too small")
      .Input(kCond, "Cond", "one bool")
      .Input(kData, "Data", "what the error shows, any types", kDuplicable | kDispensable)
      .Attr(&AssertAttrs::summarize, "summarize", "so many numbers of each of Data; -1: all",
            AtLeast(-1))
      .Attr(&AssertAttrs::message, "message", "what the error says")
      .Attr(&AssertAttrs::error, "error",
            "the name of the error's type in Python; empty: AssertionError")
      .Shape([](InferContext& ctx) {
        ENFORCE(ctx.dtype(kCond) == DType::kBool, Type, "Cond must be of bool, got ",
                ctx.dtype(kCond), ". Compare to get a bool");
        const Dims& cond = ctx.dims(kCond);
        ENFORCE(cond.HasUnknown() || Numel(cond) == 1, InvalidArgument,
                "Cond must hold one bool, got shape ", cond, ". Reduce it with reduce_all()");
      })
      .KernelDTypeOf(kCond)
      .MixedDTypes()
      .NoGrad();
}

// The kind of error that is one of this type in Python; known: whether there is one.
std::pair<ErrorKind, bool> KindOf(const std::string& error) {
  static const std::pair<const char*, ErrorKind> kKinds[] = {
      {"AssertionError", ErrorKind::Assertion},
      {"ValueError", ErrorKind::InvalidArgument},
      {"TypeError", ErrorKind::Type},
      {"KeyError", ErrorKind::NotFound},
      {"IndexError", ErrorKind::OutOfRange},
      {"NotImplementedError", ErrorKind::Unimplemented},
      {"MemoryError", ErrorKind::ResourceExhausted},
      {"RuntimeError", ErrorKind::PreconditionNotMet},
      {"FileNotFoundError", ErrorKind::FileNotFound},
      {"FloatingPointError", ErrorKind::NonFinite}};
  for (const auto& [name, kind] : kKinds) {
    if (error == name) return {kind, true};
  }
  return {error.empty() ? ErrorKind::Assertion : ErrorKind::PreconditionNotMet, error.empty()};
}

template <class T>
struct AssertKernel {
  static void Compute(KernelContext& ctx) {
    if (*ctx.In(kCond).data<bool>()) return;
    const auto& a = ctx.attrs<AssertAttrs>();
    const auto [kind, known] = KindOf(a.error);
    std::string text = a.message.empty() && known ? "Cond must be true, got False" : a.message;
    if (!known) text = a.error + (text.empty() ? "" : ": " + text);
    for (int i = 0; i < ctx.InputCount(kData); ++i) {
      const Tensor& t = ctx.In(kData, i);
      const std::string* name = NameOfInput(ctx.call(), kData, i);
      text += "\n  " + (name ? *name : "Data[" + std::to_string(i) + "]") + ": ";
      text += VisitDType(t.dtype(), [&](auto tag) {
        return DataText<typename decltype(tag)::type>(t, a.summarize);
      });
    }
    throw Error(kind, text);
  }
};

REGISTER_OPERATOR(assert, DefineAssert);
REGISTER_CPU_KERNEL(assert, AssertKernel, bool);

}  // namespace
}  // namespace dygraph
