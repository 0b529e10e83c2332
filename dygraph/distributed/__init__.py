"""Training on many processes and machines.

`init` gives the `Comm` of all processes of a job, which exchanges values; `DataParallel` averages
the gradients of a layer over them. Jobs are started by MPI's launchers: ``python -m
dygraph.distributed.run -n 4 train.py`` calls ``mpiexec``. The library has no sockets and no
launcher of its own.

Examples
--------
>>> import dygraph
>>> comm = dygraph.distributed.init()
>>> comm.rank, comm.size
(0, 1)
"""

import importlib as _importlib

from dygraph.core.lazily import find as _find
from dygraph.core.lazily import names_of as _names_of
from dygraph.core.module_hints import OF_DISTRIBUTED as _OF_DISTRIBUTED
from dygraph.core.spellings import refuse as _refuse
from dygraph.errors import did_you_mean as _did_you_mean

_NAMES = _names_of(
    {
        "dygraph.distributed.comm": "Comm Message",
        "dygraph.distributed.works": "RankLostError WaitTimeoutError Work",
        "dygraph.distributed.job": "init world",
        "dygraph.distributed.parallel": "DataParallel ParallelEnv ParallelStrategy prepare_context",
        "dygraph.distributed.compared": "compare",
        "dygraph.distributed.traces": "chrome_trace",
        "dygraph.distributed.buckets": "BucketTime",
        "dygraph.distributed.clip": "ClipGradByGlobalNorm",
        "dygraph.distributed.sharded": "ShardedOptimizer",
        "dygraph.distributed.sync_batch_norm": "SyncBatchNorm convert_sync_batchnorm",
        "dygraph.io.distributed_sampler": "DistributedBatchSampler DistributedSampler",
        "dygraph.distributed.seats": "Seats",
    }
)
__all__ = sorted([*_NAMES, "checkpoint"])


def __getattr__(name):
    if name == "checkpoint":
        return _importlib.import_module("dygraph.distributed.checkpoint")
    if name in _NAMES:
        return _find(_NAMES[name], name)
    hint = "" if name.startswith("_") else _did_you_mean(name, __all__)
    hint = f" {_OF_DISTRIBUTED[name]}" if name in _OF_DISTRIBUTED else hint
    raise _refuse("dygraph.distributed", name, hint)


def __dir__():
    return __all__
