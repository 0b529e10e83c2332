"""Fluid's layers: functions that append operators, and parameters where they have any.

Every function of `dygraph.functional` is here as well: on variables of a program it appends, on
eager Variables it computes.
"""

import dygraph
from dygraph import functional
from static.layers import (
    activation,
    arithmetic,
    arrays,
    beams,
    cells,
    choices,
    convolution,
    decoding,
    distributions,
    dynamic_rnn,
    helpers,
    if_else,
    image,
    learnt,
    loops,
    loss,
    manipulation,
    metric,
    normalization,
    printing,
    python_function,
    random,
    ranked,
    reader,
    recurrent,
    schedules,
    sequence,
    static_rnn,
    switch,
    tensor,
)
from static.layers.activation import *
from static.layers.arithmetic import *
from static.layers.arrays import *
from static.layers.beams import *
from static.layers.cells import *
from static.layers.choices import *
from static.layers.convolution import *
from static.layers.data import data
from static.layers.decoding import *
from static.layers.distributions import *
from static.layers.dynamic_rnn import *
from static.layers.helpers import *
from static.layers.if_else import *
from static.layers.image import *
from static.layers.learnt import *
from static.layers.loops import *
from static.layers.loss import *
from static.layers.making import layer
from static.layers.manipulation import *
from static.layers.metric import *
from static.layers.normalization import *
from static.layers.printing import *
from static.layers.python_function import *
from static.layers.random import *
from static.layers.ranked import *
from static.layers.reader import *
from static.layers.recurrent import *
from static.layers.schedules import *
from static.layers.sequence import *
from static.layers.static_rnn import *
from static.layers.switch import *
from static.layers.tensor import *
from static.parameters import create_global_var, create_parameter

_FAMILIES = (
    activation, arithmetic, arrays, beams, cells, choices, convolution, decoding, distributions,
    dynamic_rnn, helpers, if_else, image, learnt, loops, loss, manipulation, metric,
    normalization, printing, python_function, random, ranked, reader, recurrent, schedules,
    sequence, static_rnn, switch, tensor,
)  # fmt: skip
_OTHERS: dict = {}  # operators without a layer function of their own, as they are asked for


def __getattr__(name):
    if name not in _OTHERS:
        if name not in functional.__all__:
            hint = dygraph.errors.did_you_mean(name, __dir__())
            raise AttributeError(f"static.layers has no function '{name}'.{hint}")
        _OTHERS[name] = layer(getattr(functional, name))
    return _OTHERS[name]


def __dir__():
    return sorted({*__all__, *functional.__all__})


__all__ = sorted([
    "data", "create_global_var", "create_parameter",
    *(name for family in _FAMILIES for name in family.__all__),
])  # fmt: skip
