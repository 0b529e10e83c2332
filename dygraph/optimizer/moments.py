"""Adam and its variants: steps scaled by running moments of the gradient."""

from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.optimizer.base import NUMBER, Accumulator, Optimizer

__all__ = ["Adam", "AdamW", "Adamax", "Lamb", "NAdam", "RAdam"]


def _betas(kind, beta1, beta2, epsilon):
    for what, value in (("beta1", beta1), ("beta2", beta2)):
        if check.number(value, f"{kind}: {what}", 0, 1) == 1:
            raise InvalidArgumentError(f"{kind}: {what} must be less than 1, got {value}")
    return {
        "beta1": float(beta1),
        "beta2": float(beta2),
        "epsilon": check.number(epsilon, f"{kind}: epsilon", 0),
    }


class _WithMoments(Optimizer):
    """Two moments, and the powers of beta1 and beta2."""

    def accumulators(self):
        return {
            "Moment1": Accumulator(),
            "Moment2": Accumulator(),
            "Beta1Pow": Accumulator(self.attributes["beta1"], NUMBER),
            "Beta2Pow": Accumulator(self.attributes["beta2"], NUMBER),
        }


class Adam(_WithMoments):
    """Steps scaled by running moments of the gradient (Kingma and Ba, 2015).

    ``m = beta1 * m + (1 - beta1) * g``, ``v = beta2 * v + (1 - beta2) * g * g``, ``param = param -
    learning_rate / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + epsilon)``, as in PyTorch and
    Paddle 2. Keras and Fluid, whose form is `AdamOptimizer`, add epsilon before the correction of
    v: theirs weighs ``1 / sqrt(1 - beta2^t)`` times as much at step t, 32 times at the first.

    Parameters
    ----------
    learning_rate : float or schedule, default 0.001
        The size of a step; a schedule of `dygraph.lr` gives it anew for each.
    beta1, beta2 : float, default 0.9 and 0.999
        The shares of the old moments, below 1; by default 0.9 and 0.999.
    epsilon : float, default 1e-08
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
    lazy_mode : bool, default False
        Whether only the rows of a sparse gradient move; else the others have a gradient of 0, and
        their moments decay.

    Raises
    ------
    InvalidArgumentError
        A beta is 1.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([1.0])
    >>> adam = dygraph.optimizer.Adam(0.25, parameter_list=[w])
    >>> (w * 1000.0).backward()
    >>> adam.step()  # the first step has the length of the rate, however steep it is
    >>> round(w.item(), 6)
    0.75
    """

    operator = "adamw"

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-08,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
        lazy_mode=False,
    ):
        self.attributes = _betas("Adam", beta1, beta2, epsilon)
        self.attributes["lazy_mode"] = bool(lazy_mode)
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name)


class AdamOptimizer(Adam):
    """`Adam` as in Fluid and in Keras, which add epsilon before the correction of v.

    ``m`` and ``v`` as in `Adam`, ``param = param -
    learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon)``.

    Parameters
    ----------
    learning_rate, beta1, beta2, epsilon, parameter_list, regularization, grad_clip, name, lazy_mode
        As for `Adam`.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([1.0])
    >>> adam = dygraph.optimizer.AdamOptimizer(0.25, parameter_list=[w])
    >>> (w * 1000.0).backward()
    >>> adam.step()
    >>> round(w.item(), 6)
    0.75
    """

    operator = "adam"


class AdamW(_WithMoments):
    """Adam with a decay that does not pass through the moments (Loshchilov and Hutter, 2019).

    ``m`` and ``v`` as in `Adam`, ``param = param * (1 - rate * weight_decay)
    - rate / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + epsilon)``, with
    ``rate = learning_rate * lr_ratio(param)``.

    Parameters
    ----------
    learning_rate, beta1, beta2, epsilon, parameter_list, grad_clip, lazy_mode, name
        As for `Adam`.
    weight_decay : float
        The factor of the decay, at least 0.
    lr_ratio : callable, optional
        Returns a factor on the learning rate for a parameter.
    apply_decay_param_fun : callable, optional
        Returns whether the parameter of a name decays. None: all do.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([1.0])
    >>> adamw = dygraph.optimizer.AdamW(0.5, parameter_list=[w], weight_decay=0.5)
    >>> (w * 0.0).backward()
    >>> adamw.step()  # no gradient: the decay alone, 1 - 0.5 * 0.5
    >>> w.item()
    0.75
    """

    operator = "adamw"
    decay_attribute = "coeff"

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        parameter_list=None,
        weight_decay=0.01,
        lr_ratio=None,
        apply_decay_param_fun=None,
        grad_clip=None,
        lazy_mode=False,
        name=None,
    ):
        self.attributes = {
            **_betas("AdamW", beta1, beta2, epsilon),
            "coeff": check.number(weight_decay, "AdamW: weight_decay", 0),
            "with_decay": True,
            "lazy_mode": bool(lazy_mode),
        }
        self._ratio = _callable("AdamW: lr_ratio", lr_ratio)
        self._decays = _callable("AdamW: apply_decay_param_fun", apply_decay_param_fun)
        super().__init__(learning_rate, parameter_list, None, grad_clip, name)

    def attributes_of(self, parameter):
        special = super().attributes_of(parameter)
        if self._decays is not None and not self._decays(parameter.name):
            special["with_decay"] = False
        if self._ratio is not None:
            ratio = self._ratio(parameter)
            special["lr_ratio"] = check.number(ratio, "AdamW: lr_ratio(parameter)", 0)
        return special


class Adamax(Optimizer):
    """Adam with the largest gradient in place of the second moment (Kingma and Ba, 2015).

    ``m = beta1 * m + (1 - beta1) * g``, ``n = max(|g|, beta2 * n + epsilon)``, ``param = param -
    learning_rate / (1 - beta1^t) * m / n``.

    Parameters
    ----------
    learning_rate : float or schedule, default 0.001
        The size of a step; a schedule of `dygraph.lr` gives it anew for each. PyTorch's default is
        0.002.
    beta1, beta2 : float, default 0.9 and 0.999
        The shares of the old moments, below 1; by default 0.9 and 0.999.
    epsilon : float, default 1e-08
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

    Raises
    ------
    InvalidArgumentError
        A beta is 1.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([3.0])
    >>> rule = dygraph.optimizer.Adamax(0.5, parameter_list=[w])
    >>> (w * 1000.0).backward()
    >>> rule.step()  # the first step has the length of the rate, however steep it is
    >>> round(w.item(), 4)
    2.5
    """

    operator = "adamax"

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
    ):
        self.attributes = _betas("Adamax", beta1, beta2, epsilon)
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name)

    def accumulators(self):
        return {
            "Moment": Accumulator(),
            "InfNorm": Accumulator(),
            "Beta1Pow": Accumulator(self.attributes["beta1"], NUMBER),
        }


class Lamb(_WithMoments):
    """Adam with steps scaled to the norm of each parameter (You and others, 2020).

    ``r = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + lamb_weight_decay * param``,
    ``param = param - learning_rate * |param| / |r| * r``.

    Parameters
    ----------
    learning_rate : float or schedule, default 0.001
        The size of a step; a schedule of `dygraph.lr` gives it anew for each.
    lamb_weight_decay : float, default 0.01
        The decay of the weights, at least 0.
    beta1, beta2 : float, default 0.9 and 0.999
        The shares of the old moments, below 1; by default 0.9 and 0.999.
    epsilon : float, default 1e-06
        Keeps the divisor above 0.
    parameter_list : list or Layer, optional
        The parameters, their groups or a layer, as of `Optimizer`. In a program None: all that the
        loss depends on.
    regularization : L1Decay or L2Decay, optional
        For parameters without one of their own.
    grad_clip : object, optional
        A rule such as `ClipGradByNorm`, which comes before the regularization.
    exclude_from_weight_decay_fn : callable, optional
        Takes a parameter, returns True if it does not decay; None: all do.
    name : str, optional
        Accepted as in Fluid; not used.

    Raises
    ------
    InvalidArgumentError
        A beta is 1.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([3.0])
    >>> rule = dygraph.optimizer.Lamb(0.25, lamb_weight_decay=0.0, parameter_list=[w])
    >>> (w * 1000.0).backward()
    >>> rule.step()  # a quarter of the parameter, however steep it is
    >>> round(w.item(), 4)
    2.25
    """

    operator = "lamb"
    decay_attribute = "weight_decay"

    def __init__(
        self,
        learning_rate=0.001,
        lamb_weight_decay=0.01,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-6,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        exclude_from_weight_decay_fn=None,
        name=None,
    ):
        self.attributes = _betas("Lamb", beta1, beta2, epsilon)
        decay = check.number(lamb_weight_decay, "Lamb: lamb_weight_decay", 0)
        self.attributes["weight_decay"] = decay
        self._excluded = _callable(
            "Lamb: exclude_from_weight_decay_fn", exclude_from_weight_decay_fn
        )
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name)

    def attributes_of(self, parameter):
        if self._excluded is not None and self._excluded(parameter):
            return {"weight_decay": 0.0}
        return super().attributes_of(parameter)


class NAdam(Optimizer):
    """Adam with Nesterov's look ahead (Dozat, 2016).

    ``mu_t = beta1 * (1 - 0.5 * 0.96 ** (t * momentum_decay))``; with ``m``, ``v`` as in `Adam` and
    ``M_t`` the product of all ``mu``, ``param = param - learning_rate * (mu_t+1 * m / (1 - M_t+1) +
    (1 - mu_t) * g / (1 - M_t)) / (sqrt(v / (1 - beta2^t)) + epsilon)``.

    Parameters
    ----------
    learning_rate : float or schedule, default 0.002
        The size of a step; a schedule of `dygraph.lr` gives it anew for each.
    beta1, beta2 : float, default 0.9 and 0.999
        The shares of the old moments, below 1; by default 0.9 and 0.999.
    epsilon : float, default 1e-08
        Keeps the divisor above 0.
    momentum_decay : float, default 0.004
        How fast ``mu`` rises to beta1, at least 0.
    parameter_list : list or Layer, optional
        The parameters, their groups or a layer, as of `Optimizer`. In a program None: all that the
        loss depends on.
    regularization : L1Decay or L2Decay, optional
        For parameters without one of their own.
    grad_clip : object, optional
        A rule such as `ClipGradByNorm`, which comes before the regularization.
    name : str, optional
        Accepted as in Fluid; not used.

    Raises
    ------
    InvalidArgumentError
        A beta is 1.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([3.0])
    >>> rule = dygraph.optimizer.NAdam(0.75, beta1=0.5, momentum_decay=0.0, parameter_list=[w])
    >>> (w * 1000.0).backward()
    >>> rule.step()  # mu is 0.25: 0.75 * (0.25 * 0.5 / (1 - 0.25^2) + 1)
    >>> round(w.item(), 4)
    2.15
    """

    operator = "nadam"

    def __init__(
        self,
        learning_rate=0.002,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        momentum_decay=0.004,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
    ):
        self.attributes = _betas("NAdam", beta1, beta2, epsilon)
        self.attributes["momentum_decay"] = check.number(momentum_decay, "NAdam: momentum_decay", 0)
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name)

    def accumulators(self):
        numbers = ("MomentumDecayPow", "Beta2Pow", "MuProduct")
        return {
            "Moment1": Accumulator(),
            "Moment2": Accumulator(),
            **{slot: Accumulator(1.0, NUMBER) for slot in numbers},
        }


class RAdam(Optimizer):
    """Adam that scales by the second moment once its estimate is reliable (Liu and others, 2020).

    With ``n = 2 / (1 - beta2) - 1`` and ``rho = n - 2 * t * beta2^t / (1 - beta2^t)``, a step is
    that of `Adam` times ``sqrt((rho - 4)(rho - 2) n / ((n - 4)(n - 2) rho))`` where ``rho > 5``,
    else ``param = param - learning_rate * m / (1 - beta1^t)``.

    Parameters
    ----------
    learning_rate : float or schedule, default 0.001
        The size of a step; a schedule of `dygraph.lr` gives it anew for each.
    beta1, beta2 : float, default 0.9 and 0.999
        The shares of the old moments, below 1; by default 0.9 and 0.999.
    epsilon : float, default 1e-08
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

    Raises
    ------
    InvalidArgumentError
        A beta is 1.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([3.0])
    >>> rule = dygraph.optimizer.RAdam(0.25, parameter_list=[w])
    >>> (w * 2.0).backward()
    >>> rule.step()  # rho is 1 at first: a step along the gradient
    >>> round(w.item(), 4)
    2.5
    """

    operator = "radam"

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
    ):
        self.attributes = _betas("RAdam", beta1, beta2, epsilon)
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name)

    def accumulators(self):
        return {
            "Moment1": Accumulator(),
            "Moment2": Accumulator(),
            "Beta1Pow": Accumulator(1.0, NUMBER),
            "Beta2Pow": Accumulator(1.0, NUMBER),
            "Rho": Accumulator(0.0, NUMBER),
        }


def _callable(what, value):
    if value is not None and not callable(value):
        raise ArgumentTypeError(f"{what} must be a function, got {kind_of(value)}")
    return value


AdamWOptimizer = AdamW
AdamaxOptimizer = Adamax
LambOptimizer = Lamb
NAdamOptimizer = NAdam
RAdamOptimizer = RAdam
