import numpy as np
import pytest

import dygraph
from dygraph import ops
from op_test import OpTest, rand


def pyramid(x, height, kind):
    columns = []
    for level in range(height):
        n = 2**level
        size = [-(-s // n) for s in x.shape[2:]]
        pad = [(k * n - s + 1) // 2 for k, s in zip(size, x.shape[2:], strict=True)]
        for c in range(x.shape[1]):
            for i in range(n):
                for j in range(n):
                    top, left = i * size[0] - pad[0], j * size[1] - pad[1]
                    part = x[:, c, max(top, 0) : top + size[0], max(left, 0) : left + size[1]]
                    columns.append(part.max((1, 2)) if kind == "max" else part.mean((1, 2)))
    return np.stack(columns, 1)


class TestSpp(OpTest):
    op_type = "spp"
    attrs = {"pyramid_height": 3, "pooling_type": "max"}
    leave_out = {"empty": "NumPy's mean of nothing"}

    def setUp(self):
        values = np.random.permutation(2 * 3 * 7 * 6).reshape(2, 3, 7, 6)
        self.inputs = {"X": values / 50.0}

    def reference(self, inputs, attrs):
        return {"Out": pyramid(inputs["X"], attrs["pyramid_height"], attrs["pooling_type"])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestSppAverage(TestSpp):
    attrs = {"pyramid_height": 2, "pooling_type": "avg"}

    def setUp(self):
        self.inputs = {"X": rand(2, 2, 5, 4)}


def test_windows_beyond_the_image_are_refused():
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="smaller pyramid_height"):
        ops.spp(dygraph.ones([1, 1, 7, 5]), pyramid_height=3)
