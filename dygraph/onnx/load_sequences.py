"""Rules for sequences: Python's lists, and in loops that a program runs its arrays.

A program's array changes in place, a sequence of ONNX never does. So a write to an array is refused
if a later node reads the sequence as it was.
"""

import numpy as np

import dygraph
from dygraph import _core
from dygraph.core.sizes import Size
from dygraph.errors import InvalidArgumentError, UnimplementedError
from dygraph.onnx.load_file import Graph
from dygraph.onnx.load_rules import dtype_named, rule
from dygraph.onnx.load_shape import is_open

ops = _core.ops


class Empty(list):
    """A sequence without elements, which has a type all the same."""

    dtype = "float32"


def is_array(value):
    """Whether a value is an array of a program."""
    return (
        isinstance(value, _core.Variable)
        and _core.is_symbol(value)
        and value.type == "LOD_TENSOR_ARRAY"
    )


def array_of(call, values):
    """The array of a program with the elements of a list."""
    layers = dygraph.static.layers
    values = [call.variable(v) for v in values] if values else values
    array = layers.create_array(str(values[0].dtype) if values else values.dtype)
    for i, value in enumerate(values):
        layers.array_write(value, call.constant(np.array([i], "int64")), array)
    return array


def not_read_later(call, name):
    """Check that nothing behind the node that runs reads the sequence `name`."""
    scope = call.scope
    if name not in scope.values or reads(scope.nodes[scope.at + 1 :], scope.results, name):
        raise UnimplementedError(
            f"a sequence that a loop makes must not be read as it was before a write, got '{name}'"
        )


def written(call, name, array, value, place):
    """`array`, the sequence of this name, with a value at a place, by default behind the others."""
    not_read_later(call, name)
    layers = dygraph.static.layers
    value = call.variable(value)
    if place is None:
        place = layers.array_length(array)
    else:
        place = call.variable(place).astype("int64").reshape([1])
    return layers.array_write(value, place, array)


def reads(nodes, results, name):
    """Whether nodes, or what comes out behind them, read a name."""
    for node in nodes:
        graphs = [a for a in node.attributes.values() if isinstance(a, Graph)]
        if name in node.inputs or any(
            reads(g.nodes, [port.name for port in g.outputs], name) for g in graphs
        ):
            return True
    return name in results


def as_array_write(call):
    """(sequence, value, place) of an If that replaces an element or adds one behind the last."""
    branches = [call.attr(f"{name}_branch") for name in ("then", "else")]
    if not all(isinstance(b, Graph) for b in branches):
        return None
    kinds = [[node.op_type for node in b.nodes] for b in branches]
    if kinds != [["SequenceErase", "SequenceInsert"], ["SequenceInsert"]]:
        return None
    erase, insert, add = (node for b in branches for node in b.nodes)
    if len(erase.inputs) != 2 or len(insert.inputs) != 3 or len(add.inputs) != 2:
        return None
    (sequence, place), value = erase.inputs, add.inputs[1]
    same = insert.inputs == [erase.outputs[0], value, place] and add.inputs[0] == sequence
    out = [[port.name for port in b.outputs] for b in branches]
    if not same or out != [insert.outputs, add.outputs]:
        return None
    return sequence, value, place


@rule("SequenceEmpty")
def sequence_empty(call):
    made = Empty()
    made.dtype = dtype_named(call.attr("dtype", 1))
    return (made,)


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
    if is_array(sequence):
        if place is not None:
            raise UnimplementedError("SequenceInsert of a program must add behind the last element")
        return written(call, call.node.inputs[0], sequence, value, None)
    made = list(sequence)
    made.insert(len(made) if place is None else _place(call, place, len(made)), value)
    return (made,)


@rule("SequenceErase", known=(1,), lists=True)
def sequence_erase(call, sequence, place):
    if is_array(sequence):
        raise UnimplementedError("a program removes no element of a sequence that a loop makes")
    made = list(sequence)
    del made[-1 if place is None else _place(call, place, len(made))]
    return (made,)


@rule("SequenceAt", known=(1,), lists=True)
def sequence_at(call, sequence, place):
    if is_array(sequence):
        place = call.variable(place).astype("int64").reshape([1])
        return dygraph.static.layers.array_read(sequence, place)
    return call.variable(sequence[_place(call, place, len(sequence))])


@rule("SequenceLength", lists=True)
def sequence_length(call, sequence):
    if is_array(sequence):
        return dygraph.static.layers.array_length(sequence).reshape([])
    return call.constant(np.array(len(sequence), "int64"))


@rule("ConcatFromSequence", lists=True)
def concat_from_sequence(call, sequence):
    if is_array(sequence):
        stacks = bool(call.attr("new_axis", 0))
        return dygraph.static.layers.tensor_array_to_tensor(
            sequence, axis=call.needs("axis"), use_stack=stacks
        )[0]
    parts, axis = [call.variable(v) for v in sequence], call.needs("axis")
    return ops.stack(parts, axis=axis) if call.attr("new_axis", 0) else ops.concat(parts, axis=axis)


@rule("SplitToSequence", known=(1,))
def split_to_sequence(call, x, sizes):
    axis = call.axis(call.attr("axis", 0), call.rank(x))
    n = call.shape(x)[axis]
    if isinstance(n, Size):
        raise UnimplementedError("SplitToSequence must know the size of its axis")
    call.table(n << 8, "parts")
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
