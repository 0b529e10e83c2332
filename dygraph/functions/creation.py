"""Functions that make tensors: constants, ranges, random numbers.

Sizes are lists of integers. The default element type is float32; integers give int64.
"""

import math

import numpy as np

from dygraph import _core
from dygraph.core import base, check, size_lists
from dygraph.core.promotion import default_float
from dygraph.core.sizes import Size
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.functions.arguments import given_once, on_device, spelled

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]

ops = _core.ops
Variable = _core.Variable


def sizes_of(shape, owner):
    if isinstance(shape, Variable):
        shape = shape.tolist()
    if hasattr(type(shape), "__index__"):
        shape = [shape]
    return check.shape(shape, f"{owner}: shape")


def float_type(dtype, owner):
    """`dtype`, or this thread's float type; see `dygraph.set_default_dtype`."""
    if dtype is None:
        return default_float()
    if type(dtype) is int:  # the number of a type in a program; here it is a misplaced size
        raise ArgumentTypeError(
            f"{owner}: dtype must be an element type such as 'float32', got int {dtype}"
        )
    return dtype


def shape_and_type(shape, more, dtype, owner):
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
    return shape, float_type(dtype, owner)


def _text(value, what):
    """A number as fill_constant's str_value, which holds float64 and int64 exactly."""
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if hasattr(type(value), "__index__"):
        return str(value.__index__())
    return repr(check.number(value, what))


def full(shape, fill_value, dtype=None, *, device=None, requires_grad=False):
    """A tensor of one value.

    Parameters
    ----------
    shape : list of int
    fill_value : bool, int, float, complex
    dtype : dtype, optional
        Default: the type of `fill_value`: bool, int64, float32 for a float, or complex64.
    device : Place, optional
    requires_grad : bool
        Whether it gets a gradient.

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
    >>> dygraph.full([2, 2], 7).tolist(), dygraph.full([2], 0.5).dtype
    ([[7, 7], [7, 7]], dygraph.float32)
    """
    if isinstance(fill_value, Variable):
        dtype = fill_value.dtype if dtype is None else dtype
        fill_value = fill_value.item()
    if type(fill_value) is complex:
        dtype = _core.promote(default_float(), _core.complex64) if dtype is None else dtype
        if not _core.dtype_of(dtype).is_complex:
            raise ArgumentTypeError(f"full: dtype must be complex for {fill_value}, got {dtype}")
        real = full(shape, fill_value.real, dtype, device=device)
        made = real + full(shape, fill_value.imag, dtype, device=device) * 1j
        return made.requires_grad_() if requires_grad else made
    if dtype is None and type(fill_value) in (bool, int):
        dtype = "bool" if type(fill_value) is bool else "int64"
    made = filled_with(shape, _text(fill_value, "full: fill_value"), dtype, "full")
    made = on_device(made, device, "full")
    return made.requires_grad_() if requires_grad else made


def filled_with(shape, text, dtype, owner):
    if size_lists.needs_variables(shape):
        parts = {"ShapeTensorList": size_lists.variables(shape)}
        attrs = {"dtype": float_type(dtype, owner), "str_value": text}
        return size_lists.declare(_core.run_op("fill_constant", parts, attrs)["Out"], shape)
    return ops.fill_constant(
        shape=sizes_of(shape, owner), dtype=float_type(dtype, owner), str_value=text
    )


def zeros(shape, *sizes, dtype=None, device=None, requires_grad=False):
    """A tensor of zeros, by default float32.

    The sizes may be single arguments, ``zeros(2, 3)``; the type may follow a list of sizes.
    With `requires_grad` the tensor gets a gradient.

    Parameters
    ----------
    shape : int or list of int
    *sizes : int
        The sizes behind the first, where they stand without a list.
    dtype : dtype, optional
        None: the default type.
    device : Place, optional
    requires_grad : bool
        Whether the Variable is a leaf that gathers a gradient.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> dygraph.zeros([2, 3]).shape, dygraph.zeros(2, 3).shape
    ((2, 3), (2, 3))
    """
    shape, dtype = shape_and_type(shape, sizes, dtype, "zeros")
    made = on_device(filled_with(shape, "0", dtype, "zeros"), device, "zeros")
    return made.requires_grad_() if requires_grad else made


def ones(shape, *sizes, dtype=None, device=None, requires_grad=False):
    """A tensor of ones, by default float32. Arguments as for `zeros`.

    Parameters
    ----------
    shape, *sizes, dtype, device, requires_grad
        As for `zeros`.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> dygraph.ones([2], "int32").tolist(), dygraph.ones(1, 2).tolist()
    ([1, 1], [[1.0, 1.0]])
    """
    shape, dtype = shape_and_type(shape, sizes, dtype, "ones")
    made = on_device(filled_with(shape, "1", dtype, "ones"), device, "ones")
    return made.requires_grad_() if requires_grad else made


def empty(shape, *sizes, dtype=None, device=None):
    """A tensor to be written; it holds zeros, so no result depends on old memory.

    Parameters
    ----------
    shape : list of int or int
        The sizes, or the first of several arguments: ``empty(2, 3)``.
    *sizes : int
        The other sizes.
    dtype : str or dtype, optional
        None: the default type.
    device : str or Place, optional
        Where it is made; None: the current place.

    Returns
    -------
    Variable
        Of the given shape and type.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.empty(2, 3).shape
    (2, 3)
    """
    shape, dtype = shape_and_type(shape, sizes, dtype, "empty")
    return on_device(filled_with(shape, "0", dtype, "empty"), device, "empty")


def full_like(x, fill_value, dtype=None, *, device=None):
    """A tensor of the shape of `x` and of one value; of the type of `x`, or of `dtype`.

    No gradient flows to `x`.

    Parameters
    ----------
    x : Variable
        Gives shape and place.
    fill_value : number or Variable
    dtype : dtype, optional
        None: that of `x`.
    device : Place, optional

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> dygraph.full_like(dygraph.to_variable([1, 2]), 3).numpy().tolist()
    [3, 3]
    """
    attrs = {} if dtype is None else {"dtype": dtype}
    made = filled(x, fill_value, "full_like: fill_value", attrs)
    return on_device(made, device, "full_like")


def filled(x, value, what, attrs=()):
    """fill_any_like; a value that float32 lacks is text, which Fluid and Paddle read too."""
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


def zeros_like(x, dtype=None, *, device=None):
    """Zeros of the shape of `x`, of its type or of `dtype`. No gradient flows to `x`.

    Parameters
    ----------
    x : Variable
        Gives shape and place.
    dtype : dtype, optional
        None: that of `x`.
    device : Place, optional

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> dygraph.zeros_like(dygraph.to_variable([1, 2])).tolist()
    [0, 0]
    """
    return full_like(x, 0, dtype, device=device)


def empty_like(x, dtype=None, *, device=None):
    """A tensor of the shape of `x` to be written; it holds zeros.

    Parameters
    ----------
    x : Variable
        Any shape and type.
    dtype : str or dtype, optional
        None: the type of `x`.
    device : str or Place, optional
        Where it is made; None: that of `x`.

    Returns
    -------
    Variable
        Of the shape of `x`.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.empty_like(dygraph.to_variable([1, 2])).shape
    (2,)
    """
    return full_like(x, 0, dtype, device=device)


def ones_like(x, dtype=None, *, device=None):
    """Ones of the shape of `x`, of its type or of `dtype`. No gradient flows to `x`.

    Parameters
    ----------
    x : Variable
        Gives shape and place.
    dtype : dtype, optional
        None: that of `x`.
    device : Place, optional

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> dygraph.ones_like(dygraph.to_variable([5, 6]), dtype="float32").tolist()
    [1.0, 1.0]
    """
    return full_like(x, 1, dtype, device=device)


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
        return not value.dtype.is_inexact
    return hasattr(type(value), "__index__")


# Types that the operator lacks, by one in which it counts.
_COUNTED = {
    "int8": "int32", "int16": "int32", "uint8": "int32", "float16": "float32",
    "bfloat16": "float32",
}  # fmt: skip


@given_once
def arange(start=0, stop=None, step=1, dtype=None, *, device=None, **spellings):
    """``start, start + step, ...`` to before `stop`; one argument is the stop.

    Parameters
    ----------
    start, stop, step : int, float or Variable of one element
    dtype : dtype, optional
        Default: int64 for integers, float32 for floats.
    device : Place, optional

    Returns
    -------
    Variable
        ``[ceil((stop - start) / step)]``

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
    if spellings:
        (stop,) = spelled("arange", spellings, stop=stop)
    if stop is None:
        start, stop = 0, start
    numbers = (start, stop, step)
    if dtype is None:
        dtype = "int64" if all(_is_whole(n) for n in numbers) else float_type(None, "arange")
    names, described = ("start", "stop", "step"), _described(*numbers)
    inner = _COUNTED.get(_core.dtype_of(dtype).name, dtype)
    made = ops.range(
        *(_number(n, inner, f"arange: {w}", described) for n, w in zip(numbers, names, strict=True))
    )
    made = made if inner is dtype else made.astype(dtype)
    counts = type(start) is int and start == 0 and type(step) is int and step == 1
    if counts and isinstance(stop, Size):
        return size_lists.declare(made, [stop])
    return on_device(made, device, "arange")


def linspace(start, stop, num=None, dtype=None, *, device=None, endpoint=True, steps=None):
    """`num` evenly spaced numbers from `start` to `stop`, which `endpoint` includes.

    ``steps`` is torch's name of `num`.

    Parameters
    ----------
    start, stop : number or Variable
    num : int
        How many numbers.
    dtype : dtype, optional
        None: the default type.
    device : Place, optional
    endpoint : bool
        Whether `stop` is the last number.
    steps : int, optional
        torch's name of `num`.

    Returns
    -------
    Variable
        ``[num]``

    Examples
    --------
    >>> import dygraph
    >>> dygraph.linspace(0, 1, 5).numpy().tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    if (num is None) == (steps is None):
        raise ArgumentTypeError(f"linspace: num must be given once, got {num} and steps={steps}")
    num = steps if num is None else num
    dtype = _core.dtype_of(float_type(dtype, "linspace"))
    inner = dtype if dtype.is_floating else "float64"
    described = _described(start, stop, num)
    if type(num) is int and num == 0:
        return on_device(filled_with([0], "0", dtype, "linspace"), device, "linspace")
    if not endpoint and type(num) is int:  # the first of one number more
        out = linspace(start, stop, num + 1, dtype, device=device)
        return out[:-1]
    if not endpoint:
        stop = start + (stop - start) * (num - 1) / num
    out = ops.linspace(
        _number(start, inner, "linspace: start", described),
        _number(stop, inner, "linspace: stop", described),
        _number(num, "int32", "linspace: num", described),
    )
    out = out if out.dtype == dtype else out.astype(dtype)
    return on_device(out, device, "linspace")


def asarray(obj, dtype=None, *, device=None, copy=None):
    """A Variable of an array, a number or a nested list.

    Parameters
    ----------
    obj : Variable, array_like or number
        A Variable is returned unchanged unless `dtype`, `device` or `copy` requires another.
    dtype : dtype, optional
        Default: the type of `obj`; of numbers as in `to_variable`.
    device : Place, optional
    copy : bool, optional
        True: own memory. False: InvalidArgumentError (a ValueError) where a copy is needed.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> dygraph.asarray([1, 2]).dtype, dygraph.asarray([1, 2], dtype="float32").tolist()
    (dygraph.int64, [1.0, 2.0])
    """
    if isinstance(obj, Variable):
        changes = dtype is not None and _core.dtype_of(dtype) != obj.dtype
        made = obj.astype(dtype) if changes else obj.clone() if copy else obj
    else:
        changes = True
        made = base.to_variable(obj, dtype=dtype)
    if copy is False and changes:
        raise InvalidArgumentError(
            f"asarray: with copy=False obj must be a Variable of the type, got {kind_of(obj)}. "
            "dygraph.from_dlpack(obj, copy=False) shares the memory of an array"
        )
    return on_device(made, device, "asarray")


def meshgrid(*arrays, indexing=None):
    """The coordinates of the points of a grid, one tensor for each given axis.

    Parameters
    ----------
    *arrays : Variable
        With one axis each; or one list of them.
    indexing : {'xy', 'ij'}
        'xy', NumPy's default: the first of the arrays runs along the second axis. 'ij', torch's and
        Paddle's: along the first. For several arrays it must be given.

    Returns
    -------
    list of Variable

    Examples
    --------
    >>> import dygraph
    >>> x, y = dygraph.meshgrid(dygraph.arange(2), dygraph.arange(3), indexing="ij")
    >>> x.shape, y.tolist()
    ((2, 3), [[0, 1, 2], [0, 1, 2]])
    """
    if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)):
        arrays = arrays[0]
    if indexing is None and len(arrays) > 1:
        raise InvalidArgumentError(
            "meshgrid: indexing must be given: indexing='xy' is NumPy's default, 'ij' torch's and "
            "Paddle's"
        )
    check.choice(indexing, ("xy", "ij", None), "meshgrid: indexing")
    if not arrays:
        return []
    for x in arrays:
        if check.variable(x, "meshgrid: an array").ndim != 1:
            raise InvalidArgumentError(
                f"meshgrid: an array must have one axis, got shape {list(x.shape)}"
            )
    order = list(range(len(arrays)))
    if indexing == "xy":
        order[:2] = order[:2][::-1]
    if len({x.dtype for x in arrays}) > 1:  # the operator takes one type
        shape = [check.known_size(arrays[i], 0, "meshgrid") for i in order]
        return [
            ops.expand_v2(
                ops.reshape2(x, shape=[-1 if at == i else 1 for at in order]), shape=shape
            )
            for i, x in enumerate(arrays)
        ]
    grids = ops.meshgrid([arrays[i] for i in order])
    return [grids[order.index(i)] for i in range(len(arrays))]
