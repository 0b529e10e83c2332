"""Samplers of several ranks: torch's numbers, positions for other numbers of ranks."""

import numpy as np
import pytest

from dygraph import distributed, io
from dygraph.errors import InvalidArgumentError

DATA = list(range(23))


def loaders(ranks, workers=0, size=3):
    samplers = [io.DistributedBatchSampler(DATA, size, ranks, r, shuffle=True, seed=5)
                for r in range(ranks)]  # fmt: skip
    return [io.DataLoader(DATA, batch_sampler=s, num_workers=workers, seed=1) for s in samplers]


def order(epoch):
    return np.random.default_rng([5, epoch]).permutation(23).tolist()


def test_samples_are_divided_and_padded_as_in_torch():
    # torch.utils.data.DistributedSampler(range(23), 4, rank, shuffle=False), and drop_last=True
    padded = [list(io.DistributedSampler(DATA, 4, r, shuffle=False)) for r in range(4)]
    assert padded[3] == [3, 7, 11, 15, 19, 0] and padded[2] == [2, 6, 10, 14, 18, 22]
    cut = [list(io.DistributedSampler(DATA, 4, r, False, drop_last=True)) for r in range(4)]
    assert cut[3] == [3, 7, 11, 15, 19] and {len(c) for c in cut} == {5}
    assert list(io.DistributedSampler([7], 3, 2)) == [0] and not list(
        io.DistributedSampler([], 2, 1)
    )
    assert distributed.DistributedSampler is io.DistributedSampler
    sampler = io.DistributedSampler(DATA)  # of this job of one process
    assert (sampler.num_replicas, sampler.rank) == (1, 0)
    first = list(sampler)
    sampler.set_epoch(1)
    assert sorted(first) == sorted(sampler) == DATA and first != list(sampler)


def test_all_ranks_together_read_the_batches_of_one_process():
    parts = [list(loader) for loader in loaders(2)]
    for k, pair in enumerate(zip(*parts, strict=True)):
        joined = sorted(n for batch in pair for n in batch.tolist())
        assert joined == sorted((order(0) + order(0)[:1])[6 * k : 6 * k + 6])


@pytest.mark.parametrize("after, workers", [(1, 0), (2, 2), (3, 0)])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_loader_goes_on_at_any_number_of_ranks(ranks, after, workers):
    """2 ranks stop after some batches of epoch 1: the rest of the order follows, and epoch 2."""
    before = loaders(2, workers)
    for loader in before:
        loader.set_epoch(1)
    loops = [iter(loader) for loader in before]
    seen = [n for _ in range(after) for loop in loops for n in next(loop).tolist()]
    states = [loader.state_dict() for loader in before]
    assert states[0] == states[1]
    for loop in loops:
        loop.close()
    fresh = loaders(ranks, workers)
    for loader in fresh:
        loader.set_state_dict(states[0])
        assert len(loader) >= 1
    rest = [[n for batch in loader for n in batch.tolist()] for loader in fresh]
    given = seen + [n for part in rest for n in part]
    surplus = -(23 - len(seen)) % ranks
    assert sorted(given) == sorted(order(1) + order(1)[:surplus])
    if ranks == 2:  # also the same batches as without a stop
        whole = loaders(2)
        for loader, part, start in zip(whole, rest, range(2), strict=True):
            loader.set_epoch(1)
            numbers = [n for batch in loader for n in batch.tolist()]
            assert numbers[3 * after :] == part and numbers == (order(1) + order(1)[:1])[start::2]
    follow = sorted(n for loader in fresh for batch in loader for n in batch.tolist())
    assert follow == sorted(order(2) + order(2)[: -23 % ranks])


def test_batches_of_another_size_lose_no_sample():
    before = loaders(2, size=3)
    seen = [n for loader in before for n in next(iter(loader)).tolist()]
    after = loaders(2, size=4)
    for loader in after:
        loader.set_state_dict(before[0].state_dict())
    rest = [n for loader in after for batch in loader for n in batch.tolist()]
    assert sorted(seen + rest) == sorted(order(0) + order(0)[:1])


def test_a_position_moves_twice():
    """4 ranks, then 3, then 1, in one epoch and without a loader."""
    seen, state = [], None
    for ranks, count in ((4, 2), (3, 3), (1, 6)):
        samplers = [io.DistributedSampler(DATA, ranks, r, seed=5) for r in range(ranks)]
        for sampler in samplers:
            if state:
                sampler.set_state_dict(state)
            samples = iter(sampler)
            seen += [next(samples) for _ in range(count)]
        state = samplers[0].state_dict()
    assert sorted(seen) == DATA


def test_wrong_states_and_places():
    sampler = io.DistributedSampler(DATA, 2, 0)
    with pytest.raises(InvalidArgumentError, match="rank must be below num_replicas, got 2 of 2"):
        io.DistributedSampler(DATA, 2, 2)
    with pytest.raises(InvalidArgumentError, match="data set of 22 samples, got one of 23"):
        io.DistributedSampler(DATA[:22], 2, 0).set_state_dict(sampler.state_dict())
    with pytest.raises(InvalidArgumentError, match="the state must have seed, epoch, start"):
        sampler.set_state_dict({"epoch": 1})
    plain, divided = io.DataLoader(DATA), loaders(2)[0]
    for loader, other in ((plain, divided), (divided, plain)):
        with pytest.raises(InvalidArgumentError, match="belongs to a loader with one"):
            loader.set_state_dict(other.state_dict())
