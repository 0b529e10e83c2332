"""Blocks inside blocks, as control flow describes them: the outer variables that they read and
write, the effect of writes on the declarations, and removal after an error."""

import contextlib
import math

from dygraph import _core
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, PreconditionNotMetError, kind_of
from dygraph.static.program import Variable, default_main_program, default_startup_program

__all__ = [
    "body", "condition", "joined", "made_at", "outside_uses", "program_of", "steps", "taken_back",
]  # fmt: skip

EMPTY = "@EMPTY@"


def made_at(variable):
    """The line that made a variable of a program."""
    return variable.block.created_at(variable.name)


def program_of(variable, owner, instead):
    """The program that `owner` describes with this variable: the one of the guard.

    ArgumentTypeError for an eager Variable; `instead` is what to write then.
    """
    if not isinstance(variable, Variable):
        eager = isinstance(variable, _core.Variable)
        raise ArgumentTypeError(
            f"{owner}: it takes variables of programs, got "
            + (f"an eager Variable. {instead}" if eager else kind_of(variable))
        )
    program = default_main_program()
    if variable.block.program is not program:
        raise InvalidArgumentError(
            f"{owner}: '{variable.name}' must be a variable of the program that is described, but "
            f"it was made in another one, at {made_at(variable)}. Describe "
            "both in one program_guard"
        )
    return program


def condition(variable, what):
    """Check a condition: one bool. ArgumentTypeError, InvalidArgumentError."""
    if not isinstance(variable, _core.Variable):
        raise ArgumentTypeError(f"{what} must be a Variable of one bool, got {kind_of(variable)}")
    symbolic = isinstance(variable, Variable)
    where = f" ('{variable.name}', made at {made_at(variable)})" if symbolic else ""
    if str(variable.dtype) != "bool":
        raise ArgumentTypeError(
            f"{what} must be one bool, got {variable.dtype}{where}. Compare to get a bool"
        )
    shape = variable.desc.shape if symbolic else variable.shape
    if math.prod(shape) != 1:
        raise InvalidArgumentError(
            f"{what} must be one bool, got shape {tuple(shape)}{where}. Reduce it to one with "
            "layers.reduce_all or layers.reduce_any"
        )


@contextlib.contextmanager
def taken_back(program):
    """Inside, an exception removes what was described there from the program."""
    moment, startup = program.moment(), default_startup_program()
    try:
        yield moment
    except BaseException:
        program.take_back(moment)
        startup.global_block().core.take_back(moment[0])
        raise


@contextlib.contextmanager
def body(program, owner):
    """A new block inside the current one, which calls append to."""
    depth = program.core.depth
    block = program.create_block()
    try:
        yield block
        if program.core.depth != depth + 1:
            raise PreconditionNotMetError(
                f"{owner}: blocks that are created inside must end inside, but "
                f"{abs(program.core.depth - depth - 1)} did not. Call program.rollback() for each"
            )
    finally:
        while program.core.depth > depth:
            program.core.leave_block()


def outside_uses(block, written=()):
    """Names of the blocks around that a block reads before it writes them, and that it writes.

    Both in order. `written`: names that count as written before it begins.
    """
    reads, writes, surely = {}, dict.fromkeys(written), {*written}
    declares = block.core.has
    for op in block.ops:
        for name in op.input_arg_names:
            if name not in surely and name != EMPTY and not declares(name):
                reads[name] = None
        may_not_run = any(op.attr_type(a) in ("BLOCK", "BLOCKS") for a in op.attr_names)
        for name in op.output_arg_names:
            if name == EMPTY or declares(name):
                continue
            writes[name] = None
            if not may_not_run:
                surely.add(name)
    return list(reads), list(writes)


def steps(block):
    """A variable for the values that the runs of a block keep for the gradient."""
    return block.create_var(type="STEP_SCOPES")


# What writes inside a block say of a variable outside ---------------------------------------------


def joined(program, moment, owner, loop):
    """Declare variables that the block wrote so that they are right whether it ran or not.

    A size that a branch may change becomes -1. In a `loop`, whose operators were described with
    the earlier size, this is an error, and so is a change of type or rank.
    """
    for old, variable in program.core.changed_since(moment[2]):
        new = variable.desc
        if not _was_written(program, moment, old, variable):
            continue
        if (old.type, str(old.dtype)) != (new.type, str(new.dtype)):
            raise ArgumentTypeError(
                f"{owner}: '{variable.name}', made at {made_at(variable)}, must keep its type, got "
                f"{old.dtype} before the block and {new.dtype} in it. Cast it with layers.cast"
            )
        before, after = old.shape, new.shape
        if before == after or before is None or (new.type == "LOD_TENSOR_ARRAY" and not before):
            continue
        if len(before) != len(after or ()):
            raise InvalidArgumentError(
                f"{owner}: '{variable.name}', made at {made_at(variable)}, must keep its rank, got "
                f"{before} before the block and {after} in it. Reshape it with layers.reshape"
            )
        shape = [a if a == b else -1 for a, b in zip(before, after, strict=True)]
        if loop and shape != list(before):
            raise InvalidArgumentError(
                f"{owner}: '{variable.name}', made at {made_at(variable)}, has the shape {before} "
                f"before the loop and {after} after an iteration. A size that iterations change "
                f"must be open from the start: write {variable.name}.desc.shape = {shape} before "
                f"the loop"
            )
        new.shape = shape


def _was_written(program, moment, old, variable):
    """Whether the variable had a value before the block: `create_var` alone gives none."""
    if variable.persistable or variable.is_data or old.shape:
        return True
    blocks = moment[1]
    return any(op.block.idx < blocks for op in variable.block.core.writers(variable.name)[:-1])
