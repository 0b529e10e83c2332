"""Arrays and Variables as data of `dygraph.Model`: ``fit(x, y)``."""

import math
import numbers

import numpy as np

from dygraph._core import Variable
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.io.dataset import Dataset, Subset, TensorDataset

__all__ = ["Rows", "are_arrays", "is_array", "is_pair", "parted", "rows_of"]


class Rows(TensorDataset):
    """The data set of ``fit(x, y)``; a label may be a single number for each row."""


def is_array(value):
    """Whether a value is an array, a Variable, a table, or nested lists of numbers."""
    if isinstance(value, (list, tuple)):
        while isinstance(value, (list, tuple)) and value:
            value = value[0]
        return isinstance(value, (numbers.Number, np.generic))
    return hasattr(value, "__array__")


def are_arrays(value):
    """Whether a value is a list of arrays, one for each input; Variables are rather batches."""
    return isinstance(value, list) and bool(value) and all(
        hasattr(v, "__array__") and not isinstance(v, Variable) for v in value
    )  # fmt: skip


def is_pair(value):
    """Whether a value is a tuple (x, y) of arrays."""
    if not isinstance(value, tuple) or len(value) != 2:
        return False
    return all(is_array(part) or are_arrays(part) for part in value)


def _listed(value):
    inside = isinstance(value, (list, tuple)) and value and not is_array(value)
    return list(value) if inside else [value]


def rows_of(x, y, inputs, dtype, owner):
    """A data set of the rows of `x` and `y`, each an array or a list of arrays.

    Arrays of float64 become `dtype`, the network's; None leaves them.
    """
    fields = _listed(x)
    if len(fields) != inputs:
        raise InvalidArgumentError(
            f"{owner}: x must hold the {inputs} inputs of the network, got {len(fields)} arrays. "
            f"Write Model(network, inputs={len(fields)})"
        )
    fields += [] if y is None else _listed(y)
    arrays = [_array(field, i, dtype, owner) for i, field in enumerate(fields)]
    rows = {a.shape[0] for a in arrays}
    if len(rows) > 1:
        raise InvalidArgumentError(
            f"{owner}: x and y must have equally many rows, got "
            f"{' and '.join(str(list(a.shape)) for a in arrays)}"
        )
    return Rows(arrays)


def _array(value, i, dtype, owner):
    try:
        array = np.asarray(value)
    except ValueError:  # rows of several lengths
        array = None
    if array is None or array.dtype.kind not in "biuf" or not array.ndim:
        got = kind_of(value) if array is None or not array.ndim else f"of type {array.dtype}"
        raise ArgumentTypeError(
            f"{owner}: x and y must be arrays of numbers with one row for each sample, but array "
            f"{i} is {got}"
        )
    return array.astype(dtype) if dtype and array.dtype == np.float64 else array


def parted(data, fraction, owner):
    """(the first part, the last `fraction`) of a data set; the rows keep their order."""
    fraction = check.number(fraction, f"{owner}: validation_split", 0, 1)
    if not isinstance(data, Dataset):
        raise ArgumentTypeError(
            f"{owner}: validation_split must go with arrays or a Dataset, got {kind_of(data)}. "
            "Pass validation_data"
        )
    at = math.floor(len(data) * (1 - fraction))
    if not 0 < at < len(data):
        raise InvalidArgumentError(
            f"{owner}: validation_split must leave rows on both sides, got {fraction} of "
            f"{len(data)}"
        )
    if isinstance(data, Rows):
        return Rows([t[:at] for t in data.tensors]), Rows([t[at:] for t in data.tensors])
    return Subset(data, range(at)), Subset(data, range(at, len(data)))
