"""Workers of a loader: none, threads, or processes. All return numbered results in any order.

Processes are forked by default: a data set need not be picklable and a start takes milliseconds.
The compute threads do not survive a fork, so a child computes with one thread (the core sets this),
as a worker should. For libraries that cannot be forked there is ``start_method='spawn'``. Batches
return through pipes and private shared memory: /dev/shm, small or missing in many containers, is
never used.
"""

import atexit
import contextlib
import os
import queue
import signal
import threading
import time
import traceback
import warnings
import weakref

from dygraph.errors import PreconditionNotMetError
from dygraph.io.collate import to_arrays, to_variables
from dygraph.io.memory_pipe import Receiver, Sender
from dygraph.io.worker import Failure, Reader, reading_as

# Seconds for threads to end their samples. Ctrl-C may not take longer than 0.2; a thread that
# reads longer ends after the sample.
_PATIENCE = 0.1
_LOOK_UP = 0.05  # seconds without a check for Ctrl-C
_open: weakref.WeakSet = weakref.WeakSet()


@atexit.register
def _close_all():
    for pool in list(_open):
        pool.close()


class Serial:
    """No workers: the loop itself reads."""

    count = most = 1

    def __init__(self, job):
        self._reader, self._tasks = Reader(job, 0, 1, ""), []

    def submit(self, number, task):
        self._tasks.append((number, task))

    def take(self, timeout):
        number, task = self._tasks.pop(0)
        return number, self._reader.run(number, task)

    def close(self):
        pass


class _Pool:
    def __init__(self, count, prefetch):
        self.count, self.most = count, count * prefetch
        self.results = queue.SimpleQueue()
        self.closed, self._owner = False, os.getpid()
        _open.add(self)

    def close(self):
        """End the workers. No effect in a forked child, to which they do not belong."""
        if not self.closed and os.getpid() == self._owner:
            self.closed = True
            self._end()

    def take(self, timeout):
        """(number, result) of a finished task."""
        number, result = patient_get(self.results, timeout)
        if number is None:
            raise result
        return number, result


def patient_get(results, timeout=None):
    """The next item of a queue. Wakes often: a signal may have reached another thread."""
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        try:
            return results.get(timeout=_LOOK_UP)
        except queue.Empty:
            if end is not None and time.monotonic() > end:
                raise TimeoutError(
                    f"DataLoader: a batch must come within timeout={timeout} seconds, got none"
                ) from None


class _Here:
    """The loop reads in place of the workers, batch by batch, with their states."""

    def __init__(self, job, count):
        self._readers = [Reader(job, i, count, "") for i in range(count)]
        self.tasks = []

    def take(self):
        number, task = self.tasks.pop(0)
        reader = self._readers[number % len(self._readers)]
        with reading_as(reader):
            return number, reader.run(number, task)


class Threads(_Pool):
    """Threads that read ahead while that is faster.

    Data sets that compute in Python hold its lock: their threads run one at a time, and passing the
    lock makes them slower than one loop. So the first batches are timed with threads and then,
    unless the threads wait for files, in the loop itself; the faster method reads the rest. `alone`
    stores the choice for later epochs; None: not known yet. Streams, and workers with a
    ``worker_init_fn``, keep their threads.
    """

    _BATCHES, _SECONDS = 2, 0.02  # for each thread, and in all, before a method is timed
    _WAITS = 0.85  # processor time by time passed, below which threads wait

    def __init__(self, job, count, prefetch, alone=None):
        super().__init__(count, prefetch)
        self.alone = alone if job.stream is None and job.init_fn is None else False
        self._here = _Here(job, count)
        self._reads_here = self.alone is True
        self._sent = self._taken = self._read_here = 0
        self._start = self._start_of_loop = self._start_here = self._rate = None
        self.readers, self.threads, self.tasks = [], [], []
        if not self._reads_here:
            self._start_threads(job, count)

    def _start_threads(self, job, count):
        self.tasks = [queue.SimpleQueue() for _ in range(count)]
        self.readers = [Reader(job, i, count, "thread") for i in range(count)]
        self.threads = [
            threading.Thread(
                target=_run_thread,
                args=(self.readers[i], self.tasks[i], self.results),
                name=f"dygraph-loader-{i}",
                daemon=True,
            )
            for i in range(count)
        ]
        for thread in self.threads:
            thread.start()

    def submit(self, number, task):
        if self._reads_here:
            self._here.tasks.append((number, task))
            return
        if self._start is None:
            self._start, self._start_of_loop = time.perf_counter(), time.thread_time()
        self._sent += 1
        self.tasks[number % self.count].put((number, task))

    def take(self, timeout):
        if self._taken == self._sent:
            return self._take_here()
        answer = super().take(timeout)
        self._taken += 1
        if self.alone is None and self._rate is None:
            self._time_threads()
        return answer

    def _take_here(self):
        if self._start_here is None:
            self._start_here = time.perf_counter()
        answer = self._here.take()
        self._read_here += 1
        if self.alone is None:
            self._time_loop()
        return answer

    def _enough(self, batches, passed):
        return batches >= self._BATCHES * self.count and passed >= self._SECONDS

    def _time_threads(self):
        passed = time.perf_counter() - self._start
        if not self._enough(self._taken, passed):
            return
        self._rate = (self._taken + self.results.qsize()) / passed
        spent = sum(r.spent for r in self.readers) + time.thread_time() - self._start_of_loop
        if spent < self._WAITS * passed:
            self.alone = False
        else:
            self._reads_here = True

    def _time_loop(self):
        passed = time.perf_counter() - self._start_here
        if self._enough(self._read_here, passed):
            self.alone = self._reads_here = self._read_here / passed >= self._rate

    def _end(self):
        for reader, tasks in zip(self.readers, self.tasks, strict=True):
            reader.stopped = True
            tasks.put(None)
        end = time.monotonic() + _PATIENCE
        for thread in self.threads:
            thread.join(max(0.0, end - time.monotonic()))


def _run_thread(reader, tasks, results):
    while True:
        task = tasks.get()
        if task is None or reader.stopped:
            return
        result = reader.run(*task)
        reader.spent = time.thread_time()
        results.put((task[0], result))
        del result


class _Children:
    """Forked, or otherwise started, processes that communicate through pipes."""

    def __init__(self, method):
        import multiprocessing

        self.context = multiprocessing.get_context(method)
        self.ends, self.processes, self.method = [], [], method

    def start(self, target, *args, inherited=()):
        """A process that runs ``target(end, inherited ends to be closed, *args)``."""
        ours, theirs = self.context.Pipe()
        self.ends.append(ours)
        close = [*self.ends, *inherited] if self.method == "fork" else []
        number = len(self.processes)
        process = self.context.Process(
            target=target,
            args=(theirs, close, *args),
            name=f"dygraph-loader-{number}",
            daemon=True,
        )
        with warnings.catch_warnings():
            # Python's warning of threads in a process that forks: see the text above.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        theirs.close()
        self.processes.append(process)

    def describe_death(self, i):
        """The error of a process that ended by itself."""
        process = self.processes[i]
        process.join()
        code = process.exitcode
        how = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
        killed = code == -signal.SIGKILL
        hint = " The system kills processes where memory runs out" if killed else ""
        return PreconditionNotMetError(
            f"DataLoader: worker {i} must live as long as the loop, but process {process.pid} "
            f"ended with {how}.{hint}"
        )

    def kill(self):
        """End a worker without waiting, since its results are not needed."""
        for step in ("kill", "join", "close"):
            for process in self.processes:
                # It may have ended already: by itself, or at Python's exit, for which another
                # thread may wait as well.
                with contextlib.suppress(OSError, ValueError, AssertionError):
                    getattr(process, step)()

    def close_ends(self):
        for end in self.ends:
            end.close()


class Processes(_Pool):
    def __init__(self, job, count, prefetch, method):
        super().__init__(count, prefetch)
        self.children = _Children(method)
        self.wake, self._wake = self.children.context.Pipe(duplex=False)
        try:
            for i in range(count):
                inherited = (self.wake, self._wake)
                self.children.start(_run_process, job, i, count, prefetch, inherited=inherited)
        except BaseException:
            self.children.kill()
            raise
        self.thread = threading.Thread(
            target=self._receive, args=(job,), name="dygraph-loader", daemon=True
        )
        self.thread.start()

    def submit(self, number, task):
        try:
            self.children.ends[number % self.count].send((number, task))
        except OSError:  # it died: the receiving thread reports it
            pass

    def _receive(self, job):
        try:
            job.enter()
            self._receive_all()
        except BaseException as error:  # the loop must not wait for an ended thread
            self.results.put((None, error))

    def _receive_all(self):
        from multiprocessing.connection import wait

        sentinels = {p.sentinel: i for i, p in enumerate(self.children.processes)}
        ends = {end: Receiver(end) for end in self.children.ends}
        while True:
            ready = wait([*ends, *sentinels, self.wake])
            if self.wake in ready:
                return
            for end in [e for e in ready if e in ends]:
                try:
                    self.results.put(ends[end].receive(_finish))
                except (EOFError, OSError):
                    del ends[end]
                except Exception as error:  # a batch that cannot be unpickled
                    self.results.put((None, error))
            for sentinel in [s for s in ready if s in sentinels]:
                end = self.children.ends[sentinels[sentinel]]
                if end not in ends or end not in ready:  # all of it has been read
                    ends.pop(end, None)
                    dead = sentinels.pop(sentinel)
                    self.results.put((None, self.children.describe_death(dead)))

    def _end(self):
        self._wake.close()
        self.children.kill()
        self.thread.join()
        self.wake.close()
        self.children.close_ends()


def _prepare_process(inherited):
    for other in inherited:  # else a dead parent would leave its ends open here
        other.close()
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C goes to the parent, which ends this process
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _finish(result):
    return result if isinstance(result, Failure) else to_variables(result)


def _run_process(end, inherited, job, worker, workers, prefetch):
    _prepare_process(inherited)
    reader, sender = Reader(job, worker, workers, "process"), Sender(end, prefetch)
    try:
        while True:
            number, task = end.recv()
            _send(sender, number, reader.run(number, task), reader)
    except (EOFError, OSError):  # the parent is gone
        pass


def _send(sender, number, result, reader):
    if isinstance(result, Failure):
        result = portable(result)
    else:
        result = to_arrays(result)
    try:
        sender.send(number, result)
    except OSError:
        raise
    except Exception as error:  # a batch that cannot be pickled
        sender.send(number, portable(Failure(error, reader._note())))


def portable(failure):
    """The failure with an error that can be sent: some exceptions cannot be pickled."""
    from multiprocessing.reduction import ForkingPickler

    error = failure.error
    try:
        if type(ForkingPickler.loads(ForkingPickler.dumps(error))) is type(error):
            return failure
    except Exception:
        pass
    return Failure(RuntimeError(f"{type(error).__name__}: {error}"), failure.note)


class Sources:
    """A process for each reader; samples arrive as they are ready."""

    def __init__(self, readers):
        self.children = _Children("fork")
        try:
            for i, reader in enumerate(readers):
                self.children.start(_run_source, reader, i)
        except BaseException:
            self.children.kill()
            raise

    def results(self):
        from multiprocessing.connection import wait

        ends = dict(zip(self.children.ends, range(len(self.children.ends)), strict=True))
        while ends:
            for end in wait(ends):
                try:
                    ended, sample = end.recv()
                except (EOFError, OSError):
                    raise self.children.describe_death(ends[end]) from None
                if ended:
                    del ends[end]
                else:
                    yield sample

    def close(self):
        self.children.kill()
        self.children.close_ends()


def _run_source(end, inherited, reader, number):
    _prepare_process(inherited)
    try:
        for sample in reader():
            end.send((False, sample))
    except BrokenPipeError:  # the parent is gone
        return
    except BaseException as error:
        text = f"while reader {number} ran in its process\n\nThere:\n{traceback.format_exc()}"
        end.send((False, portable(Failure(error, text))))
    end.send((True, None))
