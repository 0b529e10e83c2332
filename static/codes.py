"""The text for a variable or operator: its type, slots, attributes and role."""

__all__ = ["OpRole", "attribute_code", "role_of", "slots_code", "type_code"]


class OpRole:
    """Roles of operators, the values of ``op_role``; Fluid's numbers.

    Examples
    --------
    >>> from dygraph import static
    >>> static.OpRole.Backward, static.OpRole.Optimize
    (1, 2)
    """

    Forward, Backward, Optimize, RPC, Dist, LRSched, Loss = 0, 1, 2, 4, 8, 16, 256


def role_of(op):
    """The role of an operator.

    Parameters
    ----------
    op : Operator
        An operator of a program.

    Returns
    -------
    str
        ``"forward"``, ``"backward"`` or ``"update"``.

    Examples
    --------
    >>> from dygraph import static
    >>> block = static.Program().global_block()
    >>> x = block.create_var(name="x", shape=[2], dtype="float32")
    >>> static.debugger.role_of(block.append_op("relu", {"X": x}, {"Out": x}))
    'forward'
    """
    if op.role & (OpRole.Optimize | OpRole.LRSched):
        return "update"
    return "backward" if op.role & OpRole.Backward else "forward"


def type_code(variable):
    """The type and shape of a variable: ``float32[-1, 3]``, with ``lod 1`` or a type's name."""
    kind = variable.type
    text = "" if variable.dtype is None else str(variable.dtype)
    if variable.shape is not None:
        text += str(list(variable.shape))
    if kind != "LOD_TENSOR":
        text = f"{kind.lower()} {text}".strip()
    return f"{text} lod {variable.lod_level}" if variable.lod_level else text or "unknown"


def slots_code(slots):
    """Slots and their variables: ``X=x, Y=[a, b]``; empty ones are left out."""
    return ", ".join(
        f"{slot}={names[0] if len(names) == 1 else '[' + ', '.join(names) + ']'}"
        for slot, names in slots.items()
        if names
    )


def attribute_code(op, name, most=80):
    """The value of an attribute, shortened."""
    value = op.attr(name)
    if op.attr_type(name) in ("BLOCK", "BLOCKS"):
        return f"block {value}"
    if isinstance(value, list) and len(value) > 16:
        return f"[{', '.join(map(repr, value[:16]))}, ... {len(value)}]"
    text = repr(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"
