"""dygraph: eager tensors, gradients and programs."""

from dygraph import _core
from dygraph._core import Variable, to_variable

__all__ = ["Variable", "to_variable"]
