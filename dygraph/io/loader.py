"""DataLoader: batches of a data set, read ahead by threads or processes in a fixed order."""

import itertools

from dygraph import _core
from dygraph.core import check
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    PreconditionNotMetError,
    kind_of,
)
from dygraph.inspect.shown import Shown, text
from dygraph.io.ahead import to_place
from dygraph.io.collate import one_place
from dygraph.io.pools import Processes, Serial, Threads
from dygraph.io.sampler import BatchSampler
from dygraph.io.worker import END, Failure, Job, raise_failure

__all__ = ["DataLoader"]


class DataLoader(Shown, check.NamedArguments):
    """Batches of a data set as Variables. Iterate over it once per epoch.

    Order and content of the batches depend on the seed and the epoch, never on the number, kind or
    speed of workers.

    Parameters
    ----------
    dataset : Dataset, IterableDataset or any object with ``__getitem__`` and ``__len__``
    batch_size : int
    shuffle : bool
        Another order in each epoch.
    drop_last : bool
        Leave out an incomplete last batch.
    sampler : Sampler or iterable of int, optional
        Gives the order instead of `shuffle`.
    batch_sampler : BatchSampler or iterable of lists of int, optional
        Gives the batches instead of `batch_size`, `shuffle`, `drop_last` and `sampler`.
    collate_fn : function, optional
        Makes a batch of a list of samples; arrays in it become Variables. Default:
        `default_collate`.
    ragged : bool, or list of int or str
        The fields that are sequences of different lengths, for `default_collate`.
    num_workers : int
        0: the loop itself reads.
    worker : {"thread", "process"}
        Threads share the data set and start at no cost; they read in parallel if reading, decoding
        and NumPy release Python's lock. If measurements show that they do not, the loop itself
        reads, which is faster. Processes are for data sets that compute in Python.
    prefetch : int
        The number of batches that each worker reads ahead.
    timeout : float
        Seconds to wait for a batch before TimeoutError; 0: no limit.
    seed : int, optional
        None: from the random numbers of dygraph, which `dygraph.seed` sets.
    worker_init_fn : function, optional
        Called with the worker's index in each worker before it reads.
    start_method : {"fork", "spawn", "forkserver"}
        The start method of processes. ``fork`` accepts any data set.
    places : Place, str, or list of one, optional
        Where the batches should lie. To a CUDA device they are copied from page-locked memory,
        beside what it computes. None: the current place, see `dygraph.set_device`.
    pin_memory : bool, default False
        Batches in page-locked memory of the host, if `places` asks for no other place.

    Raises
    ------
    ArgumentTypeError, InvalidArgumentError
        For arguments that exclude each other.
    TimeoutError, PreconditionNotMetError
        In the loop: no batch in time; a process died.
    Exception
        In the loop: the error of a worker, with its type, worker and sample.

    Notes
    -----
    Leaving the loop, by its end, ``break`` or an error, ends the workers. Ctrl-C takes effect at
    once; a thread in the middle of a sample ends after it.

    Random numbers: `sample_rng` gives each sample its own generator. In processes the generators of
    Python, NumPy and dygraph are seeded for each batch; threads share those of the whole program.

    Examples
    --------
    >>> from dygraph import io
    >>> loader = io.DataLoader(range(5), batch_size=2, num_workers=2)
    >>> [batch.tolist() for batch in loader]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=False,
        drop_last=False,
        sampler=None,
        batch_sampler=None,
        collate_fn=None,
        ragged=(),
        num_workers=0,
        worker="thread",
        prefetch=2,
        timeout=0,
        seed=None,
        worker_init_fn=None,
        start_method="fork",
        places=None,
        pin_memory=False,
    ):
        if isinstance(dataset, type):
            raise ArgumentTypeError(
                f"DataLoader: dataset must be a data set, got {kind_of(dataset)}. Make one of it: "
                f"{dataset.__name__}(...)"
            )
        self.dataset = dataset
        self.num_workers = check.integer(num_workers, "DataLoader: num_workers", 0, 1024)
        self.worker = check.choice(worker, ("thread", "process"), "DataLoader: worker")
        self.prefetch = check.integer(prefetch, "DataLoader: prefetch", 1)
        self.timeout = check.number(timeout, "DataLoader: timeout", 0)
        self.start_method = check.choice(
            start_method, ("fork", "spawn", "forkserver"), "DataLoader: start_method"
        )
        for function, name in ((collate_fn, "collate_fn"), (worker_init_fn, "worker_init_fn")):
            if function is not None and not callable(function):
                raise ArgumentTypeError(
                    f"DataLoader: {name} must be a function, got {kind_of(function)}"
                )
        self.collate_fn, self.ragged, self.worker_init_fn = collate_fn, ragged, worker_init_fn
        self.seed = _new_seed() if seed is None else check.integer(seed, "DataLoader: seed", 0)
        self.batch_size = check.integer(batch_size, "DataLoader: batch_size", 1)
        self.drop_last, self.shuffle = bool(drop_last), bool(shuffle)
        self.is_stream = not hasattr(dataset, "__getitem__")
        self.place = one_place(places, "DataLoader: places")
        self.pin_memory = bool(pin_memory)
        if self.place is None and self.pin_memory:
            self.place = _core.CUDAPinnedPlace()
        self._set_order(shuffle, sampler, batch_sampler)
        self._epoch = self._done = 0
        self._reads_alone = None  # True: threads gained nothing
        self._resume = None

    def _set_order(self, shuffle, sampler, batch_sampler):
        if self.is_stream:
            if not hasattr(self.dataset, "__iter__"):
                raise ArgumentTypeError(
                    "DataLoader: dataset must have __getitem__ and __len__, or __iter__, got "
                    f"{kind_of(self.dataset)}"
                )
            if shuffle or sampler is not None or batch_sampler is not None:
                raise InvalidArgumentError(
                    "DataLoader: a stream has its own order, so shuffle, sampler and batch_sampler "
                    "must be left out"
                )
            self.batch_sampler = None
        elif batch_sampler is not None:
            if self.batch_size != 1 or shuffle or self.drop_last or sampler is not None:
                raise InvalidArgumentError(
                    "DataLoader: batch_size, shuffle, drop_last and sampler must be left out "
                    "beside a batch_sampler"
                )
            self.batch_sampler = batch_sampler
        else:
            self.batch_sampler = BatchSampler(
                self.dataset if sampler is None else None,
                sampler,
                shuffle,
                self.batch_size,
                self.drop_last,
                self.seed,
            )

    @staticmethod
    def from_generator(
        feed_list=None, capacity=2, use_double_buffer=True, iterable=True, return_list=True
    ):
        """Fluid's loader of a reader, a `GeneratorLoader`: lists of Variables, or dicts by name.

        Parameters
        ----------
        feed_list : list, optional
            As for `DataFeeder`; with ``return_list=False`` batches are dicts by these names.
        capacity : int
            The number of batches that are read ahead.
        use_double_buffer, iterable
            Fluid's; not used.
        """
        from dygraph.io.generator import GeneratorLoader

        return GeneratorLoader(feed_list, capacity, return_list)

    def __repr__(self):
        return text(self, without=["batch_sampler", "seed"])

    def __len__(self):
        if self.is_stream:
            raise TypeError("DataLoader: the length of a stream is not known")
        return len(self.batch_sampler)

    def set_epoch(self, epoch):
        """Set the epoch of the next loop, from 0; by default loops count."""
        self._resume = (check.integer(epoch, "set_epoch: epoch", 0), 0)

    def state_dict(self):
        """The position of the loop: seed, epoch, and the number of batches already returned.

        With a `DistributedSampler` also the position of all ranks together.
        """
        epoch, batch = self._resume or (self._epoch, self._done)
        state = {"seed": self.seed, "epoch": epoch, "batch": batch}
        divided = self._divided()
        if divided is not None:
            taken = min(batch * self.batch_sampler.batch_size, len(divided))
            state["sampler"] = divided.state_at(epoch, taken)
        return state

    def _divided(self):
        """The sampler that divides the data set among ranks, or None."""
        sampler = getattr(self.batch_sampler, "sampler", None)
        return sampler if hasattr(sampler, "resume_batches") else None

    def set_state_dict(self, state_dict):
        """Continue the next loop at a `state_dict`, also in the middle of an epoch.

        Samples of batches that were already returned are not read again, except in a stream. With a
        `DistributedSampler` the state may be that of another number of ranks.
        """
        try:
            seed, epoch, batch = (state_dict[k] for k in ("seed", "epoch", "batch"))
        except (KeyError, TypeError):
            raise InvalidArgumentError(
                f"DataLoader: the state must have seed, epoch and batch, got {kind_of(state_dict)}"
            ) from None
        if seed != self.seed:
            for owner in (self, getattr(self.batch_sampler, "sampler", None)):
                if hasattr(owner, "seed"):
                    owner.seed = check.integer(seed, "DataLoader: seed", 0)
        epoch, batch = check.integer(epoch, "epoch", 0), check.integer(batch, "batch", 0)
        divided, of_ranks = self._divided(), state_dict.get("sampler")
        if (divided is None) != (of_ranks is None):
            have = ["a loader without one", "one with it"][divided is not None]
            raise InvalidArgumentError(
                "DataLoader: a state with the position of a DistributedSampler belongs to a loader "
                f"with one, and the other way round, got the other for {have}"
            )
        if divided is not None:
            batch = divided.resume_batches(of_ranks, batch, self.batch_sampler.batch_size)
        self._resume = (epoch, batch)

    load_state_dict = set_state_dict

    def __iter__(self):
        if self._resume is not None:
            epoch, done = self._resume
        else:
            epoch, done = self._epoch + (1 if self._done else 0), 0
        self._resume = None
        if self.is_stream and epoch and hasattr(self.dataset, "__next__"):
            raise PreconditionNotMetError(
                f"DataLoader: a stream for epoch {epoch} must start again, got "
                f"{kind_of(self.dataset)}, which can be read once. Make it an IterableDataset "
                "whose __iter__ starts over"
            )
        self._epoch, self._done = epoch, done
        return self._loop(epoch, done)

    def _tasks(self, epoch, done):
        """The number of the batch, and the indices to read."""
        if self.is_stream:
            return zip(itertools.count(), itertools.repeat(None))
        if hasattr(self.batch_sampler, "set_epoch"):
            self.batch_sampler.set_epoch(epoch)
        return itertools.islice(enumerate(self.batch_sampler), done, None)

    def _pool(self, epoch):
        stream = (self.batch_size, self.drop_last) if self.is_stream else None
        init = self.worker_init_fn
        job = Job(self.dataset, self.collate_fn, self.ragged, self.seed, epoch, stream, init)
        if self.num_workers == 0:
            return Serial(job)
        if self.worker == "thread":
            # Measured again in epochs 1, 4, 16, ...: the machine may have been busy.
            anew = epoch & (epoch - 1) == 0 and epoch.bit_length() % 2 == 1
            alone = None if anew else self._reads_alone
            return Threads(job, self.num_workers, self.prefetch, alone)
        return Processes(job, self.num_workers, self.prefetch, self.start_method)

    def _loop(self, epoch, done):
        tasks = self._tasks(epoch, done)
        pool = self._pool(epoch)
        place = _core.current_place() if self.place is None else self.place
        stays = self.place is None and place == _core.CPUPlace()
        skip = done if self.is_stream else 0
        try:
            for batch in itertools.islice(_in_order(pool, tasks, self.timeout or None), skip, None):
                if self._epoch == epoch:
                    self._done += 1
                yield batch if stays else to_place(batch, place)
            if self._epoch == epoch:
                self._epoch, self._done = epoch + 1, 0
        finally:
            self._reads_alone = getattr(pool, "alone", None)
            pool.close()


def _in_order(pool, tasks, timeout):
    """Keep the workers busy; yield their batches by number."""
    waiting, ended, exhausted = {}, set(), False
    wanted = sent = None  # numbers; they begin in the middle if an epoch is resumed
    while True:
        while not exhausted and (sent is None or sent - wanted < pool.most):
            task = next(tasks, None)
            if task is None:
                exhausted = True
                break
            if sent is None:
                wanted = task[0]
            pool.submit(*task)
            sent = task[0] + 1
        if wanted == sent:
            return
        while wanted not in waiting:
            number, result = pool.take(timeout)
            waiting[number] = result
        result = waiting.pop(wanted)
        wanted += 1
        if isinstance(result, Failure):
            raise_failure(result)
        if isinstance(result, str) and result == END:
            ended.add((wanted - 1) % pool.count)
            if len(ended) == pool.count:
                return
            continue
        yield result
        del result


def _new_seed():
    seed, calls = _core.generator_state()
    _core.set_generator_state(seed, calls + 1)
    # A later loader gets other seeds; the same program in another run gets the same ones.
    return (seed * 1_000_003 + calls) % (1 << 63)
