"""Mistakes of a plug-in's registrations are Python errors that name the places in the source."""

import subprocess
import sys
from pathlib import Path

import plugins

HEADER = """
#include "op/op_registry.h"
namespace {
using namespace dygraph;
[[maybe_unused]] void Define(OpDef& op) {
  op.Comment("3 x").Input(0, "X", "any").Output(0, "Out", "X's shape").SameShape(0, 0);
}
template <class T> struct K {
  static void Compute(KernelContext& ctx) {
    const T* x = ctx.In(0).data<T>();
    T* out = ctx.Out(0).mutable_data<T>();
    for (int64_t i = 0; i < ctx.In(0).numel(); ++i) out[i] = 3 * x[i];
  }
};
"""
LINES = HEADER.count("\n")  # the registrations of a test begin on the next line


def load(tmp_path, registrations, after="", before=""):
    """What load_library printed of its error in a child; `before` and `after` run around it."""
    source = tmp_path / "plugin.cc"
    source.write_text(HEADER + registrations + "\n}  // namespace\n")
    library = plugins.build(source, tmp_path / "plugin.so")
    code = (
        f"import sys; sys.path.insert(0, {str(plugins.PACKAGE.parent)!r})\n"
        f"import numpy as np\nfrom dygraph import _core\n{before}\n"
        "try:\n    _core.load_library(sys.argv[1])\n"
        "except _core.DygraphError as e:\n    print(type(e).__name__, e)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code + after, library], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_second_operator_of_a_name_tells_both_places(tmp_path):
    text = load(tmp_path, "REGISTER_OPERATOR(relu, Define);", "assert _core.ops.relu")
    first = Path("operators") / "activation" / "relu_op.cc"
    assert text.startswith("AlreadyExistsError ")
    assert "operator relu is registered at" in text
    assert f"{first}:" in text
    assert f"plugin.cc:{LINES + 1}" in text


def test_what_is_known_of_operators_stays_theirs(tmp_path):
    """The plug-in's operator comes before all others by name."""
    before = """
def reason(op):
    x = _core.to_variable([1.0, 2.0])
    x.stop_gradient = False
    try:
        op(x).astype("float32").sum().backward()
    except _core.PreconditionNotMetError as e:
        return str(e)
assert "from arg_max" in reason(_core.ops.arg_max) and "from arg_min" in reason(_core.ops.arg_min)
"""
    after = "print(reason(_core.ops.arg_max), reason(_core.ops.arg_min))"
    text = load(tmp_path, "REGISTER_OPERATOR(a_first, Define);", after, before)
    assert text.count("from arg_max") == text.count("from arg_min") == 1


def test_a_second_kernel_of_a_key_tells_both_places(tmp_path):
    after = "assert _core.ops.relu(_core.to_variable([-1.0, 2.0])).numpy().tolist() == [0.0, 2.0]"
    text = load(tmp_path, "\nREGISTER_CPU_KERNEL(relu, K, double);", after)
    assert "operator relu has two kernels for CPUPlace, float64" in text
    assert "relu_op.cc:" in text and f"plugin.cc:{LINES + 2}" in text


def test_kernels_of_an_unknown_operator_or_device_are_told_together(tmp_path):
    text = load(
        tmp_path,
        "REGISTER_CPU_KERNEL(rellu, K, float);\n"
        "REGISTER_DEVICE_KERNEL(relu, NoSuchDevice, K, float);",
        "assert _core.ops.relu",
    )
    assert text.startswith("NotFoundError ")
    assert f"plugin.cc:{LINES + 1} belong to an operator that is not registered: 'rellu'" in text
    assert f"plugin.cc:{LINES + 2} are for a device that is not registered: 'NoSuchDevice'" in text


def test_what_is_right_joins_beside_a_mistake(tmp_path):
    text = load(
        tmp_path,
        "REGISTER_OPERATOR(thrice, Define);\nREGISTER_CPU_KERNEL(thrice, K, double);\n"
        "REGISTER_CPU_KERNEL(no_such, K, float);",
        "print(_core.run_op('thrice', {'X': _core.to_variable(np.array([2.0]))})['Out'].item())",
    )
    assert "'no_such'" in text
    assert text.endswith("6.0\n")


def test_a_wrong_description_leaves_its_operator_out(tmp_path):
    text = load(
        tmp_path,
        'REGISTER_OPERATOR(crooked, [](OpDef& op) { op.Input(1, "X", "begins at 0"); });',
        "assert 'crooked' not in _core.op_names()",
    )
    assert f"plugin.cc:{LINES + 1}: slot X of operator crooked is declared as number 1" in text


def test_what_a_description_lacks_is_named(tmp_path):
    text = load(
        tmp_path,
        """
REGISTER_OPERATOR(shapeless, [](OpDef& op) {
  op.Comment("3 x").Input(0, "X", "any").Output(0, "Out", "X's shape");
});
REGISTER_OPERATOR(ragged, [](OpDef& op) {
  op.Comment("3 x").Input(0, "X", "any").Output(0, "Out", "X's shape").SameShape(0, 0).ShareLoD(3);
});
""",
        "assert not {'shapeless', 'ragged'} & set(_core.op_names())",
    )
    assert "operator shapeless at" in text and "must have a shape rule" in text
    assert "operator ragged at" in text
    assert "must take its LoD from one of its 1 inputs, got ShareLoD(3)" in text


RECIPES = """
void DefineTriple(OpDef& op, GradMaker recipe) {
  Define(op);
  op.Grad(recipe);
}
REGISTER_OPERATOR(from_nothing, [](OpDef& op) {
  DefineTriple(op, [](GradBuilder& g) {
    RecipeRef t = g.Temp();
    g.Call("elementwise_mul", {g.OutputGrad(0), t}, {g.InputGrad(0)});
  });
});
REGISTER_OPERATOR(to_nothing, [](OpDef& op) {
  DefineTriple(op, [](GradBuilder& g) { g.Call("scaale", {g.OutputGrad(0)}, {g.InputGrad(0)}); });
});
REGISTER_OPERATOR(misspelt, [](OpDef& op) {
  DefineTriple(op, [](GradBuilder& g) {
    g.Call("scale", {g.OutputGrad(0)}, {g.InputGrad(0)}).Attr("factor", 3.0f);
  });
});
REGISTER_OPERATOR(unset, [](OpDef& op) {
  op.Comment("3 x").Input(0, "X", "any").Output(0, "Out", "X's shape");
  op.Shape([](InferContext&) {});
});
REGISTER_CPU_KERNEL(from_nothing, K, double);
REGISTER_CPU_KERNEL(to_nothing, K, double);
REGISTER_CPU_KERNEL(unset, K, double);
"""
MISTAKES = """
def message(call):
    try:
        call()
    except _core.DygraphError as e:
        return str(e)
x = _core.to_variable(np.array([2.0]))
print(message(lambda: _core.run_op('misspelt', {'X': x})))
print(message(lambda: _core.run_op('unset', {'X': x})))
x.stop_gradient = False
for name in 'from_nothing', 'to_nothing':
    print(message(lambda: _core.backward([_core.run_op(name, {'X': x})['Out']], [None])))
print(message(lambda: _core.describe_recipe('misspelt', {})))
"""


def test_mistakes_that_show_in_a_call_name_what_is_wrong(tmp_path):
    kernels, shape, temp, callee, attribute = load(tmp_path, RECIPES, MISTAKES).splitlines()
    assert "misspelt: an operator must have kernels to be computed, got none." in kernels
    assert "unset: the values of a tensor were used that has no shape and type yet." in shape
    assert "the gradient recipe of from_nothing must write a Temp before it reads it" in temp
    assert "its call of elementwise_mul reads one" in temp
    assert "the gradient recipe of to_nothing must call operators that are registered" in callee
    assert "got 'scaale'. Did you mean 'scale'" in callee
    assert "the call of scale in a gradient recipe: there must be an attribute" in attribute


def test_files_that_are_no_libraries(tmp_path):
    text_file = tmp_path / "text.so"
    text_file.write_text("not a library")
    code = (
        f"import sys; sys.path.insert(0, {str(plugins.PACKAGE.parent)!r})\n"
        "import numpy as np\nfrom dygraph import _core\n"
        "for path, error in ((sys.argv[1], ValueError), (sys.argv[1] + 'x', FileNotFoundError)):\n"
        "    try:\n        _core.load_library(path)\n"
        "    except error as e:\n        assert path in str(e), e\n"
        "    else:\n        sys.exit('nothing was raised')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(text_file)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
