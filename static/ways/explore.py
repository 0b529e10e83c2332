"""Exploring: Python runs a function once for each way through it, and equal states join."""

import functools
import re
import sys
import types

import static
from dygraph import _core, unique_name
from dygraph.errors import DygraphError
from dygraph.nn.layer import Layer
from dygraph.recording import modes
from dygraph.sizes import is_library
from dygraph.watch import is_own_file, user_line
from static.variable import Variable
from static.ways import joins, sequences
from static.ways.graph import (
    Ask,
    Block,
    Give,
    Meta,
    Op,
    PathDone,
    Raise,
    Refused,
    Restart,
    here,
    is_ours,
    reachable,
    short,
    spot,
)
from static.ways.loops import LoopOfWays
from static.ways.numbers import Number, constant, number
from static.ways.outside import Outside
from static.ways.scratch import Scratch
from static.ways.source import PLACES, Hooks, convert, has_hooks

__all__ = ["Explorer", "Input"]

_UNSAID = {
    "op_callstack", "op_role", "op_role_var", "op_namescope", "op_device", "use_mkldnn",
    "x_data_format", "y_data_format", "mkldnn_data_type", "use_cudnn", "use_quantizer",
}  # fmt: skip


class Input:
    """An argument that is a Variable: name, sizes (None or -1 where open), type, LoD levels."""

    def __init__(self, name, shape, dtype, lod_level=0, stop_gradient=True):
        self.name, self.shape, self.dtype = name, shape, dtype
        self.lod_level, self.stop_gradient = lod_level, stop_gradient


class Knowledge:
    """What earlier attempts found out, by place: restarts are the price of each."""

    def __init__(self):
        self.loops = {}  # loops that become loops of the program: what they change
        self.extra = {}  # paths in states that are parameters where ways join
        self.weak = {}  # paths of numbers that become numbers of the program there
        self.widen = {}  # metas of parameters
        self.shared = {}  # Variables that on some way are one: their names
        self.numbers = set()  # results that are numbers of the program
        self.buffers = {}  # those of Layers that are bound to other values
        self.weakening = False  # numbers may become numbers of the program to join ways
        self.reasons = []


class Explorer(Hooks):
    """Explores one function for one kind of arguments.

    Parameters
    ----------
    function : callable
        A function, a method or a Layer.
    args, kwargs
        What it is called with; nested lists, tuples and dicts may hold `Input`.
    max_ways : int
        More ways are refused.
    """

    def __init__(self, function, args, kwargs=None, max_ways=1000):
        self.function, self.args, self.kwargs = function, args, kwargs or {}
        self.max_ways, self.known, self.runs = max_ways, Knowledge(), 0
        self.kept, self.held, self.layers = {}, {}, {}

    # All ways ---------------------------------------------------------------------------------

    def explore(self):
        """The graph: its first `Block`."""
        while True:
            try:
                self._explore()
                return self.root
            except Restart as restart:
                self.known.reasons.append(str(restart))
                if len(self.known.reasons) > 200:
                    raise Refused(
                        "exploring does not come to an end: " + ", ".join(self.known.reasons[-3:])
                    ) from None

    def _explore(self):
        self.root, self.memo, self._uids, self._blocks = Block(0), {}, 0, 0
        self.metas, self.constants, self.apart = {}, {}, {}
        self.shared, self.minds_aliases, self.structure = {}, False, None
        self.could_weaken = False
        decisions, ways, asked = [], 0, {}
        while True:
            self._run(decisions)
            self.runs += 1
            ways += 1
            asked.update(dict.fromkeys(self.ask_lines))
            if ways == 1:
                self._run(self.answers)  # which finds what Python keeps
            answers = self.answers
            while answers and answers[-1] is False:
                answers.pop()
            if not answers:
                return
            decisions = [*answers[:-1], False]
            if ways > 64:
                joins.weaken(self)
            if ways >= self.max_ways:
                raise Refused(self._too_many(asked))

    def _too_many(self, asked):
        where = ", ".join(spot(line) for line in list(asked)[:8]) + (", ..." if len(asked) > 8 else "")
        why = "".join(
            f" The ways of {place} do not join because {reason}."
            for place, reason in list(self.apart.items())[-1:]
        )
        fix = "Make it a Variable, or use dygraph.where"
        return f"more than {self.max_ways} ways, asked at {where}.{why} {fix}"

    # One way ----------------------------------------------------------------------------------

    def _run(self, decisions):
        self.block, self.position, self.path = self.root, 0, {self.root}
        self.decisions, self.answers, self.ask_lines = decisions, [], []
        self.asked = self.activations = self._flushed = 0
        self.uids, self.finished, self.refusal, self.meanings = {}, None, None, []
        self.bound_in_loops, self.gave_at, self.inputs = set(), None, []
        self.outside, self.adopted = Outside(), {}
        before, journal = modes.ways, _core.Journal()
        streams = _core.generator_state()
        self.outside.note(self.args, "arguments")
        self.outside.note(self.kwargs, "arguments")
        end = failure = None
        self.outside.note_root(self.function)
        with unique_name.guard():
            self.program = Scratch(self)
            self.scratch = self.program.global_block()
            with (
                static.program_guard(self.program, static.Program()),
                self.program.appending_to(self.scratch),
            ):
                args, kwargs = self._inputs(self.args), self._inputs(self.kwargs)
                modes.ways = self
                journal.start()
                try:
                    end = self._call(args, kwargs)
                except (PathDone, Restart):
                    pass
                except Exception as error:
                    failure = error
                finally:
                    journal.stop()
                    modes.ways = before
                    self._bring_back(journal)
                    changed = self.outside.changed()
        if _core.generator_state() != streams:
            raise Refused(
                "the function draws random numbers that no operator of the program draws, as by "
                "making a Layer. Make it before"
            )
        if self.refusal is not None:
            raise self.refusal.with_traceback(None) from None
        if failure is not None:
            raise failure
        if isinstance(self.finished, Restart):
            raise self.finished
        if changed is not None:
            raise Refused(
                f"the function changes {changed}, which lives on after the call; a program cannot. "
                "Return it, or keep it with register_buffer"
            )
        if journal.written() or journal.leaves():
            raise Refused(
                "the function changes a Variable, or a gradient, that lives on after the call; a "
                "program cannot. Return it, or keep it with register_buffer"
            )
        if end is not None and self.finished is None:
            self._end(end)

    def _bring_back(self, journal):
        for variable, value in journal.written():
            _core.restore(variable, value)
        for layer, names in self.adopted.values():
            layer.__dict__.pop("forward", None)
            for group, name, value, _ in names:
                getattr(layer, group)[name] = layer.__dict__[name] = value

    def _call(self, args, kwargs):
        self.root_frame = sys._getframe()
        try:
            result = self.call(self.function)(*args, **kwargs)
            self._keep_buffers()
            self.flush()
            if self.finished is not None:
                raise self.finished
            structure, uids = self._flatten(result)
            self.flush()
            return Give(structure, uids, self.gave_at or here())
        except (PathDone, Restart):
            raise
        except Exception as error:
            return self._raised(error)

    def _raised(self, error):
        """The end of a way that raises; errors of ours are none."""
        if self.finished is not None:
            raise self.finished from None
        trace = error.__traceback__
        line = None
        while trace is not None:
            frame = trace.tb_frame
            ours = is_ours(frame)
            if not ours:
                line = f"{frame.f_code.co_filename}:{trace.tb_lineno} in {frame.f_code.co_name}"
            trace = trace.tb_next
        own = (ours and not any(error is e for e in self.meanings)) or isinstance(
            error, DygraphError
        )
        if own or not self.asked:
            raise error
        line = short(line or user_line())
        if isinstance(error, NameError):
            name = re.search(r"'(\w+)'", str(error))
            if name and name[1] in self.bound_in_loops:
                raise Refused(
                    f"'{name[1]}' has no value at {line} where the loop before it makes no turn, "
                    "and the program cannot tell whether it made one. Bind it before the loop"
                )
        if not all(type(a) in (str, int, float, bool, type(None)) for a in error.args):
            raise Refused(
                f"the {type(error).__name__} at {line} must say plain text, got {error.args!r}"
            )
        self.flush()
        return Raise(type(error), error.args, line)

    def _end(self, end):
        if isinstance(end, Give):
            end = self._agree(end)
        if self.block.end is None and self.position == len(self.block.ops):
            self.block.end = end
        elif type(self.block.end) is not type(end) or self.position != len(self.block.ops):
            raise Refused(self._not_twice("ended"))

    def _agree(self, end):
        if self.structure is None:
            self.structure = end
        if self.structure.structure != end.structure:
            different = joins.result_numbers(self.structure.structure, end.structure)
            if different and not different <= self.known.numbers:
                self.known.numbers |= different
                raise Restart("numbers as results")
            one, two = (
                f"{joins.structure_text(e.structure)} at {spot(e.line)}"
                for e in (self.structure, end)
            )
            raise Refused(f"ways end with different results: {one} and {two}")
        return end

    def _inputs(self, value):
        if isinstance(value, Input):
            shape = [-1 if n is None else n for n in value.shape]
            made = static.data(value.name, shape, value.dtype, lod_level=value.lod_level)
            self.inputs.append(value)
            made.stop_gradient = value.stop_gradient
            self.uids[value.name] = value.name
            self.metas[value.name] = self.meta_of_desc(made)
            return made
        if isinstance(value, (list, tuple)):
            return type(value)(self._inputs(v) for v in value)
        if isinstance(value, dict):
            return {k: self._inputs(v) for k, v in value.items()}
        return value

    def _flatten(self, result):
        uids = []

        def walk(o, path):
            if type(o) in (bool, int, float) and path in self.known.numbers:
                o = number(o)
            if type(o) is Number:
                uids.append(self.uid(o.value))
                return ("number", o.kind)
            if isinstance(o, _core.Variable):
                uids.append(self.uid(o if isinstance(o, Variable) else _core.ops.assign(o)))
                return ("Variable",)
            if isinstance(o, sequences.Array):
                raise Refused(
                    f"a list whose length the run decides cannot be a result, at {self.gave_at}: "
                    "stack or concat it"
                )
            if isinstance(o, (list, tuple)):
                return (type(o), tuple(walk(v, (*path, i)) for i, v in enumerate(o)))
            if isinstance(o, dict):
                return (type(o), tuple((k, walk(v, (*path, k))) for k, v in o.items()))
            if o is None or type(o) in (bool, int, float, str):
                return ("constant", type(o), repr(o), o)
            raise Refused(
                f"results must be Variables, numbers, text, or containers of them, got "
                f"{type(o).__name__} at {self.gave_at}"
            )

        return walk(result, ()), uids

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
        self.flush()
        if variable.block.program is not self.program:
            raise self.refuse(
                f"a value of an earlier call is used at {here()}: the function keeps something in "
                "Python from one call to the next"
            )
        return self._uid_of_name(variable.name)

    def _uid_of_name(self, name):
        uid = self.uids.get(name)
        if uid is None:  # of outside: a weight, a constant
            uid = self.uids[name] = name
            self.metas.setdefault(name, self.meta_of_desc(self.scratch.var(name)))
        return uid

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
            str(variable.dtype), variable.desc.shape or (), variable.lod_level,
            variable.stop_gradient,
        )  # fmt: skip

    def meta_of(self, variable):
        """Type and sizes of a value."""
        return self.metas[self.uid(variable)]

    def declare(self, meta, name):
        """A new variable of the scratch program."""
        dtype, shape = ("float32", (-1,)) if meta.dtype == "array" else (meta.dtype, meta.shape)
        return self.scratch.create_var(
            unique_name.generate(name), list(shape), dtype, meta.lod_level,
            stop_gradient=meta.stop_gradient,
        )  # fmt: skip

    # Operators --------------------------------------------------------------------------------

    def flush(self):
        """Take over the operators that were described since the last time."""
        core = self.scratch.core
        count = core.op_count
        while self._flushed < count and self.finished is None:
            op = core.op(self._flushed).desc
            self._flushed += 1
            attrs = op.attrs
            line = (attrs.pop("op_callstack", None) or ["?"])[-1]
            self._add(op.type, op.inputs, op.outputs, attrs, line, op)

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
        if at < len(block.ops):
            known = block.ops[at]
            if not known.repeats(type, ins, outs, attrs):
                raise self.refuse(self._not_twice(f"called {type} at {short(line)}"))
            self.uids.update(known.named)
            self.position += 1
            return
        if block.end is not None:
            raise self.refuse(self._not_twice(f"called {type} at {short(line)}"))
        given = {slot: [self._uid_of_name(n) for n in names] for slot, names in ins.items() if names}
        made = {
            slot: [self._written(n, line) for n in names] for slot, names in outs.items() if names
        }
        named = {n: u for slot, us in made.items() for n, u in zip(outs[slot], us, strict=True)}
        block.ops.append(Op(type, given, made, attrs, line, (ins, outs), named, desc and desc.copy()))
        self.uids.update(named)
        self.position += 1

    def _written(self, name, line):
        """The uid of what an operator writes."""
        old = self.uids.get(name)
        if old == name or name in self.held or name in self.constants:
            if name not in self.held:
                raise self.refuse(
                    f"the function changes '{name}' at {short(line)}, which lives on after the "
                    "call; a program cannot. Return it, or keep it with register_buffer"
                )
            return name
        if old is not None:
            self.minds_aliases = True
            if old in self.shared:
                one, two = self.shared[old]
                raise self.refuse(
                    f"'{one}' is written in place at {spot(short(line))}, but on one way it is the "
                    f"same Variable as '{two}' and on another it is not"
                )
        uid = self.fresh()
        variable = self.scratch.core.find(name)
        self.metas[uid] = self.meta_of_desc(variable)
        return uid

    def _not_twice(self, what):
        block, at = self.block, self.position
        first = "ended"
        if at < len(block.ops):
            first = f"called {block.ops[at].type} at {spot(short(block.ops[at].line))}"
        elif isinstance(block.end, Ask):
            first = f"asked at {spot(block.end.line)}"
        return (
            f"the function does not do the same twice: it {what} where the first run {first}. Does "
            "it keep something in Python from one call to the next?"
        )

    def enter_block(self, block):
        """Go on in a block."""
        self.block, self.position = block, 0
        self.path.add(block)

    # What Python asks -------------------------------------------------------------------------

    def refuse(self, text, plain=False):
        """The error of this run, which no handler of the user's can take back."""
        error = Refused(text)
        if self.refusal is None:
            self.refusal = error
        return self.refusal

    def restart(self, why):
        """To be raised: this exploration begins again."""
        self.finished = Restart(why)
        return self.finished

    def done(self):
        """To be raised: this way goes on as another one did."""
        self.finished = PathDone()
        return self.finished

    def meant(self, error):
        """An error of Python's that we raise in its place."""
        self.meanings.append(error)
        return error

    def read(self, what):
        """The error for reading a value."""
        return self.refuse(
            f"{what} of a value at {spot(here())} cannot become part of a program. Compute with "
            "operators, or return it"
        )

    def loops_alone(self, what):
        """The error for going over something where no loop can be made of it."""
        frame = sys._getframe(1)
        while is_own_file(frame.f_code.co_filename):
            frame = frame.f_back
        return self.refuse(
            f"code without source loops on a value at {spot(here())}. Only a loop whose source can "
            "be read becomes a while"
        )

    def ask(self, variable):
        """The answer of this run; a new question is answered True first."""
        if self.finished is not None:
            raise self.finished
        shape = variable.desc.shape or ()
        if any(n not in (-1, 1) for n in shape):
            raise self.meant(
                ValueError(
                    f"the truth of a Variable of shape {tuple(shape)} is ambiguous. Use any() or "
                    "all()"
                )
            )
        if str(variable.dtype) != "bool":
            variable = variable != 0
        uid = self.uid(variable)
        line = here()
        self.ask_lines.append(line)
        self._check_depth(line)
        count = len(self.answers)
        answer = self.decisions[count] if count < len(self.decisions) else True
        self.answers.append(answer)
        self.asked += 1
        block = self.block
        if block.end is None and self.position == len(block.ops):
            block.end = Ask(uid, self.new_block(), self.new_block(), line)
        end = block.end
        if type(end) is not Ask or end.uid != uid or self.position != len(block.ops):
            raise self.refuse(self._not_twice(f"asked at {line}"))
        self.enter_block(end.yes if answer else end.no)
        return answer

    def _check_depth(self, line):
        if self.ask_lines.count(line) > 60:
            frame, depth, code = sys._getframe(2), 0, None
            names = {}
            while frame is not None and frame is not self.root_frame:
                code, depth = frame.f_code, depth + 1
                if not is_ours(frame):
                    names[code] = names.get(code, 0) + 1
                frame = frame.f_back
            if any(n > 50 for n in names.values()):
                raise self.refuse(
                    f"recursion turns on a value at {spot(line)} in {line.rpartition(' ')[2]}. "
                    "Write it as a loop"
                )
        if len(self.answers) > 3000:
            raise self.refuse(f"no end is in sight, still asking at {line}")

    def length(self, variable):
        """``len(x)`` outside converted code."""
        shape = variable.desc.shape
        if not shape:
            raise self.meant(TypeError("len() of a Variable without axes"))
        if shape[0] == -1:
            raise self.refuse(
                f"the length of a value at {here()} is known when the program runs; code without "
                "source cannot have it"
            )
        return shape[0]

    def rows(self, variable):
        """``iter(x)`` of a known length."""
        shape = variable.desc.shape
        if not shape:
            raise self.meant(TypeError("iteration over a Variable without axes"))
        if shape[0] == -1:
            raise self.loops_alone("a Variable")
        return (variable[i] for i in range(shape[0]))

    def index(self, index):
        """An index with Variables in the place of numbers that the run decides."""
        if isinstance(index, tuple):
            return tuple(self.index(i) for i in index)
        if type(index) is Number:
            return index.value
        return index

    def size_of(self, variable):
        """``x.size`` with an open axis."""
        product = 1
        for n in sequences.Sizes().of(variable):
            product = n * product
        return product

    # Hooks ------------------------------------------------------------------------------------

    def enter(self, name):
        return Activation(self, name) if modes.ways is self else Hooks()

    def call(self, function):
        if modes.ways is not self:
            return function
        try:
            standin = sequences.STANDINS.get(function)
        except TypeError:
            standin = None
        if standin is not None:
            return standin
        if isinstance(function, Layer):
            self.adopt(function)
            return function
        if isinstance(function, functools.partial):
            inner = self.call(function.func)
            return functools.partial(inner, *function.args, **function.keywords)
        plain = function.__func__ if isinstance(function, types.MethodType) else function
        if isinstance(plain, types.FunctionType):
            new = self._converted(plain)
            if new is None:
                return function
            if plain is not function:
                owner = function.__self__
                if isinstance(owner, Layer):
                    self.adopt(owner)
                new = types.MethodType(new, owner)
            return joins.joined(self, new)
        call = getattr(type(function), "__call__", None)
        if isinstance(call, types.FunctionType) and not isinstance(function, type):
            new = self._converted(call)  # an object that can be called
            if new is not None:
                return joins.joined(self, types.MethodType(new, function))
        return function

    def _converted(self, function):
        if has_hooks(function):
            return function
        file = function.__code__.co_filename
        if is_own_file(file) or is_library(file):
            return None
        self.outside.note_globals(function)
        return convert(function, self)


    def same(self, a, b):
        if modes.ways is self and isinstance(a, Variable) and isinstance(b, Variable):
            self.minds_aliases = True
            if self.uid(a) in self.shared or self.uid(b) in self.shared:
                raise self.refuse(
                    f"`is` at {here()} asks whether two Variables are one, which they are on one "
                    "way alone"
                )
        return a is b

    # Layers -----------------------------------------------------------------------------------

    def adopt(self, layer):
        """Have variables of the program in the place of a Layer's parameters and buffers."""
        if id(layer) in self.adopted:
            return
        for part in [layer, *layer.sublayers()]:
            if id(part) in self.adopted:
                continue
            self.outside.note(part, "self")
            names = []
            for group in ("_parameters", "_buffers"):
                for name, variable in list(getattr(part, group).items()):
                    if variable is None or isinstance(variable, Variable):
                        continue
                    face = self.program.face_of(variable, name)
                    getattr(part, group)[name] = part.__dict__[name] = face
                    names.append((group, name, variable, face))
            self.adopted[id(part)] = part, names
            plain = type(part).forward
            new = self._converted(plain) if isinstance(plain, types.FunctionType) else None
            if new is not None and "forward" not in part.__dict__:
                part.__dict__["forward"] = joins.joined(self, types.MethodType(new, part))

    def _keep_buffers(self):
        """A buffer that was bound to another value is written."""
        for layer, names in self.adopted.values():
            for group, name, _, face in names:
                now = getattr(layer, group).get(name)
                if now is face:
                    continue
                if group != "_buffers" or not isinstance(now, Variable):
                    raise self.refuse(
                        f"the function changes self.{name}, which lives on after the call; a "
                        "program cannot. Return it, or keep it with register_buffer"
                    )
                self.scratch.append_op("assign", {"X": now}, {"Out": face})


class Activation:
    """A call of a converted function: joins happen within one."""

    def __init__(self, ways, name):
        ways.flush()
        self.ways = ways
        self.origin = ways.block.number, ways.position, ways.activations
        self.key = name, ways.activations
        ways.activations += 1
        self._seen, self._begins, self._loops = ways.asked, {}, {}

    def begin(self, i):
        self._begins[i] = self.ways.asked

    def mark(self, i):
        ways = self.ways
        if modes.ways is not ways or ways.asked == self._begins.get(i, self._seen):
            return None
        self._seen = ways.asked
        place, frame = PLACES[i], sys._getframe(1)
        return joins.join(
            ways, (self.origin, i), (self.key, i), place.where,
            lambda: joins.roots_of(ways, frame, place),
            [n for n in place.names if n in place.live],
        )  # fmt: skip

    def manager(self, i, manager):
        return manager

    def same(self, a, b):
        return self.ways.same(a, b)

    def gives(self, value):
        if sys._getframe(2) is not None:
            self.ways.gave_at = here()
        return value

    def loop(self, i, kind, iterable=None):
        n = self._loops[i] = self._loops.get(i, -1) + 1
        return LoopOfWays(self, i, kind, iterable, (self.key, i, n))


def check_order(root, given):
    """Every value must be made before it is read, on every way. An error here is ours."""
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
    return end.uids if isinstance(end, Give) else getattr(end, "args", ()) if type(
        end
    ).__name__ == "Go" else ()


def _need(made, uids, block):
    missing = [u for u in uids if isinstance(u, int) and u not in made]
    if missing:
        raise AssertionError(f"{block} reads {missing}, which not every way to it has made")
