"""warprnnt: against the sum over all paths and the plain recursion."""

import itertools

import numpy as np
import pytest

import dygraph
from dygraph import _core
from op_test import OpTest, rand

ops = _core.ops


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def loss_by_all_paths(scores, label, blank):
    """A path is where the labels stand among the moves, of which the last is a blank."""
    p, (steps, states, _) = log_softmax(scores), scores.shape
    totals = []
    for places in itertools.combinations(range(steps + states - 2), states - 1):
        t = u = 0
        total = 0.0
        for move in range(steps + states - 1):
            total += p[t, u, label[u] if move in places else blank]
            t, u = (t, u + 1) if move in places else (t + 1, u)
        totals.append(total)
    return -np.logaddexp.reduce(totals)


class TestWarpRnnt(OpTest):
    blank, labels, steps, fastemit = 0, [[1, 2], [2, 2], [3]], [4, 2, 3], 0.0
    label_type = "int32"
    elementwise = False
    grad_inputs, grad_outputs = ["input"], ["loss"]

    def setUp(self):
        self.op_type = "warprnnt"
        count, most, width = len(self.steps), max(self.steps), max(map(len, self.labels))
        x = rand(count, most, width + 1, 4, low=-2, high=2)
        label = np.zeros((count, width), self.label_type)
        for s, own in enumerate(self.labels):
            label[s, : len(own)] = own
        self.inputs = {
            "input": x,
            "label": label,
            "input_lengths": np.array(self.steps, "int64"),
            "label_lengths": np.array([len(own) for own in self.labels], self.label_type),
        }
        self.attrs = {"blank": self.blank, "fastemit_lambda": self.fastemit}
        parts = zip(x, self.steps, self.labels, strict=True)
        loss = [loss_by_all_paths(p[:n, : len(own) + 1], own, self.blank) for p, n, own in parts]
        self.outputs = {"loss": np.array(loss)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["input"], "loss")


class TestWarpRnntOtherBlank(TestWarpRnnt):
    blank, labels, steps, label_type = 3, [[1, 0, 2], []], [1, 3], "int64"


class TestWarpRnntNoLabels(TestWarpRnnt):
    labels, steps = [[]], [3]


def run(x, label, steps, sizes, **attrs):
    values = (np.asarray(v) for v in (label, steps, sizes))
    x = _core.to_variable(np.asarray(x))
    x.stop_gradient = False
    return x, ops.warprnnt(x, *map(_core.to_variable, values), **attrs)


def shares(p, label, blank):
    """How many of the paths, as a share, take each move, by the recursion of alpha and beta."""
    steps, states, _ = p.shape
    alpha = np.full((steps + 1, states + 1), -np.inf)
    beta = np.full((steps + 1, states + 1), -np.inf)
    emit = np.array([[p[t, u, label[u]] if u < states - 1 else -np.inf for u in range(states)]
                     for t in range(steps)])  # fmt: skip
    stay = p[:, :, blank]
    alpha[0, 0], beta[steps, states - 1] = 0, 0
    for t, u in itertools.product(range(steps), range(states)):
        if t:
            alpha[t, u] = np.logaddexp(alpha[t, u], alpha[t - 1, u] + stay[t - 1, u])
        if u:
            alpha[t, u] = np.logaddexp(alpha[t, u], alpha[t, u - 1] + emit[t, u - 1])
    for t, u in itertools.product(range(steps)[::-1], range(states)[::-1]):
        beta[t, u] = np.logaddexp(stay[t, u] + beta[t + 1, u], emit[t, u] + beta[t, u + 1])
    a, total = alpha[:steps, :states], beta[0, 0]
    blanks = np.exp(a + stay + beta[1:, :states] - total)
    return blanks, np.exp(a + emit + beta[:steps, 1:] - total)


@pytest.mark.parametrize("emphasis", [0.0, 0.25])
def test_gradient_with_fastemit(emphasis):
    x = np.random.default_rng(1).standard_normal((1, 5, 4, 6))
    label = [2, 5, 2]
    v, loss = run(x, [label], [5], [3], blank=0, fastemit_lambda=emphasis)
    p = log_softmax(x[0])
    blanks, emits = shares(p, label, 0)
    wanted = np.exp(p) * (blanks + (1 + emphasis) * emits)[..., None]
    wanted[..., 0] -= blanks
    for u, c in enumerate(label):
        wanted[:, u, c] -= (1 + emphasis) * emits[:, u]
    loss.backward()
    np.testing.assert_allclose(v.gradient()[0], wanted, atol=1e-12)
    assert loss.item() == pytest.approx(loss_by_all_paths(x[0], label, 0))


def test_a_known_loss():
    """Of the scores in Paddle's documentation, as warp-transducer's tests have it."""
    acts = np.array(
        [[[[0.1, 0.6, 0.1, 0.1, 0.1], [0.1, 0.1, 0.6, 0.1, 0.1], [0.1, 0.1, 0.2, 0.8, 0.1]],
          [[0.1, 0.6, 0.1, 0.1, 0.1], [0.1, 0.1, 0.2, 0.1, 0.1], [0.7, 0.1, 0.2, 0.1, 0.1]]]]
    )  # fmt: skip
    loss = run(acts, [[1, 2]], [2], [2])[1]
    assert loss.item() == pytest.approx(4.4956665)


def test_no_second_order_with_fastemit():
    v, loss = run(np.zeros((1, 2, 2, 3)), [[1]], [2], [1], fastemit_lambda=0.5)
    (first,) = dygraph.grad([loss], [v], create_graph=True)
    with pytest.raises(NotImplementedError, match="Give fastemit_lambda=0"):
        dygraph.grad([first], [v])


def test_ends():
    v, loss = run(np.zeros((2, 2, 2, 3)), [[1], [1]], [0, 2], [1, 0])
    assert loss.tolist() == [np.inf, pytest.approx(2 * np.log(3))]
    loss[1].backward()
    assert (v.gradient()[0] == 0).all() and (v.gradient()[1, :, 1] == 0).all()
    none = run(np.zeros((0, 2, 2, 3)), np.zeros((0, 1), "int64"), np.zeros(0, "int64"),
               np.zeros(0, "int64"))[1]  # fmt: skip
    assert none.shape == (0,)
    sure = np.full((1, 2, 1, 2), -np.inf)
    sure[..., 0] = 0.0
    assert run(sure, np.zeros((1, 0), "int64"), [2], [0])[1].item() == 0.0


@pytest.mark.parametrize(
    ("label", "steps", "sizes", "message"),
    [
        ([[4]], [2], [1], "class in .0, 3., got 4"),
        ([[-1]], [2], [1], "class in .0, 3., got -1"),
        ([[0]], [2], [1], "must not hold blank"),
        ([[1]], [3], [1], "input_lengths must lie in .0, 2., .* got 3"),
        ([[1]], [-1], [1], "input_lengths must lie in"),
        ([[1]], [2], [2], "label_lengths must lie in .0, 1., .* got 2"),
        ([1], [2], [1], "label must be padded labels"),
        ([[1]], [2, 2], [1], "input_lengths must have one number"),
    ],
)
def test_errors(label, steps, sizes, message):
    with pytest.raises((ValueError, IndexError), match=message):
        run(np.zeros((1, 2, 2, 3)), label, steps, sizes)
    with pytest.raises(IndexError, match="blank must be a class"):
        run(np.zeros((1, 2, 2, 3)), [[1]], [2], [1], blank=3)
