"""Operators of programs."""

from dygraph import _core
from dygraph.errors import ArgumentTypeError, PreconditionNotMetError, kind_of
from dygraph.static.listed import ShownList, shown
from dygraph.static.variable import as_names

__all__ = ["Operator"]


_SLOTS = "op.set_input(slot, names) or op.set_output(slot, names)"
_ATTR = "op.set_attr(name, value)"


def _shown(name):
    def get(self):
        fix = _ATTR if name == "attrs" else _SLOTS
        return shown(getattr(self.desc, name), f"op.{name}", fix)

    return property(get, doc=getattr(_core.Op, name).__doc__)


class Operator:
    """An operator of a block: its type, the variables in its slots, its attributes.

    Made by `Block.append_op`. `set_attr` sets attributes, `set_input` and `set_output` set slots;
    the lists and dicts of its properties are read-only.

    Examples
    --------
    >>> from dygraph import static
    >>> block = static.Program().global_block()
    >>> x, out = (block.create_var(name=n, shape=[2], dtype="float32") for n in ("x", "out"))
    >>> op = block.append_op("scale", {"X": x}, {"Out": out}, {"scale": 2.0})
    >>> op.type, op.input("X"), op.output("Out"), op.attr("scale")
    ('scale', ['x'], ['out'], 2.0)
    """

    def __init__(self, block, desc):
        if not isinstance(desc, _core.Op):
            raise ArgumentTypeError(
                f"an operator is made by block.append_op(...), got {kind_of(desc)} for one"
            )
        self.block = block
        self.desc = desc

    type = _shown("type")
    inputs, outputs = _shown("inputs"), _shown("outputs")
    input_names, output_names = _shown("input_names"), _shown("output_names")
    input_arg_names, output_arg_names = _shown("input_arg_names"), _shown("output_arg_names")
    attrs, attr_names = _shown("attrs"), _shown("attr_names")

    @property
    def idx(self):
        """Its index in the block."""
        place = self.block.core.index(self.desc)
        if place < 0:
            raise PreconditionNotMetError(
                f"{self.type}: the operator must be in its block, but it was removed"
            )
        return place

    @property
    def role(self):
        """Its role, one of `OpRole`'s numbers; forward if its attributes have none."""
        has_role = self.desc.has_attr("op_role") and self.desc.attr_type("op_role") == "INT"
        return self.desc.attr("op_role") if has_role else 0

    def input(self, name):
        """Names of the variables in an input slot; KeyError for an unknown slot."""
        return ShownList(self.desc.input(name), "op.input(slot)", "op.set_input(slot, names)")

    def output(self, name):
        """Names of the variables in an output slot; KeyError for an unknown slot."""
        return ShownList(self.desc.output(name), "op.output(slot)", "op.set_output(slot, names)")

    def attr(self, name):
        """The value of an attribute; KeyError for an unknown one."""
        return shown(self.desc.attr(name), "op.attr(name)", _ATTR)

    def has_attr(self, name):
        """Whether it has the attribute."""
        return self.desc.has_attr(name)

    def attr_type(self, name):
        """``INT``, ``FLOATS``, ...: AttrType's names."""
        return self.desc.attr_type(name)

    def set_attr(self, name, value, type=None):
        """Set an attribute. `type` is the wire type of an undeclared one."""
        self.desc.set_attr(name, value, type)

    def set_input(self, slot, names):
        """Set the variables of an input slot, by name."""
        self.desc.set_input(slot, as_names(names, f"{self.type}: Input({slot})"))

    def set_output(self, slot, names):
        """Set the variables of an output slot, by name."""
        self.desc.set_output(slot, as_names(names, f"{self.type}: Output({slot})"))

    def rename_input(self, old_name, new_name):
        """Replace the input `old_name` by `new_name`."""
        self.desc.rename_input(old_name, new_name)

    def rename_output(self, old_name, new_name):
        """Replace the output `old_name` by `new_name`."""
        self.desc.rename_output(old_name, new_name)

    def to_string(self, throw_on_error=True):
        """The description as protobuf text."""
        return self.desc.to_string()

    __str__ = to_string

    def __repr__(self):
        def side(slots):
            return ", ".join(f"{slot}={names}" for slot, names in slots.items())

        return f"<{side(self.outputs)} = {self.type}({side(self.inputs)})>"
