"""Fluid's schedules per epoch, which ``step()`` or ``step(loss)`` advances."""

from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.lr.base import Schedule, rate_of


class _ByEpoch(Schedule):
    unit = "epoch"
    _keys = ("epoch_num", "last_lr")

    def __init__(self, learning_rate):
        self.base_lr = self.learning_rate = rate_of(self, learning_rate)
        self.epoch_num = -1
        self.epoch()

    def __call__(self):
        return self.last_lr

    def epoch(self, epoch=None):
        """Advance to the next epoch, or to the given one."""
        name = f"{type(self).__name__}: epoch"
        self.epoch_num = self.epoch_num + 1 if epoch is None else check.integer(epoch, name, 0)
        self.last_lr = self._rate_at(self.epoch_num)

    def step(self, epoch=None):
        """Advance to the next epoch, or to the given one."""
        self.epoch(epoch)

    def get_lr(self):
        """The rate of this epoch."""
        return self.last_lr


class StepDecay(_ByEpoch):
    """``learning_rate * decay_rate^floor(epoch / step_size)``. Call ``step()`` after each epoch.

    Parameters
    ----------
    learning_rate : float
        The rate of the first epochs.
    step_size : int
        The epochs of one rate, at least 1.
    decay_rate : float, default 0.1
        The factor, below 1.

    Examples
    --------
    >>> import dygraph
    >>> rate = dygraph.lr.StepDecay(1.0, step_size=2, decay_rate=0.5)
    >>> for _ in range(4):
    ...     print(rate())
    ...     rate.step()
    1.0
    1.0
    0.5
    0.5
    """

    def __init__(self, learning_rate, step_size, decay_rate=0.1):
        self.step_size = check.integer(step_size, "StepDecay: step_size", 1)
        self.decay_rate = _below_one("StepDecay: decay_rate", decay_rate)
        super().__init__(learning_rate)

    def _rate_at(self, epoch):
        return self.base_lr * self.decay_rate ** (epoch // self.step_size)


class MultiStepDecay(_ByEpoch):
    """``learning_rate * decay_rate^k`` after k of the `milestones`.

    Call ``step()`` after each epoch.

    Parameters
    ----------
    learning_rate : float
        The rate of the first epochs.
    milestones : list of int
        The epochs at which the rate changes, in ascending order.
    decay_rate : float, default 0.1
        The factor, below 1.

    Raises
    ------
    InvalidArgumentError
        The milestones do not rise.

    Examples
    --------
    >>> import dygraph
    >>> rate = dygraph.lr.MultiStepDecay(1.0, milestones=[1, 3], decay_rate=0.5)
    >>> for _ in range(4):
    ...     print(rate())
    ...     rate.step()
    1.0
    0.5
    0.5
    0.25
    """

    def __init__(self, learning_rate, milestones, decay_rate=0.1):
        if not isinstance(milestones, (list, tuple)):
            raise ArgumentTypeError(
                f"MultiStepDecay: milestones must be a list of epochs, got {kind_of(milestones)}"
            )
        self.milestones = [check.integer(m, "MultiStepDecay: milestones") for m in milestones]
        if any(a >= b for a, b in zip(self.milestones, self.milestones[1:], strict=False)):
            raise InvalidArgumentError(f"MultiStepDecay: milestones must rise, got {milestones}")
        self.decay_rate = _below_one("MultiStepDecay: decay_rate", decay_rate)
        super().__init__(learning_rate)

    def _rate_at(self, epoch):
        return self.base_lr * self.decay_rate ** sum(epoch >= m for m in self.milestones)


class LambdaDecay(_ByEpoch):
    """``learning_rate * lr_lambda(epoch)``. Call ``step()`` after each epoch.

    Parameters
    ----------
    learning_rate : float
        The factor of all rates.
    lr_lambda : callable
        Takes the number of the epoch, returns a number.

    Examples
    --------
    >>> import dygraph
    >>> rate = dygraph.lr.LambdaDecay(1.0, lambda epoch: 1 / (epoch + 1))
    >>> rate.step()
    >>> rate()
    0.5
    """

    def __init__(self, learning_rate, lr_lambda):
        if not callable(lr_lambda):
            raise ArgumentTypeError(
                f"LambdaDecay: lr_lambda must be a function, got {kind_of(lr_lambda)}"
            )
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate)

    def _rate_at(self, epoch):
        return self.base_lr * check.number(self.lr_lambda(epoch), "LambdaDecay: lr_lambda()")


def _below_one(what, value):
    if check.number(value, what, 0, 1) == 1:
        raise InvalidArgumentError(f"{what} must be less than 1, got 1")
    return float(value)


class ReduceLROnPlateau(Schedule):
    """Reduces the rate by `decay_rate` when the loss has not improved for `patience` steps.

    Call ``step(loss)`` after each epoch.

    Parameters
    ----------
    learning_rate : float
        The first rate.
    mode : str, default "min"
        ``"min"``: less is better. ``"max"``: more is better.
    decay_rate : float, default 0.1
        The factor of a reduction, below 1.
    patience : int, default 10
        How many steps without improvement are allowed.
    verbose : bool, default False
        Whether to print each reduction.
    threshold : float, default 0.0001
        How much better counts as an improvement.
    threshold_mode : str, default "rel"
        ``"rel"``: better than ``best * (1 - threshold)``. ``"abs"``: better than ``best -
        threshold``.
    cooldown : int, default 0
        How many steps after a reduction are not counted.
    min_lr : float, default 0
        The least rate.
    eps : float, default 1e-08
        Smaller reductions are left out.
    dtype : str, default "float32"
        Accepted as in Fluid; not used.

    Examples
    --------
    >>> import dygraph
    >>> rate = dygraph.lr.ReduceLROnPlateau(1.0, decay_rate=0.5, patience=1)
    >>> for loss in (3.0, 2.0, 2.0, 2.0):
    ...     rate.step(loss)
    ...     print(rate())
    1.0
    1.0
    1.0
    0.5
    """

    unit = "epoch"
    _keys = ("cooldown_counter", "best_loss", "num_bad_epochs", "epoch_num", "learning_rate")

    def __init__(
        self,
        learning_rate,
        mode="min",
        decay_rate=0.1,
        patience=10,
        verbose=False,
        threshold=1e-4,
        threshold_mode="rel",
        cooldown=0,
        min_lr=0,
        eps=1e-8,
        dtype="float32",
    ):
        self.mode = check.choice(mode, ("min", "max"), "ReduceLROnPlateau: mode")
        self.threshold_mode = check.choice(
            threshold_mode, ("rel", "abs"), "ReduceLROnPlateau: threshold_mode"
        )
        self.decay_rate = _below_one("ReduceLROnPlateau: decay_rate", decay_rate)
        self.patience = check.integer(patience, "ReduceLROnPlateau: patience", 0)
        self.cooldown = check.integer(cooldown, "ReduceLROnPlateau: cooldown", 0)
        self.threshold = check.number(threshold, "ReduceLROnPlateau: threshold")
        self.min_lr = check.number(min_lr, "ReduceLROnPlateau: min_lr", 0)
        self.eps = check.number(eps, "ReduceLROnPlateau: eps", 0)
        self.verbose = bool(verbose)
        self.learning_rate = rate_of(self, learning_rate)
        self.cooldown_counter = self.num_bad_epochs = self.epoch_num = 0
        self.best_loss = None

    def __call__(self):
        return self.learning_rate

    def get_lr(self):
        """The current rate."""
        return self.learning_rate

    @property
    def last_lr(self):
        """As `get_lr`."""
        return self.learning_rate

    def step(self, loss):
        """Advance with the loss of an epoch, a number or a Variable of one element."""
        loss = check.number(loss, "ReduceLROnPlateau.step: loss")
        self.epoch_num += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            return
        if self.best_loss is None or self._is_better(loss):
            self.best_loss, self.num_bad_epochs = loss, 0
        else:
            self.num_bad_epochs += 1
        if self.num_bad_epochs <= self.patience:
            return
        self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        reduced = max(self.learning_rate * self.decay_rate, self.min_lr)
        if self.learning_rate - reduced > self.eps:
            if self.verbose:
                print(f"Epoch {self.epoch_num}: learning rate {self.learning_rate} -> {reduced}")
            self.learning_rate = reduced

    def _is_better(self, loss):
        sign = 1 if self.mode == "min" else -1
        margin = self.threshold if self.threshold_mode == "abs" else self.best_loss * self.threshold
        return sign * loss < sign * self.best_loss - margin
