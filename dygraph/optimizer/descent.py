"""Gradient descent: SGD, Momentum, LarsMomentum, Dpsgd."""

from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.optimizer.base import Accumulator, Optimizer

__all__ = ["SGD", "Dpsgd", "LarsMomentum", "Momentum"]


class SGD(Optimizer):
    """``param = param - learning_rate * grad``. Accepts sparse gradients.

    Parameters
    ----------
    learning_rate : float or schedule
        The size of a step; a schedule of `dygraph.lr` gives it anew for each.
    parameter_list : list or Layer, optional
        The parameters, their groups or a layer, as of `Optimizer`; they may stand first:
        ``SGD(net.parameters(), lr=0.1)``. In a program None: all that the loss depends on.
    regularization : L1Decay or L2Decay, optional
        For parameters without one of their own.
    grad_clip : object, optional
        A rule such as `ClipGradByNorm`, which comes before the regularization.
    name : str, optional
        Accepted as in Fluid; not used.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([3.0])
    >>> sgd = dygraph.optimizer.SGD(0.25, parameter_list=[w])
    >>> (w * w).backward()
    >>> sgd.step()
    >>> w.item()
    1.5
    """

    operator = "sgd"


class Momentum(Optimizer):
    """Gradient descent with momentum.

    ``velocity = momentum * velocity + grad``, then ``param = param - learning_rate * velocity``, or
    with `use_nesterov` ``param = param - learning_rate * (grad + momentum * velocity)``. Rows
    missing in a sparse gradient have a gradient of 0.

    Parameters
    ----------
    learning_rate : float or schedule
        The size of a step; a schedule of `dygraph.lr` gives it anew for each.
    momentum : float
        The share of the old velocity, at least 0.
    parameter_list : list or Layer, optional
        The parameters, their groups or a layer, as of `Optimizer`; they may stand first:
        ``Momentum(net.parameters(), lr=0.1)``. In a program None: all that the loss depends on.
    use_nesterov : bool, default False
        Whether to look ahead along the velocity.
    regularization : L1Decay or L2Decay, optional
        For parameters without one of their own.
    grad_clip : object, optional
        A rule such as `ClipGradByNorm`, which comes before the regularization.
    name : str, optional
        Accepted as in Fluid; not used.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([1.0])
    >>> rule = dygraph.optimizer.Momentum(0.25, momentum=0.5, parameter_list=[w])
    >>> for _ in range(2):  # the velocity is 1, then 1.5
    ...     w.sum().backward()
    ...     rule.step()
    ...     rule.clear_gradients()
    >>> w.item()
    0.375
    """

    operator = "momentum"

    def __init__(
        self,
        learning_rate,
        momentum,
        parameter_list=None,
        use_nesterov=False,
        regularization=None,
        grad_clip=None,
        name=None,
    ):
        momentum = check.number(momentum, "Momentum: momentum", 0)
        self.attributes = {"mu": momentum, "use_nesterov": bool(use_nesterov)}
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name)

    def accumulators(self):
        return {"Velocity": Accumulator()}


class LarsMomentum(Optimizer):
    """Momentum with a rate for each parameter by the size of its weights (You and others, 2017).

    ``rate = learning_rate * lars_coeff * |param| / (|grad| + lars_weight_decay * |param|)``,
    ``velocity = momentum * velocity + rate * (grad + lars_weight_decay * param)``, ``param = param
    - velocity``. If a norm or `lars_weight_decay` is 0, the rate is `learning_rate`.

    Parameters
    ----------
    learning_rate : float or schedule
        The size of a step; a schedule of `dygraph.lr` gives it anew for each.
    momentum : float
        The share of the old velocity, at least 0.
    lars_coeff : float, default 0.001
        The factor of the rates, at least 0.
    lars_weight_decay : float, default 0.0005
        The decay of the weights, at least 0.
    parameter_list : list or Layer, optional
        The parameters, their groups or a layer, as of `Optimizer`. In a program None: all that the
        loss depends on.
    regularization : L1Decay or L2Decay, optional
        For parameters without one of their own.
    grad_clip : object, optional
        A rule such as `ClipGradByNorm`, which comes before the regularization.
    name : str, optional
        Accepted as in Fluid; not used.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([4.0])
    >>> rule = dygraph.optimizer.LarsMomentum(1.0, 0.9, 0.5, 0.5, parameter_list=[w])
    >>> (w * 2.0).backward()
    >>> rule.step()  # the rate is 0.5 * 4 / (2 + 0.5 * 4), times 2 + 0.5 * 4
    >>> w.item()
    2.0
    """

    operator = "lars_momentum"
    decay_attribute = "lars_weight_decay"

    def __init__(
        self,
        learning_rate,
        momentum,
        lars_coeff=0.001,
        lars_weight_decay=0.0005,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
    ):
        self.attributes = {
            "mu": check.number(momentum, "LarsMomentum: momentum", 0),
            "lars_coeff": check.number(lars_coeff, "LarsMomentum: lars_coeff", 0),
            "lars_weight_decay": check.number(
                lars_weight_decay, "LarsMomentum: lars_weight_decay", 0
            ),
        }
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name)

    def accumulators(self):
        return {"Velocity": Accumulator()}


class Dpsgd(Optimizer):
    """Differentially private descent (Abadi and others, 2016).

    The gradient is scaled down to the norm `clip`, and normal noise of standard deviation `sigma`,
    divided by `batch_size`, is added to each of its elements.

    Parameters
    ----------
    learning_rate : float or schedule, default 0.001
        The size of a step; a schedule of `dygraph.lr` gives it anew for each.
    clip : float, default 0.9
        The greatest norm of a gradient.
    batch_size : float, default 0.999
        The size of the batches, above 0.
    sigma : float, default 1e-08
        The standard deviation of the noise.
    parameter_list : list or Layer, optional
        The parameters, their groups or a layer, as of `Optimizer`. In a program None: all that the
        loss depends on.

    Raises
    ------
    InvalidArgumentError
        `batch_size` is 0.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([3.0])
    >>> rule = dygraph.optimizer.Dpsgd(0.5, clip=1.0, batch_size=8.0, sigma=0.0, parameter_list=[w])
    >>> (w * 1000.0).backward()
    >>> rule.step()  # the gradient has been scaled down to 1
    >>> round(w.item(), 4)
    2.5
    """

    operator = "dpsgd"

    def __init__(
        self, learning_rate=0.001, clip=0.9, batch_size=0.999, sigma=1e-8, parameter_list=None
    ):
        self.attributes = {
            "clip": check.number(clip, "Dpsgd: clip", 0),
            "batch_size": check.number(batch_size, "Dpsgd: batch_size", 0),
            "sigma": check.number(sigma, "Dpsgd: sigma", 0),
        }
        if self.attributes["batch_size"] == 0:
            raise InvalidArgumentError("Dpsgd: batch_size must be positive, got 0")
        super().__init__(learning_rate, parameter_list)


SGDOptimizer = SGD
MomentumOptimizer = Momentum
LarsMomentumOptimizer = LarsMomentum
DpsgdOptimizer = Dpsgd
