"""Norms, products and the median, with the arguments of Paddle 2 (``axis``)."""

from dygraph import _core
from dygraph.core import check, size_lists
from dygraph.core.promotion import same_type
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    kind_of,
)
from dygraph.functions.arguments import given_once, spelled, widened

__all__ = ["cross", "einsum", "mm", "mv", "norm", "outer", "trace"]

ops = _core.ops
Variable = _core.Variable


def einsum(equation, *operands):
    """The product of the operands, summed over the axes that the result does not name.

    Parameters
    ----------
    equation : str
        ``'ij,jk->ik'`` is a matrix product. A letter twice in a term takes the diagonal, ``...``
        stands for axes that broadcast. Without ``->`` the result has the letters that appear once,
        in alphabetical order.
    *operands : Variable
        One for each term; or one list of them.

    Returns
    -------
    Variable

    Raises
    ------
    InvalidArgumentError
        If letters and axes do not fit; the message names the term.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[1.0, 2.0], [3.0, 4.0]])
    >>> dygraph.einsum("ij->j", x).numpy(), dygraph.einsum("ii", x).numpy().item()
    (array([4., 6.], dtype=float32), 5.0)
    """
    if not isinstance(equation, str):
        raise ArgumentTypeError(f"einsum: equation must be a string, got {kind_of(equation)}")
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    if not operands:
        raise InvalidArgumentError("einsum: there must be an operand for each term, got none")
    return ops.einsum(list(operands), equation=equation)


def outer(x, y):
    """The outer product of the flattened `x` and `y`: ``out[i, j] = x[i] * y[j]``.

    Parameters
    ----------
    x, y : Variable
        Of one type.

    Returns
    -------
    Variable
        ``[elements of x, elements of y]``

    Examples
    --------
    >>> import dygraph
    >>> dygraph.outer(dygraph.arange(1, 3), dygraph.arange(3)).numpy().tolist()
    [[0, 1, 2], [0, 2, 4]]
    """
    return ops.elementwise_mul(ops.reshape2(x, shape=[-1, 1]), ops.reshape2(y, shape=[1, -1]))


def mm(x, y):
    """The matrix product of two matrices, or of stacks of them.

    Parameters
    ----------
    x : Variable
        ``[..., m, k]``; float32 or float64.
    y : Variable
        ``[..., k, n]``, of the type of `x`.

    Returns
    -------
    Variable
        ``[..., m, n]``

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[1.0, 2.0], [3.0, 4.0]])
    >>> dygraph.mm(x, x).tolist()
    [[7.0, 10.0], [15.0, 22.0]]
    """
    return ops.matmul_v2(x, y)


def mv(x, vec):
    """The product of a matrix and a vector.

    Parameters
    ----------
    x : Variable
        ``[m, n]``; float32 or float64.
    vec : Variable
        ``[n]``, of the type of `x`.

    Returns
    -------
    Variable
        ``[m]``

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[1.0, 2.0], [3.0, 4.0]])
    >>> dygraph.mv(x, dygraph.to_variable([1.0, 10.0])).tolist()
    [21.0, 43.0]
    """
    return ops.matmul_v2(x, vec)


@given_once
def cross(x, y, /, *places, axis=None, **spellings):
    """The vector product along an axis of three elements, by name.

    It may be left out where one axis has three: NumPy takes the last one, torch and Paddle the
    first of three.

    Parameters
    ----------
    x, y : Variable
        Of one type and shape.
    axis : int, optional
        An axis of size 3. None: the only one.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> a, b = dygraph.to_variable([1.0, 0.0, 0.0]), dygraph.to_variable([0.0, 1.0, 0.0])
    >>> dygraph.cross(a, b).numpy()
    array([0., 0., 1.], dtype=float32)
    """
    if spellings:
        (axis,) = spelled("cross", spellings, axis=axis)
    sizes = list(check.variable(x, "cross: x").shape)
    threes = [i for i, n in enumerate(sizes) if type(n) is int and n == 3]
    if places or axis is None and len(threes) > 1:
        raise InvalidArgumentError(
            f"cross: axis must be given by name for shape {sizes}. By default NumPy takes axis=-1, "
            f"torch and Paddle the first axis of 3; NumPy's cross(x, y, 0) is of x alone"
        )
    if axis is None:
        axis = threes[0] if threes else -1
    return ops.cross(x, y, dim=check.integer(axis, "cross: axis"))


def trace(x, offset=0, axis1=0, axis2=1):
    """The sum of a diagonal of the matrices along two axes.

    Parameters
    ----------
    x : Variable
        Two axes at least.
    offset : int
        Which diagonal: above the main one if positive.
    axis1, axis2 : int
        The axes of the matrices.

    Returns
    -------
    Variable
        The sums of the diagonals, without these axes.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.trace(dygraph.eye(3)).numpy().item()
    3.0
    """
    return ops.trace(
        x,
        offset=check.integer(offset, "trace: offset"),
        dim1=check.integer(axis1, "trace: axis1"),
        dim2=check.integer(axis2, "trace: axis2"),
    )


def _over(x, axis, what):
    """Arguments of a reduction over an axis, several, or all (None)."""
    rank = check.variable(x, f"{what}: x").ndim
    if axis is None:
        return {"reduce_all": True}
    axes = axis if isinstance(axis, (list, tuple)) else [axis]
    axes = [check.axis(a, rank, f"{what}: axis") for a in axes]
    if not axes or len(set(axes)) != len(axes):
        raise InvalidArgumentError(f"{what}: axis must name axes, each once, got {axis}")
    return {"dim": axes}


def dot_method(self, y):
    """The sum of the products of two vectors.

    InvalidArgumentError for more axes, of which NumPy makes a matrix product and Paddle one product
    a row.
    """
    if self.ndim != 1 or check.variable(y, "dot: y").ndim != 1:
        raise InvalidArgumentError(
            f"dot: x and y must be vectors, got shapes {list(self.shape)} and {list(y.shape)}. "
            "x @ y is the matrix product, dygraph.vecdot(x, y) the products of rows"
        )
    return ops.dot(self, y)


@given_once
def norm(x, p="fro", axis=None, keepdim=False, **spellings):
    """``(sum |x|^p)^(1/p)`` over an axis, several, or all. The gradient is 0 where the norm is 0.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    p : str or float, default "fro"
        ``"fro"`` is 2; 0 counts the elements other than 0; ``inf`` is the maximum, ``-inf`` the
        minimum.
    axis : int or list of int, optional
        Negative ones count from the end; None: all.
    keepdim : bool, default False
        Whether the axes stay, with size 1.
    **spellings : object
        ``dim`` and ``keep_dim``, other names of `axis` and `keepdim`.

    Returns
    -------
    Variable
        The shape of `x` without the axes, or with size 1 there.

    Raises
    ------
    InvalidArgumentError
        `axis` names an axis twice or none.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([[3.0, 4.0], [0.0, 5.0]])
    >>> dygraph.ops.norm(x, axis=1).numpy()
    array([5., 5.], dtype=float32)
    """
    if spellings:
        axis, keepdim = spelled("norm", spellings, axis=axis, keepdim=keepdim)
    over = _over(x, axis, "norm")
    if isinstance(p, str):
        check.choice(p, ("fro",), "norm: p")
        p = 2.0
    p = check.number(p, "norm: p")
    if p == 2:
        return ops.frobenius_norm(x, keep_dim=bool(keepdim), **over)
    if axis is None:
        return ops.p_norm(x, porder=p, asvector=True, keepdim=bool(keepdim))
    if len(over["dim"]) == 1:
        return ops.p_norm(x, porder=p, axis=over["dim"][0], keepdim=bool(keepdim))
    # the axes at the end, joined into one
    axes = over["dim"]
    rest = [a for a in range(x.ndim) if a not in axes]
    joined = ops.flatten_contiguous_range(
        ops.transpose2(x, axis=rest + axes), start_axis=len(rest), stop_axis=-1
    )
    out = ops.p_norm(joined, porder=p, axis=-1)
    return ops.unsqueeze2(out, axes=sorted(axes)) if keepdim else out


def cdist(x, y, p=2.0):
    """The distances between all rows of `x` and all rows of `y`, ``norm(x_i - y_j, p)``.

    Parameters
    ----------
    x, y : Variable
        ``[..., n, d]`` and ``[..., m, d]``; leading axes broadcast.
    p : float
        As for `norm`.

    Returns
    -------
    Variable
        ``[..., n, m]``. The gradient is 0 where the distance is 0.

    Examples
    --------
    >>> import dygraph
    >>> x, y = dygraph.to_variable([[0.0, 0.0]]), dygraph.to_variable([[3.0, 4.0], [0.0, 1.0]])
    >>> dygraph.cdist(x, y).tolist()
    [[5.0, 1.0]]
    """
    for name, value in (("x", x), ("y", y)):
        if check.variable(value, f"cdist: {name}").ndim < 2:
            raise InvalidArgumentError(
                f"cdist: {name} must have rows, [..., n, d], got shape {list(value.shape)}"
            )
    if not check.may_be_equal(x.shape[-1], y.shape[-1]):
        raise InvalidArgumentError(
            f"cdist: the rows must be equally long, got shapes {list(x.shape)} and {list(y.shape)}"
        )
    if size_lists.is_open(x) or size_lists.is_open(y):  # a run refuses rows of other lengths
        sizes = [*size_lists.sizes_of(y)[:-1], size_lists.sizes_of(x)[-1]]
        y = size_lists.reshaped(y, sizes) if size_lists.followed(sizes) else y
    return norm(x.unsqueeze(-2) - y.unsqueeze(-3), p, axis=-1)


def lerp(x, y, weight):
    """``x + weight * (y - x)``: `x` for weight 0, `y` for weight 1.

    Parameters
    ----------
    x, y : Variable
    weight : Variable or float
        0 gives `x`, 1 gives `y`.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> x, y = dygraph.to_variable([0.0, 10.0]), dygraph.to_variable([4.0, 20.0])
    >>> dygraph.lerp(x, y, 0.25).tolist()
    [1.0, 12.5]
    """
    check.variable(x, "lerp: x")
    check.variable(y, "lerp: y")
    if not isinstance(weight, _core.Variable):
        weight = check.number(weight, "lerp: weight")
    return widened(ops.lerp, *same_type([x, y, weight]))
