"""Fluid's layers: functions that append operators, and parameters where they have any.

Every function of `dygraph.functional` is here as well: on variables of a program it appends, on
eager Variables it computes.
"""

import functools

import dygraph
from dygraph import functional
from static.layers import learnt
from static.layers.data import data
from static.parameters import create_global_var, create_parameter
from static.program import default_main_program

_OWN = {"data": data, "create_global_var": create_global_var, "create_parameter": create_parameter}
_OWN.update({name: getattr(learnt, name) for name in learnt.__all__})
globals().update(_OWN)


def _describing(name, function):
    """The function, whose calls without a variable go into the main program."""

    @functools.wraps(function)
    def described(*args, **kwargs):
        program = default_main_program()
        with program.appending_to(program.current_block()):
            return function(*args, **kwargs)

    described.__module__, described.__qualname__ = __name__, name
    return described


def __getattr__(name):
    if name.startswith("__") or not hasattr(functional, name):
        raise AttributeError(
            f"static.layers has no function '{name}'.{dygraph.errors.did_you_mean(name, __dir__())}"
        )
    made = globals()[name] = _describing(name, getattr(functional, name))
    return made


def __dir__():
    return sorted({*_OWN, *functional.__all__})


__all__ = sorted(_OWN)
