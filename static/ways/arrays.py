"""Lists of Variables whose length the run decides."""

from dygraph import _core
from dygraph.autograd.recording import modes
from dygraph.errors import OutOfRangeError
from dygraph.static.variable import Variable
from dygraph.static.ways.graph import Meta, here
from dygraph.static.ways.numbers import Number, constant, number

__all__ = ["Array"]

ops = _core.ops


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
        items = [ways.symbolic(item) for item in items]
        array = ways.pseudo("array_new", {"X": items}, Meta("array", ()))
        made = cls(array, element, knowledge)
        for item in items:
            made._note(item)
        return made

    def _note(self, item):
        ways = modes.ways
        if not isinstance(item, Variable):
            raise ways.refuse(
                f"a list that grows in a loop must hold Variables, got {type(item).__name__} at "
                f"{here()}. Convert it with dygraph.to_variable()"
            )
        meta = ways.meta_of(item)
        merged = meta if self.element is None else self.element.merged(meta)
        if merged is None:
            raise ways.refuse(
                f"a list that grows in a loop must hold Variables of one type and rank, got "
                f"{self.element} and {meta} at {here()}. Convert them with astype() or reshape() "
                "before append()"
            )
        if merged != self.element:
            known, place = self.knowledge
            known[place] = merged
            if self.element is not None:
                raise ways.restart("elements of a list differ")
            self.element = merged

    def append(self, item):
        self._whole("append()")
        ways = modes.ways
        item = ways.symbolic(item)
        self._note(item)
        self.array = ways.pseudo("array_append", {"X": [self.array, item]}, Meta("array", ()))

    def _whole(self, what):
        if self.start:
            raise modes.ways.refuse(
                f"{what} at {here()} takes a whole list, got a slice of a list that grows in a "
                "loop. Stack the whole list, and slice the result"
            )

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
                f"a list that grows in a loop can be sliced as [start:] only, got another slice at "
                f"{here()}. Stack the list, and slice the result"
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

    def joined(self, what, type, **attrs):
        self._whole(what)
        if self.element is None:
            raise modes.ways.refuse(
                f"{what} at {here()} needs an element, got a list to which nothing was appended. "
                "Append before"
            )
        meta = self.element
        known = list(meta.shape)
        axis = attrs["axis"]
        rank = len(known) + (type == "array_stack")
        if not -rank <= axis < rank:
            raise modes.ways.meant(
                OutOfRangeError(
                    f"{what} at {here()}: axis must lie in [{-rank}, {rank}), got {axis}"
                )
            )
        axis %= rank
        if type == "array_stack":
            shape = [*known[:axis], -1, *known[axis:]]
        else:
            shape = [*known[:axis], -1, *known[axis + 1 :]]
        made = Meta(meta.dtype, shape, 0, meta.stop_gradient)
        return modes.ways.pseudo(type, {"X": [self.array]}, made, {"axis": axis})

    def __getattr__(self, name):
        raise modes.ways.refuse(
            f"a list that grows in a loop has append, [i], [i:], len, iteration, stack and concat, "
            f"got .{name} at {here()}. Write it with these"
        )

    def __iter__(self):
        raise modes.ways.loops_alone("a list")

    def __len__(self):
        raise modes.ways.refuse(
            f"code without source takes the length of a list that grows in a loop, at {here()}. "
            "Take it in a function whose source can be read"
        )

    def __bool__(self):
        return bool(self.length() > 0)

    def walk_ways(self, state, path):
        state.leaf(path, "list that the program fills", (self.element, self.start))
        state.walk(self.array, (*path, "array"), lambda v: setattr(self, "array", v))
