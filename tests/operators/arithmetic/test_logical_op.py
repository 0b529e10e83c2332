"""logical_* and bitwise_*: truth values and bits, broadcasting."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest

BINARY = {
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}
INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]


def truths(*shape):
    return np.random.randint(0, 2, shape).astype(bool)


class TestLogicalAnd(OpTest):
    op_type = "logical_and"
    elementwise = True

    def setUp(self):
        self.inputs = {"X": truths(3, 4), "Y": truths(3, 4)}

    def reference(self, inputs, attrs):
        return {"Out": BINARY[self.op_type](inputs["X"], inputs["Y"])}

    def test_check_output(self):
        self.check_output()


class TestLogicalOr(TestLogicalAnd):
    op_type = "logical_or"

    def setUp(self):
        self.inputs = {"X": truths(2, 3, 4), "Y": truths(3, 1)}


class TestLogicalXor(TestLogicalOr):
    op_type = "logical_xor"


class TestBitwiseAnd(TestLogicalAnd):
    op_type = "bitwise_and"


class TestBitwiseOr(TestLogicalOr):
    op_type = "bitwise_or"


class TestBitwiseXor(TestLogicalOr):
    op_type = "bitwise_xor"


class TestLogicalNot(OpTest):
    op_type = "logical_not"
    elementwise = True

    def setUp(self):
        self.inputs = {"X": truths(3, 4)}

    def reference(self, inputs, attrs):
        return {"Out": ~inputs["X"]}

    def test_check_output(self):
        self.check_output()


class TestBitwiseNot(TestLogicalNot):
    op_type = "bitwise_not"


@pytest.mark.parametrize("dtype", [*INTEGERS, "float32", "float64"])
@pytest.mark.parametrize("op_type", ["logical_and", "logical_or", "logical_xor"])
def test_numbers_are_true_where_they_are_not_zero(op_type, dtype):
    x, y = np.array([0, 0, 3, 4], dtype), np.array([0, 5, 0, 6], dtype)
    got = getattr(_core.ops, op_type)(_core.to_variable(x), _core.to_variable(y)).numpy()
    assert got.dtype == bool
    np.testing.assert_array_equal(got, BINARY[op_type](x, y))


def test_a_nan_is_true():
    x = _core.to_variable(np.array([np.nan, 0.0]))
    assert _core.ops.logical_not(x).numpy().tolist() == [False, True]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bits_of_integers(dtype):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    x = np.array([[low, high, 5, 6]], dtype)
    y = np.array([[high], [3]], dtype)
    for op_type in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        got = getattr(_core.ops, op_type)(_core.to_variable(x), _core.to_variable(y)).numpy()
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, BINARY[op_type](x, y))
    np.testing.assert_array_equal(_core.ops.bitwise_not(_core.to_variable(x)).numpy(), ~x)


def test_shapes_that_do_not_broadcast_are_refused():
    x, y = _core.to_variable(np.ones((2, 3), bool)), _core.to_variable(np.ones(4, bool))
    with pytest.raises(ValueError, match=r"logical_and.*\[2, 3\].*\[4\]"):
        _core.ops.logical_and(x, y)
    with pytest.raises(ValueError, match=r"bitwise_xor.*\[2, 3\].*\[4\]"):
        _core.ops.bitwise_xor(x, y)
