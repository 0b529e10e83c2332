"""Exploring: Python runs a function once for each way through it, and equal states join."""

import re
import sys

from dygraph import _core, static, unique_name
from dygraph.autograd.recording import modes
from dygraph.errors import DygraphError
from dygraph.static.variable import Variable
from dygraph.static.ways import joins
from dygraph.static.ways.arrays import Array
from dygraph.static.ways.calls import Calls
from dygraph.static.ways.graph import (
    Ask,
    Block,
    Give,
    PathDone,
    Raise,
    Refused,
    Restart,
    first_line,
    here,
    is_ours,
    reachable,
    short,
    spot,
)
from dygraph.static.ways.numbers import Number, number
from dygraph.static.ways.outside import Outside
from dygraph.static.ways.scratch import Scratch, from_weights
from dygraph.static.ways.unchanged import drop_unchanged

__all__ = ["Explorer", "Input"]


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
        self.copied = set()  # buffers whose values ways hand on
        self.weakening = False  # numbers may become numbers of the program to join ways
        self.reasons = []


class Explorer(Calls):
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
        self.kept, self.held = {}, {}
        self.converted, self.layers = {}, {}  # what the ways called, for guards
        self.sources = {}  # of constants

    # All ways ---------------------------------------------------------------------------------

    def explore(self):
        """The graph: its first `Block`."""
        while True:
            try:
                self._explore()
                drop_unchanged(self.root, self.metas)
                return self.root
            except Restart as restart:
                self.known.reasons.append(str(restart))
                if len(self.known.reasons) > 200:
                    raise Refused(
                        f"exploring {first_line(self.function)} does not end. It last began again "
                        f"because of: {', '.join(self.known.reasons[-3:])}. Capture it in parts"
                    ) from None

    def _explore(self):
        self.root, self.memo, self._uids, self._blocks = Block(0), {}, 0, 0
        self.metas, self.constants, self.apart, self.made_at = {}, {}, {}, {}
        self.shared, self.minds_aliases, self.structure = {}, False, None
        self.plain = set()  # values that are Python's numbers in an eager call
        self.wrote_memory = False
        self.could_weaken = False
        self.forms_differ = False  # a result has other axes or another type on another way
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

    def questions(self):
        """Lines at which the graph decides."""
        ends = [block.end for block in reachable(self.root)]
        return list(dict.fromkeys(spot(e.line) for e in ends if isinstance(e, Ask)))

    def _too_many(self, asked):
        spots = list(dict.fromkeys(map(spot, asked)))
        where = ", ".join(spots[:8]) + (", ..." if len(spots) > 8 else "")
        apart = {p: r for p, r in self.apart.items() if p in spots} or self.apart
        why = "".join(
            f" The paths of {place} do not join because {reason}."
            for place, reason in list(apart.items())[-1:]
        )
        fix = "Make it a Variable, or use dygraph.where"
        return f"more than {self.max_ways} paths, with branches at {where}.{why} {fix}"

    # One way ----------------------------------------------------------------------------------

    def _run(self, decisions):
        self.block, self.position, self.path = self.root, 0, {self.root}
        self.decisions, self.answers, self.ask_lines = decisions, [], []
        self.asked = self.activations = self._flushed = 0
        self.uids, self.finished, self.refusal, self.meanings = {}, None, None, []
        self.bound_in_loops, self.gave_at, self.inputs = set(), None, []
        self.keeping, self.plain_names, self.depth = False, set(), None
        self.speaking, self.spoke = False, None  # the text of an error is made, and of a value
        self.outside, self.adopted, self.own_forwards = Outside(), {}, []
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
                self.depth = self.program.core.depth
                args, kwargs = self._inputs(self.args), self._inputs(self.kwargs)
                modes.ways = self
                _core.set_exploring(True)
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
                    _core.set_exploring(before is not None)
                    self._bring_back(journal)
                    changed = self.outside.changed()
        self.plain.update(self.uids[n] for n in self.plain_names if n in self.uids)
        if _core.generator_state() != streams:
            raise Refused(
                f"the function at {first_line(self.function)} draws random numbers outside the "
                "program's operators, for example by making a Layer. Make it before the call"
            )
        if self.refusal is not None:
            raise self.refusal.with_traceback(None) from None
        if failure is not None:
            raise failure
        if isinstance(self.finished, Restart):
            raise self.finished
        if changed is not None:
            raise Refused(
                f"the function changes {changed} at {self.changing_line(changed)}, which lives on "
                "after the call; a program cannot. Return it, or keep it with register_buffer"
            )
        leaves = journal.leaves()
        if journal.written() or any(leaf.grad is not before for leaf, before in leaves):
            raise Refused(
                f"the function at {first_line(self.function)} changes a Variable, or a gradient, "
                "that lives on after the call; a program cannot. Return it, or keep it with "
                "register_buffer"
            )
        if leaves and failure is None:
            raise Refused(from_weights(first_line(self.function)))
        if end is not None and self.finished is None:
            self._end(end)

    def _bring_back(self, journal):
        for variable, value in journal.written():
            _core.restore(variable, value)
        for layer, names in self.adopted.values():
            layer.__dict__.pop("forward", None)
            for group, name, value, _ in names:
                getattr(layer, group)[name] = layer.__dict__[name] = value
        for layer, own in self.own_forwards:
            layer.__dict__["forward"] = own

    def _call(self, args, kwargs):
        self.root_frame = sys._getframe()
        try:
            result = self.call(self.function)(*args, **kwargs)
            self.gave_at = self.gave_at or first_line(self.function)
            if self.speaking:
                self.went_on()
            structure, uids = self._flatten(result)
            self._keep_buffers()
            self.flush()
            if self.finished is not None:
                raise self.finished
            return Give(structure, uids, self.gave_at)
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
        line = short(line) if line else here()
        if isinstance(error, DygraphError) and not isinstance(error, Refused):
            said = type(error)(f"{error}{self._called_at(error, line)}")
            raise said.with_traceback(error.__traceback__) from None
        if own or not self.asked:
            raise error
        if isinstance(error, NameError):
            name = re.search(r"'(\w+)'", str(error))
            if name and name[1] in self.bound_in_loops:
                raise Refused(
                    f"'{name[1]}' has no value at {line} if the loop before it makes no "
                    "iteration, and the program does not keep that. Bind it before the loop"
                )
        if not all(type(a) in (str, int, float, bool, type(None)) for a in error.args):
            raise Refused(
                f"the {type(error).__name__} at {line} must have strings, numbers or None as "
                f"arguments, got {error.args!r}. Give it a string"
            )
        self._keep_buffers()
        self.flush()
        return Raise(type(error), error.args, line)

    @staticmethod
    def _called_at(error, line):
        """Where an operator or a function of ours was given what it refuses."""
        if line in str(error):
            return ""
        text = f" (called at {line}"
        if "-1" in str(error):
            text += (
                ", where -1 is a size that is known when the program runs. Declare it in "
                "input_spec if eager calls take it"
            )
        return f"{text})"

    def _end(self, end):
        if isinstance(end, Give):
            end = self._agree(end)
        if self.block.end is None and self.position == len(self.block.ops):
            self.block.end = end
        elif type(self.block.end) is not type(end) or self.position != len(self.block.ops):
            raise Refused(self.not_twice("ended"))

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
            raise Refused(
                f"paths end with different results: {one} and {two}. Return the same "
                "structure on each"
            )
        for a, b in zip(self.structure.uids, end.uids, strict=True):
            one, two = self.metas[a], self.metas[b]
            self.forms_differ |= len(one.shape) != len(two.shape) or one.dtype != two.dtype
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
                stays = isinstance(o, Variable) and o.name not in self.held
                uids.append(self.uid(o if stays else _core.ops.assign(self.symbolic(o))))
                return ("Variable",)
            if isinstance(o, Array):
                raise Refused(
                    f"a list that grows in a loop cannot be a result, at {self.gave_at}. Stack or "
                    "concat it"
                )
            if isinstance(o, (list, tuple)):
                return (type(o), tuple(walk(v, (*path, i)) for i, v in enumerate(o)))
            if isinstance(o, dict):
                return (type(o), tuple((k, walk(v, (*path, k))) for k, v in o.items()))
            if o is None or type(o) in (bool, int, float, str):
                return ("constant", type(o), repr(o), o)
            raise Refused(
                f"results must be Variables, numbers, text, or containers of them, got "
                f"{type(o).__name__} at {self.gave_at}. Return what it is made of"
            )

        return walk(result, ()), uids
