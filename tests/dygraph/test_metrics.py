"""Metrics over batches, against scikit-learn and counts by hand."""

import numpy as np
import pytest
from sklearn.metrics import precision_score, recall_score, roc_auc_score

import dygraph
from dygraph import metrics

generator = np.random.RandomState(0)
P, LABEL = generator.randint(0, 64, (4, 25)) / 64, generator.randint(0, 2, (4, 25))


@pytest.mark.parametrize("as_variable", [False, True])
@pytest.mark.parametrize(
    ("metric", "expected"), [(metrics.Precision, precision_score), (metrics.Recall, recall_score)]
)
def test_precision_and_recall(metric, expected, as_variable):
    m = metric()
    for p, y in zip(P, LABEL, strict=True):
        p = dygraph.to_variable(p) if as_variable else p
        y = dygraph.to_variable(y[:, None]) if as_variable else y
        m.update(p, y)
    assert m.eval() == expected(LABEL.ravel(), np.rint(P.ravel()))
    m.reset()
    assert m.eval() == 0.0
    m.update(np.array([0.9, 0.9, 0.1]), np.array([1, 0, 0]))
    assert m.eval() == (0.5 if metric is metrics.Precision else 1.0)


def test_accuracy_weighs_batches():
    m = metrics.Accuracy("acc")
    m.update(dygraph.to_variable(np.float32(0.25)), 4)
    m.update(value=np.array([1.0]), weight=12)
    assert m.eval() == 0.8125 and str(m) == "acc"
    m.reset()
    with pytest.raises(RuntimeError, match=r"Accuracy: eval\(\) needs batches"):
        m.eval()
    with pytest.raises(ValueError, match="must be one number, got shape"):
        m.update(np.ones(2), 1)
    with pytest.raises(ValueError, match="weight must be at least 0, got -1"):
        m.update(1.0, -1)


def test_chunks():
    m = metrics.ChunkEvaluator()
    assert m.eval() == (0.0, 0.0, 0.0)
    m.update(4, 5, 2)
    m.update(dygraph.to_variable(np.array(4)), np.array([5]), 2)
    assert m.eval() == (0.5, 0.4, 2 * 0.5 * 0.4 / 0.9)


def test_edit_distance():
    m = metrics.EditDistance("distance")
    m.update(np.array([[0.0], [3.0], [1.0]], "float32"), dygraph.to_variable(np.array(3)))
    m.update(np.array([[0.0]]), 1)
    assert m.eval() == (1.0, 0.5)
    with pytest.raises(ValueError, match="must hold seq_num = 2 numbers"):
        m.update(np.array([[0.0]]), 2)
    m.reset()
    with pytest.raises(RuntimeError, match="needs sequences"):
        m.eval()


def test_auc():
    m = metrics.Auc("auc", num_thresholds=255)
    for p, y in zip(P, LABEL, strict=True):
        m.update(np.stack([1 - p, p], axis=1), dygraph.to_variable(y[:, None]))
    np.testing.assert_allclose(m.eval(), roc_auc_score(LABEL.ravel(), P.ravel()))
    m.reset()
    assert m.eval() == 0.0
    precise = metrics.Auc("auc", curve="PR")
    precise.update(np.array([0.9, 0.7, 0.5, 0.3]), np.array([1, 0, 1, 0]))
    np.testing.assert_allclose(precise.eval(), 0.5 + 0.5 * (0.5 + 2 / 3) / 2)


def test_auc_agrees_with_the_operator():
    m = metrics.Auc("auc", num_thresholds=100)
    zeros = dygraph.to_variable(np.zeros(101, "int64"))
    p, y = P[0].astype("float32"), LABEL[0]
    m.update(p, y)
    v = dygraph.to_variable
    area = dygraph.ops.auc(
        v(p[:, None]), v(y[:, None]), zeros, zeros, num_thresholds=100, slide_steps=0
    )[0]
    np.testing.assert_allclose(m.eval(), area.item())


def test_composite():
    both = metrics.CompositeMetric()
    both.add_metric(metrics.Precision())
    both.add_metric(metrics.Recall())
    both.update(np.array([0.9, 0.8, 0.1]), np.array([1, 0, 1]))
    assert both.eval() == [0.5, 0.5]
    assert both.get_config() == {"Precision": {"tp": 1, "fp": 1}, "Recall": {"tp": 1, "fn": 1}}
    both.reset()
    assert both.eval() == [0.0, 0.0]
    with pytest.raises(TypeError, match="must be a MetricBase"):
        both.add_metric(lambda: 0)


def test_wrong_input():
    m = metrics.Precision()
    with pytest.raises(ValueError, match=r"as many values, got shapes \[3\] and \[2\]"):
        m.update(np.ones(3), np.ones(2))
    with pytest.raises(ValueError, match="labels must hold 0 or 1, got 2 at position 1"):
        m.update(np.ones(2), np.array([1, 2]))
    with pytest.raises(TypeError, match="must be a Variable, an array or a number"):
        m.update("yes", np.ones(1))
    with pytest.raises(ValueError, match=r"probabilities in \[0, 1\], got 1.5.*sigmoid"):
        metrics.Auc("auc").update(np.array([1.5]), np.array([1]))
    with pytest.raises(NotImplementedError):
        metrics.MetricBase().eval()
