"""save and load of nested data, Fluid's two names, Fluid's parameter files."""

import os
import pickle
import random
import stat
import struct

import numpy as np
import pytest
from safetensors.numpy import load_file

import dygraph


def same(a, b):
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (np.ndarray, dygraph.Variable)):
        left = a if isinstance(a, np.ndarray) else a.numpy()
        return isinstance(b, dygraph.Variable) and np.array_equal(left, b.numpy())
    return type(a) is type(b) and (a == b or a != a and b != b)


@pytest.mark.parametrize(
    "data",
    [
        {"net": {"fc.weight": np.ones((2, 2)), "fc": {"weight": np.zeros(1)}}, "epoch": 3},
        {"list": [1, 2.5, None, True, "text", (1, (2, [np.arange(3)]))], "": {}, "e": []},
        {"nan": float("nan"), "inf": float("inf"), "minus": -float("inf"), "big": 1 << 80},
        {"$tensor": 1, "$$x": {"$tuple": [2]}, "dots.in.names": 0.1},
        {"$x": np.arange(2)},
        {"a": np.arange(2), "b": 3},
        np.arange(4.0),
        [np.arange(2), np.arange(3)],
        7,
        {},
        {"ü": '日本語 \ud7ff " \\ \n'},
    ],
    ids=range(11),
)
def test_nested_data_comes_back(tmp_path, data):
    dygraph.save(data, tmp_path / "new" / "x")
    assert same(data, dygraph.load(tmp_path / "new" / "x"))


def test_a_state_dict_is_a_plain_safetensors_file(tmp_path):
    net = dygraph.nn.Linear(2, 3)
    dygraph.save(net.state_dict(), tmp_path / "x")
    read = load_file(tmp_path / "x")
    assert set(read) == {"weight", "bias"}
    np.testing.assert_array_equal(read["weight"], net.weight.numpy())
    other = dygraph.nn.Linear(2, 3)
    assert not other.set_state_dict(dygraph.load(tmp_path / "x"))
    np.testing.assert_array_equal(other.weight.numpy(), net.weight.numpy())


def test_level_of_detail_is_kept(tmp_path):
    x = dygraph.to_variable(np.arange(5.0), lod=[[0, 2, 5]])
    dygraph.save({"x": x}, tmp_path / "x")
    assert dygraph.load(tmp_path / "x")["x"].lod() == [[0, 2, 5]]


def test_numpy_scalars_become_numbers(tmp_path):
    dygraph.save({"a": np.float32(0.5), "b": np.int64(3), "c": np.bool_(True)}, tmp_path / "x")
    assert dygraph.load(tmp_path / "x") == {"a": 0.5, "b": 3, "c": True}


@pytest.mark.parametrize(
    "data, text",
    [
        ({"a": [object()]}, r"got object at 'a\.0'"),
        ({"a": {1: 2}}, "names in a dict must be strings, got int 1 at 'a'"),
        ({"a": {1, 2}}, "got set at 'a'"),
        ({"a": b"x"}, "got bytes at 'a'"),
    ],
)
def test_what_cannot_be_saved_is_named(tmp_path, data, text):
    with pytest.raises(TypeError, match=text):
        dygraph.save(data, tmp_path / "x")
    assert os.listdir(tmp_path) == []


def test_endless_nesting_is_refused(tmp_path):
    loop = []
    loop.append(loop)
    with pytest.raises(ValueError, match="nested at most 32 deep"):
        dygraph.save(loop, tmp_path / "x")


@pytest.mark.parametrize(
    "tree, text",
    [
        ('{"$tensor": "y"}', "there must be a tensor for 'y'"),
        ('{"$tensor": ["x"]}', "there must be a tensor for"),
        ('{"$tensor": "x", "more": 1}', "there must be a tensor for 'x'"),
        ('{"$tensor": "x", "lod": [[0, 9]]}', "the LoD of 'x' must fit"),
        ('{"$tensor": "x", "lod": "abc"}', "the LoD of 'x' must fit"),
        ('{"$tuple": {"$tensor": "x"}}', "'\\$tuple' must hold its value alone"),
        ('{"$float": "1e5"}', "'\\$float' must hold its value alone"),
        ('{"$float": "nan", "a": 1}', "'\\$float' must hold its value alone"),
        ('{"a": 1}', "every tensor, but not 'x'"),
        ("[" * 40 + '{"$tensor": "x"}' + "]" * 40, "nested at most 32 deep"),
        ("[" * 5000, "must hold JSON"),
        ("NaN", "must be finite, got NaN"),
    ],
)
def test_each_fault_of_nested_data_has_its_error(tmp_path, tree, text):
    chunks = dygraph.safetensors.chunks_of({"x": np.zeros(2)}, {"dygraph.tree": tree})
    dygraph.core.files.write_atomically(str(tmp_path / "x"), chunks)
    with pytest.raises(dygraph.errors.FormatError, match=text):
        dygraph.load(tmp_path / "x")


def test_a_pickle_is_refused_and_a_path_checked(tmp_path):
    (tmp_path / "x.pdparams").write_bytes(pickle.dumps({"w": np.zeros(3)}))
    with pytest.raises(dygraph.errors.FormatError, match="got a pickle"):
        dygraph.load_dygraph(tmp_path / "x")
    for bad in (3, None, b"x"):
        with pytest.raises((TypeError, ValueError), match="path must be"):
            dygraph.load(bad)
    with pytest.raises(FileNotFoundError, match="must exist"):
        dygraph.load(tmp_path / "none")


# Fluid's save_dygraph -----------------------------------------------------------------------------


def test_fluids_names(tmp_path):
    net = dygraph.nn.Linear(2, 3)
    dygraph.save_dygraph(net.state_dict(), tmp_path / "model")
    assert os.listdir(tmp_path) == ["model.pdparams"]
    params, opt = dygraph.load_dygraph(tmp_path / "model")
    assert opt is None and all(same(v, params[k]) for k, v in net.state_dict().items())
    dygraph.save_dygraph({"moment": np.ones(2), "LR": {"last": 3}}, tmp_path / "model")
    params, opt = dygraph.load_dygraph(tmp_path / "model.pdparams")
    assert set(params) == {"weight", "bias"} and opt["LR"] == {"last": 3}
    with pytest.raises(FileNotFoundError, match="got neither"):
        dygraph.load_dygraph(tmp_path / "other")
    with pytest.raises(ValueError, match="must not be empty"):
        dygraph.save_dygraph({}, tmp_path / "model")
    with pytest.raises(ValueError, match="prefix of a file name"):
        dygraph.save_dygraph({"a": np.ones(1)}, f"{tmp_path}/")


# Fluid's parameter files --------------------------------------------------------------------------

FP32, INT64, BOOL, INT32, FP16, FP64 = 5, 3, 0, 2, 4, 6


def varint(n):
    out = b""
    while n >= 128:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def tensor(data_type, dims, data, lod=(), packed=False):
    """One tensor of Fluid's stream, by hand."""
    out = struct.pack("<IQ", 0, len(lod))
    for level in lod:
        out += struct.pack("<Q", 8 * len(level)) + struct.pack(f"<{len(level)}Q", *level)
    sizes = b"".join(varint(d) for d in dims)
    desc = b"\x08" + varint(data_type)
    desc += (
        b"\x12" + varint(len(sizes)) + sizes
        if packed
        else b"".join(b"\x10" + varint(d) for d in dims)
    )
    return out + struct.pack("<Ii", 0, len(desc)) + desc + data


W = tensor(FP32, [2, 3], struct.pack("<6f", *range(6)))
B = tensor(INT64, [3], struct.pack("<3q", 7, -8, 9), [[0, 1, 3]], packed=True)


def test_separate_files(tmp_path):
    (tmp_path / "fc_0.w_0").write_bytes(W)
    (tmp_path / "fc_0.b_0").write_bytes(B)
    (tmp_path / "__model__").write_bytes(b"a program")
    read = dygraph.load_fluid_params(tmp_path)
    assert list(read) == ["fc_0.b_0", "fc_0.w_0"]
    np.testing.assert_array_equal(read["fc_0.w_0"].numpy(), [[0, 1, 2], [3, 4, 5]])
    assert str(read["fc_0.w_0"].dtype) == "float32"
    assert read["fc_0.b_0"].tolist() == [7, -8, 9] and read["fc_0.b_0"].lod() == [[0, 1, 3]]
    assert list(dygraph.load_fluid_params(tmp_path, ["fc_0.w_0"])) == ["fc_0.w_0"]
    with pytest.raises(FileNotFoundError, match="must exist, got .*fc_1"):
        dygraph.load_fluid_params(tmp_path, ["fc_1"])


def test_one_file(tmp_path):
    (tmp_path / "params").write_bytes(W + B)
    read = dygraph.load_fluid_params(tmp_path / "params", ["w", "b"])
    assert read["w"].shape == (2, 3) and read["b"].tolist() == [7, -8, 9]
    with pytest.raises(dygraph.errors.FormatError, match="surplus bytes. Names for all"):
        dygraph.load_fluid_params(tmp_path / "params", ["w"])
    with pytest.raises(dygraph.errors.FormatError, match="hold 3 tensors, got its end after 2"):
        dygraph.load_fluid_params(tmp_path / "params", ["w", "b", "c"])
    with pytest.raises(ValueError, match="names .* must be given"):
        dygraph.load_fluid_params(tmp_path / "params")
    with pytest.raises(ValueError, match="names must not repeat"):
        dygraph.load_fluid_params(tmp_path / "params", ["w", "w"])
    for names in ("w", [1], 3):
        with pytest.raises(TypeError, match="name"):
            dygraph.load_fluid_params(tmp_path / "params", names)


@pytest.mark.parametrize(
    "number, data, dtype",
    [(BOOL, b"\1\0", "bool"), (INT32, bytes(8), "int32"), (FP16, bytes(4), "float16"),
     (FP64, bytes(16), "float64"), (20, b"\1\2", "uint8"), (21, b"\1\2", "int8"),
     (1, bytes(4), "int16"), (22, bytes(4), "bfloat16")],
)  # fmt: skip
def test_types_by_their_numbers(tmp_path, number, data, dtype):
    (tmp_path / "x").write_bytes(tensor(number, [2], data))
    assert str(dygraph.load_fluid_params(tmp_path)["x"].dtype) == dtype


def test_what_we_write_is_fluids_stream(tmp_path):
    w = dygraph.to_variable(np.arange(6, dtype="float32").reshape(2, 3))
    b = dygraph.to_variable(np.array([7, -8, 9]), lod=[[0, 1, 3]])
    dygraph.save_fluid_params({"w": w, "b": b}, tmp_path / "a")
    assert (tmp_path / "a" / "w").read_bytes() == W
    assert sorted(os.listdir(tmp_path / "a")) == ["b", "w"]
    dygraph.save_fluid_params({"w": w, "b": b}, tmp_path / "b", "all")
    data = (tmp_path / "b" / "all").read_bytes()
    assert data.endswith(W) and data[: -len(W)] == (tmp_path / "a" / "b").read_bytes()
    with pytest.raises(ValueError, match="1 to 240 bytes without '/'"):
        dygraph.save_fluid_params({"../w": w}, tmp_path / "a")
    with pytest.raises(TypeError, match="must hold Variables by name"):
        dygraph.save_fluid_params({"w": 3}, tmp_path / "a")


def test_names_lead_out_of_no_directory_and_links_are_not_followed(tmp_path):
    (tmp_path / "w").write_bytes(W)
    (tmp_path / "sub").mkdir()
    for name in ("../w", "/etc/passwd", "..", "", "a\0b"):
        with pytest.raises(ValueError, match="without '/'"):
            dygraph.load_fluid_params(tmp_path / "sub", [name])
    (tmp_path / "sub" / "w").symlink_to(tmp_path / "w")
    with pytest.raises(dygraph.errors.FormatError, match="must not be a symbolic link"):
        dygraph.load_fluid_params(tmp_path / "sub")


def test_damaged_parameter_files_raise(tmp_path):
    path = tmp_path / "b"
    for size in range(len(B)):
        path.write_bytes(B[:size])
        with pytest.raises(dygraph.errors.FormatError):
            dygraph.load_fluid_params(tmp_path)
    path.write_bytes(B + b"x")
    with pytest.raises(dygraph.errors.FormatError, match="surplus"):
        dygraph.load_fluid_params(tmp_path)
    rng, refused = random.Random(0), 0
    for _ in range(1000):
        data = bytearray(W if rng.random() < 0.5 else B)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(data))
            if rng.random() < 0.7:
                data[at] = rng.choice([data[at] ^ 1 << rng.randint(0, 7), 0, 127, 255])
            else:
                data[at:at] = rng.choice([b"\xff", b"\0", b"\x10\xff"])
        path.write_bytes(data)
        try:
            dygraph.load_fluid_params(tmp_path)
        except dygraph.errors.FormatError:
            refused += 1
    assert 250 < refused < 1000


@pytest.mark.parametrize("dims", [[1 << 40], [1 << 40, 1 << 40], [1 << 62, 4]])
def test_a_huge_claim_takes_no_memory(tmp_path, dims):
    (tmp_path / "x").write_bytes(tensor(FP32, dims, bytes(64)))
    with pytest.raises(dygraph.errors.FormatError, match="bytes of data|fits into memory"):
        dygraph.load_fluid_params(tmp_path)


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    state = {"weight": dygraph.ones([3])}
    with open(os.open(path, os.O_RDWR), "rb", buffering=0) as reader:
        dygraph.save(state, path)
        data = reader.read(1 << 16)
    assert stat.S_ISFIFO(os.lstat(path).st_mode)
    (tmp_path / "file").write_bytes(data)
    assert dygraph.load(str(tmp_path / "file"))["weight"].tolist() == [1.0, 1.0, 1.0]
    assert sorted(os.listdir(tmp_path)) == ["file", "pipe"]
