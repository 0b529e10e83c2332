"""Descriptions of operators that the executor carries out itself, as Fluid writes them."""

from dygraph import _core
from dygraph.static.codes import OpRole

__all__ = ["described", "declared", "place_after"]


def _kind(value):
    if isinstance(value, bool):
        return "BOOLEAN"
    if isinstance(value, int):
        return "INT"
    if isinstance(value, float):
        return "FLOAT"
    if isinstance(value, str):
        return "STRING"
    return "STRINGS" if not value or isinstance(value[0], str) else "INTS"


def described(block, type, inputs, outputs, attrs, role=OpRole.RPC, pair=(), kinds=None):
    """An operator with names in its slots, not yet in the block.

    Parameters
    ----------
    inputs, outputs : dict of str to list of str
    attrs : dict
    role : int
    pair : sequence of str
        The parameter and the gradient that it is for.
    kinds : dict of str to str, optional
        Wire types of attributes that their values do not tell.
    """
    desc = _core.Op(type)
    for slot, names in inputs.items():
        desc.set_input(slot, list(names))
    for slot, names in outputs.items():
        desc.set_output(slot, list(names))
    for name, value in attrs.items():
        desc.set_attr(name, value, (kinds or {}).get(name) or _kind(value))
    with block.program.marked(role, list(pair)):
        return block.take(desc)


def declared(block, like, name=None, shape=None, persistable=None):
    """A variable with the type of another one, in a block, once."""
    name = like.name if name is None else name
    if block.core.has(name):
        return block.var(name)
    return block.create_var(
        name=name,
        shape=like.shape if shape is None else shape,
        dtype=like.dtype,
        lod_level=like.lod_level,
        persistable=like.persistable if persistable is None else persistable,
        stop_gradient=True,
        type=like.type,
    )


def place_after(block, name):
    """The index behind the last operator, but for updates, that writes a variable."""
    return 1 + max(
        i
        for i, op in enumerate(block.ops)
        if name in op.output_arg_names and not op.role & OpRole.Optimize
    )
