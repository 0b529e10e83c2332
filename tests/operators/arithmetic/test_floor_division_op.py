"""elementwise_floordiv and elementwise_mod: Python's signs, for integers and floats."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand

FUNCTIONS = {"elementwise_floordiv": np.floor_divide, "elementwise_mod": np.mod}


def divisors(*shape):
    return rand(*shape, low=0.5, high=2.0) * np.random.choice([-1.0, 1.0], shape)


class TestElementwiseMod(OpTest):
    op_type = "elementwise_mod"
    elementwise = True

    def setUp(self):
        y = divisors(3, 4)
        self.inputs = {"X": y * (np.random.randint(-4, 4, (3, 4)) + rand(3, 4, low=0.1, high=0.9))}
        self.inputs["Y"] = y

    def reference(self, inputs, attrs):
        with np.errstate(all="ignore"):
            return {"Out": FUNCTIONS[self.op_type](inputs["X"], inputs["Y"])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Y"], "Out")


class TestElementwiseModBroadcast(TestElementwiseMod):
    def setUp(self):
        self.inputs = {"X": rand(2, 1, 4, low=3.1, high=3.9), "Y": np.array([[1.0], [-1.0], [2.0]])}


class TestElementwiseFloordiv(OpTest):
    op_type = "elementwise_floordiv"
    elementwise = True
    setUp = TestElementwiseMod.setUp
    reference = TestElementwiseMod.reference

    def test_check_output(self):
        self.check_output()


def both(op_type, x, y):
    function = getattr(_core.ops, op_type)
    return function(_core.to_variable(x), _core.to_variable(y)).numpy()


@pytest.mark.parametrize("op_type", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_signs_are_pythons(op_type, dtype):
    x = np.array([7, 7, -7, -7, 6, -6, 0], dtype)
    y = np.array([2, -2, 2, -2, -3, 3, -5], dtype)
    python = {"elementwise_floordiv": lambda a, b: a // b, "elementwise_mod": lambda a, b: a % b}
    expected = [python[op_type](int(a), int(b)) for a, b in zip(x, y, strict=True)]
    assert both(op_type, x, y).tolist() == expected
    assert both(op_type, x, y).dtype == dtype


def test_unsigned_numbers_have_no_minus_one():
    x, y = np.array([255, 254, 10], "uint8"), np.array([255, 255, 3], "uint8")
    assert both("elementwise_floordiv", x, y).tolist() == [1, 0, 3]
    assert both("elementwise_mod", x, y).tolist() == [0, 254, 1]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_the_lowest_number_by_minus_one_wraps(dtype):
    low = np.iinfo(dtype).min
    x, y = np.array([low], dtype), np.array([-1], dtype)
    assert both("elementwise_floordiv", x, y).tolist() == [low]
    assert both("elementwise_mod", x, y).tolist() == [0]
    assert both("elementwise_div", x, y).tolist() == [low]


@pytest.mark.parametrize("op_type", FUNCTIONS)
def test_integers_are_divided_by_zero_never(op_type):
    with pytest.raises(ValueError, match=f"{op_type}.*divided by zero.*a 0 at position 1 in Y"):
        both(op_type, np.array([1, 2]), np.array([1, 0]))
    assert both(op_type, np.zeros(0, "int64"), np.array([0])).shape == (0,)


@pytest.mark.parametrize("op_type", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_at_the_edges_are_numpys(op_type, dtype):
    edges = np.array([0.0, -0.0, 1.0, -1.0, 5.5, -5.5, 0.1, 1e30, np.inf, -np.inf, np.nan], dtype)
    x, y = np.meshgrid(edges, edges)
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[op_type](x, y)
    got = both(op_type, x, y)
    np.testing.assert_array_equal(got, expected)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(expected[zeros]))
