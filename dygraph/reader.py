"""Fluid's readers: functions without arguments that give iterators of samples, and decorators.

A decorator takes readers and returns a reader. Errors of a reader or mapper, also in a thread or a
process, are raised where the samples are used. Leaving the loop stops its threads and processes.
"""

import contextlib
import itertools
import queue
import random
import threading
import time

from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of

__all__ = [
    "ComposeNotAligned",
    "batch",
    "buffered",
    "cache",
    "chain",
    "compose",
    "firstn",
    "map_readers",
    "multiprocess_reader",
    "shuffle",
    "xmap_readers",
]


class ComposeNotAligned(InvalidArgumentError):
    """The readers given to `compose` have different numbers of samples.

    Examples
    --------
    >>> from dygraph import reader
    >>> try:
    ...     list(reader.compose(lambda: [1, 2], lambda: [3])())
    ... except reader.ComposeNotAligned:
    ...     print("not aligned")
    not aligned
    """


def _checked(reader, what):
    if not callable(reader):
        raise ArgumentTypeError(
            f"{what}: a reader must be a function that gives an iterator, got {kind_of(reader)}. "
            "Pass the function itself, without calling it"
        )
    return reader


def batch(reader, batch_size, drop_last=False):
    """Lists of `batch_size` samples.

    Parameters
    ----------
    reader : callable
        A function without arguments that gives an iterator of samples.
    batch_size : int
        The samples of a list.
    drop_last : bool, default False
        Whether to leave out a last list that is shorter.

    Returns
    -------
    callable
        A reader of lists.

    Raises
    ------
    ArgumentTypeError
        `reader` is no function.

    Examples
    --------
    >>> from dygraph import reader
    >>> list(reader.batch(lambda: range(5), 2)())
    [[0, 1], [2, 3], [4]]
    """
    from dygraph.io.sampler import batches

    _checked(reader, "batch")
    check.integer(batch_size, "batch: batch_size", 1)
    return lambda: batches(reader(), batch_size, drop_last)


def cache(reader):
    """The samples of a reader, read once and kept in memory.

    Parameters
    ----------
    reader : callable
        A function without arguments that gives an iterator of samples.

    Returns
    -------
    callable
        A reader of the same samples.

    Raises
    ------
    ArgumentTypeError
        `reader` is no function.

    Examples
    --------
    >>> from dygraph import reader
    >>> source = iter([1, 2])
    >>> twice = reader.cache(lambda: source)
    >>> list(twice()), list(twice())
    ([1, 2], [1, 2])
    """
    _checked(reader, "cache")
    kept, lock = [], threading.Lock()

    def cached():
        with lock:
            if not kept:
                kept.append(tuple(reader()))
        return iter(kept[0])

    return cached


def map_readers(func, *readers):
    """``func(a, b, ...)`` of the samples of several readers in parallel.

    Parameters
    ----------
    func : callable
        Takes a sample of each reader.
    *readers : callable
        Functions without arguments that give iterators.

    Returns
    -------
    callable
        A reader of what `func` returns, until a reader ends.

    Raises
    ------
    ArgumentTypeError
        An argument is no function.

    Examples
    --------
    >>> from dygraph import reader
    >>> list(reader.map_readers(max, lambda: [1, 5], lambda: [3, 2])())
    [3, 5]
    """
    _checked(func, "map_readers")
    for r in readers:
        _checked(r, "map_readers")
    return lambda: map(func, *(r() for r in readers))


def shuffle(reader, buf_size, seed=None):
    """Samples in random order within buffers of `buf_size`.

    Parameters
    ----------
    reader : callable
        A function without arguments that gives an iterator of samples.
    buf_size : int
        How many samples are read before they are given in random order.
    seed : int, optional
        Each pass has the order of this seed; None: Python's `random`, as in Fluid.

    Returns
    -------
    callable
        A reader of the same samples.

    Raises
    ------
    ArgumentTypeError
        `reader` is no function.

    Examples
    --------
    >>> from dygraph import reader
    >>> samples = list(reader.shuffle(lambda: range(4), buf_size=2)())
    >>> sorted(samples[:2]), sorted(samples[2:])
    ([0, 1], [2, 3])
    """
    _checked(reader, "shuffle")
    check.integer(buf_size, "shuffle: buf_size", 1)

    def shuffled():
        rng = random if seed is None else random.Random(seed)
        samples = reader()
        samples = iter(samples)
        while buffer := list(itertools.islice(samples, buf_size)):
            rng.shuffle(buffer)
            yield from buffer

    return shuffled


def chain(*readers):
    """The samples of the first reader, then those of the second, and so on.

    Parameters
    ----------
    *readers : callable
        Functions without arguments that give iterators.

    Returns
    -------
    callable
        A reader of all samples.

    Raises
    ------
    ArgumentTypeError
        An argument is no function.

    Examples
    --------
    >>> from dygraph import reader
    >>> list(reader.chain(lambda: [1, 2], lambda: [3])())
    [1, 2, 3]
    """
    for r in readers:
        _checked(r, "chain")
    return lambda: itertools.chain.from_iterable(r() for r in readers)


def compose(*readers, check_alignment=True):
    """Tuples of the samples of several readers in parallel; samples that are tuples are joined.

    Parameters
    ----------
    *readers : callable
        Functions without arguments that give iterators.
    check_alignment : bool, default True
        Whether the readers must have equally many samples; else what the others have left is left
        out.

    Returns
    -------
    callable
        A reader of tuples.

    Raises
    ------
    ComposeNotAligned
        (a ValueError) While reading, one reader ends before another.

    Examples
    --------
    >>> from dygraph import reader
    >>> list(reader.compose(lambda: [1, 2], lambda: [(3, 4), (5, 6)])())
    [(1, 3, 4), (2, 5, 6)]
    """
    for r in readers:
        _checked(r, "compose")
    end = object()

    def composed():
        for row in itertools.zip_longest(*(r() for r in readers), fillvalue=end):
            ended = [i for i, part in enumerate(row) if part is end]
            if ended and check_alignment:
                raise ComposeNotAligned(
                    "compose: all readers must have equally many samples, but of "
                    f"{len(readers)} readers number {ended[0]} ended first"
                )
            if ended:
                return
            yield sum((p if isinstance(p, tuple) else (p,) for p in row), ())

    return composed


def firstn(reader, n):
    """The first `n` samples.

    Parameters
    ----------
    reader : callable
        A function without arguments that gives an iterator of samples.
    n : int
        How many.

    Returns
    -------
    callable
        A reader of them.

    Raises
    ------
    ArgumentTypeError
        `reader` is no function.

    Examples
    --------
    >>> from dygraph import reader
    >>> list(reader.firstn(lambda: range(100), 3)())
    [0, 1, 2]
    """
    _checked(reader, "firstn")
    check.integer(n, "firstn: n", 0)
    return lambda: itertools.islice(reader(), n)


# Reading ahead ------------------------------------------------------------------------------------

_PATIENCE = 0.1  # seconds until a thread notices that it has no consumer
_END = object()


class _Error:
    def __init__(self, error):
        self.error = error


class _Threads:
    """Threads that fill one bounded queue for as long as it has a consumer."""

    def __init__(self, size):
        self.queue, self.stopped, self.threads = queue.Queue(size), False, []

    def start(self, source):
        """A thread that makes and reads an iterator. It puts _END last, or an _Error."""
        thread = threading.Thread(target=self._run, args=(source,), daemon=True)
        thread.name = "dygraph-reader"
        self.threads.append(thread)
        thread.start()

    def _run(self, source):
        from dygraph import _core

        _core.set_service_thread()
        try:
            for sample in source():
                if not self._put(sample):
                    return
            self._put(_END)
        except BaseException as error:  # raised where the samples are used
            self._put(_Error(error))

    def _put(self, item):
        while not self.stopped:
            try:
                self.queue.put(item, timeout=_PATIENCE / 2)
                return True
            except queue.Full:
                pass
        return False

    def results(self):
        """The items of the threads, until all have ended or this is closed."""
        from dygraph.io.pools import patient_get

        running = len(self.threads)
        while running and not self.stopped:
            item = patient_get(self.queue)
            if item is _END:
                running -= 1
            elif isinstance(item, _Error):
                raise item.error
            else:
                yield item

    def close(self):
        self.stopped = True
        waking = False  # another thread may wait for results
        while not waking:
            try:
                self.queue.put_nowait(_END)
                waking = True
            except queue.Full:
                with contextlib.suppress(queue.Empty):
                    self.queue.get_nowait()
        end = time.monotonic() + _PATIENCE
        for thread in self.threads:
            thread.join(max(0.0, end - time.monotonic()))


def buffered(reader, size):
    """The same samples, read ahead by a thread.

    Parameters
    ----------
    reader : callable
        A function without arguments that gives an iterator of samples.
    size : int
        How many samples are read ahead.

    Returns
    -------
    callable
        A reader of the same samples.

    Raises
    ------
    ArgumentTypeError
        `reader` is no function.

    Examples
    --------
    >>> from dygraph import reader
    >>> list(reader.buffered(lambda: range(4), 2)())
    [0, 1, 2, 3]
    """
    _checked(reader, "buffered")
    check.integer(size, "buffered: size", 1)

    def ahead():
        threads = _Threads(size)
        threads.start(reader)
        try:
            yield from threads.results()
        finally:
            threads.close()

    return ahead


def xmap_readers(mapper, reader, process_num, buffer_size, order=False):
    """``mapper(sample)`` by several threads.

    Parameters
    ----------
    mapper : callable
        Takes a sample.
    reader : callable
        A function without arguments that gives an iterator of samples.
    process_num : int
        The number of threads; Fluid's name.
    buffer_size : int
        The number of samples that are read ahead, and of results.
    order : bool, default False
        True: results in the order of the samples. False: in the order of completion.

    Returns
    -------
    callable
        A reader of what `mapper` returns.

    Examples
    --------
    >>> from dygraph import reader
    >>> squares = reader.xmap_readers(lambda x: x * x, lambda: range(4), 2, 4, order=True)
    >>> list(squares())
    [0, 1, 4, 9]
    """
    _checked(reader, "xmap_readers"), _checked(mapper, "xmap_readers")
    check.integer(process_num, "xmap_readers: process_num", 1, 1024)
    check.integer(buffer_size, "xmap_readers: buffer_size", 1)

    def mapped():
        ahead = _Threads(buffer_size)
        ahead.start(reader)
        # One lock protects the samples and their positions in the order.
        samples, lock = enumerate(ahead.results()), threading.Lock()
        room = threading.Semaphore(buffer_size + process_num)  # so that results do not accumulate
        threads = _Threads(0)

        def work():
            while True:
                while not room.acquire(timeout=_PATIENCE / 2):
                    if threads.stopped:
                        return
                with lock:
                    item = next(samples, None)
                if item is None:
                    return
                yield item[0], mapper(item[1])

        for _ in range(process_num):
            threads.start(work)
        try:
            early, wanted = {}, 0
            for number, result in threads.results():
                if not order:
                    room.release()
                    yield result
                    continue
                early[number] = result
                while wanted in early:
                    room.release()
                    yield early.pop(wanted)
                    wanted += 1
        finally:
            ahead.close()
            threads.close()

    return mapped


def multiprocess_reader(readers, use_pipe=True, queue_size=1000):
    """The samples of several readers, each in a process of its own, in order of arrival.

    Parameters
    ----------
    readers : list of callable
        Functions without arguments that give iterators.
    use_pipe : bool, default True
        Accepted as in Fluid; samples always come through pipes.
    queue_size : int, default 1000
        Accepted as in Fluid; a pipe holds what the system gives it.

    Returns
    -------
    callable
        A reader of all samples.

    Raises
    ------
    ArgumentTypeError
        One of them is no function.

    Examples
    --------
    >>> from dygraph import reader
    >>> sorted(reader.multiprocess_reader([lambda: [1, 2], lambda: [3]])())
    [1, 2, 3]
    """
    readers = [_checked(r, "multiprocess_reader") for r in readers]
    if not readers:
        raise InvalidArgumentError("multiprocess_reader: there must be at least one reader, got []")

    def merged():
        from dygraph.io.pools import Sources
        from dygraph.io.worker import Failure, raise_failure

        sources = Sources(readers)
        try:
            for item in sources.results():
                if isinstance(item, Failure):
                    raise_failure(item)
                yield item
        finally:
            sources.close()

    return merged
