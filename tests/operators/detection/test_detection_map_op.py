"""Mean average precision, counted by hand."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest

LEFT, RIGHT, BELOW = [0, 0, 0.5, 0.5], [0.5, 0, 1, 0.5], [0, 0.5, 0.5, 1]
FOUND = [
    [1, 0.9, *LEFT],  # image 0: right
    [1, 0.8, *LEFT],  # taken: wrong
    [1, 0.7, *RIGHT],  # right, but difficult
    [2, 0.6, *BELOW],  # image 1: of no label: wrong
    [1, 0.5, *BELOW],  # right
]
LABEL = [[1, 0, *LEFT], [1, 1, *RIGHT], [1, 0, *BELOW], [2, 0, *LEFT], [0, 0, *LEFT]]
LODS = [[0, 3, 5]], [[0, 2, 5]]


class TestDetectionMap(OpTest):
    """Class 1: right, wrong, right, right of 3 labels; class 2: wrong of 1; class 0 is left out."""

    elementwise = False
    fixed_dtypes = {"AccumPosCount": "int32"}
    leave_out = {"empty": "no rows of no images: MAP is 0 of shape []"}
    attrs_of, flags = {}, [1, 0, 1, 1]
    mean, labels = (1 / 3 + (2 / 3) / 3 + (3 / 4) / 3) / 2, [1, 3, 1]
    scores = [0.9, 0.8, 0.7, 0.5]

    def setUp(self):
        self.op_type = "detection_map"
        self.inputs = {
            "DetectRes": (np.array(FOUND), LODS[0]), "Label": (np.array(LABEL), LODS[1]),
        }  # fmt: skip
        self.attrs = {"class_num": 3, **self.attrs_of}
        count = len(self.scores)
        right = [[s, f] for s, f in zip(self.scores, self.flags, strict=True)] + [[0.6, 0]]
        wrong = [[s, 1 - f] for s, f in zip(self.scores, self.flags, strict=True)] + [[0.6, 1]]
        self.outputs = {
            "AccumPosCount": np.array(self.labels, "int32")[:, None],
            "AccumTruePos": (np.array(right), [[0, 0, count, count + 1]]),
            "AccumFalsePos": (np.array(wrong), [[0, 0, count, count + 1]]),
            "MAP": np.array(self.mean),
        }

    def test_check_output(self):
        self.check_output()


class TestDetectionMap11Point(TestDetectionMap):
    """Precision 1 at recalls 0 to 0.3, 3/4 (the greatest later one) at 0.4 to 1."""

    attrs_of = {"ap_type": "11point"}
    mean = (4 + 7 * 3 / 4) / 11 / 2


class TestDetectionMapWithoutDifficult(TestDetectionMap):
    """The difficult label and its detection vanish: right, wrong, right of 2."""

    attrs_of = {"evaluate_difficult": False}
    flags, scores, labels = [1, 0, 1], [0.9, 0.8, 0.5], [1, 2, 1]
    mean = (1 / 2 + (2 / 3) / 2) / 2


def halves():
    """Both images by themselves, with labels that say nothing of difficulty."""
    plain = np.delete(np.array(LABEL), 1, 1)
    for (a, b), (c, d) in (((0, 3), (0, 2)), ((3, 5), (2, 5))):
        found = _core.to_variable(np.array(FOUND[a:b]), lod=[[0, b - a]])
        yield found, _core.to_variable(plain[c:d], lod=[[0, d - c]])


def test_counts_go_on():
    state = {}
    for found, label in halves():
        *counted, mean = _core.ops.detection_map(found, label, class_num=3, **state)
        state = dict(zip(("pos_count", "true_pos", "false_pos"), counted, strict=True))
        state["has_state"] = _core.to_variable(np.array([1], "int32"))
    assert mean.item() == pytest.approx(TestDetectionMap.mean)
    assert counted[0].tolist() == [[1], [3], [1]]


def test_nothing_found():
    nothing = _core.to_variable(np.array([[-1.0]]), lod=[[0, 1]])  # of multiclass_nms
    label = _core.to_variable(np.array([[1.0, *LEFT]]), lod=[[0, 1]])
    assert _core.ops.detection_map(nothing, label, class_num=2)[3].item() == 0.0


def test_wrong_inputs():
    found, label = next(halves())
    with pytest.raises(IndexError, match=r"Label must hold classes in \[0, 1\), got 1"):
        _core.ops.detection_map(found, label, class_num=1)
    state = _core.to_variable(np.array([1], "int32"))
    with pytest.raises(ValueError, match="PosCount, TruePos and FalsePos must be given"):
        _core.ops.detection_map(found, label, has_state=state, class_num=3)
    other = _core.to_variable(label.numpy(), lod=[[0, 1, 2]])
    with pytest.raises(ValueError, match="DetectRes must have a level of detail with 2 images"):
        _core.ops.detection_map(found, other, class_num=3)
