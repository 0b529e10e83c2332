"""warpctc: against the sum over all paths, written out."""

import itertools

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


def spell(path, blank):
    merged = [k for k, _ in itertools.groupby(path)]
    return [k for k in merged if k != blank]


def loss_by_all_paths(scores, label, blank):
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    steps, classes = p.shape
    total = sum(
        np.prod([p[t, k] for t, k in enumerate(path)])
        for path in itertools.product(range(classes), repeat=steps)
        if spell(path, blank) == list(label)
    )
    with np.errstate(divide="ignore"):
        return -np.log(total)


class TestWarpCtc(OpTest):
    blank, labels, steps = 0, [[1, 2], [2, 2], [1]], [4, 5, 3]
    classes, label_type = 3, "int32"
    elementwise = False
    grad_inputs, grad_outputs = ["Logits"], ["Loss"]

    def setUp(self):
        self.op_type = "warpctc"
        scores = [rand(n, self.classes, low=-2, high=2) for n in self.steps]
        loss = [
            loss_by_all_paths(x, y, self.blank) for x, y in zip(scores, self.labels, strict=True)
        ]
        self.attrs, self.outputs = {"blank": self.blank}, {"Loss": np.array(loss)[:, None]}
        flat = np.concatenate([np.array(y, self.label_type) for y in self.labels])
        self.inputs = {
            "Logits": (np.concatenate(scores), [self.steps]),
            "Label": (flat[:, None], [[len(y) for y in self.labels]]),
        }
        self.scores = scores

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["Logits"], "Loss")


class TestWarpCtcOtherBlank(TestWarpCtc):
    blank, labels, label_type = 2, [[1, 0], [0, 0], [1]], "int64"


class TestWarpCtcNoLabel(TestWarpCtc):
    labels, steps = [[], [1, 2, 1]], [3, 4]


class TestWarpCtcPadded(TestWarpCtc):
    def setUp(self):
        super().setUp()
        most, longest = max(self.steps), max(len(y) for y in self.labels)
        logits = np.full((most, len(self.steps), self.classes), 7.0)
        label = np.full((len(self.labels), longest), 99, self.label_type)
        for s, (x, y) in enumerate(zip(self.scores, self.labels, strict=True)):
            logits[: len(x), s] = x
            label[s, : len(y)] = y
        self.inputs = {
            "Logits": logits,
            "Label": label,
            "LogitsLength": np.array(self.steps),
            "LabelLength": np.array([len(y) for y in self.labels]),
        }


def padded(logits, label, steps, lengths, **attrs):
    x = _core.to_variable(np.asarray(logits))
    x.stop_gradient = False
    slots = {"Label": label, "LogitsLength": steps, "LabelLength": lengths}
    slots = {name: _core.to_variable(np.asarray(a)) for name, a in slots.items()}
    return x, _core.run_op("warpctc", {"Logits": x, **slots}, attrs)["Loss"]


def gradient(loss, x, create_graph=False):
    return _core.grad([loss], [x], [], create_graph, create_graph, False)[0]


def test_long_sequence_stays_finite():
    x, loss = padded(np.zeros((2000, 1, 5)), [[1, 2, 3]], [2000], [3])
    # C(T + L, 2 L) paths spell L labels of which no two neighbours are equal
    ways = np.sum(np.log(np.arange(1998, 2004) / np.arange(1, 7.0)))
    np.testing.assert_allclose(loss.numpy(), [[2000 * np.log(5) - ways]], rtol=1e-10)
    assert np.isfinite(gradient(loss, x).numpy()).all()


def test_label_that_does_not_fit_costs_infinity_without_gradient():
    x, loss = padded(rand(2, 1, 3), [[1, 1]], [2], [2])
    assert np.isposinf(loss.numpy()).all() and (gradient(loss, x).numpy() == 0).all()


def test_norm_by_times_divides_the_gradient():
    logits = rand(4, 2, 3)
    plain = padded(logits, [[1], [2]], [4, 2], [1, 1])
    other = padded(logits, [[1], [2]], [4, 2], [1, 1], norm_by_times=True)
    np.testing.assert_array_equal(plain[1].numpy(), other[1].numpy())
    expected = gradient(plain[1], plain[0]).numpy() / np.array([4, 2])[None, :, None]
    np.testing.assert_allclose(gradient(other[1], other[0]).numpy(), expected)


def test_second_order_of_a_gradient_by_times_and_of_a_label_too_long():
    """As without, over the number of steps; zeros where the loss is infinite."""
    logits, v = rand(4, 2, 3), rand(4, 2, 3)
    rows = []
    for norm in (False, True):
        x, loss = padded(logits, [[1], [2]], [4, 2], [1, 1], norm_by_times=norm)
        first = gradient(loss, x, create_graph=True)
        rows.append(_core.grad([first], [x], [_core.to_variable(v)], False, False, False)[0])
    np.testing.assert_allclose(
        rows[1].numpy(), rows[0].numpy() / np.array([4, 2])[None, :, None], rtol=1e-12
    )
    x, loss = padded(rand(2, 1, 3), [[1, 1]], [2], [2])
    first = gradient(loss, x, create_graph=True)
    (second,) = _core.grad([first], [x], [], False, False, False)
    np.testing.assert_array_equal(second.numpy(), np.zeros((2, 1, 3)))


def test_the_hessian_of_one_step():
    """One step, label k: the loss is -log softmax(x)[k], with the Hessian diag(p) - p p^T."""
    logits = rand(1, 1, 3)
    x, loss = padded(logits, [[1]], [1], [1])
    first = gradient(loss, x, create_graph=True)
    p = np.exp(logits[0, 0]) / np.exp(logits[0, 0]).sum()
    for i, expected in enumerate(np.diag(p) - np.outer(p, p)):
        seed = _core.to_variable(np.eye(3)[i].reshape(1, 1, 3))
        (row,) = _core.grad([first], [x], [seed], True, False, False)
        np.testing.assert_allclose(row.numpy()[0, 0], expected, rtol=1e-12)


def test_wrong_inputs():
    x = np.zeros((2, 1, 3))
    with pytest.raises(IndexError, match=r"class in \[0, 3\), got 3 at position 0"):
        padded(x, [[3]], [2], [1])
    with pytest.raises(ValueError, match="must not hold blank, got 0"):
        padded(x, [[0]], [2], [1])
    with pytest.raises(IndexError, match=r"LogitsLength must lie in \[0, 2\].*got 3"):
        padded(x, [[1]], [3], [1])
    with pytest.raises(IndexError, match=r"blank must be a class in \[0, 3\), got 3"):
        padded(x, [[1]], [2], [1], blank=3)
    with pytest.raises(TypeError, match=r"Label must be of int32 or int64, got float64"):
        padded(x, [[1.0]], [2], [1])
    flat, label = _core.to_variable(np.zeros((2, 3))), _core.to_variable(np.array([[1]]))
    with pytest.raises(ValueError, match=r"level of detail.*to_variable\(lod=...\)"):
        _core.ops.warpctc(flat, label)
