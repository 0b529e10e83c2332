"""Written by dygraph.stubs from the registry and the docstrings; do not edit."""

import builtins
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, SupportsFloat, SupportsIndex, overload

import numpy as np
from dygraph._core import _Array, _DType, _Float, _Int, _Ints, _Number, Place, Variable, dtype
from dygraph.callbacks import Callback
from dygraph.checkpoint import Checkpoint
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

class Initializer:
    def __call__(self, shape: Any, dtype: _DType | None = 'float32') -> Any: ...
    def make(self, shape: Any, dtype: _DType | None) -> Any: ...

class Bilinear(Initializer):
    def make(self, shape: Any, dtype: _DType | None) -> Any: ...

class Constant(Initializer):
    value: Any
    def __init__(self, value: _Float = 0.0, force_cpu: bool = False) -> None: ...
    def make(self, shape: Any, dtype: _DType | None) -> Any: ...

class Normal(Initializer):
    loc: Any
    scale: Any
    seed: Any
    operator: str
    def __init__(self, loc: _Float = 0.0, scale: _Float = 1.0, seed: _Int = 0) -> None: ...
    def make(self, shape: Any, dtype: _DType | None) -> Any: ...

class NumpyArrayInitializer(Initializer):
    value: Any
    def __init__(self, value: Any) -> None: ...
    def make(self, shape: Any, dtype: _DType | None) -> Any: ...

class Uniform(Initializer):
    seed: Any
    diagonal: Any
    low: Any
    high: Any
    def __init__(self, low: _Float = -1.0, high: _Float = 1.0, seed: _Int = 0, diag_num: _Int = 0, diag_step: _Int = 0, diag_val: _Float = 1.0) -> None: ...
    def make(self, shape: Any, dtype: _DType | None) -> Any: ...
BilinearInitializer = Bilinear
ConstantInitializer = Constant
UniformInitializer = Uniform
NormalInitializer = Normal

class MSRA(Initializer):
    uniform: Any
    seed: Any
    fan_in: Any
    def __init__(self, uniform: bool = True, fan_in: _Float | None = None, seed: _Int = 0) -> None: ...
    def make(self, shape: Any, dtype: _DType | None) -> Any: ...

class TruncatedNormal(Normal):
    operator: str

class Xavier(Initializer):
    uniform: Any
    seed: Any
    fan_in: Any
    fan_out: Any
    def __init__(self, uniform: bool = True, fan_in: _Float | None = None, fan_out: _Float | None = None, seed: _Int = 0) -> None: ...
    def make(self, shape: Any, dtype: _DType | None) -> Any: ...
TruncatedNormalInitializer = TruncatedNormal
XavierInitializer = Xavier
MSRAInitializer = MSRA
