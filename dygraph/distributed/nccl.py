"""Arrays on NVIDIA devices over NCCL, by CuPy. Written against CuPy's documents and tested with a
stand-in that records calls: it has not run on a device yet.
"""

import numpy as np

from dygraph.distributed import packets
from dygraph.distributed.mpi import Mpi
from dygraph.errors import ArgumentTypeError, MissingFileError, UnimplementedError

__all__ = ["Nccl"]

# Numbers of ncclDataType_t and ncclRedOp_t, by NumPy's names and ours.
_TYPES = {
    "int8": 0, "uint8": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5, "float16": 6,
    "float32": 7, "float64": 8,
}  # fmt: skip
_BYTES = _TYPES["uint8"]
_OPS = {"sum": 0, "prod": 1, "max": 2, "min": 3}


class Nccl(Mpi):
    """The transport of MPI, and NCCL for CuPy arrays.

    Values in the host's memory go over MPI. The id of the NCCL communicator is made by rank 0 and
    passed by MPI. A rank uses the device with its number among the ranks of its machine. Calls are
    queued on one stream of their own, behind what the current stream has to do, and have ended
    when they return. A `send` ends when its `recv` does: of two ranks that exchange arrays one
    must receive first.
    """

    name = "nccl"

    def __init__(self, MPI, comm, watch=None):
        self._cupy = _cupy()
        super().__init__(MPI, comm, watch)
        if watch is None:  # the job's first one
            here = comm.Split_type(MPI.COMM_TYPE_SHARED)
            self._cupy.cuda.Device(here.rank % self._cupy.cuda.runtime.getDeviceCount()).use()
            here.Free()
        nccl = self._cupy.cuda.nccl
        number = nccl.get_unique_id() if self.rank == 0 else None
        # 128 bytes, which CuPy gives as numbers, signed or not
        raw = np.array(number, "int16") if self.rank == 0 else np.empty(128, "int16")
        comm.Bcast(raw, 0)
        self._nccl = nccl.NcclCommunicator(self.size, tuple(raw.tolist()), self.rank)
        self._stream = self._cupy.cuda.Stream(non_blocking=True)

    def on_device(self, value):
        """Whether a value is an array that NCCL carries."""
        return isinstance(value, self._cupy.ndarray)

    # The calls of Comm, for arrays on the device

    def device_all_reduce(self, array, op):
        kind = self._kind(array, "all_reduce")
        place = array.data.ptr
        self._call("allReduce", place, place, array.size, kind, _OPS["sum" if op == "mean" else op])
        if op == "mean":
            array /= self.size
        return array

    def device_broadcast(self, array, root):
        self._check(array, "broadcast")
        self._call("broadcast", array.data.ptr, array.data.ptr, array.nbytes, _BYTES, root)
        return array

    def device_all_gather(self, array):
        self._check(array, "all_gather")
        whole = self._cupy.empty((self.size, *array.shape), array.dtype)
        self._call("allGather", array.data.ptr, whole.data.ptr, array.nbytes, _BYTES)
        return list(whole)

    def device_reduce_scatter(self, array, op):
        kind = self._kind(array, "reduce_scatter")
        part = self._cupy.empty((array.shape[0] // self.size, *array.shape[1:]), array.dtype)
        number = _OPS["sum" if op == "mean" else op]
        self._call("reduceScatter", array.data.ptr, part.data.ptr, part.size, kind, number)
        if op == "mean":
            part /= self.size
        return part

    def device_send(self, array, to, tag):
        self._check(array, "send")
        packet = packets.Packet(packets.DEVICE, array.dtype.name, array)
        ready = self.start_send([packets.header(packet)], to, tag)
        self._call("send", array.data.ptr, array.nbytes, _BYTES, to)
        return ready

    def device_recv(self, head, source):
        array = self._cupy.empty(head.shape, head.dtype)
        self._call("recv", array.data.ptr, array.nbytes, _BYTES, source)
        return array

    def _call(self, name, *arguments):
        current = self._cupy.cuda.get_current_stream()
        self._stream.wait_event(current.record())
        getattr(self._nccl, name)(*arguments, self._stream.ptr)
        self._stream.synchronize()

    def _check(self, array, what):
        if not array.flags.c_contiguous:
            raise ArgumentTypeError(
                f"{what}: an array on the device must be row-major, got strides {array.strides}. "
                "Give cupy.ascontiguousarray(x)"
            )

    def _kind(self, array, what):
        self._check(array, what)
        if array.dtype.name not in _TYPES:
            raise UnimplementedError(
                f"{what}: NCCL combines {', '.join(_TYPES)}, got {array.dtype}"
            )
        return _TYPES[array.dtype.name]

    # The group

    def duplicate(self):
        return type(self)(self._mpi, self._comm, self._watch)

    def split(self, color, key):
        part = self._comm.Split(color, key)
        try:
            return type(self)(self._mpi, part, self._watch)
        finally:
            part.Free()


def _cupy():
    try:
        import cupy
        from cupy.cuda import nccl  # noqa: F401

        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # CuPy has types of its own for a missing driver
        raise MissingFileError(
            f"init: backend 'nccl' needs CuPy with NCCL and a CUDA device, got: {error!r}. "
            "pip install 'cupy-cuda13x[ctk]' nvidia-nccl-cu13; on machines without a device: "
            "init('mpi')"
        ) from None
    if count == 0:
        raise MissingFileError("init: backend 'nccl' needs a CUDA device, got none: init('mpi')")
    return cupy
