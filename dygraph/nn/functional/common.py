"""Products, tables and borders."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError
from dygraph.functions import borders, images
from dygraph.nn.functional.spelling import spelled

__all__ = [
    "bilinear", "embedding", "label_smooth", "linear", "one_hot", "pad", "sequence_mask",
    "zeropad2d",
]  # fmt: skip

ops = _core.ops


# Products and tables ------------------------------------------------------------------------------


@spelled
def linear(x, weight, bias=None):
    """``x @ weight + bias``.

    The weight is ``[in, out]``, as in Paddle; PyTorch's is ``[out, in]`` and must be transposed. A
    square weight of PyTorch's fits without an error and gives another result.

    Parameters
    ----------
    x : Variable
        ``[..., in]``, float32 or float64.
    weight : Variable
        ``[in, out]``.
    bias : Variable, optional
        ``[out]``.

    Returns
    -------
    Variable
        ``[..., out]``.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for sizes that do not fit, with the fix where only PyTorch's order fits.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> x, weight = dygraph.to_variable([[1.0, 2.0]]), dygraph.to_variable([[3.0], [10.0]])
    >>> F.linear(x, weight, dygraph.ones([1], x.dtype)).tolist()
    [[24.0]]
    """
    size = check.variable(x, "linear: x").shape[-1:]
    shape = check.variable(weight, "linear: weight").shape
    if len(shape) != 2:
        raise InvalidArgumentError(
            f"linear: weight must have two axes, [in, out], got shape {list(shape)}"
        )
    if not size or not check.may_be_equal(size[0], shape[0]):
        fix = ""
        if size and size[0] == shape[1]:
            fix = ". This is PyTorch's order, [out, in]: write linear(x, weight.T, bias)"
        raise InvalidArgumentError(
            f"linear: the last axis of x must be the first of weight, [in, out], got x "
            f"{list(x.shape)} and weight {list(shape)}{fix}"
        )
    out = ops.matmul_v2(x, weight)
    return out if bias is None else ops.elementwise_add(out, bias)


@spelled
def bilinear(x1, x2, weight, bias=None):
    """``out[n, o] = x1[n] @ weight[o] @ x2[n] + bias[o]``.

    Parameters
    ----------
    x1, x2 : Variable
        ``[N, in1]`` and ``[N, in2]``, float32 or float64.
    weight : Variable
        ``[out, in1, in2]``.
    bias : Variable, optional
        ``[out]`` or ``[1, out]``.

    Returns
    -------
    Variable
        ``[N, out]``.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for sizes that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> x = dygraph.to_variable([[1.0, 2.0]])
    >>> F.bilinear(x, x, dygraph.ones([3, 2, 2], x.dtype)).tolist()
    [[9.0, 9.0, 9.0]]
    """
    out = ops.bilinear_tensor_product(x1, x2, weight)
    return out if bias is None else ops.elementwise_add(out, bias)


@spelled
def embedding(x, weight, padding_idx=None, *, sparse=False):
    """Rows of the table `weight`, by index.

    Parameters
    ----------
    x : Variable
        int32 or int64 indices, any shape.
    weight : Variable
        ``[rows, size]``.
    padding_idx : int, optional
        A row that gets no gradient. It must hold zeros: Paddle reads it as zeros whatever it holds,
        PyTorch as it is. Negative indices count from the end.
    sparse : bool
        The table's gradient is SelectedRows with only the rows that were read.

    Returns
    -------
    Variable
        ``[..., size]``.

    Raises
    ------
    ArgumentTypeError, InvalidArgumentError, OutOfRangeError
        (a TypeError, a ValueError, an IndexError) for floating indices; for a table that is no
        matrix, a `padding_idx` that it does not have and one whose row is not 0; for an index that
        it does not have.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> table = dygraph.to_variable([[0.0, 0.0], [3.0, 4.0]])
    >>> F.embedding(dygraph.to_variable([1, 0]), table, padding_idx=0).tolist()
    [[3.0, 4.0], [0.0, 0.0]]
    """
    if not check.variable(x, "embedding: x").dtype.name.startswith("int"):
        raise ArgumentTypeError(
            f"embedding: x must hold int32 or int64 indices, got {x.dtype}. Write "
            "embedding(indices, table)"
        )
    padding = -1
    if padding_idx is not None:
        padding = check.integer(padding_idx, "embedding: padding_idx")
        rows = check.variable(weight, "embedding: weight").shape[0]
        if not -rows <= padding < rows:
            raise InvalidArgumentError(
                f"embedding: padding_idx must lie in [-{rows}, {rows}), got {padding}"
            )
        padding %= rows
        reads = not (_core.is_symbol(weight) or _core.recording())
        if reads and weight.numpy()[padding].any():
            raise InvalidArgumentError(
                f"embedding: the row padding_idx={padding_idx} of weight must be 0, since Paddle "
                "reads it as zeros and PyTorch as it is. Set the row to 0, or leave padding_idx out"
            )
    return ops.lookup_table_v2(weight, x, is_sparse=bool(sparse), padding_idx=padding)


@spelled
def one_hot(x, num_classes=-1, *, dtype="float32"):
    """1 at the class and 0 elsewhere, along a new last axis.

    Parameters
    ----------
    x : Variable
        int32 or int64 classes, any shape.
    num_classes : int
        -1: one more than the largest class.
    dtype : dtype
        float32 as in Paddle; PyTorch's result is int64.

    Returns
    -------
    Variable
        ``[..., num_classes]``.

    Raises
    ------
    InvalidArgumentError, OutOfRangeError
        (a ValueError, an IndexError) for no classes; for a class out of range.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.one_hot(dygraph.to_variable([0, 2]), 3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    check.variable(x, "one_hot: x")
    count = check.integer(num_classes, "one_hot: num_classes")
    if count == -1:
        if _core.is_symbol(x) or not x.size:
            raise InvalidArgumentError(
                "one_hot: num_classes must be given where x has no values to count, got -1"
            )
        count = int(x.numpy().max()) + 1
    if count < 1:
        raise InvalidArgumentError(f"one_hot: num_classes must be at least 1, got {count}")
    return ops.one_hot_v2(x, depth=count, dtype=dtype)


@spelled
def label_smooth(label, prior_dist=None, epsilon=0.1):
    """``(1 - epsilon) * label + epsilon * prior_dist``, the prior even by default.

    Parameters
    ----------
    label : Variable
        ``[..., classes]``, float32 or float64.
    prior_dist : Variable, optional
        ``[1, classes]``.
    epsilon : float
        0 to 1.

    Returns
    -------
    Variable
        The shape of `label`.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for an `epsilon` out of bounds.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.label_smooth(dygraph.to_variable([[0.0, 1.0]]), epsilon=0.5).tolist()
    [[0.25, 0.75]]
    """
    epsilon = check.number(epsilon, "label_smooth: epsilon", 0, 1)
    return ops.label_smooth(label, prior_dist=prior_dist, epsilon=epsilon)


@spelled
def sequence_mask(x, maxlen=None, dtype="int64"):
    """1 at the positions of each sequence, 0 behind its length.

    Parameters
    ----------
    x : Variable
        int32 or int64 lengths, any shape.
    maxlen : int, optional
        None: the greatest length.
    dtype : dtype

    Returns
    -------
    Variable
        ``[..., maxlen]``.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for a `maxlen` below 1.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.sequence_mask(dygraph.to_variable([1, 3])).tolist()
    [[1, 0, 0], [1, 1, 1]]
    """
    most = -1 if maxlen is None else check.integer(maxlen, "sequence_mask: maxlen", 1)
    return ops.sequence_mask(x, maxlen=most, out_dtype=dtype)


# Borders ------------------------------------------------------------------------------------------


@spelled
def pad(x, pad, mode="constant", value=0.0):
    """`x` with a border.

    Parameters
    ----------
    x : Variable
    pad : list of int, or list of (int, int)
        Two numbers, before and after, for some of the last axes, the last axis first: ``[left,
        right, top, bottom]``. Or pairs, one for each axis of `x`, the first axis first, as NumPy
        has them. A flat list for all axes must be written in pairs: PyTorch counts it from the last
        axis, Paddle from the first.
    mode : 'constant', 'reflect' or 'replicate'
        The border: `value`, `x` mirrored at its border, or the border repeated.
    value : float

    Returns
    -------
    Variable

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for numbers that do not fit the axes.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.pad(dygraph.ones(1, 2), [1, 0], value=5.0).tolist()
    [[5.0, 1.0, 1.0]]
    >>> F.pad(dygraph.ones(1, 2), [(1, 0), (0, 0)]).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    rank = check.variable(x, "pad: x").ndim
    if isinstance(pad, (list, tuple)) and pad and all(isinstance(p, (list, tuple)) for p in pad):
        if len(pad) != rank or any(len(p) != 2 for p in pad):
            raise InvalidArgumentError(
                f"pad: pad must hold a pair for each of the {rank} axes, got {list(pad)}"
            )
        pad = [n for pair in pad for n in pair]
    elif isinstance(pad, (list, tuple)) and rank > 1 and len(pad) == 2 * rank:
        pairs = [tuple(pad[i : i + 2]) for i in range(0, len(pad), 2)]
        if pairs != pairs[::-1]:
            raise InvalidArgumentError(
                f"pad: pad for all {rank} axes must be written in pairs, the first axis first, got "
                f"{list(pad)}. PyTorch means {pairs[::-1]}, Paddle {pairs}"
            )
    return borders.pad(x, pad, mode, value)


@spelled
def zeropad2d(x, padding):
    """Zeros around images ``[batch, channels, height, width]``.

    Parameters
    ----------
    x : Variable
    padding : int or (int, int, int, int)
        Left, right, top, bottom.

    Returns
    -------
    Variable

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for another number of axes.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> F.zeropad2d(dygraph.ones(1, 1, 1, 1), [1, 0, 0, 0]).tolist()
    [[[[0.0, 1.0]]]]
    """
    images.require_axes(x, 2, "zeropad2d")
    return borders.pad(x, check.integers(padding, 4, "zeropad2d: padding", 0))
