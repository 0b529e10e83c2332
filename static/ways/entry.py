"""One program of a captured function: its calls, its guards, and gradients of gradients."""

import weakref

import dygraph
from dygraph import _core, static
from dygraph.errors import DygraphError, PreconditionNotMetError
from dygraph.jit.open_axes import names_of_shared
from dygraph.jit.tracing import Moment
from dygraph.nn.layer import Layer
from dygraph.static.ways.arguments import build, leaves, replaced
from dygraph.static.ways.emit import emit
from dygraph.static.ways.explore import Explorer
from dygraph.static.ways.halves import Halves
from dygraph.static.ways.outside import Outside
from dygraph.static.ways.prove import Buffers

__all__ = ["Entry"]


class Entry:
    """One program of a function, for one kind of arguments.

    Attributes
    ----------
    program : Program
    feeds, fetches : list of str
    proof : Proof or None
        What was compared with eager calls.
    open_sizes : list of tuple
        For each axis of each input its size, None where it is open, or the name of an open size.
    records : bool
        Whether its calls are recorded for ``backward()``.
    """

    def __init__(self, function, eagerly, args, kwargs, max_ways, records, open_sizes):
        self._explorer = explorer = Explorer(function, args, kwargs, max_ways)
        explorer.explore()
        made = emit(explorer)
        self.program, self.feeds, self.fetches = made.program, made.feeds, made.fetches
        self.structure, self.proof = made.structure, None
        self._function, self._eagerly = function, eagerly
        self._arguments, self.records = (args, kwargs), records
        self.open_sizes = open_sizes
        variables = map(self.program.global_block().var, self.feeds)
        for variable, names in zip(variables, names_of_shared(open_sizes), strict=True):
            variable.desc.size_names = names
        self._guard = Outside()
        self._guard.note_root(function)
        self._guard.note([args, kwargs], "arguments")
        for called in explorer.converted.values():
            self._guard.note_globals(called)
        for layer in explorer.layers.values():
            self._guard.note(layer, "self")
            self._guard.note_forward(layer)
        read = [*explorer.sources.values(), *(v for v, _ in self._guard.variables)]
        self._variables = [(v, repr(_core.digest(v))) for v in read]
        self._flags = [(n, v, v.stop_gradient) for n, v in self.held.items()]
        self.scope, self._calls = _core.Scope(), {}
        self.reference, self.is_plain = weakref.ref(self), self.structure[0] == "Variable"
        for name, variable in self.program.held.items():
            self.scope.var(name).share(variable)

    @property
    def questions(self):
        """The lines at which the program decides, in order."""
        return self._explorer.questions()

    @property
    def held(self):
        """Eager Variables that the program reads or writes, by name."""
        return self._explorer.held

    def line_of(self, name):
        """Where the function reads what a guard is named for; None where that is not seen."""
        return self._explorer.line_of(name)

    @property
    def without_gradients(self):
        """Why eager calls compute gradients; None where the program can."""
        if self._explorer.forms_differ:
            return (
                "a result has another type or other axes on another path, so an eager call "
                "computes them"
            )
        return None

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
        static.io.save_captured(
            dirname, self.program, self.feeds, self.fetches, self.scope, self.proof is not None
        )

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
            call = _core.CapturedCall(prepared, [])
        else:
            if self.without_gradients is not None:
                raise PreconditionNotMetError(self.without_gradients)
            halves = Halves(self.program, self.feeds, self.fetches, [*inputs, *weights])
            prepared = _core.PreparedProgram(
                halves.program.desc,
                self.scope,
                halves.feeds,
                halves.fetches,
                None,
                halves=halves.sizes,
            )
            self.reached = [n for n in inputs if n in halves.reached]
            weights = [n for n in weights if n in halves.reached]
            call = _core.CapturedCall(prepared, [])
            self._weights, self._results = [self.held[n] for n in weights], halves.results
            call.set_gradients(
                [self.feeds.index(n) for n in self.reached], self._weights, halves.results,
                list(self.held.values()),
            )  # fmt: skip
        call.set_results(len(self.fetches), self.is_plain)
        return call

    def guard(self, call, given, keywords):
        """A call that compares its arguments and what the function read, as they are now.

        Returns
        -------
        _core.CapturedCall or None
            None where something can be compared by Python alone.
        """
        quiet = isinstance(self._function, Layer) and not self._function.training
        kept = []
        call = call.fresh(kept, quiet)
        call.kept = kept  # the collector of circles sees it here
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
            return None
        return call

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
                "create_graph=True runs the captured function again, eagerly, so what it reads "
                f"must stay, but {changed} has changed since the first call. Change it afterwards"
            )
        numbers = [self.feeds.index(n) for n in self.reached]
        inputs, own = list(variables), {id(w) for w in self._weights}
        apart = [i for i in numbers if id(variables[i]) not in own]
        moment = Moment(list(self.held.values()), [])
        buffers = Buffers(self._explorer.layers.values())
        try:
            for variable, value in zip(self.held.values(), held, strict=True):
                _core.restore(variable, value)
            _core.set_generator_state(*random)
            for i in apart:  # what the function makes of it, and not what it was made of
                inputs[i] = _core.ops.assign(variables[i])
            args, kwargs = replaced(self._arguments, iter(inputs))
            results = leaves(self.structure, self._eagerly(*args, **kwargs))
        finally:
            buffers.bring_back()
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
