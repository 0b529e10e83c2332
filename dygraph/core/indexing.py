"""Basic indices: ints, slices, Ellipsis and None become one slicing operator.

`index_arrays` has ``x[index]`` itself, with arrays, lists and masks.
"""

from dygraph import _core
from dygraph.autograd.recording import modes
from dygraph.core import sizes
from dygraph.core.sizes import Size
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, OutOfRangeError, kind_of

Variable = _core.Variable
ops = _core.ops

FAR = 2**31 - 1  # beyond every axis that an attribute can name


class NotBasic(Exception):
    """An index holds more than ints, slices, Ellipsis and None. Internal to this package."""


class Selection:
    """A basic index resolved against a shape, as attributes of the slicing operators."""

    __slots__ = ("axes", "starts", "ends", "steps", "picked", "added", "strided")

    def __init__(self, index, shape):
        self.axes, self.starts, self.ends, self.steps = [], [], [], []
        self.picked = []  # axes of the input that an int removes
        self.added = []  # axes of the result from None
        self.strided = False
        items = index if isinstance(index, tuple) else (index,)
        used = dots = 0
        for item in items:
            if type(item) is int or isinstance(item, (slice, Size)):
                used += 1
            elif item is Ellipsis:
                dots += 1
            elif item is not None:
                if plain_int(item) is None:
                    raise NotBasic
                used += 1
        if dots > 1 or used > len(shape):
            raise NotBasic  # if it is an error, the general path raises it
        axis = out = 0
        for item in items:
            if item is None:
                self.added.append(out)
                out += 1
            elif item is Ellipsis:
                axis += len(shape) - used
                out += len(shape) - used
            elif isinstance(item, slice):
                self.add_slice(item, axis)
                axis += 1
                out += 1
            elif isinstance(item, Size):
                self.picked.append(axis)
                self._add(axis, item, item + 1, 1)
                axis += 1
            else:
                self.add_int(int(item), axis, shape[axis])
                axis += 1

    def add_int(self, i, axis, size):
        """Selects one entry of an axis and removes the axis."""
        wrapped(i, axis, size)
        self.picked.append(axis)
        self._add(axis, i, i + 1 if i != -1 else FAR, 1)

    def add_slice(self, item, axis):
        """Selects a range of an axis with its given bounds, since the operators count like NumPy.

        So a traced program repeats it for any size of the axis.
        """
        start, stop, step = item.start, item.stop, item.step
        step = 1 if step is None else whole(step)
        if step == 1:
            if start is None and stop is None:
                return
        elif step == 0:
            raise InvalidArgumentError("the step of a slice cannot be 0")
        else:
            self.strided = True
        first, last = (0, FAR) if step > 0 else (FAR, -FAR)
        start = first if start is None else bound(start)
        stop = last if stop is None else bound(stop)
        self._add(axis, start, stop, step)

    def _add(self, axis, start, end, step):
        self.axes.append(axis)
        self.starts.append(start)
        self.ends.append(end)
        self.steps.append(step)

    def bounds(self):
        """Starts and ends as inputs of the operators, if some are known only in a run."""
        if {int}.issuperset(map(type, [*self.starts, *self.ends])):
            return {}
        lists = {"StartsTensorList": self.starts, "EndsTensorList": self.ends}
        if self.strided:
            lists["StridesTensorList"] = self.steps
        return {slot: [as_tensor(n) for n in values] for slot, values in lists.items()}

    def read(self, x):
        """The part of `x`; with strides, axes in `picked` are kept with size 1."""
        bounds = self.bounds()
        if bounds:
            attrs = {"axes": self.axes} if self.strided else {
                "axes": self.axes, "decrease_axis": self.picked
            }  # fmt: skip
            kind = "strided_slice" if self.strided else "slice"
            return _core.run_op(kind, {"Input": x, **bounds}, attrs)["Out"]
        if self.strided:
            return ops.strided_slice(
                x, axes=self.axes, starts=self.starts, ends=self.ends, strides=self.steps
            )
        if self.axes:
            return ops.slice(
                x,
                axes=self.axes,
                starts=self.starts,
                ends=self.ends,
                decrease_axis=self.picked,
            )
        return x

    def place(self):
        """(inputs, attributes) of set_value for this part."""
        attrs = {
            "axes": self.axes,
            "steps": self.steps,
            "decrease_axes": self.picked,
            "none_axes": self.added,
        }
        bounds = self.bounds()
        if bounds:
            return {slot: v for slot, v in bounds.items() if slot != "StridesTensorList"}, attrs
        return {}, {**attrs, "starts": self.starts, "ends": self.ends}

    def write(self, x, value):
        """Set the part of `x`, in place."""
        bounds, attrs = self.place()
        _core.run_in_place("set_value", [x, value, *bounds.values()], attrs)

    def written(self, x, value):
        """`x` with another part, as a new Variable."""
        bounds, attrs = self.place()
        return _core.run_op("set_value", {"Input": x, "ValueTensor": value, **bounds}, attrs)["Out"]


def wrapped(i, axis, size):
    """A position counted from the front. OutOfRangeError names axis and size."""
    if size < 0:  # open: the operator checks when it runs
        return i
    if not -size <= i < size:
        text = f"index {i} is out of range for axis {axis} of size {size}"
        sizes.failed(text)
        raise OutOfRangeError(text)
    return i + size if i < 0 else i


def plain_int(item):
    """An int or a NumPy int as an int; None for other types, also for Variables."""
    if isinstance(item, (bool, Variable)) or not hasattr(type(item), "__index__"):
        return None
    if getattr(item, "shape", ()) or str(getattr(item, "dtype", "")) == "bool":
        return None
    try:
        return item.__index__()
    except TypeError:  # a 0-d array of floats has the method, too
        return None


def whole(item):
    """A start, stop or step of a slice as an int; an integer Variable of one element is valid too.

    Ints beyond 32 bits are clipped, which does not change a slice.
    """
    if type(item) is not int:
        if isinstance(item, bool) or not hasattr(type(item), "__index__"):
            raise ArgumentTypeError(f"a slice must be made of ints or None, got {kind_of(item)}")
        item = item.__index__()
    return max(min(item, FAR), -FAR)


def bound(item):
    """A start or stop of a slice: an int, or a value known only in a run of a program."""
    if isinstance(item, Size) and item.live:
        return item
    if isinstance(item, Variable) and not item.dtype.is_inexact and str(item.dtype) != "bool":
        if _core.is_symbol(item) or (modes.sizes is not None and modes.sizes.knows(item)):
            return item
    return whole(item)


def as_tensor(n):
    """A start, end or stride as a Variable of one element."""
    if isinstance(n, Size):
        return n.tensor()
    return n.reshape([1]) if isinstance(n, Variable) else _core.literal([n], "int32")
