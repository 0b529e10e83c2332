"""pool3d, max pooling with positions, and unpool, against loops over windows."""

import itertools

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


def bounds(size, i, attrs):
    """(begin, end, count) of each window along axis i of space."""
    if attrs.get("global_pooling"):
        return [(0, size, size)]
    k = attrs["ksize"][i]
    if attrs.get("adaptive"):
        ends = [(o * size // k, -(-(o + 1) * size // k)) for o in range(k)]
        return [(b, e, e - b) for b, e in ends]
    stride = attrs.get("strides", [1] * 3)[i]
    n = len(attrs["ksize"])
    p = attrs.get("paddings", [0] * n)
    before, after = (p[i], p[i]) if len(p) == n else (p[2 * i], p[2 * i + 1])
    if attrs.get("padding_algorithm") == "SAME":
        total = max((-(-size // stride) - 1) * stride + k - size, 0)
        before, after = total // 2, total - total // 2
    room = size + before + after - k
    count = (-(-room // stride) if attrs.get("ceil_mode") else room // stride) + 1
    result = []
    for o in range(count):
        begin, end = o * stride - before, min(o * stride - before + k, size)
        begin = max(begin, 0)
        result.append((begin, end, end - begin if attrs.get("exclusive", True) else k))
    return result


def pool(x, attrs):
    """(pooled, positions of maxima) of x [N, C, ...]."""
    last = attrs.get("data_format") == "NDHWC"
    x = np.moveaxis(x, -1, 1) if last else x
    space = x.shape[2:]
    axes = [bounds(size, i, attrs) for i, size in enumerate(space)]
    shape = [len(a) for a in axes]
    out, where = np.zeros((*x.shape[:2], *shape)), np.zeros((*x.shape[:2], *shape), "int32")
    for at in itertools.product(*map(range, shape)):
        box = [axes[i][o] for i, o in enumerate(at)]
        window = x[(..., *[slice(b, e) for b, e, _ in box])]
        flat = window.reshape(*x.shape[:2], -1)
        if attrs.get("pooling_type", "max") == "max":
            out[(..., *at)] = flat.max(-1)
        else:
            out[(..., *at)] = flat.sum(-1) / np.prod([c for _, _, c in box])
        inside = np.unravel_index(flat.argmax(-1), window.shape[2:])
        absolute = [i + b for i, (b, _, _) in zip(inside, box, strict=True)]
        where[(..., *at)] = np.ravel_multi_index(absolute, space)
    return (np.moveaxis(out, 1, -1) if last else out), where


class TestPool3d(OpTest):
    op_type = "pool3d"
    shape = (2, 2, 4, 3, 4)
    attrs = {"ksize": [2, 2, 3]}
    elementwise = False

    def setUp(self):
        # All different by more than the steps of numeric gradients.
        x = np.random.permutation(int(np.prod(self.shape))).reshape(self.shape) / 10.0
        out, where = pool(x, self.attrs)
        self.inputs = {"X": x}
        self.outputs = {"Out": out}
        if "index" in self.op_type:
            self.outputs["Mask"] = where
            self.grad_outputs = ["Out"]

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestAverage(TestPool3d):
    attrs = {"ksize": [2, 2, 2], "pooling_type": "avg", "strides": [2, 1, 2], "paddings": [1, 0, 1]}


class TestAverageInclusive(TestPool3d):
    attrs = {"ksize": [2, 2, 2], "pooling_type": "avg", "paddings": [1, 1, 0], "exclusive": False}


class TestCeil(TestPool3d):
    attrs = {"ksize": [3, 2, 3], "strides": [2, 2, 2], "ceil_mode": True}


class TestSixPaddings(TestPool3d):
    attrs = {"ksize": [2, 3, 2], "paddings": [0, 1, 1, 0, 1, 1], "strides": [2, 1, 1]}


class TestSame(TestPool3d):
    attrs = {"ksize": [3, 2, 2], "padding_algorithm": "SAME", "strides": [2, 2, 1]}


class TestGlobal(TestPool3d):
    attrs = {"ksize": [1, 1, 1], "global_pooling": True, "pooling_type": "avg"}


class TestAdaptiveMax(TestPool3d):
    attrs = {"ksize": [3, 2, 3], "adaptive": True}


class TestAdaptiveAverage(TestPool3d):
    attrs = {"ksize": [3, 2, 1], "adaptive": True, "pooling_type": "avg"}


class TestLastMax(TestPool3d):
    attrs = {"ksize": [2, 2, 2], "data_format": "NDHWC"}


class TestLastAverage(TestPool3d):
    attrs = {"ksize": [2, 2, 2], "data_format": "NDHWC", "pooling_type": "avg"}


class TestIndex2d(TestPool3d):
    op_type = "max_pool2d_with_index"
    shape = (2, 3, 5, 4)
    attrs = {"ksize": [2, 2], "strides": [2, 1], "paddings": [1, 0]}


class TestIndex2dAdaptive(TestIndex2d):
    attrs = {"ksize": [3, 3], "adaptive": True}


class TestIndex2dGlobal(TestIndex2d):
    attrs = {"ksize": [1, 1], "global_pooling": True}


class TestIndex3d(TestPool3d):
    op_type = "max_pool3d_with_index"
    attrs = {"ksize": [2, 2, 2], "strides": [1, 1, 2], "paddings": [1, 1, 0]}


class TestUnpool(OpTest):
    grad_inputs = ["X"]
    elementwise = False
    attrs = {"ksize": [2, 2], "strides": [2, 2], "unpooling_type": "max"}

    def setUp(self):
        self.op_type = "unpool"
        image = np.random.permutation(2 * 3 * 24).reshape(2, 3, 4, 6).astype("float64")
        x, where = pool(image, self.attrs)
        out = np.zeros((2, 3, 24))
        for n, c in np.ndindex(2, 3):
            out[n, c, where[n, c].ravel()] = x[n, c].ravel()
        self.inputs = {"X": x, "Indices": where}
        self.outputs = {"Out": out.reshape(2, 3, 4, 6)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestUnpoolTwice(OpTest):
    """Two numbers for one place: the last counts, and it alone has a gradient."""

    grad_inputs = ["X"]
    elementwise = False
    attrs = {"ksize": [2, 2], "strides": [1, 1]}

    def setUp(self):
        self.op_type = "unpool"
        x, where = rand(1, 1, 1, 3), np.array([4, 4, 0], "int32").reshape(1, 1, 1, 3)
        out = np.zeros((1, 1, 2, 4))
        out[0, 0, 1, 0], out[0, 0, 0, 0] = x[0, 0, 0, 1], x[0, 0, 0, 2]
        self.inputs, self.outputs = {"X": x, "Indices": where}, {"Out": out}

    def test_check_output(self):
        self.check_output()


class TestUnpoolOutputSize(OpTest):
    grad_inputs = ["X"]
    elementwise = False

    def setUp(self):
        self.op_type = "unpool"
        x, where = rand(1, 2, 1, 2), np.array([0, 13, 5, 14], "int32").reshape(1, 2, 1, 2)
        out = np.zeros((1, 2, 15))
        out[0, [0, 0, 1, 1], where.ravel()] = x.ravel()
        self.attrs = {"ksize": [2, 2], "strides": [2, 2], "output_size": [3, 5]}
        self.inputs = {"X": x, "Indices": where}
        self.outputs = {"Out": out.reshape(1, 2, 3, 5)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestUnpoolOutputSizeZero(TestUnpool):
    """Paddle's default says nothing."""

    attrs = {"ksize": [2, 2], "strides": [2, 2], "output_size": [0, 0]}


def test_nan_wins():
    x = np.zeros((1, 1, 2, 2, 2), "float32")
    x[0, 0, 1, 0, 1] = np.nan
    x[0, 0, 1, 1, 1] = 3
    got = _core.run_op("max_pool3d_with_index", {"X": _core.to_variable(x)}, {"ksize": [2, 2, 2]})
    assert np.isnan(got["Out"].numpy()).all() and got["Mask"].numpy().ravel().tolist() == [5]


def test_wrong_input():
    x = _core.to_variable(np.ones((1, 1, 2, 2), "float32"))
    index = _core.to_variable(np.full((1, 1, 2, 2), 16, "int32"))
    with pytest.raises(IndexError, match=r"Indices must lie in \[0, 16\), .* got 16"):
        _core.run_op("unpool", {"X": x, "Indices": index}, {"ksize": [2, 2], "strides": [2, 2]})
    with pytest.raises(TypeError, match="Indices must be of int32"):
        _core.run_op("unpool", {"X": x, "Indices": x}, {"ksize": [2, 2]})
    with pytest.raises(ValueError, match="X must have 5 axes, NCDHW"):
        _core.run_op("pool3d", {"X": x}, {"ksize": [1, 1, 1]})
    with pytest.raises(ValueError, match="ksize must hold two numbers"):
        _core.run_op("max_pool2d_with_index", {"X": x}, {"ksize": [1]})
    with pytest.raises(ValueError, match="paddings must be smaller than ksize"):
        _core.run_op("max_pool2d_with_index", {"X": x}, {"ksize": [1, 1], "paddings": [1, 1]})
