"""save and load of one tensor and of several: Fluid's bytes, called eagerly."""

import struct

import numpy as np
import pytest

import dygraph
from dygraph import errors, run_op, to_variable

FP32, INT64, FP64, FP16 = 5, 3, 6, 4


def stream(array, code, lod=()):
    """A tensor as Fluid's files have it, written by hand."""
    levels = b"".join(
        struct.pack("<Q", 8 * len(level)) + struct.pack(f"<{len(level)}q", *level) for level in lod
    )
    desc = bytes([0x08, code]) + b"".join(bytes([0x10, size]) for size in array.shape)
    head = struct.pack("<IQ", 0, len(lod)) + levels + struct.pack("<Ii", 0, len(desc))
    return head + desc + array.tobytes()


def save(path, x, **attrs):
    run_op("save", {"X": x}, {"file_path": str(path), **attrs})


def load(path, **attrs):
    return run_op("load", {}, {"file_path": str(path), **attrs})["Out"]


W = np.array([[1.5, -2.0, 3.25]], "float32")
N = np.array([7, 2**40], "int64")


def test_save_writes_the_bytes_of_fluid(tmp_path):
    save(tmp_path / "w", to_variable(W))
    assert (tmp_path / "w").read_bytes() == stream(W, FP32)
    save(tmp_path / "n", to_variable(N))
    assert (tmp_path / "n").read_bytes() == stream(N, INT64)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["n", "w"]


def test_load_reads_them_with_their_level_of_detail(tmp_path):
    x = np.arange(6, dtype="float64").reshape(3, 2)
    (tmp_path / "x").write_bytes(stream(x, FP64, [[0, 2, 3]]))
    v = load(tmp_path / "x")
    assert v.tolist() == x.tolist() and str(v.dtype) == "float64" and v.lod() == [[0, 2, 3]]
    save(tmp_path / "again", v)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "x").read_bytes()


@pytest.mark.parametrize("shape", [(), (0, 3), (1,)])
def test_shapes_at_the_edges(tmp_path, shape):
    x = np.full(shape, 2.5, "float32")
    save(tmp_path / "x", to_variable(x))
    assert load(tmp_path / "x").numpy().shape == shape
    assert load(tmp_path / "x").numpy().tolist() == x.tolist()


def test_save_as_fp16_halves_floats_alone(tmp_path):
    save(tmp_path / "w", to_variable(W), save_as_fp16=True)
    assert (tmp_path / "w").read_bytes() == stream(W.astype("float16"), FP16)
    save(tmp_path / "n", to_variable(N), save_as_fp16=True)
    assert load(tmp_path / "n").tolist() == [7, 2**40]
    save(tmp_path / "w", to_variable(W))
    assert str(load(tmp_path / "w", load_as_fp16=True).dtype) == "float16"


def test_overwrite(tmp_path):
    save(tmp_path / "w", to_variable(N))
    save(tmp_path / "w", to_variable(W))
    with pytest.raises(errors.AlreadyExistsError, match=r"^save: the file '.*w' must not be there"):
        save(tmp_path / "w", to_variable(N), overwrite=False)
    assert load(tmp_path / "w").tolist() == W.tolist()


def test_load_of_a_part(tmp_path):
    save(tmp_path / "x", to_variable(np.arange(10, dtype="int32")))
    assert load(tmp_path / "x", seek=3, shape=[2, 3]).tolist() == [[3, 4, 5], [6, 7, 8]]
    assert load(tmp_path / "x", seek=10, shape=[0]).tolist() == []
    for seek, shape in ((5, [6]), (11, [0]), (2**62, [4])):
        with pytest.raises(errors.OutOfRangeError, match="^load: seek and shape must stay within"):
            load(tmp_path / "x", seek=seek, shape=shape)


def test_several_in_one_file(tmp_path):
    path = tmp_path / "deep" / "all"
    run_op("save_combine", {"X": [to_variable(W), to_variable(N)]}, {"file_path": str(path)})
    assert path.read_bytes() == stream(W, FP32) + stream(N, INT64)
    with pytest.raises(errors.FormatError, match="must end after 1 tensors"):
        run_op("load_combine", {}, {"file_path": str(path)})
    with pytest.raises(errors.FormatError, match="must end after 1 tensors"):
        load(path)


@pytest.mark.parametrize(
    ("op", "slot", "attr"),
    [("save_combine", {"X": [1]}, "save_to_memory"), ("load_combine", {}, "model_from_memory")],
)
def test_bytes_are_those_of_a_file(tmp_path, op, slot, attr):
    slot = {k: [to_variable(W)] for k in slot}
    with pytest.raises(errors.UnimplementedError, match=f"{attr} must be False: .* Give file_path"):
        run_op(op, slot, {"file_path": str(tmp_path / "w"), attr: True})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "error", "text"),
    [
        ("", errors.InvalidArgumentError, "file_path must name a file, got ''"),
        ("{}\0/w", errors.InvalidArgumentError, "file_path must name a file"),
        ("{}/", errors.InvalidArgumentError, "file_path must name a file"),
        ("{}/" + 250 * "n", errors.InvalidArgumentError, "must be 1 to 240 bytes"),
        ("{}/..", errors.InvalidArgumentError, "file_path must name a file"),
        ("{}/.dygraph.set", errors.InvalidArgumentError, "does not begin with a dot"),
        ("{}/none", errors.MissingFileError, "^load: the file '.*none' must be there"),
        ("{}/none/w", errors.MissingFileError, "none"),
        ("{}/link", errors.FormatError, "must not be a symbolic link"),
        (
            "{}/cut",
            errors.FormatError,
            "^load: damaged file of tensors: .* got the end of the file",
        ),
    ],
)
def test_what_is_no_file_of_tensors(tmp_path, path, error, text):
    (tmp_path / "cut").write_bytes(stream(W, FP32)[:-1])
    (tmp_path / "link").symlink_to(tmp_path / "cut")
    with pytest.raises(error, match=text):
        load(path.format(tmp_path))


def test_a_failed_save_leaves_the_old_file(tmp_path):
    save(tmp_path / "w", to_variable(W))
    empty = dygraph.Variable() if hasattr(dygraph, "Variable") else None
    with pytest.raises((errors.PreconditionNotMetError, errors.ArgumentTypeError)):
        run_op("save", {"X": empty}, {"file_path": str(tmp_path / "w")})
    assert load(tmp_path / "w").tolist() == W.tolist()


def test_within(tmp_path):
    inside = tmp_path / "in"
    inside.mkdir()
    save("a/w", to_variable(W), within=str(inside))
    assert (inside / "a" / "w").read_bytes() == stream(W, FP32)
    assert load(inside / "a" / "w", within=str(inside)).tolist() == W.tolist()
    for path in ("../w", "a/../../w", str(tmp_path / "w"), "/etc/passwd", "../in2/w"):
        with pytest.raises(errors.InvalidArgumentError, match="file_path must lie in '.*in', "):
            save(path, to_variable(W), within=str(inside))
    (tmp_path / "out").mkdir()
    (inside / "link").symlink_to(tmp_path / "out")
    with pytest.raises(errors.PreconditionNotMetError, match="following no symbolic link"):
        save("link/w", to_variable(W), within=str(inside))
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a", "in", "link", "out", "w"]
