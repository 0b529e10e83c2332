"""The program codec against Python protobuf: same bytes, same text, and only errors on damage."""

import random
import struct

import pytest

from dygraph import _core

CHARACTERS = "abcXYZ019_@./ \"'\\\n\t\r\x01\x7f\x85é中\u2028😀"
UNKNOWN = [
    b"\xa0\x06\x05",  # field 100, varint 5
    b"\xa2\x06\x03abc",  # field 100, bytes
    b"\xa5\x06\x01\x02\x03\x04",  # field 100, fixed32
    b"\xa1\x06\x01\x02\x03\x04\x05\x06\x07\x08",  # field 100, fixed64
    b"\xa3\x06\xa8\x06\x01\xa4\x06",  # field 100, a group holding field 101
]


def text(rng, least=0):
    return "".join(rng.choices(CHARACTERS, k=rng.randint(least, 20)))


def int32(rng):
    return rng.choice([0, 1, -1, 127, 128, -(2**31), 2**31 - 1, rng.randint(-1000, 1000)])


def int64(rng):
    return rng.choice([int32(rng), -(2**63), 2**63 - 1, rng.randint(-(2**40), 2**40)])


def float32(rng):
    bits = rng.getrandbits(32)
    if bits & 0x7F800000 == 0x7F800000:  # a NaN keeps no payload through Python's float
        bits &= 0xFF800000
    some = struct.unpack("<f", struct.pack("<I", bits))[0]
    nice = [0.0, -0.0, 0.1, 1.0, -2.5, 1e-8, 1e10, 3.4e38, 1e-45, float("nan"), float("inf")]
    return rng.choice([*nice, some, round(rng.uniform(-10, 10), 3)])


def float64(rng):
    nice = [0.0, -0.0, 0.1, 1.0, -2.5, 1e-300, 1e300, 5e-324, float("nan"), float("-inf")]
    return rng.choice([*nice, rng.uniform(-10, 10), round(rng.uniform(-10, 10), 3)])


def maybe(rng, message, field, make):
    if rng.random() < 0.5:
        setattr(message, field, make(rng))


def bool_(rng):
    return rng.random() < 0.5


def some(rng, make, most=4):
    return [make(rng) for _ in range(rng.randint(0, most))]


VALUES = {
    "INT": ("i", int32),
    "FLOAT": ("f", float32),
    "STRING": ("s", text),
    "INTS": ("ints", int32),
    "FLOATS": ("floats", float32),
    "STRINGS": ("strings", text),
    "BOOLEAN": ("b", bool_),
    "BOOLEANS": ("bools", bool_),
    "BLOCK": ("block_idx", int32),
    "LONG": ("l", int64),
    "BLOCKS": ("blocks_idx", int32),
    "LONGS": ("longs", int64),
    "FLOAT64S": ("float64s", float64),
    "VAR": ("var_name", text),
    "VARS": ("vars_name", text),
    "FLOAT64": ("float64", float64),
}


def fill_scalar(pb, rng, scalar):
    """A number with its type; the schema lets any of its fields be there or not."""
    scalar.type = rng.choice(pb.Scalar.Type.values())
    for field, make in (("b", bool_), ("i", int64), ("r", float64)):
        maybe(rng, scalar, field, make)
    if bool_(rng):
        scalar.c.r, scalar.c.i = float64(rng), float64(rng)


def fill_attr(pb, rng, attr, kind):
    if kind == "SCALAR":
        fill_scalar(pb, rng, attr.scalar)
    elif kind == "SCALARS":
        for _ in range(rng.randint(0, 3)):
            fill_scalar(pb, rng, attr.scalars.add())
    elif kind.endswith("S"):
        getattr(attr, VALUES[kind][0]).extend(some(rng, VALUES[kind][1]))
    else:
        setattr(attr, VALUES[kind][0], VALUES[kind][1](rng))


def fill_tensor(pb, rng, tensor):
    tensor.data_type = rng.choice(pb.VarType.Type.values())
    tensor.dims.extend(some(rng, int64, 16))


def fill_lod_tensor(pb, rng, desc):
    fill_tensor(pb, rng, desc.tensor)
    maybe(rng, desc, "lod_level", int32)


def fill_var(pb, rng, var):
    var.name = text(rng, 1)
    var.type.type = rng.choice(pb.VarType.Type.values())
    kind = rng.randint(0, 6)
    if kind == 0:
        fill_tensor(pb, rng, var.type.selected_rows)
    if kind in (1, 2):
        fill_lod_tensor(pb, rng, var.type.lod_tensor)
    if kind in (2, 3):
        fill_lod_tensor(pb, rng, var.type.tensor_array)
    if kind == 4:
        var.type.reader.SetInParent()
        for _ in range(rng.randint(0, 3)):
            fill_lod_tensor(pb, rng, var.type.reader.lod_tensor.add())
    if kind == 5:
        var.type.tuple.SetInParent()
        var.type.tuple.element_type.extend(some(rng, lambda r: r.choice(pb.VarType.Type.values())))
    maybe(rng, var, "persistable", bool_)
    for field in ("need_check_feed", "is_parameter", "stop_gradient"):
        maybe(rng, var, field, bool_)
    for _ in range(rng.randint(0, 2)):
        attr = var.attrs.add(name=text(rng, 1), type=rng.choice(pb.AttrType.values()))
        maybe(rng, attr, "i", int32)
        maybe(rng, attr, "s", text)
        attr.ints.extend(some(rng, int32))


def fill_op(pb, rng, op):
    op.type = text(rng, 1)
    for slots in (op.inputs, op.outputs):
        for _ in range(rng.randint(0, 3)):
            slots.add(parameter=text(rng, 1), arguments=some(rng, text))
    for _ in range(rng.randint(0, 6)):
        kind = rng.choice(pb.AttrType.keys())
        attr = op.attrs.add(name=text(rng, 1), type=pb.AttrType.Value(kind))
        fill_attr(pb, rng, attr, kind)
        if rng.random() < 0.05:
            attr.MergeFromString(rng.choice(UNKNOWN))
    maybe(rng, op, "is_target", bool_)


def random_program(pb, rng):
    """A valid message of every shape the schema allows; names and numbers mean nothing."""
    program = pb.ProgramDesc()
    for _ in range(rng.randint(0, 3)):
        block = program.blocks.add(idx=int32(rng), parent_idx=int32(rng))
        for _ in range(rng.randint(0, 4)):
            fill_var(pb, rng, block.vars.add())
        for _ in range(rng.randint(0, 4)):
            fill_op(pb, rng, block.ops.add())
        maybe(rng, block, "forward_block_idx", int32)
        if rng.random() < 0.1:
            block.MergeFromString(rng.choice(UNKNOWN) + rng.choice(UNKNOWN))
    if rng.random() < 0.5:
        program.version.SetInParent()
        maybe(rng, program.version, "version", int64)
    if rng.random() < 0.3:
        versions = program.op_compatible_map
        versions.SetInParent()
        for _ in range(rng.randint(0, 3)):
            pair = versions.pair.add(op_name=text(rng, 1))
            pair.compatible_info.version = text(rng)
            pair.compatible_info.type = rng.choice(pb.CompatibleInfo.Type.values())
        maybe(rng, versions, "default_required_version", text)
    if rng.random() < 0.3:
        program.op_version_map.SetInParent()
        for _ in range(rng.randint(0, 3)):
            pair = program.op_version_map.pair.add(op_name=text(rng, 1))
            pair.op_version.version = int32(rng)
    if rng.random() < 0.1:
        program.MergeFromString(rng.choice(UNKNOWN))
    return program


def test_random_programs_have_the_bytes_and_text_of_protobuf(pb):
    rng = random.Random(0)
    for _ in range(3000):
        message = random_program(pb, rng)
        data = message.SerializeToString()
        program = _core.program_from_bytes(data)
        assert program.to_bytes() == data
        assert program.to_text() == str(message)


def sample(pb):
    """A program that uses every field."""
    rng = random.Random(1)
    return max((random_program(pb, rng) for _ in range(200)), key=lambda m: m.ByteSize())


def damage(rng, data, other):
    """Flips bits, cuts, or splices in a piece of another program."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        kind = rng.randint(0, 3)
        at = rng.randint(0, len(data))
        if kind <= 1 and at < len(data):
            data[at] ^= 1 << rng.randint(0, 7)
        elif kind == 2:
            del data[at : at + rng.randint(0, 20)]
        else:
            start = rng.randint(0, len(other))
            data[at:at] = other[start : start + rng.randint(0, 40)]
    return bytes(data)


def test_damaged_programs_work_or_raise(pb):
    rng = random.Random(2)
    pool = [random_program(pb, rng).SerializeToString() for _ in range(200)]
    refused = 0
    for _ in range(20000):
        data = damage(rng, rng.choice(pool), rng.choice(pool))
        try:
            program = _core.program_from_bytes(data)
        except ValueError as error:
            assert str(error).startswith("damaged program, ProgramDesc")
            refused += 1
        else:
            again = _core.program_from_bytes(program.to_bytes())
            assert again.to_bytes() == program.to_bytes()
    assert 5000 < refused < 20000


def test_every_truncation_works_or_raises(pb):
    data = sample(pb).SerializeToString()
    for size in range(len(data)):
        message = pb.ProgramDesc()
        try:
            program = _core.program_from_bytes(data[:size])
        except ValueError:
            continue
        message.ParseFromString(data[:size])
        assert program.to_bytes() == message.SerializeToString()


def test_packed_lists_are_read_and_written_unpacked(pb):
    message = pb.ProgramDesc()
    op = message.blocks.add(idx=0, parent_idx=-1).ops.add(type="t")
    op.attrs.add(name="a", type=pb.INTS, ints=[1, -1, 300])
    attr = b"\x0a\x01a\x10\x03" + b"\x32\x0d\x01" + b"\xff" * 9 + b"\x01\xac\x02"
    op_bytes = b"\x1a\x01t\x22" + bytes([len(attr)]) + attr
    block = b"\x08\x00\x10" + b"\xff" * 9 + b"\x01\x22" + bytes([len(op_bytes)]) + op_bytes
    program = _core.program_from_bytes(b"\x0a" + bytes([len(block)]) + block)
    assert program.to_bytes() == message.SerializeToString()


@pytest.mark.parametrize(
    "message, path, field",
    [
        ("VarDesc", "blocks[0].vars[0]", "name"),
        ("OpDesc", "blocks[0].ops[0]", "type"),
        ("Attr", "blocks[0].ops[0].attrs[0]", "name"),
        ("Var", "blocks[0].ops[0].inputs[0]", "parameter"),
        ("TensorDesc", "blocks[0].vars[0].type.lod_tensor.tensor", "data_type"),
        ("BlockDesc", "blocks[0]", "idx"),
    ],
)
def test_a_missing_required_field_is_named(pb, message, path, field):
    program = pb.ProgramDesc()
    block = program.blocks.add(idx=0, parent_idx=-1)
    var = block.vars.add(name="x")
    var.type.type = pb.VarType.LOD_TENSOR
    var.type.lod_tensor.tensor.data_type = pb.VarType.FP32
    op = block.ops.add(type="relu")
    op.inputs.add(parameter="X", arguments=["x"])
    op.attrs.add(name="a", type=pb.INT, i=1)
    _core.program_from_bytes(program.SerializeToString())
    {
        "VarDesc": var,
        "OpDesc": op,
        "Attr": op.attrs[0],
        "Var": op.inputs[0],
        "TensorDesc": var.type.lod_tensor.tensor,
        "BlockDesc": block,
    }[message].ClearField(field)
    with pytest.raises(ValueError) as error:
        _core.program_from_bytes(program.SerializePartialToString())
    assert str(error.value).startswith(
        f"damaged program, ProgramDesc.{path}: the required field '{field}' is missing, at byte "
    )
