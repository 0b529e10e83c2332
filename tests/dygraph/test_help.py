"""What help() shows: docstrings of everything public, and the text of registered operators."""

import inspect
import pydoc
import re

import pytest

import dygraph

MODULES = (
    "autograd callbacks checkpoint distribution errors initializer io jit lr memory metrics "
    "nets nn notebook ops optimizer profiler reader regularizer safetensors saving unique_name"
).split()
OPERATORS = [n for n in dygraph.ops.__all__ if hasattr(dygraph._core.ops, n)]
OPERATORS = [n for n in OPERATORS if getattr(dygraph.ops, n).__module__ == "dygraph.ops"]


def public():
    for module in (dygraph, *(getattr(dygraph, name) for name in MODULES)):
        for name in getattr(module, "__all__", ()):
            yield f"{module.__name__}.{name}", getattr(module, name)


def test_everything_public_has_a_docstring():
    bare = [n for n, value in public() if value is not None and not inspect.getdoc(value)]
    for name, kind in public():
        if inspect.isclass(kind) and kind.__module__.startswith("dygraph."):
            members = [(n, v) for n, v in vars(kind).items() if not n.startswith("_")]
            functions = [n for n, v in members if inspect.isfunction(v)]
            bare += [f"{name}.{n}" for n in functions if not inspect.getdoc(getattr(kind, n))]
    assert sorted(set(bare)) == []
    assert all(getattr(dygraph, name).__doc__ for name in MODULES)


def test_methods_of_variables_have_docstrings():
    names = [n for n in dir(dygraph.to_variable([1.0])) if not n.startswith("_")]
    assert len(names) > 80
    assert [n for n in names if not inspect.getdoc(getattr(dygraph.Variable, n))] == []


def test_everything_public_has_an_example():
    """test_rest.py runs them, and sees that it reaches each; inherited ones do not count.

    Operators are looked after by tests/docs/test_operator_examples.py. What remains are types and
    errors of the core, which the examples of others show, and a function that can only raise.
    """
    without = {"Place", "Variable", "dtype", "cuda_profiler", *dygraph.errors.__all__}
    seen, bare = set(), set()
    for name, value in public():
        if inspect.isfunction(value) or inspect.isclass(value):
            text = value.__dict__.get("__doc__") if inspect.isclass(value) else value.__doc__
            (seen if ">>>" in (text or "") else bare).add(name)
    assert {name for name in bare if name.rpartition(".")[2] not in without} == set()
    assert len(seen) > 400
    for name in ("ops.reduce_sum", "ops.t", "nn.GRU", "nn.CTCLoss", "nn.ReLU"):
        assert f"dygraph.{name}" in seen


@pytest.mark.parametrize("name", OPERATORS)
def test_operator_help(name):
    """Signature, formula, every slot and attribute with its default, types, gradient, errors."""
    function, info = getattr(dygraph.ops, name), dygraph.op_info(name)
    text, signature = inspect.getdoc(function), inspect.signature(function)
    for slot in (*info.inputs, *info.outputs):  # Python's names, where the registry has slots
        assert slot.name == slot.python_name or f"{slot.name}@GRAD" not in text
    words = dict((s.name, s.python_name) for s in (*info.inputs, *info.outputs))
    formula = re.sub(r"\w+", lambda word: words.get(word[0], word[0]), info.comment)
    formula = formula.replace("@GRAD", ".grad")
    assert " ".join(text.split()).startswith(" ".join(formula.split())[:40].strip())
    assert "Slot " not in text.split("Examples")[0]
    slots = {s.python_name for s in info.inputs}
    attributes = {"lambda_" if a.name == "lambda" else a.name: a for a in info.attrs}
    assert set(signature.parameters) == slots | set(attributes)
    for parameter in signature.parameters.values():
        assert f"\n{parameter.name} : " in text
        if parameter.name in attributes:
            default, given = attributes[parameter.name].default, parameter.default
            if isinstance(default, float):
                assert isinstance(given, float) and given == pytest.approx(default, rel=1e-5)
            elif isinstance(default, list) and any(isinstance(d, float) for d in default):
                assert given == pytest.approx(default, rel=1e-5)  # the registry has float32
            elif not attributes[parameter.name].is_dtype:
                assert given == default and type(given) is type(default)
    for slot in info.outputs:
        if not (slot.intermediate or slot.extra):
            assert f"\n{slot.python_name} : " in text
    for section in ("Returns", "Raises", "Notes"):
        assert f"\n{section}\n---" in text
    assert ("Gradients flow" in text) == info.has_gradient
    for kernel in info.kernels:
        assert kernel.split(", ")[1] in text.split("Element types:")[1]


def test_help_as_shown():
    text = pydoc.render_doc(dygraph.ops.scale, renderer=pydoc.plaintext)
    for part in (
        "scale(x, scale=1.0, bias=0.0, bias_after_scale=True, scale_tensor=None)",
        "out = scale * x + bias",
        "scale : float, default 1.0",
        "x : Variable",
        "Element types: float32, float64",
        "Gradients flow through it",
    ):
        assert part in text
    assert str(inspect.signature(dygraph.ops.clip)) == "(x, min=-inf, max=inf)"
    assert str(inspect.signature(dygraph.ops.relu)) == "(x)"
    assert "No gradient flows" in dygraph.ops.arg_max.__doc__


def test_an_argument_python_cannot_spell():
    x = dygraph.to_variable([1.0, 0.25])
    for given in ({"lambda_": 0.5}, {"lambda": 0.5}, {}):
        assert dygraph.ops.softshrink(x, **given).tolist() == [0.5, 0.0]
    with pytest.raises(TypeError, match="twice"):
        dygraph.ops.softshrink(x, **{"lambda_": 0.5, "lambda": 0.5})
    with pytest.raises(TypeError, match="scale"):
        dygraph.ops.scale(x, scale_=2.0)


@pytest.mark.parametrize(
    "name, order",
    [("relu", None), ("matmul_v2", None), ("arg_max", 0), ("lstm", 3), ("warpctc", 3)],
)
def test_gradient_order(name, order):
    info = dygraph.op_info(name)
    assert info.gradient_order == order
    assert ("any number of times" in repr(info)) == (order is None)


def test_a_class_shows_no_arguments_of_another():
    """``__new__`` is shared by layers, optimizers and loaders; it showed an optimizer's."""
    for kind in (dygraph.io.DataLoader, dygraph.nn.Linear, dygraph.optimizer.SGD):
        text = pydoc.render_doc(kind, renderer=pydoc.plaintext)
        assert "__new__(cls, *args, **kwargs)" in text
        assert text.count("name_scope") == 0


def test_slots_read_as_arguments():
    assert "\nx : Variable, any shape\n" in dygraph.ops.relu.__doc__
    assert "\nout : Variable, shape of x\n" in dygraph.ops.relu.__doc__
    assert dygraph.ops.relu.__doc__.startswith(
        "out = max(x, 0), elementwise. Its gradient is out.grad"
    )
    text = dygraph.ops.conv2d.__doc__
    assert "\ninput : Variable, [N, C, H, W]\n    Or [N, H, W, C] with data_format NHWC.\n" in text
    assert "\nbias : Variable, [M], optional\n" in text
    assert "\nstrides : list of int, default [1, 1]\n" in text
    assert "\npadding_algorithm : str, default 'EXPLICIT'\n" in text
    text = dygraph.ops.lstm.__doc__
    assert "\nh0 : Variable, [sequences, D], optional\n    The first hidden states; 0 where" in text
    assert max(map(len, text.split("Examples")[0].splitlines())) <= 88
