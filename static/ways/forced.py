"""Runs with answers that are given: of a program, and of the Python that it was made of.

A question of a number is Python's own in an eager call and goes by the data in both; every other
one is answered, whatever the data say.
"""

import itertools
import sys
import threading
import time

import numpy as np

from dygraph import _core, static
from dygraph.inspect.watch import user_line
from dygraph.static.ways.graph import Ask, Give, Go, Raise, is_ours, reachable, short, spot

__all__ = [
    "MOST", "Endless", "Map", "Questioned", "Strayed", "Way", "answered", "edge_text", "total",
]  # fmt: skip

MOST = 3000  # questions of one run
_SEARCH = 100  # after so many a run no longer looks for its goal
_running = threading.local()  # .way: what answers the questions of this thread's program
_handles: list = []  # of the functions that programs call at question i


class Strayed(BaseException):
    """A run asked something else than the way that it was to take. No exception to user code."""


class Endless(BaseException):
    """A run with given answers did not come to an end."""


class Map:
    """Of a graph: its questions, and how far each block is from others.

    Attributes
    ----------
    root : Block
    plain : set
        Values that are Python's numbers in an eager call.
    answers : list of (Block, bool)
        Questions with the answers that they can have. Where the same value was asked before, as by
        the second test of ``while a and b``, only one is left.
    """

    def __init__(self, root, plain):
        self.root, self.plain = root, plain
        self._before = {b: [] for b in reachable(root)}
        self.answers = []
        known = self._known()
        for block, before in known.items():
            for answer, after in _next(block, before):
                self._before[after].append(block)
                if answer is not None:
                    self.answers.append((block, answer))
        self.to_end = self.steps_to([b for b in known if isinstance(b.end, (Give, Raise))])

    def numbers(self):
        """Whole numbers that the function names: sizes are compared with some of them."""
        found = set()
        for block in self._before:
            for op in block.ops:
                if op.type == "fill_constant" and self.plain.issuperset(op.outs["Out"]):
                    found.add(op.attrs["value"])
        return sorted(int(n) for n in found if n.is_integer())

    def _known(self):
        """Answers that every way to a block has given, by value."""
        known, todo = {self.root: {}}, [self.root]
        while todo:
            block = todo.pop()
            for answer, after in _next(block, known[block]):
                facts = _facts(block, known[block])
                if answer is not None:
                    facts[block.end.uid] = answer
                for uid in after.params:
                    facts.pop(uid, None)
                if after in known:
                    facts = dict(known[after].items() & facts.items())
                if after not in known or facts != known[after]:
                    known[after] = facts
                    todo.append(after)
        return known

    def steps_to(self, goals):
        """The least number of blocks between each block and one of `goals`."""
        steps, todo = dict.fromkeys(goals, 0), list(goals)
        for block in todo:
            for before in self._before[block]:
                if before not in steps:
                    steps[before] = steps[block] + 1
                    todo.append(before)
        return steps


def _facts(block, before):
    """What of these answers still holds at the end of a block."""
    made = {u for op in block.ops for us in op.outs.values() for u in us}
    return {u: answer for u, answer in before.items() if u not in made}


def _next(block, before):
    """(answer or None, block) of what may follow."""
    end = block.end
    if not isinstance(end, Ask):
        return [(None, after) for after in block.next()]
    fixed = _facts(block, before).get(end.uid)
    return [(a, b) for a, b in ((True, end.yes), (False, end.no)) if fixed in (None, a)]


class Way:
    """What one run is asked and answers.

    Parameters
    ----------
    graph : Map
    answers : list of bool, or None
        Of the first questions; None: the run goes by its data.
    goal : (Block, bool), optional
        The question to come to after those, and its answer.
    most : int or None
        More questions end the run with `Endless`. None: an eager call ends, and so must the run,
        by the time that is set as `deadline`.

    Attributes
    ----------
    taken : list of (Block, bool, str, bool)
        Question, answer, its kind ("new"; "again", of a value that was asked before; "number"), and
        what the data would have answered.
    """

    def __init__(self, graph, answers=None, goal=None, most=MOST):
        self._graph, self._goal, self.most, self.deadline = graph, goal, most, None
        self._given = iter(answers or ())
        self.is_free = answers is None
        self.taken, self.end = [], None
        self._known = {}  # answers by value
        self._steps = graph.to_end if goal is None else graph.steps_to([goal[0]])
        self._block, self._plain = graph.root, set(graph.plain)
        self._advance()

    def answer(self, block, truth):
        """The answer to the question at the end of a block; `truth` is that of its data."""
        if self._block is not block:
            here = spot(block.end.line)
            raise Strayed(f"it branches at {here} where the path {self._next_text()}")
        if self.most is not None and len(self.taken) >= self.most:
            raise Endless
        if self.deadline is not None and time.perf_counter() > self.deadline:
            here = spot(block.end.line)
            raise Strayed(f"it still branches at {here} when an eager call has ended")
        uid, answer = block.end.uid, truth
        kind = "number" if uid in self._plain else "again" if uid in self._known else "new"
        if kind == "again":
            answer = self._known[uid]
        elif kind == "new" and not self.is_free:
            answer = next(self._given, None)
            if answer is None:
                answer = self._shortest(block)
        self._known[uid] = answer
        if self._goal == (block, answer):
            self._goal, self._steps = None, self._graph.to_end
        self.taken.append((block, answer, kind, truth))
        self._block = block.end.yes if answer else block.end.no
        self._advance()
        return answer

    def _shortest(self, block):
        if self._goal is not None and len(self.taken) > _SEARCH:
            self._goal, self._steps = None, self._graph.to_end
        if self._goal is not None and self._goal[0] is block:
            return self._goal[1]
        if len(self.taken) > MOST // 2:  # turns of a loop of numbers that the answers keep alive
            return bool(len(self.taken) % 2)
        far = len(self._graph.to_end) + 1
        yes, no = (self._steps.get(b, far) for b in (block.end.yes, block.end.no))
        return yes < no

    def _advance(self):
        """On to the next question, or the end."""
        plain, block = self._plain, self._block
        while True:
            for op in block.ops:
                made = [u for us in op.outs.values() for u in us]
                self._forget(made)
                made = [u for u in made if u not in self._graph.plain]
                read = [u for us in op.ins.values() for u in us]
                if read and plain.issuperset(read):
                    plain.update(made)
                else:
                    plain.difference_update(made)
            end = block.end
            if not isinstance(end, Go):
                break
            pairs = list(zip(end.block.params, end.args, strict=False))
            numbers = {u for u, v in pairs if v in plain or u in self._graph.plain}
            plain.difference_update(u for u, _ in pairs)
            plain.update(numbers)
            self._forget(end.block.params)
            block = end.block
        self._block = block
        self.end = None if isinstance(end, Ask) else end

    def _forget(self, uids):
        """Values that are made anew."""
        for uid in uids:
            self._known.pop(uid, None)

    def check_ended(self):
        """A run that gave a result must be where the way ends in one."""
        if isinstance(self.end, Ask) or self.end is None:
            raise Strayed(f"it ends where the path {self._next_text()}")

    def _next_text(self):
        if isinstance(self._block.end, Ask):
            return f"branches at {spot(self._block.end.line)}"
        return "ends"

    def choices(self):
        """Answers that could have been others, with their questions."""
        return [(block, answer) for block, answer, kind, _ in self.taken if kind == "new"]

    def __repr__(self):
        """``yes at model.py:12, no at model.py:15``."""
        asked = [
            edge_text(block, answer) for block, answer, kind, _ in self.taken if kind != "again"
        ]
        texts = []
        for text, group in itertools.groupby(asked):
            count = len(list(group))
            texts.append(text if count == 1 else f"{text} {count} times")
        if len(texts) > 12:
            texts[10:] = [f"... ({len(asked)} answers)"]
        return ", ".join(texts)


def edge_text(block, answer):
    """``yes at model.py:12``."""
    return f"{'yes' if answer else 'no'} at {spot(block.end.line)}"


class Questioned:
    """A copy of a program that has its questions answered, and computes gradients.

    Attributes
    ----------
    gradients : list of str
        Names of the inputs and weights whose gradients it gives, or knows to be none.
    summed : list of bool
        The results of whose sum they are.
    without : str or None
        Why there are none.
    """

    def __init__(self, entry, wanted):
        self._sites = entry._explorer.sites
        self._feeds, self._fetches = entry.feeds, entry.fetches
        self._kinds = kinds_of(entry.structure, [])
        program = entry.program.clone()
        self._have_answers(program)
        self.gradients, self.summed, self._given = [], [], []
        self.without = entry.without_gradients if wanted else None
        fetches = list(self._fetches)
        if wanted and self.without is None:
            backward = program.clone()
            try:
                made = self._differentiate(backward, wanted)
                program, self.gradients = backward, list(made)
                self._given = [name for name, g in made.items() if g is not None]
                fetches += [made[name] for name in self._given]
            except Exception as error:
                self.without = f"{type(error).__name__}: {error}"
        scope = _core.Scope()
        for name, variable in entry.program.held.items():
            scope.var(name).share(variable)
        self._prepared = _core.PreparedProgram(program.desc, scope, self._feeds, fetches, None)

    def _have_answers(self, program):
        """Put a call of Python's before each operator that reads an answer."""
        places = []
        for number, site in enumerate(self._sites):
            found = [op for op in site.ops if op.block.core.index(op.desc) >= 0]
            if found:
                places.append((min(op.idx for op in found), number, site, found))
        copies = {
            (op.block.idx, op.idx): program.block(op.block.idx).ops[op.idx]
            for _, _, _, found in places
            for op in found
        }
        for at, number, site, found in sorted(places, key=lambda p: p[0], reverse=True):
            readers = [copies[op.block.idx, op.idx] for op in found]
            block = readers[0].block
            asked = block.var_recursive(site.name)
            answer = block.create_var(f"answer_{number}", list(asked.shape), "bool")
            attrs = {"forward_callable_id": _handle(number), "backward_callable_id": -1}
            block.insert_op(at, "py_func", {"X": [asked]}, {"Out": [answer]}, attrs)
            for op in readers:
                op.rename_input(site.name, answer.name)

    def _differentiate(self, program, wanted):
        """Gradients of the sum of all floating results: names by those of what they are of."""
        block = program.global_block()
        results = [block.var(name) for name in self._fetches]
        pairs = zip(results, self._kinds, strict=True)
        self.summed = [kind == "Variable" and v.dtype.is_floating for v, kind in pairs]
        with static.program_guard(program, static.Program()):
            loss = total(itertools.compress(results, self.summed))
            made = [None] * len(wanted)
            if loss is not None and not loss.stop_gradient:
                made = static.gradients([loss], [block.var(name) for name in wanted])
        return {n: None if g is None else g.name for n, g in zip(wanted, made, strict=True)}

    def run(self, given, way):
        """(results, gradients by name) of a run that the way answers."""
        before = getattr(_running, "way", None)
        _running.way = lambda number, truth: way.answer(self._sites[number].block, truth)
        try:
            results = self._prepared.run(list(given))
        finally:
            _running.way = before
        way.check_ended()
        count = len(self._fetches)
        made = [None if _core.is_empty(g) else g for g in results[count:]]
        gradients = dict.fromkeys(self.gradients) | dict(zip(self._given, made, strict=True))
        return results[:count], gradients


def kinds_of(structure, out):
    """``Variable`` or ``number`` of each result that the program gives."""
    if structure[0] in ("Variable", "number"):
        out.append(structure[0])
    elif structure[0] != "constant":
        for part in structure[1]:
            kinds_of(part[1] if issubclass(structure[0], dict) else part, out)
    return out


def total(variables):
    """The sum of all elements of some Variables, eager or of a program; None of none."""
    loss = None
    for variable in variables:
        part = variable.sum()
        loss = part if loss is None else loss + part.astype(str(loss.dtype))
    return loss


def _handle(number):
    """The function of the question with this number, in all programs."""
    while len(_handles) <= number:
        _handles.append(_core.add_host_function(_Question(len(_handles))))
    return _handles[number]


class _Question:
    def __init__(self, number):
        self._number = number

    def __call__(self, inputs, wanted):
        (asked,) = inputs
        answer = _running.way(self._number, bool(asked.numpy().all()))
        return [_core.to_variable(np.full(asked.shape, answer))]


class answered:  # noqa: N801 - read as a function
    """Within it this thread's ``bool(v)`` is answered as a way has it."""

    def __init__(self, way):
        self._way, self._asked = way, {}
        self._left = iter([part for part in way.taken if part[2] != "number"])

    def __enter__(self):
        self._before = _core.answer_truth(None if self._way.is_free else self._answer)
        return self

    def __exit__(self, *_):
        _core.answer_truth(self._before)
        return False

    def _answer(self, variable):
        line = short(user_line())
        block, answer, _, truth = following = self._following(variable)
        if is_ours(sys._getframe(1)) and (block is None or block.end.line != line):
            self._left = itertools.chain([following], self._left)  # the library asks for itself
            return None
        if block is None or _function(block.end.line) != _function(line):
            raise Strayed(
                f"an eager call branches at {spot(line)} where it "
                + ("ends" if block is None else f"branches at {spot(block.end.line)}")
            )
        _core.answer_truth(None)
        own = bool(variable)
        _core.answer_truth(self._answer)
        if own != truth:
            raise Strayed(
                f"the condition at {spot(line)} is {truth} in the program, {own} in an eager call"
            )
        self._asked[block.end.uid] = variable
        return answer

    def _following(self, variable=None):
        """What is asked next. Python need not ask again for what it knows, as in ``while a and b``:
        there the program has one question more."""
        for part in self._left:
            if part[2] == "new" or self._asked.get(part[0].end.uid) is variable is not None:
                return part
        return None, None, None, None

    def check_ended(self):
        """An eager call must ask all that the program asks."""
        block = self._following()[0]
        if block is not None and not self._way.is_free:
            raise Strayed(f"it branches at {spot(block.end.line)}, which an eager call does not")


def _function(line):
    """File and function of a line."""
    return line.partition(":")[0], line.rpartition(" in ")[2]
