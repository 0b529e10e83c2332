"""Data sets, samplers, collating."""

import collections

import numpy as np
import pytest

import dygraph
from dygraph import io


def test_tensor_dataset_concat_and_subset():
    x, y = np.arange(6.0).reshape(3, 2), dygraph.to_variable([5, 6, 7])
    data = io.TensorDataset([x, y])
    assert len(data) == 3 and data[1][0].tolist() == [2, 3] and data[1][1] == 6
    both = data + io.Subset(data, [2, 0, -1])
    assert [both[i][1] for i in range(len(both))] == [5, 6, 7, 7, 5, 7]
    assert both[-1][1] == 7
    for bad in (6, -7):
        with pytest.raises(IndexError, match=r"must lie in \[-6, 6\), got"):
            both[bad]
    with pytest.raises(IndexError, match=r"\[-3, 3\), got 3"):
        io.Subset(data, [3])
    with pytest.raises(ValueError, match=r"equally many rows, got \[\[3, 2\], \[2\]\]"):
        io.TensorDataset([x, [1, 2]])
    with pytest.raises(TypeError, match="must be a list of arrays"):
        io.TensorDataset(3)
    with pytest.raises(ValueError, match="at least one data set"):
        io.ConcatDataset([])
    with pytest.raises(NotImplementedError, match="must define __getitem__"):
        io.Dataset()[0]


def test_random_split():
    parts = io.random_split(list("abcdefgh"), [5, 3], seed=1)
    assert sorted(part[i] for part in parts for i in range(len(part))) == list("abcdefgh")
    assert parts[0].indices == io.random_split(list("abcdefgh"), [5, 3], seed=1)[0].indices
    assert [len(p) for p in io.random_split(range(11), [0.5, 0.5])] == [6, 5]
    with pytest.raises(ValueError, match=r"sum up to 8 samples, got \[5, 4\]"):
        io.random_split(range(8), [5, 4])
    with pytest.raises(ValueError, match="at least 0"):
        io.random_split(range(8), [-1, 9])


def test_random_samplers_are_repeatable_by_epoch():
    sampler = io.RandomSampler(range(100), seed=3)
    first = list(sampler)
    assert sorted(first) == list(range(100)) and list(sampler) == first
    sampler.set_epoch(1)
    assert list(sampler) != first
    assert len(set(io.RandomSampler(range(100), num_samples=10))) == 10
    drawn = list(io.RandomSampler(range(3), replacement=True, num_samples=50))
    assert len(drawn) == 50 and set(drawn) == {0, 1, 2}
    with pytest.raises(ValueError, match="at most 3 without replacement, got 4"):
        io.RandomSampler(range(3), num_samples=4)


def test_weighted_sampler_follows_its_weights():
    drawn = list(io.WeightedRandomSampler([0, 1, 3], 4000, seed=1))
    counts = np.bincount(drawn, minlength=3)
    assert counts[0] == 0 and abs(counts[2] / counts[1] - 3) < 0.4
    assert sorted(io.WeightedRandomSampler([1, 0, 2], 2, replacement=False)) == [0, 2]
    for weights in ([], [-1, 2], [0, 0], [np.nan], [[1]]):
        with pytest.raises(ValueError, match="weights must be a list of finite numbers"):
            io.WeightedRandomSampler(weights, 1)
    with pytest.raises(ValueError, match="must be at most 1, the number of positive"):
        io.WeightedRandomSampler([1, 0], 2, replacement=False)


def test_batch_samplers():
    assert list(io.BatchSampler(range(5), batch_size=2, drop_last=True)) == [[0, 1], [2, 3]]
    shuffled = io.BatchSampler(range(6), shuffle=True, batch_size=4, seed=1)
    assert sorted(sum(shuffled, [])) == list(range(6)) and len(shuffled) == 2
    with pytest.raises(TypeError, match="a dataset or a sampler, and not both"):
        io.BatchSampler()
    ranks = [list(io.DistributedBatchSampler(range(7), 2, 3, r)) for r in range(3)]
    assert ranks == [[[0, 3], [6]], [[1, 4], [0]], [[2, 5], [1]]]
    assert len(io.DistributedBatchSampler(range(7), 2, 3, 0)) == 2
    few = [list(io.DistributedBatchSampler(range(1), 2, 3, r)) for r in range(3)]
    assert few == [[[0]]] * 3
    with pytest.raises(ValueError, match="rank must be below num_replicas, got 3 of 3"):
        io.DistributedBatchSampler(range(7), 2, 3, 3)


Point = collections.namedtuple("Point", "x y")


def test_collating():
    samples = [
        {"a": np.full((2,), i, "float32"), "n": i, "f": i / 2, "b": i > 0, "s": f"name{i}",
         "p": Point(i, (i, None))}
        for i in range(3)
    ]  # fmt: skip
    batch = io.default_collate(samples)
    assert batch["a"].tolist() == [[0, 0], [1, 1], [2, 2]]
    kinds = {k: str(batch[k].dtype) for k in "anfb"}
    assert kinds == {"a": "float32", "n": "int64", "f": "float32", "b": "bool"}
    assert batch["f"].tolist() == [0, 0.5, 1] and batch["s"] == ["name0", "name1", "name2"]
    assert isinstance(batch["p"], Point) and batch["p"].x.tolist() == [0, 1, 2]
    assert batch["p"].y[1] == [None] * 3
    assert io.default_collate([dygraph.to_variable([1.0])] * 2).shape == (2, 1)
    assert io.default_collate([1, 2.5]).tolist() == [1, 2.5]


def test_ragged_rows_become_a_variable_with_lod():
    samples = [([1, 2, 3], np.ones((1, 2))), ([], np.zeros((2, 2))), ([4], np.zeros((0, 2)))]
    words, frames = io.default_collate(samples, ragged=[0, 1])
    assert words.tolist() == [1, 2, 3, 4] and words.lod() == [[0, 3, 3, 4]]
    assert str(words.dtype) == "int64"
    assert frames.shape == (3, 2) and frames.lod() == [[0, 1, 3, 3]]
    assert words.recursive_sequence_lengths() == [[3, 0, 1]]
    assert io.default_collate([[1, 2], [3]], ragged=True).lod() == [[0, 2, 3]]
    assert io.default_collate([{"w": [1]}, {"w": [2]}], ragged=["w"])["w"].lod() == [[0, 1, 2]]
    empty = io.default_collate([[], []], ragged=True)
    assert empty.shape == (0,) and empty.lod() == [[0, 0, 0]]
    # The shape of a batch does not depend on chance: equally long sequences look the same.
    assert io.default_collate([[1, 2], [3, 4]], ragged=True).lod() == [[0, 2, 4]]
    for kind in ("thread", "process"):
        loader = io.DataLoader([[1, 2], [3]], 2, ragged=True, num_workers=1, worker=kind)
        (batch,) = loader
        assert batch.tolist() == [1, 2, 3] and batch.lod() == [[0, 2, 3]]


@pytest.mark.parametrize(
    "samples, ragged, text",
    [
        ([], (), "at least one sample"),
        ([np.zeros(2), np.zeros(3)], (), r"one shape .* got \[2\] and \[3\]. Sequences of diff"),
        ([(1, [1]), (2, [1, 2])], (), "field 1 must have 1 fields in all samples"),
        ([(1, 2), (1,)], (), "the sample must have 2 fields"),
        ([{"a": 1}, {"b": 1}], (), "the same names in all samples"),
        ([object()], (), "must be data .* got object"),
        ([np.zeros((1, 2)), np.zeros((1, 3))], True, r"rows of the sample .* \[2\] and \[3\]"),
        ([1, 2], True, "must be a sequence"),
    ],
)
def test_samples_that_do_not_go_together(samples, ragged, text):
    with pytest.raises((TypeError, ValueError), match=text):
        io.default_collate(samples, ragged)


def test_a_collate_fn_of_ones_own():
    loader = io.DataLoader(range(4), 2, collate_fn=lambda s: {"sum": np.array(sum(s)), "all": s})
    assert [(b["sum"].item(), b["all"]) for b in loader] == [(1, [0, 1]), (5, [2, 3])]
    made = io.DataLoader(range(2), 2, collate_fn=lambda s: dygraph.to_variable(s), num_workers=1,
                         worker="process")  # fmt: skip
    assert [b.tolist() for b in made] == [[0, 1]]
