"""Distributions: values worked out by NumPy, eagerly and in programs."""

import math

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.static import layers

LOC, SCALE = np.array([0.5, -1.0], "float32"), np.array([1.0, 2.0], "float32")
OTHER_LOC, OTHER_SCALE = np.array([0.0, 1.0], "float32"), np.array([2.0, 0.5], "float32")
VALUE = np.array([0.25, 1.5], "float32")


pytestmark = pytest.mark.usefixtures("own_programs")


@pytest.fixture(params=["eager", "program"])
def world(request):
    """(make a variable of an array, value of a variable)"""
    if request.param == "eager":
        return dygraph.to_variable, lambda v: v.numpy()
    return layers.assign, lambda v: static.Executor().run(fetch_list=[v])[0]


def normal_density(x, mean, deviation):
    return np.exp(-((x - mean) ** 2) / (2 * deviation**2)) / np.sqrt(2 * np.pi * deviation**2)


def test_normal(world):
    make, value = world
    a = layers.Normal(make(LOC), make(SCALE))
    b = layers.Normal(make(OTHER_LOC), make(OTHER_SCALE))
    entropy = 0.5 * np.log(2 * np.pi * np.e * SCALE**2)
    np.testing.assert_allclose(value(a.entropy()), entropy, rtol=1e-5)
    density = np.log(normal_density(VALUE, LOC, SCALE))
    np.testing.assert_allclose(value(a.log_prob(make(VALUE))), density, rtol=1e-5)
    # The divergence as an integral.
    for i, got in enumerate(value(a.kl_divergence(b))):
        (m, s), (n, r) = (map(float, pair) for pair in [(LOC[i], SCALE[i]),
                                                       (OTHER_LOC[i], OTHER_SCALE[i])])  # fmt: skip
        x = np.linspace(m - 30, m + 30, 200001)
        p = normal_density(x, m, s)
        log_p = -((x - m) ** 2) / (2 * s**2) - math.log(s)
        log_q = -((x - n) ** 2) / (2 * r**2) - math.log(r)
        assert got == pytest.approx(np.sum(p * (log_p - log_q)) * (x[1] - x[0]), rel=1e-4)


def test_uniform(world):
    make, value = world
    u = layers.Uniform(make(np.array([0.0, 1.0], "float32")), make(np.array([2.0, 5.0], "float32")))
    np.testing.assert_allclose(value(u.entropy()), np.log([2.0, 4.0]), rtol=1e-6)
    inside, outside = np.array([0.5, 4.5], "float32"), np.array([-1.0, 6.0], "float32")
    np.testing.assert_allclose(value(u.log_prob(make(inside))), -np.log([2.0, 4.0]), rtol=1e-6)
    assert value(u.log_prob(make(outside))).tolist() == [-math.inf] * 2


def test_draws(world):
    make, value = world
    n = value(layers.Normal(make(LOC), make(SCALE)).sample([4000], seed=3))
    assert n.shape == (4000, 2) and len(np.unique(n)) > 7000
    np.testing.assert_allclose(n.mean(0), LOC, atol=0.15)
    np.testing.assert_allclose(n.std(0), SCALE, rtol=0.05)
    low, high = np.array([0.0, 1.0], "float32"), np.array([2.0, 5.0], "float32")
    u = value(layers.Uniform(make(low), make(high)).sample([4000], seed=3))
    assert (u >= low).all() and (u < high).all()
    np.testing.assert_allclose(u.mean(0), (low + high) / 2, rtol=0.05)
    np.testing.assert_allclose(u.var(0), (high - low) ** 2 / 12, rtol=0.1)


def test_categorical(world):
    make, value = world
    logits = np.array([[1.0, 2.0, 0.5], [100.0, -100.0, 0.0]])
    other = np.array([[0.0, 0.0, 0.0], [99.0, 99.0, 0.0]])
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    q = np.exp(other - other.max(1, keepdims=True))
    q /= q.sum(1, keepdims=True)
    a, b = layers.Categorical(make(logits)), layers.Categorical(make(other))
    terms = np.where(p > 1e-80, p * np.log(np.maximum(p, 1e-80)), 0)
    np.testing.assert_allclose(
        value(a.entropy()), -terms.sum(1, keepdims=True), rtol=1e-9, atol=1e-12
    )
    expected = (terms - np.where(p > 1e-80, p * np.log(q), 0)).sum(1, keepdims=True)
    np.testing.assert_allclose(value(a.kl_divergence(b)), expected, rtol=1e-9)


def test_several_variables(world):
    """The figures are those of the reference's help, worked out by hand as well."""
    make, value = world
    a = layers.MultivariateNormalDiag(
        make(np.array([0.3, 0.5], "float32")), make(np.diag([0.4, 0.5]).astype("float32"))
    )
    b = layers.MultivariateNormalDiag(
        make(np.array([0.2, 0.4], "float32")), make(np.diag([0.3, 0.4]).astype("float32"))
    )
    assert value(a.entropy()) == pytest.approx(2.033158, rel=1e-6)
    assert value(b.entropy()) == pytest.approx(1.7777451, rel=1e-6)
    assert value(a.kl_divergence(b)) == pytest.approx(0.06542051, rel=1e-5)


def test_numbers_make_variables_of_the_default_program():
    n, u = layers.Normal(0.0, 1.0), layers.Uniform([0.0], [1.0])
    drawn = [n.sample([3]), u.sample([3])]
    assert [v.shape for v in drawn] == [(3,), (3, 1)]
    got = static.Executor().run(fetch_list=[n.entropy(), *drawn])
    assert got[0] == pytest.approx(0.5 * math.log(2 * math.pi * math.e))
    assert np.std(got[1]) > 0 and np.std(got[2]) > 0


def test_a_batch_of_unknown_size():
    loc = static.data("loc", [None, 2], "float32")
    drawn = layers.Normal(loc, 1.0).sample([5, 3])
    spread = layers.Uniform(loc, loc + 1.0).sample([5])
    assert drawn.shape == (5, 3, -1, 2)
    feed = {"loc": np.array([[0, 100]] * 4, "float32")}
    n, u = static.Executor().run(feed=feed, fetch_list=[drawn, spread])
    assert n.shape == (5, 3, 4, 2) and len(np.unique(n)) > 100
    assert abs(n[..., 0].mean()) < 1 and abs(n[..., 1].mean() - 100) < 1
    assert u.shape == (5, 4, 2) and (u[..., 1] >= 100).all() and (u[..., 1] <= 101).all()


def test_gradients_reach_the_parameters():
    loc = dygraph.to_variable(LOC)
    loc.stop_gradient = False
    layers.Normal(loc, dygraph.to_variable(SCALE)).log_prob(dygraph.to_variable(VALUE)).sum(
    ).backward()  # fmt: skip
    np.testing.assert_allclose(loc.gradient(), (VALUE - LOC) / SCALE**2, rtol=1e-6)


def test_wrong_arguments():
    unit = layers.Normal(dygraph.ones([2]), 1.0)
    for call, error, text in [
        (lambda: layers.Normal("a", 1.0), TypeError, "Normal: loc must be a number, an array"),
        (lambda: unit.kl_divergence(3), TypeError, "other must be a Normal, got int 3"),
        (lambda: unit.sample([-1]), ValueError, "sample: shape must be at least 0"),
        (lambda: unit.log_prob(3.0), TypeError, "log_prob: value must be a Variable"),
        (lambda: layers.Categorical(np.float32(1)), ValueError, "must have an axis of classes"),
        (
            lambda: layers.MultivariateNormalDiag([0.0], [1.0]), ValueError,
            r"loc must be \[n\] and scale \[n, n\], got \[1\] and \[1\]",
        ),
    ]:  # fmt: skip
        with pytest.raises(error, match=text):
            call()
