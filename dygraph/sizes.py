"""Sizes that remember where they come from, while `dygraph.jit.trace` records a function.

A program runs at any batch; Python has run at one. So what Python reads of a size that follows the
batch is no int but a `Size`: a polynomial of unknown sizes. It goes on into shapes and beside
Variables, where the program follows it; an answer that would be that of this batch alone (a
comparison, a loop, a number for NumPy) is refused with its line. `Size` is no subclass of int,
since C reads those without asking; `isinstance` takes it for one.
"""

import contextlib
import math
import operator
import os
import sys
import weakref

import numpy as np

from dygraph import _core
from dygraph.errors import InvalidArgumentError
from dygraph.recording import modes
from dygraph.watch import is_own_file, user_line

ops = _core.ops

# Values that stand for unknown sizes while shape rules are asked: beyond the constants of programs,
# and so few that products of two stay far below 64 bits.
_PRIMES = (10000019, 10000079, 10000103, 10000121, 10000139, 10000141, 10000169, 10000189)
_ONE = ()  # the monomial of constants


class Atom:
    """An unknown size: axis `axis` of the value `name`, `value` in this run."""

    __slots__ = ("axis", "fake", "least", "name", "number", "value")

    def __init__(self, number, name, axis, value, least):
        self.number, self.name, self.axis, self.value, self.least = number, name, axis, value, least
        self.fake = _PRIMES[number % len(_PRIMES)] + 1000 * (number // len(_PRIMES))


def _evaluate(terms, values):
    total = 0
    for monomial, factor in terms.items():
        for number in monomial:
            factor *= values[number]
        total += factor
    return total


def _sum(a, b, sign=1):
    terms = dict(a)
    for monomial, factor in b.items():
        terms[monomial] = terms.get(monomial, 0) + sign * factor
    return {m: f for m, f in terms.items() if f}


def _product(a, b):
    terms = {}
    for m, f in a.items():
        for n, g in b.items():
            key = tuple(sorted(m + n))
            terms[key] = terms.get(key, 0) + f * g
    return {m: f for m, f in terms.items() if f}


class Tracker:
    """What the sizes of one recording are made of."""

    def __init__(self, recorder):
        self._recorder = recorder
        self.atoms, self.closed, self.sources = [], {}, {}
        self.refused = None  # the first refusal, which a function may have swallowed
        self.live = True
        self._sizes = {}  # name -> list of int or terms
        self._done = self._declared = 0
        me = weakref.ref(self)
        recorder.set_reviser(lambda op, notes: me()._revise(op, notes))

    def feed(self, variable, name, follows, least):
        """A fed value; its first axis is unknown where it follows the batch."""
        sizes = list(_core.dims(variable))
        if follows and sizes:
            same = [a for a in self.atoms if a.least and least]
            sizes[0] = {(same[0].number,): 1} if same else self._new(name, 0, sizes[0], least)
            self.sources.setdefault(self._home(sizes[0]), (variable, 0))
        self._sizes[name] = sizes

    # What Python asks ---------------------------------------------------------------------------

    def dims(self, variable):
        """The ``shape`` of a Variable."""
        sizes = self._of(variable)
        if sizes is None:
            return _core.dims(variable)
        return tuple(
            Size(self, n, {self._home(n): (variable, axis)}, (variable, axis))
            if type(n) is dict
            else n
            for axis, n in enumerate(sizes)
        )

    def numel(self, variable):
        """The ``size`` of a Variable."""
        total = 1
        for n in self.dims(variable):
            total = n * total
        return total

    def knows(self, variable):
        """Whether it was fed or computed in this recording."""
        return self._recorder.find_name(variable) is not None

    def _of(self, variable):
        name = self._recorder.find_name(variable)
        if name is None:
            return None
        self._catch_up()
        sizes = self._sizes[name]
        for axis, n in enumerate(sizes):
            if type(n) is int and (name, axis) not in self.closed:
                self.closed[name, axis] = n, user_line()
        return sizes

    @staticmethod
    def _home(terms):
        """The atom that a size is, or None."""
        if len(terms) == 1:
            ((monomial, factor),) = terms.items()
            if factor == 1 and len(monomial) == 1:
                return monomial[0]
        return None

    # What shape rules say -----------------------------------------------------------------------

    def _new(self, name, axis, value, least=0):
        atom = Atom(len(self.atoms), name, axis, value, least)
        self.atoms.append(atom)
        return {(atom.number,): 1}

    def _catch_up(self):
        """Sizes of what was computed since the last question."""
        recorder = self._recorder
        for name, dims in recorder.declared(self._declared):
            self._declared += 1
            self._sizes.setdefault(name, dims)
        for i in range(self._done, recorder.count):
            self._done = i + 1
            read, made = recorder.arguments(i)
            known = {name: self._sizes[name] for name in read if name in self._sizes}
            known = {k: v for k, v in known.items() if any(type(n) is dict for n in v)}
            rules = [self._ask(i, known, values) for values in self._probes()]
            if not known and rules[0] is not None:
                rules = rules[:1]
            for name in made:
                dims = self._sizes.get(name)
                if dims is not None:
                    answers = [rule and rule.get(name) for rule in rules]
                    self._sizes[name] = self._read(name, dims, answers, known.values())

    def _probes(self):
        return [a.fake for a in self.atoms], [1] * len(self.atoms)

    def _ask(self, i, known, values):
        """{name: sizes} by the rule of an operator for some sizes of its inputs, or None."""
        dims = {
            name: [n if type(n) is int else _evaluate(n, values) for n in sizes]
            for name, sizes in known.items()
        }
        try:
            return self._recorder.infer_op(i, dims)
        except Exception:  # noqa: BLE001 - a rule may refuse sizes that no run has
            return None

    def _read(self, name, dims, answers, inputs):
        """Sizes of an output from what the rule made of some sizes of the inputs."""
        far, near = (answers + [None])[:2]
        if far is None or len(far) != len(dims):
            # Unknown sizes that are equal without our knowing: nothing is sure but the rank.
            return [self._new(name, axis, n) if inputs else n for axis, n in enumerate(dims)]
        fakes, ones = self._probes()
        actual = [a.value for a in self.atoms]
        known = [n for sizes in inputs for n in sizes if type(n) is dict]
        sizes = []
        for axis, value in enumerate(dims):
            small = near[axis] if near and len(near) == len(dims) else None
            want = far[axis], value
            found = value if far[axis] == value and small in (None, value) else None
            for terms in known if found is None else ():
                if (_evaluate(terms, fakes), _evaluate(terms, actual)) == want:
                    if small is None or _evaluate(terms, ones) == small:
                        found = terms
                        break
            if found is None:
                found = self._multiple(far[axis], value, small) or self._new(name, axis, value)
            sizes.append(found)
        return sizes

    def _multiple(self, far, value, small):
        """Unknown sizes times a number, which is what reshape and concat make of them."""
        for atom in self.atoms:
            factor, rest = divmod(far, atom.fake)
            if rest == 0 and 0 < factor < 100000 and factor * atom.value == value:
                if small in (None, factor):
                    return {(atom.number,): factor}
        return None

    # What operators are given -------------------------------------------------------------------

    def _revise(self, op, notes):
        """Write an operator whose attributes hold sizes so that it follows them."""
        self._catch_up()
        for name, given in notes.items():
            sizes = [given] if isinstance(given, Size) else list(given)
            terms = [n.terms if type(n) is Size else n for n in sizes]
            if name != "shape" or not self._follow(op, terms):
                first = next(n for n in sizes if type(n) is Size)
                raise self.refuse(
                    f"{op.type}: the attribute {name} must not depend on the batch size, got "
                    f"{first.describe()}",
                    "Write -1, or use an operator that reads the shape when it runs",
                )

    def _follow(self, op, sizes):
        if op.type in ("reshape2", "reshape"):
            plain = self._follow_reshape(op, sizes)
        elif op.type == "expand_v2":
            plain = self._follow_expand(op, sizes)
        elif op.type == "fill_constant":
            return self._follow_fill(op, sizes)
        else:
            return False
        if plain is None:
            return False
        op.set_attr("shape", plain)
        return True

    def _sole_input(self, op):
        names = op.input("X")
        return self._sizes.get(names[0]) if len(names) == 1 else None

    def _follow_reshape(self, op, sizes):
        """0 copies the size of X at this place, -1 is what is left over."""
        x, plain, left = self._sole_input(op), [], None
        for i, n in enumerate(sizes):
            if type(n) is int:
                plain.append(n)
            elif x and i < len(x) and x[i] == n:
                plain.append(0)
            elif left is None:
                left = i
                plain.append(-1)
            else:
                return None
        others = [i for i, n in enumerate(sizes) if type(n) is int and n == -1]
        if left is None or not others:
            return plain
        # The -1 that was given must be a number, so that the other one may stand.
        actual = [a.value for a in self.atoms]
        whole = {_ONE: 1}
        for n in x or ():
            whole = _product(whole, n if type(n) is dict else {_ONE: n})
        rest = {_ONE: 1}
        for i, n in enumerate(sizes):
            if i not in others:
                n = x[i] if n == 0 and type(n) is int else n
                rest = _product(rest, n if type(n) is dict else {_ONE: n})
        divided = _evaluate(rest, actual) and _evaluate(whole, actual) // _evaluate(rest, actual)
        if not x or not divided or _product(rest, {_ONE: divided}) != whole:
            return None
        plain[others[0]] = divided
        return plain

    def _follow_expand(self, op, sizes):
        """-1 keeps the size of X; axes count from the last one."""
        x = self._sole_input(op)
        lead = len(sizes) - len(x or ())
        plain = []
        for i, n in enumerate(sizes):
            if type(n) is dict and (not x or i < lead or x[i - lead] != n):
                return None
            plain.append(-1 if type(n) is dict else n)
        return plain

    def _follow_fill(self, op, sizes):
        """A filled tensor as long as something that is there already."""
        places = [i for i, n in enumerate(sizes) if type(n) is dict]
        at = places[0]
        for name, dims in self._sizes.items() if len(places) == 1 else ():
            for axis, n in enumerate(dims):
                if type(n) is dict and n == sizes[at] and self._recorder.fill_like(
                    op, name, axis, at
                ):
                    return True
        return False

    # Refusals -----------------------------------------------------------------------------------

    def refuse(self, what, fix):
        """The error to raise, kept in case the function swallows it."""
        error = InvalidArgumentError(f"trace: {what}, at {_asking_line()}. {fix}")
        self.refused = self.refused or error
        return error

    def bound(self, terms):
        """(least, most) value of a polynomial for all batches; None: there is none."""
        least = most = terms.get(_ONE, 0)
        for monomial, factor in terms.items():
            if monomial:
                low = factor
                for number in monomial:
                    low *= self.atoms[number].least
                least = least + low if factor > 0 and least is not None else None
                most = most + low if factor < 0 and most is not None else None
        return least, most

    def describe(self, terms):
        """``3, axis 0 of 'x'``, for messages."""
        value = _evaluate(terms, [a.value for a in self.atoms])
        atoms = sorted({number for monomial in terms for number in monomial})
        where = ", ".join(f"axis {self.atoms[n].axis} of '{self.atoms[n].name}'" for n in atoms)
        made = "" if self._home(terms) is not None else "made of "
        return f"{value} ({made}{where})"


_FIX = (
    "Sizes go on into arithmetic with Variables and into the shapes of reshape, expand, zeros, "
    "ones and full; decide on them outside the traced function"
)


class Size:
    """A size that follows the batch. Behaves as an int where the program can follow."""

    __slots__ = ("_axis", "_sources", "_tracker", "followed_value", "terms")

    def __init__(self, tracker, terms, sources, axis=None):
        # `followed_value` is the int of this run, which C++ takes where it notes the size.
        self._tracker, self.terms, self._sources, self._axis = tracker, terms, sources, axis
        self.followed_value = _evaluate(terms, [a.value for a in tracker.atoms])

    @property
    def __class__(self):
        return int

    def describe(self):
        """``3 (axis 0 of 'x')``, for messages."""
        return self._tracker.describe(self.terms)

    def refused(self, how, fix=_FIX):
        """The error for a use that Python alone would answer."""
        return self._tracker.refuse(
            f"what Python does must not depend on the batch size, but {how} of {self.describe()}",
            fix,
        )

    def variable(self, like):
        """The size as a 0-d Variable of the program, of the type of the Variable beside it."""
        total = _measured(*self._axis) if self._axis else 0
        for monomial, factor in self.terms.items() if not self._axis else ():
            part = factor
            for number in monomial:
                place = self._sources.get(number) or self._tracker.sources.get(number)
                if place is None:
                    raise self.refused("arithmetic with a Variable asks for the size")
                part = _measured(*place) * part
            total = part + total
        dtype = "int64" if str(like.dtype) == "bool" else like.dtype
        return total if total.dtype == dtype else total.astype(dtype)

    def binary(self, name, function, other):
        """``self + other`` and its like; `function` computes them of plain operands."""
        if not self._tracker.live:
            return function(self.followed_value, _plain(other))
        if isinstance(other, _core.Variable):
            return function(self.variable(other), other)
        if type(other) is Size:
            terms, sources = other.terms, {**self._sources, **other._sources}
        elif type(other) is int or type(other) is bool:
            terms, sources = ({_ONE: int(other)} if other else {}), self._sources
        elif isinstance(other, (int, float, complex, list, tuple, str, bytes, np.generic)):
            raise self.refused(f"`{_SIGNS[name]}` computes a number with the size")
        else:
            return NotImplemented
        rule = _RULES.get(name)
        terms = rule and rule(self.terms, terms)
        if terms is None:
            raise self.refused(f"`{_SIGNS[name]}` computes a number with the size")
        if not terms or list(terms) == [_ONE]:
            return terms.get(_ONE, 0)
        return Size(self._tracker, terms, sources)

    def compare(self, function, sign, other):
        """``self < other`` and its like: only what is so for every batch."""
        if not self._tracker.live:
            return function(self.followed_value, _plain(other))
        if isinstance(other, _core.Variable):
            return function(self.variable(other), other)
        if type(other) is Size:
            difference, what = _sum(self.terms, other.terms, -1), other.describe()
        elif isinstance(other, (int, float, np.generic)):
            difference, what = _sum(self.terms, {_ONE: other}, -1), repr(other)
        else:
            return NotImplemented
        least, most = self._tracker.bound(difference)
        answers = set()
        if least is not None and least == most:
            answers = {function(least, 0)}
        elif least is not None:
            answers = {function(least, 0), function(math.inf, 0)}
            if sign in ("==", "!=") and least <= 0:
                answers = {True, False}
        elif most is not None:
            answers = {function(most, 0), function(-math.inf, 0)}
            if sign in ("==", "!=") and most >= 0:
                answers = {True, False}
        if len(answers) == 1:
            return answers.pop()
        raise self.refused(f"`{sign} {what}` is a question to the size")

    def unary(self, name):
        """Everything else that Python may want of an int."""
        if not self._tracker.live:
            return getattr(self.followed_value, name)
        raise self.refused(f"{_ASKS.get(name, f'`.{name}`')} asks for the size")

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
        # Our own frames write messages; the user's could read the text again.
        if self._tracker.live and not is_own_file(sys._getframe(1).f_code.co_filename):
            raise self.refused("text asks for the size")
        return repr(self.followed_value)

    __str__ = __repr__

    def __format__(self, spec):
        if self._tracker.live and not is_own_file(sys._getframe(1).f_code.co_filename):
            raise self.refused("text asks for the size")
        return format(self.followed_value, spec)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce_ex__(self, protocol):
        if self._tracker.live:
            raise self.refused("pickle asks for the size")
        return int, (self.followed_value,)

    def __array__(self, *args, **kwargs):
        if self._tracker.live:
            raise self.refused("NumPy asks for the size")
        return np.asarray(self.followed_value)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if self._tracker.live:
            raise self.refused("NumPy asks for the size")
        return getattr(ufunc, method)(*map(_plain, inputs), **kwargs)


def _measured(x, axis):
    """The size of an axis as a 0-d Variable."""
    sizes = ops.shape(x)
    n = ops.slice(sizes, axes=[0], starts=[axis], ends=[axis + 1], decrease_axis=[0])
    return n.astype("int64")


def _is_library(file):
    """Whether a source file belongs to NumPy or to Python's own library."""
    return file.startswith((_NUMPY, _STANDARD, "<frozen")) and (
        file.startswith(_NUMPY) or "site-packages" not in file
    )


_NUMPY, _STANDARD = (os.path.dirname(module.__file__) + os.sep for module in (np, os))


def _asking_line():
    """The user's line, where NumPy or Python's library asked for it, too."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not is_own_file(file) and not _is_library(file):
            return f"{file}:{frame.f_lineno} in {frame.f_code.co_name}"
        frame = frame.f_back
    return user_line()


def _plain(value):
    return value.followed_value if type(value) is Size else value


def _divided(a, b):
    """Terms of ``a // b`` where it leaves nothing at any batch; None: it may."""
    divisor = b.get(_ONE)
    if list(b) != [_ONE] or any(factor % divisor for factor in a.values()):
        return None
    return {monomial: factor // divisor for monomial, factor in a.items()}


_RULES = {
    "__add__": _sum,
    "__radd__": _sum,
    "__sub__": lambda a, b: _sum(a, b, -1),
    "__rsub__": lambda a, b: _sum(b, a, -1),
    "__mul__": _product,
    "__rmul__": _product,
    "__floordiv__": _divided,
    "__mod__": lambda a, b: None if _divided(a, b) is None else {},
}
_SIGNS = {}
_ASKS = {
    "__int__": "int()",
    "__index__": "range(), a list, NumPy or C code",
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
    """The special methods that are all alike."""

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
    return type(a) is type(b) and (a.terms == b.terms if type(a) is Size else a == b)


def broadcast(*shapes):
    """What shapes make together by NumPy's rule, as a tuple. ValueError where they do not."""
    if all(type(n) is not Size for shape in shapes for n in shape):
        return np.broadcast_shapes(*shapes)
    rank = max(map(len, shapes))
    common = [1] * rank
    for shape in shapes:
        for i, n in enumerate(shape, rank - len(shape)):
            if same(n, 1) or same(n, common[i]):
                continue
            if not same(common[i], 1):
                size, other = (n, common[i]) if type(n) is Size else (common[i], n)
                raise size.refused(f"broadcasting to {other} asks for the size")
            common[i] = n
    return tuple(common)


class Offsets:
    """One level of detail of a traced value: how the rows of this batch are divided."""

    def __init__(self, tracker):
        self._tracker = tracker

    def _refuse(self, *args):
        raise self._tracker.refuse(
            "the lengths of sequences must not be read, since a program runs with others",
            "Compute with sequence operators",
        )

    __len__ = __iter__ = __getitem__ = __eq__ = __repr__ = __contains__ = __hash__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __bool__ = _refuse


def offsets(variable, lod):
    """`lod`, for a frame of the user's that asks; not its numbers while they are followed."""
    tracker = modes.sizes
    if tracker is None or not lod or is_own_file(sys._getframe(2).f_code.co_filename):
        return lod
    return [Offsets(tracker) for _ in lod] if tracker.knows(variable) else lod


@contextlib.contextmanager
def following(recorder):
    """Follow the sizes of what `recorder` records: a `Tracker`, in use until the end."""
    tracker = Tracker(recorder)
    before, modes.sizes = modes.sizes, tracker
    _core.track_sizes(tracker)
    try:
        yield tracker
    except Exception as error:
        if tracker.refused not in (None, error):  # which came out as something else
            raise tracker.refused from error
        raise
    finally:
        modes.sizes, tracker.live = before, False
        _core.track_sizes(before)
    if tracker.refused is not None:  # but the function went on
        raise tracker.refused
