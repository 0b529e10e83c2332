"""pool2d against loops over windows."""

import itertools

import numpy as np
import pytest

import dygraph
from dygraph import _core
from op_test import OpTest


def pool2d(x, attrs):
    last = attrs.get("data_format") == "NHWC"
    if last:
        x = x.transpose(0, 3, 1, 2)
    size = x.shape[2:]
    k = list(attrs["ksize"])
    s = attrs.get("strides", [1, 1])
    p = attrs.get("paddings", [0, 0])
    pads = [(p[0], p[0]), (p[1], p[1])] if len(p) == 2 else [(p[0], p[1]), (p[2], p[3])]
    algorithm = attrs.get("padding_algorithm", "EXPLICIT")
    if algorithm == "VALID":
        pads = [(0, 0), (0, 0)]
    if algorithm == "SAME":
        totals = [max((-(-size[i] // s[i]) - 1) * s[i] + k[i] - size[i], 0) for i in range(2)]
        pads = [(t // 2, t - t // 2) for t in totals]
    windows = []
    for i in range(2):
        if attrs.get("global_pooling"):
            windows.append([(0, size[i], size[i])])
        elif attrs.get("adaptive"):
            n = k[i]
            spans = [(o * size[i] // n, -(-(o + 1) * size[i] // n)) for o in range(n)]
            windows.append([(a, b, b - a) for a, b in spans])
        else:
            room = size[i] + sum(pads[i]) - k[i] + (s[i] - 1 if attrs.get("ceil_mode") else 0)
            spans = [o * s[i] - pads[i][0] for o in range(room // s[i] + 1)]
            cut = [(max(a, 0), min(a + k[i], size[i])) for a in spans]
            exclusive = attrs.get("exclusive", True)
            windows.append([(a, b, b - a if exclusive else k[i]) for a, b in cut])
    out = np.zeros((*x.shape[:2], len(windows[0]), len(windows[1])), x.dtype)
    for i, (h0, h1, hs) in enumerate(windows[0]):
        for j, (w0, w1, ws) in enumerate(windows[1]):
            patch = x[:, :, h0:h1, w0:w1]
            if attrs["pooling_type"] == "max":
                out[:, :, i, j] = patch.max((2, 3))
            else:
                out[:, :, i, j] = patch.sum((2, 3)) / (hs * ws)
    return out.transpose(0, 2, 3, 1) if last else out


class TestMax(OpTest):
    shape = (2, 3, 6, 7)
    pooling_type = "max"
    options = {"ksize": [2, 2], "strides": [2, 2]}
    elementwise = False

    def setUp(self):
        self.op_type = "pool2d"
        # Distinct values: differences of a maximum need a clear winner.
        x = np.random.permutation(np.prod(self.shape)).reshape(self.shape) / 10.0
        self.inputs = {"X": x}
        self.attrs = {"pooling_type": self.pooling_type, **self.options}
        self.outputs = {"Out": pool2d(x, self.attrs)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestAvg(TestMax):
    pooling_type = "avg"


class TestMaxOverlap(TestMax):
    options = {"ksize": [3, 3], "strides": [2, 1], "paddings": [1, 1]}


class TestAvgOverlap(TestMaxOverlap):
    pooling_type = "avg"


class TestAvgInclusive(TestMax):
    pooling_type = "avg"
    options = {"ksize": [3, 3], "strides": [2, 1], "paddings": [1, 1], "exclusive": False}


class TestMaxFourPaddings(TestMax):
    options = {"ksize": [3, 3], "strides": [1, 2], "paddings": [0, 1, 2, 1]}


class TestAvgCeil(TestMax):
    pooling_type = "avg"
    options = {"ksize": [2, 2], "strides": [2, 2], "ceil_mode": True}


class TestMaxCeil(TestAvgCeil):
    pooling_type = "max"


class TestMaxSame(TestMax):
    options = {"ksize": [3, 2], "strides": [2, 2], "padding_algorithm": "SAME"}


class TestAvgValid(TestMax):
    pooling_type = "avg"
    options = {"ksize": [3, 2], "paddings": [1, 1], "padding_algorithm": "VALID"}


class TestMaxGlobal(TestMax):
    options = {"ksize": [1, 1], "global_pooling": True}


class TestAvgGlobal(TestMaxGlobal):
    pooling_type = "avg"


class TestMaxAdaptive(TestMax):
    options = {"ksize": [3, 2], "adaptive": True}


class TestAvgAdaptive(TestMaxAdaptive):
    pooling_type = "avg"


class TestMaxChannelsLast(TestMax):
    options = {"ksize": [2, 3], "strides": [2, 2], "data_format": "NHWC"}


class TestAvgChannelsLast(TestMaxChannelsLast):
    pooling_type = "avg"


class TestManyChannels(TestMax):
    """More channels than one vector, an odd number."""

    shape = (1, 37, 4, 4)


def run(x, **attrs):
    v = _core.to_variable(x)
    v.stop_gradient = False
    return v, _core.run_op("pool2d", {"X": v}, attrs)["Out"]


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_first_of_equals_gets_the_gradient(layout):
    v = _core.to_layout(_core.to_variable(np.ones((1, 1, 2, 2), "float32")), layout)
    v.stop_gradient = False
    out = _core.run_op("pool2d", {"X": v}, {"pooling_type": "max", "ksize": [2, 2]})["Out"]
    grad = _core.grad([out], [v], [], False, False, True)[0]
    np.testing.assert_array_equal(grad.numpy(), [[[[1, 0], [0, 0]]]])


def test_nan_wins():
    x = np.zeros((1, 1, 2, 4), "float32")
    x[0, 0, 1, 0] = np.nan
    out = run(x, pooling_type="max", ksize=[2, 2], strides=[2, 2])[1].numpy()
    assert np.isnan(out[0, 0, 0, 0]) and out[0, 0, 0, 1] == 0


@pytest.mark.parametrize("level", [1, 3, 0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "shape",
    [(1, 6, 28, 28), (2, 3, 6, 150), (1, 2, 5, 33), (1, 1, 2, 2), (3, 5, 4, 7), (1, 1, 3, 65)],
)
def test_pairs_of_pixels(shape, dtype, level):
    """Windows of 2 x 2 side by side, with rows that fill no vector; NumPy's maximum has NaN win."""
    x = np.random.default_rng(2).integers(-9, 9, shape).astype(dtype)
    x.flat[:: x.size // 4 + 1] = np.nan
    x.flat[1 :: x.size // 3 + 1] = np.inf
    x.flat[2 :: x.size // 3 + 1] = -np.inf
    n, c, h, w = shape
    whole = x[:, :, : h // 2 * 2, : w // 2 * 2]
    want = whole.reshape(n, c, h // 2, 2, w // 2, 2).max((3, 5))
    before = dygraph.get_flags(["FLAGS_cpu_level"])
    dygraph.set_flags({"FLAGS_cpu_level": level})
    try:
        got = run(x, pooling_type="max", ksize=[2, 2], strides=[2, 2])[1].numpy()
    finally:
        dygraph.set_flags(before)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    "attrs,message",
    [
        ({"ksize": [5, 1]}, "window must fit"),
        ({"ksize": [2, 2], "strides": [0, 1]}, "strides must be at least 1"),
        ({"ksize": [2, 2], "paddings": [2, 0]}, "paddings must be smaller than ksize"),
        ({"ksize": [2, 2], "paddings": [-1, 0]}, "paddings must be at least 0"),
        ({"ksize": [0, 2]}, "ksize must be positive"),
        ({"ksize": [2]}, "ksize must hold two numbers"),
        ({"ksize": [2, 2], "pooling_type": "sum"}, "must be one of 'max', 'avg'"),
    ],
)
def test_wrong_geometry(attrs, message):
    with pytest.raises(ValueError, match=message):
        run(np.ones((1, 1, 4, 4), "float32"), **attrs)
    with pytest.raises(ValueError, match="X must have 4 axes"):
        run(np.ones((1, 4, 4), "float32"), ksize=[2, 2])


def windows_of(size, kernel, stride, pad, ceil):
    room = size + 2 * pad - kernel + (stride - 1 if ceil else 0)
    starts = [o * stride - pad for o in range(room // stride + 1)]
    return [(max(a, 0), min(a + kernel, size)) for a in starts]


def gradient_by_hand(x, dy, geometry, maximum):
    """One window after another."""
    kernel, stride, pad, ceil = geometry
    rows, columns = (windows_of(size, kernel, stride, pad, ceil) for size in x.shape[2:])
    dx = np.zeros_like(x)
    for n, c, (i, (h0, h1)), (j, (w0, w1)) in itertools.product(
        range(x.shape[0]), range(x.shape[1]), enumerate(rows), enumerate(columns)
    ):
        window = x[n, c, h0:h1, w0:w1]
        if maximum:  # of NumPy: the first of equals, and the first NaN before all
            h, w = np.unravel_index(window.argmax(), window.shape)
            dx[n, c, h0 + h, w0 + w] += dy[n, c, i, j]
        else:
            dx[n, c, h0:h1, w0:w1] += dy[n, c, i, j] / window.size
    return dx


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("maximum", [True, False])
@pytest.mark.parametrize(
    "shape, geometry",
    [  # kernel, stride, padding, ceil_mode
        ((2, 3, 6, 150), (2, 2, 0, False)),
        ((1, 2, 5, 131), (2, 2, 0, False)),  # a row and a column left over
        ((1, 2, 5, 37), (2, 2, 0, True)),  # cut windows
        ((1, 20, 9, 11), (3, 2, 1, False)),
        ((1, 70, 8, 13), (3, 2, 1, False)),  # more channels than are worked on together
        ((1, 70, 9, 6), (3, 2, 0, True)),
        ((2, 2, 7, 600), (3, 2, 1, False)),  # a row is more than one piece
        ((1, 3, 9, 40), (3, 3, 0, False)),
        ((1, 1, 8, 30), (4, 1, 2, False)),
        ((1, 2, 7, 7), (7, 1, 0, False)),
        ((1, 2, 3, 1200), (3, 1, 1, False)),
    ],
)
def test_gradient_by_hand(shape, geometry, maximum, dtype, layout):
    """Ties, NaN and infinity, sizes that fill no vector, with small whole numbers: sums are exact
    but for the division of an average."""
    rng = np.random.default_rng(3)
    x = rng.integers(-3, 4, shape).astype(dtype)
    x.flat[:: x.size // 7] = np.nan
    x.flat[3 :: x.size // 5] = np.inf
    x.flat[6 :: x.size // 6] = -np.inf
    kernel, stride, pad, ceil = geometry
    v = _core.to_layout(_core.to_variable(x), layout)
    v.stop_gradient = False
    attrs = {
        "pooling_type": "max" if maximum else "avg",
        "ksize": [kernel, kernel],
        "strides": [stride, stride],
        "paddings": [pad, pad],
        "ceil_mode": ceil,
    }
    out = _core.run_op("pool2d", {"X": v}, attrs)["Out"]
    dy = rng.integers(-8, 9, out.shape).astype(dtype)
    grad = _core.grad([out], [v], [_core.to_variable(dy)], False, False, True)[0].numpy()
    want = gradient_by_hand(x, dy, geometry, maximum)
    if maximum:
        np.testing.assert_array_equal(grad, want)
    else:
        np.testing.assert_allclose(
            grad, want, rtol=1e-5, atol=1e-5 if dtype == "float32" else 1e-12
        )


@pytest.mark.parametrize("shape", [(2, 3, 7, 7), (1, 5, 33, 65), (1, 2, 1, 5)])
def test_average_of_large_windows(shape):
    x = np.random.default_rng(4).integers(-9, 9, shape).astype("float32")
    out = run(x, pooling_type="avg", ksize=[1, 1], global_pooling=True)[1].numpy()
    np.testing.assert_allclose(out, x.mean((2, 3), keepdims=True, dtype="float64"), rtol=1e-6)
    half = run(x, pooling_type="avg", ksize=[1, 2], adaptive=True)[1].numpy()
    middle = -(-shape[3] // 2), shape[3] // 2
    parts = [x[..., : middle[0]], x[..., middle[1] :]]
    want = np.stack([p.mean((2, 3), dtype="float64") for p in parts], -1)[:, :, None]
    np.testing.assert_allclose(half, want, rtol=1e-6)
