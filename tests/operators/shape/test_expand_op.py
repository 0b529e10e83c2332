"""expand, tile, expand_v2, expand_as: one tensor several times over."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import class_name, op_case
from op_test import rand


def tile_reference(key):
    return lambda inputs, attrs: {"Out": np.tile(inputs["X"], attrs[key])}


def broadcast(inputs, attrs):
    x = inputs["X"]
    lead = len(attrs["shape"]) - x.ndim
    shape = [x.shape[i - lead] if n == -1 else n for i, n in enumerate(attrs["shape"])]
    return {"Out": np.broadcast_to(x, shape)}


def expand_as(inputs, attrs):
    target, x = inputs["target_tensor"].shape, inputs["X"].shape
    times = [t // max(n, 1) for t, n in zip(target, x, strict=True)]
    return {"Out": np.tile(inputs["X"], times)}


for suffix, shape, times in [
    ("", (2, 3), [2, 3]),
    ("Once", (2, 3), [1, 1]),
    ("Row", (1, 4), [3, 1]),
    ("Image", (2, 1, 2, 3), [1, 3, 2, 1]),
]:
    for op, key in (("expand", "expand_times"), ("tile", "repeat_times")):
        name = class_name(op, suffix)
        globals()[name] = op_case(
            name,
            op,
            lambda shape=shape: {"X": rand(*shape)},
            {key: times},
            tile_reference(key),
            grad=["X"],
        )

for suffix, shape, times in [
    ("Longer", (3,), [2, 2]),
    ("Shorter", (2, 3), [2]),
    ("None", (2,), []),
]:
    name = class_name("tile", suffix)
    globals()[name] = op_case(
        name,
        "tile",
        lambda shape=shape: {"X": rand(*shape)},
        {"repeat_times": times},
        tile_reference("repeat_times"),
        grad=["X"],
    )

for suffix, shape, target in [
    ("", (3, 1), [3, 4]),
    ("Leading", (3,), [2, 2, 3]),
    ("Keep", (1, 3, 1), [2, -1, 4]),
    ("Scalar", (), [2, 3]),
    ("Image", (2, 1, 2, 3), [2, 2, 2, 3]),
]:
    name = class_name("expand_v2", suffix)
    globals()[name] = op_case(
        name,
        "expand_v2",
        lambda shape=shape: {"X": rand(*shape)},
        {"shape": target},
        broadcast,
        grad=["X"],
    )

TestExpandAs = op_case(
    "TestExpandAs",
    "expand_as",
    lambda: {"X": rand(2, 1), "target_tensor": rand(4, 3)},
    {},
    expand_as,
    grad=["X"],
)
TestExpandTimesTensor = op_case(
    "TestExpandTimesTensor",
    "expand",
    lambda: {"X": rand(2, 3), "ExpandTimes": np.array([2, 1], "int32")},
    {"expand_times": [5, 5]},
    lambda inputs, attrs: {"Out": np.tile(inputs["X"], [2, 1])},
    grad=["X"],
)
TestTileTensors = op_case(
    "TestTileTensors",
    "tile",
    lambda: {
        "X": rand(2, 3),
        "repeat_times_tensor": [("a", np.array([2], "int64")), ("b", np.array([3], "int32"))],
    },
    {},
    lambda inputs, attrs: {"Out": np.tile(inputs["X"], [2, 3])},
    grad=["X"],
)
TestExpandV2Tensor = op_case(
    "TestExpandV2Tensor",
    "expand_v2",
    lambda: {"X": rand(2, 1), "Shape": np.array([3, 2, -1], "int64")},
    {"shape": [9]},
    lambda inputs, attrs: {"Out": np.broadcast_to(inputs["X"], (3, 2, 1))},
    grad=["X"],
)


def variable(*shape):
    return _core.to_variable(np.zeros(shape))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int32", "int64", "float16"])
def test_types(dtype):
    x = np.array([[1, 0]], dtype)
    np.testing.assert_array_equal(
        _core.ops.tile(_core.to_variable(x), repeat_times=[2, 2]).numpy(), np.tile(x, [2, 2])
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: _core.ops.expand(variable(2, 3), expand_times=[2]), ValueError, "each axis of X"),
        (lambda: _core.ops.expand(variable(2), expand_times=[0]), ValueError, "at least 1"),
        (lambda: _core.ops.tile(variable(2), repeat_times=[-1]), ValueError, "at least 0"),
        (lambda: _core.ops.expand_v2(variable(2, 3), shape=[3]), ValueError, "as many sizes"),
        (lambda: _core.ops.expand_v2(variable(2, 3), shape=[4, 3]), ValueError, "1 element or as"),
        (lambda: _core.ops.expand_v2(variable(3), shape=[-1, 3]), ValueError, "at least 0, or -1"),
        (lambda: _core.ops.expand_as(variable(2), variable(3)), ValueError, "multiples"),
        (lambda: _core.ops.expand_as(variable(2), variable(2, 2)), ValueError, "as many axes"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_size_too_large_is_an_error():
    times = _core.to_variable(np.array([2**62, 2**62]))
    with pytest.raises((IndexError, ValueError, MemoryError)):
        _core.ops.tile(variable(4, 4), times)
