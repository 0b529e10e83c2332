"""Sums over ranks in bfloat16: half the bytes of float32. Each rank sums one part in float32."""

import numpy as np

__all__ = ["reduce", "rounded", "widened"]

_TAG = 32001


def rounded(array):
    """float32 as the upper 16 bits, int16, rounded to the nearest, ties to even; NaN stays NaN."""
    bits = array.view("uint32")
    result = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("uint16")
    odd = np.isnan(array)
    if odd.any():
        result[odd] = (bits[odd] >> 16) | 0x40
    return result.view("int16")


def widened(bits):
    """The float32 of upper halves."""
    return (bits.view("uint16").astype("uint32") << 16).view("float32")


def reduce(comm, array):
    """Sum a float32 array over the ranks, in place; equal bits on all ranks.

    Rank r gets part r of every rank in bfloat16, adds them in float32 in the order of ranks, rounds
    the sum and sends it to all.
    """
    ends = np.linspace(0, array.size, comm.size + 1).astype("int64")
    parts = [array[a:b] for a, b in zip(ends[:-1], ends[1:], strict=True)]
    halves = [rounded(part) for part in parts]
    others = [r for r in range(comm.size) if r != comm.rank]
    sent = [comm.send(halves[r], to=r, tag=_TAG, wait=False) for r in others]
    arrived = {r: comm.recv(r, _TAG) for r in others}
    arrived[comm.rank] = halves[comm.rank]
    total = widened(arrived[0])
    for r in range(1, comm.size):
        total += widened(arrived[r])
    for work in sent:
        work.wait()
    for part, half in zip(parts, comm.all_gather(rounded(total)), strict=True):
        part[...] = widened(half)
