"""cross_entropy: -log(X[Label])."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, randomize_probability


class TestHard(OpTest):
    attrs = {}
    label_shape = (6, 1)
    elementwise = False
    grad_inputs = ["X"]

    def setUp(self):
        self.op_type = "cross_entropy"
        x = randomize_probability(6, 5, "float64")
        label = np.random.randint(0, 5, self.label_shape).astype("int64")
        if "ignore_index" in self.attrs:
            label.reshape(-1)[2] = self.attrs["ignore_index"]
        flat = label.reshape(-1)
        kept = flat != self.attrs.get("ignore_index", -100)
        loss = np.where(kept, -np.log(x[np.arange(6), np.where(kept, flat, 0)]), 0)
        self.inputs = {"X": x, "Label": label}
        self.outputs = {"Y": loss.reshape(self.label_shape)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Y")


class TestHardWithoutAxis(TestHard):
    label_shape = (6,)


class TestHardOfSteps(TestHard):
    def setUp(self):
        super().setUp()
        self.inputs["X"] = self.inputs["X"].reshape(2, 3, 5)
        for slots, name in ((self.inputs, "Label"), (self.outputs, "Y")):
            slots[name] = slots[name].reshape(2, 3)


class TestHardIgnored(TestHard):
    attrs = {"ignore_index": 5}


class TestSoft(OpTest):
    attrs = {"soft_label": True}
    elementwise = False
    grad_inputs = ["X"]

    def setUp(self):
        self.op_type = "cross_entropy"
        x, label = (randomize_probability(4, 5, "float64") for _ in range(2))
        self.inputs = {"X": x, "Label": label}
        self.outputs = {"Y": -(label * np.log(x)).sum(axis=1, keepdims=True)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Y")


def test_zero_probability_costs_much_but_not_infinity():
    x = _core.to_variable(np.array([[0.0, 1.0]], "float32"))
    y = _core.run_op("cross_entropy", {"X": x, "Label": _core.to_variable(np.array([[0]]))}, {})[
        "Y"
    ]
    np.testing.assert_allclose(y.numpy(), [[1e20]])


def test_label_out_of_range():
    x = _core.to_variable(np.full((2, 3), 1 / 3, "float32"))
    with pytest.raises(IndexError, match=r"class in \[0, 3\).*got 3 at position 0"):
        _core.run_op(
            "cross_entropy", {"X": x, "Label": _core.to_variable(np.array([[3], [0]]))}, {}
        )
