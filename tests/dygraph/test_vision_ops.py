"""Functions of detection as torchvision and Paddle spell them, beside NumPy."""

import numpy as np
import pytest

import detection_reference as reference
import dygraph
from dygraph import errors
from dygraph.vision import boxes as boxes_of_vision
from dygraph.vision import ops


@pytest.fixture
def some():
    np.random.seed(5)
    boxes = reference.boxes(60, scale=100.0)
    return boxes, np.random.permutation(60) / 60.0, np.random.randint(0, 3, 60)


def variables(*arrays):
    return [dygraph.to_variable(a) for a in arrays]


def test_iou_and_area(some):
    one, two = some[0][:20], some[0][20:50]
    expected = [[reference.overlap(a, b) for b in two] for a in one]
    got = ops.box_iou(*variables(one, two))
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-12)
    area = ops.box_area(*variables(one))
    np.testing.assert_allclose(area.numpy(), [reference.area(b, 0) for b in one], rtol=1e-12)


def test_generalized_iou(some):
    one, two = some[0][:4], some[0][4:9]
    got = ops.generalized_box_iou(*variables(one, two)).numpy()
    for i, a in enumerate(one):
        for j, b in enumerate(two):
            overlap = reference.overlap(a, b)
            union = (reference.area(a, 0) + reference.area(b, 0)) / (1 + overlap)
            around = np.prod(np.maximum(a[2:], b[2:]) - np.minimum(a[:2], b[:2]))
            assert got[i, j] == pytest.approx(overlap - (around - union) / around, rel=1e-9)


def test_iou_has_a_gradient(some):
    one, two = variables(some[0][:3], some[0][3:5])
    one.stop_gradient = False
    ops.generalized_box_iou(one, two).sum().backward()
    for at in ((0, 0), (2, 3)):
        step = np.zeros((3, 4))
        step[at] = 1e-5
        ends = [
            ops.generalized_box_iou(dygraph.to_variable(some[0][:3] + s * step), two).sum().item()
            for s in (1, -1)
        ]
        assert one.grad.numpy()[at] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5)


@pytest.mark.parametrize("given", boxes_of_vision.FORMATS)
@pytest.mark.parametrize("wanted", boxes_of_vision.FORMATS)
def test_formats(given, wanted):
    forms = {"xyxy": [1.0, 2.0, 4.0, 8.0], "xywh": [1.0, 2, 3, 6], "cxcywh": [2.5, 5.0, 3, 6]}
    got = ops.box_convert(dygraph.to_variable([forms[given]]), given, wanted)
    assert got.tolist() == [forms[wanted]]


def test_clip_and_small():
    boxes = dygraph.to_variable([[-5.0, 3, 30, 50], [1, 1, 2, 9], [2, 2, 8, 8]])
    assert ops.clip_boxes_to_image(boxes, (40, 20)).tolist()[0] == [0, 3, 20, 40]
    assert ops.remove_small_boxes(boxes, 2).tolist() == [0, 2]
    assert ops.remove_small_boxes(boxes, 100).shape == (0,)


def test_nms_in_both_orders(some):
    boxes, scores, _ = some
    kept = reference.suppress(reference.best(scores), boxes, 0.4)
    b, s = variables(boxes, scores)
    for got in (
        ops.nms(b, s, 0.4), ops.nms(b, 0.4, s), ops.nms(b, scores=s, iou_threshold=0.4),
    ):  # fmt: skip
        assert got.tolist() == kept and got.dtype == dygraph.int64
    assert ops.nms(b, 0.4).tolist() == reference.suppress(range(60), boxes, 0.4)
    assert ops.nms(b, 0.4, s, top_k=3).tolist() == kept[:3]
    assert ops.nms(b[:0], s[:0], 0.4).tolist() == []


def test_nms_of_categories(some):
    boxes, scores, kinds = some
    b, s, k = variables(boxes, scores, kinds)

    def expected(categories):
        kept = []
        for c in categories:
            order = [i for i in reference.best(scores) if kinds[i] == c]
            kept += reference.suppress(order, boxes, 0.3)
        return sorted(kept, key=lambda i: -scores[i])

    assert ops.batched_nms(b, s, k, 0.3).tolist() == expected((0, 1, 2))
    assert ops.nms(b, 0.3, s, k, [0, 1, 2]).tolist() == expected((0, 1, 2))
    assert ops.nms(b, 0.3, s, k, [2, 0], top_k=5).tolist() == expected((0, 2))[:5]


def test_equal_scores_and_boxes_without_area():
    boxes = dygraph.to_variable([[1.0, 1, 1, 1], [1, 1, 1, 1], [0, 0, 2, 2], [0, 0, 2, 2]])
    scores = dygraph.to_variable([0.5, 0.5, 0.5, 0.5])
    assert ops.nms(boxes, scores, 0.5).tolist() == [0, 1, 2]  # an overlap of NaN is not above 0.5


def test_a_traced_nms_takes_other_boxes(some):
    boxes, scores, _ = some

    @dygraph.jit.to_static
    def found(b, s):
        return b[ops.nms(b, s, 0.4)]

    for count in (60, 31):
        b, s = boxes[:count], scores[:count]
        kept = reference.suppress(reference.best(s), b, 0.4)
        assert found(*variables(b, s)).numpy().tolist() == b[kept].tolist()


def test_paddles_faces():
    image, prior = dygraph.zeros([1, 3, 8, 8]), dygraph.to_variable([[0.0, 0, 2, 2]])
    # min_max_aspect_ratios_order stands before name, as in paddle.vision.ops.
    made = ops.prior_box(
        image, image, [2.0], [4.0], [2.0], [0.1, 0.1, 0.2, 0.2], False, False, [0.0, 0.0], 0.5, True
    )
    wide = made[0].numpy()[0, 0, :, 2] - made[0].numpy()[0, 0, :, 0]
    np.testing.assert_allclose(wide * 8, [2, 8**0.5, 2 * 2**0.5], rtol=1e-6)
    codes = dygraph.to_variable([[[0.5, 0.0, 0.0, 0.0]]])
    box = ops.box_coder(prior, [1.0] * 4, codes, "decode_center_size", True, 1)
    assert box.tolist() == [[[1.0, 0.0, 3.0, 2.0]]]
    out, counts, index = ops.matrix_nms(
        prior[None], dygraph.ones([1, 1, 1]), 0.1, 0.0, -1, -1, background_label=-1,
        return_index=True, return_rois_num=False,
    )  # fmt: skip
    assert out.shape == (1, 6) and counts is None and index.tolist() == [[0]]


def test_mistakes():
    boxes = dygraph.to_variable([[0.0, 0, 2, 2]])
    with pytest.raises(errors.InvalidArgumentError, match="must hold boxes, 4 numbers each"):
        ops.box_area(dygraph.ones([3, 5]))
    with pytest.raises(errors.InvalidArgumentError, match="in_fmt must be"):
        ops.box_convert(boxes, "yxyx", "xyxy")
    with pytest.raises(errors.ArgumentTypeError, match="iou_threshold"):
        ops.nms(boxes, dygraph.ones([1]))
    with pytest.raises(errors.ArgumentTypeError, match="category_idxs and categories go together"):
        ops.nms(boxes, 0.5, dygraph.ones([1]), categories=[0])
    with pytest.raises(AttributeError, match="dygraph.load reads states"):
        dygraph.vision.models  # noqa: B018
    with pytest.raises(AttributeError, match="It is dygraph.vision.ops.nms"):
        dygraph.vision.nms  # noqa: B018
    assert "vision" not in dir(dygraph) and dir(dygraph.vision) == ["ops"]
