"""Maxima put back to their positions: the inverses of pools."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.functions.images import as_image, as_line, require_axes
from dygraph.functions.pools import windows

__all__ = ["max_unpool1d", "max_unpool2d", "max_unpool3d"]

ops = _core.ops


def max_unpool2d(input, indices, pool_size, pool_stride=None, pool_padding=0, output_size=None):
    """Zeros with `input` at the positions of ``max_pool2d(..., return_mask=True)``.

    Parameters
    ----------
    input, indices : Variable
        The two results of `max_pool2d`; other values may replace the first.
    pool_size, pool_stride, pool_padding
        As of that call.
    output_size : (int, int), optional
        Height and width of the result, if the other arguments leave several.

    Returns
    -------
    Variable
        ``[batch, channels, (height - 1) * stride - 2 * padding + pool_size, ...]``.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[[[1.0, 5.0], [3.0, 2.0]]]])
    >>> most, where = dygraph.ops.max_pool2d(x, 2, return_mask=True)
    >>> dygraph.ops.max_unpool2d(most, where, 2).tolist()
    [[[[0.0, 5.0], [0.0, 0.0]]]]
    """
    return _max_unpool(2, input, indices, pool_size, pool_stride, pool_padding, output_size)


def max_unpool1d(input, indices, pool_size, pool_stride=None, pool_padding=0, output_size=None):
    """Zeros with `input` at the positions of ``max_pool1d(..., return_mask=True)``.

    Parameters
    ----------
    input, indices : Variable
        The two results of `max_pool1d`; other values may replace the first.
    pool_size, pool_stride, pool_padding
        As of that call.
    output_size : int, optional
        The length of the result, if the other arguments leave several.

    Returns
    -------
    Variable
        ``[batch, channels, (length - 1) * stride - 2 * padding + pool_size]``.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[[1.0, 5.0]]])
    >>> most, where = dygraph.ops.max_pool1d(x, 2, return_mask=True)
    >>> dygraph.ops.max_unpool1d(most, where, 2).tolist()
    [[[0.0, 5.0]]]
    """
    return _max_unpool(1, input, indices, pool_size, pool_stride, pool_padding, output_size)


def max_unpool3d(input, indices, pool_size, pool_stride=None, pool_padding=0, output_size=None):
    """Zeros with `input` at the positions of ``max_pool3d(..., return_mask=True)``.

    Parameters
    ----------
    input, indices : Variable
        The two results of `max_pool3d`; other values may replace the first.
    pool_size, pool_stride, pool_padding
        As of that call.
    output_size : (int, int, int), optional
        Depth, height and width of the result, if the other arguments leave several.

    Returns
    -------
    Variable
        ``[batch, channels, (depth - 1) * stride - 2 * padding + pool_size, ...]``.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[[[[1.0, 5.0]]]]])
    >>> most, where = dygraph.ops.max_pool3d(x, (1, 1, 2), return_mask=True)
    >>> dygraph.ops.max_unpool3d(most, where, (1, 1, 2)).tolist()
    [[[[[0.0, 5.0]]]]]
    """
    return _max_unpool(3, input, indices, pool_size, pool_stride, pool_padding, output_size)


def _max_unpool(axes, input, indices, size, stride, padding, output_size):
    owner = f"max_unpool{axes}d"
    require_axes(input, axes, owner)
    attrs = windows(axes, owner, size, stride, padding)
    flat = [1] if axes == 1 else []
    if output_size is not None and _core.holds_symbol(output_size):
        attrs["output_size"] = [*flat, *output_size]
    elif output_size is not None:
        if isinstance(output_size, (list, tuple)) and len(output_size) == axes + 2:
            output_size = output_size[2:]  # torch takes the whole shape, too
        wanted = check.integers(output_size, axes, f"{owner}: output_size", 1)
        least = [
            (int(n) - 1) * stride - 2 * padding + 1
            for n, stride, padding in zip(
                input.shape[2:], attrs["strides"][-axes:], attrs["paddings"][-axes:], strict=True
            )
        ]
        if any(out < low for out, low in zip(wanted, least, strict=True)):
            raise InvalidArgumentError(
                f"{owner}: output_size must be reached by windows of input, got {wanted} for "
                f"input of shape {list(input.shape)}"
            )
        attrs["output_size"] = [*flat, *wanted]
    if check.variable(indices, f"{owner}: indices").dtype.name == "int64":
        indices = indices.astype("int32")
    if axes == 1:
        return as_line(ops.unpool(as_image(input), as_image(indices), **attrs))
    return (ops.unpool if axes == 2 else ops.unpool3d)(input, indices, **attrs)
