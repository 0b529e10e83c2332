"""Captured functions: programs by the kind of their arguments, and guards on what they read."""

import functools
import types
import warnings

import dygraph
import static
from dygraph import _core
from dygraph.errors import ArgumentTypeError, kind_of
from dygraph.nn.layer import Layer
from dygraph.recording import modes
from static.ways.arguments import build, inputs_for, key_of, replaced, variables_in
from static.ways.emit import emit
from static.ways.explore import Explorer
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
        self._guard = Outside()
        self._guard.note_root(function)
        self._guard.note([args, kwargs], "arguments")
        for called in explorer.converted.values():
            self._guard.note_globals(called)
        for layer in explorer.layers.values():
            self._guard.note(layer, "self")
        read = [*explorer.sources.values(), *(v for v, _ in self._guard.variables)]
        self._variables = [(v, repr(_core.digest(v))) for v in read]
        self._prepared, self.scope = None, _core.Scope()

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
        return name

    def save(self, dirname):
        """An inference model, for `dygraph.jit.load`: results in order, without containers."""
        self._prepare()
        verified = self.proof is not None
        static.io.save_captured(
            dirname, self.program, self.feeds, self.fetches, self.scope, verified
        )

    def _prepare(self):
        if self._prepared is None:
            for name, variable in self.program.held.items():
                self.scope.var(name).share(variable)
            self._prepared = _core.PreparedProgram(
                self.program.desc, self.scope, self.feeds, self.fetches, None
            )

    def run(self, variables):
        """The result for the Variables of a call, in order."""
        self._prepare()
        results = iter(self._prepared.run(list(variables)))  # draws as eager calls do
        return build(self.structure, results.__next__)


class Captured:
    """A function or Layer whose calls run programs. `dygraph.jit.to_static` makes it."""

    enabled = True  # by ProgramTranslator

    def __init__(self, function, input_spec=None, verify=True, max_ways=1000):
        if not callable(function):
            raise ArgumentTypeError(
                f"to_static: function must be a function or a Layer, got {kind_of(function)}"
            )
        if not isinstance(verify, (bool, list, tuple)):
            raise ArgumentTypeError(
                "to_static: verify must be True, False or a list of tuples of arguments to compare "
                f"with, got {kind_of(verify)}"
            )
        self.captured_function, self._verify, self._max_ways = function, verify, max_ways
        self._spec = input_spec
        self._entries, self.proof = {}, None  # of the newest program
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
        variables = variables_in((args, kwargs), [])
        if not self.enabled or modes.ways is not None or self._wants_gradients(variables):
            return self.captured_function(*args, **kwargs)
        if any(_core.is_symbol(v) for v in variables):
            return self.captured_function(*args, **kwargs)
        entry = self._entry(args, kwargs, variables)
        if self._records() and any(not v.stop_gradient for v in entry.held.values()):
            return self.captured_function(*args, **kwargs)
        return entry.run(variables)

    def save(self, dirname, *args, **kwargs):
        """Save the program of these arguments as an inference model, for `dygraph.jit.load`.

        The loaded model gives the Variables among the results in order, without their containers.
        """
        self.entry(*args, **kwargs).save(dirname)

    def entry(self, *args, **kwargs):
        """The `Entry` that a call with these arguments runs."""
        return self._entry(args, kwargs, variables_in((args, kwargs), []))

    def _records(self):
        """Whether a call is recorded for backward(): not where a Layer in eval mode is called."""
        owner = getattr(self.captured_function, "__self__", self.captured_function)
        return _core.grad_enabled() and (not isinstance(owner, Layer) or owner.training)

    def _wants_gradients(self, variables):
        """What is known before a program is there."""
        if not self._records():
            return False
        owner = getattr(self.captured_function, "__self__", self.captured_function)
        weights = owner.parameters() if isinstance(owner, Layer) else ()
        return any(not v.stop_gradient for v in (*variables, *weights))

    def _entry(self, args, kwargs, variables):
        key = key_of((args, kwargs))
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
        with dygraph.no_grad():
            entry = Entry(self.captured_function, made_args, made_kwargs, self._max_ways)
            if self._verify is not False:
                entry.proof = self._proved(entry, args, kwargs)
        self.proof = entry.proof
        entries[:] = [(p, e) for p, e in entries if p != pattern or e.changed() is None]
        entries.append((pattern, entry))
        if len(entries) > _MANY:
            why = f", as {changed} is another" if changed else ""
            warnings.warn(f"to_static: {len(entries)} programs of one function{why}", stacklevel=3)
        return entry

    def _proved(self, entry, args, kwargs):
        enabled, Captured.enabled = Captured.enabled, False  # eager calls are eager all through
        try:
            more = () if self._verify is True else self._verify
            return prove(self.captured_function, entry, args, kwargs, more)
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


def _nothing():
    """What a pickle has in the place of the programs of an object."""


def _fits(pattern, shapes):
    return all(
        len(p) == len(s) and all(a in (-1, b) for a, b in zip(p, s, strict=True))
        for p, s in zip(pattern, shapes, strict=True)
    )
