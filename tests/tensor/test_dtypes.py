"""Which type two types meet in."""

import numpy as np
import pytest

from dygraph import _core

TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


def expected(a, b):
    """Floats win over integers whatever their width; among integers NumPy's rule."""
    fa, fb = a.startswith("float"), b.startswith("float")
    if fa != fb:
        return a if fa else b
    return np.promote_types(a, b).name


@pytest.mark.parametrize("a", TYPES)
@pytest.mark.parametrize("b", TYPES)
def test_sum_of_two_types(a, b):
    x, y = _core.to_variable(np.ones(2, a)), _core.to_variable(np.ones(2, b))
    meet = expected(a, b)
    if meet in ("bool", "float16"):
        pytest.raises(NotImplementedError, lambda: x + y).match(
            "elementwise_add.*there must be a kernel"
        )
        return
    out = x + y
    assert out.dtype.name == meet
    np.testing.assert_array_equal(out.numpy(), np.full(2, 2, meet))


@pytest.mark.parametrize("dtype", TYPES)
def test_arrays_come_back_as_they_went(dtype):
    a = np.array([[0, 1], [1, 0]], dtype)
    v = _core.to_variable(a)
    assert (v.dtype.name, v.shape, v.size, v.ndim) == (dtype, (2, 2), 4, 2)
    assert v.numpy().dtype == a.dtype
    np.testing.assert_array_equal(v.numpy(), a)
    np.testing.assert_array_equal(_core.view(v), a)
    assert v.dtype == np.dtype(dtype)


def test_strange_arrays():
    base = np.arange(24.0).reshape(2, 3, 4)
    views = [base[:, ::2], base.T, base[::-1], base[..., ::-2], np.asfortranarray(base)]
    for a in [*views, np.broadcast_to(base[0], (3, 3, 4)), np.zeros((0, 3)), np.float64(3)]:
        np.testing.assert_array_equal(_core.to_variable(a).numpy(), a)


NO_TENSORS = [
    np.array(["a"]),
    np.array([object()]),
    np.array([1j], "clongdouble"),
    np.ones(2, ">f8"),
    np.array(["2020-01-01"], "datetime64[D]"),
    object(),
    "text",
]


@pytest.mark.parametrize("a", NO_TENSORS)
def test_arrays_that_are_no_tensors(a):
    with pytest.raises(TypeError) as e:
        _core.to_variable(a)
    assert isinstance(e.value, _core.DygraphError)


def test_numbers_take_the_type_of_the_variable():
    x = _core.to_variable(np.float32([1.0]))
    assert (x * 2).dtype.name == "float32" and (x + 0.1).dtype.name == "float32"
    d = _core.to_variable(np.array([1.0]))
    assert (d + 0.1).item() == 1.0 + 0.1, "a number that float32 rounds keeps its digits"
    assert (d * 0.1).item() == 0.1
    i = _core.to_variable(np.array([3]))
    assert (i * 2).dtype.name == "int64" and (i * 2).item() == 6
