"""Functions made of several operators, traced with their gradients: eager bits at any batch."""

import numpy as np
import pytest

import dygraph
from dygraph import jit, nets
from dygraph import ops as F
from dygraph.static import layers
from program.test_trace_layers import bits, everything, floats, lengths, positive, shares, signs

ROW, TABLE, IMAGE = (6,), (3, 4), (4, 6, 6)


def ids(high, *shape, dtype="int64"):
    return lambda r, n: r.integers(0, high, (n, *shape)).astype(dtype)


def whole(values, dtype="float32"):
    """The same array whatever the batch."""
    return lambda r, n: np.asarray(values, dtype)


LOSSES = {
    "binary_cross_entropy": (F.binary_cross_entropy, [positive(3), positive(3)]),
    "binary_cross_entropy_with_logits": (
        F.binary_cross_entropy_with_logits, [ROW, positive(6)],
    ),
    "cosine_embedding_loss": (F.cosine_embedding_loss, [ROW, ROW, signs()]),
    "cosine_similarity": (F.cosine_similarity, [ROW, ROW]),
    "dice_loss": (F.dice_loss, [positive(4), ids(4, 1)]),
    "gaussian_nll_loss": (
        lambda x, y, v: F.gaussian_nll_loss(x, y, v, full=True), [ROW, ROW, positive(6)],
    ),
    "hinge_embedding_loss": (F.hinge_embedding_loss, [ROW, signs(6)]),
    "l1_loss": (F.l1_loss, [ROW, ROW]),
    "margin_ranking_loss": (F.margin_ranking_loss, [ROW, ROW, signs(6)]),
    "mse_loss": (lambda x, y: F.mse_loss(x, y, "sum"), [ROW, ROW]),
    "npair_loss": (F.npair_loss, [ROW, ROW, ids(3)]),
    "poisson_nll_loss": (F.poisson_nll_loss, [ROW, positive(6)]),
    "sampled_softmax": (
        lambda x, y: F.sampled_softmax_with_cross_entropy(x, y, 3, seed=5), [ROW, ids(6, 1)],
    ),
    "smooth_l1": (F.smooth_l1, [ROW, ROW]),
    "soft_margin_loss": (F.soft_margin_loss, [ROW, signs(6)]),
    "softmax_cross_entropy": (F.softmax_cross_entropy, [ROW, ids(6)]),
    "softmax_cross_entropy, weights": (
        lambda x, y: F.softmax_cross_entropy(
            x, y, weight=np.float32([1, 2, 3, 1, 2, 3]), label_smoothing=0.1, ignore_index=1
        ),
        [ROW, ids(6)],
    ),
    "softmax_cross_entropy, soft": (
        lambda x, y: F.softmax_cross_entropy(x, y, soft_label=True), [ROW, shares(6)],
    ),
    "softmax_cross_entropy of pixels": (
        lambda x, y: F.softmax_cross_entropy(x, y, axis=1), [IMAGE, ids(4, 6, 6)],
    ),
    "square_error_cost": (F.square_error_cost, [ROW, ROW]),
    "triplet_margin_loss": (
        lambda x, y, z: F.triplet_margin_loss(x, y, z, swap=True), [ROW, ROW, ROW],
    ),
    "ctc_greedy_decoder": (
        lambda x, n: F.ctc_greedy_decoder(x, 0, input_length=n),
        [(7, 5), lambda r, n: lengths(7, "int64")(r, n).reshape(n, 1)],
    ),
    "sigmoid_focal_loss": (
        F.sigmoid_focal_loss, [ROW, ids(7, 1, dtype="int32"), whole([3], "int32")],
    ),
}  # fmt: skip

FUNCTIONS = {
    "adaptive_pool2d": (lambda x: F.adaptive_pool2d(x, 2, "avg"), [IMAGE]),
    "addcmul": (lambda x, y, z: layers.addcmul(x, y, z, 0.5), [ROW, ROW, ROW]),
    "clamp": (lambda x: layers.clamp(x, -0.5, 0.5), [ROW]),
    "fsp_matrix": (F.fsp_matrix, [IMAGE, (3, 6, 6)]),
    "image_resize": (lambda x: F.image_resize(x, [9, 4]), [IMAGE]),
    "image_resize_short": (lambda x: F.image_resize_short(x, 4), [IMAGE]),
    "l2_normalize": (lambda x: F.l2_normalize(x, axis=1), [ROW]),
    "nonzero": (lambda x: F.nonzero(x > 0.5), [ROW]),
    "reductions": (
        lambda x: [
            f(x, dim=[1])
            for f in (F.reduce_max, F.reduce_mean, F.reduce_min, F.reduce_prod, F.reduce_sum)
        ],
        [TABLE],
    ),
    "has": (lambda x: [F.has_inf(x), F.has_nan(x)], [ROW]),
    "sums": (lambda x, y: layers.sums([x, y, x]), [ROW, ROW]),
    "cross": (lambda x, y: dygraph.cross(x, y, axis=1), [(3,), (3,)]),
    "einsum": (lambda x, y: dygraph.einsum("bij,bjk->bik", x, y), [TABLE, (4, 2)]),
    "einsum of the batch": (lambda x, y: dygraph.einsum("bi,bj->ij", x, y), [ROW, (4,)]),
    "median": (lambda x: dygraph.median(x, axis=1, mode="avg"), [ROW]),
    "norm": (lambda x: [dygraph.norm(x), dygraph.norm(x, p=1, axis=1)], [ROW]),
    "outer": (lambda x, y: dygraph.outer(x, y), [(), ()]),
    "std and var": (lambda x: [dygraph.std(x, axis=1), dygraph.var(x, axis=[1, 2])], [TABLE]),
    "trace": (lambda x: dygraph.trace(x, axis1=1, axis2=2), [TABLE]),
    "argsort": (lambda x: dygraph.argsort(x, descending=True), [ROW]),
    "sort": (lambda x: dygraph.sort(x, axis=1), [ROW]),
    "topk": (lambda x: dygraph.topk(x, 3), [ROW]),
    "broadcast_tensors": (lambda x, y: dygraph.broadcast_tensors([x, y[:, None]]), [TABLE, (4,)]),
    "broadcast_to": (lambda x: dygraph.broadcast_to(x, [2, *x.shape]), [ROW]),
    "chunk": (lambda x: dygraph.chunk(x, 3, axis=1), [ROW]),
    "split": (lambda x: dygraph.split(x, sizes=[1, -1, 2], axis=1), [ROW]),
    "cumsum": (lambda x: [dygraph.cumsum(x, axis=0), dygraph.cumsum(x)], [ROW]),
    "flip and roll": (lambda x: dygraph.roll(dygraph.flip(x, [0, 1]), 2, axis=1), [ROW]),
    "meshgrid": (lambda x, y: dygraph.meshgrid(x, y, indexing="xy"), [(), ()]),
    "moveaxis": (lambda x: dygraph.swapaxes(dygraph.moveaxis(x, 0, -1), 0, 1), [TABLE]),
    "pad": (lambda x: dygraph.ops.pad(x, [1, 2], "reflect"), [TABLE]),
    "repeat_interleave": (lambda x: dygraph.repeat_interleave(x, 2, axis=1), [ROW]),
    "tile": (lambda x: dygraph.tile(x, [2, 3]), [ROW]),
    "stack": (lambda x, y: dygraph.stack([x, y], axis=0), [ROW, ROW]),
    "unstack": (lambda x: dygraph.unstack(x, axis=1), [TABLE]),
    "t": (dygraph.t, [ROW]),
    "glu": (nets.glu, [ROW]),
    "attention": (
        lambda q, k, v: nets.scaled_dot_product_attention(q, k, v, num_heads=2),
        [(3, 4), (5, 4), (5, 4)],
    ),
}  # fmt: skip
CASES = {**LOSSES, **FUNCTIONS}


def inputs_of(name, n):
    r = np.random.default_rng(n)
    arrays = [
        spec(r, n) if callable(spec) else r.standard_normal((n, *spec)).astype("float32")
        for spec in CASES[name][1]
    ]
    return [dygraph.to_variable(a) for a in arrays]


def with_gradients(function):
    def call(*inputs):
        inputs = [v * 1.0 if str(v.dtype) == "float32" else v for v in inputs]
        wanted = [v for v in inputs if str(v.dtype) == "float32"]
        for v in wanted:
            v.stop_gradient = False
        outputs = everything(function(*inputs))
        tops = [dygraph.mean(F.square(v)) for v in floats(outputs) if not v.stop_gradient]
        if not tops:
            return outputs
        grads = dygraph.grad(F.sum(tops), wanted, allow_unused=True)
        return [*outputs, *(g for g in grads if g is not None)]

    return call


@pytest.mark.parametrize("name", CASES)
def test_function(name):
    function = with_gradients(CASES[name][0])
    _, traced = jit.trace(function, inputs_of(name, 4))
    for n in (4, 3, 9):
        dygraph.seed(n)
        expected = bits(function(*inputs_of(name, n)))
        dygraph.seed(n)
        assert bits(traced(inputs_of(name, n))) == expected, f"batch {n}"
