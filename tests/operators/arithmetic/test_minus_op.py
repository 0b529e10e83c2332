"""minus: X - Y of one shape. increment: one number and a step."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestMinus(OpTest):
    def setUp(self):
        self.op_type = "minus"
        x, y = rand(3, 4), rand(3, 4)
        self.inputs = {"X": x, "Y": y}
        self.outputs = {"Out": x - y}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X", "Y"], "Out")

    def test_shapes_must_be_equal(self):
        x, y = _core.to_variable(np.ones((2, 3))), _core.to_variable(np.ones(3))
        with pytest.raises(ValueError, match=r"minus: .* one shape.*\[2, 3\].*\[3\]"):
            _core.ops.minus(x, y)


class TestIncrement(OpTest):
    def setUp(self):
        self.op_type = "increment"
        self.inputs = {"X": rand(1)}
        self.attrs = {"step": 2.5}
        self.outputs = {"Out": self.inputs["X"] + 2.5}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")

    def test_whole_numbers(self):
        for dtype in ("int32", "int64"):
            x = _core.to_variable(np.array([5], dtype))
            assert _core.ops.increment(x).numpy().tolist() == [6]
            assert _core.ops.increment(x, step=-2.0).numpy().tolist() == [3]

    def test_more_than_one_number_is_refused(self):
        with pytest.raises(ValueError, match=r"increment: X must have one element.*\[2\]"):
            _core.ops.increment(_core.to_variable(np.ones(2)))
