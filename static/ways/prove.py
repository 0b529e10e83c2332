"""Before its first use, a program is compared with eager calls, bit for bit, on every path."""

import contextlib
import io
import itertools
import re
import time

import dygraph
from dygraph import _core
from dygraph.errors import DygraphError
from dygraph.jit.open_axes import BATCH, Inputs, double, more, one
from dygraph.jit.open_axes import Input as Sample
from dygraph.jit.tracing import Moment
from dygraph.nn.layer import Layer
from dygraph.static.ways.arguments import build, key_of, leaves, replaced, variables_in
from dygraph.static.ways.forced import (
    MOST,
    Endless,
    Map,
    Questioned,
    Strayed,
    Way,
    answered,
    edge_text,
    total,
)
from dygraph.static.ways.graph import Refused, first_line

__all__ = ["Buffers", "Proof", "prove"]

_ALL_WAYS = 64  # with more, each branch is taken once
_MANY = 256  # searches at other sizes than those of the call
_NAMED = 128  # the largest size that is tried since the function contains it
_PATIENCE = 10  # seconds beyond a hundred eager calls, after which a run counts as endless
_SHOWN = 16  # paths in a report
_TURNS = 2  # of a loop whose condition is forced
_TURNS_BACK = 3  # where gradients are summed: with three terms their order shows


class Proof:
    """What was compared. Second gradients, empty batches and printed text are never compared.

    Attributes
    ----------
    questions : list of str
        Lines at which the program branches.
    shapes : list of list
        Shapes of the inputs of each comparison on the path of the data.
    free : list of str
        The branches of each of these.
    ways : list of str
        The branches of each comparison on a forced path.
    compared : int
        The number of results with the bits of eager calls.
    gradients : list of str
        Inputs and weights whose gradients, of the sum of all floating results, have eager's bits.
    not_compared : list of str
        Parts without a comparison, with the reason.
    seconds : float
        Seconds of the comparison.
    """

    def __init__(self, questions):
        self.questions, self.shapes, self.free, self.ways = questions, [], [], []
        self.compared, self.gradients, self.not_compared, self.seconds = 0, [], [], 0.0

    def __repr__(self):
        runs = len(self.shapes) + len(self.ways)
        lines = [
            f"<Proof: {self.compared} results of {runs} calls have eager's bits "
            f"({self.seconds:.2f} s)",
            "questions: " + (", ".join(self.questions) or "none"),
        ]
        if self.questions:
            lines.append(f"forced paths: {len(self.ways)}")
            lines += (f"  {way}" for way in self.ways[:_SHOWN])
            if len(self.ways) > _SHOWN:
                lines.append(f"  ... ({len(self.ways)} in proof.ways)")
        lines.append("inputs of shapes:")
        for shapes, way in zip(self.shapes, self.free, strict=True):
            lines.append(f"  {shapes}" + (f": {way}" if way else ""))
        lines.append("gradients: " + (", ".join(self.gradients) or "none"))
        lines += (f"not compared: {text}" for text in self.not_compared)
        return "\n  ".join(lines) + ">"


def prove(function, entry, args, kwargs, more=()):
    """Compare a program with eager calls: results, what is written, gradients and errors.

    Parameters
    ----------
    function : callable
    entry : Entry
        Its program.
    args, kwargs
        The arguments of the call.
    more : iterable of tuple
        Positional arguments of further comparisons.

    Returns
    -------
    Proof

    Raises
    ------
    Refused
        A result differs; the message names it, the path and the shapes of the inputs.
    """
    begun = time.perf_counter()
    prover = _Prover(function, entry, args, kwargs)
    moment = prover.moment
    try:
        with _quiet(entry.program):
            prover.by_data(more)
            prover.by_answers()
    finally:
        moment.restore()
    prover.proof.seconds = time.perf_counter() - begun
    return prover.proof


def _quiet(program):
    """Suppress printing, which the actual call does."""
    if any(op.type == "print" for block in program.blocks for op in block.ops):
        return contextlib.redirect_stdout(io.StringIO())
    return contextlib.nullcontext()


class _Call:
    """Arguments that can be made at several sizes."""

    def __init__(self, args, kwargs, names, open_sizes):
        self._args = args, kwargs
        variables = variables_in(self._args, [])
        self.samples = [Sample(v, n) for n, v in zip(names, variables, strict=True)]
        self.inputs = Inputs(self.samples, open_sizes, "to_static: input_spec", together=True)
        self.sizes = self.inputs.sizes

    def at(self, sizes):
        """(args, kwargs), and the Variables among them."""
        given = self.inputs.at(sizes)
        return replaced(self._args, iter(given)), given


class _Prover:
    def __init__(self, function, entry, args, kwargs):
        self._function, self._entry, self._kwargs = function, entry, kwargs
        self.proof = Proof(entry.questions)
        self._call = self._call_of(args, kwargs)
        self._key = key_of((args, kwargs))
        self._graph = Map(entry._explorer.root, entry._explorer.plain)
        self.moment = Moment(list(entry.held.values()), [])
        self._buffers = Buffers(entry._explorer.layers.values())
        self._wanted = self._wants(self._call.samples)
        self._questioned = Questioned(entry, self._wanted)
        self._turns = _TURNS_BACK if self._questioned.gradients else _TURNS
        self._ways = set()
        self._answered = set()  # (question, answer) that a comparison reached
        if self._questioned.without is not None:
            self.proof.not_compared.append(f"gradients ({self._questioned.without})")

    def _call_of(self, args, kwargs):
        return _Call(args, kwargs, self._entry.feeds, self._entry.open_sizes)

    def _wants(self, samples):
        if not self._entry.records:
            return []
        layer = self._entry._explorer.function
        if isinstance(layer, Layer) and not layer.training:
            if all(s.variable.stop_gradient for s in samples):
                return []  # its calls are not recorded
        inputs = {name: s.variable for name, s in zip(self._entry.feeds, samples, strict=True)}
        return [
            name
            for name, v in {**inputs, **self._entry.held}.items()
            if not v.stop_gradient and v.dtype.is_floating
        ]

    # What is compared -------------------------------------------------------------------------

    def by_data(self, more):
        """The samples, at several sizes, and what the user gives."""
        most = None  # the actual call, at its own sizes
        for sizes in self._sizes():
            way = Way(self._graph, most=most)
            self._compare(self._call, sizes, way)
            most = max(most or MOST, 4 * len(way.taken))
        for item in more:
            item = tuple(item) if isinstance(item, (list, tuple)) else (item,)
            shapes = [list(v.shape) for v in variables_in(item, [])]
            if key_of((item, self._kwargs)) != self._key or not self._fits(shapes):
                self.proof.not_compared.append(
                    f"inputs of shapes {shapes}, which another program of the function takes"
                )
                continue
            call = self._call_of(item, self._kwargs)
            self._compare(call, call.sizes, Way(self._graph, most=None))

    def _sizes(self):
        """The tried sizes: those of the call, other batches, others of each open axis."""
        now, tried = self._call.sizes, [self._call.sizes]
        for key, n in now.items():
            others = [1, n + 1, 2 * n] if key == BATCH else [n + 1, 2 * n + 1, 1]
            if self._graph.answers:
                others += range(2, self._turns + 1)
            tried += [{**now, key: other} for other in others]
        if len(now) > 1:
            tried += [self._call.inputs.other(rule) for rule in (more, double, one)]
        return [sizes for i, sizes in enumerate(tried) if sizes not in tried[:i]]

    def _named_sizes(self):
        """Sizes with which the function may compare its own, for branches not reached yet."""
        now, tried, found = self._call.sizes, self._sizes(), []
        numbers = dict.fromkeys(n + more for n in self._graph.numbers() for more in (0, 1))
        for key, size in now.items():
            largest = max(_NAMED, 2 * size)
            made = [{**now, key: n} for n in numbers if 0 < n <= largest]
            found += [sizes for sizes in made if sizes not in tried][:8]
        return found

    def _declared(self):
        block = self._entry.program.global_block()
        return [block.var(name).desc.shape for name in self._entry.feeds]

    def _fits(self, shapes):
        return all(
            len(a) == len(b) and all(m in (-1, n) for m, n in zip(a, b, strict=True))
            for a, b in zip(self._declared(), shapes, strict=True)
        )

    def by_answers(self):
        """Every path, with zero, one and two iterations of each loop."""
        if not self._graph.answers:
            return
        call, sizes = self._call, self._call.sizes
        todo = [[]]
        while todo and len(self.proof.ways) < _ALL_WAYS:
            answers = todo.pop()
            way = Way(self._graph, answers)
            if self._compare(call, sizes, way):
                todo += _others(way.choices(), len(answers), self._turns)
        searches = itertools.count()
        for sizes in [*self._sizes(), *self._named_sizes()]:
            for edge in self._unanswered():
                if edge not in self._answered and (sizes == call.sizes or next(searches) < _MANY):
                    self._compare(call, sizes, Way(self._graph, [], edge))
        left = [edge_text(*edge) for edge in self._unanswered()]
        if left:
            self.proof.not_compared.append(
                f"{', '.join(dict.fromkeys(left))} (decided by sizes and numbers; those tried took "
                "other paths)"
            )
        if todo:
            self.proof.not_compared.append(
                f"more than {_ALL_WAYS} paths: beyond these, each other branch was taken once"
            )

    def _unanswered(self):
        return [edge for edge in self._graph.answers if edge not in self._answered]

    # One comparison ---------------------------------------------------------------------------

    def _compare(self, call, sizes, way):
        """False if the run does not end, so there is no result."""
        given = call.at(sizes)[1]
        shapes = [list(v.shape) for v in given]
        is_plain = not self._graph.answers and not self._questioned.gradients
        want = None
        try:
            if way.most is None:
                begun = time.perf_counter()
                want = self._outcome(lambda: self._eager(call, sizes, way))
                now = time.perf_counter()
                way.deadline = now + _PATIENCE + 100 * (now - begun)
            got = None if is_plain else self._outcome(lambda: self._run(given, way))
            key = tuple(sizes.items()), way.is_free, *(taken[:2] for taken in way.taken)
            if key in self._ways and call is self._call:
                return True
            self._ways.add(key)
            want = want or self._outcome(lambda: self._eager(call, sizes, way))
            what = None if is_plain else _difference(want, got)
            if what is None and way.is_free:
                got = self._outcome(lambda: (self._entry.run(call.at(sizes)[1]), None))
                what = _difference(want, got)
        except Strayed as strayed:
            what = str(strayed)
        except Endless:
            self.proof.not_compared.append(f"a path that does not end, {way!r}")
            return False
        if what is not None:
            on = f" on the path {way!r}" if way.taken else ""
            raise Refused(
                f"the program must give the bits of eager calls, but {what}{on} for inputs of "
                f"shapes {shapes}. Capture less than {first_line(self._entry._explorer.function)}, "
                "without what differs"
            )
        self.proof.compared += 0 if want.error else len(want.parts)
        known = self.proof.gradients
        known += [n for n, g in (want.gradients or {}).items() if g is not None and n not in known]
        self._answered.update(taken[:2] for taken in way.taken)
        if way.is_free:
            self.proof.shapes.append(shapes)
            self.proof.free.append(repr(way))
        else:
            at = "" if sizes == self._call.sizes else f" for inputs of shapes {shapes}"
            self.proof.ways.append(f"{way!r}{at}")
        return True

    def _run(self, given, way):
        results, gradients = self._questioned.run(given, way)
        return build(self._entry.structure, iter(results).__next__), gradients

    def _eager(self, call, sizes, way):
        (args, kwargs), given = call.at(sizes)
        names = self._questioned.gradients
        quiet = contextlib.nullcontext() if names else dygraph.no_grad()
        with quiet, answered(way) as questions:
            result = self._function(*args, **kwargs)
        questions.check_ended()
        if not names:
            return result, {}
        variables = {**self._entry.held, **dict(zip(self._entry.feeds, given, strict=True))}
        return result, self._gradients(result, [variables[n] for n in names])

    def _gradients(self, result, variables):
        names = self._questioned.gradients
        floats = [
            leaf
            for leaf, is_summed in zip(
                leaves(self._entry.structure, result), self._questioned.summed, strict=True
            )
            if is_summed and isinstance(leaf, _core.Variable)
        ]
        with dygraph.set_grad_enabled(True):
            loss = total(floats)
            if loss is None or loss.stop_gradient:
                return dict.fromkeys(names)
            made = dygraph.grad([loss], variables, allow_unused=True)
        return dict(zip(names, made, strict=True))

    def _outcome(self, call):
        self.moment.restore()
        try:
            result, gradients = call()
        except Exception as error:
            return _Outcome(error=error)
        finally:
            now = self._buffers.bring_back()
        held = {name: repr(_core.digest(now.get(id(v), v))) for name, v in self._entry.held.items()}
        return _Outcome(parts(result, []), gradients, held, _core.generator_state())


class _Outcome:
    """The outcome of a call: bits of results and gradients, writes, count of random draws."""

    def __init__(self, results=(), gradients=None, held=None, drawn=None, error=None):
        self.parts, self.held, self.drawn, self.error = results, held, drawn, error
        self.gradients = gradients and {
            name: None if g is None else repr(_core.digest(g)) for name, g in gradients.items()
        }


class Buffers:
    """The Variables that Layers have as buffers; a call may bind others."""

    def __init__(self, layers):
        self._before = [(layer, dict(layer._buffers)) for layer in layers]

    def bring_back(self):
        """The replacement of each: {id of the Variable: the one after the call}."""
        now = {}
        for layer, before in self._before:
            for name, variable in before.items():
                other = layer._buffers.get(name)
                if other is not variable:
                    now[id(variable)] = other
                    layer._buffers[name] = layer.__dict__[name] = variable
        return now


def _others(choices, first, turns):
    """Answers that begin with these and differ at a question from `first` on."""
    found, counts = [], {}
    for i, (block, answer) in enumerate(choices):
        if i >= first and counts.get((block, not answer), 0) < turns:
            found.append([a for _, a in choices[:i]] + [not answer])
        counts[block, answer] = counts.get((block, answer), 0) + 1
    return found[::-1]


# Differences --------------------------------------------------------------------------------------


def _difference(want, got):
    """The difference between an eager call and the program, or None."""
    if want.error is not None or got.error is not None:
        return _different_errors(want.error, got.error)
    for i, (a, b) in enumerate(itertools.zip_longest(want.parts, got.parts)):
        if a is None or b is None:
            return f"output {i} differs"
        if not same(a, b):
            is_plain = isinstance(a[1], type) and isinstance(b[1], type)
            return f"output {i} differs" + (f": {a[0]!r} and {b[0]!r}" if is_plain else "")
    for name, bits in want.held.items():
        if got.held[name] != bits:
            return f"the variable '{name}', which it writes, differs"
    for name, bits in (want.gradients or {}).items() if got.gradients is not None else ():
        if got.gradients[name] != bits:
            missing = got.gradients[name] is None
            return f"the gradient of '{name}' {'is missing' if missing else 'differs'}"
    if want.drawn != got.drawn:
        return "it draws random numbers another number of times"
    return None


def _different_errors(want, got):
    if got is None:
        return f"an eager call raises {type(want).__name__} ({want}) and it does not"
    if want is None:
        return f"it raises {type(got).__name__} ({got}) and an eager call does not"
    is_kind = isinstance(got, type(want)) or type(want).__name__ in str(got)
    says = [] if isinstance(want, DygraphError) else [str(arg) for arg in want.args]
    if is_kind and all(_says(str(got), text) for text in says):
        return None
    return f"it raises {type(got).__name__} ({got}), an eager call {type(want).__name__} ({want})"


def _says(got, want):
    """Whether an error of the program has the message of an eager one, except for values."""
    if want in got:
        return True
    said = re.match(r"assert: (.*?) \(operator ", got, re.DOTALL)
    pieces = re.split(r"<[^<>]+>", said[1]) if said else [got]
    return re.fullmatch(".+".join(map(re.escape, pieces)), want, re.DOTALL) is not None


def parts(result, out):
    """(value, type) of a part of a result; the value for numbers and Variables without axes."""
    if isinstance(result, _core.Variable):
        kind = str(result.dtype)
        scalar = result.ndim == 0
        out.append((result.item(), kind) if scalar else (repr(_core.digest(result)), kind))
    elif isinstance(result, (list, tuple)):
        for item in result:
            parts(item, out)
    elif isinstance(result, dict):
        for key, item in result.items():
            out.append((key, "key"))
            parts(item, out)
    else:
        out.append((result, type(result)))
    return out


def same(a, b):
    """Whether two parts are equal; a number without iterations may be a Variable with them."""
    if isinstance(a[1], type) != isinstance(b[1], type):
        return a[0] == b[0] or (a[0] != a[0] and b[0] != b[0])
    return a[1] == b[1] and repr(a[0]) == repr(b[0])
