"""Integers wrap as NumPy's do, at both ends of each type."""

import numpy as np
import pytest

from dygraph import _core

TWO = {
    "elementwise_add": np.add,
    "elementwise_sub": np.subtract,
    "elementwise_mul": np.multiply,
}


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8"])
@pytest.mark.parametrize("operator", TWO)
def test_integers_wrap(operator, dtype):
    info = np.iinfo(dtype)
    x = np.array([info.max, info.min, info.max, 7], dtype)
    y = np.array([5, 3, info.max, 2], dtype)
    with np.errstate(all="ignore"):
        expected = TWO[operator](x, y)
    got = _core.run_op(operator, {"X": _core.to_variable(x), "Y": _core.to_variable(y)})["Out"]
    assert np.array_equal(got.numpy(), expected)
