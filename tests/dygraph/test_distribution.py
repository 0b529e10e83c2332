"""Probability distributions beside recorded values of torch 2.13, moments of samples, gradients."""

import math

import numpy as np
import pytest

import dygraph
from dygraph.distribution import Bernoulli, Categorical, Normal, Uniform, kl_divergence


def var(values):
    return dygraph.to_variable(np.array(values, "float32"))


def normal():
    return Normal(var([0.5, -1.0]), var([2.0, 0.3]))


def uniform():
    return Uniform(var([0.0, 1.0]), var([2.0, 4.0]))


def categorical():
    return Categorical(logits=var([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]]))


def weighted():
    return Categorical(probs=var([[0.2, 0.3, 0.5], [0.0, 0.4, 0.6]]))


def index(values):
    return dygraph.to_variable(np.array(values, "int64"))


# What torch.distributions gives for these parameters.
RECORDED = [
    (lambda: normal().log_prob(var([1.0, 2.0])), [-1.64334, -49.71496]),
    (lambda: normal().entropy(), [2.11209, 0.21497]),
    (lambda: uniform().log_prob(var([1.0, 5.0])), [-0.69315, -math.inf]),
    (lambda: uniform().entropy(), [0.69315, 1.09861]),
    (lambda: categorical().log_prob(index([2, 0])), [-1.96437, -3.06588]),
    (lambda: categorical().log_prob(index(1)), [-0.46437, -4.06588]),
    (lambda: categorical().entropy(), [0.90596, 0.27431]),
    (
        lambda: weighted().log_prob(index([[0, 1], [2, 2]])),
        [[-1.60944, -0.91629], [-0.69315, -0.51083]],
    ),
    (lambda: weighted().entropy(), [1.02965, 0.67301]),
    (lambda: Bernoulli(var([0.0, 0.25, 1.0])).log_prob(var([0.0, 1.0, 1.0])), [0, -1.38629, 0]),
    (lambda: Bernoulli(var([0.0, 0.25, 1.0])).entropy(), [0, 0.56234, 0]),
    (
        lambda: Bernoulli(logits=var([0.3, -40.0, 60.0])).log_prob(var([1.0, 1.0, 0.0])),
        [-0.55436, -40.0, -60.0],
    ),
    (lambda: Bernoulli(logits=var([0.3, -40.0, 60.0])).entropy(), [0.68202, 0, 0]),
    (lambda: kl_divergence(normal(), Normal(0.0, 1.0)), [0.93185, 1.24897]),
    (lambda: kl_divergence(categorical(), weighted()), [0.32013, math.inf]),
    (lambda: kl_divergence(weighted(), categorical()), [0.38472, 0.99287]),
    (
        lambda: kl_divergence(Bernoulli(var([0.0, 0.3])), Bernoulli(var([0.5, 0.6]))),
        [0.69315, 0.18379],
    ),
    (lambda: kl_divergence(uniform(), Uniform(-1.0, 5.0)), [1.09861, 0.69315]),
    (lambda: kl_divergence(Uniform(-1.0, 5.0), uniform()), [math.inf, math.inf]),
]


@pytest.mark.parametrize("number", range(len(RECORDED)))
def test_values(number):
    compute, expected = RECORDED[number]
    np.testing.assert_allclose(compute().numpy(), expected, rtol=2e-5, atol=1e-5)


def test_samples_have_the_shape_and_the_moments():
    dygraph.seed(3)
    for p, mean, deviation in (
        (Normal(2.0, 3.0), 2.0, 3.0),
        (Uniform(1.0, 3.0), 2.0, 2 / math.sqrt(12)),
        (Bernoulli(0.25), 0.25, math.sqrt(0.1875)),
    ):
        drawn = p.sample([40_000]).numpy()
        assert drawn.shape == (40_000,)
        assert abs(drawn.mean() - mean) < 5 * deviation / 200
        assert abs(drawn.std() / deviation - 1) < 0.03
        assert p.sample().shape == () and p.mean.item() == mean
        assert abs(p.variance.item() - deviation**2) < 1e-6
    drawn = weighted().sample([20_000]).numpy()
    shares = [np.bincount(drawn[:, i], minlength=3) / 20_000 for i in range(2)]
    np.testing.assert_allclose(shares, [[0.2, 0.3, 0.5], [0.0, 0.4, 0.6]], atol=0.02)
    assert weighted().sample().shape == (2,) and weighted().sample([2, 5]).shape == (2, 5, 2)
    assert weighted().sample([0]).shape == (0, 2)


def test_rsample_moves_with_the_parameters():
    mean, deviation = var([1.0, 2.0]).requires_grad_(), var([0.5, 3.0]).requires_grad_()
    drawn = Normal(mean, deviation).rsample([4])
    drawn.sum().backward()
    assert mean.grad.tolist() == [4.0, 4.0]
    noise = (drawn.detach() - mean.detach()) / deviation.detach()
    np.testing.assert_allclose(deviation.grad.numpy(), noise.numpy().sum(0), rtol=1e-5)
    assert Normal(mean, deviation).sample([4]).stop_gradient
    low = var([0.0]).requires_grad_()
    value = Uniform(low, 4.0).rsample()
    value.sum().backward()
    np.testing.assert_allclose(low.grad.numpy(), 1 - value.detach().numpy() / 4, rtol=1e-5)


def test_second_order():
    """KL(N(m, e^m) || N(0, 1)) is (e^2m + m^2 - 1) / 2 - m."""
    m = var([0.1]).requires_grad_()
    loss = kl_divergence(Normal(m, m.exp()), Normal(0.0, 1.0)).sum()
    (first,) = dygraph.grad(loss, m, create_graph=True)
    (second,) = dygraph.grad(first.sum(), m)
    np.testing.assert_allclose(first.item(), math.exp(0.2) + 0.1 - 1, rtol=1e-5)
    np.testing.assert_allclose(second.item(), 2 * math.exp(0.2) + 1, rtol=1e-5)


def test_reinforce():
    """The gradient of log p(i) of logits is one-hot(i) - p."""
    logits = var([1.0, 2.0, 0.5]).requires_grad_()
    Categorical(logits=logits).log_prob(index(2)).backward()
    p = np.exp([1.0, 2.0, 0.5]) / np.exp([1.0, 2.0, 0.5]).sum()
    np.testing.assert_allclose(logits.grad.numpy(), [-p[0], -p[1], 1 - p[2]], rtol=1e-5)


@pytest.mark.parametrize(
    ("compute", "error", "words"),
    [
        (lambda: Normal(0.0, -1.0), ValueError, "Normal: scale must be positive, got -1.0"),
        (lambda: Uniform(2.0, 1.0), ValueError, "high - low must be positive"),
        (lambda: Categorical(var([1.0, 2.0])), TypeError, "logits= or probs= must be given"),
        (lambda: Categorical(), TypeError, "logits= or probs="),
        (lambda: Bernoulli(), TypeError, "probs= or logits="),
        (lambda: categorical().rsample(), RuntimeError, "gumbel_softmax"),
        (lambda: categorical().log_prob(var([1.0, 2.0])), TypeError, "indices, got float32"),
        (lambda: Normal(index([1]), index([2])), TypeError, "floating-point numbers, got int64"),
        (lambda: Bernoulli(2.0), ValueError, "probs must be between 0 and 1, got 2.0"),
        (lambda: kl_divergence(1, normal()), TypeError, "p must be a Distribution, got int 1"),
        (lambda: kl_divergence(normal(), uniform()), RuntimeError, "got Normal and Uniform"),
        (lambda: normal().sample(3), TypeError, "must be a list of integers, got int 3"),
    ],
)
def test_bad_input(compute, error, words):
    with pytest.raises(error, match=words):
        compute()


def test_torchs_module_is_named():
    with pytest.raises(AttributeError, match=r"dygraph\.distribution"):
        dygraph.distributions  # noqa: B018


def test_parameters_have_one_shape():
    for made in (Normal(var([1.0, math.inf]), 2.0), Normal(1.0, var([2.0, 3.0]))):
        assert made.loc.shape == made.scale.shape == (2,)
    assert Normal(var([1.0, math.inf]), 2.0).scale.tolist() == [2.0, 2.0]
    assert Normal(var([1.0, 2.0]), 3.0).entropy().shape == (2,)
    assert Uniform(var([0.0, 1.0]), 4.0).high.tolist() == [4.0, 4.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bernoulli(var([0.5, 1.5])), "probs must be between 0 and 1, got 1.5"),
        (lambda: Bernoulli(var([0.5, -0.25])), "must be between 0 and 1, got -0.25"),
        (lambda: Bernoulli(math.nan), "between 0 and 1, got nan"),
        (lambda: Categorical(probs=var([2.0, -1.0])), "Categorical: probs must be at least 0"),
        (lambda: Categorical(probs=var([[1.0, 1.0], [0.0, 0.0]])), "sum of probs must be positive"),
        (lambda: weighted().log_prob(index([0, -1])), "an index must be at least 0, got -1"),
    ],
)
def test_values_outside(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_gradients_at_the_ends():
    """By hand: of log p at p = 1 it is 1; a probability of 0 adds nothing."""
    p = dygraph.to_variable([1.0, 0.0, 0.25], requires_grad=True)

    def gradient(value):
        value.sum().backward()
        found = p.grad.numpy().copy()
        p.clear_gradient()
        return found

    ends = Bernoulli(p).log_prob(var([1.0, 0.0, 1.0]))
    np.testing.assert_allclose(ends.numpy(), [0.0, 0.0, math.log(0.25)], rtol=1e-6)
    np.testing.assert_allclose(gradient(ends), [1.0, -1.0, 4.0])
    assert Bernoulli(p).log_prob(var([0.0, 1.0, 1.0])).tolist()[:2] == [-math.inf] * 2
    entropy = gradient(Bernoulli(p).entropy())
    np.testing.assert_allclose(entropy, [-1.0, 1.0, math.log(3)], rtol=1e-6)
    for kind in (Bernoulli, lambda p: Categorical(probs=p)):
        np.testing.assert_allclose(gradient(kl_divergence(kind(p), kind(p))), [0.0] * 3, atol=1e-6)
    assert np.isfinite(gradient(Categorical(probs=p).entropy())).all()
    q = var([0.5, 0.0])
    assert kl_divergence(Bernoulli(q), Bernoulli(var([0.0, 0.5])))[0].item() == math.inf
