"""conv2d against loops over pixels, both libraries, both orders."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


def paddings_of(attrs, sizes, kernel):
    algorithm = attrs.get("padding_algorithm", "EXPLICIT")
    if algorithm == "VALID":
        return [(0, 0), (0, 0)]
    if algorithm == "SAME":
        pads = []
        for i in range(2):
            stride, reach = attrs.get("strides", [1, 1])[i], kernel[i]
            total = max((-(-sizes[i] // stride) - 1) * stride + reach - sizes[i], 0)
            pads.append((total // 2, total - total // 2))
        return pads
    p = attrs.get("paddings", [0, 0])
    return [(p[0], p[0]), (p[1], p[1])] if len(p) == 2 else [(p[0], p[1]), (p[2], p[3])]


def conv2d(x, w, attrs, bias=None, residual=None):
    last = attrs.get("data_format") == "NHWC"
    if last:
        x = x.transpose(0, 3, 1, 2)
    groups = attrs.get("groups", 1)
    (sh, sw), (dh, dw) = attrs.get("strides", [1, 1]), attrs.get("dilations", [1, 1])
    if attrs.get("padding_algorithm") == "SAME":
        dh = dw = 1  # as Fluid has it
    kernel = [dh * (w.shape[2] - 1) + 1, dw * (w.shape[3] - 1) + 1]
    x = np.pad(x, [(0, 0), (0, 0), *paddings_of(attrs, x.shape[2:], kernel)])
    oh, ow = (x.shape[2] - kernel[0]) // sh + 1, (x.shape[3] - kernel[1]) // sw + 1
    out = np.zeros((x.shape[0], w.shape[0], oh, ow), x.dtype)
    ins, outs = x.shape[1] // groups, w.shape[0] // groups
    for o in range(w.shape[0]):
        channels = slice(o // outs * ins, (o // outs + 1) * ins)
        for i in range(oh):
            for j in range(ow):
                top, left = i * sh, j * sw
                patch = x[:, channels, top : top + kernel[0] : dh, left : left + kernel[1] : dw]
                out[:, o, i, j] = (patch * w[o]).sum((1, 2, 3))
    if bias is not None:
        out += bias.reshape(1, -1, 1, 1)
    if last:
        out = out.transpose(0, 2, 3, 1)
    return out if residual is None else out + residual


class TestConv2d(OpTest):
    x_shape = (2, 3, 5, 6)
    filter_shape = (4, 3, 3, 2)
    attrs = {}
    bias = residual = False
    dtype = "float64"
    elementwise = False
    tolerance = {"float32": (1e-4, 1e-4)}  # sums of a hundred products

    def setUp(self):
        self.op_type = "conv2d"
        x, w = rand(*self.x_shape, dtype=self.dtype), rand(*self.filter_shape, dtype=self.dtype)
        self.inputs = {"Input": x, "Filter": w}
        if self.bias:
            self.inputs["Bias"] = rand(self.filter_shape[0], dtype=self.dtype)
        if self.residual:
            shape = conv2d(x, w, self.attrs).shape
            self.inputs["ResidualData"] = rand(*shape, dtype=self.dtype)
        self.outputs = {
            "Output": conv2d(
                x, w, self.attrs, self.inputs.get("Bias"), self.inputs.get("ResidualData")
            )
        }

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(list(self.inputs), "Output")

    def test_check_grad_of_one(self):
        self.check_grad(["Input"], "Output", no_grad_set={"Filter"})
        self.check_grad(["Filter"], "Output", no_grad_set={"Input"})


class TestBias(TestConv2d):
    bias = True


class TestBiasAndResidual(TestConv2d):
    bias = residual = True
    attrs = {"paddings": [1, 1]}


class TestStride(TestConv2d):
    x_shape = (2, 3, 7, 8)
    attrs = {"strides": [2, 3], "paddings": [1, 0]}


class TestFourPaddings(TestConv2d):
    attrs = {"paddings": [0, 1, 2, 1]}


class TestSame(TestConv2d):
    attrs = {"padding_algorithm": "SAME", "strides": [2, 1]}


class TestSameDilated(TestConv2d):
    x_shape = (2, 3, 7, 6)
    filter_shape = (4, 3, 3, 3)
    attrs = {"padding_algorithm": "SAME", "strides": [2, 1], "dilations": [2, 3]}


class TestValid(TestConv2d):
    attrs = {"padding_algorithm": "VALID", "paddings": [7, 7]}


class TestDilation(TestConv2d):
    x_shape = (1, 2, 8, 7)
    filter_shape = (2, 2, 3, 3)
    attrs = {"dilations": [2, 2], "paddings": [1, 1]}


class TestGroups(TestConv2d):
    x_shape = (2, 4, 5, 5)
    filter_shape = (6, 2, 3, 3)
    attrs = {"groups": 2, "paddings": [1, 1]}
    bias = True


class TestDepthwise(TestConv2d):
    x_shape = (2, 4, 5, 5)
    filter_shape = (8, 1, 3, 3)
    attrs = {"groups": 4}


class TestOneByOne(TestConv2d):
    filter_shape = (5, 3, 1, 1)


class TestOneByOneStride(TestConv2d):
    filter_shape = (5, 3, 1, 1)
    attrs = {"strides": [2, 2]}


class TestChannelsLast(TestConv2d):
    x_shape = (2, 5, 6, 3)
    attrs = {"data_format": "NHWC", "paddings": [1, 0]}
    bias = True
    residual = True


# Float cases are those the library takes; gradients against the loops by linearity.


@pytest.fixture(params=["", "plain"])
def library(request):
    _core.set_flag("kernel_library", request.param)
    yield request.param
    _core.set_flag("kernel_library", "")


CASES = {
    "lenet1": ((8, 1, 28, 28), (6, 1, 5, 5), {}),
    "lenet2": ((8, 6, 12, 12), (16, 6, 5, 5), {}),
    "resnet": ((4, 32, 16, 16), (64, 32, 3, 3), {"paddings": [1, 1]}),
    "stride": ((4, 32, 16, 16), (64, 32, 3, 3), {"paddings": [1, 1], "strides": [2, 2]}),
    "shortcut": ((4, 32, 16, 16), (64, 32, 1, 1), {"strides": [2, 2]}),
    "first": ((2, 3, 32, 32), (64, 3, 7, 7), {"paddings": [3, 3], "strides": [2, 2]}),
    "groups": ((2, 32, 14, 14), (64, 8, 3, 3), {"groups": 4, "paddings": [1, 1]}),
    "depthwise": ((2, 32, 14, 14), (32, 1, 3, 3), {"groups": 32, "paddings": [1, 1]}),
    "dilated": ((2, 32, 14, 14), (32, 32, 3, 3), {"dilations": [2, 2], "paddings": [2, 2]}),
    "uneven": ((2, 17, 13, 11), (19, 17, 3, 2), {"paddings": [1, 0, 2, 1]}),
}


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("case", CASES)
def test_float32(library, case, layout):
    x_shape, w_shape, attrs = CASES[case]
    r = np.random.RandomState(5)
    x, w, b = (r.uniform(-1, 1, s) for s in (x_shape, w_shape, w_shape[:1]))
    expected = conv2d(x, w, attrs, b)
    slots = {
        "Input": _core.to_layout(_core.to_variable(x.astype("float32")), layout),
        "Filter": _core.to_variable(w.astype("float32")),
        "Bias": _core.to_variable(b.astype("float32")),
    }
    for v in slots.values():
        v.stop_gradient = False
    out = _core.run_op("conv2d", slots, attrs)["Output"]
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=2e-4)
    dy = r.uniform(-1, 1, expected.shape)
    seed = _core.to_variable(dy.astype("float32"))
    got = _core.grad([out], list(slots.values()), [seed], False, False, True)
    np.testing.assert_allclose(got[2].numpy(), dy.sum((0, 2, 3)), rtol=1e-4, atol=1e-3)
    # The convolution is linear in either argument: <dy, conv(x', w)> = <dx, x'>.
    for _ in range(3):
        dx, dw = r.uniform(-1, 1, x_shape), r.uniform(-1, 1, w_shape)
        for name, grad, direction, image in (
            ("Input", got[0], dx, conv2d(dx, w, attrs)),
            ("Filter", got[1], dw, conv2d(x, dw, attrs)),
        ):
            slope = (dy * image).sum()
            scale = np.abs(grad.numpy()).mean() * np.sqrt(direction.size)
            assert abs((grad.numpy() * direction).sum() - slope) < 1e-3 * scale, name


def test_same_call_same_bits(library):
    x, w = (
        np.random.RandomState(0).rand(*s).astype("float32") for s in ((4, 16, 9, 9), (32, 16, 3, 3))
    )
    results = []
    for _ in range(3):
        vx, vw = _core.to_variable(x), _core.to_variable(w)
        vx.stop_gradient = vw.stop_gradient = False
        out = _core.run_op("conv2d", {"Input": vx, "Filter": vw}, {})["Output"]
        grads = _core.grad([out], [vx, vw], [out], False, False, True)
        results.append([v.numpy().tobytes() for v in (out, *grads)])
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize(
    "x,w,attrs,message",
    [
        ((1, 1, 4, 4), (1, 1, 5, 5), {}, r"window must fit.*5 of 4 \+ 0 \+ 0"),
        ((1, 1, 4, 4), (1, 1, 3, 3), {"dilations": [2, 2]}, "window must fit"),
        ((1, 1, 4, 4), (1, 1, 3, 3), {"strides": [0, 1]}, "strides must be at least 1"),
        ((1, 1, 4, 4), (1, 1, 3, 3), {"strides": [1]}, "strides must hold two numbers"),
        ((1, 1, 4, 4), (1, 1, 3, 3), {"paddings": [-1, 0]}, "paddings must be at least 0"),
        ((1, 1, 4, 4), (1, 1, 3, 3), {"paddings": [1, 0, 1]}, "paddings must be"),
        ((1, 1, 4, 4), (1, 1, 3, 3), {"dilations": [0, 1]}, "dilations must be at least 1"),
        ((1, 3, 4, 4), (4, 1, 3, 3), {"groups": 2}, "groups times"),
        ((1, 4, 4, 4), (3, 2, 3, 3), {"groups": 2}, "groups must divide the 3"),
        ((1, 4, 4, 4), (3, 2, 3, 3), {"groups": 0}, "groups must be at least 1"),
        ((1, 4, 4), (3, 2, 3, 3), {}, "Input must have 4 axes"),
        ((1, 4, 4, 4), (3, 2, 3), {}, "Filter must have 4 axes"),
        ((1, 4, 4, 4), (3, 4, 0, 1), {}, "positive height and width"),
    ],
)
def test_wrong_geometry(x, w, attrs, message):
    slots = {
        "Input": _core.to_variable(np.ones(x, "float32")),
        "Filter": _core.to_variable(np.ones(w, "float32")),
    }
    with pytest.raises(ValueError, match=message):
        _core.run_op("conv2d", slots, attrs)


def test_wrong_bias():
    slots = {
        "Input": _core.to_variable(np.ones((1, 1, 4, 4), "float32")),
        "Filter": _core.to_variable(np.ones((2, 1, 3, 3), "float32")),
        "Bias": _core.to_variable(np.ones(3, "float32")),
    }
    with pytest.raises(ValueError, match="Bias must have one number for each of the 2"):
        _core.run_op("conv2d", slots, {})


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("channels", [(3, 64), (16, 20), (70, 130), (96, 48), (33, 65)])
def test_filters_of_whole_and_broken_blocks(channels, size):
    """float32 runs in blocks of channels where there is oneDNN, float64 in plain order."""
    c, o = channels
    rng = np.random.RandomState(c + size)
    x, w = rng.randn(2, c, 9, 11), rng.randn(o, c, size, size) / (c * size * size) ** 0.5
    top = rng.randn(2, o, 9, 11)
    results = []
    for dtype in "float32", "float64":
        slots = {"Input": _core.to_variable(x.astype(dtype))}
        slots["Filter"] = _core.to_variable(w.astype(dtype))
        for v in slots.values():
            v.stop_gradient = False
        out = _core.run_op("conv2d", slots, {"paddings": [size // 2, size // 2]})["Output"]
        given = _core.to_variable(top.astype(dtype))
        grads = _core.grad([out], list(slots.values()), [given], False, False, True)
        results.append([v.numpy() for v in (out, *grads)])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
