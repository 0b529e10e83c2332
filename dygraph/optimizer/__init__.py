"""Optimizers with Fluid's arguments, averages of parameters; schedules are in `dygraph.lr`."""

from dygraph.core.module_hints import OF_OPTIMIZER_MODULE
from dygraph.core.spellings import refuse
from dygraph.errors import did_you_mean
from dygraph.optimizer.base import Accumulator, Optimizer
from dygraph.optimizer.descent import SGD, Momentum, MomentumOptimizer, SGDOptimizer
from dygraph.optimizer.moments import Adam, AdamOptimizer, AdamW, AdamWOptimizer

# Loaded at the first use.
_LAZY = {
    "dygraph.optimizer.adaptive": (
        "Adadelta", "AdadeltaOptimizer", "Adagrad", "AdagradOptimizer", "DecayedAdagrad",
        "DecayedAdagradOptimizer", "Ftrl", "FtrlOptimizer", "RMSProp", "RMSPropOptimizer",
    ),
    "dygraph.optimizer.averages": (
        "ExponentialMovingAverage", "Lookahead", "LookaheadOptimizer", "ModelAverage",
    ),
    "dygraph.optimizer.descent": (
        "Dpsgd", "DpsgdOptimizer", "LarsMomentum", "LarsMomentumOptimizer",
    ),
    "dygraph.optimizer.moments": (
        "Adamax", "AdamaxOptimizer", "Lamb", "LambOptimizer", "NAdam", "NAdamOptimizer", "RAdam",
        "RAdamOptimizer",
    ),
}  # fmt: skip


def __getattr__(name):
    import importlib

    if name == "lr":
        return importlib.import_module("dygraph.lr")
    for module, names in _LAZY.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    hint = "" if name.startswith("_") else did_you_mean(name, __dir__())
    hint = f" {OF_OPTIMIZER_MODULE[name]}" if name in OF_OPTIMIZER_MODULE else hint
    raise refuse("dygraph.optimizer", name, hint)


def __dir__():
    return list(__all__)


__all__ = [
    "SGD", "Accumulator", "Adadelta", "AdadeltaOptimizer", "Adagrad", "AdagradOptimizer", "Adam",
    "AdamOptimizer", "AdamW", "AdamWOptimizer", "Adamax", "AdamaxOptimizer", "DecayedAdagrad",
    "DecayedAdagradOptimizer", "Dpsgd", "DpsgdOptimizer", "ExponentialMovingAverage", "Ftrl",
    "FtrlOptimizer", "Lamb", "LambOptimizer", "LarsMomentum", "LarsMomentumOptimizer", "Lookahead",
    "LookaheadOptimizer", "ModelAverage", "Momentum", "MomentumOptimizer", "NAdam",
    "NAdamOptimizer", "Optimizer", "RAdam", "RAdamOptimizer", "RMSProp", "RMSPropOptimizer",
    "SGDOptimizer", "lr",
]  # fmt: skip
