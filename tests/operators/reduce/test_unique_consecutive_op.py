"""unique_consecutive: equal neighbours as one."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import op_case

RETURNED = {"Index": "int64", "Counts": "int64"}


def consecutive(inputs, attrs):
    x, axis = inputs["X"], attrs.get("axis")
    rows = np.moveaxis(x, axis[0], 0) if axis else x.reshape(-1)
    new = [i == 0 or not np.array_equal(rows[i], rows[i - 1]) for i in range(len(rows))]
    index = np.cumsum(new) - 1 if len(rows) else np.zeros(0, "int64")
    kept = rows[np.array(new, bool)]
    return {
        "Out": np.moveaxis(kept, 0, axis[0]) if axis else kept,
        "Index": index,
        "Counts": np.bincount(index, minlength=len(kept)),
    }


TestElements = op_case(
    "TestElements", "unique_consecutive",
    lambda: {"X": np.array([[5.0, 5.0, 2.0], [2.0, 5.0, 5.0]])}, {}, consecutive,
    fixed_dtypes=RETURNED,
)  # fmt: skip
TestRows = op_case(
    "TestRows", "unique_consecutive",
    lambda: {"X": np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 2.0], [1.0, 2.0]])}, {"axis": [0]},
    consecutive, fixed_dtypes=RETURNED,
)  # fmt: skip
TestColumns = op_case(
    "TestColumns", "unique_consecutive",
    lambda: {"X": np.array([[[1.0, 1.0, 2.0]], [[4.0, 4.0, 4.0]]])}, {"axis": [-1]}, consecutive,
    fixed_dtypes=RETURNED,
)  # fmt: skip


def test_nans_numbers_and_types():
    x = _core.to_variable(np.array([np.nan, np.nan, 0.0, -0.0, 1.0]))
    out, index, counts = _core.ops.unique_consecutive(x, dtype="int32")
    assert np.array_equal(out.numpy(), [np.nan, 0.0, 1.0], equal_nan=True)
    assert index.tolist() == [0, 0, 1, 1, 2] and counts.tolist() == [2, 2, 1]
    assert index.dtype.name == counts.dtype.name == "int32"
    assert _core.ops.unique_consecutive(_core.to_variable(np.array(7)))[0].tolist() == [7]
    truths = _core.to_variable(np.array([True, True, False]))
    assert _core.ops.unique_consecutive(truths)[0].tolist() == [True, False]


def test_errors():
    x = _core.to_variable(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="one axis or none"):
        _core.ops.unique_consecutive(x, axis=[0, 1])
    with pytest.raises(IndexError, match="axis"):
        _core.ops.unique_consecutive(x, axis=[2])
    with pytest.raises(TypeError, match="int32 or int64"):
        _core.ops.unique_consecutive(x, dtype="float32")
