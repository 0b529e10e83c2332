"""Threads that only take turns: the loop reads in their place, and nothing else changes."""

import threading

import numpy as np
import pytest

from dygraph import io
from dygraph.io import pools

COUNT = 200  # samples


class Clock:
    """Time of the measurements: reading moves it on, by as much as the test says."""

    def __init__(self):
        self.now, self.by_threads, self.by_loop, self.works = 0.0, 1.0, 1.0, True
        self.worked = threading.local()

    def read(self):
        seconds = self.by_loop if current() is threading.main_thread() else self.by_threads
        self.now += seconds
        self.worked.seconds = self.thread_time() + (seconds if self.works else 0.0)

    def thread_time(self):
        return getattr(self.worked, "seconds", 0.0)


current = threading.current_thread


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(pools.time, "perf_counter", lambda: made.now)
    monkeypatch.setattr(pools.time, "thread_time", made.thread_time)
    return made


class Seen(io.Dataset):
    """Sample, worker, number of workers, a random number; and which threads read."""

    def __init__(self, clock, broken=None):
        self.clock, self.threads, self.broken = clock, [], broken

    def __getitem__(self, i):
        if i == self.broken:
            raise ArithmeticError("no such sample")
        info = io.get_worker_info()
        self.threads.append(current())
        self.clock.read()
        return i, info.id, info.num_workers, io.sample_rng().random()

    def __len__(self):
        return COUNT

    def in_loop(self):
        """How many of the samples since the last question the loop read itself."""
        count = sum(t is threading.main_thread() for t in self.threads)
        self.threads.clear()
        return count


def flat(loader):
    return [[part.tolist() for part in batch] for batch in loader]


def loader(dataset, **more):
    return io.DataLoader(dataset, 2, seed=3, num_workers=2, **more)


def expected(epoch):
    def drawn(i):  # numbers of a sample become float32
        return float(np.float32(np.random.default_rng([3, epoch, i]).random()))

    rows = [(i, i // 2 % 2, 2, drawn(i)) for i in range(COUNT)]
    return [[list(part) for part in zip(*rows[i : i + 2], strict=True)] for i in range(0, COUNT, 2)]


def test_a_faster_loop_reads_the_rest_of_the_epoch_and_later_ones(clock):
    clock.by_threads = 3.0
    data = Seen(clock)
    ours, counts = loader(data), []
    for epoch in range(6):
        assert flat(ours) == expected(epoch)
        counts.append(data.in_loop())
        assert io.get_worker_info() is None
    # Measured in epochs 0, 1 and 4, where threads begin.
    assert all(COUNT / 2 < counts[i] < COUNT for i in (0, 1, 4))
    assert all(counts[i] == COUNT for i in (2, 3, 5))


def test_faster_threads_go_on_after_a_trial(clock):
    clock.by_loop = 3.0
    data = Seen(clock)
    ours, counts = loader(data), []
    for epoch in range(3):
        assert flat(ours) == expected(epoch)
        last = data.threads[-10:]
        assert not any(t is threading.main_thread() for t in last)
        counts.append(data.in_loop())
    assert 0 < counts[0] < COUNT / 2 and 0 < counts[1] < COUNT / 2 and counts[2] == 0


def test_threads_that_wait_for_files_go_on(clock):
    clock.works, clock.by_threads = False, 3.0
    data = Seen(clock)
    ours = loader(data)
    for epoch in range(3):
        assert flat(ours) == expected(epoch)
        assert data.in_loop() == 0


def test_workers_with_a_function_of_their_own_keep_their_threads(clock):
    clock.by_threads = 3.0
    data = Seen(clock)
    assert flat(loader(data, worker_init_fn=lambda worker: None)) == expected(0)
    assert data.in_loop() == 0


def test_an_error_names_the_sample_and_the_next_loop_is_whole(clock):
    clock.by_threads = 3.0
    data = Seen(clock, broken=COUNT - 3)
    ours = loader(data)
    with pytest.raises(ArithmeticError, match="no such sample") as error:
        flat(ours)
    assert f"sample {COUNT - 3}" in str(error.value) and data.in_loop() > 0
    data.broken = None
    pairs = [[i, i + 1] for i in range(0, COUNT, 2)]
    assert [row[0] for row in flat(ours)] == pairs
