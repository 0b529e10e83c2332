"""Operators on float64 compute with all digits of their float attributes; all others with floats.

Every float attribute of every operator is set to a number that float32 lacks. Values come from
NumPy; the cases of tests/operators, which are compared to ten digits, have NumPy's for the rest.
"""

import numpy as np
import pytest

import dygraph
from dygraph import _core, static
from float64_calls import PAIRS, rounded, telling

X = np.array([[-1.7, 0.3], [0.9, 2.6]])

# No result in float64 depends on these, or not on digits that a float lacks.
UNREAD = {
    "of programs": (
        "data_norm.epsilon data_norm.summary_decay_rate data_norm_grad.epsilon "
        "dequantize_linear.moving_rate pyramid_hash.lr pyramid_hash_grad.lr "
        "data_norm_grad.summary_decay_rate mul.scale_out mul.scale_x mul_grad.scale_out "
        "mul_grad.scale_x p_norm.epsilon p_norm_grad.epsilon p_norm_grad_grad.epsilon "
        "p_norm_grad_grad_grad.epsilon rms_norm.quant_max_bound rms_norm.quant_min_bound "
        "rms_norm.quant_scale rms_norm_grad.quant_max_bound rms_norm_grad.quant_min_bound "
        "rms_norm_grad.quant_scale rms_norm_grad_grad.quant_max_bound "
        "rms_norm_grad_grad.quant_min_bound rms_norm_grad_grad.quant_scale "
        "rms_norm_grad_grad_grad.quant_max_bound rms_norm_grad_grad_grad.quant_min_bound "
        "rms_norm_grad_grad_grad.quant_scale warprnnt_grad_along.fastemit_lambda "
        "warprnnt_grad_along_grad.fastemit_lambda"
    ),
    "the forward call keeps what they decide, or they move it alone": (
        "batch_norm_grad.epsilon batch_norm_grad.momentum batch_norm_grad_grad.epsilon "
        "batch_norm_grad_grad.momentum batch_norm_grad_grad_grad.momentum "
        "fused_batch_norm_act_grad.epsilon fused_batch_norm_act_grad.momentum "
        "fused_bn_add_activation_grad.epsilon fused_bn_add_activation_grad.momentum "
        "hard_sigmoid_grad.offset instance_norm_grad.epsilon instance_norm_grad_grad.epsilon "
        "pad2d_grad.pad_value pad3d_grad.value pad_constant_like_grad.pad_value "
        "pad_grad.pad_value sequence_pool_grad.pad_value sequence_pool_grad_grad.pad_value"
    ),
    "results are whole numbers or of float32": (
        "dequantize.Scale dequantize.Shift dequantize_abs_max.max_range quantize.Scale "
        "quantize.Shift requantize.Scale_in requantize.Scale_out requantize.Shift_in "
        "requantize.Shift_out"
    ),
    "read with scale in functor_list alone; tests/operators/fused has its digits": (
        "fused_elemwise_add_activation.scale"
    ),
    "of the gradient": (
        "teacher_student_sigmoid_loss.soft_max_lower_bound "
        "teacher_student_sigmoid_loss.soft_max_up_bound"
    ),
    "sizes, counts, places in a row": (
        "average_accumulates.average_window bilinear_interp.scale bilinear_interp_grad.scale "
        "generate_proposal_labels.fg_fraction psroi_pool.spatial_scale "
        "psroi_pool_grad.spatial_scale roi_pool.spatial_scale roi_pool_grad.spatial_scale "
        "rpn_target_assign.rpn_fg_fraction "
        "nearest_interp.scale nearest_interp_grad.scale sampling_id.max sampling_id.min "
        "temporal_shift.shift_ratio temporal_shift_grad.shift_ratio trilinear_interp.scale "
        "bicubic_interp.scale bicubic_interp_grad.scale linear_interp.scale "
        "linear_interp_grad.scale "
        "trilinear_interp_grad.scale"
    ),
    "compared with numbers that the operator computes; test_thresholds has those of nms": (
        "bipartite_match.dist_threshold detection_map.overlap_threshold "
        "locality_aware_nms.nms_eta locality_aware_nms.nms_threshold "
        "locality_aware_nms.score_threshold lstsq.rcond matrix_nms.post_threshold "
        "matrix_nms.score_threshold matrix_rank.tol mine_hard_examples.neg_dist_threshold "
        "mine_hard_examples.neg_pos_ratio multiclass_nms.nms_eta multiclass_nms.nms_threshold "
        "multiclass_nms2.nms_eta multiclass_nms2.nms_threshold multiclass_nms2.score_threshold "
        "multiclass_nms3.nms_eta multiclass_nms3.nms_threshold nms.iou_threshold pinv.rcond "
        "retinanet_detection_output.nms_eta retinanet_detection_output.nms_threshold "
        "retinanet_detection_output.score_threshold generate_proposal_labels.bg_thresh_hi "
        "generate_proposal_labels.bg_thresh_lo generate_proposal_labels.fg_thresh "
        "generate_proposals.eta generate_proposals.min_size generate_proposals.nms_thresh "
        "generate_proposals_v2.eta generate_proposals_v2.min_size "
        "generate_proposals_v2.nms_thresh retinanet_target_assign.negative_overlap "
        "retinanet_target_assign.positive_overlap rpn_target_assign.rpn_negative_overlap "
        "rpn_target_assign.rpn_positive_overlap yolo_box.conf_thresh yolov3_loss.ignore_thresh "
        "yolov3_loss_grad.ignore_thresh yolov3_loss_grad_grad.ignore_thresh "
        "yolov3_loss_grad_grad_grad.ignore_thresh yolov3_loss.scale_x_y "
        "yolov3_loss_grad.scale_x_y yolov3_loss_grad_grad.scale_x_y "
        "yolov3_loss_grad_grad_grad.scale_x_y"
    ),
    "read with iou_aware alone, see test_factor_of_yolo": "yolo_box.iou_aware_factor",
    "read where both steps are given, see test_steps_of_priors": (
        "density_prior_box.step_h density_prior_box.step_w prior_box.step_h prior_box.step_w"
    ),
}


@pytest.mark.parametrize(("op", "name"), PAIRS)
def test_no_digit_of_an_attribute_is_lost(op, name):
    unread = " ".join(UNREAD.values()).split()
    assert (telling(op, name) is None) == (f"{op}.{name}" in unread)


def layer_norm(x, epsilon):
    centred = x - x.mean(1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(1, keepdims=True) + epsilon)


VALUES = {
    "scale": ({"scale": 0.1, "bias": 0.7}, lambda x: x * 0.1 + 0.7),
    "pow": ({"factor": 2.1}, lambda x: np.abs(x) ** 2.1),
    "leaky_relu": ({"alpha": 0.1}, lambda x: np.where(x > 0, x, 0.1 * x)),
    "elu": ({"alpha": 0.3}, lambda x: np.where(x > 0, x, 0.3 * np.expm1(x))),
    "clip": ({"min": -0.1, "max": 1.1}, lambda x: np.clip(x, -0.1, 1.1)),
    "pad": (
        {"paddings": [0, 0, 1, 0], "pad_value": 0.1},
        lambda x: np.pad(x, ((0, 0), (1, 0)), constant_values=0.1),
    ),
    "layer_norm": ({"epsilon": 1e-5}, lambda x: layer_norm(x, 1e-5)),
    "increment": ({"step": 0.1}, lambda x: x[:1, :1] + 0.1),
    "fill_any_like": ({"value": 0.1}, lambda x: np.full_like(x, 0.1)),
    "stanh": ({}, lambda x: 1.7159 * np.tanh(0.67 * x)),
    "clip_by_norm": ({"max_norm": 0.1}, lambda x: x * (0.1 / np.sqrt((x * x).sum()))),
}


def run(op, x, attrs, dtype):
    x = np.abs(x) if op == "pow" else x[:1, :1] if op == "increment" else x
    made = _core.run_op(op, {"X": _core.to_variable(x.astype(dtype))}, attrs)
    return next(iter(made.values())).numpy()


@pytest.mark.parametrize("op", VALUES)
def test_values_are_those_of_numpy(op):
    attrs, formula = VALUES[op]
    np.testing.assert_allclose(run(op, X, attrs, "float64"), formula(X), rtol=4e-16, atol=0)


@pytest.mark.parametrize("op", VALUES)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
def test_other_types_compute_with_floats(op, dtype):
    attrs = VALUES[op][0]
    near = {k: rounded(v) if isinstance(v, float) else v for k, v in attrs.items()}
    try:
        want = run(op, X, near, dtype)
    except (TypeError, NotImplementedError):
        with pytest.raises((TypeError, NotImplementedError)):
            run(op, X, attrs, dtype)
        return
    assert run(op, X, attrs, dtype).tobytes() == want.tobytes()


def second(function, slope_of_slope):
    """The second derivative as the tape and as a program give it, and NumPy's."""
    x = dygraph.to_variable(X)
    x.stop_gradient = False
    (slope,) = dygraph.grad(function(x).sum(), x, create_graph=True)
    (eager,) = dygraph.grad(slope.sum(), x)
    program = static.Program()
    with static.program_guard(program, static.Program()):
        data = static.data("x", [2, 2], "float64")
        data.stop_gradient = False
        (slope,) = static.gradients([function(data)], [data])
        (described,) = static.gradients([slope], [data])
    found = static.Executor().run(program, feed={"x": X}, fetch_list=[described])[0]
    np.testing.assert_allclose(eager.numpy(), slope_of_slope(X), rtol=2e-14)
    assert found.tobytes() == eager.numpy().tobytes()


ops = _core.ops


def tanh_bend(x):
    t = np.tanh(0.67 * x)
    return -2 * 1.7159 * 0.67**2 * t * (1 - t * t)


def swish_bend(x, b=0.7):
    s = 1 / (1 + np.exp(-b * x))
    return b * s * (1 - s) * (2 + b * x * (1 - 2 * s))


def gelu_bend(x):
    return np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * (2 - x * x)


SCALE, ALPHA = 1.0507009873554805, 1.6732632423543772


@pytest.mark.parametrize(
    ("function", "bend"),
    [
        (ops.stanh, tanh_bend),
        (ops.selu, lambda x: np.where(x > 0, 0, SCALE * ALPHA * np.exp(x))),
        (lambda x: ops.elu(x, alpha=0.3), lambda x: np.where(x > 0, 0, 0.3 * np.exp(x))),
        (lambda x: ops.swish(x, beta=0.7), swish_bend),
        (ops.gelu, gelu_bend),
        (
            lambda x: ops.hard_swish(x, threshold=5.1, scale=3.3, offset=2.7),
            lambda x: np.where(np.abs(x) < 2.4, 2 / 3.3, 0) + 0 * x,
        ),
        (lambda x: ops.pow(ops.abs(x), factor=2.1), lambda x: 2.1 * 1.1 * np.abs(x) ** 0.1),
    ],
)
def test_second_derivatives_are_those_of_numpy(function, bend):
    second(function, bend)


def test_dropout_scales_by_all_digits():
    x = dygraph.to_variable(np.ones((40, 50)))
    x.stop_gradient = False
    train = ops.dropout(x, dropout_prob=0.3, dropout_implementation="upscale_in_train")
    assert set(np.unique(train.numpy())) == {0.0, 1 / (1 - 0.3)}
    (slope,) = dygraph.grad(train.sum(), x)
    assert set(np.unique(slope.numpy())) == {0.0, 1 / (1 - 0.3)}
    test = ops.dropout(x, dropout_prob=0.3, is_test=True)
    (slope,) = dygraph.grad(test.sum(), x)
    assert np.unique(test.numpy()).tolist() == np.unique(slope.numpy()).tolist() == [1 - 0.3]


def test_random_numbers_lie_between_bounds_with_all_digits():
    low, high = 0.1, 0.1 + 1e-12
    made = ops.uniform_random(shape=[1000], min=low, max=high, dtype="float64", seed=3).numpy()
    assert made.min() >= low and made.max() < high and len(np.unique(made)) > 100
    one = ops.gaussian_random(shape=[1], mean=0.1, std=0.0, dtype="float64").numpy()
    assert one.tolist() == [0.1]


def test_functions_of_python_give_all_digits():
    x = dygraph.to_variable(X)
    functional = dygraph.nn.functional
    assert functional.pad(x, [1, 0], value=0.1).numpy()[0, 0] == 0.1
    assert dygraph.full([1], 0.1, dtype="float64").item() == 0.1
    assert (x * 0.1).numpy().tobytes() == (X * 0.1).tobytes()
    assert (x + 0.1).numpy().tobytes() == (X + 0.1).tobytes()
    assert dygraph.clip(x, 0.1, 0.7).numpy().tobytes() == np.clip(X, 0.1, 0.7).tobytes()
    bound = dygraph.nn.ClipGradByValue(0.1).clip([(dygraph.Parameter(X), x)])[0][1]
    assert bound.numpy().tobytes() == np.clip(X, -0.1, 0.1).tobytes()


def test_an_attribute_that_a_variable_gives_has_all_digits():
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x, value = static.data("x", [2, 2], "float64"), static.data("v", [1], "float64")
        padded = ops.pad(x, paddings=[0, 0, 1, 0], pad_value=value)
    feed = {"x": X, "v": np.array([0.1])}
    found = static.Executor().run(program, feed=feed, fetch_list=[padded])[0]
    assert found[0, 0] == 0.1


RATE = 0.013


def moments(g, t, s):
    s["m"] = 0.9 * s.get("m", 0.0) + (1 - 0.9) * g
    s["v"] = 0.999 * s.get("v", 0.0) + (1 - 0.999) * g * g
    return s["m"] / (1 - 0.9**t), s["v"] / (1 - 0.999**t)


def adam(w, g, t, s):
    m, v = moments(g, t, s)
    return w - RATE * m / (np.sqrt(v) + 1e-8)


def fluids_adam(w, g, t, s):
    moments(g, t, s)
    rate = RATE * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
    return w - rate * s["m"] / (np.sqrt(s["v"]) + 1e-8)


def adamw(w, g, t, s):
    m, v = moments(g, t, s)
    return w * (1 - RATE * 0.03) - RATE * m / (np.sqrt(v) + 1e-8)


def adamax(w, g, t, s):
    moments(g, t, s)
    s["n"] = np.maximum(np.abs(g), 0.999 * s.get("n", 0.0) + 1e-8)
    return w - RATE / (1 - 0.9**t) * s["m"] / s["n"]


def momentum(w, g, t, s):
    s["v"] = 0.9 * s.get("v", 0.0) + g
    return w - RATE * s["v"]


def rmsprop(w, g, t, s):
    s["n"] = 0.95 * s.get("n", 0.0) + (1 - 0.95) * g * g
    return w - RATE * g / np.sqrt(s["n"] + 1e-6)


def adagrad(w, g, t, s):
    s["n"] = s.get("n", 0.0) + g * g
    return w - RATE * g / (np.sqrt(s["n"]) + 1e-6)


@pytest.mark.parametrize(
    ("name", "given", "formula"),
    [
        ("Adam", {"epsilon": 1e-8}, adam),
        ("AdamOptimizer", {"epsilon": 1e-8}, fluids_adam),
        ("AdamW", {"epsilon": 1e-8, "weight_decay": 0.03}, adamw),
        ("Adamax", {"epsilon": 1e-8}, adamax),
        ("Momentum", {"momentum": 0.9}, momentum),
        ("RMSProp", {"rho": 0.95, "epsilon": 1e-6}, rmsprop),
        ("Adagrad", {"epsilon": 1e-6}, adagrad),
    ],
)
def test_optimizers_follow_numpy_to_the_last_digits(name, given, formula):
    p, w, state = dygraph.Parameter(X), X, {}
    rule = getattr(dygraph.optimizer, name)(RATE, parameter_list=[p], **given)
    for t in range(1, 11):
        g = np.random.RandomState(t).normal(size=X.shape)
        (p * dygraph.to_variable(g)).sum().backward()
        rule.step()
        rule.clear_grad()
        w = formula(w, g, t, state)
    np.testing.assert_allclose(p.numpy(), w, rtol=1e-13)


def test_thresholds():
    """Boxes of width 1 and 1 / t: their overlap is t, which float32 rounds up for 0.1."""
    wide = [[0.0, 0.0, 1.0, 10.0], [0.0, 0.0, 1.0, 1.0]]
    boxes = dygraph.to_variable(np.array(wide, "float64"))
    assert float(np.float32(0.1)) > 0.1
    assert _core.ops.nms(boxes, iou_threshold=0.1).tolist() == [0, 1]  # not above it
    assert _core.ops.nms(boxes, iou_threshold=float(np.nextafter(0.1, 0))).tolist() == [0]


def test_steps_of_priors():
    image = dygraph.to_variable(np.zeros((1, 1, 1, 1)))
    found, _ = _core.ops.prior_box(
        image, image, min_sizes=[0.5], aspect_ratios=[1.0], variances=[1.0] * 4, step_w=0.1,
        step_h=0.3,
    )  # fmt: skip
    side = 0.25
    expected = [0.05 - side, 0.15 - side, 0.05 + side, 0.15 + side]
    np.testing.assert_allclose(found.numpy().ravel(), expected, rtol=1e-14)


def test_factor_of_yolo():
    x, size = np.full((1, 7, 1, 1), 0.5), np.array([[8, 8]], "int32")
    _, scores = _core.ops.yolo_box(
        dygraph.to_variable(x), dygraph.to_variable(size), anchors=[2, 2], class_num=1,
        conf_thresh=0.01, downsample_ratio=8, iou_aware=True, iou_aware_factor=0.3,
    )  # fmt: skip
    p = 1 / (1 + np.exp(-0.5))  # of all channels: object ** 0.7 * iou ** 0.3 * class
    np.testing.assert_allclose(scores.item(), p**0.7 * p**0.3 * p, rtol=1e-14)
    x[0, 0] = -0.5  # the channel of the overlap
    _, scores = _core.ops.yolo_box(
        dygraph.to_variable(x), dygraph.to_variable(size), anchors=[2, 2], class_num=1,
        conf_thresh=0.01, downsample_ratio=8, iou_aware=True, iou_aware_factor=0.3,
    )  # fmt: skip
    np.testing.assert_allclose(scores.item(), p**0.7 * (1 - p) ** 0.3 * p, rtol=1e-14)
