"""The operators that 000 and 004 write: their tests on ours, and themselves out of the tree."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dygraph
import dygraph.static as fluid
import plugins
from documents.new_operators.clip_and_mul import clip_cases, mul_cases

FOLDER = Path(__file__).resolve().parent / "new_operators"

TestClipOp, TestCase1, TestCase2, TestCase3 = clip_cases("clip")
TestMulOp, TestMulOp2 = mul_cases("mul")


def test_written_after_the_documents(tmp_path):
    """Compiled against the headers alone, loaded, tested: eagerly and in programs."""
    libraries = [
        plugins.build(FOLDER / f"{name}_op.cc", tmp_path / f"{name}.so")
        for name in ("doc_clip", "doc_mul")
    ]
    paths = [str(plugins.PACKAGE.parent), str(FOLDER.parents[1])]
    code = (
        f"import sys; sys.path[:0] = {paths!r}\n"
        "import pytest, dygraph\n"
        f"loaded = [name for path in {libraries!r} for name in dygraph.load_library(path)]\n"
        "assert loaded == ['doc_clip', 'doc_clip_grad', 'doc_mul', 'doc_mul_grad'], loaded\n"
        "sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', '--import-mode=importlib', "
        f"'--rootdir', {str(FOLDER)!r}, {str(FOLDER / 'plugin_cases.py')!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout and "skipped" not in done.stdout


# What the documents' checks say, of our own operators ------------------------------------------


@pytest.fixture
def programs():
    with (
        fluid.program_guard(fluid.Program(), fluid.Program()),
        dygraph.unique_name.guard(),
        fluid.scope_guard(fluid.Scope()),
    ):
        yield fluid.default_main_program().global_block()


def said(error, function, *arguments):
    with pytest.raises(error) as caught:
        function(*arguments)
    return str(caught.value)


def test_missing_inputs_and_outputs(programs):
    block = programs
    x = fluid.layers.data("x", [3], dtype="float32")
    out = block.create_var(name="out")
    for missing, inputs in (("X", {"Y": x}), ("Y", {"X": x})):
        text = said(ValueError, block.append_op, "mul", inputs, {"Out": out})
        assert text == f"mul: Input({missing}) must be given, got nothing"
        slots = {slot: dygraph.ones([2, 2]) for slot in inputs}
        text = said(ValueError, dygraph.run_op, "mul", slots)
        assert text == f"mul: Input({missing}) must be given, got nothing"
    text = said(ValueError, block.append_op, "clip", {}, {"Out": out})
    assert text == "clip: Input(X) must be given, got nothing"
    for type, inputs in (("mul", {"X": x, "Y": x}), ("clip", {"X": x})):
        text = said(KeyError, block.append_op, type, inputs, {})
        assert text == f"{type}: Output(Out) must be given, got nothing"
    # the gradient operator names itself
    text = said(ValueError, block.append_op, "mul_grad", {"X": x, "Y": x}, {"X@GRAD": out})
    assert text == "mul_grad: Input(Out@GRAD) must be given, got nothing"


def test_axes_and_widths(programs):
    """The sizes, the attribute and what the matrices come to, as in the documents' messages."""
    block = programs
    x = block.create_var(name="x", shape=[-1, 3, 4], dtype="float32")
    y = block.create_var(name="y", shape=[4, 5], dtype="float32")
    out = block.create_var(name="out")

    def append(**attrs):
        block.append_op("mul", {"X": x, "Y": y}, {"Out": out}, attrs)

    with pytest.raises(ValueError) as caught:
        append(x_num_col_dims=3)
    assert str(caught.value) == (
        "mul: X must have more axes than x_num_col_dims, got 3 of shape [-1, 3, 4] and "
        "x_num_col_dims 3"
    )
    with pytest.raises(ValueError) as caught:
        append(x_num_col_dims=2, y_num_col_dims=2)
    assert str(caught.value) == (
        "mul: Y must have more axes than y_num_col_dims, got 2 of shape [4, 5] and y_num_col_dims 2"
    )
    with pytest.raises(ValueError) as caught:
        append()
    assert str(caught.value) == (
        "mul: the width of X [-1, 3, 4], flattened at 1 to [-1, 12], must be the height of "
        "Y [4, 5], flattened at 1 to [4, 5], got 12 and 4"
    )
    with pytest.raises(ValueError, match="x_num_col_dims must be at least 1, got 0"):
        append(x_num_col_dims=0)
    append(x_num_col_dims=2)
    assert out.shape == (-1, 3, 5)


def test_bounds_of_clip(programs):
    x = fluid.layers.data("x", [3], dtype="float32")
    rule, line = said(ValueError, fluid.layers.clip, x, 2.0, 1.0).split(" (described at ")
    assert rule == "clip: min must not be above max, got 2 and 1" and "test_new_operators" in line
    assert said(ValueError, fluid.layers.clip, dygraph.ones([2]), 2.0, 1.0) == (
        "clip: min must not be above max, got 2 and 1"
    )
    assert programs.ops == []


def test_the_hint_to_run_the_startup_program(programs):
    x = fluid.layers.data("x", [3], dtype="float32")
    y = fluid.layers.fc(x, size=2)
    fluid.optimizer.SGD(0.1).minimize(fluid.layers.mean(y))
    text = said(RuntimeError, fluid.Executor().run, None, {"x": np.ones((1, 3), "float32")}, [y])
    assert text.startswith(
        "mul: Input(Y) must hold a value, but nothing has been written to the variable "
        "'fc_0.w_0'. In a program, run the startup program first: exe.run(startup_program), after "
        "optimizer.minimize"
    )
    assert "test_new_operators.py" in text  # the line that made the operator
    # the same of a first input
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        fluid.layers.scale(fluid.layers.create_parameter([2], "float32", name="p"), 2.0)
    text = said(RuntimeError, fluid.Executor().run, main, {}, [])
    assert text.startswith("scale: Input(X) must hold a value, but nothing has been written to the")
    assert "'p'" in text


def test_a_variable_without_a_shape(programs):
    bare, out = programs.create_var(name="bare"), programs.create_var(name="out")
    text = said(ValueError, programs.append_op, "relu", {"X": bare}, {"Out": out})
    assert text == (
        "relu: Input(X) must have a shape and a type, but the variable 'bare' declares none. Give "
        "create_var both, and both functions of cond the same type and rank"
    )
