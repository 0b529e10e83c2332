"""auc: the area under the curve of thresholds, against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from dygraph import _core
from op_test import OpTest


def counts(p, label, thresholds):
    pos, neg = np.zeros((2, thresholds + 1), "int64")
    for v, y in zip(p, label, strict=True):
        (pos if y else neg)[int(v * thresholds)] += 1
    return pos, neg


class TestAuc(OpTest):
    elementwise, fixed_dtypes = False, {"AUC": "float64"}

    def setUp(self):
        self.op_type = "auc"
        # Values that float32 holds, apart by more than a threshold: the curve is exact.
        p = np.random.permutation(16) / 16
        label = np.random.permutation([0, 1] * 8)
        pos, neg = counts(p, label, 255)
        before = np.zeros((1, 256), "int64")
        self.inputs = {
            "Predict": np.stack([1 - p, p], axis=1),
            "Label": label[:, None],
            "StatPos": before,
            "StatNeg": before,
        }
        self.attrs = {"num_thresholds": 255, "slide_steps": 0}
        self.outputs = {
            "AUC": np.array(roc_auc_score(label, p)),
            "StatPosOut": pos[None],
            "StatNegOut": neg[None],
        }

    def test_check_output(self):
        self.check_output()


def run(p, label, pos, neg, **attrs):
    arrays = (np.asarray(p, "float32")[:, None], np.asarray(label)[:, None], pos, neg)
    out = _core.ops.auc(*[_core.to_variable(a) for a in arrays], **attrs)
    return [v.numpy() for v in out]


def test_batches_add_up_and_windows_forget():
    generator = np.random.RandomState(0)
    p, label = generator.randint(0, 64, (4, 30)) / 64, generator.randint(0, 2, (4, 30))
    pos = neg = np.zeros(128, "int64")
    window_pos = window_neg = np.zeros(3 * 128 + 1, "int64")
    for i in range(4):
        # 127 thresholds: 1/64 falls apart by two buckets
        area, pos, neg = run(p[i], label[i], pos, neg, num_thresholds=127, slide_steps=0)
        seen_p, seen = p[: i + 1].ravel(), label[: i + 1].ravel()
        np.testing.assert_allclose(area, roc_auc_score(seen, seen_p))
        area, window_pos, window_neg = run(
            p[i], label[i], window_pos, window_neg, num_thresholds=127, slide_steps=2
        )
        last = slice(max(i - 1, 0), i + 1)
        np.testing.assert_allclose(area, roc_auc_score(label[last].ravel(), p[last].ravel()))


def test_precision_over_recall():
    p, label = np.array([0.9, 0.7, 0.5, 0.3]), np.array([1, 0, 1, 0])
    zeros = np.zeros(8192, "int64")
    area, *_ = run(p, label, zeros, zeros, curve="PR", slide_steps=0)
    # Trapezia: recall 0 to 0.5 at precision 1, then 1/2 to 2/3 while recall goes on to 1.
    np.testing.assert_allclose(area, 0.5 * 1 + 0.5 * (0.5 + 2 / 3) / 2)
    assert abs(area - average_precision_score(label, p)) < 0.1


def test_wrong_inputs():
    zeros = np.zeros(8192, "int64")
    with pytest.raises(ValueError, match=r"probabilities in \[0, 1\], got 1.5 in row 0"):
        run([1.5], [1], zeros, zeros, slide_steps=0)
    with pytest.raises(ValueError, match=r"0 or 1, got 2 in row 0"):
        run([0.5], [2], zeros, zeros, slide_steps=0)
    with pytest.raises(ValueError, match="StatPos must hold 16385 counts"):
        run([0.5], [1], zeros, zeros)
    assert run([0.5], [1], zeros, zeros, slide_steps=0)[0] == 0


def test_counts_wrap_as_integers_do():
    most = np.iinfo("int64").max
    counts, zeros = np.full(8192, most), np.zeros(8192, "int64")
    area, pos, _ = run([1.0], [1], counts, zeros, slide_steps=0)
    assert pos[8191] == np.iinfo("int64").min and (pos[:8191] == most).all() and area == 0
