"""Images: `dygraph.vision.ops` has the functions of detection.

>>> import dygraph
>>> boxes = dygraph.to_variable([[0.0, 0.0, 2.0, 2.0]])
>>> dygraph.vision.ops.box_area(boxes).tolist()
[4.0]
"""

from dygraph.core.spellings import refuse as _refuse
from dygraph.errors import did_you_mean

__all__ = ["ops"]


def __getattr__(name):
    if name == "ops":
        import importlib

        return importlib.import_module("dygraph.vision.ops")
    raise _refuse("dygraph.vision", name, did_you_mean(name, __all__))
