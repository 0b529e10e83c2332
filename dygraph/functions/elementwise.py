"""Functions of single elements, and of pairs of elements of Variables that broadcast.

The operands of a pair are Variables, arrays or Python numbers. A number takes the type of the
Variable beside it; Variables of two types are promoted, see docs/promotion.md. On Variables of
float32 and float64 a function that is one operator runs it without a step in Python.
"""

import math
import operator

import numpy as np

from dygraph import _core
from dygraph.core import check
from dygraph.core.promotion import floating
from dygraph.errors import ArgumentTypeError
from dygraph.functions.arguments import operands, through_numpy, widened
from dygraph.functions.complex_numbers import exponential, is_complex

ops = _core.ops
Variable = _core.Variable


def _each(what):
    """The first line of a function of single numbers; notes follow a semicolon."""
    what, _, note = what.partition("; ")
    return f"{what}, element by element{note and '; ' + note}."


def _example(call, result):
    return f"""Examples
    --------
    >>> import dygraph
    >>> {call}.tolist()
    {result}
    """


# One operand --------------------------------------------------------------------------------------


def _named(name, function, doc):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _sections(what):
    """The sections between the first line of a docstring and its example."""
    return f"""
    Parameters
    ----------
    {what}

    Returns
    -------
    Variable
        {{}}.

    Examples
    --------
    """


_ONE = _sections("x : Variable\n        Any shape.")
_TWO = _sections("x1, x2 : Variable, array or number\n        Their shapes broadcast.")


def _described(sections, result):
    """A decorator that puts the sections in front of the example."""

    def changed(function):
        if function.__doc__:  # not under python -OO
            what, example = function.__doc__.split("\n\n    >>>", 1)
            function.__doc__ = f"{what}\n{sections.format(result)}>>>{example}"
        return function

    return changed


def _unary(name, op, what, of, result, kind="float", of_complex=None):
    """A function of one operand.

    `kind`: "float" takes integers as float32, "number" keeps them, "test" gives bools. `of_complex`
    computes of complex numbers, where that is another operator.
    """
    run = getattr(ops, op)

    def function(x, /):
        check.variable(x, f"{name}: x")
        if of_complex and is_complex(x):
            return of_complex(x)
        if kind == "float":
            x = floating(x)
        return widened(run, x)

    doc = f"""{_each(what)}

    Parameters
    ----------
    x : Variable

    Returns
    -------
    Variable
        {"bool" if kind == "test" else "Of the type of `x`"}{
        "; integers give float32" if kind == "float" else ""
    }.

    {_example(f"dygraph.{name}(dygraph.asarray({of}))", result)}"""
    return _core.quick_function("(x, /)", op, _named(name, function, doc))


acos = _unary("acos", "acos", "The angle whose cosine is `x`", "[1.0]", "[0.0]")
asin = _unary("asin", "asin", "The angle whose sine is `x`", "[0.0]", "[0.0]")
atan = _unary("atan", "atan", "The angle whose tangent is `x`", "[0.0]", "[0.0]")
cos = _unary("cos", "cos", "The cosine", "[0.0]", "[1.0]")
cosh = _unary("cosh", "cosh", "The hyperbolic cosine", "[0.0]", "[1.0]")
exp = _unary(
    "exp", "exp", "e to the power `x`", "[0.0]", "[1.0]", of_complex=exponential
)  # fmt: skip
expm1 = _unary("expm1", "expm1", "``exp(x) - 1``, exact near 0", "[0.0]", "[0.0]")
log = _unary("log", "log", "The natural logarithm", "[1.0]", "[0.0]")
log10 = _unary("log10", "log10", "The logarithm to base 10", "[1.0]", "[0.0]")
log1p = _unary("log1p", "log1p", "``log(1 + x)``, exact near 0", "[0.0]", "[0.0]")
log2 = _unary("log2", "log2", "The logarithm to base 2", "[8.0]", "[3.0]")
reciprocal = _unary(
    "reciprocal", "reciprocal", "``1 / x``", "[4.0]", "[0.25]", of_complex=lambda x: 1.0 / x
)  # fmt: skip
sin = _unary("sin", "sin", "The sine", "[0.0]", "[0.0]")
sinh = _unary("sinh", "sinh", "The hyperbolic sine", "[0.0]", "[0.0]")
sqrt = _unary("sqrt", "sqrt", "The square root", "[9.0]", "[3.0]")
tan = _unary("tan", "tan", "The tangent", "[0.0]", "[0.0]")
tanh = _unary("tanh", "tanh", "The hyperbolic tangent", "[0.0]", "[0.0]")
abs = _unary(
    "abs", "abs", "The absolute value", "[-1.5, 2.0]", "[1.5, 2.0]", "number",
    ops.complex_abs,
)  # fmt: skip
ceil = _unary("ceil", "ceil", "The least integer not below `x`", "[1.5]", "[2.0]", "number")
floor = _unary("floor", "floor", "The greatest integer not above `x`", "[-1.5]", "[-2.0]", "number")
round = _unary(
    "round", "round", "The nearest integer; of two the even one", "[0.5, 1.5]", "[0.0, 2.0]",
    "number",
)  # fmt: skip
sign = _unary("sign", "sign", "-1, 0 or 1, the sign of `x`", "[-3.0, 0.0]", "[-1.0, 0.0]", "number")
square = _unary(
    "square", "square", "``x * x``", "[-3.0]", "[9.0]", "number", lambda x: x * x
)  # fmt: skip
isfinite = _unary(
    "isfinite", "isfinite_v2", "Whether `x` is neither infinite nor NaN",
    "[1.0, float('nan')]", "[True, False]", "test",
)  # fmt: skip
isinf = _unary(
    "isinf", "isinf_v2", "Whether `x` is infinite", "[1.0, float('inf')]", "[False, True]", "test"
)
isnan = _unary(
    "isnan", "isnan_v2", "Whether `x` is NaN", "[1.0, float('nan')]", "[False, True]", "test"
)


@_described(_ONE, "Of the type of `x`")
def negative(x, /):
    """``-x``, element by element.

    >>> import dygraph
    >>> dygraph.negative(dygraph.asarray([1.0, -2.0])).tolist()
    [-1.0, 2.0]
    """
    return -check.variable(x, "negative: x")


@_described(_ONE, "Of the type of `x`")
def positive(x, /):
    """A copy of `x`, which gradients flow through.

    >>> import dygraph
    >>> dygraph.positive(dygraph.asarray([1.0, -2.0])).tolist()
    [1.0, -2.0]
    """
    return ops.assign(check.variable(x, "positive: x"))


acosh = _unary(
    "acosh", "acosh", "The positive number whose hyperbolic cosine is `x`", "[1.0]", "[0.0]"
)
asinh = _unary("asinh", "asinh", "The number whose hyperbolic sine is `x`", "[0.0]", "[0.0]")
atanh = _unary("atanh", "atanh", "The number whose hyperbolic tangent is `x`", "[0.0]", "[0.0]")
trunc = _unary(
    "trunc", "trunc", "The integer part: rounded toward 0", "[-1.5, 1.5]", "[-1.0, 1.0]", "number"
)


def _has_sign(x):
    return ops.logical_or(
        x < 0.0, 1.0 / ops.where(x == 0.0, x, ops.fill_any_like(x, value=1.0)) < 0.0
    )


@_described(_ONE, "bool")
def signbit(x, /):
    """Whether the sign is negative, element by element; -0.0 has it. A NaN counts as positive.

    >>> import dygraph
    >>> dygraph.signbit(dygraph.asarray([-1.0, -0.0, 0.0])).tolist()
    [True, True, False]
    """
    check.variable(x, "signbit: x")
    return widened(_has_sign, x) if x.dtype.is_floating else x < 0


@_described(_ONE, "bool")
def logical_not(x, /):
    """Whether an element is False or 0.

    >>> import dygraph
    >>> dygraph.logical_not(dygraph.asarray([True, False])).tolist()
    [False, True]
    """
    return ops.logical_not(truth(check.variable(x, "logical_not: x")))


@_described(_ONE, "Of the type of `x`")
def bitwise_invert(x, /):
    """``~x``, every bit of an integer or bool changed.

    >>> import dygraph
    >>> dygraph.bitwise_invert(dygraph.asarray([0, 5])).tolist()
    [-1, -6]
    """
    return ~check.variable(x, "bitwise_invert: x")


def truth(x):
    """Numbers as bools: whether they are not 0."""
    return x if x.dtype.name == "bool" else x != _zero(x)


def _zero(x):
    return 0.0 if x.dtype.is_inexact else 0


# Two operands -------------------------------------------------------------------------------------


def _binary(name, op, compute, what, call, result, kind="number"):
    takes_numbers = compute.__module__ == "_operator"

    def function(x1, x2, /):
        if takes_numbers and type(x2) in (int, float) and isinstance(x1, Variable):
            if x1.dtype is _core.float32 or x1.dtype is _core.float64:
                return compute(x1, x2)
        return widened(compute, *operands(name, x1, x2))

    bool_result = kind == "test"
    doc = f"""{_each(what)}

    Parameters
    ----------
    x1, x2 : Variable, array or number
        Their shapes broadcast.

    Returns
    -------
    Variable
        {"bool" if bool_result else "Of the promoted type"}.

    Raises
    ------
    ArgumentTypeError
        For a number that the type of the Variable cannot hold.
    InvalidArgumentError
        For shapes that do not broadcast.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.asarray([6.0, -3.0])
    >>> {call}.tolist()
    {result}
    """
    _named(name, function, doc)
    return _core.quick_function("(x1, x2, /)", op, function) if op else function


add = _binary("add", "elementwise_add", operator.add, "``x1 + x2``", "dygraph.add(x, 1)",
              "[7.0, -2.0]")  # fmt: skip
subtract = _binary("subtract", "elementwise_sub", operator.sub, "``x1 - x2``",
                   "dygraph.subtract(x, 1)", "[5.0, -4.0]")  # fmt: skip
multiply = _binary("multiply", "elementwise_mul", operator.mul, "``x1 * x2``",
                   "dygraph.multiply(x, 2)", "[12.0, -6.0]")  # fmt: skip
divide = _binary("divide", "elementwise_div", operator.truediv,
                 "``x1 / x2``; integers give float32", "dygraph.divide(x, 4)",
                 "[1.5, -0.75]")  # fmt: skip
pow = _binary("pow", "elementwise_pow", operator.pow, "``x1 ** x2``", "dygraph.pow(x, 2)",
              "[36.0, 9.0]")  # fmt: skip
floor_divide = _binary("floor_divide", "elementwise_floordiv", operator.floordiv,
                       "``x1 // x2``, rounded down", "dygraph.floor_divide(x, 4)",
                       "[1.0, -1.0]")  # fmt: skip
remainder = _binary("remainder", "elementwise_mod", operator.mod,
                    "``x1 % x2``, with the sign of `x2`", "dygraph.remainder(x, 4)",
                    "[2.0, 1.0]")  # fmt: skip
maximum = _binary("maximum", "elementwise_max", ops.elementwise_max,
                  "The greater of `x1` and `x2`; NaN where one of them is NaN",
                  "dygraph.maximum(x, 0.0)", "[6.0, 0.0]")  # fmt: skip
minimum = _binary("minimum", "elementwise_min", ops.elementwise_min,
                  "The smaller of `x1` and `x2`; NaN where one of them is NaN",
                  "dygraph.minimum(x, 0.0)", "[0.0, -3.0]")  # fmt: skip
equal = _binary("equal", "equal", operator.eq, "``x1 == x2``", "dygraph.equal(x, 6)",
                "[True, False]", "test")  # fmt: skip
not_equal = _binary("not_equal", "not_equal", operator.ne, "``x1 != x2``",
                    "dygraph.not_equal(x, 6)", "[False, True]", "test")  # fmt: skip
less = _binary("less", "less_than", operator.lt, "``x1 < x2``", "dygraph.less(x, 0)",
               "[False, True]", "test")  # fmt: skip
less_equal = _binary("less_equal", "less_equal", operator.le, "``x1 <= x2``",
                     "dygraph.less_equal(x, 6)", "[True, True]", "test")  # fmt: skip
greater = _binary("greater", "greater_than", operator.gt, "``x1 > x2``",
                  "dygraph.greater(x, 0)", "[True, False]", "test")  # fmt: skip
greater_equal = _binary("greater_equal", "greater_equal", operator.ge, "``x1 >= x2``",
                        "dygraph.greater_equal(x, 6)", "[True, False]", "test")  # fmt: skip


def _of_bits(name, compute, sign, result):
    def function(x1, x2, /):
        return compute(*operands(name, x1, x2))

    doc = f"""``x1 {sign} x2`` of integers or bools, bit by bit.

    >>> import dygraph
    >>> dygraph.{name}(dygraph.asarray([6, 1]), 3).tolist()
    {result}
    """
    return _described(_TWO, "Of the promoted type")(_named(name, function, doc))


bitwise_and = _of_bits("bitwise_and", operator.and_, "&", "[2, 1]")
bitwise_or = _of_bits("bitwise_or", operator.or_, "|", "[7, 3]")
bitwise_xor = _of_bits("bitwise_xor", operator.xor, "^", "[5, 2]")


def _logical(name, op, what, result):
    run = getattr(ops, op)

    def function(x1, x2, /):
        return run(*map(truth, operands(name, x1, x2)))

    doc = f"""{what}; a number other than 0 counts as True.

    >>> import dygraph
    >>> x = dygraph.asarray([True, False])
    >>> dygraph.{name}(x, True).tolist()
    {result}
    """
    return _described(_TWO, "bool")(_named(name, function, doc))


logical_and = _logical("logical_and", "logical_and", "Whether both are True", "[True, False]")
logical_or = _logical("logical_or", "logical_or", "Whether one is True", "[True, True]")
logical_xor = _logical("logical_xor", "logical_xor", "Whether exactly one is True", "[False, True]")


def _shifted(name, x, bits):
    """Operands of a shift as int64 and the powers of two; 64 bits and more count as 64."""
    x, bits = operands(name, x, bits)
    dtype = x.dtype
    if dtype.is_inexact or dtype.name == "bool":
        raise ArgumentTypeError(f"{name}: x1 and x2 must be integers, got {dtype.name}")
    x, bits = x.astype("int64"), bits.astype("int64")
    beyond = ops.logical_or(bits < 0, bits > 63)
    bits = ops.where(beyond, ops.fill_any_like(bits, value=64.0), bits)
    powers = _core.literal(np.array([*(1 << n for n in range(63)), -(1 << 63), 0], "int64"))
    return x, bits, powers[bits], dtype


@_described(_TWO, "Of the promoted type")
def bitwise_left_shift(x1, x2, /):
    """``x1 << x2`` of integers: the bits moved up, zeros from below.

    >>> import dygraph
    >>> dygraph.bitwise_left_shift(dygraph.asarray([1, 3]), 2).tolist()
    [4, 12]
    """
    x, _, power, dtype = _shifted("bitwise_left_shift", x1, x2)
    return (x * power).astype(dtype)


@_described(_TWO, "Of the promoted type")
def bitwise_right_shift(x1, x2, /):
    """``x1 >> x2`` of integers: divided by ``2 ** x2``, rounded down.

    >>> import dygraph
    >>> dygraph.bitwise_right_shift(dygraph.asarray([8, -3]), 1).tolist()
    [4, -2]
    """
    x, bits, power, dtype = _shifted("bitwise_right_shift", x1, x2)
    all_gone = bits > 62
    quotient = x // ops.where(all_gone, ops.fill_any_like(power, value=1.0), power)
    sign = -((x < 0).astype("int64"))
    return ops.where(all_gone, sign + quotient * 0, quotient).astype(dtype)


def _float_pair(name, compute):
    """`compute` of two Variables of one float type in a function of any operands."""

    def function(x1, x2, /):
        return widened(compute, *map(floating, operands(name, x1, x2)))

    _named(name, function, compute.__doc__)
    return _described(_TWO, "Of the promoted type; integers give float32")(function)


def _larger_first(x, y):
    """The absolute values, the greater one first. Gradients take one way where they are equal."""
    x, y = (ops.where(_has_sign(v), -v, v) for v in (x, y))
    swapped = y > x
    return ops.where(swapped, y, x), ops.where(swapped, x, y)


def _or_one(x, condition):
    return ops.where(condition, ops.fill_any_like(x, value=1.0), x)


def _atan2(y, x):
    """The angle of the point (`x2`, `x1`): ``atan(x1 / x2)`` in the quadrant of the signs.

    >>> import dygraph
    >>> dygraph.atan2(dygraph.asarray([0.0, 1.0]), 1.0).tolist()[0]
    0.0
    """
    return ops.atan2(y, x)


def _hypot(x, y):
    """The length ``sqrt(x1 * x1 + x2 * x2)``, without overflow on the way.

    >>> import dygraph
    >>> dygraph.hypot(dygraph.asarray([3.0]), 4.0).tolist()
    [5.0]
    """
    far, near = _larger_first(x, y)
    endless = ops.logical_or(ops.isinf_v2(x), ops.isinf_v2(y))
    far = ops.where(endless, ops.fill_any_like(far, value=math.inf), far)
    part = near / _or_one(far, far == 0.0)
    part = ops.where(endless, ops.fill_any_like(part, value=0.0), part)
    return far * ops.sqrt(part * part + 1.0)


def _logaddexp(x, y):
    """``log(exp(x1) + exp(x2))``, without overflow on the way.

    >>> import dygraph
    >>> dygraph.logaddexp(dygraph.asarray([1000.0]), 0.0).tolist()
    [1000.0]
    """
    swapped = y > x
    far, near = ops.where(swapped, y, x), ops.where(swapped, x, y)
    same = ops.logical_and(ops.isinf_v2(x), x == y)  # whose difference is NaN
    gap = ops.where(same, ops.fill_any_like(x, value=0.0), near - far)
    return far + ops.log1p(ops.exp(gap))


def _copysign(x, y):
    """The absolute value of `x1` with the sign of `x2`. A NaN in `x2` counts as positive.

    >>> import dygraph
    >>> dygraph.copysign(dygraph.asarray([1.0, -2.0]), -0.0).tolist()
    [-1.0, -2.0]
    """
    return ops.where(ops.equal(_has_sign(x), _has_sign(y)), x, -x)


atan2 = _float_pair("atan2", _atan2)
hypot = _float_pair("hypot", _hypot)
logaddexp = _float_pair("logaddexp", _logaddexp)
copysign = _float_pair("copysign", _copysign)


@_described(_TWO, "Of the promoted type")
def nextafter(x1, x2, /):
    """The next float from `x1` towards `x2`. No gradient flows through it.

    >>> import dygraph
    >>> dygraph.nextafter(dygraph.asarray([1.0], "float64"), 2.0).item() - 1.0
    2.220446049250313e-16
    """
    x1, x2 = operands("nextafter", x1, x2)
    if x1.dtype.name not in ("float16", "float32", "float64"):
        raise ArgumentTypeError(
            f"nextafter: x1 and x2 must be float16, float32 or float64, got {x1.dtype.name}"
        )
    return through_numpy(np.nextafter, "nextafter", x1, x2)
