"""The convolutions beside conv2d, against loops over taps: depthwise, 3-D and transposed ones."""

import itertools

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


def windows(attrs, sizes, kernel):
    """Per axis of space: stride, dilation, padding before and after. `sizes` are Input's."""
    n = len(kernel)
    strides, dilations = attrs.get("strides", [1] * n), attrs.get("dilations", [1] * n)
    p = attrs.get("paddings", [0] * n)
    pads = [(q, q) for q in p] if len(p) == n else list(zip(p[::2], p[1::2], strict=True))
    algorithm = attrs.get("padding_algorithm", "EXPLICIT")
    if algorithm == "VALID":
        pads = [(0, 0)] * n
    if algorithm == "SAME":
        pads, dilations = [], [1] * n  # as Fluid has it
        for i in range(n):
            total = max((-(-sizes[i] // strides[i]) - 1) * strides[i] + kernel[i] - sizes[i], 0)
            pads.append((total // 2, total - total // 2))
    return strides, dilations, pads


def reach_slices(tap, strides, dilations, out):
    return tuple(
        slice(t * d, t * d + (o - 1) * s + 1, s)
        for t, d, s, o in zip(tap, dilations, strides, out, strict=True)
    )


def conv(x, w, attrs):
    """x [N, C, ...], w [M, C / groups, ...]."""
    groups, kernel = attrs.get("groups", 1), w.shape[2:]
    strides, dilations, pads = windows(attrs, x.shape[2:], kernel)
    x = np.pad(x, [(0, 0), (0, 0), *pads])
    out = [
        (size - d * (k - 1) - 1) // s + 1
        for size, k, s, d in zip(x.shape[2:], kernel, strides, dilations, strict=True)
    ]
    y = np.zeros((x.shape[0], w.shape[0], *out), x.dtype)
    ins, outs = x.shape[1] // groups, w.shape[0] // groups
    for g in range(groups):
        for tap in itertools.product(*map(range, kernel)):
            seen = x[:, g * ins : (g + 1) * ins][(..., *reach_slices(tap, strides, dilations, out))]
            part = w[g * outs : (g + 1) * outs][(..., *tap)]
            y[:, g * outs : (g + 1) * outs] += np.einsum("nc...,oc->no...", seen, part)
    return y


def conv_transpose(x, w, attrs):
    """x [N, C, ...], w [C, M / groups, ...]: every number of x is spread over its window."""
    groups, kernel = attrs.get("groups", 1), w.shape[2:]
    strides, dilations, pads = windows(attrs, x.shape[2:], kernel)
    sizes = x.shape[2:]
    full = [
        (i - 1) * s + d * (k - 1) + 1
        for i, s, d, k in zip(sizes, strides, dilations, kernel, strict=True)
    ]
    more = attrs.get("output_padding") or [0] * len(full)
    least = [f - sum(p) + q for f, p, q in zip(full, pads, more, strict=True)]
    wanted = attrs.get("output_size") or least
    room = [max(f, p[0] + o) for f, p, o in zip(full, pads, wanted, strict=True)]
    y = np.zeros((x.shape[0], w.shape[1] * groups, *room), x.dtype)
    ins, outs = x.shape[1] // groups, w.shape[1]
    for g in range(groups):
        for tap in itertools.product(*map(range, kernel)):
            part = w[g * ins : (g + 1) * ins][(..., *tap)]
            spread = np.einsum("nc...,co->no...", x[:, g * ins : (g + 1) * ins], part)
            where = (..., *reach_slices(tap, strides, dilations, sizes))
            y[:, g * outs : (g + 1) * outs][where] += spread
    crop = [slice(p[0], p[0] + o) for p, o in zip(pads, wanted, strict=True)]
    return y[(..., *crop)]


class TestConv2dTranspose(OpTest):
    op_type = "conv2d_transpose"
    x_shape = (2, 3, 4, 3)
    filter_shape = (3, 2, 3, 2)
    attrs = {}
    bias = residual = False
    elementwise = False
    tolerance = {"float32": (1e-4, 1e-4)}

    def setUp(self):
        x, w = rand(*self.x_shape), rand(*self.filter_shape)
        last = self.attrs.get("data_format", "NCHW") in ("NHWC", "NDHWC")
        transposed = "transpose" in self.op_type
        run = conv_transpose if transposed else conv
        y = run(np.moveaxis(x, -1, 1) if last else x, w, self.attrs)
        self.inputs = {"Input": x, "Filter": w}
        if self.bias:
            self.inputs["Bias"] = rand(y.shape[1])
            y = y + self.inputs["Bias"].reshape(-1, *[1] * (y.ndim - 2))
        y = np.moveaxis(y, 1, -1) if last else y
        if self.residual:
            self.inputs["ResidualData"] = rand(*y.shape)
            y = y + self.inputs["ResidualData"]
        self.outputs = {"Output": y}

    def test_check_output(self):
        self.check_output()

    def test_check_grad_of_one(self):
        self.check_grad(["Input"], "Output", no_grad_set={"Filter"})
        self.check_grad(["Filter"], "Output", no_grad_set={"Input"})


class TestStrideAndBias(TestConv2dTranspose):
    attrs = {"strides": [2, 3], "paddings": [1, 0]}
    bias = True


class TestOutputSize(TestConv2dTranspose):
    attrs = {"strides": [2, 3], "paddings": [1, 1], "output_size": [8, 8]}


class TestOutputPadding(TestConv2dTranspose):
    attrs = {"strides": [2, 3], "paddings": [1, 0], "output_padding": [1, 2]}
    bias = True


class TestOutputPaddingLast(TestConv2dTranspose):
    x_shape = (2, 2, 4, 3)
    attrs = {"strides": [3, 2], "output_padding": [2, 0], "data_format": "NHWC"}


class TestOutputSizeBeforePadding(TestConv2dTranspose):
    attrs = {"strides": [2, 2], "output_size": [9, 7], "output_padding": [1, 1]}


class TestFourPaddings(TestConv2dTranspose):
    attrs = {"paddings": [0, 1, 1, 0], "strides": [2, 2]}


class TestSame(TestConv2dTranspose):
    attrs = {"padding_algorithm": "SAME", "strides": [2, 1]}


class TestSameDilated(TestConv2dTranspose):
    attrs = {"padding_algorithm": "SAME", "strides": [2, 1], "dilations": [2, 3]}


class TestValid(TestConv2dTranspose):
    attrs = {"padding_algorithm": "VALID", "paddings": [3, 3]}


class TestGroupsAndDilation(TestConv2dTranspose):
    x_shape = (2, 4, 3, 3)
    filter_shape = (4, 3, 2, 2)
    attrs = {"groups": 2, "dilations": [2, 1]}
    bias = True


class TestChannelsLast(TestConv2dTranspose):
    x_shape = (2, 4, 3, 3)
    attrs = {"data_format": "NHWC", "strides": [2, 2]}
    bias = True


class TestOneByOne(TestConv2dTranspose):
    filter_shape = (3, 4, 1, 1)


class TestDepthwiseTranspose(TestConv2dTranspose):
    op_type = "depthwise_conv2d_transpose"
    filter_shape = (3, 1, 3, 3)
    attrs = {"groups": 3, "strides": [2, 2], "paddings": [1, 1]}


class TestDepthwiseTransposeSameDilated(TestDepthwiseTranspose):
    attrs = {"groups": 3, "padding_algorithm": "SAME", "dilations": [2, 2], "strides": [1, 2]}


class TestDepthwiseTransposeOutputPadding(TestDepthwiseTranspose):
    attrs = {"groups": 3, "strides": [2, 2], "paddings": [1, 1], "output_padding": [0, 1]}


class TestDepthwise(TestConv2dTranspose):
    op_type = "depthwise_conv2d"
    x_shape = (2, 3, 6, 5)
    filter_shape = (6, 1, 3, 3)
    attrs = {"groups": 3, "paddings": [1, 1]}
    bias = residual = True


class TestDepthwiseSameDilated(TestDepthwise):
    attrs = {"groups": 3, "padding_algorithm": "SAME", "dilations": [2, 2]}


class TestConv3d(TestConv2dTranspose):
    op_type = "conv3d"
    x_shape = (2, 2, 4, 3, 4)
    filter_shape = (3, 2, 2, 3, 2)
    residual = True


class TestConv3dAll(TestConv3d):
    x_shape = (1, 4, 5, 4, 4)
    filter_shape = (2, 2, 2, 2, 2)
    attrs = {"groups": 2, "strides": [2, 1, 2], "dilations": [2, 1, 1], "paddings": [1, 0, 1]}
    residual = False


class TestConv3dSixPaddings(TestConv3d):
    attrs = {"paddings": [0, 1, 1, 1, 0, 2]}
    residual = False


class TestConv3dSameLast(TestConv3d):
    x_shape = (2, 3, 3, 4, 2)
    attrs = {"data_format": "NDHWC", "padding_algorithm": "SAME", "strides": [2, 1, 2]}


class TestConv3dSameDilated(TestConv3d):
    attrs = {"padding_algorithm": "SAME", "dilations": [1, 2, 3], "strides": [1, 2, 1]}
    residual = False


class TestConv3dLastAsImages(TestConv3d):
    """Fluid writes the order of volumes by the names of images too."""

    x_shape = (2, 3, 3, 4, 2)
    attrs = {"data_format": "NHWC"}


class TestConv3dFirstAsImages(TestConv3d):
    attrs = {"data_format": "NCHW"}


class TestConv3dPointwise(TestConv3d):
    filter_shape = (4, 2, 1, 1, 1)


class TestConv3dTranspose(TestConv2dTranspose):
    op_type = "conv3d_transpose"
    x_shape = (2, 2, 2, 3, 2)
    filter_shape = (2, 2, 2, 3, 2)


class TestConv3dTransposeAll(TestConv3dTranspose):
    x_shape = (1, 4, 3, 2, 2)
    filter_shape = (4, 1, 2, 2, 2)
    attrs = {
        "groups": 2,
        "strides": [2, 1, 2],
        "paddings": [1, 0, 0],
        "dilations": [1, 2, 1],
        "output_size": [5, 4, 5],
    }


class TestConv3dTransposeLast(TestConv3dTranspose):
    x_shape = (1, 2, 3, 2, 2)
    attrs = {"data_format": "NDHWC", "strides": [1, 2, 1]}


class TestConv3dTransposeLastAsImages(TestConv3dTransposeLast):
    attrs = {"data_format": "NHWC", "strides": [1, 2, 1]}


class TestConv3dTransposeFirstAsImages(TestConv3dTranspose):
    attrs = {"data_format": "NCHW", "strides": [1, 2, 2]}


class TestConv3dTransposeOutputPadding(TestConv3dTranspose):
    attrs = {"strides": [3, 2, 2], "paddings": [0, 1, 1], "output_padding": [2, 0, 1]}


class TestConv3dTransposeSameDilated(TestConv3dTranspose):
    attrs = {"padding_algorithm": "SAME", "dilations": [2, 2, 2], "strides": [2, 1, 1]}


@pytest.mark.parametrize("library", ["", "plain"])
@pytest.mark.parametrize(
    "op,x,w,attrs",
    [
        (
            "conv2d_transpose",
            (2, 16, 9, 8),
            (16, 12, 3, 3),
            {"strides": [2, 3], "output_padding": [1, 2]},
        ),
        (
            "depthwise_conv2d",
            (2, 32, 24, 24),
            (32, 1, 3, 3),
            {"groups": 32, "padding_algorithm": "SAME", "dilations": [2, 2]},
        ),
        (
            "conv3d",
            (2, 8, 6, 9, 8),
            (12, 8, 3, 3, 3),
            {"padding_algorithm": "SAME", "dilations": [2, 2, 2]},
        ),
        ("conv2d_transpose", (2, 16, 9, 8), (16, 12, 3, 3), {"strides": [2, 2]}),
        ("conv2d_transpose", (2, 16, 9, 9), (16, 3, 4, 4), {"strides": [2, 2], "paddings": [1, 1]}),
        ("depthwise_conv2d", (2, 32, 24, 24), (32, 1, 3, 3), {"groups": 32, "paddings": [1, 1]}),
        (
            "depthwise_conv2d_transpose",
            (2, 32, 20, 20),
            (32, 1, 3, 3),
            {"groups": 32, "strides": [2, 2], "output_size": [42, 42]},
        ),
        ("conv3d", (2, 8, 6, 9, 8), (12, 8, 3, 3, 3), {"paddings": [1, 1, 1]}),
        (
            "conv3d",
            (2, 8, 7, 9, 8),
            (12, 4, 2, 3, 3),
            {"groups": 2, "strides": [2, 1, 2], "dilations": [2, 1, 1], "paddings": [1, 0, 1]},
        ),
        ("conv3d", (2, 8, 1, 20, 20), (12, 8, 1, 3, 3), {}),
    ],
)
def test_large_float32(library, op, x, w, attrs):
    """Sizes that a tuned library takes where there is one; gradients by linearity."""
    rng = np.random.RandomState(0)
    x, w = rng.randn(*x).astype("float32"), rng.randn(*w).astype("float32")
    bias = rng.randn(w.shape[1] * attrs.get("groups", 1) if "transpose" in op else w.shape[0])
    slots = {"Input": x, "Filter": w}
    if op == "conv3d":
        bias = np.zeros(1)
    else:
        slots["Bias"] = bias.astype("float32")
    slots = {k: _core.to_variable(v) for k, v in slots.items()}
    for v in slots.values():
        v.stop_gradient = False
    _core.set_flag("kernel_library", library)
    try:
        y = _core.run_op(op, slots, attrs)["Output"]
        run = conv_transpose if "transpose" in op else conv
        exact = run(x.astype("float64"), w.astype("float64"), attrs)
        np.testing.assert_allclose(
            y.numpy(), exact + bias.reshape(-1, *[1] * (x.ndim - 2)), atol=1e-3
        )
        g = rng.randn(*y.shape).astype("float32")
        got = _core.grad([y], list(slots.values()), [_core.to_variable(g)], False, False, True)
    finally:
        _core.set_flag("kernel_library", "")
    # <dy/dx . v, g> for a random direction v, and the sum of g for the bias.
    for at, array in ((0, x), (1, w)):
        v = rng.randn(*array.shape)
        moved = (
            run(v, w.astype("float64"), attrs) if at == 0 else run(x.astype("float64"), v, attrs)
        )
        expected = (moved * g).sum()
        scale = np.abs(moved * g).sum()
        assert abs((got[at].numpy() * v).sum() - expected) < 1e-6 * scale
    if op != "conv3d":
        np.testing.assert_allclose(got[2].numpy(), g.sum((0, 2, 3)), rtol=1e-3, atol=1e-2)


def run_shapes(op, x, w, **attrs):
    slots = {"Input": np.ones(x, "float32"), "Filter": np.ones(w, "float32")}
    return _core.run_op(op, {k: _core.to_variable(v) for k, v in slots.items()}, attrs)["Output"]


def test_wrong_shapes():
    with pytest.raises(ValueError, match="Input must have 5 axes, NCDHW"):
        run_shapes("conv3d", (1, 2, 3, 3), (1, 2, 1, 1, 1))
    with pytest.raises(ValueError, match="strides must hold three numbers"):
        run_shapes("conv3d", (1, 2, 3, 3, 3), (1, 2, 1, 1, 1), strides=[1, 1])
    with pytest.raises(ValueError, match="must fit into the padded input along the depth"):
        run_shapes("conv3d", (1, 2, 1, 3, 3), (1, 2, 2, 1, 1))
    with pytest.raises(ValueError, match="must be those Filter .* begins with, got 2 and 3"):
        run_shapes("conv2d_transpose", (1, 2, 3, 3), (3, 2, 3, 3))
    with pytest.raises(ValueError, match=r"output_size must lie in \[7, 9\) along the height"):
        run_shapes(
            "conv2d_transpose", (1, 2, 3, 3), (2, 1, 3, 3), strides=[2, 2], output_size=[9, 7]
        )
    with pytest.raises(ValueError, match="output_padding must be less than the stride along the w"):
        run_shapes("conv2d_transpose", (1, 2, 3, 3), (2, 1, 3, 3), strides=[2, 1],
                   output_padding=[1, 1])  # fmt: skip
    with pytest.raises(
        ValueError, match=r"output_padding must be \[depth, height, width\] or empty"
    ):
        run_shapes("conv3d_transpose", (1, 2, 3, 3, 3), (2, 1, 3, 3, 3), output_padding=[1])
    with pytest.raises(ValueError, match="Output must have a positive height, got -1"):
        run_shapes("conv2d_transpose", (1, 2, 1, 4), (2, 1, 1, 1), paddings=[1, 1])
    with pytest.raises(ValueError, match="groups must divide the 3 channels"):
        run_shapes("conv2d_transpose", (1, 3, 3, 3), (3, 1, 3, 3), groups=2)
    assert run_shapes("conv2d_transpose", (0, 2, 3, 3), (2, 5, 3, 3)).shape == (0, 5, 5, 5)
