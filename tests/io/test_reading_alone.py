"""Threads that only take turns: the loop reads in their place, and nothing else changes."""

import threading

import numpy as np
import pytest

from dygraph import io
from dygraph.io import pools


class Seen(io.Dataset):
    """Sample, worker, number of workers, a random number; and which threads read."""

    def __init__(self, broken=None):
        self.threads, self.broken = [], broken

    def __getitem__(self, i):
        if i == self.broken:
            raise ArithmeticError("no such sample")
        info = io.get_worker_info()
        self.threads.append(threading.current_thread())
        return i, info.id, info.num_workers, io.sample_rng().random()

    def __len__(self):
        return 40


def flat(loader):
    return [[part.tolist() for part in batch] for batch in loader]


def loader(dataset, **more):
    return io.DataLoader(dataset, 2, seed=3, num_workers=2, **more)


@pytest.fixture
def turns(monkeypatch):
    """Every measurement says that threads take turns."""
    monkeypatch.setattr(pools.Threads, "_TURNS", (0.0, float("inf")))
    monkeypatch.setattr(pools.Threads, "_SECONDS", 0.0)


@pytest.fixture
def parallel(monkeypatch):
    """Every measurement says that threads gain something."""
    monkeypatch.setattr(pools.Threads, "_TURNS", (float("inf"), float("inf")))
    monkeypatch.setattr(pools.Threads, "_SECONDS", 0.0)


def expected(epoch):
    def drawn(i):  # numbers of a sample become float32
        return float(np.float32(np.random.default_rng([3, epoch, i]).random()))

    rows = [(i, i // 2 % 2, 2, drawn(i)) for i in range(40)]
    return [[list(part) for part in zip(*rows[i : i + 2], strict=True)] for i in range(0, 40, 2)]


def test_the_loop_reads_the_rest_of_the_epoch_and_later_ones(turns):
    data = Seen()
    ours = loader(data)
    main = threading.current_thread()
    epochs = []
    for epoch in range(4):
        data.threads.clear()
        assert flat(ours) == expected(epoch)
        epochs.append(sum(t is main for t in data.threads))
        assert io.get_worker_info() is None
    # Measured in epochs 0, 1 and 2, where threads begin; in epoch 3 the loop reads all by itself.
    assert all(0 < count < 40 for count in epochs[:3]) and epochs[3] == 40


def test_threads_that_gain_something_go_on(parallel):
    data = Seen()
    assert flat(loader(data)) == expected(0)
    assert threading.current_thread() not in data.threads


def test_workers_with_a_function_of_their_own_keep_their_threads(turns):
    data = Seen()
    assert flat(loader(data, worker_init_fn=lambda worker: None)) == expected(0)
    assert threading.current_thread() not in data.threads


def test_an_error_names_the_sample_and_the_next_loop_is_whole(turns):
    data = Seen(broken=37)
    ours = loader(data)
    with pytest.raises(ArithmeticError, match="no such sample") as error:
        flat(ours)
    assert "sample 37" in str(error.value)
    data.broken = None
    assert [row[0] for row in flat(ours)] == [[i, i + 1] for i in range(0, 40, 2)]


def test_the_decision_counts_processor_time(monkeypatch):
    monkeypatch.setattr(pools.Threads, "_SECONDS", 0.0)
    clock = {"passed": 10.0, "loop": 0.0}
    monkeypatch.setattr(pools.time, "perf_counter", lambda: clock["passed"])
    monkeypatch.setattr(pools.time, "thread_time", lambda: clock["loop"])
    job = type("Job", (), {"stream": None, "init_fn": None})()
    for seconds_of_threads, alone in [(0.2, False), (0.95, True), (1.9, False)]:
        pool = pools.Threads(job, 2, 1)
        pool.close()
        pool._start, pool._start_of_loop = 9.0, 0.0
        for reader in pool.readers:
            reader.spent = seconds_of_threads / 2
        pool._decide()
        assert pool.alone is alone
