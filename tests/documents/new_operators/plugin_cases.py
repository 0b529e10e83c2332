"""The operators of doc_clip_op.cc and doc_mul_op.cc, once their libraries are loaded."""

import numpy as np
import pytest

import dygraph
import dygraph.static as fluid
from documents.new_operators.clip_and_mul import clip_cases, mul_cases

TestClipOp, TestCase1, TestCase2, TestCase3 = clip_cases("doc_clip")
TestMulOp, TestMulOp2 = mul_cases("doc_mul")


@pytest.fixture(autouse=True)
def programs():
    with (
        fluid.program_guard(fluid.Program(), fluid.Program()),
        dygraph.unique_name.guard(),
        fluid.scope_guard(fluid.Scope()),
    ):
        yield


def test_they_are_functions_with_help():
    assert "Minimum value" in dygraph.ops.doc_clip.__doc__
    x = dygraph.to_variable([-1.0, 0.5, 2.0])
    x.stop_gradient = False
    y = dygraph.ops.doc_clip(x, min=0.0, max=1.0)
    assert y.tolist() == [0.0, 0.5, 1.0]
    y.sum().backward()
    assert x.gradient().tolist() == [0.0, 1.0, 0.0]


def program_of_both():
    """clip(x w), its mean and gradients: the operators appended as Python's layers do it."""
    x = fluid.layers.data(name="x", shape=[3], dtype="float32")
    w = fluid.layers.create_parameter(shape=[3, 2], dtype="float32", name="w")
    block = fluid.default_main_program().global_block()
    product = block.create_var(name="product", dtype="float32")
    clipped = block.create_var(name="clipped", dtype="float32")
    block.append_op(
        type="doc_mul", inputs={"X": x, "Y": w}, outputs={"Out": product},
        attrs={"x_num_col_dims": 1},
    )  # fmt: skip
    block.append_op(
        type="doc_clip", inputs={"X": product}, outputs={"Out": clipped},
        attrs={"min": -1.0, "max": 1.0},
    )  # fmt: skip
    return block, w, clipped


def test_in_a_program():
    _, w, clipped = program_of_both()
    assert clipped.shape == (-1, 2)
    loss = fluid.layers.mean(clipped)
    ((_, gradient),) = fluid.append_backward(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    weight = np.array([[1, 0], [0, 3], [0.5, 0]], "float32")
    fluid.global_scope().find_var("w").set(weight)
    x_data = np.array([[0.25, 0.5, 1], [2, 0.125, 0]], "float32")
    out, grad = exe.run(feed={"x": x_data}, fetch_list=[clipped, gradient])
    assert out.tolist() == [[0.75, 1.0], [1.0, 0.375]]
    inside = np.array([[1, 0], [0, 1]], "float32")  # products 0.75, 1.5; 2, 0.375
    np.testing.assert_allclose(grad, x_data.T @ (inside / 4))


def test_their_messages():
    block, w, _ = program_of_both()
    out = block.create_var(name="out")
    for inputs, attrs, texts in [
        ({"Y": w}, {}, ["doc_mul: Input(X) must be given, got nothing"]),
        ({"X": w}, {}, ["doc_mul: Input(Y) must be given, got nothing"]),
        (
            {"X": w, "Y": w}, {"x_num_col_dims": 2},
            ["X's dimensions = 2, X's shape = [3, 2], x_num_col_dims = 2."],
        ),
        (
            {"X": w, "Y": w}, {},
            ["doc_mul: After flatten", "X1's width = 2; Y's shape = [3, 2]", "Y1's height = 3."],
        ),
        ({"X": w, "Y": w}, {"y_num_col_dims": 0}, ["y_num_col_dims must be at least 1, got 0"]),
    ]:  # fmt: skip
        with pytest.raises(ValueError) as caught:
            block.append_op("doc_mul", inputs, {"Out": out}, attrs)
        assert all(text in str(caught.value) for text in texts), caught.value
    with pytest.raises(ValueError, match="doc_clip: max should be greater than min, got min 1"):
        block.append_op("doc_clip", {"X": w}, {"Out": out}, {"min": 1.0, "max": 1.0})
    with pytest.raises(KeyError, match=r"doc_clip: Output\(Out\) must be given, got nothing"):
        block.append_op("doc_clip", {"X": w}, {}, {"min": 0.0, "max": 1.0})


def test_the_startup_program_was_not_run():
    _, w, clipped = program_of_both()
    exe = fluid.Executor(fluid.CPUPlace())
    with pytest.raises(RuntimeError) as caught:
        exe.run(feed={"x": np.ones((2, 3), "float32")}, fetch_list=[clipped])
    text = str(caught.value)
    assert text.startswith("doc_mul: Input(Y) must hold a value") and "'w'" in text
    assert "run the startup program first: exe.run(startup_program), after optimizer" in text
    assert "plugin_cases.py" in text
