"""Functions that make tensors: constants, ranges, random numbers.

`dygraph.ops` has them beside the operators. Sizes are lists of integers; the default element
type is float32, as in Paddle.
"""

import math

import numpy as np

from dygraph import _core
from dygraph.core import check, size_lists
from dygraph.core.sizes import Size
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of

__all__ = [
    "arange",
    "diag",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "linspace",
    "normal",
    "ones",
    "ones_like",
    "rand",
    "randint",
    "randn",
    "randperm",
    "tril",
    "triu",
    "uniform",
    "zeros",
    "zeros_like",
]

ops = _core.ops
Variable = _core.Variable


def _sizes(shape, owner):
    if isinstance(shape, Variable):
        shape = shape.tolist()
    if hasattr(type(shape), "__index__"):
        shape = [shape]
    return check.shape(shape, f"{owner}: shape")


def _float(dtype, owner):
    """`dtype`, or this thread's float type; see `dygraph.set_default_dtype`."""
    if dtype is None:
        return _core.cast_floats_to() or "float32"
    if type(dtype) is int:  # the number of a type in a program; here it is a misplaced size
        raise ArgumentTypeError(
            f"{owner}: dtype must be an element type such as 'float32', got int {dtype}"
        )
    return dtype


def _shape_and_type(shape, more, dtype, owner):
    """The shape and the type of ``zeros(2, 3)``, ``zeros([2, 3], "int32")`` and the like."""
    if more and not hasattr(type(more[-1]), "__index__"):
        if dtype is not None:
            raise ArgumentTypeError(f"{owner}: dtype must be given once, got {more[-1]}, {dtype}")
        *more, dtype = more
    if more:
        if not hasattr(type(shape), "__index__"):
            raise ArgumentTypeError(
                f"{owner}: shape must be one list of sizes, or the sizes themselves, got "
                f"{kind_of(shape)} "
                f"and {', '.join(map(str, more))}. Write {owner}([2, 3], dtype='float32')"
            )
        shape = [shape, *more]
    return shape, _float(dtype, owner)


def _text(value, what):
    """A number as fill_constant's str_value, which holds float64 and int64 exactly."""
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if hasattr(type(value), "__index__"):
        return str(value.__index__())
    return repr(check.number(value, what))


def full(shape, fill_value, dtype=None):
    """A tensor of one value.

    Parameters
    ----------
    shape : list of int
    fill_value : bool, int, float
    dtype : dtype, optional
        Default: float32.

    Returns
    -------
    Variable

    Raises
    ------
    InvalidArgumentError
        For a size below 0.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.full([2, 2], 7, "int64").numpy().tolist()
    [[7, 7], [7, 7]]
    """
    if isinstance(fill_value, Variable):
        fill_value = fill_value.item()
    return _filled(shape, _text(fill_value, "full: fill_value"), dtype, "full")


def _filled(shape, text, dtype, owner):
    if size_lists.needs_variables(shape):
        parts = {"ShapeTensorList": size_lists.variables(shape)}
        attrs = {"dtype": _float(dtype, owner), "str_value": text}
        return size_lists.declare(_core.run_op("fill_constant", parts, attrs)["Out"], shape)
    return ops.fill_constant(shape=_sizes(shape, owner), dtype=_float(dtype, owner), str_value=text)


def zeros(shape, *sizes, dtype=None):
    """A tensor of zeros, by default float32.

    The sizes may be single arguments, ``zeros(2, 3)``; the type may follow a list of sizes.

    >>> import dygraph
    >>> dygraph.zeros([2, 3]).shape, dygraph.zeros(2, 3).shape
    ((2, 3), (2, 3))
    """
    shape, dtype = _shape_and_type(shape, sizes, dtype, "zeros")
    return _filled(shape, "0", dtype, "zeros")


def ones(shape, *sizes, dtype=None):
    """A tensor of ones, by default float32. Arguments as for `zeros`.

    >>> import dygraph
    >>> dygraph.ones([2], "int32").tolist(), dygraph.ones(1, 2).tolist()
    ([1, 1], [[1.0, 1.0]])
    """
    shape, dtype = _shape_and_type(shape, sizes, dtype, "ones")
    return _filled(shape, "1", dtype, "ones")


def empty(shape, *sizes, dtype=None):
    """A tensor to be written; it holds zeros, so no result depends on old memory.

    >>> import dygraph
    >>> dygraph.empty(2, 3).shape
    (2, 3)
    """
    shape, dtype = _shape_and_type(shape, sizes, dtype, "empty")
    return _filled(shape, "0", dtype, "empty")


def full_like(x, fill_value, dtype=None):
    """A tensor of the shape of `x` and of one value; of the type of `x`, or of `dtype`.

    No gradient flows to `x`.

    >>> import dygraph
    >>> dygraph.full_like(dygraph.to_variable([1, 2]), 3).numpy().tolist()
    [3, 3]
    """
    return filled(x, fill_value, "full_like: fill_value", {} if dtype is None else {"dtype": dtype})


def filled(x, value, what, attrs=()):
    """fill_any_like with a value that its float32 attribute may not hold."""
    if _core.holds_symbol(value):
        return ops.fill_any_like(x, value=value, **dict(attrs))
    if isinstance(value, Variable):
        value = value.item()
    text, number, attrs = _text(value, what), float(value), dict(attrs)
    fits = not abs(number) > float(np.finfo("float32").max) or math.isinf(number)
    if fits:
        attrs["value"] = number
    if not fits or (number == number and float(np.float32(number)) != value):
        attrs["str_value"] = text
    return ops.fill_any_like(x, **attrs)


def zeros_like(x, dtype=None):
    """Zeros of the shape of `x`, of its type or of `dtype`. No gradient flows to `x`.

    >>> import dygraph
    >>> dygraph.zeros_like(dygraph.to_variable([1, 2])).tolist()
    [0, 0]
    """
    return full_like(x, 0, dtype)


def empty_like(x, dtype=None):
    """A tensor of the shape of `x`, of its type or of `dtype`, to be written: zeros.

    >>> import dygraph
    >>> dygraph.empty_like(dygraph.to_variable([1, 2])).shape
    (2,)
    """
    return full_like(x, 0, dtype)


def ones_like(x, dtype=None):
    """Ones of the shape of `x`, of its type or of `dtype`. No gradient flows to `x`.

    >>> import dygraph
    >>> dygraph.ones_like(dygraph.to_variable([5, 6]), dtype="float32").tolist()
    [1.0, 1.0]
    """
    return full_like(x, 1, dtype)


def _number(value, dtype, what, literally=False):
    """One number as a tensor of one element; `literally` in the description of a program."""
    if isinstance(value, Size):
        value = value.variable()
    if isinstance(value, Variable):
        return ops.reshape2(value, shape=[1]).astype(dtype)
    text = _text(value, what)
    if literally:
        return _core.literal([value], str(dtype))
    return ops.fill_constant(shape=[1], dtype=dtype, str_value=text)


def _described(*numbers):
    """Whether one of them belongs to a program, which the others then join."""
    return any(
        isinstance(n, Size) or (isinstance(n, Variable) and _core.is_symbol(n)) for n in numbers
    )


def _is_whole(value):
    if isinstance(value, Variable):
        return not value.dtype.is_floating
    return hasattr(type(value), "__index__")


def arange(start=0, end=None, step=1, dtype=None):
    """``start, start + step, ...`` to before `end`; one argument is the end.

    Parameters
    ----------
    start, end, step : int, float or Variable of one element
    dtype : dtype, optional
        Default: int64 for integers, float32 for floats.

    Raises
    ------
    InvalidArgumentError
        For a step of 0, or bounds that are not finite.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.arange(5).numpy().tolist(), dygraph.arange(3, 0, -1).numpy().tolist()
    ([0, 1, 2, 3, 4], [3, 2, 1])
    """
    if end is None:
        start, end = 0, start
    numbers = (start, end, step)
    if dtype is None:
        dtype = "int64" if all(_is_whole(n) for n in numbers) else _float(None, "arange")
    names, described = ("start", "end", "step"), _described(*numbers)
    made = ops.range(
        *(_number(n, dtype, f"arange: {w}", described) for n, w in zip(numbers, names, strict=True))
    )
    counts = type(start) is int and start == 0 and type(step) is int and step == 1
    return size_lists.declare(made, [end]) if counts and isinstance(end, Size) else made


def linspace(start, stop, num, dtype=None):
    """`num` evenly spaced numbers from `start` to `stop`, both included.

    >>> import dygraph
    >>> dygraph.linspace(0, 1, 5).numpy().tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    dtype = _core.dtype_of(_float(dtype, "linspace"))
    inner = dtype if dtype.is_floating else "float64"
    described = _described(start, stop, num)
    out = ops.linspace(
        _number(start, inner, "linspace: start", described),
        _number(stop, inner, "linspace: stop", described),
        _number(num, "int32", "linspace: num", described),
    )
    return out if out.dtype == dtype else out.astype(dtype)


def eye(num_rows, num_columns=None, dtype=None):
    """1 on the main diagonal, 0 elsewhere; by default as many columns as rows.

    >>> import dygraph
    >>> dygraph.eye(2, 3).numpy().tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """

    def size(value, what):
        return value if _core.holds_symbol(value) else check.integer(value, f"eye: {what}", 0)

    return ops.eye(
        num_rows=size(num_rows, "num_rows"),
        num_columns=-1 if num_columns is None else size(num_columns, "num_columns"),
        dtype=_float(dtype, "eye"),
    )


def diag(x, offset=0):
    """A matrix with `x` on a diagonal, or the diagonal of a matrix `x`. Gradients flow.

    Parameters
    ----------
    x : Variable
        One axis, or two.
    offset : int
        The diagonal; positive above the main one.

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


def tril(x, diagonal=0):
    """`x` on and below a diagonal of its last two axes, 0 above it.

    >>> import dygraph
    >>> dygraph.tril(dygraph.to_variable([[1, 2], [3, 4]])).tolist()
    [[1, 0], [3, 4]]
    """
    return ops.tril_triu(x, diagonal=check.integer(diagonal, "tril: diagonal"), lower=True)


def triu(x, diagonal=0):
    """`x` on and above a diagonal of its last two axes, 0 below it.

    >>> import dygraph
    >>> dygraph.triu(dygraph.to_variable([[1, 2], [3, 4]])).tolist()
    [[1, 2], [0, 4]]
    """
    return ops.tril_triu(x, diagonal=check.integer(diagonal, "triu: diagonal"), lower=False)


# Random numbers
# ----------------------------------------------------------------------------------------


def drawn(kind, shape, owner, **attrs):
    """Random numbers of an operator, in a shape with sizes that may be known only in a run."""
    if size_lists.followed(shape):
        parts = {"ShapeTensorList": size_lists.variables(shape)}
        return size_lists.declare(_core.run_op(kind, parts, attrs)["Out"], list(shape))
    return getattr(ops, kind)(shape=_sizes(shape, owner), **attrs)


def rand(shape, *sizes, dtype=None):
    """Numbers drawn uniformly from [0, 1). `dygraph.seed` makes them reproducible.

    The sizes may be single arguments: ``rand(2, 3)``.

    >>> import dygraph
    >>> dygraph.rand([2, 3]).shape
    (2, 3)
    """
    shape, dtype = _shape_and_type(shape, sizes, dtype, "rand")
    return drawn("uniform_random", shape, "rand", min=0.0, max=1.0, dtype=dtype)


def uniform(shape, dtype=None, min=-1.0, max=1.0, seed=0):
    """Numbers drawn uniformly from [min, max).

    A seed other than 0 gives the same numbers each time.

    >>> import dygraph
    >>> x = dygraph.uniform([100], min=2.0, max=3.0).numpy()
    >>> bool((x >= 2).all() and (x <= 3).all())
    True
    """
    dtype = _float(dtype, "uniform")
    return drawn("uniform_random", shape, "uniform", min=min, max=max, seed=seed, dtype=dtype)


def randn(shape, *sizes, dtype=None):
    """Numbers drawn from the normal distribution of mean 0 and standard deviation 1.

    The sizes may be single arguments: ``randn(2, 3)``.

    >>> import dygraph
    >>> dygraph.randn([2, 3]).shape
    (2, 3)
    """
    shape, dtype = _shape_and_type(shape, sizes, dtype, "randn")
    return drawn("gaussian_random", shape, "randn", dtype=dtype)


def normal(mean=0.0, std=1.0, shape=None):
    """Numbers drawn from the normal distribution.

    Parameters
    ----------
    mean, std : float or Variable
        Variables broadcast, and gradients flow to them; then `shape` is not read.
    shape : list of int, optional
        For two numbers. None: ``[1]``.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.normal(2.0, 0.0, [3]).numpy().tolist()
    [2.0, 2.0, 2.0]
    """
    given = [v for v in (mean, std) if isinstance(v, Variable)]
    if not given:
        shape = [1] if shape is None else shape
        dtype = _float(None, "normal")
        return drawn("gaussian_random", shape, "normal", mean=mean, std=std, dtype=dtype)
    whole = given[0] if len(given) == 1 else mean + std * 0
    sizes = size_lists.sizes_of(whole)
    return drawn("gaussian_random", sizes, "normal", dtype=whole.dtype) * std + mean


def randint(low=0, high=None, shape=(1,), dtype=None):
    """Integers drawn from low, ..., high - 1; with one bound, from 0, ..., low - 1.

    >>> import dygraph
    >>> r = dygraph.randint(3, 5, [100]).numpy()
    >>> sorted(set(r.tolist()))
    [3, 4]
    """
    if isinstance(high, (list, tuple)):
        raise ArgumentTypeError(
            f"randint: high must be an integer, got {kind_of(high)}. "
            f"Write randint(0, {low}, {high})"
        )
    if high is None:
        low, high = 0, low
    return drawn(
        "randint",
        shape,
        "randint",
        low=check.integer(low, "randint: low"),
        high=check.integer(high, "randint: high"),
        dtype="int64" if dtype is None else dtype,
    )


def randperm(n, dtype=None):
    """The integers 0 to n - 1 in random order.

    >>> import dygraph
    >>> sorted(dygraph.randperm(4).numpy().tolist())
    [0, 1, 2, 3]
    """
    if isinstance(n, float):
        raise ArgumentTypeError(f"randperm: n must be an integer, got {kind_of(n)}")
    return ops.randperm(
        n=check.integer(n, "randperm: n", 0), dtype="int64" if dtype is None else dtype
    )
