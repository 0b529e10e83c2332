"""Products of matrices and vectors, and sums along axes."""

from dygraph.static.layers.making import into, layer, operator, run


@operator()
def mul(x, y, x_num_col_dims=1, y_num_col_dims=1, name=None):
    """The matrix product of `x` and `y`, each first flattened to a matrix.

    The first `x_num_col_dims` axes of `x` make the rows of its matrix, the others its columns; `y`
    likewise. So `x` of ``[2, 3, 4]`` is a 2 by 12 matrix, or 6 by 4 with ``x_num_col_dims=2``.

    Parameters
    ----------
    x, y : Variable
        At least two axes, float32 or float64; the columns of `x` are as many as the rows of `y`.
    x_num_col_dims : int, default 1
        How many axes of `x` make rows; below its number of axes.
    y_num_col_dims : int, default 1
        How many axes of `y` make rows; below its number of axes.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``x.shape[:x_num_col_dims] + y.shape[y_num_col_dims:]``

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.mul(to_variable([[1.0, 2.0], [3.0, 4.0]]), to_variable([[1.0], [10.0]])).tolist()
    [[21.0], [43.0]]
    >>> layers.mul(dygraph.ones([2, 3, 4]), dygraph.ones([4, 5]), x_num_col_dims=2).shape
    (2, 3, 5)
    """


@operator(transpose_x="transpose_X", transpose_y="transpose_Y")
def matmul(x, y, transpose_x=False, transpose_y=False, alpha=1.0, name=None):
    """``alpha`` times the matrix product over the last two axes; leading axes broadcast.

    A vector `x` is a row, a vector `y` a column, and transposing turns them round.

    Parameters
    ----------
    x : Variable
        ``[..., m, k]`` or ``[k]``; float32 or float64.
    y : Variable
        ``[..., k, n]`` or ``[k]``, of the type of `x`.
    transpose_x, transpose_y : bool, default False
        Whether to exchange the last two axes first.
    alpha : float, default 1.0
        The factor of the product.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``[..., m, n]``; ``[1]`` for two vectors.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x, y = to_variable([[1.0, 2.0], [3.0, 4.0]]), to_variable([[0.0, 1.0], [1.0, 0.0]])
    >>> layers.matmul(x, y).tolist()
    [[2.0, 1.0], [4.0, 3.0]]
    >>> layers.matmul(x, y, transpose_x=True, alpha=2.0).tolist()
    [[6.0, 2.0], [8.0, 4.0]]
    """


@operator()
def bmm(x, y, name=None):
    """The matrix products of a batch: ``out[i] = x[i] y[i]``.

    Parameters
    ----------
    x : Variable
        ``[batch, m, k]``, float32 or float64.
    y : Variable
        ``[batch, k, n]``, of the type of `x`.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``[batch, m, n]``

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([[[1.0, 2.0]], [[3.0, 4.0]]])
    >>> y = to_variable([[[1.0], [1.0]], [[2.0], [0.0]]])
    >>> layers.bmm(x, y).tolist()
    [[[3.0]], [[6.0]]]
    """


@operator()
def dot(x, y, name=None):
    """The sum of ``x * y`` over the last axis.

    Parameters
    ----------
    x, y : Variable
        ``[n]`` or ``[rows, n]``, both alike; float32, float64, int32 or int64.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``[]`` or ``[rows]``

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.dot(to_variable([1.0, 2.0, 3.0]), to_variable([4.0, 5.0, 6.0])).item()
    32.0
    """


@operator(alpha="Alpha", beta="Beta")
def addmm(input, x, y, alpha=1.0, beta=1.0, name=None):
    """``beta * input + alpha * (x @ y)``, of matrices.

    Parameters
    ----------
    input : Variable
        Broadcasts to ``[m, n]``; float32 or float64.
    x : Variable
        ``[m, k]``
    y : Variable
        ``[k, n]``
    alpha : float, default 1.0
        The factor of the product.
    beta : float, default 1.0
        The factor of `input`.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        ``[m, n]``

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x, y = to_variable([[1.0, 2.0]]), to_variable([[3.0], [4.0]])
    >>> layers.addmm(to_variable([[1.0]]), x, y, alpha=2.0, beta=5.0).tolist()
    [[27.0]]
    """


@operator()
def kron(x, y, out=None, name=None):
    """The Kronecker product: each element of `x` times the whole of `y`, in its place.

    Parameters
    ----------
    x, y : Variable
        Of one type: float32, float64, int32 or int64. The shorter shape gets ones in front.
    out : Variable, optional
        A variable of the type of the result, which is written to it and returned.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        Along each axis the size of `x` times the size of `y`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.kron(to_variable([1, 2]), to_variable([1, 10])).tolist()
    [1, 10, 2, 20]
    """


@operator()
def cos_sim(X, Y):
    """The cosine of the angle between the rows: ``X . Y / (|X| |Y|)``.

    Parameters
    ----------
    X : Variable
        ``[rows, ...]``, float32 or float64; all axes after the first make one row.
    Y : Variable
        The shape of `X`, or one row that goes with all of `X`.

    Returns
    -------
    Variable
        ``[rows, 1]``

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x, y = to_variable([[1.0, 0.0], [3.0, 4.0]]), to_variable([[1.0, 0.0]])
    >>> [[round(v, 4) for v in row] for row in layers.cos_sim(x, y).tolist()]
    [[1.0], [0.6]]
    """


@operator()
def dist(x, y, p=2):
    """The `p`-norm of ``x - y`` over all elements: ``sum(|x - y|^p)^(1/p)``.

    With ``p=0`` it counts the elements that differ; with inf and -inf it is the greatest and the
    least difference.

    Parameters
    ----------
    x, y : Variable
        Of shapes that broadcast; float32 or float64.
    p : float, default 2
        The order of the norm.

    Returns
    -------
    Variable
        One number, of shape ``()``.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x, y = to_variable([3.0, 0.0]), to_variable([0.0, 4.0])
    >>> layers.dist(x, y).item(), layers.dist(x, y, p=1).item()
    (5.0, 7.0)
    """


@operator()
def mean(x, name=None):
    """The mean of all elements; NaN if there are none.

    Parameters
    ----------
    x : Variable
        Any shape; bool, float32, float64 or an integer type.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        One number, of shape ``()`` and the type of `x`; float32 for integers and bool.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.mean(to_variable([[1.0, 2.0], [3.0, 6.0]])).item()
    3.0
    """


@operator()
def sum(x):
    """The sum of variables, added from the first to the last; not a sum over axes.

    A list of SelectedRows gives SelectedRows. `reduce_sum` adds up the elements of one variable.

    Parameters
    ----------
    x : Variable or list of Variable
        Of one shape and type: float32, float64, int32 or int64.

    Returns
    -------
    Variable
        Their shape and type.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.sum([to_variable([1.0, 2.0]), to_variable([10.0, 20.0])]).tolist()
    [11.0, 22.0]
    """


@operator()
def trace(input, offset=0, dim1=0, dim2=1, out=None, name=None):
    """The sum along a diagonal of the matrices that the axes `dim1` and `dim2` make.

    Parameters
    ----------
    input : Variable
        At least two axes; float32, float64, int32 or int64.
    offset : int, default 0
        The diagonal: 0 for the main one, positive above it, negative below.
    dim1, dim2 : int, default 0 and 1
        The axes of the rows and of the columns; negative ones count from the end.
    out : Variable, optional
        A variable of the type of the result, which is written to it and returned.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape of `input` without the two axes.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([[1, 2], [3, 4]])
    >>> layers.trace(x).item(), layers.trace(x, offset=1).item()
    (5, 2)
    """


@layer
def cross(input, other, dim=None):
    """The cross product of vectors along `dim`.

    Parameters
    ----------
    input, other : Variable
        Of one shape and type, with 3 elements along `dim`.
    dim : int, optional
        The axis of the vectors; None: the first of size 3.

    Returns
    -------
    Variable
        The shape and type of `input`.

    Raises
    ------
    InvalidArgumentError
        No axis has the size 3, or `dim` has another size.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.cross(to_variable([1.0, 0.0, 0.0]), to_variable([0.0, 1.0, 0.0])).tolist()
    [0.0, 0.0, 1.0]
    """
    return run("cross", {"X": input, "Y": other}, {"dim": dim})["Out"]


@layer(named="sum")
def sums(input, out=None):
    """The sum of a list of variables, added from the first to the last.

    Parameters
    ----------
    input : list of Variable
        Of one shape and type: float32, float64, int32 or int64.
    out : Variable, optional
        A variable of the type of the result, which is written to it and returned.

    Returns
    -------
    Variable
        Their shape and type.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.sums([to_variable([1.0, 2.0]), to_variable([10.0, 20.0])]).tolist()
    [11.0, 22.0]
    """
    terms = list(input) if isinstance(input, (list, tuple)) else [input]
    return into(out, run("sum", {"X": terms})["Out"], "sums")


@layer
def cumsum(x, axis=None, exclusive=None, reverse=None):
    """Running sums along an axis: ``out[i] = x[0] + ... + x[i]``.

    Parameters
    ----------
    x : Variable
        At least one axis; float32, float64 or an integer type.
    axis : int, optional
        None is the last axis; negative ones count from the end.
    exclusive : bool, optional
        Whether to leave out ``x[i]`` itself, so that the first sum is 0. None is False.
    reverse : bool, optional
        Whether to add from the end. None is False.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([1.0, 2.0, 3.0])
    >>> layers.cumsum(x).tolist(), layers.cumsum(x, exclusive=True).tolist()
    ([1.0, 3.0, 6.0], [0.0, 1.0, 3.0])
    >>> layers.cumsum(x, reverse=True).tolist()
    [6.0, 5.0, 3.0]
    """
    attrs = {"axis": axis, "exclusive": exclusive, "reverse": reverse}
    return run("cumsum", {"X": x}, attrs)["Out"]


@layer
def logsumexp(x, dim=None, keepdim=False, out=None, name=None):
    """``log(sum(exp(x)))`` over axes, without overflow.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    dim : int or list of int, optional
        The axes to add over; None or an empty list: all.
    keepdim : bool, default False
        Whether the axes stay, with size 1.
    out : Variable, optional
        A variable of the type of the result, which is written to it and returned.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape of `x` without the axes, or with size 1 there.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([[0.0, 0.0], [1.0, 2.0]])
    >>> [round(v, 4) for v in layers.logsumexp(x, dim=1).tolist()]
    [0.6931, 2.3133]
    """
    every = dim is None or (isinstance(dim, (list, tuple)) and not dim)
    dims = [0] if every else list(dim) if isinstance(dim, (list, tuple)) else [dim]
    attrs = {"axis": dims, "keepdim": bool(keepdim), "reduce_all": every}
    return into(out, run("logsumexp", {"X": x}, attrs)["Out"], "logsumexp")


__all__ = [
    "addmm", "bmm", "cos_sim", "cross", "cumsum", "dist", "dot", "kron", "logsumexp", "matmul",
    "mean", "mul", "sum", "sums", "trace",
]  # fmt: skip
