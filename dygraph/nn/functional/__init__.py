"""Activations, losses, convolutions and the rest of what networks are made of, as functions.

Names, arguments, their order and their defaults are those that PyTorch's ``torch.nn.functional``
and ``paddle.nn.functional`` share. Where the two differ, the function's documentation says which
one is taken, or the argument has no default and must be given by name. ``dim``, ``input``,
``target`` and other names of the same meaning are taken for ours; other unknown arguments raise
ArgumentTypeError with what to write. The operators themselves, with their slots and attributes, are
in `dygraph.ops`.

Examples
--------
>>> import dygraph, dygraph.nn.functional as F
>>> F.relu(dygraph.to_variable([-1.0, 2.0])).tolist()
[0.0, 2.0]
"""

from dygraph.core.module_hints import OF_FUNCTIONAL
from dygraph.core.spellings import refuse
from dygraph.errors import did_you_mean
from dygraph.nn.functional import (
    activation,
    along_axis,
    attention,
    common,
    conv,
    ctc,
    distance,
    drop,
    loss,
    norm,
    pooling,
    transducer,
    vision,
)
from dygraph.nn.functional.activation import *
from dygraph.nn.functional.along_axis import *
from dygraph.nn.functional.attention import *
from dygraph.nn.functional.common import *
from dygraph.nn.functional.conv import *
from dygraph.nn.functional.ctc import *
from dygraph.nn.functional.distance import *
from dygraph.nn.functional.drop import *
from dygraph.nn.functional.loss import *
from dygraph.nn.functional.norm import *
from dygraph.nn.functional.pooling import *
from dygraph.nn.functional.transducer import *
from dygraph.nn.functional.vision import *

_MODULES = (
    activation, along_axis, attention, common, conv, ctc, distance, drop, loss, norm, pooling,
    transducer, vision,
)  # fmt: skip

__all__ = sorted(name for module in _MODULES for name in module.__all__)


def __getattr__(name):
    hint = "" if name.startswith("__") else did_you_mean(name, __all__)
    hint = f" Here: {OF_FUNCTIONAL[name]}" if name in OF_FUNCTIONAL else hint
    rule = f"dygraph.nn.functional has no function '{name}'"
    raise refuse("dygraph.nn.functional", name, hint, rule)


def __dir__():
    return list(__all__)
