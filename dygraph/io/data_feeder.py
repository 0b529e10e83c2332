"""DataFeeder, which converts samples to Variables by name; Variables with LoD from lengths."""

import numpy as np

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.inspect.shown import Shown

__all__ = ["DataFeeder", "create_lod_tensor", "create_random_int_lodtensor"]


class _Field:
    """One field of the feeder: name, shape, type and LoD level, as far as given."""

    def __init__(self, given, i):
        self.shape = self.dtype = None
        self.lod_level = 0
        if isinstance(given, str):
            self.name = given
        elif isinstance(given, dict):
            unknown = set(given) - {"name", "shape", "dtype", "lod_level"}
            if "name" not in given or unknown:
                raise InvalidArgumentError(
                    "DataFeeder: a field must have a name, and may have shape, dtype and "
                    f"lod_level, got {sorted(map(str, given))}"
                )
            self.__dict__.update(given)
        elif hasattr(given, "name") and hasattr(given, "shape"):
            self.name, self.shape, self.dtype = given.name, given.shape, given.dtype
            self.lod_level = getattr(given, "lod_level", 0) or 0
        else:
            raise ArgumentTypeError(
                "DataFeeder: feed_list must hold names, dicts or variables of a program, got "
                f"{kind_of(given)} at {i}"
            )
        if not isinstance(self.name, str):
            raise ArgumentTypeError(
                f"DataFeeder: a name must be a string, got {kind_of(self.name)}"
            )
        if self.dtype is not None:
            self.dtype = str(_core.dtype_of(self.dtype))
        if self.shape is not None:
            self.shape = [-1 if n is None or n == -1 else int(n) for n in self.shape]
        self.lod_level = check.integer(self.lod_level, "DataFeeder: lod_level", 0)

    def make(self, values):
        lengths = [[] for _ in range(self.lod_level)]
        rows = []
        self._walk(values, lengths, 0, rows)
        try:
            array = np.asarray(rows, self.dtype)
        except (ValueError, TypeError) as error:
            raise InvalidArgumentError(
                f"DataFeeder: the field '{self.name}' must have rows of one shape and of "
                f"{self.dtype or 'one type'}, got others ({str(error)[:100]}). Sequences of "
                "different lengths need lod_level"
            ) from None
        if self.dtype is None and array.dtype.kind == "f":
            array = np.asarray(_core.to_variable(rows))  # Python's floats in the default type
        array = self._shaped(array)
        lod = [np.cumsum([0, *level]).tolist() for level in lengths]
        return _core.to_variable(array, lod or None)

    def _walk(self, values, lengths, level, rows):
        for value in values:
            if level == self.lod_level:
                rows.append(value)
                continue
            if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
                raise ArgumentTypeError(
                    f"DataFeeder: the field '{self.name}' must be {self.lod_level} sequences deep, "
                    f"got {kind_of(value)} at level {level}"
                )
            lengths[level].append(len(value))
            self._walk(value, lengths, level + 1, rows)

    def _shaped(self, array):
        if self.shape is None:
            # As in Fluid's data layers, a number is a row of one.
            return array.reshape(-1, 1) if array.ndim == 1 else array
        # The first axis is the batch's, or that of the rows of all sequences.
        row = self.shape[1:] if self.shape and self.shape[0] == -1 else self.shape
        unknown = row.count(-1)
        size = int(np.prod([n for n in row if n != -1]))
        per_row = array.size // len(array) if len(array) else 0
        fits = per_row == size if not unknown else unknown > 1 or size and per_row % size == 0
        if len(array) and not fits:
            raise InvalidArgumentError(
                f"DataFeeder: a row of '{self.name}' must have shape {row}, got "
                f"{list(array.shape[1:])}"
            )
        if unknown > 1:
            return array
        return array.reshape(len(array), *([0 if n == -1 else n for n in row] if not len(array)
                                           else row))  # fmt: skip


class DataFeeder(Shown):
    """Converts lists of samples, as of Fluid's batched readers, to Variables by name.

    Parameters
    ----------
    feed_list : list
        A field for each part of a sample: a name, a dict with ``name`` and any of ``shape``,
        ``dtype`` and ``lod_level``, or a variable of a program. ``lod_level`` n means sequences
        nested n deep.
    place : Place, optional
        The place of the Variables. None: the current one.
    program : optional
        Fluid's; not used.

    Attributes
    ----------
    names : list of str
        Of the fields.

    Examples
    --------
    >>> from dygraph import DataFeeder
    >>> feeder = DataFeeder([{"name": "words", "lod_level": 1, "dtype": "int64"}, "label"])
    >>> feed = feeder.feed([([1, 2, 3], 0), ([4], 1)])
    >>> feed["words"].shape, feed["words"].lod(), feed["label"].tolist()
    ((4, 1), [[0, 3, 4]], [[0], [1]])
    """

    def __init__(self, feed_list, place=None, program=None):
        if not isinstance(feed_list, (list, tuple)) or not feed_list:
            raise ArgumentTypeError(
                f"DataFeeder: feed_list must be a list of fields, got {kind_of(feed_list)}"
            )
        self._fields = [_Field(given, i) for i, given in enumerate(feed_list)]
        self._place = place
        self.names = [field.name for field in self._fields]

    def feed(self, iterable):
        """Variables by name of a list of samples.

        Raises
        ------
        ArgumentTypeError, InvalidArgumentError
            For samples with missing or surplus parts, rows of another shape, or sequences of
            another depth; names the field.
        """
        samples = [s if isinstance(s, (tuple, list)) else (s,) for s in iterable]
        for i, sample in enumerate(samples):
            if len(sample) != len(self._fields):
                raise InvalidArgumentError(
                    f"DataFeeder: a sample must have {len(self._fields)} parts, got {len(sample)} "
                    f"in sample {i}"
                )
        result = {}
        for i, field in enumerate(self._fields):
            made = field.make([sample[i] for sample in samples])
            result[field.name] = made if self._place is None else made.to(self._place)
        return result

    def decorate_reader(self, reader, multi_devices=False, num_places=None, drop_last=True):
        """A reader of such dicts from a reader of lists of samples, for the one device."""

        def decorated():
            return map(self.feed, reader())

        return decorated


def _lengths(value, what):
    if not isinstance(value, (list, tuple)) or not value:
        raise ArgumentTypeError(
            f"{what}: recursive_seq_lens must be a list of lists of lengths, got {kind_of(value)}"
        )
    for level in value:
        if not isinstance(level, (list, tuple)):
            raise ArgumentTypeError(
                f"{what}: recursive_seq_lens must be a list of lists of lengths, got "
                f"{kind_of(level)} in it"
            )
    levels = [[check.integer(n, f"{what}: a length", 0) for n in level] for level in value]
    for upper, lower in zip(levels, levels[1:], strict=False):
        if sum(upper) != len(lower):
            raise InvalidArgumentError(
                f"{what}: the lengths of a level must sum up to the number of sequences of the "
                f"next, got {upper} above {len(lower)} sequences"
            )
    return levels


def create_lod_tensor(data, recursive_seq_lens, place=None):
    """A Variable with LoD by lengths, Fluid's ``create_lod_tensor``.

    Parameters
    ----------
    data : array, Variable, or list of lists of int
        The concatenated rows; or the sequences of the last level, each a list of numbers, which
        become int64 rows of one.
    recursive_seq_lens : list of list of int
        Lengths, from the outermost level: ``[[2, 3]]``.
    place : Place, optional
        Where the values go; None: the current place.

    Returns
    -------
    Variable

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.create_lod_tensor([[1, 2], [3, 4, 5]], [[2, 3]])
    >>> x.shape, x.lod()
    ((5, 1), [[0, 2, 5]])
    """
    what = "create_lod_tensor"
    levels = _lengths(recursive_seq_lens, what)
    if isinstance(data, list):
        lengths = [len(seq) if hasattr(seq, "__len__") else None for seq in data]
        if lengths != levels[-1]:
            raise InvalidArgumentError(
                f"{what}: the sequences must have the lengths {levels[-1]}, got {lengths}"
            )
        rows = [row for seq in data for row in seq]
        data = np.asarray(_core.to_variable(rows)) if rows else np.empty(0, "int64")
        data = data.reshape(-1, 1) if data.ndim == 1 else data
    elif not isinstance(data, (np.ndarray, _core.Variable)):
        raise ArgumentTypeError(
            f"{what}: data must be an array, a Variable or a list of sequences, got {kind_of(data)}"
        )
    array = data.numpy() if isinstance(data, _core.Variable) else data
    if array.ndim == 0 or sum(levels[-1]) != array.shape[0]:
        raise InvalidArgumentError(
            f"{what}: the last lengths must sum up to the rows of data of shape "
            f"{list(array.shape)}, got {levels[-1]}"
        )
    made = _core.to_variable(array, [np.cumsum([0, *level]).tolist() for level in levels])
    return made if place is None else made.to(place)


def create_random_int_lodtensor(recursive_seq_lens, base_shape, place=None, low=0, high=1):
    """A Variable with LoD of random integers from `low` to `high`.

    Parameters
    ----------
    recursive_seq_lens : list of list of int
        The lengths of the sequences, level by level.
    base_shape : list of int
        The shape of a row.
    place : CPUPlace or CUDAPlace, optional
        None: the current one.
    low, high : int, default 0 and 1
        The bounds, by default 0 and 1; both may be drawn.

    Returns
    -------
    Variable
        int64, as many rows as the lengths of the last level add up to.

    Raises
    ------
    InvalidArgumentError
        `high` is below `low`.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.create_random_int_lodtensor([[2, 3]], [1], low=7, high=7)
    >>> x.lod(), x.tolist()
    ([[0, 2, 5]], [[7], [7], [7], [7], [7]])
    """
    what = "create_random_int_lodtensor"
    levels = _lengths(recursive_seq_lens, what)
    shape = [sum(levels[-1]), *check.shape(base_shape, f"{what}: base_shape")]
    low, high = check.integer(low, f"{what}: low"), check.integer(high, f"{what}: high")
    if high < low:
        raise InvalidArgumentError(f"{what}: high must be at least low, got {low} and {high}")
    numbers = np.random.randint(low, high + 1, shape, "int64")
    return create_lod_tensor(numbers, levels, place)
