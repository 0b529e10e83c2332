"""Loaders that bring batches to a device: the same batches in the same order, copied ahead."""

import numpy as np
import pytest

import cuda_library
import dygraph
from dygraph import io
from dygraph.errors import ArgumentTypeError, InvalidArgumentError

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
