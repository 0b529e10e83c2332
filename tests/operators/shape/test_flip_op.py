"""flip, reverse, roll: elements in another order along some axes."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import class_name, op_case
from op_test import rand


def roll(inputs, attrs):
    return {"Out": np.roll(inputs["X"], attrs["shifts"], attrs.get("dims") or None)}


for op, key in (("flip", "dims"), ("reverse", "axis")):
    for suffix, shape, axes in [
        ("", (3, 4), [0]),
        ("Both", (3, 4), [-1, 0]),
        ("Nothing", (3,), []),
        ("Image", (2, 3, 2, 2), [1, 3]),
    ]:
        name = class_name(op, suffix)
        globals()[name] = op_case(
            name,
            op,
            lambda shape=shape: {"X": rand(*shape)},
            {key: axes},
            lambda inputs, attrs, key=key: {"Out": np.flip(inputs["X"], tuple(attrs[key]))},
            grad=["X"],
            rows_move=0 in axes,
        )

for suffix, shape, shifts, dims in [
    ("", (3, 4), [1], [0]),
    ("Back", (3, 4), [-7, 2], [1, 0]),
    ("Flat", (3, 4), [5], []),
    ("Twice", (3, 4), [1, 1], [0, 0]),
    ("Image", (2, 3, 2, 3), [1, -1], [1, -1]),
]:
    name = class_name("roll", suffix)
    globals()[name] = op_case(
        name,
        "roll",
        lambda shape=shape: {"X": rand(*shape)},
        {"shifts": shifts, "dims": dims},
        roll,
        grad=["X"],
        rows_move=0 in (dims or [0]),
    )


def shifted_by_tensor(inputs, attrs):
    return {"Out": np.roll(inputs["X"], inputs["ShiftsTensor"], attrs.get("dims") or None)}


TestRollShiftsTensor = op_case(
    "TestRollShiftsTensor", "roll",
    lambda: {"X": rand(3, 4), "ShiftsTensor": np.array([2, -1])}, {"dims": [1, 0], "shifts": [9]},
    shifted_by_tensor, grad=["X"], rows_move=True,
)  # fmt: skip
TestRollFlatShiftsTensor = op_case(
    "TestRollFlatShiftsTensor", "roll",
    lambda: {"X": rand(3, 4), "ShiftsTensor": np.array([5], "int32")}, {},
    shifted_by_tensor, grad=["X"], rows_move=True,
)  # fmt: skip


def test_integers():
    x = np.arange(12).reshape(3, 4)
    v = _core.to_variable(x)
    np.testing.assert_array_equal(_core.ops.flip(v, dims=[1]).numpy(), x[:, ::-1])
    far = _core.ops.roll(v, shifts=[2**62 + 1], dims=[1]).numpy()
    np.testing.assert_array_equal(far, np.roll(x, (2**62 + 1) % 4, 1))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: _core.ops.flip(x, dims=[2]), IndexError, "dims"),
        (lambda x: _core.ops.reverse(x, axis=[0, 0]), ValueError, "axis"),
        (lambda x: _core.ops.roll(x, shifts=[1, 2], dims=[0]), ValueError, "equally long"),
        (lambda x: _core.ops.roll(x, shifts=[1, 2]), ValueError, "one number"),
        (lambda x: _core.ops.roll(x, shifts=[1], dims=[5]), IndexError, "dims"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(_core.to_variable(np.zeros((2, 3))))
