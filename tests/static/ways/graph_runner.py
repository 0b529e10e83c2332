"""Runs an explored graph by eager calls: what the program of it must compute."""

import sys

import numpy as np

import dygraph
from dygraph.static.ways.arguments import build
from dygraph.static.ways.explore import Explorer, Input
from dygraph.static.ways.graph import Ask, Give, Go, Raise, check_order

_MARKS = {
    "op_role", "op_role_var", "op_namescope", "op_device", "use_mkldnn", "mkldnn_data_type",
    "x_data_format", "y_data_format", "use_cudnn", "use_quantizer", "op_callstack",
}  # fmt: skip


class Endless(Exception):
    pass


def explored(function, *args, **kwargs):
    """An `Explorer` that has explored, its graph checked."""
    explorer = Explorer(function, args, kwargs)
    root = explorer.explore()
    check_order(root, ())
    return explorer


def inputs_in(value):
    """Inputs in nested arguments, in order."""
    if isinstance(value, Input):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [i for item in value for i in inputs_in(item)]
    return []


def run(explorer, feeds, limit=1_000_000):
    """The result for Variables by name of the inputs, with the structure of the call's."""
    values = {**explorer.held, **explorer.constants, **feeds}
    block, steps = explorer.root, 0
    while True:
        for op in block.ops:
            _compute(op, values)
        end = block.end
        if isinstance(end, Give):
            results = iter([values[u] for u in end.uids])
            return build(end.structure, results.__next__)
        if isinstance(end, Raise):
            raise end.type(*end.args)
        if isinstance(end, Ask):
            block = end.yes if bool(values[end.uid]) else end.no
        elif isinstance(end, Go):
            # What lives outside is memory, whose value is handed on.
            given = [values[u].detach() if u in explorer.held else values[u] for u in end.args]
            block = end.block
            values.update(zip(block.params, given, strict=True))
        steps += 1
        if steps > limit:
            raise Endless


def _compute(op, values):
    get = lambda slot: [values[u] for u in op.ins[slot]]  # noqa: E731
    if op.type == "array_new":
        made = get("X") if "X" in op.ins else []
    elif op.type == "array_append":
        array, item = get("X")
        made = [*array, item]
    elif op.type == "array_length":
        made = dygraph.to_variable(np.array(len(get("X")[0])))
    elif op.type == "array_read":
        array, i = get("X")
        made = array[int(i)]
    elif op.type in ("array_stack", "array_concat"):
        function = dygraph.stack if op.type == "array_stack" else dygraph.concat
        made = function(get("X")[0], axis=op.attrs["axis"])
    elif op.type == "print":
        print(op.attrs["message"], get("In")[0].tolist(), file=sys.stdout)
        made = None
    else:
        return _operator(op, values)
    values[op.outs["Out"][0]] = made


def _operator(op, values):
    ins = {slot: [values[u] for u in us] for slot, us in op.ins.items()}
    attrs = {k: v for k, v in op.attrs.items() if k not in _MARKS}
    counts = {slot: len(us) for slot, us in op.outs.items() if len(us) > 1}
    result = dygraph.run_op(op.type, ins, attrs, counts or None)
    for slot, uids in op.outs.items():
        made = result[slot] if slot in result else []
        made = made if isinstance(made, (list, tuple)) else [made]
        for uid, value in zip(uids, made, strict=False):
            if isinstance(uid, str):
                values[uid].set_value(value)
            else:
                values[uid] = value
