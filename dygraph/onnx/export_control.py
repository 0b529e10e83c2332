"""Branches and loops: If, Loop and Scan; arrays as ONNX's sequences."""

import numpy as np

from dygraph.onnx.export_graph import Block, Call, Refused, operator, type_of
from dygraph.onnx.package import helper, onnx


def writes_of(program, index):
    """Names that a block writes and does not declare itself, in order."""
    block, found = program.block(index), []
    for op in block.ops:
        names = list(op.output_arg_names)
        if op.has_attr("sub_block"):
            names += writes_of(program, op.attr("sub_block"))
        for name in names:
            if name not in found and name != "@EMPTY@" and not block.has_var(name):
                found.append(name)
    return [n for n in found if _kind(block, n) in ("LOD_TENSOR", "LOD_TENSOR_ARRAY")]


def _kind(block, name):
    variable = block.find_var_recursive(name)
    return None if variable is None else str(variable.type)


def is_array(block, name):
    return _kind(block.program, name) == "LOD_TENSOR_ARRAY"


class Body:
    """The nodes of a program's block as a subgraph."""

    def __init__(self, c, index):
        from dygraph.onnx.exporting import emit_block

        self.c, self.program = c, c.block.program.program
        self.block = Block(c.model, self.program.block(index), c.block)
        self.call = Call(self.block, c.op)
        self.emit_block = emit_block

    def fill(self):
        problems = []
        self.emit_block(self.block, problems)
        if problems:
            raise Refused("; ".join(problems))

    def info(self, name, variable):
        """A ValueInfo of this name for a variable of the program."""
        found = self.block.program.find_var_recursive(variable)
        return _info(name, found, _element(self.block, variable))


def _element(block, name):
    """The element type of an array's tensors."""
    return block.find(name, "arrays")


def _info(name, variable, element):
    if str(variable.type) == "LOD_TENSOR_ARRAY":
        return helper.make_tensor_sequence_value_info(name, element, None)
    return helper.make_tensor_value_info(name, type_of(variable.dtype), None)


def note_arrays(c, index):
    """Note the element types of arrays that a block writes first, so that they can be carried."""
    program = c.block.program.program
    block = program.block(index)
    for op in block.ops:
        if op.has_attr("sub_block"):
            note_arrays(c, op.attr("sub_block"))
        if op.type == "write_to_array":
            name = op.output("Out")[0]
            x = block.find_var_recursive(op.input("X")[0])
            root = c.block
            if root.find(name, "arrays") is None:
                root.arrays[name] = type_of(x.dtype)


def start_of(c, name):
    """What a variable holds before a block writes it; a placeholder where it holds nothing."""
    found = c.block.find(name)
    if found is not None:
        return found
    try:
        return c.block.get(name)
    except Refused:
        variable = c.block.program.find_var_recursive(name)
        if is_array(c.block, name):
            element = c.block.find(name, "arrays")
            if element is None:
                raise
            return c.SequenceEmpty(dtype=element)
        shape = [n if n >= 0 else 0 for n in variable.shape or ()]
        return c.full(shape, 0, str(variable.dtype))


def same_lengths(c, body, name):
    """The lengths of a variable that a block writes, which must be those from before it."""
    before, after = c.block.find(name, "lengths"), body.block.find(name, "lengths")
    if before != after:
        ragged = c.block.program.find_var_recursive(name).lod_level
        c.require(not ragged, f"a block that gives '{name}' another level of detail")
        return None
    return before


def condition_of(c, value):
    """One bool, 0-d."""
    return c.Reshape(value, np.array([], np.int64))


@operator("while")
def _while(c):
    index = c.attr("sub_block")
    note_arrays(c, index)
    body = Body(c, index)
    names = writes_of(body.program, index)
    condition = c.names("Condition")[0]
    starts = [start_of(c, n) for n in names]
    model = c.model
    counter, again = model.name("turn"), model.name("again")
    before = [model.name("carried") for _ in names]
    for name, value in zip(names, before, strict=True):
        body.block.set(name, value, c.block.find(name, "lengths"))
    body.fill()
    call = body.call
    inputs = [
        helper.make_tensor_value_info(counter, onnx.TensorProto.INT64, []),
        helper.make_tensor_value_info(again, onnx.TensorProto.BOOL, []),
        *(body.info(v, n) for v, n in zip(before, names, strict=True)),
    ]
    go_on = call.copy(condition_of(call, body.block.get(condition)))
    after = [call.copy(body.block.get(n)) for n in names]
    outputs = [
        helper.make_tensor_value_info(go_on, onnx.TensorProto.BOOL, []),
        *(body.info(v, n) for v, n in zip(after, names, strict=True)),
    ]
    graph = body.block.graph("turn", inputs, outputs)
    first = condition_of(c, c["Condition"])
    made = c.Loop("", first, *starts, outputs=max(len(names), 1), body=graph)
    for name, value in zip(names, made if len(names) > 1 else [made], strict=False):
        c.block.set(name, value, same_lengths(c, body, name))


@operator("conditional_block", "conditional_block_infer")
def _conditional(c):
    index = c.attr("sub_block")
    if c.attr("is_scalar_condition"):
        condition = condition_of(c, c["Cond"])
        condition = condition if c.dtype_of("Cond") == "bool" else c.cast(condition, "bool")
    else:
        condition = None
        for value in c.list("Cond"):
            some = c.Greater(c.Size(value), c.scalar(0, "int64"))
            condition = some if condition is None else c.And(condition, some)
    note_arrays(c, index)
    body = Body(c, index)
    names = writes_of(body.program, index)
    if not names:
        return
    starts = [start_of(c, n) for n in names]
    body.fill()
    call = body.call
    other = Block(c.model, body.block.program, c.block)
    other_call = Call(other, c.op)
    then = [call.copy(body.block.get(n)) for n in names]
    rest = [other_call.copy(v) for v in starts]
    graphs = [
        block.graph("branch", [], [body.info(v, n) for v, n in zip(values, names, strict=True)])
        for block, values in ((body.block, then), (other, rest))
    ]
    made = c.If(condition, outputs=len(names), then_branch=graphs[0], else_branch=graphs[1])
    for name, value in zip(names, made if len(names) > 1 else [made], strict=True):
        c.block.set(name, value, same_lengths(c, body, name))


@operator("select_input")
def _select_input(c):
    values = c.list("X")
    mask = c.Reshape(c.cast(c["Mask"], "int64"), np.array([], np.int64))
    found = values[-1]
    for number in range(len(values) - 2, -1, -1):
        hit = c.Equal(mask, c.scalar(number, "int64"))
        graphs = []
        for value in (values[number], found):
            block = Block(c.model, c.block.program, c.block)
            inner = Call(block, c.op).copy(value)
            info = helper.make_tensor_value_info(inner, type_of(c.dtype_of("X", number)), None)
            graphs.append(block.graph("branch", [], [info]))
        found = c.If(hit, then_branch=graphs[0], else_branch=graphs[1])
    return found


@operator("select_output")
def _select_output(c):
    return {"Out": [c["X"]] * len(c.op.outputs["Out"])}


@operator("recurrent")
def _recurrent(c):
    body = Body(c, c.attr("sub_block"))
    block, call, model = body.block, body.call, c.model
    inputs, states = c.names("inputs"), list(c.attr("states"))
    before = list(c.attr("ex_states"))
    outputs = list(c.op.outputs["outputs"])
    stacked = [c.block.get(n) for n in inputs]
    starts = [c.block.get(n) for n in c.names("initial_states")]
    infos = []
    for name in [*before, *inputs]:
        value = model.name("step")
        block.set(name, value)
        infos.append(body.info(value, name))
    body.fill()
    after = [call.copy(block.get(n)) for n in states]
    made = [call.copy(block.get(n)) for n in outputs]
    ends = [body.info(v, n) for v, n in zip([*after, *made], [*states, *outputs], strict=True)]
    graph = block.graph("step", infos, ends)
    reverse = int(bool(c.attr("reverse")))
    count = len(after) + len(made)
    results = c.Scan(
        *starts, *stacked, outputs=count, body=graph, num_scan_inputs=len(stacked),
        scan_input_directions=[reverse] * len(stacked),
        scan_output_directions=[reverse] * len(made),
    )  # fmt: skip
    results = results if count > 1 else [results]
    return {"outputs": [(v, None) for v in results[len(after) :]]}


@operator("assert")
def _assert(c):
    """ONNX has no operator that raises: the model goes on."""


@operator("print")
def _print(c):
    slots = c.info["inputs"][0]["name"], c.info["outputs"][0]["name"]
    return {slots[1]: c.Identity(c[slots[0]])}


@operator("delete_var")
def _delete_var(c):
    """Memory is the runtime's."""


# Arrays -------------------------------------------------------------------------------------------


def place(c):
    return c.Reshape(c.cast(c["I"], "int64"), np.array([], np.int64))


@operator("write_to_array")
def _write(c):
    c.require(not c.attr("add"), "elements that are added to")
    name = c.op.output("Out")[0]
    element = type_of(c.dtype_of("X"))
    given = c.names("Array")
    array = c.block.find(given[0] if given else name)
    if array is None:
        array = c.SequenceEmpty(dtype=element)
    c.block.arrays[name] = element
    # Element I is replaced where there is one, else appended.
    i, length = place(c), c.SequenceLength(array)
    there = c.Less(i, length)
    kind = helper.make_tensor_sequence_value_info
    graphs = []
    for replaces in (True, False):
        block = Block(c.model, c.block.program, c.block)
        inner = Call(block, c.op)
        if replaces:
            rest = inner.SequenceErase(array, i)
            made = inner.SequenceInsert(rest, c["X"], i)
        else:
            made = inner.SequenceInsert(array, c["X"])
        graphs.append(block.graph("branch", [], [kind(made, element, None)]))
    c.block.set(name, c.If(there, then_branch=graphs[0], else_branch=graphs[1]))


@operator("read_from_array")
def _read(c):
    c.require(not c.has("X_W"), "elements that were never written")
    return {"Out": c.SequenceAt(c["X"], place(c))}


@operator("lod_array_length")
def _length(c):
    return c.Reshape(c.SequenceLength(c["X"]), np.array([1]))


@operator("tensor_array_to_tensor")
def _joined(c):
    axis, stack = c.attr("axis"), bool(c.attr("use_stack"))
    out = c.ConcatFromSequence(c["X"], axis=axis, new_axis=int(stack))
    return {"Out": out, "OutIndex": None}
