"""viterbi_decode: against all chains, and a record of Paddle 2.6.2."""

import itertools

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


def best(x, w, ends):
    """(score, chain) of one sequence."""
    steps, tags = x.shape

    def score(chain):
        total = sum(x[t, k] for t, k in enumerate(chain))
        total += sum(w[a, b] for a, b in itertools.pairwise(chain))
        return total + (w[-1, chain[0]] + w[-2, chain[-1]] if ends else 0)

    return max((score(c), c) for c in itertools.product(range(tags), repeat=steps))


class TestViterbi(OpTest):
    length, ends, length_type = [4, 1, 3], True, "int64"
    elementwise = False
    fixed_dtypes = {"Path": "int64"}

    def setUp(self):
        self.op_type = "viterbi_decode"
        x, w = rand(3, 4, 3, low=-2, high=2), rand(3, 3, low=-2, high=2)
        self.inputs = {"Input": x, "Transition": w, "Length": np.array(self.length)}
        self.inputs["Length"] = self.inputs["Length"].astype(self.length_type)
        self.attrs = {"include_bos_eos_tag": self.ends}
        found = [best(row[:n], w, self.ends) for row, n in zip(x, self.length, strict=True)]
        path = np.zeros((3, max(self.length)), "int64")
        for s, (_, chain) in enumerate(found):
            path[s, : len(chain)] = chain
        self.outputs = {"Scores": np.array([score for score, _ in found]), "Path": path}

    def test_check_output(self):
        self.check_output()


class TestViterbiPlain(TestViterbi):
    length, ends, length_type = [2, 3, 3], False, "int32"


def run(x, w, n, ends=True):
    values = (_core.to_variable(np.asarray(v)) for v in (x, w, n))
    return [v.numpy() for v in _core.ops.viterbi_decode(*values, include_bos_eos_tag=ends)]


@pytest.mark.parametrize(
    ("ends", "chains"),
    [
        (True, [[0, 0, 1, 1, 5], [5, 0, 0, 0, 0], [2, 1, 5, 0, 0], [1, 5, 0, 0, 0]]),
        (False, [[4, 2, 0, 3, 5], [1, 0, 0, 0, 0], [3, 3, 5, 0, 0], [1, 3, 0, 0, 0]]),
    ],
)
def test_paddles_chains(ends, chains):
    """As Paddle 2.6.2 found them of these draws."""
    generator = np.random.default_rng(0)
    for drawn in (True, False):
        x = generator.normal(size=(4, 5, 6)).astype("float32")
        w = generator.normal(size=(6, 6)).astype("float32")
        if drawn is ends:
            assert run(x, w, [5, 1, 3, 2], ends)[1].tolist() == chains


def test_equal_scores_and_no_steps():
    scores, path = run(np.zeros((2, 3, 4)), np.zeros((4, 4)), [3, 0])
    assert scores.tolist() == [0, 0] and path.tolist() == [[0, 0, 0], [0, 0, 0]]
    scores, path = run(np.zeros((0, 3, 4)), np.zeros((4, 4)), np.zeros(0, "int64"))
    assert scores.shape == (0,) and path.shape == (0, 0)
    assert run(np.ones((1, 2, 1)), np.ones((1, 1)), [2], False)[0].tolist() == [3]


@pytest.mark.parametrize(
    ("x", "w", "n", "message"),
    [
        ((2, 3), (3, 3), [1], "must be the scores of tags"),
        ((1, 3, 2), (3, 3), [1], "a row and a column for each of the 2 tags"),
        ((1, 3, 2), (2, 2), [4], "Length must lie in .0, 3., .* got 4"),
        ((1, 3, 2), (2, 2), [-1], "Length must lie in"),
        ((1, 3, 2), (2, 2), [1, 1], "Length must have one number"),
        ((1, 3, 1), (1, 1), [1], "two tags or more"),
    ],
)
def test_errors(x, w, n, message):
    with pytest.raises((ValueError, IndexError), match=message):
        run(np.zeros(x), np.zeros(w), n)
