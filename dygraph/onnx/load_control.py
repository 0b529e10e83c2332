"""Rules that hold graphs: If, Loop, Scan."""

import numpy as np

import dygraph
from dygraph import _core
from dygraph.core.sizes import Size
from dygraph.errors import InvalidArgumentError, UnimplementedError
from dygraph.onnx import load_sizes
from dygraph.onnx.load_file import Graph
from dygraph.onnx.load_rules import rule
from dygraph.onnx.load_sequences import (
    array_of,
    as_array_write,
    is_array,
    not_read_later,
    written,
)

ops = _core.ops


def _graph(call, name):
    found = call.needs(name)
    if not isinstance(found, Graph):
        raise InvalidArgumentError(f"the attribute {name} must be a graph")
    return found


def _in_program(call):
    return call.importer.program.appending_to(call.importer.program.current_block())


@rule("If", known=(0,), control=True)
def if_(call, condition):
    branches = _graph(call, "then_branch"), _graph(call, "else_branch")
    names = as_array_write(call)
    array = None if names is None else call.scope.find(names[0])
    if is_array(array):
        value, place = call.scope.find(names[1]), call.scope.find(names[2])
        with _in_program(call):
            return (written(call, names[0], array, value, place),)
    known = call.numbers(condition)
    if known is not None:
        chosen = branches[0] if bool(known.reshape(-1)[0]) else branches[1]
        return tuple(call.importer.graph(chosen, [], call.scope))

    def branch(graph):
        def run():
            values = call.importer.graph(graph, [], call.scope)
            with _in_program(call):
                return [_written(call, v) for v in values]

        return run

    with _in_program(call):
        condition = call.variable(condition).reshape([1])
    found = dygraph.static.layers.cond(condition, branch(branches[0]), branch(branches[1]))
    return tuple(found)


def _written(call, value):
    """A value that a block gives to the outside: a variable that the block made."""
    if is_array(value):
        return value
    if isinstance(value, list) or value is None:
        raise UnimplementedError("a block must give tensors, got a sequence")
    return ops.assign(call.variable(value))


def repeat(call, count, condition, body, states, scans):
    """Steps of a loop: ``body(i, condition, states)`` gives a condition, states and `scans` parts.

    `count` is an int, a Size or an int64 Variable, or None; `condition` a bool Variable or None.
    Returns the states and for each part the stack of its steps.
    """
    known = count is None or isinstance(count, int) and not isinstance(count, Size)
    if not call.describes:
        return _repeat_eagerly(call, count, condition, body, states, scans)
    program = call.importer.program
    if known and count is not None and condition is None and count <= 32:
        return _unrolled(call, count, body, states, scans)
    layers = dygraph.static.layers
    with _in_program(call):
        if isinstance(count, Size):
            count = count.variable().astype("int64").reshape([1])
        elif isinstance(count, _core.Variable):
            count = count.reshape([1])
        elif count is not None:
            count = call.constant(np.array([min(count, 1 << 62)], "int64"))
        step = ops.fill_constant(shape=[1], dtype="int64", value=0.0)
        states = [_started(call, s) for s in states]
        holds = None
        if condition is not None:
            holds = ops.assign(call.variable(condition).reshape([1]))
        kinds = []
        if scans:
            moment = program.moment()
            probe = body(ops.reshape2(step, shape=[]), holds, states)[2]
            kinds = [str(call.variable(v).dtype) for v in probe]
            program.take_back(moment)
        arrays = [layers.create_array(kind) for kind in kinds]
    carried = [step, *([] if holds is None else [holds]), *states, *arrays]
    first = 1 if holds is None else 2

    def goes_on(step, *rest):
        with _in_program(call):
            found = None if count is None else step < count
            if holds is not None:
                found = rest[0] if found is None else dygraph.logical_and(found, rest[0])
            return found

    def turn(*values):
        step, own = values[0], list(values[first : first + len(states)])
        arrays = values[first + len(states) :]
        before = values[1] if holds is not None else None
        more, new, parts = body(ops.reshape2(step, shape=[]), before, own)
        with _in_program(call):
            new = [_written(call, v) for v in new]
            for part, array in zip(parts, arrays, strict=True):
                layers.array_write(_written(call, part), step, array)
            result = [step + 1]
            if holds is not None:
                result.append(_written(call, more).reshape([1]))
            return [*result, *new, *arrays]

    done = layers.while_loop(goes_on, turn, carried)
    with _in_program(call):
        stacks = [
            layers.tensor_array_to_tensor(array, axis=0, use_stack=True)[0]
            for array in done[first + len(states) :]
        ]
    return list(done[first : first + len(states)]), stacks


def _started(call, value):
    """The first value of a state, which the loop may overwrite."""
    if isinstance(value, list):
        return array_of(call, value)
    return value if is_array(value) else ops.assign(call.variable(value))


def _unrolled(call, count, body, states, scans):
    rows = [[] for _ in range(scans)]
    for i in range(count):
        step = _core.to_variable(np.array(i, "int64"))
        _, states, parts = body(step, None, states)
        for row, part in zip(rows, parts, strict=True):
            row.append(part)
    with _in_program(call):
        return states, [_stacked(call, row) for row in rows]


def _stacked(call, row):
    if not row:
        raise UnimplementedError("a loop with scan outputs must make a step, got none")
    return ops.stack([call.variable(v) for v in row], axis=0)


def _repeat_eagerly(call, count, condition, body, states, scans):
    if isinstance(count, _core.Variable):
        count = int(call.numbers(count).item())
    rows, i = [[] for _ in range(scans)], 0
    while (count is None or i < count) and (
        condition is None or bool(call.numbers(condition).reshape(-1)[0])
    ):
        more, states, parts = body(_core.to_variable(np.array(i, "int64")), condition, states)
        condition = None if condition is None else more
        for row, part in zip(rows, parts, strict=True):
            row.append(call.variable(part))
        i += 1
    return states, [_stacked(call, row) for row in rows]


@rule("Loop", known=tuple(range(1 << 6)), control=True)
def loop(call, count, condition, *states):
    body = _graph(call, "body")
    n = len(states)
    for name, state in zip(call.node.inputs[2:], states, strict=False):
        if is_array(state):
            not_read_later(call, name)
    scans = len(body.outputs) - 1 - n
    if scans < 0 or len(body.inputs) != n + 2:
        raise InvalidArgumentError(
            f"the body of Loop must have {n + 2} inputs and {n + 1} outputs or more, got "
            f"{len(body.inputs)} and {len(body.outputs)}"
        )
    if count is not None:
        known = call.numbers(count)
        count = int(known.reshape(-1)[0]) if known is not None else _size_or_variable(call, count)
    constant = _constant_condition(call, body, condition)
    if constant is False:
        count, condition = 0, None
    elif constant is True:
        condition = None
    if count is None and condition is None:
        raise InvalidArgumentError("Loop must end: it has neither a count nor a condition")

    def turn(step, holds, own):
        given = holds
        if holds is None:
            given = _core.to_variable(np.array(True))
        elif call.describes and _core.is_symbol(holds):
            with _in_program(call):
                given = ops.reshape2(holds, shape=[])
        found = call.importer.graph(body, [step, given, *own], call.scope)
        return found[0], found[1 : n + 1], found[n + 1 :]

    if isinstance(count, int) and not isinstance(count, Size) and count <= 0 and scans:
        raise UnimplementedError("a loop with scan outputs must make a step, got none")
    done, stacks = repeat(call, count, condition, turn, list(states), scans)
    return (*done, *stacks)


def _size_or_variable(call, count):
    if load_sizes.is_sizes(count):
        return count.reshape(-1)[0]
    with _in_program(call):
        return call.variable(count)


def _constant_condition(call, body, condition):
    """True if the condition holds in every turn, False if not even in the first; else None."""
    known = True if condition is None else call.numbers(condition)
    if known is not True and known is not None:
        known = bool(known.reshape(-1)[0])
        if not known:
            return False
    name, written = body.outputs[0].name, {}
    for node in body.nodes:
        for output in node.outputs:
            written[output] = node
    while name in written and written[name].op_type in ("Identity", "Cast"):
        name = written[name].inputs[0]
    if name in written and written[name].op_type == "Constant":
        value = written[name].attributes.get("value")
        stays = isinstance(value, np.ndarray) and value.size == 1 and bool(value.reshape(-1)[0])
    elif name in body.initializers:
        stays = bool(np.asarray(body.initializers[name]).reshape(-1)[0])
    else:
        stays = name == body.inputs[1].name
    return True if stays and known is True else None


@rule("Scan", known=tuple(range(1 << 6)), control=True)
def scan(call, *values):
    if call.opset < 9:
        return _scan_of_batches(call, *values)
    body = _graph(call, "body")
    return _scan(call, body, list(values), 0)


def _scan(call, body, values, lead):
    m = call.needs("num_scan_inputs")
    n = len(values) - m
    scans = len(body.outputs) - n
    if n < 0 or scans < 0 or len(body.inputs) != n + m:
        raise InvalidArgumentError(
            f"the body of Scan must take {n + m} values, got {len(body.inputs)}"
        )
    axes = call.attr("scan_input_axes", [0] * m)
    ways = call.attr("scan_input_directions", [0] * m)
    out_axes = call.attr("scan_output_axes", [0] * scans)
    out_ways = call.attr("scan_output_directions", [0] * scans)
    context = _in_program if call.describes else _nothing
    inputs = []
    with context(call):
        for value, axis, way in zip(values[n:], axes, ways, strict=True):
            x = call.variable(value)
            rank = call.rank(x)
            axis = call.axis(axis, rank)
            if axis:
                x = dygraph.permute_dims(x, [axis, *[i for i in range(rank) if i != axis]])
            inputs.append(dygraph.flip(x, 0) if way else x)
    if not inputs:
        raise InvalidArgumentError("Scan must have an input to scan, got none")
    count = call.shape(inputs[0])[0]

    def turn(step, holds, own):
        with context(call):
            at = call.variable(step)
            at = at.reshape([1])
            rows = [ops.squeeze2(ops.gather(x, at, axis=0), axes=[0]) for x in inputs]
        found = call.importer.graph(body, [*own, *rows], call.scope)
        return None, found[:n], found[n:]

    done, stacks = repeat(call, count, None, turn, values[:n], scans)
    results = []
    with context(call):
        for stack, axis, way in zip(stacks, out_axes, out_ways, strict=True):
            stack = dygraph.flip(stack, 0) if way else stack
            rank = call.rank(stack)
            axis = call.axis(axis, rank)
            if axis:
                order = list(range(1, rank))
                order.insert(axis, 0)
                stack = dygraph.permute_dims(stack, order)
            results.append(stack)
    return (*done, *results)


class _nothing:  # noqa: N801
    def __init__(self, call):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


def _scan_of_batches(call, lengths, *values):
    """Before opset 9 the first axis is a batch of scans."""
    body = _graph(call, "body")
    if lengths is not None or any(call.attr("directions", [0])):
        raise UnimplementedError("Scan of opset 8 must have neither lengths nor directions")
    batch = call.shape(values[0])[0]
    if isinstance(batch, Size):
        raise UnimplementedError("Scan of opset 8 must know the batch, got an open size")
    call.table(batch << 12, "steps")
    context = _in_program if call.describes else _nothing
    each = []
    for b in range(batch):
        with context(call):
            rows = [
                ops.slice(call.variable(v), axes=[0], starts=[b], ends=[b + 1], decrease_axis=[0])
                for v in values
            ]
        each.append(_scan(call, body, rows, 0))
    with context(call):
        return tuple(
            ops.stack([call.variable(v) for v in row], axis=0) for row in zip(*each, strict=True)
        )
