"""Batches from samples: stacking, and ragged rows with their lengths."""

import numbers

import numpy as np

from dygraph import _core
from dygraph.core.promotion import default_float
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.functions.arguments import place_of

__all__ = ["default_collate"]


class Ragged:
    """Concatenated rows and the offsets of the sequences, for a Variable with LoD."""

    def __init__(self, array, lod):
        self.array, self.lod = array, lod


def default_collate(samples, ragged=()):
    """Make a batch of a list of samples.

    Arrays, Variables and numbers are stacked along a new first axis; dicts, tuples and lists are
    collated by member; strings, bytes and None stay lists. Python floats take the default
    type, float32 unless set; ints are int64.

    Parameters
    ----------
    samples : list
        Not empty, all of one structure.
    ragged : bool, or list of int or str
        The fields that are sequences of different lengths: indices in a tuple, names in a dict;
        True: the sample itself is a sequence. Their rows are concatenated, and the batch is a
        Variable with LoD. The fields are named here, not inferred from the lengths, so a batch of
        equal lengths has the same form.

    Returns
    -------
    Variable, or a dict or list of such
        Tuples become lists, named tuples keep their type.

    Raises
    ------
    InvalidArgumentError
        For samples of different shapes; names the field.
    ArgumentTypeError
        For samples of different structure, or of unsupported values.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import io
    >>> words, label = io.default_collate([([1, 2, 3], 0), ([4], 1)], ragged=[0])
    >>> words.numpy(), words.lod(), label.numpy()
    (array([1, 2, 3, 4]), [[0, 3, 4]], array([0, 1]))
    """
    return to_variables(gather(samples, ragged))


def gather(samples, ragged=()):
    """`default_collate` without Variables: arrays and `Ragged`."""
    samples = list(samples)
    if not samples:
        raise InvalidArgumentError("default_collate: a batch needs at least one sample, got none")
    return _gather(samples, ragged, "the sample")


def _gather(values, ragged, where):
    first = values[0]
    if ragged is True:
        return _concatenate(values, where)
    if isinstance(first, dict):
        for v in values:
            if not isinstance(v, dict) or v.keys() != first.keys():
                raise ArgumentTypeError(
                    f"default_collate: {where} must have the same names in all samples, got "
                    f"{sorted(map(str, first))} and {kind_of(v)}"
                )
        return {
            k: _gather([v[k] for v in values], k in _fields(ragged), f"field '{k}'") for k in first
        }
    if isinstance(first, (tuple, list)):
        for v in values:
            if not isinstance(v, (tuple, list)) or len(v) != len(first):
                raise ArgumentTypeError(
                    f"default_collate: {where} must have {len(first)} fields in all samples, got "
                    f"{kind_of(v)}. Sequences of different lengths are named by ragged=..."
                )
        parts = [
            _gather([v[i] for v in values], i in _fields(ragged), f"field {i}")
            for i in range(len(first))
        ]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    if first is None or isinstance(first, (str, bytes)):
        return values
    return _stack(values, where)


def _fields(ragged):
    return ragged if isinstance(ragged, (list, tuple, set, frozenset)) else ()


def _array(value, where):
    if isinstance(value, (bool, np.bool_)):
        return np.asarray(value, "bool")
    if isinstance(value, numbers.Number) and not isinstance(value, np.generic):
        floats = "float64" if default_float() == "float64" else "float32"
        return np.asarray(value, "int64" if isinstance(value, numbers.Integral) else floats)
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    if isinstance(value, _core.Variable):
        return value.numpy()
    raise ArgumentTypeError(
        f"default_collate: {where} must be data (arrays, numbers, strings, dicts, tuples), got "
        f"{kind_of(value)}. Give a collate_fn for other types"
    )


def _stack(values, where):
    arrays = [_array(v, where) for v in values]
    shape, dtype = arrays[0].shape, arrays[0].dtype
    for a in arrays:
        if a.shape != shape:
            raise InvalidArgumentError(
                f"default_collate: {where} must have one shape in all samples, got {list(shape)} "
                f"and {list(a.shape)}. Sequences of different lengths are named by ragged=..."
            )
    if any(a.dtype != dtype for a in arrays):
        dtype = np.result_type(*(a.dtype for a in arrays))
    return np.stack(arrays).astype(dtype, copy=False)


def _concatenate(values, where):
    rows = [_sequence(v, where) for v in values]
    rest = next((r.shape[1:] for r in rows if r.size), rows[0].shape[1:])
    for i, r in enumerate(rows):
        if r.ndim == 1 and r.size == 0 and rest:
            rows[i] = r.reshape(0, *rest)
        elif r.shape[1:] != rest:
            raise InvalidArgumentError(
                f"default_collate: rows of {where} must have one shape, got {list(rest)} and "
                f"{list(r.shape[1:])}"
            )
    offsets = np.cumsum([0, *(len(r) for r in rows)]).tolist()
    filled = [r for r in rows if r.size] or rows[:1]
    dtype = np.result_type(*(r.dtype for r in filled))
    return Ragged(np.concatenate(rows).astype(dtype, copy=False), [offsets])


def _sequence(value, where):
    if isinstance(value, (list, tuple)):
        items = [_array(v, where) for v in value]
        value = np.stack(items) if items else np.zeros(0, "int64")
    else:
        value = _array(value, where)
    if value.ndim == 0:
        raise InvalidArgumentError(
            f"default_collate: {where} must be a sequence, with rows along its first axis, got a "
            "number"
        )
    return value


def to_variables(batch):
    """Arrays and `Ragged` in lists, tuples and dicts become Variables; other values are kept."""
    if isinstance(batch, np.ndarray) and batch.dtype.kind in "biufc":
        return _core.to_variable(batch)
    if isinstance(batch, Ragged):
        return _core.to_variable(batch.array, batch.lod)
    return rebuilt(batch, to_variables)


def to_arrays(batch):
    """The inverse, for a pipe: Variables without LoD become arrays, others `Ragged`."""
    if isinstance(batch, _core.Variable) and str(batch.dtype) != "bfloat16":
        return Ragged(batch.numpy(), batch.lod()) if batch.lod() else batch.numpy()
    return rebuilt(batch, to_arrays)


def one_place(places, owner):
    """The place that `places` asks for: None, a place, its name, or a list of one."""
    if isinstance(places, (list, tuple)):
        if len(places) != 1:
            raise InvalidArgumentError(
                f"{owner}: places must be one place, since a process trains on one device, got "
                f"{len(places)}. dygraph.distributed starts a process for each"
            )
        places = places[0]
    return None if places is None else place_of(places, owner)


def rebuilt(batch, function):
    """`function` of the members of a dict, tuple or list; other values unchanged."""
    if isinstance(batch, dict):
        return {k: function(v) for k, v in batch.items()}
    if isinstance(batch, tuple):
        parts = [function(v) for v in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else tuple(parts)
    if isinstance(batch, list):
        return [function(v) for v in batch]
    return batch
