"""Rules for signals, and random numbers."""

import math

import numpy as np

import dygraph
from dygraph import _core
from dygraph.core.sizes import Size
from dygraph.errors import InvalidArgumentError, UnimplementedError
from dygraph.nn import functional as F
from dygraph.onnx import load_sizes
from dygraph.onnx.load_reduce import by_axis
from dygraph.onnx.load_rules import Weight, dims_of, dtype_named, rule
from dygraph.onnx.load_shape import as_variables, filled, is_open, reshaped_like

ops = _core.ops


def _complex(x, axis):
    """The value of complex numbers whose parts are the last axis."""
    last = dims_of(x)[-1]
    parts = [
        ops.slice(x, axes=[len(dims_of(x)) - 1], starts=[i], ends=[i + 1],
                  decrease_axis=[len(dims_of(x)) - 1])
        for i in range(last)
    ]  # fmt: skip
    return parts


@rule("DFT", known=(1, 2))
def dft(call, x, length, axis):
    rank = call.rank(x)
    inverse, onesided = bool(call.attr("inverse", 0)), bool(call.attr("onesided", 0))
    at = call.attr("axis", 1) if call.opset < 20 else -2
    if axis is not None and call.numbers(axis) is None and length is None and not onesided:
        # Counted from the end with the axis of the parts.
        at = call.variable(axis).astype("int64").reshape([1])
        at = dygraph.where(at < 0, at + rank, at)
        return by_axis(
            call, at, range(1, rank - 1), lambda a: transformed(call, x, a, None, inverse, False)
        )
    at = call.integer(axis, "the axis of DFT") if axis is not None else at
    at = call.axis(at, rank)
    length = None if length is None else call.integer(length, "dft_length")
    return transformed(call, x, at, length, inverse, onesided)


def transformed(call, x, axis, length, inverse, onesided):
    """In float64, as ONNX's reference computes it."""
    out = _transformed(call, x.astype("float64"), axis, length, inverse, onesided)
    return out.astype(x.dtype)


def _transformed(call, x, axis, length, inverse, onesided):
    last = call.shape(x)[-1]
    if is_open([last]) or last not in (1, 2):
        raise InvalidArgumentError(f"DFT must have one or two numbers in the last axis, got {last}")
    if inverse and onesided:
        n = call.shape(x)[axis]
        length = length or 2 * (n - 1)
        half = length // 2 + 1
        if half != n:
            x = _sized(call, x, axis, half)
        parts = _complex(x, axis)
        value = (
            ops.complex(*parts)
            if last == 2
            else ops.complex(parts[0], dygraph.zeros_like(parts[0]))
        )
        out = ops.fft_c2r(value, axes=[axis], forward=False, last_dim_size=length)
        return ops.unsqueeze2(out, axes=[len(dims_of(out))])
    if length is not None:
        x = _sized(call, x, axis, length)
    parts = _complex(x, axis)
    if last == 1 and not inverse:
        out = ops.fft_r2c(parts[0], axes=[axis], onesided=onesided)
    else:
        value = (
            ops.complex(*parts)
            if last == 2
            else ops.complex(parts[0], dygraph.zeros_like(parts[0]))
        )
        out = ops.fft_c2c(value, axes=[axis], forward=not inverse)
        if onesided:
            n = call.shape(x)[axis]
            out = ops.as_real(out)
            return ops.slice(out, axes=[axis], starts=[0], ends=[n // 2 + 1])
    return ops.as_real(out)


def _sized(call, x, axis, length):
    n = call.shape(x)[axis]
    if isinstance(n, Size):
        raise UnimplementedError("DFT with a length must know the size of its axis")
    if length <= n:
        return ops.slice(x, axes=[axis], starts=[0], ends=[length])
    call.room(length)
    sizes = list(call.shape(x))
    sizes[axis] = length - n
    return ops.concat([x, filled(call, sizes, 0, str(x.dtype))], axis=axis)


@rule("STFT", known=(1, 3))
def stft(call, x, hop, window, length):
    hop = call.integer(hop, "frame_step of STFT")
    if length is not None:
        length = call.integer(length, "frame_length of STFT")
    elif window is not None:
        length = call.shape(window)[0]
    n = call.shape(x)[1]
    if length is None or is_open([n, length]):
        raise UnimplementedError("STFT must know the lengths of signal and frame")
    if hop < 1 or not 1 <= length <= n:
        raise InvalidArgumentError(
            f"STFT must have frames inside {n} samples, got {length} by {hop}"
        )
    call.table(((n - length) // hop + 1) * length)
    starts = np.arange((n - length) // hop + 1) * hop
    index = (starts[:, None] + np.arange(length)).reshape(-1)
    frames = ops.gather(x, call.constant(index.astype("int64")), axis=1)
    batch, last = call.shape(x)[0], call.shape(x)[2]
    frames = reshaped_like(call, frames, [batch, len(starts), length, last])
    if window is not None:
        frames = frames * ops.reshape2(window, shape=[1, 1, -1, 1])
    onesided = bool(call.attr("onesided", 1))
    return transformed(call, frames, 2, None, False, onesided)


@rule("HannWindow", "HammingWindow", "BlackmanWindow", known=(0,))
def window(call, size):
    if call.numbers(size) is None:
        return _window_open(call, call.variable(size))
    n = call.integer(size, "the size of a window")
    if n < 0:
        raise InvalidArgumentError(f"the size of a window must be 0 or more, got {n}")
    call.table(n)
    whole = n if call.attr("periodic", 1) else n - 1
    turn = 2 * math.pi * np.arange(n) / max(whole, 1)
    a, b, c = _WINDOWS[call.node.op_type]
    made = a - b * np.cos(turn) + c * np.cos(2 * turn)
    dtype = dtype_named(call.attr("output_datatype", 1))
    return call.constant(made.astype("float64")).astype(dtype)


_WINDOWS = {"HannWindow": (0.5, 0.5, 0), "HammingWindow": (25 / 46, 21 / 46, 0),
            "BlackmanWindow": (0.42, 0.5, 0.08)}  # fmt: skip


def _window_open(call, size):
    """A window whose size only a run knows."""
    n = size.astype("int64").reshape([1])
    zero, one = (call.constant(np.array([v], "int64")) for v in (0, 1))
    at = ops.range(zero, n, one).astype("float64")
    whole = n if call.attr("periodic", 1) else dygraph.maximum(n - 1, one)
    turn = at * (2 * math.pi) / whole.astype("float64")
    a, b, c = _WINDOWS[call.node.op_type]
    made = dygraph.cos(turn * 2.0) * c - dygraph.cos(turn) * b + a
    return made.astype(dtype_named(call.attr("output_datatype", 1)))


@rule("MelWeightMatrix", known=(0, 1, 2, 3, 4))
def mel_weight_matrix(call, bins, length, rate, low, high):
    values = [
        call.numbers(v, "an input of MelWeightMatrix").item()
        for v in (bins, length, rate, low, high)
    ]
    bins, length, rate, low, high = values
    rows = length // 2 + 1
    if bins < 1 or length < 1 or bins * rows > 1 << 24:
        raise InvalidArgumentError(f"MelWeightMatrix must have sizes of 1 to 2**24, got {values}")
    call.room(bins * rows)
    mel = lambda f: 2595 * np.log10(1 + f / 700)  # noqa: E731
    edges = np.arange(bins + 2) * ((mel(high) - mel(low)) / (bins + 2)) + mel(low)
    hertz = 700 * (np.power(10, edges / 2595) - 1)
    points = (((length + 1) * hertz) // rate).astype(int)
    out = np.zeros((rows, bins))
    for i in range(bins):
        a, b, c = points[i : i + 3]
        if b == a:
            if 0 <= b < rows:
                out[b, i] = 1
        else:
            for j in range(max(a, 0), min(b + 1, rows)):
                out[j, i] = (j - a) / (b - a)
        if c != b:
            for j in range(max(b, 0), min(c, rows)):
                out[j, i] = (c - j) / (c - b)
    return call.constant(out).astype(dtype_named(call.attr("output_datatype", 1)))


# Random -------------------------------------------------------------------------------------------


def _drawn(call, sizes, dtype, kind):
    wide = dtype if dtype in ("float32", "float64") else "float32"
    sizes = list(sizes)
    attrs = {"dtype": wide, "seed": 0}
    if kind == "normal":
        attrs |= {"mean": call.attr("mean", 0.0), "std": call.attr("scale", 1.0)}
        function = ops.gaussian_random
    else:
        attrs |= {"min": call.attr("low", 0.0), "max": call.attr("high", 1.0)}
        function = ops.uniform_random
    if is_open(sizes):
        attrs |= {"shape": [-1] * len(sizes), "shape_tensor_list": as_variables(sizes)}
    else:
        attrs["shape"] = sizes
    made = function(**attrs)
    return made if dtype == wide else made.astype(dtype)


@rule("RandomNormal", "RandomUniform", random=True)
def random(call):
    kind = "normal" if call.node.op_type == "RandomNormal" else "uniform"
    return _drawn(call, call.needs("shape"), dtype_named(call.attr("dtype", 1)), kind)


@rule("RandomNormalLike", "RandomUniformLike", known=(0,), random=True)
def random_like(call, x):
    kind = "normal" if call.node.op_type == "RandomNormalLike" else "uniform"
    dtype = call.attr("dtype")
    own = x.array.dtype if isinstance(x, Weight) else "int64" if load_sizes.is_sizes(x) else x.dtype
    return _drawn(call, call.shape(x), str(own) if dtype is None else dtype_named(dtype), kind)


@rule("Bernoulli", random=True)
def bernoulli(call, p):
    dtype = call.attr("dtype")
    dtype = str(p.dtype) if dtype is None else dtype_named(dtype)
    wide = p if str(p.dtype) in ("float32", "float64") else p.astype("float32")
    return ops.bernoulli(wide).astype(dtype)


@rule("Multinomial", random=True)
def multinomial(call, logits):
    count = call.attr("sample_size", 1)
    out = ops.multinomial(F.softmax(logits, axis=-1), num_samples=count, replacement=True)
    return out.astype(dtype_named(call.attr("dtype", 6)))
