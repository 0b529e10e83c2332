"""Data sets: samples by index, or a stream of samples."""

import bisect
import itertools

import numpy as np

from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, OutOfRangeError, kind_of
from dygraph.inspect.shown import Shown

__all__ = [
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]


class Dataset(Shown):
    """Samples by index: subclasses define ``__getitem__`` and ``__len__``.

    Any object with both methods, such as a list, is a data set.

    Examples
    --------
    >>> from dygraph import io
    >>> class Squares(io.Dataset):
    ...     def __getitem__(self, i):
    ...         return float(i), i * i
    ...
    ...     def __len__(self):
    ...         return 4
    >>> for x, y in io.DataLoader(Squares(), batch_size=2):
    ...     print(x.numpy(), y.numpy())
    [0. 1.] [0 1]
    [2. 3.] [4 9]
    """

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__} must define __getitem__()")

    def __len__(self):
        raise NotImplementedError(f"{type(self).__name__} must define __len__()")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Shown):
    """A stream of samples: subclasses define ``__iter__``.

    With several workers, each one reads the whole stream and keeps its own share of the batches, so
    order and content do not depend on the number of workers. If reading the stream is expensive,
    define `split`.

    Examples
    --------
    >>> from dygraph import io
    >>> class Count(io.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(5))
    >>> [batch.tolist() for batch in io.DataLoader(Count(), batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} must define __iter__()")

    # Subclasses may define ``split(worker, workers)``: an iterator over the samples of one worker.
    # The loop then takes batches of the workers in turn.
    split = None


class TensorDataset(Dataset):
    """Rows of arrays or Variables with equally many rows: sample i is a tuple of the i-th rows.

    The arrays are one list, as in Paddle, or stand by themselves, as in torch.

    Parameters
    ----------
    tensors : list of arrays, or array
    *more : array or Variable
        The others, where they stand without a list.

    Examples
    --------
    >>> from dygraph import io
    >>> io.TensorDataset([[1.0, 2.0], [3, 4]])[1]
    (np.float64(2.0), np.int64(4))
    """

    def __init__(self, tensors, *more):
        if more or hasattr(tensors, "__array__"):
            tensors = [tensors, *more]
        if not isinstance(tensors, (list, tuple)) or not tensors:
            raise ArgumentTypeError(
                f"TensorDataset: tensors must be a list of arrays, got {kind_of(tensors)}"
            )
        self.tensors = [np.asarray(t) for t in tensors]
        rows = [t.shape[0] if t.ndim else None for t in self.tensors]
        if rows[0] is None or len(set(rows)) > 1:
            raise InvalidArgumentError(
                "TensorDataset: tensors must have equally many rows, got "
                f"{[list(t.shape) for t in self.tensors]}"
            )

    def __getitem__(self, index):
        return tuple(t[index] for t in self.tensors)

    def __len__(self):
        return self.tensors[0].shape[0]


class ConcatDataset(Dataset):
    """Concatenated data sets.

    Parameters
    ----------
    datasets : list of Dataset

    Examples
    --------
    >>> from dygraph import io
    >>> both = io.ConcatDataset(["ab", "cde"])
    >>> len(both), both[1], both[2]
    (5, 'b', 'c')
    """

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise InvalidArgumentError("ConcatDataset: there must be at least one data set, got []")
        self._ends = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self):
        return self._ends[-1]

    def __getitem__(self, index):
        index = _index(index, len(self), "ConcatDataset")
        which = bisect.bisect_right(self._ends, index)
        return self.datasets[which][index - (self._ends[which - 1] if which else 0)]


class Subset(Dataset):
    """The samples of a data set at these indices, in this order.

    Parameters
    ----------
    dataset : Dataset
    indices : list of int

    Examples
    --------
    >>> from dygraph import io
    >>> list(io.Subset("abcd", [3, 0]))
    ['d', 'a']
    """

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, [check.integer(i, "Subset: indices") for i in indices]
        for i in self.indices:
            _index(i, len(dataset), "Subset")

    def __getitem__(self, index):
        return self.dataset[self.indices[_index(index, len(self), "Subset")]]

    def __len__(self):
        return len(self.indices)


def random_split(dataset, lengths, seed=0):
    """Split a data set into random parts without overlap.

    Parameters
    ----------
    dataset : Dataset
    lengths : list of int or of float
        The number of samples of each part, or fractions that sum up to 1; samples left by rounding
        go to the first parts.
    seed : int
        Equal seeds give equal parts.

    Returns
    -------
    list of Subset

    Examples
    --------
    >>> from dygraph import io
    >>> [len(part) for part in io.random_split(range(10), [0.75, 0.25])]
    [8, 2]
    """
    size, lengths = len(dataset), list(lengths)
    if all(isinstance(n, float) for n in lengths) and abs(sum(lengths) - 1) < 1e-6:
        fractions = [check.number(n, "random_split: a fraction", 0) for n in lengths]
        lengths = [int(f * size) for f in fractions]
        for i in range(size - sum(lengths)):
            lengths[i % len(lengths)] += 1
    lengths = [check.integer(n, "random_split: a length", 0) for n in lengths]
    if sum(lengths) != size:
        raise InvalidArgumentError(
            f"random_split: the lengths must sum up to {size} samples, got {lengths}"
        )
    order = np.random.default_rng(check.integer(seed, "random_split: seed", 0)).permutation(size)
    ends = [0, *itertools.accumulate(lengths)]
    return [Subset(dataset, order[a:b].tolist()) for a, b in itertools.pairwise(ends)]


def _index(index, size, what):
    index = check.integer(index, f"{what}: the index of a sample")
    if not -size <= index < size:
        raise OutOfRangeError(f"{what}: a number must lie in [-{size}, {size}), got {index}")
    return index % size
