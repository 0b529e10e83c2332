"""Loaders that bring batches to a device: the same batches in the same order, copied ahead."""

import ctypes

import numpy as np
import pytest

import cuda_library
import dygraph
from dygraph import _core, io, static
from dygraph.errors import ArgumentTypeError, InvalidArgumentError
from leftovers import left

PLACE = cuda_library.place()
HOST, PINNED = dygraph.CPUPlace(), dygraph.CUDAPinnedPlace()
pytestmark = [
    pytest.mark.skipif(PLACE is None, reason="no CUDA library"),
    pytest.mark.filterwarnings("ignore:.*has no kernel for CUDAPlace"),
]


class Samples(io.Dataset):
    def __init__(self, n, bad=None):
        self.n, self.bad = n, bad

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i == self.bad:
            raise KeyError(f"sample {i}")
        return {"x": np.full((3, 4), i, "float32"), "y": i, "name": f"s{i}"}


def values(loader):
    return [
        {k: v.tolist() if isinstance(v, dygraph.Variable) else v for k, v in batch.items()}
        for batch in loader
    ]


@pytest.mark.parametrize("how", [{}, {"num_workers": 2}, {"num_workers": 2, "worker": "process"}])
@pytest.mark.parametrize("late", [0, 1])
def test_batches_are_those_of_the_host(how, late):
    if late and not cuda_library.is_pretended():
        pytest.skip("needs the pretended CUDA")
    plain = values(io.DataLoader(Samples(23), batch_size=4, shuffle=True, seed=3, **how))
    with cuda_library.pretending(LATE=late) if late else dygraph.guard():
        loader = io.DataLoader(Samples(23), 4, shuffle=True, seed=3, places=PLACE, **how)
        assert values(loader) == plain
        again = values(loader)
        sizes = [len(b["y"]) for b in again]
        assert sizes == [4] * 5 + [3] and again != plain  # the next epoch's order
        batch = next(iter(loader))
        assert batch["x"].place == batch["y"].place == PLACE and batch["x"].stop_gradient


def test_copies_go_ahead_of_queued_work():
    """Content is right though blocks are used again while work that reads them is queued."""
    with cuda_library.pretending(LATE=1) if cuda_library.is_pretended() else dygraph.guard():
        sums = []
        for batch in io.DataLoader(Samples(40), 2, places="gpu"):
            sums.append((batch["x"] * 2.0).sum())  # nobody waits
            del batch
        waits = dygraph.cuda.syncs()
        found = [s.item() for s in sums]
    assert found == [2.0 * 12 * (4 * k + 1) for k in range(20)]
    assert dygraph.cuda.syncs() >= waits


def test_batches_that_are_kept_do_not_change():
    batches = [b["x"] for b in io.DataLoader(Samples(30), 1, places=[PLACE])]
    assert [b.tolist()[0][0][0] for b in batches] == list(range(30))


def test_pinned_batches():
    loader = io.DataLoader(Samples(4), 2, pin_memory=True)
    batch = next(iter(loader))
    assert batch["x"].place == PINNED and batch["x"].is_pinned()
    assert (batch["x"] + 1.0).sum().item() == 2 * 12 + 12
    both = io.DataLoader(Samples(4), 2, pin_memory=True, places="gpu")
    assert next(iter(both))["x"].place == PLACE


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_lie_on_the_current_place(workers):
    loader = io.DataLoader(Samples(4), 2, num_workers=workers)
    with dygraph.guard(PLACE):
        assert next(iter(loader))["x"].place == PLACE
        assert next(iter(io.DataLoader(Samples(4), places="cpu")))["x"].place == HOST
    assert next(iter(loader))["x"].place == HOST


@pytest.mark.parametrize("workers", [0, 2])
def test_errors_come_in_their_turn(workers):
    seen = []
    with pytest.raises(KeyError, match="sample 5"):
        for batch in io.DataLoader(Samples(8, bad=5), 2, num_workers=workers, places=PLACE):
            seen.append(batch["y"].tolist())
    assert seen == [[0, 1], [2, 3]]


def test_ragged_batches_keep_their_lod():
    data = [np.arange(n, dtype="int64") for n in (2, 3, 1)]
    (batch,) = io.DataLoader(data, 3, ragged=True, places=PLACE)
    assert batch.lod() == [[0, 2, 5, 6]] and batch.place == PLACE
    assert batch.tolist() == [0, 1, 0, 1, 2, 0]


def test_an_epoch_goes_on_in_the_middle():
    loader = io.DataLoader(Samples(10), 2, shuffle=True, seed=1, places=PLACE)
    whole = values(loader)
    loader.set_epoch(0)
    steps = iter(loader)
    next(steps), next(steps)
    other = io.DataLoader(Samples(10), 2, shuffle=True, seed=1, places=PLACE)
    other.set_state_dict(loader.state_dict())
    assert values(other) == whole[2:]


def test_places_are_checked():
    with pytest.raises(InvalidArgumentError, match="places must be one place"):
        io.DataLoader(Samples(2), places=[PLACE, PLACE])
    with pytest.raises(ArgumentTypeError, match="DataLoader: places"):
        io.DataLoader(Samples(2), places=3)


def test_fluids_loaders_take_places():
    def batches():
        for k in range(3):
            yield [np.full((2, 2), k, "float32")]

    loader = io.DataLoader.from_generator(capacity=2)
    loader.set_batch_generator(batches, places=PLACE)
    seen = [(x.place, x.tolist()[0][0]) for (x,) in loader]
    assert seen == [(PLACE, 0.0), (PLACE, 1.0), (PLACE, 2.0)]
    loader.set_sample_generator(lambda: ((i,) for i in range(4)), 2, places=[PLACE])
    assert [x.place for (x,) in loader] == [PLACE] * 2


@pytest.mark.parametrize("size", [3, 100_000])
def test_a_copy_of_pinned_memory_reads_it_before_it_changes(size):
    if not cuda_library.is_pretended():
        pytest.skip("needs the pretended CUDA")
    with cuda_library.pretending(LATE=1):
        found = []
        for k in range(5):
            pinned = dygraph.full([size], float(k)).pin_memory()
            found.append(pinned.cuda())
            pinned.fill_(-1.0)
            del pinned
        assert [x.numpy().sum() for x in found] == [size * float(k) for k in range(5)]


@pytest.mark.parametrize("size", [3, 100_000])
def test_a_copy_of_others_pinned_memory_reads_it_before_it_changes(size):
    if not cuda_library.is_pretended():
        pytest.skip("needs the pretended CUDA")
    with cuda_library.pretending(LATE=1):
        pinned = dygraph.full([size], 3.0).pin_memory()
        numbers = (ctypes.c_float * size).from_address(_core.device.address(pinned))
        theirs = np.frombuffer(numbers, "float32")  # host memory to us, as PyTorch's pinned tensors
        found = dygraph.from_dlpack(theirs).cuda()
        theirs[:] = 0.0
        assert found.numpy().sum() == size * 3.0


def test_memory_stays_flat():
    loader = io.DataLoader(Samples(64), 4, places=PLACE)
    list(loader)
    dygraph.cuda.synchronize()
    used, pinned = (dygraph.memory.used(p) for p in (PLACE, PINNED))
    for _ in range(3):
        for batch in loader:
            batch["x"].sum()
    del batch
    dygraph.cuda.synchronize()
    assert dygraph.memory.used(PLACE) <= used and dygraph.memory.used(PINNED) <= pinned
    dygraph.cuda.empty_cache()


# Readers of programs ------------------------------------------------------------------------------


def batches_of(count):
    return lambda: (
        [np.full((2, 3), k, "float32"), np.arange(2 * k, 2 * k + 2).reshape(2, 1)]
        for k in range(count)
    )


class Reading:
    """A program that reads, and what its runs give."""

    def __init__(self, place, kind="py_reader"):
        self.main, self.startup, self.scope = static.Program(), static.Program(), static.Scope()
        with static.program_guard(self.main, self.startup):
            if kind == "py_reader":
                self.reader = static.layers.py_reader(4, [[-1, 3], [-1, 1]], ["float32", "int64"])
                x, y = static.layers.read_file(static.layers.double_buffer(self.reader))
                self.provide = self.reader.decorate_batch_generator
            else:
                x, y = static.data("x", [-1, 3]), static.data("y", [-1, 1], "int64")
                make = getattr(static.io, kind)
                make = make if kind == "PyReader" else make.from_generator
                self.reader = make([x, y], capacity=3, iterable=False)
                self.provide = self.reader.set_batch_generator
            self.fetches = [static.layers.reduce_sum(x, dim=1), y]
        self.executor = static.Executor(place)
        self.executor.run(self.startup, scope=self.scope)

    def run(self, fetch=True):
        fetches = self.fetches if fetch else []
        found = self.executor.run(self.main, fetch_list=fetches, scope=self.scope)
        return [v.tolist() for v in found]

    def whole(self):
        seen = []
        self.reader.start()
        with pytest.raises(static.core.EOFException):
            while True:
                seen.append(self.run())
        self.reader.reset()
        return seen


@pytest.mark.parametrize("kind", ["py_reader", "PyReader", "DataLoader"])
@pytest.mark.parametrize("late", [0, 1])
def test_programs_read_the_batches_of_the_host(kind, late):
    if late and not cuda_library.is_pretended():
        pytest.skip("needs the pretended CUDA")
    plain, there = Reading(HOST, kind), Reading(PLACE, kind)
    for reading in (plain, there):
        reading.provide(batches_of(11))
    with cuda_library.pretending(LATE=late) if late else dygraph.guard():
        for _ in range(2):  # passes
            assert there.whole() == plain.whole()
        there.reader.start()
        first = there.run(), there.run()
        there.reader.reset()  # in the middle
        assert there.whole()[:2] == list(first)
    assert not left()


def test_a_run_that_reads_waits_for_nothing():
    reading = Reading(PLACE)
    reading.provide(batches_of(30))
    reading.reader.start()
    for _ in range(4):
        reading.run()
    before, copies = dygraph.cuda.syncs(), dygraph.cuda.counts()["copies_in"]
    for _ in range(20):
        reading.run(fetch=False)
    assert dygraph.cuda.syncs() == before
    assert dygraph.cuda.counts()["copies_in"] - copies <= 2 * (20 + 2)  # two parts, two ahead
    assert reading.run()[1] == [[48], [49]]
    reading.reader.reset()
    assert not left()


def test_errors_of_generators_come_in_their_turn():
    def broken():
        yield from batches_of(2)()
        raise KeyError("third")

    reading = Reading(PLACE)
    reading.provide(broken)
    reading.reader.start()
    reading.run(), reading.run()
    with pytest.raises(KeyError, match="third"):
        reading.run()
    reading.reader.reset()
    reading.provide(lambda: iter([[np.ones((2, 4), "float32"), np.ones((2, 1), "int64")]]))
    reading.reader.start()
    with pytest.raises(InvalidArgumentError, match="must have the shape"):
        reading.run()
    reading.reader.reset()


def test_loaders_of_programs_take_places():
    with static.program_guard(static.Program(), static.Program()):
        x = static.data("x", [-1, 3])
        words = static.data("words", [-1, 1], "int64", lod_level=1)
        sums = static.layers.sequence_pool(static.layers.cast(words, "float32"), "sum")
        total = [static.layers.reduce_sum(x), sums]
        rows = [(np.full(3, k, "float32"), list(range(k + 1))) for k in range(6)]
        loader = static.io.DataLoader.from_generator([x, words])
        for places in ([PLACE], PLACE, [HOST] * 2, None):
            loader.set_sample_generator(lambda: iter(rows), 2, places=places)
            seen = list(loader)
            on_device = places in (PLACE, [PLACE])
            assert all((batch["x"].place == PLACE) == on_device for batch in seen)
            assert [batch["words"].lod() for batch in seen] == [
                [[0, 1, 3]], [[0, 3, 7]], [[0, 5, 11]],
            ]  # fmt: skip
            for executor in (static.Executor(PLACE), static.Executor(HOST)):
                found = [executor.run(feed=batch, fetch_list=total)[0].item() for batch in seen]
                assert found == [3, 15, 27]
        with pytest.raises(InvalidArgumentError, match="places must be one place"):
            loader.set_sample_generator(lambda: iter(rows), 2, places=[PLACE, PLACE])
        samples = static.io.DataLoader(rows, [x, words], places=PLACE, batch_size=3)
        assert all(batch["words"].place == PLACE for batch in samples)


def test_a_batch_waits_for_its_own_copy_and_for_none_of_the_later_ones():
    if not cuda_library.is_pretended():
        pytest.skip("needs the pretended CUDA")
    host = [dygraph.to_variable(np.full(50_000, k, "float32")) for k in range(4)]
    with cuda_library.pretending(LATE=1) as settings:
        dygraph.cuda.synchronize()
        held = [_core.device.CopyAhead(part, PLACE).take() for part in host]
        del held  # blocks that queued work may use
        _core.device.CopyAhead(host[0], PLACE).take()
        dygraph.cuda.synchronize()
        first, later = (_core.device.CopyAhead(part, PLACE) for part in host[2:])
        dygraph.cuda.synchronize()
        assert settings.pretend_cuda_get(b"QUEUED") > 0  # on the stream of copies
        found = first.take()
        assert found.numpy().tobytes() == host[2].numpy().tobytes()
        assert settings.pretend_cuda_get(b"QUEUED") > 0
        del later  # its block may be used again
        other = dygraph.to_variable(np.zeros(50_000, "float32")).to(PLACE)
        dygraph.cuda.synchronize()
        assert settings.pretend_cuda_get(b"QUEUED") == 0
        assert not other.numpy().any()
