"""Rules that pad."""

import math

import numpy as np

import dygraph
from dygraph import _core
from dygraph.core.sizes import Size
from dygraph.errors import InvalidArgumentError
from dygraph.onnx.load_rules import rule
from dygraph.onnx.load_shape import (
    FAR,
    filled,
    is_open,
    sizes_or_elements,
)

ops = _core.ops


@rule("Pad", known=(1, 3))
def pad(call, x, pads, value, axes):
    mode = call.attr("mode", "constant")
    if call.opset < 11:
        pads = call.attr("pads", call.attr("paddings"))
    else:
        pads = sizes_or_elements(call, pads, "the pads of Pad")
    rank, value = call.rank(x), call.variable(value)
    axes = list(range(rank)) if axes is None else call.integers(axes, "the axes of Pad")
    axes = [call.axis(a, rank) for a in axes]
    if len(pads) != 2 * len(axes):
        raise InvalidArgumentError(f"Pad must have two pads for each axis, got {pads} for {axes}")
    before, after = (
        dict(zip(axes, pads[: len(axes)], strict=True)),
        dict(zip(axes, pads[len(axes) :], strict=True)),
    )
    for axis in axes:
        b, a = before[axis], after[axis]
        if is_open([b, a]):
            x = _pad_open(call, x, axis, b, a, mode, value)
        elif (b, a) != (0, 0):
            x = _pad_axis(call, x, axis, b, a, mode, value)
    return x


def _pad_axis(call, x, axis, before, after, mode, value):
    n = call.shape(x)[axis]
    if before < 0 or after < 0:
        if isinstance(n, Size):
            end = -after if after < 0 else FAR
            x = ops.slice(
                x, axes=[axis], starts=[max(-before, 0)], ends=[-end if after < 0 else end]
            )
        else:
            x = ops.slice(x, axes=[axis], starts=[max(-before, 0)], ends=[n - max(-after, 0)])
        before, after = max(before, 0), max(after, 0)
        n = call.shape(x)[axis]
        if not before and not after:
            return x
    if mode == "constant":
        sizes = call.shape(x)
        if not is_open(sizes):
            call.room(math.prod(sizes) // max(sizes[axis], 1) * (sizes[axis] + before + after))
        parts = [
            _block(call, x, axis, before, value), x, _block(call, x, axis, after, value)
        ]  # fmt: skip
        return ops.concat([p for p in parts if p is not None], axis=axis)
    if isinstance(n, Size):
        return _pad_open(call, x, axis, before, after, mode, value)
    call.table(n + before + after)
    if not is_open(call.shape(x)):
        call.room(math.prod(call.shape(x)) // max(n, 1) * (n + before + after))
    index = np.pad(
        np.arange(n), (before, after), {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}[mode]
    )
    return ops.gather(x, call.constant(index.astype("int64")), axis=axis)


def _block(call, x, axis, n, value):
    if not n:
        return None
    sizes = list(call.shape(x))
    sizes[axis] = n
    zero = filled(call, sizes, 0, str(x.dtype))
    if value is None and call.opset < 11 and call.attr("value", 0.0):
        return filled(call, sizes, call.attr("value"), str(x.dtype))
    return zero if value is None else _plus(zero, value)


def _plus(zero, value):
    if str(zero.dtype) == "bool":
        return dygraph.logical_or(zero, value)
    return zero + value.astype(zero.dtype)


def _pad_open(call, x, axis, before, after, mode, value):
    """A pad that only a run knows: a gather of rows, which may lie outside."""
    n = call.shape(x)[axis]
    as_int = lambda v: (  # noqa: E731
        v.astype("int64").reshape([1]) if isinstance(v, _core.Variable)
        else v.variable().astype("int64").reshape([1]) if isinstance(v, Size)
        else call.constant(np.array([v], "int64"))
    )  # fmt: skip
    size, before, after = as_int(n), as_int(before), as_int(after)
    place = ops.range(dygraph.negative(before), size + after, call.constant(np.array([1], "int64")))
    inside = dygraph.logical_and(place >= 0, place < size)
    last = size - 1
    if mode == "wrap":
        index = dygraph.remainder(place, size)
    elif mode == "reflect":
        index = dygraph.abs(place)
        index = last - dygraph.abs(last - index)
    else:
        index = dygraph.minimum(dygraph.maximum(place, dygraph.zeros_like(place)), last)
    out = ops.gather(x, index, axis=axis)
    if mode != "constant":
        return out
    rank = call.rank(x)
    inside = ops.reshape2(inside, shape=[-1 if i == axis else 1 for i in range(rank)])
    fill = dygraph.zeros_like(out)
    return dygraph.where(inside, out, fill if value is None else _plus(fill, value))
