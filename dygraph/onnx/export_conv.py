"""Convolutions and windows of images."""

import numpy as np

from dygraph.onnx.export_graph import operator


def channels_last(c, name="data_format"):
    return c.attr(name) in ("NHWC", "NDHWC", "NWC", "NLC")


def to_first(c, value, rank):
    """[N, spatial, C] as [N, C, spatial]."""
    return c.transpose(value, [0, rank - 1, *range(1, rank - 1)])


def to_last(c, value, rank):
    return c.transpose(value, [0, *range(2, rank), 1])


def image(c, slot, name="data_format"):
    """(value with the channels second, its sizes, whether they were last)."""
    last, rank, sizes = channels_last(c, name), c.rank(slot), c.sizes(slot)
    if not last:
        return c[slot], sizes, False
    return to_first(c, c[slot], rank), [sizes[0], sizes[-1], *sizes[1:-1]], True


def paddings(c, axes):
    """[before each axis, then after each] of explicit or no padding."""
    if c.attr("padding_algorithm") == "VALID":
        return [0] * (2 * axes)
    given = list(c.attr("paddings"))
    if len(given) == axes:
        return given + given
    return given[0::2] + given[1::2]


def window(c, axes):
    """The attributes that all convolutions of ONNX have."""
    dilations = list(c.attr("dilations"))
    found = {"strides": list(c.attr("strides")), "group": int(c.attr("groups"))}
    if c.attr("padding_algorithm") == "SAME":
        return {**found, "auto_pad": "SAME_UPPER", "dilations": [1] * axes}
    return {**found, "pads": paddings(c, axes), "dilations": dilations}


@operator("conv2d", "depthwise_conv2d", "conv3d")
def _conv(c):
    rank = c.rank("Input")
    x, _, last = image(c, "Input")
    bias = c.Reshape(c["Bias"], np.array([-1])) if "conv2d" in c.op.type and c.has("Bias") else None
    out = c.Conv(x, c["Filter"], bias, **window(c, rank - 2))
    if c.has("ResidualData"):
        other = c["ResidualData"]
        out = c.Add(out, to_first(c, other, rank) if last else other)
    return to_last(c, out, rank) if last else out


@operator("conv2d_transpose", "depthwise_conv2d_transpose", "conv3d_transpose")
def _conv_transpose(c):
    rank = c.rank("Input")
    axes = rank - 2
    x, sizes, last = image(c, "Input")
    attributes = window(c, axes)
    strides, dilations = attributes["strides"], attributes["dilations"]
    kernel = c.dims("Filter")[2:]
    same = attributes.pop("auto_pad", None)
    known = all(isinstance(n, int) for n in sizes[2:]) and -1 not in kernel
    if same:
        c.require(known, "SAME padding needs known sizes")
        before, after = [], []
        for size, k, stride in zip(sizes[2:], kernel, strides, strict=True):
            total = max((-(-size // stride) - 1) * stride + k - size, 0)
            before.append(total // 2)
            after.append(total - total // 2)
        attributes["pads"] = before + after
    wanted = [int(n) for n in c.attr("output_size")]
    more = [int(n) for n in c.attr("output_padding")]
    if wanted:
        c.require(known, "output_size needs a known size of Input")
        pads = attributes["pads"]
        more = [
            n - ((size - 1) * stride + dilation * (k - 1) + 1 - pads[i] - pads[i + axes])
            for i, (n, size, k, stride, dilation) in enumerate(
                zip(wanted, sizes[2:], kernel, strides, dilations, strict=True)
            )
        ]
    if any(more):
        attributes["output_padding"] = more
    bias = c["Bias"] if "conv2d" in c.op.type else None
    out = c.ConvTranspose(x, c["Filter"], bias, **attributes)
    return to_last(c, out, rank) if last else out


@operator("deformable_conv", "deformable_conv_v1")
def _deformable_conv(c):
    c.require(c.opset >= 19, "it needs opset 19")
    pads = list(c.attr("paddings"))
    kernel = c.dims("Filter")[2:]
    kernel = None if -1 in kernel else kernel
    mask = c["Mask"] if c.op.type == "deformable_conv" else None
    return c.DeformConv(
        c["Input"], c["Filter"], c["Offset"], None, mask, strides=list(c.attr("strides")),
        pads=pads + pads, dilations=list(c.attr("dilations")), group=int(c.attr("groups")),
        offset_group=int(c.attr("deformable_groups")), kernel_shape=kernel,
    )  # fmt: skip


# Pooling ------------------------------------------------------------------------------------------


def bins(c, size, count):
    """(starts, ends) of `count` windows that share `size` out evenly, as int64 vectors."""
    size = c.vector([size])
    places = np.arange(count)
    starts = c.Div(c.Mul(places, size), np.array([count]))
    ends = c.Div(c.Add(c.Mul(places + 1, size), np.array([count - 1])), np.array([count]))
    return starts, ends


def adaptive(c, x, sizes, counts, kind, rank):
    """Windows that share the image out evenly, one axis after the other."""
    axes = rank - 2
    known = all(isinstance(n, int) for n in sizes[2:])
    if all(n == 1 for n in counts):
        return c.node("GlobalMaxPool" if kind == "max" else "GlobalAveragePool", x)
    if known and all(n % m == 0 for n, m in zip(sizes[2:], counts, strict=True)):
        kernel = [n // m for n, m in zip(sizes[2:], counts, strict=True)]
        return c.node("MaxPool" if kind == "max" else "AveragePool", x, kernel_shape=kernel,
                      strides=kernel)  # fmt: skip
    for i in range(axes):
        axis = 2 + i
        starts, ends = bins(c, sizes[axis], counts[i])
        places = c.Unsqueeze(c.range(sizes[axis]), axes=[0])
        inside = c.And(
            c.GreaterOrEqual(places, c.Unsqueeze(starts, axes=[1])),
            c.Less(places, c.Unsqueeze(ends, axes=[1])),
        )  # [windows, size]
        shape = [1] * rank
        shape[axis] = counts[i]
        if kind == "avg":
            weights = c.Div(
                c.cast(inside, c.dtype),
                c.cast(c.Unsqueeze(c.Sub(ends, starts), axes=[1]), c.dtype),
            )
            order = [a for a in range(rank) if a != axis] + [axis]
            moved = c.MatMul(c.transpose(x, order), c.Transpose(weights, perm=[1, 0]))
            x = c.transpose(moved, [order.index(a) for a in range(rank)])
        else:
            wide = c.Unsqueeze(x, axes=[axis])
            fit = c.Reshape(
                inside, c.vector([1] * axis + [counts[i], sizes[axis]] + [1] * (rank - axis - 1))
            )
            low = c.scalar(float("-inf") if c.floating else 0)
            x = c.ReduceMax(c.Where(fit, wide, low), axes=[axis + 1], keepdims=0)
    return x


@operator("pool2d", "pool3d")
def _pool(c):
    rank = c.rank()
    x, sizes, last = image(c, "X")
    out = pooled(c, x, sizes, rank)
    return to_last(c, out, rank) if last else out


def pooled(c, x, sizes, rank):
    axes, kind = rank - 2, c.attr("pooling_type")
    if c.attr("global_pooling"):
        return adaptive(c, x, sizes, [1] * axes, kind, rank)
    kernel = list(c.attr("ksize"))
    if c.attr("adaptive"):
        return adaptive(c, x, sizes, kernel, kind, rank)
    strides = list(c.attr("strides"))
    attributes = {"kernel_shape": kernel, "strides": strides}
    ceil = c.attr("ceil_mode")
    if c.attr("padding_algorithm") == "SAME":
        c.require(not ceil, "SAME padding beside ceil_mode")
        attributes["auto_pad"] = "SAME_UPPER"
        pads = None
    else:
        pads = paddings(c, axes)
        if ceil:  # as many windows as with so much more padding behind
            pads = pads[:axes] + [p + s - 1 for p, s in zip(pads[axes:], strides, strict=True)]
        attributes["pads"] = pads
    fits = pads is None or all(p < k for p, k in zip(pads, kernel + kernel, strict=True))
    if kind == "max":
        if not fits:
            x = around(c, x, pads, c.scalar(float("-inf")), rank)
            attributes["pads"] = [0] * (2 * axes)
        return c.MaxPool(x, **attributes)
    if c.attr("exclusive"):
        if fits:
            return c.AveragePool(x, **attributes, count_include_pad=0)
        one = c.full([1, 1, *sizes[2:]], 1.0, c.dtype)
        plain = {"kernel_shape": kernel, "strides": strides}
        total = c.AveragePool(around(c, x, pads, c.scalar(0.0), rank), **plain)
        return c.Div(total, c.AveragePool(around(c, one, pads, c.scalar(0.0), rank), **plain))
    if pads is None:
        return c.AveragePool(x, **attributes, count_include_pad=1)
    plain = {"kernel_shape": kernel, "strides": strides}
    if any(pads):  # a window always counts as many as its kernel holds
        x = around(c, x, pads, c.scalar(0.0), rank)
    return c.AveragePool(x, **plain)


def around(c, x, pads, value, rank):
    """Zeros or another value around an image; `pads` of the axes behind the second."""
    axes = rank - 2
    return c.Pad(x, np.array([0, 0, *pads[:axes], 0, 0, *pads[axes:]]), value)


@operator("max_pool2d_with_index", "max_pool3d_with_index")
def _pool_with_index(c):
    rank, sizes = c.rank(), c.sizes()
    axes = rank - 2
    if c.attr("global_pooling") or c.attr("adaptive"):
        counts = [1] * axes if c.attr("global_pooling") else list(c.attr("ksize"))
        c.require(
            all(isinstance(n, int) and n % m == 0 for n, m in zip(sizes[2:], counts, strict=True)),
            "windows that share the image out unevenly",
        )
        kernel = [n // m for n, m in zip(sizes[2:], counts, strict=True)]
        strides, pads = kernel, [0] * (2 * axes)
    else:
        kernel, strides = list(c.attr("ksize")), list(c.attr("strides"))
        given = list(c.attr("paddings"))
        pads = given + given if len(given) == axes else given[0::2] + given[1::2]
    out, places = c.MaxPool(c.x, kernel_shape=kernel, strides=strides, pads=pads, outputs=2)
    area = c.squeeze(c.vector([c.times(sizes[2:])]), [0])
    return {"Out": out, "Mask": c.cast(c.Mod(places, area), "int32")}


@operator("unpool", "unpool3d")
def _unpool(c):
    sizes = c.sizes("X")
    axes = c.rank("X") - 2
    wanted = list(c.attr("output_size"))
    if not any(wanted):
        c.require(all(isinstance(n, int) for n in sizes[2:]), "the sizes of X are open")
        parts = zip(sizes[2:], c.attr("strides"), c.attr("paddings"), c.attr("ksize"), strict=True)
        wanted = [(n - 1) * s - 2 * p + k for n, s, p, k in parts]
    wanted = wanted[-axes:]
    area = int(np.prod(wanted))
    flat = c.vector([sizes[0], sizes[1], -1])
    zeros = c.full([sizes[0], sizes[1], area], 0, c.dtype)
    places = c.cast(c.Reshape(c["Indices"], flat), "int64")
    out = c.ScatterElements(zeros, places, c.Reshape(c["X"], flat), axis=2)
    return c.Reshape(out, c.vector([sizes[0], sizes[1], *wanted]))


@operator("spp")
def _spp(c):
    sizes, kind = c.sizes(), c.attr("pooling_type")
    c.require(all(isinstance(n, int) for n in sizes[2:]), "the sizes of X in space are open")
    levels = []
    for level in range(c.attr("pyramid_height")):
        count = 2**level
        kernel = [-(-n // count) for n in sizes[2:]]
        pads = [(k * count - n + 1) // 2 for k, n in zip(kernel, sizes[2:], strict=True)]
        pool = {"kernel_shape": kernel, "strides": kernel, "pads": pads + pads}
        if kind == "max":
            made = c.MaxPool(c.x, **pool)
        else:
            made = c.AveragePool(c.x, **pool, count_include_pad=0)
        levels.append(c.Flatten(made, axis=1))
    return c.Concat(*levels, axis=1)


# Windows as columns -------------------------------------------------------------------------------


def places(c, size, kernel, stride, dilation):
    """(int64 [kernel, windows]: which element a tap of a window is, number of windows)."""
    reach = dilation * (kernel - 1) + 1
    taps = np.arange(kernel)[:, None] * dilation
    if isinstance(size, int):
        count = (size - reach) // stride + 1
        return c.value(taps + np.arange(count)[None] * stride), count
    count = c.Add(c.Div(c.Sub(size, np.array([reach])), np.array([stride])), np.array([1]))
    row = c.Unsqueeze(c.Mul(c.range(count), c.scalar(stride, "int64")), axes=[0])
    return c.Add(row, taps), count


def windows(c, x, sizes, kernel, strides, pads, dilations):
    """[N, C, kh, kw, H', W'] of an image, and (H', W'); pads: top, left, bottom, right."""
    if any(pads):
        x = c.Pad(x, np.array([0, 0, pads[0], pads[1], 0, 0, pads[2], pads[3]]))
    high = c.plus(sizes[2], pads[0] + pads[2])
    wide = c.plus(sizes[3], pads[1] + pads[3])
    rows, height = places(c, high, kernel[0], strides[0], dilations[0])
    columns, width = places(c, wide, kernel[1], strides[1], dilations[1])
    x = c.Gather(x, rows, axis=2)  # [N, C, kh, H', W]
    x = c.Gather(x, columns, axis=4)  # [N, C, kh, H', kw, W']
    return c.Transpose(x, perm=[0, 1, 2, 4, 3, 5]), height, width


@operator("unfold")
def _unfold(c):
    sizes, kernel = c.sizes(), list(c.attr("kernel_sizes"))
    x, _, _ = windows(
        c, c.x, sizes, kernel, c.attr("strides"), c.attr("paddings"), c.attr("dilations")
    )
    rows = c.times([sizes[1], kernel[0] * kernel[1]])
    return c.Reshape(x, c.vector([sizes[0], rows, -1]))


@operator("fold")
def _fold(c):
    c.require(c.opset >= 18, "it needs opset 18")
    return c.Col2Im(
        c.x, np.array(c.attr("output_sizes"), np.int64), np.array(c.attr("kernel_sizes"), np.int64),
        dilations=list(c.attr("dilations")), pads=list(c.attr("paddings")),
        strides=list(c.attr("strides")),
    )  # fmt: skip


@operator("im2sequence")
def _im2sequence(c):
    c.require(not c.has("Y"), "the real sizes of images, Y")
    sizes, kernel = c.sizes(), list(c.attr("kernels"))
    x, height, width = windows(
        c, c["X"], sizes, kernel, c.attr("strides"), c.attr("paddings"), [1, 1]
    )
    rows = c.Transpose(x, perm=[0, 4, 5, 1, 2, 3])
    out = c.Reshape(rows, c.vector([-1, c.times([sizes[1], kernel[0] * kernel[1]])]))
    count = c.vector([c.times([height, width])])
    return {"Out": (out, c.Expand(count, c.vector([sizes[0]])))}


@operator("conv_shift")
def _conv_shift(c):
    m, n = c.fixed("X")[1], c.fixed("Y")[1]
    index = (np.arange(m)[:, None] + np.arange(n)[None] - (n - 1) // 2) % m
    ring = c.Gather(c["X"], index, axis=1)
    return c.Squeeze(c.MatMul(ring, c.Unsqueeze(c["Y"], axes=[2])), axes=[2])


@operator("temporal_shift")
def _temporal_shift(c):
    x, sizes, last = image(c, "X")
    seg = c.attr("seg_num")
    c.require(isinstance(sizes[1], int), "the number of channels is open")
    moved = int(sizes[1] * c.attr("shift_ratio"))
    parts = c.Reshape(x, c.vector([-1, seg, *sizes[1:]]))

    def part(start, end, before):
        value = c.slice(parts, [start], [end], [2])
        pads = [0] * 10
        pads[1 if before else 6] = 1
        value = c.Pad(value, np.array(pads))
        return c.slice(value, [0 if before else 1], [seg if before else seg + 1], [1])

    out = c.Concat(
        part(0, moved, True), part(moved, 2 * moved, False),
        c.slice(parts, [2 * moved], [sizes[1]], [2]), axis=2,
    )  # fmt: skip
    out = c.Reshape(out, c.vector(sizes))
    return to_last(c, out, 4) if last else out
