"""sample_logits: scores of the true classes and of drawn ones."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestSampleLogits(OpTest):
    """Samples and their probabilities are given, so all is known."""

    remove, elementwise = False, False
    grad_inputs, grad_outputs = ["Logits"], ["SampledLogits"]

    def setUp(self):
        self.op_type = "sample_logits"
        logits, label = rand(3, 7), np.array([[1, 4], [0, 6], [5, 2]])
        samples = np.concatenate([label, np.tile([3, 6, 1], (3, 1))], axis=1)
        p = rand(3, 5, low=0.1, high=1)
        self.inputs = {
            "Logits": logits,
            "Labels": label,
            "CustomizedSamples": samples,
            "CustomizedProbabilities": p,
        }
        self.attrs = {
            "use_customized_samples": True,
            "num_samples": 3,
            "remove_accidental_hits": self.remove,
        }
        picked = np.take_along_axis(logits, samples, axis=1) - np.log(p)
        if self.remove:
            for row, column in ((0, 4), (1, 3)):  # class 1 of row 0, class 6 of row 1
                picked[row, column] -= 1e20
        self.outputs = {
            "Samples": samples,
            "Probabilities": p,
            "SampledLogits": picked,
            "SampledLabels": np.array([[0, 1]] * 3),
        }

    def test_check_output(self):
        self.check_output()


class TestSampleLogitsRemovesHits(TestSampleLogits):
    remove = True
    leave_out = dict.fromkeys(
        ("gradient", "second_order", "third_order"),
        "beside 1e20 the differences of scores are lost",
    )


def run(logits, label, **attrs):
    slots = {"Logits": _core.to_variable(logits), "Labels": _core.to_variable(np.asarray(label))}
    out = _core.run_op("sample_logits", slots, {"seed": 5, **attrs})
    return {name: v.numpy() for name, v in out.items()}


def test_drawn_samples():
    out = run(rand(2, 50), [[1], [2]], num_samples=20)
    drawn = out["Samples"][:, 1:]
    assert (drawn[0] == drawn[1]).all() and len(set(drawn[0])) == 20
    assert drawn.min() >= 0 and drawn.max() < 50
    assert (out["Samples"][:, 0] == [1, 2]).all()
    # Low classes are drawn more often: the expected count falls with the class, below 1.
    order = np.argsort(out["Samples"][0])
    p = out["Probabilities"][0][order]
    assert (np.diff(p) <= 0).all() and (p > 0).all() and (p <= 1).all()


def test_counts_of_repeated_samples():
    out = run(np.zeros((1, 8)), [[0]], num_samples=4000, uniq=False)
    counted = np.bincount(out["Samples"][0, 1:], minlength=8) / 4000
    p = np.log((np.arange(8) + 2) / (np.arange(8) + 1)) / np.log(9)
    np.testing.assert_allclose(counted, p, atol=0.03)
    np.testing.assert_allclose(out["Probabilities"][0], 4000 * p[out["Samples"][0]], rtol=1e-10)


def test_all_classes_can_be_drawn():
    out = run(np.zeros((1, 300)), [[0]], num_samples=300)
    assert sorted(out["Samples"][0, 1:]) == list(range(300))


def test_wrong_inputs():
    x = np.zeros((1, 3))
    with pytest.raises(IndexError, match=r"class in \[0, 3\), got 3 at position 0"):
        run(x, [[3]])
    with pytest.raises(TypeError, match=r"Labels must hold int64 or int32.*astype"):
        run(x, [[0.0]])
    with pytest.raises(ValueError, match="num_samples must be at most the number of classes"):
        run(x, [[0]], num_samples=4)
    with pytest.raises(ValueError, match="needs CustomizedSamples"):
        run(x, [[0]], use_customized_samples=True)
