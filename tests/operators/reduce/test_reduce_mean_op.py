"""reduce_mean: the mean of X over axes."""

import numpy as np
import pytest

from dygraph import _core
from reduce_case import reduce_cases

globals().update(reduce_cases("reduce_mean", np.mean))


def reduce(x, **attrs):
    return _core.ops.reduce_mean(_core.to_variable(np.asarray(x)), **attrs)


def test_the_axes_must_exist_and_differ():
    with pytest.raises(IndexError, match="dim"):
        reduce(np.ones((2, 3)), dim=[2])
    with pytest.raises(ValueError, match="twice"):
        reduce(np.ones((2, 3)), dim=[1, -1])


def test_integers_round_towards_zero():
    assert reduce(np.array([-3, -4])).numpy() == -3


def test_the_mean_of_nothing_is_nan():
    assert np.isnan(reduce(np.zeros(0)).numpy())
