"""cumsum: running sums."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import class_name, op_case
from op_test import rand


def cumsum(inputs, attrs):
    x, axis = inputs["X"], attrs.get("axis", -1)
    if attrs.get("flatten"):
        x, axis = x.reshape(-1), 0
    if x.ndim == 0:
        x = x.reshape(1)
        return {"Out": cumsum({"X": x}, attrs)["Out"].reshape(())}
    x = np.flip(x, axis) if attrs.get("reverse") else x
    out = np.cumsum(x, axis)
    if attrs.get("exclusive"):
        out = out - x
    return {"Out": np.flip(out, axis) if attrs.get("reverse") else out}


MIXED = {"lod_passes": "along axis 0 rows of different sequences mix"}

for suffix, shape, attrs in [
    ("", (3, 4), {}),
    ("First", (3, 4), {"axis": 0}),
    ("Exclusive", (3, 4), {"axis": 1, "exclusive": True}),
    ("Reverse", (3, 4), {"axis": 0, "reverse": True}),
    ("Both", (2, 3, 2), {"axis": 1, "exclusive": True, "reverse": True}),
    ("Flat", (3, 4), {"flatten": True}),
    ("FlatReverse", (3, 4), {"flatten": True, "reverse": True}),
    ("Scalar", (), {}),
    ("ManyRows", (11, 3), {"exclusive": True}),
    ("ManyRowsReverse", (2, 9, 2), {"reverse": True}),
    ("Image", (2, 3, 2, 2), {"axis": 1}),
]:
    name = class_name("cumsum", suffix)
    globals()[name] = op_case(
        name, "cumsum", lambda shape=shape: {"X": rand(*shape)}, attrs, cumsum, grad=["X"],
        leave_out=MIXED if attrs.get("axis") == 0 else {},
    )  # fmt: skip


def test_integers_wrap():
    x = _core.to_variable(np.array([2**31 - 1, 1], "int32"))
    assert _core.ops.cumsum(x).numpy().tolist() == [2**31 - 1, -(2**31)]


def test_errors():
    with pytest.raises(IndexError, match="axis"):
        _core.ops.cumsum(_core.to_variable(np.zeros((2, 3))), axis=2)
