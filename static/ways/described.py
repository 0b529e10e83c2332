"""Blocks that a function describes itself, with `static.layers.While`, `cond` or `DynamicRNN`.

Exploration treats such an operator as a single one, with a copy of its block; emission writes the
block again, with the program's names. Arrays, rank tables and similar values are written in place
and have one uid.
"""

from dygraph.static.operator import Operator
from dygraph.static.ways.graph import Refused, short

__all__ = ["Body", "body_of", "declared", "is_tensor", "kind_of_value", "write"]

_TENSORS = ("LOD_TENSOR", "SELECTED_ROWS")
_EMPTY = "@EMPTY@"
_SLOTS = {"while": "Condition", "conditional_block": "Cond"}


class Body:
    """A copy of a block: its variables, and its operators with their blocks.

    Attributes
    ----------
    variables : dict of str to Meta
    ops : list of (description, Body or None)
    text : str
        Equal on the same path.
    """

    def __init__(self, block, meta_of):
        self.variables = {v.name: meta_of(v) for v in block.vars.values()}
        self.ops = [(op.desc.copy(), body_of(op.desc, block.program, meta_of)) for op in block.ops]
        self.text = block.to_string()


def body_of(desc, program, meta_of):
    """The `Body` of an operator; None for one without a block."""
    blocks = [a for a in desc.attr_names if desc.attr_type(a) in ("BLOCK", "BLOCKS")]
    if not blocks:
        return None
    whole = desc.type == "while" or desc.has_attr("is_scalar_condition")
    line = short((desc.attrs.get("op_callstack") or ["?"])[-1])
    if desc.type not in _SLOTS or not whole or desc.attrs.get("is_scalar_condition") is False:
        raise Refused(
            f"{desc.type} with a block of its own, at {line}, cannot become part of a function's "
            "program. Use Python's if or for, or static.layers.While, cond or DynamicRNN"
        )
    return Body(program.block(desc.attrs["sub_block"]), meta_of)


def kind_of_value(variable):
    """The type of a variable as `Meta.dtype`; the kind for other values than tensors."""
    dtype = str(variable.dtype)
    if variable.dtype is None and variable.type == "LOD_TENSOR":
        line = short(variable.block.created_at(variable.name))
        raise Refused(
            f"'{variable.name}', made at {line}, has neither "
            "shape nor type. Have both functions of cond give the same type and rank"
        )
    return dtype if is_tensor(variable) else f"{variable.type}:{dtype}"


def is_tensor(variable):
    """Whether a variable holds a tensor, which gets another uid with each write."""
    return variable.type in _TENSORS


def declared(block, name, meta):
    """Declare a variable of `kind_of_value` that is no tensor."""
    type, _, dtype = meta.dtype.partition(":")
    block.create_var(name, type=type, dtype=None if dtype == "None" else dtype)


def write(writer, op):
    """Emit an operator with a block of its own."""
    (ins, outs), names = op.described, {}
    for slot, scratch_names in ins.items():
        names.update(zip(scratch_names, map(writer.name, op.ins.get(slot, ())), strict=True))
    before = dict(zip(op.attrs["before"], op.ins.get("Before", ()), strict=True))
    kept = "StepScopes" if op.type == "while" else "Scope"
    moves = []
    for slot, scratch_names in outs.items():
        if slot == kept:
            continue
        for name, uid in zip(scratch_names, op.outs[slot], strict=True):
            old = before.get(name)
            if old in writer.unsure or old is None:  # other blocks write what this one does not
                writer.unsure.add(uid)
            if old in writer.unsure:
                writer.share(uid, old)
            names[name] = uid if isinstance(uid, str) else writer.declare(uid)
            if old is not None and old != uid and old not in writer.unsure:
                moves.append((writer.name(old), names[name]))
    for old, new in moves:  # other variables keep their values
        writer.assign(old, new)
    condition = names[ins[_SLOTS[op.type]][0]]
    _inside(writer, op.type, condition, op.body, names)


def _inside(writer, type, condition, body, names):
    own = {name: writer.new(meta, name) for name, meta in body.variables.items()}
    names = {**names, **own, _EMPTY: _EMPTY}
    with writer.inside(condition, type):
        for desc, inner in body.ops:
            if inner is not None:
                asked = names[desc.input(_SLOTS[desc.type])[0]]
                _inside(writer, desc.type, asked, inner, names)
                continue
            copy = desc.copy()
            for slot in copy.input_names:
                copy.set_input(slot, [names[n] for n in copy.input(slot)])
            for slot in copy.output_names:
                copy.set_output(slot, [names[n] for n in copy.output(slot)])
            writer.block.put_op(Operator(writer.block, copy))
