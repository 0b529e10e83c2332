"""Non-maximum suppression and its relatives."""

import numpy as np
import pytest

from detection_reference import best, boxes, decode, multiclass, overlap, rows, suppress
from dygraph import _core, errors
from op_test import OpTest, rand

INDEX = {"Index": "int32", "NmsRoisNum": "int32", "RoisNum": "int32"}


def scores_for(*shape):
    """Different in float32 too."""
    count = int(np.prod(shape))
    return (np.random.permutation(count).reshape(shape) + 1) / (count + 1)


class TestMulticlassNms(OpTest):
    elementwise = False
    fixed_dtypes = INDEX
    op, changes, scale = "multiclass_nms", {}, 1.0

    def setUp(self):
        self.op_type = self.op
        self.inputs = {
            "BBoxes": boxes(2, 12, scale=self.scale), "Scores": scores_for(2, 3, 12),
        }  # fmt: skip
        self.attrs = {
            "score_threshold": 0.2, "nms_top_k": 10, "nms_threshold": 0.4, "keep_top_k": 9,
            **self.changes,
        }  # fmt: skip

    def reference(self, inputs, attrs):
        found = multiclass(inputs["BBoxes"], inputs["Scores"], attrs)
        out, lod = rows(found)
        index = np.array([f[3] for image in found for f in image], "int32").reshape(-1, 1)
        if self.op == "multiclass_nms":
            return {"Out": (out, lod) if len(out) else (np.array([[-1.0]]), [[1]])}
        outputs = {"Out": (out, lod), "Index": (index, lod)}
        if self.op == "multiclass_nms3":
            outputs["NmsRoisNum"] = np.array([len(image) for image in found], "int32")
        return outputs

    def test_check_output(self):
        self.check_output()


class TestMulticlassNmsAll(TestMulticlassNms):
    changes = {"background_label": -1, "keep_top_k": -1, "nms_top_k": -1}


class TestMulticlassNmsEta(TestMulticlassNms):
    op, changes = "multiclass_nms2", {"nms_threshold": 0.8, "nms_eta": 0.5, "keep_top_k": -1}


class TestMulticlassNmsPixels(TestMulticlassNms):
    op, changes, scale = "multiclass_nms3", {"normalized": False}, 20.0


class TestMulticlassNmsNothing(TestMulticlassNms):
    op, changes = "multiclass_nms2", {"score_threshold": 2.0}


class TestMulticlassNmsOfClasses(OpTest):
    """[rows, C, 4]: each class has boxes of its own; by class, then by row."""

    elementwise = False
    fixed_dtypes = INDEX
    leave_out = {"empty": "no rows are no images without a level of detail"}

    def setUp(self):
        self.op_type = "multiclass_nms3"
        box, score = boxes(6, 2), scores_for(6, 2)
        self.inputs = {
            "BBoxes": box, "Scores": score, "RoisNum": np.array([4, 0, 2], "int32"),
        }  # fmt: skip
        self.attrs = {"score_threshold": 0.1, "background_label": -1, "nms_threshold": 0.2}
        found, index, counts = [], [], []
        for begin, end in ((0, 4), (4, 4), (4, 6)):
            counts.append(0)
            for c in range(2):
                order = best(score[begin:end, c], 0.1)
                for i in sorted(suppress(order, box[begin:end, c], 0.2)):
                    found.append([c, score[begin + i, c], *box[begin + i, c]])
                    index.append([(begin + i) * 2 + c])
                    counts[-1] += 1
        self.outputs = {
            "Out": (np.array(found), [[0, *np.cumsum(counts).tolist()]]),
            "Index": np.array(index, "int32"), "NmsRoisNum": np.array(counts, "int32"),
        }  # fmt: skip

    def test_check_output(self):
        self.check_output()


class TestMatrixNms(OpTest):
    elementwise = False
    fixed_dtypes = INDEX
    gaussian = False

    def setUp(self):
        self.op_type = "matrix_nms"
        self.inputs = {"BBoxes": boxes(2, 8), "Scores": scores_for(2, 3, 8)}
        self.attrs = {
            "score_threshold": 0.2, "post_threshold": 0.1, "nms_top_k": 6, "keep_top_k": 7,
            "use_gaussian": self.gaussian, "gaussian_sigma": 2.0,
        }  # fmt: skip

    def decay(self, o, m):
        return np.exp((m * m - o * o) * 2.0) if self.gaussian else (1 - o) / (1 - m)

    def reference(self, inputs, attrs):
        images = []
        for n, (box, score) in enumerate(zip(inputs["BBoxes"], inputs["Scores"], strict=True)):
            found = []
            for c in (1, 2):
                order = best(score[c], 0.2, 6)
                o = np.array([[overlap(box[i], box[j]) for j in order] for i in order])
                o = np.tril(o.reshape(len(order), len(order)), -1)
                for k, i in enumerate(order):
                    least = min([self.decay(o[k, j], o[j].max()) for j in range(k)] + [1.0])
                    if least * score[c][i] > 0.1:
                        found.append((c, least * score[c][i], box[i], n * len(box) + i))
            images.append(sorted(found, key=lambda f: -f[1])[:7])
        out, lod = rows(images)
        index = np.array([f[3] for image in images for f in image], "int32").reshape(-1, 1)
        counts = np.array([len(image) for image in images], "int32")
        return {"Out": (out, lod), "Index": (index, lod), "RoisNum": counts}

    def test_check_output(self):
        self.check_output()


class TestMatrixNmsGaussian(TestMatrixNms):
    gaussian = True


class TestLocalityAwareNms(OpTest):
    """The first two boxes are joined, weighted with 3 and 1; the third is another."""

    elementwise = False
    leave_out = {"empty": "[[-1]] where there is nothing: test_nothing"}

    def setUp(self):
        self.op_type = "locality_aware_nms"
        box = np.array([[[0.0, 0, 4, 4], [0, 0, 4, 3], [5, 5, 8, 8]]])
        self.inputs = {"BBoxes": box, "Scores": np.array([[[0.75, 0.25, 0.5]]])}
        self.attrs = {"nms_threshold": 0.5}
        out = [[0, 1.0, 0, 0, 4, 3.75], [0, 0.5, 5, 5, 8, 8]]
        self.outputs = {"Out": (np.array(out), [[2]])}

    def test_check_output(self):
        self.check_output()


class TestPolygons(OpTest):
    """A square turned by 45 degrees shares 2 of its 2 with a square of 4; an L shares none."""

    elementwise = False
    leave_out = {"empty": "[[-1]] where there is nothing: test_nothing"}

    def setUp(self):
        self.op_type = "multiclass_nms"
        square = [0, 0, 2, 0, 2, 2, 0, 2]
        turned = [1, 0, 2, 1, 1, 2, 0, 1]
        notched = [2, 2, 4, 4, 0, 4, 2, 3]  # not convex, and it goes round the other way
        box = np.array([[square, turned, notched]], "float64")
        self.inputs = {"BBoxes": box, "Scores": np.array([[[0.75, 0.5, 0.25]]])}
        self.attrs = {"background_label": -1, "nms_threshold": self.threshold}
        kept = [i for i in range(3) if i != 1 or self.threshold >= 0.5]
        out = [[0, [0.75, 0.5, 0.25][i], *box[0, i]] for i in kept]
        self.outputs = {"Out": (np.array(out), [[len(kept)]])}

    threshold = 0.49

    def test_check_output(self):
        self.check_output()


class TestPolygonsApart(TestPolygons):
    threshold = 0.51


class TestRetinanetDetectionOutput(OpTest):
    elementwise = False
    leave_out = {"empty": "images without anchors: no rows"}

    def setUp(self):
        self.op_type = "retinanet_detection_output"
        anchors = [boxes(4, scale=40.0), boxes(3, scale=40.0)]
        codes = [rand(2, 4, 4, low=-0.5, high=0.5), rand(2, 3, 4, low=-0.5, high=0.5)]
        scores = [scores_for(2, 4, 2), scores_for(2, 3, 2) / 1.01]
        info = np.array([[40.0, 50, 1], [30, 60, 1.5]])
        pairs = lambda name, values: [(f"{name}{i}", v) for i, v in enumerate(values)]  # noqa: E731
        self.inputs = {
            "BBoxes": pairs("b", codes), "Scores": pairs("s", scores),
            "Anchors": pairs("a", anchors), "ImInfo": info,
        }  # fmt: skip
        self.attrs = {"score_threshold": 0.3, "nms_top_k": 5, "nms_threshold": 0.3, "keep_top_k": 6}
        images = []
        for n, (height, width, scale) in enumerate(info):
            right, bottom = round(width / scale) - 1, round(height / scale) - 1
            of_class = {0: [], 1: []}
            for level in range(2):
                flat = scores[level][n].reshape(-1)
                for i in best(flat, (0.3, 0.0)[level], 5):
                    b = decode(anchors[level][i // 2], codes[level][n, i // 2], 1) / scale
                    b = np.clip(b, 0, [right, bottom, right, bottom])
                    of_class[i % 2].append((flat[i], b))
            found = []
            for c, given in of_class.items():
                s, b = np.array([x for x, _ in given]), [y for _, y in given]
                found += [(c + 1, s[i], b[i]) for i in suppress(best(s), b, 0.3, unit=1)]
            images.append(sorted(found, key=lambda f: -f[1])[:6])
        self.outputs = {"Out": rows(images)}

    def test_check_output(self):
        self.check_output()


class TestNms(OpTest):
    elementwise = False
    fixed_dtypes = {"KeepBoxesIdxs": "int64"}

    def setUp(self):
        self.op_type = "nms"
        self.inputs = {"Boxes": boxes(90)}  # more than one block is kept
        self.attrs = {"iou_threshold": 0.4}

    def reference(self, inputs, attrs):
        kept = suppress(range(len(inputs["Boxes"])), inputs["Boxes"], attrs["iou_threshold"])
        return {"KeepBoxesIdxs": np.array(kept, "int64")}

    def test_check_output(self):
        self.check_output()


@pytest.mark.parametrize("name", ["multiclass_nms", "locality_aware_nms"])
def test_nothing(name):
    box = _core.to_variable(np.zeros((2, 3, 4)))
    out = getattr(_core.ops, name)(box, _core.to_variable(np.zeros((2, 1, 3))), score_threshold=1.0)
    assert out.tolist() == [[-1.0]] and out.lod() == [[0, 1]]


def test_scores_and_boxes_that_are_not_numbers():
    box = np.array([[[0, 0, 1, 1], [np.nan] * 4, [0, 0, np.inf, 1]]])
    score = np.array([[[np.nan, 0.5, 0.4]]])
    out = _core.ops.multiclass_nms2(
        _core.to_variable(box), _core.to_variable(score), background_label=-1
    )
    assert [row[1] for row in out.tolist()] == [0.5]  # a NaN overlaps with all, as in Fluid
    assert _core.ops.nms(_core.to_variable(box[0]), iou_threshold=0.5).tolist() == [0, 1, 2]


def test_wrong_inputs():
    box = _core.to_variable(np.zeros((1, 3, 4), "float32"))
    rows_ = _core.to_variable(np.zeros((1, 3), "float32"))
    ops = _core.ops
    with pytest.raises(errors.InvalidArgumentError, match="must have a level of detail with Sc"):
        ops.multiclass_nms(box, rows_)
    with pytest.raises(errors.InvalidArgumentError, match=r"RoisNum must be counts in \[0, 1\]"):
        ops.multiclass_nms3(box, rows_, rois_num=_core.to_variable(np.array([2**40, 2**62])))
    with pytest.raises(errors.InvalidArgumentError, match=r"Scores \[N, C, M\] must fit BBoxes"):
        ops.matrix_nms(box, _core.to_variable(np.zeros((1, 2, 4), "float32")))
    with pytest.raises(errors.InvalidArgumentError, match="4, 8, 16, 24 or 32 numbers"):
        ops.multiclass_nms(
            _core.to_variable(np.zeros((1, 3, 5), "float32")),
            _core.to_variable(np.zeros((1, 2, 3), "float32")),
        )
