"""Normalisation over channels, rows and groups."""

import numpy as np

from dygraph.onnx.export_conv import image, to_first, to_last
from dygraph.onnx.export_graph import operator


@operator("batch_norm", "fused_batch_norm_act", "fused_bn_add_activation")
def _batch_norm(c):
    uses_own = c.attr("is_test") or c.attr("use_global_stats")
    c.require(uses_own and not c.attr("trainable_statistics"), "it takes the batch's statistics")
    rank = c.rank("X")
    x, _, last = image(c, "X", "data_layout") if rank > 2 else (c["X"], None, False)
    out = c.BatchNormalization(
        x, c["Scale"], c["Bias"], c["Mean"], c["Variance"], epsilon=c.attr("epsilon")
    )
    if c.op.type == "fused_bn_add_activation":
        z = c["Z"]
        out = c.Add(out, to_first(c, z, rank) if last else z)
    if c.op.type != "batch_norm":
        c.require(c.attr("act_type") == "relu", f"the activation {c.attr('act_type')}")
        out = c.Relu(out)
    return {
        "Y": to_last(c, out, rank) if last else out,
        "MeanOut": c.Identity(c["Mean"]),
        "VarianceOut": c.Identity(c["Variance"]),
    }


def layer_norm(c, x, dims, begin, scale, bias, epsilon):
    """LayerNormalization over the axes from `begin` on; scale and bias are flat, or None."""
    tail = dims[begin:]
    known = -1 not in tail
    if not known or (scale is None and bias is None):
        axes = list(range(begin, len(dims)))
        centred = c.Sub(x, c.ReduceMean(x, axes=axes, keepdims=1))
        variance = c.ReduceMean(c.Mul(centred, centred), axes=axes, keepdims=1)
        out = c.Div(centred, c.Sqrt(c.Add(variance, epsilon)))
        shape = c.Shape(x, start=begin, end=len(dims))
        if scale is not None:
            out = c.Mul(out, c.Reshape(scale, shape))
        return out if bias is None else c.Add(out, c.Reshape(bias, shape))
    shape = np.array(tail, np.int64)
    scale = c.full(tail, 1.0, c.dtype) if scale is None else c.Reshape(scale, shape)
    bias = None if bias is None else c.Reshape(bias, shape)
    return c.LayerNormalization(x, scale, bias, axis=begin, epsilon=epsilon)


@operator("layer_norm")
def _layer_norm(c):
    begin = c.attr("begin_norm_axis") % c.rank("X")
    return {"Y": layer_norm(c, c["X"], c.dims("X"), begin, c["Scale"], c["Bias"],
                            c.attr("epsilon"))}  # fmt: skip


@operator("skip_layernorm")
def _skip_layernorm(c):
    x = c.Add(c["X"], c["Y"])
    begin = c.attr("begin_norm_axis") % c.rank("X")
    return layer_norm(c, x, c.dims("X"), begin, c["Scale"], c["Bias"], c.attr("epsilon"))


@operator("fused_fc_elementwise_layernorm")
def _fused_fc_layernorm(c):
    from dygraph.onnx.export_linear import activated, flat_product

    out = flat_product(c, "X", "W", c.attr("x_num_col_dims"))
    if c.has("Bias0"):
        out = c.Add(out, c.Reshape(c["Bias0"], np.array([-1])))
    out = c.Add(activated(c, out, c.attr("activation_type")), c["Y"])
    dims = c.dims("Y")
    begin = c.attr("begin_norm_axis") % len(dims)
    made = layer_norm(c, out, dims, begin, c["Scale"], c["Bias1"], c.attr("epsilon"))
    axes = list(range(begin, len(dims)))
    mean = c.ReduceMean(out, axes=axes, keepdims=1)
    centred = c.Sub(out, mean)
    variance = c.ReduceMean(c.Mul(centred, centred), axes=axes, keepdims=1)
    flat = np.array([-1])
    return {"Out": made, "Mean": c.Reshape(mean, flat), "Variance": c.Reshape(variance, flat)}


def per_channel(c, slot, rank, axis):
    shape = [1] * rank
    shape[axis] = -1
    return c.Reshape(c[slot], np.array(shape))


@operator("group_norm")
def _group_norm(c):
    rank = c.rank("X")
    x, sizes, last = image(c, "X", "data_layout")
    groups = c.attr("groups")
    ones = np.ones(groups, c.dtype), np.zeros(groups, c.dtype)
    flat = c.Reshape(x, c.vector([sizes[0], groups, -1]))
    out = c.InstanceNormalization(flat, *ones, epsilon=c.attr("epsilon"))
    out = c.Reshape(out, c.vector(sizes))
    if c.has("Scale"):
        out = c.Mul(out, per_channel(c, "Scale", rank, 1))
    if c.has("Bias"):
        out = c.Add(out, per_channel(c, "Bias", rank, 1))
    return {"Y": to_last(c, out, rank) if last else out}


@operator("instance_norm")
def _instance_norm(c):
    rank, sizes = c.rank("X"), c.sizes("X")
    x = c["X"] if rank > 2 else c.Unsqueeze(c["X"], axes=[2])
    scale = c["Scale"] or c.full([sizes[1]], 1.0, c.dtype)
    bias = c["Bias"] or c.full([sizes[1]], 0.0, c.dtype)
    out = c.InstanceNormalization(x, scale, bias, epsilon=c.attr("epsilon"))
    return {"Y": out if rank > 2 else c.Squeeze(out, axes=[2])}


@operator("lrn")
def _lrn(c):
    x, sizes, last = image(c, "X")
    n, alpha, beta, k = (c.attr(a) for a in ("n", "alpha", "beta", "k"))
    out = c.LRN(x, alpha=alpha * n, beta=beta, bias=k, size=n)
    grid = c.Reshape(c.Mul(x, x), c.vector([sizes[0], 1, sizes[1], -1]))
    half = n // 2
    mean = c.AveragePool(
        grid, kernel_shape=[n, 1], strides=[1, 1], pads=[half, 0, half, 0], count_include_pad=1
    )
    middle = c.Add(c.Mul(c.Reshape(mean, c.Shape(x)), alpha * n), k)
    if last:
        out, middle = to_last(c, out, 4), to_last(c, middle, 4)
    return {"Out": out, "MidOut": middle}


@operator("rms_norm")
def _rms_norm(c):
    c.require(c.attr("quant_scale") <= 0, "its quantised form")
    x, rank, dims = c["x"], c.rank("x"), c.dims("x")
    begin = c.attr("begin_norm_axis") % rank
    if c.has("bias"):
        x = c.Add(x, c["bias"])
    if c.has("residual"):
        x = c.Add(x, c["residual"])
    axes = list(range(begin, rank))
    square = c.ReduceMean(c.Mul(x, x), axes=axes, keepdims=1)
    out = c.Div(x, c.Sqrt(c.Add(square, c.attr("epsilon"))))
    tail = dims[begin:]
    shape = c.Shape(x, start=begin, end=rank) if -1 in tail else np.array(tail, np.int64)
    out = c.Mul(out, c.Reshape(c["norm_weight"], shape))
    if c.has("norm_bias"):
        out = c.Add(out, c.Reshape(c["norm_bias"], shape))
    return {"out": out, "residual_out": x if x != c["x"] else c.Identity(x)}


@operator("affine_channel")
def _affine_channel(c):
    rank = c.rank("X")
    axis = rank - 1 if c.attr("data_layout") in ("NHWC", "NDHWC") else 1
    scaled = c.Mul(c["X"], per_channel(c, "Scale", rank, axis))
    return c.Add(scaled, per_channel(c, "Bias", rank, axis))


@operator("data_norm")
def _data_norm(c):
    c.require(c.attr("slot_dim") <= 0, "slot_dim")
    x = c["X"]
    means = c.Div(c["BatchSum"], c["BatchSize"])
    scales = c.Sqrt(c.Div(c["BatchSize"], c["BatchSquareSum"]))
    out = c.Mul(c.Sub(x, means), scales)
    if c.attr("enable_scale_and_shift"):
        out = c.Add(c.Mul(out, c["scale_w"]), c["bias"])
    return {"Y": out, "Means": means, "Scales": scales}


@operator("cvm")
def _cvm(c):
    return cvm(c, c["X"], c.attr("use_cvm"))


def cvm(c, x, use_cvm):
    rest = c.slice(x, [2], [2**62], [1])
    if not use_cvm:
        return rest
    show = c.Log(c.Add(c.slice(x, [0], [1], [1]), 1.0))
    click = c.Log(c.Add(c.slice(x, [1], [2], [1]), 1.0))
    return c.Concat(show, c.Sub(click, show), rest, axis=1)
