"""Functions of ``fluid.layers`` without an operator of that name, or with other defaults.

`dygraph.ops` has them beside the operators, with Fluid's arguments. ``name`` is accepted and
not used, since an eager call has no name.
"""

from dygraph import _core, nets
from dygraph.core import check
from dygraph.core.size_lists import beside, sizes_of
from dygraph.errors import InvalidArgumentError, kind_of
from dygraph.functions import creation, searching
from dygraph.functions.random import drawn
from dygraph.functions.reductions import reduced, reduced_in_run

__all__ = [
    "argmax", "argmin", "elementwise_equal", "gaussian_random_batch_size_like", "has_inf",
    "has_nan", "hsigmoid", "l2_normalize", "lod_append", "meshgrid", "nonzero", "rank",
    "reduce_all", "reduce_any", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod",
    "reduce_sum", "scatter_nd", "sequence_first_step", "sequence_last_step",
    "uniform_random_batch_size_like",
]  # fmt: skip

ops = _core.ops
lod_append = nets.lod_append
sequence_first_step, sequence_last_step = nets.sequence_first_step, nets.sequence_last_step


# Reductions ---------------------------------------------------------------------------------------


_NUMBERS = "float32, float64, int32 or int64"
_TRUTHS = "any type; numbers are true where they are not 0"
_REDUCTION = """The {what} over axes.

Parameters
----------
input : Variable
    Any shape; {kind}.
dim : int, list of int or Variable, optional
    The axes to reduce; negative ones count from the end. None or an empty list: all.
keep_dim : bool, default False
    Whether the axes stay, with size 1.
name : str, optional
    The name of the result in a program; an eager call does not use it.

Returns
-------
Variable
    The shape of `input` without the axes, or with size 1 there; {gives}.

Raises
------
InvalidArgumentError
    `dim` names an axis twice.
OutOfRangeError
    `input` has no such axis.

Examples
--------
>>> import dygraph
>>> x = dygraph.to_variable({rows})
>>> dygraph.ops.{name}(x, dim=0).tolist()
{result}
"""


def _reduction(operator, what, result, rows="[[1.0, 2.0], [3.0, 4.0]]", kind=_NUMBERS,
               gives="the type of `input`"):  # fmt: skip
    """The function of an operator; its help shows that `rows` over axis 0 give `result`."""

    def function(input, dim=None, keep_dim=False, name=None):
        check.variable(input, f"{operator}: input")
        if dim is None or (isinstance(dim, (list, tuple)) and not dim):
            return reduced(operator, input, None, bool(keep_dim))
        if _core.holds_symbol(dim):
            return reduced_in_run(operator, input, dim, bool(keep_dim))
        dims = [check.axis(d, input.ndim, f"{operator}: dim") for d in check.axes(dim)]
        if len(set(dims)) != len(dims):
            raise InvalidArgumentError(f"{operator}: dim must name each axis once, got {dim}")
        return reduced(operator, input, dims, bool(keep_dim))

    function.__name__ = function.__qualname__ = operator
    function.__doc__ = _REDUCTION.format(
        name=operator, what=what, kind=kind, gives=gives, rows=rows, result=result
    )
    return function


reduce_sum = _reduction(
    "reduce_sum", "sum", "[4.0, 6.0]",
    kind="any type", gives="the type of `input`, int64 for bool",
)  # fmt: skip
reduce_mean = _reduction(
    "reduce_mean", "mean", "[2.0, 3.0]",
    gives="the type of `input`, float32 for integers",
)  # fmt: skip
reduce_max = _reduction("reduce_max", "greatest element", "[3.0, 4.0]")
reduce_min = _reduction("reduce_min", "least element", "[1.0, 2.0]")
reduce_prod = _reduction("reduce_prod", "product", "[3.0, 8.0]")
reduce_all = _reduction(
    "reduce_all", "logical and", "[True, False]", "[[True, True], [True, False]]",
    kind=_TRUTHS, gives="bool",
)  # fmt: skip
reduce_any = _reduction(
    "reduce_any", "logical or", "[True, False]", "[[True, False], [True, False]]",
    kind=_TRUTHS, gives="bool",
)  # fmt: skip


def _axis(axis, x, what):
    return axis if _core.holds_symbol(axis) else check.axis(axis, x.ndim, what)


def argmax(x, axis=0):
    """The index of the greatest element along an axis; the first of equal ones.

    Parameters
    ----------
    x : Variable
        At least one axis; float32, float64 or an integer type.
    axis : int, default 0
        Negative ones count from the end.

    Returns
    -------
    Variable
        int64, the shape of `x` without the axis.

    Raises
    ------
    OutOfRangeError
        `x` has no such axis.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> dygraph.ops.argmax(to_variable([[1.0, 5.0], [7.0, 2.0]])).tolist()
    [1, 0]
    """
    check.variable(x, "argmax: x")
    return searching.argmax(x, _axis(axis, x, "argmax: axis"))


def argmin(x, axis=0):
    """The index of the least element along an axis; the first of equal ones.

    Parameters
    ----------
    x : Variable
        At least one axis; float32, float64 or an integer type.
    axis : int, default 0
        Negative ones count from the end.

    Returns
    -------
    Variable
        int64, the shape of `x` without the axis.

    Raises
    ------
    OutOfRangeError
        `x` has no such axis.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> dygraph.ops.argmin(to_variable([[1.0, 5.0], [7.0, 2.0]])).tolist()
    [0, 1]
    """
    check.variable(x, "argmin: x")
    return searching.argmin(x, _axis(axis, x, "argmin: axis"))


def has_inf(x):
    """Whether any element is infinite: one answer for all.

    Parameters
    ----------
    x : Variable
        Any shape; a floating point type.

    Returns
    -------
    Variable
        One bool, of shape ``()``.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> dygraph.ops.has_inf(to_variable([1.0, float("inf")])).item()
    True
    """
    return ops.reduce_any(ops.isinf_v2(x), dim=[0], reduce_all=True)


def has_nan(x):
    """Whether any element is NaN: one answer for all.

    Parameters
    ----------
    x : Variable
        Any shape; a floating point type.

    Returns
    -------
    Variable
        One bool, of shape ``()``.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> dygraph.ops.has_nan(to_variable([1.0, float("inf")])).item()
    False
    """
    return ops.reduce_any(ops.isnan_v2(x), dim=[0], reduce_all=True)


def rank(input):
    """The number of axes.

    Parameters
    ----------
    input : Variable
        Any shape and type.

    Returns
    -------
    Variable
        One int32, of shape ``()``.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.ops.rank(dygraph.ones([2, 3])).item()
    2
    """
    return _core.to_variable(len(check.variable(input, "rank: input").shape), None, "int32")


# Elements -----------------------------------------------------------------------------------------


def elementwise_equal(x, y, name=None):
    """Whether ``x == y``, element by element. NaN equals nothing.

    Parameters
    ----------
    x, y : Variable
        Of one type, any one; of shapes that broadcast.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        bool, of the shape that `x` and `y` broadcast to.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> dygraph.ops.elementwise_equal(to_variable([1, 2, 3]), to_variable([1, 0, 3])).tolist()
    [True, False, True]
    """
    return ops.equal(x, y)


def meshgrid(*inputs):
    """The coordinates of the points of a grid: ``out[i][k_0, k_1, ...] = inputs[i][k_i]``.

    The first input runs along the first axis. `dygraph.meshgrid` follows NumPy, whose first input
    runs along the second axis.

    Parameters
    ----------
    *inputs : Variable
        One axis each, any one type.

    Returns
    -------
    list of Variable
        One for each input, in the shape of the grid.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> x, y = dygraph.ops.meshgrid(to_variable([1, 2]), to_variable([5, 6, 7]))
    >>> x.tolist(), y.tolist()
    ([[1, 1, 1], [2, 2, 2]], [[5, 6, 7], [5, 6, 7]])
    """
    return creation.meshgrid(*inputs, indexing="ij")


def nonzero(input, as_tuple=False):
    """The indices of the elements that are not 0, in order.

    Parameters
    ----------
    input : Variable
        At least one axis, any type.
    as_tuple : bool, default False
        Whether to give a column of indices for each axis.

    Returns
    -------
    Variable, or tuple of Variable
        int64 ``[count, axes]``; with `as_tuple` one ``[count, 1]`` for each axis.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> dygraph.ops.nonzero(to_variable([[0.0, 3.0], [4.0, 0.0]])).tolist()
    [[0, 1], [1, 0]]
    """
    check.variable(input, "nonzero: input")
    places = ops.where_index(input if input.dtype == _core.bool_ else input != 0)
    if not as_tuple:
        return places
    return tuple(ops.slice(places, axes=[1], starts=[i], ends=[i + 1]) for i in range(input.ndim))


def scatter_nd(index, updates, shape, name=None):
    """Zeros with `updates` added at the places that the rows of `index` give.

    Parameters
    ----------
    index : Variable
        int32 or int64 ``[..., k]``; negative numbers count from the end.
    updates : Variable
        ``index.shape[:-1] + shape[k:]``; float32, float64 or an integer type.
    shape : list of int
        The shape of the result.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        Of `shape`, with the type of `updates`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> x, y = to_variable([[1], [3], [1]]), to_variable([9.0, 7.0, 1.0])
    >>> dygraph.ops.scatter_nd(x, y, [4]).tolist()
    [0.0, 10.0, 0.0, 7.0]
    """
    check.variable(updates, "scatter_nd: updates")
    shape = check.shape(shape, "scatter_nd: shape")
    with beside(updates):
        zeros = ops.fill_constant(shape=shape, dtype=updates.dtype)
    return ops.scatter_nd_add(zeros, index, updates)


def l2_normalize(x, axis, epsilon=1e-12, name=None):
    """``x / sqrt(sum(x^2) + epsilon)``, the sum along `axis`.

    Parameters
    ----------
    x : Variable
        At least one axis; float32 or float64.
    axis : int
        Negative ones count from the end; of a vector any one means its only axis.
    epsilon : float, default 1e-12
        Keeps the divisor above 0.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Raises
    ------
    OutOfRangeError
        `x` has no such axis.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> [round(v, 4) for v in dygraph.ops.l2_normalize(to_variable([3.0, 4.0]), 0).tolist()]
    [0.6, 0.8]
    """
    check.variable(x, "l2_normalize: x")
    axis = 0 if x.ndim == 1 else check.axis(axis, x.ndim, "l2_normalize: axis")
    return ops.norm(x, axis=axis, epsilon=check.number(epsilon, "l2_normalize: epsilon", 0))


# Random numbers -----------------------------------------------------------------------------------


def _like(input, shape, input_dim_idx, output_dim_idx, owner):
    """`shape` with one size taken from `input`."""
    check.variable(input, f"{owner}: input")
    if isinstance(shape, str) or not hasattr(shape, "__iter__"):
        raise InvalidArgumentError(f"{owner}: shape must be a list of sizes, got {kind_of(shape)}")
    sizes = list(shape)
    axis = check.axis(output_dim_idx, len(sizes), f"{owner}: output_dim_idx")
    from_axis = check.axis(input_dim_idx, input.ndim, f"{owner}: input_dim_idx")
    others = check.shape([n for i, n in enumerate(sizes) if i != axis], f"{owner}: shape")
    return [*others[:axis], sizes_of(input)[from_axis], *others[axis:]]


def uniform_random_batch_size_like(
    input, shape, dtype="float32", input_dim_idx=0, output_dim_idx=0, min=-1.0, max=1.0, seed=0
):
    """Random numbers from [min, max), with one size taken from `input`.

    Parameters
    ----------
    input : Variable
        Gives one size.
    shape : list of int
        The sizes; that at `output_dim_idx` is not read.
    dtype : str or dtype, default "float32"
        float32 or float64.
    input_dim_idx : int, default 0
        The axis of `input` that gives the size.
    output_dim_idx : int, default 0
        The axis of the result that takes it.
    min, max : float, default -1.0 and 1.0
        The range, by default -1 to 1.
    seed : int, default 0
        0: the library's generator. Others give the same numbers at each call.

    Returns
    -------
    Variable
        Of the given shape and type.

    Raises
    ------
    InvalidArgumentError
        `shape` is no list of sizes.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.ops.uniform_random_batch_size_like(dygraph.ones([5, 2]), [-1, 3])
    >>> x.shape, bool(((x >= -1.0) & (x < 1.0)).all())
    ((5, 3), True)
    """
    sizes = _like(input, shape, input_dim_idx, output_dim_idx, "uniform_random_batch_size_like")
    owner = "uniform_random_batch_size_like"
    with beside(input):
        return drawn("uniform_random", sizes, owner, dtype=dtype, min=min, max=max, seed=seed)


def gaussian_random_batch_size_like(
    input, shape, input_dim_idx=0, output_dim_idx=0, mean=0.0, std=1.0, seed=0, dtype="float32"
):
    """Random numbers of the normal distribution, with one size taken from `input`.

    Parameters
    ----------
    input : Variable
        Gives one size.
    shape : list of int
        The sizes; that at `output_dim_idx` is not read.
    input_dim_idx : int, default 0
        The axis of `input` that gives the size.
    output_dim_idx : int, default 0
        The axis of the result that takes it.
    mean : float, default 0.0
        The mean.
    std : float, default 1.0
        The standard deviation.
    seed : int, default 0
        0: the library's generator. Others give the same numbers at each call.
    dtype : str or dtype, default "float32"
        float32 or float64.

    Returns
    -------
    Variable
        Of the given shape and type.

    Raises
    ------
    InvalidArgumentError
        `shape` is no list of sizes.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.ops.gaussian_random_batch_size_like(dygraph.ones([5, 2]), [-1, 3]).shape
    (5, 3)
    """
    sizes = _like(input, shape, input_dim_idx, output_dim_idx, "gaussian_random_batch_size_like")
    owner = "gaussian_random_batch_size_like"
    with beside(input):
        return drawn("gaussian_random", sizes, owner, dtype=dtype, mean=mean, std=std, seed=seed)


# Losses -------------------------------------------------------------------------------------------


def hsigmoid(
    input, label, weight, bias=None, num_classes=2, path_table=None, path_code=None,
    is_sparse=False,
):  # fmt: skip
    """Hierarchical sigmoid loss: a class is a path through a binary tree (Morin and Bengio, 2005).

    `static.layers.hsigmoid` and `dygraph.nn.HSigmoid` make the parameters; here they are arguments.

    Parameters
    ----------
    input : Variable
        ``[rows, width]``; float32 or float64.
    label : Variable
        int64 ``[rows, 1]``.
    weight : Variable
        ``[num_classes - 1, width]``, of the type of `input`.
    bias : Variable, optional
        ``[num_classes - 1, 1]``; None: no bias.
    num_classes : int, default 2
        The number of classes, at least 2.
    path_table, path_code : Variable, optional
        int64 ``[rows, longest path]``: the inner nodes on the path of each row, and the turn at
        each; -1 after the end. None: a complete tree.
    is_sparse : bool, default False
        Whether the gradient of the weight is SelectedRows.

    Returns
    -------
    Variable
        ``[rows, 1]``, of the type of `input`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> x, weight = dygraph.ones([1, 3]), dygraph.zeros([1, 3])
    >>> loss = dygraph.ops.hsigmoid(x, to_variable([[1]]), weight)
    >>> round(loss.item(), 4)  # one turn, even chances: log(2)
    0.6931
    """
    return ops.hierarchical_sigmoid(
        input, weight, label, path_table=path_table, path_code=path_code, bias=bias,
        num_classes=check.integer(num_classes, "hsigmoid: num_classes", 2),
        is_sparse=bool(is_sparse),
    )  # fmt: skip
