"""kthvalue, mode, median and nanmedian: elements chosen along axes."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import class_name, op_case

ops = _core.ops
NAN = float("nan")


def distinct(*shape):
    """Numbers that differ by more than a numeric difference moves them."""
    return np.random.permutation(int(np.prod(shape))).reshape(shape) * 0.25 - 1.0


def kthvalue(inputs, attrs):
    x, axis = inputs["X"], attrs.get("axis", -1)
    order = np.argsort(x, axis, kind="stable").take([attrs["k"] - 1], axis)
    return shaped(x, order, axis, attrs)


def shaped(x, indices, axis, attrs):
    out = np.take_along_axis(x, indices, axis)
    if not attrs.get("keepdim"):
        out, indices = out.squeeze(axis), indices.squeeze(axis)
    return {"Out": out, "Indices": indices}


def mode(inputs, attrs):
    x, axis = inputs["X"], attrs.get("axis", -1)

    def last(line):
        values, counts = np.unique(line, return_counts=True)
        return np.flatnonzero(line == values[counts.argmax()])[-1:]

    return shaped(x, np.apply_along_axis(last, axis, x), axis, attrs)


for suffix, shape, attrs in [
    ("", (3, 5), {"k": 2}),
    ("First", (5, 3), {"k": 4, "axis": 0}),
    ("Middle", (2, 4, 3), {"k": 1, "axis": 1, "keepdim": True}),
    ("Last", (2, 3), {"k": 3, "keepdim": True}),
    ("Vector", (6,), {"k": 3}),
]:
    name = class_name("kthvalue", suffix)
    globals()[name] = op_case(
        name, "kthvalue", lambda shape=shape: {"X": distinct(*shape)}, attrs, kthvalue,
        grad=["X"], fixed_dtypes={"Indices": "int64"}, rows_move=attrs.get("axis") == 0,
    )  # fmt: skip


def repeated(*shape):
    """Numbers of which some come several times."""
    return np.random.randint(0, 3, shape).astype("float64")


TIES = dict.fromkeys(
    ("gradient", "second_order", "third_order"),
    "a numeric difference makes equal numbers different",
)

for suffix, shape, attrs in [
    ("", (3, 5), {}),
    ("First", (5, 3), {"axis": 0}),
    ("Middle", (2, 4, 3), {"axis": 1, "keepdim": True}),
]:
    name = class_name("mode", suffix)
    globals()[name] = op_case(
        name, "mode", lambda shape=shape: {"X": repeated(*shape)}, attrs, mode,
        fixed_dtypes={"Indices": "int64"}, rows_move=attrs.get("axis") == 0, leave_out=TIES,
    )  # fmt: skip
TestModeOfOne = op_case(
    "TestModeOfOne", "mode", lambda: {"X": distinct(3, 1)}, {}, mode, grad=["X"],
    fixed_dtypes={"Indices": "int64"},
)  # fmt: skip


def median(inputs, attrs):
    axis = tuple(attrs["axis"]) if attrs.get("axis") else None
    x = inputs["X"]
    keep = attrs.get("keepdim", True)
    if attrs.get("mode") == "min":
        pulled = np.nanquantile(x, 0.5, axis=axis, keepdims=keep, method="lower")
        return {"Out": pulled.astype(x.dtype)}
    return {"Out": np.nanmedian(x, axis=axis, keepdims=keep).astype(x.dtype)}


for suffix, shape, attrs in [
    ("", (3, 5), {"axis": [1]}),
    ("All", (3, 4), {"keepdim": False}),
    ("Even", (4, 3), {"axis": [0], "keepdim": False}),
    ("Lower", (3, 4), {"axis": [-1], "mode": "min", "keepdim": False}),
    ("Neighbours", (2, 3, 2), {"axis": [1, 2]}),
    ("Apart", (2, 3, 4), {"axis": [0, 2], "keepdim": False}),
    ("Image", (2, 2, 3, 2), {"axis": [1, 3]}),
]:
    for kind in ("median", "nanmedian"):
        name = class_name(kind, suffix)
        globals()[name] = op_case(
            name, kind, lambda shape=shape: {"X": distinct(*shape)}, attrs, median, grad=["X"],
            rows_move=suffix == "Even",
        )  # fmt: skip


def run(kind, x, **attrs):
    return [v.numpy() for v in np.atleast_1d(getattr(ops, kind)(_core.to_variable(x), **attrs))]


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 3, 100, 20_000, 20_001])
def test_kth_of_many(dtype, n):
    generator = np.random.default_rng(n)
    x = generator.integers(-9, 9, n) if n % 2 else generator.integers(-(2**31), 2**31 - 1, n)
    x = x.astype(dtype)
    order = np.argsort(x, kind="stable")
    for k in {1, (n + 1) // 2, n // 2 + 1, n}:
        value, place = ops.kthvalue(_core.to_variable(x), k=min(k, n))
        assert place.item() == order[min(k, n) - 1]
        assert value.item() == x[place.item()]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 5, 6, 19_999, 20_000])
def test_median_of_many(dtype, n):
    x = np.random.default_rng(n).standard_normal(n).astype(dtype)
    assert ops.median(_core.to_variable(x), keepdim=False).item() == np.median(x)
    assert ops.nanmedian(_core.to_variable(x), keepdim=False).item() == np.median(x)
    lower = np.sort(x)[(n - 1) // 2]
    assert ops.median(_core.to_variable(x), keepdim=False, mode="min").item() == lower
    holes = x.copy()
    holes[::3] = NAN
    assert np.isnan(ops.median(_core.to_variable(holes), keepdim=False).item())
    found = ops.nanmedian(_core.to_variable(holes), keepdim=False).item()
    numbers = holes[~np.isnan(holes)]
    assert found == np.median(numbers) if numbers.size else np.isnan(found)


def test_nans_and_infinities():
    x = _core.to_variable(np.array([[NAN, 1.0, np.inf], [NAN, NAN, NAN], [-np.inf, NAN, np.inf]]))
    assert ops.kthvalue(x, k=2)[0].tolist() == pytest.approx([np.inf, NAN, np.inf], nan_ok=True)
    assert ops.kthvalue(x, k=3)[1].tolist() == [0, 2, 1]
    assert ops.mode(x)[1].tolist() == [1, 2, 0]
    out = ops.nanmedian(x, axis=[1], keepdim=False).tolist()
    assert out == pytest.approx([np.inf, NAN, NAN], nan_ok=True)
    below = ops.nanmedian(x, axis=[1], keepdim=False, mode="min").tolist()
    assert below == pytest.approx([1.0, NAN, -np.inf], nan_ok=True)


def test_where_gradients_go():
    x = _core.to_variable(np.array([NAN, 4.0, 1.0, 3.0, 3.0, NAN, 3.0]))
    x.stop_gradient = False
    ops.nanmedian(x).backward()  # five numbers, the third of them is the first 3... of three
    assert x.gradient().tolist() == [0, 0, 0, 0, 1.0, 0, 0]
    x = _core.to_variable(np.array([[NAN, NAN]]))
    x.stop_gradient = False
    ops.nanmedian(x, axis=[1]).backward()
    assert x.gradient().tolist() == [[0, 0]]
    x = _core.to_variable(np.array([1.0, 5.0, 5.0, 1.0]))
    x.stop_gradient = False
    (ops.kthvalue(x, k=2)[0] * 3 + ops.mode(x)[0]).backward()
    assert x.gradient().tolist() == [0, 0, 0, 4.0]


def test_mode_of_integers_and_of_many():
    x = np.random.default_rng(0).integers(-5, 5, (3, 1000))
    value, index = ops.mode(_core.to_variable(x))
    expected = mode({"X": x}, {})
    assert value.tolist() == expected["Out"].tolist()
    assert index.tolist() == expected["Indices"].tolist()


def test_one_number_without_axes():
    x = _core.to_variable(np.array(2.5))
    x.stop_gradient = False
    for out in (ops.kthvalue(x)[0], ops.mode(x)[0], ops.median(x), ops.nanmedian(x)):
        assert out.shape == () and out.item() == 2.5
        x.clear_gradient()
        out.backward()
        assert x.gradient().item() == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: ops.kthvalue(x, k=4), "k must be at least 1 and at most .* 3, got 4"),
        (lambda x: ops.kthvalue(x, k=0), "k must be at least 1"),
        (lambda x: ops.kthvalue(x, k=1, axis=2), "axis"),
        (lambda x: ops.mode(x[:, :0]), "must have elements along the axis"),
        (lambda x: ops.median(x[:0]), "must have elements to choose from"),
        (lambda x: ops.median(x, mode="max"), "mode"),
        (lambda x: ops.median(x.astype("int64")), "mode must be 'min'"),
    ],
)
def test_errors(call, message):
    with pytest.raises((ValueError, TypeError, IndexError), match=message):
        call(_core.to_variable(np.zeros((2, 3))))


@pytest.mark.parametrize("at", [-1, 3, 2**40])
def test_indices_from_outside(at):
    x, g = _core.to_variable(np.zeros((2, 3))), _core.to_variable(np.ones(2))
    indices = _core.to_variable(np.array([0, at]))
    with pytest.raises(IndexError, match="Indices must lie in"):
        _core.run_op("kthvalue_grad", {"X": x, "Indices": indices, "Out@GRAD": g}, {})
    places = _core.to_variable(np.array([[[0, at if at > 3 else 6]], [[1, 1]]]))
    g = _core.to_variable(np.ones((2, 1)))
    with pytest.raises(IndexError, match="MedianIndex must lie in"):
        _core.run_op("median_grad", {"X": x, "MedianIndex": places, "Out@GRAD": g}, {"axis": [1]})
