"""The operators of one run, noted in the blocks of the graph or compared with what stands there."""

from dygraph import _core, unique_name
from dygraph.inspect.watch import user_line
from dygraph.static.variable import Variable
from dygraph.static.ways import described
from dygraph.static.ways.graph import Ask, Block, Meta, Op, Refused, here, short, spot
from dygraph.static.ways.hooks import Hooks

__all__ = ["Recording"]


class Recording(Hooks):
    """Values and operators of a run. `Explorer` begins and ends runs."""

    # Values -----------------------------------------------------------------------------------

    def fresh(self):
        """A new uid."""
        self._uids += 1
        return self._uids

    def new_block(self, **parts):
        """A block with a number of its own."""
        self._blocks += 1
        return Block(self._blocks, **parts)

    def uid(self, variable):
        """The uid that a variable's value has now."""
        if self._nested():
            raise self.refuse(
                f"Python reads a value at {here()}, inside a block that is described once: the "
                "block of static.layers.While, cond or DynamicRNN, or the cell of nn.RNN on ragged "
                "batches. Use layers.cond or dygraph.where there"
            )
        self.flush()
        if variable.block.program is not self.program:
            raise self.refuse(
                f"a value of an earlier call is used at {here()}: the function keeps it in Python "
                "from one call to the next. Pass it as an argument"
            )
        return self._uid_of_name(variable.name)

    def _uid_of_name(self, name):
        uid = self.uids.get(name)
        if uid is None:  # of outside: a weight, a constant
            uid = self.uids[name] = name
            self.metas.setdefault(name, self.meta_of_desc(self.scratch.var(name)))
        return uid

    def symbolic(self, value):
        """An eager Variable as it stands in the program; anything else as it is."""
        is_eager = isinstance(value, _core.Variable) and not isinstance(value, Variable)
        return self.program.face_of_eager(value) if is_eager else value

    def name_of_held(self, variable, hint):
        """The name of a Variable that is shared with the program."""
        for name, other in self.held.items():
            if other is variable:
                return name
        name = base = variable.name or hint
        number = 0
        while name in self.held or name in self.uids or name in self.constants:
            number += 1
            name = f"{base}_{number}"
        self.held[name] = variable
        return name

    @staticmethod
    def meta_of_desc(variable):
        """Type and sizes as they are described."""
        return Meta(
            described.kind_of_value(variable), variable.desc.shape or (), variable.lod_level,
            variable.stop_gradient,
        )  # fmt: skip

    def meta_of(self, variable):
        """Type and sizes of a value."""
        return self.metas[self.uid(variable)]

    def declare(self, meta, name):
        """A new variable of the scratch program."""
        if ":" in meta.dtype:
            raise self.refuse(
                f"{name} would hold an array or a rank table that differs between paths, at "
                f"{here()}. Make it before the paths split"
            )
        dtype, shape = ("float32", (-1,)) if meta.dtype == "array" else (meta.dtype, meta.shape)
        return self.scratch.create_var(
            unique_name.generate(name), list(shape), dtype, meta.lod_level,
            stop_gradient=meta.stop_gradient,
        )  # fmt: skip

    # Operators --------------------------------------------------------------------------------

    def flush(self):
        """Take over the operators that were described since the last time."""
        if self._nested():  # as one, when the block has ended
            return
        core = self.scratch.core
        count = core.op_count
        while self._flushed < count and self.finished is None:
            op = core.op(self._flushed).desc
            self._flushed += 1
            attrs = op.attrs
            line = (attrs.pop("op_callstack", None) or ["?"])[-1]
            self._add(op.type, op.inputs, op.outputs, attrs, line, op)

    def _nested(self):
        """Whether a block of the function's own is being described."""
        return self.depth is not None and self.program.core.depth > self.depth

    def pseudo(self, type, ins, meta, attrs=None):
        """An operator of this package's; gives the variable that it makes."""
        self.flush()
        made = self.declare(meta, type)
        names = {slot: [v.name for v in variables] for slot, variables in ins.items()}
        self._add(type, names, {"Out": [made.name]}, attrs or {}, user_line())
        self.metas[self.uids[made.name]] = meta
        return made

    def _add(self, type, ins, outs, attrs, line, desc=None):
        block, at = self.block, self.position
        body = desc and described.body_of(desc, self.program, self.meta_of_desc)
        if body is not None:
            attrs["sub_block"] = body.text
            written = dict.fromkeys(n for names in outs.values() for n in names)
            attrs["before"] = [n for n in written if n in self.uids]
        if at < len(block.ops):
            known = block.ops[at]
            if not known.repeats(type, ins, outs, attrs):
                raise self.refuse(self.not_twice(f"called {type} at {spot(short(line))}"))
            self.uids.update(known.named)
            self.position += 1
            return
        if block.end is not None:
            raise self.refuse(self.not_twice(f"called {type} at {spot(short(line))}"))
        given = {
            slot: [self._uid_of_name(n) for n in names] for slot, names in ins.items() if names
        }
        if body is not None:
            given["Before"] = [self.uids[n] for n in attrs["before"]]
        made = {
            slot: [self._written(n, line) for n in names] for slot, names in outs.items() if names
        }
        named = {n: u for slot, us in made.items() for n, u in zip(outs[slot], us, strict=True)}
        block.ops.append(
            Op(type, given, made, attrs, line, (ins, outs), named, desc and desc.copy(), body)
        )
        self.uids.update(named)
        self.position += 1

    def _written(self, name, line):
        """The uid of what an operator writes."""
        old = self.uids.get(name)
        if old == name or name in self.held or name in self.constants:
            if name in self.constants:
                raise self.refuse(
                    f"the function writes at {short(line)} into a Variable that is a constant of "
                    "the program: it was made from Python values, or outlives the call. Make it "
                    "with dygraph.zeros(), ones() or full() in the function"
                )
            if name not in self.held:
                raise self.refuse(
                    f"the function changes '{name}' at {short(line)}, which lives on after the "
                    "call; a program cannot. Return it, or keep it with register_buffer"
                )
            if not self.keeping:
                self.wrote_memory = True
                if name in self.known.copied:
                    raise self.refuse(
                        f"'{name}' is written in place at {spot(short(line))}, but a path has "
                        "passed on its earlier value, which the write does not reach. Take a copy "
                        "first: y = x.detach()"
                    )
            return name
        if old is not None and not described.is_tensor(self.scratch.core.find(name)):
            return old
        if old is not None:
            self.minds_aliases = True
            if old in self.shared:
                one, two = self.shared[old]
                raise self.refuse(
                    f"'{one}' is written in place at {spot(short(line))}, but on one path it is "
                    f"the same Variable as '{two}' and on another it is not. Take a copy before: "
                    f"{one} = {two}.clone()"
                )
        uid = self.fresh()
        variable = self.scratch.core.find(name)
        self.metas[uid] = self.meta_of_desc(variable)
        self.made_at[uid] = spot(short(line))
        return uid

    def hand_on(self, uids):
        """Values go to parameters of a block: what is memory is copied there."""
        for uid in uids:
            if isinstance(uid, str) and uid in self.held and uid not in self.known.copied:
                self.known.copied.add(uid)
                if self.wrote_memory:
                    raise self.restart(f"{uid} is handed on")

    def not_twice(self, what):
        block, at = self.block, self.position
        first = "ended"
        if at < len(block.ops):
            first = f"called {block.ops[at].type} at {spot(short(block.ops[at].line))}"
        elif isinstance(block.end, Ask):
            first = f"branched at {spot(block.end.line)}"
        return (
            f"the function does not do the same twice: it {what} where the first run {first}. Does "
            "it keep something in Python from one call to the next? Pass that as an argument"
        )

    def enter_block(self, block):
        """Go on in a block."""
        self.block, self.position = block, 0
        self.path.add(block)

    def refuse(self, text):
        """The error of this run, which no handler of the user's can take back."""
        if self.refusal is None:
            self.refusal = Refused(text)
        return self.refusal
