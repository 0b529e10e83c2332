"""Schedules for ``learning_rate`` of an optimizer.

All have one protocol: ``schedule()``, ``get_lr()`` and ``last_lr`` are the rate of the next step,
``step()`` advances, after each batch or each epoch as the schedule is meant, ``state_dict()`` holds
plain numbers. Eager optimizers, optimizers of programs and `Model.fit` take any of them. Two kinds
add to it:

* Fluid's per step (`ExponentialDecay` ... `LinearLrWarmup`) advance by themselves with each step
  of the optimizer; ``step()`` after it changes nothing more;
* `ReduceLROnPlateau` takes the loss, ``step(loss)``.

Examples
--------
>>> import dygraph
>>> rate = dygraph.lr.ExponentialDecay(1.0, decay_steps=2, decay_rate=0.25)
>>> [rate() for _ in range(4)]
[1.0, 0.5, 0.25, 0.125]
"""

from dygraph.core.module_hints import OF_LR as _OF_LR
from dygraph.core.spellings import refuse as _refuse
from dygraph.errors import did_you_mean as _did_you_mean
from dygraph.lr.by_step import (
    CosineAnnealingDecay,
    CyclicLR,
    LinearWarmup,
    LRScheduler,
    NoamDecay,
    OneCycleLR,
    PiecewiseDecay,
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
    PolynomialDecay,
)

__all__ = [
    "CosineAnnealingDecay", "CosineDecay", "CyclicLR", "ExponentialDecay", "InverseTimeDecay",
    "LRScheduler", "LambdaDecay", "LearningRateDecay", "LinearLrWarmup", "LinearWarmup",
    "MultiStepDecay", "NaturalExpDecay", "NoamDecay", "OneCycleLR", "PiecewiseDecay",
    "PolynomialDecay", "ReduceLROnPlateau", "StepDecay",
]  # fmt: skip


def __getattr__(name):
    hint = "" if name.startswith("_") else _did_you_mean(name, __all__)
    hint = f" {_OF_LR[name]}" if name in _OF_LR else hint
    raise _refuse("dygraph.lr", name, hint)
