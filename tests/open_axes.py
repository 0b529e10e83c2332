"""A call whose sizes a program does not know: right at other sizes, or refused.

A call is a function with arguments that work. Axes are *free* where the function takes other sizes
of them, too: one axis of one input, or all that are as long. With these open the function is
described, traced and captured, and what the program gives at further sizes must have eager bits.
"""

import warnings

import numpy as np

import dygraph
import op_contract
import static
from dygraph import _core, jit, unique_name
from example_calls import leaves, rebuilt

FURTHER = (lambda n: n + 1, lambda n: 2 * n + 1, lambda n: max(n - 1, 1))


class Wrong(AssertionError):
    """A program gave something else."""


class Call:
    """A function with arguments, some of which are Variables with values."""

    def __init__(self, name, function, args, kwargs=None):
        self.name, self.function, self._given = name, function, (args, kwargs or {})
        variables = [v for v in leaves(self._given) if isinstance(v, _core.Variable)]
        self.dense = all(_is_tensor(v) for v in variables)
        self.lods = [_core.lod(v) for v in variables] if self.dense else []
        self.arrays = [v.numpy() for v in variables] if self.dense else []

    def run(self, variables):
        """What the function makes of these Variables, as a list."""
        one = iter(variables)
        args, kwargs = rebuilt(
            self._given, lambda v: next(one) if isinstance(v, _core.Variable) else v
        )
        made = leaves(self.function(*args, **kwargs))
        return [v for v in made if isinstance(v, _core.Variable)]

    def eager(self, arrays):
        """Results for arrays, as comparable bits; None where the function refuses them."""
        try:
            return bits(self.run(variables_of(arrays, self.lods)))
        except (*op_contract.TYPED, RuntimeError, AssertionError, ZeroDivisionError):
            return None

    def open_sets(self):
        """Sets of (number of the input, axis) that may be open together."""
        places = [(i, k) for i, a in enumerate(self.arrays) for k in range(a.ndim)]
        places = [(i, k) for i, k in places if not (self.lods[i] and k == 0)]
        sets = [frozenset([p]) for p in places]
        for n in {self.arrays[i].shape[k] for i, k in places}:
            sets.append(frozenset(p for p in places if self.arrays[p[0]].shape[p[1]] == n))
        for k in range(max((a.ndim for a in self.arrays), default=0)):
            sets.append(frozenset(p for p in places if p[1] == k))
        sets.append(frozenset(places))
        return list(dict.fromkeys(s for s in sets if s))

    def grown(self, places, size):
        """The arrays, with other sizes at the places."""
        arrays = list(self.arrays)
        for i, k in sorted(places):
            n = arrays[i].shape[k]
            if n:
                arrays[i] = np.take(arrays[i], np.arange(size(n)) % n, axis=k)
        return arrays

    @property
    def first_axes(self):
        """Places of the first axes but for those of sequences."""
        return [(i, 0) for i, a in enumerate(self.arrays) if a.ndim and not self.lods[i]]

    def apart(self):
        """[(arrays, what is right)]: other sizes of one of the first axes."""
        sizes = (lambda n: 1, lambda n: n + 1)
        others = [self.grown([p], size) for p in self.first_axes for size in sizes]
        return [(arrays, self.eager(arrays)) for arrays in others]

    def empty(self):
        """(arrays, what is right): without elements on the first axes."""
        arrays = self.grown(self.first_axes, lambda n: 0)
        return arrays, self.eager(arrays)

    def free(self):
        """[(places, [(arrays, what is right)])] of the sets of axes that are free."""
        found = []
        for places in self.open_sets():
            trials = [(a, self.eager(a)) for a in (self.grown(places, f) for f in FURTHER)]
            if all(want is not None for _, want in trials):
                found.append((places, trials))
        return found


def _is_tensor(variable):
    try:
        variable.numpy()
    except op_contract.TYPED:
        return False
    return not _core.is_selected_rows(variable)


def variables_of(arrays, lods):
    dygraph.seed(5)
    return [_core.to_variable(a, lod=lod or None) for a, lod in zip(arrays, lods, strict=True)]


def bits(variables):
    return [bits_of(v) for v in variables if v.dtype is not None]


def bits_of(v):
    if _core.is_selected_rows(v):
        return "rows", v.rows(), v.numpy().tobytes()
    return str(v.dtype), tuple(v.shape), v.numpy().tobytes()


def described(call, places):
    """A function of arrays that runs the described program."""
    main, startup = static.Program(), static.Program()
    with unique_name.guard(), static.program_guard(main, startup):
        feeds = []
        for i, a in enumerate(call.arrays):
            shape = [-1 if (i, k) in places else n for k, n in enumerate(a.shape)]
            level = len(call.lods[i] or ())
            feeds.append(static.data(f"x{i}", shape, str(a.dtype), lod_level=level))
        made = call.run(feeds)
    program = main
    executor, scope = static.Executor(), static.Scope()

    def run(arrays):
        with static.scope_guard(scope):
            given = variables_of(arrays, call.lods)
            out = executor.run(
                program, {f.name: v for f, v in zip(feeds, given, strict=True)},
                [m for m in made if m.dtype is not None], return_numpy=False,
            )  # fmt: skip
        for m, o in zip([m for m in made if m.dtype is not None], out, strict=True):
            if not _core.is_selected_rows(o):
                declared = m.desc.shape
                if len(declared) != o.ndim or any(
                    d not in (-1, n) for d, n in zip(declared, o.shape, strict=True)
                ):
                    raise Wrong(f"declared {declared}, made {o.shape}")
        return bits(out)

    return run


def specification(call, places):
    """The sizes of each input, with names for those that are open."""
    return [
        [f"n{n}" if (i, k) in places else n for k, n in enumerate(a.shape)]
        for i, a in enumerate(call.arrays)
    ]


def function_of(call):
    def function(*variables):
        return call.run(variables)

    return function


def traced(call, places):
    """The program of `jit.trace`."""
    given = variables_of(call.arrays, call.lods)
    _, program = jit.trace(function_of(call), given, dims=specification(call, places))
    return lambda arrays: bits(program(variables_of(arrays, call.lods)))


def captured(call, places, are_named=True, first=None):
    """The program of `jit.to_static`, made for the arrays `first`; sizes with names stay equal."""
    shapes = specification(call, places)
    if not are_named:
        shapes = [[n if type(n) is int else None for n in shape] for shape in shapes]
    specs = [jit.InputSpec(s, a.dtype) for s, a in zip(shapes, call.arrays, strict=True)]
    function = jit.to_static(function_of(call), input_spec=specs)
    function(*variables_of(call.arrays if first is None else first, call.lods))
    return lambda arrays: bits(function(*variables_of(arrays, call.lods)))


def check(call, places, trials, way):
    """None if it is right; the refusal's text where there is one. Raises `Wrong` otherwise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run = way(call, places)
        except (*op_contract.TYPED, RuntimeError) as error:
            return f"{type(error).__name__}: {error}"
        for arrays, want in trials:
            shapes = [a.shape for a in arrays]
            try:
                got = run(arrays)
            except (*op_contract.TYPED, RuntimeError) as error:
                return f"AT RUN {type(error).__name__}: {error} {shapes}"
            if got != want:
                text = f"{call.name}, open {sorted(places)}, at {shapes}: {got}, not {want}"
                raise Wrong(text[:600])
    return None
