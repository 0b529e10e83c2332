"""Samplers: the order and the batches in which a data set is read."""

import numpy as np

from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.inspect.shown import Shown

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequenceSampler",
    "WeightedRandomSampler",
]


class Sampler(Shown):
    """Indices of samples in some order: subclasses define ``__iter__`` and ``__len__``.

    A loader calls ``set_epoch`` before each pass; random samplers draw from (seed, epoch), so the
    order of any epoch can be reproduced.

    Parameters
    ----------
    data_source : Dataset, optional
        What is sampled.

    Examples
    --------
    >>> from dygraph import io
    >>> class Backwards(io.Sampler):
    ...     def __iter__(self):
    ...         return iter(range(len(self.data_source) - 1, -1, -1))
    >>> data = range(3)
    >>> batches = io.BatchSampler(sampler=Backwards(data), batch_size=2)
    >>> [batch.tolist() for batch in io.DataLoader(data, batch_sampler=batches)]
    [[2, 1], [0]]
    """

    epoch = 0

    def __init__(self, data_source=None):
        self.data_source = data_source

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} must define __iter__()")

    def __len__(self):
        return len(self.data_source)

    def set_epoch(self, epoch):
        """Set the next epoch, from 0."""
        self.epoch = check.integer(epoch, "set_epoch: epoch", 0)


class SequenceSampler(Sampler):
    """0, 1, 2, ...

    Parameters
    ----------
    data_source : Dataset
        What is sampled.

    Examples
    --------
    >>> from dygraph import io
    >>> list(io.SequenceSampler("abc"))
    [0, 1, 2]
    """

    def __iter__(self):
        return iter(range(len(self.data_source)))


class RandomSampler(Sampler):
    """A permutation of all samples, another one in each epoch.

    Parameters
    ----------
    data_source : Dataset
    replacement : bool
        True: draw each index independently; samples may repeat.
    num_samples : int, optional
        The number of indices; None: the size of the data set.
    seed : int

    Examples
    --------
    >>> from dygraph import io
    >>> sorted(io.RandomSampler(range(4), seed=1))
    [0, 1, 2, 3]
    """

    def __init__(self, data_source, replacement=False, num_samples=None, seed=0):
        super().__init__(data_source)
        self.replacement, self.seed = bool(replacement), check.integer(seed, "seed", 0)
        size = len(data_source)
        count = size if num_samples is None else num_samples
        self.num_samples = check.integer(count, "RandomSampler: num_samples", 0)
        if self.num_samples > size and not (self.replacement and size):
            raise InvalidArgumentError(
                f"RandomSampler: num_samples must be at most {size} without replacement, got "
                f"{num_samples}"
            )

    def __iter__(self):
        rng, size = np.random.default_rng([self.seed, self.epoch]), len(self.data_source)
        if self.replacement:
            return iter(rng.integers(0, size, self.num_samples).tolist())
        return iter(rng.permutation(size)[: self.num_samples].tolist())

    def __len__(self):
        return self.num_samples


class WeightedRandomSampler(Sampler):
    """Indices drawn with probabilities proportional to `weights`.

    Parameters
    ----------
    weights : list of float
        One for each sample, not negative, at least one positive.
    num_samples : int
    replacement : bool
    seed : int

    Examples
    --------
    >>> from dygraph import io
    >>> list(io.WeightedRandomSampler([0.0, 2.0, 0.0], num_samples=4))
    [1, 1, 1, 1]
    """

    def __init__(self, weights, num_samples, replacement=True, seed=0):
        self.weights = np.asarray(weights, "float64")
        good = self.weights.ndim == 1 and np.isfinite(self.weights).all()
        if not good or not self.weights.size or self.weights.min() < 0 or not self.weights.any():
            raise InvalidArgumentError(
                "WeightedRandomSampler: weights must be a list of finite numbers from 0, not all "
                f"0, got {kind_of(weights)}"
            )
        self.num_samples = check.integer(num_samples, "WeightedRandomSampler: num_samples", 1)
        self.replacement, self.seed = bool(replacement), check.integer(seed, "seed", 0)
        positive = int((self.weights > 0).sum())
        if not replacement and self.num_samples > positive:
            raise InvalidArgumentError(
                f"WeightedRandomSampler: num_samples must be at most {positive}, the number of "
                f"positive weights, without replacement, got {num_samples}"
            )

    def __iter__(self):
        rng, p = np.random.default_rng([self.seed, self.epoch]), self.weights / self.weights.sum()
        return iter(rng.choice(len(p), self.num_samples, self.replacement, p).tolist())

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of indices: those of a sampler in batches.

    Parameters
    ----------
    dataset : Dataset, optional
        Read in sequence, or shuffled; alternative to `sampler`.
    sampler : Sampler, optional
    shuffle : bool
    batch_size : int
    drop_last : bool
        Leave out an incomplete last batch.
    seed : int

    Examples
    --------
    >>> from dygraph import io
    >>> list(io.BatchSampler(range(5), batch_size=2))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self, dataset=None, sampler=None, shuffle=False, batch_size=1, drop_last=False, seed=0
    ):
        if (dataset is None) == (sampler is None):
            raise ArgumentTypeError(
                "BatchSampler: give a dataset or a sampler, and not both. The size of a batch has "
                "a name: BatchSampler(dataset, batch_size=2)"
            )
        if sampler is None:
            sampler = RandomSampler(dataset, seed=seed) if shuffle else SequenceSampler(dataset)
        elif shuffle:
            raise InvalidArgumentError("BatchSampler: shuffle must be False beside a sampler")
        self.sampler, self.drop_last = sampler, bool(drop_last)
        self.batch_size = check.integer(batch_size, "BatchSampler: batch_size", 1)

    def set_epoch(self, epoch):
        super().set_epoch(epoch)
        if hasattr(self.sampler, "set_epoch"):
            self.sampler.set_epoch(epoch)

    def __iter__(self):
        return batches(self.sampler, self.batch_size, self.drop_last)

    def __len__(self):
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def batches(items, size, drop_last=False):
    """Lists of `size` items; a shorter last one unless `drop_last`."""
    batch = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch
