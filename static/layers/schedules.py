"""Learning rates that change with the steps, as operators over a counter.

Each function returns a variable for an optimizer. They share the counter ``@LR_DECAY_COUNTER@``,
which each run of the program increases by 1. Inside `dygraph.guard` they return the schedules of
`dygraph.lr` instead.

Examples
--------
>>> from dygraph import static
>>> with static.program_guard(static.Program(), static.Program()):
...     static.layers.piecewise_decay([2, 4], [1.0, 0.1, 0.01]).shape
(1,)
"""

import contextlib
import functools
import math

from dygraph import initializer, lr, ops
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.fluid import schedules
from dygraph.static.layers.making import layer
from dygraph.static.layers.tensor import filled
from dygraph.static.parameters import fill_at_start
from dygraph.static.program import OpRole, Variable, computes, default_main_program

__all__ = [
    "autoincreased_step_counter", "cosine_decay", "exponential_decay", "inverse_time_decay",
    "linear_lr_warmup", "natural_exp_decay", "noam_decay", "piecewise_decay", "polynomial_decay",
]  # fmt: skip

_COUNTER = "@LR_DECAY_COUNTER@"


def autoincreased_step_counter(counter_name=None, begin=1, step=1):
    """A counter of the runs of the program, which keeps its value between them.

    Parameters
    ----------
    counter_name : str, optional
        The name of the variable; None is ``"@STEP_COUNTER@"``. Calls of one name share it.
    begin : int, default 1
        The value in the first run.
    step : int, default 1
        What each later run adds.

    Returns
    -------
    Variable
        int64 ``[1]``, without a gradient.

    Examples
    --------
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     counter = layers.autoincreased_step_counter("runs", begin=3)
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     [int(exe.run(fetch_list=[counter])[0][0]) for _ in range(3)]
    [3, 4, 5]
    """
    begin = check.integer(begin, "autoincreased_step_counter: begin")
    step = check.integer(step, "autoincreased_step_counter: step")
    name = counter_name or "@STEP_COUNTER@"
    block = default_main_program().global_block()
    if block.has_var(name):
        return block.var(name)
    counter = block.create_var(
        name=name, shape=[1], dtype="int64", persistable=True, stop_gradient=True
    )
    fill_at_start(counter, initializer.Constant(begin - step))
    block.prepend_op("increment", {"X": counter}, {"Out": counter}, {"step": float(step)})
    counter.stop_gradient = True
    return counter


def _schedule(eager):
    """A layer function in whose place `eager` makes a schedule inside `dygraph.guard`."""

    def made(function):
        describe = layer(function)

        @functools.wraps(describe)
        def chosen(*args, **kwargs):
            return eager(*args, **kwargs) if computes() else describe(*args, **kwargs)

        return chosen

    return made


def _noam(d_model, warmup_steps, learning_rate=1.0):
    return schedules.NoamDecay(d_model, warmup_steps, learning_rate=learning_rate)


def _piecewise(boundaries, values):
    return schedules.PiecewiseDecay(boundaries, values, begin=0)


@contextlib.contextmanager
def _scheduling():
    with default_main_program().marked(OpRole.LRSched):
        yield


def _steps(begin=0):
    """The counter as float32; later schedules share that of the first."""
    counter = autoincreased_step_counter(_COUNTER, begin)
    return ops.cast(counter, "float32")


def _ratio(steps, decay_steps, staircase, owner):
    ratio = ops.scale(steps, scale=1.0 / _positive(decay_steps, f"{owner}: decay_steps"))
    return ops.floor(ratio) if staircase else ratio


def _positive(value, what):
    value = check.number(value, what)
    if not value > 0:
        raise InvalidArgumentError(f"{what} must be above 0, got {value}")
    return value


def _constant(value):
    return filled([1], "float32", value, "learning rate")


@_schedule(_noam)
def noam_decay(d_model, warmup_steps, learning_rate=1.0):
    """``learning_rate * d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)``.

    Steps count from 1. It is the rate of the Transformer (Vaswani and others, 2017); inside
    `dygraph.guard`, ``fluid.dygraph.NoamDecay``.

    Parameters
    ----------
    d_model : float
        The width of the model, above 0.
    warmup_steps : float
        For how many steps the rate rises, above 0.
    learning_rate : float or Variable, default 1.0
        The factor of all.

    Returns
    -------
    Variable
        float32 ``[1]``.

    Raises
    ------
    InvalidArgumentError
        `d_model` or `warmup_steps` is not above 0.

    Examples
    --------
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     rate = layers.noam_decay(d_model=4, warmup_steps=4)
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     [float(exe.run(fetch_list=[rate])[0][0]) for _ in range(2)]
    [0.0625, 0.125]
    """
    d_model = _positive(d_model, "noam_decay: d_model")
    warmup = _positive(warmup_steps, "noam_decay: warmup_steps")
    with _scheduling():
        steps = _steps(1)
        falling = ops.pow(steps, factor=-0.5)
        rising = ops.scale(steps, scale=warmup**-1.5)
        least = ops.elementwise_min(falling, rising)
        rate = ops.scale(least, scale=d_model**-0.5)
        if isinstance(learning_rate, Variable):
            return ops.elementwise_mul(rate, learning_rate)
        return ops.scale(rate, scale=check.number(learning_rate, "noam_decay: learning_rate"))


@_schedule(lr.ExponentialDecay)
def exponential_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """``learning_rate * decay_rate^(step / decay_steps)``, with steps from 0.

    Inside `dygraph.guard` it is `dygraph.lr.ExponentialDecay`.

    Parameters
    ----------
    learning_rate : float
        The rate of step 0.
    decay_steps : float
        In how many steps the rate is multiplied by `decay_rate`.
    decay_rate : float
        The factor.
    staircase : bool, default False
        Whether to round the exponent down.

    Returns
    -------
    Variable
        float32 ``[1]``.

    Raises
    ------
    InvalidArgumentError
        `decay_steps` is not above 0.

    Examples
    --------
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     rate = layers.exponential_decay(1.0, decay_steps=1, decay_rate=0.5)
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     [float(exe.run(fetch_list=[rate])[0][0]) for _ in range(3)]
    [1.0, 0.5, 0.25]
    """
    with _scheduling():
        ratio = _ratio(_steps(), decay_steps, staircase, "exponential_decay")
        powers = ops.elementwise_pow(_constant(decay_rate), ratio)
        return ops.scale(powers, scale=float(learning_rate))


@_schedule(lr.NaturalExpDecay)
def natural_exp_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """``learning_rate * exp(-decay_rate * step / decay_steps)``, with steps from 0.

    Inside `dygraph.guard` it is `dygraph.lr.NaturalExpDecay`.

    Parameters
    ----------
    learning_rate : float
        The rate of step 0.
    decay_steps : float
        The unit of the steps.
    decay_rate : float
        How fast the rate falls.
    staircase : bool, default False
        Whether to round ``step / decay_steps`` down.

    Returns
    -------
    Variable
        float32 ``[1]``.

    Raises
    ------
    InvalidArgumentError
        `decay_steps` is not above 0.

    Examples
    --------
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     rate = layers.natural_exp_decay(1.0, decay_steps=1, decay_rate=0.5)
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     [round(float(exe.run(fetch_list=[rate])[0][0]), 4) for _ in range(3)]
    [1.0, 0.6065, 0.3679]
    """
    with _scheduling():
        ratio = _ratio(_steps(), decay_steps, staircase, "natural_exp_decay")
        powers = ops.exp(ops.scale(ratio, scale=-float(decay_rate)))
        return ops.scale(powers, scale=float(learning_rate))


@_schedule(lr.InverseTimeDecay)
def inverse_time_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """``learning_rate / (1 + decay_rate * step / decay_steps)``, with steps from 0.

    Inside `dygraph.guard` it is `dygraph.lr.InverseTimeDecay`.

    Parameters
    ----------
    learning_rate : float
        The rate of step 0.
    decay_steps : float
        The unit of the steps.
    decay_rate : float
        How fast the rate falls.
    staircase : bool, default False
        Whether to round ``step / decay_steps`` down.

    Returns
    -------
    Variable
        float32 ``[1]``.

    Raises
    ------
    InvalidArgumentError
        `decay_steps` is not above 0.

    Examples
    --------
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     rate = layers.inverse_time_decay(1.0, decay_steps=1, decay_rate=1.0)
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     [round(float(exe.run(fetch_list=[rate])[0][0]), 4) for _ in range(3)]
    [1.0, 0.5, 0.3333]
    """
    with _scheduling():
        ratio = _ratio(_steps(), decay_steps, staircase, "inverse_time_decay")
        below = ops.scale(ratio, scale=float(decay_rate), bias=1.0)
        return ops.elementwise_div(_constant(learning_rate), below)


@_schedule(lr.PolynomialDecay)
def polynomial_decay(learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False):
    """From `learning_rate` to `end_learning_rate` by a power of the steps that are left.

    ``(learning_rate - end_learning_rate) * (1 - step / decay_steps)^power + end_learning_rate``,
    with steps from 0. Inside `dygraph.guard` it is `dygraph.lr.PolynomialDecay`.

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
        Whether, after `decay_steps`, the rate starts again to fall over twice as many steps, then
        three times, and so on; else it stays.

    Returns
    -------
    Variable
        float32 ``[1]``.

    Raises
    ------
    InvalidArgumentError
        `decay_steps` is not above 0.

    Examples
    --------
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     rate = layers.polynomial_decay(1.0, decay_steps=4, end_learning_rate=0.0)
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     [float(exe.run(fetch_list=[rate])[0][0]) for _ in range(3)]
    [1.0, 0.75, 0.5]
    """
    whole = _positive(decay_steps, "polynomial_decay: decay_steps")
    with _scheduling():
        steps = _steps()
        if cycle:
            rounds = ops.ceil(ops.scale(steps, scale=1.0 / whole))
            rounds = ops.elementwise_max(rounds, _constant(1.0))
            part = ops.elementwise_div(steps, ops.scale(rounds, scale=whole))
        else:
            part = ops.scale(ops.elementwise_min(steps, _constant(whole)), scale=1.0 / whole)
        left = ops.pow(ops.scale(part, scale=-1.0, bias=1.0), factor=float(power))
        span = float(learning_rate) - float(end_learning_rate)
        return ops.scale(left, scale=span, bias=float(end_learning_rate))


@_schedule(_piecewise)
def piecewise_decay(boundaries, values):
    """``values[i]`` until step ``boundaries[i]``, and the last value from then on; steps from 0.

    Inside `dygraph.guard` it is ``fluid.dygraph.PiecewiseDecay``.

    Parameters
    ----------
    boundaries : list of int
        The steps at which the rate changes, in ascending order.
    values : list of float
        The rates, one more than boundaries.

    Returns
    -------
    Variable
        float32 ``[1]``.

    Raises
    ------
    InvalidArgumentError
        The lengths do not fit, or the boundaries do not rise.

    Examples
    --------
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     rate = layers.piecewise_decay([1, 2], [1.0, 0.5, 0.25])
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     [float(exe.run(fetch_list=[rate])[0][0]) for _ in range(4)]
    [1.0, 0.5, 0.25, 0.25]
    """
    if len(values) != len(boundaries) + 1:
        raise InvalidArgumentError(
            "piecewise_decay: values must have one element more than boundaries, got "
            f"{len(values)} and {len(boundaries)}"
        )
    if any(b <= a for a, b in zip(boundaries, boundaries[1:], strict=False)):
        raise InvalidArgumentError(f"piecewise_decay: boundaries must rise, got {boundaries}")
    with _scheduling():
        steps = _steps()
        rate = _constant(values[-1])
        for bound, value in zip(reversed(boundaries), reversed(values[:-1]), strict=True):
            before = ops.less_than(steps, _constant(float(bound)))
            rate = ops.where(before, _constant(value), rate)
        return rate


@_schedule(lr.CosineDecay)
def cosine_decay(learning_rate, step_each_epoch, epochs):
    """``learning_rate / 2 * (1 + cos(pi * epoch / epochs))`` (Loshchilov and Hutter, 2016).

    The epoch is ``floor(step / step_each_epoch)``, with steps from 0. Inside `dygraph.guard` it is
    `dygraph.lr.CosineDecay`.

    Parameters
    ----------
    learning_rate : float
        The rate of the first epoch.
    step_each_epoch : float
        The steps of an epoch, above 0.
    epochs : float
        The epoch at which the rate is 0.

    Returns
    -------
    Variable
        float32 ``[1]``.

    Raises
    ------
    InvalidArgumentError
        `step_each_epoch` or `epochs` is not above 0.

    Examples
    --------
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     rate = layers.cosine_decay(1.0, step_each_epoch=1, epochs=2)
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     [round(float(exe.run(fetch_list=[rate])[0][0]), 4) for _ in range(3)]
    [1.0, 0.5, 0.0]
    """
    epochs = _positive(epochs, "cosine_decay: epochs")
    with _scheduling():
        epoch = ops.floor(_ratio(_steps(), step_each_epoch, False, "cosine_decay"))
        wave = ops.cos(ops.scale(epoch, scale=math.pi / epochs))
        return ops.scale(wave, scale=0.5 * float(learning_rate), bias=1.0, bias_after_scale=False)


@_schedule(lr.LinearLrWarmup)
def linear_lr_warmup(learning_rate, warmup_steps, start_lr, end_lr):
    """A line from `start_lr` to `end_lr` over `warmup_steps` steps, then `learning_rate`.

    Inside `dygraph.guard` it is `dygraph.lr.LinearLrWarmup`.

    Parameters
    ----------
    learning_rate : float or Variable
        The rate afterwards; a Variable of another schedule.
    warmup_steps : float
        For how many steps the rate moves, above 0.
    start_lr : float
        The rate of step 0.
    end_lr : float
        The rate that the line reaches.

    Returns
    -------
    Variable
        float32 ``[1]``.

    Raises
    ------
    InvalidArgumentError
        `warmup_steps` is not above 0.

    Examples
    --------
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     rate = layers.linear_lr_warmup(0.5, warmup_steps=2, start_lr=0.0, end_lr=0.5)
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     [float(exe.run(fetch_list=[rate])[0][0]) for _ in range(4)]
    [0.0, 0.25, 0.5, 0.5]
    """
    warmup = _positive(warmup_steps, "linear_lr_warmup: warmup_steps")
    with _scheduling():
        steps = _steps()
        after = learning_rate if isinstance(learning_rate, Variable) else _constant(learning_rate)
        slope = (float(end_lr) - float(start_lr)) / warmup
        rising = ops.scale(steps, scale=slope, bias=float(start_lr))
        before = ops.less_than(steps, _constant(warmup))
        return ops.where(before, rising, after)
