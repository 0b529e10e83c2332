"""Losses as functions and layers: values by NumPy, gradients by differences, wrong input."""

import numpy as np
import pytest

import dygraph
from dygraph import nn
from dygraph import ops as F

generator = np.random.RandomState(3)
v = dygraph.to_variable


def rand(*shape, low=-1.0, high=1.0):
    return generator.uniform(low, high, shape)


def signs(*shape):
    return generator.choice([-1.0, 1.0], shape)


def softplus(x):
    return np.logaddexp(0, x)


def norm(x, p=2.0):
    return (np.abs(x) ** p).sum(axis=-1) ** (1 / p)


def cosine(a, b):
    return (a * b).sum(axis=-1) / norm(a) / norm(b)


def bce(x, y):
    return -y * np.log(x) - (1 - y) * np.log(1 - x)


def huber(d, delta):
    return np.where(np.abs(d) <= delta, d * d / 2, delta * (np.abs(d) - delta / 2))


def triplet(a, p, n, margin, power=2.0, swap=False):
    far = norm(a - n + 1e-6, power)
    if swap:
        far = np.minimum(far, norm(p - n + 1e-6, power))
    return np.maximum(0, norm(a - p + 1e-6, power) - far + margin)


def stirling(y):
    return np.where(y > 1, y * np.log(y) - y + 0.5 * np.log(2 * np.pi * y), 0)


PAIR = (rand(4, 3), rand(4, 3))
PROBS = (rand(4, 3, low=0.1, high=0.9), rand(4, 3, low=0, high=1))
SCORES = (rand(4, 3, low=-3, high=3), rand(4, 3, low=0, high=1))
WEIGHT, POSITIVE = rand(3, low=0.5, high=2), rand(3, low=0.5, high=2)
MARGIN = (PAIR[0], PAIR[1], signs(4, 3))
COUNTS = np.array([[0.0, 1, 2], [5, 3, 1]])

# (layer of a reduction, inputs, losses one by one, how many of the inputs have gradients)
CASES = {
    "l1": (lambda r: nn.L1Loss(r), PAIR, np.abs(PAIR[0] - PAIR[1]), 2),
    "mse": (lambda r: nn.MSELoss(r), PAIR, (PAIR[0] - PAIR[1]) ** 2, 2),
    "bce": (lambda r: nn.BCELoss(reduction=r), PROBS, bce(*PROBS), 1),
    "bce_weight": (lambda r: nn.BCELoss(WEIGHT, r), PROBS, bce(*PROBS) * WEIGHT, 1),
    "logits": (
        lambda r: nn.BCEWithLogitsLoss(reduction=r),
        SCORES,
        bce(1 / (1 + np.exp(-SCORES[0])), SCORES[1]),
        1,
    ),
    "logits_weights": (
        lambda r: nn.BCEWithLogitsLoss(v(WEIGHT), r, v(POSITIVE)),
        SCORES,
        WEIGHT
        * (
            POSITIVE * SCORES[1] * softplus(-SCORES[0])
            + (1 - SCORES[1]) * softplus(SCORES[0])
        ),
        1,
    ),
    "huber": (lambda r: nn.HuberLoss(r, 0.5), PAIR, huber(PAIR[0] - PAIR[1], 0.5), 2),
    "smooth_l1": (
        lambda r: nn.SmoothL1Loss(r, beta=0.5),
        PAIR,
        huber(PAIR[0] - PAIR[1], 0.5) / 0.5,
        2,
    ),
    "soft_margin": (
        lambda r: nn.SoftMarginLoss(r),
        (PAIR[0], MARGIN[2]),
        np.log(1 + np.exp(-PAIR[0] * MARGIN[2])),
        1,
    ),
    "ranking": (
        lambda r: nn.MarginRankingLoss(0.25, r),
        MARGIN,
        np.maximum(0, 0.25 - MARGIN[2] * (PAIR[0] - PAIR[1])),
        2,
    ),
    "hinge_embedding": (
        lambda r: nn.HingeEmbeddingLoss(0.5, r),
        (PAIR[0], MARGIN[2]),
        np.where(MARGIN[2] == 1, PAIR[0], np.maximum(0, 0.5 - PAIR[0])),
        1,
    ),
    "cosine_embedding": (
        lambda r: nn.CosineEmbeddingLoss(0.1, r),
        (*PAIR, np.array([1.0, -1, 1, -1])),
        np.where(
            np.array([1, -1, 1, -1]) == 1,
            1 - cosine(*PAIR),
            np.maximum(0, cosine(*PAIR) - 0.1),
        ),
        2,
    ),
    "triplet": (
        lambda r: nn.TripletMarginLoss(2.0, reduction=r),
        (*PAIR, MARGIN[2] * 0.7),
        triplet(*PAIR, MARGIN[2] * 0.7, 2.0),
        3,
    ),
    "triplet_swap": (
        lambda r: nn.TripletMarginLoss(2.0, 3.0, swap=True, reduction=r),
        (*PAIR, MARGIN[2] * 0.7),
        triplet(*PAIR, MARGIN[2] * 0.7, 2.0, 3.0, True),
        3,
    ),
    "poisson": (
        lambda r: nn.PoissonNLLLoss(reduction=r),
        (PAIR[0][:2], COUNTS),
        np.exp(PAIR[0][:2]) - COUNTS * PAIR[0][:2],
        1,
    ),
    "poisson_full": (
        lambda r: nn.PoissonNLLLoss(False, True, reduction=r),
        (PROBS[0][:2], COUNTS),
        PROBS[0][:2]
        - COUNTS * np.log(PROBS[0][:2] + 1e-8)
        + stirling(np.where(COUNTS > 1, COUNTS, 1.0)) * (COUNTS > 1),
        1,
    ),
    "gaussian": (
        lambda r: nn.GaussianNLLLoss(True, reduction=r),
        (*PAIR, PROBS[0]),
        0.5 * (np.log(2 * np.pi * PROBS[0]) + (PAIR[0] - PAIR[1]) ** 2 / PROBS[0]),
        3,
    ),
    "kldiv": (
        lambda r: nn.KLDivLoss(r),
        (np.log(PROBS[0]), PROBS[1]),
        PROBS[1] * (np.log(PROBS[1]) - np.log(PROBS[0])),
        1,
    ),
}  # fmt: skip


def check_gradient(fn, arrays, count):
    """The gradient of the sum of fn with respect to the first arrays, against differences."""
    inputs = [v(a) for a in arrays]
    for x in inputs[:count]:
        x.stop_gradient = False
    out = fn(*inputs)
    weights = np.cos(np.arange(out.size)).reshape(out.shape) + 1.5
    got = dygraph.grad([(out * v(weights)).sum()], inputs[:count])
    for i in range(count):
        expected = np.zeros_like(arrays[i])
        for at in np.ndindex(expected.shape):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [a.copy() for a in arrays]
                moved[i][at] += step
                ends.append((fn(*[v(a) for a in moved]).numpy() * weights).sum())
            expected[at] = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(got[i].numpy(), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name):
    make, arrays, each, count = CASES[name]
    for reduction, expected in (("none", each), ("sum", each.sum()), ("mean", each.mean())):
        got = make(reduction)(*[v(a) for a in arrays]).numpy()
        assert got.shape == np.shape(expected)
        np.testing.assert_allclose(got, expected, rtol=2e-7)
    check_gradient(make("none"), arrays, count)
    assert "reduction='sum'" in repr(make("sum"))


@pytest.mark.parametrize("name", CASES)
def test_labels_never_broadcast(name):
    make, arrays, _, _ = CASES[name]
    wrong = [v(a) for a in arrays]
    wrong[1] = v(arrays[1][:1])
    shapes = f"{list(arrays[0].shape)} and {list(arrays[1][:1].shape)}"
    with pytest.raises(ValueError, match="must have one shape, got ") as caught:
        make("mean")(*wrong)
    assert shapes in str(caught.value) and "reshape" in str(caught.value)
    with pytest.raises(ValueError, match="reduction must be one of"):
        make("average")
    with pytest.raises(ValueError, match=r"must have one type, got float64 and float32.*astype"):
        make("mean")(*[v(arrays[0]), *[v(a.astype("float32")) for a in arrays[1:]]])


def test_batchmean():
    x, y = np.log(PROBS[0]), PROBS[1]
    expected = (y * (np.log(y) - x)).sum() / 4
    np.testing.assert_allclose(nn.KLDivLoss("batchmean")(v(x), v(y)).item(), expected)


# Cross entropy


def log_softmax(x, axis):
    x = x - x.max(axis=axis, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=axis, keepdims=True))


def cross_entropy(x, label, weight, ignored, smoothing, axis):
    """(losses, weights that the mean divides by), written over the classes."""
    log = np.moveaxis(log_softmax(x, axis), axis, -1)
    weight = np.ones(log.shape[-1]) if weight is None else weight
    kept = label != ignored
    picked = np.where(kept, label, 0)
    hard = -weight[picked] * np.take_along_axis(log, picked[..., None], -1)[..., 0]
    even = -(weight * log).sum(axis=-1) / log.shape[-1]
    return kept * ((1 - smoothing) * hard + smoothing * even), kept * weight[picked]


@pytest.mark.parametrize("smoothing", [0.0, 0.25])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("shape", "axis"), [((5, 4), -1), ((2, 4, 3), 1)])
def test_cross_entropy(shape, axis, weighted, smoothing):
    x, weight = rand(*shape, low=-2, high=2), rand(4, low=0.5, high=2) if weighted else None
    label = generator.randint(0, 4, [n for i, n in enumerate(shape) if i != axis % len(shape)])
    label.reshape(-1)[1] = -1
    each, total = cross_entropy(x, label, weight, -1, smoothing, axis)
    options = {"weight": weight, "ignore_index": -1, "axis": axis, "label_smoothing": smoothing}
    for reduction, expected in (("none", each), ("sum", each.sum())):
        layer = nn.CrossEntropyLoss(reduction=reduction, **options)
        np.testing.assert_allclose(layer(v(x), v(label)).numpy(), expected, rtol=1e-6)
    layer = nn.CrossEntropyLoss(**options)
    np.testing.assert_allclose(layer(v(x), v(label)).item(), each.sum() / total.sum(), rtol=1e-6)
    with_axis = np.expand_dims(label, axis).astype("int32")
    assert layer(v(x), v(with_axis)).item() == layer(v(x), v(label)).item()
    check_gradient(lambda a: layer(a, v(label)), (x,), 1)


@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy_of_distributions(weighted):
    x, y = rand(5, 4), rand(5, 4, low=0, high=1)
    weight = rand(4, low=0.5, high=2) if weighted else None
    smooth = 0.75 * y + 0.25 / 4
    each = -(smooth * log_softmax(x, -1) * (1 if weight is None else weight)).sum(axis=-1)
    layer = nn.CrossEntropyLoss(weight, soft_label=True, label_smoothing=0.25)
    np.testing.assert_allclose(layer(v(x), v(y)).item(), each.mean())
    check_gradient(lambda a: layer(a, v(y)), (x,), 1)


def test_cross_entropy_where_no_label_counts():
    x = v(rand(2, 3))
    x.stop_gradient = False
    loss = nn.CrossEntropyLoss()(x, v(np.array([-100, -100])))
    loss.backward()
    assert loss.item() == 0 and (x.gradient() == 0).all()


def test_wrong_input_of_cross_entropy():
    x, layer = v(rand(2, 3)), nn.CrossEntropyLoss()
    with pytest.raises(IndexError, match=r"class in \[0, 3\).*got 3 at position 1"):
        layer(x, v(np.array([0, 3])))
    with pytest.raises(ValueError, match=r"Label must have the shape \[2, 1\] or \[2\].*got \[3\]"):
        layer(x, v(np.array([0, 1, 2])))
    with pytest.raises(TypeError, match="int64 or int32"):
        layer(x, v(np.array([0.0, 1.0])))
    with pytest.raises(ValueError, match=r"weight must have the shape \[3\].*got \[2\]"):
        nn.CrossEntropyLoss(np.ones(2))(x, v(np.array([0, 1])))
    with pytest.raises(ValueError, match=r"one shape, got \[2, 3\] and \[2\]"):
        nn.CrossEntropyLoss(soft_label=True)(x, v(np.array([0.0, 1.0])))


def test_nll_loss():
    log, weight = log_softmax(rand(4, 3), -1), rand(3, low=0.5, high=2)
    label = np.array([0, 2, 1, 2])
    each = -weight[label] * log[np.arange(4), label]
    np.testing.assert_allclose(
        nn.NLLLoss(weight)(v(log), v(label)).item(), each.sum() / weight[label].sum()
    )
    np.testing.assert_allclose(nn.NLLLoss(weight, "none")(v(log), v(label)).numpy(), each)
    ignoring = nn.NLLLoss(reduction="sum", ignore_index=2)
    np.testing.assert_allclose(ignoring(v(log), v(label)).item(), -log[0, 0] - log[2, 1])
    with pytest.raises(ValueError, match="Label must have the shape"):
        ignoring(v(log), v(label[:, None]))


# Fluid's functions


def test_square_error_cost_and_smooth_l1():
    x, y = PAIR
    np.testing.assert_allclose(F.square_error_cost(v(x), v(y)).numpy(), (x - y) ** 2)
    expected = huber(x - y, 1.0).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(F.smooth_l1(v(x), v(y)).numpy(), expected)
    with pytest.raises(ValueError, match=r"one shape, got \[4, 3\] and \[4, 1\]"):
        F.square_error_cost(v(x), v(y[:, :1]))


def test_cosine_similarity():
    a, b = rand(3, 4, 2), rand(3, 4, 2)
    expected = (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))
    np.testing.assert_allclose(F.cosine_similarity(v(a), v(b)).numpy(), expected)
    zero = F.cosine_similarity(v(np.zeros((1, 2))), v(np.ones((1, 2))))
    assert zero.numpy().tolist() == [0.0]
    check_gradient(lambda p, q: F.cosine_similarity(p, q, axis=-1), (a[0], b[0]), 2)


def test_dice_loss():
    p, label = rand(2, 3, 4, low=0, high=1), generator.randint(0, 4, (2, 3, 1))
    hot = np.eye(4)[label[..., 0]]
    scores = 2 * (p * hot).sum((1, 2)) / (p.sum((1, 2)) + hot.sum((1, 2)) + 1e-5)
    np.testing.assert_allclose(F.dice_loss(v(p), v(label)).item(), (1 - scores).mean())
    check_gradient(lambda x: F.dice_loss(x, v(label)), (p,), 1)
    with pytest.raises(ValueError, match=r"got \[2, 3\] for input \[2, 3, 4\]"):
        F.dice_loss(v(p), v(label[..., 0]))


def test_npair_loss():
    a, p, labels = rand(4, 3), rand(4, 3), np.array([0, 1, 0, 2])
    target = (labels[:, None] == labels) / (labels[:, None] == labels).sum(1, keepdims=True)
    entropy = -(target * log_softmax(a @ p.T, 1)).sum(1).mean()
    regular = 0.25 * 0.002 * ((a**2).sum(1).mean() + (p**2).sum(1).mean())
    np.testing.assert_allclose(F.npair_loss(v(a), v(p), v(labels)).item(), entropy + regular)
    check_gradient(lambda x, y: F.npair_loss(x, y, v(labels)), (a, p), 2)
    with pytest.raises(ValueError, match=r"one label for each row of anchor \[4, 3\]"):
        F.npair_loss(v(a), v(p), v(labels[:3]))


def test_ctc_loss_and_decoder():
    scores = rand(3, 2, 3)
    labels, steps, lengths = np.array([[1, 2], [2, 0]]), np.array([3, 2]), np.array([2, 1])
    p = np.exp(log_softmax(scores, -1))
    # Paths of three steps that spell 1 2; of two steps that spell 2.
    first = sum(
        p[0, 0, a] * p[1, 0, b] * p[2, 0, c]
        for a, b, c in [(1, 2, 0), (1, 0, 2), (0, 1, 2), (1, 1, 2), (1, 2, 2)]
    )
    second = sum(p[0, 1, a] * p[1, 1, b] for a, b in [(2, 0), (0, 2), (2, 2)])
    each = -np.log([first, second])
    arguments = (v(scores), v(labels), v(steps), v(lengths))
    np.testing.assert_allclose(nn.CTCLoss(reduction="none")(*arguments).numpy(), each)
    np.testing.assert_allclose(nn.CTCLoss(reduction="sum")(*arguments).item(), each.sum())
    np.testing.assert_allclose(nn.CTCLoss()(*arguments).item(), (each / lengths).mean())
    check_gradient(lambda x: nn.CTCLoss()(x, *arguments[1:]), (scores,), 1)

    steps = np.eye(4)[[[0, 2, 2, 0, 2], [1, 3, 3, 3, 3]]]
    out, length = F.ctc_greedy_decoder(v(steps), 0, v(np.array([[5], [2]])), padding_value=-1)
    assert out.numpy().tolist() == [[2, 2, -1, -1, -1], [1, 3, -1, -1, -1]]
    assert length.numpy().tolist() == [[2], [2]]
    ragged = v(steps.reshape(10, 4), lod=[[0, 5, 10]])
    assert F.ctc_greedy_decoder(ragged, 0).numpy().tolist() == [[2], [2], [1], [3]]


def test_ctc_loss_of_labels_that_do_not_fit():
    scores = v(rand(2, 2, 3))
    scores.stop_gradient = False
    # 1 1 needs a blank between: three steps
    labels, steps, lengths = v(np.array([[1, 1], [2, 0]])), v(np.array([2, 2])), v(np.array([2, 1]))
    each = nn.CTCLoss(reduction="none")(scores, labels, steps, lengths).numpy()
    assert np.isinf(each[0]) and np.isfinite(each[1])
    loss = nn.CTCLoss(reduction="sum", zero_infinity=True)(scores, labels, steps, lengths)
    assert loss.item() == each[1]
    loss.backward()
    gradient = scores.gradient()
    assert (gradient[:, 0] == 0).all() and np.isfinite(gradient).all() and gradient[:, 1].any()


def test_sampled_softmax():
    x, label = rand(3, 6), np.array([[1], [0], [5]])
    samples = np.concatenate([label, np.tile([2, 4], (3, 1))], axis=1)
    p = rand(3, 3, low=0.1, high=1)
    options = {
        "use_customized_samples": True,
        "customized_samples": v(samples),
        "customized_probabilities": v(p),
    }
    picked = np.take_along_axis(x, samples, 1) - np.log(p)
    expected = -log_softmax(picked, 1)[:, :1]
    out = F.sampled_softmax_with_cross_entropy(v(x), v(label), 2, **options)
    np.testing.assert_allclose(out.numpy(), expected)
    check_gradient(
        lambda a: F.sampled_softmax_with_cross_entropy(a, v(label), 2, **options), (x,), 1
    )
    drawn = [F.sampled_softmax_with_cross_entropy(v(x), v(label), 2, seed=4) for _ in range(2)]
    assert (drawn[0].numpy() == drawn[1].numpy()).all()
    with pytest.raises(ValueError, match=r"num_true 1, got \[3\]"):
        F.sampled_softmax_with_cross_entropy(v(x), v(label[:, 0]), 2)


# Losses with state


def test_center_loss_moves_centers_while_training():
    layer = nn.CenterLoss(3, 2, alpha=0.5, dtype="float64")
    start = layer.centers.numpy()
    x, label = rand(3, 2), np.array([0, 0, 2])
    expected = ((x - start[label]) ** 2).sum(1, keepdims=True) / 2
    np.testing.assert_allclose(layer(v(x), v(label)).item(), expected.mean())
    moved = start.copy()
    moved[0] += 0.5 * (x[:2] - start[0]).sum(0) / 3
    moved[2] += 0.5 * (x[2] - start[2]) / 2
    np.testing.assert_allclose(layer.centers.numpy(), moved)
    assert "centers" in layer.state_dict() and layer.parameters() == []
    layer.eval()
    layer(v(x), v(label))
    np.testing.assert_allclose(layer.centers.numpy(), moved)
    fixed = nn.CenterLoss(3, 2, update_center=False, reduction="none", dtype="float64")
    check_gradient(lambda a: fixed(a, v(label)), (x,), 1)


def test_nce_learns():
    with dygraph.guard(seed=1):
        layer = nn.NCE(6, 4, num_neg_samples=3, sampler="log_uniform", dtype="float64")
        x, label = v(np.eye(4)), v(np.array([[0], [1], [4], [5]]))
        sgd = dygraph.optimizer.SGD(1.0, parameter_list=layer.parameters())
        for _ in range(200):
            loss = layer(x, label).mean()
            loss.backward()
            sgd.minimize(loss)
            layer.clear_gradients()
        scores = np.eye(4) @ layer.weight.numpy().T + layer.bias.numpy()[:, 0]
        assert scores.argmax(axis=1).tolist() == [0, 1, 4, 5]


def test_nce_of_a_distribution_of_its_own():
    p = np.array([0.5, 0.25, 0.125, 0.125])
    tables = nn.learnt_loss.walker_tables(p, 4, "float64")
    keep, alias = (tables[f"custom_dist_alias{n}"].numpy() for n in ("_probs", ""))
    # What a class keeps of its quarter of the draws, and what others give it, is its probability.
    share = keep / 4
    for i, to in enumerate(alias):
        share[to] += (1 - keep[i]) / 4 if to >= 0 else 0
    np.testing.assert_allclose(share, p)
    layer = nn.NCE(4, 2, sampler="custom_dist", custom_dist=p, bias_attr=False)
    out = layer(v(np.ones((2, 2), "float32")), v(np.array([[0], [3]])))
    assert out.shape == (2, 1) and np.isfinite(out.numpy()).all()
    with pytest.raises(ValueError, match="4 probabilities that add up to 1"):
        nn.NCE(4, 2, sampler="custom_dist", custom_dist=[1, 2, 3, 4])
    with pytest.raises(ValueError, match="sampler must be one of"):
        nn.NCE(4, 2, sampler="gaussian")


@pytest.mark.parametrize("sparse", [False, True])
def test_hsigmoid_layer(sparse):
    layer = nn.HSigmoid(3, 4, is_sparse=sparse, dtype="float64")
    x = v(np.repeat(rand(1, 3), 4, axis=0))
    cost = layer(x, v(np.arange(4)[:, None]))
    np.testing.assert_allclose(np.exp(-cost.numpy()).sum(), 1)  # a full tree: probabilities
    before = layer.weight.numpy()
    cost.mean().backward()
    sgd = dygraph.optimizer.SGD(0.1, parameter_list=layer.parameters())
    sgd.minimize(cost.mean())
    assert (layer.weight.numpy() != before).any()
    with pytest.raises(ValueError, match="path_table and path_code"):
        layer(x, v(np.arange(4)[:, None]), v(np.zeros((4, 1), "int64")))
    custom = nn.HSigmoid(3, 4, is_custom=True, dtype="float64")
    table, code = v(np.array([[0, 3]] * 4)), v(np.array([[0, 1]] * 4))
    assert custom.weight.shape == (4, 3)
    assert custom(x, v(np.zeros((4, 1), "int64")), table, code).shape == (4, 1)


def test_wrong_arguments_of_layers():
    with pytest.raises(ValueError, match="must be above 0"):
        nn.SmoothL1Loss(beta=0.0)
    with pytest.raises(TypeError, match="margin must be a number"):
        nn.MarginRankingLoss("wide")
    with pytest.raises(TypeError, match="input must be a Variable, got"):
        nn.MSELoss()(np.ones(2), np.ones(2))
    with pytest.raises(ValueError, match="weight must broadcast to the losses"):
        nn.BCELoss(np.ones((2, 1, 1)))(v(np.ones((1, 1))), v(np.ones((1, 1))))
