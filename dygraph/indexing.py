"""Reading and writing parts of a Variable: ints, slices with steps, Ellipsis and None."""

from dygraph import _core
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    OutOfRangeError,
    UnimplementedError,
    kind_of,
)

Variable = _core.Variable
ops = _core.ops


class Selection:
    """A basic index resolved against a shape, in the terms of the slicing operators."""

    __slots__ = ("axes", "starts", "ends", "steps", "picked", "added", "strided")

    def __init__(self, index, shape):
        self.axes, self.starts, self.ends, self.steps = [], [], [], []
        self.picked = []  # axes of the input that an int takes away
        self.added = []  # axes of the result that None makes
        self.strided = False
        items = list(index) if isinstance(index, tuple) else [index]
        used = sum(1 for i in items if i is not None and i is not Ellipsis)
        dots = sum(1 for i in items if i is Ellipsis)
        if dots > 1:
            raise OutOfRangeError("an index can hold one Ellipsis ('...'), got more")
        if used > len(shape):
            raise OutOfRangeError(
                f"too many indices: the variable has {len(shape)} axes, got {used} indices"
            )
        axis = out = 0
        for item in items:
            if item is None:
                self.added.append(out)
                out += 1
            elif item is Ellipsis:
                axis += len(shape) - used
                out += len(shape) - used
            elif isinstance(item, slice):
                self._slice(item, axis, shape[axis])
                axis += 1
                out += 1
            else:
                self._int(item, axis, shape[axis])
                axis += 1

    def _int(self, item, axis, size):
        i = position(item)
        if not -size <= i < size:
            raise OutOfRangeError(f"index {i} is out of range for axis {axis} of size {size}")
        i %= size
        self.picked.append(axis)
        self._add(axis, i, i + 1, 1)

    def _slice(self, item, axis, size):
        start, stop, step = (
            None if v is None else position(v) for v in (item.start, item.stop, item.step)
        )
        if step == 0:
            raise InvalidArgumentError("the step of a slice cannot be 0")
        start, stop, step = slice(start, stop, step).indices(size)
        count = max(0, -(-(stop - start) // step))
        if step == 1 and count == size:
            return
        if count == 0:
            start = stop = 0
            step = 1
        elif step < 0 and stop < 0:
            stop = -size - 1  # before the first element; -1 would mean the last one
        self.strided |= step != 1
        self._add(axis, start, stop, step)

    def _add(self, axis, start, end, step):
        self.axes.append(axis)
        self.starts.append(start)
        self.ends.append(end)
        self.steps.append(step)


def position(item):
    """An int, a NumPy int or an integer Variable of one element as an int."""
    if isinstance(item, int) and not isinstance(item, bool):
        return item
    plain = not isinstance(item, (bool, list, tuple)) and hasattr(type(item), "__index__")
    if plain and not getattr(item, "shape", ()) and str(getattr(item, "dtype", "")) != "bool":
        return item.__index__()
    if isinstance(item, (bool, list, Variable)) or hasattr(item, "__array__"):
        raise UnimplementedError(
            f"an index must be made of ints, slices, '...' and None, got {kind_of(item)}. "
            "Pick rows by number with dygraph.functional.gather(x, index), elements by a mask with "
            "masked_select"
        )
    raise ArgumentTypeError(
        f"an index must be made of ints, slices, '...' and None, got {kind_of(item)}"
    )


def getitem(x, index):
    """``x[index]``: a value of its own (a gradient flows back into the part that was read)."""
    chosen = Selection(index, x.shape)
    if chosen.strided:
        x = ops.strided_slice(
            x, axes=chosen.axes, starts=chosen.starts, ends=chosen.ends, strides=chosen.steps
        )
        shape = [n for axis, n in enumerate(x.shape) if axis not in chosen.picked]
    elif chosen.axes:
        x = ops.slice(
            x,
            axes=chosen.axes,
            starts=chosen.starts,
            ends=chosen.ends,
            decrease_axis=chosen.picked,
        )
        shape = list(x.shape)
    else:
        shape = list(x.shape)
    for axis in chosen.added:
        shape.insert(axis, 1)
    if chosen.axes and shape == list(x.shape):
        return x
    return ops.reshape2(x, shape=_literal(shape))


def _literal(shape):
    """A shape as reshape2 reads it, where 0 would copy a size of the input, and -1 gives 0."""
    return [-1 if n == 0 else n for n in shape] if shape.count(0) == 1 else shape


def setitem(x, index, value):
    """``x[index] = value``: the value is broadcast to the part and cast to the type of `x`."""
    chosen = Selection(index, x.shape)
    if not isinstance(value, Variable):
        if value is None or isinstance(value, (str, bytes)):
            raise ArgumentTypeError(f"an element must be a number, got {kind_of(value)}")
        value = _core.to_variable(value, None, x.dtype)
    elif value.dtype != x.dtype:
        value = value.astype(x.dtype)
    result = ops.set_value(
        x,
        value,
        axes=chosen.axes,
        starts=chosen.starts,
        ends=chosen.ends,
        steps=chosen.steps,
        decrease_axes=chosen.picked,
        none_axes=chosen.added,
    )
    _core.become(x, result)
