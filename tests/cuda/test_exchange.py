"""Memory shared with other libraries: both protocols, streams, and who frees when.

Consumers and producers are written here in Python and ctypes, and look at every field.
"""

import contextlib
import copy
import ctypes
import gc
import pickle
import subprocess
import sys
import types
import warnings

import numpy as np
import pytest

import cuda_library
import dygraph
from dygraph import _core
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, UnimplementedError

PLACE = cuda_library.place()
pytestmark = [
    pytest.mark.skipif(PLACE is None, reason="no CUDA library"),
    pytest.mark.filterwarnings("ignore:.*has no kernel for CUDAPlace"),
]
pretended = pytest.mark.skipif(
    PLACE is None or not cuda_library.is_pretended(), reason="needs the pretended CUDA"
)


@pytest.fixture(autouse=True)
def on_device():
    with cuda_library.on(PLACE):
        yield


def variable(values, dtype="float32"):
    return dygraph.to_variable(np.asarray(values, dtype))


# DLPack as a consumer in C sees it ----------------------------------------------------------------


class Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("number", ctypes.c_int32)]


class Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Array(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("array", Array), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("array", Array),
    ]


api = ctypes.pythonapi
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Consumer:
    """What another library makes of a capsule: it takes it over and frees it once."""

    def __init__(self, capsule, versioned=True):
        name = b"dltensor_versioned" if versioned else b"dltensor"
        self.address = api.PyCapsule_GetPointer(capsule, name)
        self.managed = (Versioned if versioned else Managed).from_address(self.address)
        api.PyCapsule_SetName(capsule, b"used_" + name)
        a = self.managed.array
        self.shape = tuple(a.shape[i] for i in range(a.ndim))
        self.strides = tuple(a.strides[i] for i in range(a.ndim))
        self.data = a.data

    def free(self):
        self.managed.deleter(self.address)


class Producer:
    """An array of another library on a device; notes the streams it is asked for and its end."""

    def __init__(self, values, versioned=True, strides=None):
        self.values, self.versioned, self.asked, self.freed = values, versioned, [], 0
        self.owned = variable(values)  # device memory, whoever's it is
        self.sizes = (ctypes.c_int64 * 2)(*np.shape(values))
        self.steps = None if strides is None else (ctypes.c_int64 * 2)(*strides)

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, *, stream=None, **how):
        if not self.versioned and how:
            raise TypeError("unexpected argument 'max_version'")
        self.asked.append(stream)
        address, self.kept = _core.exported(self.owned)
        array = Array(address, Device(2, 0), 2, Type(2, 32, 1), self.sizes, self.steps, 0)
        self.deleter = DELETER(self._free)
        if self.versioned:
            self.managed = Versioned(1, 0, None, self.deleter, 0, array)
        else:
            self.managed = Managed(array, None, self.deleter)
        name = b"dltensor_versioned" if self.versioned else b"dltensor"
        return api.PyCapsule_New(ctypes.addressof(self.managed), name, None)

    def _free(self, address):
        assert address == ctypes.addressof(self.managed)
        self.freed += 1


def test_a_capsule_describes_the_memory():
    x = variable([[1, 2, 3], [4, 5, 6]])
    assert x.__dlpack_device__() == (2, 0)
    c = Consumer(x.__dlpack__(max_version=(1, 0)))
    array = c.managed.array
    assert (c.managed.major, c.managed.flags) == (1, 1)  # read-only
    assert (array.device.kind, array.device.number) == (2, 0)
    assert (array.dtype.code, array.dtype.bits, array.dtype.lanes) == (2, 32, 1)
    assert (c.shape, c.strides) == ((2, 3), (3, 1))
    assert c.data == _core.exported(x)[0]
    c.free()


def test_the_memory_is_shared_until_a_write_and_lives_as_long_as_it_is_used():
    x = variable([1, 2])
    c = Consumer(x.__dlpack__(max_version=(1, 0)))
    used = dygraph.cuda.memory_allocated()
    x.fill_(7.0)  # into memory of its own
    assert _core.exported(x)[0] != c.data
    assert dygraph.cuda.memory_allocated() > used
    x = None
    gc.collect()
    before = dygraph.cuda.memory_allocated()
    c.free()
    assert dygraph.cuda.memory_allocated() < before


def test_an_unused_capsule_frees_what_it_holds():
    x = variable(np.ones(1000))
    used = dygraph.cuda.memory_allocated()
    capsule = x.__dlpack__(max_version=(1, 0))
    x = None
    assert dygraph.cuda.memory_allocated() == used
    del capsule
    assert dygraph.cuda.memory_allocated() < used


def test_old_consumers_and_those_who_ask_get_copies():
    x = variable([1, 2])
    own = _core.exported(x)[0]
    old = Consumer(x.__dlpack__(), versioned=False)
    asked = Consumer(x.__dlpack__(max_version=(1, 0), copy=True))
    assert own not in (old.data, asked.data) and asked.managed.flags == 2
    assert old.managed.array.device.kind == 2
    old.free()
    asked.free()
    with pytest.raises(BufferError, match="max_version must be at least"):
        x.__dlpack__(copy=False)


def test_a_consumer_may_ask_for_host_memory():
    x = variable([1, 2])
    c = Consumer(x.__dlpack__(max_version=(1, 0), dl_device=(1, 0)))
    assert c.managed.array.device.kind == 1
    assert list((ctypes.c_float * 2).from_address(c.data)) == [1.0, 2.0]
    c.free()
    for wanted in ((2, 1), (4, 0)):
        with pytest.raises(BufferError, match=r"dl_device must be \(2, 0\) or \(1, 0\)"):
            x.__dlpack__(dl_device=wanted)
    with pytest.raises(BufferError, match="copy=False"):
        x.__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=False)
    assert np.from_dlpack(x.cpu()).tolist() == [1.0, 2.0]


def test_pinned_memory_is_the_hosts():
    x = variable([1, 2]).pin_memory()
    assert x.__dlpack_device__() == (1, 0)
    assert np.from_dlpack(x).tolist() == [1.0, 2.0]
    assert not hasattr(x, "__cuda_array_interface__")


# Streams ------------------------------------------------------------------------------------------


@pretended
def test_the_consumers_stream_waits_for_ours():
    x = variable([1, 2])
    with cuda_library.pretending(BATCH=64) as library:

        def waits(**how):
            library.pretend_cuda_set(b"COUNTERS", 0)
            capsule = x.__dlpack__(max_version=(1, 0), **how)
            counts = [library.pretend_cuda_get(n) for n in (b"DEFAULT_WAITS", b"PER_THREAD_WAITS")]
            host = library.pretend_cuda_get(b"WAITS")
            del capsule
            return (*counts, host)

        assert waits() == waits(stream=None) == waits(stream=1) == (1, 0, 0)
        assert waits(stream=2) == (0, 1, 0)
        assert waits(stream=-1) == (0, 0, 0)
    for stream in (0, -2, True, "1"):
        with pytest.raises((BufferError, TypeError)):
            x.__dlpack__(stream=stream)


@pretended
@pytest.mark.parametrize("late", [0, 1])
def test_another_stream_sees_what_was_queued(late):
    """A copy that another library queues on its stream reads our result, not what was before."""
    with cuda_library.pretending(LATE=late) as library:
        library.cudaStreamCreate.argtypes = [ctypes.c_void_p]
        library.cudaMemcpyAsync.argtypes = [
            ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p,
        ]  # fmt: skip
        library.cudaStreamSynchronize.argtypes = [ctypes.c_void_p]
        theirs = ctypes.c_void_p()
        assert library.cudaStreamCreate(ctypes.byref(theirs)) == 0
        x = variable(np.arange(1000.0)) * 2.0 + 1.0  # queued
        c = Consumer(x.__dlpack__(max_version=(1, 0), stream=theirs.value))
        out = (ctypes.c_float * 1000)()
        assert library.cudaMemcpyAsync(out, c.data, 4000, 2, theirs) == 0
        assert library.cudaStreamSynchronize(theirs) == 0
        assert list(out) == [2.0 * i + 1 for i in range(1000)]
        c.free()


@pretended
def test_memory_that_comes_back_is_used_after_what_others_queued():
    x = variable([1, 2])
    with cuda_library.pretending(BATCH=64) as library:
        c = Consumer(x.__dlpack__(max_version=(1, 0)))
        library.pretend_cuda_set(b"COUNTERS", 0)
        c.free()
        assert library.pretend_cuda_get(b"DEFAULT_RECORDS") == 1
        assert library.pretend_cuda_get(b"WAITS") == 0


# Borrowing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("take", [dygraph.from_dlpack, dygraph.to_variable])
def test_an_array_is_shared_and_given_back_once(versioned, take):
    theirs = Producer([[1.0, 2.0], [3.0, 4.0]], versioned)
    if take is dygraph.to_variable:
        theirs.__class__ = type("WithBoth", (Producer,), {"__cuda_array_interface__": {}})
    x = take(theirs)
    assert theirs.asked[-1] == dygraph.cuda.current_stream().cuda_stream
    assert x.place == PLACE and x.stop_gradient
    assert _core.exported(x)[0] == _core.exported(theirs.owned)[0]
    y = x + 1.0
    assert theirs.freed == 0
    del x
    dygraph.cuda.synchronize()
    assert theirs.freed == 1
    assert y.tolist() == [[2.0, 3.0], [4.0, 5.0]]


@pretended
def test_the_deleter_waits_for_queued_work():
    theirs = Producer([[1.0, 2.0], [3.0, 4.0]])
    with cuda_library.pretending(LATE=1):
        x = dygraph.from_dlpack(theirs)
        y = x * 2.0
        del x
        assert theirs.freed == 0  # the product still reads it
        dygraph.cuda.synchronize()
        assert theirs.freed == 1
    assert y.tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_writes_never_reach_what_is_shared():
    theirs = Producer([[1.0, 2.0], [3.0, 4.0]])
    x = dygraph.from_dlpack(theirs)
    x.fill_(9.0)
    x.add_(x)
    assert theirs.owned.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert x.tolist() == [[18.0, 18.0]] * 2


def test_the_tape_keeps_values_of_its_own():
    theirs = Producer([[1.0, 2.0], [3.0, 4.0]])
    x, w = dygraph.from_dlpack(theirs), variable(np.ones((2, 2)))
    w.stop_gradient = False
    y = x @ w
    theirs.owned.fill_(0.0)  # the owner writes after the call
    y.sum().backward()
    assert w.grad.tolist() == [[4.0, 4.0], [6.0, 6.0]]


def test_other_orders_of_elements_are_copied():
    theirs = Producer([[1.0, 2.0], [3.0, 4.0]], strides=(1, 2))
    with pytest.raises(BufferError, match="row-major"):
        dygraph.from_dlpack(theirs, copy=False)
    theirs = Producer([[1.0, 2.0], [3.0, 4.0]], strides=(1, 2))
    x = dygraph.from_dlpack(theirs)
    dygraph.cuda.synchronize()
    assert x.tolist() == [[1.0, 3.0], [2.0, 4.0]] and x.place == PLACE
    assert theirs.freed == 1


def test_a_wanted_copy_is_not_shared():
    theirs = Producer([[1.0, 2.0], [3.0, 4.0]])
    x = dygraph.from_dlpack(theirs, copy=True)
    dygraph.cuda.synchronize()
    assert theirs.freed == 1 and not _core.is_foreign(x)
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_device_may_be_asked_for():
    theirs = Producer([[1.0, 2.0], [3.0, 4.0]])
    assert dygraph.from_dlpack(theirs, device="cpu").place == dygraph.CPUPlace()
    with pytest.raises(BufferError, match="device must be CUDAPlace"):
        dygraph.from_dlpack(Producer([[1.0, 2.0]]), device="cpu", copy=False)
    assert dygraph.from_dlpack(np.ones(2), device="gpu").place == PLACE


def test_devices_of_other_kinds_are_refused():
    class Elsewhere:
        def __dlpack_device__(self):
            return 4, 0

        def __dlpack__(self, **how):
            raise AssertionError("not reached")

    with pytest.raises(UnimplementedError, match="of the host or of CUDA devices"):
        dygraph.from_dlpack(Elsewhere())


# __cuda_array_interface__ -------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "uint8", "bool"])
def test_the_interface_names_every_field(dtype):
    x = variable([[1, 0, 1], [0, 1, 0]], dtype)
    described = x.__cuda_array_interface__
    assert described == {
        "shape": (2, 3),
        "typestr": np.dtype(dtype).str,
        "data": (_core.exported(x)[0], True),
        "strides": None,
        "stream": dygraph.cuda.current_stream().cuda_stream,
        "version": 3,
    }


def test_there_is_no_interface_where_it_would_be_wrong():
    x = variable([1, 2])
    for other in (x.cpu(), x.astype("bfloat16")):
        assert not hasattr(other, "__cuda_array_interface__")
    with pytest.raises(AttributeError, match="for float32 on CPUPlace"):
        x.cpu().__cuda_array_interface__  # noqa: B018


def test_what_was_shown_stays_as_it_was():
    x = variable([1, 2])
    address = x.__cuda_array_interface__["data"][0]
    assert x.__cuda_array_interface__["data"][0] == address and len(x._exported) == 1
    x.fill_(5.0)
    assert x.__cuda_array_interface__["data"][0] != address and len(x._exported) == 2
    again = dygraph.from_dlpack(Shown(address, (2,)))
    assert again.tolist() == [1.0, 2.0]
    assert pickle.loads(pickle.dumps(x)).tolist() == copy.deepcopy(x).tolist() == [5.0, 5.0]


def test_keeping_many_values_warns():
    x = variable([1.0])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(64):
            x.__cuda_array_interface__  # noqa: B018
            x.add_(x)
    assert ["64 values" in str(w.message) for w in seen] == [True]


class Shown:
    """An array that only has the interface."""

    def __init__(self, address, shape, owner=None, **fields):
        self.owner = owner
        self.__cuda_array_interface__ = {
            "shape": shape, "typestr": "<f4", "data": (address, False), "strides": None,
            "stream": None, "version": 3, **fields,
        }  # fmt: skip


def test_objects_with_the_interface_are_shared():
    owner = variable([[1, 2, 3], [4, 5, 6]])
    shown = Shown(_core.exported(owner)[0], (2, 3), owner)
    count = sys.getrefcount(shown)
    x = dygraph.to_variable(shown)
    assert _core.exported(x)[0] == _core.exported(owner)[0] and x.tolist() == owner.tolist()
    assert sys.getrefcount(shown) == count + 1
    del x
    dygraph.cuda.synchronize()
    assert sys.getrefcount(shown) == count
    assert not _core.is_foreign(dygraph.to_variable(shown, zero_copy=False))
    assert dygraph.to_variable(shown, dtype="float64").dtype.name == "float64"


def test_strides_count_in_bytes():
    owner = variable([[1, 2, 3], [4, 5, 6]])
    address = _core.exported(owner)[0]
    turned = Shown(address, (3, 2), owner, strides=(4, 12))
    assert dygraph.from_dlpack(turned).tolist() == [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
    back = Shown(address + 8, (3,), owner, strides=(-4,))
    assert dygraph.from_dlpack(back).tolist() == [3.0, 2.0, 1.0]
    with pytest.raises(BufferError):
        dygraph.from_dlpack(turned, copy=False)
    with pytest.raises(InvalidArgumentError, match="multiples of 4"):
        dygraph.from_dlpack(Shown(address, (2,), owner, strides=(6,)))


@pretended
def test_our_stream_waits_for_theirs():
    owner = variable([1, 2])
    address = _core.exported(owner)[0]
    with cuda_library.pretending(BATCH=64) as library:
        for fields, records in (
            ({"stream": None}, 0),
            ({"stream": 1}, 1),
            ({"stream": 2}, 1),
            ({"version": 2}, 1),
        ):
            library.pretend_cuda_set(b"COUNTERS", 0)
            dygraph.from_dlpack(Shown(address, (2,), owner, **fields))
            assert library.pretend_cuda_get(b"DEFAULT_RECORDS") == records
    with pytest.raises(InvalidArgumentError, match="must not be 0"):
        dygraph.from_dlpack(Shown(address, (2,), owner, stream=0))
    with pytest.raises(UnimplementedError, match="mask"):
        dygraph.from_dlpack(Shown(address, (2,), owner, mask=owner))


def test_an_empty_array_needs_no_memory():
    x = dygraph.from_dlpack(Shown(0, (0, 3)))
    assert x.shape == (0, 3) and x.place == PLACE
    with pytest.raises(InvalidArgumentError, match="null pointer"):
        dygraph.from_dlpack(Shown(0, (2,)))


# Arithmetic with CuPy's arrays --------------------------------------------------------------------


class Foreign(Shown):
    """As CuPy's arrays: its own arithmetic gives way to a higher priority."""

    __array_priority__ = 100

    def __add__(self, other):
        if getattr(other, "__array_priority__", 0) > self.__array_priority__:
            return NotImplemented
        raise AssertionError("the variable should have come first")


def test_arithmetic_with_their_arrays_is_ours():
    owner, x = variable([1, 2]), variable([10, 20])
    theirs = Foreign(_core.exported(owner)[0], (2,), owner)
    x.stop_gradient = False
    for y in (x + theirs, theirs + x, dygraph.add(x, theirs)):
        assert isinstance(y, dygraph.Variable) and y.tolist() == [11.0, 22.0]
    (x * theirs).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0]


def test_their_elementwise_functions_give_variables():
    """CuPy asks its arguments for this method before it computes, and names ufuncs cupy_add."""
    owner, x = variable([1, 2]), variable([10, 20])
    theirs = Foreign(_core.exported(owner)[0], (2,), owner)
    add = types.SimpleNamespace(__name__="cupy_add")
    assert x.__cupy_override_elementwise_kernel__(add, theirs, x).tolist() == [11.0, 22.0]
    root = np.sqrt(variable([4.0, 9.0]))
    assert root.place == PLACE and root.tolist() == [2.0, 3.0]


# CuPy itself, as far as a stand-in goes -----------------------------------------------------------


@pytest.fixture
def cupy(monkeypatch):
    """A module `cupy` that notes the streams that its `with` enters and its allocator."""
    module = types.ModuleType("cupy")
    module.entered = []

    class ExternalStream:
        def __init__(self, ptr, device_id=-1):
            self.ptr, self.device_id = ptr, device_id

        def __enter__(self):
            module.entered.append(self)

        def __exit__(self, *_):
            module.entered.pop()

    class CFunctionAllocator:
        def __init__(self, param, malloc, free, owner):
            alloc_type = ctypes.CFUNCTYPE(
                ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
            )
            free_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
            self.take, module.free = alloc_type(malloc), free_type(free)
            self.param, self.owner = param, owner

        def malloc(self, bytes):
            block = self.take(self.param, bytes, 0)
            return types.SimpleNamespace(ptr=block or 0, device_id=0)

    module.cuda = types.SimpleNamespace(
        Device=lambda number: contextlib.nullcontext(),
        ExternalStream=ExternalStream,
        memory=types.SimpleNamespace(CFunctionAllocator=CFunctionAllocator),
        set_allocator=lambda function: setattr(module, "allocator", function),
    )
    module.cuda.memory.OutOfMemoryError = lambda *sizes: MemoryError(sizes)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def test_bodies_run_on_our_stream(cupy):
    seen = []

    class Twice(dygraph.PyLayer):
        @staticmethod
        def forward(ctx, x):
            seen.append(cupy.entered[-1].ptr)
            return x * 2.0

        @staticmethod
        def backward(ctx, grad):
            seen.append(cupy.entered[-1].ptr)
            return grad * 2.0

    x = variable([1.0])
    x.stop_gradient = False
    Twice.apply(x).backward()
    ours = dygraph.cuda.current_stream().cuda_stream
    assert seen == [ours, ours] and cupy.entered == [] and x.grad.tolist() == [2.0]
    with pytest.raises(IndexError):
        Twice.apply(x.cpu())  # on the host CuPy's stream stays


def test_one_pool_of_memory_with_cupy(cupy):
    dygraph.cuda.share_memory_with_cupy()
    used = dygraph.cuda.memory_allocated()
    block = cupy.allocator(5000)
    assert block.ptr and dygraph.cuda.memory_allocated() == used + 5000
    cupy.free(None, block.ptr, 0)
    assert dygraph.cuda.memory_allocated() == used
    with pytest.raises(MemoryError):
        cupy.allocator(1 << 60)


def test_sharing_memory_needs_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(dygraph.errors.NotFoundError, match="CuPy"):
        dygraph.cuda.share_memory_with_cupy()


def test_cupy_is_never_imported_by_us():
    code = (
        "import sys, dygraph; from dygraph import cuda, amp; dygraph.zeros([2]) + 1; "
        "print([m for m in sys.modules if 'cupy' in m])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_devices_are_places():
    with pytest.raises(ArgumentTypeError, match="device must be a place"):
        dygraph.from_dlpack(np.ones(2), device="tpu")
