"""Ragged batches step by step: tables of sequences by length, arrays of steps, parted batches."""

import numpy as np

from dygraph.onnx.export_graph import Block, Call, operator, type_of
from dygraph.onnx.export_sequence import numbers, padded, seen, starts, unpadded
from dygraph.onnx.package import TensorProto, helper


def table(c):
    """(order of the sequences, longest first; their lengths in that order)."""
    found = c.block.find(c.names("RankTable")[0], "tables")
    c.require(found is not None, "a rank table that lod_rank_table did not make")
    return found


def ranks(c, order):
    """Where each sequence stands in the order."""
    count = c.Shape(order)
    _, places = c.TopK(order, count, axis=0, largest=0, sorted=1, outputs=2)
    return places


@operator("lod_rank_table")
def _rank_table(c):
    c.require(c.attr("level") == 0, "a level of detail below the first")
    lengths = c.lengths("X")
    ordered, order = c.TopK(lengths, c.Shape(lengths), axis=0, largest=1, sorted=1, outputs=2)
    c.block.tables[c.op.output("Out")[0]] = order, ordered


@operator("max_sequence_len")
def _longest(c):
    _, lengths = table(c)
    return c.ReduceMax(c.Concat(lengths, np.array([0]), axis=0), axes=[0], keepdims=1)


@operator("lod_tensor_to_array")
def _steps(c):
    order, lengths = table(c)
    own = c.lengths("X")
    first = c.Gather(starts(c, own), order, axis=0)
    element = type_of(c.dtype_of("X"))
    block = Block(c.model, c.block.program, c.block)
    inner = Call(block, c.op)
    turn, again, array = (c.model.name(n) for n in ("turn", "again", "carried"))
    rows = inner.Compress(inner.Add(first, turn), inner.Less(turn, lengths), axis=0)
    after = inner.SequenceInsert(array, inner.Gather(c["X"], rows, axis=0))
    go_on = inner.copy(again)
    value, sequence = helper.make_tensor_value_info, helper.make_tensor_sequence_value_info
    graph = block.graph(
        "turn",
        [
            value(turn, TensorProto.INT64, []), value(again, TensorProto.BOOL, []),
            sequence(array, element, None),
        ],
        [value(go_on, TensorProto.BOOL, []), sequence(after, element, None)],
    )  # fmt: skip
    longest = c.ReduceMax(c.Concat(lengths, np.array([0]), axis=0), axes=[0], keepdims=0)
    made = c.Loop(longest, c.scalar(True, "bool"), c.SequenceEmpty(dtype=element), body=graph)
    name = c.op.output("Out")[0]
    c.block.arrays[name] = element
    c.block.set(name, made)


@operator("array_to_lod_tensor")
def _joined(c):
    order, lengths = table(c)
    packed = c.ConcatFromSequence(c["X"], axis=0, new_axis=0)
    there = seen(c, lengths)  # in the order of the table
    count = c.ReduceSum(c.cast(there, "int64"), axes=[0], keepdims=0)
    place = c.range(c.Shape(lengths))
    index = c.Add(
        c.Unsqueeze(starts(c, count), axes=[0]), c.Unsqueeze(place, axes=[1])
    )  # [sequence, step]: where it stands among the steps one after the other
    rank = ranks(c, order)
    own = c.Gather(lengths, rank, axis=0)
    rows = c.Compress(
        c.Reshape(c.Gather(index, rank, axis=0), np.array([-1])),
        c.Reshape(c.Gather(there, rank, axis=0), np.array([-1])), axis=0,
    )  # fmt: skip
    return c.Gather(packed, rows, axis=0), own


@operator("shrink_rnn_memory")
def _shrink(c):
    _, lengths = table(c)
    step = c.Reshape(c.cast(c["I"], "int64"), np.array([], np.int64))
    alive = c.ReduceSum(c.cast(c.Greater(lengths, step), "int64"), axes=[0], keepdims=1)
    if not c.is_ragged("X"):
        return c.slice(c["X"], [0], [alive], [0])
    own = c.slice(c.lengths("X"), [0], [alive], [0])
    rows = c.ReduceSum(own, axes=[0], keepdims=1)
    return c.slice(c["X"], [0], [rows], [0]), own


@operator("reorder_lod_tensor_by_rank")
def _reorder(c):
    order, _ = table(c)
    if not c.is_ragged("X"):
        return c.Gather(c["X"], order, axis=0), None
    lengths = c.lengths("X")
    made = c.Gather(lengths, order, axis=0)
    grid = c.Gather(padded(c, c["X"], lengths, rank=c.rank("X")), order, axis=0)
    return unpadded(c, grid, made), made


# Branches by sequence -----------------------------------------------------------------------------


def mask_of(c):
    c.require(c.attr("level") == 0, "a level of detail below the first")
    return c.Reshape(c["Mask"], np.array([-1]))


@operator("split_lod_tensor")
def _split(c):
    mask, x, made = mask_of(c), c["X"], {}
    for slot, chosen in (("OutTrue", mask), ("OutFalse", c.Not(mask))):
        if c.is_ragged("X"):
            sequence, _ = numbers(c, c.lengths("X"))
            rows = c.Gather(chosen, sequence, axis=0)
            own = c.Compress(c.lengths("X"), chosen, axis=0)
            made[slot] = c.Compress(x, rows, axis=0), own
        else:
            made[slot] = c.Compress(x, chosen, axis=0), None
    return made


@operator("merge_lod_tensor", "merge_lod_tensor_infer")
def _merge(c):
    c.require(c.has("InTrue") and c.has("InFalse"), "a part that is left out")
    c.require(not c.is_ragged("InTrue") and not c.is_ragged("InFalse"), "ragged parts")
    mask = mask_of(c)
    zero = c.scalar(0, "int64")

    def before(chosen):
        """How many of the chosen stand before each."""
        return c.CumSum(c.cast(chosen, "int64"), zero, exclusive=1)

    other = c.Not(mask)
    count = c.ReduceSum(c.cast(mask, "int64"), axes=[0], keepdims=1)
    index = c.Where(mask, before(mask), c.Add(before(other), count))
    return c.Gather(c.Concat(c["InTrue"], c["InFalse"], axis=0), index, axis=0), None
