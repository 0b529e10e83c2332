"""The profiles of all ranks in one Chrome trace."""

import json
import time

import numpy as np

from dygraph.distributed.job import world
from dygraph.errors import ArgumentTypeError, kind_of
from dygraph.profiler import Profiler

__all__ = ["chrome_trace"]

_PINGS, _TAG = 8, 32002


def chrome_trace(profile, path=None, comm=None):
    """Gather the profiles of all ranks on rank 0, one process row for each rank. Collective.

    Clocks of machines differ: rank 0 exchanges a few messages with each rank, and its clock counts.
    The error is at most half the time of the fastest exchange, microseconds on one machine.

    Parameters
    ----------
    profile : dygraph.profiler.Profiler
        This rank's, stopped.
    path : str, optional
        Where rank 0 writes the trace as JSON.
    comm : Comm, optional
        None: that of `world`.

    Returns
    -------
    dict or None
        On rank 0 the trace, as chrome://tracing and Perfetto take it.

    Examples
    --------
    >>> import dygraph
    >>> with dygraph.profiler.Profiler() as profile:
    ...     y = dygraph.ones([2]) + 1.0
    >>> trace = dygraph.distributed.chrome_trace(profile)
    >>> trace["traceEvents"][0]["args"]["name"]
    'rank 0'
    """
    if not isinstance(profile, Profiler):
        raise ArgumentTypeError(
            f"chrome_trace: profile must be a dygraph.profiler.Profiler, got {kind_of(profile)}"
        )
    comm = world() if comm is None else comm
    offset = _offset(comm)
    events = [(*e[:2], e.start + offset, *e[3:]) for e in profile.events]
    text = np.frombuffer(json.dumps(events).encode(), "uint8")
    comm.barrier()
    if comm.rank:
        comm.send(text, to=0, tag=_TAG)
        return None
    texts = [text, *(comm.recv(rank, _TAG) for rank in range(1, comm.size))]
    trace = _joined([json.loads(t.tobytes()) for t in texts])
    if path is not None:
        with open(path, "w", encoding="utf-8") as f:
            json.dump(trace, f)
    return trace


def _joined(ranks):
    """Rows of processes first, then the events of all ranks."""
    begin = min((e[2] for events in ranks for e in events), default=0)
    trace = []
    for rank in range(len(ranks)):
        trace += [
            {"name": "process_name", "ph": "M", "pid": rank, "args": {"name": f"rank {rank}"}},
            {"name": "process_sort_index", "ph": "M", "pid": rank, "args": {"sort_index": rank}},
        ]
    for rank, events in enumerate(ranks):
        for name, category, start, duration, thread, size, shapes, caller, *_ in events:
            args = {"bytes": size, "inputs": shapes, "caller": caller}
            trace.append(
                {"name": name, "cat": category, "ph": "X", "pid": rank, "tid": thread,
                 "ts": (start - begin) / 1e3, "dur": duration / 1e3,
                 "args": {k: v for k, v in args.items() if v}}
            )  # fmt: skip
    return {"traceEvents": trace, "displayTimeUnit": "ns"}


def _offset(comm):
    """What this rank's clock lacks to that of rank 0, in nanoseconds."""
    own = 0
    for rank in range(1, comm.size):
        comm.barrier()
        if comm.rank == 0:
            _ask(comm, rank)
        elif comm.rank == rank:
            for _ in range(_PINGS):
                comm.recv(0, _TAG)
                comm.send(np.array([time.perf_counter_ns()], "int64"), to=0, tag=_TAG)
            own = int(comm.recv(0, _TAG)[0])
    return own


def _ask(comm, rank):
    best, offset = None, 0
    for _ in range(_PINGS):
        begin = time.perf_counter_ns()
        comm.send(np.zeros(1, "int64"), to=rank, tag=_TAG)
        there = int(comm.recv(rank, _TAG)[0])
        end = time.perf_counter_ns()
        if best is None or end - begin < best:
            best, offset = end - begin, (begin + end) // 2 - there
    comm.send(np.array([offset], "int64"), to=rank, tag=_TAG)
