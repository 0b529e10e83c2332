"""Random graphs of operators: gradients of first and second order against numeric differences."""

import random

import numpy as np
import pytest

from dygraph import _core

ops = _core.ops
N = 3


def product(a, b):
    return a * b * 0.5


def mixed(a, b):
    return ops.matmul_v2(a, b, trans_y=True) * 0.25


# (how many operands, the operator, the same in NumPy)
STEPS = [
    (2, lambda a, b: a + b, lambda a, b: a + b),
    (2, product, product),
    (2, lambda a, b: (a @ b) * 0.25, lambda a, b: a @ b * 0.25),
    (2, mixed, lambda a, b: a @ b.T * 0.25),
    (1, lambda a: a * -1.5 + 0.25, lambda a: a * -1.5 + 0.25),
    (1, lambda a: a + ops.mean(a), lambda a: a + a.mean()),
    (3, lambda a, b, c: ops.sum([a, b, c]), lambda a, b, c: a + b + c),
]


class Graph:
    """The same random expression as operators and in NumPy; values are used any number of times."""

    def __init__(self, seed):
        r = random.Random(seed)
        self.leaves = r.randrange(1, 4)
        self.steps = []
        for made in range(r.randrange(4, 14)):
            count, op, reference = r.choice(STEPS)
            operands = [r.randrange(self.leaves + made) for _ in range(count)]
            self.steps.append((operands, op, reference))
        generator = np.random.RandomState(seed)
        self.arrays = [generator.uniform(-1, 1, (N, N)) for _ in range(self.leaves)]
        self.weights = generator.uniform(0.5, 1.5, (2, self.leaves, N, N))

    def run(self, leaves, which):
        values = list(leaves)
        for operands, *step in self.steps:
            values.append(step[which](*[values[i] for i in operands]))
        return values[-1]

    def reference(self, arrays):
        return float((self.run(arrays, 1) * self.weights[0, 0]).sum())

    def loss(self):
        leaves = [_core.to_variable(a) for a in self.arrays]
        for leaf in leaves:
            leaf.stop_gradient = False
        return leaves, self.run(leaves, 0)

    def gradients(self, create_graph=False, retain=False):
        leaves, out = self.loss()
        seed = _core.to_variable(self.weights[0, 0])
        return leaves, _core.grad([out], leaves, [seed], retain, create_graph, True)


def as_array(g):
    return np.zeros((N, N)) if g is None else g.numpy()


def slopes(f, arrays, delta=1e-5):
    """Central differences of f with respect to every number."""
    result = [np.zeros_like(a) for a in arrays]
    for k, a in enumerate(arrays):
        for i in np.ndindex(a.shape):
            ends = []
            for sign in (1, -1):
                moved = [b.copy() for b in arrays]
                moved[k][i] += sign * delta
                ends.append(f(moved))
            result[k][i] = (ends[0] - ends[1]) / (2 * delta)
    return result


def assert_near(got, expected):
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-6 * scale)


@pytest.mark.parametrize("seed", range(40))
def test_first_order(seed):
    graph = Graph(seed)
    leaves, grads = graph.gradients()
    expected = slopes(graph.reference, graph.arrays)
    for g, e in zip(grads, expected, strict=True):
        assert_near(as_array(g), e)
    leaves, out = graph.loss()
    if out.stop_gradient:
        return
    _core.backward([out], [_core.to_variable(graph.weights[0, 0])], False, False)
    for leaf, g in zip(leaves, grads, strict=True):
        np.testing.assert_array_equal(as_array(leaf.grad), as_array(g), "backward() is not grad()")


@pytest.mark.parametrize("seed", range(12))
def test_second_order(seed):
    """Numeric differences of NumPy's numeric gradient would be too coarse: ours, checked above."""
    graph = Graph(seed)
    leaves, first = graph.gradients(create_graph=True, retain=True)
    live = [(g, w) for g, w in zip(first, graph.weights[1], strict=True) if g is not None]
    live = [(g, w) for g, w in live if not g.stop_gradient]

    def weighed(arrays):
        moved = Graph(seed)
        moved.arrays = arrays
        _, grads = moved.gradients()
        return sum(
            float((as_array(g) * w).sum()) for g, w in zip(grads, graph.weights[1], strict=True)
        )

    expected = slopes(weighed, graph.arrays)
    if live:
        tops, weights = zip(*live, strict=True)
        seeds = [_core.to_variable(w) for w in weights]
        second = _core.grad(list(tops), leaves, seeds, False, False, True)
    else:
        second = [None] * len(leaves)
    for g, e in zip(second, expected, strict=True):
        assert_near(as_array(g), e)
