"""What is fed besides dicts of arrays: lists, and the batches of loaders."""

import numpy as np
import pytest

import dygraph
from dygraph import static, unique_name


@pytest.fixture(autouse=True)
def programs():
    """Default programs and names of each test's own."""
    with static.program_guard(static.Program(), static.Program()), unique_name.guard():
        yield


def declared():
    x = static.data("x", [None, 2], "float32")
    y = static.data("y", [None, 1], "int64")
    return x, y


def sums(x, y):
    return [static.layers.reduce_sum(x), static.layers.reduce_sum(y)]


SAMPLES = [(np.full(2, i, "float32"), np.array([i % 3])) for i in range(5)]
# Of batches of two, x sums to 2 * (0 + 1), 2 * (2 + 3), 2 * 4; y to 0 + 1, 2 + 0, 1.
WHOLE = [(2, 1), (10, 2), (8, 1)]


@pytest.mark.parametrize("workers", [{}, {"num_workers": 2}])
def test_the_eager_loader_feeds_programs(workers):
    x, y = declared()
    fetches = sums(x, y)
    executor = static.Executor()
    seen = [
        tuple(float(v) for v in executor.run(feed=batch, fetch_list=fetches))
        for batch in dygraph.io.DataLoader(SAMPLES, batch_size=2, **workers)
    ]
    assert seen == WHOLE
    named = [{"x": a, "y": b} for a, b in SAMPLES]
    seen = [
        tuple(float(v) for v in executor.run(feed=batch, fetch_list=fetches))
        for batch in dygraph.io.DataLoader(named, batch_size=2, **workers)
    ]
    assert seen == WHOLE


@pytest.mark.parametrize("worker", [{}, {"num_workers": 2, "worker": "process"}])
def test_a_loader_with_variables_names_its_batches(worker):
    words = static.data("words", [None, 1], "int64", lod_level=1)
    label = static.data("label", [None, 1], "int64")
    samples = [([1, 2, 3], 0), ([4], 1), ([5, 6], 2)]
    loader = static.io.DataLoader(samples, feed_list=[words, label], batch_size=2, **worker)
    first, second = loader
    assert first["words"].lod() == [[0, 3, 4]] and first["label"].tolist() == [[0], [1]]
    assert second["words"].tolist() == [[5], [6]]
    lists = static.io.DataLoader(
        samples, feed_list=[words, label], batch_size=3, return_list=True, **worker
    )
    ((flat, labels),) = lists
    assert flat.tolist() == [[n] for n in range(1, 7)] and labels.shape == (3, 1)
    with pytest.raises(ValueError, match="collate_fn must be left out"):
        static.io.DataLoader(samples, feed_list=[words, label], collate_fn=list)
    with pytest.raises(TypeError, match="feed_list must hold variables of a program, got str"):
        static.io.DataLoader(samples, feed_list=["words"])
    with pytest.raises(TypeError, match="feed_list must be a list"):
        static.io.DataLoader(samples, feed_list="words")


def test_lists_are_fed_in_the_order_of_declaration():
    x, y = declared()
    fetches = sums(x, y)
    executor = static.Executor()
    a, b = np.ones((2, 2), "float32"), np.ones((2, 1), "int64")
    for feed in ([a, b], (a, b), [{"x": a, "y": b}]):
        assert [float(v) for v in executor.run(feed=feed, fetch_list=fetches)] == [4, 2]
    with pytest.raises(ValueError, match=r"feed must have 2 values, for \['x', 'y'\], got 1"):
        executor.run(feed=[a], fetch_list=fetches)
    with pytest.raises(ValueError, match="one dict, since programs run on one device, got 2"):
        executor.run(feed=[{"x": a}, {"y": b}], fetch_list=fetches)
    with pytest.raises(TypeError, match="feed must be a dict of names to values, or a list"):
        executor.run(feed=a, fetch_list=fetches)


def test_lists_for_return_list():
    x, y = declared()
    loader = static.io.DataLoader.from_generator([x, y], return_list=True)
    loader.set_sample_generator(lambda: iter(SAMPLES[:2]), 2)
    ((a, b),) = loader
    assert a.tolist() == [[0, 0], [1, 1]] and b.tolist() == [[0], [1]]


def test_without_variables_batches_are_eager():
    rows = [(np.full(2, i, "float32"), i) for i in range(4)]
    loader = static.io.DataLoader.from_generator(capacity=2)
    loader.set_sample_generator(lambda: iter(rows), 2)
    reader = static.io.PyReader(capacity=2, return_list=True)
    reader.decorate_sample_generator(lambda: iter(rows), 2)
    for batches in (list(loader), list(reader())):
        assert [b.tolist() for _, b in batches] == [[0, 1], [2, 3]]
        assert isinstance(batches[0][0], dygraph.Variable)
    for arguments in ({"return_list": False}, {"iterable": False, "return_list": True}):
        with pytest.raises(TypeError, match="feed_list must be a list of variables"):
            static.io.PyReader(capacity=2, **arguments)
