"""Nodes whose operands are constants, computed by NumPy while a model is written."""

import numpy as np

from dygraph.onnx.package import helper

_MOST = 1 << 28  # bytes of a result


def _axes(axes):
    return tuple(int(a) for a in axes)


def _reshape(x, shape, allowzero=0):
    sizes = [int(n) for n in shape]
    if not allowzero:
        sizes = [x.shape[i] if n == 0 else n for i, n in enumerate(sizes)]
    return x.reshape(sizes)


def _unsqueeze(x, axes):
    rank = x.ndim + len(axes)
    for axis in sorted(int(a) % rank for a in axes):
        x = np.expand_dims(x, axis)
    return x


def _slice(x, starts, ends, axes=None, steps=None):
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    index = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        size = x.shape[int(axis)]
        start, end, step = int(start), int(end), int(step)
        if step < 0 and end < -size:
            end = None
        index[int(axis)] = slice(start, end, step)
    return x[tuple(index)]


def _cast(x, to):
    dtype = helper.tensor_dtype_to_np_dtype(to)
    if x.dtype.kind == "f" and dtype.kind in "iu" and not np.isfinite(x).all():
        return None
    return x.astype(dtype)


def _div(x, y):
    if x.dtype.kind == "f":
        return x / y
    if (y == 0).any() or (x < 0).any() or (y < 0).any():
        return None
    return x // y


_NUMPY = {
    "Abs": np.abs,
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": _div,
    "Neg": np.negative,
    "Sqrt": np.sqrt,
    "Max": lambda *x: np.maximum.reduce(np.broadcast_arrays(*x)),
    "Min": lambda *x: np.minimum.reduce(np.broadcast_arrays(*x)),
    "Identity": lambda x: x,
    "Cast": _cast,
    "Reshape": _reshape,
    "Transpose": lambda x, perm=None: x.transpose(perm),
    "Unsqueeze": _unsqueeze,
    "Squeeze": lambda x, axes=None: np.squeeze(x, None if axes is None else _axes(axes)),
    "Concat": lambda *x, axis: np.concatenate(x, axis),
    "Slice": _slice,
    "Gather": lambda x, i, axis=0: np.take(x, i, axis),
    "Shape": lambda x, start=0, end=None: np.array(x.shape[start:end], np.int64),
    "Size": lambda x: np.array(x.size, np.int64),
    "Range": lambda a, b, step: np.arange(a, b, step, dtype=a.dtype),
    "Equal": np.equal,
    "Not": np.logical_not,
    "ReduceProd": lambda x, axes=None, keepdims=1: np.prod(
        x, None if axes is None else _axes(axes), keepdims=bool(keepdims)
    ).astype(x.dtype),
}


def fold(type, arrays, attributes):
    """The result of a node, or None where it stays a node."""
    function = _NUMPY.get(type)
    if function is None or any(a is None for a in arrays) or not arrays:
        return None
    attributes = {k: v for k, v in attributes.items() if v is not None}
    with np.errstate(all="ignore"):
        result = function(*arrays, **attributes)
    if result is None or result.nbytes > _MOST:
        return None
    result = np.asarray(result)
    return np.array(result, order="C", copy=True) if result.ndim else result
