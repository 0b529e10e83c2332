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
    """A persistable int64 variable: `begin` in the first run, `step` more in each later one.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     static.layers.autoincreased_step_counter().name
    '@STEP_COUNTER@'
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
    return lr.NoamDecay(d_model, warmup_steps, learning_rate=learning_rate)


def _piecewise(boundaries, values):
    return lr.PiecewiseDecay(boundaries, values, begin=0)


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
    """``learning_rate d_model^-0.5 min(step^-0.5, step warmup_steps^-1.5)``, steps from 1.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     static.layers.noam_decay(512, 4000).name
    'noam_decay_0.tmp_5'
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
    """``learning_rate decay_rate^(step / decay_steps)``; `staircase` rounds the exponent down.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     static.layers.exponential_decay(0.1, 1000, 0.5).shape
    (1,)
    """
    with _scheduling():
        ratio = _ratio(_steps(), decay_steps, staircase, "exponential_decay")
        powers = ops.elementwise_pow(_constant(decay_rate), ratio)
        return ops.scale(powers, scale=float(learning_rate))


@_schedule(lr.NaturalExpDecay)
def natural_exp_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """``learning_rate exp(-decay_rate step / decay_steps)``; `staircase` rounds the ratio down.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     static.layers.natural_exp_decay(0.1, 1000, 0.5).shape
    (1,)
    """
    with _scheduling():
        ratio = _ratio(_steps(), decay_steps, staircase, "natural_exp_decay")
        powers = ops.exp(ops.scale(ratio, scale=-float(decay_rate)))
        return ops.scale(powers, scale=float(learning_rate))


@_schedule(lr.InverseTimeDecay)
def inverse_time_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """``learning_rate / (1 + decay_rate step / decay_steps)``; `staircase` rounds the ratio down.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     static.layers.inverse_time_decay(0.1, 1000, 0.5).shape
    (1,)
    """
    with _scheduling():
        ratio = _ratio(_steps(), decay_steps, staircase, "inverse_time_decay")
        below = ops.scale(ratio, scale=float(decay_rate), bias=1.0)
        return ops.elementwise_div(_constant(learning_rate), below)


@_schedule(lr.PolynomialDecay)
def polynomial_decay(learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False):
    """From `learning_rate` to `end_learning_rate` by a power of the remaining steps.

    `cycle`: after `decay_steps` it starts again, with a longer period each time.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     static.layers.polynomial_decay(0.1, 1000).shape
    (1,)
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
    """``values[i]`` until step ``boundaries[i]``, the last value from then on.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     static.layers.piecewise_decay([100, 200], [1.0, 0.5, 0.1]).shape
    (1,)
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
    """``learning_rate / 2 (1 + cos(pi epoch / epochs))``.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     static.layers.cosine_decay(0.1, 100, 20).shape
    (1,)
    """
    epochs = _positive(epochs, "cosine_decay: epochs")
    with _scheduling():
        epoch = ops.floor(_ratio(_steps(), step_each_epoch, False, "cosine_decay"))
        wave = ops.cos(ops.scale(epoch, scale=math.pi / epochs))
        return ops.scale(wave, scale=0.5 * float(learning_rate), bias=1.0, bias_after_scale=False)


@_schedule(lr.LinearLrWarmup)
def linear_lr_warmup(learning_rate, warmup_steps, start_lr, end_lr):
    """Linear from `start_lr` to `end_lr` over `warmup_steps`, then `learning_rate`.

    `learning_rate` is a number or another schedule's variable.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     static.layers.linear_lr_warmup(0.1, 50, 0.0, 0.1).shape
    (1,)
    """
    warmup = _positive(warmup_steps, "linear_lr_warmup: warmup_steps")
    with _scheduling():
        steps = _steps()
        after = learning_rate if isinstance(learning_rate, Variable) else _constant(learning_rate)
        slope = (float(end_lr) - float(start_lr)) / warmup
        rising = ops.scale(steps, scale=slope, bias=float(start_lr))
        before = ops.less_than(steps, _constant(warmup))
        return ops.where(before, rising, after)
