"""yolo_box, yolov3_loss and sigmoid_focal_loss."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand

ANCHORS = [10, 13, 16, 30, 33, 23]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class TestYoloBox(OpTest):
    grad_inputs = []

    def setUp(self):
        self.op_type = "yolo_box"
        self.attrs = {
            "anchors": ANCHORS[:4], "class_num": 2, "conf_thresh": 0.45, "downsample_ratio": 8,
            "scale_x_y": 1.2,
        }  # fmt: skip
        x, size = rand(2, 14, 3, 4), np.array([[40, 50], [30, 90]], "int32")
        self.inputs = {"X": x, "ImgSize": size}
        x = x.reshape(2, 2, 7, 3, 4)
        boxes, scores = np.zeros((2, 2, 3, 4, 4)), np.zeros((2, 2, 3, 4, 2))
        for n, a, i, j in np.ndindex(2, 2, 3, 4):
            t = x[n, a, :, i, j]
            if sigmoid(t[4]) < 0.45:
                continue
            image = size[n, ::-1]
            middle = (np.array([j, i]) + 1.2 * sigmoid(t[:2]) - 0.1) / [4, 3] * image
            half = np.exp(t[2:4]) * ANCHORS[2 * a : 2 * a + 2] / [32, 24] * image / 2
            boxes[n, a, i, j, :2] = np.maximum(middle - half, 0)
            boxes[n, a, i, j, 2:] = np.minimum(middle + half, image - 1)
            scores[n, a, i, j] = sigmoid(t[4]) * sigmoid(t[5:])
        self.outputs = {"Boxes": boxes.reshape(2, 24, 4), "Scores": scores.reshape(2, 24, 2)}

    def test_check_output(self):
        self.check_output()


def overlap(a, b):
    """Of boxes by middle and size."""
    sides = np.minimum(a[:2] + a[2:] / 2, b[:2] + b[2:] / 2)
    sides = np.maximum(sides - np.maximum(a[:2] - a[2:] / 2, b[:2] - b[2:] / 2), 0)
    return sides.prod() / (a[2:].prod() + b[2:].prod() - sides.prod())


def entropy(x, target):
    return np.logaddexp(0, x) - x * target


def yolov3_loss(x, truth, labels, scores, a):
    masks, classes = a["anchor_mask"], a["class_num"]
    anchors = np.array(a["anchors"]).reshape(-1, 2)
    n, _, side, _ = x.shape
    x = x.reshape(n, len(masks), 5 + classes, side, side)
    size = a["downsample_ratio"] * side
    off = min(1 / classes, 1 / 40) if a["use_label_smooth"] else 0
    loss, objects = np.zeros(n), np.zeros((n, len(masks), side, side))
    match = np.full(labels.shape, -1, "int32")
    for i in range(n):
        real = [t for t in range(len(labels[i])) if (truth[i, t, 2:] > 1e-6).all()]
        for m, r, c in np.ndindex(len(masks), side, side):
            t = x[i, m, :, r, c]
            middle = (np.array([c, r]) + sigmoid(t[:2])) / side
            guess = np.r_[middle, np.exp(t[2:4]) * anchors[masks[m]] / size]
            if any(overlap(guess, truth[i, k]) > a["ignore_thresh"] for k in real):
                objects[i, m, r, c] = -1
        for k in real:
            box = truth[i, k]
            shape = [overlap(np.r_[0, 0, box[2:]], np.r_[0, 0, w / size]) for w in anchors]
            if int(np.argmax(shape)) not in masks:
                continue
            m = match[i, k] = masks.index(int(np.argmax(shape)))
            c, r = (box[:2] * side).astype(int)
            t, weight = x[i, m, :, r, c], (2 - box[2] * box[3]) * scores[i, k]
            loss[i] += weight * entropy(t[:2], box[:2] * side - [c, r]).sum()
            goal = np.log(box[2:] * size / anchors[masks[m]])
            loss[i] += weight * np.abs(t[2:4] - goal).sum()
            targets = np.where(np.arange(classes) == labels[i, k], 1 - off, off)
            loss[i] += scores[i, k] * entropy(t[5:], targets).sum()
            objects[i, m, r, c] = scores[i, k]
        sure, here = x[i, :, 4], objects[i]
        loss[i] += (entropy(sure, 1) * here)[here > 0].sum() + entropy(sure, 0)[here == 0].sum()
    return {"Loss": loss, "ObjectnessMask": objects, "GTMatchMask": match}


class TestYolov3Loss(OpTest):
    smooth = True

    def setUp(self):
        self.op_type = "yolov3_loss"
        self.attrs = {
            "anchors": ANCHORS, "anchor_mask": [0, 2], "class_num": 2, "ignore_thresh": 0.3,
            "downsample_ratio": 16, "use_label_smooth": self.smooth,
        }  # fmt: skip
        x = rand(2, 14, 3, 3)
        truth = rand(2, 3, 4, low=0.2, high=0.7)
        truth[:, 0, 2:] = [[0.2, 0.25], [0.6, 0.5]]
        truth[1, 2] = 0
        labels = np.array([[0, 1, 1], [1, 0, 0]], "int32")
        scores = rand(2, 3, low=0.3, high=1)
        self.inputs = {"X": x, "GTBox": truth, "GTLabel": labels, "GTScore": scores}
        self.outputs = yolov3_loss(x, truth, labels, scores, self.attrs)
        self.grad_inputs = ["X"]

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Loss")


class TestYolov3LossWithoutSmoothing(TestYolov3Loss):
    smooth = False


class TestSigmoidFocalLoss(OpTest):
    gamma, alpha = 2.0, 0.25

    def setUp(self):
        self.op_type = "sigmoid_focal_loss"
        self.attrs = {"gamma": self.gamma, "alpha": self.alpha}
        x = rand(5, 3, low=-3, high=3)
        labels = np.array([[0], [3], [-1], [1], [2]], "int32")
        self.inputs = {"X": x, "Label": labels, "FgNum": np.array([3], "int32")}
        p = sigmoid(x)
        true = -self.alpha * (1 - p) ** self.gamma * np.log(p)
        false = -(1 - self.alpha) * p**self.gamma * np.log(1 - p)
        out = np.where(labels == np.arange(1, 4), true, false)
        self.outputs = {"Out": np.where(labels < 0, 0, out) / 3}
        self.grad_inputs = ["X"]

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


class TestSigmoidFocalLossOther(TestSigmoidFocalLoss):
    gamma, alpha = 0.5, 0.6


def test_the_focal_loss_of_sure_scores_is_finite():
    given = {
        "X": np.array([[800.0, -800.0]]), "Label": np.array([[2]], "int32"),
        "FgNum": np.array([0], "int32"),
    }  # fmt: skip
    given = {slot: _core.to_variable(value) for slot, value in given.items()}
    out = _core.run_op("sigmoid_focal_loss", given, {}, {})["Out"].numpy()
    np.testing.assert_allclose(out, [[0.75 * 800, 0.25 * 800]])


def call(op, attrs, **slots):
    given = {slot: _core.to_variable(value) for slot, value in slots.items()}
    return _core.run_op(op, given, attrs, {})


@pytest.mark.parametrize("anchors", [[], [10], [10, 13, 16], [0, 13]])
def test_anchors_are_pairs_above_zero(anchors):
    with pytest.raises(ValueError, match="anchors"):
        call("yolo_box", {"anchors": anchors}, X=np.ones((1, 6, 2, 2)), ImgSize=np.int32([[9, 9]]))


def loss_of(box=(0.5, 0.5, 0.2, 0.2), label=0, **attrs):
    attrs = {"anchors": [10, 13], "anchor_mask": [0], **attrs}
    return call(
        "yolov3_loss", attrs, X=np.zeros((1, 6, 2, 2)), GTBox=np.array([[box]]),
        GTLabel=np.array([[label]], "int32"),
    )["Loss"].numpy()  # fmt: skip


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"box": (1.0, 0.5, 0.2, 0.2)}, IndexError, "GTBox"),
        ({"box": (0.5, -0.1, 0.2, 0.2)}, IndexError, "GTBox"),
        ({"box": (np.nan, 0.5, 0.2, 0.2)}, ValueError, "GTBox"),
        ({"box": (0.5, 0.5, np.inf, 0.2)}, ValueError, "GTBox"),
        ({"label": 1}, IndexError, "GTLabel"),
        ({"label": -1}, IndexError, "GTLabel"),
        ({"anchor_mask": [1]}, IndexError, "anchor_mask"),
        ({"anchor_mask": []}, ValueError, "anchor_mask"),
        ({"anchors": [10, 13, 4]}, ValueError, "anchors"),
    ],
)
def test_truth_outside_is_refused(given, error, said):
    assert np.isfinite(loss_of()).all()
    with pytest.raises(error, match=said):
        loss_of(**given)


@pytest.mark.parametrize("label", [-2, 4])
def test_labels_outside_are_refused(label):
    with pytest.raises(IndexError, match="Label"):
        call("sigmoid_focal_loss", {}, X=np.ones((1, 3)), Label=np.int32([[label]]),
             FgNum=np.int32([1]))  # fmt: skip
