"""Fluid's ``fluid.dygraph``: the eager mode by the names of Fluid 1.5 to 1.8.

The layers, schedules and functions are those of `dygraph`, whose other names are here as well.
Fluid's submodules, ``fluid.dygraph.nn``, ``fluid.dygraph.base`` and so on, are this module.

>>> import dygraph.static as fluid
>>> import numpy as np
>>> with fluid.dygraph.guard():
...     net = fluid.dygraph.Linear(2, 1)
...     adam = fluid.optimizer.AdamOptimizer(0.1, parameter_list=net.parameters())
...     loss = fluid.layers.mean(net(fluid.dygraph.to_variable(np.ones((4, 2), "float32"))))
...     loss.backward()
...     done = adam.minimize(loss)
...     net.clear_gradients()
"""

import sys
from typing import Any as _Any

import dygraph as _eager
from dygraph.errors import did_you_mean
from dygraph.fluid import layers as _fluid_layers
from dygraph.fluid import schedules as _fluid_schedules
from dygraph.static.dygraph.fc import FC

_NAMES = """
BCELoss BackwardStrategy BatchNorm BilinearTensorProduct Conv2D Conv2DTranspose Conv3D
Conv3DTranspose CosineDecay DataParallel Dropout Embedding ExponentialDecay GRUUnit GroupNorm
InstanceNorm InverseTimeDecay L1Loss LambdaDecay Layer LayerList LayerNorm Linear LinearLrWarmup
MSELoss MultiStepDecay NCE NLLLoss NaturalExpDecay NoamDecay PRelu ParallelEnv ParameterList
PiecewiseDecay PolynomialDecay Pool2D ProgramTranslator ReduceLROnPlateau Sequential SpectralNorm
StepDecay TracedLayer TreeConv declarative disable_dygraph disable_imperative enable_dygraph
enable_imperative enabled grad guard load_dygraph no_grad prepare_context save_dygraph to_variable
""".split()

# Fluid's files, whose names are all here.
_MODULES = (
    "backward_strategy base checkpoint container jit layers learning_rate_scheduler nn parallel "
    "tracer"
).split()

__all__ = ["FC", *_NAMES]


def __getattr__(name: str) -> _Any:
    if name in _MODULES:
        return sys.modules[__name__]
    for room in (_fluid_layers, _fluid_schedules):  # with Fluid's order and defaults
        if name in room.__all__:
            return getattr(room, name)
    if name in _NAMES or not name.startswith("_") and hasattr(_eager, name):
        return getattr(_eager, name)
    raise AttributeError(f"fluid.dygraph has no '{name}'.{did_you_mean(name, __dir__())}")


def __dir__():
    return sorted({*__all__, *dir(_eager)})


for _name in _MODULES:
    sys.modules[f"{__name__}.{_name}"] = sys.modules[__name__]
