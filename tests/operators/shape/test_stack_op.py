"""stack, unstack, unbind, meshgrid: pieces of a whole with an axis more."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import class_name, op_case
from op_test import rand


def named(arrays, stem):
    return [(f"{stem}{i}", a) for i, a in enumerate(arrays)]


def pieces(slot, axis_of):
    def reference(inputs, attrs):
        x = inputs["X"]
        axis = axis_of(attrs)
        return {slot: named([x.take(i, axis) for i in range(x.shape[axis])], slot.lower())}

    return reference


for suffix, shape, count, axis in [
    ("", (2, 3), 3, 0),
    ("Middle", (2, 3), 2, 1),
    ("Last", (2, 3), 2, -1),
    ("One", (2,), 1, 0),
    ("Scalars", (), 3, 0),
    ("Image", (2, 2, 2, 3), 2, 2),
]:
    name = class_name("stack", suffix)
    globals()[name] = op_case(
        name,
        "stack",
        lambda shape=shape, count=count: {
            "X": [(f"x{i}", rand(*shape)) for i in range(count)],
        },
        {"axis": axis},
        lambda inputs, attrs: {"Y": np.stack(inputs["X"], attrs["axis"])},
        grad=["x0"],
        out="Y",
    )

for suffix, shape, axis in [("", (3, 4), 0), ("Last", (2, 3), -1), ("Image", (2, 2, 3, 2), 1)]:
    for op, slot in (("unstack", "Y"), ("unbind", "Out")):
        count = np.zeros(shape).shape[axis]
        name = class_name(op, suffix)
        globals()[name] = op_case(
            name,
            op,
            lambda shape=shape: {"X": rand(*shape)},
            {"axis": axis, **({"num": count} if op == "unstack" else {})},
            pieces(slot, lambda attrs: attrs["axis"]),
            grad=["X"],
            out=[f"{slot.lower()}{i}" for i in range(count)],
            leave_out={"empty": "there must be as many pieces as the case has"},
        )

TestMeshgrid = op_case(
    "TestMeshgrid",
    "meshgrid",
    lambda: {"X": [("x0", rand(2)), ("x1", rand(3)), ("x2", rand(2))]},
    {},
    lambda inputs, attrs: {
        "Out": named([a.copy() for a in np.meshgrid(*inputs["X"], indexing="ij")], "out")
    },
    grad=["x0", "x1", "x2"],
    out=["out0", "out1", "out2"],
)
TestMeshgridOne = op_case(
    "TestMeshgridOne",
    "meshgrid",
    lambda: {"X": [("x0", rand(3))]},
    {},
    lambda inputs, attrs: {"Out": named(inputs["X"], "out")},
    grad=["x0"],
    out=["out0"],
)


def test_gradient_through_some_of_the_pieces():
    x = _core.to_variable(np.arange(6.0).reshape(2, 3))
    x.stop_gradient = False
    a, _, c = _core.ops.unbind(x, axis=1)
    (g,) = _core.grad([_core.ops.elementwise_mul(a, c)], [x], [], False, False, False)
    np.testing.assert_array_equal(g.numpy(), [[2.0, 0.0, 0.0], [5.0, 0.0, 3.0]])


def test_pieces_of_the_first_axis_share_storage():
    x = _core.to_variable(np.arange(6.0).reshape(2, 3))
    y = _core.ops.unstack(x)
    assert [_core.storage_id(p) == _core.storage_id(x) for p in y] == [True, True]
    with pytest.raises(RuntimeError, match="does not reach the Variable of shape"):
        y[1].zero_()
    assert x.numpy().sum() == 15.0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x, y: _core.ops.stack([x, y]), ValueError, "one shape"),
        (lambda x, y: _core.ops.stack([x, x], axis=3), IndexError, "axis"),
        (lambda x, y: _core.ops.unstack(x, num=3), ValueError, "num must be the size"),
        (lambda x, y: _core.ops.unstack(x, axis=2), IndexError, "axis"),
        (lambda x, y: _core.ops.unbind(_core.to_variable(np.array(1.0))), ValueError, "one axis"),
        (lambda x, y: _core.ops.meshgrid([x]), ValueError, "one axis"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(_core.to_variable(np.zeros((2, 3))), _core.to_variable(np.zeros((2, 2))))
