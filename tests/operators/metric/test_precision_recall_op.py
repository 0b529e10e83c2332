"""precision_recall: macro and micro averages, against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import precision_score, recall_score

from dygraph import _core
from op_test import OpTest, rand


def f1(p, r):
    return 2 * p * r / (p + r)


def metrics(label, found, weights):
    out = []
    for average in ("macro", "micro"):
        options = {"average": average, "sample_weight": weights, "zero_division": 1.0}
        p = precision_score(label, found, labels=range(4), **options)
        r = recall_score(label, found, labels=range(4), **options)
        out += [p, r, f1(p, r)]
    return np.array(out)


def states(label, found, weights):
    out = np.zeros((4, 4))
    for c in range(4):
        is_label, is_found = label == c, found == c
        for column, kind in enumerate(
            (is_label & is_found, ~is_label & is_found, ~is_label & ~is_found, is_label & ~is_found)
        ):
            out[c, column] = weights[kind].sum()
    return out


class TestPrecisionRecall(OpTest):
    elementwise, weighted = False, False
    fixed_dtypes = {"BatchMetrics": "float64", "AccumMetrics": "float64"}

    def setUp(self):
        self.op_type = "precision_recall"
        label, found = np.random.randint(0, 4, (2, 30))
        weights = rand(30, low=0.5, high=2) if self.weighted else np.ones(30)
        self.inputs = {
            "MaxProbs": rand(10, 1),
            "Indices": found[20:, None],
            "Labels": label[20:, None],
            "StatesInfo": states(label[:20], found[:20], weights[:20]),
        }
        if self.weighted:
            self.inputs["Weights"] = weights[20:, None]
        self.attrs = {"class_number": 4}
        self.outputs = {
            "BatchMetrics": metrics(label[20:], found[20:], weights[20:]),
            "AccumMetrics": metrics(label, found, weights),
            "AccumStatesInfo": states(label, found, weights),
        }

    def test_check_output(self):
        self.check_output()


class TestPrecisionRecallWeighted(TestPrecisionRecall):
    weighted = True


def test_label_out_of_range():
    v = _core.to_variable
    with pytest.raises(IndexError, match=r"Labels must be classes in \[0, 2\), got 2"):
        _core.ops.precision_recall(
            v(np.ones((1, 1))), v(np.array([[0]])), v(np.array([[2]])), class_number=2
        )
