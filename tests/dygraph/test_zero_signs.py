"""The sign of a zero in sums with Python's numbers: that of NumPy, in every mode."""

import operator

import numpy as np
import pytest

import dygraph
from dygraph import static

ZEROS = np.array([0.0, -0.0, 2.0, -2.0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("number", [0.0, -0.0, 0])
@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul])
@pytest.mark.parametrize("swapped", [False, True])
def test_signs(dtype, number, op, swapped):
    array = ZEROS.astype(dtype)
    expected = op(number, array) if swapped else op(array, number)

    def compute(x):
        return op(number, x) if swapped else op(x, number)

    eager = compute(dygraph.to_variable(array)).numpy()
    with static.program_guard(static.Program()):
        out = compute(static.data("x", [4], dtype))
        (described,) = static.Executor().run(feed={"x": array}, fetch_list=[out])
    for got in (eager, described):
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))


def test_sums_in_place():
    x = dygraph.to_variable(ZEROS)
    x += 0.0
    assert not np.signbit(x.numpy()[:2]).any()
