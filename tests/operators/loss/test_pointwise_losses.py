"""Losses of a score and a label, or of two scores, element by element, against their formulas."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, away_from, rand


def softplus(x):
    return np.logaddexp(0, x)


def bits(*shape):
    return np.random.randint(0, 2, shape).astype("float64")


class TestLogits(OpTest):
    attrs, elementwise, grad_inputs = {}, True, ["X"]

    def setUp(self):
        self.op_type = "sigmoid_cross_entropy_with_logits"
        label = rand(4, 5, low=0, high=1)
        label[0, 1] = label[2, 3] = self.attrs.get("ignore_index", 0)
        self.inputs = {"X": rand(4, 5, low=-4, high=4), "Label": label}

    def reference(self, inputs, attrs):
        x, y = inputs["X"], inputs["Label"]
        kept = y != attrs.get("ignore_index", -100)
        loss = np.where(kept, -y * -softplus(-x) + (1 - y) * softplus(x), 0)
        return {"Out": loss / max(kept.sum(), 1) if attrs.get("normalize") else loss}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestLogitsIgnored(TestLogits):
    attrs = {"ignore_index": -1}


class TestLogitsNormalized(TestLogits):
    attrs = {"ignore_index": -1, "normalize": True}


class TestLogLoss(OpTest):
    elementwise, grad_inputs = True, ["Predicted"]

    def setUp(self):
        self.op_type = "log_loss"
        self.inputs = {"Predicted": rand(6, 1, low=0.1, high=0.9), "Labels": bits(6, 1)}
        self.attrs = {"epsilon": 0.125}

    def reference(self, inputs, attrs):
        p, y, e = inputs["Predicted"], inputs["Labels"], attrs["epsilon"]
        return {"Loss": -y * np.log(p + e) - (1 - y) * np.log(1 - p + e)}

    def test_check_grad(self):
        self.check_grad(["Predicted"], "Loss")


class TestBceLoss(OpTest):
    elementwise, grad_inputs = True, ["X"]

    def setUp(self):
        self.op_type = "bce_loss"
        self.inputs = {"X": rand(3, 4, low=0.1, high=0.9), "Label": rand(3, 4, low=0, high=1)}

    def reference(self, inputs, attrs):
        x, y = inputs["X"], inputs["Label"]
        return {"Out": -y * np.log(x) - (1 - y) * np.log(1 - x)}

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestHingeLoss(OpTest):
    elementwise, grad_inputs = True, ["Logits"]

    def setUp(self):
        self.op_type = "hinge_loss"
        logits = away_from(1, away_from(-1, rand(8, 1, low=-2, high=2)))
        self.inputs = {"Logits": logits, "Labels": bits(8, 1)}

    def reference(self, inputs, attrs):
        sign = 2 * inputs["Labels"] - 1
        return {"Loss": np.maximum(0, 1 - sign * inputs["Logits"])}

    def test_check_grad(self):
        self.check_grad(["Logits"], "Loss")


class TestModifiedHuberLoss(OpTest):
    elementwise, grad_inputs = True, ["X"]

    def setUp(self):
        self.op_type = "modified_huber_loss"
        x = away_from(1, away_from(-1, rand(12, 1, low=-3, high=3)))
        self.inputs = {"X": x, "Y": bits(12, 1)}

    def reference(self, inputs, attrs):
        v = (2 * inputs["Y"] - 1) * inputs["X"]
        out = np.where(v < -1, -4 * v, np.maximum(0, 1 - v) ** 2)
        return {"IntermediateVal": v, "Out": out}

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestTeacherStudent(OpTest):
    elementwise, grad_inputs = True, ["X"]

    def setUp(self):
        self.op_type = "teacher_student_sigmoid_loss"
        label = np.array([[-2.0], [-2], [-1], [-0.5], [0.3], [0.9], [1.2], [1.8]])
        self.inputs = {"X": rand(8, 1, low=-4, high=4), "Label": label}

    def reference(self, inputs, attrs):
        x, y = inputs["X"], inputs["Label"]
        clicked = (y >= -1) & (y < 0) | (y >= 1)
        teacher = np.where(y >= 1, y - 1, y)
        loss = softplus(x) - np.where(clicked, x, 0)
        return {"Y": loss + np.where(y >= 0, softplus(x) - x * teacher, 0)}

    def test_check_grad(self):
        self.check_grad(["X"], "Y")


class TestHuberLoss(OpTest):
    elementwise = True

    def setUp(self):
        self.op_type = "huber_loss"
        r = away_from(0.5, away_from(-0.5, rand(10, 1, low=-2, high=2)))
        x = rand(10, 1)
        self.inputs, self.attrs = {"X": x, "Y": x + r}, {"delta": 0.5}

    def reference(self, inputs, attrs):
        r, d = inputs["Y"] - inputs["X"], attrs["delta"]
        far = d * (np.abs(r) - d / 2)
        return {"Residual": r, "Out": np.where(np.abs(r) <= d, r * r / 2, far)}

    def test_check_grad(self):
        self.check_grad(["X", "Y"], "Out")
        self.check_grad(["Y"], "Out")


class TestRankLoss(OpTest):
    elementwise, grad_inputs = True, ["Left", "Right"]

    def setUp(self):
        self.op_type = "rank_loss"
        self.inputs = {"Label": bits(6, 1), "Left": rand(6, 1), "Right": rand(6, 1)}

    def reference(self, inputs, attrs):
        d = inputs["Left"] - inputs["Right"]
        return {"Out": np.log(1 + np.exp(d)) - inputs["Label"] * d}

    def test_check_grad(self):
        self.check_grad(["Left", "Right"], "Out")


class TestRankLossColumn(TestRankLoss):
    """[n] goes with [n, 1]; the loss has the label's shape."""

    elementwise = False

    def setUp(self):
        super().setUp()
        self.inputs = {"Label": bits(6, 1), "Left": rand(6), "Right": rand(6, 1)}

    def reference(self, inputs, attrs):
        label, left, right = (inputs[n] for n in ("Label", "Left", "Right"))
        if any(v.ndim > 2 or v.size != left.size for v in (label, left, right)):
            raise ValueError("no columns of one length")
        d = left.reshape(label.shape) - right.reshape(label.shape)
        return {"Out": np.log(1 + np.exp(d)) - label * d}


class TestRankLossFlatLabel(TestRankLossColumn):
    def setUp(self):
        super().setUp()
        self.inputs = {"Label": bits(6), "Left": rand(6, 1), "Right": rand(6)}


class TestMarginRankLoss(OpTest):
    elementwise, grad_inputs = True, ["X1", "X2"]

    def setUp(self):
        self.op_type = "margin_rank_loss"
        label = 2 * bits(6, 1) - 1
        d = away_from(0.25, away_from(-0.25, rand(6, 1)))
        x = rand(6, 1)
        self.inputs, self.attrs = {"X1": x + d, "X2": x, "Label": label}, {"margin": 0.25}

    def reference(self, inputs, attrs):
        loss = attrs["margin"] - inputs["Label"] * (inputs["X1"] - inputs["X2"])
        return {"Activated": (loss > 0) * 1.0, "Out": np.maximum(0, loss)}

    def test_check_grad(self):
        self.check_grad(["X1", "X2"], "Out")


def run(op, out, attrs=None, **arrays):
    slots = {name: _core.to_variable(np.asarray(a, "float64")) for name, a in arrays.items()}
    return _core.run_op(op, slots, attrs or {})[out].numpy()


def test_stable_far_out():
    loss = run("sigmoid_cross_entropy_with_logits", "Out", X=[1e3, -1e3, 40], Label=[0, 1, 1])
    np.testing.assert_allclose(loss, [1e3, 1e3, np.log1p(np.exp(-40.0))], rtol=1e-12)
    np.testing.assert_allclose(
        run("rank_loss", "Out", Label=[1, 0], Left=[800, 800], Right=[0, 0]), [0, 800]
    )


def test_bce_at_its_ends():
    np.testing.assert_allclose(
        run("bce_loss", "Out", X=[0, 1, 0, 1], Label=[0, 1, 1, 0]), [0, 0, 100, 100]
    )
    with pytest.raises(ValueError, match=r"probabilities in \[0, 1\], got 1.5 at position 1"):
        run("bce_loss", "Out", X=[0, 1.5], Label=[0, 1])


def test_no_gradient_beyond_the_bounds_of_teacher_student():
    x = _core.to_variable(np.array([20.0, -20.0, 1.0]))
    x.stop_gradient = False
    label = _core.to_variable(np.array([0.5, 0.5, 0.5]))
    y = _core.ops.teacher_student_sigmoid_loss(x, label)
    (g,) = _core.grad([y], [x], [], False, False, False)
    np.testing.assert_allclose(g.numpy(), [0, 0, 2 / (1 + np.exp(-1.0)) - 0.5])


@pytest.mark.parametrize(
    ("op", "out", "slots"),
    [
        ("bce_loss", "Out", ("X", "Label")),
        ("hinge_loss", "Loss", ("Logits", "Labels")),
        ("huber_loss", "Out", ("X", "Y")),
        ("margin_rank_loss", "Out", ("X1", "X2", "Label")),
    ],
)
def test_shapes_never_broadcast(op, out, slots):
    first, last, *rest = slots
    arrays = {first: np.full((3, 1), 0.5), last: np.full(3, 0.5)}
    arrays.update({name: np.ones((3, 1)) for name in rest})
    with pytest.raises(ValueError, match=r"one shape, got \[3, 1\] and \[3\].*reshape"):
        run(op, out, **arrays)


def test_rank_loss_takes_columns_alone():
    column = {"Label": np.ones((3, 1)), "Left": np.ones((3, 1))}
    for wrong in (np.ones((3, 2)), np.ones((1, 3)), np.ones(4), np.array(1.0)):
        with pytest.raises(ValueError, match=r"one shape, got.*reshape"):
            run("rank_loss", "Out", Right=wrong, **column)


def test_wrong_values():
    with pytest.raises(ValueError, match="Y must hold 0 or 1, got 0.5 at position 0"):
        run("modified_huber_loss", "Out", X=[1], Y=[0.5])
    with pytest.raises(ValueError, match="delta must be above 0, got -1"):
        run("huber_loss", "Out", {"delta": -1.0}, X=[1], Y=[0.5])
