"""Lists of sizes for operators, some of which are known only in a run."""

import contextlib

from dygraph import _core
from dygraph.autograd.recording import modes
from dygraph.core import check
from dygraph.core.sizes import Size, same

_LISTS, _INT = (list, tuple), {int}


def followed(values):
    """Whether a list holds a size that a trace or a program follows."""
    if type(values) not in _LISTS or _INT.issuperset(map(type, values)):
        return False
    return any(isinstance(n, Size) for n in values)


def needs_variables(values):
    """Whether a list of sizes to fill must be given as Variables.

    In a trace a size that an axis has needs no Variables: the operator takes that axis.
    """
    sizes = [n for n in values if isinstance(n, Size)] if followed(values) else []
    if not sizes:
        return False
    return len(sizes) > 1 or hasattr(type(sizes[0]), "as_attribute") or not sizes[0].is_of_an_axis


def sizes_of(x):
    """The sizes of `x`; for a program's variable, those that are known only in a run."""
    of = getattr(x, "followed_shape", None)
    return x.shape if of is None else of()


def variables(values):
    """An int32 Variable of one element for each number of a list, sizes and ints."""
    return [
        n.tensor()
        if isinstance(n, Size)
        else _core.literal([check.integer(n, "a size in shape", -1)], "int32")
        for n in values
    ]


def beside(x):
    """A context that writes calls without inputs into the program of `x`, where it is of one."""
    if not _core.is_symbol(x):
        return contextlib.nullcontext()
    program = x.block.program
    return program.appending_to(program.current_block())


def is_open(x):
    """Whether the run of a described program decides a size of `x`."""
    return isinstance(x, _core.Variable) and modes.ways is None and -1 in _core.dims(x)


def matching(like, x):
    """`x`, which must have the shape of `like`. Where a run decides that, `stack` checks it."""
    if not (is_open(like) or is_open(x)):
        return x
    both = _core.ops.stack([like.detach(), x], axis=0)
    return _core.ops.slice(both, axes=[0], starts=[1], ends=[2], decrease_axis=[0])


def kept(x, shape):
    """`shape` with 0, which copies, for sizes of a program that `x` has at the same place."""
    own = sizes_of(x)
    return [
        0 if i < len(own) and isinstance(n, Size) and same(n, own[i]) else n
        for i, n in enumerate(shape)
    ]


def reshaped(x, shape):
    """`x.reshape` with sizes that are known only in a run."""
    out = _core.run_op("reshape2", {"X": x, "ShapeTensor": variables(shape)}, {})["Out"]
    return declare(out, [x.shape[i] if same(n, 0) else n for i, n in enumerate(shape)])


def declare(result, sizes):
    """`result`, declared with the given sizes, which the shape rule cannot read from Variables."""
    if modes.sizes is not None:
        modes.sizes.declare(result, sizes)
    elif hasattr(result, "desc") and len(sizes) == len(result.shape):
        result.desc.shape = [-1 if isinstance(n, (Size, _core.Variable)) else n for n in sizes]
    return result
