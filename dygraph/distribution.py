"""Probability distributions: samples, log-probabilities, entropies and divergences.

Names are those that ``paddle.distribution`` and ``torch.distributions`` share. Parameters
broadcast, gradients of any order flow to them, and ``rsample`` lets them flow through a sample.

Examples
--------
>>> import dygraph
>>> from dygraph.distribution import Normal, kl_divergence
>>> p, q = Normal(0.0, 1.0), Normal(dygraph.to_variable([1.0, 0.0]), 1.0)
>>> kl_divergence(q, p).tolist()
[0.5, 0.0]
"""

import math

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, UnimplementedError, kind_of
from dygraph.functions.choices import where
from dygraph.functions.random import bernoulli, multinomial, rand, randn
from dygraph.functions.searching import take_along_axis
from dygraph.inspect.shown import Shown
from dygraph.nn.functional.along_axis import log_softmax

__all__ = ["Bernoulli", "Categorical", "Distribution", "Normal", "Uniform", "kl_divergence"]

ops = _core.ops
Variable = _core.Variable


def _parameters(owner, **given):
    """Numbers and Variables as Variables of one shape and floating type."""
    values = {
        name: value if isinstance(value, Variable) else _core.literal(value, _type_of(given))
        for name, value in given.items()
    }
    for name, value in values.items():
        if not value.dtype.is_floating:
            raise ArgumentTypeError(
                f"{owner}: {name} must hold floating-point numbers, got {value.dtype}. Convert "
                "with astype('float32')"
            )
    whole = sum(ops.fill_any_like(v) for v in values.values())  # zeros of the common shape
    return [v + whole for v in values.values()]


def _type_of(given):
    known = [v.dtype for v in given.values() if isinstance(v, Variable)]
    return known[0] if known else _core.float32


def _positive(value, what):
    if not _core.is_symbol(value) and value.size and not value.detach().min().item() > 0:
        raise InvalidArgumentError(f"{what} must be positive, got {value.detach().min().item()}")
    return value


def _at_least_0(value, what, most=math.inf):
    """`value`, whose elements are 0 to `most`; those of a program are not known."""
    if not _core.is_symbol(value) and value.size:
        bounds = "at least 0" if most == math.inf else f"between 0 and {most}"
        for n in (value.detach().min().item(), value.detach().max().item()):
            if not 0 <= n <= most:
                raise InvalidArgumentError(f"{what} must be {bounds}, got {n}")
    return value


def _log(p):
    """The logarithm of probabilities; of 0 ``-inf``, with the gradient 0."""
    is_some = p != 0
    return where(is_some, ops.log(where(is_some, p, 1.0)), -math.inf)


class Distribution(Shown):
    """Base of the distributions.

    ``sample(shape)`` draws, without a gradient, values of ``[*shape, *batch]``, where batch is the
    shape of the parameters; ``log_prob(value)`` and ``entropy()`` are natural logarithms.

    Examples
    --------
    >>> from dygraph.distribution import Distribution, Normal
    >>> p = Normal(0.0, 1.0)
    >>> isinstance(p, Distribution), p.sample([2, 3]).shape
    (True, (2, 3))
    """

    def sample(self, shape=()):
        """Values of shape ``[*shape, *batch]``. No gradient flows through them."""
        return self._draw(check.shape(shape, f"{type(self).__name__}.sample: shape")).detach()

    def rsample(self, shape=()):
        """As `sample`, and gradients flow to the parameters through the drawn values."""
        kind = type(self).__name__
        if not hasattr(self, "_moves"):
            raise UnimplementedError(
                f"{kind}.rsample: values must move with the parameters, got a discrete "
                "distribution. nn.functional.gumbel_softmax(logits) relaxes a categorical one; "
                "sample() and log_prob() give the gradient of REINFORCE"
            )
        return self._draw(check.shape(shape, f"{kind}.rsample: shape"))

    def log_prob(self, value):
        """The logarithm of the density, or of the probability, at `value`."""
        raise NotImplementedError(f"{type(self).__name__} must define log_prob(value)")

    def entropy(self):
        """The entropy, ``-E(log p)``."""
        raise NotImplementedError(f"{type(self).__name__} must define entropy()")

    def _draw(self, shape):
        raise NotImplementedError(f"{type(self).__name__} must define sample(shape)")

    def prob(self, value):
        """The density, or the probability, at `value`."""
        return self.log_prob(value).exp()


class Normal(Distribution):
    """The normal distribution of mean `loc` and standard deviation `scale`.

    Parameters
    ----------
    loc : Variable or float
    scale : Variable or float
        Greater than 0.

    Examples
    --------
    >>> from dygraph.distribution import Normal
    >>> round(Normal(0.0, 1.0).log_prob(0.0).item(), 4), Normal(0.0, 1.0).sample([3]).shape
    (-0.9189, (3,))
    """

    _moves = True

    def __init__(self, loc, scale):
        self.loc, self.scale = _parameters("Normal", loc=loc, scale=scale)
        _positive(self.scale, "Normal: scale")
        self.mean, self.stddev = self.loc, self.scale

    @property
    def variance(self):
        """The square of `scale`."""
        return self.scale * self.scale

    def _draw(self, shape):
        noise = randn([*shape, *self.loc.shape], dtype=self.loc.dtype)
        return self.loc + noise * self.scale

    def log_prob(self, value):
        """``-(value - loc)^2 / (2 scale^2) - log(scale) - log(2 pi) / 2``."""
        z = (value - self.loc) / self.scale
        return -0.5 * z * z - ops.log(self.scale) - 0.5 * math.log(2 * math.pi)

    def entropy(self):
        """``(1 + log(2 pi)) / 2 + log(scale)``."""
        return ops.log(self.scale) + 0.5 * (1 + math.log(2 * math.pi))


class Uniform(Distribution):
    """The uniform distribution on ``[low, high)``.

    Parameters
    ----------
    low, high : Variable or float
        `low` is less than `high`.

    Examples
    --------
    >>> from dygraph.distribution import Uniform
    >>> Uniform(0.0, 4.0).prob(1.0).item(), Uniform(0.0, 4.0).prob(5.0).item()
    (0.25, 0.0)
    """

    _moves = True

    def __init__(self, low, high):
        self.low, self.high = _parameters("Uniform", low=low, high=high)
        _positive(self.high - self.low, "Uniform: high - low")

    @property
    def mean(self):
        """``(low + high) / 2``."""
        return (self.low + self.high) / 2

    @property
    def variance(self):
        """``(high - low)^2 / 12``."""
        return (self.high - self.low) * (self.high - self.low) / 12

    def _draw(self, shape):
        drawn = rand([*shape, *self.low.shape], dtype=self.low.dtype)
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value):
        """``-log(high - low)`` from `low` on and below `high`, elsewhere ``-inf``."""
        value = value + self.low * 0
        inside = (value >= self.low) & (value < self.high)
        return where(inside, -ops.log(self.high - self.low) + value * 0, -math.inf)

    def entropy(self):
        """``log(high - low)``."""
        return ops.log(self.high - self.low)


class Categorical(Distribution):
    """Indices 0 to n - 1, with probabilities along the last axis of the parameter.

    Parameters
    ----------
    logits : Variable, optional
        ``[..., n]``: logarithms of the probabilities, up to a constant.
    probs : Variable, optional
        Instead of `logits`: weights in proportion to the probabilities.

    Notes
    -----
    `logits` are unnormalised logarithms, as in PyTorch. Paddle 2 reads them as weights; give those
    as ``probs=``. The parameter needs its name: without one it is `probs` in PyTorch.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.distribution import Categorical
    >>> p = Categorical(probs=dygraph.to_variable([1.0, 3.0]))
    >>> p.prob(dygraph.to_variable([0, 1])).numpy().round(3).tolist()
    [0.25, 0.75]
    """

    def __init__(self, *unnamed, logits=None, probs=None):
        if unnamed or (logits is None) == (probs is None):
            raise ArgumentTypeError(
                "Categorical: either logits= or probs= must be given. A parameter without a name "
                "is probs in torch and logits in Paddle"
            )
        given = check.variable(probs if logits is None else logits, "Categorical: the parameter")
        if given.ndim < 1:
            raise InvalidArgumentError("Categorical: the parameter must be [..., n], got 0-d")
        if probs is not None:
            total = _at_least_0(given, "Categorical: probs").sum(-1, keepdims=True)
            _positive(total, "Categorical: the sum of probs")
            given = _log(given / total)
        self.logits = log_softmax(given, -1)

    @property
    def probs(self):
        """The probabilities; their sum is 1."""
        return self.logits.exp()

    def _draw(self, shape):
        batch, n = list(self.logits.shape[:-1]), self.logits.shape[-1]
        count = math.prod(shape)
        rows = multinomial(self.probs.detach().reshape(-1, n), max(count, 1), replacement=True)
        drawn = rows.T.reshape([max(count, 1), *batch])
        return drawn[:count].reshape([*shape, *batch])

    def log_prob(self, value):
        """The logarithm of the probability of the indices `value`, ``[..., *batch]``."""
        value = check.variable(value, "Categorical.log_prob: value")
        if value.dtype.is_floating:
            raise ArgumentTypeError(
                f"Categorical.log_prob: value must hold indices, got {value.dtype}. Convert with "
                "astype('int64')"
            )
        value = _at_least_0(value, "Categorical.log_prob: an index").unsqueeze(-1)
        logits = self.logits
        if value.ndim > logits.ndim:
            logits = logits.reshape([1] * (value.ndim - logits.ndim) + list(logits.shape))
        elif value.ndim < logits.ndim:
            value = value.reshape([1] * (logits.ndim - value.ndim) + list(value.shape))
        return take_along_axis(logits, value, -1).squeeze(-1)

    def entropy(self):
        """``-sum(p log p)``, where ``0 log 0`` is 0."""
        return -(self.probs * _finite(self.logits)).sum(-1)


class Bernoulli(Distribution):
    """1 with a probability, else 0.

    Parameters
    ----------
    probs : float or Variable, optional
    logits : float or Variable, optional
        Instead: ``log(probs / (1 - probs))``.

    Examples
    --------
    >>> from dygraph.distribution import Bernoulli
    >>> Bernoulli(0.25).prob(1.0).item(), Bernoulli(logits=0.0).prob(0.0).item()
    (0.25, 0.5)
    """

    def __init__(self, probs=None, logits=None):
        if (logits is None) == (probs is None):
            raise ArgumentTypeError("Bernoulli: either probs= or logits= must be given")
        if probs is not None:
            (self.probs,) = _parameters("Bernoulli", probs=probs)
            _at_least_0(self.probs, "Bernoulli: probs", 1)
            self._logs = _log(self.probs), _log(1.0 - self.probs)
        else:
            (logits,) = _parameters("Bernoulli", logits=logits)
            self.probs = ops.sigmoid(logits)
            self._logs = ops.logsigmoid(logits), ops.logsigmoid(-logits)

    @property
    def mean(self):
        """The probability."""
        return self.probs

    @property
    def variance(self):
        """``p (1 - p)``."""
        return self.probs * (1.0 - self.probs)

    def _draw(self, shape):
        return bernoulli(self.probs.detach().expand([*shape, *self.probs.shape]))

    def log_prob(self, value):
        """``value log p + (1 - value) log(1 - p)``, where ``0 log 0`` is 0."""
        one, zero = self._logs
        value = value if isinstance(value, Variable) else _core.literal(value, one.dtype)
        one, zero = one + value * 0, zero + value * 0
        return where(value == 1, one, where(value == 0, zero, value * one + (1.0 - value) * zero))

    def entropy(self):
        """``-p log p - (1 - p) log(1 - p)``."""
        one, zero = self._logs
        return -(self.probs * _finite(one) + (1.0 - self.probs) * _finite(zero))


def _finite(logs):
    """Logarithms of 0 as 0, for products with 0."""
    return where(logs == -math.inf, 0.0, logs)


def _weighed(probs, logs, others):
    """``probs * (logs - others)``, 0 where the probability is 0."""
    return probs * (_finite(logs) - where(probs == 0, 0.0, others))


def kl_divergence(p, q):
    """``KL(p || q) = E_p(log p - log q)`` of two distributions of one kind.

    Parameters
    ----------
    p, q : Distribution

    Returns
    -------
    Variable
        The shape of the parameters.

    Raises
    ------
    ArgumentTypeError
        (a TypeError) for other values.
    UnimplementedError
        For distributions of two kinds.

    Examples
    --------
    >>> from dygraph.distribution import Uniform, kl_divergence
    >>> round(kl_divergence(Uniform(0.0, 1.0), Uniform(0.0, 2.0)).item(), 4)
    0.6931
    """
    for name, value in (("p", p), ("q", q)):
        if not isinstance(value, Distribution):
            raise ArgumentTypeError(
                f"kl_divergence: {name} must be a Distribution, got {kind_of(value)}"
            )
    if isinstance(p, Normal) and isinstance(q, Normal):
        ratio, z = p.scale / q.scale, (p.loc - q.loc) / q.scale
        return 0.5 * (ratio * ratio + z * z - 1.0) - ops.log(ratio)
    if isinstance(p, Uniform) and isinstance(q, Uniform):
        inside = (q.low <= p.low) & (p.high <= q.high)
        return where(inside, ops.log((q.high - q.low) / (p.high - p.low)), math.inf)
    if isinstance(p, Categorical) and isinstance(q, Categorical):
        return _weighed(p.probs, p.logits, q.logits).sum(-1)
    if isinstance(p, Bernoulli) and isinstance(q, Bernoulli):
        pairs = zip((p.probs, 1.0 - p.probs), p._logs, q._logs, strict=True)
        return sum(_weighed(*pair) for pair in pairs)
    raise UnimplementedError(
        "kl_divergence: p and q must be of one kind, Normal, Uniform, Categorical or Bernoulli, "
        f"got {type(p).__name__} and {type(q).__name__}"
    )
