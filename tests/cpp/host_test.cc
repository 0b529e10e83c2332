// What a program without Python has of text and functions: a sink of its own, handles of functions,
// names of a call's variables.
#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/output.h"
#include "check.h"
#include "op/host_function.h"
#include "tape/door.h"

using namespace dygraph;

namespace {

std::string g_text;

Value Numbers(float first, float second) {
  Tensor t(Dims{2}, DType::kFloat32);
  float* to = t.mutable_data<float>();
  to[0] = first;
  to[1] = second;
  return Value(std::move(t));
}

Ref<Variable> RunOne(const char* type, const Ref<Attrs>& attrs, Variable& x) {
  SlotList<Variable> in;
  in.Add(&x);
  Outputs out;
  RunOp(GetOp(type), attrs, in, &out);
  return out.owned[0];
}

void TestPrint() {
  const OpInfo& print = GetOp("print");
  Ref<Attrs> attrs = Attrs::Copy(*print.default_attrs);
  attrs->Set("message", std::string("seen"));
  Ref<Variable> x = Variable::Make(Numbers(1.5f, -2.0f));
  SetTextSink([](const std::string& text) { g_text += text; });
  x->set_name("weights");
  Ref<Variable> out = RunOne("print", attrs, *x);
  CHECK_EQ(out->tensor().data<float>()[1], -2.0f);
  CHECK_EQ(g_text,
           "Variable: weights\n  - message: seen\n  - lod: {}\n  - place: CPUPlace\n"
           "  - shape: [2]\n  - dtype: float32\n  - data: [1.5 -2]\n");
  SetTextSink(nullptr);
}

void TestStandardOutput(const char* path) {
  CHECK(std::freopen(path, "w", stdout) != nullptr);
  WriteText("to the file\n");
  std::stringstream read;
  read << std::ifstream(path).rdbuf();
  CHECK_EQ(read.str(), "to the file\n");
  std::remove(path);
}

void TestFunctions() {
  int64_t twice = AddHostFunction([](KernelContext& ctx) {
    const Tensor& x = ctx.In(0);
    Tensor out(x.dims(), x.dtype());
    for (int64_t i = 0; i < x.numel(); ++i) out.mutable_data<float>()[i] = 2 * x.data<float>()[i];
    ctx.OutValue(0) = Value(std::move(out));
  });
  CHECK(twice > 0);
  const OpInfo& op = GetOp("py_func");
  Ref<Attrs> attrs = Attrs::Copy(*op.default_attrs);
  attrs->Set("forward_callable_id", twice);
  Ref<Variable> x = Variable::Make(Numbers(3.0f, 4.0f));
  CHECK_EQ(RunOne("py_func", attrs, *x)->tensor().data<float>()[1], 8.0f);
  for (int64_t handle : {twice + 1, twice ^ (int64_t{1} << 50), -twice, int64_t{1}}) {
    CHECK_THROWS(attrs->Set("forward_callable_id", handle), PreconditionNotMet, "hold no code");
    CHECK_THROWS(GetHostFunction(handle), PreconditionNotMet, "hold no code");
  }
  CHECK_THROWS(RunOne("py_func", op.default_attrs, *x), PreconditionNotMet, "hold no code");
}

void TestNames() {
  Call call;
  Value x;
  call.in.Add(&x);
  call.in.Add(nullptr);
  CHECK(NameOfInput(call, 0) == nullptr);
  struct Named final : Caller {
    std::string name = "x";
    const std::string* NameOf(int flat) const override { return flat == 0 ? &name : nullptr; }
  } named;
  call.caller = &named;
  CHECK_EQ(*NameOfInput(call, 0), "x");
  CHECK(NameOfInput(call, 0, 1) == nullptr);
  CHECK(NameOfInput(call, 1) == nullptr);
}

}  // namespace

int main(int, char** argv) {
  TestPrint();
  TestFunctions();
  TestNames();
  int failed = dygraph::testing::Finish();
  TestStandardOutput((std::string(argv[0]) + ".out").c_str());
  return failed || dygraph::testing::g_failures > 0;
}
