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

class History(dict[str, list[float]]):
    @property
    def history(self) -> History: ...

class Model:
    network: Layer
    inputs: Any
    optimizer: Optimizer | None
    loss: Callable[..., Any] | None
    metrics: list[_Metric]
    stop_training: bool
    history: History
    epoch: int
    def __init__(self, network: Layer | None = None, inputs: _Int = 1) -> None: ...
    def prepare(self, optimizer: Optimizer | None = None, loss: Callable[..., Any] | Layer | None = None, metrics: _Metric | Sequence[_Metric] | None = None) -> None: ...
    def train_batch(self, batch: Any) -> float: ...
    def fit(self, train_data: _Data, y: _Data | None = None, batch_size: _Int | None = None, epochs: _Int = 1, verbose: int = 1, callbacks: Callback | Sequence[Callback] | None = None, shuffle: bool = True, drop_last: bool = False, num_workers: _Int = 0, eval_freq: _Int = 1, *, eval_data: _Data | None = None, validation_data: _Data | None = None, validation_split: _Float = 0.0) -> History: ...
    def evaluate(self, eval_data: _Data, y: Any = None, batch_size: _Int | None = None, verbose: int = 0, num_workers: _Int = 0) -> dict[str, float]: ...
    def predict(self, test_data: _Data, batch_size: _Int | None = None, num_workers: _Int = 0) -> np.ndarray[Any, Any] | Any: ...
    def parameters(self) -> list[Parameter]: ...
    def save(self, path: str | os.PathLike[str], epoch: int | None = None) -> None: ...
    def load(self, path: str | os.PathLike[str], strict: bool = True) -> Checkpoint: ...
