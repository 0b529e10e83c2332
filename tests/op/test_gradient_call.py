"""CallGradient: a gradient operator's slots say by their names what they take."""

import subprocess
import sys

import plugins

# The gradient operator's slots stand in another order than the forward's.
PLUGIN = """
#include "op/gradient_call.h"
#include "op/op_registry.h"
namespace {
using namespace dygraph;
struct Attrs { float factor = 3.0f; };
void Define(OpDef& op) {
  op.Comment("factor x").Input(0, "X", "any").Input(1, "More", "unread", kDispensable | kDuplicable)
      .Output(0, "Out", "X's shape").Attr(&Attrs::factor, "factor", "of X")
      .SameShape(0, 0).Grad(CallGradient);
}
void DefineGrad(OpDef& op) {
  op.Comment("factor Out@GRAD").Input(0, "Out@GRAD", "what arrives")
      .Input(1, "More", "unread", kDispensable | kDuplicable)
      .Input(2, "NAME", "its shape", kShapeOnly)
      .Output(0, "RESULT", "X's shape").AttrsOf("times").SameShape(0, 0).NoGrad();
}
template <class T> struct K {
  static void Compute(KernelContext& ctx) {
    const T* x = ctx.In(0).data<T>();
    T* out = ctx.Out(0).mutable_data<T>();
    for (int64_t i = 0; i < ctx.In(0).numel(); ++i) out[i] = ctx.attrs<Attrs>().factor * x[i];
  }
};
REGISTER_OPERATOR(times, Define);
REGISTER_CPU_KERNEL(times, K, float, double);
REGISTER_OPERATOR(times_grad, DefineGrad);
REGISTER_CPU_KERNEL(times_grad, K, float, double);
}  // namespace
"""


def run(tmp_path, code, name="X", result="X@GRAD"):
    source = tmp_path / "times_op.cc"
    source.write_text(PLUGIN.replace("NAME", name).replace("RESULT", result))
    library = plugins.build(source, tmp_path / "times_op.so")
    head = f"import sys; sys.path.insert(0, {str(plugins.PACKAGE.parent)!r})\n"
    head += "import dygraph\nfrom dygraph import _core, errors\n"
    head += f"dygraph.load_library({str(library)!r})\n"
    done = subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_slots_are_filled_by_name(tmp_path):
    code = (
        "print(_core.describe_recipe('times', {}))\n"
        "x = dygraph.to_variable([1.0, 2.0])\n"
        "x.stop_gradient = False\n"
        "y = _core.run_op('times', {'X': x, 'More': [x, x]}, {'factor': 5.0})['Out']\n"
        "print([(e.slot, e.bytes) for e in dygraph.saved(y)])\n"
        "print(dygraph.grad([y], [x])[0].tolist())\n"
    )
    recipe, kept, gradient = run(tmp_path, code).splitlines()
    assert eval(recipe) == [
        (
            "times_grad",
            {"Out@GRAD": ["Out@GRAD"], "More": ["More", "More[1]"], "X": ["X (shape)"]},
            {"X@GRAD": ["X@GRAD"]},
        )
    ]
    assert set(eval(kept)) == {("X", 0), ("More", 8)}  # two float32; of X the shape alone
    assert gradient == "[5.0, 5.0]"  # with the attributes of the forward call


REFUSED = """
x = dygraph.to_variable([1.0])
x.stop_gradient = False
try:
    _core.run_op('times', {'X': x})['Out'].backward()
except errors.DygraphError as e:
    print(e)
"""


def test_an_input_that_the_forward_has_not_is_named(tmp_path):
    text = run(tmp_path, REFUSED, name="Scale")
    assert "an input of times_grad must be named after a slot of times, got Scale" in text


def test_an_output_that_is_no_gradient_is_named(tmp_path):
    text = run(tmp_path, REFUSED, result="Y@GRAD")
    assert "an output of times_grad must be the gradient of an input of times, got Y@GRAD" in text
