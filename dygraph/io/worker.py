"""The worker: reads samples, collates them, and reports errors with their tracebacks."""

import contextlib
import itertools
import random
import threading
import traceback

import numpy as np

from dygraph import _core
from dygraph.errors import PreconditionNotMetError
from dygraph.inspect.shown import Shown
from dygraph.io.collate import gather, to_variables
from dygraph.io.sampler import batches

__all__ = ["get_worker_info", "sample_rng"]

END = "end of the stream"
_local = threading.local()


class WorkerInfo(Shown):
    """The current worker: ``id`` from 0, ``num_workers``, ``seed``, ``dataset``.

    Parameters
    ----------
    id : int
        From 0.
    num_workers : int
    seed : int
        Of this worker.
    dataset : Dataset

    Examples
    --------
    >>> from dygraph import io
    >>> info = io.WorkerInfo(0, num_workers=2, seed=7, dataset=range(4))
    >>> info.id, info.num_workers
    (0, 2)
    """

    def __init__(self, id, num_workers, seed, dataset):
        self.id, self.num_workers, self.seed, self.dataset = id, num_workers, seed, dataset


def get_worker_info():
    """The `WorkerInfo` of the calling worker; None outside a worker.

    Returns
    -------
    WorkerInfo or None

    Examples
    --------
    >>> from dygraph import io
    >>> class Workers(io.Dataset):
    ...     def __getitem__(self, i):
    ...         return io.get_worker_info().num_workers
    ...
    ...     def __len__(self):
    ...         return 2
    >>> [batch.tolist() for batch in io.DataLoader(Workers(), batch_size=2, num_workers=2)]
    [[2, 2]]
    >>> io.get_worker_info() is None
    True
    """
    return getattr(_local, "info", None)


def sample_rng():
    """A ``numpy.random.Generator`` for the sample that is being read.

    Its seed is (seed of the loader, epoch, index of the sample), so its numbers do not depend on
    the number, kind or timing of workers. Call it once in a ``__getitem__``.

    Returns
    -------
    numpy.random.Generator

    Raises
    ------
    PreconditionNotMetError
        If no loader is reading.

    Examples
    --------
    >>> from dygraph import io
    >>> class Noisy(io.Dataset):
    ...     def __getitem__(self, i):
    ...         return i + io.sample_rng().random()
    ...
    ...     def __len__(self):
    ...         return 4
    >>> def batch(workers):
    ...     loader = io.DataLoader(Noisy(), batch_size=4, seed=1, num_workers=workers)
    ...     return next(iter(loader)).tolist()
    >>> [int(x) for x in batch(0)], batch(0) == batch(2)
    ([0, 1, 2, 3], True)
    """
    key = getattr(_local, "key", None)
    if key is None:
        raise PreconditionNotMetError(
            "sample_rng: must be called while a DataLoader reads a sample, got a call outside"
        )
    return np.random.default_rng(key)


class Job:
    """A pass over a data set, as passed to every worker."""

    def __init__(self, dataset, collate_fn, ragged, seed, epoch, stream, init_fn):
        self.dataset, self.collate_fn, self.ragged = dataset, collate_fn, ragged
        self.seed, self.epoch, self.init_fn = seed, epoch, init_fn
        self.stream = stream  # None, or (batch_size, drop_last) of an IterableDataset
        # A guard's place and float type belong to a thread: workers use those of the loop.
        self.place, self.cast_floats_to = _core.current_place(), _core.cast_floats_to()

    def enter(self):
        """Use the place and float type of the loop's thread in this thread."""
        _core.set_current_place(self.place)
        _core.set_cast_floats_to(self.cast_floats_to)

    def __getstate__(self):  # for processes that are not forked: they make no Variables
        return {**self.__dict__, "place": None, "cast_floats_to": None}


class Failure:
    """An error of a worker for the loop."""

    def __init__(self, error, note):
        self.error, self.note = error, note


class Reader:
    """One worker's state.

    ``run(number, task)`` returns a batch, END or a Failure and never raises.
    """

    def __init__(self, job, worker, workers, kind):
        self.job, self.worker, self.workers, self.kind = job, worker, workers, kind
        self.batches = self.sample = None
        self.started = self.stopped = False
        self.spent = 0.0  # processor seconds of its thread

    def run(self, number, task):
        try:
            if not self.started:
                self._start()
            if self.job.stream is not None:
                return next(self.batches)
            if self.kind == "process":
                self._seed(number)
            return self._collate([self._sample(i) for i in task])
        except (
            BaseException
        ) as error:  # also SystemExit: a worker that ends silently would hang the loop
            if not self.kind and not isinstance(error, Exception):
                raise
            return Failure(error, self._note())
        finally:
            _local.key = None

    def _start(self):
        job = self.job
        if self.kind:
            _core.set_service_thread()
            if self.kind == "thread":
                job.enter()
            _local.info = WorkerInfo(self.worker, self.workers, job.seed, job.dataset)
        if self.kind and job.init_fn is not None:
            job.init_fn(self.worker)
        if job.stream is not None:
            self.batches = self._stream()
        self.started = True

    def _seed(self, *numbers):
        """Seed Python's and NumPy's generators, which all forked workers would share."""
        key = np.random.SeedSequence([self.job.seed, self.job.epoch, *numbers])
        a, b, c = key.generate_state(3).tolist()
        random.seed(a)
        np.random.seed(b)
        _core.seed(c)

    def _sample(self, index):
        if self.stopped:
            raise InterruptedError("the loader was closed")
        self.sample = index
        if isinstance(index, (int, np.integer)) and index >= 0:
            _local.key = [self.job.seed, self.job.epoch, int(index)]
        return self.job.dataset[index]

    def _collate(self, samples):
        job, self.sample = self.job, None
        batch = gather(samples, job.ragged) if job.collate_fn is None else job.collate_fn(samples)
        return batch if self.kind == "process" else to_variables(batch)

    def _stream(self):
        job = self.job
        size, drop_last = job.stream
        split = getattr(job.dataset, "split", None)
        own = split is not None and self.workers > 1
        if self.kind == "process":
            self._seed(*([self.worker] if own else []))
        items = split(self.worker, self.workers) if own else job.dataset
        groups = batches(self._numbered(iter(items), [self.worker] if own else []), size, drop_last)
        step = 1 if own else self.workers
        for group in itertools.islice(groups, 0 if own else self.worker, None, step):
            yield self._collate(group)
        while True:
            yield END

    def _numbered(self, items, key):
        for i in itertools.count():
            if self.stopped:
                return
            self.sample = i
            _local.key = [self.job.seed, self.job.epoch, *key, i]
            try:
                item = next(items)
            except StopIteration:
                return
            yield item

    def _note(self):
        what = "a batch" if self.sample is None else f"sample {self.sample!r}"
        if not self.kind:
            return f"while the loader read {what}"
        text = f"while worker {self.worker} (a {self.kind}) read {what}"
        if self.kind == "process":
            text += f"\n\nIn the worker:\n{traceback.format_exc()}"
        return text


@contextlib.contextmanager
def reading_as(reader):
    """Within, the calling thread is this worker for `get_worker_info`."""
    job, before = reader.job, getattr(_local, "info", None)
    _local.info = WorkerInfo(reader.worker, reader.workers, job.seed, job.dataset)
    try:
        yield
    finally:
        _local.info = before


def raise_failure(failure):
    """Raise a worker's error in the loop, with its type, message and origin."""
    error, note = failure.error, failure.note
    if len(error.args) == 1 and isinstance(error.args[0], str) and type(error) is not KeyError:
        error.args = (f"{error.args[0]}\n{note}",)
    elif hasattr(error, "add_note"):
        error.add_note(note)
    else:
        raise error from RuntimeError(note)
    raise error
