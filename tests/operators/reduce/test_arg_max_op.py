"""arg_max: the position of the greatest element."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest


class TestArgMax(OpTest):
    shape, attrs, axis = (3, 4, 5), {"axis": 1}, 1

    def setUp(self):
        self.op_type = "arg_max"
        self.inputs = {"X": np.random.randint(0, 4, self.shape).astype("float64")}

    def reference(self, inputs, attrs):
        keep = attrs.get("keepdims", False)
        return {"Out": np.asarray(np.argmax(inputs["X"], self.axis, keepdims=keep))}

    def test_check_output(self):
        self.check_output()


class TestArgMaxLast(TestArgMax):
    attrs, axis = {"keepdims": True}, -1


class TestArgMaxFirst(TestArgMax):
    attrs, axis = {"axis": 0, "dtype": "int32"}, 0
    fixed_dtypes = {"Out": "int32"}


class TestArgMaxFlat(TestArgMax):
    attrs, axis = {"flatten": True}, None


class TestArgMaxVector(TestArgMax):
    shape, attrs, axis = (9,), {}, -1


class TestArgMaxImage(TestArgMax):
    shape = (2, 3, 4, 5)


def test_nan_wins_and_the_first_of_equals():
    x = np.array([[1.0, np.nan, 9.0, np.nan], [2.0, 2.0, 2.0, 2.0]])
    np.testing.assert_array_equal(_core.ops.arg_max(_core.to_variable(x)).numpy(), [1, 0])
    np.testing.assert_array_equal(
        _core.ops.arg_max(_core.to_variable(x), axis=0).numpy(), np.argmax(x, 0)
    )


def test_scalar_and_errors():
    assert _core.ops.arg_max(_core.to_variable(np.array(3))).numpy() == 0
    with pytest.raises(ValueError, match="elements to choose from"):
        _core.ops.arg_max(_core.to_variable(np.zeros((2, 0))))
    with pytest.raises(IndexError, match="axis"):
        _core.ops.arg_max(_core.to_variable(np.zeros(2)), axis=1)
    with pytest.raises(TypeError, match="int32 or int64"):
        _core.ops.arg_max(_core.to_variable(np.zeros(2)), dtype="float32")
