"""The graph as nested blocks: while, conditional_block, and flags for uneven branches.

Every value is a variable, declared in the innermost block around all its uses, so a join is two
writes of one variable. A value that a block would copy from its only predecessor is the same
variable.
"""

import contextlib
import sys

from dygraph import static, unique_name
from dygraph.core.variable import Parameter as EagerParameter
from dygraph.static.operator import Operator
from dygraph.static.variable import Parameter, Variable
from dygraph.static.ways import described
from dygraph.static.ways.arrays_emitted import Arrays
from dygraph.static.ways.flow import Flow
from dygraph.static.ways.graph import Ask, Go, Meta, Raise, Refused, first_line
from dygraph.static.ways.settle import settle

__all__ = ["Emitted", "emit"]

_PSEUDO = ("array_new", "array_append", "array_length", "array_read", "array_stack", "array_concat")
_BOOL = Meta("bool", ())


class Emitted:
    """A program and how to call it.

    Attributes
    ----------
    program : Program
        Weights are those of the eager objects.
    feeds, fetches : list of str
    structure : tuple
        The containers of the results, as the explorer records them.
    """

    def __init__(self, program, feeds, fetches, structure):
        self.program, self.feeds, self.fetches = program, feeds, fetches
        self.structure = structure


def emit(explorer):
    """The program of an explored function."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 20_000))  # one level for each join
    try:
        writer = _Writer(explorer)
        writer.write()
    finally:
        sys.setrecursionlimit(limit)
    explorer.sites = writer.sites
    fetches = [writer.name(u) for u in writer.flow.last.params]
    if explorer.structure is None:
        raise Refused(
            f"every path through {first_line(explorer.function)} raises an error, so there is no "
            "result. Return one on at least one path"
        )
    return Emitted(writer.program, writer.feeds, fetches, explorer.structure.structure)


class _OpenLoop:
    """A loop that is being written."""

    def __init__(self, head, inside, go):
        self.head, self.inside, self.go = head, inside, go
        self.leave = None  # the exit of the question at its head
        self.stays_if = True


class Site:
    """The read of an answer: the block of the graph, the variable, the operators."""

    def __init__(self, block, name, op):
        self.block, self.name, self.ops = block, name, [op]


class _Writer:
    def __init__(self, explorer):
        self._ways, self.metas = explorer, dict(explorer.metas)
        self.flow = Flow(explorer.root, self.metas, explorer.fresh)
        self.program = static.Program()
        self.main = self.block = self.program.global_block()
        self._names, self._flags, self._loops, self._controls = {}, {}, [], []
        self.sites = []
        self.unsure = set()  # values that only a described block wrote, if it ran
        self.needed = self.flow.needing_flags()
        self.feeds = [i.name for i in explorer.inputs]
        self.arrays = Arrays(self)

    def write(self):
        """Everything."""
        with unique_name.guard(), self.program.appending_to(self.main):
            self._outside()
            self._tree(self.flow.root)
        self._set_sizes()
        stays = {*self.feeds, *self.program.held, *map(self.name, self.flow.last.params)}
        settle(self.program, stays, self._controls)
        self.arrays.check(self.program)

    def _set_sizes(self):
        """Each variable has the sizes of all that it holds: a write notes those of its own."""
        merged: dict = {}
        for uid, name in self._names.items():
            meta = self.metas[uid]
            if meta.dtype != "array" and ":" not in meta.dtype:
                known = merged.setdefault(name, meta)
                merged[name] = known.merged(meta) or known
        for name, meta in merged.items():
            if self.main.has_var(name) and self.main.var(name).desc.shape != meta.shape:
                self.main.var(name).desc.shape = meta.shape

    # Names ------------------------------------------------------------------------------------

    def _outside(self):
        """Inputs, weights and constants."""
        for given in self._ways.inputs:
            shape = [-1 if n is None else n for n in given.shape]
            with static.program_guard(self.program):
                made = static.data(given.name, shape, given.dtype, lod_level=given.lod_level)
            made.stop_gradient = given.stop_gradient
        held = {**self._ways.constants, **self._ways.held}
        for name, eager in held.items():
            kind = Parameter if isinstance(eager, EagerParameter) else Variable
            made = self.main.create_as(
                kind, name, list(eager.shape), str(eager.dtype), None, True, eager.stop_gradient
            )
            if kind is Parameter:
                made.trainable = not eager.stop_gradient
        self.program.held.update(held)
        self.program.shares = True

    def name(self, uid):
        """The variable that holds a value."""
        return uid if isinstance(uid, str) else self._names[uid]

    def declare(self, uid, hint="v"):
        """A variable for a value."""
        if uid not in self._names:
            self._names[uid] = self.new(self.metas[uid], f"{hint}_{uid}")
        return self._names[uid]

    def share(self, uid, other):
        """One variable for two values."""
        self._names[uid] = self.name(other)

    def new(self, meta, hint="t"):
        """A new variable."""
        name = unique_name.generate(hint)
        while self.main.has_var(name):
            name = unique_name.generate(hint)
        if ":" in meta.dtype:
            described.declared(self.main, name, meta)
        elif meta.dtype == "array":
            self.main.create_var(name, dtype="float32", type="LOD_TENSOR_ARRAY")
        else:
            self.main.create_var(
                name, list(meta.shape), meta.dtype, meta.lod_level,
                stop_gradient=meta.stop_gradient,
            )  # fmt: skip
        return name

    # Operators --------------------------------------------------------------------------------

    def op(self, type, ins, outs, attrs=None):
        """An operator of the writer's own."""
        return self.block.append_op(type, ins, outs, attrs or {})

    def fill(self, name, value, dtype="bool", shape=()):
        """A constant into a variable."""
        text = str(value)
        attrs = {"shape": list(shape), "value": float(value), "dtype": dtype}
        self.op(
            "fill_constant",
            {},
            {"Out": name},
            attrs | ({} if dtype == "bool" else {"str_value": text}),
        )

    def assign(self, a, b):
        """Another name for a value."""
        return self.block.hand_on(a, b)

    def _ops(self, block):
        for op in block.ops:
            if op.type in _PSEUDO:
                self.arrays.write(op)
            elif op.body is not None:
                described.write(self, op)
            elif op.type == "print":
                name = self.new(self.metas[op.outs["Out"][0]])
                self.op("print", {"In": self.name(op.ins["In"][0])}, {"Out": name}, op.attrs)
            else:
                desc = op.desc.copy()
                for slot, uids in op.ins.items():
                    desc.set_input(slot, [self.name(u) for u in uids])
                for slot, uids in op.outs.items():
                    names = [u if isinstance(u, str) else self.declare(u) for u in uids]
                    desc.set_output(slot, names)
                self.block.put_op(Operator(self.block, desc))

    # Writing ----------------------------------------------------------------------------------

    def _prepare(self, y):
        for uid, path in zip(y.params, y.slots or [()] * len(y.params), strict=False):
            if self.metas[uid].dtype == "array":
                continue
            first = path[0] if path else "out"
            self.declare(uid, first if isinstance(first, str) and first.isidentifier() else "v")
        if y in self.needed:
            if y not in self._flags:
                self._flags[y] = self.new(_BOOL, f"to_{y.number}")
            self.fill(self._flags[y], False)

    def _tree(self, x):
        return self._loop(x) if x in self.flow.loops else self._within(x)

    def _within(self, x, turned=None):
        """A block and the code after it; returns the targets of its paths."""
        for y in self.flow.kids[x]:
            self._prepare(y)
        if turned is None:
            self._ops(x)
        return self._behind(self.flow.kids[x], self._body(x, turned))

    def _behind(self, kids, exits):
        for y in kids:
            if y not in exits:
                continue
            if exits == {y}:
                exits = self._tree(y)
            else:
                with self.inside(self._flags[y]):
                    found = self._tree(y)
                exits = (exits - {y}) | found
        return exits

    def _body(self, b, turned=None):
        end = self.flow.end(b)
        if end is None:
            return set()
        if isinstance(end, Raise):
            self._raise(end)
            return set()
        if isinstance(end, Go):
            return self._edge(b, end.block, end.args)
        if turned is not None:
            return self._edge(b, end.yes if turned else end.no, ())
        yes = self.name(end.uid)
        no = self.new(_BOOL, "not")
        # before the first block may write it
        site = self._site(b, yes, self.op("logical_not", {"X": yes}, {"Out": no}))
        with self.inside(yes, site=site):
            exits = self._edge(b, end.yes, ())
        with self.inside(no):
            return exits | self._edge(b, end.no, ())

    def _site(self, *parts):
        self.sites.append(Site(*parts))
        return self.sites[-1]

    def _raise(self, end):
        never = self.new(_BOOL, "never")
        self.fill(never, False)
        text = str(end.args[0]) if len(end.args) == 1 else str(end.args) if end.args else ""
        attrs = {"message": text, "error": end.type.__name__}
        op = self.op("assert", {"Cond": never}, {}, attrs)
        op.set_attr("op_callstack", [end.line])

    def _edge(self, b, s, args):
        """The path from one block to another."""
        back = self.flow.is_back(b, s)
        pairs = [
            (u, v) for u, v in zip(s.params, args, strict=False) if self.metas[u].dtype != "array"
        ]
        if self.flow.is_target(b, s):
            self._move(pairs)
            self._leave(s)
            if s in self._flags:
                self.fill(self._flags[s], True)
            if back:
                self._again(s)
            return {s}
        for u, v in pairs:  # the one way in
            if s in self.flow.loops or v in self.program.held:
                self._prepare_one(u, s)
                self.assign(self.name(v), self.name(u))
            else:
                self._names[u] = self.name(v)
        return self._tree(s)

    def _prepare_one(self, uid, block):
        path = dict(zip(block.params, block.slots, strict=False)).get(uid, ("v",))
        first = path[0]
        self.declare(uid, first if isinstance(first, str) and first.isidentifier() else "v")

    def _move(self, pairs):
        """Simultaneous assignments of values to parameters; overwritten values are copied first."""
        moves = [(self.name(v), self.name(u), u) for u, v in pairs]
        moves = [(a, b, u) for a, b, u in moves if a != b]
        written, kept = {b: u for _, b, u in moves}, {}
        for a, _, _ in moves:
            if a in written and a not in kept:
                kept[a] = self.new(self.metas[written[a]], "kept")
                self.assign(a, kept[a])
        for a, b, _ in moves:
            self.assign(kept.get(a, a), b)

    # Loops ------------------------------------------------------------------------------------

    def _loop(self, head):
        """If the head ends in an exit question, the test is before the loop and at its end."""
        inside, end = self.flow.loops[head], self.flow.end(head)
        loop = _OpenLoop(head, inside, self.new(_BOOL, f"go_{head.number}"))
        stays = [s for s in self.flow.next(head) if s in inside]
        if isinstance(end, Ask) and len(stays) == 1 and self._can_turn(head):
            loop.stays_if = end.yes in inside
            loop.leave = end.no if loop.stays_if else end.yes
        kids = self.flow.kids[head]
        outer = [y for y in kids if y not in inside]
        self.flow.kids[head] = [y for y in kids if y in inside]
        self._loops.append(loop)
        for y in outer:
            self._prepare(y)
        if loop.leave is not None:
            self._test(loop)
        else:
            self.fill(loop.go, True)
        with self.inside(loop.go, "while"):
            if head in self.needed:  # an inner loop may exit to the next iteration
                self._flags[head] = self.new(_BOOL, f"to_{head.number}")
                self.fill(self._flags[head], False)
            if loop.leave is None:
                self.fill(loop.go, False)
                exits = self._within(head)
            else:
                exits = self._within(head, loop.stays_if)
        self._loops.pop()
        exits = exits - {head}
        if loop.leave is not None:
            exits = self._left(loop, exits)
        return self._behind(outer, exits)

    def _can_turn(self, head):
        return not any(op.type in _PSEUDO or op.type == "print" or op.body for op in head.ops)

    def _left(self, loop, exits):
        """The code after the test of a loop is false."""
        leave = loop.leave
        if leave in self.flow.meets:
            self._after_test(loop, exits)
            return exits | {leave}
        if not exits:
            return self._tree(leave)
        others = [self._flags[e] for e in sorted(exits, key=self.flow.at.get)]
        with self.inside(self._none_of(others)):
            found = self._tree(leave)
        return exits | found

    def _after_test(self, loop, exits):
        """The flag of the join to which the test leads."""
        if loop.leave not in self._flags:
            return
        others = [
            self._flags[e] for e in sorted(exits, key=self.flow.at.get) if e is not loop.leave
        ]
        if not others:
            self.fill(self._flags[loop.leave], True)
            return
        by_test = self._none_of(others)
        flag = self._flags[loop.leave]
        self.op("logical_or", {"X": flag, "Y": by_test}, {"Out": flag})

    def _none_of(self, flags):
        some = flags[0]
        for flag in flags[1:]:
            either = self.new(_BOOL, "either")
            self.op("logical_or", {"X": some, "Y": flag}, {"Out": either})
            some = either
        none = self.new(_BOOL, "none")
        self.op("logical_not", {"X": some}, {"Out": none})
        return none

    def _test(self, loop):
        self._ops(loop.head)
        asked = self.name(self.flow.end(loop.head).uid)
        if loop.stays_if:
            op = self.assign(asked, loop.go)
        else:
            op = self.op("logical_not", {"X": asked}, {"Out": loop.go})
        self._site(loop.head, asked, op)

    def _again(self, head):
        loop = next(x for x in self._loops if x.head is head)
        if loop.leave is not None:
            self._test(loop)
        else:
            self.fill(loop.go, True)

    def _leave(self, s):
        """Loops that a path to `s` leaves end with this iteration."""
        for loop in reversed(self._loops):
            if s in loop.inside:
                return
            self.fill(loop.go, False)

    # Blocks -----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def inside(self, condition, type="conditional_block", site=None):
        outer = self.block
        inner = self.program.create_block(outer.idx)
        self.block = inner
        with self.program.appending_to(inner):
            yield
        self.block = outer
        self.program.rollback()
        if inner.ops:
            op = self._control(type, condition, inner)
            if site is not None:
                site.ops.append(op)

    def _control(self, type, condition, inner):
        loop = type == "while"
        first, asked, kept = (
            ("X", "Condition", "StepScopes") if loop else ("Input", "Cond", "Scope")
        )
        name = unique_name.generate("scope")
        self.block.create_var(name, type="STEP_SCOPES")
        flag = "is_test" if loop else "is_scalar_condition"
        op = self.block.append_described(
            type, {first: [], asked: [condition]}, {"Out": [], kept: [name]},
            {"sub_block": ("BLOCK", inner.idx), flag: ("BOOLEAN", not loop)},
        )  # fmt: skip
        self._controls.append((op, inner, first))
        return op
