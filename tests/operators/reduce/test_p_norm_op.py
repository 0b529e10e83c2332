"""p_norm, frobenius_norm, l1_norm, squared_l2_norm, dist, norm: lengths."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import class_name, op_case
from op_test import away_from, rand

ops = _core.ops
INF = float("inf")


def signed(*shape):
    """Numbers away from 0, none as great as another."""
    return rand(*shape, low=0.2) * np.random.choice([-1.0, 1.0], shape)


def length(x, p, axis, keepdims=False):
    """NumPy's vector norm, over several axes too."""
    a = np.abs(x)
    if p == 0:
        return np.sum(a != 0, axis, keepdims=keepdims).astype(x.dtype)
    if np.isinf(p):
        return (np.max if p > 0 else np.min)(a, axis, keepdims=keepdims)
    return np.sum(a**p, axis, keepdims=keepdims) ** (1 / p)


def p_norm(inputs, attrs):
    axis = None if attrs.get("asvector") else attrs.get("axis", -1)
    out = length(inputs["X"], attrs.get("porder", 2.0), axis, attrs.get("keepdim", False))
    return {"Out": np.asarray(out)}


def frobenius(inputs, attrs):
    axis = None if attrs.get("reduce_all") else tuple(attrs.get("dim", [0])) or None
    return {"Out": np.asarray(length(inputs["X"], 2.0, axis, attrs.get("keep_dim", False)))}


def dist(inputs, attrs):
    return {"Out": np.asarray(length(inputs["X"] - inputs["Y"], attrs["p"], None))}


def normalize(inputs, attrs):
    x, axis = inputs["X"], attrs.get("axis", -1)
    epsilon = attrs.get("epsilon", 1e-10)
    norm = np.sqrt((x**2).sum(axis, keepdims=True) + epsilon)
    return {"Out": x / norm, "Norm": norm}


for suffix, p in [
    ("", 2.0),
    ("One", 1.0),
    ("Three", 3.0),
    ("OneAndAHalf", 1.5),
    ("Half", 0.5),
    ("Zero", 0.0),
    ("Inf", INF),
    ("MinusInf", -INF),
    ("Negative", -1.0),
]:
    name = class_name("p_norm", suffix)
    globals()[name] = op_case(
        name,
        "p_norm",
        lambda: {"X": signed(3, 4)},
        {"porder": p},
        p_norm,
        grad=["X"],
    )
for suffix, attrs in [
    ("First", {"axis": 0, "keepdim": True}),
    ("All", {"asvector": True, "porder": 3.0}),
    ("AllKept", {"asvector": True, "keepdim": True}),
]:
    name = class_name("p_norm", suffix)
    globals()[name] = op_case(
        name, "p_norm", lambda: {"X": signed(3, 4)}, attrs, p_norm, grad=["X"]
    )
for suffix, attrs in [
    ("", {}),
    ("Two", {"dim": [0, 2], "keep_dim": True}),
    ("All", {"reduce_all": True}),
]:
    name = class_name("frobenius_norm", suffix)
    globals()[name] = op_case(
        name, "frobenius_norm", lambda: {"X": rand(2, 3, 2)}, attrs, frobenius, grad=["X"]
    )
TestL1Norm = op_case(
    "TestL1Norm",
    "l1_norm",
    lambda: {"X": away_from(0, rand(3, 4))},
    {},
    lambda inputs, attrs: {"Out": np.abs(inputs["X"]).sum()},
    grad=["X"],
)
TestSquaredL2Norm = op_case(
    "TestSquaredL2Norm",
    "squared_l2_norm",
    lambda: {"X": rand(3, 4)},
    {},
    lambda inputs, attrs: {"Out": (inputs["X"] ** 2).sum()},
    grad=["X"],
)
for suffix, y, p in [
    ("", (3, 4), 2.0),
    ("Broadcast", (4,), 3.0),
    ("One", (3, 1), 1.0),
    ("Inf", (3, 4), INF),
    ("Zero", (3, 4), 0.0),
]:
    name = class_name("dist", suffix)
    globals()[name] = op_case(
        name,
        "dist",
        lambda y=y: {"X": rand(3, 4), "Y": rand(*y)},
        {"p": p},
        dist,
        grad=["X", "Y"],
    )
for suffix, shape, attrs in [
    ("", (3, 4), {}),
    ("First", (3, 4), {"axis": 0, "epsilon": 0.5}),
    ("Image", (2, 3, 2, 2), {"axis": 1}),
]:
    name = class_name("norm", suffix)
    globals()[name] = op_case(
        name, "norm", lambda shape=shape: {"X": rand(*shape)}, attrs, normalize, grad=["X"]
    )


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, INF, -INF])
def test_gradient_at_zero_is_zero(p):
    x = _core.to_variable(np.zeros((2, 3)))
    x.stop_gradient = False
    (g,) = _core.grad([ops.p_norm(x, porder=p)], [x], [], True, True, False)
    np.testing.assert_array_equal(g.numpy(), np.zeros((2, 3)))
    if not g.stop_gradient:
        (second,) = _core.grad([g], [x], [], False, False, True)
        assert second is None or not second.numpy().any()


def test_gradient_of_equally_great_elements_goes_to_the_first():
    x = _core.to_variable(np.array([1.0, -3.0, 3.0]))
    x.stop_gradient = False
    (g,) = _core.grad([ops.p_norm(x, porder=INF)], [x], [], False, False, False)
    assert g.numpy().tolist() == [0.0, -1.0, 0.0]


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, 4.0, 5.0, 2.5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_long_rows(p, dtype):
    x = rand(3, 100).astype(dtype)
    want = (np.abs(x.astype("float64")) ** p).sum(-1) ** (1 / p)
    got = ops.p_norm(_core.to_variable(x), porder=p).numpy()
    np.testing.assert_allclose(got, want, rtol=1e-6 if dtype == "float32" else 1e-13)


def norm_and_gradient(x, p, axis, threads):
    """Of p_norm, and the gradient for 2 coming in."""
    before = _core.num_threads()
    _core.set_num_threads(threads)
    try:
        v = _core.to_variable(x)
        v.stop_gradient = False
        out = ops.p_norm(v, porder=p, axis=axis)
        incoming = _core.to_variable(np.full(out.shape, 2, x.dtype))
        (g,) = _core.grad([out], [v], [incoming], False, False, False)
        return out.numpy(), g.numpy()
    finally:
        _core.set_num_threads(before)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
@pytest.mark.parametrize(("shape", "axis"), [((100003,), 0), ((3, 70001), 1), ((70001, 3), 0)])
def test_many_elements(p, shape, axis):
    x = np.random.default_rng(0).standard_normal(shape, np.float32)
    x.reshape(-1)[-7:] = 0
    wide = x.astype("float64")
    want = (np.abs(wide) ** p).sum(axis, keepdims=True) ** (1 / p)
    out, g = norm_and_gradient(x, p, axis, 3)
    np.testing.assert_allclose(out, want.squeeze(axis), rtol=1e-6)
    slope = 2 * np.sign(wide) * (np.abs(wide) / want) ** (p - 1)
    np.testing.assert_allclose(g, slope, rtol=1e-6, atol=0)
    alone = norm_and_gradient(x, p, axis, 1)
    assert alone[0].tobytes() == out.tobytes()
    assert alone[1].tobytes() == g.tobytes()


def test_squares_beyond_the_range_of_float():
    x = np.array([[3e30, 4e30, 0.0], [3e-30, -4e-30, 0.0], [np.inf, 1.0, 0.0]], np.float32)
    out, g = norm_and_gradient(x, 2.0, 1, 1)
    np.testing.assert_allclose(out, [5e30, 5e-30, np.inf], rtol=1e-6)
    np.testing.assert_allclose(g[:2], [[1.2, 1.6, 0.0], [1.2, -1.6, 0.0]], rtol=1e-6)
    np.testing.assert_array_equal(g[2], [np.nan, 0.0, 0.0])


def test_nan_and_empty():
    x = _core.to_variable(np.array([1.0, np.nan, 3.0]))
    for p in (1.0, 2.0, INF, -INF):
        assert np.isnan(ops.p_norm(x, porder=p).numpy())
    empty = _core.to_variable(np.zeros((2, 0)))
    assert ops.p_norm(empty).numpy().tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="must have elements"):
        ops.p_norm(empty, porder=INF)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: ops.p_norm(x, axis=2), IndexError, "axis"),
        (lambda x: ops.p_norm(x, porder=float("nan")), ValueError, "got nan"),
        (lambda x: ops.frobenius_norm(x, dim=[3]), IndexError, "dim"),
        (lambda x: ops.frobenius_norm(x, out_dtype="float32"), NotImplementedError, "out_dtype"),
        (lambda x: ops.norm(x, axis=2), IndexError, "axis"),
        (lambda x: ops.norm(x, epsilon=-1.0), ValueError, "epsilon"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(_core.to_variable(np.zeros((2, 3))))
