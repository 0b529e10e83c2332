"""`compile`: a training step, or another function of Variables, that runs as a program."""

import collections
import functools
import sys
import time
import types
import warnings

import numpy as np

from dygraph import _core
from dygraph.autograd.recording import modes
from dygraph.core import check
from dygraph.errors import (
    ArgumentTypeError,
    PreconditionNotMetError,
    kind_of,
)
from dygraph.inspect.shown import Shown
from dygraph.jit import tracing

__all__ = ["CacheInfo", "Compiled", "compile"]

CacheInfo = collections.namedtuple("CacheInfo", "hits misses programs size seconds")
CacheInfo.__doc__ = """What a compiled function did: `Compiled.cache_info` gives it.

hits: calls that ran a program; misses: calls that ran Python; programs: how many are kept, of at
most size; seconds: what recording, comparing and planning took beyond the calls themselves.
"""

_MANY = 8  # compilations, after which a warning names what changes
# Of an optimizer: what its steps change, and the rate, which is asked before each run.
_OF_STEPS = {
    "_last", "_was_set", "_waiting", "_entries", "_changed", "_states", "_rates", "_updates",
    "_learning_rate",
}  # fmt: skip


def compile(function=None, size=8, verify=True):  # noqa: A001 - torch's name of it
    """Make calls of a function run a program: a whole training step, or one without gradients.

    The first call with arguments of one kind (types, sizes, constants) is an ordinary one. The
    second is recorded while it runs. The third is compared with the program, bit for bit; from then
    on the program runs. It shares weights, accumulators and running means with the eager objects,
    and asks schedules for their rates. What else the function can reach (attributes of layers such
    as ``training``, globals, values from outside) is compared before each call; where something
    changed, the call runs Python and the program is made anew.

    Updates of optimizers run as soon as their gradients are there, so gradients do not wait for the
    end of the backward pass. A program that is interrupted, or fails, may have updated some
    parameters by then; the first three calls and what runs eagerly have not.

    Parameters
    ----------
    function : callable
        A function of Variables that returns Variables, in lists, tuples and dicts or not. None:
        returns a decorator.
    size : int
        How many programs are kept, for other sizes or other state; the one that ran longest ago
        goes first.
    verify : bool
        False: no comparison in the third call, which then runs the program.

    Returns
    -------
    Compiled
        ``cache_info()`` and ``explain()`` say what it did; ``FLAGS_log_compiles`` prints that.

    Raises
    ------
    ArgumentTypeError
        (a TypeError) `function` is not callable, or a call gets an array.
    RuntimeError
        In one of the first three calls: a recorded value was read (``numpy()``, ``float()``,
        ``if``), the function does not do the same in each call, changes what it can reach in
        Python, writes to an argument, or returns a Variable that still wants gradients. The state
        is as before that call.

    Examples
    --------
    >>> import dygraph
    >>> net, x = dygraph.nn.Linear(3, 1), dygraph.ones([4, 3])
    >>> sgd = dygraph.optimizer.SGD(0.05, parameter_list=net.parameters())
    >>> @dygraph.jit.compile
    ... def step(x):
    ...     loss = (net(x) ** 2).mean()
    ...     loss.backward()
    ...     sgd.step()
    ...     sgd.clear_gradients()
    ...     return loss
    >>> losses = [step(x).item() for _ in range(20)]
    >>> losses[-1] < losses[0] / 100, step.cache_info().hits
    (True, 17)
    """
    if function is None:
        return lambda f: compile(f, size, verify)
    return Compiled(function, size, verify)


class Compiled(_core.CompiledCalls, Shown):
    """A function whose calls run programs. :func:`dygraph.jit.compile` makes it.

    Examples
    --------
    >>> import dygraph
    >>> step = dygraph.jit.compile(lambda x: (x * 2).sum())
    >>> [step(dygraph.ones([3])).item() for _ in range(4)]
    [6.0, 6.0, 6.0, 6.0]
    >>> step.cache_info().hits, step.cache_info().programs
    (1, 1)
    """

    def __init__(self, function, size=8, verify=True):
        super().__init__()
        if not callable(function):
            raise ArgumentTypeError(
                f"jit.compile: function must be a function or a Layer, got {kind_of(function)}"
            )
        if not isinstance(verify, bool):
            raise ArgumentTypeError(f"jit.compile: verify must be a bool, got {kind_of(verify)}")
        self._function, self._verify = function, verify
        self._size = check.integer(size, "jit.compile: size", 1)
        self.clear()
        if isinstance(function, (types.FunctionType, types.MethodType)):
            functools.update_wrapper(self, function)

    def __get__(self, owner, kind=None):
        if owner is None:
            return self
        name = f"_compiled_{self._function.__qualname__}"
        found = owner.__dict__.get(name)
        if found is None:
            method = self._function.__get__(owner, kind)
            found = owner.__dict__[name] = Compiled(method, self._size, self._verify)
        return found

    def __repr__(self):
        return f"Compiled({self._name}, {len(self._ready)} programs)"

    @property
    def _name(self):
        return getattr(self._function, "__name__", type(self._function).__name__)

    def _call(self, *args, **kwargs):
        """A call that the core leaves: not by the first program, or of several results."""
        for entry in self._ready:
            results = entry.call(None, args, kwargs)
            if results is not NotImplemented:
                self._hits += 1
                if entry is not self._ready[0]:
                    self._ready.remove(entry)
                    self._put_first(entry)
                return results if entry.is_plain else entry.built(results)
        return self._unprepared(args, kwargs)

    def _put_first(self, entry):
        self._ready.insert(0, entry)
        self._set_lead(entry.call if entry.is_plain else None)

    # What a user asks ---------------------------------------------------------------------------

    def cache_info(self):
        """How often programs ran, how many there are and what compiling took.

        Returns
        -------
        CacheInfo
        """
        hits = self._hits + self._lead_hits
        return CacheInfo(hits, self._misses, len(self._ready), self._size, self._seconds)

    def explain(self):
        """When and why it compiled: a line for each of the latest 64 events, oldest first.

        Returns
        -------
        str
        """
        return "\n".join(self._events)

    def clear(self):
        """Drop all programs; the next calls compile again."""
        self._ready, self._begun = [], collections.OrderedDict()
        self._set_lead(None)
        self._hits = self._lead_hits = self._misses = self._compiled = 0
        self._seconds = 0.0
        self._events = collections.deque(maxlen=64)
        self._known = []  # signatures that were compiled, for the texts of events

    def shrink(self):
        """Free the memory that programs keep between calls; the next calls take it again."""
        for entry in self._ready:
            entry.prepared.shrink()

    @property
    def program(self):
        """The ``static.Program`` of the latest call that ran one.

        Raises
        ------
        PreconditionNotMetError
            (a RuntimeError) None has been compiled yet.
        """
        if not self._ready:
            raise PreconditionNotMetError(
                f"jit.compile: {self._name} must have been called three times with arguments of "
                "one kind before it has a program"
            )
        from dygraph import static

        return static.Program(self._ready[0].desc)

    # Calls without a program --------------------------------------------------------------------

    def _unprepared(self, args, kwargs):
        from dygraph.static.ways.arguments import key_of, variables_in

        self._misses += 1
        variables = variables_in((args, kwargs), [])
        if (
            modes.ways is not None or modes.tracer is not None or _core.recording()
            or _core.keeps_apart() or any(_core.is_symbol(v) for v in variables)
        ):  # fmt: skip
            return self._function(*args, **kwargs)
        self._check_arguments(args, kwargs, variables)
        shapes = tuple(tuple(_core.dims(v)) for v in variables)
        key = _core.grad_enabled(), key_of((args, kwargs)), shapes
        begun = self._begun.pop(key, None)
        if begun is not None:
            changed = begun.changed()
            if changed is not None:
                self._note(f"begins anew, since {changed} changed", shapes)
                self._warn(changed)
                begun = None
        if begun is None:
            begun = _Beginning(self._function, args, kwargs, variables)
            self._compiled += 1
            self._note(self._reason(key), shapes)
        start = time.perf_counter()
        results = begun.step(args, kwargs, variables, self._verify)
        self._seconds += time.perf_counter() - start - begun.own_seconds
        if begun.entry is None:
            self._begun[key] = begun
            while len(self._begun) > self._size:
                self._begun.popitem(last=False)
        else:
            self._put_first(begun.entry)
            for entry in self._ready[self._size :]:
                self._note("drops the program that ran longest ago", entry.shapes)
            del self._ready[self._size :]
            self._known.append(key)
            self._note(
                f"compiled: {begun.entry.operators} operators"
                + (", compared with an eager call bit for bit" if self._verify else ""), shapes
            )  # fmt: skip
        return results

    def _check_arguments(self, args, kwargs, variables):
        found = next((a for a in [*args, *kwargs.values()] if isinstance(a, np.ndarray)), None)
        if found is not None:
            raise ArgumentTypeError(
                f"jit.compile: {self._name} must get Variables, since other arguments become part "
                f"of the program, got an array of shape {found.shape}. Write "
                "dygraph.to_variable(array)"
            )
        if len({id(v) for v in variables}) < len(variables):
            raise PreconditionNotMetError(
                f"jit.compile: {self._name} must get each Variable once, got one twice. Pass a "
                "copy: x.clone()"
            )
        for v in variables:
            if _core.is_selected_rows(v) or _core.lod(v):
                raise PreconditionNotMetError(
                    f"jit.compile: {self._name} must get dense Variables without levels of "
                    "detail, since their offsets change from call to call. jit.to_static and "
                    "jit.trace take them"
                )
            if not v.stop_gradient:
                raise PreconditionNotMetError(
                    f"jit.compile: {self._name} must get Variables that want no gradient, since a "
                    "gradient would go to an object of one call. Pass x.detach(), or compile "
                    "without it: jit.to_static(function)"
                )

    def _reason(self, key):
        if not self._known:
            return "begins: the first call"
        alike = [k for k in self._known if k[1] == key[1] and k[0] == key[0]]
        if key in self._known:
            changed = next((c for c in (e.changed() for e in self._ready) if c), None)
            return f"begins anew, since {changed or 'its program was dropped'}" + (
                " changed" if changed else ""
            )
        if alike:
            return f"begins: other sizes than {alike[-1][2]}"
        return "begins: arguments of another kind, or no_grad was switched"

    def _note(self, what, shapes):
        text = f"{self._name}{_sizes(shapes)}: {what}"
        self._events.append(text)
        if _core.get_flag("log_compiles"):
            print(f"dygraph.jit.compile: {text}", file=sys.stderr, flush=True)

    def _warn(self, changed):
        if self._compiled > _MANY:
            warnings.warn(
                f"jit.compile: {self._name} began to compile {self._compiled} times, the last time "
                f"because {changed} changed, so it runs eagerly. Pass what changes from call to "
                "call as a Variable, or keep it outside the function",
                stacklevel=4,
            )


def _sizes(shapes):
    return "(" + ", ".join(str(list(s)) for s in shapes) + ")"


class _Beginning:
    """The first calls of a kind: an ordinary one, a recorded one, a compared one."""

    def __init__(self, function, args, kwargs, variables):
        self._function, self._steps = function, 0
        self.entry, self.own_seconds = None, 0.0
        self._guard = None

    def changed(self):
        return None if self._guard is None else self._guard.first_change()

    def step(self, args, kwargs, variables, verify):
        from dygraph.static.ways.arguments import replaced

        def call(*given):
            made_args, made_kwargs = replaced((args, kwargs), iter(given))
            return self._function(*made_args, **made_kwargs)

        self._steps += 1
        if self._steps == 1:
            results = self._first(call, variables)
        elif self._steps == 2:
            results = self._record(call, args, kwargs, variables)
            if not verify:
                self._finish(args, kwargs, variables)
        else:
            results = self._compare(call, variables)
            self._finish(args, kwargs, variables)
        return results

    def _timed(self, run):
        """The result of a call that had to run in any case."""
        start = time.perf_counter()
        try:
            return run()
        finally:
            self.own_seconds = time.perf_counter() - start

    def _first(self, call, variables):
        self._observer = observer = tracing.Observer()
        generator = _core.generator_state()
        results, journal = self._timed(lambda: tracing.observed(call, variables, observer))
        observer.played = journal.played
        self._state = tracing.state_of(self._function)
        self._written = [v for v, _ in journal.written()]
        self._leaves = [leaf for leaf, _ in journal.leaves()]
        try:
            self._check_first(results, variables)
        except BaseException:
            tracing.undo(journal, generator)
            raise
        return results

    def _check_first(self, results, variables):
        given = {id(v) for v in variables}
        if any(id(v) in given for v in self._written):
            raise PreconditionNotMetError(
                "jit.compile: the function must not write to its arguments in place, got one that "
                "does. Return the result"
            )
        for v in tracing.flatten(results, []):
            producer = None if v.stop_gradient else _core.producer_of(v)
            if producer is not None and not producer.freed:
                raise PreconditionNotMetError(
                    "jit.compile: the function must call backward() itself, but it returns a "
                    "Variable that still wants gradients. Compile the whole training step, write "
                    "with dygraph.no_grad(): in it, or use jit.to_static, whose results have "
                    "gradients"
                )

    def _moment(self):
        return tracing.Moment([*self._state.values(), *self._written], self._leaves)

    def _ask_rates(self):
        for optimizer in self._observer.optimizers:
            optimizer.ask_rate()

    def _record(self, call, args, kwargs, variables):
        self._ask_rates()
        moment = self._moment()
        named = tracing.names_of(
            self._state, self._written, self._leaves, self._observer.optimizers
        )
        self._names = [f"input_{i}" for i in range(len(variables))]
        follow = [[None] * v.ndim for v in variables]
        found = []

        def noted(*given):
            found.append(self._timed(lambda: call(*given)))
            return found[0]

        try:
            self._recording, _ = tracing.record(
                noted, list(zip(variables, self._names, strict=True)), follow, named,
                self._observer,
            )  # fmt: skip
        except BaseException:
            moment.restore()
            raise
        self._structure = _structure(found[0])
        self._scope = _core.Scope()
        self._recording.share_scope(self._scope)
        self._desc = _optimized(self._recording.program, self._recording.fetches)
        self._prepared = _core.PreparedProgram(
            self._desc, self._scope, self._recording.feeds, self._recording.fetches, None
        )
        self._prepared.plan_memory()
        self._guard = _guard_of(self._function, args, kwargs, self._observer.optimizers)
        return found[0]

    def _compare(self, call, variables):
        """An eager call, then the program from the same state: their bits."""
        self._ask_rates()
        moment, streams = self._moment(), _core.generator_state()
        results = self._timed(lambda: self._observer.run(call, variables))
        drawn = _core.generator_state()[1] - streams[1]
        wanted = [_core.digest(v) for v in tracing.flatten(results, [])]
        kept = {name: _core.digest(v) for name, v in self._recording.sources.items()}
        structure = _structure(results)
        del results
        moment.restore()
        try:
            if drawn != self._prepared.random_operators:
                raise _differs(f"{drawn} random operators drew, not "
                               f"{self._prepared.random_operators}")  # fmt: skip
            if structure != self._structure:
                raise _differs("it returned another structure")
            actual = self._prepared.run(list(variables))
            for i, (want, value) in enumerate(zip(wanted, actual, strict=True)):
                if _core.digest(value) != want:
                    raise _differs(f"result {i} has other bits")
            for name, want in kept.items():
                if _core.digest(self._recording.sources[name]) != want:
                    raise _differs(f"'{name}', which outlives the call, has other bits")
            changed = self._guard.first_change()
            if changed is not None:
                raise _differs(f"it changed {changed}")
        except BaseException:
            moment.restore()
            raise
        return _built(self._structure, iter(actual))

    def _finish(self, args, kwargs, variables):
        self.entry = _Entry(self, args, kwargs, variables)


def _differs(what):
    return PreconditionNotMetError(
        f"jit.compile: the function must do the same in each call, but in the third {what}. It "
        "keeps state in Python, draws random numbers outside of dygraph, or reads what changes. "
        "Pass that as a Variable"
    )


class _Entry:
    """A program, ready to run for one kind of arguments while what the function read stays."""

    def __init__(self, begun, args, kwargs, variables):
        self.desc = begun._desc
        self.shapes = tuple(tuple(_core.dims(v)) for v in variables)
        self.prepared = begun._prepared
        self.operators = begun._prepared.operators
        self._structure, self._guard = begun._structure, begun._guard
        self.is_plain = self._structure is None
        self._scope, self._sources = begun._scope, begun._recording.sources
        call = _core.CapturedCall(begun._prepared, [])
        call.set_results(len(begun._recording.fetches), self.is_plain)
        self.kept = kept = []
        call = call.fresh(kept, False)
        for value in [*args, *kwargs.values()]:
            if isinstance(value, _core.Variable):
                call.add_variable(value.dtype, list(_core.dims(value)), 0, False)
            else:
                call.add_constant(value)
        for name in kwargs:
            call.add_keyword(name)
        for variable in self._sources.values():
            call.guard_flag(variable)
        written = {id(v) for v in begun._written}
        for variable, _ in self._guard.variables:
            if id(variable) not in written:
                call.guard_variable(variable)
        for optimizer in begun._observer.optimizers:
            call.add_rate(optimizer, optimizer.ask_rate)
        self._guard.guard(call)
        self.call = call

    def changed(self):
        return self._guard.first_change()

    def built(self, results):
        return _built(self._structure, iter(results))


def _structure(value):
    """The containers of a result: None for one Variable."""
    if isinstance(value, _core.Variable):
        return None
    if isinstance(value, dict):
        return type(value), [(key, _structure(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), [_structure(item) for item in value]
    return "nothing"


def _built(structure, results):
    if structure is None:
        return next(results)
    if structure == "nothing":
        return None
    kind, items = structure
    if issubclass(kind, dict):
        return kind((key, _built(item, results)) for key, item in items)
    items = [_built(item, results) for item in items]
    return kind._make(items) if hasattr(kind, "_make") else kind(items)


def _guard_of(function, args, kwargs, optimizers):
    """What the function can reach from outside, as it is now."""
    from dygraph.static.ways.outside import Outside

    guard = Outside()
    guard.note_root(function)
    guard.note([args, kwargs], "arguments")
    guard.note_code()
    for optimizer in optimizers:
        guard.note_some(optimizer, type(optimizer).__name__, _OF_STEPS)
    return guard


def _optimized(desc, keep):
    """The program after the passes that keep every bit."""
    from dygraph.static import passes

    return passes.keep_bits(desc, keep)
