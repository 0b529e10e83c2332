"""Fluid's layers: functions that append operators, and parameters where they have any.

Every function of `dygraph.ops` is here as well: on variables of a program it appends, on
eager Variables it computes.
"""

from typing import Any as _Any

import dygraph
from dygraph import ops
from dygraph.static.layers import (
    activation,
    arithmetic,
    arrays,
    batch_normalization,
    beams,
    box_codes,
    cells,
    choices,
    comparisons,
    convolution,
    creation,
    ctc,
    decoding,
    distributions,
    dynamic_rnn,
    elementary,
    helpers,
    if_else,
    image,
    indexing,
    learnt,
    learnt_loss,
    loops,
    loss,
    manipulation,
    metric,
    normalization,
    padding,
    printing,
    prior_boxes,
    products,
    proposals,
    python_function,
    random,
    ranked,
    reader,
    recurrent,
    regions,
    schedules,
    sequence,
    sigmoids,
    ssd,
    static_rnn,
    suppression,
    switch,
    tensor,
    yolo,
)
from dygraph.static.layers.activation import *
from dygraph.static.layers.arithmetic import *
from dygraph.static.layers.arrays import *
from dygraph.static.layers.batch_normalization import *
from dygraph.static.layers.beams import *
from dygraph.static.layers.box_codes import *
from dygraph.static.layers.cells import *
from dygraph.static.layers.choices import *
from dygraph.static.layers.comparisons import *
from dygraph.static.layers.convolution import *
from dygraph.static.layers.creation import *
from dygraph.static.layers.ctc import *
from dygraph.static.layers.data import data
from dygraph.static.layers.decoding import *
from dygraph.static.layers.distributions import *
from dygraph.static.layers.dynamic_rnn import *
from dygraph.static.layers.elementary import *
from dygraph.static.layers.helpers import *
from dygraph.static.layers.if_else import *
from dygraph.static.layers.image import *
from dygraph.static.layers.indexing import *
from dygraph.static.layers.learnt import *
from dygraph.static.layers.learnt_loss import *
from dygraph.static.layers.loops import *
from dygraph.static.layers.loss import *
from dygraph.static.layers.making import layer
from dygraph.static.layers.manipulation import *
from dygraph.static.layers.metric import *
from dygraph.static.layers.normalization import *
from dygraph.static.layers.padding import *
from dygraph.static.layers.printing import *
from dygraph.static.layers.prior_boxes import *
from dygraph.static.layers.products import *
from dygraph.static.layers.proposals import *
from dygraph.static.layers.python_function import *
from dygraph.static.layers.random import *
from dygraph.static.layers.ranked import *
from dygraph.static.layers.reader import *
from dygraph.static.layers.recurrent import *
from dygraph.static.layers.regions import *
from dygraph.static.layers.schedules import *
from dygraph.static.layers.sequence import *
from dygraph.static.layers.sigmoids import *
from dygraph.static.layers.ssd import *
from dygraph.static.layers.static_rnn import *
from dygraph.static.layers.suppression import *
from dygraph.static.layers.switch import *
from dygraph.static.layers.tensor import *
from dygraph.static.layers.yolo import *
from dygraph.static.parameters import create_global_var, create_parameter

_FAMILIES = (
    activation, arithmetic, arrays, batch_normalization, beams, box_codes, cells, choices,
    comparisons, convolution, creation, ctc, decoding, distributions, dynamic_rnn, elementary,
    helpers, if_else, image, indexing, learnt, learnt_loss, loops, loss, manipulation, metric,
    normalization, padding, printing, prior_boxes, products, proposals, python_function, random,
    ranked, reader, recurrent, regions, schedules, sequence, sigmoids, ssd, static_rnn,
    suppression, switch, tensor, yolo,
)  # fmt: skip
_OTHERS: dict = {}  # operators without a layer function of their own, as they are asked for


def __getattr__(name: str) -> _Any:
    if name not in _OTHERS:
        if name not in dir(ops):
            hint = dygraph.errors.did_you_mean(name, __dir__())
            raise AttributeError(f"static.layers has no function '{name}'.{hint}")
        _OTHERS[name] = layer(getattr(ops, name))
    return _OTHERS[name]


def __dir__():
    return sorted({*__all__, *ops.__all__})


__all__ = sorted([
    "data", "create_global_var", "create_parameter",
    *(name for family in _FAMILIES for name in family.__all__),
])  # fmt: skip
