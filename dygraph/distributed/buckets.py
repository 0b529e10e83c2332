"""Buckets: the gradients of some parameters in one array, which the ranks sum in one call."""

import math
import sys
import time
import typing

import numpy as np

from dygraph import _core
from dygraph.core.exchange import from_dlpack
from dygraph.distributed import halves
from dygraph.distributed.works import wait_for
from dygraph.inspect.shown import Shown

__all__ = ["Bucket", "BucketTime", "Slot", "in_buckets"]

_ALIGNED = 64  # bytes at which each gradient begins


class BucketTime(typing.NamedTuple):
    """Average times of one round of a bucket: `waiting` for other ranks, `transfer` of the sum.

    Seconds. ``bucket`` is its number, in the order of sending; "rows" are sparse gradients,
    "buffers" the buffers.
    """

    bucket: int | str
    bytes: int
    rounds: int
    waiting: float
    transfer: float


class Slot(Shown):
    """A parameter and the place of its gradient in a bucket."""

    def __init__(self, name, parameter):
        self.name, self.parameter = name, parameter
        self.shape = tuple(parameter.shape)
        self.size = math.prod(self.shape)
        self.dtype = str(parameter.dtype)
        self.bucket = None  # None too for gradients that are selected rows
        self.index = self.begin = 0
        self.reached = self.taken = False  # in this round: has a new gradient; is in the bucket


class Bucket(Shown):
    """An array that holds the gradients of its slots, and behind them a number for each slot.

    The number is 1 where a rank has a gradient, so its sum tells whether any rank has one. The
    gradients of the parameters are views of the array. A round writes into the array of the last
    one unless somebody still holds a view of it, who must not see its values change.
    """

    def __init__(self, number, slots):
        self.number, self.slots = number, slots
        self.dtype = slots[0].dtype
        self.stored = np.dtype("float32" if self.dtype == "bfloat16" else self.dtype)
        step = max(1, _ALIGNED // self.stored.itemsize)
        end = 0
        for index, slot in enumerate(slots):
            slot.bucket, slot.index, slot.begin = self, index, end
            end += -(-slot.size // step) * step
        self.flags_begin, self.count = end, end + len(slots)
        self.bytes = self.count * self.stored.itemsize
        self._free = 0
        self._make()
        self.missing, self.sent = len(slots), False
        self.rounds, self.waiting, self.transfer, self.ready_at = 0, 0.0, 0.0, 0

    def _make(self):
        room = np.zeros(self.count * self.stored.itemsize + _ALIGNED, "uint8")
        skip = -room.ctypes.data % _ALIGNED
        array = room[skip : skip + self.count * self.stored.itemsize].view(self.stored)
        self.array, self.flags = array, array[self.flags_begin :]
        self._views = [array[s.begin : s.begin + s.size].reshape(s.shape) for s in self.slots]
        self._alone = sys.getrefcount(room)
        self._room = room

    def open(self):
        """Begin a round: memory that no other object holds."""
        self.missing, self.sent = len(self.slots), False
        if sys.getrefcount(self._room) != self._alone:
            self._make()

    def take(self, slot, gradient, factor):
        """Put a gradient, times `factor`, into its place; None stands for zeros.

        The place becomes the gradient of the parameter at once, before it is summed: so no second
        copy lives.
        """
        view = self._views[slot.index]
        if gradient is None:
            view.fill(0)
            self.flags[slot.index] = 0
        else:
            np.multiply(_array_of(gradient), self.stored.type(factor), out=view)
            self.flags[slot.index] = 1
            if self.dtype != "bfloat16":
                _core.become(gradient, from_dlpack(view[...]))
        slot.taken = True
        self.missing -= 1

    def reduce(self, comm, signature, compressed):
        """Sum the array over the ranks, in place. Runs on the thread of the jobs."""
        begin = time.perf_counter_ns()
        comm._agree(signature)
        arrived = time.perf_counter_ns()
        if compressed and self.stored == np.float32:
            halves.reduce(comm, self.array)
        else:
            wait_for(comm._transport.start_reduce(self.array, "sum"), signature, comm._timeout)
        self.note(f"bucket {self.number}", begin, arrived, time.perf_counter_ns())

    def note(self, name, begin, arrived, end):
        """Add the times of a round, also to a profile that is being made."""
        self.rounds += 1
        self.waiting += (arrived - begin) / 1e9
        self.transfer += (end - arrived) / 1e9
        if _core.watch.switches() & _core.watch.EVENTS:
            _core.watch.add_event(f"{name}: waiting", begin, arrived - begin)
            _core.watch.add_event(f"{name}: transfer", arrived, end - arrived)

    def give(self, slot):
        """After the sum: the gradient of a slot that this rank lacked, or that is no view."""
        if not self.flags[slot.index]:
            return  # no rank has one
        view = self._views[slot.index]
        if self.dtype == "bfloat16":
            _set(slot.parameter, _core.to_variable(view, None, "bfloat16"))
        elif slot.parameter.grad is None:
            slot.parameter.grad = from_dlpack(view[...])

    def time(self):
        rounds = max(1, self.rounds)
        return BucketTime(
            self.number, self.bytes, self.rounds, self.waiting / rounds, self.transfer / rounds
        )


def in_buckets(slots, first_bytes, most_bytes):
    """Buckets of slots in reverse order, one type each: the first up to `first_bytes`."""
    buckets, open_slots, open_bytes = [], {}, {}
    for slot in reversed(slots):
        size = slot.size * (4 if slot.dtype == "bfloat16" else np.dtype(slot.dtype).itemsize)
        members = open_slots.setdefault(slot.dtype, [])
        members.append(slot)
        open_bytes[slot.dtype] = open_bytes.get(slot.dtype, 0) + size
        if open_bytes[slot.dtype] >= (most_bytes if buckets else first_bytes):
            buckets.append(Bucket(len(buckets), members))
            del open_slots[slot.dtype], open_bytes[slot.dtype]
    for members in open_slots.values():
        buckets.append(Bucket(len(buckets), members))
    return buckets


def _set(parameter, gradient):
    """Write into the gradient that there is: who holds it sees the new one, as after any pass."""
    if parameter.grad is None:
        parameter.grad = gradient
    else:
        _core.become(parameter.grad, gradient)


def _array_of(gradient):
    if gradient.is_selected_rows():
        gradient = gradient.to_dense()
    if str(gradient.dtype) == "bfloat16":
        return gradient.numpy()
    return np.from_dlpack(gradient.detach())
