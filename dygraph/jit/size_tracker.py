"""The sizes in a recording of `dygraph.jit.trace`: which are unknown, and how they are computed.

The batch and data-dependent sizes are unknown. The shape rule of an operator gives the sizes of its
results: it is evaluated with large primes, and with ones, in place of unknown sizes.
"""

import contextlib
import weakref

from dygraph import _core
from dygraph.autograd.recording import modes
from dygraph.core.sizes import ONE, Size, asking_line, evaluate, multiplied
from dygraph.errors import InvalidArgumentError
from dygraph.inspect.watch import user_line

# Values in place of unknown sizes for shape rules: greater than the constants of programs, and
# small enough that products of two stay far below 64 bits.
_PRIMES = (10000019, 10000079, 10000103, 10000121, 10000139, 10000141, 10000169, 10000189)


def _key(terms):
    return tuple(sorted(terms.items()))


class Atom:
    """An unknown size: axis `axis` of the value `name`, `value` in this run."""

    __slots__ = ("axis", "fake", "least", "name", "number", "value")

    def __init__(self, number, name, axis, value, least):
        self.number, self.name, self.axis, self.value, self.least = number, name, axis, value, least
        self.fake = _PRIMES[number % len(_PRIMES)] + 1000 * (number // len(_PRIMES))


class Tracker:
    """The sizes of one recording as terms of unknown sizes."""

    def __init__(self, recorder):
        self._recorder = recorder
        self.atoms, self.closed, self.calls = [], {}, []
        self.refused = None  # the first refusal, which a function may have caught
        self.live = True
        self.asked_of_empty = False  # a test whose answer holds for all non-empty batches
        self._failed = None  # the last error of an operator, and its line
        self._asking = False
        self._fed = {}  # key of an open size of the inputs -> terms
        self._places = {}  # terms -> (Variable, axis) of this size
        self._sizes = {}  # name -> list of int or terms
        self._done = self._declared = 0
        me = weakref.ref(self)
        recorder.set_reviser(lambda op, notes: me()._revise(op, notes))

    def feed(self, variable, name, keys):
        """A fed value; an axis with a key is unknown, and equal to others of the same key."""
        sizes = list(_core.dims(variable))
        for axis, key in enumerate(keys):
            if key is None:
                continue
            if axis == 0 and _core.lod(variable):  # rows, of which a sequence may have none
                sizes[0] = self._new(name, 0, sizes[0])
            else:
                if key not in self._fed:
                    self._fed[key] = self._new(name, axis, sizes[axis], 1)
                sizes[axis] = self._fed[key]
            self._places.setdefault(_key(sizes[axis]), (variable, axis))
        self._sizes[name] = sizes

    def note_calls(self):
        """Store the results of each call, before the recorder is finished."""
        self.calls = [self._recorder.arguments(i)[1] for i in range(self._recorder.count)]

    def end(self):
        """Sizes that outlive the recording are plain ints."""
        self.live, self._recorder, self._sizes, self._places = False, None, {}, {}

    # What Python asks ---------------------------------------------------------------------------

    def dims(self, variable):
        """The ``shape`` of a Variable."""
        sizes = self._of(variable)
        if sizes is None:
            return _core.dims(variable)
        for axis, n in enumerate(sizes):
            if type(n) is dict:
                self._places.setdefault(_key(n), (variable, axis))
        return tuple(Size(self, n) if type(n) is dict else n for n in sizes)

    def numel(self, variable):
        """The ``size`` of a Variable."""
        total = 1
        for n in self.dims(variable):
            total = n * total
        return total

    def declare(self, variable, sizes):
        """Store the sizes of a result whose shape rule gives only the rank."""
        name = self._recorder.find_name(variable)
        if name is not None:
            self._catch_up()
            self._sizes[name] = [n.terms if type(n) is Size else n for n in sizes]

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

    def place(self, terms):
        """(Variable, axis) of this size, or None."""
        return self._places.get(_key(terms))

    # What shape rules say -----------------------------------------------------------------------

    def _new(self, name, axis, value, least=0):
        atom = Atom(len(self.atoms), name, axis, value, least)
        self.atoms.append(atom)
        return {(atom.number,): 1}

    def _catch_up(self):
        """Sizes of the values computed since the last test."""
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
            name: [n if type(n) is int else evaluate(n, values) for n in sizes]
            for name, sizes in known.items()
        }
        self._asking = True
        try:
            return self._recorder.infer_op(i, dims)
        except Exception:  # noqa: BLE001 - a rule may refuse impossible sizes
            return None
        finally:
            self._asking = False

    def _read(self, name, dims, answers, inputs):
        """Sizes of an output from the results of the rule for some sizes of the inputs."""
        far, near = (answers + [None])[:2]
        if far is None or len(far) != len(dims):
            # Unknown sizes may be equal: only the rank is certain.
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
                if (evaluate(terms, fakes), evaluate(terms, actual)) == want:
                    if small is None or evaluate(terms, ones) == small:
                        found = terms
                        break
            if found is None:
                found = self._multiple(far[axis], value, small) or self._new(name, axis, value)
            sizes.append(found)
        return sizes

    def _multiple(self, far, value, small):
        """Unknown sizes times a number, as from reshape and concat."""
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
        """0 copies the size of X at this position, -1 is the rest."""
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
        # The given -1 becomes a number, so that another size can be -1.
        actual = [a.value for a in self.atoms]
        whole = {ONE: 1}
        for n in x or ():
            whole = multiplied(whole, n if type(n) is dict else {ONE: n})
        rest = {ONE: 1}
        for i, n in enumerate(sizes):
            if i not in others:
                n = x[i] if n == 0 and type(n) is int else n
                rest = multiplied(rest, n if type(n) is dict else {ONE: n})
        divided = evaluate(rest, actual) and evaluate(whole, actual) // evaluate(rest, actual)
        if not x or not divided or multiplied(rest, {ONE: divided}) != whole:
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
        """A filled tensor with the length of an existing one."""
        places = [i for i, n in enumerate(sizes) if type(n) is dict]
        at = places[0]
        for name, dims in self._sizes.items() if len(places) == 1 else ():
            for axis, n in enumerate(dims):
                if (
                    type(n) is dict
                    and n == sizes[at]
                    and self._recorder.fill_like(op, name, axis, at)
                ):
                    return True
        return False

    # Refusals -----------------------------------------------------------------------------------

    def refuse(self, what, fix):
        """The error to raise, stored in case the function catches it."""
        error = InvalidArgumentError(f"trace: {what}, at {asking_line()}. {fix}")
        self.refused = self.refused or error
        return error

    def failed(self, text):
        """An operator raised: the function must not treat that as true for every batch."""
        if not self._asking:
            self._failed = text, asking_line()

    def check(self):
        """Raise the error that the function caught."""
        if self.refused is None and self._failed is not None:
            raise InvalidArgumentError(
                "trace: an error must not be caught while a program is recorded, since other "
                "batches may not have it: '{}', at {}. Decide before the call".format(*self._failed)
            )
        if self.refused is not None:
            raise self.refused

    def bound(self, terms, empty=False):
        """(least, greatest) value of a polynomial over all batches; None: unbounded."""
        least = most = terms.get(ONE, 0)
        for monomial, factor in terms.items():
            if monomial:
                low = factor
                for number in monomial:
                    low *= 0 if empty else self.atoms[number].least
                least = least + low if factor > 0 and least is not None else None
                most = most + low if factor < 0 and most is not None else None
        return least, most

    def describe(self, terms):
        """``3, axis 0 of 'x'``, for messages."""
        value = evaluate(terms, [a.value for a in self.atoms])
        atoms = sorted({number for monomial in terms for number in monomial})
        where = ", ".join(f"axis {self.atoms[n].axis} of '{self.atoms[n].name}'" for n in atoms)
        made = "" if list(terms) == [(atoms[0],)] and terms[(atoms[0],)] == 1 else "made of "
        return f"{value} ({made}{where})"


@contextlib.contextmanager
def following(recorder):
    """Follow the sizes of a recording: a `Tracker`, active inside."""
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
        modes.sizes = before
        _core.track_sizes(before)
        tracker.end()
    tracker.check()
