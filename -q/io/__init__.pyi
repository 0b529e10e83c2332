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
from dygraph.reader import batch as batch
from dygraph.reader import buffered as buffered
from dygraph.reader import cache as cache
from dygraph.reader import chain as chain
from dygraph.reader import compose as compose
from dygraph.io.collate import default_collate as default_collate
from dygraph.io.collate import default_collate as default_collate
from dygraph.reader import firstn as firstn
from dygraph.io.worker import get_worker_info as get_worker_info
from dygraph.reader import map_readers as map_readers
from dygraph.reader import multiprocess_reader as multiprocess_reader
from dygraph.io.dataset import random_split as random_split
from dygraph.io.worker import sample_rng as sample_rng
from dygraph.reader import shuffle as shuffle
from dygraph.reader import xmap_readers as xmap_readers
from dygraph.reader import ComposeNotAligned as ComposeNotAligned
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
default_collate_fn = default_collate

class Dataset:
    def __getitem__(self, index: Any) -> Any: ...
    def __len__(self) -> int: ...

class IterableDataset:
    split: Any
    def __iter__(self) -> Iterator[Any]: ...

class Sampler:
    data_source: Any
    epoch: Any
    def __init__(self, data_source: Any = None) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def set_epoch(self, epoch: int) -> None: ...

class WorkerInfo:
    id: Any
    num_workers: Any
    seed: Any
    dataset: Any
    def __init__(self, id: Any, num_workers: _Int, seed: Any, dataset: _Samples | Iterable[Any]) -> None: ...

class BatchSampler(Sampler):
    batch_size: Any
    sampler: Any
    drop_last: Any
    def __init__(self, dataset: _Samples | Iterable[Any] | None = None, sampler: Any = None, shuffle: bool = False, batch_size: _Int = 1, drop_last: bool = False, seed: _Int = 0) -> None: ...
    def set_epoch(self, epoch: int) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...

class ConcatDataset(Dataset):
    datasets: Any
    def __init__(self, datasets: Any) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any) -> Any: ...

class DataLoader:
    dataset: Any
    num_workers: Any
    worker: Any
    prefetch: Any
    timeout: Any
    start_method: Any
    seed: Any
    batch_size: Any
    is_stream: Any
    collate_fn: Any
    ragged: Any
    worker_init_fn: Any
    drop_last: Any
    shuffle: Any
    batch_sampler: Any
    def __init__(self, dataset: _Samples | Iterable[Any], batch_size: _Int = 1, shuffle: bool = False, drop_last: bool = False, sampler: Any = None, batch_sampler: Any = None, collate_fn: Callable[..., Any] | None = None, ragged: Any = ..., num_workers: _Int = 0, worker: str = 'thread', prefetch: _Int = 2, timeout: _Float = 0, seed: _Int | None = None, worker_init_fn: Callable[..., Any] | None = None, start_method: str = 'fork') -> None: ...
    @staticmethod
    def from_generator(feed_list: Any = None, capacity: _Int = 2, use_double_buffer: bool = True, iterable: bool = True, return_list: bool = True) -> Any: ...
    def __len__(self) -> int: ...
    def set_epoch(self, epoch: int) -> None: ...
    def state_dict(self) -> dict[str, Any]: ...
    def set_state_dict(self, state_dict: Any) -> None: ...
    def load_state_dict(self, state_dict: Any) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...

class RandomSampler(Sampler):
    num_samples: Any
    replacement: Any
    seed: Any
    def __init__(self, data_source: Any, replacement: bool = False, num_samples: _Int | None = None, seed: _Int = 0) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...

class SequenceSampler(Sampler):
    def __iter__(self) -> Iterator[Any]: ...

class Subset(Dataset):
    dataset: Any
    indices: Any
    def __init__(self, dataset: _Samples | Iterable[Any], indices: Any) -> None: ...
    def __getitem__(self, index: Any) -> Any: ...
    def __len__(self) -> int: ...

class TensorDataset(Dataset):
    tensors: Any
    def __init__(self, tensors: Any, *more: Any) -> None: ...
    def __getitem__(self, index: Any) -> Any: ...
    def __len__(self) -> int: ...

class WeightedRandomSampler(Sampler):
    weights: Any
    num_samples: Any
    replacement: Any
    seed: Any
    def __init__(self, weights: Sequence[_Float] | np.ndarray[Any, Any], num_samples: _Int, replacement: bool = True, seed: _Int = 0) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...

class DistributedBatchSampler(BatchSampler):
    num_replicas: Any
    rank: Any
    def __init__(self, dataset: _Samples | Iterable[Any], batch_size: _Int, num_replicas: _Int = 1, rank: _Int = 0, shuffle: bool = False, drop_last: bool = False, seed: _Int = 0) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
