"""Schedules for ``learning_rate`` of an optimizer.

There are three kinds, which differ in the call that advances them:

* Fluid's per step (`NoamDecay` ... `LinearLrWarmup`): each call, so each step of the optimizer,
  gives
  the rate and moves on by `step`;
* Fluid's per epoch (`StepDecay`, `MultiStepDecay`, `LambdaDecay`, moved by ``epoch()``, and
  `ReduceLROnPlateau`, moved by ``step(loss)``): a call only gives the rate;
* those with a ``last_epoch`` (`OneCycleLR`, `CyclicLR`, `CosineAnnealingDecay`, `LinearWarmup`): a
  call
  only gives the rate, ``step()`` moves on, after each batch or each epoch as the schedule is meant.

``get_lr()`` returns the rate of the next step without advancing. ``state_dict()`` holds plain
numbers.

Examples
--------
>>> import dygraph
>>> rate = dygraph.lr.PiecewiseDecay([2, 4], [1.0, 0.5, 0.1], begin=0)
>>> [rate() for _ in range(6)]
[1.0, 1.0, 0.5, 0.5, 0.1, 0.1]
"""

from dygraph.lr.by_step import (
    CosineAnnealingDecay,
    CyclicLR,
    LinearWarmup,
    LRScheduler,
    OneCycleLR,
)
from dygraph.lr.per_epoch import (
    LambdaDecay,
    MultiStepDecay,
    ReduceLROnPlateau,
    StepDecay,
)
from dygraph.lr.per_step import (
    CosineDecay,
    ExponentialDecay,
    InverseTimeDecay,
    LearningRateDecay,
    LinearLrWarmup,
    NaturalExpDecay,
    NoamDecay,
    PiecewiseDecay,
    PolynomialDecay,
)

__all__ = [
    "CosineAnnealingDecay", "CosineDecay", "CyclicLR", "ExponentialDecay", "InverseTimeDecay",
    "LRScheduler", "LambdaDecay", "LearningRateDecay", "LinearLrWarmup", "LinearWarmup",
    "MultiStepDecay", "NaturalExpDecay", "NoamDecay", "OneCycleLR", "PiecewiseDecay",
    "PolynomialDecay", "ReduceLROnPlateau", "StepDecay",
]  # fmt: skip
