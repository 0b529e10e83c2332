"""DataLoader: one order whatever the workers, errors whole, interrupts, nothing left running."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import psutil
import pytest

import dygraph
from dygraph import io
from leftovers import left

KINDS = [(0, "thread"), (1, "thread"), (3, "thread"), (1, "process"), (3, "process")]


class Numbers(io.Dataset):
    """x[i] = i, after a while that differs; with random numbers of its own."""

    def __init__(self, count=20, wait=0.0):
        self.count, self.wait = count, wait

    def __getitem__(self, i):
        if self.wait:
            time.sleep(self.wait * (i * 7 % 5))
        return np.full(2, i, "float32"), i, io.sample_rng().random()

    def __len__(self):
        return self.count


class Stream(io.IterableDataset):
    def __init__(self, count=11):
        self.count = count

    def __iter__(self):
        for i in range(self.count):
            yield i, io.sample_rng().random()


def flat(loader):
    return [[part.tolist() for part in batch] for batch in loader]


@pytest.mark.parametrize("workers, kind", KINDS)
def test_order_and_random_numbers_do_not_depend_on_the_workers(workers, kind):
    def epochs(**more):
        loader = io.DataLoader(Numbers(wait=0.001), 3, shuffle=True, seed=5, **more)
        return [flat(loader), flat(loader)]

    first, second = epochs(num_workers=workers, worker=kind)
    assert [first, second] == epochs()
    numbers = [i for batch in first for i in batch[1]]
    assert sorted(numbers) == list(range(20)) and numbers != list(range(20))
    assert first != second
    expected = {i: np.random.default_rng([5, 0, i]).random() for i in range(20)}
    drawn = {i: r for _, ids, draws in first for i, r in zip(ids, draws, strict=True)}
    assert drawn == {i: pytest.approx(r, rel=1e-6) for i, r in expected.items()}
    assert not left(0)


@pytest.mark.parametrize("workers, kind", KINDS)
@pytest.mark.parametrize("count, drop_last", [(11, False), (11, True), (3, False), (0, False)])
def test_a_stream_is_read_once_and_in_order(workers, kind, count, drop_last):
    loader = io.DataLoader(Stream(count), 2, drop_last=drop_last, num_workers=workers, worker=kind)
    batches = flat(loader)
    numbers = [i for batch in batches for i in batch[0]]
    assert numbers == list(range(count - count % 2 if drop_last else count))
    draws = [r for batch in batches for r in batch[1]]
    assert len(set(draws)) == len(draws)
    assert batches == flat(io.DataLoader(Stream(count), 2, drop_last=drop_last, seed=loader.seed))


def test_a_stream_may_split_itself():
    class Split(Stream):
        def split(self, worker, workers):
            assert io.get_worker_info().id == worker
            return iter([(worker, i) for i in range(3 - 2 * worker)])

    loader = io.DataLoader(Split(), 1, num_workers=2)
    assert [(w.item(), i.item()) for w, i in loader] == [(0, 0), (1, 0), (0, 1), (0, 2)]


def test_lengths_and_samplers():
    data = list(range(10))
    assert len(io.DataLoader(data, 3)) == 4 and len(io.DataLoader(data, 3, drop_last=True)) == 3
    assert [b.tolist() for b in io.DataLoader(data, 2, sampler=[3, 1, 2])] == [[3, 1], [2]]
    batches = [[1, 2, 3], [0]]
    assert [b.tolist() for b in io.DataLoader(data, batch_sampler=batches)] == batches
    with pytest.raises(TypeError, match="length of a stream"):
        len(io.DataLoader(Stream()))
    for bad, text in [
        (dict(dataset=Stream(), shuffle=True), "a stream has its own order"),
        (dict(dataset=data, batch_sampler=batches, batch_size=2), "beside a batch_sampler"),
        (dict(dataset=data, sampler=[1], shuffle=True), "must be False beside a sampler"),
        (dict(dataset=5), "must have __getitem__"),
        (dict(dataset=data, worker="fiber"), "must be one of 'thread', 'process'"),
        (dict(dataset=data, num_workers=-1), "at least 0"),
        (dict(dataset=data, collate_fn=3), "must be a function"),
    ]:
        with pytest.raises((TypeError, ValueError), match=text):
            io.DataLoader(**bad)


def test_the_seed_of_dygraph_decides_where_none_is_given():
    def orders():
        loaders = [io.DataLoader(range(50), 50, shuffle=True) for _ in range(2)]
        return [next(iter(loader)).tolist() for loader in loaders]

    dygraph.seed(3)
    first = orders()
    dygraph.seed(4)
    other = orders()
    dygraph.seed(3)
    assert orders() == first != other and first[0] != first[1]


@pytest.mark.parametrize("workers, kind", KINDS)
def test_a_guard_around_the_loop_reaches_the_workers(workers, kind):
    with dygraph.guard(dtype="float32"):
        (batch,) = io.DataLoader([np.zeros(2)], num_workers=workers, worker=kind)
    assert str(batch.dtype) == "float32"
    (batch,) = io.DataLoader([np.zeros(2)], num_workers=workers, worker=kind)
    assert str(batch.dtype) == "float64"


@pytest.mark.parametrize("kind", ["thread", "process"])
def test_worker_init_fn_and_info(kind):
    class Who(io.Dataset):
        def __getitem__(self, i):
            info = io.get_worker_info()
            return info.id, info.num_workers, self.set, dygraph.num_threads()

        def __len__(self):
            return 4

    def init(worker):
        io.get_worker_info().dataset.set = 7

    loader = io.DataLoader(Who(), 1, num_workers=2, worker=kind, worker_init_fn=init)
    assert [[v.item() for v in batch] for batch in loader] == [[i % 2, 2, 7, 1] for i in range(4)]
    assert io.get_worker_info() is None
    with pytest.raises(RuntimeError, match="while a DataLoader reads"):
        io.sample_rng()


@pytest.mark.parametrize("workers", [1, 3])
def test_processes_draw_from_python_and_numpy_what_the_seed_says(workers):
    class Drawing(io.Dataset):
        def __getitem__(self, i):
            import random

            noise = dygraph.ops.uniform_random(shape=[1])
            return random.random(), np.random.rand(), noise.numpy()

        def __len__(self):
            return 8

    loader = io.DataLoader(Drawing(), 2, num_workers=workers, worker="process", seed=1)
    first = flat(loader)
    draws = [x for batch in first for x in batch[0] + batch[1]]
    assert len(set(draws)) == len(draws)
    assert first == flat(io.DataLoader(Drawing(), 2, num_workers=2, worker="process", seed=1))
    assert first != flat(loader)  # another epoch


# Errors -------------------------------------------------------------------------------------------


class Strange(Exception):
    """Has no pickle that works."""

    def __init__(self, a, b):
        super().__init__(a)


class Broken(io.Dataset):
    def __init__(self, error):
        self.error = error

    def __getitem__(self, i):
        if i == 5:
            raise self.error
        return i

    def __len__(self):
        return 8


@pytest.mark.parametrize("workers, kind", KINDS)
def test_errors_arrive_whole(workers, kind):
    loader = io.DataLoader(Broken(ValueError("bad file")), 2, num_workers=workers, worker=kind)
    got = []
    with pytest.raises(ValueError, match="bad file\nwhile .* read sample 5") as error:
        for batch in loader:
            got.append(batch.tolist())
    assert got == [[0, 1], [2, 3]]
    text = str(error.value)
    if kind == "process":
        assert "In the worker:" in text and "raise self.error" in text
    if workers:
        assert f"worker {2 % workers} (a {kind})" in text
    assert not left(0)


@pytest.mark.parametrize("kind", ["thread", "process"])
@pytest.mark.parametrize("error", [KeyError("k"), OSError(2, "gone", "f"), SystemExit(3)])
def test_errors_of_any_form(kind, error):
    with pytest.raises(type(error)) as caught:
        list(io.DataLoader(Broken(error), 2, num_workers=1, worker=kind))
    assert caught.value.args == error.args
    if hasattr(caught.value, "__notes__"):
        assert "sample 5" in caught.value.__notes__[0]


def test_an_exception_without_a_pickle():
    with pytest.raises(RuntimeError, match="Strange: a\nwhile worker 0"):
        list(io.DataLoader(Broken(Strange("a", "b")), 2, num_workers=1, worker="process"))


def test_a_batch_without_a_pickle():
    loader = io.DataLoader([1], num_workers=1, worker="process", collate_fn=lambda s: lambda: 0)
    with pytest.raises(Exception, match="(?i)pickle"):
        list(loader)


def test_errors_of_collating_and_starting():
    data = [np.zeros(2), np.zeros(3)]
    for workers, kind in KINDS:
        with pytest.raises(ValueError, match="one shape in all samples"):
            list(io.DataLoader(data, 2, num_workers=workers, worker=kind))
    with pytest.raises(ZeroDivisionError):
        list(io.DataLoader(data, num_workers=1, worker_init_fn=lambda worker: 1 // 0))


class Slow(io.Dataset):
    def __getitem__(self, i):
        time.sleep(30)

    def __len__(self):
        return 4


@pytest.mark.parametrize("kind", ["process"])
def test_a_batch_that_does_not_come_in_time(kind):
    start = time.monotonic()
    with pytest.raises(TimeoutError, match="within timeout=0.2 seconds"):
        list(io.DataLoader(Slow(), num_workers=2, worker=kind, timeout=0.2))
    assert time.monotonic() - start < 3 and not left()


def test_a_worker_that_is_killed():
    class Dying(io.Dataset):
        def __getitem__(self, i):
            if i == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            return i

        def __len__(self):
            return 4

    with pytest.raises(RuntimeError, match="worker 0 .* ended with signal SIGKILL.*memory"):
        list(io.DataLoader(Dying(), num_workers=2, worker="process"))
    assert not left(0)


# Leaving ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers, kind", KINDS)
def test_leaving_the_loop_early_leaves_nothing_running(workers, kind):
    for _ in io.DataLoader(Numbers(1000), num_workers=workers, worker=kind):
        break
    assert not left(0)
    with pytest.raises(ZeroDivisionError):
        for _ in io.DataLoader(Numbers(1000), num_workers=workers, worker=kind):
            1 // 0  # noqa: B018
    assert not left(0)
    fds = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        list(io.DataLoader(Numbers(3), num_workers=workers, worker=kind))
    assert len(os.listdir("/proc/self/fd")) == fds


SLOW = textwrap.dedent("""
    import os, signal, sys, threading, time
    import numpy as np
    import dygraph
    from dygraph import io
    class Slow(io.Dataset):
        def __getitem__(self, i):
            time.sleep(60 if i > 1 else 0.01)
            return i
        def __len__(self):
            return 20
""")


@pytest.mark.parametrize("kind", ["thread", "process"])
def test_ctrl_c_is_answered_at_once(kind):
    code = SLOW + textwrap.dedent(f"""
        try:
            for batch in io.DataLoader(Slow(), num_workers=2, worker={kind!r}):
                if batch.item() == 1:
                    threading.Timer(0.3, lambda: os.killpg(0, signal.SIGINT)).start()
                    due = time.monotonic() + 0.3
        except KeyboardInterrupt:
            print("late by", time.monotonic() - due, flush=True)
    """)
    start = time.monotonic()
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, start_new_session=True
    )
    assert result.returncode == 0, result.stderr
    assert float(result.stdout.split("late by")[1]) < 0.2
    assert result.stderr == ""
    assert time.monotonic() - start < 20


def test_workers_end_with_a_parent_that_is_killed():
    code = SLOW + textwrap.dedent("""
        Slow.__getitem__ = lambda self, i: os.getpid()
        loader = iter(io.DataLoader(Slow(), num_workers=2, worker="process", prefetch=1))
        print(next(loader).item(), next(loader).item(), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    workers = [int(p) for p in result.stdout.split()]
    assert len(set(workers)) == 2
    end = time.monotonic() + 10
    while any(psutil.pid_exists(p) for p in workers) and time.monotonic() < end:
        time.sleep(0.02)
    alive = [p for p in workers if psutil.pid_exists(p)]
    assert all(psutil.Process(p).status() == psutil.STATUS_ZOMBIE for p in alive)


@pytest.mark.parametrize("kind", ["thread", "process"])
def test_a_program_may_end_in_the_middle_of_a_loop(kind):
    code = SLOW + textwrap.dedent(f"""
        loader = iter(io.DataLoader(Slow(), num_workers=2, worker={kind!r}))
        print(next(loader).item())
    """)
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "0\n", "")


def test_shared_memory_is_not_touched():
    code = textwrap.dedent("""
        import os
        from dygraph import io
        class Look(io.Dataset):
            def __getitem__(self, i):
                links = (f"/proc/self/fd/{f}" for f in os.listdir("/proc/self/fd"))
                opened = [os.readlink(link) for link in links if os.path.islink(link)]
                return str(opened) + open("/proc/self/maps").read()
            def __len__(self):
                return 2
        for (text,) in io.DataLoader(Look(), num_workers=2, worker="process"):
            print("libdygraph" in text, "/dev/shm" in text)
    """)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout == "True False\n" * 2, result.stderr


class Growing(io.Dataset):
    """Arrays of all sizes, forms and types; what is read late must not be overwritten."""

    def __getitem__(self, i):
        shape = (i * 1000 % 7001, 3)
        image = np.full(shape, i, "float32")
        return {"a": image, "t": np.full((70, 90), i % 2 == 0).T, "s": str(i), "u": (i, [image])}

    def __len__(self):
        return 30


@pytest.mark.parametrize("memfd", [True, False])
def test_big_batches_arrive_unharmed(memfd, monkeypatch):
    if not memfd:
        monkeypatch.delattr(os, "memfd_create")
    loader = io.DataLoader(Growing(), 1, num_workers=2, worker="process", prefetch=2)
    batches = list(loader)
    for i, batch in enumerate(batches):
        rows = i * 1000 % 7001
        for a in (batch["a"], batch["u"][1][0]):
            assert a.shape == (1, rows, 3) and (a.numpy() == i).all()
        assert batch["t"].shape == (1, 90, 70) and (batch["t"].numpy() == (i % 2 == 0)).all()
        assert batch["s"] == [str(i)] and batch["u"][0].item() == i
    assert not left(0)


def test_big_ragged_batches():
    data = [np.full((i * 999, 2), i) for i in range(8)]
    loader = io.DataLoader(data, 2, ragged=True, num_workers=2, worker="process")
    for k, batch in enumerate(loader):
        lengths = [2 * k * 999, (2 * k + 1) * 999]
        assert batch.recursive_sequence_lengths() == [lengths]
        assert (batch.numpy()[:, 0] == np.repeat([2 * k, 2 * k + 1], lengths)).all()


def test_forked_workers_compute_after_the_parent_has():
    """The compute threads do not survive a fork: the child must not wait for them."""
    code = textwrap.dedent("""
        import numpy as np, dygraph
        from dygraph import io
        x = dygraph.to_variable(np.ones((400, 400), "float32"))
        (x @ x).numpy(); dygraph.ops.exp(x).numpy()
        class Computes(io.Dataset):
            def __getitem__(self, i):
                return (x @ x)[0, 0], dygraph.ops.exp(x)[i, i]
            def __len__(self):
                return 4
        for a, b in io.DataLoader(Computes(), 2, num_workers=2, worker="process"):
            print(a.tolist(), (x @ x)[0, 0].item(), abs(b - np.e).max().item() < 1e-6)
    """)
    env = {**os.environ, "OMP_NUM_THREADS": "2"}
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=60
    )
    assert result.stdout == "[400.0, 400.0] 400.0 True\n" * 2, result.stderr


def test_spawned_workers():
    loader = io.DataLoader(list(range(4)), 2, num_workers=1, worker="process", start_method="spawn")
    assert [b.tolist() for b in loader] == [[0, 1], [2, 3]]


# Going on -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [Numbers(), Stream(20)])
@pytest.mark.parametrize("workers, kind", [(0, "thread"), (2, "thread"), (2, "process")])
def test_a_loop_goes_on_in_the_middle_of_an_epoch(data, workers, kind):
    def make(seed):
        shuffle = isinstance(data, Numbers)
        return io.DataLoader(data, 3, shuffle, seed=seed, num_workers=workers, worker=kind)

    loader = make(7)
    first = flat(loader)
    second = flat(loader)
    loader = make(7)
    list(loader)
    for i, _ in enumerate(loader):
        if i == 2:
            break
    state = loader.state_dict()
    assert state == {"seed": 7, "epoch": 1, "batch": 3}
    other = make(8)
    other.load_state_dict(state)
    assert other.state_dict() == state
    assert flat(other) == second[3:]
    assert other.state_dict() == {"seed": 7, "epoch": 2, "batch": 0}
    other.set_epoch(0)
    assert flat(other) == first
    with pytest.raises(ValueError, match="must have seed, epoch and batch"):
        other.set_state_dict({"epoch": 1})


def test_samples_given_out_are_not_read_again():
    read = []

    class Recording(Numbers):
        def __getitem__(self, i):
            read.append(i)
            return i

    loader = io.DataLoader(Recording(10), 2)
    loader.load_state_dict({"seed": 0, "epoch": 0, "batch": 3})
    assert [b.tolist() for b in loader] == [[6, 7], [8, 9]] and read == [6, 7, 8, 9]
