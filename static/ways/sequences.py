"""Ranges, Variables and what goes over them, where the run decides how long they are."""

from dygraph import _core
from dygraph.autograd.recording import modes
from dygraph.static.variable import Variable
from dygraph.static.ways.arrays import Array
from dygraph.static.ways.graph import here
from dygraph.static.ways.numbers import Number, as_variable, is_number

__all__ = ["Range", "Rows", "Sizes", "Walk", "is_open", "sequence_of", "size_of"]

ops = _core.ops


def size_of(variable, axis):
    """A size that the run decides, as a number of Python's."""
    sizes = ops.shape(variable)
    n = ops.slice(sizes, axes=[0], starts=[axis], ends=[axis + 1], decrease_axis=[0])
    return Number(n.astype("int64"), int, (variable.name, axis))


class Sizes:
    """What `Program.sizes` is while a function is explored."""

    def of(self, variable):
        return tuple(
            n if n >= 0 else size_of(variable, axis) for axis, n in enumerate(variable.desc.shape)
        )


def row(variable, i):
    """``variable[i]`` for a number that the run decides."""
    return variable[as_variable(i, int)] if type(i) is Number else variable[i]


class Range:
    """``range`` of numbers of which the run decides some."""

    def __init__(self, *numbers):
        start, stop, step = (0, *numbers, 1) if len(numbers) == 1 else (*numbers, 1)[:3]
        for n in (start, stop, step):
            if not is_number(n) or (type(n) is float) or (type(n) is Number and n.kind is float):
                raise modes.ways.meant(
                    TypeError(f"'{type(n).__name__}' object cannot be interpreted as an integer")
                )
        if type(step) is Number:
            raise modes.ways.refuse(
                f"the step of range() at {here()} must be a Python int, got {step.describe()}. "
                "Multiply the counter by it"
            )
        if step == 0:
            raise modes.ways.meant(ValueError("range() arg 3 must not be zero"))
        self.start, self.stop, self.step = start, stop, step

    def length(self):
        span = self.stop - self.start
        if self.step != 1:
            away = self.step - (1 if self.step > 0 else -1)
            span = (span + away) // self.step
        return span

    def get(self, i):
        return (i if self.step == 1 else i * self.step) + self.start

    def __iter__(self):
        raise modes.ways.loops_alone("a range")

    def __len__(self):
        raise modes.ways.loops_alone("a range")

    def walk_ways(self, state, path):
        state.leaf(path, "range", self.step)
        state.walk(self.start, (*path, "start"), lambda v: setattr(self, "start", v))
        state.walk(self.stop, (*path, "stop"), lambda v: setattr(self, "stop", v))


class Rows:
    """The rows of a Variable with an open first axis."""

    def __init__(self, variable):
        self.variable = variable

    def length(self):
        return size_of(self.variable, 0)

    def get(self, i):
        return row(self.variable, i)


class Walk:
    """``enumerate``, ``zip`` or ``reversed``: an iterator whose state can be compared."""

    def __init__(self, kind, parts, start=0):
        self.kind, self.parts, self.start, self.count = kind, list(parts), start, 0
        self.open = any(is_open(p) for p in self.parts)
        self._iterator = None

    def __iter__(self):
        return self

    def __next__(self):
        if self.open:
            raise modes.ways.loops_alone(f"{self.kind}()")
        if self._iterator is None:
            self._iterator = {
                "enumerate": lambda: enumerate(self.parts[0], self.start),
                "zip": lambda: zip(*self.parts, strict=self.start),
                "reversed": lambda: reversed(self.parts[0]),
            }[self.kind]()
        self.count += 1
        return next(self._iterator)

    def _sequences(self):
        found = [sequence_of(p) if is_open(p) else Plain(p) for p in self.parts]
        if self.count:
            raise modes.ways.loops_alone(f"{self.kind}() that was used before")
        return found

    def length(self):
        lengths = [s.length() for s in self._sequences()]
        result = lengths[0]
        for n in lengths[1:]:
            a, b = as_variable(result, int), as_variable(n, int)
            result = Number(ops.elementwise_min(a, b), int)
        return result

    def get(self, i):
        found = self._sequences()
        if self.kind == "enumerate":
            return (i + self.start, found[0].get(i))
        if self.kind == "reversed":
            return found[0].get(found[0].length() - 1 - i)
        return tuple(s.get(i) for s in found)

    def walk_ways(self, state, path):
        start = object() if type(self.start) is Number else self.start
        state.leaf(path, self.kind, (self.count, start, len(self.parts)))
        for i, part in enumerate(self.parts):
            state.walk(part, (*path, i), lambda v, i=i: self.parts.__setitem__(i, v))


class Plain:
    """A sequence of known length beside open ones: only Variables of one type can be taken from."""

    def __init__(self, part):
        self.part = part = modes.ways.symbolic(part)
        if isinstance(part, Variable) and part.ndim:
            self.count = part.shape[0]
        elif isinstance(part, range):
            self.count = len(part)
        else:
            raise modes.ways.refuse(
                f"zip() at {here()} combines a {type(part).__name__} with something whose length "
                "is known when the program runs. Stack its elements into one Variable"
            )

    def length(self):
        return self.count

    def get(self, i):
        if isinstance(self.part, Variable):
            return row(self.part, i)
        return i * self.part.step + self.part.start


def is_open(value):
    """Whether only the run knows how many elements there are."""
    if isinstance(value, Variable):
        return bool(value.desc.shape) and value.desc.shape[0] == -1
    return isinstance(value, (Range, Array)) or (isinstance(value, Walk) and value.open)


def sequence_of(value):
    """`value` with `length` and `get`; None where Python goes over it."""
    if not is_open(value):
        return None
    return Rows(value) if isinstance(value, Variable) else value
