"""Reductions over axes, and sums and products along one.

`reduced` and `reduced_in_run` are the bodies, which Fluid's ``reduce_sum`` and the like call, too.
"""

from dygraph import _core
from dygraph.core import check
from dygraph.core.promotion import floating
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.functions import arguments
from dygraph.functions.arguments import spelled, widened

__all__ = [
    "all",
    "any",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]

ops = _core.ops
Variable = _core.Variable


def reduced(operator, x, axes, keep, **attrs):
    """`x` reduced over a list of axes from 0; over all for None."""
    op = getattr(ops, operator)
    if operator == "reduce_mean":
        x = floating(x)
    if axes is None or len(axes) == x.ndim:
        return op(x, dim=[0], keep_dim=keep, reduce_all=True, **attrs)
    return op(x, dim=axes, keep_dim=keep, reduce_all=False, **attrs)


def reduced_in_run(operator, x, axes, keep):
    """`x` reduced over the axes that variables of a program hold."""
    slots = operator in ("reduce_all", "reduce_any")
    named = check.axis_tensors("axis", axes, "axis") if slots else {"dim": axes}
    x = floating(x) if operator == "reduce_mean" else x
    return getattr(ops, operator)(x, **named, keep_dim=keep)


# Operands -----------------------------------------------------------------------------------------


_SUMMED = _core.float32, _core.float64, _core.int64


def _summed(x, dtype):
    """`x` as it is added or multiplied: in `dtype`, bools and integers as int64."""
    if dtype is not None:
        return x if x.dtype == _core.dtype_of(dtype) else x.astype(dtype)
    if x.dtype in _SUMMED:
        return x
    name = None if x.dtype is None else x.dtype.name
    return x.astype("int64") if name in ("bool", "int8", "int16", "int32", "uint8") else x


def _truths(x):
    return x if x.dtype is None or x.dtype.name == "bool" else x.astype("bool")


def _of(operator, x, axis, keep, owner):
    """`x` reduced over `axis` as the caller gave it."""
    if axis is not None and type(axis) is not int and _core.holds_symbol(axis):
        return reduced_in_run(operator, x, axis, keep)
    axes = None if axis is None else arguments.axes(axis, x.ndim, f"{owner}: axis")
    return widened(lambda x: reduced(operator, x, axes, keep), x)


def _refuse_torchs(name, axis):
    """ArgumentTypeError where ``max`` means something else in torch: two results, two operands."""
    if not isinstance(axis, Variable):
        raise ArgumentTypeError(
            f"{name}: with dim= torch gives the elements and their places. Write "
            f"x.{name}(axis=axis) and x.arg{name}(axis=axis)"
        )
    if axis.ndim or axis.dtype.is_floating:
        raise ArgumentTypeError(
            f"{name}: axis must be an int or a list of ints, got a Variable. "
            f"dygraph.{name}imum(x, y) compares two Variables"
        )


_WHAT = {
    "all": ("logical and; a number other than 0 counts as True", _truths),
    "any": ("logical or; a number other than 0 counts as True", _truths),
    "max": ("greatest element", None),
    "mean": ("mean; integers and bools give float32", floating),
    "min": ("least element", None),
    "prod": ("product", _summed),
    "sum": ("sum", _summed),
}


def _reduction(name, example):
    operator = f"reduce_{name}"
    what, prepare = _WHAT[name]
    if prepare is _summed:

        def function(x, axis=None, keepdims=False, *, dtype=None, **spellings):
            check.variable(x, f"{name}: x")
            if spellings:
                axis, keepdims = spelled(name, spellings, axis=axis, keepdims=keepdims)
            return _of(operator, _summed(x, dtype), axis, bool(keepdims), name)
    else:

        def function(x, axis=None, keepdims=False, **spellings):
            check.variable(x, f"{name}: x")
            if name in ("max", "min") and ("dim" in spellings or isinstance(axis, Variable)):
                _refuse_torchs(name, axis)
            if spellings:
                axis, keepdims = spelled(name, spellings, axis=axis, keepdims=keepdims)
            return _of(operator, prepare(x) if prepare else x, axis, bool(keepdims), name)

    dtype = """
    dtype : dtype, optional
        The type of the result. Default: that of `x`; bools and integers give int64."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The {what}, over `axis`.

    Parameters
    ----------
    x : Variable
    axis : int, list of int or Variable, optional
        None: all axes, which gives shape ``()``.
    keepdims : bool
        True: the axes stay in the shape with size 1.{dtype if prepare is _summed else ""}

    Returns
    -------
    Variable

    Raises
    ------
    OutOfRangeError
        For an axis that `x` does not have.
    InvalidArgumentError
        For an axis named twice, and for no axis at all.

    Examples
    --------
    >>> import dygraph
    {example}
    """
    return function


def _example(name, axis, result, x="x", whole="x"):
    text = "[[1.0, 2.0], [3.0, 4.0]]"
    return f""">>> x = dygraph.to_variable({text})
    >>> dygraph.{name}({x}, axis={axis}).tolist(), {whole}.{name}().item()
    {result}"""


# As methods; the functions of `dygraph` run the operator without a step in Python.
METHODS = {
    "all": _reduction("all", _example("all", 1, "([False, True], False)", "x > 1", "(x > 1)")),
    "any": _reduction("any", _example("any", 1, "([False, True], True)", "x > 3", "(x > 3)")),
    "max": _reduction("max", _example("max", 1, "([2.0, 4.0], 4.0)")),
    "mean": _reduction("mean", _example("mean", 0, "([2.0, 3.0], 2.5)")),
    "min": _reduction("min", _example("min", 1, "([1.0, 3.0], 1.0)")),
    "prod": _reduction("prod", _example("prod", 0, "([3.0, 8.0], 24.0)")),
    "sum": _reduction("sum", _example("sum", 0, "([4.0, 6.0], 10.0)")),
}


def _quick(name):
    dtype = ", dtype=None" if _WHAT[name][1] is _summed else ""
    if name in ("all", "any"):
        return METHODS[name]
    return _core.quick_function(
        f"(x, axis=None, keepdims=False, *{dtype}, **spellings)".replace("*, **", "**"),
        f"reduce_{name}",
        METHODS[name],
    )


all, any, max, mean, min, prod, sum = map(_quick, METHODS)


# Spread -------------------------------------------------------------------------------------------


def var(x, axis=None, keepdims=False, *, correction=0.0, **spellings):
    """The variance over `axis`: the sum of ``(x - mean)^2``, divided by ``n - correction``.

    Parameters
    ----------
    x : Variable
        Integers and bools count as float32.
    axis : int or list of int, optional
        None: all axes.
    keepdims : bool
        True: the axes stay in the shape with size 1.
    correction : float
        0, as in NumPy: the mean square. 1, as torch's and Paddle's ``unbiased=True``: of a sample.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([1.0, 2.0, 3.0, 4.0])
    >>> dygraph.var(x).item(), dygraph.var(x[:3], correction=1).item()
    (1.25, 1.0)
    """
    if spellings:
        _choose("var", spellings, correction)
        given = correction if correction != 0.0 else None
        axis, keepdims, correction = spelled(
            "var", spellings, axis=axis, keepdims=keepdims, correction=given
        )
    return _variance("var", x, axis, keepdims, correction)


def std(x, axis=None, keepdims=False, *, correction=0.0, **spellings):
    """The standard deviation, the square root of `var`, whose arguments it takes.

    >>> import dygraph
    >>> x = dygraph.to_variable([1.0, 3.0])
    >>> dygraph.std(x).item(), dygraph.std(dygraph.arange(1, 6, 2), correction=1).item()
    (1.0, 2.0)
    """
    if spellings:
        _choose("std", spellings, correction)
        given = correction if correction != 0.0 else None
        axis, keepdims, correction = spelled(
            "std", spellings, axis=axis, keepdims=keepdims, correction=given
        )
    return ops.sqrt(_variance("std", x, axis, keepdims, correction))


def _variance(owner, x, axis, keepdims, correction):
    if isinstance(keepdims, str) or isinstance(correction, (str, bool)):
        raise ArgumentTypeError(f"{owner}: correction must be a number, got {kind_of(correction)}")
    correction = check.number(0.0 if correction is None else correction, f"{owner}: correction")
    axes = arguments.axes(axis, check.variable(x, f"{owner}: x").ndim, f"{owner}: axis")
    return widened(lambda x: _spread(x, axes, bool(keepdims), correction), floating(x))


def _spread(x, axes, keep, correction):
    mean = reduced("reduce_mean", x, axes, True)
    square = ops.square(ops.elementwise_sub(x, mean))
    if correction == 0:
        return reduced("reduce_mean", square, axes, keep)
    # counted by operators: a traced program accepts other batches
    whole, kept = ops.size(x).astype(x.dtype), ops.size(mean).astype(x.dtype)
    count = ops.elementwise_div(whole, kept)
    total = reduced("reduce_sum", square, axes, keep)
    return ops.elementwise_div(total, ops.relu(ops.scale(count, bias=-correction)))


def _choose(name, spellings, correction):
    """InvalidArgumentError for torch's ``dim`` without what to divide by: its default is n - 1."""
    if spellings.keys() & {"dim", "keepdim"} and not spellings.keys() & {"unbiased", "ddof"}:
        if correction == 0.0:
            raise InvalidArgumentError(
                f"{name}: NumPy divides by n, torch and Paddle by n - 1. Write axis= and "
                "correction=0 or correction=1"
            )


def _either(function):
    """A method that refuses to choose between NumPy's and torch's meaning."""
    name = function.__name__

    def method(self, axis=None, keepdims=False, *, correction=None, **spellings):
        if correction is None and not spellings.keys() & {"unbiased", "ddof"}:
            raise InvalidArgumentError(
                f"{name}: NumPy divides by n, torch and Paddle by n - 1. Write "
                f"x.{name}(correction=0) or x.{name}(correction=1), or dygraph.{name}(x), which "
                "divides by n"
            )
        return function(
            self, axis, keepdims, correction=0.0 if correction is None else correction, **spellings
        )

    method.__name__ = name
    method.__qualname__ = f"Variable.{name}"
    method.__doc__ = f"`dygraph.{name}` of this variable; `correction` or `unbiased` must be given."
    return method


METHODS["var"], METHODS["std"] = _either(var), _either(std)


# Counts, sums and differences along an axis -------------------------------------------------------


def count_nonzero(x, axis=None, keepdims=False, **spellings):
    """The number of elements that are not 0 or False, over `axis`. int64.

    >>> import dygraph
    >>> dygraph.count_nonzero(dygraph.asarray([[1, 0], [2, 3]]), axis=1).tolist()
    [1, 2]
    """
    check.variable(x, "count_nonzero: x")
    return sum(_truths(x).astype("int64"), axis, keepdims, **spellings)


def _line(x, axis, owner):
    """The axis of a cumulative function; None is for one axis alone."""
    rank = check.variable(x, f"{owner}: x").ndim
    if axis is None and rank != 1:
        raise InvalidArgumentError(
            f"{owner}: axis must be given for {rank} axes. x.flatten() makes one of them"
        )
    return 0 if axis is None else check.axis(axis, rank, f"{owner}: axis")


def _with_initial(x, made, axis, value):
    first = ops.slice(made, axes=[axis], starts=[0], ends=[1])
    if first.shape[axis] == 0:
        shape = [1 if i == axis else n for i, n in enumerate(made.shape)]
        first = ops.fill_constant(shape=shape, dtype=made.dtype, str_value=value)
    return ops.concat([ops.fill_any_like(first, value=float(value)), made], axis=axis)


def cumulative_sum(x, axis=None, *, dtype=None, include_initial=False, **spellings):
    """The sums of the first elements along `axis`.

    Parameters
    ----------
    x : Variable
    axis : int, optional
        May be left out for one axis.
    dtype : dtype, optional
        The type of the result. Default: that of `x`; bools and integers give int64.
    include_initial : bool
        True: a 0 comes first, so the axis grows by 1.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.cumulative_sum(dygraph.arange(4), include_initial=True).tolist()
    [0, 0, 1, 3, 6]
    """
    if spellings:
        (axis,) = spelled("cumulative_sum", spellings, axis=axis)
    axis = _line(x, axis, "cumulative_sum")
    made = widened(lambda x: ops.cumsum(x, axis=axis), _summed(x, dtype))
    return _with_initial(x, made, axis, "0") if include_initial else made


def cumulative_prod(x, axis=None, *, dtype=None, include_initial=False, **spellings):
    """The products of the first elements along `axis`. Arguments as for `cumulative_sum`.

    >>> import dygraph
    >>> dygraph.cumulative_prod(dygraph.asarray([2, 3, 4])).tolist()
    [2, 6, 24]
    """
    if spellings:
        (axis,) = spelled("cumulative_prod", spellings, axis=axis)
    axis = _line(x, axis, "cumulative_prod")
    n = check.known_size(x, axis, "cumulative_prod")
    made = _summed(x, dtype)
    if made.dtype.name == "bool":
        made = made.astype("int64")
    made = widened(lambda x: _products(x, axis, n), made)
    return _with_initial(x, made, axis, "1") if include_initial else made


def _products(x, axis, n):
    """After each round an element is the product of twice as many."""
    reach = 1
    while reach < n:
        later = ops.slice(x, axes=[axis], starts=[reach], ends=[n])
        earlier = ops.slice(x, axes=[axis], starts=[0], ends=[n - reach])
        done = ops.slice(x, axes=[axis], starts=[0], ends=[reach])
        x = ops.concat([done, ops.elementwise_mul(later, earlier)], axis=axis)
        reach *= 2
    return x if n > 1 else ops.assign(x)


def diff(x, axis=-1, *, n=1, prepend=None, append=None, **spellings):
    """The differences of neighbours along `axis`, `n` times over.

    Parameters
    ----------
    x : Variable
    axis : int
    n : int
    prepend, append : Variable, optional
        Put before and behind `x` first.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.diff(dygraph.asarray([1, 4, 9])).tolist()
    [3, 5]
    """
    if spellings:
        (axis,) = spelled("diff", spellings, axis=None if axis == -1 else axis)
        axis = -1 if axis is None else axis
    rank = check.variable(x, "diff: x").ndim
    axis = check.axis(axis, rank, "diff: axis")
    if prepend is not None or append is not None:
        from dygraph.functions.manipulation import concat

        x = concat([v for v in (prepend, x, append) if v is not None], axis)
    whole = (slice(None),) * axis
    for _ in range(check.integer(n, "diff: n", 0)):
        x = x[(*whole, slice(1, None))] - x[(*whole, slice(None, -1))]
    return x
