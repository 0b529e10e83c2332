"""A call whose sizes a program does not know: right at other sizes, or refused.

A call is a function with arguments that work. Axes are *free* where the function takes other sizes
of them, too: one axis of one input, or all that are as long. With these open the function is
described, traced and captured. At further sizes the program must give the bits of eager calls, and
a described one those of the program in which these sizes are fixed.
"""

import warnings

import numpy as np

import dygraph
import op_contract
from dygraph import _core, jit, static, unique_name
from example_calls import leaves, rebuilt

FURTHER = (lambda n: n + 1, lambda n: 2 * n + 1, lambda n: max(n - 1, 1), lambda n: 1)


REFUSALS = (*op_contract.TYPED, RuntimeError, AssertionError, ZeroDivisionError)


class Wrong(AssertionError):
    """A program gave something else."""


class Call:
    """A function with arguments, some of which are Variables with values.

    `parameters`: the function makes parameters, so it only describes. What is right is then what
    the program gives in which all sizes are fixed.
    """

    def __init__(self, name, function, args, kwargs=None, parameters=False):
        self.name, self.function, self._given = name, function, (args, kwargs or {})
        self.parameters = parameters
        variables = [v for v in leaves(self._given) if isinstance(v, _core.Variable)]
        self.dense = all(_is_tensor(v) for v in variables)
        self.lods = [_core.lod(v) for v in variables] if self.dense else []
        self.arrays = [v.numpy() for v in variables] if self.dense else []
        self._fixed = {}

    def run(self, variables):
        """What the function makes of these Variables, as a list."""
        one = iter(variables)
        args, kwargs = rebuilt(
            self._given, lambda v: next(one) if isinstance(v, _core.Variable) else v
        )
        made = leaves(self.function(*args, **kwargs))
        return [v for v in made if isinstance(v, _core.Variable)]

    def right(self, trial):
        """Results for a `Trial`, as comparable bits; None where the function refuses it."""
        try:
            if self.parameters:
                return self.fixed(trial)
            return bits(self.run(trial.variables()))
        except REFUSALS:
            return None

    def fixed(self, trial):
        """Results of the described program that declares the sizes of a `Trial`."""
        key = trial.sizes()
        if key not in self._fixed:
            self._fixed[key] = described(self, (), trial)(trial)
        return self._fixed[key]

    def open_sets(self):
        """Sets of (number of the input, axis) that may be open together."""
        places = [(i, k) for i, a in enumerate(self.arrays) for k in range(a.ndim)]
        sets = [frozenset([p]) for p in places]
        for n in {self.arrays[i].shape[k] for i, k in places}:
            sets.append(frozenset(p for p in places if self.arrays[p[0]].shape[p[1]] == n))
        for k in range(max((a.ndim for a in self.arrays), default=0)):
            sets.append(frozenset(p for p in places if p[1] == k))
        sets.append(frozenset(places))
        return list(dict.fromkeys(s for s in sets if s))

    def grown(self, places, size):
        """The inputs with other sizes at the places; of rows with LoD, with other sequences."""
        arrays, lods = list(self.arrays), list(self.lods)
        for i, k in sorted(places):
            ragged = bool(lods[i]) and k == 0
            n = len(lods[i][0]) - 1 if ragged else arrays[i].shape[k]
            if not n:
                continue
            order = np.arange(size(n)) % n
            if ragged:
                order, lods[i] = sequences(lods[i], order)
            arrays[i] = np.take(arrays[i], order, axis=k)
        return Trial(arrays, lods)

    @property
    def first_axes(self):
        """Places of the first axes but for those of sequences."""
        return [(i, 0) for i, a in enumerate(self.arrays) if a.ndim and not self.lods[i]]

    def apart(self):
        """[(a `Trial`, what is right)]: other sizes of one of the first axes."""
        sizes = (lambda n: 1, lambda n: n + 1)
        others = [self.grown([p], size) for p in self.first_axes for size in sizes]
        return [(trial, self.right(trial)) for trial in others]

    def empty(self):
        """(a `Trial`, what is right): without elements on the first axes."""
        trial = self.grown(self.first_axes, lambda n: 0)
        return trial, self.right(trial)

    def free(self, together=False):
        """[(places, [(a `Trial`, what is right)])] of the sets of axes that are free.

        They are free if they may have another size. `together`: a further entry has all of these
        axes open, and all trials, so that axes which are open at once have different sizes.
        """
        found, tried = [], {}
        for places in self.open_sets():
            trials = [(t, self.right(t)) for t in (self.grown(places, f) for f in FURTHER)]
            trials = [(t, want) for t, want in trials if want is not None]
            if trials:
                found.append((places, trials))
                tried.update({t.sizes(): (t, want) for t, want in trials})
        if together and len(found) > 1:
            every = frozenset().union(*(places for places, _ in found))
            found.append((every, list(tried.values())))
        return found

    def opens_sequences(self, places):
        """Whether the number of rows with LoD is open."""
        return any(self.lods[i] and k == 0 for i, k in places)


class Trial:
    """Arrays with their levels of detail."""

    def __init__(self, arrays, lods):
        self.arrays, self.lods = arrays, lods

    def sizes(self):
        return tuple(a.shape for a in self.arrays)

    def variables(self):
        dygraph.seed(5)
        return [
            _core.to_variable(a, lod=lod or None)
            for a, lod in zip(self.arrays, self.lods, strict=True)
        ]


def sequences(lod, order):
    """(rows, LoD) of the sequences `order`."""
    made = []
    for offsets in lod:
        parts = [np.arange(offsets[i], offsets[i + 1]) for i in order]
        made.append([0, *np.cumsum([len(part) for part in parts]).tolist()])
        order = np.concatenate(parts)
    return order, made


def _is_tensor(variable):
    try:
        variable.numpy()
    except op_contract.TYPED:
        return False
    return not _core.is_selected_rows(variable)


def bits(variables):
    return [bits_of(v) for v in variables if v.dtype is not None]


def bits_of(v):
    if _core.is_selected_rows(v):
        return "rows", v.rows(), v.numpy().tobytes()
    return str(v.dtype), tuple(v.shape), _core.lod(v), v.numpy().tobytes()


def described(call, places, trial=None):
    """A function of a `Trial` that runs the described program; `trial`: whose sizes it declares."""
    trial = trial or Trial(call.arrays, call.lods)
    main, startup = static.Program(), static.Program()
    with unique_name.guard(), static.program_guard(main, startup):
        feeds = []
        for i, a in enumerate(trial.arrays):
            shape = [-1 if (i, k) in places else n for k, n in enumerate(a.shape)]
            level = len(call.lods[i] or ())
            feeds.append(static.data(f"x{i}", shape, str(a.dtype), lod_level=level))
        made = [m for m in call.run(feeds) if m.dtype is not None]
    executor = static.Executor()

    def run(trial):
        given = trial.variables()
        with static.scope_guard(static.Scope()):
            executor.run(startup)
            dygraph.seed(5)
            out = executor.run(
                main, {f.name: v for f, v in zip(feeds, given, strict=True)}, made,
                return_numpy=False,
            )  # fmt: skip
        for m, o in zip(made, out, strict=True):
            if not _core.is_selected_rows(o):
                declared = m.desc.shape
                if len(declared) != o.ndim or any(
                    d not in (-1, n) for d, n in zip(declared, o.shape, strict=True)
                ):
                    raise Wrong(f"{call.name}: declared {declared}, made {o.shape}")
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
    given = Trial(call.arrays, call.lods).variables()
    _, program = jit.trace(function_of(call), given, dims=specification(call, places))
    return lambda trial: bits(program(trial.variables()))


def captured(call, places, are_named=True, first=None):
    """The program of `jit.to_static`, made for the trial `first`; sizes with names stay equal."""
    shapes = specification(call, places)
    if not are_named:
        shapes = [[n if type(n) is int else None for n in shape] for shape in shapes]
    specs = [jit.InputSpec(s, a.dtype) for s, a in zip(shapes, call.arrays, strict=False)]
    function = jit.to_static(function_of(call), input_spec=specs)
    first = Trial(call.arrays, call.lods) if first is None else first
    function(*first.variables())
    return lambda trial: bits(function(*trial.variables()))


def mismatched(call):
    """(places, trials that eager calls refuse) of a program in which all axes are open."""
    if call.right(Trial(call.arrays, call.lods)) is None or not call.open_sets():
        return (), []
    sets = call.open_sets()
    trials = (call.grown(places, size) for places in sets for size in FURTHER)
    return max(sets, key=len), [trial for trial in trials if call.right(trial) is None]


def check(call, places, trials, way):
    """None if it is right; the refusal's text where there is one. Raises `Wrong` otherwise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run = way(call, places)
        except (*op_contract.TYPED, RuntimeError) as error:
            return f"{type(error).__name__}: {error}"
        for trial, want in trials:
            shapes = [a.shape for a in trial.arrays]
            try:
                got = run(trial)
            except (*op_contract.TYPED, RuntimeError) as error:
                return f"AT RUN {type(error).__name__}: {error} {shapes}"
            if got != want or (way is described and got != call.fixed(trial)):
                text = f"{call.name}, open {sorted(places)}, at {shapes}: {got}, not {want}"
                raise Wrong(text[:600])
    return None
