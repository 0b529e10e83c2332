"""Python numbers that are known only in a run: sizes, loop counters, lengths.

A `Number` acts as an int, float or bool in Python, and is a variable without axes of int64, float64
or bool in the program. It computes like Python's numbers; with a Variable it takes the Variable's
type, like a Python number.
"""

import operator

from dygraph import _core
from dygraph.autograd.recording import modes
from dygraph.core.sizes import Size
from dygraph.errors import ArgumentTypeError
from dygraph.static.ways.graph import here, spot

ops = _core.ops

TYPES = {bool: "bool", int: "int64", float: "float64"}


_ROOM = 62  # binary digits of an int of the run; beyond these it raises
SIZE = 31  # of a size, or of the number of iterations
_STEP = 20  # adding constants below this cannot overflow a counter in practice


class _Live:
    live = True


_LIVE = _Live()
_PLAIN = {"__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__"}
_DIVISIONS = {"__truediv__", "__rtruediv__"}
_WHOLE = {"__floordiv__", "__rfloordiv__", "__mod__", "__rmod__"}
_BITS = {
    "__and__": "logical_and", "__or__": "logical_or", "__xor__": "logical_xor",
    "__rand__": "logical_and", "__ror__": "logical_or", "__rxor__": "logical_xor",
}  # fmt: skip


class Number(Size):
    """A number of the program in Python.

    Attributes
    ----------
    kind : type
        bool, int or float.
    value : Variable
        Without axes.
    axis : tuple, optional
        (name, axis) of the Variable whose size it is.
    digits : int
        The maximum of binary digits of an int, for overflow checks.
    """

    __slots__ = ("axis", "digits", "kind", "value")
    is_of_the_run = True

    def __init__(self, value, kind, axis=None, digits=None):
        self.value, self.kind, self.axis = value, kind, axis
        self.digits = digits or (SIZE if axis is not None else _ROOM)
        self._tracker, self.followed_value, self.terms = _LIVE, -1, {(id(value),): 1}
        modes.ways.plain_names.add(value.name)

    @property  # type: ignore[misc]
    def __class__(self):  # which isinstance asks
        return self.kind

    @property
    def is_of_an_axis(self):
        return self.axis is not None

    def describe(self):
        """``the size of axis 0 of 'x'``, for messages."""
        if self.axis is None:
            article = "an" if self.kind is int else "a"
            return f"{article} {self.kind.__name__} that the program computes"
        return "the size of axis {1} of '{0}'".format(*self.axis)

    def refused(self, how, fix=None):
        """The error for a use that only Python could compute."""
        fix = fix or "Use it in arithmetic, comparisons and range(), which take it as it is"
        return modes.ways.refuse(
            f"{self.describe()} is known when the program runs: {how} at {spot(here())} cannot "
            f"read it. {fix}"
        )

    def as_attribute(self, op, name):
        raise self.refused(f"the attribute {name} of {op}")

    # As Variables -----------------------------------------------------------------------------

    def as_kind(self, kind):
        """The value as that of another kind of number."""
        return self.value if kind is self.kind else self.value.astype(TYPES[kind])

    def variable(self, like=None):
        """The value in the type of the other operand, like a Python number."""
        dtype = self.value.dtype if like is None else like.dtype
        if like is not None and not dtype.is_floating:
            if self.kind is float or (str(dtype) == "bool") != (self.kind is bool):
                raise ArgumentTypeError(
                    f"a variable of {dtype} does not combine with a {self.kind.__name__}. Convert "
                    "it with astype() first"
                )
        return self.value if str(dtype) == str(self.value.dtype) else self.value.astype(dtype)

    def tensor(self):
        """The value as an int32 Variable of one element, for lists of sizes."""
        return self.value.astype("int32").reshape([1])

    # Computing --------------------------------------------------------------------------------

    def binary(self, name, function, other):
        if isinstance(other, _core.Variable):
            return function(self.variable(other), other)
        if not is_number(other):
            return NotImplemented
        kind = float if float in (self.kind, kind_of(other)) else int
        if name in _PLAIN:
            one, two = self.as_kind(kind), as_variable(other, kind)
            made = function(one, two)
            if kind is float:
                return Number(made, kind)
            digits = _digits_of(name, self, other)
            if digits > _ROOM:
                digits = _ROOM
                _check_room(function(one.astype("float64"), two.astype("float64")))
            return Number(made, kind, digits=digits)
        if name in _DIVISIONS or (name in _WHOLE and kind is int):
            divisor = self if name.startswith("__r") else other
            if divisor == 0:
                text = "division by zero" if kind is int else "float division by zero"
                raise modes.ways.meant(ZeroDivisionError(text))
            kind = float if name in _DIVISIONS else int
            return Number(function(self.as_kind(kind), as_variable(other, kind)), kind)
        if name in _BITS and bool is self.kind is kind_of(other):
            result = getattr(ops, _BITS[name])(self.value, as_variable(other, bool))
            return Number(result, bool)
        raise self.refused(f"`{name.strip('_')}`")

    def compare(self, function, sign, other):
        if isinstance(other, _core.Variable):
            return function(self.variable(other), other)
        if not is_number(other):
            return NotImplemented
        kind = max(self.kind, kind_of(other), key=(bool, int, float).index)
        kind = int if kind is bool and function not in (operator.eq, operator.ne) else kind
        return Number(function(self.as_kind(kind), as_variable(other, kind)), bool)

    def unary(self, name):
        raise self.refused(_ASKS.get(name, f"`{name}`"))

    def __bool__(self):
        return modes.ways.ask(self.value if self.kind is bool else (self != 0).value)

    def __neg__(self):
        return self * -1

    def __abs__(self):
        kind = int if self.kind is bool else self.kind
        return Number(ops.abs(self.as_kind(kind)), kind)

    def __pow__(self, other, modulus=None):
        if type(other) is not int or not 0 < other <= 8 or modulus is not None:
            raise self.refused("`**`")
        if self.kind is float and other > 1:
            raise self.refused("`**`", "Multiply it with itself")
        result = self
        for _ in range(other - 1):
            result = result * self
        return result

    def __repr__(self):
        return modes.ways.text(self.describe())

    __str__ = __repr__

    def __format__(self, spec):
        return modes.ways.text(self.describe())

    def __reduce_ex__(self, protocol):
        raise self.refused("a copy")

    def __array__(self, *args, **kwargs):
        raise self.refused("NumPy")

    def __array_ufunc__(self, *args, **kwargs):
        raise self.refused("NumPy")


_ASKS = {
    "__int__": "int()", "__index__": "code that needs an int", "__float__": "float()",
    "__hash__": "a set, or a key of a dict,", "__round__": "round()", "__trunc__": "math.trunc()",
    "__floor__": "math.floor()", "__ceil__": "math.ceil()", "__complex__": "complex()",
}  # fmt: skip


def is_number(value):
    """Whether it is one of Python's numbers, or a `Number`."""
    return type(value) in (bool, int, float, Number)


def kind_of(value):
    """bool, int or float."""
    return value.kind if type(value) is Number else type(value)


def _digits_of(name, one, two):
    """The most binary digits of a sum or product of two ints."""
    given = [n.digits if type(n) is Number else abs(n).bit_length() for n in (one, two)]
    if "mul" in name:
        return sum(given)
    return max(given) + (min(given) > _STEP or max(given) < _ROOM)


def _check_room(value):
    """Raise an error in the run if a value, computed as a float, is too large for an int."""
    getattr(ops, "assert")(
        ops.abs(value) < constant(2.0**_ROOM, "float64"),
        message=f"an int that the program computes must be below 2**{_ROOM}",
        error="OverflowError",
    )


def constant(value, dtype):
    """A variable without axes that an operator fills."""
    made = ops.fill_constant(shape=[], dtype=dtype, value=float(value), str_value=repr(value))
    modes.ways.plain_names.add(made.name)
    return made


def number(value):
    """A Python number as a `Number`."""
    if type(value) is Number:
        return value
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise modes.ways.refuse(
            f"an int must fit into 64 bits to become part of a program, got {value} at {here()}"
        )
    plain = int(value) if type(value) is bool else value
    return Number(constant(plain, TYPES[type(value)]), type(value))


def as_variable(value, kind):
    """A number as a variable of a kind."""
    if type(value) is Number:
        return value.as_kind(kind)
    return number(kind(value)).value
