"""Do all ranks hold the same parameters? Names, types, shapes and checksums."""

import zlib

import numpy as np

from dygraph.distributed.job import world
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, PreconditionNotMetError, kind_of
from dygraph.nn.layer import Layer

__all__ = ["compare"]


def compare(layer, comm=None, *, buffers=True):
    """Compare the parameters and buffers of a layer over all ranks. Collective.

    Names, element types, shapes and ``stop_gradient`` are compared first, then checksums of the
    values, bit by bit.

    Parameters
    ----------
    layer : Layer
    comm : Comm, optional
        None: that of `world`.
    buffers : bool
        False: parameters alone.

    Returns
    -------
    int
        The number of values that were found equal.

    Raises
    ------
    InvalidArgumentError
        On all ranks, with the first parameter that differs in name, type or shape.
    PreconditionNotMetError
        On all ranks, with the first one whose values differ.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.distributed.compare(dygraph.nn.Linear(2, 3))
    2
    """
    if not isinstance(layer, Layer):
        raise ArgumentTypeError(f"compare: layer must be a Layer, got {kind_of(layer)}")
    comm = world() if comm is None else comm
    named = list(layer.named_parameters())
    if buffers:
        named += layer.named_buffers()
    compare_names(comm, named, "compare")
    compare_values(comm, named, "compare")
    return len(named)


def compare_names(comm, named, owner):
    """Raise if ranks differ in names, types, shapes or in what is trained."""
    lines = [
        f"{name}: {v.dtype} {list(v.shape)}{', not trained' if v.stop_gradient else ''}"
        for name, v in named
    ]
    text = "\n".join(lines)
    sums = comm.all_gather(np.array([zlib.crc32(text.encode()), len(lines)], "int64"))
    if all((s == sums[0]).all() for s in sums):
        return
    texts = comm.all_gather(np.frombuffer(text.encode(), "uint8"))
    lists = [t.tobytes().decode().split("\n") for t in texts]
    first = lists[0]
    for rank, other in enumerate(lists):
        if other == first:
            continue
        count = min(len(first), len(other))
        i = next((i for i in range(count) if first[i] != other[i]), count)
        here, there = (
            f"'{found[i]}'" if i < len(found) and found[i] else "none" for found in (first, other)
        )
        raise InvalidArgumentError(
            f"{owner}: all ranks must have the same parameters and buffers in the same order; "
            f"number {i} is {here} on rank 0 and {there} on rank {rank}"
        )


def compare_values(comm, named, owner):
    """Raise if values differ, with the first name."""
    own = np.array([zlib.crc32(_bytes(v)) for _, v in named], "int64")
    for rank, sums in enumerate(all_sums := comm.all_gather(own)):
        differ = np.flatnonzero(sums != all_sums[0])
        if not len(differ):
            continue
        name = named[differ[0]][0]
        raise PreconditionNotMetError(
            f"{owner}: all ranks must hold equal values, but '{name}' of rank {rank} differs from "
            f"that of rank 0 (checksums {sums[differ[0]]:08x} and {all_sums[0][differ[0]]:08x}), "
            f"the first of {len(differ)} among {len(named)}. Do all ranks step with the same "
            "gradients, and is nothing else written?"
        )


def _bytes(variable):
    if str(variable.dtype) == "bfloat16":
        array = variable.numpy()
    else:
        array = np.from_dlpack(variable.detach())
    return np.ascontiguousarray(array).reshape(-1).view("uint8")
