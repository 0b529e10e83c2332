"""randint, randperm, seed, sampling_id: random integers."""

import numpy as np
import pytest

from dygraph import _core

ops = _core.ops


def again(call, seed=5):
    _core.set_generator_state(seed, 0)
    return call().numpy()


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_randint(dtype):
    got = again(lambda: ops.randint(shape=[100, 50], low=-2, high=3, dtype=dtype))
    assert got.dtype == dtype
    counts = np.bincount(got.ravel() + 2, minlength=5)
    assert len(counts) == 5
    assert abs(counts / 5000 - 0.2).max() < 0.03
    np.testing.assert_array_equal(
        got, again(lambda: ops.randint(shape=[100, 50], low=-2, high=3, dtype=dtype))
    )
    assert (got != again(lambda: ops.randint(shape=[100, 50], low=-2, high=3), 6)).any()


def test_randint_of_all_numbers():
    got = again(lambda: ops.randint(shape=[2000], low=-(2**31), high=2**31 - 1))
    assert got.min() < -(2**30) and got.max() > 2**30
    assert abs(got.mean()) < 2**31 / 20


def test_randperm():
    got = again(lambda: ops.randperm(n=50))
    assert sorted(got.tolist()) == list(range(50))
    assert got.tolist() != list(range(50))
    first = [again(lambda: ops.randperm(n=4), seed)[0] for seed in range(400)]
    assert abs(np.bincount(first, minlength=4) / 400 - 0.25).max() < 0.1
    assert ops.randperm(n=0).shape == (0,)
    one = ops.randperm(n=9, seed=3, dtype="int32").numpy()
    np.testing.assert_array_equal(one, ops.randperm(n=9, seed=3, dtype="int32").numpy())


def test_seed():
    assert ops.seed(seed=17).numpy().tolist() == [17]
    drawn = [ops.seed().numpy()[0] for _ in range(4)]
    assert len(set(drawn)) > 1 and 0 not in drawn


def test_sampling_id():
    p = np.tile(np.array([0.1, 0.0, 0.6, 0.3], "float32"), (4000, 1))
    got = again(lambda: ops.sampling_id(_core.to_variable(p)))
    assert got.dtype == "int64" and got.shape == (4000,)
    share = np.bincount(got, minlength=4) / 4000
    np.testing.assert_allclose(share, p[0], atol=0.04)
    assert share[1] == 0.0
    sure = np.eye(3)[[2, 0, 1]]
    assert ops.sampling_id(_core.to_variable(sure)).numpy().tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ops.randint(shape=[2], low=3, high=3), "low must be less"),
        (lambda: ops.randint(shape=[-2], low=0, high=3), "at least 0"),
        (lambda: ops.randperm(), "n must be given"),
        (lambda: ops.sampling_id(_core.to_variable(np.zeros((2, 0)))), "columns to choose"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
