"""less_than, less_equal, greater_than, greater_equal, equal, not_equal: bool, broadcasting."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest

COMPARISONS = {
    "less_than": np.less,
    "less_equal": np.less_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater_than": np.greater,
    "greater_equal": np.greater_equal,
}


def few_values(*shape):
    """0, 1 or 2: many ties."""
    return np.random.randint(0, 3, shape)


class TestLessThan(OpTest):
    op_type = "less_than"
    elementwise = True

    def setUp(self):
        self.inputs = {"X": few_values(3, 4) / 2, "Y": few_values(3, 4) / 2}

    def reference(self, inputs, attrs):
        return {"Out": COMPARISONS[self.op_type](inputs["X"], inputs["Y"])}

    def test_check_output(self):
        self.check_output()


class TestLessEqual(TestLessThan):
    op_type = "less_equal"

    def setUp(self):
        self.inputs = {"X": few_values(2, 3, 4), "Y": few_values(3, 1)}


class TestEqual(TestLessThan):
    op_type = "equal"

    def setUp(self):
        self.inputs = {"X": few_values(2, 3) / 2, "Y": few_values(2, 3) / 2}


class TestNotEqual(TestEqual):
    op_type = "not_equal"


class TestGreaterThan(TestLessEqual):
    op_type = "greater_than"


class TestGreaterEqual(TestEqual):
    op_type = "greater_equal"


class TestGreaterThanAxis(TestLessThan):
    """axis says where Y lies along X."""

    op_type = "greater_than"
    elementwise = False

    def setUp(self):
        self.inputs = {"X": few_values(2, 3, 2, 2) / 2, "Y": np.array([0.0, 0.5, 1.0])}
        self.attrs = {"axis": 1}

    def reference(self, inputs, attrs):
        return {"Out": np.greater(inputs["X"], inputs["Y"].reshape(-1, 1, 1))}


@pytest.mark.parametrize("op", COMPARISONS)
@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
)
def test_every_type(op, dtype):
    x, y = np.array([0, 1, 1, 3]).astype(dtype), np.array([[1], [0]]).astype(dtype)
    got = getattr(_core.ops, op)(_core.to_variable(x), _core.to_variable(y)).numpy()
    assert got.dtype == np.dtype("bool")
    np.testing.assert_array_equal(got, COMPARISONS[op](x, y))


@pytest.mark.parametrize("op", COMPARISONS)
def test_special_values(op):
    values = np.array([np.nan, -np.inf, -0.0, 0.0, np.inf])
    column = values[:, None]
    got = getattr(_core.ops, op)(_core.to_variable(values), _core.to_variable(column)).numpy()
    np.testing.assert_array_equal(got, COMPARISONS[op](values, column))


def test_int64_is_compared_exactly():
    x, y = np.array([2**53 + 1]), np.array([2**53])
    assert _core.ops.greater_than(_core.to_variable(x), _core.to_variable(y)).numpy()[0]
