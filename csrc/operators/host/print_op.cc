#include <atomic>
#include <sstream>

#include "base/output.h"
#include "op/op_registry.h"
#include "operators/text.h"

namespace dygraph {
namespace {

constexpr int kIn = 0, kOut = 0;

// How often one operator has printed; a copy of its attributes is another operator's.
struct PrintCount {
  PrintCount() = default;
  PrintCount(const PrintCount&) {}
  mutable std::atomic<int64_t> value{0};
};

struct PrintAttrs {
  int32_t first_n = -1;
  std::string message;
  int32_t summarize = 20;
  bool print_tensor_name = true;
  bool print_tensor_type = true;
  bool print_tensor_shape = true;
  bool print_tensor_lod = true;
  std::string print_phase = "BOTH";
  bool is_forward = true;
  PrintCount printed;
};

void DefinePrint(OpDef& op) {
  op.Comment(
        "Out = In, and writes the name, the shape, the type and the first values of In while it "
        "runs; going backward, those of the gradient.")
      .Example(
          ">>> x = to_variable([1.0, 2.5, float('nan')])\n"
          ">>> out = dygraph.run_op('print', {'In': x}, {'message': 'seen'})['Out']\n"
          "Variable\n"
          "  - message: seen\n"
          "  - lod: {}\n"
          "  - place: CPUPlace\n"
          "  - shape: [3]\n"
          "  - dtype: float32\n"
          "  - data: [1 2.5 nan]")
      .Input(kIn, "In", "a tensor or selected rows", kTakesRows)
      .Output(kOut, "Out", "the same value")
      .Attr(&PrintAttrs::first_n, "first_n", "print this often; below 1: whenever it runs")
      .Attr(&PrintAttrs::message, "message", "a text of the user's")
      .Attr(&PrintAttrs::summarize, "summarize", "how many values; below 0: all")
      .Attr(&PrintAttrs::print_tensor_name, "print_tensor_name", "the name, where it has one")
      .Attr(&PrintAttrs::print_tensor_type, "print_tensor_type", "the element type")
      .Attr(&PrintAttrs::print_tensor_shape, "print_tensor_shape", "the shape")
      .Attr(&PrintAttrs::print_tensor_lod, "print_tensor_lod", "the level of detail")
      .Attr(&PrintAttrs::print_phase, "print_phase", "print going forward, backward or both ways",
            OneOf({"FORWARD", "BACKWARD", "BOTH"}))
      .Attr(&PrintAttrs::is_forward, "is_forward", "is it on the way forward?")
      .VarType([](InferContext& ctx) {
        Value* out = ctx.call().out.at(kOut);
        if (out && ctx.value(kIn).is_rows()) *out = ctx.value(kIn);
      })
      .Shape([](InferContext& ctx) {
        if (!ctx.value(kIn).is_rows()) ctx.SetOutput(kOut, ctx.dims(kIn), ctx.dtype(kIn));
      })
      .ShareLoD(kIn)
      .KernelAllocates()
      .MayShare(kIn, kOut)
      .Grad([](GradBuilder& g) {
        g.Call("print", {g.OutputGrad(kOut)}, {g.InputGrad(kIn)})
            .AttrsFrom([](const void* forward, void* backward) {
              auto& to = *static_cast<PrintAttrs*>(backward);
              const auto& from = *static_cast<const PrintAttrs*>(forward);
              to.first_n = from.first_n;
              to.message = from.message;
              to.summarize = from.summarize;
              to.print_tensor_name = from.print_tensor_name;
              to.print_tensor_type = from.print_tensor_type;
              to.print_tensor_shape = from.print_tensor_shape;
              to.print_tensor_lod = from.print_tensor_lod;
              to.print_phase = from.print_phase;
              to.is_forward = false;
            });
      });
}

template <class N>
std::string ListOf(const N& numbers, int64_t most) {
  std::string text = "[";
  int64_t n = static_cast<int64_t>(numbers.size());
  int64_t shown = most < 0 ? n : std::min(n, most);
  for (int64_t i = 0; i < shown; ++i) text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + (shown < n ? (shown ? ", ...]" : "...]") : "]");
}

std::string LoDText(const Tensor& t) {
  std::string text = "{";
  for (const auto& level : t.lod_levels())
    text += (text.size() > 1 ? ", " : "") + ListOf(level, -1);
  return text + "}";
}

template <class T>
std::string Description(const KernelContext& ctx, const PrintAttrs& a) {
  const Value& in = ctx.InValue(kIn);
  const Tensor& values = in.is_rows() ? in.rows().value() : in.tensor();
  std::ostringstream text;
  const std::string* name = NameOfInput(ctx.call(), kIn);
  text << (a.is_forward || name ? "Variable" : "Gradient");
  if (a.print_tensor_name && name) text << ": " << *name;
  text << '\n';
  if (!a.message.empty()) text << "  - message: " << a.message << '\n';
  if (in.is_rows()) text << "  - rows: " << ListOf(in.rows().rows(), a.summarize) << '\n';
  if (a.print_tensor_lod && !in.is_rows()) text << "  - lod: " << LoDText(values) << '\n';
  text << "  - place: " << values.place() << '\n';
  if (a.print_tensor_shape) text << "  - shape: " << in.dims() << '\n';
  if (a.print_tensor_type) text << "  - dtype: " << in.dtype() << '\n';
  text << "  - data: " << DataText<T>(values, a.summarize) << '\n';
  return text.str();
}

bool PrintsNow(const PrintAttrs& a) {
  if (a.print_phase == (a.is_forward ? "BACKWARD" : "FORWARD")) return false;
  return a.first_n < 1 || a.printed.value++ < a.first_n;
}

template <class T>
struct PrintKernel {
  static void Compute(KernelContext& ctx) {
    if (!ctx.IsRows(kIn) && ctx.HasOutput(kOut)) {  // rows were shared by the rule of types
      ctx.Out(kOut).ShareData(ctx.In(kIn));
      ctx.Out(kOut).SetLoD(ctx.In(kIn).lod_ref());
    }
    const auto& a = ctx.attrs<PrintAttrs>();
    if (PrintsNow(a)) WriteText(Description<T>(ctx, a));
  }
};

REGISTER_OPERATOR(print, DefinePrint);
REGISTER_CPU_KERNEL(print, PrintKernel, AllTypes);

}  // namespace
}  // namespace dygraph
