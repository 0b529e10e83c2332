"""Loops, branches, arrays and rank tables: operators that run blocks or hold values."""

from dygraph.codegen.lod import own_lod
from dygraph.codegen.registry import INTS, operator
from dygraph.codegen.source import children


def block_of(call):
    found = children(call.op)
    if len(found) != 1:
        call.refuse("runs no block or several")
    return found[0]


def body(e, call, index):
    """The block's operators; what it writes outside must keep its type."""
    before = {
        key: (slot, slot.dtype)
        for key, slot in e.slots.items()
        if slot.block != index and slot.dtype is not None
    }
    e.block(index)
    for (_, name), (slot, dtype) in before.items():
        if slot.dtype != dtype:
            call.refuse(f"a block changes the element type of a variable ({dtype}, {slot.dtype})")
        del name


@operator("while", exact=True)
def while_(e, call):
    condition = call.input("Condition")
    index, go = block_of(call), e.fresh("go")
    number = e.where
    e.line("for (;;) {")
    e.line(f"int {go};")
    e.line(f"c->where = {number};")
    e.line(f"TRY({e.use('go_on')}({e.ref(condition)}, &{go}));")
    e.line(f"if (!{go}) break;")
    body(e, call, index)
    e.line("}")


@operator("conditional_block", "conditional_block_infer", exact=True)
def conditional_block(e, call):
    index, go = block_of(call), e.fresh("go")
    conditions = call.inputs("Cond")
    e.line("{")
    e.line(f"int {go} = 1;")
    if call.attr("is_scalar_condition"):
        if len(conditions) != 1:
            call.refuse("with several conditions")
        e.line(f"TRY({e.use('go_on')}({e.ref(conditions[0])}, &{go}));")
    else:
        for x in conditions:
            e.line(f"TRY(need_any({e.ref(x)}));")
            e.line(f"if (v[{x.number}].count == 0) {go} = 0;")
    e.line(f"if ({go}) {{")
    body(e, call, index)
    e.line("}")
    e.line("}")


@operator("recurrent", exact=True)
def recurrent(e, call):
    index = block_of(call)
    outer_inputs, initial = call.inputs("inputs"), call.inputs("initial_states")
    outer_outputs, block = call.outputs("outputs"), index
    if not outer_inputs:
        call.refuse("without inputs")
    names = call.attr("ex_states"), call.attr("states")
    if not len(initial) == len(names[0]) == len(names[1]):
        call.refuse("states must be as many as initial states")
    inner = [e.slots.get((block, n)) for n in call.names("inputs")]
    before = [e.slots.get((block, n)) for n in names[0]]
    after = [e.find(block, n) for n in names[1]]
    results = [e.slots.get((block, n)) for n in call.names("outputs")]
    if None in (*before, *after, *results, *inner):
        call.refuse("its block must declare its inputs, states and outputs")
    for outside, inside in zip((*outer_inputs, *initial), (*inner, *before), strict=True):
        e.set_type(inside, outside.dtype)
    t, steps, i = e.fresh("t"), e.fresh("n"), e.fresh("i")
    e.line("{")
    e.line(f"int64_t {steps};")
    e.line(f"TRY(need_any({e.ref(outer_inputs[0])}));")
    for x in outer_inputs:
        e.line(f"TRY(need_any({e.ref(x)}));")
        e.line(f"CHECK(v[{x.number}].rank > 0 && v[{x.number}].dims[0] == "
               f"v[{outer_inputs[0].number}].dims[0], BAD_SHAPE);")  # fmt: skip
    e.line(f"{steps} = v[{outer_inputs[0].number}].dims[0];")
    e.line(f"CHECK({steps} > 0, BAD_SHAPE);")
    e.line(f"for (int64_t {i} = 0; {i} < {steps}; ++{i}) {{")
    turn = f"{steps} - 1 - {i}" if call.attr("reverse") else i
    e.line(f"int64_t {t} = {turn};")
    for outside, inside in zip(outer_inputs, inner, strict=True):
        e.call("step_of", e.ref(outside), t, e.ref(inside))
    e.line(f"if ({i} == 0) {{")
    for outside, inside in zip(initial, before, strict=True):
        e.call("share", e.ref(outside), e.ref(inside))
    e.line("} else {")
    for made, inside in zip(after, before, strict=True):
        e.call("share", e.ref(made), e.ref(inside))
    e.line("}")
    body(e, call, index)
    for made, outside in zip(results, outer_outputs, strict=True):
        e.use("step_of")
        e.line(f"TRY(keep_step(c, {e.ref(made)}, {i} == 0, {t}, {steps}, {e.ref(outside)}));")
        e.set_type(outside, made.dtype)
    e.line("}")
    for key, slot in e.slots.items():
        if key[0] == index:
            e.line(f"drop(c, {e.ref(slot)});")
    e.line("}")


@operator("select_input", exact=True)
def select_input(e, call):
    parts, mask, out = call.inputs("X"), call.input("Mask"), call.output("Out")
    if len({p.dtype for p in parts}) != 1 or len({p.kind for p in parts}) != 1:
        call.refuse("of different types")
    name = e.fresh("m")
    e.line(f"int64_t {name};")
    e.need("number_of")
    if mask.dtype == "bool":
        call.refuse("a mask of bool")
    e.line(f"TRY(number_of({e.ref(mask)}, {len(parts)}, &{name}));")
    e.need("share")
    e.line(f"TRY(share(c, v + {e.refs(parts)}[{name}], {e.ref(out)}));")
    e.set_type(out, parts[0].dtype)
    out.kind = parts[0].kind


@operator("select_output", exact=True)
def select_output(e, call):
    x, mask, outs = call.input("X"), call.input("Mask"), call.outputs("Out")
    name = e.fresh("m")
    e.line(f"int64_t {name};")
    e.need("number_of")
    e.line(f"TRY(number_of({e.ref(mask)}, {len(outs)}, &{name}));")
    for out in outs:
        if out.number != x.number:
            e.line(f"drop(c, {e.ref(out)});")
        e.set_type(out, x.dtype)
    e.need("share")
    e.line(f"TRY(share(c, {e.ref(x)}, v + {e.refs(outs)}[{name}]));")


@operator("write_to_array", exact=True)
def write_to_array(e, call):
    if call.attr("add"):
        call.refuse("with add")
    x, i, out = call.input("X"), call.input("I"), call.output("Out")
    before = call.optional("Array")
    if i.dtype not in INTS or out.kind != "array":
        call.refuse("Out must be an array and I an integer")
    if out.dtype not in (None, x.dtype):
        call.refuse("of different types")
    e.call("array_write", e.ref(x), e.ref(i), e.ref(before), e.ref(out))
    e.set_type(out, x.dtype)


def array(call, x):
    if x.kind != "array":
        call.refuse("X must be an array")
    return x


@operator("read_from_array", exact=True)
def read_from_array(e, call):
    if call.has("X_W") or call.has("Rest"):
        call.refuse("of a backward pass")
    x, out = array(call, call.input("X")), call.output("Out")
    dtype = x.dtype or str(out.var.dtype)  # written later in the loop
    e.call("array_read", e.ref(x), e.ref(call.input("I")), e.ref(out))
    e.set_type(out, dtype)


@operator("lod_array_length", exact=True)
def lod_array_length(e, call):
    out = call.output("Out")
    e.call("array_length", e.ref(array(call, call.input("X"))), e.ref(out))
    e.set_type(out, "int64")


@operator("tensor_array_to_tensor", exact=True)
def tensor_array_to_tensor(e, call):
    x, out, sizes = (
        array(call, call.input("X")),
        call.output("Out"),
        call.optional_output("OutIndex"),
    )
    if x.dtype is None:
        call.refuse("of an array that nothing writes")
    e.call("array_join", e.ref(x), call.attr("axis"), int(call.attr("use_stack")), e.ref(out),
           e.ref(sizes))  # fmt: skip
    e.set_type(out, x.dtype)
    if sizes is not None:
        e.set_type(sizes, "int32")


def levels_at_most(call, x, most):
    if getattr(x.var, "lod_level", 0) > most:
        call.refuse(f"of more than {most} levels of detail")


@operator("lod_rank_table", exact=True)
def lod_rank_table(e, call):
    out = call.output("Out")
    if call.attr("level") != 0:
        call.refuse("of an inner level of detail")
    e.call("rank_table", e.ref(call.input("X")), e.ref(out), call.attr("level"))
    e.set_type(out, "int64")
    out.kind = "table"


@operator("max_sequence_len", exact=True)
def max_sequence_len(e, call):
    out = call.output("Out")
    e.call("longest", e.ref(call.input("RankTable")), e.ref(out))
    e.set_type(out, "int64")


@operator("lod_tensor_to_array", exact=True)
def lod_tensor_to_array(e, call):
    x, out = call.input("X"), call.output("Out")
    levels_at_most(call, x, 1)
    e.call("to_steps", e.ref(x), e.ref(call.input("RankTable")), e.ref(out))
    e.set_type(out, x.dtype)
    out.kind = "array"


@operator("array_to_lod_tensor", exact=True)
def array_to_lod_tensor(e, call):
    x, out = array(call, call.input("X")), call.output("Out")
    e.call("from_steps", e.ref(x), e.ref(call.input("RankTable")), e.ref(out))
    e.set_type(out, x.dtype or str(out.var.dtype))


@operator("shrink_rnn_memory", exact=True)
def shrink_rnn_memory(e, call):
    x, out = call.input("X"), call.output("Out")
    levels_at_most(call, x, 0)
    e.call("shrink", e.ref(x), e.ref(call.input("I")), e.ref(call.input("RankTable")), e.ref(out))
    e.set_type(out, x.dtype)


@operator("reorder_lod_tensor_by_rank", exact=True)
def reorder(e, call):
    x, out = call.input("X"), call.output("Out")
    levels_at_most(call, x, 1)
    e.call("by_rank", e.ref(x), e.ref(call.input("RankTable")), e.ref(out))
    e.set_type(out, x.dtype)


@operator("rnn_memory_helper", exact=True)
def rnn_memory_helper(e, call):
    x, out = call.input("X"), call.output("Out")
    e.call("share", e.ref(x), e.ref(out))
    e.set_type(out, x.dtype)


own_lod(
    "select_input", "select_output", "write_to_array", "read_from_array", "lod_array_length",
    "tensor_array_to_tensor", "lod_rank_table", "max_sequence_len", "lod_tensor_to_array",
    "array_to_lod_tensor", "shrink_rnn_memory", "reorder_lod_tensor_by_rank", "rnn_memory_helper",
)  # fmt: skip
