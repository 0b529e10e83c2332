"""Evaluators: what operators add up over runs, beside sums made here."""

import numpy as np
import pytest

import dygraph
from dygraph import static


def lod(rows):
    """Sequences as one column with LoD."""
    ends = np.cumsum([0, *map(len, rows)]).tolist()
    column = np.array([t for row in rows for t in row], "int64").reshape(-1, 1)
    return dygraph.to_variable(column, lod=[ends])


class Counted:
    """A program with an evaluator, run on batches."""

    def __init__(self, make, *inputs):
        self.main, self.startup = static.Program(), static.Program()
        with static.program_guard(self.main, self.startup):
            self.evaluator = make(*(static.data(*i[:3], lod_level=i[3]) for i in inputs))
        self.scope, self.executor = static.Scope(), static.Executor()
        self.executor.run(self.startup, scope=self.scope)

    def run(self, **feed):
        return self.executor.run(self.main, feed, self.evaluator.metrics, scope=self.scope)

    def eval(self):
        return self.evaluator.eval(self.executor, scope=self.scope)

    def reset(self):
        self.evaluator.reset(self.executor, scope=self.scope)


@pytest.mark.parametrize("k", [1, 2])
def test_accuracy_of_a_pass(k):
    counted = Counted(
        lambda score, label: static.evaluator.Accuracy(input=score, label=label, k=k),
        ("score", [None, 5], "float32", 0), ("label", [None, 1], "int64", 0),
    )  # fmt: skip
    r = np.random.default_rng(0)
    for _ in range(2):  # two passes
        right = count = 0
        for n in (7, 1, 32):
            score = r.standard_normal((n, 5)).astype("float32")
            label = r.integers(0, 5, (n, 1))
            best = np.argsort(-score, axis=1)[:, :k]
            hits = (best == label).any(1)
            right, count = right + hits.sum(), count + n
            (accuracy,) = counted.run(score=score, label=label)
            assert accuracy == pytest.approx(hits.mean(), rel=1e-6)
            (total,) = counted.eval()
            assert total == np.float32(right / count)
        counted.reset()


def test_accuracy_inside_training():
    """The statements of the documents."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [None, 4], "float32")
        label = static.data("label", [None, 1], "int64")
        predict = static.layers.softmax(static.layers.fc(x, size=3))
        accuracy = static.evaluator.Accuracy(input=predict, label=label)
        loss = static.layers.mean(static.layers.square(predict))
        static.optimizer.SGD(learning_rate=0.1).minimize(loss)
    executor, scope = static.Executor(), static.Scope()
    with static.scope_guard(scope):
        executor.run(startup)
        r = np.random.default_rng(1)
        for _ in range(2):
            accuracy.reset()
            rates = []
            for _ in range(4):
                feed = {
                    "x": r.standard_normal((6, 4)).astype("float32"),
                    "label": r.integers(0, 3, (6, 1)),
                }
                _, rate = executor.run(main, feed, [loss, *accuracy.metrics])
                rates.append(float(rate))
            assert accuracy.eval(executor)[0] == pytest.approx(np.mean(rates), rel=1e-6)


def test_chunks_of_a_fixed_sample():
    """Two types by IOB: B0=0, I0=1, B1=2, I1=3, outside=4. Counted by hand, as conlleval does."""
    counted = Counted(
        lambda t, label: static.evaluator.ChunkEvaluator(t, label, "IOB", 2),
        ("tags", [None, 1], "int64", 1), ("label", [None, 1], "int64", 1),
    )  # fmt: skip
    # labels: (0,1) type 0, (3) type 1; tags: (0,1) type 0, (3,4) type 1 -> 1 right of 2 and 2
    precision, recall, f1 = counted.run(tags=lod([[0, 1, 4, 2, 3]]), label=lod([[0, 1, 4, 2, 4]]))
    assert (precision, recall, f1) == (0.5, 0.5, 0.5)
    # labels: 3 chunks in two sequences; tags: 1 chunk, and it is right
    counted.run(tags=lod([[0, 4], [4, 4, 4]]), label=lod([[0, 2], [4, 0, 1]]))
    # 2 right, 3 found, 5 there
    assert counted.eval() == (np.float32(2 / 3), np.float32(2 / 5), np.float32(0.5))
    counted.reset()
    assert counted.eval() == (0.0, 0.0, 0.0)


def test_chunks_without_some_types():
    counted = Counted(
        lambda t, label: static.evaluator.ChunkEvaluator(t, label, "IOB", 2, [1]),
        ("tags", [None, 1], "int64", 1), ("label", [None, 1], "int64", 1),
    )  # fmt: skip
    counted.run(tags=lod([[0, 1, 4, 2, 3]]), label=lod([[0, 1, 4, 2, 4]]))
    assert counted.eval() == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("ignored, mean, wrong", [(None, 5 / 3, 2 / 3), ([9], 1.0, 1 / 3)])
def test_edit_distance(ignored, mean, wrong):
    counted = Counted(
        lambda t, label: static.evaluator.EditDistance(t, label, ignored),
        ("tokens", [None, 1], "int64", 1), ("label", [None, 1], "int64", 1),
    )  # fmt: skip
    # kitten -> sitting is 3; the second differs in two tokens that may be ignored
    kitten, sitting = [1, 2, 3, 3, 4, 5], [6, 2, 3, 3, 2, 5, 7]
    counted.run(tokens=lod([kitten, [1, 9, 2, 9]]), label=lod([sitting, [1, 2]]))
    counted.run(tokens=lod([[4, 5]]), label=lod([[4, 5]]))
    assert counted.eval() == (np.float32(mean), np.float32(wrong))


def test_misuse_is_typed():
    with static.program_guard(static.Program(), static.Program()):
        x = static.data("x", [None, 3], "float32")
        label = static.data("label", [None, 1], "int64")
        with pytest.raises(TypeError, match="Accuracy: label must be a variable of a program"):
            static.evaluator.Accuracy(x, np.zeros((2, 1)))
        accuracy = static.evaluator.Accuracy(x, label)
    with pytest.raises(RuntimeError, match="Run the startup program or call reset"):
        accuracy.eval(scope=static.Scope())
    scope = static.Scope()
    accuracy.reset(scope=scope)
    with pytest.raises(RuntimeError, match="needs a batch since reset"):
        accuracy.eval(scope=scope)
    with pytest.raises(TypeError, match="executor must be"):
        accuracy.reset(3)
    with pytest.raises(TypeError, match="scope must be"):
        accuracy.eval(scope=3)
