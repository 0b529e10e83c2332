"""The safetensors layout: the package `safetensors` as oracle, damage of every kind, kills."""

import json
import os
import random
import signal
import struct
import subprocess
import sys
import textwrap
import time
import tracemalloc
import zlib

import numpy as np
import pytest
import safetensors as oracle
import safetensors.numpy as oracle_numpy

import dygraph
from dygraph import safetensors

TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64"]


def arrays():
    rng = np.random.default_rng(0)
    found = {f"of {t}": (rng.standard_normal((2, 3)) * 5).astype(t) for t in TYPES}
    found |= {
        "0-d": np.array(2.5, "float32"),
        "empty": np.zeros((0, 3), "int64"),
        "ümläut.weight": np.arange(5, dtype="int16"),
        'a "quoted" \\ name\n': np.array([[True]]),
    }
    return found


def raw(header, data=b""):
    """Bytes of a file with this header, which may be any JSON value or bytes."""
    if not isinstance(header, bytes):
        header = json.dumps(header).encode()
    return struct.pack("<Q", len(header)) + header + data


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.safetensors"


def test_the_package_reads_what_we_write(path):
    given = arrays()
    tensors = {name: dygraph.to_variable(a) for name, a in given.items()}
    dygraph.safetensors.save_file(tensors, path, {"made": "here"})
    read = oracle_numpy.load_file(path)
    assert set(read) == set(given)
    for name, array in given.items():
        assert read[name].dtype == array.dtype
        np.testing.assert_array_equal(read[name], array)
    with oracle.safe_open(path, "numpy") as file:
        assert file.metadata()["made"] == "here"
    assert safetensors.read_metadata(path) == {"made": "here"}


def test_we_read_what_the_package_writes(path):
    given = arrays()
    oracle_numpy.save_file(given, path, {"by": "another"})
    read = safetensors.load_file(path)
    assert set(read) == set(given)
    for name, array in given.items():
        assert str(read[name].dtype) == array.dtype.name
        assert read[name].shape == array.shape
        np.testing.assert_array_equal(read[name].numpy(), array)
    assert safetensors.read_metadata(path) == {"by": "another"}


def test_bfloat16_is_the_upper_half_of_float32(path):
    values = np.array([1.5, -2.0, np.inf, np.nan, 3e38, 2.0**-130], "float32")
    x = dygraph.to_variable(values, dtype="bfloat16")
    safetensors.save_file({"x": x}, path)
    data = path.read_bytes()[-12:]
    upper = x.numpy().view("uint32") >> 16
    assert data == upper.astype("<u2").tobytes()
    read = safetensors.load_file(path)["x"]
    assert str(read.dtype) == "bfloat16"
    np.testing.assert_array_equal(read.numpy(), x.numpy())
    path.write_bytes(raw({"y": entry("BF16", [2], [0, 4])}, b"\x80\x3f\x00\xc0"))
    np.testing.assert_array_equal(safetensors.load_file(path)["y"].numpy(), [1.0, -2.0])


def test_arrays_of_other_orders_and_zero_tensors(path):
    x = np.arange(12, dtype=">f4").reshape(3, 4)
    safetensors.save_file({"x": x.T, "y": np.float64(3)}, path)
    read = safetensors.load_file(path)
    np.testing.assert_array_equal(read["x"].numpy(), np.arange(12).reshape(3, 4).T)
    assert read["y"].shape == () and read["y"].item() == 3.0
    safetensors.save_file({}, path)
    assert safetensors.load_file(path) == {}
    path.write_bytes(raw({}))
    assert safetensors.load_file(path) == {}


def test_tensors_are_aligned_and_checksummed(path):
    given = {"a": np.array([True]), "b": np.arange(3.0), "c": np.arange(2, dtype="int16")}
    safetensors.save_file(given, path)
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    assert length % 8 == 0
    begins = {n: e["data_offsets"][0] for n, e in header.items() if n != "__metadata__"}
    assert begins == {"b": 0, "c": 24, "a": 28}
    metadata = header["__metadata__"]
    sums = {name: zlib.crc32(a.tobytes()) for name, a in given.items()}
    assert json.loads(metadata["dygraph.checksums"]) == sums
    stored = metadata["dygraph.header"].encode()
    zeros = data[8 : 8 + length].replace(stored, b"00000000", 1)
    assert int(stored, 16) == zlib.crc32(zeros)


@pytest.mark.parametrize(
    "tensors, metadata, text",
    [
        ([1], None, "must be a dict of names to Variables, got list"),
        ({1: np.zeros(2)}, None, "a name must be a string, got int 1"),
        ({"x": [1.0]}, None, "'x' must be a Variable or an array, got list"),
        ({"x": np.zeros(2, "complex128")}, None, "one of the types .* got complex128"),
        ({"x": np.array(["a"])}, None, "one of the types .* got str"),
        ({"__metadata__": np.zeros(2)}, None, "not be '__metadata__'"),
        ({"n" * 1025: np.zeros(2)}, None, "at most 1024 bytes"),
        ({"\ud800": np.zeros(2)}, None, "valid Unicode"),
        ({}, {"a": 1}, "names and strings, got int 1"),
        ({}, {"dygraph.x": "1"}, "must not begin with 'dygraph.'"),
        ({}, {"a": "x" * (1 << 20)}, "Keep long lists as arrays"),
    ],
)
def test_what_has_no_place_is_refused_and_nothing_written(path, tensors, metadata, text):
    with pytest.raises((TypeError, ValueError), match=text) as error:
        safetensors.save_file(tensors, path, metadata)
    assert isinstance(error.value, dygraph.errors.DygraphError)
    assert os.listdir(path.parent) == []


FLOAT = struct.pack("<2f", 1, 2)


@pytest.mark.parametrize(
    "data, text",
    [
        (b"", "8 bytes and more, got 0"),
        (struct.pack("<Q", 1 << 63) + b"{}", "must end within the file's 10 bytes"),
        (raw(b"{} x"), "must hold JSON"),
        (raw(b" {}"), "must begin with '{'"),
        (raw(b"[]"), "must begin with '{'"),
        (raw(b'{"\xff": 1}'), "must be UTF-8"),
        (raw(b'{"a": NaN}'), "must be finite, got NaN"),
        (raw(b'{"a":' + b"[" * 5000), "must hold JSON"),
        (raw(b'{"a":' + b"9" * 5000 + b"}"), "must hold JSON|dtype, shape"),
        (raw(b'{"a": {}, "a": {}}'), "the name 'a' must not repeat"),
        (raw(b'{"a": {"dtype": "F32", "dtype": "F32"}}'), "the name 'dtype' must not repeat"),
        (raw({"a": 1}), "dtype, shape and data_offsets"),
        (raw({"a": entry() | {"more": 1}}, FLOAT), "and nothing else"),
        (raw({"a": entry("F8_E4M3")}, FLOAT), "one of the types .* got 'F8_E4M3'"),
        (raw({"a": entry(["F32"])}, FLOAT), "one of the types"),
        (raw({"a": entry(shape=[2.0])}, FLOAT), "a shape of at most 16"),
        (raw({"a": entry(shape=[True, 2])}, FLOAT), "a shape of at most 16"),
        (raw({"a": entry(shape=[-2])}, FLOAT), "a shape of at most 16"),
        (raw({"a": entry(shape=[1] * 16 + [2])}, FLOAT), "a shape of at most 16"),
        (raw({"a": entry(offsets=[0, 8, 8])}, FLOAT), "two offsets"),
        (raw({"a": entry(offsets=[-8, 0])}, FLOAT), "two offsets"),
        (raw({"a": entry(offsets=[8, 0])}, FLOAT), "fit its shape, 8 bytes apart, got -8"),
        (raw({"a": entry(shape=[3])}, FLOAT), "12 bytes apart, got 8"),
        (raw({"a": entry(shape=[1 << 62, 1 << 62])}, FLOAT), "fit its shape"),
        (raw({"a": entry("U8", [1 << 64, 0], [0, 0])}), "fit its shape"),
        (raw({"a": entry(), "b": entry()}, FLOAT), "one after another"),
        (raw({"a": entry(offsets=[8, 16])}, FLOAT * 2), "begins at 8 .* ends at 0"),
        (raw({"a": entry(), "b": entry(offsets=[4, 12])}, FLOAT * 2), "'b' begins at 4"),
        (raw({"a": entry()}, FLOAT + b"x"), "fill 9 bytes of data, got 8"),
        (raw({"a": entry()}, FLOAT[:-1]), "fill 7 bytes of data, got 8"),
        (raw({"__metadata__": {"a": 1}}), "metadata must be an object of strings"),
        (raw({"__metadata__": ["a"]}), "metadata must be an object of strings"),
        (raw({"n" * 1025: entry()}, FLOAT), "a name of at most 1024"),
        (raw(b'{"\\ud800": {}}'), "valid Unicode"),
        (raw({"__metadata__": {"dygraph.x": "1"}}), "must be the one that it gives"),
        (raw({"a": entry("BOOL", [2], [0, 2])}, b"\1\2"), "bools of 0 and 1"),
        (raw(b'{"a":' + b" " * (2 << 20) + b"{}}"), "at most 1048576 bytes"),
        (b"\x80\x02}q\x00X\x01\x00\x00", "a pickle, which could run code"),
        (b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94.", "a pickle"),
    ],
)
def test_each_fault_has_its_error(path, data, text):
    path.write_bytes(data)
    with pytest.raises(dygraph.errors.FormatError, match=text):
        safetensors.load_file(path)


@pytest.fixture
def saved(path):
    tensors = {"w": np.arange(6, dtype="float32").reshape(2, 3), "b": np.array([True, False])}
    safetensors.save_file(tensors, path, {"note": "x"})
    return path.read_bytes()


def test_every_truncation_and_every_flipped_bit_raises(path, saved):
    with open(path, "r+b", buffering=0) as file:
        for at in range(len(saved)):
            for bit in range(8):
                os.pwrite(file.fileno(), bytes([saved[at] ^ 1 << bit]), at)
                with pytest.raises(dygraph.errors.FormatError):
                    safetensors.load_file(path)
            os.pwrite(file.fileno(), saved[at : at + 1], at)
        safetensors.load_file(path)
        for size in reversed(range(len(saved))):
            os.ftruncate(file.fileno(), size)
            with pytest.raises(dygraph.errors.FormatError):
                safetensors.load_file(path)


def test_mutated_files_without_checksums_work_or_raise_as_the_package_says(path):
    """Where we accept, the package accepts and reads the same."""
    given = {"w": np.arange(6, dtype="float32").reshape(2, 3), "b": np.arange(4, dtype="int8")}
    start = oracle_numpy.save(given, {"k": "v"})
    rng = random.Random(1)
    accepted = 0
    for _ in range(1500):
        data = bytearray(start)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(data))
            kind = rng.randint(0, 4)
            if kind <= 2:
                data[at] = rng.choice([data[at] ^ 1 << rng.randint(0, 7), *b'0129[]{}",:F'])
            elif kind == 3:
                del data[at : at + rng.randint(1, 8)]
            else:
                data[at:at] = rng.choice([b"0", b"9", b',"a":{}', b"[", b"\0", b" "])
        if rng.random() < 0.7:  # let the length fit again
            end = data.rfind(b"}") + 1
            data[:8] = struct.pack("<Q", end - 8)
        path.write_bytes(data)
        try:
            read = safetensors.load_file(path)
        except dygraph.errors.FormatError:
            continue
        accepted += 1
        theirs = oracle_numpy.load(bytes(data))
        assert set(theirs) == set(read)
        for name, array in theirs.items():
            assert array.tobytes() == read[name].numpy().tobytes()
    assert 25 < accepted < 1250


@pytest.mark.parametrize(
    "filler", [b"[],", b"{},", b'{"a":[]},', b"[" * 500 + b"]" * 500 + b",", b'"ab",', b"1.5,"]
)
def test_memory_is_bounded_by_the_file(path, filler):
    size = 1_000_000
    path.write_bytes(raw(b'{"a":[' + filler * (size // len(filler)) + b"0]}"))
    tracemalloc.start()
    try:
        with pytest.raises(dygraph.errors.FormatError):
            safetensors.load_file(path)
        assert tracemalloc.get_traced_memory()[1] < 4 * size + (64 << 20)
    finally:
        tracemalloc.stop()


def test_no_link_is_followed_and_only_files_are_read(path, saved, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(dygraph.errors.FormatError, match="must not be a symbolic link"):
        safetensors.load_file(link)
    with pytest.raises(dygraph.errors.FormatError, match="must be a regular file"):
        safetensors.load_file(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(dygraph.errors.FormatError, match="must be a regular file"):
        safetensors.load_file(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError, match="must exist, got"):
        safetensors.load_file(tmp_path / "none")
    # Saving replaces a link and leaves what it points to alone, also a planted temporary one.
    (tmp_path / ".link.tmp").symlink_to(path)
    safetensors.save_file({"x": np.zeros(1)}, link)
    assert not link.is_symlink() and list(safetensors.load_file(link)) == ["x"]
    assert path.read_bytes() == saved


def test_a_save_that_fails_leaves_the_old_file(path, saved, monkeypatch):
    import resource

    big = {"x": np.zeros(1 << 20)}
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, limits[1]))
        with pytest.raises(dygraph.errors.DygraphError, match="cannot write"):
            safetensors.save_file(big, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert path.read_bytes() == saved
    assert os.listdir(path.parent) == [path.name]


def test_a_killed_saver_leaves_the_old_file_or_the_new(path):
    script = textwrap.dedent("""
        import sys
        import numpy as np
        from dygraph import safetensors
        x = np.full(300_000, 0.0)
        for i in range(1, 10**9):
            x[:] = i
            print("ready", flush=True)
            safetensors.save_file({"x": x}, sys.argv[1])
    """)
    safetensors.save_file({"x": np.zeros(300_000)}, path)
    rng, seen = random.Random(0), set()
    for begun in range(1, 7):
        child = subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE)
        for _ in range(begun):  # the saves before the last of them are done
            assert child.stdout.readline() == b"ready\n"
        time.sleep(rng.uniform(0.0, 0.01))
        child.kill()
        child.wait()
        child.stdout.close()
        x = safetensors.load_file(path)["x"].numpy()  # the checksum fits
        assert x.shape == (300_000,) and (x == x[0]).all()
        seen.add(x[0])
    assert len(seen) > 1  # some were killed after a save
