"""Captured functions: programs by the types of their arguments."""

import collections
import contextlib
import functools
import threading
import types
import warnings

import dygraph
from dygraph import _core
from dygraph.autograd.recording import modes
from dygraph.errors import ArgumentTypeError, DygraphError, InvalidArgumentError, kind_of
from dygraph.jit.input_spec import listed, sizes_of
from dygraph.jit.open_axes import Input, Inputs
from dygraph.nn.layer import Layer
from dygraph.static.ways.arguments import inputs_for, key_of, replaced, variables_in
from dygraph.static.ways.entry import Entry
from dygraph.static.ways.prove import prove

__all__ = ["Captured", "Entry"]

_MANY = 8
_thread = threading.local()  # runs_eagerly: no captured function runs its program


class Captured:
    """A function or Layer whose calls run programs. `dygraph.jit.to_static` makes it."""

    enabled = True  # by ProgramTranslator

    def __init__(self, function, input_spec=None, verify=True, dims=None, max_ways=1000):
        if not callable(function):
            raise ArgumentTypeError(
                f"to_static: function must be a function or a Layer, got {kind_of(function)}"
            )
        if not isinstance(verify, (bool, list, tuple)):
            raise ArgumentTypeError(
                "to_static: verify must be True, False or a list of tuples of arguments to compare "
                f"with, got {kind_of(verify)}"
            )
        if input_spec is not None and dims is not None:
            raise InvalidArgumentError(
                "to_static: give input_spec or dims, which both say which sizes are open, got both"
            )
        self.captured_function, self._verify, self._max_ways = function, verify, max_ways
        self._spec, self._dims = input_spec, dims
        self._entries, self._ready, self._explored = {}, [], 0
        self.proof = None  # of the newest program
        if not isinstance(function, Layer):
            functools.update_wrapper(self, function)

    captured_function = None

    def __get__(self, owner, kind=None):
        if owner is None:
            return self
        if modes.ways is not None:
            return self.captured_function.__get__(owner, kind)
        name = f"_captured_{self.captured_function.__qualname__}"  # a base class may have one, too
        found = owner.__dict__.get(name)
        if found is None:
            method = self.captured_function.__get__(owner, kind)
            found = Captured(method, self._spec, self._verify, self._dims, self._max_ways)
            owner.__dict__[name] = found
        return found

    def __deepcopy__(self, memo):
        """A copy of an object gets its own programs."""
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
        eagerly = not self.enabled or getattr(_thread, "runs_eagerly", False)
        if eagerly or modes.ways is not None:
            return self.captured_function(*args, **kwargs)
        for entry, call in self._ready:
            results = call(entry.reference, args, kwargs)
            if results is not NotImplemented:
                return results if entry.is_plain else entry.built(results)
        return self._call(args, kwargs)

    def _call(self, args, kwargs):
        """A call without a prepared program."""
        variables = variables_in((args, kwargs), [])
        if any(_core.is_symbol(v) for v in variables) or _core.recording() or _core.keeps_apart():
            return self.captured_function(*args, **kwargs)
        records = self._records(variables)
        entry = self._entry(args, kwargs, variables, records)
        try:
            call = entry.call(records)
        except DygraphError:  # without a gradient, or reads a weight that it writes
            return self.captured_function(*args, **kwargs)
        self._set_ready(entry, call, args, kwargs, variables)
        return entry.built(call.run(entry.reference, variables))

    def save(self, dirname, *args, **kwargs):
        """Save the program of these arguments as an inference model, for `dygraph.jit.load`.

        Without arguments, those of `input_spec`. The loaded model gives the Variables among the
        results in order, without their containers.
        """
        if not args and not kwargs and self._spec:
            args = self._examples()
        self.entry(*args, **kwargs).save(dirname)

    def _examples(self):
        """Arguments that fit the `input_spec`."""
        specs = self._spec
        if not isinstance(specs, (list, tuple)) or not all(hasattr(s, "example") for s in specs):
            raise InvalidArgumentError(
                "to_static: input_spec must be a list of InputSpec for save(dirname), got "
                f"{kind_of(specs)}. Give the arguments of a call too: save(dirname, x)"
            )
        return [spec.example() for spec in specs]

    def entry(self, *args, **kwargs):
        """The `Entry` that a call with these arguments runs."""
        variables = variables_in((args, kwargs), [])
        return self._entry(args, kwargs, variables, self._records(variables))

    def _records(self, variables):
        """Whether an eager call would be recorded; a Layer in eval mode records for its inputs."""
        if not _core.grad_enabled():
            return False
        layer = self.captured_function
        quiet = isinstance(layer, Layer) and not layer.training and not modes.forced
        return not quiet or any(not v.stop_gradient for v in variables)

    def _entry(self, args, kwargs, variables, records):
        key = records, key_of((args, kwargs))
        entries = self._entries.setdefault(key, [])
        changed = None
        for pattern, entry in entries:
            if _fits(pattern, variables):
                changed = entry.changed()
                if changed is None:
                    return entry
        open_sizes = self._open_sizes(variables, [p for p, _ in entries])
        pattern = tuple(tuple(n if type(n) is int else -1 for n in s) for s in open_sizes)
        inputs = iter(inputs_for(self._names(len(variables)), variables, pattern))
        made_args, made_kwargs = replaced((args, kwargs), inputs)
        # not enable_grad(), which would override the eval mode of Layers.
        with contextlib.nullcontext() if records else dygraph.no_grad():
            entry = Entry(
                self.captured_function, self._eagerly, made_args, made_kwargs, self._max_ways,
                records, open_sizes,
            )  # fmt: skip
            if self._verify is not False:
                entry.proof = self._proved(entry, args, kwargs)
        self.proof = entry.proof
        entry.pattern = pattern = _numbered(pattern, variables, open_sizes)
        entries[:] = [(p, e) for p, e in entries if p != pattern or e.changed() is None]
        entries.append((pattern, entry))
        known = [e for entries in self._entries.values() for _, e in entries]
        self._ready = [(e, call) for e, call in self._ready if e in known]
        self._explored += 1
        if self._explored > _MANY:
            self._warn_of_many(changed, entry, key)
        return entry

    def _set_ready(self, entry, call, args, kwargs, variables):
        """Let the next such call find its program without comparing all that it reads."""
        given = [*args, *kwargs.values()]
        if len(given) != len(variables) + sum(_is_one_object(value) for value in given):
            return  # Variables in containers
        guarded = entry.guard(call, given, list(kwargs))
        if guarded is not None:
            self._ready = [(entry, guarded), *self._ready][:_MANY]

    def _warn_of_many(self, changed, entry, key):
        """The text of the change: an outer value that is read, or an argument."""
        if changed:
            line = entry.line_of(changed)
            why = f"{changed}{f', read at {line},' if line else ''} changed"
        else:
            before = [k for k in self._entries if k != key and len(k[1]) == len(key[1])]
            pairs = zip(before[-1][1][1], key[1][1], strict=False) if before else ()
            places = [i for i, (a, b) in enumerate(pairs) if a != b]
            names = self._names(max(places)) if places else []
            why = f"argument '{names[places[0] - 1]}' differed" if places else "arguments differed"
        name = getattr(self.captured_function, "__name__", type(self.captured_function).__name__)
        warnings.warn(
            f"to_static: {self._explored} programs were made of {name}, the last because {why}. "
            "Each costs an exploration: pass what changes as a Variable",
            stacklevel=6,
        )

    def _eagerly(self, *args, **kwargs):
        """An eager call, in which no captured function runs its program."""
        before, _thread.runs_eagerly = getattr(_thread, "runs_eagerly", False), True
        try:
            return self.captured_function(*args, **kwargs)
        finally:
            _thread.runs_eagerly = before

    def _proved(self, entry, args, kwargs):
        with warnings.catch_warnings():  # of sizes that are tried
            warnings.simplefilter("ignore")
            more = () if self._verify is True else self._verify
            return prove(self._eagerly, entry, args, kwargs, more)

    def _names(self, count):
        code = getattr(self.captured_function, "forward", self.captured_function)
        code = getattr(code, "__code__", None)
        names = [n for n in code.co_varnames[: code.co_argcount] if n != "self"] if code else []
        names = [*names, *(f"input_{i}" for i in range(len(names), count))]
        return names[:count]

    def _open_sizes(self, variables, known):
        """For each axis its size; None or a name if the user opened it; None for axis 0, and for
        axes with another size in other calls."""
        shapes, names = [tuple(v.shape) for v in variables], self._names(len(variables))
        owner = "to_static: " + ("dims" if self._spec is None else "input_spec")
        given = listed(self._dims if self._spec is None else self._spec, names, owner)
        alike = [p for p in known if [len(s) for s in p] == [len(s) for s in shapes]]
        found = []
        for i, (shape, name) in enumerate(zip(shapes, names, strict=True)):
            said = None if given is None else given[i]
            sizes = (None, *shape[1:]) if shape else ()
            if said is not None:
                sizes = sizes_of(said, shape, f"{owner}: what is given for '{name}'")
            if said is None or isinstance(said, dict):
                for other in alike:
                    pairs = zip(sizes, other[i], strict=True)
                    sizes = tuple(a if type(a) is not int or a == b else None for a, b in pairs)
            found.append(sizes)
        return found


def _is_one_object(value):
    """Constants that are compared by identity."""
    return value is None or isinstance(value, (bool, int, float, str))


def _nothing():
    """The placeholder in pickles for the programs of an object."""


def _numbered(pattern, variables, open_sizes):
    """The pattern with a number from -2 down on the axes that the proof gives one size together.

    A call in which they differ has not been compared with an eager one: it is another program's.
    """
    samples = [Input(v, "") for v in variables]
    axes = Inputs(samples, open_sizes, together=True).axes
    counts = collections.Counter(key for keys in axes for key in keys)
    numbers = {key: -2 - i for i, key in enumerate(k for k, n in counts.items() if k and n > 1)}
    return tuple(
        tuple(numbers.get(key, n) for n, key in zip(sizes, keys, strict=True))
        for sizes, keys in zip(pattern, axes, strict=True)
    )


def _fits(pattern, variables):
    known = {}
    for sizes, variable in zip(pattern, variables, strict=True):
        if len(sizes) != variable.ndim:
            return False
        lod = _core.lod(variable)
        for axis, (n, now) in enumerate(zip(sizes, variable.shape, strict=True)):
            if n >= 0 and n != now:
                return False
            count = len(lod[0]) - 1 if lod and axis == 0 else now
            if n < -1 and known.setdefault(n, count) != count:
                return False
    return True
