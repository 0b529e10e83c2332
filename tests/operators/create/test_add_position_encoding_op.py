import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


def encoding(positions, width):
    half = width // 2
    rate = 10000.0 ** (-np.arange(half) / max(half - 1, 1)) if half > 1 else np.array([1e-4])
    angle = np.asarray(positions)[:, None] * rate
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=1)


class TestAddPositionEncoding(OpTest):
    def setUp(self):
        self.op_type = "add_position_encoding"
        x = rand(5, 6)
        self.inputs = {"X": (x, [[0, 3, 3, 5]])}
        self.attrs = {"alpha": 0.5, "beta": 2.0}
        out = 0.5 * x + 2.0 * encoding([0, 1, 2, 0, 1], 6)
        self.outputs = {"Out": (out, [[0, 3, 3, 5]])}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestAddPositionEncodingPadded(OpTest):
    def setUp(self):
        self.op_type = "add_position_encoding"
        x = rand(2, 4, 2)
        self.inputs = {"X": x}
        self.outputs = {"Out": x + encoding(range(4), 2)}

    def test_check_output(self):
        self.check_output()


def test_an_odd_width():
    with pytest.raises(ValueError, match="must be even"):
        _core.run_op("add_position_encoding", {"X": _core.to_variable(np.zeros((1, 2, 3)))}, {})
