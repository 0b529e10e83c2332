"""Rules for parts of tensors: slices, gathers, writes."""

import math

import numpy as np

import dygraph
from dygraph import _core
from dygraph.core import size_lists
from dygraph.core.sizes import Size
from dygraph.errors import InvalidArgumentError, UnimplementedError
from dygraph.onnx import load_sizes
from dygraph.onnx.load_rules import dims_of, rule
from dygraph.onnx.load_shape import (
    FAR,
    as_variables,
    filled,
    is_open,
    reshaped_like,
    sizes_or_elements,
    steps_of,
)

ops = _core.ops


def _near(n):
    return n if isinstance(n, (Size, _core.Variable)) else max(min(n, FAR), -FAR)


@rule("Concat")
def concat(call, *parts):
    rank = call.rank(parts[0])
    axis = call.axis(call.needs("axis"), rank)
    return ops.concat(list(parts), axis=axis) if len(parts) > 1 else parts[0]


@rule("Slice", known=(1, 2, 3, 4))
def slice_(call, x, starts, ends, axes, steps):
    if call.opset < 10:
        starts, ends, axes = call.attr("starts"), call.attr("ends"), call.attr("axes")
        starts, ends = list(map(_near, starts)), list(map(_near, ends))
    else:
        starts = sizes_or_elements(call, starts, "starts")
        ends = sizes_or_elements(call, ends, "ends")
        starts, ends = list(map(_near, starts)), list(map(_near, ends))
        if (
            call.integers(steps) is None
            and steps is not None
            or (call.integers(axes) is None and axes is not None)
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
        steps[i] = max(min(step, FAR), -FAR)
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
    axes = (
        sizes_or_elements(call, axes, "the axes of Slice") if not isinstance(axes, list) else axes
    )
    steps, axes = _vector(call, steps), _vector(call, axes)
    axes = dygraph.where(axes < 0, axes + rank, axes).astype("int64")
    backwards = steps < 0
    whole = [
        call.constant(np.full(rank, v, "int32")) for v in (0, FAR, 1)
    ]  # fmt: skip
    # A step backwards to before the first element: an end far below 0.
    lists[1] = dygraph.where(
        dygraph.logical_and(backwards, lists[1] < -FAR + 1), lists[1] - lists[1] - FAR, lists[1]
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
        if n != call.outputs or n < 1:
            raise InvalidArgumentError(
                f"num_outputs must be that of the node, {call.outputs}, got {n}"
            )
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
    index = _place_index(call, index, call.shape(x)[batch:])
    if not batch:
        return ops.gather_nd(x, index)
    sizes = call.shape(x)
    rank = call.rank(index)
    zero = ops.slice(index, axes=[rank - 1], starts=[0], ends=[1]).astype("int64") * 0
    places = []
    for axis in range(batch):
        shape = [-1 if i == axis else 1 for i in range(rank)]
        places.append(zero + ops.reshape2(steps_of(call, sizes[axis]), shape=shape))
    whole = ops.concat([*places, index.astype("int64")], axis=-1)
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
    call.table(math.prod(sizes) * len(sizes))
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
        place = dygraph.remainder(
            place, call.constant(np.array(limit, "int64")) if not isinstance(n, Size) else limit
        )
    index = place + filled(call, call.shape(update), 0, "int64")
    return ops.put_along_axis(past, index, update, Axis=axis, Reduce="assign")
