"""cross_entropy2: -log(X[Label])."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, randomize_probability


class TestCrossEntropy2(OpTest):
    ignored, label_shape = -100, (6, 1)
    elementwise, grad_inputs, grad_outputs = False, ["X"], ["Y"]

    def setUp(self):
        self.op_type = "cross_entropy2"
        x = randomize_probability(6, 5, "float64")
        label = np.random.randint(0, 5, self.label_shape).astype("int64")
        label.reshape(-1)[2] = self.ignored if self.ignored != -100 else 1
        flat = label.reshape(-1)
        kept = flat != self.ignored
        match = np.where(kept, x[np.arange(6), np.where(kept, flat, 0)], 1).reshape(6, 1)
        self.inputs, self.attrs = {"X": x, "Label": label}, {"ignore_index": self.ignored}
        self.outputs = {"Y": -np.log(match).reshape(self.label_shape), "MatchX": match}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Y")


class TestCrossEntropy2Ignored(TestCrossEntropy2):
    ignored = 3


class TestCrossEntropy2WithoutAxis(TestCrossEntropy2):
    label_shape = (6,)


class TestCrossEntropyGrad2(OpTest):
    """Fluid's gradient of cross_entropy2, which reads MatchX in place of X."""

    elementwise, grad_inputs, grad_outputs = False, ["MatchX", "Y@GRAD"], ["X@GRAD"]

    def setUp(self):
        self.op_type = "cross_entropy_grad2"
        label = np.array([[[0], [4], [2]], [[2], [1], [3]]])
        match, g = (np.random.uniform(0.2, 1, label.shape) for _ in range(2))
        self.inputs = {
            "XShape": np.zeros((0, 2, 3, 5)), "Label": label, "MatchX": match, "Y@GRAD": g
        }  # fmt: skip
        self.outputs = {"X@GRAD": np.where(np.arange(5) == label, -g / match, 0)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["MatchX", "Y@GRAD"], "X@GRAD")


def test_fluid_s_gradient_is_ours():
    x = _core.to_variable(np.random.uniform(0.1, 1, (3, 4)).astype("float32"))
    x.stop_gradient = False
    label = _core.to_variable(np.array([[1], [9], [0]]))
    attrs = {"ignore_index": 9}
    made = _core.run_op("cross_entropy2", {"X": x, "Label": label}, attrs)
    made["Y"].backward(_core.to_variable(np.float32([[1], [2], [3]])))
    found = _core.run_op(
        "cross_entropy_grad2",
        {
            "XShape": made["XShape"], "Label": label, "MatchX": made["MatchX"],
            "Y@GRAD": _core.to_variable(np.float32([[1], [2], [3]])),
        },
        attrs,
    )  # fmt: skip
    assert found["X@GRAD"].numpy().tolist() == x.gradient().tolist()


def test_fluid_s_gradient_checks_its_shapes():
    ones = _core.to_variable(np.ones((2, 1)))
    inputs = {"Label": _core.to_variable(np.zeros((2, 1), "int64")), "MatchX": ones, "Y@GRAD": ones}
    for shape, text in (((0, 3, 4), "MatchX must have the shape"), ((0, 4), "XShape must be")):
        inputs["XShape"] = _core.to_variable(np.zeros(shape))
        with pytest.raises(ValueError, match=text):
            _core.run_op("cross_entropy_grad2", inputs, {})


def test_shape_is_told_without_elements():
    x, label = _core.to_variable(np.ones((2, 3))), _core.to_variable(np.array([[0], [2]]))
    assert _core.run_op("cross_entropy2", {"X": x, "Label": label}, {})["XShape"].shape == (0, 2, 3)


def test_label_out_of_range():
    x = _core.to_variable(np.full((2, 3), 1 / 3))
    with pytest.raises(IndexError, match=r"class in \[0, 3\).*got -1 at position 0"):
        _core.ops.cross_entropy2(x, _core.to_variable(np.array([[-1], [0]])))
