"""nce: true classes against drawn ones."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestNce(OpTest):
    sampler, extras, sparse, elementwise = 0, True, False, False
    grad_inputs, grad_outputs = ["Input", "Weight", "Bias"], ["Cost"]

    def setUp(self):
        self.op_type = "nce"
        classes, negative = 7, [1, 4, 1]
        x, w, bias = rand(3, 4), rand(classes, 4), rand(classes, 1)
        label = np.array([[0, 2], [3, 6], [1, 5]])
        self.inputs = {"Input": x, "Label": label, "Weight": w, "Bias": bias}
        weights = rand(3, 1, low=0.5, high=2)
        if self.extras:
            self.inputs["SampleWeight"] = weights
        p = np.full(classes, 1 / classes)
        if self.sampler == 1:
            p = np.log((np.arange(classes) + 2) / (np.arange(classes) + 1)) / np.log(classes + 1)
        if self.sampler == 2:
            p = np.arange(1, 8) / 28
            self.inputs.update(
                CustomDistProbs=p,
                CustomDistAlias=np.full(classes, -1, "int32"),
                CustomDistAliasProbs=np.ones(classes),
            )
        self.attrs = {
            "num_total_classes": classes,
            "num_neg_samples": 3,
            "sampler": self.sampler,
            "custom_neg_classes": negative,
            "is_sparse": self.sparse,
        }
        cost = np.zeros((3, 1))
        for i in range(3):
            for k, c in enumerate([*label[i], *negative]):
                o, b = 1 / (1 + np.exp(-(x[i] @ w[c] + bias[c, 0]))), 3 * p[c]
                cost[i] -= np.log((o if k < 2 else b) / (o + b))
        self.outputs = {"Cost": cost * weights if self.extras else cost}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["Input", "Weight", "Bias"], "Cost")


class TestNceLogUniform(TestNce):
    sampler, extras = 1, False


class TestNceCustom(TestNce):
    sampler = 2


class TestNceSparse(TestNce):
    sparse = True
    leave_out = {"second_order": "a gradient of selected rows is not differentiated again"}


def samples(**attrs):
    v = _core.to_variable
    n, classes = 2000, 8
    slots = {"Input": v(np.zeros((n, 1))), "Weight": v(np.zeros((classes, 1)))}
    slots["Label"] = v(np.zeros((n, 1), "int64"))
    if attrs.get("sampler") == 2:
        # Walker's tables of 1/2 for class 3 and 1/14 for the others
        slots["CustomDistProbs"] = v(np.where(np.arange(8) == 3, 0.5, 1 / 14))
        alias = np.where(np.arange(8) == 3, -1, 3).astype("int32")
        slots["CustomDistAlias"] = v(alias)
        slots["CustomDistAliasProbs"] = v(np.where(np.arange(8) == 3, 1, 8 / 14))
    attrs = {"num_total_classes": classes, "num_neg_samples": 5, "seed": 3, **attrs}
    drawn = _core.run_op("nce", slots, attrs)["SampleLabels"].numpy()
    assert (drawn[:, 0] == 0).all()
    return np.bincount(drawn[:, 1:].ravel(), minlength=classes) / (5 * n)


def test_samples_follow_the_distribution():
    np.testing.assert_allclose(samples(), np.full(8, 1 / 8), atol=0.02)
    expected = np.log((np.arange(8) + 2) / (np.arange(8) + 1)) / np.log(9)
    np.testing.assert_allclose(samples(sampler=1), expected, atol=0.02)
    expected = np.where(np.arange(8) == 3, 0.5, 1 / 14)
    np.testing.assert_allclose(samples(sampler=2), expected, atol=0.02)


def test_seed_fixes_the_samples():
    assert (samples() == samples()).all()
    assert (samples() != samples(seed=4)).any()


def test_wrong_inputs():
    v = _core.to_variable
    x, w = v(np.zeros((1, 2))), v(np.zeros((3, 2)))
    with pytest.raises(IndexError, match=r"Label must hold classes in \[0, 3\), got 3"):
        _core.ops.nce(x, v(np.array([[3]])), w, num_total_classes=3)
    with pytest.raises(TypeError, match="Label must be of int32 or int64"):
        _core.ops.nce(x, v(np.array([[0.0]])), w, num_total_classes=3)
    with pytest.raises(ValueError, match="num_total_classes = 4"):
        _core.ops.nce(x, v(np.array([[0]])), w, num_total_classes=4)
    with pytest.raises(ValueError, match="sampler 2 needs CustomDistProbs"):
        _core.ops.nce(x, v(np.array([[0]])), w, num_total_classes=3, sampler=2)
