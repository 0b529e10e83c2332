"""The package onnx, imported when one of its names is first used."""

import importlib

__all__ = ["TensorProto", "helper", "numpy_helper", "onnx", "require"]


class _Lazily:
    """Stands for a module or one of its classes."""

    def __init__(self, *path):
        self._path = path

    def __getattr__(self, name):
        if name.startswith("__") and name != "__version__":  # asked by tools that look around
            raise AttributeError(name)
        module, *rest = self._path
        found = importlib.import_module(module)
        for part in rest:
            found = getattr(found, part)
        value = getattr(found, name)
        setattr(self, name, value)
        return value


onnx, helper, numpy_helper = map(_Lazily, ("onnx", "onnx.helper", "onnx.numpy_helper"))
TensorProto = _Lazily("onnx", "TensorProto")


def require(what):
    """Raise ImportError with the fix unless the package is installed."""
    try:
        importlib.import_module("onnx.checker")
    except ImportError as error:
        raise ImportError(
            f"{what} needs the package onnx. Install it with: pip install dygraph-autograd[onnx]"
        ) from error
