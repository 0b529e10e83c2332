"""Fluid's DataLoader.from_generator."""

import numpy as np
import pytest

import dygraph
from dygraph import io
from leftovers import left


def samples():
    return ((np.full(2, i, "float32"), i) for i in range(5))


def test_samples_lists_and_batches():
    loader = io.DataLoader.from_generator(capacity=3)
    loader.set_sample_generator(samples, batch_size=2)
    for _ in range(2):
        batches = list(loader())
        assert [b[1].tolist() for b in batches] == [[0, 1], [2, 3]]
        assert batches[1][0].tolist() == [[2, 2], [3, 3]]
    loader.set_sample_list_generator(dygraph.batch(samples, 2))
    assert [b[1].tolist() for b in loader] == [[0, 1], [2, 3], [4]]
    loader.set_batch_generator(lambda: iter([[np.arange(3), dygraph.to_variable([1.0])]]))
    ((a, b),) = loader
    assert a.tolist() == [0, 1, 2] and b.tolist() == [1.0]
    assert not left()


def test_dicts_by_name():
    fields = ["x", {"name": "y", "dtype": "int64"}]
    loader = io.DataLoader.from_generator(fields, capacity=2, return_list=False)
    loader.set_sample_list_generator(dygraph.batch(samples, 3))
    batches = list(loader)
    assert batches[1]["x"].shape == (2, 2) and batches[1]["y"].tolist() == [[3], [4]]


def test_mistakes():
    loader = io.DataLoader.from_generator()
    with pytest.raises(RuntimeError, match="a reader must be set, got none"):
        iter(loader)
    with pytest.raises(ValueError, match="return_list must be True without a feed_list"):
        io.DataLoader.from_generator(return_list=False)

    def failing():
        yield (1,)
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        list(loader.set_sample_generator(failing, 1))
    assert not left()
