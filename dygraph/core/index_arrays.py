"""Reading and writing parts of a Variable, as NumPy does: ``x[index]``.

An index of ints, slices, Ellipsis and None is one slicing operator (`indexing`). One with arrays,
lists or masks is resolved, by NumPy's rules, into slices of some axes and one index array for each
of the others. Operators compute the result (slice, gather, gather_nd, masked_select for reading,
index_put for writing, with transpose2 and reshape2), so gradients and tracing work.
"""

import math

import numpy as np

from dygraph import _core
from dygraph.core import check, size_lists, sizes
from dygraph.core.indexing import FAR, NotBasic, Selection, plain_int, wrapped
from dygraph.core.size_lists import is_open
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, OutOfRangeError, kind_of

Variable = _core.Variable
ops = _core.ops

# In a layout: an axis from None, the position of an index array, and that of "...", which
# separates arrays even if it covers no axis.
NEW, MANY, DOTS = "new", "many", "dots"


def as_array(item):
    """An index of more than one element as a bool or integer array or Variable."""
    if isinstance(item, Variable):
        name = item.dtype.name
        if name in ("bool", "int32", "int64"):
            return item
        if not name.startswith(("int", "uint")):
            raise OutOfRangeError(
                f"a Variable that is an index must hold integers or bools, got {name}. "
                "Convert with astype('int64'), or compare, as in x[x > 0]"
            )
        return item.astype("int64")
    try:
        array = np.asarray(item)
    except ValueError as error:
        raise OutOfRangeError(f"a list that is an index must be rectangular ({error})") from None
    if array.size == 0 and isinstance(item, (list, tuple)):
        array = array.astype("int64")
    if array.dtype.kind not in "biu":
        raise OutOfRangeError(
            "an index must be made of ints, slices, '...', None, and arrays of integers or bools, "
            f"got {kind_of(item)}"
        )
    if array.dtype == "uint64" and array.size and array.max() > 2**63 - 1:
        raise OutOfRangeError(f"an index must fit into 64 bits with a sign, got {array.max()}")
    return array if array.dtype.kind == "b" else array.astype("int64", copy=False)


def is_mask(array):
    """Whether it holds bools; types of Variables and arrays have the same text."""
    return str(array.dtype) == "bool"


class Plan:
    """An index with arrays, resolved against the shape of the indexed Variable."""

    def __init__(self, index, shape):
        self.slices = Selection((), ())
        self.arrays = []  # (axis, index array)
        self.layout = []  # NEW, MANY, DOTS and kept axes, in the order of the index
        self.shape = []  # with an axis of 1 for each bool without axes
        self.mask = None  # the mask, if it is the only array
        items = self._items(index, len(shape))
        masks = []
        source = 0
        for item in items:
            axis = len(self.shape)
            if item is None:
                self.layout.append(NEW)
            elif item is Ellipsis:
                self.layout.append(DOTS)
            elif isinstance(item, slice):
                self.slices.add_slice(item, axis)
                self.layout.append(axis)
                self.shape.append(shape[source])
                source += 1
            else:
                self.layout.append(MANY)
                if not isinstance(item, (int, Variable)) and not item.ndim and not is_mask(item):
                    item = int(item)
                if isinstance(item, int):
                    item = np.array(wrapped(item, source, shape[source]))
                elif is_mask(item):
                    masks.append((axis, item))
                    self._check_mask(item, shape, source)
                    self.shape.extend(shape[source : source + item.ndim] if item.ndim else (1,))
                    source += item.ndim
                    continue
                self.arrays.append((axis, item))
                self.shape.append(shape[source])
                source += 1
        if len(masks) == 1 and not self.arrays and masks[0][1].ndim:
            self.mask_axis, self.mask = masks[0][0], variable(masks[0][1])
        self._masks = masks

    def check_masks(self, x):
        """Has the run find masks that do not fit axes of `x`, where it decides on sizes."""
        self._masks = [(axis, fitting(mask, x, axis)) for axis, mask in self._masks]
        if self.mask is not None:
            self.mask = variable(self._masks[0][1])

    def spread_masks(self):
        """Replaces masks by positions."""
        for axis, mask in self._masks:
            self.arrays.extend((axis + i, at) for i, at in enumerate(positions(mask)))
        self._masks = []
        self.arrays.sort(key=lambda pair: pair[0])
        try:
            self.common = common_shape([a for _, a in self.arrays])
        except ValueError:
            raise OutOfRangeError(
                "the index arrays must broadcast together, got shapes "
                + ", ".join(str(list(a.shape)) for _, a in self.arrays)
            ) from None

        # No element is read, but as in NumPy single indices must be valid.
        if any(type(n) is int and n == 0 for n in self.common):
            for axis, array in self.arrays:
                if not array.ndim:
                    wrapped(int(array), axis, self.shape[axis])

    @staticmethod
    def _items(index, rank):
        """The entries of an index, arrays converted, with slices for omitted axes."""
        items, used, dots = [], 0, None
        for item in index if isinstance(index, tuple) else (index,):
            if item is Ellipsis:
                if dots is not None:
                    raise OutOfRangeError("an index can hold one Ellipsis ('...'), got more")
                dots = len(items)
                continue
            if item is not None and not isinstance(item, slice):
                i = plain_int(item)
                item = as_array(item) if i is None else i
            if item is not None:
                used += item.ndim if not isinstance(item, (slice, int)) and is_mask(item) else 1
            items.append(item)
        if used > rank:
            raise OutOfRangeError(f"too many indices: the variable has {rank} axes, got {used}")
        at = len(items) if dots is None else dots
        items[at:at] = ([] if dots is None else [Ellipsis]) + [slice(None)] * (rank - used)
        return items

    @staticmethod
    def _check_mask(mask, shape, axis):
        covered = tuple(shape[axis : axis + mask.ndim])
        if not all(map(check.may_be_equal, mask.shape, covered)) or mask.ndim != len(covered):
            raise OutOfRangeError(
                f"a mask must have the sizes of the axes it covers, {list(covered)} from axis "
                f"{axis} on, got shape {list(mask.shape)}"
            )

    @property
    def stays(self):
        """The axes without an index array."""
        return [entry for entry in self.layout if isinstance(entry, int)]

    def leading(self):
        """The entries of the layout before the axes of the arrays in the result.

        These are at the position of the arrays if the arrays were neighbours, else in front.
        """
        first = self.layout.index(MANY)
        count = self.layout.count(MANY)
        return self.layout[:first] if self.layout[first : first + count] == [MANY] * count else []

    @property
    def before(self):
        """The number of kept axes before those of the arrays in the result."""
        return sum(isinstance(entry, int) for entry in self.leading())

    def added(self, rank):
        """Positions of the axes from None, in a result whose arrays make `rank` axes."""
        first = self.leading()
        rest = [entry for entry in self.layout[len(first) :] if entry is not MANY]
        whole = [entry for entry in first + [MANY] * rank + rest if entry is not DOTS]
        return [i for i, entry in enumerate(whole) if entry is NEW]


def fitting(mask, x, axis):
    """A mask of the sizes of the axes of `x` that it covers."""
    if not mask.ndim or not (is_open(mask) or is_open(x)):
        return mask
    covered = size_lists.sizes_of(x)[axis : axis + mask.ndim]
    mask = variable(mask)
    with size_lists.beside(x if _core.is_symbol(x) else mask):
        slots = {"ShapeTensorList": size_lists.variables(covered)}
        like = _core.run_op("fill_constant", slots, {"dtype": "bool", "value": 1.0})["Out"]
        return size_lists.matching(like, mask)


def positions(mask):
    """The positions of true elements, an array for each axis; one of them for a mask without axes.

    A mask without axes is an axis of size 1 that is selected or not.
    """
    if mask.ndim == 0:
        return [np.zeros(1 if mask else 0, "int64")]
    if not isinstance(mask, Variable):
        return np.nonzero(mask)
    at = ops.where_index(mask)
    return [
        ops.slice(at, axes=[1], starts=[i], ends=[i + 1], decrease_axis=[1])
        for i in range(mask.ndim)
    ]


def with_axes(x, axes):
    """`x` with axes of one element at these places of the result."""
    if is_open(x):
        return ops.unsqueeze2(x, axes=axes) if axes else x
    shape = list(x.shape)
    for axis in axes:
        shape.insert(axis, 1)
    return reshaped(x, shape)


def common_shape(arrays):
    """What index arrays broadcast to, with -1 for a size that the run of a program decides."""
    if not any(map(is_open, arrays)):
        return sizes.broadcast(*(tuple(a.shape) for a in arrays))
    rank = max(a.ndim for a in arrays)
    shapes = [(1,) * (rank - a.ndim) + tuple(a.shape) for a in arrays]
    known = sizes.broadcast(*([1 if n < 0 else n for n in shape] for shape in shapes))
    return tuple(
        -1 if n == 1 and any(shape[i] < 0 for shape in shapes) else n for i, n in enumerate(known)
    )


def variable(array):
    """An index array as a Variable."""
    return array if isinstance(array, Variable) else _core.literal(array)


def stacked(arrays):
    """Index arrays of one shape after broadcasting as one Variable [..., number of arrays]."""
    if not any(isinstance(a, Variable) for a in arrays):
        return _core.literal(np.stack(np.broadcast_arrays(*arrays), axis=-1))
    arrays = [variable(a) for a in arrays]
    arrays = [a if a.dtype.name == "int64" else a.astype("int64") for a in arrays]
    if any(a.shape != arrays[0].shape or is_open(a) for a in arrays[1:]):
        zero = arrays[0] * 0
        for a in arrays[1:]:
            zero = zero + a * 0
        arrays = [a + zero for a in arrays]
    columns = [with_axes(a, [a.ndim]) for a in arrays]
    return ops.concat(columns, axis=columns[0].ndim - 1) if len(columns) > 1 else columns[0]


def reshaped(x, shape):
    """`x` in another shape, written so that a traced program keeps its batch size open if possible.

    For reshape2 a 0 copies the size of the input's axis, and -1 is the remaining size.
    """
    old, shape = x.shape, list(shape)
    if any(type(n) is not int for n in (*old, *shape)):  # which a trace follows
        kept = [i < len(old) and sizes.same(n, old[i]) for i, n in enumerate(shape)]
        target = [0 if copied else n for n, copied in zip(shape, kept, strict=True)]
        left = [i for i, n in enumerate(target) if type(n) is not int]
        if len(left) == 1:  # whose number of this run may be 0, which would copy
            target[left[0]] = -1
        return ops.reshape2(x, shape=target)
    same = 0
    while same < len(shape) and same < len(old) and shape[same] == old[same]:
        same += 1
    target = [0] * same + shape[same:]
    lost = [i for i, n in enumerate(target) if n == 0 and (i >= len(old) or old[i] != shape[i])]
    if len(lost) == 1 and shape.count(0) == 1:
        target[lost[0]] = -1
        lost = []
    if lost:
        return _reshaped_empty(x, shape)
    if old and same == 0 and old[0] in shape and (-1 in old or x.size):
        target[shape.index(old[0])] = -1  # the batch, further back
    return ops.reshape2(x, shape=target)


def _reshaped_empty(x, shape):
    """As `reshaped` for several sizes of 0, which reshape2 cannot express."""
    if [n for n in x.shape if n != 1] != [n for n in shape if n != 1]:
        return _core.to_variable(np.zeros(shape, "float32"), None, x.dtype)
    ones = [i for i, n in enumerate(x.shape) if n == 1]
    sizes = [i for i, n in enumerate(x.shape) if n != 1]
    x = ops.reshape2(transposed(x, sizes + ones), shape=[0] * len(sizes))
    made = [i for i, n in enumerate(shape) if n == 1]
    kept = [i for i, n in enumerate(shape) if n != 1]
    x = ops.reshape2(x, shape=[0] * len(kept) + [1] * len(made))
    return transposed(x, inverse(kept + made))


def transposed(x, perm):
    """`x` with its axes in another order; `x` itself if the order is the same."""
    return x if perm == sorted(perm) else ops.transpose2(x, axis=perm)


def moved(rank, before, count):
    """The order of axes that moves `count` leading ones behind `before` others."""
    return [*range(count, count + before), *range(count), *range(count + before, rank)]


def inverse(perm):
    """The inverse order."""
    return sorted(range(len(perm)), key=perm.__getitem__)


def getitem(x, index):
    """``x[index]``: a new value, whose gradient flows back into the part that was read."""
    shape = _core.dims(x)  # only to refuse indices outside
    if type(index) is int and shape:
        wrapped(index, 0, shape[0])
        end = index + 1 if index != -1 else FAR
        return ops.slice(x, axes=[0], starts=[index], ends=[end], decrease_axis=[0])
    try:
        chosen = Selection(index, shape)
    except NotBasic:
        return read(x, index)
    part = chosen.read(x)
    if size_lists.is_open(part):
        if chosen.strided and chosen.picked:
            gone = chosen.picked
            part = ops.slice(
                part, axes=gone, starts=[0] * len(gone), ends=[FAR] * len(gone), decrease_axis=gone
            )
        return with_axes(part, chosen.added)
    shape = part.shape
    if chosen.strided and chosen.picked:
        shape = tuple(n for axis, n in enumerate(shape) if axis not in chosen.picked)
    if chosen.added:
        shape = list(shape)
        for axis in chosen.added:
            shape.insert(axis, 1)
    elif chosen.axes and len(shape) == part.ndim:
        return part
    return reshaped(part, shape)


def as_value(x, value):
    """The assigned value, as a Variable of the type of `x`."""
    if not isinstance(value, Variable):
        if value is None or isinstance(value, (str, bytes)):
            raise ArgumentTypeError(f"an element must be a number, got {kind_of(value)}")
        return _core.to_variable(value, None, x.dtype)
    return value.astype(x.dtype) if value.dtype != x.dtype else value


def setitem(x, index, value):
    """``x[index] = value``: the value is broadcast to the part and cast to the type of `x`.

    Gradients flow to the earlier `x` and to the value. If an element is written more than once, the
    last value counts, and only that one gets a gradient.
    """
    value = as_value(x, value)
    try:
        chosen = Selection(index, _core.dims(x))
    except NotBasic:
        write(x, index, value)
    else:
        chosen.write(x, value)


def read(x, index):
    """``x[index]`` for an index that holds arrays."""
    plan = Plan(index, x.shape)
    if len(plan.shape) != x.ndim:
        x = reshaped(x, plan.shape)
    plan.check_masks(x)
    x = plan.slices.read(x)
    before = plan.before
    if plan.mask is not None:
        rank = 1
        if plan.mask.ndim == x.ndim:
            x = ops.masked_select(x, plan.mask)
        else:
            axes = [plan.mask_axis + i for i in range(plan.mask.ndim)]
            x = taken(x, axes, plan.stays, before, ops.where_index(plan.mask), rank)
    else:
        plan.spread_masks()
        axes = [axis for axis, _ in plan.arrays]
        arrays = [a for _, a in plan.arrays]
        rank = len(plan.common)
        spread = axes == [0] or is_open(x) or any(map(is_open, arrays))
        if len(arrays) > 1 or spread and rank > 1:
            x = taken(x, axes, plan.stays, before, stacked(arrays), rank)
        elif rank <= 1:
            x = ops.gather(x, variable(arrays[0]), axis=axes[0])
        else:
            count = -1 if -1 in plan.common else math.prod(plan.common)
            axis, flat = axes[0], reshaped(variable(arrays[0]), (count,))
            shape = (*x.shape[:axis], *plan.common, *x.shape[axis + 1 :])
            x = reshaped(ops.gather(x, flat, axis=axis), shape)
    added = plan.added(rank)
    if added:
        x = with_axes(x, added)
    return x


def taken(x, axes, stays, before, at, rank):
    """The elements at `at` [..., number of axes] in `axes`; their axes follow `before` others."""
    if len(axes) == 1 and rank == 1:
        return ops.gather(x, at, axis=axes[0])
    if axes == [0]:
        return ops.gather_nd(x, at)
    x = ops.gather_nd(transposed(x, axes + stays), at)
    return transposed(x, moved(x.ndim, before, rank))


def write(x, index, value):
    """``x[index] = value``, for an index that holds arrays."""
    plan = Plan(index, x.shape)
    plan.check_masks(x)
    if plan.mask is not None and not value.ndim and not plan.slices.axes and not _core.lod(x):
        behind = x.ndim - plan.mask_axis - plan.mask.ndim
        mask = with_axes(plan.mask, list(range(plan.mask.ndim, plan.mask.ndim + behind)))
        _core.become(x, ops.where(mask, value, x))
        return
    plan.spread_masks()
    axes = [axis for axis, _ in plan.arrays]
    perm = axes + plan.stays
    value = arranged(value, plan, len(plan.stays))
    arrays = [variable(a) for _, a in plan.arrays]
    if len(plan.shape) == x.ndim and not plan.slices.axes and perm == sorted(perm):
        _core.run_in_place("index_put", [x, arrays, value], {})
        return
    whole = reshaped(x, plan.shape) if len(plan.shape) != x.ndim else x
    part = transposed(plan.slices.read(whole), perm)
    part = transposed(ops.index_put(part, arrays, value), inverse(perm))
    if whole is x:
        plan.slices.write(x, part)
        return
    whole = plan.slices.written(whole, part)
    _core.become(x, reshaped(whole, x.shape))


def arranged(value, plan, stays):
    """A value of the result's shape, rearranged to [axes of the arrays, other axes]."""
    rank, added, before = len(plan.common), plan.added(len(plan.common)), plan.before
    whole = rank + stays + len(added)
    shape = list(value.shape)
    if len(shape) > whole:
        if any(n != 1 for n in shape[: len(shape) - whole]):
            raise InvalidArgumentError(
                f"the value must broadcast to the {whole} axes that the index addresses, "
                f"got shape {shape}"
            )
        value = reshaped(value, shape[len(shape) - whole :])
    if not value.ndim or not (added or before):
        return value
    shape = [1] * (whole - value.ndim) + list(value.shape)
    if any(shape[axis] != 1 for axis in added):
        raise InvalidArgumentError(
            f"the value must have size 1 along the axes {added} from None, got shape "
            f"{list(value.shape)}"
        )
    shape = [n for axis, n in enumerate(shape) if axis not in added]
    value = reshaped(value, shape) if shape != list(value.shape) else value
    return transposed(value, inverse(moved(rank + stays, before, rank)))
