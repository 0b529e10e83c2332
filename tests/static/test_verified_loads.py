"""What loaders of programs promise of damaged files: a typed error, little memory, no trace."""

import json
import os
import struct
import subprocess
import sys

import numpy as np
import pytest

import fuzz_models
from dygraph import static
from dygraph.errors import (
    AlreadyExistsError,
    DygraphError,
    FormatError,
    InvalidArgumentError,
    MissingFileError,
    NotFoundError,
    OutOfRangeError,
)
from dygraph.static import io, layers


def small():
    x = static.data("x", [None, 2])
    y = layers.fc(x, 1)
    return {"x": np.ones((1, 2), "float32")}, y, y


@pytest.fixture(autouse=True, scope="module")
def small_net():
    """A net with few bytes among those of fuzz_models."""
    fuzz_models.NETS["small"] = small
    yield
    del fuzz_models.NETS["small"]


def saved(name, folder, net="small"):
    """Save a format; gives its files."""
    fuzz_models.OF_PROGRAMS[name][0](net, str(folder))
    return sorted(os.listdir(folder))


def load(name, folder, scope, net="small"):
    return fuzz_models.OF_PROGRAMS[name][1](net, str(folder), scope)


def outcome(name, folder):
    """Whether it loads; otherwise the error is typed and the scope as it was."""
    scope = static.Scope()
    try:
        load(name, folder, scope)
    except DygraphError:
        assert scope.local_var_names() == []
        return False
    return True


FORMATS = ["inference", "renamed", "alone", "separate", "combined", "whole"]


@pytest.mark.parametrize("name", FORMATS)
def test_truncated_at_every_byte(name, tmp_path):
    """Only what is no program by itself has parts that can be left out at its end."""
    names = saved(name, tmp_path)
    assert outcome(name, tmp_path)
    read = [n for n in names if name != "alone" or n in ("__model__", "fc_0.w_0", "fc_0.b_0")]
    files = [n for n in read if "moment" not in n and "beta" not in n]
    for file in files:
        whole = (tmp_path / file).read_bytes()
        is_program = file in ("program", "net.pdmodel") or (name == "alone" and file == "__model__")
        step = max(1, len(whole) // 700)
        loaded = []
        for size in (*range(0, min(len(whole), 100)), *range(100, len(whole), step)):
            (tmp_path / file).write_bytes(whole[:size])
            if outcome(name, tmp_path):
                loaded.append(size)
        assert len(loaded) <= (2 if is_program else 0), (file, loaded)
        (tmp_path / file).write_bytes(whole)


@pytest.mark.parametrize("name", FORMATS)
def test_every_header_bit_flipped(name, tmp_path):
    files = saved(name, tmp_path)
    for file in files:
        whole = bytearray((tmp_path / file).read_bytes())
        for at in range(min(len(whole), 60)):
            for bit in range(8):
                whole[at] ^= 1 << bit
                (tmp_path / file).write_bytes(whole)
                outcome(name, tmp_path)
                whole[at] ^= 1 << bit
        (tmp_path / file).write_bytes(whole)
    assert outcome(name, tmp_path)


def test_a_program_of_no_bytes_has_no_block():
    empty = static.Program.parse_from_string(b"")
    for use in (empty.global_block, empty.current_block):
        with pytest.raises(FormatError, match="at least one block, got none"):
            use()
    with pytest.raises(FormatError, match="at least one block, got none"):
        static.Executor().run(empty, scope=static.Scope())


# Limits and faults, in each way a program is taken up --------------------------------------------


def by_default(folder, binary):
    (folder / "__model__").write_bytes(binary)
    (folder / "__params__").write_bytes(b"")
    static.load_inference_model(folder, scope=static.Scope())


def by_other_names(folder, binary):
    (folder / "m").write_bytes(binary)
    (folder / "w").write_bytes(b"")
    static.load_inference_model(folder, None, "m", "w", scope=static.Scope())


def without_weights(folder, binary):
    (folder / "__model__").write_bytes(binary)
    static.load_inference_model(folder, scope=static.Scope())


def by_running(folder, binary):
    program = static.Program.parse_from_string(binary)
    static.Executor().run(program, scope=static.Scope())


WAYS = [by_default, by_other_names, without_weights, by_running]


def sized(number, *parts):
    """A field of bytes."""
    body = b"".join(parts)
    size, out = len(body), b""
    while size > 127:
        out, size = out + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + out + bytes([size]) + body


def number(field, value):
    value, out = value % (1 << 64), b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return bytes([field << 3]) + out + bytes([value])


def block(*parts, idx=0, parent=-1):
    return sized(1, number(1, idx), number(2, parent), *parts)


def var(name, *dims, persistable=False):
    tensor = sized(1, number(1, 5), *(number(2, d) for d in dims))
    kind = sized(2, number(1, 7), sized(3, tensor))
    return sized(3, sized(1, name.encode()), kind, number(3, persistable))


def op(kind, inputs=None, outputs=None, *attrs):
    def slots(field, given):
        return [
            sized(field, sized(1, k.encode()), *(sized(2, n.encode()) for n in names))
            for k, names in (given or {}).items()
        ]

    return sized(4, *slots(1, inputs), *slots(2, outputs), sized(3, kind.encode()), *attrs)


def block_attr(name, *indices):
    if len(indices) == 1:
        return sized(4, sized(1, name.encode()), number(2, 8), number(12, indices[0]))
    return sized(4, sized(1, name.encode()), number(2, 10), *(number(14, i) for i in indices))


def nested(count):
    return block() + b"".join(block(idx=i, parent=i - 1) for i in range(1, count))


LIMITS = {
    "64 MiB": (lambda: bytes((64 << 20) + 1), "67108864 bytes"),
    "a million variables": (
        lambda: block(b"\x1a\x00" * 1000001), "at most 1000000 vars are allowed, got 1000001"),
    "a million operators": (
        lambda: block(b"\x22\x00" * 1000001), "at most 1000000 ops are allowed, got 1000001"),
    "blocks": (lambda: b"\x0a\x00" * 10001, "at most 10000 blocks are allowed, got 10001"),
    "rank": (lambda: block(var("x", *[1] * 17)), "at most 16 dims are allowed, got 17"),
    "name": (lambda: block(var("x" * 1025, 1)), "at most 1024 bytes, got 1025"),
    "name of an operator": (lambda: block(op("x" * 1025)), "at most 1024 bytes, got 1025"),
    "nesting": (lambda: nested(34), "may nest 32 deep, got 33"),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("limit", LIMITS)
def test_limits_are_refused_before_use(way, limit, tmp_path):
    make, message = LIMITS[limit]
    with pytest.raises(FormatError, match=message):
        way(tmp_path, make())


XY = var("x", 2) + var("y", 2)
RELU = op("relu", {"X": ["x"]}, {"Out": ["y"]})
FILL = op("fill_constant", {}, {"Out": ["x"]})
FAULTS = {
    "duplicate names": (
        lambda: block(XY, var("x", 3)), AlreadyExistsError, "got 'x' also at vars"),
    "unknown operator": (
        lambda: block(XY, op("rellu", {"X": ["x"]}, {"Out": ["y"]})), NotFoundError,
        "Did you mean 'relu'"),
    "undefined input": (
        lambda: block(XY, op("relu", {"X": ["z"]}, {"Out": ["y"]})), NotFoundError,
        "must be declared in its block or an outer one, got 'z'"),
    "shared sub-block": (
        lambda: block(XY, op("a", None, None, block_attr("b", 1)),
                      op("a", None, None, block_attr("b", 1))) + block(idx=1, parent=0),
        FormatError, "must have its sub-block for itself, got block 1"),
    "cyclic sub-blocks": (
        lambda: block() + block(op("a", None, None, block_attr("b", 2)), idx=1, parent=0)
        + block(op("a", None, None, block_attr("b", 1)), idx=2, parent=0),
        FormatError, "sub-blocks must not contain each other"),
    "sub-block that is none": (
        lambda: block(op("a", None, None, block_attr("b", 3, 4))), OutOfRangeError,
        r"must name a sub-block in \[1, 1\), got 3"),
    "cyclic parents": (
        lambda: block() + block(idx=1, parent=2) + block(idx=2, parent=1), FormatError,
        "must lead to block 0, got a cycle"),
    "unknown attribute": (
        lambda: block(XY, FILL, op("relu", {"X": ["x"]}, {"Out": ["y"]},
                                   sized(4, sized(1, b"slope"), number(2, 0), number(3, 1)))),
        FormatError, "must know its attributes, got 'slope'"),
    "input of no name": (
        lambda: block(XY, op("relu", {"X": [""]}, {"Out": ["y"]})), FormatError,
        r"Input\(X\) must be given, got nothing"),
    "hole in a list": (
        lambda: block(XY, FILL, op("sum", {"X": ["x", "@EMPTY@"]}, {"Out": ["y"]})), FormatError,
        r"Input\(X\) must have all of its 2 variables, got 1"),
    "shape that cannot be counted": (
        lambda: block(XY, var("z", 1 << 40, 1 << 40)), (FormatError, OutOfRangeError),
        "the number of elements of a shape must fit into 64 bits"),
    "slot of many": (
        lambda: block(XY, op("relu", {"X": ["x", "x"]}, {"Out": ["y"]})), FormatError,
        "takes one variable, got 2"),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_has_its_error(way, fault, tmp_path):
    make, kind, message = FAULTS[fault]
    with pytest.raises(kind, match=message):
        way(tmp_path, make())


def weights(name, folder, change):
    """Load a format after `change(program)` of what its weights are declared as."""
    saved(name, folder)
    path = folder / next(
        n for n in ("program", "net.pdmodel", "__model__") if (folder / n).exists()
    )
    program = static.Program.parse_from_string(path.read_bytes())
    change(program.global_block())
    path.write_bytes(program.serialize_to_string())
    scope = static.Scope()
    try:
        load(name, folder, scope)
    finally:
        assert scope.local_var_names() == []


def another_type(b):
    b.var("fc_0.w_0").desc.dtype = "float64"


def another_shape(b):
    b.var("fc_0.w_0").desc.shape = [3, 1]


def one_more(b):
    b.create_var(name="fc_0.c_0", shape=[1], dtype="float32", persistable=True)


@pytest.mark.parametrize("name", ["alone", "separate", "combined", "whole"])
def test_weights_that_do_not_fit(name, tmp_path):
    with pytest.raises(FormatError, match="'fc_0.w_0' must be float64 as the program says"):
        weights(name, tmp_path, another_type)
    with pytest.raises(FormatError, match=r"'fc_0.w_0' must have the shape \[3, 1\]"):
        weights(name, tmp_path, another_shape)
    with pytest.raises((FormatError, MissingFileError), match="fc_0.c_0|got its end after"):
        weights(name, tmp_path, one_more)


def test_surplus_weights(tmp_path):
    """One file must hold just what is asked for; files and names of their own may be more."""
    main = fuzz_models.described("small")[0]
    saved("combined", tmp_path)
    (tmp_path / "all").write_bytes((tmp_path / "all").read_bytes() + bytes(40))
    with pytest.raises(FormatError, match="must end after its .* got 40 surplus bytes"):
        io.load_persistables(None, tmp_path, main, "all", scope=static.Scope())
    scope = fuzz_models.described("small")[4]
    static.save_inference_model(
        tmp_path, ["x"], [fuzz_models.described("small")[1]], None, main, scope=scope
    )
    program, *_ = static.load_inference_model(tmp_path, scope=static.Scope())
    (tmp_path / "__model__").write_bytes(program.serialize_to_string())  # without its manifest
    (tmp_path / "__params__").write_bytes((tmp_path / "__params__").read_bytes() + bytes(4))
    with pytest.raises(FormatError, match="must end after its 2 weights, got 4 surplus bytes"):
        static.load_inference_model(tmp_path, scope=static.Scope())


def test_values_of_other_programs_are_refused(tmp_path):
    main, _, _, _, scope = fuzz_models.described("small")
    state = {"fc_0.w_0": np.zeros((2, 1), "float64")}
    with pytest.raises((FormatError, InvalidArgumentError), match="must be float32"):
        io.set_program_state(main, state, scope)


def test_attributes_of_no_use_are_no_hindrance():
    """What marks an operator may be of any type in a file, and strings need not be text."""
    odd = sized(4, sized(1, b"op_role"), number(2, 3), number(6, 1))  # INTS
    raw = sized(4, sized(1, b"op_namescope"), number(2, 2), sized(5, b"\xff\xfe"))
    binary = block(XY, FILL, op("relu", {"X": ["x"]}, {"Out": ["y"]}, odd, raw))
    program = static.Program.parse_from_string(binary)
    last = program.global_block().ops[-1]
    assert (last.role, last.attr("op_role"), last.attr("op_namescope")) == (0, [1], b"\xff\xfe")
    assert len(program.clone(for_test=True).global_block().ops) == 2
    names = {}
    exec(static.to_code(program), names)
    assert names["program"].serialize_to_string() == program.serialize_to_string()


def test_errors_quote_what_is_no_text():
    line = sized(4, sized(1, b"op_callstack"), number(2, 5), sized(8, b"\xff.py:3"))
    program = static.Program.parse_from_string(block(XY, op("rellu", {"X": ["x"]}, {}, line)))
    with pytest.raises(NotFoundError, match=r"made at \\xff.py:3"):
        static.Executor().run(program, scope=static.Scope())


# Memory -------------------------------------------------------------------------------------------

MEASURE = """
import json, sys
import numpy as np
import dygraph
from dygraph import static
from dygraph.errors import DygraphError

def high():
    with open("/proc/self/status") as f:
        return next(int(l.split()[1]) * 1024 for l in f if l.startswith("VmHWM"))

def reset():
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")

kind, folder = sys.argv[1:]
warm = static.Program()
static.Executor().run(warm, scope=static.Scope())
main = static.Program()
main.global_block().create_parameter([6 << 20], "float32", "w")
scope, io = static.Scope(), static.io
loads = {
    "parse": lambda: static.Program.parse_from_string(open(folder + "/program", "rb").read()),
    "model": lambda: static.load_inference_model(folder, scope=scope),
    "combined": lambda: io.load_persistables(None, folder, main, "all", scope=scope),
    "separate": lambda: io.load_persistables(None, folder, main, scope=scope),
    "whole": lambda: static.load(main, folder + "/net", scope=scope),
    "state": lambda: dygraph.load(folder + "/net.pdparams"),
}
reset()
before = high()
try:
    kept = loads[kind]()
    ending = "loaded"
except (DygraphError, MemoryError) as error:
    ending = type(error).__name__
print(json.dumps([high() - before, ending]))
"""


def peak(kind, folder):
    """(memory that loading took at its highest, what came of it), in a process of its own."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, kind, str(folder)], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def many_variables():
    return block(*(var(str(i)) for i in range(200000)))


def many_operators():
    return block(*(op("relu") for _ in range(300000)))


def many_arguments():
    return block(op("sum", {"X": [""] * 3000000}))


def many_attributes():
    return block(sized(4, sized(3, b"relu"), b"\x22\x00" * 2000000))


@pytest.mark.parametrize("make", [many_variables, many_operators, many_arguments, many_attributes])
def test_hostile_programs_take_little_memory(make, tmp_path):
    binary = make()
    (tmp_path / "program").write_bytes(binary)
    (tmp_path / "__model__").write_bytes(binary)
    for kind in ("parse", "model"):
        took, _ = peak(kind, tmp_path)
        assert took < 4 * len(binary) + (64 << 20), kind


@pytest.mark.parametrize("kind", ["separate", "combined", "whole", "state", "model"])
def test_sound_files_take_at_most_four_times_their_size(kind, tmp_path):
    main, scope = static.Program(), static.Scope()
    w = main.global_block().create_parameter([6 << 20], "float32", "w")
    scope.var("w").set(np.ones(6 << 20, "float32"))
    if kind in ("separate", "combined"):
        io.save_persistables(None, tmp_path, main, "all" if kind == "combined" else None, scope)
    elif kind == "model":
        with static.program_guard(main):
            out = layers.scale(w, 2.0)
        static.save_inference_model(tmp_path, [], [out], None, main, scope=scope)
    else:
        static.save(main, tmp_path / "net", scope)
    took, ending = peak(kind, tmp_path)
    assert ending == "loaded" and took < 4 * (24 << 20) + (64 << 20)


@pytest.mark.parametrize("kind", ["separate", "combined"])
def test_huge_claims_take_no_memory(kind, tmp_path):
    desc = number(1, 5) + number(2, 6 << 20)
    head = struct.pack("<IQIi", 0, 0, 0, len(desc)) + desc + bytes(50)
    (tmp_path / ("w" if kind == "separate" else "all")).write_bytes(head)
    took, ending = peak(kind, tmp_path)
    assert ending == "FormatError" and took < 8 << 20
