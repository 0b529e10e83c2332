"""Program, Block, Operator and Variable: views of a program description."""

from dygraph import _core

__all__ = ["Block", "Operator", "Program", "Variable"]

Block = _core.BlockDesc
Operator = _core.OpDesc
Variable = _core.VarDesc


class Program:
    """A program: blocks of variables and operators, serialised as Fluid's ``ProgramDesc``.

    Examples
    --------
    >>> from static import Program
    >>> Program().num_blocks
    1
    """

    # One empty block, idx 0, parent -1: what Fluid's Program() holds.
    _EMPTY = b"\x0a\x0d\x08\x00\x10" + b"\xff" * 9 + b"\x01"

    def __init__(self, desc=None):
        self.desc = _core.program_from_bytes(self._EMPTY) if desc is None else desc

    @staticmethod
    def parse_from_string(binary):
        """The program of ``serialize_to_string``'s bytes.

        Raises
        ------
        FormatError
            The bytes are no ProgramDesc; the message says where they stop being one.
        """
        if not isinstance(binary, (bytes, bytearray)):
            raise _core.ArgumentTypeError(
                f"parse_from_string takes bytes, got {type(binary).__name__}"
            )
        return Program(_core.program_from_bytes(bytes(binary)))

    def serialize_to_string(self):
        """Protobuf bytes, equal to those of Python protobuf for this message."""
        return self.desc.to_bytes()

    def to_string(self, throw_on_error=True, with_details=False):
        """The program as protobuf text. Both arguments are Fluid's and change nothing: a program is always whole."""
        return self.desc.to_text()

    __str__ = to_string

    def __repr__(self):
        ops = sum(len(block.ops) for block in self.blocks)
        return f"<Program of {self.num_blocks} blocks, {ops} operators>"

    @property
    def num_blocks(self):
        """How many blocks there are; at least one."""
        return self.desc.num_blocks

    @property
    def blocks(self):
        """All blocks; block 0 is the global one."""
        return [self.desc.block(i) for i in range(self.desc.num_blocks)]

    def block(self, index):
        """The block of this number; IndexError if there is none."""
        if index < 0:
            raise _core.OutOfRangeError(
                f"the number of a block must be in [0, {self.num_blocks}), got {index}"
            )
        return self.desc.block(index)

    def global_block(self):
        """Block 0."""
        return self.desc.block(0)

    def current_block(self):
        """The block that operators are appended to: the global one."""
        return self.global_block()

    def list_vars(self):
        """Every variable of every block."""
        return [var for block in self.blocks for var in block.vars.values()]
