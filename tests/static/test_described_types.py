"""Element types are checked when a program is described, before anything runs."""

import numpy as np
import pytest

import dygraph
from dygraph import _core, static
from dygraph.static import layers


@pytest.fixture(autouse=True)
def programs():
    with static.program_guard(static.Program(), static.Program()), dygraph.unique_name.guard():
        yield static.default_main_program().global_block()


def test_an_operator_without_a_kernel_for_the_type(programs):
    x = static.data("x", [None, 3], "int32")
    with pytest.raises(
        NotImplementedError,
        match="sigmoid: there must be a kernel for int32, got kernels for float32, float64 only",
    ):
        layers.sigmoid(x)
    out = programs.create_var(name="out")
    with pytest.raises(NotImplementedError, match="conv2d: there must be a kernel for bool"):
        image = static.data("image", [None, 3, 8, 8], "bool")
        weight = programs.create_var(name="weight", shape=[4, 3, 3, 3], dtype="bool")
        programs.append_op("conv2d", {"Input": image, "Filter": weight}, {"Output": out})
    with pytest.raises(NotImplementedError, match="float16"):
        dygraph.ops.softmax(static.data("half", [None, 3], "float16"))
    assert programs.ops == []


def test_the_message_names_the_layer_function():
    x = static.data("x", [None, 3], "int64")
    with pytest.raises(NotImplementedError, match="^softmax: "):
        layers.softmax(x)


def test_types_with_a_kernel_are_described(programs):
    x = static.data("x", [None, 3], "int32")
    y = layers.cast(x, "float32")
    assert layers.sigmoid(y).shape == (-1, 3) and len(programs.ops) == 2


def test_a_gradient_operator_names_the_line_of_the_forward_one(programs, monkeypatch):
    x = static.data("x", [None, 3], "float32")
    x.stop_gradient = False
    y = layers.sigmoid(x)
    y.desc.dtype = "int32"  # what a damaged program might say
    with pytest.raises(Exception) as caught:
        static.gradients(y, x, programs.create_var(name="g", shape=[-1, 3], dtype="int32"))
    assert f"made at {y.op.attr('op_callstack')[-1]}" in str(caught.value)
    assert "test_described_types.py" in str(caught.value)


def test_the_element_type_of_an_array(programs):
    array = programs.create_var(name="array", type="LOD_TENSOR_ARRAY", dtype="int64", shape=[-1, 2])
    assert array.dtype == np.int64 and array.shape == (-1, 2)
    again = static.Program.parse_from_string(
        static.default_main_program().serialize_to_string()
    ).global_block().var("array")  # fmt: skip
    assert again.type == "LOD_TENSOR_ARRAY" and str(again.dtype) == "int64"
    again.desc.dtype = "float32"
    assert str(again.desc.dtype) == "float32"
    assert _core.Var("bare", "LOD_TENSOR_ARRAY").dtype is None
    # an array is no tensor: operators that take one refuse it
    with pytest.raises(TypeError, match="Input.X. must be a tensor, got a TensorArray"):
        programs.append_op("relu", {"X": array}, {"Out": programs.create_var(name="out")})
