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
