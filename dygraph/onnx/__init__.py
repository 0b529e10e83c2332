"""Programs as ONNX files, and ONNX files as programs.

Needs the package ``onnx``: ``pip install dygraph-autograd[onnx]``. docs/onnx.md tells more.
"""

from dygraph.core.lazily import find as _find
from dygraph.core.lazily import names_of as _names_of

# No module here has the name of a function: importing it would put it in the function's place.
_NAMES = _names_of({"exporting": "export", "loading": "load"})

__all__ = ["export", "load"]


def __getattr__(name):
    if name in _NAMES:
        return _find(f"dygraph.onnx.{_NAMES[name]}", name)
    raise AttributeError(f"module 'dygraph.onnx' has no attribute '{name}'")


def __dir__():
    return list(__all__)
