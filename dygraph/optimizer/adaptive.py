"""Optimizers that divide by the size of past gradients: Adagrad and its successors."""

from dygraph.core import check
from dygraph.optimizer.base import Accumulator, Optimizer

__all__ = ["Adadelta", "Adagrad", "DecayedAdagrad", "Ftrl", "RMSProp"]


class Adagrad(Optimizer):
    """Steps decrease with the sum of past squares (Duchi and others, 2011).

    ``moment = moment + grad * grad``, ``param = param - learning_rate * grad / (sqrt(moment) +
    epsilon)``. A sparse gradient touches its rows only.

    Parameters
    ----------
    learning_rate : float or schedule
        The size of a step; a schedule of `dygraph.lr` gives it anew for each.
    epsilon : float, default 1e-06
        Keeps the divisor above 0. PyTorch's default is 1e-10.
    parameter_list : list or Layer, optional
        The parameters, their groups or a layer, as of `Optimizer`. In a program None: all that the
        loss depends on.
    regularization : L1Decay or L2Decay, optional
        For parameters without one of their own.
    grad_clip : object, optional
        A rule such as `ClipGradByNorm`, which comes before the regularization.
    name : str, optional
        Accepted as in Fluid; not used.
    initial_accumulator_value : float, default 0.0
        The moment at the start, at least 0.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([3.0])
    >>> rule = dygraph.optimizer.Adagrad(0.5, parameter_list=[w])
    >>> (w * 4.0).backward()
    >>> rule.step()  # 0.5 * 4 / sqrt(4^2)
    >>> round(w.item(), 4)
    2.5
    """

    operator = "adagrad"

    def __init__(
        self,
        learning_rate,
        epsilon=1e-6,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
        initial_accumulator_value=0.0,
    ):
        self.attributes = {"epsilon": check.number(epsilon, "Adagrad: epsilon", 0)}
        self._initial = check.number(
            initial_accumulator_value, "Adagrad: initial_accumulator_value", 0
        )
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name)

    def accumulators(self):
        return {"Moment": Accumulator(self._initial)}


class DecayedAdagrad(Optimizer):
    """Adagrad with a running mean of the squares.

    ``moment = decay * moment + (1 - decay) * grad * grad``, ``param = param - learning_rate * grad
    / (sqrt(moment) + epsilon)``.

    Parameters
    ----------
    learning_rate : float or schedule
        The size of a step; a schedule of `dygraph.lr` gives it anew for each.
    decay : float, default 0.95
        The share of the old mean, from 0 to 1.
    epsilon : float, default 1e-06
        Keeps the divisor above 0.
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
    >>> w = dygraph.Parameter([3.0])
    >>> rule = dygraph.optimizer.DecayedAdagrad(0.5, decay=0.75, parameter_list=[w])
    >>> (w * 2.0).backward()
    >>> rule.step()  # the moment is 0.25 * 2^2, the step 0.5 * 2 / 1
    >>> round(w.item(), 4)
    2.0
    """

    operator = "decayed_adagrad"

    def __init__(
        self,
        learning_rate,
        decay=0.95,
        epsilon=1e-6,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
    ):
        self.attributes = {
            "decay": check.number(decay, "DecayedAdagrad: decay", 0, 1),
            "epsilon": check.number(epsilon, "DecayedAdagrad: epsilon", 0),
        }
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name)

    def accumulators(self):
        return {"Moment": Accumulator()}


class Adadelta(Optimizer):
    """Steps of the size of past steps (Zeiler, 2012).

    ``g2 = rho * g2 + (1 - rho) * grad * grad``, ``update = -sqrt((u2 + epsilon) / (g2 + epsilon)) *
    grad``, ``u2 = rho * u2 + (1 - rho) * update * update``, ``param = param + learning_rate *
    update``, as in PyTorch and Paddle 2. Fluid's `AdadeltaOptimizer` ignores its learning rate.

    Parameters
    ----------
    learning_rate : float or schedule
        The factor of each step; 1 in the paper.
    epsilon : float, default 1e-06
        Keeps the divisor above 0.
    rho : float, default 0.95
        The share of the old means, from 0 to 1.
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
    >>> w = dygraph.Parameter([3.0])
    >>> rule = dygraph.optimizer.Adadelta(0.5, epsilon=1.0, rho=0.25, parameter_list=[w])
    >>> (w * 2.0).backward()
    >>> rule.step()  # g2 = 0.75 * 2^2, the update -sqrt(1 / 4) * 2, of which half is taken
    >>> round(w.item(), 4)
    2.5
    """

    operator = "adadelta"

    def __init__(
        self,
        learning_rate,
        epsilon=1e-6,
        rho=0.95,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
    ):
        self.attributes = {
            "epsilon": check.number(epsilon, "Adadelta: epsilon", 0),
            "rho": check.number(rho, "Adadelta: rho", 0, 1),
        }
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name)

    def accumulators(self):
        return {"AvgSquaredGrad": Accumulator(), "AvgSquaredUpdate": Accumulator()}


class AdadeltaOptimizer(Adadelta):
    """`Adadelta` as in Fluid, where the learning rate has no effect: ``param = param + update``.

    Parameters
    ----------
    learning_rate : float
        Required, and ignored.
    epsilon, rho, parameter_list, regularization, grad_clip, name
        As of `Adadelta`.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([3.0])
    >>> rule = dygraph.optimizer.AdadeltaOptimizer(0.5, epsilon=1.0, rho=0.25, parameter_list=[w])
    >>> (w * 2.0).backward()
    >>> rule.step()  # g2 = 0.75 * 2^2, the update -sqrt(1 / 4) * 2
    >>> round(w.item(), 4)
    2.0
    """

    has_rate = False


class RMSProp(Optimizer):
    """Steps divided by the root of a running mean of squares (Tieleman and Hinton, 2012).

    ``s = rho * s + (1 - rho) * grad * grad``, ``v = momentum * v + learning_rate * grad / sqrt(s +
    epsilon)``, ``param = param - v``. With `centered` the square of a running mean of the gradient
    is taken from ``s`` under the root.

    Parameters
    ----------
    learning_rate : float or schedule
        The size of a step; a schedule of `dygraph.lr` gives it anew for each.
    rho : float, default 0.95
        The share of the old mean, from 0 to 1.
    epsilon : float, default 1e-06
        Keeps the divisor above 0.
    momentum : float, default 0.0
        The share of the old step, at least 0.
    centered : bool, default False
        Whether to divide by the deviation from the mean gradient.
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
    >>> w = dygraph.Parameter([3.0])
    >>> rule = dygraph.optimizer.RMSProp(0.5, rho=0.75, parameter_list=[w])
    >>> (w * 2.0).backward()
    >>> rule.step()  # s = 0.25 * 2^2, v = 0.5 * 2 / 1
    >>> round(w.item(), 4)
    2.0
    """

    operator = "rmsprop"

    def __init__(
        self,
        learning_rate,
        rho=0.95,
        epsilon=1e-6,
        momentum=0.0,
        centered=False,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
    ):
        self.attributes = {
            "decay": check.number(rho, "RMSProp: rho", 0, 1),
            "epsilon": check.number(epsilon, "RMSProp: epsilon", 0),
            "momentum": check.number(momentum, "RMSProp: momentum", 0),
            "centered": bool(centered),
        }
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name)

    def accumulators(self):
        kept = {"Moment": Accumulator(), "MeanSquare": Accumulator()}
        return {**kept, "MeanGrad": Accumulator()} if self.attributes["centered"] else kept


class Ftrl(Optimizer):
    """Follow the regularized leader, which makes sparse weights (McMahan and others, 2013).

    ``n = s + grad * grad``, ``z = z + grad - (n ** -lr_power - s ** -lr_power) / learning_rate *
    param``, ``param = (l1 * sign(z) - z) / (n ** -lr_power / learning_rate + 2 * l2)`` where ``|z|
    > l1``, else 0, and ``s = n``.

    Parameters
    ----------
    learning_rate : float or schedule
        The size of a step; a schedule of `dygraph.lr` gives it anew for each.
    l1, l2 : float, default 0.0
        The decay towards 0 by size and by square, by default 0.
    lr_power : float, default -0.5
        How the rate falls with the squares.
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
    >>> v, w = dygraph.Parameter([3.0]), dygraph.Parameter([0.5])
    >>> rule = dygraph.optimizer.Ftrl(1.0, l1=2.0, parameter_list=[v, w])
    >>> (v * 2.0 + w * 2.0).backward()
    >>> rule.step()  # z = 2 - 2 * param: -4 is beyond l1 by 2, 1 is not
    >>> round(v.item(), 4), w.item()
    (1.0, 0.0)
    """

    operator = "ftrl"

    def __init__(
        self,
        learning_rate,
        l1=0.0,
        l2=0.0,
        lr_power=-0.5,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
    ):
        self.attributes = {
            "l1": check.number(l1, "Ftrl: l1", 0),
            "l2": check.number(l2, "Ftrl: l2", 0),
            "lr_power": check.number(lr_power, "Ftrl: lr_power"),
        }
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name)

    def accumulators(self):
        return {"SquaredAccumulator": Accumulator(), "LinearAccumulator": Accumulator()}


AdagradOptimizer = Adagrad
DecayedAdagradOptimizer = DecayedAdagrad
RMSPropOptimizer = RMSProp
FtrlOptimizer = Ftrl
