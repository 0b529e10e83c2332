"""Fluid's layers for detection: losses and detections beside NumPy, programs beside eager calls."""

import inspect
import re

import numpy as np
import pytest

import detection_reference as reference
import dygraph
from dygraph import errors, static
from dygraph.static import layers

VARIANCE = [0.1, 0.1, 0.2, 0.2]
PRIORS, CLASSES = 12, 4
LOD = [[0, 2, 3]]


@pytest.fixture
def batch():
    """Two images with two boxes and one; priors, two of which hold a box almost."""
    np.random.seed(3)
    truth = np.array([[0.1, 0.1, 0.4, 0.5], [0.5, 0.5, 0.9, 0.8], [0.2, 0.3, 0.7, 0.9]])
    priors = np.concatenate([truth + 0.03, reference.boxes(PRIORS - 3)])
    found = {
        "location": np.random.normal(0, 1, (2, PRIORS, 4)),
        "confidence": np.random.normal(0, 1, (2, PRIORS, CLASSES)),
        "box": truth, "label": np.array([[1], [3], [2]]), "priors": priors,
        "variances": np.broadcast_to(VARIANCE, priors.shape),
    }  # fmt: skip
    return {k: v.astype("float32") if v.dtype.kind == "f" else v for k, v in found.items()}


def eager(batch):
    lods = {"box": LOD, "label": LOD}
    return {k: dygraph.to_variable(v, lod=lods.get(k)) for k, v in batch.items()}


def called(function, v, **options):
    return function(
        v["location"], v["confidence"], v["box"], v["label"], v["priors"], v["variances"], **options
    )


def smooth(x):
    return np.where(abs(x) < 1, x * x / 2, abs(x) - 0.5)


def by_hand(location, confidence, box, label, priors, variances):
    """The loss of each image, by the text."""
    image_loss, matched = [], 0
    for n, (a, b) in enumerate([(0, 2), (2, 3)]):
        overlap = np.array([[reference.overlap(g, p) for p in priors] for g in box[a:b]])
        match = np.full(PRIORS, -1)
        left = overlap.copy()
        while left.max() > 1e-6:
            row, column = np.unravel_index(left.argmax(), left.shape)
            match[column], left[row], left[:, column] = row, -1, -1
        match = np.where((match < 0) & (overlap.max(0) >= 0.5), overlap.argmax(0), match)
        target = np.where(match < 0, 0, label[a:b, 0][match])
        parts = np.exp(confidence[n]) / np.exp(confidence[n]).sum(1, keepdims=True)
        loss = -np.log(parts[range(PRIORS), target])
        free = [j for j in np.argsort(-loss) if match[j] < 0]  # their overlap counts as 0
        positive = np.flatnonzero(match >= 0)
        chosen = [*positive, *free[: 3 * len(positive)]]
        codes = reference.encode(priors, variances, box[a:b])
        shift = sum(smooth(location[n, j] - codes[match[j], j]).sum() for j in positive)
        image_loss.append(loss[chosen].sum() + shift)
        matched += len(positive)
    return np.array(image_loss) / matched


def test_ssd_loss_beside_numpy(batch):
    wide = {k: v.astype("float64") if v.dtype.kind == "f" else v for k, v in batch.items()}
    loss = called(layers.ssd_loss, eager(batch))
    assert loss.shape == (2, 1)
    np.testing.assert_allclose(loss.numpy().reshape(-1), by_hand(**wide), rtol=1e-5)


def test_ssd_loss_has_the_gradient_of_differences(batch):
    v = eager({k: a.astype("float64") if a.dtype.kind == "f" else a for k, a in batch.items()})
    v["location"].stop_gradient = v["confidence"].stop_gradient = False
    called(layers.ssd_loss, v).sum().backward()
    for name in ("location", "confidence"):
        rng = np.random.default_rng(0)
        along = rng.normal(size=v[name].shape)

        def value(step, name=name, along=along):
            moved = {**v, name: dygraph.to_variable(v[name].numpy() + step * along)}
            return called(layers.ssd_loss, moved).sum().item()

        slope = (value(1e-6) - value(-1e-6)) / 2e-6
        assert (v[name].grad.numpy() * along).sum() == pytest.approx(slope, rel=1e-6)


def described(batch, function):
    """What a program computes, with all sizes of images open, beside the eager call."""
    main = static.Program()
    with static.program_guard(main, static.Program()):
        v = {
            k: static.data(
                k, [None, *a.shape[1:]], str(a.dtype), lod_level=int(k in ("box", "label"))
            )
            for k, a in batch.items()
        }
        results = function(v)
    results = list(results) if isinstance(results, tuple) else [results]
    feed = {k: batch[k] if k not in ("box", "label") else eager(batch)[k] for k in batch}
    used = {
        n: a for n, a in feed.items() if any(n in op.input_arg_names for op in main.block(0).ops)
    }
    return static.Executor().run(main, used, results, return_numpy=False)


@pytest.mark.parametrize(
    "function",
    [
        lambda v: called(layers.ssd_loss, v),
        lambda v: layers.detection_output(
            v["location"], v["confidence"], v["priors"], v["variances"]
        ),
        lambda v: layers.detection_output(
            v["location"], v["confidence"], v["priors"], VARIANCE, score_threshold=2.0,
            return_index=True,
        ),
        lambda v: layers.iou_similarity(v["box"], v["priors"]),
        lambda v: layers.bipartite_match(
            layers.iou_similarity(v["box"], v["priors"]), "per_prediction", 0.4
        ),
    ],
    ids=["ssd_loss", "detection_output", "nothing", "iou_similarity", "bipartite_match"],
)  # fmt: skip
def test_programs_have_the_bits_of_eager_calls(batch, function):
    expected = function(eager(batch))
    expected = list(expected) if isinstance(expected, tuple) else [expected]
    for got, want in zip(described(batch, function), expected, strict=True):
        assert np.array(got).shape == want.shape
        assert np.array(got).tobytes() == want.numpy().tobytes()
        assert got.lod() == want.lod()


def test_detection_output_beside_numpy(batch):
    v = eager(batch)
    out = layers.detection_output(
        v["location"], v["confidence"], v["priors"], v["variances"], nms_threshold=0.4
    )
    scores = np.exp(batch["confidence"].astype("float64"))
    scores = (scores / scores.sum(2, keepdims=True)).transpose(0, 2, 1)
    boxes = reference.decode(
        np.broadcast_to(batch["priors"].astype("float64"), batch["location"].shape),
        batch["location"] * VARIANCE,
    )
    attrs = {"score_threshold": 0.01, "nms_threshold": 0.4, "nms_top_k": 400, "keep_top_k": 200}
    rows, lengths = reference.rows(reference.multiclass(boxes, scores, attrs))
    assert out.lod() == [np.cumsum([0, *lengths[0]]).tolist()]
    np.testing.assert_allclose(out.numpy(), rows, rtol=1e-5, atol=1e-5)


def test_multi_box_head_trains():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        image = static.data("image", [None, 3, 24, 24])
        box, label = (
            static.data(n, [None, w], t, lod_level=1)
            for n, w, t in (("box", 4, "float32"), ("label", 1, "int64"))
        )
        maps = [image]
        for _ in range(3):
            maps.append(layers.conv2d(maps[-1], 4, 3, stride=2, padding=1, act="relu"))
        codes, scores, priors, variances = layers.multi_box_head(
            maps[1:], image, 24, 3, [[2.0], [2.0], [2.0]], min_ratio=20, max_ratio=90,
            kernel_size=3, pad=1,
        )  # fmt: skip
        # 1, 2 and 1/2 of the min size, and the square: at 144 + 36 + 9 cells.
        assert codes.shape == (-1, 756, 4) and scores.shape == (-1, 756, 3)
        assert priors.shape == variances.shape == (756, 4)
        loss = layers.reduce_sum(layers.ssd_loss(codes, scores, box, label, priors, variances))
        static.optimizer.Adam(1e-2).minimize(loss)
    executor = static.Executor()
    executor.run(startup)
    rng = np.random.default_rng(0)
    feed = {
        "image": rng.normal(size=(2, 3, 24, 24)).astype("float32"),
        "box": dygraph.to_variable(
            np.array([[0.1, 0.1, 0.5, 0.5], [0.4, 0.4, 0.9, 0.9]], "float32"), lod=[[0, 1, 2]]
        ),
        "label": dygraph.to_variable(np.array([[1], [2]]), lod=[[0, 1, 2]]),
    }
    losses = [executor.run(main, feed, [loss])[0].item() for _ in range(20)]
    assert losses[-1] < 0.5 * losses[0]


def test_detection_map_over_runs():
    """Batches by hand: one right of one, then one wrong of one: (1 + 0) / 2 labels, then reset."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        found = static.data("found", [None, 6], lod_level=1)
        label = static.data("label", [None, 1], "int64", lod_level=1)
        box = static.data("box", [None, 4], lod_level=1)
        metric = static.metrics.DetectionMAP(found, label, box, class_num=2)
        values = list(metric.get_map_var())
    assert static.evaluator.DetectionMAP is static.metrics.DetectionMAP
    executor = static.Executor()
    executor.run(startup)

    def run(x):
        def one(values, dtype="float32"):
            return dygraph.to_variable(np.array([values], dtype), lod=[[0, 1]])

        feed = {"found": one([1, 0.9, x, 0, x + 0.5, 1]), "label": one([1], "int64")}
        return [v.item() for v in executor.run(main, {**feed, "box": one([0, 0, 0.5, 1])}, values)]

    assert run(0.0) == [1.0, 1.0]
    assert run(0.5) == [0.0, 0.5]
    # Of equal scores the earlier counts first: right, wrong, right of 3 labels.
    assert run(0.0)[1] == pytest.approx((1 + 2 / 3) / 3)
    metric.reset(executor)
    assert run(0.5) == [0.0, 0.0]


def test_mistakes_say_the_rule(batch):
    v = eager(batch)
    with pytest.raises(errors.InvalidArgumentError, match="mining_type must be 'max_negative'"):
        called(layers.ssd_loss, v, mining_type="hard_example")
    image = dygraph.zeros([1, 3, 8, 8])
    with pytest.raises(errors.InvalidArgumentError, match="steps must hold two numbers"):
        layers.prior_box(image, image, 2.0, steps=[1.0])
    with pytest.raises(errors.InvalidArgumentError, match="stride must hold two numbers"):
        layers.anchor_generator(image, 2.0, 1.0)
    with static.program_guard(static.Program(), static.Program()):
        x = static.data("x", [None, 3, 8, 8])
        with pytest.raises(errors.InvalidArgumentError, match="min_sizes must hold sizes for each"):
            layers.multi_box_head([x, x], x, 8, 2, [[1.0], [1.0]])


# As Fluid 1.8.5 declares them.
SIGNATURES = """
anchor_generator(input, anchor_sizes=None, aspect_ratios=None, variance=[0.1, 0.1, 0.2, 0.2],
    stride=None, offset=0.5, name=None)
bipartite_match(dist_matrix, match_type=None, dist_threshold=None, name=None)
box_clip(input, im_info, name=None)
box_coder(prior_box, prior_box_var, target_box, code_type="encode_center_size",
    box_normalized=True, name=None, axis=0)
box_decoder_and_assign(prior_box, prior_box_var, target_box, box_score, box_clip, name=None)
density_prior_box(input, image, densities=None, fixed_sizes=None, fixed_ratios=None,
    variance=[0.1, 0.1, 0.2, 0.2], clip=False, steps=[0.0, 0.0], offset=0.5, flatten_to_2d=False,
    name=None)
detection_output(loc, scores, prior_box, prior_box_var, background_label=0, nms_threshold=0.3,
    nms_top_k=400, keep_top_k=200, score_threshold=0.01, nms_eta=1.0, return_index=False)
iou_similarity(x, y, box_normalized=True, name=None)
locality_aware_nms(bboxes, scores, score_threshold, nms_top_k, keep_top_k, nms_threshold=0.3,
    normalized=True, nms_eta=1.0, background_label=-1, name=None)
matrix_nms(bboxes, scores, score_threshold, post_threshold, nms_top_k, keep_top_k,
    use_gaussian=False, gaussian_sigma=2.0, background_label=0, normalized=True,
    return_index=False, name=None)
multi_box_head(inputs, image, base_size, num_classes, aspect_ratios, min_ratio=None,
    max_ratio=None, min_sizes=None, max_sizes=None, steps=None, step_w=None, step_h=None,
    offset=0.5, variance=[0.1, 0.1, 0.2, 0.2], flip=True, clip=False, kernel_size=1, pad=0,
    stride=1, name=None, min_max_aspect_ratios_order=False)
multiclass_nms(bboxes, scores, score_threshold, nms_top_k, keep_top_k, nms_threshold=0.3,
    normalized=True, nms_eta=1.0, background_label=0, name=None)
polygon_box_transform(input, name=None)
prior_box(input, image, min_sizes, max_sizes=None, aspect_ratios=[1.0],
    variance=[0.1, 0.1, 0.2, 0.2], flip=False, clip=False, steps=[0.0, 0.0], offset=0.5, name=None,
    min_max_aspect_ratios_order=False)
retinanet_detection_output(bboxes, scores, anchors, im_info, score_threshold=0.05, nms_top_k=1000,
    keep_top_k=100, nms_threshold=0.3, nms_eta=1.0)
ssd_loss(location, confidence, gt_box, gt_label, prior_box, prior_box_var=None, background_label=0,
    overlap_threshold=0.5, neg_pos_ratio=3.0, neg_overlap=0.5, loc_loss_weight=1.0,
    conf_loss_weight=1.0, match_type="per_prediction", mining_type="max_negative", normalize=True,
    sample_size=None)
target_assign(input, matched_indices, negative_indices=None, mismatch_value=None, name=None)
"""


@pytest.mark.parametrize("declared", re.findall(r"^\w+\(.*?\)$", SIGNATURES, re.M | re.S))
def test_arguments_and_defaults_are_fluids(declared):
    made = {}
    exec(f"def {declared}: pass", made)
    name = declared.split("(")[0]
    assert inspect.signature(getattr(layers, name)) == inspect.signature(made[name])
