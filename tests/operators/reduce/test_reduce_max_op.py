"""reduce_max: the largest element of X over axes, whose first place gets the gradient."""

import numpy as np
import pytest

from dygraph import _core
from reduce_case import reduce_cases

globals().update(reduce_cases("reduce_max", np.max))


def reduce(x, **attrs):
    return _core.ops.reduce_max(_core.to_variable(np.asarray(x)), **attrs)


def test_the_axes_must_exist_and_differ():
    with pytest.raises(IndexError, match="dim"):
        reduce(np.ones((2, 3)), dim=[2])
    with pytest.raises(ValueError, match="twice"):
        reduce(np.ones((2, 3)), dim=[1, -1])


def test_ties_give_their_gradient_to_the_first():
    x = _core.to_variable(np.array([[1.0, 2.0, 2.0], [3.0, 3.0, 3.0]]))
    x.stop_gradient = False
    _core.backward([_core.ops.reduce_sum(_core.ops.reduce_max(x, dim=[1]))], [], False, False)
    np.testing.assert_array_equal(x.grad.numpy(), [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])


def test_a_nan_wins():
    assert np.isnan(reduce(np.array([1.0, np.nan, 3.0])).numpy())


def test_integers():
    assert reduce(np.array([2**62, -(2**62), 1])).numpy() == 2**62


def test_nothing_has_no_extreme():
    with pytest.raises(ValueError, match="must not be empty"):
        reduce(np.zeros((0, 2)))
    assert reduce(np.zeros((2, 0))).numpy().shape == (0,)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_long_rows_of_integers(dtype):
    ends = np.iinfo(dtype)
    x = np.random.default_rng(0).integers(ends.min, ends.max, (3, 1000), dtype, endpoint=True)
    for axis in (0, 1):
        got = _core.ops.reduce_max(_core.to_variable(x), dim=[axis])
        np.testing.assert_array_equal(got.numpy(), x.max(axis))
