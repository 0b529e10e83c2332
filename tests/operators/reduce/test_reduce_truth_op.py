"""reduce_all, reduce_any: truth over axes."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest

FUNCTIONS = {"reduce_all": np.all, "reduce_any": np.any}


class TestReduceAll(OpTest):
    op_type = "reduce_all"
    attrs = {}

    def setUp(self):
        self.inputs = {"X": np.random.randint(0, 4, (3, 4, 2)) > (self.op_type == "reduce_any") * 2}

    def reference(self, inputs, attrs):
        axes = tuple(attrs.get("dim", [0])) or None
        if attrs.get("reduce_all"):
            axes = None
        keep = attrs.get("keep_dim", False)
        return {"Out": np.asarray(FUNCTIONS[self.op_type](inputs["X"], axis=axes, keepdims=keep))}

    def test_check_output(self):
        self.check_output()


class TestReduceAllAxes(TestReduceAll):
    attrs = {"dim": [-1, 0], "keep_dim": True}


class TestReduceAllWhole(TestReduceAll):
    attrs = {"reduce_all": True}


class TestReduceAny(TestReduceAll):
    op_type = "reduce_any"


class TestReduceAnyAxes(TestReduceAll):
    op_type = "reduce_any"
    attrs = {"dim": [1]}


class TestReduceAllAxisTensor(TestReduceAll):
    axes = {"AxisTensor": np.array([-1, 0])}

    def setUp(self):
        super().setUp()
        self.inputs.update(self.axes)

    def reference(self, inputs, attrs):
        return super().reference(inputs, {**attrs, "dim": [-1, 0]})


class TestReduceAnyAxisTensorList(TestReduceAllAxisTensor):
    op_type, attrs = "reduce_any", {"keep_dim": True}
    axes = {"AxisTensorList": [("a", np.array([-1], "int32")), ("b", np.array([0], "int32"))]}


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float32", "float64"])
def test_numbers_are_true_where_they_are_not_zero(dtype):
    x = np.array([[0, 2], [3, 4]], dtype)
    v = _core.to_variable(x)
    assert _core.ops.reduce_all(v, dim=[1]).numpy().tolist() == [False, True]
    assert _core.ops.reduce_any(v, reduce_all=True).numpy().item() is True


def test_a_long_row_is_read_to_its_end():
    x = np.zeros(200001, bool)
    assert _core.ops.reduce_any(_core.to_variable(x)).numpy().item() is False
    x[-1] = True
    assert _core.ops.reduce_any(_core.to_variable(x)).numpy().item() is True
    assert _core.ops.reduce_all(_core.to_variable(x)).numpy().item() is False


def test_nothing_is_all_true_and_not_any():
    nothing = _core.to_variable(np.zeros((0, 2), bool))
    assert _core.ops.reduce_all(nothing).numpy().tolist() == [True, True]
    assert _core.ops.reduce_any(nothing).numpy().tolist() == [False, False]
