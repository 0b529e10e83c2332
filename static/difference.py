"""Differences between two programs, line by line."""

import difflib

from dygraph.errors import ArgumentTypeError, kind_of
from dygraph.static.codes import slots_code, type_code
from dygraph.static.program import Program

__all__ = ["Difference", "diff"]

_CALLSTACK = "op_callstack"


class Difference:
    """The lines that differ between two programs; true if there are any, and prints them.

    Attributes
    ----------
    lines : list of (int, str, str)
        Number of the block, then ``-`` (only in the first), ``+`` (only in the second) or ``~`` (in
        both, changed), then the text.
    """

    def __init__(self, lines):
        self.lines = lines

    def __bool__(self):
        return bool(self.lines)

    def __len__(self):
        return len(self.lines)

    def __iter__(self):
        return iter(self.lines)

    def __str__(self):
        if not self.lines:
            return "no difference"
        text, last = [], None
        for block, mark, what in self.lines:
            if block != last:
                text.append(f"block {block}")
                last = block
            text.append(f"  {mark} {what}")
        return "\n".join(text)

    def __repr__(self):
        return f"<Difference of {len(self.lines)} lines>\n{self}"


def diff(first, second, callstack=False):
    """Differences between two programs, block by block.

    Variables are compared by name: type, shape, element type, level of detail, persistable.
    Operators are compared in their order; after a removed or inserted one, the comparison goes on
    with the next equal ones.

    Parameters
    ----------
    first, second : Program
        The programs to compare.
    callstack : bool
        True: also the lines of Python that appended the operators.

    Returns
    -------
    Difference
        False as a condition if the programs are equal.

    Examples
    --------
    >>> from dygraph import static
    >>> a = static.Program()
    >>> x = a.global_block().create_var(name="x", shape=[2], dtype="float32")
    >>> op = a.global_block().append_op("scale", {"X": x}, {"Out": x}, {"scale": 2.0})
    >>> b = a.clone()
    >>> b.global_block().ops[0].set_attr("scale", 3.0)
    >>> y = b.global_block().create_var(name="y", shape=[-1, 2], dtype="int64")
    >>> print(static.diff(a, b))
    block 0
      + variable y: int64[-1, 2]
      ~ operator 0 scale: scale 2.0 -> 3.0
    >>> bool(static.diff(a, a.clone()))
    False
    """
    for value in (first, second):
        if not isinstance(value, Program):
            raise ArgumentTypeError(f"diff takes two static.Programs, got {kind_of(value)}")
    lines = []
    for idx in range(max(first.num_blocks, second.num_blocks)):
        found = [p.block(idx) if idx < p.num_blocks else None for p in (first, second)]
        if None in found:
            mark, block = ("-", found[0]) if found[1] is None else ("+", found[1])
            lines.append((idx, mark, f"the block, in block {block.parent_idx}"))
            lines += [(idx, mark, _described(v)) for v in block.vars.values()]
            lines += [(idx, mark, _operator(i, op)) for i, op in enumerate(block.ops)]
            continue
        lines += [(idx, mark, what) for mark, what in _frames(*found)]
        lines += [(idx, mark, what) for mark, what in _variables(*found)]
        lines += [(idx, mark, what) for mark, what in _operators(*found, callstack)]
    return Difference(lines)


def _frames(a, b):
    for word, old, new in (
        ("parent", a.parent_idx, b.parent_idx),
        ("forward block", a.forward_block_idx, b.forward_block_idx),
    ):
        if old != new:
            yield "~", f"the {word} of the block: {old} -> {new}"


# Variables ----------------------------------------------------------------------------------------


def _described(v):
    return f"variable {v.name}: {'persistable ' * v.persistable}{type_code(v)}"


def _facts(v):
    return {
        "type": v.type, "shape": None if v.shape is None else list(v.shape),
        "dtype": None if v.dtype is None else str(v.dtype), "lod_level": v.lod_level,
        "persistable": v.persistable,
    }  # fmt: skip


def _changes(old, new):
    """``scale 2.0 -> 3.0`` for each name; one side may lack it."""
    for name in dict.fromkeys([*old, *new]):
        if name not in new:
            yield f"{name} {old[name]!r} is gone"
        elif name not in old:
            yield f"{name} {new[name]!r} is new"
        elif repr(old[name]) != repr(new[name]):  # NaN is NaN, 0.0 is not -0.0, 1 is not 1.0
            yield f"{name} {old[name]!r} -> {new[name]!r}"


def _variables(a, b):
    for name, v in a.vars.items():
        if name not in b.vars:
            yield "-", _described(v)
    for name, v in b.vars.items():
        if name not in a.vars:
            yield "+", _described(v)
            continue
        changes = list(_changes(_facts(a.vars[name]), _facts(v)))
        if changes:
            yield "~", f"variable {name}: {', '.join(changes)}"


# Operators ----------------------------------------------------------------------------------------


def _operator(i, op):
    outputs = slots_code(op.outputs)
    return f"operator {i} {op.type}({slots_code(op.inputs)}){f' -> {outputs}' if outputs else ''}"


def _attrs(op, callstack):
    found = {}
    for name in op.attr_names:
        if callstack or name != _CALLSTACK:
            found[name] = op.attr(name)
    return found


def _operators(a, b, callstack):
    """Operators of equal type and slots pair first, then those of equal type between them."""
    for i1, i2, j1, j2 in _gaps(a.ops, b.ops, lambda op: repr((op.type, op.inputs, op.outputs))):
        if i1 is None:  # a pair
            yield from _changed(a.ops[i2], b.ops[j2], i2, callstack)
            continue
        old, new = a.ops[i1:i2], b.ops[j1:j2]
        for k1, k2, l1, l2 in _gaps(old, new, lambda op: op.type):
            if k1 is None:
                yield from _changed(old[k2], new[l2], i1 + k2, callstack)
                continue
            yield from (("-", _operator(i1 + i, old[i])) for i in range(k1, k2))
            yield from (("+", _operator(j1 + j, new[j])) for j in range(l1, l2))


def _gaps(old, new, key):
    """(None, i, None, j) for each pair, (i1, i2, j1, j2) for the unpaired ones between."""
    matcher = difflib.SequenceMatcher(None, [key(o) for o in old], [key(o) for o in new], False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            for i, j in zip(range(i1, i2), range(j1, j2), strict=True):
                yield None, i, None, j
        else:
            yield i1, i2, j1, j2


def _changed(old, new, i, callstack):
    changes = [
        *_changes(old.inputs, new.inputs),
        *_changes(old.outputs, new.outputs),
        *_changes(_attrs(old, callstack), _attrs(new, callstack)),
    ]
    for name in old.attr_names:
        if new.has_attr(name) and old.attr_type(name) != new.attr_type(name):
            changes.append(f"type of {name} {old.attr_type(name)} -> {new.attr_type(name)}")
    if changes:
        yield "~", f"operator {i} {old.type}: {', '.join(changes)}"
