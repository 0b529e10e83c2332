"""searchsorted: where values would stand in a row that ascends."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import op_case
from op_test import rand

ops = _core.ops


def searchsorted(inputs, attrs):
    rows, values = inputs["SortedSequence"], inputs["Values"]
    side = "right" if attrs.get("right") else "left"
    if rows.ndim == 1:
        return {"Out": np.searchsorted(rows, values, side)}
    flat, found = rows.reshape(-1, rows.shape[-1]), values.reshape(-1, values.shape[-1])
    pairs = zip(flat, found, strict=True)
    return {"Out": np.array([np.searchsorted(r, v, side) for r, v in pairs]).reshape(values.shape)}


def one_row():
    return {"SortedSequence": np.sort(rand(7)), "Values": rand(3, 4)}


def rows():
    return {"SortedSequence": np.sort(rand(2, 3, 5)), "Values": rand(2, 3, 4)}


for suffix, make, attrs in [
    ("", one_row, {}),
    ("Right", one_row, {"right": True}),
    ("Rows", rows, {}),
    ("Int32", rows, {"right": True, "out_int32": True}),
]:
    name = f"TestSearchsorted{suffix}"
    globals()[name] = op_case(
        name, "searchsorted", make, attrs, searchsorted,
        fixed_dtypes={"Out": "int32" if attrs.get("out_int32") else "int64"},
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 64, 1000])
@pytest.mark.parametrize("right", [False, True])
def test_lengths_and_equals(dtype, n, right):
    generator = np.random.default_rng(n)
    row = np.sort(generator.integers(0, 50, n)).astype(dtype)
    values = np.arange(-2, 60).astype(dtype)
    found = ops.searchsorted(_core.to_variable(row), _core.to_variable(values), right=right)
    assert found.tolist() == np.searchsorted(row, values, "right" if right else "left").tolist()


@pytest.mark.parametrize("right", [False, True])
def test_nans_and_infinities(right):
    row = np.array([-np.inf, 0.0, np.inf, np.nan, np.nan])
    values = np.array([-np.inf, np.inf, np.nan, -1.0])
    found = ops.searchsorted(_core.to_variable(row), _core.to_variable(values), right=right)
    assert found.tolist() == np.searchsorted(row, values, "right" if right else "left").tolist()


def test_errors():
    row, values = _core.to_variable(np.zeros((2, 3))), _core.to_variable(np.zeros((3, 1)))
    with pytest.raises(ValueError, match="SortedSequence must have one axis, or"):
        ops.searchsorted(row, values)
    with pytest.raises(ValueError, match="must have an axis"):
        ops.searchsorted(_core.to_variable(np.array(1.0)), values)
