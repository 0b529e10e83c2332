"""Schedules with a ``last_epoch``, which ``step()`` advances."""

import math

from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.lr.base import Schedule, positive, rate_of, rate_or_schedule


class LRScheduler(Schedule):
    """Base of the schedules with a ``last_epoch``. A subclass defines ``_rate_at(epoch)``.

    `last_epoch` -1 starts at epoch 0; ``step()`` advances by one, ``step(epoch)`` goes to an epoch.

    Parameters
    ----------
    learning_rate : float
        ``base_lr``, the first rate.
    last_epoch : int
        -1 starts at epoch 0.
    verbose : bool
        Whether `step` prints the rate.

    Examples
    --------
    >>> import dygraph
    >>> class Halving(dygraph.lr.LRScheduler):
    ...     def _rate_at(self, epoch):
    ...         return self.base_lr * 0.5**epoch
    >>> rate = Halving(1.0)
    >>> rate.step()
    >>> rate(), rate.last_epoch
    (0.5, 1)
    """

    _keys = ("last_epoch", "last_lr")

    def __init__(self, learning_rate=0.1, last_epoch=-1, verbose=False):
        self.base_lr = rate_of(self, learning_rate)
        self.__dict__.setdefault("learning_rate", self.base_lr)
        self.last_epoch = check.integer(last_epoch, f"{type(self).__name__}: last_epoch", -1)
        self.verbose = False
        self.step()
        self.verbose = bool(verbose)

    def __call__(self):
        return self.last_lr

    def get_lr(self):
        """The current rate."""
        return self.last_lr

    def step(self, epoch=None):
        """Advance; call it after the optimizer's step."""
        name = f"{type(self).__name__}: epoch"
        epoch = self.last_epoch + 1 if epoch is None else check.integer(epoch, name, 0)
        rate = self._rate_at(epoch)
        self.last_epoch, self.last_lr = epoch, rate
        if self.verbose:
            print(f"{type(self).__name__}: epoch {epoch}, learning rate {rate}")


class CosineAnnealingDecay(LRScheduler):
    """``eta_min + (learning_rate - eta_min) * (1 + cos(pi * epoch / T_max)) / 2`` (Loshchilov and
    Hutter, 2017); it rises again after `T_max`.

    Parameters
    ----------
    learning_rate : float
        The greatest rate.
    T_max : int
        The epochs of the way down.
    eta_min : float
        The least rate.
    last_epoch : int
        -1 starts at epoch 0. n goes on as after n + 1 steps; Paddle 2 and torch give other rates
        then, since they multiply the rate that they begin with.
    verbose : bool
        Whether `step` prints the rate.

    Examples
    --------
    >>> import dygraph
    >>> rate = dygraph.lr.CosineAnnealingDecay(1.0, T_max=2)
    >>> for _ in range(4):
    ...     print(round(rate(), 4))
    ...     rate.step()
    1.0
    0.5
    0.0
    0.5
    """

    def __init__(self, learning_rate, T_max, eta_min=0, last_epoch=-1, verbose=False):
        self.T_max = positive(T_max, "CosineAnnealingDecay: T_max")
        self.eta_min = check.number(eta_min, "CosineAnnealingDecay: eta_min", 0)
        super().__init__(learning_rate, last_epoch, verbose)

    def _rate_at(self, epoch):
        wave = (1 + math.cos(math.pi * epoch / self.T_max)) / 2
        return self.eta_min + (self.base_lr - self.eta_min) * wave


class LinearWarmup(LRScheduler):
    """``start_lr + (end_lr - start_lr) * epoch / warmup_steps`` for epochs below `warmup_steps`,
    then `learning_rate`: a number, or another schedule with a ``last_epoch``, which starts there.

    Parameters
    ----------
    learning_rate : float or LRScheduler
        What follows.
    warmup_steps : int
    start_lr, end_lr : float
        The rates at both ends of the warm-up.
    last_epoch : int
        -1 starts at epoch 0.
    verbose : bool
        Whether `step` prints the rate.

    Examples
    --------
    >>> import dygraph
    >>> rate = dygraph.lr.LinearWarmup(0.5, warmup_steps=2, start_lr=0.0, end_lr=1.0)
    >>> for _ in range(4):
    ...     print(rate())
    ...     rate.step()
    0.0
    0.5
    0.5
    0.5
    """

    def __init__(self, learning_rate, warmup_steps, start_lr, end_lr, last_epoch=-1, verbose=False):
        self.learning_rate, self._inner = rate_or_schedule(self, learning_rate, LRScheduler)
        self.warmup_steps = check.integer(warmup_steps, "LinearWarmup: warmup_steps", 1)
        self.start_lr = rate_of(self, start_lr, "start_lr")
        self.end_lr = rate_of(self, end_lr, "end_lr")
        if self.end_lr <= self.start_lr:
            raise InvalidArgumentError(
                f"LinearWarmup: end_lr must exceed start_lr {start_lr}, got {end_lr}"
            )
        super().__init__(start_lr, last_epoch, verbose)

    def _rate_at(self, epoch):
        if epoch < self.warmup_steps:
            return self.start_lr + (self.end_lr - self.start_lr) * epoch / self.warmup_steps
        if self._inner is None:
            return self.learning_rate
        self._inner.step(epoch - self.warmup_steps)
        return self._inner()


class NoamDecay(LRScheduler):
    """``learning_rate * d_model^-0.5 * min(n^-0.5, n * warmup_steps^-1.5)`` at epoch n.

    The rate of the Transformer (Vaswani and others, 2017). As in Paddle 2 the first is that of
    epoch 0, which is 0; Fluid's, in ``fluid.dygraph``, begins with 1.

    Parameters
    ----------
    d_model : float
        The width of the model, above 0.
    warmup_steps : float
        For how many steps the rate rises, above 0.
    learning_rate : float
        The factor of all.
    last_epoch : int
        -1 starts at epoch 0.
    verbose : bool
        Whether `step` prints the rate.

    Examples
    --------
    >>> import dygraph
    >>> rate = dygraph.lr.NoamDecay(d_model=4, warmup_steps=4)
    >>> for _ in range(4):
    ...     print(rate())
    ...     rate.step()
    0.0
    0.0625
    0.125
    0.1875
    """

    def __init__(self, d_model, warmup_steps, learning_rate=1.0, last_epoch=-1, verbose=False):
        self.d_model = positive(d_model, "NoamDecay: d_model")
        self.warmup_steps = positive(warmup_steps, "NoamDecay: warmup_steps")
        super().__init__(learning_rate, last_epoch, verbose)

    def _rate_at(self, epoch):
        falling = epoch**-0.5 if epoch > 0 else math.inf
        rising = epoch * self.warmup_steps**-1.5
        return self.base_lr * self.d_model**-0.5 * min(falling, rising)


class PiecewiseDecay(LRScheduler):
    """``values[i]`` until the epoch reaches ``boundaries[i]``, then the last of `values`.

    Fluid's, in ``fluid.dygraph``, takes the number of its first step too.

    Parameters
    ----------
    boundaries : list of int
        The epochs at which the rate changes, in ascending order.
    values : list of float
        The rates, one more than boundaries.
    last_epoch : int
        -1 starts at epoch 0.
    verbose : bool
        Whether `step` prints the rate.

    Raises
    ------
    InvalidArgumentError
        The lengths do not fit, or the boundaries do not rise.

    Examples
    --------
    >>> import dygraph
    >>> rate = dygraph.lr.PiecewiseDecay([1, 3], [1.0, 0.5, 0.1])
    >>> for _ in range(4):
    ...     print(rate())
    ...     rate.step()
    1.0
    0.5
    0.5
    0.1
    """

    def __init__(self, boundaries, values, last_epoch=-1, verbose=False):
        self.boundaries = [check.number(b, "PiecewiseDecay: boundaries") for b in boundaries]
        if self.boundaries != sorted(set(self.boundaries)):
            raise InvalidArgumentError(
                f"PiecewiseDecay: boundaries must rise, got {self.boundaries}"
            )
        self.values = [rate_of(self, v, "values") for v in values]
        if len(self.values) != len(self.boundaries) + 1:
            raise InvalidArgumentError(
                "PiecewiseDecay: values must be one more than boundaries, "
                f"{len(self.boundaries) + 1}, got {len(self.values)}"
            )
        super().__init__(self.values[0], last_epoch, verbose)

    def _rate_at(self, epoch):
        for boundary, value in zip(self.boundaries, self.values, strict=False):
            if epoch < boundary:
                return value
        return self.values[-1]


class OneCycleLR(LRScheduler):
    """Up from ``max_learning_rate / divide_factor`` and down to `end_learning_rate` in
    `total_steps` (Smith and Topin, 2018).

    The rise takes `phase_pct` of the steps; with `three_phase` the fall to the start takes as many,
    and the rest goes on to the end. `anneal_strategy` is 'cos' or 'linear'.

    Parameters
    ----------
    max_learning_rate : float
    total_steps : int
    divide_factor : float
        The greatest rate by the first one.
    end_learning_rate : float
    phase_pct : float
        The part of the steps that goes up, from 0 to 1.
    anneal_strategy : str
        ``'cos'`` or ``'linear'``.
    three_phase : bool
        The fall to the first rate takes as long as the rise.
    last_epoch : int
        -1 starts at epoch 0.
    verbose : bool
        Whether `step` prints the rate.

    Examples
    --------
    >>> import dygraph
    >>> rate = dygraph.lr.OneCycleLR(
    ...     1.0, 5, divide_factor=4.0, end_learning_rate=0.0, phase_pct=0.6,
    ...     anneal_strategy="linear",
    ... )
    >>> for _ in range(5):
    ...     print(round(rate(), 4))
    ...     rate.step()
    0.25
    0.625
    1.0
    0.5
    0.0
    """

    def __init__(
        self,
        max_learning_rate,
        total_steps,
        divide_factor=25.0,
        end_learning_rate=0.0001,
        phase_pct=0.3,
        anneal_strategy="cos",
        three_phase=False,
        last_epoch=-1,
        verbose=False,
    ):
        most = self.max_learning_rate = rate_of(self, max_learning_rate, "max_learning_rate")
        self.total_steps = check.integer(total_steps, "OneCycleLR: total_steps", 1)
        first = most / positive(divide_factor, "OneCycleLR: divide_factor")
        end = rate_of(self, end_learning_rate, "end_learning_rate")
        part = check.number(phase_pct, "OneCycleLR: phase_pct", 0, 1)
        self.anneal_strategy = check.choice(
            anneal_strategy, ("cos", "linear"), "OneCycleLR: anneal_strategy"
        )
        last, up = self.total_steps - 1, part * self.total_steps - 1
        if three_phase:
            if part > 0.5:
                raise InvalidArgumentError(
                    f"OneCycleLR: phase_pct must be at most 0.5 for three phases, got {phase_pct}"
                )
            self._borders = [0, up, 2 * part * self.total_steps - 2, last]
            self._rates = [first, most, first, end]
        else:
            self._borders, self._rates = [0, up, last], [first, most, end]
        super().__init__(first, last_epoch, verbose)

    def _rate_at(self, epoch):
        if epoch > self.total_steps:
            raise InvalidArgumentError(
                f"OneCycleLR: there must be at most total_steps = {self.total_steps} steps, "
                f"got {epoch}"
            )
        i, last = 0, len(self._borders) - 2
        while i < last and epoch > self._borders[i + 1]:
            i += 1
        begin, end = self._borders[i], self._borders[i + 1]
        part = (epoch - begin) / (end - begin) if end > begin else 1.0
        if self.anneal_strategy == "cos":
            part = (1 - math.cos(math.pi * part)) / 2
        return self._rates[i] + (self._rates[i + 1] - self._rates[i]) * part


class CyclicLR(LRScheduler):
    """Cycles between two rates (Smith, 2017).

    The rate is ``base + (max - base) * height * scale``: ``height`` goes from 0 to 1 in
    `step_size_up` steps and back in `step_size_down` (None: as many). ``scale`` is 1 for `mode`
    'triangular', ``2^-(cycle - 1)`` for 'triangular2', ``exp_gamma^step`` for 'exp_range', or what
    `scale_fn` gives for the cycle, from 1, or the step (`scale_mode` 'cycle', 'iterations').

    Parameters
    ----------
    base_learning_rate, max_learning_rate : float
        The least and the greatest rate.
    step_size_up : int
    step_size_down : int, optional
        None: `step_size_up`.
    mode : str
        ``'triangular'``, ``'triangular2'`` or ``'exp_range'``.
    exp_gamma : float
        Of ``'exp_range'``.
    scale_fn : callable, optional
        Takes the place of `mode`.
    scale_mode : str
        ``'cycle'`` or ``'iterations'``: what `scale_fn` gets.
    last_epoch : int
        -1 starts at epoch 0.
    verbose : bool
        Whether `step` prints the rate.

    Examples
    --------
    >>> import dygraph
    >>> rate = dygraph.lr.CyclicLR(0.0, 1.0, step_size_up=2, mode="triangular2")
    >>> for _ in range(7):
    ...     print(rate())
    ...     rate.step()
    0.0
    0.5
    1.0
    0.5
    0.0
    0.25
    0.5
    """

    def __init__(
        self,
        base_learning_rate,
        max_learning_rate,
        step_size_up,
        step_size_down=None,
        mode="triangular",
        exp_gamma=1.0,
        scale_fn=None,
        scale_mode="cycle",
        last_epoch=-1,
        verbose=False,
    ):
        self.base_learning_rate = base_learning_rate
        self.max_learning_rate = rate_of(self, max_learning_rate, "max_learning_rate")
        self._step_size_up = positive(step_size_up, "CyclicLR: step_size_up")
        down = step_size_up if step_size_down is None else step_size_down
        self._step_size_down = positive(down, "CyclicLR: step_size_down")
        modes = ("triangular", "triangular2", "exp_range")
        self._mode = check.choice(mode, modes, "CyclicLR: mode")
        self._gamma = positive(exp_gamma, "CyclicLR: exp_gamma")
        if scale_fn is not None and not callable(scale_fn):
            raise ArgumentTypeError(
                f"CyclicLR: scale_fn must be a function, got {kind_of(scale_fn)}"
            )
        self._scale_fn = scale_fn
        self._by = check.choice(scale_mode, ("cycle", "iterations"), "CyclicLR: scale_mode")
        super().__init__(base_learning_rate, last_epoch, verbose)

    def _rate_at(self, epoch):
        length = self._step_size_up + self._step_size_down
        cycle = 1 + math.floor(epoch / length)
        at = epoch - (cycle - 1) * length
        if at <= self._step_size_up:
            height = at / self._step_size_up
        else:
            height = (length - at) / self._step_size_down
        if self._scale_fn is not None:
            number = cycle if self._by == "cycle" else epoch
            scale = check.number(self._scale_fn(number), "CyclicLR: scale_fn()")
        else:
            scale = {
                "triangular": 1.0,
                "triangular2": 0.5 ** (cycle - 1),
                "exp_range": self._gamma**epoch,
            }[self._mode]
        return self.base_lr + (self.max_learning_rate - self.base_lr) * height * scale
