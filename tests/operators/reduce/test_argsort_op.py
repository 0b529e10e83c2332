"""argsort and top_k_v2: elements in order, with the places they had."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import class_name, op_case

ops = _core.ops


def distinct(*shape):
    """Numbers that differ by more than a numeric difference moves them."""
    return np.random.permutation(int(np.prod(shape))).reshape(shape) * 0.25 - 1.0


def argsort(inputs, attrs):
    x, axis = inputs["X"], attrs.get("axis", -1)
    order = np.argsort(-x if attrs.get("descending") else x, axis, kind="stable")
    return {"Out": np.take_along_axis(x, order, axis), "Indices": order}


def top_k(inputs, attrs):
    axis, largest = attrs.get("axis", -1), attrs.get("largest", True)
    k = int(inputs["K"][0]) if "K" in inputs else attrs["k"]
    sort = argsort(inputs, {"axis": axis, "descending": largest})
    return {name: a.take(range(k), axis) for name, a in sort.items()}


for suffix, shape, attrs in [
    ("", (3, 4), {}),
    ("First", (4, 3), {"axis": 0}),
    ("Descending", (3, 4), {"descending": True}),
    ("Middle", (2, 4, 3), {"axis": 1, "descending": True}),
    ("Image", (2, 2, 3, 2), {"axis": 2}),
]:
    name = class_name("argsort", suffix)
    globals()[name] = op_case(
        name,
        "argsort",
        lambda shape=shape: {"X": distinct(*shape)},
        attrs,
        argsort,
        grad=["X"],
        fixed_dtypes={"Indices": "int64"},
        rows_move=attrs.get("axis") == 0,
    )

for suffix, shape, attrs in [
    ("", (3, 5), {"k": 2}),
    ("First", (5, 2), {"k": 3, "axis": 0}),
    ("Least", (3, 5), {"k": 2, "largest": False}),
    ("AllUnsorted", (2, 5), {"k": 5, "sorted": False}),
    ("Middle", (2, 4, 3), {"k": 1, "axis": 1}),
]:
    name = class_name("top_k_v2", suffix)
    globals()[name] = op_case(
        name,
        "top_k_v2",
        lambda shape=shape: {"X": distinct(*shape)},
        attrs,
        top_k,
        grad=["X"],
        fixed_dtypes={"Indices": "int64"},
        leave_out={"empty": "k elements cannot be had of none"} if attrs.get("axis") == 0 else {},
    )
TestTopKV2Tensor = op_case(
    "TestTopKV2Tensor",
    "top_k_v2",
    lambda: {"X": distinct(3, 4), "K": np.array([2], "int32")},
    {"k": 1},
    top_k,
    grad=["X"],
    fixed_dtypes={"Indices": "int64"},
)


def test_equals_keep_their_order_and_nan_is_the_greatest():
    x = np.array([2.0, np.nan, 1.0, 2.0, np.nan, -np.inf, 1.0, np.inf])
    _, order = ops.argsort(_core.to_variable(x))
    assert order.numpy().tolist() == np.argsort(x, kind="stable").tolist()
    _, order = ops.argsort(_core.to_variable(x), descending=True)
    assert order.numpy().tolist() == [1, 4, 7, 0, 3, 2, 6, 5]
    values, places = ops.top_k_v2(_core.to_variable(x), k=3)
    assert places.numpy().tolist() == [1, 4, 7]
    values, places = ops.top_k_v2(_core.to_variable(x), k=3, largest=False)
    assert values.numpy().tolist() == [-np.inf, 1.0, 1.0] and places.numpy().tolist() == [5, 2, 6]


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64"])
def test_integers(dtype):
    x = np.array([[3, 1, 2, 1]], dtype)
    out, order = ops.argsort(_core.to_variable(x))
    assert out.numpy().tolist() == [[1, 1, 2, 3]] and order.numpy().tolist() == [[1, 3, 2, 0]]
    assert out.numpy().dtype == dtype


def test_scalar_and_many():
    out, order = ops.argsort(_core.to_variable(np.array(3.0)))
    assert out.numpy() == 3.0 and order.numpy() == 0 and order.shape == ()
    x = np.random.RandomState(0).randint(0, 50, (40, 3000)).astype("float32")
    out, order = ops.argsort(_core.to_variable(x))
    np.testing.assert_array_equal(order.numpy(), np.argsort(x, -1, kind="stable"))


# Long lines are sorted by digits: sizes on both sides of where the digits grow.
@pytest.mark.parametrize("size", [256, 1000, 20000])
@pytest.mark.parametrize(
    "dtype", ["uint8", "int8", "int16", "int32", "int64", "float32", "float64"]
)
def test_long_lines(dtype, size):
    generator = np.random.default_rng(size)
    if dtype.startswith("float"):
        x = generator.standard_normal((2, size)).astype(dtype)
        x[:, ::7], x[:, 1::7], x[:, 2::50], x[0, 3] = 0.0, -0.0, np.inf, -np.inf
        x[1, 4], x[1, 200] = np.nan, np.copysign(np.nan, -1.0)
    else:
        ends = np.iinfo(dtype)
        x = generator.integers(ends.min, ends.max, (2, size), dtype, endpoint=True)
        x[0, :2] = ends.min, ends.max
    out, order = ops.argsort(_core.to_variable(x))
    want = np.argsort(x, -1, kind="stable")
    np.testing.assert_array_equal(order.numpy(), want)
    np.testing.assert_array_equal(out.numpy(), np.take_along_axis(x, want, -1))
    _, order = ops.argsort(_core.to_variable(x.T.copy()), axis=0, descending=True)
    # equals keep their order: sorted from the end, read from the end
    falling = size - 1 - np.argsort(x[:, ::-1], -1, kind="stable")[:, ::-1]
    np.testing.assert_array_equal(order.numpy(), falling.T)
    if dtype not in ("int32", "int64", "float32", "float64"):
        return
    for k in (1, 10, 32, 33, size // 2):
        for largest, all_places in ((True, falling), (False, want)):
            out, places = ops.top_k_v2(_core.to_variable(x), k=k, largest=largest)
            np.testing.assert_array_equal(places.numpy(), all_places[:, :k])
            np.testing.assert_array_equal(out.numpy(), np.take_along_axis(x, all_places, -1)[:, :k])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: ops.argsort(x, axis=2), IndexError, "axis"),
        (lambda x: ops.top_k_v2(x, k=4), ValueError, "at most the size of axis"),
        (lambda x: ops.top_k_v2(x, k=0), ValueError, "at least 1"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(_core.to_variable(np.zeros((2, 3))))


def test_a_gradient_call_checks_its_indices():
    x, g = _core.to_variable(np.zeros((2, 3))), _core.to_variable(np.ones((2, 1)))
    bad = _core.to_variable(np.array([[0], [3]]))
    with pytest.raises(IndexError, match="got 3 at position 1"):
        _core.run_op("top_k_v2_grad", {"X": x, "Indices": bad, "Out@GRAD": g}, {})
