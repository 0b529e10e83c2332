"""DLPack both ways: who owns the memory, who may write, who frees it."""

import ctypes
import gc
import weakref

import numpy as np
import pytest

import dygraph
from dygraph import _core

TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


class TestLending:
    @pytest.mark.parametrize("dtype", TYPES)
    @pytest.mark.parametrize("shape", [(2, 3), (), (0, 4), (1,)])
    def test_numpy_reads_it(self, dtype, shape):
        a = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        x = dygraph.to_variable(a)
        got = np.from_dlpack(x)
        assert got.dtype == a.dtype and got.shape == a.shape and np.array_equal(got, a)

    def test_numpy_shares_the_memory_and_may_not_write(self):
        x = dygraph.to_variable(np.arange(6.0))
        a = np.from_dlpack(x)
        assert a.__array_interface__["data"][0] == _core.data_pointer(x)
        assert not a.flags.writeable

    def test_a_later_write_goes_elsewhere(self):
        x = dygraph.to_variable(np.arange(3.0))
        a = np.from_dlpack(x)
        x[0] = 7.0
        x.zero_()
        assert a.tolist() == [0.0, 1.0, 2.0] and x.numpy().tolist() == [0.0, 0.0, 0.0]

    def test_the_memory_outlives_the_variable(self):
        gc.collect()  # what earlier tests left in cycles
        before = dygraph.memory.stats()["used"]
        a = np.from_dlpack(dygraph.to_variable(np.arange(50000.0)))
        gc.collect()
        assert a.sum() == np.arange(50000.0).sum()
        assert dygraph.memory.stats()["used"] >= before + 400000
        del a
        assert dygraph.memory.stats()["used"] == before

    def test_an_older_consumer_gets_a_copy(self):
        x = dygraph.to_variable(np.arange(3.0))
        capsule = x.__dlpack__()
        assert '"dltensor"' in repr(capsule)
        y = dygraph.from_dlpack(capsule)
        assert _core.data_pointer(y) != _core.data_pointer(x)
        assert np.array_equal(y.numpy(), x.numpy())

    def test_a_copy_where_one_is_asked_for(self):
        x = dygraph.to_variable(np.arange(3.0))
        a = np.from_dlpack(x, copy=True)
        a[0] = 9.0
        assert x.numpy()[0] == 0.0

    def test_images_come_in_plain_order(self):
        a = np.arange(120.0).reshape(2, 3, 4, 5)
        x = _core.to_layout(dygraph.to_variable(a), "NHWC")
        assert np.array_equal(np.from_dlpack(x), a)

    def test_bfloat16_has_a_type_here(self):
        x = dygraph.to_variable(np.array([1.5, -2.0], "float32")).astype("bfloat16")
        y = dygraph.from_dlpack(x)
        assert y.dtype == dygraph.bfloat16 and y.astype("float32").numpy().tolist() == [1.5, -2.0]

    def test_device_and_refusals(self):
        x = dygraph.to_variable(np.arange(3.0))
        assert x.__dlpack_device__() == (1, 0)
        for bad in ({"dl_device": (2, 0)}, {"stream": 1}, {"copy": False}):
            with pytest.raises(BufferError):
                x.__dlpack__(**bad)
        with pytest.raises(RuntimeError, match="must hold a value"):
            _core.Variable().__dlpack__()

    @pytest.mark.parametrize("asked", [{}, {"max_version": (1, 0)}])
    def test_an_unused_capsule_frees_what_it_holds(self, asked):
        gc.collect()  # what earlier tests left in cycles
        before = dygraph.memory.stats()["used"]
        capsules = [dygraph.to_variable(np.zeros(20000)).__dlpack__(**asked) for _ in range(3)]
        assert dygraph.memory.stats()["used"] >= before + 3 * 160000
        del capsules
        gc.collect()
        assert dygraph.memory.stats()["used"] == before


class TestBorrowing:
    @pytest.mark.parametrize("dtype", TYPES)
    def test_it_shares_an_array(self, dtype):
        a = np.arange(6).reshape(2, 3).astype(dtype)
        x = dygraph.from_dlpack(a)
        assert x.dtype.name == dtype and np.array_equal(x.numpy(), a)
        assert _core.data_pointer(x) == a.__array_interface__["data"][0]
        assert x.stop_gradient and _core.is_foreign(x)

    def test_writes_of_the_owner_show(self):
        a = np.zeros(3)
        x = dygraph.from_dlpack(a)
        a[1] = 5.0
        assert x.numpy().tolist() == [0.0, 5.0, 0.0]

    def test_it_is_never_written_in_place(self):
        a = np.zeros(3)
        for write in (
            lambda x: x.__setitem__(0, 1.0),
            lambda x: x.fill_(2.0),
            lambda x: x.add_(1.0),
            lambda x: x.set_value(np.ones(3)),
        ):
            x = dygraph.from_dlpack(a)
            write(x)
            assert x.numpy()[0] != 0.0 and a.tolist() == [0.0, 0.0, 0.0]

    def test_an_optimizer_does_not_write_into_it(self):
        a = np.ones((2, 2), "float32")
        layer = dygraph.nn.Linear(2, 2)
        layer.weight.set_value(dygraph.from_dlpack(a))
        sgd = dygraph.optimizer.SGD(0.5, parameter_list=layer.parameters())
        layer(dygraph.to_variable(a)).sum().backward()
        sgd.minimize(layer.weight.sum())
        assert np.array_equal(a, np.ones((2, 2)))
        assert not np.array_equal(layer.weight.numpy(), a)

    def test_what_the_tape_keeps_does_not_change(self):
        a = np.array([2.0, 3.0])
        w = dygraph.to_variable(np.ones(2))
        w.stop_gradient = False
        y = w * dygraph.from_dlpack(a)
        a[:] = 100.0
        y.sum().backward()
        assert w.gradient().tolist() == [2.0, 3.0]

    def test_views_are_copied_into_order(self):
        base = np.arange(24.0).reshape(2, 3, 4)
        for a in (base[:, ::2], base.T, base[::-1], np.broadcast_to(base[0], (2, 3, 4))):
            x = dygraph.from_dlpack(a)
            assert np.array_equal(x.numpy(), a) and not _core.is_foreign(x)
            with pytest.raises(BufferError, match="row-major"):
                dygraph.from_dlpack(a, copy=False)
        x = dygraph.from_dlpack(base[1:])
        assert np.array_equal(x.numpy(), base[1:]) and _core.is_foreign(x)

    def test_a_copy_where_one_is_asked_for(self):
        a = np.zeros(3)
        x = dygraph.from_dlpack(a, copy=True)
        a[0] = 1.0
        assert x.numpy()[0] == 0.0

    def test_read_only_arrays(self):
        a = np.arange(3.0)
        a.flags.writeable = False
        assert dygraph.from_dlpack(a).numpy().tolist() == [0.0, 1.0, 2.0]

    def test_the_array_lives_as_long_as_it_is_needed(self):
        class Owned(np.ndarray):
            pass

        a = np.arange(5.0).view(Owned)
        alive = weakref.ref(a)
        x = dygraph.from_dlpack(a)
        y = x.reshape(5, 1)
        del a, x
        gc.collect()
        assert alive() is not None and y.numpy()[4, 0] == 4.0
        del y
        gc.collect()
        assert alive() is None

    def test_a_capsule_is_taken_once(self):
        capsule = np.arange(3.0).__dlpack__()
        dygraph.from_dlpack(capsule)
        with pytest.raises(ValueError, match="taken once"):
            dygraph.from_dlpack(capsule)
        with pytest.raises(TypeError, match="capsule"):
            dygraph.from_dlpack([1.0])

    def test_round_trip_of_our_own(self):
        x = dygraph.to_variable(np.arange(3.0))
        y = dygraph.from_dlpack(x)
        assert _core.data_pointer(y) == _core.data_pointer(x)
        y[0] = 5.0
        assert x.numpy()[0] == 0.0 and y.numpy()[0] == 5.0

    def test_other_devices_are_refused(self):
        class Elsewhere:
            def __dlpack__(self, **_):
                raise AssertionError("must not be asked")

            def __dlpack_device__(self):
                return (4, 0)  # OpenCL

        with pytest.raises(NotImplementedError, match="of the host or of CUDA devices"):
            dygraph.from_dlpack(Elsewhere())


# A capsule made by hand, by the layout that DLPack documents.


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class Managed(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class HandMade:
    """An unversioned capsule over its own memory that counts calls of its deleter."""

    def __init__(self, values, shape, **fields):
        self.deleted = 0
        self.memory = np.array(values)
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.managed = Managed()
        t = self.managed.tensor
        t.data, t.device_type, t.ndim = self.memory.ctypes.data, 1, len(shape)
        t.code, t.bits, t.lanes = 2, 64, 1
        t.shape = self.shape
        for name, value in fields.items():
            setattr(t, name, value)

        def deleter(_):
            self.deleted += 1

        self.callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)
        self.managed.deleter = ctypes.cast(self.callback, ctypes.c_void_p).value
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = (
            ctypes.py_object,
            [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
        )
        self.name = b"dltensor"
        self.capsule = new(ctypes.addressof(self.managed), self.name, None)


class TestHandMadeCapsules:
    def test_the_deleter_is_called_once(self):
        made = HandMade([1.0, 2.0, 3.0], [3])
        x = dygraph.from_dlpack(made.capsule)
        y = x.reshape(3, 1)
        assert made.deleted == 0 and x.numpy().tolist() == [1.0, 2.0, 3.0]
        del x
        gc.collect()
        assert made.deleted == 0
        del y
        gc.collect()
        assert made.deleted == 1
        del made.capsule
        gc.collect()
        assert made.deleted == 1

    def test_a_copy_gives_back_at_once(self):
        made = HandMade([1.0, 2.0], [2])
        x = dygraph.from_dlpack(made.capsule, copy=True)
        assert made.deleted == 1 and x.numpy().tolist() == [1.0, 2.0]

    def test_an_offset_and_no_strides(self):
        made = HandMade([1.0, 2.0, 3.0, 4.0], [1, 2], byte_offset=16)
        assert dygraph.from_dlpack(made.capsule).numpy().tolist() == [[3.0, 4.0]]

    @pytest.mark.parametrize(
        ("error", "text", "shape", "fields"),
        [
            (TypeError, "code 5, 32 bits", [1], {"code": 5, "bits": 32}),
            (TypeError, "4 lanes", [1], {"lanes": 4}),
            (ValueError, "negative", [-1], {}),
            (ValueError, "at most 16 axes", [1] * 17, {}),
            (ValueError, "at most 16 axes", [1], {"ndim": -2}),
            (ValueError, "null pointer", [2], {"data": None}),
            (NotImplementedError, "device type 4", [1], {"device_type": 4}),
            (IndexError, "fit into 64 bits", [2**40, 2**40], {}),
        ],
    )
    def test_what_is_wrong_is_refused_and_stays_the_producers(self, error, text, shape, fields):
        made = HandMade([1.0, 2.0], shape, **fields)
        with pytest.raises(error, match=text):
            dygraph.from_dlpack(made.capsule)
        assert made.deleted == 0 and '"dltensor"' in repr(made.capsule)
