"""Beam search: one step, and the sentences that the steps selected."""

import numpy as np
import pytest

import dygraph
from dygraph import ops as F
from op_test import OpTest


def var(value, **options):
    return dygraph.to_variable(np.asarray(value), **options)


def column(values, dtype):
    return np.array(values, dtype)[:, None]


def search(pre_ids, pre_scores, ids, scores, sources, size, end):
    """The step by trying all: (words, scores, parents, levels of detail)."""
    words, best, parents, prefixes = [], [], [], [0]
    for first, last in zip(sources[:-1], sources[1:], strict=True):
        found = []
        for p in range(first, last):
            if pre_ids[p] == end:
                found.append((pre_scores[p], p, end))
                continue
            found += [(s, p, w) for s, w in zip(scores[p], ids[p], strict=True)]
        found = sorted(found, key=lambda f: (-f[0], -f[1]))[:size]
        if all(w == end and pre_ids[p] == end for _, p, w in found):
            found = []
        for p in range(first, last):
            for s, _, w in [f for f in found if f[1] == p]:
                words.append(w)
                best.append(s)
                parents.append(p)
            prefixes.append(len(words))
    return words, best, parents, [sources, prefixes]


class TestBeamSearch(OpTest):
    """The numbers of Fluid's own case."""

    pre_ids, pre_scores = [1, 2, 3, 4], [0.1, 0.2, 0.3, 0.4]
    ids = [[4, 2, 5], [2, 1, 3], [3, 5, 2], [8, 2, 1]]
    scores = [[0.5, 0.3, 0.2], [0.6, 0.3, 0.1], [0.9, 0.5, 0.1], [0.7, 0.5, 0.1]]
    sources, size, end, accumulated = [0, 2, 4], 2, 0, True

    def setUp(self):
        self.op_type = "beam_search"
        pre_scores = np.array(self.pre_scores, "float32")
        scores = np.array(self.scores, "float32")
        whole = scores if self.accumulated else pre_scores[:, None] + np.log(scores)
        ids = self.ids or [list(range(scores.shape[1]))] * len(scores)
        lod = [self.sources, list(range(len(scores) + 1))]
        words, best, parents, levels = search(
            self.pre_ids, pre_scores, ids, whole, self.sources, self.size, self.end
        )
        self.inputs = {
            "pre_ids": (column(self.pre_ids, "int64"), lod),
            "pre_scores": (pre_scores[:, None], lod),
            "ids": (np.array(self.ids, "int64"), lod) if self.ids else None,
            "scores": (scores, lod),
        }
        self.inputs = {k: v for k, v in self.inputs.items() if v is not None}
        self.attrs = {
            "level": 0,
            "beam_size": self.size,
            "end_id": self.end,
            "is_accumulated": self.accumulated,
        }
        self.outputs = {
            "selected_ids": (column(words, "int64"), levels),
            "selected_scores": (column(best, "float32"), levels),
            "parent_idx": np.array(parents, "int32"),
        }
        self.fixed_dtypes = {"selected_ids": "int64", "parent_idx": "int32"}

    leave_out = {"empty": "sources are a level of detail"}

    def test_check_output(self):
        self.check_output()


class TestBeamSearchOfProbabilities(TestBeamSearch):
    accumulated = False


class TestBeamSearchWithoutIds(TestBeamSearch):
    ids = None


class TestBeamSearchOfThree(TestBeamSearch):
    size = 3


class TestBeamSearchEnded(TestBeamSearch):
    """The first source has ended, of the second one prefix."""

    pre_ids = [0, 0, 0, 4]
    pre_scores = [0.1, 0.2, 0.95, 0.4]


class TestBeamSearchTies(TestBeamSearch):
    """Of equal scores the later prefix is taken, and its first and last word, as in Fluid."""

    scores = [[0.5, 0.5, 0.5]] * 4

    def setUp(self):
        super().setUp()
        lod = [[0, 2, 4], [0, 0, 2, 2, 4]]
        self.outputs = {
            "selected_ids": (column([2, 3, 8, 1], "int64"), lod),
            "selected_scores": (column([0.5] * 4, "float32"), lod),
            "parent_idx": np.array([1, 1, 3, 3], "int32"),
        }


def test_the_numbers_of_fluid():
    lod = [[0, 2, 4], [0, 1, 2, 3, 4]]
    case = TestBeamSearch
    ids, scores, parents = F.beam_search(
        var(column(case.pre_ids, "int64"), lod=lod),
        var(column(case.pre_scores, "float32"), lod=lod),
        var(np.array(case.scores, "float32"), lod=lod), beam_size=2, end_id=0,
        ids=var(np.array(case.ids), lod=lod),
    )  # fmt: skip
    assert ids.tolist() == [[4], [2], [3], [8]]
    np.testing.assert_allclose(scores.numpy()[:, 0], [0.5, 0.6, 0.9, 0.7], rtol=1e-6)
    assert parents.tolist() == [0, 1, 2, 3]
    assert ids.lod() == scores.lod() == [[0, 2, 4], [0, 1, 2, 3, 4]]


STEPS = [  # of two sources with a beam of two: words, scores, levels of detail
    ([1, 2, 5, 6], [0.1, 0.2, 0.5, 0.6], [[0, 1, 2], [0, 2, 4]]),
    ([3, 9, 7, 8], [0.3, 0.4, 0.7, 0.8], [[0, 2, 4], [0, 1, 2, 2, 4]]),
    ([4, 9, 9, 9], [0.45, 0.4, 0.9, 0.75], [[0, 2, 4], [0, 1, 2, 3, 4]]),
]
# By hand, from the last word back: 9 ends a sentence and is kept once.
SENTENCES = [[1, 3, 4], [2, 9], [6, 7, 9], [6, 8, 9]]
MARKS = [[0.1, 0.3, 0.45], [0.2, 0.4], [0.6, 0.7, 0.9], [0.6, 0.8, 0.75]]


class TestBeamSearchDecode(OpTest):
    def setUp(self):
        self.op_type = "beam_search_decode"
        self.inputs = {
            "Ids": [(f"ids{t}", (column(w, "int64"), lod)) for t, (w, _, lod) in enumerate(STEPS)],
            "Scores": [
                (f"scores{t}", (column(s, "float32"), lod)) for t, (_, s, lod) in enumerate(STEPS)
            ],
        }
        self.attrs = {"beam_size": 2, "end_id": 9}
        lod = [[0, 2, 4], [0, 3, 5, 8, 11]]
        self.outputs = {
            "SentenceIds": (np.array(sum(SENTENCES, []), "int64"), lod),
            "SentenceScores": (np.array(sum(MARKS, []), "float32"), lod),
        }
        self.fixed_dtypes = {"SentenceIds": "int64"}

    leave_out = {"empty": "steps have levels of detail"}

    def test_check_output(self):
        self.check_output()


def array_of(*elements):
    a = None
    for i, e in enumerate(elements):
        a = F.write_to_array(e, var([i]), array=a)
    return a


def test_a_source_that_is_pruned():
    """After its sentences ended a source has no words more."""
    steps = [
        ([9, 2], [0.5, 0.1], [[0, 1, 2], [0, 1, 2]]),
        ([3], [0.2], [[0, 1, 2], [0, 0, 1]]),
    ]
    ids = array_of(*(var(column(w, "int64"), lod=lod) for w, _, lod in steps))
    scores = array_of(*(var(column(s, "float32"), lod=lod) for _, s, lod in steps))
    words, _ = F.beam_search_decode(ids, scores, beam_size=1, end_id=9)
    assert words.tolist() == [9, 2, 3] and words.lod() == [[0, 1, 2], [0, 1, 3]]


def test_beam_search_errors():
    lod = [[0, 1], [0, 1]]
    word, score = var(column([1], "int64"), lod=lod), var(column([0.5], "float32"), lod=lod)
    scores = var(np.ones((1, 3), "float32"), lod=lod)
    with pytest.raises(ValueError, match="must have 1 columns and the rows of scores"):
        F.beam_search(var(column([1, 2], "int64")), score, scores)
    with pytest.raises(TypeError, match="pre_ids must be of int64"):
        F.beam_search(score, score, scores)
    with pytest.raises(TypeError, match="pre_scores must have the type of scores"):
        F.beam_search(word, var(column([0.5], "float64"), lod=lod), scores)
    with pytest.raises(ValueError, match="level of detail 0, .* got 0 levels"):
        F.beam_search(word, score, var(np.ones((1, 3), "float32")))
    with pytest.raises(ValueError, match="two levels of detail"):
        F.beam_search_decode(array_of(var(column([1], "int64"))), array_of(score))
    with pytest.raises(ValueError, match="an element for each step, got 1 and 2"):
        F.beam_search_decode(array_of(word), array_of(score, score))
    with pytest.raises(RuntimeError, match="nothing has been written to element 0 of 2"):
        late = F.write_to_array(word, var([1]))
        F.beam_search_decode(late, array_of(score, score))
