"""NumPy archives: NumPy writes, we read; damage and bombs are refused."""

import io
import random
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

import dygraph
from dygraph.saving import npz


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.npz"


def archive(path, **members):
    with zipfile.ZipFile(path, "w") as file:
        for name, data in members.items():
            file.writestr(name + ".npy", data)
    return path


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_come_back(path, save):
    given = {
        "a": np.arange(6, dtype="float32").reshape(2, 3),
        "b": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "c": np.array(True),
        "d": np.zeros((0, 4), "int64"),
        "e": np.arange(3, dtype=">i4"),
        "layer.weight": np.arange(4, dtype="uint8"),
    }
    save(path, **given)
    read = dygraph.load(path)
    assert list(read) == list(given)
    for name, array in given.items():
        assert str(read[name].dtype) == array.dtype.name
        assert read[name].shape == array.shape
        np.testing.assert_array_equal(read[name].numpy(), array)


def test_what_we_do_not_take_is_named(path):
    np.savez(path, a=np.array([object()], dtype=object))
    with pytest.raises(
        dygraph.errors.FormatError, match="'a' must be of an element type .*, got obj"
    ):
        npz.load(path)
    np.savez(path, a=np.zeros(2, "uint16"))
    with pytest.raises(dygraph.errors.FormatError, match="got uint16"):
        npz.load(path)
    np.savez(path, a=np.zeros(2, [("x", "f4")]))
    with pytest.raises(dygraph.errors.FormatError, match="'a' must be of"):
        npz.load(path)
    archive(path, a=npy(np.zeros(3)) + b"x")
    with pytest.raises(dygraph.errors.FormatError, match="must end with its data"):
        npz.load(path)
    archive(path, a=npy(np.zeros(3))[:-1])
    with pytest.raises(dygraph.errors.FormatError, match="'a'"):
        npz.load(path)
    archive(path, a=npy(np.array([True])).replace(b"\1", b"\2")[:-1] + b"\2")
    with pytest.raises(dygraph.errors.FormatError):
        npz.load(path)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "w") as file:
        file.writestr("a.npy", npy(np.zeros(3)))
        file.writestr("a.npy", npy(np.ones(3)))
    with pytest.raises(dygraph.errors.FormatError, match="a name must not repeat"):
        npz.load(path)


def test_a_huge_claim_takes_no_memory(path):
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,), }\n"
    data = b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head
    archive(path, a=data + bytes(80))
    with pytest.raises(dygraph.errors.FormatError, match="must have 8796093022208 bytes, got"):
        npz.load(path)


def test_a_bomb_is_refused_unless_asked_for(path):
    np.savez_compressed(path, a=np.zeros(10_000_000))
    with pytest.raises(dygraph.errors.FormatError, match="takes max_bytes"):
        npz.load(path)
    assert npz.load(path, max_bytes=1 << 27)["a"].shape == (10_000_000,)


def test_a_table_of_contents_that_is_the_whole_file(path):
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\1\2", *[20, 0, 20, 0], *[0] * 4, 0, 0, 0, *[0] * 7)
    count = 60_000
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, count * 46, 0, 0)
    path.write_bytes(b"PK" + entry[2:] + entry * (count - 1) + end)
    size = path.stat().st_size
    tracemalloc.start()
    try:
        with pytest.raises(dygraph.errors.FormatError, match="a small part of"):
            npz.load(path)
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()


def test_damage_gives_one_kind_of_error(path):
    np.savez_compressed(path, w=np.arange(6, dtype="float32"), b=np.array([True, False]))
    data = path.read_bytes()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        with pytest.raises(dygraph.errors.FormatError):
            npz.load(path)
    rng, refused = random.Random(0), 0
    for _ in range(800):
        mutated = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            mutated[rng.randrange(len(data))] ^= 1 << rng.randint(0, 7)
        path.write_bytes(mutated)
        try:
            npz.load(path)
        except dygraph.errors.FormatError:
            refused += 1
    assert 250 < refused <= 800


class TestWriting:
    GIVEN = {
        "w": np.arange(6, dtype="float32").reshape(2, 3),
        "deep/er.b": np.array(True),
        "empty": np.zeros((0, 4), "int64"),
        "turned": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    }

    def test_numpy_reads_what_save_writes(self, path):
        dygraph.save({n: dygraph.to_variable(a) for n, a in self.GIVEN.items()}, path)
        assert zipfile.is_zipfile(path) and zipfile.ZipFile(path).testzip() is None
        with np.load(path, allow_pickle=False) as found:
            assert sorted(found) == sorted(self.GIVEN)
            for name, array in self.GIVEN.items():
                assert found[name].dtype == array.dtype
                np.testing.assert_array_equal(found[name], array)
        again = dygraph.load(path)
        for name, array in self.GIVEN.items():
            np.testing.assert_array_equal(again[name].numpy(), array)

    def test_arrays_and_a_state(self, path):
        net = dygraph.nn.Linear(2, 3)
        dygraph.save(net.state_dict(), str(path).upper())
        with np.load(str(path).upper()) as found:
            np.testing.assert_array_equal(found["weight"], net.weight.numpy())
        dygraph.save(self.GIVEN, path)
        with np.load(path) as found:
            np.testing.assert_array_equal(found["turned"], self.GIVEN["turned"])

    @pytest.mark.parametrize(
        "data, match",
        [
            ({"net": {"w": np.zeros(2)}}, "got dict for 'net'"),
            ({"w": np.zeros(2), "epoch": 4}, "got int 4 for 'epoch'"),
            (np.zeros(2), "holds a dict of Variables and arrays, got ndarray"),
            ([np.zeros(2)], "holds a dict.*got list"),
            ({3: np.zeros(2)}, "got int 3 as a name"),
            ({"w": dygraph.to_variable([1.0]).astype("bfloat16")}, "bfloat16"),
            ({"w": dygraph.to_variable(np.zeros((2, 1)), lod=[[0, 1, 2]])}, "level of detail"),
            ({"w": np.array([None])}, "got one of object"),
        ],
    )
    def test_what_an_archive_cannot_hold(self, path, data, match):
        with pytest.raises(TypeError, match=match):
            dygraph.save(data, path)
        assert not path.exists()

    @pytest.mark.parametrize("name", ["a.npy", "a.h5", "a.HDF5", "a.pkl", "a.pickle", "a.onnx"])
    def test_names_of_other_formats(self, tmp_path, name):
        with pytest.raises(ValueError, match="must not name another format.*safetensors"):
            dygraph.save({"w": np.zeros(2)}, tmp_path / name)
        assert list(tmp_path.iterdir()) == []

    def test_a_checkpoint_is_no_archive(self, path):
        with pytest.raises(TypeError, match=".safetensors"):
            dygraph.checkpoint.save(path, dygraph.nn.Linear(1, 1))
