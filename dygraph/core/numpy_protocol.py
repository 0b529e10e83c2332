"""NumPy's functions on Variables: ``np.sqrt(v)``, ``np.concatenate([v, w])``, ``array * v``.

NumPy delegates to an argument that is not its own array. One table maps ufuncs, another maps
functions to operators; the result is a Variable, recorded on the tape. Functions in neither table
raise TypeError, since an array would lose the gradient silently.

Examples
--------
>>> import dygraph, numpy as np
>>> v = dygraph.to_variable([1.0, 4.0])
>>> v.stop_gradient = False
>>> np.sum(np.sqrt(v) * np.array([1.0, 10.0])).backward()
>>> v.gradient()
array([0.5, 2.5], dtype=float32)
"""

import operator

import numpy as np

from dygraph import _core
from dygraph.core.lazily import find
from dygraph.core.numpy_functions import (
    FUNCTIONS,
    REDUCTIONS,
    call_function,
    op,
    refusal,
    var,
)
from dygraph.core.promotion import floating, same_type
from dygraph.errors import ArgumentTypeError, kind_of

Variable = _core.Variable
ops = _core.ops


# Ufuncs -------------------------------------------------------------------------------------------

_UNARY_OPERATORS = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctanh": "atanh", "ceil": "ceil", "cos": "cos", "cosh": "cosh",
    "exp": "exp", "expm1": "expm1", "fabs": "abs", "floor": "floor", "log": "log",
    "log10": "log10", "log1p": "log1p", "log2": "log2", "rint": "round", "sign": "sign",
    "sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "square": "square", "tan": "tan",
    "tanh": "tanh", "trunc": "trunc",
}  # fmt: skip
_KEEPS_INTEGERS = {"absolute", "ceil", "floor", "rint", "sign", "square", "trunc"}
_TESTS = {
    "invert": "bitwise_not",
    "isfinite": "isfinite_v2",
    "isinf": "isinf_v2",
    "isnan": "isnan_v2",
    "logical_not": "logical_not",
}
_PYTHON = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
    "divide": operator.truediv, "power": operator.pow, "float_power": operator.pow,
    "matmul": operator.matmul,
    "equal": operator.eq, "not_equal": operator.ne, "less": operator.lt,
    "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge,
    "negative": operator.neg, "positive": operator.pos,
}  # fmt: skip
_BINARY_OPERATORS = {
    "arctan2": "atan2", "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor", "floor_divide": "elementwise_floordiv",
    "fmax": "elementwise_max", "fmin": "elementwise_min",
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor",
    "maximum": "elementwise_max", "minimum": "elementwise_min", "remainder": "elementwise_mod",
}  # fmt: skip


# Of complex numbers these are functions, not operators.
_COMPLEX = {
    "absolute": ("elementwise", "abs"), "exp": ("elementwise", "exp"),
    "square": ("elementwise", "square"), "conjugate": ("complex_numbers", "conj"),
}  # fmt: skip


def _ufunc(name, inputs):
    """The result of a ufunc; None if it is in no table."""
    if name in _COMPLEX and (name == "conjugate" or inputs[0].dtype.is_complex):
        return find(f"dygraph.functions.{_COMPLEX[name][0]}", _COMPLEX[name][1])(inputs[0])
    if name in _PYTHON:
        return _PYTHON[name](*(_operand(v) for v in inputs))
    if name in _UNARY_OPERATORS:
        (x,) = inputs
        whole = not x.dtype.is_inexact
        if whole and name in ("ceil", "floor", "rint", "trunc"):
            return ops.assign(x)
        x = x if name in _KEEPS_INTEGERS else floating(x)
        return op(_UNARY_OPERATORS[name], name)(x)
    if name in _TESTS:
        return op(_TESTS[name], name)(inputs[0])
    if name in _BINARY_OPERATORS:
        return op(_BINARY_OPERATORS[name], name)(*same_type(inputs))
    if name == "reciprocal":
        return 1.0 / inputs[0]
    if name == "hypot":
        x, y = (floating(v) for v in same_type(inputs))
        return ops.sqrt(x * x + y * y)
    return None


def _operand(value):
    """One operand of a Python operator. NumPy's arrays and numbers would delegate again."""
    if isinstance(value, Variable) or type(value) in (bool, int, float, complex):
        return value
    return float(value) if isinstance(value, np.float64) else var(value)


def call_ufunc(ufunc, method, inputs, kwargs):
    """Implements ``Variable.__array_ufunc__``."""
    name = ufunc.__name__.removeprefix("cupy_")
    name = "divide" if name == "true_divide" else name
    if kwargs.pop("out", None) is not None:
        raise ArgumentTypeError(
            f"numpy.{name}: out= (or +=) takes arrays only, got a Variable. Write a = a + x, or "
            "pass the values with .numpy()"
        )
    if method == "reduce" and name in REDUCTIONS:
        return call_function(REDUCTIONS[name], inputs, {"axis": 0, **kwargs}, f"{name}.reduce")
    if method == "__call__" and not kwargs:
        result = _ufunc(name, inputs)
        if result is not None:
            return result
    raise refusal(name if method == "__call__" else f"{name}.{method}", kwargs)


# These only read: they get arrays and return NumPy's result.
_READERS = (
    "allclose", "array2string", "array_equal", "array_repr", "array_str", "can_cast",
    "count_nonzero", "isclose", "iscomplexobj", "isrealobj", "ndim", "save", "savetxt", "savez",
    "savez_compressed", "shape", "shares_memory", "may_share_memory", "size",
)  # fmt: skip


def _resolve(name):
    where = np
    for part in name.split("."):
        where = getattr(where, part)
    return where


_TABLE = {_resolve(name): (name, function) for name, function in FUNCTIONS.items()}
_LOOKING = {_resolve(name) for name in _READERS}


def as_arrays(value):
    """Variables in nested lists, tuples and dicts as arrays."""
    if isinstance(value, Variable):
        return np.asarray(value)
    if isinstance(value, (list, tuple)):
        return type(value)(as_arrays(v) for v in value)
    return {k: as_arrays(v) for k, v in value.items()} if isinstance(value, dict) else value


def call_array_function(func, args, kwargs):
    """Implements ``Variable.__array_function__``."""
    if func in _LOOKING:
        return func(*as_arrays(args), **as_arrays(kwargs))
    if func not in _TABLE:
        raise refusal(getattr(func, "__name__", kind_of(func)))
    name, function = _TABLE[func]
    return call_function(function, args, kwargs, name)
