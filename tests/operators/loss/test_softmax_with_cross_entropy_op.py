"""softmax_with_cross_entropy: -log(softmax(Logits)[Label])."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


def log_softmax(x, axis):
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


class TestHard(OpTest):
    shape = (5, 4)
    attrs = {}
    label_type = "int64"
    squeezed = False
    elementwise = False
    grad_inputs = ["Logits"]

    def setUp(self):
        self.op_type = "softmax_with_cross_entropy"
        axis = self.attrs.get("axis", -1)
        label_shape = list(self.shape)
        label_shape[axis] = 1
        label = np.random.randint(0, self.shape[axis], label_shape).astype(self.label_type)
        if self.attrs.get("ignore_index") is not None:
            label.reshape(-1)[1] = self.attrs["ignore_index"]
        logits = rand(*self.shape, low=-2, high=2)
        log = log_softmax(logits, axis)
        ignored = label == self.attrs.get("ignore_index", -100)
        loss = -np.take_along_axis(log, np.where(ignored, 0, label).astype("int64"), axis)
        self.inputs = {"Logits": logits, "Label": label.squeeze(axis) if self.squeezed else label}
        self.outputs = {"Softmax": np.exp(log), "Loss": np.where(ignored, 0, loss)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["Logits"], "Loss")

    def test_check_grad_through_softmax(self):
        self.check_grad(["Logits"], ["Softmax", "Loss"])
        self.check_grad(["Logits"], ["Softmax"])


class TestHardInt32(TestHard):
    label_type = "int32"


class TestHardWithoutAxis(TestHard):
    squeezed = True


class TestHardIgnored(TestHard):
    attrs = {"ignore_index": 7}


class TestHardIgnoredNegative(TestHard):
    attrs = {"ignore_index": -1}


class TestHardMiddleAxis(TestHard):
    shape = (3, 5, 2, 2)
    attrs = {"axis": 1}


class TestHardWide(TestHard):
    shape = (3, 70)


class TestSoft(OpTest):
    shape = (4, 5)
    attrs = {"soft_label": True}
    elementwise = False
    grad_inputs = ["Logits"]

    def setUp(self):
        self.op_type = "softmax_with_cross_entropy"
        axis = self.attrs.get("axis", -1)
        logits, label = rand(*self.shape, low=-2, high=2), rand(*self.shape, low=0, high=1)
        log = log_softmax(logits, axis)
        self.inputs = {"Logits": logits, "Label": label}
        self.outputs = {
            "Softmax": np.exp(log),
            "Loss": -(label * log).sum(axis=axis, keepdims=True),
        }

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["Logits"], "Loss")

    def test_check_grad_through_softmax(self):
        self.check_grad(["Logits"], ["Softmax", "Loss"])


class TestSoftMiddleAxis(TestSoft):
    shape = (2, 5, 3)
    attrs = {"soft_label": True, "axis": 1}


def probabilities(*shape, axis=-1):
    p = rand(*shape, low=0.2, high=1.0)
    return p / p.sum(axis=axis, keepdims=True)


class TestProbabilities(TestHard):
    """use_softmax=False: Logits are probabilities, Softmax is Logits."""

    attrs = {"use_softmax": False}

    def setUp(self):
        super().setUp()
        axis, label = self.attrs.get("axis", -1), self.inputs["Label"]
        p = probabilities(*self.shape, axis=axis)
        ignored = label == self.attrs.get("ignore_index", -100)
        picked = np.take_along_axis(p, np.where(ignored, 0, label).astype("int64"), axis)
        self.inputs["Logits"] = p
        self.outputs = {"Softmax": p, "Loss": np.where(ignored, 0, -np.log(picked))}


class TestProbabilitiesIgnored(TestProbabilities):
    attrs = {"use_softmax": False, "ignore_index": 2}


class TestProbabilitiesMiddleAxis(TestProbabilities):
    shape, attrs = (3, 5, 2, 2), {"use_softmax": False, "axis": 1}


class TestSoftProbabilities(TestSoft):
    attrs = {"soft_label": True, "use_softmax": False, "axis": 1}
    shape = (2, 5, 3)

    def setUp(self):
        super().setUp()
        p, label = probabilities(*self.shape, axis=1), self.inputs["Label"]
        self.inputs["Logits"] = p
        self.outputs = {"Softmax": p, "Loss": -(label * np.log(p)).sum(axis=1, keepdims=True)}


def run(logits, label, **attrs):
    slots = {"Logits": _core.to_variable(logits), "Label": _core.to_variable(label)}
    return _core.run_op("softmax_with_cross_entropy", slots, attrs)


@pytest.mark.parametrize("label", [10, -1, 2**40])
def test_label_out_of_range(label):
    labels = np.array([[1], [label]], "int64")
    with pytest.raises(IndexError, match=rf"class in \[0, 10\).*got {label} at position 1"):
        run(np.zeros((2, 10), "float32"), labels)


def test_wrong_labels():
    logits = np.zeros((2, 10), "float32")
    with pytest.raises(ValueError, match=r"Label must have the shape \[2, 1\] or \[2\]"):
        run(logits, np.zeros((3, 1), "int64"))
    with pytest.raises(TypeError, match="int64 or int32"):
        run(logits, np.zeros((2, 1), "float32"))
    with pytest.raises(ValueError, match=r"shape of Logits \[2, 10\], got \[2, 1\]"):
        run(logits, np.zeros((2, 1), "float32"), soft_label=True)


def test_large_logits_stay_finite():
    loss = run(np.array([[1e4, -1e4]], "float32"), np.array([[1]], "int64"))["Loss"].numpy()
    np.testing.assert_allclose(loss, [[2e4]], rtol=1e-6)
