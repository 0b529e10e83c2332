"""Optimizers with Fluid's arguments, schedules of the learning rate, averages of parameters."""

from dygraph.optimizer import lr
from dygraph.optimizer.adaptive import (
    Adadelta,
    AdadeltaOptimizer,
    Adagrad,
    AdagradOptimizer,
    DecayedAdagrad,
    DecayedAdagradOptimizer,
    Ftrl,
    FtrlOptimizer,
    RMSProp,
    RMSPropOptimizer,
)
from dygraph.optimizer.averages import ExponentialMovingAverage, LookaheadOptimizer, ModelAverage
from dygraph.optimizer.base import Accumulator, Optimizer
from dygraph.optimizer.descent import (
    SGD,
    Dpsgd,
    DpsgdOptimizer,
    LarsMomentum,
    LarsMomentumOptimizer,
    Momentum,
    MomentumOptimizer,
    SGDOptimizer,
)
from dygraph.optimizer.moments import (
    Adam,
    Adamax,
    AdamaxOptimizer,
    AdamOptimizer,
    AdamW,
    AdamWOptimizer,
    Lamb,
    LambOptimizer,
    NAdam,
    NAdamOptimizer,
    RAdam,
    RAdamOptimizer,
)

Lookahead = LookaheadOptimizer

__all__ = [
    "SGD", "Accumulator", "Adadelta", "AdadeltaOptimizer", "Adagrad", "AdagradOptimizer", "Adam",
    "AdamOptimizer", "AdamW", "AdamWOptimizer", "Adamax", "AdamaxOptimizer", "DecayedAdagrad",
    "DecayedAdagradOptimizer", "Dpsgd", "DpsgdOptimizer", "ExponentialMovingAverage", "Ftrl",
    "FtrlOptimizer", "Lamb", "LambOptimizer", "LarsMomentum", "LarsMomentumOptimizer", "Lookahead",
    "LookaheadOptimizer", "ModelAverage", "Momentum", "MomentumOptimizer", "NAdam",
    "NAdamOptimizer", "Optimizer", "RAdam", "RAdamOptimizer", "RMSProp", "RMSPropOptimizer",
    "SGDOptimizer", "lr",
]  # fmt: skip
