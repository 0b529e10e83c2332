"""Maxima and averages over windows."""

from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError
from dygraph.functions import pools, unpools
from dygraph.nn.functional.spelling import spelled

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d",
]  # fmt: skip


def _maxima(axes, x, kernel_size, stride, padding, dilation, ceil_mode, return_mask):
    owner = f"max_pool{axes}d"
    if check.integers(dilation, axes, f"{owner}: dilation", 1) != [1] * axes:
        raise InvalidArgumentError(f"{owner}: dilation must be 1, got {dilation}")
    pool = (pools.max_pool1d, pools.max_pool2d, pools.max_pool3d)[axes - 1]
    return pool(x, kernel_size, stride, padding, ceil_mode, return_mask)


@spelled
def max_pool2d(
    x, kernel_size, stride=None, padding=0, *, dilation=1, ceil_mode=False, return_mask=False
):
    """Maxima over windows of images.

    PyTorch and Paddle order the arguments after `padding` differently, so they are given by name.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``, float32 or float64.
    kernel_size, padding : int or (int, int)
        Padding counts as minus infinity.
    stride : int or (int, int), optional
        None: the window's size.
    dilation : int
        1.
    ceil_mode : bool
        Round the output's size up.
    return_mask : bool
        Also return the position of each maximum in its channel, for `max_unpool2d`; PyTorch's
        `return_indices`. Not with `ceil_mode`.

    Returns
    -------
    Variable or (Variable, Variable)
        The maxima; the positions are int32, counted row by row.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for shapes and sizes that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.max_pool2d(dygraph.arange(16.0).reshape(1, 1, 4, 4), 2).tolist()
    [[[[5.0, 7.0], [13.0, 15.0]]]]
    """
    return _maxima(2, x, kernel_size, stride, padding, dilation, ceil_mode, return_mask)


@spelled
def max_pool1d(
    x, kernel_size, stride=None, padding=0, *, dilation=1, ceil_mode=False, return_mask=False
):
    """Maxima over windows of sequences.

    PyTorch and Paddle order the arguments after `padding` differently, so they are given by name.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, length]``, float32 or float64.
    kernel_size, padding : int
        Padding counts as minus infinity.
    stride : int, optional
        None: the window's size.
    dilation : int
        1.
    ceil_mode : bool
        Round the output's size up.
    return_mask : bool
        Also return the position of each maximum; PyTorch's `return_indices`. Not with `ceil_mode`.

    Returns
    -------
    Variable or (Variable, Variable)
        The maxima; the positions are int32.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for shapes and sizes that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.max_pool1d(dygraph.to_variable([[[1.0, 5.0, 2.0, 3.0]]]), 2).tolist()
    [[[5.0, 3.0]]]
    """
    return _maxima(1, x, kernel_size, stride, padding, dilation, ceil_mode, return_mask)


@spelled
def max_pool3d(
    x, kernel_size, stride=None, padding=0, *, dilation=1, ceil_mode=False, return_mask=False
):
    """Maxima over windows of volumes.

    PyTorch and Paddle order the arguments after `padding` differently, so they are given by name.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, depth, height, width]``, float32 or float64.
    kernel_size, padding : int or (int, int, int)
        Padding counts as minus infinity.
    stride : int or (int, int, int), optional
        None: the window's size.
    dilation : int
        1.
    ceil_mode : bool
        Round the output's size up.
    return_mask : bool
        Also return the position of each maximum; PyTorch's `return_indices`. Not with `ceil_mode`.

    Returns
    -------
    Variable or (Variable, Variable)
        The maxima; the positions are int32, counted plane by plane and row by row.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for shapes and sizes that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.max_pool3d(dygraph.arange(8.0).reshape(1, 1, 2, 2, 2), (1, 2, 2)).tolist()
    [[[[[3.0]], [[7.0]]]]]
    """
    return _maxima(3, x, kernel_size, stride, padding, dilation, ceil_mode, return_mask)


def _averages(axes, x, kernel_size, stride, padding, ceil_mode, exclusive, count_include_pad):
    owner = f"avg_pool{axes}d"
    if count_include_pad is not None:
        if exclusive is not None:
            raise ArgumentTypeError(
                f"{owner}: one of exclusive and count_include_pad may be given, got both"
            )
        exclusive = not count_include_pad
    if exclusive is None:
        if any(check.integers(padding, axes, f"{owner}: padding", 0)):
            raise ArgumentTypeError(
                f"{owner}: exclusive must be given with padding, got padding={padding} alone. "
                "PyTorch's averages count padding, exclusive=False; Paddle's do not, exclusive=True"
            )
        exclusive = True
    pool = (pools.avg_pool1d, pools.avg_pool2d, pools.avg_pool3d)[axes - 1]
    return pool(x, kernel_size, stride, padding, ceil_mode, exclusive)


@spelled
def avg_pool2d(
    x, kernel_size, stride=None, padding=0, ceil_mode=False, *, exclusive=None,
    count_include_pad=None,
):  # fmt: skip
    """Averages over windows of images.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``, float32 or float64.
    kernel_size, padding : int or (int, int)
    stride : int or (int, int), optional
        None: the window's size.
    ceil_mode : bool
        Round the output's size up.
    exclusive : bool
        Padding does not count in an average. PyTorch counts it by default and Paddle does not, so
        it must be given where there is padding.
    count_include_pad : bool
        PyTorch's name of ``not exclusive``.

    Returns
    -------
    Variable

    Raises
    ------
    ArgumentTypeError, InvalidArgumentError
        (a TypeError, a ValueError) for padding without `exclusive`; for sizes that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> x = dygraph.ones(1, 1, 1, 2)
    >>> F.avg_pool2d(x, (1, 2), padding=(0, 1), exclusive=False).tolist()
    [[[[0.5, 0.5]]]]
    >>> F.avg_pool2d(x, (1, 2), padding=(0, 1), exclusive=True).tolist()
    [[[[1.0, 1.0]]]]
    """
    return _averages(2, x, kernel_size, stride, padding, ceil_mode, exclusive, count_include_pad)


@spelled
def avg_pool1d(
    x, kernel_size, stride=None, padding=0, *, ceil_mode=False, exclusive=None,
    count_include_pad=None,
):  # fmt: skip
    """Averages over windows of sequences.

    PyTorch and Paddle order the arguments after `padding` differently, so they are given by name.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, length]``, float32 or float64.
    kernel_size, padding : int
    stride : int, optional
        None: the window's size.
    ceil_mode : bool
        Round the output's size up.
    exclusive : bool
        Padding does not count in an average. Required with padding, as for `avg_pool2d`.
    count_include_pad : bool
        PyTorch's name of ``not exclusive``.

    Returns
    -------
    Variable

    Raises
    ------
    ArgumentTypeError, InvalidArgumentError
        (a TypeError, a ValueError) for padding without `exclusive`; for sizes that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.avg_pool1d(dygraph.to_variable([[[1.0, 5.0, 2.0, 3.0]]]), 2).tolist()
    [[[3.0, 2.5]]]
    """
    return _averages(1, x, kernel_size, stride, padding, ceil_mode, exclusive, count_include_pad)


@spelled
def avg_pool3d(
    x, kernel_size, stride=None, padding=0, ceil_mode=False, *, exclusive=None,
    count_include_pad=None,
):  # fmt: skip
    """Averages over windows of volumes.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, depth, height, width]``, float32 or float64.
    kernel_size, padding : int or (int, int, int)
    stride : int or (int, int, int), optional
        None: the window's size.
    ceil_mode : bool
        Round the output's size up.
    exclusive : bool
        Padding does not count in an average. Required with padding, as for `avg_pool2d`.
    count_include_pad : bool
        PyTorch's name of ``not exclusive``.

    Returns
    -------
    Variable

    Raises
    ------
    ArgumentTypeError, InvalidArgumentError
        (a TypeError, a ValueError) for padding without `exclusive`; for sizes that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.avg_pool3d(dygraph.arange(8.0).reshape(1, 1, 2, 2, 2), (1, 2, 2)).tolist()
    [[[[[1.5]], [[5.5]]]]]
    """
    return _averages(3, x, kernel_size, stride, padding, ceil_mode, exclusive, count_include_pad)


@spelled
def adaptive_avg_pool2d(x, output_size):
    """Averages over windows that divide images evenly.

    Along an axis of `size`, output ``o`` averages the elements from ``o * size // out`` to before
    ``ceil((o + 1) * size / out)``.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``, float32 or float64.
    output_size : int or (int, int)
        None keeps the size of an axis.

    Returns
    -------
    Variable
        ``[batch, channels, *output_size]``.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for another number of axes, and for sizes below 1.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.adaptive_avg_pool2d(dygraph.arange(6.0).reshape(1, 1, 2, 3), [2, 1]).tolist()
    [[[[1.0], [4.0]]]]
    """
    return pools.adaptive_avg_pool2d(x, output_size)


@spelled
def adaptive_avg_pool1d(x, output_size):
    """Averages over windows that divide sequences evenly, as those of `adaptive_avg_pool2d`.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, length]``, float32 or float64.
    output_size : int
        None keeps the length.

    Returns
    -------
    Variable
        ``[batch, channels, output_size]``.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for another number of axes, and for sizes below 1.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.adaptive_avg_pool1d(dygraph.arange(6.0).reshape(1, 1, 6), 2).tolist()
    [[[1.0, 4.0]]]
    """
    return pools.adaptive_avg_pool1d(x, output_size)


@spelled
def adaptive_avg_pool3d(x, output_size):
    """Averages over windows that divide volumes evenly, as those of `adaptive_avg_pool2d`.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, depth, height, width]``, float32 or float64.
    output_size : int or (int, int, int)
        None keeps the size of an axis.

    Returns
    -------
    Variable
        ``[batch, channels, *output_size]``.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for another number of axes, and for sizes below 1.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.adaptive_avg_pool3d(dygraph.arange(8.0).reshape(1, 1, 2, 2, 2), 1).tolist()
    [[[[[3.5]]]]]
    """
    return pools.adaptive_avg_pool3d(x, output_size)


@spelled
def adaptive_max_pool2d(x, output_size, return_mask=False):
    """Maxima over windows that divide images evenly, those of `adaptive_avg_pool2d`.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, height, width]``, float32 or float64.
    output_size : int or (int, int)
        None keeps the size of an axis.
    return_mask : bool
        Also return the position of each maximum in its channel; PyTorch's `return_indices`.

    Returns
    -------
    Variable or (Variable, Variable)

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for another number of axes, and for sizes below 1.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.adaptive_max_pool2d(dygraph.arange(6.0).reshape(1, 1, 2, 3), [2, 1]).tolist()
    [[[[2.0], [5.0]]]]
    """
    return pools.adaptive_max_pool2d(x, output_size, return_mask)


@spelled
def adaptive_max_pool1d(x, output_size, return_mask=False):
    """Maxima over windows that divide sequences evenly, as those of `adaptive_avg_pool2d`.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, length]``, float32 or float64.
    output_size : int
        None keeps the length.
    return_mask : bool
        Also return the position of each maximum; PyTorch's `return_indices`.

    Returns
    -------
    Variable or (Variable, Variable)

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for another number of axes, and for sizes below 1.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.adaptive_max_pool1d(dygraph.to_variable([[[1.0, 5.0, 2.0, 3.0]]]), 2).tolist()
    [[[5.0, 3.0]]]
    """
    return pools.adaptive_max_pool1d(x, output_size, return_mask)


@spelled
def adaptive_max_pool3d(x, output_size, return_mask=False):
    """Maxima over windows that divide volumes evenly, as those of `adaptive_avg_pool2d`.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, depth, height, width]``, float32 or float64.
    output_size : int or (int, int, int)
        None keeps the size of an axis.
    return_mask : bool
        Also return the position of each maximum; PyTorch's `return_indices`.

    Returns
    -------
    Variable or (Variable, Variable)

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for another number of axes, and for sizes below 1.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.adaptive_max_pool3d(dygraph.arange(8.0).reshape(1, 1, 2, 2, 2), 1).tolist()
    [[[[[7.0]]]]]
    """
    return pools.adaptive_max_pool3d(x, output_size, return_mask)


@spelled
def max_unpool2d(x, indices, kernel_size, stride=None, padding=0, *, output_size=None):
    """Zeros with `x` at the positions of ``max_pool2d(..., return_mask=True)``.

    Parameters
    ----------
    x, indices : Variable
        The two results of `max_pool2d`; other values may replace the first.
    kernel_size, stride, padding
        As of that call.
    output_size : (int, int), optional
        Height and width of the result, if the other arguments leave several.

    Returns
    -------
    Variable
        ``[batch, channels, (height - 1) * stride - 2 * padding + kernel_size, ...]``.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for sizes that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> x = dygraph.to_variable([[[[1.0, 5.0], [3.0, 2.0]]]])
    >>> F.max_unpool2d(*F.max_pool2d(x, 2, return_mask=True), 2).tolist()
    [[[[0.0, 5.0], [0.0, 0.0]]]]
    """
    return unpools.max_unpool2d(x, indices, kernel_size, stride, padding, output_size)


@spelled
def max_unpool1d(x, indices, kernel_size, stride=None, padding=0, *, output_size=None):
    """Zeros with `x` at the positions of ``max_pool1d(..., return_mask=True)``.

    Parameters
    ----------
    x, indices : Variable
        The two results of `max_pool1d`; other values may replace the first.
    kernel_size, stride, padding
        As of that call.
    output_size : int, optional
        The length of the result, if the other arguments leave several.

    Returns
    -------
    Variable
        ``[batch, channels, (length - 1) * stride - 2 * padding + kernel_size]``.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> x = dygraph.to_variable([[[1.0, 5.0, 2.0, 3.0]]])
    >>> F.max_unpool1d(*F.max_pool1d(x, 2, return_mask=True), 2).tolist()
    [[[0.0, 5.0, 0.0, 3.0]]]
    """
    return unpools.max_unpool1d(x, indices, kernel_size, stride, padding, output_size)


@spelled
def max_unpool3d(x, indices, kernel_size, stride=None, padding=0, *, output_size=None):
    """Zeros with `x` at the positions of ``max_pool3d(..., return_mask=True)``.

    Parameters
    ----------
    x, indices : Variable
        The two results of `max_pool3d`; other values may replace the first.
    kernel_size, stride, padding
        As of that call.
    output_size : (int, int, int), optional
        Depth, height and width of the result, if the other arguments leave several.

    Returns
    -------
    Variable
        ``[batch, channels, (depth - 1) * stride - 2 * padding + kernel_size, ...]``.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> x = dygraph.arange(4.0).reshape(1, 1, 1, 2, 2)
    >>> F.max_unpool3d(*F.max_pool3d(x, (1, 2, 2), return_mask=True), (1, 2, 2)).reshape(4).tolist()
    [0.0, 0.0, 0.0, 3.0]
    """
    return unpools.max_unpool3d(x, indices, kernel_size, stride, padding, output_size)
