"""pad, pad2d, pad_constant_like and crop, crop_tensor, which undo them."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import class_name, op_case
from op_test import rand


def pairs(numbers):
    return [tuple(numbers[i : i + 2]) for i in range(0, len(numbers), 2)]


def pad(inputs, attrs):
    value = attrs.get("pad_value", 0.0)
    return {"Out": np.pad(inputs["X"], pairs(attrs["paddings"]), constant_values=value)}


def pad2d(inputs, attrs):
    numbers = inputs.get("Paddings")
    space = pairs(list(attrs["paddings"] if numbers is None else numbers))
    last = attrs.get("data_format", "NCHW") == "NHWC"
    pads = [(0, 0), *space, (0, 0)] if last else [(0, 0), (0, 0), *space]
    mode = attrs.get("mode", "constant")
    extra = {"constant_values": attrs.get("pad_value", 0.0)} if mode == "constant" else {}
    return {"Out": np.pad(inputs["X"], pads, mode=mode, **extra)}


def crop(inputs, attrs):
    x = inputs["X"]
    shape = inputs["Y"].shape if "Y" in inputs else attrs.get("shape") or [-1] * x.ndim
    offsets = inputs.get("Offsets", attrs.get("offsets")) if x.ndim else []
    offsets = [0] * x.ndim if offsets is None else list(offsets)
    part = tuple(slice(o, None if n == -1 else o + n) for o, n in zip(offsets, shape, strict=True))
    if any(n > s - o for o, n, s in zip(offsets, shape, x.shape, strict=True)):
        raise ValueError("not within X")
    return {"Out": x[part]}


def pad_like(inputs, attrs):
    out = np.full(inputs["X"].shape, attrs.get("pad_value", 0.0))
    y = inputs["Y"]
    if any(a > b for a, b in zip(y.shape, out.shape, strict=True)):
        raise ValueError("Y does not fit")
    out[tuple(slice(n) for n in y.shape)] = y
    return {"Out": out}


for suffix, shape, paddings, value in [
    ("", (2, 3), [0, 1, 2, 0], 0.0),
    ("Value", (3,), [2, 3], 1.5),
    ("Nothing", (2, 3), [0] * 4, 0.0),
    ("Outer", (2, 3, 4), [1, 1, 0, 2, 0, 0], -1.0),
    ("Image", (2, 1, 2, 3), [0, 0, 1, 0, 1, 1, 0, 2], 0.5),
]:
    name = class_name("pad", suffix)
    globals()[name] = op_case(
        name,
        "pad",
        lambda shape=shape: {"X": rand(*shape)},
        {"paddings": paddings, "pad_value": value},
        pad,
        grad=["X"],
    )

for mode in ("constant", "reflect", "edge"):
    for layout in ("NCHW", "NHWC"):
        name = class_name("pad2d", mode.title() + layout)
        globals()[name] = op_case(
            name,
            "pad2d",
            lambda: {"X": rand(2, 3, 3, 4)},
            {"paddings": [2, 1, 0, 2], "mode": mode, "data_format": layout, "pad_value": 0.5},
            pad2d,
            grad=["X"],
        )
TestPad2dTensor = op_case(
    "TestPad2dTensor",
    "pad2d",
    lambda: {"X": rand(1, 2, 3, 3), "Paddings": np.array([1, 0, 2, 1], "int32")},
    {},
    pad2d,
    grad=["X"],
)
TestPadConstantLike = op_case(
    "TestPadConstantLike",
    "pad_constant_like",
    lambda: {"X": rand(3, 4), "Y": rand(2, 4)},
    {"pad_value": 0.5},
    pad_like,
    grad=["Y"],
    grad_inputs=["Y"],
)
TestCrop = op_case(
    "TestCrop",
    "crop",
    lambda: {"X": rand(4, 5)},
    {"shape": [2, 3], "offsets": [1, 2]},
    crop,
    grad=["X"],
)
TestCropLike = op_case(
    "TestCropLike",
    "crop",
    lambda: {"X": rand(4, 5), "Y": rand(2, 5), "Offsets": np.array([2, 0], "int32")},
    {},
    crop,
    grad=["X"],
    grad_inputs=["X"],
)
TestCropImage = op_case(
    "TestCropImage",
    "crop",
    lambda: {"X": rand(2, 3, 4, 3)},
    {"shape": [2, 2, 2, 3], "offsets": [0, 1, 2, 0]},
    crop,
    grad=["X"],
)
TestCropTensor = op_case(
    "TestCropTensor",
    "crop_tensor",
    lambda: {"X": rand(4, 5)},
    {"shape": [-1, 3], "offsets": [1, 2]},
    crop,
    grad=["X"],
)
TestCropTensorAll = op_case("TestCropTensorAll", "crop_tensor", lambda: {"X": rand(4, 5)}, {}, crop)
TestCropTensorTensors = op_case(
    "TestCropTensorTensors",
    "crop_tensor",
    lambda: {
        "X": rand(4, 5),
        "Shape": np.array([2, 2], "int64"),
        "OffsetsTensor": [("a", np.array([1], "int32")), ("b", np.array([3], "int32"))],
    },
    {"shape": [1, 1]},
    lambda inputs, attrs: {"Out": inputs["X"][1:3, 3:5]},
    grad=["X"],
)


def variable(*shape):
    return _core.to_variable(np.zeros(shape))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float16"])
def test_types(dtype):
    x = np.array([[1, 0], [0, 1]], dtype)
    got = _core.ops.pad(_core.to_variable(x), paddings=[1, 0, 0, 1], pad_value=1.0).numpy()
    np.testing.assert_array_equal(got, np.pad(x, [(1, 0), (0, 1)], constant_values=dtype != "x"))


def test_gradient_of_an_edge_is_a_sum():
    x = _core.to_variable(np.array([[[[1.0, 2.0]]]]))
    x.stop_gradient = False
    y = _core.ops.pad2d(x, paddings=[1, 1, 2, 0], mode="edge")
    (g,) = _core.grad([y], [x], [], False, False, False)
    np.testing.assert_array_equal(g.numpy(), [[[[9.0, 3.0]]]])  # 3 rows, 3 columns of the first


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: _core.ops.pad(variable(2, 3), paddings=[1, 1]), ValueError, "two numbers for"),
        (lambda: _core.ops.pad(variable(2), paddings=[-1, 1]), ValueError, "at least 0"),
        (lambda: _core.ops.pad2d(variable(2, 3)), ValueError, "four axes"),
        (
            lambda: _core.ops.pad2d(variable(1, 1, 2, 2), paddings=[2, 0, 0, 0], mode="reflect"),
            ValueError,
            "less than the size",
        ),
        (lambda: _core.ops.pad2d(variable(1, 1, 2, 2), mode="wrap"), ValueError, "reflect"),
        (lambda: _core.ops.pad_constant_like(variable(2), variable(3)), ValueError, "longer"),
        (lambda: _core.ops.crop(variable(4), shape=[3], offsets=[2]), ValueError, "within X"),
        (lambda: _core.ops.crop(variable(4), shape=[3, 1]), ValueError, "each axis of X"),
        (lambda: _core.ops.crop_tensor(variable(4), shape=[3], offsets=[5]), ValueError, "within"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
