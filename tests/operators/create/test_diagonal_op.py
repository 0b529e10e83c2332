"""diagonal, fill_diagonal, fill_diagonal_tensor, tril_indices and triu_indices."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import op_case
from op_test import rand

ops = _core.ops


def diagonal(inputs, attrs):
    axes = attrs.get("axis1", 0), attrs.get("axis2", 1)
    return {"Out": np.diagonal(inputs["Input"], attrs.get("offset", 0), *axes)}


CASES = [
    ("", (3, 4), {}),
    ("Above", (3, 4), {"offset": 2}),
    ("Below", (4, 3), {"offset": -1}),
    ("Beyond", (2, 3), {"offset": 5}),
    ("Turned", (2, 3, 4), {"axis1": 2, "axis2": 0, "offset": 1}),
    ("Images", (2, 3, 2, 4), {"axis1": -2, "axis2": -1}),
]
for suffix, shape, attrs in CASES:
    globals()[f"TestDiagonal{suffix}"] = op_case(
        f"TestDiagonal{suffix}", "diagonal", lambda shape=shape: {"Input": rand(*shape)}, attrs,
        diagonal, grad=["Input"], rows_move=0 in (attrs.get("axis1", 0), attrs.get("axis2", 1)),
    )  # fmt: skip


def filled(inputs, attrs):
    out = inputs["X"].copy()
    axes = attrs.get("dim1", 0), attrs.get("dim2", 1)
    view = np.diagonal(out, attrs.get("offset", 0), *axes)
    view.setflags(write=True)
    view[...] = inputs["Y"]
    return {"Out": out}


for suffix, shape, attrs in CASES:
    attrs = {name.replace("axis", "dim"): value for name, value in attrs.items()}

    def make(shape=shape, attrs=attrs):
        x = rand(*shape)
        axes = attrs.get("dim1", 0), attrs.get("dim2", 1)
        return {"X": x, "Y": rand(*np.diagonal(x, attrs.get("offset", 0), *axes).shape)}

    globals()[f"TestFillDiagonalTensor{suffix}"] = op_case(
        f"TestFillDiagonalTensor{suffix}", "fill_diagonal_tensor", make, attrs, filled,
        grad=["X", "Y"],
    )  # fmt: skip


def with_value(inputs, attrs):
    out = inputs["X"].copy()
    if attrs.get("offset"):
        n = min(out.shape)
        np.fill_diagonal(out[max(-attrs["offset"], 0) : n, max(attrs["offset"], 0) :], 2.5)
    else:
        np.fill_diagonal(out, 2.5, wrap=attrs.get("wrap", False))
    return {"Out": out}


for suffix, shape, attrs in [
    ("", (3, 4), {}),
    ("Tall", (7, 3), {}),
    ("Wrapped", (7, 3), {"wrap": True}),
    ("Above", (3, 5), {"offset": 1}),
    ("Below", (4, 4), {"offset": -2}),
    ("Cube", (3, 3, 3), {}),
    ("Image", (2, 2, 2, 2), {}),
]:
    globals()[f"TestFillDiagonal{suffix}"] = op_case(
        f"TestFillDiagonal{suffix}", "fill_diagonal", lambda shape=shape: {"X": rand(*shape)},
        {"value": 2.5, **attrs}, with_value, grad=["X"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "offset", "wrap", "places"),
    [  # as Paddle 2.6.2 gives them
        ((7, 3), 1, True, [1, 5, 13, 17]),
        ((7, 3), -1, True, [3, 7, 15, 19]),
        ((7, 3), -1, False, [3, 7]),
        ((3, 5), -1, True, [5, 11]),
        ((3, 5), 1, True, [1, 7, 13]),
    ],
)
def test_filled_places(shape, offset, wrap, places):
    x = _core.to_variable(np.zeros(shape, "int64"))
    out = ops.fill_diagonal(x, value=1, offset=offset, wrap=wrap)
    assert np.flatnonzero(out.numpy()).tolist() == places


@pytest.mark.parametrize("rows", [0, 1, 3, 5])
@pytest.mark.parametrize("columns", [0, 1, 3, 5])
@pytest.mark.parametrize("offset", [-7, -2, -1, 0, 1, 2, 7])
def test_triangles(rows, columns, offset):
    lower = ops.tril_indices(rows=rows, cols=columns, offset=offset)
    upper = ops.triu_indices(row=rows, col=columns, offset=offset, dtype="int32")
    assert (lower.dtype.name, upper.dtype.name) == ("int64", "int32")
    assert lower.tolist() == [list(v) for v in np.tril_indices(rows, offset, columns)]
    assert upper.tolist() == [list(v) for v in np.triu_indices(rows, offset, columns)]


@pytest.mark.parametrize("offset", [-(2**31), -5, 0, 2**31 - 1])
def test_triangles_without_elements(offset):
    assert ops.tril_indices(rows=2**31 - 1, cols=0, offset=offset).shape == (2, 0)
    assert ops.triu_indices(row=2**31 - 1, col=0, offset=offset).shape == (2, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: ops.diagonal(x[0]), "Input must have at least two axes"),
        (lambda x: ops.diagonal(x, axis1=1, axis2=-1), "must be two, got 1 and -1"),
        (lambda x: ops.fill_diagonal(x[0]), "at least two axes"),
        (lambda x: ops.fill_diagonal(x.unsqueeze(0)), "one size along all"),
        (lambda x: ops.fill_diagonal_tensor(x, x), "Y must have the shape of the diagonals"),
        (lambda x: ops.tril_indices(rows=-1), "rows"),
        (lambda x: ops.triu_indices(dtype="float32"), "kernels for int32, int64 only"),
    ],
)
def test_errors(call, message):
    with pytest.raises((ValueError, TypeError, IndexError, NotImplementedError), match=message):
        call(_core.to_variable(np.zeros((2, 3))))
