"""Distributions: samples, densities, entropies and divergences."""

import math

import numpy as np

from dygraph import _core, ops
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.inspect.shown import Shown
from dygraph.static.layers.making import run
from dygraph.static.layers.random import (
    gaussian_random,
    gaussian_random_batch_size_like,
    uniform_random,
    uniform_random_batch_size_like,
)
from dygraph.static.layers.tensor import assign
from dygraph.static.program import Variable

__all__ = ["Categorical", "MultivariateNormalDiag", "Normal", "Uniform"]

_ELEMENT_TYPES = ("float16", "bfloat16", "float32", "float64")


class Distribution(Shown):
    """Arguments as variables: of the default program, or eager beside an eager Variable."""

    def _take(self, **given):
        variables = [v for v in given.values() if isinstance(v, _core.Variable)]
        self._eager = any(not isinstance(v, Variable) for v in variables)
        typed = [v for v in given.values() if isinstance(v, (_core.Variable, np.ndarray))]
        dtype = next((str(v.dtype) for v in typed if str(v.dtype) in _ELEMENT_TYPES), "float32")
        for name, value in given.items():
            setattr(self, name, self._variable(name, value, dtype))

    def _variable(self, name, value, dtype):
        owner = f"{type(self).__name__}: {name}"
        if isinstance(value, _core.Variable):
            return value if str(value.dtype) == dtype else ops.cast(value, dtype)
        if isinstance(value, (bool, str)) or not isinstance(
            value, (int, float, list, tuple, np.ndarray, np.generic)
        ):
            raise ArgumentTypeError(
                f"{owner} must be a number, an array or a Variable, got {kind_of(value)}"
            )
        array = np.asarray(value, dtype)
        return _core.to_variable(array) if self._eager else assign(array)

    def _same_kind(self, other, what):
        if type(other) is not type(self):
            raise ArgumentTypeError(
                f"{type(self).__name__}.{what}: other must be a {type(self).__name__}, "
                f"got {kind_of(other)}"
            )
        return other

    def _draw(self, op, shape, base, seed, attrs):
        """Samples of the shape ``shape`` + that of `base`."""
        owner = f"{type(self).__name__}.sample"
        shape = check.shape(shape, f"{owner}: shape")
        attrs = {**attrs, "seed": check.integer(seed, f"{owner}: seed"), "dtype": base.dtype}
        batch = list(base.shape)
        if -1 not in batch:
            if self._eager:
                return run(op, {}, {"shape": shape + batch, **attrs})["Out"]
            make = uniform_random if op == "uniform_random" else gaussian_random
            return make(shape + batch, **attrs)
        if batch.index(-1) or batch.count(-1) > 1:
            raise InvalidArgumentError(
                f"{owner}: only the first size may be unknown, got parameters of shape {batch}"
            )
        # Samples are independent, so any order of axes is right.
        count = math.prod(shape) * math.prod(batch[1:])
        like = uniform_random_batch_size_like
        if op == "gaussian_random":
            like = gaussian_random_batch_size_like
        drawn = like(base, [-1, count], **attrs)
        return ops.reshape2(drawn, shape=shape + batch)


class Normal(Distribution):
    """The normal distribution with mean `loc` and deviation `scale`.

    Parameters
    ----------
    loc, scale : float, array or Variable
        Floating, of shapes that broadcast.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import static
    >>> unit = static.layers.Normal(dygraph.to_variable([0.0]), 1.0)
    >>> unit.sample([4]).shape
    (4, 1)
    >>> unit.kl_divergence(static.layers.Normal(dygraph.to_variable([1.0]), 1.0)).tolist()
    [0.5]
    """

    def __init__(self, loc, scale):
        self._take(loc=loc, scale=scale)

    def sample(self, shape, seed=0):
        """Samples of ``shape`` + the shape of `loc` and `scale`; seed 0: the generator's."""
        base = self.loc + self.scale
        attrs = {"mean": 0.0, "std": 1.0}
        return self._draw("gaussian_random", shape, base, seed, attrs) * self.scale + self.loc

    def entropy(self):
        """``log(scale) + (1 + log(2 pi)) / 2``."""
        scale = self.loc * 0.0 + self.scale
        return ops.log(scale) + (0.5 + 0.5 * math.log(2 * math.pi))

    def log_prob(self, value):
        """The logarithm of the density at `value`."""
        z = (check.variable(value, "Normal.log_prob: value") - self.loc) / self.scale
        return z * z * -0.5 - ops.log(self.scale) - 0.5 * math.log(2 * math.pi)

    def kl_divergence(self, other):
        """Kullback and Leibler's divergence of `other`, a Normal, from this one."""
        other = self._same_kind(other, "kl_divergence")
        ratio = self.scale / other.scale
        ratio = ratio * ratio
        shift = (self.loc - other.loc) / other.scale
        return (ratio + shift * shift - 1.0 - ops.log(ratio)) * 0.5


class Uniform(Distribution):
    """The uniform distribution on [low, high).

    Parameters
    ----------
    low, high : float, array or Variable
        Floating, of shapes that broadcast.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.Uniform(dygraph.to_variable([0.0, 1.0]), 5.0).sample([3]).shape
    (3, 2)
    """

    def __init__(self, low, high):
        self._take(low=low, high=high)

    def sample(self, shape, seed=0):
        """Samples of ``shape`` + the shape of `low` and `high`; seed 0: the generator's."""
        attrs = {"min": 0.0, "max": 1.0}
        drawn = self._draw("uniform_random", shape, self.low + self.high, seed, attrs)
        return drawn * (self.high - self.low) + self.low

    def log_prob(self, value):
        """``-log(high - low)`` where `value` lies between them, else minus infinity."""
        value = check.variable(value, "Uniform.log_prob: value")
        inside = ops.logical_and(self.low < value, value < self.high)
        inside = ops.log(ops.cast(inside, self.low.dtype))
        return inside - ops.log(self.high - self.low)

    def entropy(self):
        """``log(high - low)``."""
        return ops.log(self.high - self.low)


class Categorical(Distribution):
    """Classes with probabilities ``softmax(logits)``.

    Parameters
    ----------
    logits : array or Variable
        Floating, ``[..., classes]``.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import static
    >>> even = static.layers.Categorical(dygraph.to_variable([1.0, 1.0]))
    >>> even.entropy().shape
    (1,)
    """

    def __init__(self, logits):
        self._take(logits=logits)
        if not self.logits.shape:
            raise InvalidArgumentError("Categorical: logits must have an axis of classes, got []")

    def _logarithms(self):
        return ops.log_softmax(self.logits, axis=-1)

    def entropy(self):
        """``-sum(p log p)`` over the classes, ``[..., 1]``."""
        logarithms = self._logarithms()
        terms = ops.exp(logarithms) * logarithms
        return ops.reduce_sum(terms, dim=[-1], keep_dim=True) * -1.0

    def kl_divergence(self, other):
        """Kullback and Leibler's divergence of `other`, a Categorical, from this, ``[..., 1]``."""
        other = self._same_kind(other, "kl_divergence")
        own = self._logarithms()
        terms = ops.exp(own) * (own - other._logarithms())
        return ops.reduce_sum(terms, dim=[-1], keep_dim=True)


class MultivariateNormalDiag(Distribution):
    """The normal distribution of several independent variables.

    Parameters
    ----------
    loc : list, array or Variable
        The means, ``[n]``.
    scale : list, array or Variable
        ``[n, n]`` with the variances on its diagonal and 0 elsewhere.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import static
    >>> one = static.layers.MultivariateNormalDiag(
    ...     dygraph.to_variable([0.0, 0.0]), dygraph.to_variable([[1.0, 0.0], [0.0, 1.0]]))
    >>> round(one.entropy().item(), 4)
    2.8379
    """

    def __init__(self, loc, scale):
        self._take(loc=loc, scale=scale)
        shape = tuple(self.scale.shape)
        for axis in range(len(shape)):
            check.known_size(self.scale, axis, "MultivariateNormalDiag")
        if len(shape) != 2 or shape[0] != shape[1] or tuple(self.loc.shape) != shape[:1]:
            raise InvalidArgumentError(
                "MultivariateNormalDiag: loc must be [n] and scale [n, n], got "
                f"{list(self.loc.shape)} and {list(shape)}"
            )

    def _variances(self):
        n = self.scale.shape[0]
        eye = np.eye(n, dtype=str(self.scale.dtype))
        eye = _core.to_variable(eye) if self._eager else assign(eye)
        return ops.reduce_sum(self.scale * eye, dim=[-1])

    def entropy(self):
        """``(n (1 + log(2 pi)) + log(det(scale))) / 2``."""
        logarithms = ops.reduce_sum(ops.log(self._variances()), dim=[-1])
        constant = self.scale.shape[0] * (1 + math.log(2 * math.pi))
        return (logarithms + constant) * 0.5

    def kl_divergence(self, other):
        """Kullback and Leibler's divergence of `other`, of the same kind, from this one."""
        other = self._same_kind(other, "kl_divergence")
        own, theirs = self._variances(), other._variances()
        shift = self.loc - other.loc
        ratio = own / theirs
        terms = ratio + shift * shift / theirs - 1.0 - ops.log(ratio)
        return ops.reduce_sum(terms, dim=[-1]) * 0.5
