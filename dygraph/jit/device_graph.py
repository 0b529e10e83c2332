"""Functions whose calls run as graphs of a CUDA device: `dygraph.cuda.graph`."""

import warnings

from dygraph import _core
from dygraph.autograd.recording import no_grad
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, PreconditionNotMetError, kind_of
from dygraph.jit import tracing
from dygraph.jit.compiled import _built, _structure

_MANY_RECORDINGS = 8  # of arguments of one kind, after which a warning says why


class Graph:
    """A function whose calls run as graphs of a device. :func:`dygraph.cuda.graph` makes it.

    Attributes
    ----------
    replays : int
        Calls that played a record.
    recordings : int
        Calls that were recorded.
    """

    def __init__(self, function, size=8):
        if not callable(function):
            raise ArgumentTypeError(
                f"cuda.graph: function must be a function or a Layer, got {kind_of(function)}"
            )
        self._function, self._size = function, check.integer(size, "cuda.graph: size", 1)
        self._name = getattr(function, "__name__", type(function).__name__)
        self._calls = {}  # kind of the arguments -> _Recorded; the one that ran last comes last
        self.replays = self.recordings = 0

    def __repr__(self):
        return f"Graph({self._name}, {len(self._calls)} kinds of arguments, {self.replays} replays)"

    def __call__(self, *args, **kwargs):
        """The results of the function, in memory of their own."""
        variables = [v for v in (*args, *kwargs.values()) if isinstance(v, _core.Variable)]
        key = self._key(args, kwargs)
        known = self._calls.pop(key, None)
        with no_grad():
            if not _core.get_flag("cuda_graphs"):
                return self._function(*args, **kwargs)
            place = self._place_of(variables)
            if known is None:
                known = _Recorded(self._name, place)
                results = known.first(self._function, args, kwargs, variables)
            elif known.fits():
                results = known.replay(variables)
                self.replays += 1
            else:
                results = known.record(self._function, args, kwargs, variables)
                self.recordings += 1
        self._calls[key] = known
        while len(self._calls) > self._size:
            del self._calls[next(iter(self._calls))]
        return results

    def _key(self, args, kwargs):
        def kind(value):
            if isinstance(value, _core.Variable):
                return _core.device.form(value)
            try:
                hash(value)
            except TypeError:
                raise ArgumentTypeError(
                    f"cuda.graph: {self._name} must get Variables and constants, got "
                    f"{kind_of(value)}. Pass a dygraph.to_variable(...) of it"
                ) from None
            return type(value), value

        return (
            tuple(map(kind, args)),
            tuple((name, kind(value)) for name, value in kwargs.items()),
        )

    def _place_of(self, variables):
        places = {str(v.place): v.place for v in variables}
        if len(places) != 1 or next(iter(places.values())).kind != "CUDAPlace":
            raise ArgumentTypeError(
                f"cuda.graph: {self._name} must get Variables on one CUDAPlace, got "
                f"{' and '.join(places) or 'none'}. variable.to('gpu') moves one"
            )
        if len({id(v) for v in variables}) < len(variables):
            raise ArgumentTypeError(
                f"cuda.graph: {self._name} must get each Variable once, got one twice. Pass a "
                "copy: x.clone()"
            )
        return next(iter(places.values()))

    def clear(self):
        """Drop all graphs and their memory; the next calls begin anew."""
        self._calls.clear()


class _Recorded:
    """Calls with arguments of one kind: an ordinary one, a recorded one, replays."""

    def __init__(self, name, place):
        self._name, self._place = name, place
        self._graph = None
        self._times = 0

    def fits(self):
        """Whether there is a record that may be played."""
        return self._graph is not None and self._graph.fits()

    def first(self, function, args, kwargs, variables):
        """An ordinary call, which shows what cannot be part of a graph."""
        calls = _core.device.fallbacks()
        results = self._observed(function, args, kwargs, variables, lambda v: None)
        new = [name for name, n in _core.device.fallbacks() if n > dict(calls).get(name, 0)]
        if new:
            raise PreconditionNotMetError(
                f"cuda.graph: {self._name} must call operators that the device computes, got "
                f"{', '.join(new)}, which the host computes"
            )
        return results

    def record(self, function, args, kwargs, variables):
        """A call whose work is recorded, then played."""
        from dygraph.static.ways.arguments import replaced

        self._times += 1
        if self._times == _MANY_RECORDINGS:
            warnings.warn(
                f"cuda.graph: {self._name} was recorded {self._times} times, since Variables that "
                "it reads lie elsewhere each time. Pass them as arguments",
                stacklevel=3,
            )
        self._graph = self._results = None
        graph = _core.device.CallGraph(self._place)
        inputs = [_core.device.copied(v) for v in variables]
        known = {_core.device.address(v) for v in inputs}

        def read(variable):
            address = _core.device.address(variable)
            if address not in known:
                known.add(address)
                graph.read(variable)

        args, kwargs = replaced((args, kwargs), iter(inputs))
        try:
            graph.begin()
            results = self._observed(function, args, kwargs, inputs, read, known)
            made = tracing.flatten(results, [])
            for v in made:
                _core.device.form(v)
            graph.end()
        except BaseException:
            graph.abandon()
            raise
        self._inputs, self._results, self._structure = inputs, made, _structure(results)
        graph.launch()
        self._graph = graph
        return self._copies()

    def replay(self, variables):
        """Play the record."""
        for fixed, variable in zip(self._inputs, variables, strict=True):
            _core.device.copy_into(fixed, variable)
        self._graph.launch()
        return self._copies()

    def _copies(self):
        return _built(self._structure, map(_core.device.copied, self._results))

    def _observed(self, function, args, kwargs, variables, read, known=None):
        """The call; where it did what a graph cannot repeat, all is as before and it raises."""
        journal, generator = _core.Journal(), _core.generator_state()

        def note(_, inputs, outputs):
            for v in (v for listed in inputs.values() for v in listed):
                read(v)
            if known is not None:
                known.update(_core.device.address(v) for vs in outputs.values() for v in vs)

        listener = _core.watch.Listener(note)
        journal.start()
        listener.start()
        try:
            results = function(*args, **kwargs)
            made = {id(v) for v in tracing.flatten(results, [])}
        except BaseException as error:
            listener.stop()
            journal.stop()
            tracing.undo(journal, generator)
            if isinstance(error, PreconditionNotMetError):
                raise PreconditionNotMetError(
                    f"cuda.graph: {self._name} must not wait for the device, but: {error}"
                ) from error
            raise
        listener.stop()
        journal.stop()
        given = {id(v) for v in variables}
        what, (seed, calls) = None, _core.generator_state()
        if seed != generator[0] or (known is not None and calls != generator[1]):
            what = (
                "draw random numbers of the host, or set its seed, which a graph would not repeat"
            )
        elif journal.played:
            what = "compute gradients; jit.compile makes a program, and a graph, of such a step"
        elif any(id(v) in given or id(v) not in made for v, _ in journal.written()):
            what = "write to Variables that it did not make"
        if what is not None:
            tracing.undo(journal, generator)
            raise PreconditionNotMetError(f"cuda.graph: {self._name} must not {what}")
        return results
