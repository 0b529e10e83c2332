"""Samplers that divide a data set among the ranks of a job."""

import numpy as np

from dygraph.core import check
from dygraph.errors import InvalidArgumentError, kind_of
from dygraph.io.sampler import BatchSampler, Sampler

__all__ = ["DistributedBatchSampler", "DistributedSampler"]

_STATE = ("seed", "epoch", "start", "taken", "num_replicas", "size")


class DistributedSampler(Sampler):
    """The samples of one of several ranks: numbers ``rank, rank + num_replicas, ...`` of an order.

    All ranks get equally many. Where the number of ranks does not divide that of the samples, the
    order is padded with its own beginning, as in torch, so a few samples are seen twice in an
    epoch; ``drop_last=True`` leaves the last ones out instead. The order is that of one process,
    ``numpy.random.default_rng([seed, epoch]).permutation(size)``, so batch k of all ranks together
    holds the samples of batch k of one process with the joined batch size.

    A `DataLoader` calls ``set_epoch`` before each pass; without a loader call it yourself, else
    every epoch has the same order.

    Parameters
    ----------
    dataset : Dataset
    num_replicas, rank : int, optional
        The number of ranks, and this one. None: those of `dygraph.distributed.world`.
    shuffle : bool
    seed : int
        Equal on all ranks.
    drop_last : bool
        Leave out the samples that do not divide, instead of padding.

    Raises
    ------
    InvalidArgumentError
        `rank` is not below `num_replicas`.

    Notes
    -----
    With a loader, save the loader's ``state_dict()``: it counts the batches that it has returned,
    not those read ahead. The position is that of all ranks together, so it holds at another number
    of ranks too: the rest of the epoch is divided anew.

    Examples
    --------
    >>> from dygraph import io
    >>> [list(io.DistributedSampler(range(5), 2, rank, shuffle=False)) for rank in (0, 1)]
    [[0, 2, 4], [1, 3, 0]]
    >>> sampler = io.DistributedSampler(range(6), 2, 0, shuffle=False)
    >>> samples = iter(sampler)
    >>> next(samples), next(samples)
    (0, 2)
    >>> alone = io.DistributedSampler(range(6), 1, 0, shuffle=False)
    >>> alone.set_state_dict(sampler.state_dict())
    >>> list(alone)  # 0 to 3 were given to the two ranks
    [4, 5]
    """

    def __init__(
        self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False
    ):
        super().__init__(dataset)
        name = type(self).__name__
        self.num_replicas, self.rank = _place(num_replicas, rank, name)
        self.shuffle, self.drop_last = bool(shuffle), bool(drop_last)
        self.seed = check.integer(seed, f"{name}: seed", 0)
        self._start = 0  # samples of this epoch that were given to all ranks before a resume
        self._skip = self._taken = 0  # samples of this rank, from there on
        self._ended = False  # a pass over this epoch has ended

    def set_epoch(self, epoch):
        before = self.epoch
        super().set_epoch(epoch)
        if epoch != before:
            self._begin(0)

    def _begin(self, start, skip=0):
        self._start, self._skip, self._taken, self._ended = start, skip, skip, False

    def __iter__(self):
        if self._ended:
            self._begin(0)
        skip, self._skip = self._skip, 0
        self._taken = skip
        return self._give(self._own()[skip:])

    def _give(self, own):
        for number in own:
            self._taken += 1
            yield number
        self._ended = True

    def _own(self):
        size = len(self.data_source)
        if self.shuffle:
            numbers = np.random.default_rng([self.seed, self.epoch]).permutation(size).tolist()
        else:
            numbers = list(range(size))
        rest, total = numbers[self._start :], len(self) * self.num_replicas
        while len(rest) < total:
            rest += numbers[: total - len(rest)]
        return rest[:total][self.rank :: self.num_replicas]

    def __len__(self):
        rest = max(0, len(self.data_source) - (0 if self._ended else self._start))
        return rest // self.num_replicas if self.drop_last else -(-rest // self.num_replicas)

    def state_dict(self):
        """The position: seed, epoch, the samples given before, and the number of ranks."""
        return self.state_at(self.epoch, self._taken)

    def state_at(self, epoch, taken):
        """The `state_dict` after `taken` samples of this rank in an epoch."""
        start = self._start if epoch == self.epoch else 0
        size = len(self.data_source)
        values = (self.seed, epoch, start, taken, self.num_replicas, size)
        return dict(zip(_STATE, values, strict=True))

    def set_state_dict(self, state_dict):
        """Go on at a `state_dict`, of this or another number of ranks.

        Raises
        ------
        InvalidArgumentError
            For other data, and for a data set of another size.
        """
        start, taken = self._read(state_dict)
        if state_dict["num_replicas"] == self.num_replicas:
            self._begin(start, taken)
        else:
            self._begin(start + taken * state_dict["num_replicas"])

    load_state_dict = set_state_dict

    def resume_batches(self, state_dict, batch, batch_size):
        """Go on at a state that a loader saved: the number of batches that it leaves out."""
        start, taken = self._read(state_dict)
        if state_dict["num_replicas"] == self.num_replicas:
            self._begin(start)
            given = batch * batch_size
            if given == taken or (given > taken == len(self)):  # whole batches, or the short last
                return batch
        self._begin(start + taken * state_dict["num_replicas"])
        return 0

    def _read(self, state):
        name = type(self).__name__
        if not hasattr(state, "keys") or set(state) != set(_STATE):
            raise InvalidArgumentError(
                f"{name}: the state must have {', '.join(_STATE)}, got "
                f"{sorted(map(str, state)) if hasattr(state, 'keys') else kind_of(state)}"
            )
        for key in _STATE:
            check.integer(state[key], f"{name}: {key} of the state", int(key == "num_replicas"))
        if state["size"] != len(self.data_source):
            raise InvalidArgumentError(
                f"{name}: the state must be that of a data set of {len(self.data_source)} samples, "
                f"got one of {state['size']}. Another data set begins with epoch 0"
            )
        self.seed, self.epoch = state["seed"], state["epoch"]
        return state["start"], state["taken"]


class DistributedBatchSampler(BatchSampler):
    """The batches of one of several ranks; all get equally many.

    The samples are those of a `DistributedSampler`, which says how they are divided and padded.
    (Paddle gives each rank blocks of `batch_size` samples in turn; batch k of all ranks together
    is the same.)

    Parameters
    ----------
    dataset : Dataset
    batch_size : int
        Of each rank.
    num_replicas, rank : int, optional
        The number of ranks, and this one. None: those of `dygraph.distributed.world`.
    shuffle, seed
        As in `BatchSampler`.
    drop_last : bool
        Leave out an incomplete last batch.

    Raises
    ------
    InvalidArgumentError
        `rank` is not below `num_replicas`.

    Examples
    --------
    >>> from dygraph import io
    >>> [list(io.DistributedBatchSampler(range(5), 2, num_replicas=2, rank=r)) for r in (0, 1)]
    [[[0, 2], [4]], [[1, 3], [0]]]
    """

    def __init__(
        self,
        dataset,
        batch_size,
        num_replicas=None,
        rank=None,
        shuffle=False,
        drop_last=False,
        seed=0,
    ):
        num_replicas, rank = _place(num_replicas, rank, type(self).__name__)
        sampler = DistributedSampler(dataset, num_replicas, rank, shuffle, seed)
        super().__init__(sampler=sampler, batch_size=batch_size, drop_last=drop_last)
        self.num_replicas, self.rank = num_replicas, rank

    def state_dict(self):
        """The position; see `DistributedSampler`. With a loader, save the loader's."""
        return self.sampler.state_dict()

    def set_state_dict(self, state_dict):
        """Go on at a `state_dict`, of this or another number of ranks."""
        self.sampler.set_state_dict(state_dict)

    load_state_dict = set_state_dict


def _place(num_replicas, rank, name):
    """The number of ranks, and this one, by default those of the job."""
    if num_replicas is None or rank is None:
        from dygraph.distributed import job

        world = job.world()
        num_replicas = world.size if num_replicas is None else num_replicas
        rank = world.rank if rank is None else rank
    num_replicas = check.integer(num_replicas, f"{name}: num_replicas", 1)
    rank = check.integer(rank, f"{name}: rank", 0)
    if rank >= num_replicas:
        raise InvalidArgumentError(
            f"{name}: rank must be below num_replicas, got {rank} of {num_replicas}"
        )
    return num_replicas, rank
