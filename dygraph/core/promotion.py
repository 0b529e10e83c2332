"""The element type of results for operands of different types; docs/promotion.md has the table."""

import numpy as np

from dygraph import _core
from dygraph.errors import ArgumentTypeError, kind_of

__all__ = ["promote_types", "result_type"]

Variable = _core.Variable
_NUMBERS = {bool: _core.bool_, int: _core.int64}  # a float has the default type


def default_float():
    """This thread's float type; see `dygraph.set_default_dtype`."""
    return _core.cast_floats_to() or _core.float32


def floating(x):
    """For a mean or a root: integers and bools in the default type, as in true division.

    Floats and complex numbers stay as they are.
    """
    dtype = x.dtype
    return x if dtype is None or dtype.is_inexact else x.astype(default_float())


def same_type(values):
    """Variables of one type: numbers take the type of the Variables and arrays, which promote.

    So do the floats of a list. A complex number makes floats complex.
    """
    dtype = getattr(values[0], "dtype", None) if values else None
    if dtype is _core.float32 or dtype is _core.float64:
        if all(type(v) is float or isinstance(v, Variable) and v.dtype is dtype for v in values):
            return [v if isinstance(v, Variable) else _core.literal(v, dtype) for v in values]
    typed = [float(v) if isinstance(v, np.float64) else v for v in values]
    typed = [on_device(v) for v in typed]
    given = [v for v in typed if isinstance(v, (Variable, np.ndarray, np.generic))]
    beside = result_type(*given) if given else None
    typed = [
        v
        if isinstance(v, (Variable, bool, int, float, complex))
        else _core.to_variable(v, beside=beside if isinstance(v, (list, tuple)) else None)
        for v in typed
    ]
    dtype = result_type(*typed)
    return [
        (v if v.dtype == dtype else v.astype(dtype))
        if isinstance(v, Variable)
        else _core.literal(v, dtype)
        for v in typed
    ]


def on_device(value):
    """An array of another library on a CUDA device as a Variable; other values unchanged."""
    if isinstance(value, (Variable, *_NUMBERS, float, complex, np.ndarray, list, tuple)):
        return value
    if not hasattr(value, "__cuda_array_interface__"):
        return value
    from dygraph.core.exchange import from_dlpack

    return from_dlpack(value)  # PyTorch's other interface names no stream


def promote_types(a, b):
    """The type of ``x + y`` for Variables of the types `a` and `b`.

    The rules are those of the array API standard; for an integer with a float, which it leaves
    open, the result has the float type.

    Parameters
    ----------
    a, b : dtype
        Types of this library, NumPy's, or names.

    Returns
    -------
    dtype

    Raises
    ------
    ArgumentTypeError
        For a value that is no element type.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.promote_types("uint8", "int8"), dygraph.promote_types("int64", "float32")
    (dygraph.int16, dygraph.float32)
    """
    return _core.promote(a, b)


def result_type(*values):
    """The promoted type of Variables, arrays, types and Python numbers.

    A Python number never changes the type of the others, except that a complex one makes floats
    complex; only numbers give the widest of bool, int64 and the default float type. A number must
    fit: a float with integers raises an error in the computation.

    Parameters
    ----------
    *values : Variable, ndarray, dtype, name of a dtype, bool, int, float or complex

    Returns
    -------
    dtype

    Raises
    ------
    ArgumentTypeError
        Without values, and for a value without an element type.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([1.0, 2.0]).astype("float32")
    >>> dygraph.result_type(x, 2.5), dygraph.result_type(x, "float64")
    (dygraph.float32, dygraph.float64)
    """
    if not values:
        raise ArgumentTypeError("result_type: there must be at least one value, got none")
    typed, weak, imaginary = None, None, False
    for value in values:
        if type(value) is complex:
            imaginary = True
            continue
        if type(value) in (bool, int, float):
            own = _NUMBERS.get(type(value)) or default_float()
            weak = own if weak is None else _core.promote(weak, own)
            continue
        if isinstance(value, (list, tuple)):
            raise ArgumentTypeError(
                f"result_type: a value must have a type, got the list {value}. Convert it with "
                "dygraph.asarray()"
            )
        if isinstance(value, (Variable, np.ndarray, np.generic)):
            value = value.dtype
        if value is None:
            raise ArgumentTypeError(f"result_type: a value must have a type, got {kind_of(value)}")
        own = _core.dtype_of(value)
        typed = own if typed is None else _core.promote(typed, own)
    if not imaginary:
        return weak if typed is None else typed
    if typed is not None and not typed.is_inexact:
        return typed  # a complex number does not fit, as a float does not
    return _core.promote(default_float() if typed is None else typed, _core.complex64)
