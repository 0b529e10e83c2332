"""cumprod, cummax, cummin and logcumsumexp: running products, extremes and sums of exponentials."""

import math

import numpy as np
import pytest

from dygraph import _core
from op_cases import class_name, op_case
from op_test import rand

INF, NAN = math.inf, math.nan
MIXED = {"lod_passes": "along axis 0 rows of different sequences mix"}


def case(op_type, suffix, inputs, attrs, reference, axis, slot="X", **members):
    name = class_name(op_type, suffix)
    globals()[name] = op_case(
        name, op_type, inputs, attrs, reference, leave_out=MIXED if axis == 0 else {}, **members
    )


def along(function, inputs, slot, axis):
    x = inputs[slot]
    return function(x.reshape(1), 0).reshape(()) if x.ndim == 0 else function(x, axis)


def cumprod(inputs, attrs):
    return {"Out": along(np.cumprod, inputs, "X", attrs.get("dim", 0))}


def logcumsumexp(inputs, attrs):
    x, axis = inputs["X"], attrs.get("axis", -1)
    if attrs.get("flatten") or x.ndim == 0:
        shape = x.shape if x.ndim == 0 else (-1,)
        x, axis = x.reshape(-1), 0
    else:
        shape = x.shape
    x = np.flip(x, axis) if attrs.get("reverse") else x
    with np.errstate(divide="ignore"):
        terms = np.exp(x)
        out = np.log(np.cumsum(terms, axis) - (terms if attrs.get("exclusive") else 0))
    if attrs.get("exclusive") and x.shape[axis]:
        out[(slice(None),) * (axis % x.ndim) + (0,)] = -INF
    return {"Out": (np.flip(out, axis) if attrs.get("reverse") else out).reshape(shape)}


for suffix, shape, dim in [
    ("", (3, 4), 0),
    ("Last", (3, 4), -1),
    ("Middle", (2, 5, 3), 1),
    ("Scalar", (), 0),
    ("Image", (2, 3, 2, 2), 1),
]:
    case(
        "cumprod", suffix, lambda shape=shape: {"X": rand(*shape, low=0.5, high=1.5)},
        {"dim": dim}, cumprod, dim, grad=["X"],
    )  # fmt: skip
for suffix, shape, attrs in [
    ("", (3, 4), {}),
    ("First", (3, 4), {"axis": 0}),
    ("Reverse", (2, 5, 3), {"axis": 1, "reverse": True}),
    ("Flat", (3, 4), {"flatten": True}),
    ("FlatReverse", (3, 4), {"flatten": True, "reverse": True}),
    ("Scalar", (), {}),
    ("Image", (2, 3, 2, 2), {"axis": 1}),
]:
    case(
        "logcumsumexp", suffix, lambda shape=shape: {"X": rand(*shape)}, attrs, logcumsumexp,
        attrs.get("axis"), grad=["X"],
    )  # fmt: skip


def extremes(function, place):
    def reference(inputs, attrs):
        x, axis = inputs["x"], attrs.get("axis", -1)
        out = function.accumulate(x, axis)
        indices = np.zeros(x.shape, "int64")
        for at in np.ndindex(x.shape):
            for i in range(at[axis] + 1):
                other = list(at)
                other[axis] = i
                if x[tuple(other)] == out[at]:
                    indices[at] = i
        return {"out": out, "indices": indices.astype(attrs.get("dtype", "int64"))}

    return reference


for op_type, function in [("cummax", np.maximum), ("cummin", np.minimum)]:
    for suffix, shape, attrs in [
        ("", (3, 4), {}),
        ("First", (3, 4), {"axis": 0}),
        ("Middle", (2, 5, 3), {"axis": 1, "dtype": "int32"}),
        ("Image", (2, 3, 2, 2), {"axis": 1}),
    ]:
        case(
            op_type, suffix, lambda shape=shape: {"x": rand(*shape)}, attrs,
            extremes(function, None), attrs.get("axis"), grad=["x"], out="out",
        )  # fmt: skip


def test_extremes_of_ties_and_nans():
    """Recorded from torch 2.13 and Paddle 2.6.2, which agree."""
    x = _core.to_variable(np.array([2.0, 2.0, 1.0, 3.0, 1.0, NAN, 5.0, NAN, 0.0]))
    out, indices = _core.ops.cummax(x)
    np.testing.assert_array_equal(out.numpy(), [2, 2, 2, 3, 3, NAN, NAN, NAN, NAN])
    assert indices.tolist() == [0, 1, 1, 3, 3, 5, 5, 7, 7]
    out, indices = _core.ops.cummin(x)
    np.testing.assert_array_equal(out.numpy(), [2, 2, 1, 1, 1, NAN, NAN, NAN, NAN])
    assert indices.tolist() == [0, 1, 2, 2, 4, 5, 5, 7, 7]


def gradient(op_type, values, incoming, **attrs):
    x = _core.to_variable(np.array(values))
    x.stop_gradient = False
    out = getattr(_core.ops, op_type)(x, **attrs)
    (out[0] if isinstance(out, tuple) else out).backward(np.array(incoming))
    return x.gradient()


def test_products_beside_zeros():
    """The sum over j >= i of g[j] times the product of the others, worked out by hand."""
    got = gradient("cumprod", [2.0, 0.0, 3.0, 0.0, 5.0], [1.0, 10.0, 100.0, 1000.0, 10000.0])
    np.testing.assert_array_equal(got, [1, 2 * 10 + 6 * 100, 0, 0, 0])
    np.testing.assert_array_equal(gradient("cumprod", [0.0, 0.0], [1.0, 1.0]), [1, 0])


def test_ties_give_their_gradient_to_the_last():
    assert gradient("cummax", [2.0, 2.0, 1.0], [1.0, 10.0, 100.0]).tolist() == [1, 110, 0]


def test_sums_of_exponentials_of_any_size():
    x = [1000.0, -1000.0, 1001.0]
    got = _core.ops.logcumsumexp(_core.to_variable(np.array(x)))
    np.testing.assert_allclose(got.numpy(), [1000, 1000, 1001 + math.log1p(math.exp(-1))])
    share = 1 / (1 + math.exp(-1))
    slopes = gradient("logcumsumexp", x, [1.0, 1.0, 1.0])
    np.testing.assert_allclose(slopes, [3 - share, 0, share], rtol=1e-12)
    nothing = gradient("logcumsumexp", [-INF, -INF, 0.0], [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(nothing, [0, 0, 1])
    out = _core.ops.logcumsumexp(_core.to_variable(np.array([-INF, 1.0, NAN, 2.0])))
    np.testing.assert_array_equal(out.numpy(), [-INF, 1, NAN, NAN])


def test_exclusive_sums():
    x = np.array([0.5, -0.25, 1.0])
    got = _core.ops.logcumsumexp(_core.to_variable(x), exclusive=True).numpy()
    np.testing.assert_allclose(got, [-INF, 0.5, math.log(math.exp(0.5) + math.exp(-0.25))])
    slopes = gradient("logcumsumexp", x, [7.0, 1.0, 10.0], exclusive=True)
    share = 1 / (1 + math.exp(-0.75))
    np.testing.assert_allclose(slopes, [1 + 10 * share, 10 - 10 * share, 0], rtol=1e-14)


def test_integers():
    x = _core.to_variable(np.array([2**31 - 1, 2], "int32"))
    assert _core.ops.cumprod(x, dim=0).tolist() == [2**31 - 1, -2]
    assert [v.tolist() for v in _core.ops.cummin(x)] == [[2**31 - 1, 2], [0, 1]]


@pytest.mark.parametrize(
    "op_type, attrs",
    [("cumprod", {"dim": 2}), ("cummax", {"axis": -3}), ("logcumsumexp", {"axis": 2})],
)
def test_axes_out_of_range(op_type, attrs):
    with pytest.raises(IndexError, match="axis"):
        getattr(_core.ops, op_type)(_core.to_variable(np.zeros((2, 3))), **attrs)


def test_extremes_need_an_axis_and_an_integer_type():
    with pytest.raises(ValueError, match="must have an axis"):
        _core.ops.cummax(_core.to_variable(np.array(1.0)))
    with pytest.raises(ValueError, match="int64 or int32"):
        _core.ops.cummax(_core.to_variable(np.zeros(3)), dtype="float32")
