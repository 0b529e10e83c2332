"""Pooling of sequences, images and volumes ``[batch, channels, ...]``."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.functions.images import as_image, as_line, require_axes

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "max_pool1d", "max_pool2d", "max_pool3d",
]  # fmt: skip

ops = _core.ops


def windows(axes, owner, size, stride, padding):
    """ksize, strides and paddings of the operators; a stride of None is the window's size."""
    if not _core.holds_symbol(size) or axes != 2:
        size = check.integers(size, axes, f"{owner}: pool_size", 1)
    elif stride is None:
        raise InvalidArgumentError(
            f"{owner}: pool_stride must be given where Variables give pool_size, got None"
        )
    stride = size if stride is None else check.integers(stride, axes, f"{owner}: pool_stride", 1)
    padding = check.integers(padding, axes, f"{owner}: pool_padding", 0)
    flat = axes == 1
    return {
        "ksize": [1, *size] if flat else size,
        "strides": [1, *stride] if flat else stride,
        "paddings": [0, *padding] if flat else padding,
    }


def _pool(axes, owner, input, attrs):
    require_axes(input, axes, owner)
    if axes == 1:
        return as_line(ops.pool2d(as_image(input), **attrs))
    return (ops.pool2d if axes == 2 else ops.pool3d)(input, **attrs)


def _max_pool(axes, input, size, stride, padding, ceil_mode, return_mask):
    owner = f"max_pool{axes}d"
    attrs = windows(axes, owner, size, stride, padding)
    if not return_mask:
        return _pool(axes, owner, input, {**attrs, "ceil_mode": bool(ceil_mode)})
    if ceil_mode:
        raise InvalidArgumentError(f"{owner}: return_mask must be False with ceil_mode, got True")
    return _with_mask(axes, owner, input, attrs)


def _with_mask(axes, owner, input, attrs):
    require_axes(input, axes, owner)
    if axes == 1:
        out, mask = ops.max_pool2d_with_index(as_image(input), **attrs)
        return as_line(out), as_line(mask)
    pool = ops.max_pool2d_with_index if axes == 2 else ops.max_pool3d_with_index
    return tuple(pool(input, **attrs))


def _avg_pool(axes, input, size, stride, padding, ceil_mode, exclusive):
    owner = f"avg_pool{axes}d"
    attrs = windows(axes, owner, size, stride, padding)
    return _pool(
        axes,
        owner,
        input,
        {
            **attrs,
            "pooling_type": "avg",
            "ceil_mode": bool(ceil_mode),
            "exclusive": bool(exclusive),
        },
    )


def _adaptive(axes, input, output_size, kind, return_mask=False):
    owner = f"adaptive_{kind}_pool{axes}d"
    require_axes(input, axes, owner)
    given = output_size if isinstance(output_size, (list, tuple)) else [output_size] * axes
    if len(given) != axes:
        raise InvalidArgumentError(
            f"{owner}: output_size must be an integer or {axes} of them, got {output_size}"
        )
    size = [
        int(input.shape[i + 2]) if s is None else check.integer(s, f"{owner}: output_size", 1)
        for i, s in enumerate(given)
    ]
    attrs = {"ksize": [1, *size] if axes == 1 else size, "adaptive": True}
    if return_mask:
        return _with_mask(axes, owner, input, attrs)
    return _pool(axes, owner, input, {**attrs, "pooling_type": kind})


def max_pool1d(
    input, pool_size, pool_stride=None, pool_padding=0, ceil_mode=False, return_mask=False
):
    """Maxima over windows of sequences.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, length]``; float32 or float64.
    pool_size : int
        The length of the window.
    pool_stride : int, optional
        The steps of the window; None: its size.
    pool_padding : int, default 0
        How many places are added on each side, which never win.
    ceil_mode : bool, default False
        Whether to round the sizes of the result up.
    return_mask : bool, default False
        Whether to return the places of the maxima as well.

    Returns
    -------
    Variable, or tuple of two
        The input's shape with the new sizes in space; with `return_mask` that and the places,
        counted row by row.

    Raises
    ------
    InvalidArgumentError
        The axes do not fit, or places are asked for with `ceil_mode`.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[[1.0, 5.0, 2.0, 3.0]]])
    >>> dygraph.ops.max_pool1d(x, 2).tolist()
    [[[5.0, 3.0]]]
    """
    return _max_pool(1, input, pool_size, pool_stride, pool_padding, ceil_mode, return_mask)


def max_pool2d(
    input, pool_size, pool_stride=None, pool_padding=0, ceil_mode=False, return_mask=False
):
    """Maxima over windows of images ``[batch, channels, height, width]``.

    Parameters
    ----------
    input : Variable
        float32 or float64.
    pool_size, pool_padding : int or (int, int)
    pool_stride : int or (int, int), optional
        None: the window's size.
    ceil_mode : bool
        Round the output's size up.
    return_mask : bool
        Also return the position of each maximum in its channel, for `max_unpool2d`.

    Returns
    -------
    Variable or (Variable, Variable)
        The maxima; the positions are int32, counted row by row.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> x = dygraph.to_variable(np.arange(16.0).reshape(1, 1, 4, 4))
    >>> dygraph.ops.max_pool2d(x, 2).numpy().tolist()
    [[[[5.0, 7.0], [13.0, 15.0]]]]
    """
    return _max_pool(2, input, pool_size, pool_stride, pool_padding, ceil_mode, return_mask)


def max_pool3d(
    input, pool_size, pool_stride=None, pool_padding=0, ceil_mode=False, return_mask=False
):
    """Maxima over windows of volumes.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, depth, height, width]``; float32 or float64.
    pool_size : int or (int, int, int)
        The depth, height and width of the window.
    pool_stride : int or (int, int, int), optional
        The steps of the window; None: its size.
    pool_padding : int or (int, int, int), default 0
        How many places are added on each side, which never win.
    ceil_mode : bool, default False
        Whether to round the sizes of the result up.
    return_mask : bool, default False
        Whether to return the places of the maxima as well.

    Returns
    -------
    Variable, or tuple of two
        The input's shape with the new sizes in space; with `return_mask` that and the places,
        counted row by row.

    Raises
    ------
    InvalidArgumentError
        The axes do not fit, or places are asked for with `ceil_mode`.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.arange(8.0).reshape(1, 1, 2, 2, 2)
    >>> dygraph.ops.max_pool3d(x, (1, 2, 2)).tolist()
    [[[[[3.0]], [[7.0]]]]]
    """
    return _max_pool(3, input, pool_size, pool_stride, pool_padding, ceil_mode, return_mask)


def avg_pool1d(input, pool_size, pool_stride=None, pool_padding=0, ceil_mode=False, exclusive=True):
    """Averages over windows of sequences.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, length]``; float32 or float64.
    pool_size : int
        The length of the window.
    pool_stride : int, optional
        The steps of the window; None: its size.
    pool_padding : int, default 0
        How many places are added on each side as zeros.
    ceil_mode : bool, default False
        Whether to round the sizes of the result up.
    exclusive : bool, default True
        Whether averages leave out the padding.

    Returns
    -------
    Variable
        The input's shape with the new sizes in space.

    Raises
    ------
    InvalidArgumentError
        The axes do not fit.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[[1.0, 5.0, 2.0, 3.0]]])
    >>> dygraph.ops.avg_pool1d(x, 2).tolist()
    [[[3.0, 2.5]]]
    """
    return _avg_pool(1, input, pool_size, pool_stride, pool_padding, ceil_mode, exclusive)


def avg_pool2d(input, pool_size, pool_stride=None, pool_padding=0, ceil_mode=False, exclusive=True):
    """Averages over windows of images ``[batch, channels, height, width]``.

    Parameters
    ----------
    input : Variable
        float32 or float64.
    pool_size, pool_padding : int or (int, int)
    pool_stride : int or (int, int), optional
        None: the window's size.
    ceil_mode : bool
        Round the output's size up.
    exclusive : bool
        Do not count padding.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.arange(16.0).reshape(1, 1, 4, 4)
    >>> dygraph.ops.avg_pool2d(x, 2).tolist()
    [[[[2.5, 4.5], [10.5, 12.5]]]]
    """
    return _avg_pool(2, input, pool_size, pool_stride, pool_padding, ceil_mode, exclusive)


def avg_pool3d(input, pool_size, pool_stride=None, pool_padding=0, ceil_mode=False, exclusive=True):
    """Averages over windows of volumes.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, depth, height, width]``; float32 or float64.
    pool_size : int or (int, int, int)
        The depth, height and width of the window.
    pool_stride : int or (int, int, int), optional
        The steps of the window; None: its size.
    pool_padding : int or (int, int, int), default 0
        How many places are added on each side as zeros.
    ceil_mode : bool, default False
        Whether to round the sizes of the result up.
    exclusive : bool, default True
        Whether averages leave out the padding.

    Returns
    -------
    Variable
        The input's shape with the new sizes in space.

    Raises
    ------
    InvalidArgumentError
        The axes do not fit.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.arange(8.0).reshape(1, 1, 2, 2, 2)
    >>> dygraph.ops.avg_pool3d(x, (1, 2, 2)).tolist()
    [[[[[1.5]], [[5.5]]]]]
    """
    return _avg_pool(3, input, pool_size, pool_stride, pool_padding, ceil_mode, exclusive)


def adaptive_avg_pool1d(input, output_size):
    """Averages over windows that divide sequences evenly, as in `adaptive_avg_pool2d`.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, length]``; float32 or float64.
    output_size : int
        The new length; None keeps the size of an axis.

    Returns
    -------
    Variable
        ``[batch, channels, *output_size]``

    Raises
    ------
    InvalidArgumentError
        The axes do not fit.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.arange(6.0).reshape(1, 1, 6)
    >>> dygraph.ops.adaptive_avg_pool1d(x, 2).tolist()
    [[[1.0, 4.0]]]
    """
    return _adaptive(1, input, output_size, "avg")


def adaptive_avg_pool2d(input, output_size):
    """Averages over windows that divide images evenly.

    Along an axis of `size`, output ``o`` averages the elements from ``o * size // out`` to before
    ``ceil((o + 1) * size / out)``.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``.
    output_size : int or (int, int)
        None keeps the size of an axis.

    Returns
    -------
    Variable
        ``[batch, channels, *output_size]``.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.arange(6.0).reshape(1, 1, 2, 3)
    >>> dygraph.ops.adaptive_avg_pool2d(x, [2, 1]).tolist()
    [[[[1.0], [4.0]]]]
    >>> dygraph.ops.adaptive_avg_pool2d(x, 2).tolist()  # the middle column is in both
    [[[[0.5, 1.5], [3.5, 4.5]]]]
    """
    return _adaptive(2, input, output_size, "avg")


def adaptive_avg_pool3d(input, output_size):
    """Averages over windows that divide volumes evenly, as in `adaptive_avg_pool2d`.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, depth, height, width]``; float32 or float64.
    output_size : int or (int, int, int)
        The new depth, height and width; None keeps the size of an axis.

    Returns
    -------
    Variable
        ``[batch, channels, *output_size]``

    Raises
    ------
    InvalidArgumentError
        The axes do not fit.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.arange(8.0).reshape(1, 1, 2, 2, 2)
    >>> dygraph.ops.adaptive_avg_pool3d(x, 1).tolist()
    [[[[[3.5]]]]]
    """
    return _adaptive(3, input, output_size, "avg")


def adaptive_max_pool1d(input, output_size, return_mask=False):
    """Maxima over windows that divide sequences evenly, as in `adaptive_avg_pool2d`.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, length]``; float32 or float64.
    output_size : int
        The new length; None keeps the size of an axis.
    return_mask : bool, default False
        Whether to return the places of the maxima as well.

    Returns
    -------
    Variable, or tuple of two
        ``[batch, channels, *output_size]``; with `return_mask` that and the places, counted row by
        row.

    Raises
    ------
    InvalidArgumentError
        The axes do not fit.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[[1.0, 5.0, 2.0, 3.0]]])
    >>> out, where = dygraph.ops.adaptive_max_pool1d(x, 2, return_mask=True)
    >>> out.tolist(), where.tolist()
    ([[[5.0, 3.0]]], [[[1, 3]]])
    """
    return _adaptive(1, input, output_size, "max", return_mask)


def adaptive_max_pool2d(input, output_size, return_mask=False):
    """Maxima over windows that divide images evenly, as in `adaptive_avg_pool2d`.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``; float32 or float64.
    output_size : int or (int, int)
        The new height and width; None keeps the size of an axis.
    return_mask : bool, default False
        Whether to return the places of the maxima as well.

    Returns
    -------
    Variable, or tuple of two
        ``[batch, channels, *output_size]``; with `return_mask` that and the places, counted row by
        row.

    Raises
    ------
    InvalidArgumentError
        The axes do not fit.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.arange(6.0).reshape(1, 1, 2, 3)
    >>> dygraph.ops.adaptive_max_pool2d(x, [2, 1]).tolist()
    [[[[2.0], [5.0]]]]
    """
    return _adaptive(2, input, output_size, "max", return_mask)


def adaptive_max_pool3d(input, output_size, return_mask=False):
    """Maxima over windows that divide volumes evenly, as in `adaptive_avg_pool2d`.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, depth, height, width]``; float32 or float64.
    output_size : int or (int, int, int)
        The new depth, height and width; None keeps the size of an axis.
    return_mask : bool, default False
        Whether to return the places of the maxima as well.

    Returns
    -------
    Variable, or tuple of two
        ``[batch, channels, *output_size]``; with `return_mask` that and the places, counted row by
        row.

    Raises
    ------
    InvalidArgumentError
        The axes do not fit.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.arange(8.0).reshape(1, 1, 2, 2, 2)
    >>> dygraph.ops.adaptive_max_pool3d(x, 1).tolist()
    [[[[[7.0]]]]]
    """
    return _adaptive(3, input, output_size, "max", return_mask)
