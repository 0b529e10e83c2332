"""Rules for convolutions and pooling over any number of axes."""

import math

import numpy as np

import dygraph
from dygraph import _core
from dygraph.core.sizes import Size
from dygraph.errors import InvalidArgumentError, UnimplementedError
from dygraph.onnx.load_norm import per_channel
from dygraph.onnx.load_rules import rule
from dygraph.onnx.load_shape import filled, is_open, reshaped_like, steps_of

ops = _core.ops


class Window:
    """The attributes of a window that moves over space."""

    def __init__(self, call, x, kernel):
        self.sizes = call.shape(x)[2:]
        n = len(self.sizes)
        self.kernel = kernel
        if len(kernel) != n or any(isinstance(k, Size) or k < 1 for k in kernel):
            raise InvalidArgumentError(
                f"kernel_shape must have {n} sizes of 1 or more, got {kernel}"
            )
        self.strides = call.attr("strides", [1] * n)
        self.dilations = call.attr("dilations", [1] * n)
        pads = call.attr("pads", [0] * 2 * n)
        lists = (self.strides, self.dilations)
        if any(len(v) != n or min(v, default=1) < 1 for v in lists) or len(pads) != 2 * n:
            raise InvalidArgumentError(
                f"strides, dilations and pads must fit {n} axes, got {self.strides}, "
                f"{self.dilations} and {pads}"
            )
        self.before, self.after = pads[:n], pads[n:]
        self.auto = call.attr("auto_pad", "NOTSET")
        if self.auto == "VALID":
            self.before, self.after = [0] * n, [0] * n
        elif self.auto in ("SAME_UPPER", "SAME_LOWER"):
            if not is_open(self.sizes):
                self.same()
        elif self.auto != "NOTSET":
            raise InvalidArgumentError(f"auto_pad must be one of ONNX's, got {self.auto}")
        if min([*self.before, *self.after], default=0) < 0:
            raise InvalidArgumentError(f"pads must be 0 or more, got {pads}")

    def reach(self, i):
        return (self.kernel[i] - 1) * self.dilations[i] + 1

    def same(self):
        for i, n in enumerate(self.sizes):
            out = -(-n // self.strides[i])
            pad = max((out - 1) * self.strides[i] + self.reach(i) - n, 0)
            small, large = pad // 2, pad - pad // 2
            upper = self.auto == "SAME_UPPER"
            self.before[i], self.after[i] = (small, large) if upper else (large, small)

    def paddings(self):
        """As operators take them: an axis's two ends after each other."""
        if is_open(self.sizes) and self.auto == "SAME_LOWER":
            raise UnimplementedError("auto_pad SAME_LOWER must know the sizes, got open ones")
        return [p for pair in zip(self.before, self.after, strict=True) for p in pair]

    def algorithm(self):
        if is_open(self.sizes) and self.auto == "SAME_UPPER" and max(self.dilations) > 1:
            raise UnimplementedError("auto_pad with dilations must know the sizes, got open ones")
        return "SAME" if is_open(self.sizes) and self.auto == "SAME_UPPER" else "EXPLICIT"


def _raised(x):
    """One axis of space as two."""
    return ops.unsqueeze2(x, axes=[2])


@rule("Conv")
def conv(call, x, weight, bias):
    return convolved(call, x, weight, bias)


def convolved(call, x, weight, bias=None):
    kernel = call.shape(weight)[2:]
    window = Window(call, x, kernel)
    attrs = {
        "strides": window.strides, "dilations": window.dilations, "paddings": window.paddings(),
        "groups": call.attr("group", 1), "padding_algorithm": window.algorithm(),
    }  # fmt: skip
    n = len(kernel)
    if n == 1:
        for name, one in (("strides", 1), ("dilations", 1)):
            attrs[name] = [one, *attrs[name]]
        attrs["paddings"] = [0, 0, *attrs["paddings"]]
        out = ops.squeeze2(ops.conv2d(_raised(x), _raised(weight), **attrs), axes=[2])
    elif n in (2, 3):
        out = (ops.conv2d if n == 2 else ops.conv3d)(x, weight, **attrs)
    else:
        raise UnimplementedError(f"Conv must have 1 to 3 axes of space, got {n}")
    return out if bias is None else out + per_channel(bias, n + 2)


@rule("ConvTranspose")
def conv_transpose(call, x, weight, bias):
    kernel, sizes = call.shape(weight)[2:], call.shape(x)[2:]
    n = len(kernel)
    window = Window(call, x, kernel)
    more = call.attr("output_padding", [0] * n)
    wanted = call.attr("output_shape")
    before, after = list(window.before), list(window.after)
    if wanted is not None or window.auto.startswith("SAME"):
        if is_open(sizes):
            raise UnimplementedError("ConvTranspose with output_shape must know the sizes")
        wanted = wanted or [s * k for s, k in zip(sizes, window.strides, strict=True)]
        wanted = wanted[-n:]
        for i in range(n):
            total = window.strides[i] * (sizes[i] - 1) + more[i] + window.reach(i) - wanted[i]
            if total < 0:
                more = [m - total if j == i else m for j, m in enumerate(more)]
                total = 0
            small, large = total // 2, total - total // 2
            upper = window.auto == "SAME_UPPER"
            before[i], after[i] = (small, large) if upper else (large, small)
    attrs = {
        "strides": window.strides, "dilations": window.dilations, "groups": call.attr("group", 1),
        "output_padding": more if any(more) else [], "paddings": [0] * n,
    }  # fmt: skip
    if n == 1:
        for name in ("strides", "dilations"):
            attrs[name] = [1, *attrs[name]]
        attrs["paddings"] = [0, 0]
        attrs["output_padding"] = [0, *more] if any(more) else []
        out = ops.squeeze2(ops.conv2d_transpose(_raised(x), _raised(weight), **attrs), axes=[2])
    elif n in (2, 3):
        out = (ops.conv2d_transpose if n == 2 else ops.conv3d_transpose)(x, weight, **attrs)
    else:
        raise UnimplementedError(f"ConvTranspose must have 1 to 3 axes of space, got {n}")
    cut = [i for i in range(n) if before[i] or after[i]]
    if cut:
        out = ops.slice(
            out, axes=[i + 2 for i in cut], starts=[before[i] for i in cut],
            ends=[-after[i] if after[i] else (1 << 31) - 1 for i in cut],
        )  # fmt: skip
    return out if bias is None else out + per_channel(bias, n + 2)


@rule("DeformConv")
def deform_conv(call, x, weight, offset, bias, mask):
    window = Window(call, x, call.shape(weight)[2:])
    if window.before != window.after or len(window.kernel) != 2:
        raise UnimplementedError("DeformConv must have two axes and equal pads at both ends")
    out = ops.deformable_conv(
        x, offset, weight, strides=window.strides, paddings=window.before,
        dilations=window.dilations, deformable_groups=call.attr("offset_group", 1),
        groups=call.attr("group", 1), mask=mask if mask is not None else _ones_mask(call, offset),
    )  # fmt: skip
    return out if bias is None else out + per_channel(bias, 4)


def _ones_mask(call, offset):
    n, c, h, w = call.shape(offset)
    return filled(call, [n, c // 2, h, w], 1, str(offset.dtype))


# Pooling ------------------------------------------------------------------------------------------


class Places:
    """Where the windows of a pooling lie: for each axis a table [places, taps] of positions."""

    def __init__(self, call, window):
        if is_open(window.sizes):
            raise UnimplementedError(
                "pooling with dilations, ceil_mode or indices must know the sizes of space, got "
                f"{window.sizes}"
            )
        self.tables = []
        for i, n in enumerate(window.sizes):
            stride, reach = window.strides[i], window.reach(i)
            whole = n + window.before[i] + window.after[i] - reach
            out = (-(-whole // stride) if call.attr("ceil_mode", 0) else whole // stride) + 1
            if call.attr("ceil_mode", 0) and (out - 1) * stride >= n + window.before[i]:
                out -= 1  # a window must begin inside
            call.table(max(out, 1) * window.kernel[i])
            taps = np.arange(window.kernel[i]) * window.dilations[i]
            self.tables.append((np.arange(out) * stride - window.before[i])[:, None] + taps)
        self.counts = [len(t) for t in self.tables]

    def inside(self, window, i, padded):
        low, high = (
            (-window.before[i], window.sizes[i] + window.after[i])
            if padded
            else (0, window.sizes[i])
        )
        return (self.tables[i] >= low) & (self.tables[i] < high)


def _windows(call, x, window, places, fill):
    """[N, C, places..., taps]: what the taps of each window read, `fill` outside."""
    n = len(window.kernel)
    for i, table in enumerate(places.tables):
        axis, size = 2 + 2 * i, window.sizes[i]
        outside = (table < 0) | (table >= size)
        index = np.where(outside, size if outside.any() else 0, table)
        if outside.any():
            sizes = list(call.shape(x))
            sizes[axis] = 1
            x = ops.concat([x, filled(call, sizes, fill, str(x.dtype))], axis=axis)
        x = ops.gather(x, call.constant(index.reshape(-1).astype("int64")), axis=axis)
        sizes = call.shape(x)
        x = reshaped_like(call, x, [*sizes[:axis], *table.shape, *sizes[axis + 1 :]])
    perm = [0, 1, *(2 + 2 * i for i in range(n)), *(3 + 2 * i for i in range(n))]
    x = dygraph.permute_dims(x, perm)
    sizes = call.shape(x)
    return reshaped_like(call, x, [*sizes[: 2 + n], math.prod(window.kernel)])


def _plain(call, window, x):
    """Whether the library's pooling has these windows."""
    return (
        all(d == 1 for d in window.dilations)
        and not call.attr("ceil_mode", 0)
        and len(window.kernel) <= 3
        and str(x.dtype) in ("float32", "float64")
        and all(map(int.__lt__, window.before, window.kernel))
        and all(map(int.__lt__, window.after, window.kernel))
    )  # fmt: skip


def _pool(x, window, kind, exclusive=True):
    attrs = {
        "ksize": window.kernel, "strides": window.strides, "paddings": window.paddings(),
        "padding_algorithm": window.algorithm(), "pooling_type": kind, "exclusive": exclusive,
    }  # fmt: skip
    if len(window.kernel) == 1:
        for name in ("ksize", "strides"):
            attrs[name] = [1, *attrs[name]]
        attrs["paddings"] = [0, 0, *attrs["paddings"]]
        return ops.squeeze2(ops.pool2d(_raised(x), **attrs), axes=[2])
    return (ops.pool2d if len(window.kernel) == 2 else ops.pool3d)(x, **attrs)


def _lowest(dtype):
    return -math.inf if "float" in dtype else int(np.iinfo(dtype).min)


@rule("MaxPool")
def max_pool(call, x):
    window = Window(call, x, call.needs("kernel_shape"))
    if call.outputs < 2 and _plain(call, window, x):
        return _pool(x, window, "max")
    dtype = str(x.dtype)
    if dtype in ("int8", "uint8", "float16", "bfloat16"):
        wide = "int32" if "int" in dtype else "float32"
    else:
        wide = dtype
    places = Places(call, window)
    read = _windows(call, x.astype(wide), window, places, _lowest(wide))
    out = ops.reduce_max(read, dim=[len(window.kernel) + 2], keep_dim=False).astype(dtype)
    if call.outputs < 2:
        return out
    best = ops.arg_max(read, axis=-1, keepdims=True, dtype="int64")
    return out, _flat_places(call, x, window, places, best)


def _flat_places(call, x, window, places, best):
    """The place in the whole tensor of each window's tap `best`."""
    n = len(window.kernel)
    order = range(n) if call.attr("storage_order", 0) else range(n - 1, -1, -1)
    flat, stride = 0, 1
    for i in order:
        table = places.tables[i].reshape(
            [places.counts[i] if j == i else 1 for j in range(n)]
            + [window.kernel[i] if j == i else 1 for j in range(n)]
        )
        flat, stride = flat + table * stride, stride * window.sizes[i]
    whole = tuple(places.counts) + tuple(window.kernel)
    call.table(math.prod(whole))
    flat = np.broadcast_to(flat, whole).reshape([1, 1, *places.counts, -1])
    batch, channels = call.shape(x)[:2]
    if is_open([channels]):
        raise UnimplementedError("MaxPool with indices must know the channels, got an open size")
    table = call.constant(np.ascontiguousarray(flat).astype("int64"))
    table = table + filled(call, [batch, channels, *[1] * (n + 1)], 0, "int64")
    picked = ops.squeeze2(ops.take_along_axis(table, best, Axis=n + 2), axes=[n + 2])
    planes = ops.reshape2(steps_of(call, batch), shape=[-1, 1, *[1] * n]) * channels
    planes = planes + call.constant(np.arange(channels).reshape([1, -1, *[1] * n]).astype("int64"))
    return picked + planes * stride


@rule("AveragePool")
def average_pool(call, x):
    window = Window(call, x, call.needs("kernel_shape"))
    padded = bool(call.attr("count_include_pad", 0))
    if _plain(call, window, x):
        return _pool(x, window, "avg", not padded)
    places = Places(call, window)
    n = len(window.kernel)
    total = ops.reduce_sum(_windows(call, x, window, places, 0), dim=[n + 2], keep_dim=False)
    counts = 1.0
    for i in range(n):
        count = places.inside(window, i, padded).sum(1)
        counts = counts * count.reshape([-1 if j == i else 1 for j in range(n)])
    return total / call.constant(np.maximum(counts, 1).reshape([1, 1, *counts.shape]), total)


@rule("LpPool")
def lp_pool(call, x):
    window, p = Window(call, x, call.needs("kernel_shape")), call.attr("p", 2)
    places = Places(call, window)
    read = dygraph.abs(_windows(call, x, window, places, 0)) ** float(p)
    return ops.reduce_sum(read, dim=[len(window.kernel) + 2], keep_dim=False) ** (1.0 / p)


@rule("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(call, x):
    axes = list(range(2, call.rank(x)))
    if call.node.op_type == "GlobalAveragePool":
        return ops.reduce_mean(x, dim=axes, keep_dim=True)
    if call.node.op_type == "GlobalMaxPool":
        return ops.reduce_max(x, dim=axes, keep_dim=True)
    p = call.attr("p", 2)
    return ops.reduce_sum(dygraph.abs(x) ** float(p), dim=axes, keep_dim=True) ** (1.0 / p)


@rule("MaxUnpool", known=(2,))
def max_unpool(call, x, index, shape):
    window = Window(call, x, call.needs("kernel_shape"))
    batch, channels, *sizes = call.shape(x)
    if is_open([batch, channels, *sizes]):
        raise UnimplementedError("MaxUnpool must know the sizes of its input, got open ones")
    out = [
        (s - 1) * window.strides[i] + window.kernel[i] - window.before[i] - window.after[i]
        for i, s in enumerate(sizes)
    ]
    whole = [batch, channels, *out]
    flat = filled(call, [math.prod(whole)], 0, str(x.dtype))
    made = ops.put_along_axis(
        flat, ops.reshape2(index, shape=[-1]), ops.reshape2(x, shape=[-1]), Axis=0, Reduce="assign"
    )
    made = ops.reshape2(made, shape=whole)
    if shape is None:
        return made
    wanted = call.integers(shape, "output_shape of MaxUnpool")
    for axis in range(2, len(whole)):
        if wanted[axis] > whole[axis]:
            more = [*call.shape(made)]
            more[axis] = wanted[axis] - whole[axis]
            made = ops.concat([made, filled(call, more, 0, str(x.dtype))], axis=axis)
    return made


@rule("Col2Im", known=(1, 2))
def col2im(call, x, image, block):
    image = call.integers(image, "image_shape of Col2Im")
    block = call.integers(block, "block_shape of Col2Im")
    n = len(image)
    strides, dilations = call.attr("strides", [1] * n), call.attr("dilations", [1] * n)
    pads = call.attr("pads", [0] * 2 * n)
    batch, rows, columns = call.shape(x)
    if is_open([rows, columns]):
        raise UnimplementedError("Col2Im must know rows and columns, got open sizes")
    taps, padded = math.prod(block), [image[i] + pads[i] + pads[n + i] for i in range(n)]
    counts = [(padded[i] - (block[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(n)]
    if rows % taps or math.prod(counts) != columns:
        raise InvalidArgumentError(f"Col2Im must have columns for {counts} blocks, got {columns}")
    if min([*block, *counts], default=0) < 1:
        raise InvalidArgumentError(f"Col2Im must have blocks, got {block} and {counts} of them")
    call.table(taps * columns)
    flat = np.zeros([*block, *counts], "int64")
    for i in range(n):
        where = np.arange(block[i])[:, None] * dilations[i] + np.arange(counts[i]) * strides[i]
        where = where.reshape(
            [block[i] if j == i else 1 for j in range(n)]
            + [counts[i] if j == i else 1 for j in range(n)]
        )
        flat = flat * padded[i] + where
    channels = rows // taps
    call.room(channels * taps * columns)
    # [1, 1, elements] for each image and channel.
    index = call.constant(np.ascontiguousarray(flat.reshape(1, 1, -1)))
    index = index + filled(call, [batch, channels, 1], 0, "int64")
    table = filled(call, [batch, channels, math.prod(padded)], 0, str(x.dtype))
    made = ops.put_along_axis(
        table,
        index,
        reshaped_like(call, x, [batch, channels, taps * columns]),
        Axis=2,
        Reduce="add",
    )
    made = reshaped_like(call, made, [batch, channels, *padded])
    return ops.slice(
        made, axes=list(range(2, n + 2)), starts=pads[:n],
        ends=[pads[i] + image[i] for i in range(n)],
    )  # fmt: skip
