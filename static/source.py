"""Programs as Python source that rebuilds them.

>>> from dygraph import static
>>> program = static.Program()
>>> x = program.global_block().create_var(name="x", shape=[2], dtype="float32")
>>> print(static.to_code(program))
from dygraph import static
<BLANKLINE>
program = static.Program()
block = program.block(0)
block.create_var(name='x', shape=[2], dtype='float32')
<BLANKLINE>
"""

import math

from dygraph import _core
from dygraph.errors import ArgumentTypeError, kind_of
from dygraph.static.program import Program
from dygraph.static.variable import Parameter

__all__ = ["to_code"]


def to_code(program, name="program"):
    """Python source that makes a program of the same bytes.

    Variables and operators are calls of ``create_var``, ``create_parameter`` and
    ``append_described``. What these cannot express, such as unknown fields, is in the source as
    bytes. Regularizers and clipping of parameters are not part of a program's bytes and are left
    out.

    Parameters
    ----------
    program : Program
        The program to write down.
    name : str
        The name of the variable for the program.

    Returns
    -------
    str

    Examples
    --------
    >>> from dygraph import static
    >>> main = static.Program()
    >>> with static.program_guard(main):
    ...     y = static.layers.relu(static.data("x", [None, 3], "float32"))
    >>> scope = {}
    >>> exec(static.to_code(main), scope)
    >>> scope["program"].serialize_to_string() == main.serialize_to_string()
    True
    """
    if not isinstance(program, Program):
        raise ArgumentTypeError(f"to_code takes a static.Program, got {kind_of(program)}")
    if not isinstance(name, str) or not name.isidentifier():
        raise ArgumentTypeError(f"to_code: name must be a name of Python, got {name!r}")
    binary = program.serialize_to_string()
    lines = ["from dygraph import static", ""]
    bare = Program(program.desc)
    for block in bare.blocks:
        block.set_ops(block.ops)  # an edit, which normalises the indices of blocks
    again = bare.serialize_to_string() == binary
    if not again or any(len({*b.vars}) < len(b.vars) for b in bare.blocks):
        return "\n".join([*lines, f"{name} = static.Program.parse_from_string({binary!r})", ""])
    lines += _frame(name, bare)
    for block in program.blocks:
        if block.vars or block.ops:
            lines.append(f"block = {name}.block({block.idx})")
        lines += [_variable(var.desc, var) for var in block.vars.values()]
        lines += [_operator(op.desc) for op in block.ops]
    if program.random_seed:
        lines.append(f"{name}.random_seed = {program.random_seed!r}")
    return "\n".join([*lines, ""])


def _frame(name, bare):
    """The program with all its blocks, empty."""
    for block in bare.blocks:
        block.set_ops([])
        block.core.forget_vars({*block.vars})
    wanted = bare.serialize_to_string()
    made = Program()
    lines = [f"{name} = static.Program()"]
    try:
        for block in bare.blocks[1:]:
            parent, forward = block.parent_idx, block.core.forward_idx
            made.create_block(parent, forward)
            made.rollback()
            more = "" if forward is None else f", forward_idx={forward}"
            lines += [f"{name}.create_block({parent}{more})", f"{name}.rollback()"]
        if made.serialize_to_string() == wanted:
            return lines
    except (IndexError, TypeError):  # a parent that comes later or does not exist
        pass
    return [f"{name} = static.Program.parse_from_string({wanted!r})"]


def _alone(variables, ops):
    return _core.parts_to_bytes(variables, ops)


def _bytes_of(variables, ops):
    """The line that copies parts from a program's bytes."""
    binary = _alone(variables, ops)
    return f"block.extend(static.Program.parse_from_string({binary!r}).block(0))"


# Variables ----------------------------------------------------------------------------------------


def _variable(var, known):
    given = {"shape": None if var.shape is None else list(var.shape)}
    given["dtype"] = None if var.dtype is None else str(var.dtype)
    given["lod_level"] = var.lod_level
    copy = _core.Var(var.name, var.type)
    try:
        for field, value in given.items():
            if value is not None:
                setattr(copy, field, value)
        copy.persistable, copy.need_check_feed = var.persistable, var.need_check_feed
        same = _alone([copy], []) == _alone([var], [])
    except (TypeError, ValueError):
        same = False
    if not same:
        return _bytes_of([var], [])
    given = {k: v for k, v in given.items() if v is not None}
    parameter = isinstance(known, Parameter) and var.persistable and "lod_level" not in given
    if parameter and given.get("shape") and "dtype" in given and var.need_check_feed is None:
        more = "" if known.trainable else ", trainable=False"
        rate = known.optimize_attr
        more += "" if rate == {"learning_rate": 1.0} else f", optimize_attr={rate!r}"
        return f"block.create_parameter({given['shape']}, {given['dtype']!r}, {var.name!r}{more})"
    words = {"name": var.name, **given}
    if var.persistable is not None:
        words["persistable"] = var.persistable
    if var.need_check_feed is not None:
        words["need_check_feed"] = var.need_check_feed
    if var.type != "LOD_TENSOR":
        words["type"] = var.type
    if known.stop_gradient and given.get("dtype") in (
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ):
        words["stop_gradient"] = True
    if known.is_data:
        words["is_data"] = True
    return f"block.create_var({', '.join(f'{k}={v!r}' for k, v in words.items())})"


# Operators ----------------------------------------------------------------------------------------


def _operator(op):
    copy = _core.Op(op.type)
    try:
        attrs = {name: (op.attr_type(name), op.attr(name)) for name in op.attr_names}
        for slot, names in op.inputs.items():
            copy.set_input(slot, names)
        for slot, names in op.outputs.items():
            copy.set_output(slot, names)
        for name, (kind, value) in attrs.items():
            copy.set_attr(name, value, kind)
        same = _alone([], [copy]) == _alone([], [op])
    except (TypeError, ValueError):  # also UnicodeDecodeError
        same = False
    if not same:
        return _bytes_of([], [op])
    lines = [f"block.append_described({op.type!r}, {op.inputs!r}, {op.outputs!r}"]
    for name, (kind, value) in attrs.items():
        lines.append(f"{name!r}: ({kind!r}, {_literal(value)})")
    if len(lines) == 1:
        return f"{lines[0]})"
    body = "".join(f"    {line},\n" for line in lines[1:])
    return f"{lines[0]}, {{\n{body}}})"


def _literal(value):
    if isinstance(value, list):
        return f"[{', '.join(_literal(v) for v in value)}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    return repr(value)
