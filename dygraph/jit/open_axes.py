"""Inputs of a program whose sizes are open: the same values at other sizes."""

import collections
import inspect

import numpy as np

from dygraph import _core
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.jit import input_spec

BATCH = ("the batch",)  # the key of the size that axis 0 of the first input has


class Input:
    """One input, which can be made for other sizes by repeating what was given.

    Where nothing was given, on an axis of size 0, floating elements are made and others are 0.

    Attributes
    ----------
    keys : list
        For each axis the key of the open size that it has, or None where its size stays.
    """

    def __init__(self, variable, name):
        self.name, self.variable = name, variable
        self.stop_gradient = variable.stop_gradient
        self.array = None if _core.is_selected_rows(variable) else variable.numpy()
        self.lod = None if self.array is None else _core.lod(variable)
        self.keys = [None] * (0 if self.array is None else self.array.ndim)

    def size(self, axis):
        """How many there are on an axis; of rows with LoD, how many sequences."""
        return len(self.lod[0]) - 1 if self.lod and axis == 0 else self.array.shape[axis]

    @property
    def shape(self):
        """The sizes that a specification speaks of."""
        return [self.size(axis) for axis in range(len(self.keys))]

    def at(self, sizes):
        """A Variable with other sizes for the keys."""
        made = self._at(sizes)
        if not self.stop_gradient:
            made.stop_gradient = False
        return made

    def _at(self, sizes):
        if self.array is None:
            return _core.snapshot(self.variable)
        array, lod = self.array, self.lod
        for axis, key in enumerate(self.keys):
            now = self.size(axis)
            size = sizes.get(key, now)
            if size == now:
                continue
            if now == 0:
                array = _made(array, axis, size)
                if lod and axis == 0:
                    lod = [list(range(size + 1)) for _ in lod]
                continue
            order = np.arange(size) % now
            if lod and axis == 0:
                order, lod = _repeated(lod, order)
            array = np.take(array, order, axis=axis)
        return _core.to_variable(array, lod=lod or None)


def _made(array, axis, size):
    """An array of other size on an axis that has no elements to repeat."""
    shape = [size if i == axis else n for i, n in enumerate(array.shape)]
    made = np.zeros(shape, array.dtype)
    if array.dtype.kind == "f":
        made.flat = np.arange(made.size) % 7 / 2 - 1
    return made


def _repeated(lod, order):
    """(rows, LoD) of the sequences `order`."""
    made = []
    for offsets in lod:
        spans = [np.arange(offsets[i], offsets[i + 1]) for i in order]
        made.append(np.cumsum([0] + [len(span) for span in spans]).tolist())
        order = np.concatenate(spans) if spans else np.arange(0)
    return order.astype(np.int64), made


class Inputs:
    """The inputs of a call, and the sizes that are open among theirs.

    Parameters
    ----------
    samples : list of Input
    given : list, optional
        What `input_spec.sizes_of` takes, or None, for each input. An axis 0 of which nothing is
        said follows the batch: the size of that of the first input.
    owner : str
        Names `given` in messages.
    together : bool
        Further axes without a name vary together where they are as long.

    Attributes
    ----------
    sizes : dict
        How many there are of each open size now, by key.
    batch : int or None
    """

    def __init__(self, samples, given=None, owner="dims", together=False):
        self.samples, self.sizes = samples, {}
        first = next((s for s in samples if s.keys), None)
        self.batch = first.size(0) if first else None
        given = [None] * len(samples) if given is None else given
        for i, (sample, sizes) in enumerate(zip(samples, given, strict=True)):
            if not sample.keys:
                continue
            if sizes is None:
                # A first axis that the user closed or named is no batch for others but by name.
                follows = sample.size(0) == self.batch and first.keys[0] == BATCH
                sample.keys[0] = BATCH if follows or sample is first else None
                continue
            what = f"{owner}: what is given for '{sample.name}'"
            for axis, n in enumerate(input_spec.sizes_of(sizes, sample.array.shape, what)):
                if isinstance(n, str):
                    sample.keys[axis] = n
                elif n is None:
                    size = sample.size(axis)
                    batch = axis == 0 and size == self.batch
                    own = ("axes of", size) if together else (i, axis)
                    sample.keys[axis] = BATCH if batch else own
        self._note_sizes(owner)

    def _note_sizes(self, owner):
        known = {}
        for sample in self.samples:
            for axis, key in enumerate(sample.keys):
                size = sample.size(axis) if key is not None else None
                if key is None or self.sizes.setdefault(key, size) == size:
                    known.setdefault(key, (sample, axis))
                    continue
                other, at = known[key]
                raise InvalidArgumentError(
                    f"{owner}: '{key}' must be one size, got {self.sizes[key]} on axis {at} of "
                    f"'{other.name}' and {size} on axis {axis} of '{sample.name}'. "
                    "Give equal sizes, or, where they may differ, a name of its own to each"
                )

    @property
    def axes(self):
        """For each axis of each input its key."""
        return [sample.keys for sample in self.samples]

    def at(self, sizes):
        """The inputs at other sizes."""
        return [sample.at(sizes) for sample in self.samples]

    def other(self, rule):
        """Sizes by a rule of (size, number of the key among those of this size)."""
        seen, made = {}, {}
        for key, n in self.sizes.items():
            seen[n] = seen.get(n, -1) + 1
            made[key] = rule(n, seen[n])
        return made


def names_of_shared(axes):
    """For each input the names of sizes that further axes have, by axis.

    Parameters
    ----------
    axes : list of list
        For each axis of each input a name, `BATCH`, or what stands for a size that it alone has.
    """
    named = [
        {axis: "batch" if key == BATCH else key for axis, key in enumerate(keys)} for keys in axes
    ]
    counts = collections.Counter(name for names in named for name in names.values())
    return [
        {axis: name for axis, name in names.items() if isinstance(name, str) and counts[name] > 1}
        for names in named
    ]


# Rules for other sizes: of equal ones each becomes another. `number` counts them.


def fewer(n, number):
    """Takes less memory than more would."""
    return n - 1 - number if n - number > 2 else n + 1 + number


def double(n, number):
    return n * (2 + number)


def more(n, number):
    return n + 2 + number


def triple(n, number):
    return n * (3 + number)


def one(n, number):
    return 1 if n > 1 else 3


def _names(function, count):
    """Names of the first parameters of a function."""
    names = []
    try:
        signature = inspect.signature(getattr(function, "forward", function))
        names = [p.name for p in signature.parameters.values() if p.kind <= p.POSITIONAL_OR_KEYWORD]
    except (TypeError, ValueError):  # a callable that has no signature
        pass
    return [*names, *(f"input_{i}" for i in range(len(names), count))][:count]


def make_inputs(function, inputs, dims=None):
    """`Inputs` of what the user gave to `jit.trace`."""
    given = [inputs] if isinstance(inputs, _core.Variable) else list(inputs)
    if not given:
        raise InvalidArgumentError("trace: there must be at least one input, got none")
    names = _names(function, len(given))
    samples = []
    for name, variable in zip(names, given, strict=True):
        if not isinstance(variable, _core.Variable):
            raise ArgumentTypeError(
                f"trace: inputs must be Variables, got {kind_of(variable)} for '{name}'. "
                "Convert arrays with dygraph.to_variable()"
            )
        samples.append(Input(variable, name))
    made = Inputs(samples, input_spec.listed(dims, names, "trace: dims"), "trace: dims")
    shapes = [list(s.variable.shape) for s in samples]
    if not made.batch:
        raise InvalidArgumentError(
            "trace: the first axis of an input is its batch and must hold at least one row, "
            f"got shapes {shapes}"
        )
    if 0 in made.sizes.values():
        raise InvalidArgumentError(f"trace: an open size must not be 0, got shapes {shapes}")
    return made
