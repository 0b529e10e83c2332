"""Elements and rows selected by index or condition; tables."""

import numpy as np

from dygraph.onnx.export_graph import operator


def flat_index(c, slot):
    """An index [n], [n, 1] or [] as int64; 0-d stays so."""
    value = c.cast(c[slot], "int64")
    return c.Reshape(value, np.array([-1])) if c.rank(slot) > 1 else value


@operator("gather")
def _gather(c):
    axis = c.attr("axis")
    if c.has("Axis"):
        axis = c.int_or_value(c["Axis"])
        c.require(isinstance(axis, int), "its axis must be a constant")
    return c.Gather(c["X"], flat_index(c, "Index"), axis=axis % c.rank("X"))


@operator("index_select")
def _index_select(c):
    return c.Gather(c["X"], flat_index(c, "Index"), axis=c.attr("dim") % c.rank("X"))


@operator("gather_nd")
def _gather_nd(c):
    depth = c.dims("Index")[-1]
    index = c.cast(c["Index"], "int64")
    if depth == 0:
        lead = c.sizes("Index")[:-1]
        return c.Expand(c["X"], c.vector([*lead, *c.sizes("X")]))
    return c.GatherND(c["X"], index)


@operator("index_sample")
def _index_sample(c):
    return c.GatherElements(c["X"], c.cast(c["Index"], "int64"), axis=1)


def _full_index(c, axis):
    """Index of take_along_axis with its axes of one element repeated as Input is long."""
    index = c.cast(c["Index"], "int64")
    own, dims = c.dims("Index"), c.dims("Input")
    sizes = c.sizes("Input")
    repeat = [
        sizes[i] if i != axis and own[i] == 1 and dims[i] != 1 else 1 for i in range(len(own))
    ]
    return index if all(isinstance(n, int) and n == 1 for n in repeat) else \
        c.Expand(index, c.vector(repeat))  # fmt: skip


@operator("take_along_axis")
def _take_along_axis(c):
    axis = c.attr("Axis") % c.rank("Input")
    c.require(-1 not in c.dims("Index"), "whether Index repeats is open")
    return c.GatherElements(c["Input"], _full_index(c, axis), axis=axis)


_REDUCE = {"assign": "none", "add": "add", "mul": "mul", "multiply": "mul", "amin": "min",
           "amax": "max"}  # fmt: skip


@operator("put_along_axis")
def _put_along_axis(c):
    axis = c.attr("Axis") % c.rank("Input")
    how = c.attr("Reduce")
    c.require(how in _REDUCE, f"Reduce {how}")
    c.require(-1 not in c.dims("Index"), "whether Index repeats is open")
    mode = _REDUCE[how]
    c.require(mode not in ("min", "max") or c.opset >= 18, "it needs opset 18")
    index = _full_index(c, axis)
    value = c["Value"]
    value, start = c.Expand(value, c.Shape(index)), c["Input"]
    if mode != "none" and not c.attr("Include_self"):
        neutral = {"add": 0, "mul": 1, "min": float("inf"), "max": float("-inf")}[mode]
        c.require(c.floating or mode in ("add", "mul"), "Include_self=False for integers")
        clear = c.Expand(c.scalar(neutral), c.Shape(index))
        start = c.ScatterElements(start, index, clear, axis=axis)
    return c.ScatterElements(start, index, value, axis=axis, reduction=mode)


@operator("index_add")
def _index_add(c):
    axis = c.attr("axis") % c.rank("X")
    order = [axis, *(i for i in range(c.rank("X")) if i != axis)]
    back = [order.index(i) for i in range(len(order))]
    index = c.Unsqueeze(c.cast(c["Index"], "int64"), axes=[1])
    x, added = c.transpose(c["X"], order), c.transpose(c["AddValue"], order)
    return c.transpose(c.ScatterND(x, index, added, reduction="add"), back)


@operator("index_put")
def _index_put(c):
    names = c.names("indices")
    parts = [c.cast(v, "int64") for v in c.list("indices")]
    rank = max(c.rank("indices", i) for i in range(len(names)))
    shape = None
    for i, part in enumerate(parts):
        lead = rank - c.rank("indices", i)
        parts[i] = c.unsqueeze(part, list(range(lead)))
        zero = c.Mul(parts[i], c.scalar(0, "int64"))
        shape = zero if shape is None else c.Add(shape, zero)
    goal = c.Shape(shape)
    index = c.Concat(*(c.Unsqueeze(c.Add(p, shape), axes=[rank]) for p in parts), axis=rank)
    rest = c.vector(c.sizes("x")[len(parts) :])
    value = c.Expand(c["value"], c.Concat(goal, rest, axis=0))
    return c.ScatterND(c["x"], index, value, reduction="add" if c.attr("accumulate") else "none")


@operator("scatter")
def _scatter(c):
    index = c.Unsqueeze(flat_index(c, "Ids"), axes=[1]) if c.rank("Ids") else \
        c.Reshape(c.cast(c["Ids"], "int64"), np.array([1, 1]))  # fmt: skip
    rest = [n for n in c.sizes("X")[1:]]
    updates = c.Reshape(c["Updates"], c.vector([-1, *rest])) if rest else \
        c.Reshape(c["Updates"], np.array([-1]))  # fmt: skip
    if c.attr("overwrite"):
        return c.ScatterND(c["X"], index, updates)
    zero = c.full(rest or [1], 0, c.dtype)
    if not rest:
        zero = c.Reshape(zero, np.array([], np.int64))
    count = c.Shape(index, start=0, end=1)
    cleared = c.ScatterND(c["X"], index, c.Expand(zero, c.Concat(count, c.vector(rest), axis=0)))
    return c.ScatterND(cleared, index, updates, reduction="add")


@operator("scatter_nd_add")
def _scatter_nd_add(c):
    depth = c.dims("Index")[-1]
    c.require(depth > 0, "an Index of no numbers")
    index = c.cast(c["Index"], "int64")
    return c.ScatterND(c["X"], index, c["Updates"], reduction="add")


@operator("lookup_table", "lookup_table_v2")
def _lookup_table(c):
    ids = c["Ids"]
    if c.op.type == "lookup_table":
        ids = c.Squeeze(ids, axes=[c.rank("Ids") - 1])
    return looked_up(c, c["W"], ids, c.rank("Ids") - (c.op.type == "lookup_table"))


def looked_up(c, table, ids, rank):
    out = c.Gather(table, ids, axis=0)
    padding = c.attr("padding_idx")
    if padding == -1:
        return out
    kind = c.dtype_of("Ids")
    height = c.dims("W")[0]
    if padding < 0:
        c.require(height > 0, "padding_idx counts from the end of a table of open height")
        padding += height
    there = c.Unsqueeze(c.Equal(ids, c.scalar(padding, kind)), axes=[rank])
    return c.Where(there, c.scalar(0.0, c.dtype_of("W")), out)


@operator("one_hot", "one_hot_v2")
def _one_hot(c):
    ids, rank = c["X"], c.rank("X")
    if c.op.type == "one_hot":
        ids, rank = c.Squeeze(ids, axes=[rank - 1]), rank - 1
    dtype = c.dtype_attr()
    depth = c.int_or_value(c["depth_tensor"]) if c.has("depth_tensor") else c.attr("depth")
    hit = c.Equal(c.Unsqueeze(c.cast(ids, "int64"), axes=[rank]), c.range(depth))
    return c.cast(hit, dtype)


@operator("where")
def _where(c):
    condition, x, y = c["Condition"], c["X"], c["Y"]
    if c.dtype_of("X") == "bool":
        return c.Or(c.And(condition, x), c.And(c.Not(condition), y))
    return c.Where(condition, x, y)


@operator("where_index")
def _where_index(c):
    x = c.x if c.dtype == "bool" else c.cast(c.x, "bool")
    if c.rank() == 0:  # a position of no numbers, or none
        count = c.Reshape(c.cast(x, "int64"), np.array([1]))
        return c.full([count, 0], 0, "int64")
    return c.Transpose(c.NonZero(x), perm=[1, 0])


@operator("masked_select")
def _masked_select(c):
    x, mask = c["X"], c["Mask"]
    if c.dims("X") != c.dims("Mask") or -1 in c.dims("X"):
        # Shapes broadcast both ways.
        zero = c.Mul(c.cast(mask, "int32"), c.scalar(0, "int32"))
        other = c.cast(c.Equal(c.cast(x, "int32"), c.cast(x, "int32")), "int32")
        shape = c.Shape(c.Add(zero, other))
        x, mask = c.Expand(x, shape), c.Expand(mask, shape)
    flat = np.array([-1])
    return c.Compress(c.Reshape(x, flat), c.Reshape(mask, flat), axis=0)


@operator("multiplex")
def _multiplex(c):
    ids = c.Reshape(c.cast(c["Ids"], "int64"), np.array([-1]))
    stacked = c.Concat(*(c.Unsqueeze(v, axes=[0]) for v in c.list("X")), axis=0)
    rows = c.range(c.Shape(ids))
    return c.GatherND(
        stacked, c.Concat(c.Unsqueeze(ids, axes=[1]), c.Unsqueeze(rows, axes=[1]), axis=1)
    )


@operator("shard_index")
def _shard_index(c):
    size = -(-c.attr("index_num") // c.attr("nshards"))
    mine = c.Equal(c.Div(c.x, size), c.attr("shard_id"))
    return c.Where(mine, c.Mod(c.x, size), c.scalar(c.attr("ignore_value")))


# Diagonals ----------------------------------------------------------------------------------------


def diagonal(c, x, offset, axis1, axis2):
    """The diagonal of each matrix of two axes, along a last axis."""
    rank = c.rank()
    axis1, axis2 = axis1 % rank, axis2 % rank
    order = [a for a in range(rank) if a not in (axis1, axis2)] + [axis1, axis2]
    x = c.transpose(x, order)
    rows, columns = (c.size(c.x, a, c.dims()) for a in (axis1, axis2))
    if isinstance(rows, int) and isinstance(columns, int):
        count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    else:
        count = c.Max(
            c.Min(
                c.Add(c.vector([rows]), np.array([min(offset, 0)])),
                c.Sub(c.vector([columns]), np.array([max(offset, 0)])),
            ),
            np.array([0]),
        )
    places = c.range(count)
    row = c.Add(places, c.scalar(max(-offset, 0), "int64"))
    column = c.Add(places, c.scalar(max(offset, 0), "int64"))
    flat = c.Add(c.Mul(row, c.vector([columns])), column)
    lead = [c.size(c.x, a, c.dims()) for a in order[:-2]]
    joined = c.Reshape(x, c.vector([*lead, c.times([rows, columns])]))
    return c.Gather(joined, flat, axis=rank - 2)


@operator("diagonal")
def _diagonal(c):
    return diagonal(c, c.x, c.attr("offset"), c.attr("axis1"), c.attr("axis2"))


@operator("fill_diagonal")
def _fill_diagonal(c):
    sizes, rank = c.sizes(), c.rank()
    offset = c.attr("offset")
    grids = []
    for i in range(rank):
        shape = [1] * rank
        shape[i] = -1
        grids.append(c.Reshape(c.range(sizes[i]), np.array(shape)))
    if rank == 2:
        moved = c.Add(grids[0], c.scalar(offset, "int64"))
        here = c.Equal(grids[1], moved)
        tall = isinstance(sizes[0], int) and isinstance(sizes[1], int)
        c.require(tall or not c.attr("wrap"), "the sizes of X are open")
        if tall and c.attr("wrap"):
            step = sizes[1] + 1
            here = c.Equal(grids[1], c.Add(c.Mod(grids[0], c.scalar(step, "int64")),
                                           c.scalar(offset, "int64")))  # fmt: skip
        elif tall and sizes[0] > sizes[1]:
            here = c.And(here, c.Less(grids[0], c.scalar(sizes[1], "int64")))
    else:
        c.require(offset == 0, "an offset in more than two axes")
        here = None
        for grid in grids[1:]:
            same = c.Equal(grids[0], grid)
            here = same if here is None else c.And(here, same)
    number = c.attr("value")
    return c.Where(here, c.scalar(number if c.floating else int(number)), c.x)


# Messages of graphs -------------------------------------------------------------------------------


def pooled_rows(c, rows, ids, count, how):
    """Row k: the SUM, MEAN, MAX or MIN of the rows whose id is k; 0 where there is none."""
    ids = c.Unsqueeze(c.cast(ids, "int64"), axes=[1])
    shape = c.Concat(c.vector([count]), c.Shape(rows, start=1), axis=0)
    tail = c.Shape(rows, start=1)
    one = c.Expand(c.scalar(1.0), c.Concat(c.Shape(rows, start=0, end=1), tail, axis=0))
    number = c.ScatterND(c.Expand(c.scalar(0.0), shape), ids, one, reduction="add")
    if how in ("SUM", "MEAN"):
        total = c.ScatterND(c.Expand(c.scalar(0.0), shape), ids, rows, reduction="add")
        return total if how == "SUM" else c.Div(total, c.Max(number, 1.0))
    c.require(c.opset >= 18, "its extremes need opset 18")
    start = c.Expand(c.scalar(float("-inf" if how == "MAX" else "inf")), shape)
    found = c.ScatterND(start, ids, rows, reduction=how.lower())
    return c.Where(c.Equal(number, 0.0), c.scalar(0.0), found)


@operator("segment_pool")
def _segment_pool(c):
    ids = c.cast(c["SegmentIds"], "int64")
    if c.has("Rows"):
        count = c.slice(c.Reshape(c.cast(c["Rows"], "int64"), np.array([-1])), [0], [1], [0])
    else:
        most = c.ReduceMax(c.Concat(ids, np.array([-1]), axis=0), axes=[0], keepdims=1)
        count = c.Add(most, np.array([1]))
    return {"Out": pooled_rows(c, c["X"], ids, count, c.attr("pooltype").upper())}


def _messages(c, count_slot="X"):
    given = c.attr("out_size")
    given = given[0] if isinstance(given, (list, tuple)) and given else given or 0
    if c.has("Out_size"):
        return c.vector([c.int_or_value(c["Out_size"])])
    return int(given) if given and given > 0 else c.size(c[count_slot], 0, c.dims(count_slot))


@operator("graph_send_recv")
def _send_recv(c):
    rows = c.Gather(c["X"], c.cast(c["Src_index"], "int64"), axis=0)
    return {"Out": pooled_rows(c, rows, c["Dst_index"], _messages(c), c.attr("reduce_op"))}


def _message(c, x, y):
    return c.node("Add" if c.attr("message_op") == "ADD" else "Mul", x, y)


@operator("graph_send_ue_recv")
def _send_ue_recv(c):
    rows = c.Gather(c["X"], c.cast(c["Src_index"], "int64"), axis=0)
    rows = _message(c, rows, c["Y"])
    return {"Out": pooled_rows(c, rows, c["Dst_index"], _messages(c), c.attr("reduce_op"))}


@operator("graph_send_uv")
def _send_uv(c):
    x = c.Gather(c["x"], c.cast(c["src_index"], "int64"), axis=0)
    return _message(c, x, c.Gather(c["y"], c.cast(c["dst_index"], "int64"), axis=0))


@operator("set_value")
def _set_value(c):
    axes = [int(a) for a in c.attr("axes")]
    starts = c.ints("starts", None, "StartsTensorList")
    ends = c.ints("ends", None, "EndsTensorList")
    steps = c.ints("steps", None, "StepsTensorList") or [1] * len(axes)
    rank, sizes = c.rank("Input"), c.sizes("Input")
    x, value = c["Input"], c["ValueTensor"]
    # The places that are written, as positions in all of Input.
    count = c.times(sizes)
    whole = c.Reshape(c.range(count), c.vector(sizes))
    places = c.slice(whole, starts, ends, axes, steps) if axes else whole
    gone = sorted(int(a) for a in c.attr("decrease_axes"))
    new = [int(a) for a in c.attr("none_axes")]
    seen = c.squeeze(places, gone)
    for axis in new:
        seen = c.Unsqueeze(seen, axes=[axis])
    value = c.Expand(value, c.Shape(seen))
    flat = np.array([-1])
    index = c.Unsqueeze(c.Reshape(places, flat), axes=[1])
    out = c.ScatterND(c.Reshape(x, flat), index, c.Reshape(value, flat))
    return c.Reshape(out, c.vector(sizes)) if rank else c.Reshape(out, np.array([], np.int64))
