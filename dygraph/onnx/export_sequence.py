"""Operators on sequences: rows in one tensor, the lengths of the sequences in another.

A row's sequence and its place in it follow from the lengths; most operators pad, compute along the
axis of time, and take the rows out again.
"""

import numpy as np

from dygraph.onnx.export_arithmetic import any_of
from dygraph.onnx.export_graph import operator


def seen(c, lengths, longest=None):
    """bool [sequences, longest]: which places hold a row; `longest` is a size."""
    if longest is None:
        longest = c.ReduceMax(c.Concat(lengths, np.array([0]), axis=0), axes=[0], keepdims=1)
    steps = c.range(longest)
    return c.Less(c.Unsqueeze(steps, axes=[0]), c.Unsqueeze(lengths, axes=[1]))


def starts(c, lengths):
    """Where each sequence begins."""
    return c.CumSum(lengths, c.scalar(0, "int64"), exclusive=1)


def numbers(c, lengths):
    """(the sequence of each row, its place in it)."""
    found = c.NonZero(seen(c, lengths))
    return (c.squeeze(c.slice(found, [i], [i + 1], [0]), [0]) for i in (0, 1))


def padded(c, rows, lengths, fill=None, longest=None, rank=None):
    """[sequences, longest, ...], `fill` (a value; 0) behind the end of a sequence."""
    there = seen(c, lengths, longest)
    steps = c.range(c.Shape(there, start=1, end=2))
    index = c.Add(c.Unsqueeze(starts(c, lengths), axes=[1]), c.Unsqueeze(steps, axes=[0]))
    x = c.Gather(rows, c.Where(there, index, c.scalar(0, "int64")), axis=0)
    rank = c.rank() if rank is None else rank
    mask = c.unsqueeze(there, list(range(2, rank + 1)))
    return c.Where(mask, x, c.scalar(0) if fill is None else fill)


def unpadded(c, x, lengths, there=None):
    """The rows of [sequences, longest, ...] that `lengths` counts, one after the other."""
    if there is None:
        there = seen(c, lengths, c.Shape(x, start=1, end=2))
    flat = c.Reshape(x, c.Concat(np.array([-1]), c.Shape(x, start=2), axis=0))
    return c.Compress(flat, c.Reshape(there, np.array([-1])), axis=0)


def places_in_sequences(c, lengths):
    """The place of each row in its sequence."""
    _, places = numbers(c, lengths)
    return places


def pool(c, rows, lengths, how, pad_value=0.0, rank=None):
    """One row for each sequence."""
    rank = c.rank() if rank is None else rank
    tail = list(range(1, rank))
    empty = c.unsqueeze(c.Equal(lengths, c.scalar(0, "int64")), tail)
    if how in ("FIRST", "LAST"):
        index = starts(c, lengths)
        if how == "LAST":
            index = c.Sub(c.Add(index, lengths), c.scalar(1, "int64"))
        some = c.Where(c.Equal(lengths, c.scalar(0, "int64")), c.scalar(0, "int64"), index)
        found = c.Gather(rows, some, axis=0)
    elif how == "MAX":
        grid = padded(c, rows, lengths, c.scalar(float("-inf")), rank=rank)
        found = c.ReduceMax(grid, axes=[1], keepdims=0)
    else:
        found = c.ReduceSum(padded(c, rows, lengths, rank=rank), axes=[1], keepdims=0)
        count = c.unsqueeze(c.cast(c.Max(lengths, c.scalar(1, "int64")), c.dtype), tail)
        if how == "AVERAGE":
            found = c.Div(found, count)
        elif how == "SQRT":
            found = c.Div(found, c.Sqrt(count))
    return c.Where(empty, c.scalar(pad_value), found)


@operator("sequence_pool")
def _pool(c):
    how = c.attr("pooltype").upper()
    out = pool(c, c["X"], c.lengths("X"), how, c.attr("pad_value"))
    return {"Out": (out, None)}


@operator("sequence_softmax")
def _softmax(c):
    lengths = c.lengths("X")
    grid = padded(c, c["X"], lengths, c.scalar(float("-inf")))
    return unpadded(c, c.Softmax(grid, axis=1), lengths), lengths


@operator("sequence_reverse")
def _reverse(c):
    lengths = c.lengths("X")
    sequence, place = numbers(c, lengths)
    last = c.Sub(c.Add(starts(c, lengths), lengths), c.scalar(1, "int64"))
    index = c.Sub(c.Gather(last, sequence, axis=0), place)
    return c.Gather(c["X"], index, axis=0), lengths


@operator("sequence_expand")
def _expand(c):
    c.require(c.attr("ref_level") in (-1, 0), "a level of detail above the last one")
    times = c.lengths("Y")
    sequence, _ = numbers(c, times)
    if not c.is_ragged("X"):
        return c.Gather(c["X"], sequence, axis=0), None
    lengths = c.lengths("X")
    made = c.Gather(lengths, sequence, axis=0)
    grid = c.Gather(padded(c, c["X"], lengths), sequence, axis=0)
    return unpadded(c, grid, made), made


@operator("sequence_expand_as")
def _expand_as(c):
    lengths = c.lengths("Y")
    sequence, _ = numbers(c, lengths)
    return c.Gather(c["X"], sequence, axis=0), lengths


@operator("sequence_pad")
def _pad(c):
    lengths = c.lengths("X")
    fixed = c.attr("padded_length")
    value = c["PadValue"]
    if c.rank("PadValue") and c.rank("PadValue") <= 1 and c.dims("PadValue")[-1:] == [1]:
        value = c.Reshape(value, np.array([], np.int64))
    longest = None if fixed < 0 else fixed
    out = padded(c, c["X"], lengths, value, longest)
    return {"Out": (out, None), "Length": (c.Identity(lengths), None)}


@operator("sequence_unpad")
def _unpad(c):
    lengths = c.Reshape(c.cast(c["Length"], "int64"), np.array([-1]))
    out = unpadded(c, c["X"], lengths)
    return c.Reshape(out, np.array([-1, 1])) if c.rank("X") == 2 else out, lengths


@operator("sequence_concat")
def _concat(c):
    grids, masks, total = [], [], None
    for i, name in enumerate(c.names("X")):
        lengths = c.block.find(name, "lengths")
        c.require(lengths is not None, "X must have a level of detail")
        grids.append(padded(c, c.block.get(name), lengths, rank=c.rank("X", i)))
        masks.append(seen(c, lengths))
        total = lengths if total is None else c.Add(total, lengths)
    return unpadded(c, c.Concat(*grids, axis=1), total, c.Concat(*masks, axis=1)), total


@operator("sequence_slice")
def _slice(c):
    lengths = c.lengths("X")
    offset, count = (
        c.Reshape(c.cast(c[slot], "int64"), np.array([-1, 1])) for slot in ("Offset", "Length")
    )
    grid = padded(c, c["X"], lengths)
    steps = c.Unsqueeze(c.range(c.Shape(grid, start=1, end=2)), axes=[0])
    inside = c.And(c.GreaterOrEqual(steps, offset), c.Less(steps, c.Add(offset, count)))
    made = c.Squeeze(count, axes=[1])
    return unpadded(c, grid, made, inside), made


@operator("sequence_enumerate")
def _enumerate(c):
    lengths = c.lengths("X")
    flat = c.Reshape(c["X"], np.array([-1]))
    columns = []
    for step in range(c.attr("win_size")):
        columns.append(_moved(c, flat, lengths, step, c.scalar(c.attr("pad_value")), 1))
    return c.Concat(*(c.Unsqueeze(v, axes=[1]) for v in columns), axis=1), lengths


def _moved(c, rows, lengths, step, fill, rank, beyond=None):
    """Row i + step where it is of the same sequence, else `fill`.

    `beyond`, (rows, how many of them stand above), has rows in place of `fill`: the last of those
    above is row -1 of a sequence, the first of those below is behind its end.
    """
    sequence, place = numbers(c, lengths)
    zero = c.scalar(0, "int64")
    goal = c.Add(place, c.scalar(step, "int64"))
    own = c.Gather(lengths, sequence, axis=0)
    inside = c.And(c.GreaterOrEqual(goal, zero), c.Less(goal, own))
    index = c.Add(c.Gather(starts(c, lengths), sequence, axis=0), goal)
    found = c.Gather(rows, c.Where(inside, index, zero), axis=0)
    if beyond:
        data, above = beyond
        goal = c.Where(c.Less(goal, zero), goal, c.Sub(goal, own))
        at = c.Add(goal, c.scalar(above, "int64"))
        fill = c.Gather(data, c.Where(inside, zero, at), axis=0)
    return c.Where(c.unsqueeze(inside, list(range(1, rank))), found, fill)


@operator("sequence_erase")
def _erase(c):
    lengths = c.lengths("X")
    tokens = np.array(c.attr("tokens"), c.dtype)[None]
    flat = c.Reshape(c["X"], np.array([-1]))
    if tokens.size:
        kept = c.Not(any_of(c, c.Equal(c.Unsqueeze(flat, axes=[1]), tokens), [1]))
    else:
        kept = c.Equal(flat, flat)
    there = padded(c, c.cast(kept, "int64"), lengths, c.scalar(0, "int64"), rank=1)
    made = c.ReduceSum(there, axes=[1], keepdims=0)
    return c.Compress(c["X"], kept, axis=0), made


@operator("sequence_mask")
def _mask(c):
    dtype = c.dtype_attr("out_dtype")
    x = c["X"]
    if c.has("MaxLenTensor"):
        longest = c.int_or_value(c["MaxLenTensor"])
    elif c.attr("maxlen") >= 0:
        longest = c.attr("maxlen")
    else:
        longest = c.Reshape(c.cast(c.ReduceMax(x, keepdims=0), "int64"), np.array([1]))
    steps = c.range(longest)
    steps = steps if c.dtype == "int64" else c.cast(steps, c.dtype)
    return c.cast(c.Less(steps, c.Unsqueeze(x, axes=[c.rank("X")])), dtype)


def context(c, rows, lengths):
    """The rows of a window side by side."""
    first, count = c.attr("contextStart"), c.attr("contextLength")
    beyond = None
    if c.op.has_attr("paddingTrainable") and c.attr("paddingTrainable"):
        beyond = c["PaddingData"], max(-first, 0)
    zero = c.scalar(0.0)
    parts = [_moved(c, rows, lengths, first + i, zero, 2, beyond) for i in range(count)]
    return c.Concat(*parts, axis=1) if count > 1 else parts[0]


@operator("sequence_context")
def _context(c):
    return context(c, c["X"], c.lengths("X")), c.lengths("X")


@operator("sequence_conv")
def _conv(c):
    lengths = c.lengths("X")
    return c.MatMul(context(c, c["X"], lengths), c["Filter"]), lengths


@operator("sequence_reshape")
def _reshape(c):
    lengths, width, new = c.lengths("X"), c.dims("X")[-1], c.attr("new_dim")
    c.require(width > 0, "the width of X is open")
    made = c.Div(c.Mul(lengths, c.scalar(width, "int64")), c.scalar(new, "int64"))
    return c.Reshape(c["X"], np.array([-1, new])), made


@operator("sequence_scatter")
def _scatter(c):
    sequence, _ = numbers(c, c.lengths("Ids"))
    ids = c.Reshape(c.cast(c["Ids"], "int64"), np.array([-1]))
    index = c.Concat(c.Unsqueeze(sequence, axes=[1]), c.Unsqueeze(ids, axes=[1]), axis=1)
    updates = c.Reshape(c["Updates"], np.array([-1]))
    return c.ScatterND(c["X"], index, updates, reduction="add"), None


# Fused operators ----------------------------------------------------------------------------------


@operator("fused_embedding_seq_pool")
def _embedding_pool(c):
    from dygraph.onnx.export_index import looked_up

    lengths = c.lengths("Ids")
    rank = c.rank("Ids")
    found = looked_up(c, c["W"], c["Ids"], rank)  # [steps, ids, width]
    width = c.dims("W")[1]
    c.require(width > 0, "the width of W is open")
    flat = c.Reshape(found, np.array([0, -1]))
    number = c.scalar(0.0, c.dtype_of("W"))
    grid = padded(c, flat, lengths, number, rank=2)
    total = c.ReduceSum(grid, axes=[1], keepdims=0)
    return total, None


@operator("fusion_seqpool_concat", "fusion_seqpool_cvm_concat")
def _seqpool_concat(c):
    from dygraph.onnx.export_norm import cvm

    parts = []
    for name in c.names("X"):
        lengths = c.block.find(name, "lengths")
        c.require(lengths is not None, "X must have a level of detail")
        made = pool(c, c.block.get(name), lengths, c.attr("pooltype").upper(), rank=2)
        if c.op.type == "fusion_seqpool_cvm_concat":
            made = cvm(c, made, c.attr("use_cvm"))
        parts.append(made)
    return c.Concat(*parts, axis=1), None


@operator("fusion_seqconv_eltadd_relu")
def _seqconv(c):
    lengths = c.lengths("X")
    product = c.MatMul(context(c, c["X"], lengths), c["Filter"])
    return {"Out": (c.Relu(c.Add(product, c.Reshape(c["Bias"], np.array([-1])))), lengths)}


@operator("fusion_seqexpand_concat_fc")
def _seqexpand(c):
    from dygraph.onnx.export_linear import activated

    names = c.names("X")
    lengths = c.block.find(names[0], "lengths")
    c.require(lengths is not None, "X must have a level of detail")
    sequence, _ = numbers(c, lengths)
    values = c.list("X")
    rest = [c.Gather(v, sequence, axis=0) for v in values[1:]]
    product = c.MatMul(c.Concat(values[0], *rest, axis=1), c["FCWeight"])
    if c.has("FCBias"):
        product = c.Add(product, c.Reshape(c["FCBias"], np.array([-1])))
    return {"Out": (activated(c, product, c.attr("fc_activation")), lengths)}
