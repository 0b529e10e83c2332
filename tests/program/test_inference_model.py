"""Inference models on disk: Fluid's layout, damage of every kind, a saver killed anywhere."""

import os
import random
import signal
import struct
import subprocess
import sys
import textwrap
import zlib

import numpy as np
import pytest

import dygraph
from dygraph import _core, jit, static
from program.models import MLP, numbers

HEAD = 35  # bytes of the manifest before the program


def load(folder):
    """(scope, program, feeds, fetches) of a model, in a scope of its own."""
    scope = static.Scope()
    return scope, *static.load_inference_model(folder, scope=scope)


def run(folder, x):
    scope, program, feeds, fetches = load(folder)
    (out,) = static.Executor().run(program, {feeds[0]: x}, fetches, scope=scope)
    return out


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """(folder, model) of a saved MLP."""
    folder = tmp_path_factory.mktemp("saved")
    model = MLP()
    _, traced = jit.trace(model, [dygraph.to_variable(numbers(4, 6))])
    traced.save_inference_model(folder)
    return folder, model


@pytest.fixture
def copy(saved, tmp_path):
    """A copy of the saved model that a test may damage."""
    for name in ("__model__", "__params__"):
        (tmp_path / name).write_bytes((saved[0] / name).read_bytes())
    return tmp_path


def with_manifest(program, weights):
    """Bytes of __model__ for a program and weights: the format, written a second time."""
    head = b"\xc2\x3e\x20DGM1" + struct.pack(
        "<QIQI", len(program), zlib.crc32(program), len(weights), zlib.crc32(weights)
    )
    return head + struct.pack("<I", zlib.crc32(head)) + program


def write(folder, program, weights):
    (folder / "__model__").write_bytes(with_manifest(program, weights))
    (folder / "__params__").write_bytes(weights)


def tensor_bytes(pb, array, lod=()):
    """One tensor of Fluid's stream."""
    desc = pb.VarType.TensorDesc(dims=array.shape)
    desc.data_type = {"float32": pb.VarType.FP32, "int64": pb.VarType.INT64}[str(array.dtype)]
    out = struct.pack("<IQ", 0, len(lod))
    for level in lod:
        out += struct.pack("<Q", 8 * len(level)) + struct.pack(f"<{len(level)}Q", *level)
    data = desc.SerializeToString()
    return out + struct.pack("<Ii", 0, len(data)) + data + array.tobytes()


def test_files_are_those_of_the_format(saved, pb):
    folder, model = saved
    assert sorted(os.listdir(folder)) == ["__model__", "__params__"]
    message = pb.ProgramDesc()
    data = (folder / "__model__").read_bytes()
    message.ParseFromString(data)  # the manifest is a field that others skip
    assert [op.type for op in message.blocks[0].ops][0] == "feed"
    names = {a.name for op in message.blocks[0].ops for a in op.attrs}
    assert "op_callstack" not in names and str(os.getcwd()).encode() not in data
    state = {p.name: p.numpy() for p in model.parameters()}
    weights = b"".join(tensor_bytes(pb, state[name]) for name in sorted(state))
    assert (folder / "__params__").read_bytes() == weights
    assert data == with_manifest(data[HEAD:], weights)


def test_a_model_without_manifest_loads(copy, saved):
    """What another library wrote has no checksums, but must fit all the same."""
    data = (copy / "__model__").read_bytes()
    (copy / "__model__").write_bytes(data[HEAD:])
    x = numbers(3, 6, seed=5)
    assert run(copy, x).tobytes() == saved[1](dygraph.to_variable(x)).numpy().tobytes()


def test_saving_twice_gives_the_same_bytes(saved, tmp_path):
    scope, program, feeds, fetches = load(saved[0])
    static.save_inference_model(tmp_path / "a" / "b", feeds, fetches, None, program, scope=scope)
    for name in ("__model__", "__params__"):
        assert (tmp_path / "a" / "b" / name).read_bytes() == (saved[0] / name).read_bytes()


def test_weights_with_lod_of_other_types_and_sizes(pb, tmp_path):
    """Written by hand, packed dims included, and read back."""
    program = pb.ProgramDesc()
    block = program.blocks.add(idx=0, parent_idx=-1)
    arrays = {"a": numbers(5, 2), "b": np.int64(7).reshape(()), "c": np.zeros((0, 3), "float32")}
    for name, array in arrays.items():
        var = block.vars.add(name=name, persistable=True)
        var.type.type = pb.VarType.LOD_TENSOR
        var.type.lod_tensor.tensor.data_type = (
            pb.VarType.INT64 if array.dtype == "int64" else pb.VarType.FP32
        )
        var.type.lod_tensor.tensor.dims.extend(array.shape)
    weights = tensor_bytes(pb, arrays["a"], [[0, 2, 5]])
    weights += tensor_bytes(pb, arrays["b"]) + tensor_bytes(pb, arrays["c"])
    write(tmp_path, program.SerializeToString(), weights)
    scope, *_ = load(tmp_path)
    for name, array in arrays.items():
        got = scope.find_var(name).get()
        np.testing.assert_array_equal(got.numpy(), array)
        assert got.numpy().dtype == array.dtype
    assert _core.lod(scope.find_var("a").get()) == [[0, 2, 5]]


# Damage -------------------------------------------------------------------------------------------


def must_raise(folder, errors=(_core.FormatError, FileNotFoundError)):
    scope = static.Scope()
    with pytest.raises(errors):
        static.load_inference_model(folder, scope=scope)
    assert scope.local_var_names() == []


@pytest.mark.parametrize("name", ["__model__", "__params__"])
def test_every_truncation_raises(copy, name):
    data = (copy / name).read_bytes()
    for size in range(len(data)):
        (copy / name).write_bytes(data[:size])
        must_raise(copy)


@pytest.mark.parametrize("name", ["__model__", "__params__"])
def test_every_flipped_bit_raises(copy, name):
    data = bytearray((copy / name).read_bytes())
    places = range(len(data)) if len(data) < 600 else [*range(200), *range(200, len(data), 7)]
    for at in places:
        for bit in range(8) if at < 100 else [at % 8]:
            data[at] ^= 1 << bit
            (copy / name).write_bytes(data)
            must_raise(copy)
            data[at] ^= 1 << bit


def test_mutated_models_with_fitting_checksums_work_or_raise(copy):
    """The checksum is no defence against malice: what it covers must stand by itself."""
    rng = random.Random(0)
    program = (copy / "__model__").read_bytes()[HEAD:]
    weights = (copy / "__params__").read_bytes()
    refused = 0
    for _ in range(1500):
        parts = [bytearray(program), bytearray(weights)]
        for _ in range(rng.randint(1, 3)):
            part = rng.choice(parts)
            at = rng.randrange(len(part))
            kind = rng.randint(0, 3)
            if kind <= 1:
                part[at] ^= 1 << rng.randint(0, 7)
            elif kind == 2:
                del part[at : at + rng.randint(1, 20)]
            else:
                part[at:at] = bytes(rng.choices([0, 1, 2, 8, 127, 128, 255], k=rng.randint(1, 12)))
        write(copy, bytes(parts[0]), bytes(parts[1]))
        try:
            scope, loaded, feeds, fetches = load(copy)
            static.Executor().run(loaded, {feeds[0]: numbers(2, 6)}, fetches, scope=scope)
        except _core.DygraphError:
            refused += 1
        except IndexError:
            assert not feeds  # the mutation took the feed operator away
            refused += 1
    assert 500 < refused < 1500


def declare(pb, names, shape=(2,)):
    program = pb.ProgramDesc()
    block = program.blocks.add(idx=0, parent_idx=-1)
    for name in names:
        var = block.vars.add(name=name, persistable=True)
        var.type.type = pb.VarType.LOD_TENSOR
        var.type.lod_tensor.tensor.data_type = pb.VarType.FP32
        var.type.lod_tensor.tensor.dims.extend(shape)
    return program


def test_each_misfit_of_weights_has_its_error(pb, tmp_path):
    one = tensor_bytes(pb, np.zeros(2, "float32"))
    cases = [
        (declare(pb, ["a", "b"]), one, "end before 'b', which is missing"),
        (declare(pb, ["a"]), one + one, "surplus bytes"),
        (
            declare(pb, ["a"], (3,)),
            one,
            r"must have the shape \[3\] as its program says, got \[2\]",
        ),
        (
            declare(pb, ["a"]),
            tensor_bytes(pb, np.zeros(2, "int64")),
            "must be float32 .* got int64",
        ),
        (declare(pb, ["a"]), b"\x01" + one[1:], "must be of version 0, got 1"),
        (declare(pb, ["a"]), tensor_bytes(pb, np.zeros(2, "float32"), [[0, 3]]), "fit its rows"),
        (declare(pb, ["a"], (1 << 40, 1 << 40)), one, "got"),
        (declare(pb, ["a"], (1 << 30,)), one[:-8], "must have the shape"),
    ]
    for program, weights, text in cases:
        write(tmp_path, program.SerializeToString(), weights)
        with pytest.raises(_core.FormatError, match=text):
            load(tmp_path)


def test_a_huge_weight_is_refused_before_memory_is_taken(pb, tmp_path):
    weights = tensor_bytes(pb, np.zeros(2, "float32"))
    desc = pb.VarType.TensorDesc(dims=[1 << 32])
    desc.data_type = pb.VarType.FP32
    data = desc.SerializeToString()
    weights = struct.pack("<IQIi", 0, 0, 0, len(data)) + data + bytes(100)
    write(tmp_path, declare(pb, ["a"], (1 << 32,)).SerializeToString(), weights)
    with pytest.raises(
        _core.FormatError, match="17179869184 bytes of data, got the end of the file"
    ):
        load(tmp_path)


def test_each_fault_of_a_program_has_its_error(pb, tmp_path):
    def relu(change):
        program = declare(pb, ["x", "y"])
        block = program.blocks[0]
        for var in block.vars:
            var.persistable = False
        op = block.ops.add(type="relu")
        op.inputs.add(parameter="X", arguments=["x"])
        op.outputs.add(parameter="Out", arguments=["y"])
        change(block, op)
        write(tmp_path, program.SerializeToString(), b"")
        return tmp_path

    def attr(op, name):
        op.attrs.add(name=name, type=pb.INT, i=1)

    load(relu(lambda block, op: attr(op, "op_role")))  # Fluid's bookkeeping
    cases = [
        (lambda b, op: setattr(op, "type", "rleu"), KeyError, "Did you mean 'relu'"),
        (
            lambda b, op: attr(op, "slope"),
            _core.FormatError,
            "must know its attributes, got 'slope'",
        ),
        (lambda b, op: op.inputs.pop(), _core.FormatError, r"Input\(X\) must be given"),
        (
            lambda b, op: op.inputs[0].arguments.append("x"),
            _core.FormatError,
            "takes one variable, got 2",
        ),
        (
            lambda b, op: op.outputs.add(parameter="Z", arguments=["y"]),
            _core.FormatError,
            "slot 'Z'",
        ),
        (lambda b, op: b.vars.pop(0), KeyError, "must be declared .* got 'x'"),
        (lambda b, op: b.vars.append(b.vars[0]), _core.AlreadyExistsError, "got 'x' also at"),
    ]
    for change, error, text in cases:
        with pytest.raises(error, match=text):
            load(relu(change))


def test_no_link_is_followed_and_no_directory_read(copy, saved):
    (copy / "__params__").unlink()
    (copy / "__params__").symlink_to(saved[0] / "__params__")
    with pytest.raises(_core.FormatError, match="must not be a symbolic link"):
        load(copy)
    (copy / "__params__").unlink()
    (copy / "__params__").mkdir()
    with pytest.raises(_core.FormatError, match="must be a regular file"):
        load(copy)
    (copy / "__params__").rmdir()
    os.mkfifo(copy / "__params__")
    with pytest.raises(_core.FormatError, match="must be a regular file"):
        load(copy)


def test_saving_through_a_planted_link_leaves_its_target_alone(saved, tmp_path):
    target = tmp_path / "target"
    target.write_text("precious")
    folder = tmp_path / "model"
    folder.mkdir()
    files = ("__model__", "__params__")
    for name in (*files, *(f".{n}.dygraph.next" for n in files), ".dygraph.set.tmp"):
        (folder / name).symlink_to(target)
    scope, program, feeds, fetches = load(saved[0])
    static.save_inference_model(folder, feeds, fetches, None, program, scope=scope)
    assert sorted(os.listdir(folder)) == list(files)
    assert not any((folder / name).is_symlink() for name in files)
    assert target.read_text() == "precious" and run(folder, numbers(1, 6)).shape == (1, 3)


def test_missing_models_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="__model__"):
        load(tmp_path)


def test_saving_without_weights_or_into_a_file_raises(saved, tmp_path):
    _, program, feeds, fetches = load(saved[0])
    with pytest.raises(RuntimeError, match="must hold a value .* Run the startup program first"):
        static.save_inference_model(tmp_path, feeds, fetches, None, program, scope=static.Scope())
    assert os.listdir(tmp_path) == []
    (tmp_path / "file").write_text("")
    scope, *_ = load(saved[0])
    with pytest.raises(RuntimeError, match="file"):
        static.save_inference_model(tmp_path / "file", feeds, fetches, None, program, scope=scope)
    with pytest.raises(ValueError, match="got 'relu_0.tmp_1'. Did you mean"):
        static.save_inference_model(tmp_path, feeds, ["relu_0.tmp_1"], None, program, scope=scope)


# A saver killed anywhere --------------------------------------------------------------------------

SAVER = """
    import sys
    import numpy as np
    import dygraph
    from dygraph import static
    from dygraph import _core, jit

    x = dygraph.to_variable(np.ones((2, 3), "float32"))
    for value in range(1, 100000):
        weight = dygraph.to_variable(np.full((1 << 14, 3), value, "float32"), name="w")
        weight.persistable = True
        label = "sum_%d" % (value % 2)
        recorder = _core.Recorder(lambda: label)
        recorder.add_feed(x, "x")
        recorder.add_parameter(weight, "w")
        recorder.start()
        y = _core.ops.scale(_core.ops.mean(weight), float(value))
        recorder.stop()
        recording = recorder.finish([y])
        scope = static.Scope()
        recording.fill_scope(scope)
        _core.save_inference_model(sys.argv[1], recording.program, scope)
        print(value, flush=True)
"""


def test_a_killed_saver_leaves_the_old_or_the_new_model(tmp_path):
    """The program says scale=v, the weights are all v: a mixture would give another square."""
    rng = random.Random(1)
    done = 0
    for _ in range(12):
        child = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(SAVER), str(tmp_path)], stdout=subprocess.PIPE
        )
        child.stdout.readline()  # one save is complete
        try:
            child.wait(rng.uniform(0.0, 0.05))
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
        rest = child.stdout.read().split()
        child.stdout.close()
        child.wait()
        last = int(rest[-1]) if rest else 1
        scope, program, feeds, fetches = load(tmp_path)
        x = np.ones((2, 3), "float32")
        (out,) = static.Executor().run(program, {feeds[0]: x}, fetches, scope=scope)
        assert out in [np.float32(last * last), np.float32((last + 1) * (last + 1))]
        done += 1
    assert done == 12


@pytest.mark.parametrize("stage", [0, 1, 2, 3, 4])
def test_each_stage_of_a_save_loads(saved, tmp_path, stage):
    """The states of the directory between two complete saves; from 2 on the new model counts."""
    old = {name: (saved[0] / name).read_bytes() for name in ("__model__", "__params__")}
    model = MLP()
    _, traced = jit.trace(model, [dygraph.to_variable(numbers(4, 6))])
    traced.save_inference_model(tmp_path)
    new = {name: (tmp_path / name).read_bytes() for name in ("__model__", "__params__")}
    named = {"__params__": stage >= 3, "__model__": stage == 4}
    for name in new:
        (tmp_path / name).write_bytes((new if named[name] else old)[name])
        if not named[name]:  # cut off where the mark is not there
            beside = new[name] if stage >= 2 else new[name][:50]
            (tmp_path / f".{name}.dygraph.next").write_bytes(beside)
    if stage >= 1:
        (tmp_path / (".dygraph.set" if stage >= 2 else ".dygraph.set.tmp")).write_bytes(b"")
    x = numbers(3, 6)
    expected = (model if stage >= 2 else saved[1])(dygraph.to_variable(x)).numpy()
    assert run(tmp_path, x).tobytes() == expected.tobytes()
    traced.save_inference_model(tmp_path)  # goes on from any of them
    assert run(tmp_path, x).tobytes() == model(dygraph.to_variable(x)).numpy().tobytes()
    assert sorted(os.listdir(tmp_path)) == ["__model__", "__params__"]
