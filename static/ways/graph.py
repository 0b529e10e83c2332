"""The result of an exploration: blocks of operators, and their ends.

Values have uids: numbers, or names of the program for values from outside the function (inputs,
weights, constants). A write gives its variable a new uid, so writes in place need no rule; values
from outside are memory and keep their names.
"""

import os

from dygraph.errors import PreconditionNotMetError
from dygraph.inspect.watch import is_own_file, user_line

__all__ = ["Ask", "Block", "Give", "Go", "Meta", "Op", "PathDone", "Raise", "Refused", "Restart"]


class Refused(PreconditionNotMetError):
    """A function cannot become a program; the message says why, and where."""

    def __init__(self, text):
        super().__init__(
            text if text.startswith(("to_static", "the size")) else f"to_static: {text}"
        )


class PathDone(BaseException):
    """This path continues as an earlier one did. Not visible to user code."""


class Restart(BaseException):
    """The exploration found a fact that it needs from the start: it begins again."""


class Meta:
    """Type, sizes (-1 where open) and autograd flag of a value. Immutable."""

    __slots__ = ("dtype", "shape", "lod_level", "stop_gradient")

    def __init__(self, dtype, shape, lod_level=0, stop_gradient=True):
        self.dtype, self.shape = dtype, tuple(shape)
        self.lod_level, self.stop_gradient = lod_level, stop_gradient

    def __eq__(self, other):
        return self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def _key(self):
        return self.dtype, self.shape, self.lod_level, self.stop_gradient

    def __repr__(self):
        return f"{self.dtype} {list(self.shape)}"

    def merged(self, other):
        """The common Meta; None if types or ranks differ."""
        if self.dtype != other.dtype or len(self.shape) != len(other.shape):
            return None
        shape = [a if a == b else -1 for a, b in zip(self.shape, other.shape, strict=True)]
        level = self.lod_level if self.lod_level == other.lod_level else 0
        return Meta(self.dtype, shape, level, self.stop_gradient and other.stop_gradient)


class Op:
    """An operator: uids by slot, attributes, and the line that called it."""

    __slots__ = ("type", "ins", "outs", "attrs", "line", "described", "named", "desc", "body")

    def __init__(self, type, ins, outs, attrs, line, described, named, desc=None, body=None):
        self.type, self.ins, self.outs, self.attrs, self.line = type, ins, outs, attrs, line
        self.described = described  # the names that it read and wrote in the run that made it
        self.named = named  # uids of the names that it wrote
        self.desc = desc  # its description; None for operators of this package
        self.body = body  # the block that it runs

    def repeats(self, type, ins, outs, attrs):
        """Whether a call of a later run is this one. Names are equal on the same path."""
        if self.type != type or self.described != (ins, outs):
            return False
        return self.attrs == attrs or repr(self.attrs) == repr(attrs)  # NaN is equal to itself

    def __repr__(self):
        return f"{self.outs} = {self.type}({self.ins})"


class Block:
    """Operators without a question between them. Predecessors pass its `params`."""

    def __init__(self, number, params=(), slots=(), key=None):
        self.number, self.params, self.slots, self.key = number, list(params), list(slots), key
        self.ops, self.end = [], None
        self.kinds = []  # of numbers among the parameters
        self.loop = None  # the line of the loop that begins here

    def __repr__(self):
        return f"B{self.number}"

    def next(self):
        """Blocks that may follow."""
        return self.end.next()


class Ask:
    """A question: continues in `yes` or `no`."""

    __slots__ = ("uid", "yes", "no", "line")

    def __init__(self, uid, yes, no, line):
        self.uid, self.yes, self.no, self.line = uid, yes, no, line

    def next(self):
        return [self.yes, self.no]


class Go:
    """A jump to a block, with these values for its parameters."""

    __slots__ = ("block", "args")

    def __init__(self, block, args):
        self.block, self.args = block, args

    def next(self):
        return [self.block]


class Give:
    """The results: nested structure, and uids of its Variables in order."""

    __slots__ = ("structure", "uids", "line")

    def __init__(self, structure, uids, line):
        self.structure, self.uids, self.line = structure, uids, line

    def next(self):
        return []


class Raise:
    """An exception of the user's: its type, its arguments, and where it was raised."""

    __slots__ = ("type", "args", "line")

    def __init__(self, type, args, line):
        self.type, self.args, self.line = type, args, line

    def next(self):
        return []


def reachable(root):
    """All blocks, in the order in which they are first met."""
    seen, todo = {root: None}, [root]
    while todo:
        for block in reversed(todo.pop().next()):
            if block not in seen:
                seen[block] = None
                todo.append(block)
    return list(seen)


def short(line):
    """``model.py:12 in forward`` of a line with the whole path."""
    file, colon, rest = line.rpartition(":")
    return f"{file if file.startswith('<') else os.path.basename(file)}{colon}{rest}"


def here():
    """The user's line that runs now, short."""
    return short(user_line())


def first_line(function):
    """``model.py:12 in forward``: where a function, or what a Layer runs, begins."""
    for inside in ("func", "forward", "captured_function"):
        function = getattr(function, inside, function)
    code = getattr(function, "__code__", None) or getattr(function.__call__, "__code__", None)
    if code is None:
        return repr(function)
    return short(f"{code.co_filename}:{code.co_firstlineno} in {code.co_name}")


def spot(line):
    """``model.py:12``: a short line without its function."""
    return line.partition(" in ")[0]


def is_ours(frame):
    """Whether a frame belongs to this library."""
    return is_own_file(frame.f_code.co_filename)


def name_of(path):
    """``self.count`` of a path in a state."""
    text = ""
    for part in path:
        if isinstance(part, tuple):
            part = part[-1]
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else str(part)
    return text


def check_order(root, given):
    """Check that every value is made before it is read, on every path; fails only by a bug."""
    made_before, todo = {root: frozenset(given)}, [root]
    while todo:
        block = todo.pop()
        made = set(made_before[block]) | set(block.params)
        for op in block.ops:
            made.update(u for us in op.outs.values() for u in us)
        for after in block.next():
            old = made_before.get(after)
            new = frozenset(made) if old is None else old & made
            if new != old:
                made_before[after] = new
                todo.append(after)
    for block in reachable(root):
        made = set(made_before[block]) | set(block.params)
        for op in block.ops:
            _need(made, [u for us in op.ins.values() for u in us], block)
            made.update(u for us in op.outs.values() for u in us)
        _need(made, _read_at_end(block.end), block)


def _read_at_end(end):
    if isinstance(end, Ask):
        return [end.uid]
    if isinstance(end, Give):
        return end.uids
    return end.args if isinstance(end, Go) else ()


def _need(made, uids, block):
    missing = [u for u in uids if isinstance(u, int) and u not in made]
    if missing:
        raise AssertionError(f"{block} reads {missing}, which some path to it has not made")
