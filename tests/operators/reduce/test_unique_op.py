"""unique and unique_with_counts: the different elements in order of first appearance."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import op_case


def unique(inputs, attrs):
    x = inputs["X"]
    found = list(dict.fromkeys(x.tolist()))
    index = np.array([found.index(v) for v in x.tolist()], "int64")
    counts = np.bincount(index, minlength=len(found))
    return {"Out": np.array(found, x.dtype), "Index": index, "Count": counts}


def make():
    return {"X": np.array([2.0, 3.0, 3.0, 1.0, 5.0, 3.0, 2.0])}


TestUniqueWithCounts = op_case(
    "TestUniqueWithCounts",
    "unique_with_counts",
    make,
    {},
    unique,
    fixed_dtypes={"Index": "int64", "Count": "int64"},
)
TestUnique = op_case(
    "TestUnique",
    "unique",
    make,
    {},
    lambda inputs, attrs: {k: v for k, v in unique(inputs, attrs).items() if k != "Count"},
    fixed_dtypes={"Index": "int64"},
)


def sorted_unique(inputs, attrs):
    x, axis = inputs["X"], attrs.get("axis")
    out, index = np.unique(x, return_inverse=True, axis=axis[0] if axis else None)
    return {"Out": out, "Index": index.reshape(-1)}


SORTED = {"is_sorted": True}
TestUniqueSorted = op_case(
    "TestUniqueSorted", "unique", make, SORTED, sorted_unique, fixed_dtypes={"Index": "int64"}
)
TestUniqueOfMatrix = op_case(
    "TestUniqueOfMatrix", "unique", lambda: {"X": make()["X"][:6].reshape(2, 3)}, SORTED,
    sorted_unique, fixed_dtypes={"Index": "int64"},
)  # fmt: skip


def slices():
    x = np.array([[2, 1], [0, 5], [2, 1], [0, 4]]).astype("float64")
    return {"X": np.stack([x, x[:, ::-1]], axis=2)}


TestUniqueSlices = op_case(
    "TestUniqueSlices", "unique", slices, {**SORTED, "axis": [0]}, sorted_unique,
    fixed_dtypes={"Index": "int64"},
)  # fmt: skip


def test_further_outputs():
    x = np.array([[3, 1, 2], [3, 1, 1]])
    wanted = {"Out": 1, "Index": 1, "Indices": 1, "Counts": 1}
    found = _core.run_op(
        "unique", {"X": _core.to_variable(x)}, {**SORTED, "dtype": "int32"}, wanted
    )
    expected = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    for slot, array in zip(("Out", "Indices", "Index", "Counts"), expected, strict=True):
        assert found[slot].numpy().tolist() == array.reshape(-1).tolist(), slot
    assert found["Counts"].dtype.name == "int32"
    found = _core.run_op("unique", {"X": _core.to_variable(x[0])}, {}, wanted)
    assert [found[slot].numpy().tolist() for slot in wanted] == [
        [3, 1, 2], [0, 1, 2], [0, 1, 2], [1, 1, 1],
    ]  # fmt: skip


def test_slices_along_the_last_axis_and_nans():
    x = np.array([[np.nan, 1.0, np.nan, 1.0], [2.0, 0.0, 2.0, -1.0]])
    out, index = _core.ops.unique(_core.to_variable(x), is_sorted=True, axis=[1])
    expected = np.array([[1.0, 1.0, np.nan], [-1.0, 0.0, 2.0]])
    assert np.array_equal(out.numpy(), expected, equal_nan=True)
    assert index.numpy().tolist() == [2, 1, 2, 0]


def test_a_number_and_nothing():
    out, index = _core.ops.unique(_core.to_variable(np.array(2.0)))
    assert out.numpy().tolist() == [2.0] and index.numpy().tolist() == [0]
    out, index = _core.ops.unique(_core.to_variable(np.zeros((0, 3))), is_sorted=True, axis=[0])
    assert out.shape == (0, 3) and index.shape == (0,)


def test_index_type_and_nan():
    x = _core.to_variable(np.array([np.nan, 1.0, np.nan, -0.0, 0.0]))
    out, index, count = _core.ops.unique_with_counts(x, dtype="int32")
    assert index.numpy().tolist() == [0, 1, 0, 2, 2] and count.numpy().tolist() == [2, 1, 2]
    assert index.numpy().dtype == "int32" and count.numpy().dtype == "int32"
    assert np.isnan(out.numpy()[0])
    out, _ = _core.ops.unique(_core.to_variable(np.array([7, 7, 3], "int32")))
    assert out.numpy().tolist() == [7, 3]


def test_errors():
    with pytest.raises(ValueError, match="one axis"):
        _core.ops.unique(_core.to_variable(np.zeros((2, 2))))
    with pytest.raises(TypeError, match="int32 or int64"):
        _core.ops.unique(_core.to_variable(np.zeros(2)), dtype="float32")
