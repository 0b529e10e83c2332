"""Fluid's schedules that each call advances."""

import math

from dygraph.core import check
from dygraph.errors import InvalidArgumentError, PreconditionNotMetError
from dygraph.lr.base import Schedule, positive, rate_of, rate_or_schedule


class LearningRateDecay(Schedule):
    """Base of the schedules that each call, so each step of the optimizer, advances.

    A loop in torch's manner may call ``step()`` after each step of the optimizer: it advances where
    no call has, and is refused where several have, since the schedule counts steps.

    A subclass defines ``step()`` as in Fluid, the rate at ``step_num``. `begin` is the first
    ``step_num``, `step` the increment of a call; `dtype` is not used.

    Parameters
    ----------
    begin : int
        The first ``step_num``.
    step : int
        What a call adds.
    dtype : str
        Not used.

    Examples
    --------
    >>> import dygraph
    >>> class Halving(dygraph.lr.LearningRateDecay):
    ...     def step(self):
    ...         return 0.5**self.step_num
    >>> rate = Halving()
    >>> [rate() for _ in range(3)]
    [1.0, 0.5, 0.25]
    """

    _keys = ("step_num",)
    _calls = 0  # since the last step()

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in vars(cls) and "_rate" not in vars(cls):
            cls._rate = cls.step

    def __init__(self, begin=0, step=1, dtype="float32"):
        self.step_num = check.integer(begin, f"{type(self).__name__}: begin")
        self.step_size = check.integer(step, f"{type(self).__name__}: step", 1)

    def __call__(self):
        rate = self._rate()
        self._advance()
        self._calls += 1
        return rate

    def _advance(self):
        self.step_num += self.step_size

    def get_lr(self):
        """The rate of the next call, without advancing."""
        return self._rate()

    @property
    def last_lr(self):
        """As `get_lr`."""
        return self._rate()

    def step(self):
        """Advance by one step, unless the optimizer's step has done so."""
        name, calls = type(self).__name__, self._calls
        if calls > 1:
            raise PreconditionNotMetError(
                f"{name}.step: the optimizer's steps advance {name}, and step() may follow each of "
                f"them, but {calls} came since the last one. Leave step() out and count in steps, "
                "or take a schedule per epoch, such as dygraph.lr.LambdaDecay"
            )
        self._calls = 0
        if not calls:
            self._advance()

    def _rate(self):
        """The rate at ``step_num``."""
        raise NotImplementedError(f"{type(self).__name__} must define step(), the rate")


class _ByDecaySteps(LearningRateDecay):
    def __init__(
        self,
        learning_rate,
        decay_steps,
        decay_rate,
        staircase=False,
        begin=0,
        step=1,
        dtype="float32",
    ):
        super().__init__(begin, step, dtype)
        name = type(self).__name__
        self.learning_rate = rate_of(self, learning_rate)
        if check.number(decay_steps, f"{name}: decay_steps") < 1:  # Paddle 2's gamma
            raise InvalidArgumentError(
                f"{name}: decay_steps must be at least 1, got {decay_steps}. Write "
                f"{name}(learning_rate, 1, {decay_steps}), if that is Paddle 2's gamma"
            )
        if type(decay_rate) is int and 0 <= decay_rate and decay_steps < 10:  # or its last_epoch
            raise InvalidArgumentError(
                f"{name}: beside decay_steps={decay_steps}, decay_rate must be a float, got "
                f"{decay_rate}. Write {float(decay_rate)}, or {name}(learning_rate, 1, "
                f"{float(decay_steps)}, begin={decay_rate + 1}), if these are Paddle 2's gamma and "
                "last_epoch"
            )
        self.decay_steps = check.number(decay_steps, f"{name}: decay_steps")
        self.decay_rate = check.number(decay_rate, f"{name}: decay_rate", 0)
        self.staircase = bool(staircase)

    def _periods(self):
        periods = self.step_num / self.decay_steps
        return math.floor(periods) if self.staircase else periods


class NaturalExpDecay(_ByDecaySteps):
    """``learning_rate * exp(-decay_rate * n / decay_steps)`` for step n.

    Parameters
    ----------
    learning_rate : float
        The rate of step 0.
    decay_steps : float
        The unit of the steps, at least 1.
    decay_rate : float
        How fast the rate falls, at least 0.
    staircase : bool, default False
        Whether to round ``n / decay_steps`` down.
    begin : int, default 0
        The number of the first step.
    step : int, default 1
        How far each call advances.
    dtype : str, default "float32"
        Accepted as in Fluid; not used.

    Examples
    --------
    >>> import dygraph
    >>> rate = dygraph.lr.NaturalExpDecay(1.0, decay_steps=2, decay_rate=1.0, staircase=True)
    >>> [round(rate(), 4) for _ in range(4)]
    [1.0, 1.0, 0.3679, 0.3679]
    """

    def _rate(self):
        return self.learning_rate * math.exp(-self.decay_rate * self._periods())


class ExponentialDecay(_ByDecaySteps):
    """``learning_rate * decay_rate^(n / decay_steps)`` for step n.

    Parameters
    ----------
    learning_rate : float
        The rate of step 0.
    decay_steps : float
        The unit of the steps, at least 1.
    decay_rate : float
        The factor of `decay_steps` steps, at least 0.
    staircase : bool, default False
        Whether to round ``n / decay_steps`` down.
    begin : int, default 0
        The number of the first step.
    step : int, default 1
        How far each call advances.
    dtype : str, default "float32"
        Accepted as in Fluid; not used.

    Examples
    --------
    >>> import dygraph
    >>> rate = dygraph.lr.ExponentialDecay(1.0, decay_steps=2, decay_rate=0.25)
    >>> [rate() for _ in range(4)]
    [1.0, 0.5, 0.25, 0.125]
    """

    def _rate(self):
        return self.learning_rate * self.decay_rate ** self._periods()


class InverseTimeDecay(_ByDecaySteps):
    """``learning_rate / (1 + decay_rate * n / decay_steps)`` for step n.

    Parameters
    ----------
    learning_rate : float
        The rate of step 0.
    decay_steps : float
        The unit of the steps, at least 1.
    decay_rate : float
        How fast the rate falls, at least 0.
    staircase : bool, default False
        Whether to round ``n / decay_steps`` down.
    begin : int, default 0
        The number of the first step.
    step : int, default 1
        How far each call advances.
    dtype : str, default "float32"
        Accepted as in Fluid; not used.

    Examples
    --------
    >>> import dygraph
    >>> rate = dygraph.lr.InverseTimeDecay(1.0, decay_steps=1, decay_rate=1.0)
    >>> [round(rate(), 4) for _ in range(4)]
    [1.0, 0.5, 0.3333, 0.25]
    """

    def _rate(self):
        return self.learning_rate / (1 + self.decay_rate * self._periods())


class PolynomialDecay(LearningRateDecay):
    """From `learning_rate` to `end_learning_rate` by a power of the steps that are left.

    ``(learning_rate - end) * (1 - n / decay_steps)^power + end`` for step n, and
    `end_learning_rate` after `decay_steps`.

    Parameters
    ----------
    learning_rate : float
        The rate of step 0.
    decay_steps : float
        The number of steps of the fall, above 0.
    end_learning_rate : float, default 0.0001
        The rate at its end.
    power : float, default 1.0
        1 is a line.
    cycle : bool, default False
        Whether the fall is stretched to the next multiple of `decay_steps` that reaches n.
    begin : int, default 0
        The number of the first step; Paddle 2's `last_epoch` is one less.
    step : int, default 1
        How far each call advances.
    dtype : str, default "float32"
        Accepted as in Fluid; not used.

    Examples
    --------
    >>> import dygraph
    >>> rate = dygraph.lr.PolynomialDecay(1.0, decay_steps=4, end_learning_rate=0.0)
    >>> [rate() for _ in range(6)]
    [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    """

    def __init__(
        self,
        learning_rate,
        decay_steps,
        end_learning_rate=0.0001,
        power=1.0,
        cycle=False,
        begin=0,
        step=1,
        dtype="float32",
    ):
        super().__init__(begin, step, dtype)
        self.learning_rate = rate_of(self, learning_rate)
        self.decay_steps = positive(decay_steps, "PolynomialDecay: decay_steps")
        self.end_learning_rate = rate_of(self, end_learning_rate, "end_learning_rate")
        self.power = check.number(power, "PolynomialDecay: power", 0)
        self.cycle = bool(cycle)

    def _rate(self):
        n, length = self.step_num, self.decay_steps
        if self.cycle:
            length *= max(1, math.ceil(n / length))
        left = 1 - min(n, length) / length
        return (self.learning_rate - self.end_learning_rate) * left**self.power + (
            self.end_learning_rate
        )


class CosineDecay(LearningRateDecay):
    """``learning_rate * (cos(pi * epoch / epochs) + 1) / 2`` (Loshchilov and Hutter, 2017).

    The epoch of step n is ``floor(n / step_each_epoch)``.

    Parameters
    ----------
    learning_rate : float
        The rate of step 0.
    step_each_epoch : float
        The steps of an epoch, above 0.
    epochs : float
        The epoch at which the rate is 0, above 0.
    begin : int, default 0
        The number of the first step.
    step : int, default 1
        How far each call advances.
    dtype : str, default "float32"
        Accepted as in Fluid; not used.

    Examples
    --------
    >>> import dygraph
    >>> rate = dygraph.lr.CosineDecay(1.0, step_each_epoch=2, epochs=2)
    >>> [round(rate(), 4) for _ in range(4)]
    [1.0, 1.0, 0.5, 0.5]
    """

    def __init__(self, learning_rate, step_each_epoch, epochs, begin=0, step=1, dtype="float32"):
        super().__init__(begin, step, dtype)
        self.learning_rate = rate_of(self, learning_rate)
        self.step_each_epoch = positive(step_each_epoch, "CosineDecay: step_each_epoch")
        self.epochs = positive(epochs, "CosineDecay: epochs")

    def _rate(self):
        epoch = math.floor(self.step_num / self.step_each_epoch)
        return self.learning_rate * 0.5 * (math.cos(epoch * math.pi / self.epochs) + 1)


class LinearLrWarmup(LearningRateDecay):
    """``start_lr + (end_lr - start_lr) * n / warmup_steps`` up to `warmup_steps`, then
    `learning_rate`.

    Parameters
    ----------
    learning_rate : float or schedule
        The rate afterwards; another of these schedules is asked from the start.
    warmup_steps : float
        For how many steps the rate moves, above 0.
    start_lr, end_lr : float
        The rates at the ends of the line.
    begin : int, default 1
        The number of the first step.
    step : int, default 1
        How far each call advances.
    dtype : str, default "float32"
        Accepted as in Fluid; not used.

    Raises
    ------
    InvalidArgumentError
        `end_lr` is below `start_lr`.

    Examples
    --------
    >>> import dygraph
    >>> rate = dygraph.lr.LinearLrWarmup(0.5, warmup_steps=2, start_lr=0.0, end_lr=1.0, begin=0)
    >>> [rate() for _ in range(4)]
    [0.0, 0.5, 0.5, 0.5]
    """

    def __init__(
        self, learning_rate, warmup_steps, start_lr, end_lr, begin=1, step=1, dtype="float32"
    ):
        super().__init__(begin, step, dtype)
        self.learning_rate, self._inner = rate_or_schedule(self, learning_rate, LearningRateDecay)
        self.warmup_steps = positive(warmup_steps, "LinearLrWarmup: warmup_steps")
        self.start_lr = rate_of(self, start_lr, "start_lr")
        self.end_lr = rate_of(self, end_lr, "end_lr")
        if self.end_lr < self.start_lr:
            raise InvalidArgumentError(
                f"LinearLrWarmup: end_lr must be at least start_lr {start_lr}, got {end_lr}"
            )

    def _advance(self):
        super()._advance()
        if self._inner is not None:
            self._inner._advance()

    def _rate(self):
        if self.step_num < self.warmup_steps:
            rise = (self.end_lr - self.start_lr) / self.warmup_steps
            return rise * self.step_num + self.start_lr
        return self._inner.get_lr() if self._inner is not None else self.learning_rate
