"""Fluid's layers: functions that append operators, and parameters where they have any.

Every function of `dygraph.functional` is here as well: on variables of a program it appends, on
eager Variables it computes.
"""

import importlib

import dygraph
from dygraph import functional
from static.layers.data import data
from static.layers.making import layer
from static.parameters import create_global_var, create_parameter

_FAMILIES = (
    "activation", "arithmetic", "convolution", "distributions", "image", "learnt", "loss",
    "manipulation", "metric", "normalization", "printing", "python_function", "random", "reader",
    "recurrent", "schedules", "sequence", "tensor",
)  # fmt: skip
_OWN = {"data": data, "create_global_var": create_global_var, "create_parameter": create_parameter}
for _family in _FAMILIES:
    _module = importlib.import_module(f"static.layers.{_family}")
    _OWN.update({name: getattr(_module, name) for name in _module.__all__})
globals().update(_OWN)


def __getattr__(name):
    if name not in functional.__all__:
        raise AttributeError(
            f"static.layers has no function '{name}'.{dygraph.errors.did_you_mean(name, __dir__())}"
        )
    made = globals()[name] = layer(getattr(functional, name))
    return made


def __dir__():
    return sorted({*_OWN, *functional.__all__})


__all__ = sorted(_OWN)
