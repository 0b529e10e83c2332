"""elementwise_div: X / Y; integers towards zero, broadcasting."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestElementwiseDiv(OpTest):
    elementwise = True

    def setUp(self):
        self.op_type = "elementwise_div"
        self.inputs = {"X": rand(3, 4), "Y": rand(3, 4, low=0.5, high=2.0)}

    def reference(self, inputs, attrs):
        with np.errstate(all="ignore"):
            return {"Out": np.true_divide(inputs["X"], inputs["Y"])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Y"], "Out")

    def test_check_grad_ignore_x(self):
        self.check_grad(["Y"], "Out", no_grad_set={"X"})


class TestElementwiseDivBroadcast(TestElementwiseDiv):
    def setUp(self):
        self.op_type = "elementwise_div"
        self.inputs = {
            "X": rand(2, 1, 4),
            "Y": rand(3, 1, low=0.5, high=2.0),
        }


class TestElementwiseDivAxis(TestElementwiseDiv):
    """axis says where Y lies along X."""

    elementwise = False

    def setUp(self):
        self.op_type = "elementwise_div"
        self.inputs = {
            "X": rand(2, 3, 2, 4),
            "Y": rand(3, low=0.5, high=2.0),
        }
        self.attrs = {"axis": 1}

    def reference(self, inputs, attrs):
        with np.errstate(all="ignore"):
            return {"Out": np.true_divide(inputs["X"], inputs["Y"].reshape(-1, 1, 1))}


def divide(x, y, dtype):
    x, y = np.array(x, dtype), np.array(y, dtype)
    return _core.ops.elementwise_div(_core.to_variable(x), _core.to_variable(y)).numpy()


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_integers_are_divided_towards_zero(dtype):
    np.testing.assert_array_equal(divide([7, -7, 7, -7], [2, 2, -2, -2], dtype), [3, -3, -3, 3])


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_the_lowest_integer_by_minus_one_wraps(dtype):
    lowest = np.iinfo(dtype).min
    np.testing.assert_array_equal(divide([lowest], [-1], dtype), [lowest])


def test_an_integer_by_zero_is_an_error():
    with pytest.raises(ValueError, match="divided by zero"):
        divide([1, 2], [1, 0], "int64")


def test_a_float_by_zero_is_infinite():
    got = divide([1, -1, 0], [0, 0, 0], "float32")
    np.testing.assert_array_equal(got, [np.inf, -np.inf, np.nan])
