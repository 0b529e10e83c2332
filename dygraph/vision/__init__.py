"""Images: `dygraph.vision.ops` has the functions of detection.

>>> import dygraph
>>> x, y = dygraph.zeros([2]), dygraph.to_variable([1.0, 0.0])
>>> round(dygraph.vision.ops.sigmoid_focal_loss(x, y, reduction="sum").item(), 4)
0.1733
"""

from dygraph.core.spellings import refuse as _refuse
from dygraph.errors import did_you_mean

__all__ = ["ops"]


def __getattr__(name):
    if name == "ops":
        import importlib

        return importlib.import_module("dygraph.vision.ops")
    raise _refuse("dygraph.vision", name, did_you_mean(name, __all__))
