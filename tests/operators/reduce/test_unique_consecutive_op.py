"""unique_consecutive: equal neighbours as one."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import op_case

ALL = {"Out": 1, "Index": 1, "Counts": 1}


def consecutive(inputs, attrs):
    x, axis = inputs["X"], attrs.get("axis")
    rows = np.moveaxis(x, axis[0], 0) if axis else x.reshape(-1)
    new = [i == 0 or not np.array_equal(rows[i], rows[i - 1]) for i in range(len(rows))]
    kept = rows[np.array(new, bool)]
    return {"Out": np.moveaxis(kept, 0, axis[0]) if axis else kept}


TestElements = op_case(
    "TestElements", "unique_consecutive",
    lambda: {"X": np.array([[5.0, 5.0, 2.0], [2.0, 5.0, 5.0]])}, {}, consecutive,
)  # fmt: skip
TestRows = op_case(
    "TestRows", "unique_consecutive",
    lambda: {"X": np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 2.0], [1.0, 2.0]])}, {"axis": [0]},
    consecutive,
)  # fmt: skip
TestColumns = op_case(
    "TestColumns", "unique_consecutive",
    lambda: {"X": np.array([[[1.0, 1.0, 2.0]], [[4.0, 4.0, 4.0]]])}, {"axis": [-1]}, consecutive,
)  # fmt: skip


def test_nans_numbers_and_types():
    x = _core.to_variable(np.array([np.nan, np.nan, 0.0, -0.0, 1.0]))
    found = _core.run_op("unique_consecutive", {"X": x}, {"dtype": "int32"}, ALL)
    assert np.array_equal(found["Out"].numpy(), [np.nan, 0.0, 1.0], equal_nan=True)
    assert found["Index"].tolist() == [0, 0, 1, 1, 2] and found["Counts"].tolist() == [2, 2, 1]
    assert found["Index"].dtype.name == found["Counts"].dtype.name == "int32"
    rows = _core.to_variable(np.array([[1, 2], [1, 2], [3, 2]]))
    found = _core.run_op("unique_consecutive", {"X": rows}, {"axis": [0]}, ALL)
    assert [found[name].tolist() for name in ALL] == [[[1, 2], [3, 2]], [0, 0, 1], [2, 1]]
    found = _core.run_op("unique_consecutive", {"X": rows[:0]}, {"axis": [0]}, ALL)
    assert [found[name].shape for name in ALL] == [(0, 2), (0,), (0,)]
    assert _core.ops.unique_consecutive(_core.to_variable(np.array(7))).tolist() == [7]
    truths = _core.to_variable(np.array([True, True, False]))
    assert _core.ops.unique_consecutive(truths).tolist() == [True, False]


def test_errors():
    x = _core.to_variable(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="one axis or none"):
        _core.ops.unique_consecutive(x, axis=[0, 1])
    with pytest.raises(IndexError, match="axis"):
        _core.ops.unique_consecutive(x, axis=[2])
    with pytest.raises(TypeError, match="int32 or int64"):
        _core.ops.unique_consecutive(x, dtype="float32")
