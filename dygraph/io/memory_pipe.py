"""Batches from a process: large arrays pass through memory that both processes map.

The memory is a memfd, which belongs to the two processes only and ends with them, without /dev/shm
or a name. A worker has one for each batch in transit and uses them in turn. Small arrays go through
the pipe; so do all arrays on systems without memfd.
"""

import mmap
import os

import numpy as np

from dygraph.io.collate import Ragged, rebuilt

__all__ = ["Receiver", "Sender"]

_LEAST = 1 << 14  # least bytes of an array in shared memory
_ALIGN = 64


class Placed:
    """The position of an array."""

    def __init__(self, offset, shape, dtype):
        self.offset, self.shape, self.dtype = offset, shape, dtype


class Sender:
    """The worker's side of a pipe, for at most `slots` batches in transit."""

    def __init__(self, end, slots):
        self.end, self.maps, self.count = end, [None] * slots, 0

    def send(self, number, result):
        """Send a result; pickle's errors mean that it cannot be pickled."""
        slot = self.count % len(self.maps)
        arrays, size = [], 0

        def place(value):
            nonlocal size
            if isinstance(value, Ragged):
                return Ragged(place(value.array), value.lod)
            if not isinstance(value, np.ndarray) or value.nbytes < _LEAST:
                return rebuilt(value, place)
            if value.dtype.kind not in "biufc":
                return value
            arrays.append((size, value))
            placed = Placed(size, value.shape, value.dtype)
            size += -(-value.nbytes // _ALIGN) * _ALIGN
            return placed

        tree = place(result)
        file = None
        if arrays and (self.maps[slot] is None or len(self.maps[slot]) < size):
            file = self._grow(slot, size)
            if file is None:
                arrays, tree = [], result
        for offset, array in arrays:
            np.copyto(np.ndarray(array.shape, array.dtype, self.maps[slot], offset), array)
        try:
            self.end.send((number, tree, slot, file is not None))
            self.count += 1
            if file is not None:
                from multiprocessing.reduction import send_handle

                send_handle(self.end, file, os.getppid())
        except Exception:
            self.maps[slot] = None  # the other side does not know it
            raise
        finally:
            if file is not None:
                os.close(file)

    def _grow(self, slot, size):
        """New memory for a slot; None if there is none."""
        size = 1 << (size - 1).bit_length()
        try:
            file = os.memfd_create("dygraph-loader", os.MFD_CLOEXEC)
        except (AttributeError, OSError):
            return None
        try:
            os.ftruncate(file, size)
            self.maps[slot] = mmap.mmap(file, size)
        except OSError:
            os.close(file)
            return None
        return file


class Receiver:
    """The loop's side of the pipe."""

    def __init__(self, end):
        self.end, self.maps = end, {}

    def receive(self, finish):
        """(number, ``finish(result)``); the finished result must not keep the arrays."""
        number, tree, slot, grown = self.end.recv()
        if grown:
            from multiprocessing.reduction import recv_handle

            file = recv_handle(self.end)
            try:
                self.maps[slot] = mmap.mmap(file, 0, prot=mmap.PROT_READ)
            finally:
                os.close(file)

        def take(value):
            if isinstance(value, Ragged):
                return Ragged(take(value.array), value.lod)
            if isinstance(value, Placed):
                return np.ndarray(value.shape, value.dtype, self.maps[slot], value.offset)
            return rebuilt(value, take)

        return number, finish(take(tree))
