"""Written by dygraph.stubs from the registry and the docstrings; do not edit."""

import builtins
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, SupportsFloat, SupportsIndex, overload

import numpy as np
from dygraph._core import _Array, _DType, _Float, _Int, _Ints, _Number, Place, Variable, dtype
from dygraph.callbacks import Callback
from dygraph.checkpoint import Checkpoint
from dygraph.initializer import Initializer
from dygraph.nn import Layer
from dygraph.optimizer import Optimizer
from dygraph.nn.param_attr import ParamAttr
from dygraph.core.variable import Parameter
from typing import Generic, ParamSpec, Protocol, TypeVar

from typing_extensions import Self

_Attr = ParamAttr | Initializer | str | bool
_Rate = _Float | Callable[..., Any]
_Decay = _Float | Callable[..., Any] | None
_Parameters = Layer | Iterable[Variable | tuple[str, Variable] | Mapping[str, Any]]

class _Samples(Protocol):
    def __getitem__(self, index: Any, /) -> Any: ...
    def __len__(self) -> int: ...

class _Metric(Protocol):
    def reset(self) -> Any: ...
    def eval(self) -> Any: ...
    @property
    def update(self) -> Callable[..., Any]: ...

_Data = _Samples | Iterable[Any] | Callable[[], Iterable[Any]]

class L1Decay:
    coefficient: Any
    def __init__(self, regularization_coeff: _Float = 0.0) -> None: ...
    def __call__(self, parameter: Any, gradient: Any) -> Any: ...
    def term(self, parameter: Any) -> Any: ...

class L2Decay:
    coefficient: Any
    def __init__(self, regularization_coeff: _Float = 0.0) -> None: ...
    def __call__(self, parameter: Any, gradient: Any) -> Any: ...
    def term(self, parameter: Any) -> Any: ...
L1DecayRegularizer = L1Decay
L2DecayRegularizer = L2Decay
