"""Ranges, lists and what goes over them, where the run decides how long they are.

`STANDINS` are the functions that converted code gets in the place of Python's own. They do the same
for plain arguments.
"""

import dygraph
from dygraph import _core
from dygraph.recording import modes
from static.variable import Variable
from static.ways.graph import Meta, Restart, here
from static.ways.numbers import Number, as_variable, constant, is_number, number

__all__ = ["STANDINS", "Array", "Range", "is_open", "sequence_of"]

ops = _core.ops
_FAR = 1 << 30


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
            raise modes.ways.refuse(f"the step of range() at {here()} must be a plain number")
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
        state._leaf(path, "range", self.step)
        state._walk(self.start, (*path, "start"), lambda v: setattr(self, "start", v))
        state._walk(self.stop, (*path, "stop"), lambda v: setattr(self, "stop", v))


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
        state._leaf(path, self.kind, (self.count, start, len(self.parts)))
        for i, part in enumerate(self.parts):
            state._walk(part, (*path, i), lambda v, i=i: self.parts.__setitem__(i, v))


class Plain:
    """A sequence of known length beside open ones: only Variables of one type can be taken from."""

    def __init__(self, part):
        self.part = part
        if isinstance(part, Variable) and part.ndim:
            self.count = part.shape[0]
        elif isinstance(part, range):
            self.count = len(part)
        else:
            raise modes.ways.refuse(
                f"zip() at {here()} goes over {type(part).__name__} beside what the run decides. "
                "Stack its elements into one Variable"
            )

    def length(self):
        return self.count

    def get(self, i):
        if isinstance(self.part, Variable):
            return row(self.part, i)
        return i * self.part.step + self.part.start


class Array:
    """A list of Variables whose length the run decides: an array of the program.

    `knowledge` and `place` are where the explorer keeps what its elements are; `start` elements are
    left out in front.
    """

    def __init__(self, array, element, knowledge, start=0):
        self.array, self.element, self.knowledge, self.start = array, element, knowledge, start

    @classmethod
    def of(cls, items, element, knowledge):
        """An array of the elements of a list."""
        ways = modes.ways
        array = ways.pseudo("array_new", {"X": list(items)}, Meta("array", ()))
        made = cls(array, element, knowledge)
        for item in items:
            made._note(item)
        return made

    def _note(self, item):
        ways = modes.ways
        if not isinstance(item, Variable):
            raise ways.refuse(
                f"a list whose length the run decides holds Variables, got {type(item).__name__} "
                f"at {here()}"
            )
        meta = ways.meta_of(item)
        merged = meta if self.element is None else self.element.merged(meta)
        if merged is None:
            raise ways.refuse(
                f"a list whose length the run decides holds Variables of one type and rank, got "
                f"{self.element} and {meta} at {here()}"
            )
        if merged != self.element:
            known, place = self.knowledge
            known[place] = merged
            if self.element is not None:
                raise ways.restart("elements of a list differ")
            self.element = merged

    def append(self, item):
        self._whole("append()")
        self._note(item)
        ways = modes.ways
        self.array = ways.pseudo("array_append", {"X": [self.array, item]}, Meta("array", ()))

    def _whole(self, what):
        if self.start:
            raise modes.ways.refuse(f"{what} of a part of a list at {here()}: copy it before")

    def length(self):
        n = modes.ways.pseudo("array_length", {"X": [self.array]}, Meta("int64", ()))
        n = Number(n, int)
        if not self.start:
            return n
        left = n - self.start
        zero = constant(0, "int64")
        return Number(ops.elementwise_max(left.value, zero), int)

    def get(self, i):
        """The element of a number that lies within."""
        i = number(i + self.start if self.start else i)
        if self.element is None:
            raise modes.ways.meant(IndexError("list index out of range"))
        return modes.ways.pseudo("array_read", {"X": [self.array, i.value]}, self.element)

    def __getitem__(self, i):
        if isinstance(i, slice):
            start = 0 if i.start is None else i.start
            if i.stop is None and i.step is None and type(start) is int and start >= 0:
                return Array(self.array, self.element, self.knowledge, self.start + start)
            raise modes.ways.refuse(
                f"a list whose length the run decides can be sliced from a start alone, at {here()}"
            )
        if type(i) is int and i < 0:
            i = self.length() + i
            inside = i >= 0
        elif type(i) is int:
            inside = self.length() > i
        else:
            i = number(i)
            length = self.length()
            i = Number(ops.where(i.value < 0, (i + length).value, i.value), int)
            inside = Number(ops.logical_and((i >= 0).value, (i < length).value), bool)
        if not inside:
            raise modes.ways.meant(IndexError("list index out of range"))
        return self.get(i)

    def _all(self, what, type, **attrs):
        self._whole(what)
        if self.element is None:
            raise modes.ways.refuse(f"{what} of a list without elements at {here()}")
        meta = self.element
        known = list(meta.shape)
        axis = attrs["axis"]
        rank = len(known) + (type == "array_stack")
        if not -rank <= axis < rank:
            raise modes.ways.refuse(f"{what} at {here()}: axis must be in [{-rank}, {rank})")
        axis %= rank
        if type == "array_stack":
            shape = [*known[:axis], -1, *known[axis:]]
        else:
            shape = [*known[:axis], -1, *known[axis + 1 :]]
        made = Meta(meta.dtype, shape, 0, meta.stop_gradient)
        return modes.ways.pseudo(type, {"X": [self.array]}, made, {"axis": axis})

    def __getattr__(self, name):
        raise modes.ways.refuse(
            f"a list whose length the run decides has append, [i], [i:], len, iteration, stack "
            f"and concat, got .{name} at {here()}"
        )

    def __iter__(self):
        raise modes.ways.loops_alone("a list whose length the run decides")

    def __len__(self):
        raise modes.ways.refuse(
            f"code without source takes the length of a list that the run decides, at {here()}"
        )

    def __bool__(self):
        return bool(self.length() > 0)

    def walk_ways(self, state, path):
        state._leaf(path, "list of the run", (self.element, self.start))
        state._walk(self.array, (*path, "array"), lambda v: setattr(self, "array", v))


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


# In the place of Python's functions ---------------------------------------------------------------


def _range(*numbers):
    return Range(*numbers) if any(_is_symbolic(n) for n in numbers) else range(*numbers)


def _is_symbolic(value):
    return type(value) is Number or isinstance(value, Variable)


def _len(value):
    if isinstance(value, Variable):
        if not value.desc.shape:
            return len(value)
        n = value.desc.shape[0]
        return size_of(value, 0) if n == -1 else n
    if isinstance(value, (Range, Array)):
        return value.length()
    return len(value)


def _enumerate(iterable, start=0):
    if not _can_walk(iterable):
        return enumerate(iterable, start)
    return Walk("enumerate", [iterable], start)


def _zip(*iterables, strict=False):
    if not iterables or not all(_can_walk(i) for i in iterables):
        return zip(*iterables, strict=strict)
    walk = Walk("zip", iterables, strict)
    if walk.open and strict:
        raise modes.ways.refuse(f"zip(strict=True) at {here()} over what the run decides")
    return walk


def _reversed(sequence):
    if not _can_walk(sequence) or isinstance(sequence, (Walk, Variable)):
        return reversed(sequence)
    return Walk("reversed", [sequence])


def _can_walk(value):
    return type(value) in (list, tuple, range, str, dict, Walk, Range, Array) or isinstance(
        value, Variable
    )


def _int(value=0, *base):
    if type(value) is Number and not base:
        if value.kind is float:
            raise value.refused("int()", "Compute with whole numbers")
        return Number(value.as_kind(int), int)
    if isinstance(value, Variable) and not base:
        dtype = str(value.dtype)
        if dtype.startswith(("int", "uint", "bool")) and _single(value):
            return Number(value.reshape([]).astype("int64"), int)
    return int(value, *base)


def _float(value=0.0):
    if type(value) is Number:
        return Number(value.as_kind(float), float)
    if isinstance(value, Variable) and str(value.dtype) != "float16" and _single(value):
        return Number(value.reshape([]).astype("float64"), float)
    return float(value)


def _single(value):
    return all(n == 1 for n in value.desc.shape)


def _bool(value=False):
    return bool(value)


def _print(*values, **how):
    ways = modes.ways
    if not any(_is_symbolic(v) for v in values) or how:
        raise ways.refuse(
            f"print() of plain text, or with {sorted(how) or 'options'}, at {here()} would be left "
            "out: a program prints Variables. Print one beside it, or print after the call"
        )
    text = ""
    for value in values:
        if _is_symbolic(value):
            shown = value.value if type(value) is Number else value
            ways.pseudo("print", {"In": [shown]}, ways.meta_of(shown), {"message": text})
            text = ""
        else:
            text += f"{value} "
    return None


def _reshape(x, shape, *rest, **named):
    if isinstance(x, Variable) and not rest and not named and isinstance(shape, (list, tuple)):
        return x.reshape(list(shape))
    return dygraph.reshape(x, shape, *rest, **named)


def _arange(*numbers, **named):
    if not any(type(n) is Number for n in numbers) or named:
        return dygraph.arange(*numbers, **named)
    walk = Range(*numbers)
    return ops.range(*(as_variable(n, int).reshape([1]) for n in (walk.start, walk.stop, walk.step)))


def _stack(x, axis=0, *rest, **named):
    if isinstance(x, Array) and not rest and not named:
        return x._all("stack()", "array_stack", axis=axis)
    return dygraph.stack(x, axis, *rest, **named)


def _concat(x, axis=0, *rest, **named):
    if isinstance(x, Array) and not rest and not named:
        return x._all("concat()", "array_concat", axis=axis)
    return dygraph.concat(x, axis, *rest, **named)


STANDINS = {
    range: _range, len: _len, enumerate: _enumerate, zip: _zip, reversed: _reversed, int: _int,
    float: _float, bool: _bool, print: _print, dygraph.stack: _stack, dygraph.concat: _concat,
    dygraph.reshape: _reshape, dygraph.arange: _arange,
}  # fmt: skip
