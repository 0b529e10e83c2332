"""Elements around a Variable: padding by a number, a mirror image or the border."""

import numpy as np

from dygraph import _core
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.functions.arguments import numbers

__all__ = ["pad"]

ops = _core.ops


def pad(x, pad, mode="constant", value=0.0, data_format="NCHW"):
    """`x` padded at its borders.

    Parameters
    ----------
    x : Variable
    pad : list of int
        Two numbers for an axis, before and after. For all axes: the first axis first. For fewer:
        for the last spatial axes, the last one first, as Paddle's (left, right, top, bottom).
    mode : {'constant', 'reflect', 'replicate', 'circular'}
        The padding: `value`, `x` mirrored at its border, the border, or the other end of `x`.
    value : float
    data_format : {'NCL', 'NLC', 'NCHW', 'NHWC', 'NCDHW', 'NDHWC'}

    Returns
    -------
    Variable

    Raises
    ------
    InvalidArgumentError
        If the numbers do not fit the axes.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.ops.pad(dygraph.ones([2]), [1, 2], value=5.0).numpy().tolist()
    [5.0, 1.0, 1.0, 5.0, 5.0]
    """
    rank = check.variable(x, "pad: x").ndim
    check.choice(mode, ("constant", "reflect", "replicate", "edge", "circular"), "pad: mode")
    check.choice(data_format, ("NCHW", "NHWC", "NCL", "NLC", "NCDHW", "NDHWC"), "pad: data_format")
    counts = numbers(pad, "pad: pad")
    if len(counts) % 2 or len(counts) > 2 * rank:
        raise InvalidArgumentError(
            f"pad: pad must hold two numbers for each axis of x {list(x.shape)} or for some of the "
            f"last ones, got {counts}"
        )
    pairs = [counts[i : i + 2] for i in range(0, len(counts), 2)]
    if len(pairs) < rank:
        last = [[0, 0]] if data_format[-1] == "C" else []
        pairs = pairs[::-1] + last
        pairs = [[0, 0]] * (rank - len(pairs)) + pairs
    if mode == "constant":
        return ops.pad(x, paddings=[n for pair in pairs for n in pair], pad_value=value)
    mode = "edge" if mode == "replicate" else mode
    if rank == 5 and not any(pairs[0]) and not (any(pairs[1]) and any(pairs[4])):
        last = not any(pairs[4]) and any(pairs[1])
        inner = pairs[1:4] if last else pairs[2:]
        return ops.pad3d(
            x, paddings=[n for pair in inner[::-1] for n in pair],
            mode="replicate" if mode == "edge" else mode, data_format="NDHWC" if last else "NCDHW",
        )  # fmt: skip
    if rank == 4 and mode != "circular" and not any(pairs[0] + pairs[1]):
        return ops.pad2d(x, paddings=pairs[2] + pairs[3], mode=mode)
    if rank == 4 and mode != "circular" and not any(pairs[0] + pairs[3]):
        return ops.pad2d(x, paddings=pairs[1] + pairs[2], mode=mode, data_format="NHWC")
    for axis, pair in enumerate(pairs):
        if any(pair):
            size = check.known_size(x, axis, f"pad with mode '{mode}'")
            x = ops.index_select(x, _core.literal(_border(size, pair, mode)), dim=axis)
    return x


def _border(size, pair, mode):
    """The indices of `size` elements padded by `pair`, in mode 'reflect', 'edge' or 'circular'."""
    limit = {"reflect": max(size, 1) - 1, "circular": size}.get(mode, max(pair))
    if min(pair) < 0 or max(pair) > limit or size == 0:
        most = {"edge": "of some elements", "circular": f"at most the size {size} of its axis"}.get(
            mode, f"less than the size {size} of its axis"
        )
        raise InvalidArgumentError(
            f"pad: with mode '{mode}' pad must be at least 0 and {most}, got {pair}"
        )
    return np.pad(np.arange(size), pair, "wrap" if mode == "circular" else mode)
