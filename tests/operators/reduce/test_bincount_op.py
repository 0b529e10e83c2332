"""bincount and histogram: how often numbers come."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import op_case

ops = _core.ops


def bincount(inputs, attrs):
    return {"Out": np.bincount(inputs["X"], inputs.get("Weights"), attrs.get("minlength", 0))}


def numbers():
    return {"X": np.array([3, 0, 5, 3, 3])}


TestBincount = op_case(
    "TestBincount", "bincount", numbers, {}, bincount, fixed_dtypes={"Out": "int64"}
)
TestBincountLonger = op_case(
    "TestBincountLonger", "bincount", numbers, {"minlength": 8}, bincount,
    fixed_dtypes={"Out": "int64"},
)  # fmt: skip
TestBincountWeights = op_case(
    "TestBincountWeights", "bincount",
    lambda: {**numbers(), "Weights": np.array([0.5, 1.0, -2.0, 4.0, 0.25])}, {}, bincount,
)  # fmt: skip


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_types(dtype):
    x = _core.to_variable(np.array([1, 1], dtype))
    assert ops.bincount(x).dtype.name == "int64"
    for given, made in [("float32", "float32"), ("float64", "float64"), ("int64", "float64")]:
        out = ops.bincount(x, weights=_core.to_variable(np.array([2, 3], given)))
        assert out.dtype.name == made and out.tolist() == [0, 5]


def test_nothing_to_count():
    none = _core.to_variable(np.zeros(0, "int64"))
    assert ops.bincount(none).tolist() == []
    assert ops.bincount(none, minlength=2).tolist() == [0, 0]
    assert ops.histogram(_core.to_variable(np.zeros((0, 2))), bins=2).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("x", "weights", "message"),
    [
        ([-1], None, "at least 0, got -1"),
        ([2**63 - 1], None, "less than"),
        ([[1]], None, "one axis"),
        ([1, 2], [1.0], "Weights must have the shape of X"),
        ([1], [True], "Weights must be of"),
    ],
)
def test_errors(x, weights, message):
    x = _core.to_variable(np.array(x))
    given = {} if weights is None else {"weights": _core.to_variable(np.array(weights))}
    with pytest.raises((ValueError, TypeError, IndexError), match=message):
        ops.bincount(x, **given)


def histogram(inputs, attrs):
    x, low, high = inputs["X"], attrs.get("min", 0), attrs.get("max", 0)
    counts, _ = np.histogram(x, attrs["bins"], None if low == high else (low, high))
    return {"Out": counts}


for name, attrs in {"": {"min": -1, "max": 1}, "Own": {}, "Part": {"min": 0, "max": 0.5}}.items():
    globals()[f"TestHistogram{name}"] = op_case(
        f"TestHistogram{name}", "histogram", lambda: {"X": np.random.uniform(-1, 1, (5, 7))},
        {"bins": 6, **attrs}, histogram, fixed_dtypes={"Out": "int64"},
    )  # fmt: skip


def test_edges_belong_to_bins():
    x = _core.to_variable(np.array([0.0, 1.0, 2.0, 3.0, 3.5, -0.5, np.nan]))
    assert ops.histogram(x, bins=3, min=0, max=3).tolist() == [1, 1, 2]
    assert ops.histogram(_core.to_variable(np.array([2, 2, 2])), bins=4).tolist() == [0, 0, 3, 0]
    assert ops.histogram(_core.to_variable(np.array([1, 2, 1])), bins=4, min=0, max=3).tolist() == [
        0, 2, 1, 0,
    ]  # fmt: skip


def test_ranges_that_are_none():
    x = _core.to_variable(np.array([0.0, np.inf]))
    with pytest.raises(ValueError, match="X must be finite .* got inf"):
        ops.histogram(x, bins=2)
    assert ops.histogram(x, bins=2, min=0, max=1).tolist() == [1, 0]
    with pytest.raises(ValueError, match="min must be at most max"):
        ops.histogram(x, bins=2, min=1, max=0)
    with pytest.raises(ValueError, match="bins"):
        ops.histogram(x, bins=0)
    huge = _core.to_variable(np.array([-3e38, 3e38], "float32"))
    with pytest.raises(ValueError, match="range of the bins must be finite"):
        ops.histogram(huge, bins=2)
