"""linear_chain_crf and crf_decoding: against all chains of tags, one by one."""

import itertools

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


def score(x, w, chain):
    total = w[0, chain[0]] + w[1, chain[-1]] + sum(x[t, k] for t, k in enumerate(chain))
    return total + sum(w[2 + a, b] for a, b in itertools.pairwise(chain))


def chains(x):
    return list(itertools.product(range(x.shape[1]), repeat=len(x)))


def make(case):
    case.x = [rand(n, 3) for n in (3, 1, 4)]
    case.w = rand(5, 3)
    case.label = [np.random.randint(0, 3, len(x)) for x in case.x]
    case.lengths = [len(x) for x in case.x]
    case.flat = {
        "Emission": (np.concatenate(case.x), [case.lengths]),
        "Transition": case.w,
        "Label": (np.concatenate(case.label)[:, None], [case.lengths]),
    }
    padded, label = np.full((3, 4, 3), 9.0), np.full((3, 4), 99)
    for s, (x, y) in enumerate(zip(case.x, case.label, strict=True)):
        padded[s, : len(x)], label[s, : len(y)] = x, y
    case.padded = {
        "Emission": padded,
        "Transition": case.w,
        "Label": label,
        "Length": np.array(case.lengths)[:, None],
    }


class TestCrf(OpTest):
    is_padded, elementwise = False, False
    grad_inputs, grad_outputs = ["Emission", "Transition"], ["LogLikelihood"]

    def setUp(self):
        self.op_type = "linear_chain_crf"
        make(self)
        cost = []
        for x, y in zip(self.x, self.label, strict=True):
            all_scores = [score(x, self.w, c) for c in chains(x)]
            cost.append([np.log(np.sum(np.exp(all_scores))) - score(x, self.w, y)])
        self.inputs = self.padded if self.is_padded else self.flat
        self.outputs = {"LogLikelihood": np.array(cost), "TransitionExps": np.exp(self.w)}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["Emission", "Transition"], "LogLikelihood")
        self.check_grad(["Transition"], "LogLikelihood")


class TestCrfPadded(TestCrf):
    is_padded = True


class TestDecoding(OpTest):
    is_padded, labeled, elementwise = False, False, False

    def setUp(self):
        self.op_type = "crf_decoding"
        make(self)
        self.inputs = dict(self.padded if self.is_padded else self.flat)
        paths = [max(chains(x), key=lambda c, x=x: score(x, self.w, c)) for x in self.x]
        if self.labeled:
            paths = [np.equal(p, y).astype(int) for p, y in zip(paths, self.label, strict=True)]
        else:
            del self.inputs["Label"]
        if self.is_padded:
            out = np.array([[*p, *[0] * (4 - len(p))] for p in paths])
        else:
            out = (np.concatenate(paths)[:, None], [self.lengths])
        self.outputs = {"ViterbiPath": out}

    def test_check_output(self):
        self.check_output()


class TestDecodingLabeled(TestDecoding):
    labeled = True


class TestDecodingPadded(TestDecoding):
    is_padded = True


class TestDecodingPaddedLabeled(TestDecoding):
    is_padded, labeled = True, True


def crf(emission, transition, label, **attrs):
    v = _core.to_variable
    return _core.ops.linear_chain_crf(emission, v(transition), v(np.asarray(label)), **attrs)


def test_wrong_inputs():
    x = _core.to_variable(np.zeros((2, 3)), lod=[[0, 2]])
    with pytest.raises(IndexError, match=r"tag in \[0, 3\), got 3 at position 1"):
        crf(x, np.zeros((5, 3)), [[0], [3]])
    with pytest.raises(ValueError, match=r"shape \[D \+ 2, D\].*got \[3, 3\]"):
        crf(x, np.zeros((3, 3)), [[0], [1]])
    with pytest.raises(TypeError, match=r"int64 or int32 tags, got float64.*astype"):
        crf(x, np.zeros((5, 3)), [[0.0], [1.0]])
    with pytest.raises(ValueError, match="level of detail"):
        crf(_core.to_variable(np.zeros((2, 3))), np.zeros((5, 3)), [[0], [1]])


def test_the_hessian_is_a_covariance():
    """Of how often chains, drawn by their probabilities, use each transition: chain by chain."""
    x, w = rand(3, 2), rand(4, 2)
    emission = _core.to_variable(x, lod=[[0, 3]])
    transition = _core.to_variable(w)
    transition.stop_gradient = False
    label = _core.to_variable(np.array([[0], [1], [1]]))
    cost = _core.ops.linear_chain_crf(emission, transition, label)
    (first,) = _core.grad([cost], [transition], [], True, True, False)
    counts, weights = [], []
    for chain in chains(x):
        used = np.zeros((4, 2))
        used[0, chain[0]] += 1
        used[1, chain[-1]] += 1
        for a, b in itertools.pairwise(chain):
            used[2 + a, b] += 1
        counts.append(used.ravel())
        weights.append(np.exp(score(x, w, chain)))
    expected = np.cov(np.array(counts).T, aweights=np.array(weights), ddof=0)
    for i in range(8):
        seed = np.zeros(8)
        seed[i] = 1
        (row,) = _core.grad([first], [transition], [_core.to_variable(seed.reshape(4, 2))], True,
                            False, False)  # fmt: skip
        np.testing.assert_allclose(row.numpy().ravel(), expected[i], rtol=1e-10, atol=1e-12)
