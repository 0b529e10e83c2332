"""Rules for shapes, places and parts: the same elements elsewhere."""

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


@rule("Constant")
def constant(call):
    found = [name for name in call.node.attributes]
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
        return _empty(x, sizes)
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
        if short.count(-1) <= 1 and all(n or isinstance(s, Size) for n, s in zip(short, sizes, strict=True)):
            return size_lists.declare(ops.reshape2(x, shape=short), sizes)
    out = _core.run_op("reshape2", {"X": x, "ShapeTensor": as_variables(sizes)}, {})["Out"]
    return size_lists.declare(out, [n if isinstance(n, Size) or n >= 0 else _open(out) for n in sizes])


def _open(out):
    return out  # a Variable declares an open size


def _empty(x, sizes):
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
    sizes = call.attr("shape") if call.opset < 5 else call.integers(shape)
    if sizes is None:
        return _by_variable(call, x, call.variable(shape))
    own = call.shape(x)
    if not call.attr("allowzero", 0):
        for i, n in enumerate(sizes):
            if not isinstance(n, Size) and n == 0:
                if i >= len(own):
                    raise InvalidArgumentError(f"Reshape: 0 must copy a size, got {sizes} for {own}")
                sizes[i] = own[i]
    return reshaped(call, x, sizes)


def _by_variable(call, x, shape):
    if call.attr("allowzero", 0):
        raise UnimplementedError("Reshape with allowzero must know the shape" + call.importer.fix_for(shape))
    _known_length(call, shape, "the shape of Reshape")
    parts = _elements(shape)
    out = _core.run_op("reshape2", {"X": x, "ShapeTensor": parts}, {})["Out"]
    return size_lists.declare(out, parts)


def _known_length(call, list_, what):
    """The length of a list of sizes that only a run knows."""
    dims = dims_of(list_)
    if len(dims) != 1 or dims[0] < 0:
        raise UnimplementedError(
            f"the length of {what} must be known, got {dims}" + call.importer.fix_for(list_)
        )
    return dims[0]


def _elements(list_):
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
    _known_length(call, variable, what)
    return _elements(variable)


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
        rank = call.rank(x) + _known_length(call, axes, "the axes of Unsqueeze")
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


# Parts --------------------------------------------------------------------------------------------


@rule("Concat")
def concat(call, *parts):
    rank = call.rank(parts[0])
    axis = call.axis(call.attr("axis", 1 if call.opset < 4 else 0), rank)
    return ops.concat(list(parts), axis=axis) if len(parts) > 1 else parts[0]


_FAR = (1 << 31) - 1


def _near(n):
    return n if isinstance(n, (Size, _core.Variable)) else max(min(n, _FAR), -_FAR)


@rule("Slice", known=(1, 2, 3, 4))
def slice_(call, x, starts, ends, axes, steps):
    if call.opset < 10:
        starts, ends, axes = call.attr("starts"), call.attr("ends"), call.attr("axes")
        starts, ends = list(map(_near, starts)), list(map(_near, ends))
    else:
        starts = sizes_or_elements(call, starts, "starts")
        ends = sizes_or_elements(call, ends, "ends")
        starts, ends = list(map(_near, starts)), list(map(_near, ends))
        if call.integers(steps) is None and steps is not None or (
            call.integers(axes) is None and axes is not None
        ):
            return _slice_open(call, x, starts, ends, axes, steps)
        steps, axes = call.integers(steps), call.integers(axes)
    rank, sizes = call.rank(x), call.shape(x)
    axes = list(range(len(starts))) if axes is None else [call.axis(a, rank) for a in axes]
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise InvalidArgumentError("Slice: starts, ends, axes and steps must have one length")
    if len(set(axes)) < len(axes):
        raise InvalidArgumentError(f"Slice: axes must differ, got {axes}")
    for i, (axis, step) in enumerate(zip(axes, steps, strict=True)):
        steps[i] = max(min(step, _FAR), -_FAR)
        if not isinstance(sizes[axis], Size) and not is_open([starts[i], ends[i]]):
            if step == 0:
                raise InvalidArgumentError("Slice: steps must not be 0")
            at = range(sizes[axis])[slice(starts[i], ends[i], step)]
            starts[i], ends[i], steps[i] = at.start, at.stop, at.step
            if step < 0:
                ends[i] = at.stop if at.stop >= 0 else -sizes[axis] - 1
                if not len(at):
                    starts[i] = ends[i] = 0
    if is_open(starts) or is_open(ends):
        starts, ends = as_variables(starts), as_variables(ends)
        if all(s == 1 for s in steps):
            return ops.slice(
                x, axes=axes, starts_tensor_list=starts, ends_tensor_list=ends,
                starts=[0] * len(axes), ends=[0] * len(axes), infer_flags=[-1] * len(axes),
            )  # fmt: skip
        return ops.strided_slice(
            x, axes=axes, starts_tensor_list=starts, ends_tensor_list=ends, strides=steps,
            starts=[0] * len(axes), ends=[0] * len(axes), infer_flags=[-1] * len(axes),
        )  # fmt: skip
    if all(s == 1 for s in steps):
        return ops.slice(x, axes=axes, starts=starts, ends=ends)
    return ops.strided_slice(x, axes=axes, starts=starts, ends=ends, strides=steps)


def _vector(call, values):
    """int32 numbers as one Variable."""
    if not is_open(values):
        return call.constant(np.array(values, "int32"))
    return ops.concat(as_variables(values), axis=0)


def _slice_open(call, x, starts, ends, axes, steps):
    """A slice whose axes or steps only a run knows: bounds for every axis."""
    rank, n = call.rank(x), len(starts)
    if axes is None:
        axes = list(range(n))
    if not n:
        return x
    lists = [_vector(call, starts), _vector(call, ends)]
    steps = [1] * n if steps is None else sizes_or_elements(call, steps, "the steps of Slice")
    axes = sizes_or_elements(call, axes, "the axes of Slice") if not isinstance(axes, list) else axes
    steps, axes = _vector(call, steps), _vector(call, axes)
    axes = dygraph.where(axes < 0, axes + rank, axes).astype("int64")
    backwards = steps < 0
    whole = [
        call.constant(np.full(rank, v, "int32")) for v in (0, _FAR, 1)
    ]  # fmt: skip
    # A step backwards to before the first element: an end far below 0.
    lists[1] = dygraph.where(
        dygraph.logical_and(backwards, lists[1] < -_FAR + 1), lists[1] - lists[1] - _FAR, lists[1]
    )
    starts, ends, steps = (
        ops.put_along_axis(all_, axes, some, Axis=0)
        for all_, some in zip(whole, (*lists, steps), strict=True)
    )
    out = ops.strided_slice(
        x, axes=list(range(rank)), starts_tensor=starts, ends_tensor=ends, strides_tensor=steps,
        starts=[0] * rank, ends=[0] * rank, strides=[1] * rank, infer_flags=[-1] * rank,
    )  # fmt: skip
    return size_lists.declare(out, [out] * rank)


@rule("Split", known=(1,))
def split(call, x, sizes):
    rank = call.rank(x)
    axis = call.axis(call.attr("axis", 0), rank)
    whole = call.shape(x)[axis]
    if call.opset < 13 and call.attr("split") is not None:
        sizes = list(call.attr("split"))
    elif sizes is not None:
        sizes = sizes_or_elements(call, sizes, "the sizes of Split")
    if sizes is None:
        n = call.attr("num_outputs", call.outputs)
        if isinstance(whole, Size):
            if n == 1:
                return (x,)
            return tuple(ops.split(x, num=n, axis=axis))
        each = -(-whole // n)
        sizes = [max(min(each, whole - i * each), 0) for i in range(n)]
    if is_open(sizes):
        ends, start, parts = [], 0, []
        for n in sizes:
            ends.append(start + n)
            start = start + n
        for begin, end in zip([0, *ends[:-1]], ends, strict=True):
            parts.append(
                ops.slice(
                    x, axes=[axis], starts_tensor_list=as_variables([begin]), starts=[0],
                    ends_tensor_list=as_variables([end]), ends=[0], infer_flags=[-1],
                )
            )  # fmt: skip
        return tuple(parts)
    if not isinstance(whole, Size) and sum(sizes) != whole:
        raise InvalidArgumentError(f"Split: the sizes must add up to {whole}, got {sizes}")
    starts = np.cumsum([0, *sizes]).tolist()
    return tuple(
        ops.slice(x, axes=[axis], starts=[a], ends=[b])
        for a, b in zip(starts[:-1], starts[1:], strict=True)
    )


@rule("Gather", known=(1,))
def gather(call, x, index):
    rank = call.rank(x)
    axis = call.axis(call.attr("axis", 0), rank)
    index = nonnegative(call, call.variable(index), call.shape(x)[axis])
    dims = dims_of(index)
    if len(dims) == 1:
        return ops.gather(x, index, axis=axis)
    flat = index.reshape([-1]) if dims else index.reshape([1])
    out = ops.gather(x, flat, axis=axis)
    sizes = call.shape(x)
    return reshaped_like(call, out, [*sizes[:axis], *call.shape(index), *sizes[axis + 1 :]])


def reshaped_like(call, x, sizes):
    if not any(isinstance(n, Size) for n in sizes):
        return ops.reshape2(x, shape=list(sizes)) if math.prod(sizes) else _empty(x, sizes)
    return reshaped(call, x, list(sizes))


def nonnegative(call, index, limit):
    """Indices counted from 0, where some may count from the end."""
    numbers = call.numbers(index)
    if numbers is not None and not (numbers < 0).any():
        return index
    if isinstance(limit, Size):
        limit = limit.variable(index)
    return dygraph.where(index < 0, index + limit, index)


@rule("GatherElements")
def gather_elements(call, x, index):
    axis = call.axis(call.attr("axis", 0), call.rank(x))
    index = nonnegative(call, index, call.shape(x)[axis])
    return ops.take_along_axis(*_cut(call, x, index, axis), Axis=axis)


def _cut(call, x, index, axis):
    """take_along_axis broadcasts other axes, ONNX reads the first places of them."""
    sizes, own = call.shape(index), call.shape(x)
    axes = [
        a for a in range(len(own))
        if a != axis and not load_sizes.equal(sizes[a], own[a])
    ]  # fmt: skip
    if axes:
        x = cut(x, axes, [0] * len(axes), [sizes[a] for a in axes])
    return x, index


def cut(x, axes, starts, ends):
    """A slice with bounds that may be Sizes."""
    if not is_open([*starts, *ends]):
        return ops.slice(x, axes=axes, starts=starts, ends=ends)
    return ops.slice(
        x, axes=axes, starts=[0] * len(axes), ends=[0] * len(axes), infer_flags=[-1] * len(axes),
        starts_tensor_list=as_variables(starts), ends_tensor_list=as_variables(ends),
    )  # fmt: skip


@rule("GatherND")
def gather_nd(call, x, index):
    batch = call.attr("batch_dims", 0)
    depth = call.shape(index)[-1]
    index = _place_index(call, index, call.shape(x)[batch:])
    if not batch:
        return ops.gather_nd(x, index)
    sizes = call.shape(x)
    if is_open(sizes[:batch]) or is_open([depth]):
        raise UnimplementedError("GatherND with batch_dims must know the sizes of the batch")
    grids = np.indices(sizes[:batch]).reshape(batch, -1).T
    lead = call.shape(index)[batch:-1]
    many = math.prod(lead)
    grids = np.repeat(grids, many, axis=0).reshape([*sizes[:batch], *lead, batch])
    whole = ops.concat([call.constant(grids.astype("int64")), index.astype("int64")], axis=-1)
    return ops.gather_nd(x, whole)


def _place_index(call, index, sizes):
    """An index of places, each counted from 0."""
    numbers = call.numbers(index)
    if numbers is not None and not (numbers < 0).any():
        return index
    depth = dims_of(index)[-1]
    limits = sizes[:depth]
    limit = (
        load_sizes.variable_of(load_sizes.array_of(limits))
        if is_open(limits) else call.constant(np.array(limits, "int64"))
    )  # fmt: skip
    limit = limit.astype(index.dtype)
    return dygraph.where(index < 0, index + limit, index)


# Writes -------------------------------------------------------------------------------------------

_REDUCE = {"none": "assign", "add": "add", "mul": "multiply", "max": "amax", "min": "amin"}


@rule("ScatterElements", "Scatter")
def scatter_elements(call, x, index, updates):
    axis = call.axis(call.attr("axis", 0), call.rank(x))
    index = nonnegative(call, index, call.shape(x)[axis])
    how = _REDUCE[call.attr("reduction", "none")]
    own, sizes = call.shape(x), call.shape(index)
    axes = [a for a in range(len(own)) if a != axis and not load_sizes.equal(sizes[a], own[a])]
    if not axes:
        return ops.put_along_axis(x, index, updates, Axis=axis, Reduce=how)
    if is_open(own) or is_open(sizes):
        raise UnimplementedError("ScatterElements must know sizes that differ from those of data")
    grid = list(np.indices(sizes))
    places = [
        call.constant(grid[a].reshape(-1, 1).astype("int64")) if a != axis
        else index.astype("int64").reshape([-1, 1])
        for a in range(len(own))
    ]  # fmt: skip
    places = ops.concat(places, axis=1) if len(places) > 1 else places[0]
    return _scatter_places(call, x, places, updates.reshape([-1]), how)


@rule("ScatterND")
def scatter_nd(call, x, index, updates):
    how = _REDUCE[call.attr("reduction", "none")]
    index = _place_index(call, index, call.shape(x))
    return _scatter_places(call, x, index.astype("int64"), updates, how)


def _scatter_places(call, x, places, updates, how):
    """Writes at places: as writes into rows of the flat value."""
    if how == "add" and str(x.dtype) in ("float32", "float64"):
        return ops.scatter_nd_add(x, places, updates)
    own, depth = call.shape(x), dims_of(places)[-1]
    if is_open(own) or depth < 0:
        raise UnimplementedError("ScatterND must know the sizes of data, got open ones")
    strides = [math.prod(own[i + 1 : depth]) for i in range(depth)]
    rows, width = math.prod(own[:depth]), math.prod(own[depth:])
    flat = (places * call.constant(np.array(strides, "int64"))).sum(axis=-1).reshape([-1, 1])
    index = dygraph.broadcast_to(flat, [dims_of(flat)[0], width]) if width != 1 else flat
    if dims_of(flat)[0] < 0:
        raise UnimplementedError("ScatterND must know the number of updates, got an open size")
    table = ops.reshape2(x, shape=[rows, width])
    written = ops.put_along_axis(
        table, index, ops.reshape2(updates, shape=[-1, width]), Axis=0, Reduce=how
    )
    return ops.reshape2(written, shape=list(own))


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
        _known_length(call, repeats, "the repeats of Tile")
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
    call.room(rows * columns)
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
        call.room(n)
        places = dygraph.arange(0, n, 1, dtype="int64")
        places = call.constant(places.numpy())
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
    index = index + filled(call, [sizes[i] if i not in (time, batch) else 1 for i in range(rank)], 0, "int64")
    return ops.take_along_axis(x, index, Axis=time)


def steps_of(call, n):
    """0, 1, ... below a size, int64."""
    if not isinstance(n, Size):
        call.room(n)
        return call.constant(np.arange(n, dtype="int64"))
    zero, one = (call.constant(np.array([v], "int64")) for v in (0, 1))
    return ops.range(zero, n.variable().astype("int64").reshape([1]), one)


# Pad ----------------------------------------------------------------------------------------------


@rule("Pad", known=(1, 3))
def pad(call, x, pads, value, axes):
    mode = call.attr("mode", "constant")
    if call.opset < 11:
        pads = call.attr("pads", call.attr("paddings"))
    else:
        pads = sizes_or_elements(call, pads, "the pads of Pad")
    rank, value = call.rank(x), call.variable(value)
    axes = list(range(rank)) if axes is None else call.integers(axes, "the axes of Pad")
    axes = [call.axis(a, rank) for a in axes]
    if len(pads) != 2 * len(axes):
        raise InvalidArgumentError(f"Pad must have two pads for each axis, got {pads} for {axes}")
    before, after = dict(zip(axes, pads[: len(axes)], strict=True)), dict(zip(axes, pads[len(axes) :], strict=True))
    for axis in axes:
        b, a = before[axis], after[axis]
        if is_open([b, a]):
            x = _pad_open(call, x, axis, b, a, mode, value)
        elif (b, a) != (0, 0):
            x = _pad_axis(call, x, axis, b, a, mode, value)
    return x


def _pad_axis(call, x, axis, before, after, mode, value):
    n = call.shape(x)[axis]
    if before < 0 or after < 0:
        if isinstance(n, Size):
            end = -after if after < 0 else _FAR
            x = ops.slice(x, axes=[axis], starts=[max(-before, 0)], ends=[-end if after < 0 else end])
        else:
            x = ops.slice(x, axes=[axis], starts=[max(-before, 0)], ends=[n - max(-after, 0)])
        before, after = max(before, 0), max(after, 0)
        n = call.shape(x)[axis]
        if not before and not after:
            return x
    if mode == "constant":
        sizes = call.shape(x)
        if not is_open(sizes):
            call.room(math.prod(sizes) // max(sizes[axis], 1) * (sizes[axis] + before + after))
        parts = [
            _block(call, x, axis, before, value), x, _block(call, x, axis, after, value)
        ]  # fmt: skip
        return ops.concat([p for p in parts if p is not None], axis=axis)
    if isinstance(n, Size):
        return _pad_open(call, x, axis, before, after, mode, value)
    call.room(n + before + after)
    index = np.pad(np.arange(n), (before, after), {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}[mode])
    return ops.gather(x, call.constant(index.astype("int64")), axis=axis)


def _block(call, x, axis, n, value):
    if not n:
        return None
    sizes = list(call.shape(x))
    sizes[axis] = n
    zero = filled(call, sizes, 0, str(x.dtype))
    if value is None and call.opset < 11 and call.attr("value", 0.0):
        return filled(call, sizes, call.attr("value"), str(x.dtype))
    return zero if value is None else _plus(zero, value)


def _plus(zero, value):
    if str(zero.dtype) == "bool":
        return dygraph.logical_or(zero, value)
    return zero + value.astype(zero.dtype)


def _pad_open(call, x, axis, before, after, mode, value):
    """A pad that only a run knows: a gather of rows, which may lie outside."""
    n = call.shape(x)[axis]
    as_int = lambda v: (  # noqa: E731
        v.astype("int64").reshape([1]) if isinstance(v, _core.Variable)
        else v.variable().astype("int64").reshape([1]) if isinstance(v, Size)
        else call.constant(np.array([v], "int64"))
    )  # fmt: skip
    size, before, after = as_int(n), as_int(before), as_int(after)
    place = ops.range(dygraph.negative(before), size + after, call.constant(np.array([1], "int64")))
    inside = dygraph.logical_and(place >= 0, place < size)
    last = size - 1
    if mode == "wrap":
        index = dygraph.remainder(place, size)
    elif mode == "reflect":
        index = dygraph.abs(place)
        index = last - dygraph.abs(last - index)
    else:
        index = dygraph.minimum(dygraph.maximum(place, dygraph.zeros_like(place)), last)
    out = ops.gather(x, index, axis=axis)
    if mode != "constant":
        return out
    rank = call.rank(x)
    inside = ops.reshape2(inside, shape=[-1 if i == axis else 1 for i in range(rank)])
    fill = dygraph.zeros_like(out)
    return dygraph.where(inside, out, fill if value is None else _plus(fill, value))


# By data ------------------------------------------------------------------------------------------


@rule("NonZero")
def nonzero(call, x):
    return dygraph.permute_dims(ops.where_index(x), [1, 0])


@rule("Compress")
def compress(call, x, condition):
    axis = call.attr("axis")
    if axis is None:
        x, axis = ops.reshape2(x, shape=[-1]), 0
    axis = call.axis(axis, call.rank(x))
    index = ops.where_index(condition).reshape([-1])
    return ops.gather(x, index, axis=axis)


@rule("TensorScatter")
def tensor_scatter(call, past, update, start):
    axis = call.axis(call.attr("axis", -2), call.rank(past))
    n, length = call.shape(past)[axis], call.shape(update)[axis]
    rank = call.rank(past)
    shaped = lambda v, at: ops.reshape2(v, shape=[-1 if i == at else 1 for i in range(rank)])  # noqa: E731
    place = shaped(steps_of(call, length), axis)
    if start is not None:
        place = place + shaped(start.astype("int64"), 0)
    if call.attr("mode", "linear") == "circular":
        limit = n.variable().astype("int64") if isinstance(n, Size) else n
        place = dygraph.remainder(place, call.constant(np.array(limit, "int64")) if not isinstance(n, Size) else limit)
    index = place + filled(call, call.shape(update), 0, "int64")
    return ops.put_along_axis(past, index, update, Axis=axis, Reduce="assign")
