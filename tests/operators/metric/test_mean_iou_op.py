"""mean_iou: intersection over union, averaged over the classes that occur."""

import numpy as np
import pytest
from sklearn.metrics import jaccard_score

from dygraph import _core
from op_test import OpTest


class TestMeanIou(OpTest):
    elementwise, fixed_dtypes = False, {"OutMeanIou": "float32"}

    def setUp(self):
        self.op_type = "mean_iou"
        found, label = np.random.randint(0, 4, (2, 5, 6))
        wrong = [((found == c) != (label == c)).sum() for c in range(5)]
        correct = [((found == c) & (label == c)).sum() for c in range(5)]
        mean = jaccard_score(label.ravel(), found.ravel(), average="macro")
        self.inputs = {"Predictions": found, "Labels": label}
        self.attrs = {"num_classes": 5}
        self.outputs = {
            "OutMeanIou": np.array(mean, "float32"),
            "OutWrong": np.array(wrong, "int32"),
            "OutCorrect": np.array(correct, "int32"),
        }

    def test_check_output(self):
        self.check_output()


def run(found, label, classes, **earlier):
    v = _core.to_variable
    slots = {"Predictions": v(np.asarray(found)), "Labels": v(np.asarray(label))}
    slots.update({k: [v(np.asarray(a)) for a in lists] for k, lists in earlier.items()})
    return _core.run_op("mean_iou", slots, {"num_classes": classes})


def test_earlier_counts_are_added():
    wrong, correct = np.array([1, 0], "int32"), np.array([0, 2], "int32")
    out = run([0, 1], [0, 0], 2, InWrongs=[wrong], InCorrects=[correct, correct])
    assert out["OutWrong"].numpy().tolist() == [2, 1]
    assert out["OutCorrect"].numpy().tolist() == [1, 4]
    np.testing.assert_allclose(out["OutMeanIou"].numpy(), (1 / 3 + 4 / 5) / 2, rtol=1e-6)


def test_wrong_inputs():
    with pytest.raises(IndexError, match=r"Labels must be classes in \[0, 2\), got 2"):
        run([0, 1], [0, 2], 2)
    with pytest.raises(TypeError, match="int32 or int64"):
        run([0.0, 1.0], [0, 1], 2)
    with pytest.raises(ValueError, match="one shape"):
        run([0, 1], [[0, 1]], 2)
