"""Matrices by their diagonals."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.functions.arguments import given_once, on_device, spelled
from dygraph.functions.creation import filled_with, float_type

__all__ = [
    "diag",
    "eye",
    "tril",
    "triu",
]

ops = _core.ops
Variable = _core.Variable


@given_once
def eye(n_rows=None, n_cols=None, dtype=None, *, k=0, device=None, **spellings):
    """1 on diagonal `k`, 0 elsewhere; by default as many columns as rows.

    Parameters
    ----------
    n_rows : int
    n_cols : int, optional
        None: `n_rows`.
    dtype : dtype, optional
        None: the default type.
    k : int
        Which diagonal: above the main one if positive.
    device : Place, optional

    Returns
    -------
    Variable
        ``[n_rows, n_cols]``

    Examples
    --------
    >>> import dygraph
    >>> dygraph.eye(2, 3).numpy().tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """

    if spellings:
        n_rows, n_cols = spelled("eye", spellings, n_rows=n_rows, n_cols=n_cols)
    k, dtype = check.integer(k, "eye: k"), float_type(dtype, "eye")

    def size(value, what):
        return value if _core.holds_symbol(value) else check.integer(value, f"eye: {what}", 0)

    rows = size(n_rows, "n_rows")
    columns = rows if n_cols is None else size(n_cols, "n_cols")
    if k == 0:
        made = ops.eye(num_rows=rows, num_columns=columns, dtype=dtype)
    elif k >= columns or -k >= rows:
        made = filled_with([rows, columns], "0", dtype, "eye")
    else:  # rows or columns of a greater one from k on
        made = ops.eye(num_rows=rows + max(k, 0), num_columns=columns + max(-k, 0), dtype=dtype)
        axis, size = (0, rows) if k > 0 else (1, columns)
        made = ops.slice(made, axes=[axis], starts=[abs(k)], ends=[abs(k) + size])
    return on_device(made, device, "eye")


def diag(x, offset=0):
    """A matrix with `x` on a diagonal, or the diagonal of a matrix `x`. Gradients flow.

    Parameters
    ----------
    x : Variable
        One axis, or two.
    offset : int
        The diagonal; positive above the main one.

    Returns
    -------
    Variable
        A matrix of a vector, a vector of a matrix.

    Examples
    --------
    >>> import dygraph
    >>> m = dygraph.diag(dygraph.to_variable([1.0, 2.0]))
    >>> m.numpy().tolist(), dygraph.diag(m).numpy().tolist()
    ([[1.0, 0.0], [0.0, 2.0]], [1.0, 2.0])
    """
    check.variable(x, "diag: x")
    offset = check.integer(offset, "diag: offset")
    below, above = max(-offset, 0), max(offset, 0)
    if x.ndim == 1:
        n = check.known_size(x, 0, "diag")
        # rows of n + 1, reshaped to rows of n, move each first element on by one position
        rows = ops.pad(ops.unsqueeze2(x, axes=[1]), paddings=[0, 0, 0, n])
        flat = ops.slice(
            ops.reshape2(rows, shape=[n * (n + 1)]), axes=[0], starts=[0], ends=[n * n]
        )
        square = ops.reshape2(flat, shape=[n, n])
        return ops.pad(square, paddings=[below, above, above, below]) if offset else square
    if x.ndim != 2:
        raise InvalidArgumentError(f"diag: x must have one axis or two, got shape {list(x.shape)}")
    rows, columns = (check.known_size(x, axis, "diag") for axis in (0, 1))
    n = max(min(rows - below, columns - above), 0)
    square = ops.slice(x, axes=[0, 1], starts=[below, above], ends=[below + n, above + n])
    flat = ops.pad(ops.reshape2(square, shape=[n * n]), paddings=[0, n])
    rows = ops.reshape2(flat, shape=[n, n + 1])
    return ops.slice(rows, axes=[1], starts=[0], ends=[1], decrease_axis=[1])


@given_once
def tril(x, k=0, **spellings):
    """`x` on and below diagonal `k` of its last two axes, 0 above it.

    Parameters
    ----------
    x : Variable
        Two axes at least.
    k : int
        Which diagonal: above the main one if positive.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.tril(dygraph.to_variable([[1, 2], [3, 4]])).tolist()
    [[1, 0], [3, 4]]
    """
    return _triangle("tril", x, k, spellings)


@given_once
def triu(x, k=0, **spellings):
    """`x` on and above diagonal `k` of its last two axes, 0 below it.

    Parameters
    ----------
    x : Variable
        Two axes at least.
    k : int
        Which diagonal: above the main one if positive.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.triu(dygraph.to_variable([[1, 2], [3, 4]])).tolist()
    [[1, 2], [0, 4]]
    """
    return _triangle("triu", x, k, spellings)


def _triangle(owner, x, k, spellings):
    if spellings:
        (k,) = spelled(owner, spellings, k=k)
    if check.variable(x, f"{owner}: x").ndim < 2:
        raise InvalidArgumentError(f"{owner}: x must have two axes, got shape {list(x.shape)}")
    return ops.tril_triu(x, diagonal=check.integer(k, f"{owner}: k"), lower=owner == "tril")
