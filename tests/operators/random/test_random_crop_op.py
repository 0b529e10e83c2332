"""random_crop: of each instance a part at a place of its own."""

import numpy as np
import pytest

import dygraph
from dygraph import _core

F = dygraph.ops


def places(x, out):
    """Where each instance of `out` lies in that of `x`, whose elements all differ."""
    found = []
    for whole, part in zip(x, out, strict=True):
        at = np.argwhere(whole == part.reshape(-1)[0])[0]
        cut = tuple(slice(i, i + n) for i, n in zip(at, part.shape, strict=True))
        np.testing.assert_array_equal(whole[cut], part)
        found.append(tuple(int(i) for i in at))
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "int16"])
def test_parts_of_the_instances(dtype):
    x = np.arange(16 * 3 * 6 * 7).reshape(16, 3, 6, 7).astype(dtype)
    out = F.random_crop(_core.to_variable(x), shape=[2, 4, 5]).numpy()
    assert out.shape == (16, 2, 4, 5) and out.dtype == dtype
    assert len(set(places(x, out))) > 5


def test_every_place_is_equally_likely():
    x = np.tile(np.arange(6.0), (6000, 1))
    dygraph.seed(3)
    first = F.random_crop(_core.to_variable(x), shape=[3]).numpy()[:, 0]
    counts = np.bincount(first.astype(int))
    assert len(counts) == 4 and abs(counts - 1500).max() < 150


def test_the_last_axes_alone():
    x = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    out = F.random_crop(_core.to_variable(x), shape=[2, 2]).numpy()
    assert out.shape == (2, 3, 2, 2)
    places(x.reshape(6, 4, 5), out.reshape(6, 2, 2))


def test_whole_and_empty_parts():
    x = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(F.random_crop(_core.to_variable(x), shape=[4]).numpy(), x)
    np.testing.assert_array_equal(F.random_crop(_core.to_variable(x), shape=[3, 4]).numpy(), x)
    assert F.random_crop(_core.to_variable(x), shape=[0]).shape == (3, 0)
    assert F.random_crop(dygraph.ones([0, 4]), shape=[2]).shape == (0, 2)


def test_seeds():
    x = dygraph.to_variable(np.arange(1000.0).reshape(10, 100))
    same = [F.random_crop(x, shape=[5], startup_seed=7).numpy() for _ in range(2)]
    np.testing.assert_array_equal(*same)
    dygraph.seed(1)
    drawn = [F.random_crop(x, shape=[5]).numpy() for _ in range(2)]
    assert (drawn[0] != drawn[1]).any()
    dygraph.seed(1)
    np.testing.assert_array_equal(F.random_crop(x, shape=[5]).numpy(), drawn[0])
    seed = dygraph.to_variable(np.array([5]))
    inputs, attrs = {"X": x, "Seed": seed}, {"shape": [5]}
    made = [dygraph.run_op("random_crop", inputs, attrs, {"SeedOut": 1}) for _ in range(2)]
    np.testing.assert_array_equal(made[0]["Out"].numpy(), made[1]["Out"].numpy())
    next_seed = made[0]["SeedOut"]
    next_seed = next_seed[0] if isinstance(next_seed, list) else next_seed
    assert next_seed.tolist() == [6]


def test_threads_do_not_matter():
    """The draws and the copies: 64 instances are more than one thread's share."""
    x = dygraph.to_variable(np.random.default_rng(0).random((64, 40, 40)))
    before = dygraph.get_flags(["FLAGS_num_threads"])
    try:
        results = []
        for threads in (1, 2, 4):
            dygraph.set_flags({"FLAGS_num_threads": threads})
            results.append(F.random_crop(x, shape=[30, 30], startup_seed=3).numpy())
    finally:
        dygraph.set_flags(before)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_wrong_arguments():
    x = dygraph.ones([2, 3])
    for shape, text in [
        ([4], r"at most those of X \[2, 3\], got 4 for axis 1"),
        ([1, 2, 3], "shape must have a size for the last axes"),
        ([], "shape must have a size for the last axes"),
        ([-1], "every element of the attribute shape must be at least 0"),
    ]:
        with pytest.raises(ValueError, match=text):
            F.random_crop(x, shape=shape)
