"""bernoulli, multinomial and poisson: what is drawn has the distribution asked for."""

import math

import numpy as np
import pytest

import dygraph
from dygraph import _core

ops = _core.ops


def drawn(kind, x, seed=1, **attrs):
    with dygraph.guard(seed=seed):
        return getattr(ops, kind)(_core.to_variable(x), **attrs).numpy()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bernoulli(dtype):
    p = np.repeat(np.array([0.0, 0.25, 0.5, 1.0], dtype), 100_000)
    out = drawn("bernoulli", p)
    assert out.dtype == dtype and set(out.tolist()) == {0.0, 1.0}
    # six standard deviations are at most 0.0095
    np.testing.assert_allclose(out.reshape(4, -1).mean(1), [0, 0.25, 0.5, 1], atol=0.0095)
    assert (out == drawn("bernoulli", p)).all() and (out != drawn("bernoulli", p, 2)).any()


@pytest.mark.parametrize("bad", [-0.1, 1.1, np.nan, np.inf])
def test_bernoulli_takes_probabilities(bad):
    with pytest.raises(ValueError, match=r"probabilities, got .* at position 1"):
        ops.bernoulli(_core.to_variable(np.array([0.5, bad])))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_multinomial_with_replacement(dtype):
    weights = np.array([[2, 0, 6, 0], [0, 1, 0, 0]], dtype)
    out = drawn("multinomial", weights, num_samples=100_000, replacement=True)
    assert out.dtype == "int64" and (out[1] == 1).all()
    counts = np.bincount(out[0], minlength=4) / 100_000
    np.testing.assert_allclose(counts, [0.25, 0, 0.75, 0], atol=0.0083)  # six deviations
    assert counts[1] == counts[3] == 0


def test_multinomial_without_replacement():
    weights = np.tile(np.array([1.0, 2.0, 0.0, 5.0]), (50_000, 1))
    out = drawn("multinomial", weights, num_samples=2)
    assert (out[:, 0] != out[:, 1]).all() and not (out == 2).any()
    # P(first, second) = w1 / 8 * w2 / (8 - w1)
    w = weights[0]
    for a in (0, 1, 3):
        for b in {0, 1, 3} - {a}:
            part = ((out[:, 0] == a) & (out[:, 1] == b)).mean()
            assert part == pytest.approx(w[a] / 8 * w[b] / (8 - w[a]), abs=0.0135)  # six deviations


def test_multinomial_shapes():
    assert drawn("multinomial", np.ones(5)).shape == (1,)
    assert sorted(drawn("multinomial", np.ones(5), num_samples=5).tolist()) == [0, 1, 2, 3, 4]
    assert drawn("multinomial", np.ones((0, 3)), num_samples=2).shape == (0, 2)
    many = drawn("multinomial", np.ones(200_000), num_samples=200_000)
    assert (np.sort(many) == np.arange(200_000)).all()


@pytest.mark.parametrize(
    ("x", "attrs", "message"),
    [
        ([1.0, -1.0], {}, "finite and at least 0, got -1"),
        ([1.0, np.nan], {}, "finite and at least 0, got nan"),
        ([1.0, np.inf], {}, "finite and at least 0, got inf"),
        ([0.0, 0.0], {"replacement": True}, "1 positive weights, got 0"),
        ([1.0, 0.0], {"num_samples": 2}, "2 positive weights, got 1"),
        ([1.0], {"num_samples": 2}, "2 weights in a row"),
        ([[[1.0]]], {}, r"\[n\] or \[batch, n\]"),
        ([1.0], {"num_samples": 0}, "num_samples"),
    ],
)
def test_multinomial_errors(x, attrs, message):
    with pytest.raises(ValueError, match=message):
        ops.multinomial(_core.to_variable(np.array(x)), **attrs)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mean", [0.0, 0.1, 3.0, 11.9, 12.0, 30.0, 1e4])
def test_poisson(mean, dtype):
    n = 100_000
    out = drawn("poisson", np.full(n, mean, dtype)).astype("float64")
    assert (out == np.floor(out)).all() and (out >= 0).all()
    assert out.mean() == pytest.approx(mean, abs=6 * math.sqrt(mean / n) + 1e-12)
    deviation = math.sqrt((2 * mean**2 + mean) / n)  # of the variance
    assert out.var() == pytest.approx(mean, abs=6 * deviation + 1e-12)
    if 0 < mean < 100:  # the probability of each number
        for count in range(int(mean + 3)):
            p = math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))
            assert (out == count).mean() == pytest.approx(p, abs=6 * math.sqrt(p / n) + 1e-4)


def test_poisson_seeds_threads_and_ends():
    x = np.linspace(0, 40, 20_000).reshape(2, -1)
    a = drawn("poisson", x)
    assert (a == drawn("poisson", x)).all() and (a != drawn("poisson", x, 2)).any()
    threads = dygraph.num_threads()
    try:
        dygraph.set_num_threads(1)
        assert (a == drawn("poisson", x)).all()
    finally:
        dygraph.set_num_threads(threads)
    big = drawn("poisson", np.array([2.0**52]))
    assert abs(big - 2.0**52) < 6 * 2.0**26
    assert drawn("poisson", np.zeros((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, 1e16])
def test_poisson_errors(bad):
    with pytest.raises(ValueError, match=r"lie in \[0, 2\^52\], got"):
        ops.poisson(_core.to_variable(np.array([bad])))
