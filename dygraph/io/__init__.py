"""Data sets, samplers and the DataLoader.

The package is called ``io`` as in Fluid and Paddle; Fluid's reader decorators (``batch``,
``shuffle``, ``xmap_readers``, ...) are here as well as in `dygraph.reader`.
"""

from dygraph.core.module_hints import OF_IO as _OF_IO
from dygraph.core.spellings import refuse as _refuse
from dygraph.errors import did_you_mean as _did_you_mean
from dygraph.io.collate import default_collate
from dygraph.io.dataset import (
    ConcatDataset,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    random_split,
)
from dygraph.io.distributed_sampler import DistributedBatchSampler, DistributedSampler
from dygraph.io.loader import DataLoader
from dygraph.io.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequenceSampler,
    WeightedRandomSampler,
)
from dygraph.io.worker import WorkerInfo, get_worker_info, sample_rng
from dygraph.reader import (
    ComposeNotAligned,
    batch,
    buffered,
    cache,
    chain,
    compose,
    firstn,
    map_readers,
    multiprocess_reader,
    shuffle,
    xmap_readers,
)

default_collate_fn = default_collate  # Fluid's name

__all__ = [
    "BatchSampler",
    "ComposeNotAligned",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedBatchSampler",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequenceSampler",
    "Subset",
    "TensorDataset",
    "WeightedRandomSampler",
    "WorkerInfo",
    "batch",
    "buffered",
    "cache",
    "chain",
    "compose",
    "default_collate",
    "default_collate_fn",
    "firstn",
    "get_worker_info",
    "map_readers",
    "multiprocess_reader",
    "random_split",
    "sample_rng",
    "shuffle",
    "xmap_readers",
]


def __getattr__(name):
    hint = "" if name.startswith("_") else _did_you_mean(name, __all__)
    hint = f" {_OF_IO[name]}" if name in _OF_IO else hint
    raise _refuse("dygraph.io", name, hint)
