"""Symbolic sizes, while `dygraph.jit.trace` records a function.

A program runs at any batch size, but Python has run at one. So a size that depends on the batch is
a `Size`, a polynomial of unknown sizes, instead of an int. It may be used in shapes and in
arithmetic with Variables, which the program can follow. A use that is right only for this batch (a
comparison, a loop, a number for NumPy) is refused with its line. `Size` is no subclass of int,
since C reads those directly, but `isinstance` accepts it as one. `size_tracker` holds the facts on
unknown sizes.
"""

import math
import operator
import os
import sys

import numpy as np

from dygraph import _core
from dygraph.autograd.recording import modes
from dygraph.inspect.watch import is_own_file, user_line

ops = _core.ops


# Polynomials: {numbers of unknown sizes, sorted: factor} ------------------------------------------

ONE = ()  # the monomial of constants


def evaluate(terms, values):
    total = 0
    for monomial, factor in terms.items():
        for number in monomial:
            factor *= values[number]
        total += factor
    return total


def added(a, b, sign=1):
    terms = dict(a)
    for monomial, factor in b.items():
        terms[monomial] = terms.get(monomial, 0) + sign * factor
    return {m: f for m, f in terms.items() if f}


def multiplied(a, b):
    terms = {}
    for m, f in a.items():
        for n, g in b.items():
            key = tuple(sorted(m + n))
            terms[key] = terms.get(key, 0) + f * g
    return {m: f for m, f in terms.items() if f}


# Sizes --------------------------------------------------------------------------------------------

_NUMBERS = _core.Variable, int, float, complex, list, tuple, str, bytes, np.generic
_FIX = (
    "Use sizes in arithmetic with Variables and in the shapes of reshape, expand, tile, zeros, "
    "ones and full; branch on them outside the traced function"
)


class Size:
    """A size that depends on the batch. Acts as an int where the program can follow it."""

    __slots__ = ("_tracker", "followed_value", "terms")
    is_of_the_run = False  # a value that no attribute of an operator can have

    def __init__(self, tracker, terms):
        # `followed_value` is the int of this run, which C++ reads when it records the size.
        self._tracker, self.terms = tracker, terms
        self.followed_value = evaluate(terms, [a.value for a in tracker.atoms])

    @property  # type: ignore[misc]
    def __class__(self):  # which isinstance asks
        return int

    @property
    def live(self):
        """Whether its program is still being recorded."""
        return self._tracker.live

    @property
    def is_of_an_axis(self):
        """Whether a Variable has an axis of this size."""
        return self._tracker.place(self.terms) is not None

    def describe(self):
        """``3 (axis 0 of 'x')``, for messages."""
        return self._tracker.describe(self.terms)

    def refused(self, how, fix=_FIX):
        """The error for a use that only Python would compute."""
        return self._tracker.refuse(
            f"Python code must not depend on the batch size, but {how} of {self.describe()}",
            fix,
        )

    def variable(self, like=None):
        """The size as a 0-d Variable of the program, of the type of the other operand."""
        place, total = self._tracker.place(self.terms), 0
        for monomial, factor in self.terms.items() if place is None else ():
            part = factor
            for number in monomial:
                part = self._measured({(number,): 1}) * part
            total = part + total
        if place is not None:
            total = self._measured(self.terms)
        dtype = "int32" if like is None else like.dtype
        dtype = "int64" if str(dtype) == "bool" else dtype
        return total if str(total.dtype) == str(dtype) else total.astype(dtype)

    def tensor(self):
        """The size as an int32 Variable of one element, for lists of sizes."""
        return self.variable().reshape([1])

    def _measured(self, terms):
        """The size of an axis, as a 0-d Variable."""
        place = self._tracker.place(terms)
        if place is None:
            raise self.refused("arithmetic with a Variable reads the size")
        sizes, axis = ops.shape(place[0]), place[1]
        n = ops.slice(sizes, axes=[0], starts=[axis], ends=[axis + 1], decrease_axis=[0])
        return n.astype("int64")

    def binary(self, name, function, other):
        """``self + other`` and similar; `function` computes it for plain operands."""
        if not self._tracker.live:
            return function(self.followed_value, _plain(other))
        if isinstance(other, _core.Variable) and name != "__rpow__":  # a power is another operator
            return function(self.variable(other), other)
        if isinstance(other, Size):
            if other._tracker is not self._tracker:
                raise self.refused(
                    f"`{_SIGNS[name]}` meets a size of another program beside the size"
                )
            terms = other.terms
        elif type(other) in (int, bool) or isinstance(other, np.integer):
            terms = {ONE: int(other)} if other else {}
        elif isinstance(other, _NUMBERS):
            raise self.refused(f"`{_SIGNS[name]}` computes a number with the size")
        else:
            return NotImplemented
        rule = _RULES.get(name)
        terms = rule and rule(self.terms, terms)
        if terms is None:
            raise self.refused(f"`{_SIGNS[name]}` computes a number with the size")
        if not terms or list(terms) == [ONE]:
            return terms.get(ONE, 0)
        return type(self)(self._tracker, terms)

    def compare(self, function, sign, other):
        """``self < other`` and similar: answers only what holds for every batch."""
        if not self._tracker.live:
            return function(self.followed_value, _plain(other))
        if isinstance(other, _core.Variable):
            return function(self.variable(other), other)
        if isinstance(other, Size):
            difference, what = added(self.terms, other.terms, -1), other.describe()
        elif isinstance(other, (int, float, np.generic)):
            difference, what = added(self.terms, {ONE: other}, -1), repr(other)
        else:
            return NotImplemented
        answer = _answer(function, *self._tracker.bound(difference))
        if answer is None:
            raise self.refused(f"`{sign} {what}` tests the size")
        if _answer(function, *self._tracker.bound(difference, empty=True)) is None:
            self._tracker.asked_of_empty = True
        return answer

    def unary(self, name):
        """Other operations of an int."""
        if not self._tracker.live:
            return getattr(self.followed_value, name)
        raise self.refused(f"{_ASKS.get(name, f'`.{name}`')} reads the size")

    def __getattr__(self, name):
        if not hasattr(int, name):
            raise AttributeError(f"a size has no attribute '{name}'")
        return self.unary(name)

    def __bool__(self):
        return self != 0

    def __pos__(self):
        return self

    def __neg__(self):
        return self * -1

    def __abs__(self):
        return self if self >= 0 else -self

    def __pow__(self, other, modulus=None):
        if not self._tracker.live:
            return pow(self.followed_value, _plain(other), modulus)
        if type(other) is not int or not 0 < other < 5 or modulus is not None:
            raise self.refused("`**` computes a number with the size")
        return self if other == 1 else self * self ** (other - 1)

    def __repr__(self):
        self._check_text(sys._getframe(1))
        return repr(self.followed_value)

    __str__ = __repr__

    def __format__(self, spec):
        self._check_text(sys._getframe(1))
        return format(self.followed_value, spec)

    def _check_text(self, frame):
        """The text, for our own frames and `print`; other uses might compare it."""
        if not self._tracker.live or is_own_file(frame.f_code.co_filename):
            return
        from dygraph.core.size_texts import is_written  # parses Python; few programs need it

        if not is_written(frame):
            raise self.refused("text that is not printed reads the size")

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce_ex__(self, protocol):
        if self._tracker.live:
            raise self.refused("pickle reads the size")
        return int, (self.followed_value,)

    def __array__(self, *args, **kwargs):
        if self._tracker.live:
            raise self.refused("NumPy reads the size")
        return np.asarray(self.followed_value)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if self._tracker.live:
            raise self.refused("NumPy reads the size")
        return getattr(ufunc, method)(*map(_plain, inputs), **kwargs)


def is_library(file):
    """Whether a source file belongs to NumPy or to Python's own library."""
    return file.startswith((_NUMPY, _STANDARD, "<frozen")) and (
        file.startswith(_NUMPY) or "site-packages" not in file
    )


_NUMPY, _STANDARD = (os.path.dirname(str(module.__file__)) + os.sep for module in (np, os))


def asking_line():
    """The user's line, also for reads by NumPy or Python's library."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not is_own_file(file) and not is_library(file):
            return f"{file}:{frame.f_lineno} in {frame.f_code.co_name}"
        frame = frame.f_back
    return user_line()


def _answer(function, least, most):
    """The answer for all numbers from `least` to `most`, compared with 0; None: it varies."""
    if least is not None and least == most:
        return function(least, 0)
    if least is None and most is None:
        return None
    end = least if most is None else most
    far = math.inf if most is None else -math.inf
    crosses = end <= 0 if most is None else end >= 0
    if crosses and function in (operator.eq, operator.ne):
        return None
    return function(end, 0) if function(end, 0) == function(far, 0) else None


def _plain(value):
    return value.followed_value if isinstance(value, Size) else value


def _divided(a, b):
    """Terms of ``a // b`` if there is no remainder at any batch; else None."""
    divisor = b.get(ONE)
    if list(b) != [ONE] or any(factor % divisor for factor in a.values()):
        return None
    return {monomial: factor // divisor for monomial, factor in a.items()}


_RULES = {
    "__add__": added,
    "__radd__": added,
    "__sub__": lambda a, b: added(a, b, -1),
    "__rsub__": lambda a, b: added(b, a, -1),
    "__mul__": multiplied,
    "__rmul__": multiplied,
    "__floordiv__": _divided,
    "__mod__": lambda a, b: None if _divided(a, b) is None else {},
}
_SIGNS: dict[str, str] = {}
_ASKS = {
    "__int__": "int()",
    "__index__": "code that needs an int (range(), a list, NumPy)",
    "__float__": "float()",
    "__complex__": "complex()",
    "__hash__": "a set, or a key of a dict,",
    "__round__": "round()",
    "__trunc__": "math",
    "__floor__": "math",
    "__ceil__": "math",
    "__invert__": "`~`",
}


def _add_methods():
    """The special methods of one pattern."""

    def binary(name, function):
        return lambda self, other: self.binary(name, function, other)

    def compare(function, sign):
        return lambda self, other: self.compare(function, sign, other)

    def unary(name):
        def ask(self, *args):
            return self.unary(name)(*args)

        return ask

    signs = "add + sub - mul * truediv / floordiv // mod % lshift << rshift >> and & or | xor ^"
    signs = signs.split()
    for word, sign in zip(signs[::2], signs[1::2], strict=True):
        function = getattr(operator, f"__{word}__")
        turned = lambda a, b, function=function: function(b, a)  # noqa: E731
        for name, f in ((f"__{word}__", function), (f"__r{word}__", turned)):
            _SIGNS[name] = sign
            setattr(Size, name, binary(name, f))
    for name, f in (("__divmod__", divmod), ("__rdivmod__", lambda a, b: divmod(b, a))):
        _SIGNS[name] = "divmod()"
        setattr(Size, name, binary(name, f))
    _SIGNS["__rpow__"] = "**"
    Size.__rpow__ = binary("__rpow__", lambda a, b: b**a)
    for word, sign in zip(
        "lt le eq ne gt ge".split(), ("<", "<=", "==", "!=", ">", ">="), strict=True
    ):
        setattr(Size, f"__{word}__", compare(getattr(operator, word), sign))
    for name in _ASKS:
        setattr(Size, name, unary(name))


_add_methods()


def same(a, b):
    """Whether two sizes are equal at every batch; False also where they may be."""
    return type(a) is type(b) and (a.terms == b.terms if isinstance(a, Size) else a == b)


def broadcast(*shapes):
    """The broadcast shape by NumPy's rule, as a tuple. ValueError if there is none.

    The program checks a size that is known when it runs, -1.
    """
    if any(type(n) is int and n < 0 for shape in shapes for n in shape):
        known = np.broadcast_shapes(*(tuple(1 if n == -1 else n for n in s) for s in shapes))
        filled = [(1,) * (len(known) - len(shape)) + tuple(shape) for shape in shapes]
        return tuple(
            -1 if n == 1 and -1 in at else n
            for n, at in zip(known, zip(*filled, strict=True), strict=True)
        )
    if not any(isinstance(n, Size) for shape in shapes for n in shape):
        return np.broadcast_shapes(*shapes)
    rank = max(map(len, shapes))
    common = [1] * rank
    for shape in shapes:
        for i, n in enumerate(shape, rank - len(shape)):
            if same(n, 1) or same(n, common[i]):
                continue
            if not same(common[i], 1):
                size, other = (n, common[i]) if isinstance(n, Size) else (common[i], n)
                raise size.refused(f"broadcasting to {other} reads the size")
            common[i] = n
    return tuple(common)


class Offsets:
    """One level of detail of a traced value, for this batch."""

    def __init__(self, tracker):
        self._tracker = tracker

    def _refuse(self, *args):
        raise self._tracker.refuse(
            "the lengths of sequences must not be read, since a program runs with others",
            "Compute with sequence operators",
        )

    __len__ = __iter__ = __getitem__ = __eq__ = __repr__ = __contains__ = __hash__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __bool__ = _refuse


def text(variable):
    """The shape as text without followed sizes: ``(?, 4)``."""
    if modes.sizes is None:
        return str(_core.dims(variable))
    shape = ", ".join("?" if isinstance(n, Size) else str(n) for n in variable.shape)
    return f"({shape},)" if variable.ndim == 1 else f"({shape})"


def failed(message):
    """Checks that compare sizes as plain numbers call this before they raise."""
    if modes.sizes is not None:
        modes.sizes.failed(message)


def offsets(variable, lod):
    """`lod` for a user's frame, without its numbers while they are followed."""
    tracker = modes.sizes
    if tracker is None or not lod or is_own_file(sys._getframe(2).f_code.co_filename):
        return lod
    return [Offsets(tracker) for _ in lod] if tracker.knows(variable) else lod
