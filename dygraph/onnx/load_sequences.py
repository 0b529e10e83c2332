"""Rules for sequences whose length is known when the model is loaded: Python's lists."""

import numpy as np

from dygraph import _core
from dygraph.core.sizes import Size
from dygraph.errors import InvalidArgumentError, UnimplementedError
from dygraph.onnx.load_rules import rule
from dygraph.onnx.load_shape import is_open

ops = _core.ops


@rule("SequenceEmpty", lists=True)
def sequence_empty(call):
    return ([],)


@rule("OptionalHasElement", known=(0,), lists=True)
def optional_has_element(call, value):
    return call.constant(np.array(value is not None))


@rule("OptionalGetElement", lists=True)
def optional_get_element(call, value):
    return (value,)


@rule("SequenceConstruct", lists=True)
def sequence_construct(call, *values):
    return (list(values),)


def _place(call, place, n):
    at = call.integer(place, "the position in a sequence")
    if not -n <= at <= n:
        raise InvalidArgumentError(f"the position in a sequence must be in [{-n}, {n}], got {at}")
    return at


@rule("SequenceInsert", known=(1, 2), lists=True)
def sequence_insert(call, sequence, value, place):
    made = list(sequence)
    made.insert(len(made) if place is None else _place(call, place, len(made)), value)
    return (made,)


@rule("SequenceErase", known=(1,), lists=True)
def sequence_erase(call, sequence, place):
    made = list(sequence)
    del made[-1 if place is None else _place(call, place, len(made))]
    return (made,)


@rule("SequenceAt", known=(1,), lists=True)
def sequence_at(call, sequence, place):
    return call.variable(sequence[_place(call, place, len(sequence))])


@rule("SequenceLength", lists=True)
def sequence_length(call, sequence):
    return call.constant(np.array(len(sequence), "int64"))


@rule("ConcatFromSequence", lists=True)
def concat_from_sequence(call, sequence):
    parts, axis = [call.variable(v) for v in sequence], call.needs("axis")
    return ops.stack(parts, axis=axis) if call.attr("new_axis", 0) else ops.concat(parts, axis=axis)


@rule("SplitToSequence", known=(1,))
def split_to_sequence(call, x, sizes):
    axis = call.axis(call.attr("axis", 0), call.rank(x))
    n = call.shape(x)[axis]
    if isinstance(n, Size):
        raise UnimplementedError("SplitToSequence must know the size of its axis")
    given = None if sizes is None else call.numbers(sizes, "the sizes of SplitToSequence")
    if given is None:
        cuts = [1] * n
    elif given.ndim == 0:
        each = int(given)
        if each < 1:
            raise InvalidArgumentError(f"SplitToSequence must have parts of 1 or more, got {each}")
        cuts = [min(each, n - i) for i in range(0, n, each)]
    else:
        cuts = [int(v) for v in given]
    if is_open(cuts) or sum(cuts) != n:
        raise InvalidArgumentError(f"the parts must add up to {n}, got {cuts}")
    ends = np.cumsum([0, *cuts]).tolist()
    parts = [
        ops.slice(x, axes=[axis], starts=[a], ends=[b])
        for a, b in zip(ends[:-1], ends[1:], strict=True)
    ]
    if given is None and not call.attr("keepdims", 1):
        parts = [ops.squeeze2(part, axes=[axis]) for part in parts]
    return (parts,)
