"""Rules for normalization and softmax."""

import dygraph
from dygraph import _core
from dygraph.core.sizes import Size
from dygraph.errors import InvalidArgumentError, UnimplementedError
from dygraph.nn import functional as F
from dygraph.onnx.load_reduce import coerced
from dygraph.onnx.load_rules import rule
from dygraph.onnx.load_shape import reshaped_like

ops = _core.ops


@rule("Softmax")
def softmax(call, x):
    x, axis, back = coerced(call, x)
    return back(F.softmax(x, axis=axis))


@rule("LogSoftmax")
def log_softmax(call, x):
    x, axis, back = coerced(call, x)
    return back(F.log_softmax(x, axis=axis))


def per_channel(v, rank):
    """A value for each channel beside [N, C, ...]."""
    return ops.reshape2(v, shape=[1, -1, *[1] * (rank - 2)]) if rank > 1 else v


@rule("BatchNormalization", frozen=(3, 4))
def batch_norm(call, x, scale, bias, mean, variance):
    epsilon, rank = call.attr("epsilon", 1e-5), call.rank(x)
    if not call.attr("spatial", 1):
        raise UnimplementedError("BatchNormalization must be by channel, got spatial = 0")
    trains = call.attr("training_mode", 0) if call.opset >= 14 else False
    same = {str(v.dtype) for v in (x, scale, bias, mean, variance)} == {str(x.dtype)}
    if not trains and rank in (2, 4, 5) and same and str(x.dtype) in ("float32", "float64"):
        found = ops.batch_norm(
            x, scale, bias, mean, variance, epsilon=epsilon, is_test=True, use_global_stats=True
        )
        return found[0] if isinstance(found, (list, tuple)) else found
    results = ()
    if trains:
        axes, momentum = [i for i in range(rank) if i != 1], call.attr("momentum", 0.9)
        wide = x.astype(mean.dtype)
        now = ops.reduce_mean(wide, dim=axes, keep_dim=False)
        spread = ops.reduce_mean(
            dygraph.square(wide - per_channel(now, rank)), dim=axes, keep_dim=False
        )
        results = (
            mean * momentum + now * (1 - momentum), variance * momentum + spread * (1 - momentum)
        )  # fmt: skip
        mean, variance = now, spread
    wide = x.astype(mean.dtype) if str(x.dtype) != str(mean.dtype) else x
    out = (wide - per_channel(mean, rank)) / dygraph.sqrt(per_channel(variance, rank) + epsilon)
    out = out * per_channel(scale, rank) + per_channel(bias, rank)
    out = out.astype(x.dtype) if str(out.dtype) != str(x.dtype) else out
    return (out, *results)[: max(call.outputs, 1)] if results else out


@rule("InstanceNormalization")
def instance_norm(call, x, scale, bias):
    epsilon, rank = call.attr("epsilon", 1e-5), call.rank(x)
    axes = list(range(2, rank))
    return _normalized(x, axes, epsilon)[0] * per_channel(scale, rank) + per_channel(bias, rank)


def _normalized(x, axes, epsilon):
    mean = ops.reduce_mean(x, dim=axes, keep_dim=True)
    away = x - mean
    inverse = dygraph.reciprocal(
        dygraph.sqrt(ops.reduce_mean(dygraph.square(away), dim=axes, keep_dim=True) + epsilon)
    )
    return away * inverse, mean, inverse


@rule("LayerNormalization")
def layer_norm(call, x, scale, bias):
    rank = call.rank(x)
    axis = call.axis(call.attr("axis", -1), rank)
    epsilon, sizes = call.attr("epsilon", 1e-5), call.shape(x)
    wide = x.astype("float32") if str(x.dtype) in ("float16", "bfloat16") else x
    plain = wide is x and not any(isinstance(n, Size) for n in sizes[axis:])
    same = all(v is None or call.shape(v) == sizes[axis:] for v in (scale, bias))
    if plain and same and call.outputs == 1 and str(x.dtype) in ("float32", "float64"):
        width = 1
        for n in sizes[axis:]:
            width *= n
        flat = [None if v is None else ops.reshape2(v, shape=[width]) for v in (scale, bias)]
        found = (
            ops.layer_norm(
                x, epsilon=epsilon, begin_norm_axis=axis or rank, scale=flat[0], bias=flat[1]
            )
            if axis
            else None
        )
        if found is not None:
            return found[0] if isinstance(found, (list, tuple)) else found
    out, mean, inverse = _normalized(wide, list(range(axis, rank)), epsilon)
    out = out if wide is x else out.astype(x.dtype)
    out = out * scale
    out = out if bias is None else out + bias
    return out, mean, inverse


@rule("RMSNormalization")
def rms_norm(call, x, scale):
    rank = call.rank(x)
    axis = call.axis(call.attr("axis", -1), rank)
    wide = x.astype("float32") if str(x.dtype) in ("float16", "bfloat16") else x
    square = ops.reduce_mean(dygraph.square(wide), dim=list(range(axis, rank)), keep_dim=True)
    out = wide / dygraph.sqrt(square + call.attr("epsilon", 1e-5))
    return (out if wide is x else out.astype(x.dtype)) * scale


@rule("GroupNormalization")
def group_norm(call, x, scale, bias):
    groups, sizes, rank = call.needs("num_groups"), call.shape(x), call.rank(x)
    if isinstance(sizes[1], Size):
        raise UnimplementedError("GroupNormalization must know the channels, got an open size")
    each = sizes[1] // groups
    grouped = reshaped_like(call, x, [sizes[0], groups, each, *sizes[2:]])
    out = _normalized(grouped, list(range(2, rank + 1)), call.attr("epsilon", 1e-5))[0]
    if call.opset < 21:
        by_group = [1, groups, *[1] * (rank - 1)]
        out = out * ops.reshape2(scale, shape=by_group) + ops.reshape2(bias, shape=by_group)
        return reshaped_like(call, out, sizes)
    out = reshaped_like(call, out, sizes)
    return out * per_channel(scale, rank) + per_channel(bias, rank)


@rule("LRN")
def lrn(call, x):
    n, beta = call.needs("size"), call.attr("beta", 0.75)
    alpha, k = call.attr("alpha", 1e-4), call.attr("bias", 1.0)
    before = (n - 1) // 2
    square, sizes = dygraph.square(x), call.shape(x)
    if isinstance(sizes[1], Size):
        raise UnimplementedError("LRN must know the channels, got an open size")
    c, total = sizes[1], None
    if not 1 <= n <= 2 * c + 1:
        raise InvalidArgumentError(f"size must be from 1 to {2 * c + 1} for {c} channels, got {n}")
    call.table(n << 12, "steps")
    zero = ops.slice(dygraph.zeros_like(x), axes=[1], starts=[0], ends=[1])
    padded = ops.concat([*[zero] * before, square, *[zero] * (n - 1 - before)], axis=1)
    for i in range(n):
        part = ops.slice(padded, axes=[1], starts=[i], ends=[i + c])
        total = part if total is None else total + part
    return x / (total * (alpha / n) + k) ** beta


@rule("LpNormalization")
def lp_normalization(call, x):
    axis, p = call.axis(call.attr("axis", -1), call.rank(x)), call.attr("p", 2)
    if p == 1:
        length = ops.reduce_sum(dygraph.abs(x), dim=[axis], keep_dim=True)
    else:
        length = dygraph.sqrt(ops.reduce_sum(dygraph.square(x), dim=[axis], keep_dim=True))
    zero = dygraph.zeros_like(length)
    return x / dygraph.where(dygraph.equal(length, zero), dygraph.ones_like(length), length)


@rule("MeanVarianceNormalization")
def mean_variance_normalization(call, x):
    axes = call.attr("axes", [0, 2, 3])
    away = x - ops.reduce_mean(x, dim=axes, keep_dim=True)
    spread = ops.reduce_mean(dygraph.square(away), dim=axes, keep_dim=True)
    return away / (dygraph.sqrt(spread) + 1e-9)
