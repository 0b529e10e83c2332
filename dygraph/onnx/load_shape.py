"""Rules for shapes: the same elements in another shape or order, and what sizes make."""

import math

import numpy as np

import dygraph
from dygraph import _core
from dygraph.core import size_lists
from dygraph.core.sizes import Size
from dygraph.errors import InvalidArgumentError, UnimplementedError
from dygraph.onnx import load_sizes
from dygraph.onnx.load_rules import Weight, dims_of, dtype_named, rule

ops = _core.ops
FAR = (1 << 31) - 1  # no axis is longer


@rule("Constant")
def constant(call):
    found = list(call.attributes)
    if len(found) != 1:
        raise InvalidArgumentError(f"Constant must have one value, got {found}")
    value = call.attr(found[0])
    if found[0] in ("value", "sparse_value"):
        return call.importer.eager(value)
    if found[0] in ("value_float", "value_floats"):
        return _core.to_variable(np.array(value, "float32"))
    if found[0] in ("value_int", "value_ints"):
        return _core.to_variable(np.array(value, "int64"))
    raise UnimplementedError(f"Constant must hold numbers, got {found[0]}")


# Sizes --------------------------------------------------------------------------------------------


@rule("Shape", known=(0,))
def shape(call, x):
    sizes = call.shape(x)
    start, end = call.attr("start", 0), call.attr("end", len(sizes))
    return load_sizes.simplified(load_sizes.array_of(sizes[slice(start, end)]))


@rule("Size", known=(0,))
def size(call, x):
    return load_sizes.simplified(load_sizes.as_array(load_sizes.product(call.shape(x))))


def reshaped(call, x, sizes):
    """`x` in a shape of ints and Sizes, where -1 is the rest."""
    total = load_sizes.product(call.shape(x))
    if any(not isinstance(n, Size) and n == -1 for n in sizes):
        at = next(i for i, n in enumerate(sizes) if not isinstance(n, Size) and n == -1)
        others = load_sizes.product(sizes[:at] + sizes[at + 1 :])
        rest = None
        if isinstance(others, Size) or others:
            rest = load_sizes.quotient(total, others)
        if rest is not None:
            sizes = [*sizes[:at], rest, *sizes[at + 1 :]]
        elif not any(isinstance(n, Size) for n in sizes):
            return ops.reshape2(x, shape=sizes)
    if not any(isinstance(n, Size) for n in sizes):
        if all(n for n in sizes):
            return ops.reshape2(x, shape=sizes)
        return empty(x, sizes)
    if any(not isinstance(n, Size) and n == -1 for n in sizes):
        known = False
    else:
        known = load_sizes.equal(total, load_sizes.product(sizes))
    own = call.shape(x)
    if known:  # the sizes fit, so one open size may be the rest
        short = [
            0 if i < len(own) and isinstance(n, Size) and load_sizes.equal(n, own[i])
            else -1 if isinstance(n, Size) else n
            for i, n in enumerate(sizes)
        ]  # fmt: skip
        if short.count(-1) <= 1 and all(
            n or isinstance(s, Size) for n, s in zip(short, sizes, strict=True)
        ):
            return size_lists.declare(ops.reshape2(x, shape=short), sizes)
    out = _core.run_op("reshape2", {"X": x, "ShapeTensor": as_variables(sizes)}, {})["Out"]
    return size_lists.declare(
        out, [n if isinstance(n, Size) or n >= 0 else _open(out) for n in sizes]
    )


def _open(out):
    return out  # a Variable declares an open size


def reshaped_like(call, x, sizes):
    if not any(isinstance(n, Size) for n in sizes):
        return ops.reshape2(x, shape=list(sizes)) if math.prod(sizes) else empty(x, sizes)
    return reshaped(call, x, list(sizes))


def empty(x, sizes):
    """A shape with a size of 0, which reshape2 reads as a copy."""
    if -1 in sizes:
        raise InvalidArgumentError(f"Reshape cannot find -1 beside a size of 0, got {sizes}")
    return dygraph.reshape(x, sizes) if not _core.is_symbol(x) else _zeros(x, sizes)


def _zeros(x, sizes):
    if math.prod(n for n in dims_of(x)) != 0:
        raise InvalidArgumentError(f"Reshape must keep the elements, got {dims_of(x)} to {sizes}")
    return ops.fill_constant(shape=sizes, dtype=str(x.dtype))


@rule("Reshape", known=(1,))
def reshape(call, x, shape):
    sizes = call.integers(shape)
    if sizes is None:
        return _by_variable(call, x, call.variable(shape))
    own = call.shape(x)
    if not call.attr("allowzero", 0):
        for i, n in enumerate(sizes):
            if not isinstance(n, Size) and n == 0:
                if i >= len(own):
                    raise InvalidArgumentError(
                        f"Reshape: 0 must copy a size, got {sizes} for {own}"
                    )
                sizes[i] = own[i]
    return reshaped(call, x, sizes)


def _by_variable(call, x, shape):
    if call.attr("allowzero", 0):
        raise UnimplementedError(
            "Reshape with allowzero must know the shape" + call.importer.fix_for(shape)
        )
    known_length(call, shape, "the shape of Reshape")
    parts = elements_of(shape)
    out = _core.run_op("reshape2", {"X": x, "ShapeTensor": parts}, {})["Out"]
    return size_lists.declare(out, parts)


def known_length(call, list_, what):
    """The length of a list of sizes that only a run knows."""
    dims = dims_of(list_)
    if len(dims) != 1 or dims[0] < 0:
        raise UnimplementedError(
            f"the length of {what} must be known, got {dims}" + call.importer.fix_for(list_)
        )
    return dims[0]


def elements_of(list_):
    """The elements of a list as int32 Variables of one element."""
    list_ = list_.astype("int32")
    n = dims_of(list_)[0]
    return [ops.slice(list_, axes=[0], starts=[i], ends=[i + 1]) for i in range(n)]


def sizes_or_elements(call, value, what):
    """A list of sizes: ints and Sizes where they are known, else Variables of one element."""
    found = call.integers(value)
    if found is not None:
        return found
    variable = call.variable(value)
    known_length(call, variable, what)
    return elements_of(variable)


def as_variables(sizes):
    """int32 Variables of one element for ints, Sizes and such Variables."""
    return [
        n if isinstance(n, _core.Variable)
        else load_sizes.tensor_of(n) if isinstance(n, Size)
        else size_lists.variables([n])[0]
        for n in sizes
    ]  # fmt: skip


def is_open(sizes):
    return any(isinstance(n, (Size, _core.Variable)) for n in sizes)


@rule("Flatten")
def flatten(call, x):
    sizes = call.shape(x)
    axis = call.attr("axis", 1)
    axis = axis + len(sizes) if axis < 0 else axis
    before, after = load_sizes.product(sizes[:axis]), load_sizes.product(sizes[axis:])
    return reshaped(call, x, [before, after])


def axes_of(call, axes, what="axes", attribute="axes"):
    """A list of axes: known, or the Variable of it; None where none is given."""
    if call.attr(attribute) is not None:
        return list(call.attr(attribute))
    if axes is None:
        return None
    found = call.integers(axes)
    if found is None and dims_of(axes) == (0,):
        return []
    return call.variable(axes) if found is None else found


@rule("Squeeze", known=(1,))
def squeeze(call, x, axes):
    axes = axes_of(call, axes)
    if axes is None:
        return dygraph.squeeze(x)
    if isinstance(axes, _core.Variable):
        return ops.squeeze2(x, axes=axes)
    if not axes:
        return x
    rank = call.rank(x)
    return dygraph.squeeze(x, axis=[call.axis(a, rank) for a in axes])


@rule("Unsqueeze", known=(1,))
def unsqueeze(call, x, axes):
    axes = axes_of(call, axes)
    if isinstance(axes, _core.Variable):
        rank = call.rank(x) + known_length(call, axes, "the axes of Unsqueeze")
        axes = dygraph.sort(dygraph.where(axes < 0, axes + rank, axes))
        return dygraph.unsqueeze(x, axes)
    rank = call.rank(x) + len(axes)
    axes = sorted(call.axis(a, rank, "axes") for a in axes)
    return ops.unsqueeze2(x, axes=axes) if axes else x


@rule("Transpose")
def transpose(call, x):
    rank = call.rank(x)
    perm = call.attr("perm", list(range(rank))[::-1])
    return dygraph.permute_dims(x, perm)


# Made of sizes ------------------------------------------------------------------------------------


@rule("ConstantOfShape", known=(0,))
def constant_of_shape(call, shape):
    value = call.attr("value")
    value = np.zeros(1, "float32") if value is None else value
    dtype = str(value.dtype)
    number = value.reshape(-1)[0].item() if dtype != "bfloat16" else float(value.reshape(-1)[0])
    sizes = sizes_or_elements(call, shape, "the shape of ConstantOfShape")
    return filled(call, sizes, number, dtype)


def filled(call, sizes, number, dtype):
    number = int(number) if isinstance(number, bool) else number
    attrs = {"dtype": dtype, "value": float(number), "str_value": repr(number)}
    if not is_open(sizes):
        if any(n < 0 for n in sizes):
            raise InvalidArgumentError(f"sizes must be 0 or more, got {sizes}")
        call.room(math.prod(sizes))
        return ops.fill_constant(shape=sizes, **attrs)
    out = ops.fill_constant(shape_tensor_list=as_variables(sizes), shape=[-1] * len(sizes), **attrs)
    return size_lists.declare(out, sizes)


@rule("Expand", known=(1,))
def expand(call, x, shape):
    sizes = sizes_or_elements(call, shape, "the shape of Expand")
    own = call.shape(x)
    if is_open(sizes) or is_open(own):
        one = filled(call, sizes, True if str(x.dtype) == "bool" else 1, str(x.dtype))
        if str(x.dtype) == "bool":
            return dygraph.logical_and(one, x)
        return x * one
    whole = list(np.broadcast_shapes(tuple(own), tuple(sizes)))
    call.room(math.prod(whole))
    return dygraph.broadcast_to(x, whole)


@rule("Tile", known=(1, 2))
def tile(call, x, repeats, axis):
    found = call.integers(repeats)
    if found is None:
        repeats = call.variable(repeats)
        known_length(call, repeats, "the repeats of Tile")
        return ops.tile(x, repeat_times=repeats.astype("int32"))
    if is_open(found):
        return ops.tile(x, repeat_times_tensor=as_variables(found))
    if all(not isinstance(n, Size) for n in call.shape(x)):
        call.room(math.prod(call.shape(x)) * math.prod(found))
    if math.prod(found) == 0:
        sizes = [a * b for a, b in zip(call.shape(x), found, strict=True)]
        return filled(call, sizes, 0, str(x.dtype))
    return ops.tile(x, repeat_times=found)


@rule("Range", known=(0, 1, 2))
def range_(call, start, limit, delta):
    values = [call.numbers(v) for v in (start, limit, delta)]
    if all(v is not None for v in values):
        a, b, c = (v.item() for v in values)
        count = max(math.ceil((b - a) / c), 0) if c else 0
        if not c:
            raise InvalidArgumentError("Range: delta must not be 0")
        call.room(count)
        return dygraph.arange(a, b, c, dtype=str(_dtype(start)))
    start, limit, delta = (call.variable(v).reshape([1]) for v in (start, limit, delta))
    if str(start.dtype) in ("float32", "float64", "int32", "int64"):
        return ops.range(start, limit, delta)
    narrow = start.dtype
    return ops.range(*(v.astype("float32") for v in (start, limit, delta))).astype(narrow)


def _dtype(value):
    return value.array.dtype if isinstance(value, Weight) else value.dtype


@rule("EyeLike", known=(0,))
def eye_like(call, x):
    dtype = call.attr("dtype")
    dtype = str(_dtype(x)) if dtype is None else dtype_named(dtype)
    rows, columns = call.shape(x)
    if is_open([rows, columns]):
        raise UnimplementedError("EyeLike must know the sizes of its input, got open ones")
    call.table(rows * columns)
    return call.constant(np.eye(rows, columns, call.attr("k", 0))).astype(dtype)


@rule("Trilu", known=(1,))
def trilu(call, x, k):
    number = 0 if k is None else call.integers(k)
    upper = call.attr("upper", 1)
    if number is not None:
        if isinstance(number, list):
            (number,) = number
        sizes = call.shape(x)
        if not is_open(sizes) and not math.prod(sizes):
            return x
        number = max(min(number, 1 << 30), -(1 << 30))
        return dygraph.triu(x, number) if upper else dygraph.tril(x, number)
    rows, columns = call.shape(x)[-2:]
    if is_open([rows, columns]):
        raise UnimplementedError("Trilu must know its sizes or k, got neither")
    call.table(rows * columns)
    away = np.arange(columns)[None, :] - np.arange(rows)[:, None]
    k = call.variable(k).astype("int64").reshape([1])
    away = call.constant(away.astype("int64"))
    kept = away >= k if upper else away <= k
    return dygraph.where(kept, x, dygraph.zeros_like(x))


@rule("OneHot", known=(1,))
def one_hot(call, index, depth, values):
    number = call.numbers(depth)
    rank = call.rank(index)
    axis = call.axis(call.attr("axis", -1), rank + 1)
    if number is not None:
        n = int(number.item())
        call.table(n)
        if not is_open(call.shape(index)):
            call.room(n * math.prod(call.shape(index)))
        places = call.constant(np.arange(n, dtype="int64"))
    else:
        depth = call.variable(depth).astype("int64").reshape([1])
        zero, one = (call.constant(np.array([v], "int64")) for v in (0, 1))
        places, n = ops.range(zero, depth, one), depth
    index = index.astype("int64")
    index = dygraph.where(index < 0, index + n, index)
    index = ops.unsqueeze2(index, axes=[axis])
    places = ops.reshape2(places, shape=[-1 if i == axis else 1 for i in range(rank + 1)])
    off, on = (ops.slice(values, axes=[0], starts=[i], ends=[i + 1]) for i in (0, 1))
    return dygraph.where(dygraph.equal(index, places), on, off)


# Moved in space -----------------------------------------------------------------------------------


@rule("DepthToSpace")
def depth_to_space(call, x):
    block = call.needs("blocksize")
    n, c, h, w = call.shape(x)
    if is_open([c]):
        raise UnimplementedError("DepthToSpace must know the channels, got an open size")
    if call.attr("mode", "DCR") == "DCR":
        sizes, perm = [n, block, block, c // block**2, h, w], [0, 3, 4, 1, 5, 2]
    else:
        sizes, perm = [n, c // block**2, block, block, h, w], [0, 1, 4, 2, 5, 3]
    x = dygraph.permute_dims(reshaped(call, x, sizes), perm)
    return reshaped_like(call, x, [n, c // block**2, h * block, w * block])


@rule("SpaceToDepth")
def space_to_depth(call, x):
    block = call.needs("blocksize")
    n, c, h, w = call.shape(x)
    if is_open([h, w]):
        raise UnimplementedError("SpaceToDepth must know height and width, got open sizes")
    x = reshaped(call, x, [n, c, h // block, block, w // block, block])
    last = call.attr("mode", "DCR") == "CRD"
    x = dygraph.permute_dims(x, [0, 1, 3, 5, 2, 4] if last else [0, 3, 5, 1, 2, 4])
    return reshaped_like(call, x, [n, c * block**2, h // block, w // block])


@rule("ReverseSequence")
def reverse_sequence(call, x, lengths):
    time, batch = call.attr("time_axis", 0), call.attr("batch_axis", 1)
    steps = call.shape(x)[time]
    place = steps_of(call, steps)
    rank = call.rank(x)
    place = ops.reshape2(place, shape=[-1 if i == time else 1 for i in range(rank)])
    lengths = ops.reshape2(
        lengths.astype("int64"), shape=[-1 if i == batch else 1 for i in range(rank)]
    )
    index = dygraph.where(place < lengths, lengths - 1 - place, place + dygraph.zeros_like(lengths))
    sizes = call.shape(x)
    index = index + filled(
        call, [sizes[i] if i not in (time, batch) else 1 for i in range(rank)], 0, "int64"
    )
    return ops.take_along_axis(x, index, Axis=time)


def steps_of(call, n):
    """0, 1, ... below a size, int64."""
    if not isinstance(n, Size):
        call.table(n)
        return call.constant(np.arange(n, dtype="int64"))
    zero, one = (call.constant(np.array([v], "int64")) for v in (0, 1))
    return ops.range(zero, n.variable().astype("int64").reshape([1]), one)
