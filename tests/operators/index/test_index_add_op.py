"""index_add and repeat_interleave: slices added and repeated by number."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import op_case
from op_test import rand

ops = _core.ops


def index_add(inputs, attrs):
    out, axis = inputs["X"].copy(), attrs.get("axis", 0)
    value = np.moveaxis(inputs["AddValue"], axis, 0)
    np.add.at(np.moveaxis(out, axis, 0), inputs["Index"], value)
    return {"Out": out}


for suffix, shape, value, attrs in [
    ("", (4, 3), (3, 3), {}),
    ("Columns", (2, 4), (2, 3), {"axis": 1}),
    ("Last", (2, 2, 4), (2, 2, 3), {"axis": -1}),
    ("Image", (2, 4, 2, 2), (2, 3, 2, 2), {"axis": 1}),
]:
    name = f"TestIndexAdd{suffix}"
    globals()[name] = op_case(
        name, "index_add",
        lambda shape=shape, value=value: {
            "X": rand(*shape), "Index": np.array([1, -1, 1]), "AddValue": rand(*value),
        },
        attrs, index_add, grad=["X", "AddValue"],
    )  # fmt: skip


def repeated(inputs, attrs):
    times = inputs.get("RepeatsTensor", attrs.get("Repeats"))
    return {"Out": np.repeat(inputs["X"], times, attrs.get("dim", 0))}


for suffix, shape, times, attrs in [
    ("", (3, 2), None, {"Repeats": 2}),
    ("Columns", (2, 3), None, {"Repeats": 3, "dim": 1}),
    ("None", (2, 3), None, {"Repeats": 0, "dim": 1}),
    ("Each", (3, 2), [2, 0, 3], {}),
    ("EachColumn", (2, 3, 2), [1, 4, 0], {"dim": -2}),
    ("Image", (2, 2, 2, 3), [0, 1, 2], {"dim": 3}),
]:
    name = f"TestRepeatInterleave{suffix}"

    def make(shape=shape, times=times):
        extra = {} if times is None else {"RepeatsTensor": np.array(times)}
        return {"X": rand(*shape), **extra}

    globals()[name] = op_case(
        name, "repeat_interleave", make, attrs, repeated, grad=["X"],
        rows_move=attrs.get("dim", 0) == 0,
    )  # fmt: skip


def test_types_and_empty_lists():
    x = _core.to_variable(np.arange(6).reshape(2, 3))
    assert ops.repeat_interleave(x, Repeats=2, dim=1).tolist() == [
        [0, 0, 1, 1, 2, 2], [3, 3, 4, 4, 5, 5],
    ]  # fmt: skip
    none = _core.to_variable(np.zeros(0, "int64"))
    assert ops.repeat_interleave(x[:0], repeats_tensor=none).shape == (0, 3)
    added = ops.index_add(x, _core.to_variable(np.array([1, 1], "int32")), x)
    assert added.tolist() == [[0, 1, 2], [6, 9, 12]]
    assert ops.index_add(x, none, x[:0]).tolist() == x.tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: ops.repeat_interleave(x, Repeats=-1), "Repeats must be at least 0, got -1"),
        (lambda x: ops.repeat_interleave(x, repeats_tensor=numbers(1, -1)), "at least 0, got -1"),
        (
            lambda x: ops.repeat_interleave(x, repeats_tensor=numbers(1, 2, 3)),
            "one number for each of the 2",
        ),
        (
            lambda x: ops.repeat_interleave(x, repeats_tensor=numbers(2**62, 2**62)),
            "add up to an int64",
        ),
        (lambda x: ops.repeat_interleave(x.sum()), "must have an axis"),
        (lambda x: ops.index_add(x, numbers(2), x[:1]), "Index must lie in"),
        (lambda x: ops.index_add(x, numbers(-3), x[:1]), "Index must lie in"),
        (lambda x: ops.index_add(x, numbers(0), x), "AddValue must have the shape"),
        (lambda x: ops.index_add(x, numbers(0), x[:1].astype("float32")), "of the type of X"),
    ],
)
def test_errors(call, message):
    with pytest.raises((ValueError, TypeError, IndexError), match=message):
        call(_core.to_variable(np.zeros((2, 3))))


def numbers(*values):
    return _core.to_variable(np.array(values))
