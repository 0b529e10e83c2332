"""Weight decay, added to gradients before the optimizer's step."""

from dygraph import _core
from dygraph.core import check

__all__ = ["L1Decay", "L2Decay"]

ops = _core.ops


class _Decay:
    def __init__(self, regularization_coeff=0.0):
        name = f"{type(self).__name__}: regularization_coeff"
        self.coefficient = check.number(regularization_coeff, name, 0)

    def __call__(self, parameter, gradient):
        """The gradient plus the decay of `parameter`.

        It is dense, also for a sparse gradient: every row decays at each step, as in Fluid, so
        ``is_sparse`` changes no result.
        """
        decay = ops.scale(self.term(parameter), scale=self.coefficient)
        return ops.sum([gradient, decay])

    def term(self, parameter):
        """The term that the coefficient multiplies."""
        raise NotImplementedError

    def __repr__(self):
        return f"{type(self).__name__}({self.coefficient})"


class L2Decay(_Decay):
    """Adds ``coefficient * parameter`` to the gradient.

    Parameters
    ----------
    regularization_coeff : float, default 0.0
        The coefficient, at least 0.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([4.0, -2.0])
    >>> rule = dygraph.optimizer.SGD(1.0, [w], regularization=dygraph.regularizer.L2Decay(0.25))
    >>> (w * 0.0).sum().backward()
    >>> rule.step()
    >>> w.tolist()
    [3.0, -1.5]
    """

    def term(self, parameter):
        return parameter


class L1Decay(_Decay):
    """Adds ``coefficient * sign(parameter)`` to the gradient.

    Parameters
    ----------
    regularization_coeff : float, default 0.0
        The coefficient, at least 0.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([4.0, -2.0])
    >>> rule = dygraph.optimizer.SGD(1.0, [w], regularization=dygraph.regularizer.L1Decay(0.25))
    >>> (w * 0.0).sum().backward()
    >>> rule.step()
    >>> w.tolist()
    [3.75, -1.75]
    """

    def term(self, parameter):
        zero = _core.literal(0.0, parameter.dtype)
        above, below = ops.greater_than(parameter, zero), ops.less_than(parameter, zero)
        kind = {"in_dtype": "bool", "out_dtype": parameter.dtype}
        return ops.elementwise_sub(ops.cast(above, **kind), ops.cast(below, **kind))


L1DecayRegularizer = L1Decay
L2DecayRegularizer = L2Decay
