"""reduce_sum: the sum of X over axes."""

import numpy as np
import pytest

from dygraph import _core
from reduce_case import reduce_cases

globals().update(reduce_cases("reduce_sum", np.sum))


def reduce(x, **attrs):
    return _core.ops.reduce_sum(_core.to_variable(np.asarray(x)), **attrs)


def test_the_axes_must_exist_and_differ():
    with pytest.raises(IndexError, match="dim"):
        reduce(np.ones((2, 3)), dim=[2])
    with pytest.raises(ValueError, match="twice"):
        reduce(np.ones((2, 3)), dim=[1, -1])


def test_types():
    assert reduce(np.array([True, True, False])).numpy() == 2
    assert reduce(np.array([True])).dtype == np.dtype("int64")
    assert reduce(np.array([100, 100], "int8"), out_dtype="int32").numpy() == 200
    assert reduce(np.full(3, 0.1, "float32"), out_dtype="float64").dtype == np.dtype("float64")


def test_a_gradient_comes_back_in_the_type_of_x():
    x = _core.to_variable(np.ones((2, 2), "float32"))
    x.stop_gradient = False
    total = _core.ops.reduce_sum(x, reduce_all=True, out_dtype="float64")
    _core.backward([total], [], False, False)
    assert x.grad.numpy().dtype == np.dtype("float32")
    np.testing.assert_array_equal(x.grad.numpy(), np.ones((2, 2)))


def test_nothing_sums_to_zero():
    np.testing.assert_array_equal(reduce(np.zeros((0, 2))).numpy(), [0.0, 0.0])


def test_halves_need_a_wider_out_dtype():
    x = np.ones(3, "float16")
    assert reduce(x, out_dtype="float32").numpy() == 3
    with pytest.raises(NotImplementedError, match="out_dtype"):
        reduce(x)
