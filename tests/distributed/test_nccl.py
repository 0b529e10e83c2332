"""The nccl backend: without CuPy it says what to install; with a stand-in for CuPy on two ranks it
makes NCCL's calls with the right pointers, counts and numbers. No device takes part.
"""

import builtins

import pytest

from dygraph import distributed
from dygraph.errors import MissingFileError
from jobs import start_job

# A stand-in whose device is the host's memory: pointers are NumPy's, and its NcclCommunicator
# computes over MPI what NCCL's documents say, from the raw arguments alone.
STAND_IN = '''
import ctypes, sys, types
from mpi4py import MPI
TYPES = {0: "i1", 1: "u1", 2: "i4", 3: "u4", 4: "i8", 5: "u8", 6: "f2", 7: "f4", 8: "f8"}
OPS = {0: MPI.SUM, 1: MPI.PROD, 2: MPI.MAX, 3: MPI.MIN}
log = []
class ndarray:
    """Holds an array, and is none: what reads it as host memory fails."""
    __array__ = None
    def __init__(self, a):
        self.a, self.shape, self.size, self.dtype = a, a.shape, a.size, a.dtype
        self.nbytes, self.strides = a.nbytes, a.strides
        self.flags = types.SimpleNamespace(c_contiguous=a.flags.c_contiguous)
        self.data = types.SimpleNamespace(ptr=a.ctypes.data)
    def __itruediv__(self, n):
        self.a /= n
        return self
    def __iter__(self):
        return iter(self.a)
def view(pointer, count, kind):
    kind = np.dtype(TYPES[kind])
    memory = (ctypes.c_uint8 * (count * kind.itemsize)).from_address(pointer)
    return np.frombuffer(memory, kind)
class Stream:
    def __init__(self, non_blocking=False):
        self.ptr = 77
        log.append(("Stream", non_blocking))
    def wait_event(self, event):
        log.append(("wait", event))
    def synchronize(self):
        log.append("synchronize")
    def record(self):
        return "event"
class NcclCommunicator:
    def __init__(self, size, number, rank):
        assert number == tuple(range(-64, 64)) and type(number) is tuple
        self.c = MPI.COMM_WORLD.Split(0, rank)
        assert (self.c.size, self.c.rank) == (size, rank)
    def allReduce(self, a, b, count, kind, op, stream):
        assert stream == 77
        self.c.Allreduce(view(a, count, kind).copy(), view(b, count, kind), OPS[op])
    def broadcast(self, a, b, count, kind, root, stream):
        self.c.Bcast(view(b, count, kind), root)
    def allGather(self, a, b, count, kind, stream):
        self.c.Allgather(view(a, count, kind), view(b, count * self.c.size, kind))
    def reduceScatter(self, a, b, count, kind, op, stream):
        whole = view(a, count * self.c.size, kind)
        self.c.Reduce_scatter_block(whole, view(b, count, kind), OPS[op])
    def send(self, a, count, kind, peer, stream):
        self.c.Send(view(a, count, kind), peer)
    def recv(self, b, count, kind, peer, stream):
        self.c.Recv(view(b, count, kind), peer)
def get_unique_id():
    assert MPI.COMM_WORLD.rank == 0
    return tuple(range(-64, 64))
used = []
class Device:
    def __init__(self, number):
        self.number = number
    def use(self):
        used.append(self.number)
cupy = types.ModuleType("cupy")
cupy.ndarray, cupy.empty = ndarray, lambda shape, dtype: ndarray(np.empty(shape, dtype))
cupy.cuda = sys.modules["cupy.cuda"] = types.ModuleType("cupy.cuda")
cupy.cuda.nccl = types.SimpleNamespace(
    NcclCommunicator=NcclCommunicator, get_unique_id=get_unique_id)
cupy.cuda.runtime = types.SimpleNamespace(getDeviceCount=lambda: 4)
cupy.cuda.Stream, cupy.cuda.Device, cupy.cuda.get_current_stream = Stream, Device, Stream
sys.modules["cupy"] = cupy
'''
SCRIPT = """
from dygraph.distributed import job
from dygraph.distributed.comm import Comm
comm = Comm(job._transport("nccl"), 20)
def on_device(*values, dtype="float32"):
    return ndarray(np.array(values, dtype))
rank = comm.rank
x = on_device(rank + 1.0, 2.0)
log.clear()
assert comm.all_reduce(x) is x
calls = [entry for entry in log if entry != ("Stream", False)]
mean = comm.all_reduce(on_device(rank, 5.0), "mean", wait=False).wait()
whole = comm.all_reduce(on_device(rank + 2, dtype="int64"), "prod")
half = comm.all_reduce(on_device(rank + 0.5, dtype="float16"), "max")
sent = comm.broadcast(on_device([rank, 3.0], [rank, 4.0], dtype="float64"), root=1)
gathered = comm.all_gather(on_device(rank, rank + 10, dtype="int32"))
part = comm.reduce_scatter(on_device([1.0, rank], [2.0, 3.0]))
part_min = comm.reduce_scatter(on_device(rank, 4.0 - rank), "min")
if rank == 0:
    comm.send(on_device([1.0, 2.0, 3.0], dtype="float64"), to=1, tag=3)
    got = comm.recv(1)
else:
    got = comm.recv(0, tag=3)
    comm.send(on_device(7, 8, dtype="uint8"), to=0)
errors = []
for call in (
    lambda: comm.all_reduce(on_device(*[1.0] * (rank + 1))),
    lambda: comm.all_reduce(ndarray(np.ones((3, 2)).T)),
    lambda: comm.all_reduce(on_device(True, dtype=bool)),
    lambda: comm.reduce_scatter(on_device(1.0, 2.0, 3.0)),
):
    try:
        call()
    except dygraph.errors.DygraphError as error:
        errors.append(str(error))
result = dict(
    used=used, calls=calls, sum=x.a.tolist(), mean=mean.a.tolist(), whole=whole.a.tolist(),
    half=half.a.tolist(), sent=sent.a.tolist(), gathered=[g.tolist() for g in gathered],
    part=part.a.tolist(), part_min=part_min.a.tolist(), got=[str(got.dtype), got.a.tolist()],
    errors=errors, host=comm.all_reduce(np.ones(1)).tolist(),
    twin=comm.duplicate().all_reduce(on_device(1.0)).a.tolist(),
)
"""


def test_calls_on_two_ranks_with_a_stand_in(tmp_path):
    job = start_job(2, STAND_IN + SCRIPT, tmp_path)
    assert job.code == 0, job.err
    for rank, got in enumerate(job.results):
        assert got["used"] == [rank] and got["calls"] == [["wait", "event"], "synchronize"]
        assert got["sum"] == [3.0, 4.0] and got["mean"] == [0.5, 5.0]
        assert got["whole"] == [6] and got["half"] == [1.5]
        assert got["sent"] == [[1.0, 3.0], [1.0, 4.0]]
        assert got["gathered"] == [[0, 10], [1, 11]]
        assert got["part"] == [[[2.0, 1.0]], [[4.0, 6.0]]][rank]
        assert got["part_min"] == [[0.0], [3.0]][rank]
        assert got["got"] == [["uint8", [7, 8]], ["float64", [[1.0, 2.0, 3.0]]]][rank]
        words = ["on the device", "row-major", "NCCL combines", "axis 0"]
        assert [w in e for w, e in zip(words, got["errors"], strict=True)] == [True] * 4
        assert got["host"] == got["twin"] == [2.0]


def test_without_cupy_the_error_says_what_to_install(monkeypatch):
    from dygraph.distributed import job

    def missing(name, *arguments):
        if name.startswith("cupy"):
            raise ImportError("No module named 'cupy'")
        return found(name, *arguments)

    found = builtins.__import__
    monkeypatch.setattr(job, "_world", None)
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingFileError, match="pip install 'cupy-cuda13x"):
        distributed.init("nccl")
