"""Proposals, levels of pyramids, and the labels that detectors in two stages learn from.

Values of larger cases are recorded from Paddle: test_recorded_regions.py.
"""

import numpy as np
import pytest

import dygraph
from dygraph import _core
from op_test import OpTest, rand, split_lod

ONE = [[1]]  # lengths, as all levels of detail below


def ints(*rows):
    return np.array(rows, "int32")


class Chosen:
    """No gradient; rows are others than those of an input."""

    grad_inputs = []
    rows_move = True

    def test_check_output(self):
        self.check_output()


class TestGenerateProposals(Chosen, OpTest):
    """Two anchors that hardly overlap and one below a better one; worked out by hand."""

    def setUp(self):
        self.op_type = "generate_proposals"
        anchors = np.array([[0.0, 0, 9, 9], [0, 0, 9, 10], [20, 20, 39, 39]]).reshape(1, 1, 3, 4)
        deltas = np.zeros((1, 12, 1, 1))
        deltas[0, 8] = 0.25  # the third moves by 0.25 * 2 * 20 pixels to the right
        self.inputs = {
            "Scores": np.array([0.6, 0.9, 0.7]).reshape(1, 3, 1, 1), "BboxDeltas": deltas,
            "ImInfo": np.array([[35.0, 60.0, 1.0]]), "Anchors": anchors,
            "Variances": np.full((1, 1, 3, 4), 2.0),
        }  # fmt: skip
        self.attrs = {"nms_thresh": 0.5}
        boxes = np.array([[0.0, 0, 9, 10], [30, 20, 49, 34]])
        self.outputs = {
            "RpnRois": (boxes, [[2]]), "RpnRoiProbs": (np.array([[0.9], [0.7]]), [[2]]),
        }  # fmt: skip


class TestGenerateProposalsV2(TestGenerateProposals):
    """Without pixel_offset the third anchor is 19 wide, and images end at their size."""

    def setUp(self):
        super().setUp()
        self.op_type = "generate_proposals_v2"
        self.inputs["ImShape"] = self.inputs.pop("ImInfo")[:, :2]
        self.attrs["pixel_offset"] = False
        boxes = np.array([[0.0, 0, 9, 10], [29.5, 20, 48.5, 35]])
        self.outputs["RpnRois"] = boxes, [[2]]


class TestDistribute(Chosen, OpTest):
    def setUp(self):
        self.op_type = "distribute_fpn_proposals"
        sizes = np.array([63.0, 10, 127, 500, 64])
        rois = np.stack([sizes * 0, sizes * 0 + 1, sizes, sizes + 1], 1)
        self.inputs = {"FpnRois": (rois, [[2, 3]])}
        self.attrs = {"min_level": 3, "max_level": 5, "refer_level": 4, "refer_scale": 64}
        self.outputs = {
            "MultiFpnRois": [
                ("a", (rois[1:2], [[1, 0]])), ("b", (rois[[0, 4]], [[1, 1]])),
                ("c", (rois[2:4], [[0, 2]])),
            ],
            "RestoreIndex": ints([1], [0], [3], [4], [2]),
        }  # fmt: skip


class TestCollect(Chosen, OpTest):
    def setUp(self):
        self.op_type = "collect_fpn_proposals"
        a, b = rand(3, 4), rand(2, 4)
        scores = np.array([[0.5], [0.1], [0.9]]), np.array([[0.8], [0.2]])
        self.inputs = {
            "MultiLevelRois": [("a", (a, [[1, 2]])), ("b", (b, [[1, 1]]))],
            "MultiLevelScores": [("s", (scores[0], [[1, 2]])), ("t", (scores[1], [[1, 1]]))],
        }
        self.attrs = {"post_nms_topN": 3}
        self.outputs = {"FpnRois": (np.stack([b[0], a[0], a[2]]), [[2, 1]])}


ANCHORS = np.array([[0.0, 0, 9, 9], [0, 0, 9, 4], [20, 20, 29, 29], [30, 30, 52, 39]])
TRUTH = np.array([[0.0, 0, 9, 9], [20, 20, 29, 29]]), [[2]]


class TestRpnTargetAssign(Chosen, OpTest):
    """The second anchor overlaps the first box by a half; the fourth lies outside the image."""

    def setUp(self):
        self.op_type = "rpn_target_assign"
        self.inputs = {
            "Anchor": ANCHORS, "GtBoxes": TRUTH, "IsCrowd": (ints([0], [1]), [[2]]),
            "ImInfo": np.array([[45.0, 50.0, 1.0]]),
        }  # fmt: skip
        self.attrs = {
            "use_random": False, "rpn_positive_overlap": 0.5, "rpn_fg_fraction": 0.5,
            "rpn_batch_size_per_im": 4,
        }  # fmt: skip
        # An anchor of height 5 with its middle at 2.5, for a box of height 10 with it at 5.
        delta = [[0.0, 0, 0, 0], [0, 0.5, 0, np.log(2)]]
        self.outputs = {
            "LocationIndex": np.array([0, 1], "int32"), "ScoreIndex": np.array([0, 1, 2], "int32"),
            "TargetBBox": np.array(delta), "TargetLabel": ints([1], [1], [0]),
            "BBoxInsideWeight": np.ones((2, 4)),
        }  # fmt: skip


class TestRetinanetTargetAssign(Chosen, OpTest):
    def setUp(self):
        self.op_type = "retinanet_target_assign"
        self.inputs = {
            "Anchor": ANCHORS, "GtBoxes": TRUTH, "GtLabels": (ints([3], [7]), [[2]]),
            "IsCrowd": (ints([0], [0]), [[2]]), "ImInfo": np.array([[45.0, 50.0, 1.0]]),
        }  # fmt: skip
        self.attrs = {"positive_overlap": 0.6, "negative_overlap": 0.4}
        self.outputs = {
            "LocationIndex": np.array([0, 2], "int32"), "ScoreIndex": np.array([0, 2, 3], "int32"),
            "TargetBBox": np.zeros((2, 4)), "TargetLabel": ints([3], [7], [0]),
            "BBoxInsideWeight": np.ones((2, 4)), "ForegroundNumber": ints([3]),
        }  # fmt: skip


class TestGenerateProposalLabels(Chosen, OpTest):
    def setUp(self):
        self.op_type = "generate_proposal_labels"
        rois = np.array([[0.0, 0, 19, 9], [0, 0, 3, 3]])
        self.inputs = {
            "RpnRois": (rois, [[2]]), "GtClasses": (ints([2]), ONE), "IsCrowd": (ints([0]), ONE),
            "GtBoxes": (np.array([[0.0, 0, 9, 4]]), ONE), "ImInfo": np.array([[50.0, 50.0, 2.0]]),
        }  # fmt: skip
        self.attrs = {"class_nums": 3, "use_random": False, "fg_fraction": 1.0, "fg_thresh": 0.5,
                      "bbox_reg_weights": [0.5, 0.5, 0.25, 0.25]}  # fmt: skip
        # The first proposal is (0, 0, 9.5, 4.5) before scaling, the second (0, 0, 1.5, 1.5).
        targets = np.zeros((3, 12))
        targets[1, 8:] = [-0.25 / 10.5 / 0.5, -0.25 / 5.5 / 0.5,
                          np.log(10 / 10.5) / 0.25, np.log(5 / 5.5) / 0.25]  # fmt: skip
        weights = np.zeros((3, 12))
        weights[:2, 8:] = 1
        rows = [[3]]
        self.outputs = {
            "Rois": (np.array([[0.0, 0, 18, 8], *rois]), rows),
            "LabelsInt32": (ints([2], [2], [0]), rows), "BboxTargets": (targets, rows),
            "BboxInsideWeights": (weights, rows), "BboxOutsideWeights": (weights, rows),
        }  # fmt: skip
        self.tolerance = {"float64": (1e-6, 1e-6)}  # the weights are float32


class TestGenerateMaskLabels(Chosen, OpTest):
    def setUp(self):
        self.op_type = "generate_mask_labels"
        corners = np.array([[0.0, 0], [4, 0], [4, 8], [0, 8]])
        rois = np.array([[0.0, 0, 4, 4], [0, 0, 8, 8]])
        self.inputs = {
            "ImInfo": np.array([[9.0, 9, 1]]), "GtClasses": (ints([1]), ONE),
            "IsCrowd": (ints([0]), ONE), "GtSegms": (corners, [[1], [1], [4]]),
            "Rois": (rois, [[2]]), "LabelsInt32": (ints([0], [1]), [[2]]),
        }  # fmt: skip
        self.attrs = {"num_classes": 2, "resolution": 4}
        mask = np.full((2, 4, 4), -1)
        mask[1] = [1, 1, 0, 0]
        self.outputs = {
            "MaskRois": (rois[1:], ONE), "RoiHasMaskInt32": (ints([1]), ONE),
            "MaskInt32": (mask.reshape(1, 32).astype("int32"), ONE),
        }  # fmt: skip


def case_of(test):
    case = test("test_check_output")
    case.setUp()
    return case


def run(case, changed=None, attrs=None, counts=None):
    inputs = {**case.inputs, **(changed or {})}

    def variable(v):
        if isinstance(v, list):
            return [variable(x) for _, x in v]
        array, offsets = split_lod(v)
        return _core.to_variable(array, lod=offsets)

    slots = {slot: variable(value) for slot, value in inputs.items()}
    return _core.run_op(case.op_type, slots, {**case.attrs, **(attrs or {})}, counts or {})


@pytest.mark.parametrize(
    ("test", "changed"),
    [
        (TestGenerateProposals, {"Scores": np.full((1, 3, 1, 1), np.nan)}),
        (TestGenerateProposals, {"BboxDeltas": np.full((1, 12, 1, 1), np.inf)}),
        (TestGenerateProposals, {"BboxDeltas": np.ones((1, 8, 1, 1))}),
        (TestGenerateProposals, {"Anchors": np.ones((1, 1, 2, 4))}),
        (TestGenerateProposals, {"ImInfo": np.array([[0.0, 60, 1]])}),
        (TestGenerateProposals, {"ImInfo": np.array([[60.0, 60]])}),
        (TestDistribute, {"FpnRois": np.ones((2, 4))}),
        (TestDistribute, {"FpnRois": (np.full((2, 4), np.nan), [[2]])}),
        (TestDistribute, {"FpnRois": np.ones((2, 4)), "RoisNum": np.array([3, -1], "int32")}),
        (TestRpnTargetAssign, {"Anchor": ANCHORS * np.nan}),
        (TestRpnTargetAssign, {"GtBoxes": TRUTH[0]}),
        (TestRpnTargetAssign, {"GtBoxes": (TRUTH[0], [[1, 1]])}),
        (TestRpnTargetAssign, {"IsCrowd": ints([0])}),
        (TestRetinanetTargetAssign, {"GtLabels": ints([0])}),
        (TestGenerateProposalLabels, {"RpnRois": (np.ones((2, 4)) * np.inf, [[2]])}),
        (TestGenerateProposalLabels, {"RpnRois": (np.ones((2, 4)), [[1, 1]])}),
        (TestGenerateMaskLabels, {"GtSegms": (np.ones((4, 2)), [[4]])}),
        (TestGenerateMaskLabels, {"GtSegms": (np.ones((4, 2)), [[2], [1, 1], [2, 2]])}),
        (TestGenerateMaskLabels, {"Rois": (np.full((2, 4), np.nan), [[2]])}),
        (TestGenerateMaskLabels, {"GtClasses": (np.zeros((1, 0), "int32"), ONE)}),
        (TestGenerateMaskLabels, {"IsCrowd": (np.zeros((1, 2), "int32"), ONE)}),
    ],
)
def test_bad_input_is_refused(test, changed):
    with pytest.raises(ValueError, match="must"):
        run(case_of(test), changed)


@pytest.mark.parametrize("label", [3, -1])
def test_classes_outside_are_refused(label):
    with pytest.raises(IndexError, match="GtClasses"):
        run(case_of(TestGenerateProposalLabels), {"GtClasses": (ints([label]), ONE)})


def test_labels_outside_are_refused():
    with pytest.raises(IndexError, match="LabelsInt32"):
        run(case_of(TestGenerateMaskLabels), {"LabelsInt32": (ints([0], [2]), [[2]])})


def test_levels_that_no_pyramid_has_are_refused():
    for attrs in ({"min_level": 6}, {"max_level": 2**31 - 1}, {"refer_scale": 0}):
        with pytest.raises(ValueError, match="level|refer_scale"):
            run(case_of(TestDistribute), attrs=attrs)


def test_counts_of_proposals():
    case = case_of(TestGenerateProposals)
    got = run(case, counts={"RpnRoisNum": 1, "RpnRoisLod": 1})
    for name, expected in (("RpnRoisNum", [2]), ("RpnRoisLod", [2])):
        value = got[name][0] if isinstance(got[name], list) else got[name]
        assert value.tolist() == expected


def test_nothing_left_is_a_region_of_zeros():
    got = run(case_of(TestGenerateProposals), attrs={"min_size": 1000.0})
    assert got["RpnRois"].tolist() == [[0, 0, 0, 0]]
    assert got["RpnRoiProbs"].tolist() == [[0]]


def drawn(seed):
    """What rpn_target_assign draws of 40 anchors that are all background but one."""
    dygraph.seed(seed)
    anchors = np.array([[k * 10.0, 0, k * 10 + 9, 9] for k in range(40)])
    case = case_of(TestRpnTargetAssign)
    inputs = {"Anchor": anchors, "ImInfo": np.array([[50.0, 500.0, 1.0]])}
    got = run(case, inputs, {"use_random": True, "rpn_batch_size_per_im": 11})
    return got["ScoreIndex"].numpy(), got["TargetLabel"].numpy()


def test_drawn_labels_follow_the_seed():
    index, label = drawn(3)
    assert label.ravel().tolist() == [1] + [0] * 10
    assert index[0] == 0
    assert len(set(index.tolist())) == 11
    np.testing.assert_array_equal(drawn(3)[0], index)
    assert (drawn(4)[0] != index).any()


def test_each_anchor_is_drawn_as_often():
    hits = np.zeros(40)
    for seed in range(300):
        hits[drawn(seed)[0][1:]] += 1
    assert hits[0] == 0
    # 300 draws of 10 of 39: 77 on average, with a deviation of 7.6.
    assert (abs(hits[1:] - 300 * 10 / 39) < 4 * 7.6).all()
