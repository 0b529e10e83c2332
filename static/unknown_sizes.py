"""Sizes of a program that are known only in a run, as Python reads them from ``x.shape``.

Fluid has -1 in their place, and code tests it: ``x.shape[0] == -1``, ``< 0``, a shape that is
printed or compared. All these work. In arithmetic with Variables and in shapes such a size is that
of the run, as in a trace (`dygraph.core.sizes`); uses in which Python would compute with -1 are
refused.
"""

import operator

import numpy as np

from dygraph import _core
from dygraph.core.sizes import ONE, Size, asking_line
from dygraph.errors import InvalidArgumentError

_RESHAPES = "reshape", "reshape2"  # which take -1 for the rest


class Unknown(Size):
    """A size that is known only in a run, or a result of arithmetic with such sizes."""

    __slots__ = ()

    def __init__(self, tracker, terms):
        self._tracker, self.terms, self.followed_value = tracker, terms, -1

    @property
    def bare(self):
        """Whether it is the size of an axis, which is -1 in Fluid."""
        return self._tracker.place(self.terms) is not None

    def refused(self, how, fix=None):
        """The error for a use that only Python would compute."""
        tracker = self._tracker
        variable, axis = tracker.atoms[next(number for m in self.terms for number in m)]
        name = variable.name
        return InvalidArgumentError(
            f"sizes of a program are known when it runs, but {how} of {self.describe()}, at "
            f"{asking_line()}. "
            + (fix or f"Use static.layers.shape({name})[{axis}], which is the size in each run")
        )

    def as_attribute(self, op, name):
        """The number for it in the attribute `name` of an operator."""
        if name == "shape" and op in _RESHAPES and self.bare:
            return -1
        raise self.refused(f"the attribute {name} of {op} reads the size")

    def compare(self, function, sign, other):
        """Comparisons as in Fluid, with -1; others are refused."""
        if isinstance(other, _core.Variable):
            return function(self.variable(other), other)
        if isinstance(other, Size):
            if other._tracker is self._tracker and other.terms == self.terms:
                return function(0, 0)
            if function in (operator.eq, operator.ne) and self.bare and other.bare:
                return function(0, 0)
            what = other.describe()
        elif isinstance(other, (int, float, np.generic)):
            if self.bare and other <= 0:
                return function(-1, other)
            what = repr(other)
        else:
            return NotImplemented
        raise self.refused(f"`{sign} {what}` tests the size")

    def __array__(self, dtype=None, copy=None):
        if dtype not in (None, object):
            raise self.refused("NumPy reads the size")
        return _boxed(self)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return getattr(ufunc, method)(*map(_boxed, inputs), **kwargs)

    def __abs__(self):
        return self

    def __hash__(self):
        return hash(-1 if self.bare else tuple(sorted(self.terms.items())))

    def __repr__(self):
        return "-1" if self.bare else self.describe()

    __str__ = __repr__

    def __format__(self, spec):
        return format(-1 if self.bare else self.describe(), spec)

    def __reduce_ex__(self, protocol):
        if not self.bare:
            raise self.refused("pickle reads the size")
        return int, (-1,)


def _boxed(value):
    """A size as an array of one object, for which NumPy calls the size; other values unchanged."""
    if not isinstance(value, Unknown):
        return value
    array = np.empty(1, object)
    array[0] = value
    return array.reshape(())


def numbers(values):
    """A list of sizes with -1 for open sizes of axes; None is kept."""
    if not isinstance(values, (list, tuple)):
        return values
    return [-1 if isinstance(v, Unknown) and v.bare else v for v in values]


def variables(values):
    """A list of sizes that may hold Variables, with Variables for open sizes."""
    return [v.tensor() if isinstance(v, Unknown) else v for v in values]


class Sizes:
    """The unknown sizes of one program."""

    live = True

    def __init__(self):
        self.atoms, self._numbers = [], {}

    def of(self, variable):
        """The ``shape`` of a variable of the program."""
        return tuple(
            n if n >= 0 else self._size(variable, axis)
            for axis, n in enumerate(variable.desc.shape)
        )

    def _size(self, variable, axis):
        number = self._numbers.get((id(variable), axis))
        if number is None:
            number = self._numbers[id(variable), axis] = len(self.atoms)
            self.atoms.append((variable, axis))  # which keeps the id alive
        return Unknown(self, {(number,): 1})

    def place(self, terms):
        """(Variable, axis) of this size, or None."""
        if len(terms) == 1:
            ((monomial, factor),) = terms.items()
            if factor == 1 and len(monomial) == 1:
                return self.atoms[monomial[0]]
        return None

    def describe(self, terms):
        """``2 * x.shape[0] - 1``, for messages."""
        text = ""
        for monomial, factor in sorted(terms.items(), reverse=True):
            sizes = [f"{v.name}.shape[{axis}]" for v, axis in (self.atoms[i] for i in monomial)]
            parts = [] if abs(factor) == 1 and monomial != ONE else [str(abs(factor))]
            sign = (" - " if text else "-") if factor < 0 else " + " if text else ""
            text += sign + " * ".join(parts + sizes)
        return text
