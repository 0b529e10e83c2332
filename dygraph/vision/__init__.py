"""Images: `dygraph.vision.ops` has the functions of detection.

>>> import dygraph
>>> boxes = dygraph.to_variable([[0.0, 0.0, 2.0, 2.0]])
>>> dygraph.vision.ops.box_area(boxes).tolist()
[4.0]
"""

import importlib

from dygraph.core.spellings import refuse as _refuse
from dygraph.errors import did_you_mean as _did_you_mean

__all__ = ["ops"]
_HINTS = {
    "transforms": "Layers for images are in dygraph.nn; a data set takes a function of samples",
    "datasets": "Data sets are in dygraph.dataset",
    "models": "Layers for images are in dygraph.nn; dygraph.load reads states in a file",
}


def __getattr__(name):
    if name == "ops":
        return importlib.import_module("dygraph.vision.ops")
    hint = _HINTS.get(name, "")
    if name in importlib.import_module("dygraph.vision.ops").__all__:
        hint = f"It is dygraph.vision.ops.{name}"
    raise _refuse("dygraph.vision", name, f" {hint}" if hint else _did_you_mean(name, __all__))


def __dir__():
    return __all__
