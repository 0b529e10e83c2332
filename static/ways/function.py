"""Captured functions: programs by the kind of their arguments, and guards on what they read."""

import functools
import types
import warnings
import weakref

import dygraph
import static
from dygraph import _core
from dygraph.errors import ArgumentTypeError, DygraphError, PreconditionNotMetError, kind_of
from dygraph.nn.layer import Layer
from dygraph.recording import modes
from dygraph.tracing import Moment
from static.ways.arguments import build, inputs_for, key_of, leaves, replaced, variables_in
from static.ways.emit import emit
from static.ways.explore import Explorer
from static.ways.graph import Refused
from static.ways.halves import Halves
from static.ways.outside import Outside
from static.ways.prove import prove

__all__ = ["Captured", "Entry"]

_MANY = 8


class Entry:
    """One program of a function, for one kind of arguments.

    Attributes
    ----------
    program : Program
    feeds, fetches : list of str
    proof : Proof or None
        What was compared with eager calls.
    """

    def __init__(self, function, args, kwargs, max_ways):
        self._explorer = explorer = Explorer(function, args, kwargs, max_ways)
        explorer.explore()
        made = emit(explorer)
        self.program, self.feeds, self.fetches = made.program, made.feeds, made.fetches
        self.structure, self.proof = made.structure, None
        self._refuse_draws_in_blocks()
        self._function, self._arguments = function, (args, kwargs)
        self._guard = Outside()
        self._guard.note_root(function)
        self._guard.note([args, kwargs], "arguments")
        for called in explorer.converted.values():
            self._guard.note_globals(called)
        for layer in explorer.layers.values():
            self._guard.note(layer, "self")
        read = [*explorer.sources.values(), *(v for v, _ in self._guard.variables)]
        self._variables = [(v, repr(_core.digest(v))) for v in read]
        self._flags = [(n, v, v.stop_gradient) for n, v in self.held.items()]
        self.scope, self._calls, self._kept = _core.Scope(), {}, ([], [])
        self.reference, self.is_plain = weakref.ref(self), self.structure[0] == "Variable"
        for name, variable in self.program.held.items():
            self.scope.var(name).share(variable)

    def _refuse_draws_in_blocks(self):
        for block in self.program.blocks[1:]:
            for op in block.ops:
                if op.type in dygraph.op_names() and dygraph.op_info(op.type).random:
                    raise Refused(
                        f"{op.type} draws random numbers on some ways alone, at "
                        f"{op.attr('op_callstack')[-1]}. Draw before the question"
                    )

    @property
    def questions(self):
        """The lines at which the program decides, in order."""
        return self._explorer.questions()

    @property
    def held(self):
        """Eager Variables that the program reads or writes, by name."""
        return self._explorer.held

    def changed(self):
        """What the function reads outside that is another than when it was explored; or None."""
        name = self._guard.first_change()
        if name is None:
            for variable, digest in self._variables:
                if repr(_core.digest(variable)) != digest:
                    return "a Variable that it reads"
            for name, variable, stop in self._flags:
                if variable.stop_gradient != stop:
                    return f"stop_gradient of '{name}'"
            return None
        return name

    def save(self, dirname):
        """An inference model, for `dygraph.jit.load`: results in order, without containers."""
        block = self.program.global_block()
        with static.scope_guard(self.scope):
            static.io.save_inference_model(
                dirname, self.feeds, [block.var(n) for n in self.fetches], static.Executor(),
                self.program,
            )  # fmt: skip

    # Calls ------------------------------------------------------------------------------------

    def call(self, records):
        """What runs the program: without gradients, or in two halves with them.

        Returns
        -------
        _core.CapturedCall
        """
        found = self._calls.get(records)
        if found is None:
            found = self._calls[records] = self._made(records)
        return found

    def _made(self, records):
        inputs = [] if not records else [
            name for name in self.feeds
            if not self.program.global_block().var(name).stop_gradient
        ]  # fmt: skip
        weights = [] if not records else [n for n, v in self.held.items() if not v.stop_gradient]
        if not inputs and not weights:
            prepared = _core.PreparedProgram(
                self.program.desc, self.scope, self.feeds, self.fetches, None
            )
            call = _core.CapturedCall(prepared, self._kept[records])
        else:
            halves = Halves(self.program, self.feeds, self.fetches, [*inputs, *weights])
            prepared = _core.PreparedProgram(
                halves.program.desc, self.scope, halves.feeds, halves.fetches, None, halves.sizes
            )
            self.reached = [n for n in inputs if n in halves.reached]
            weights = [n for n in weights if n in halves.reached]
            call = _core.CapturedCall(prepared, self._kept[records])
            self._weights, self._results = [self.held[n] for n in weights], halves.results
            call.set_gradients(
                [self.feeds.index(n) for n in self.reached], self._weights, halves.results,
                list(self.held.values()),
            )  # fmt: skip
        call.set_results(len(self.fetches), self.is_plain)
        return call

    def guard(self, call, given, keywords):
        """Have a call compare its arguments and what the function read, as they are now.

        Returns
        -------
        bool
            False where something can be compared by Python alone.
        """
        quiet = isinstance(self._function, Layer) and not self._function.training
        call.clear_guards(quiet)
        shapes = iter(self.pattern)
        for value in given:
            if isinstance(value, _core.Variable):
                lod = _core.lod(value)
                call.add_variable(
                    value.dtype, list(next(shapes)), len(lod) if lod else 0,
                    not value.stop_gradient,
                )  # fmt: skip
            else:
                call.add_constant(value)
        for name in keywords:
            call.add_keyword(name)
        for variable, _ in self._variables:
            call.guard_variable(variable)
        for variable in self.held.values():
            call.guard_flag(variable)
        try:
            self._guard.guard(call)
        except (TypeError, DygraphError):
            return False
        return True

    def run(self, variables, records=False):
        """The result for the Variables of a call, in order."""
        return self.built(self.call(records).run(self.reference, list(variables)))

    def built(self, results):
        """Results in the containers of the function."""
        if self.is_plain:
            return results
        return build(self.structure, iter(results).__next__)

    def replay(self, variables, held, random, grads):
        """Gradients that can be differentiated: those of the eager function, run as it was then.

        Parameters
        ----------
        variables, held : list of Variable
            Inputs, and what `self.held` held.
        random : tuple of int
            State of the generator.
        grads : list of Variable or None
            Of the results that bring one.

        Returns
        -------
        list of Variable or None
        """
        changed = self._guard.first_change()
        if changed is not None:
            raise PreconditionNotMetError(
                "create_graph=True runs the captured function eagerly once more, but "
                f"{changed} has changed since"
            )
        numbers = [self.feeds.index(n) for n in self.reached]
        inputs, own = list(variables), {id(w) for w in self._weights}
        apart = [i for i in numbers if id(variables[i]) not in own]
        moment = Moment(list(self.held.values()), [])
        enabled, Captured.enabled = Captured.enabled, False
        try:
            for variable, value in zip(self.held.values(), held, strict=True):
                _core.restore(variable, value)
            _core.set_generator_state(*random)
            with dygraph.enable_grad():
                for i in apart:  # what the function makes of it, and not what it was made of
                    inputs[i] = _core.ops.assign(variables[i])
                args, kwargs = replaced(self._arguments, iter(inputs))
                results = leaves(self.structure, self._function(*args, **kwargs))
        finally:
            Captured.enabled = enabled
            moment.restore()
        pairs = [
            (results[i], g) for i, g in zip(self._results, grads, strict=True)
            if g is not None and not results[i].stop_gradient
        ]  # fmt: skip
        made = dygraph.grad(
            [r for r, _ in pairs], [*(inputs[i] for i in apart), *self._weights],
            [g for _, g in pairs], create_graph=True, allow_unused=True,
            no_grad_vars=[variables[i] for i in apart],
        )  # fmt: skip
        of = dict(zip(apart, made, strict=False))
        return [*(of.get(i) for i in numbers), *made[len(apart) :]]


class Captured:
    """A function or Layer whose calls run programs. `dygraph.jit.to_static` makes it."""

    enabled = True  # by ProgramTranslator

    def __init__(self, function, input_spec=None, verify=True, max_ways=1000):
        if not callable(function):
            raise ArgumentTypeError(
                f"to_static: function must be a function or a Layer, got {kind_of(function)}"
            )
        self.captured_function, self._verify, self._max_ways = function, verify, max_ways
        self._spec = input_spec
        self._entries, self._ready = {}, []
        if not isinstance(function, Layer):
            functools.update_wrapper(self, function)

    captured_function = None

    def __get__(self, owner, kind=None):
        if owner is None:
            return self
        name = f"_captured_{self.captured_function.__name__}"
        found = owner.__dict__.get(name)
        if found is None:
            method = self.captured_function.__get__(owner, kind)
            found = Captured(method, self._spec, self._verify, self._max_ways)
            owner.__dict__[name] = found
        return found

    def __deepcopy__(self, memo):
        """A copy of an object finds its own programs."""
        return None if isinstance(self.captured_function, types.MethodType) else self

    def __reduce__(self):
        if isinstance(self.captured_function, types.MethodType):
            return _nothing, ()
        return self.captured_function.__qualname__

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.captured_function, name)

    def __call__(self, *args, **kwargs):
        if not self.enabled or modes.ways is not None:
            return self.captured_function(*args, **kwargs)
        for entry, call in self._ready:
            results = call(entry.reference, args, kwargs)
            if results is not NotImplemented:
                return results if entry.is_plain else entry.built(results)
        return self._call(args, kwargs)

    def _call(self, args, kwargs):
        """A call for which no program stands ready."""
        variables = variables_in((args, kwargs), [])
        if any(_core.is_symbol(v) for v in variables) or _core.recording() or _core.keeps_apart():
            return self.captured_function(*args, **kwargs)
        records = self._records(variables)
        entry = self._entry(args, kwargs, variables, records)
        try:
            call = entry.call(records)
        except DygraphError:  # what has no gradient, or reads a weight that it writes
            return self.captured_function(*args, **kwargs)
        self._set_ready(entry, call, args, kwargs, variables)
        return entry.built(call.run(entry.reference, variables))

    def save(self, dirname, *args, **kwargs):
        """Save the program of these arguments as an inference model, for `dygraph.jit.load`.

        The loaded model gives the Variables among the results in order, without their containers.
        """
        self.entry(*args, **kwargs).save(dirname)

    def entry(self, *args, **kwargs):
        """The `Entry` that a call with these arguments runs."""
        variables = variables_in((args, kwargs), [])
        return self._entry(args, kwargs, variables, self._records(variables))

    def _records(self, variables):
        """Whether an eager call would be recorded: a Layer in eval mode is where an input is."""
        if not _core.grad_enabled():
            return False
        layer = self.captured_function
        quiet = isinstance(layer, Layer) and not layer.training and not modes.forced
        return not quiet or any(not v.stop_gradient for v in variables)

    def _entry(self, args, kwargs, variables, records):
        key = records, key_of((args, kwargs))
        entries = self._entries.setdefault(key, [])
        shapes = [tuple(v.shape) for v in variables]
        changed = None
        for pattern, entry in entries:
            if _fits(pattern, shapes):
                changed = entry.changed()
                if changed is None:
                    return entry
        pattern = self._pattern(shapes, [p for p, _ in entries])
        inputs = iter(inputs_for(self._names(len(variables)), variables, pattern))
        made_args, made_kwargs = replaced((args, kwargs), inputs)
        with _recorded(records):
            entry = Entry(self.captured_function, made_args, made_kwargs, self._max_ways)
        with dygraph.no_grad():
            if self._verify:
                entry.proof = self._proved(entry, args, kwargs)
        entry.pattern = pattern
        entries[:] = [(p, e) for p, e in entries if p != pattern or e.changed() is None]
        entries.append((pattern, entry))
        known = {id(e) for entries in self._entries.values() for _, e in entries}
        self._ready = [(e, call) for e, call in self._ready if id(e) in known]
        if len(entries) > _MANY:
            why = f", as {changed} is another" if changed else ""
            warnings.warn(f"to_static: {len(entries)} programs of one function{why}", stacklevel=4)
        return entry

    def _set_ready(self, entry, call, args, kwargs, variables):
        """Have the next such call find its program without a look at all that it reads."""
        given = [*args, *kwargs.values()]
        if len(given) != len(variables) + sum(_is_one_object(value) for value in given):
            return  # Variables in containers
        if entry.guard(call, given, list(kwargs)):
            ready = [(e, c) for e, c in self._ready if c is not call]
            self._ready = [(entry, call), *ready][:_MANY]

    def _proved(self, entry, args, kwargs):
        enabled, Captured.enabled = Captured.enabled, False  # eager calls are eager all through
        try:
            return prove(self.captured_function, entry, args, kwargs)
        finally:
            Captured.enabled = enabled

    def _names(self, count):
        code = getattr(self.captured_function, "forward", self.captured_function)
        code = getattr(code, "__code__", None)
        names = [n for n in code.co_varnames[: code.co_argcount] if n != "self"] if code else []
        names = [*names, *(f"input_{i}" for i in range(len(names), count))]
        return names[:count]

    def _pattern(self, shapes, known):
        """-1 stands for axis 0, for what the specification opens, and for what other calls had."""
        if self._spec is not None:
            return tuple(tuple(-1 if n is None else n for n in spec.shape) for spec in self._spec)
        pattern = [(-1, *shape[1:]) if shape else () for shape in shapes]
        for other in known:
            if [len(p) for p in other] == [len(p) for p in pattern]:
                pattern = [
                    tuple(a if a == b else -1 for a, b in zip(p, q, strict=True))
                    for p, q in zip(pattern, other, strict=True)
                ]
        return tuple(pattern)


def _is_one_object(value):
    """Constants that are the same where they are one object."""
    return value is None or isinstance(value, (bool, int, float, str))


def _recorded(on):
    return dygraph.enable_grad() if on else dygraph.no_grad()


def _nothing():
    """What a pickle has in the place of the programs of an object."""


def _fits(pattern, shapes):
    return all(
        len(p) == len(s) and all(a in (-1, b) for a, b in zip(p, s, strict=True))
        for p, s in zip(pattern, shapes, strict=True)
    )
