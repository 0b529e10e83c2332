"""Program, blocks, operators and variables as Python sees them; bytes made by Python protobuf."""

import pytest

from dygraph import _core, static
from dygraph.static import Program


def parse(message):
    return Program.parse_from_string(message.SerializeToString())


def add_var(pb, block, name, dims=(1,)):
    var = block.vars.add(name=name)
    var.type.type = pb.VarType.LOD_TENSOR
    var.type.lod_tensor.tensor.data_type = pb.VarType.FP32
    var.type.lod_tensor.tensor.dims.extend(dims)
    return var


def test_sum_and_split_of_the_documents(pb):
    message = pb.ProgramDesc()
    block = message.blocks.add(idx=0, parent_idx=-1)
    total = block.ops.add(type="sum")
    total.inputs.add(parameter="X", arguments=["tmp_in_0", "tmp_in_1", "tmp_in_2"])
    total.outputs.add(parameter="Out", arguments=["tmp_out_0"])
    split = block.ops.add(type="split")
    split.inputs.add(parameter="X", arguments=["tmp_in_0"])
    split.outputs.add(parameter="Out", arguments=["tmp_out_0", "tmp_out_1", "tmp_out_2"])
    split.attrs.add(name="axis", type=pb.INT, i=0)
    first, second = parse(message).global_block().ops
    assert first.type == "sum" and first.input("X") == ["tmp_in_0", "tmp_in_1", "tmp_in_2"]
    assert first.input_arg_names == ["tmp_in_0", "tmp_in_1", "tmp_in_2"]
    assert first.output("Out") == first.output_arg_names == ["tmp_out_0"]
    assert first.input_names == ["X"] and first.output_names == ["Out"] and first.attrs == {}
    assert second.inputs == {"X": ["tmp_in_0"]}
    assert second.outputs == {"Out": ["tmp_out_0", "tmp_out_1", "tmp_out_2"]}
    assert second.attrs == {"axis": 0} and second.attr("axis") == 0 and second.has_attr("axis")
    with pytest.raises(KeyError, match="sum: .* input slot .* got 'Y'. The slots are X"):
        first.input("Y")
    with pytest.raises(KeyError, match="split: .* output slot .* got 'X'"):
        second.output("X")


def test_every_attribute_type(pb):
    message = pb.ProgramDesc()
    block = message.blocks.add(idx=0, parent_idx=-1)
    for i in range(1, 4):
        message.blocks.add(idx=i, parent_idx=0)
    op = block.ops.add(type="t")
    values = [
        ("INT", "i", -3), ("FLOAT", "f", 0.5), ("STRING", "s", "word"), ("INTS", "ints", [1, -2]),
        ("FLOATS", "floats", [0.25, 2.0]), ("STRINGS", "strings", ["a", ""]),
        ("BOOLEAN", "b", True),
        ("BOOLEANS", "bools", [True, False]), ("BLOCK", "block_idx", 1), ("LONG", "l", 1 << 40),
        ("BLOCKS", "blocks_idx", [2, 3]), ("LONGS", "longs", [-(1 << 40), 5]),
        ("FLOAT64S", "float64s", [0.1, -2.0]), ("VAR", "var_name", "x"),
        ("VARS", "vars_name", ["x", "y"]), ("FLOAT64", "float64", 0.1),
    ]  # fmt: skip
    for number, (kind, field, value) in enumerate(values):
        assert pb.AttrType.Value(kind) == number
        attr = op.attrs.add(name=kind.lower(), type=number)
        if isinstance(value, list):
            getattr(attr, field).extend(value)
        else:
            setattr(attr, field, value)
    (got,) = parse(message).global_block().ops
    assert got.attrs == {kind.lower(): value for kind, _, value in values}
    assert [got.attr_type(kind.lower()) for kind, _, _ in values] == [kind for kind, _, _ in values]
    assert type(got.attr("boolean")) is bool and type(got.attr("int")) is int


def test_numbers_that_carry_their_type(pb):
    """Attributes of Paddle 2.5 and later."""
    message = pb.ProgramDesc()
    op = message.blocks.add(idx=0, parent_idx=-1).ops.add(type="t")
    kinds = pb.Scalar
    fields = [
        (kinds.BOOLEAN, {"b": True}, True), (kinds.LONG, {"i": 1 << 40}, 1 << 40),
        (kinds.FLOAT64, {"r": 0.1}, 0.1), (kinds.COMPLEX128, {"c": {"r": 1.0, "i": -2.0}}, 1 - 2j),
    ]  # fmt: skip
    for i, (kind, value, _) in enumerate(fields):
        attr = op.attrs.add(name=f"one_{i}", type=pb.SCALAR)
        attr.scalar.CopyFrom(pb.Scalar(type=kind, **value))
    several = op.attrs.add(name="several", type=pb.SCALARS)
    several.scalars.extend(pb.Scalar(type=kind, **value) for kind, value, _ in fields)
    program = parse(message)
    (got,) = program.global_block().ops
    expected = [value for _, _, value in fields]
    assert [got.attr(f"one_{i}") for i in range(4)] == got.attr("several") == expected
    assert got.attr_type("one_0") == "SCALAR" and got.attr_type("several") == "SCALARS"
    copy = static.Program().global_block().append_described(
        "t", attrs={name: (got.attr_type(name), got.attr(name)) for name in got.attr_names}
    )  # fmt: skip
    assert copy.to_string() == got.to_string() == str(op)


def test_what_paddle_2_tells_of_variables(pb):
    message = pb.ProgramDesc()
    block = message.blocks.add(idx=0, parent_idx=-1)
    for name, parameter, stop in (("w", True, False), ("frozen", True, True), ("h", False, False)):
        var = add_var(pb, block, name)
        var.is_parameter, var.stop_gradient, var.persistable = parameter, stop, parameter
    pair = message.op_version_map.pair.add(op_name="roll")
    pair.op_version.version = 1
    program = parse(message)
    w, frozen, h = program.list_vars()
    assert program.all_parameters() == [w, frozen] and not h.persistable
    assert [v.stop_gradient for v in (w, frozen, h)] == [False, True, False]
    assert w.trainable and not frozen.trainable and w.learning_rate == 1.0
    assert program.serialize_to_string() == message.SerializeToString()
    assert program.clone().serialize_to_string() == message.SerializeToString()
    h.stop_gradient = True
    block.vars[2].stop_gradient = True
    assert program.serialize_to_string() == message.SerializeToString()


def test_blocks_look_inside_out(pb):
    """The documents' b = 1 outside, b = 2 inside."""
    message = pb.ProgramDesc()
    outer = message.blocks.add(idx=0, parent_idx=-1)
    inner = message.blocks.add(idx=1, parent_idx=0)
    add_var(pb, outer, "a", [1])
    add_var(pb, outer, "b", [1])
    add_var(pb, inner, "b", [2])
    program = parse(message)
    program.desc.verify()  # the same name in two blocks is allowed
    block = program.block(1)
    assert block.parent_idx == 0 and program.global_block().parent_idx == -1
    assert block.var_recursive("b").shape == (2,) and block.var_recursive("a").shape == (1,)
    assert program.block(0).var("b").shape == (1,)
    assert block.has_var("b") and not block.has_var("a")
    with pytest.raises(KeyError, match="must have the variable, got 'a'"):
        block.var("a")
    with pytest.raises(KeyError, match="the blocks around it .* got 'c'"):
        block.var_recursive("c")
    assert [v.name for v in program.list_vars()] == ["a", "b", "b"]
    with pytest.raises(IndexError, match="has 2 blocks, got block 2"):
        program.block(2)
    with pytest.raises(IndexError, match=r"in \[0, 2\), got -1"):
        program.block(-1)


def test_a_variable_twice_in_a_block_raises_naming_both(pb):
    message = pb.ProgramDesc()
    block = message.blocks.add(idx=0, parent_idx=-1)
    for name in ("a", "b", "a"):
        add_var(pb, block, name)
    with pytest.raises(_core.AlreadyExistsError, match=r"vars\[2\].*got 'a' also at vars\[0\]"):
        parse(message).desc.verify()


def test_an_unknown_operator_names_its_neighbours(pb):
    message = pb.ProgramDesc()
    block = message.blocks.add(idx=0, parent_idx=-1)
    block.ops.add(type="reluu")
    with pytest.raises(KeyError, match=r"'relu'.*operator 0 of block 0"):
        parse(message).desc.verify()


def test_variables_of_every_type(pb):
    message = pb.ProgramDesc()
    block = message.blocks.add(idx=0, parent_idx=-1)
    for name, number in pb.VarType.Type.items():
        block.vars.add(name=name).type.type = number
    block.vars[0].persistable = True
    program = parse(message)
    for var in program.list_vars():
        assert var.type == var.name and var.shape is None and var.lod_level == 0
    assert [v.persistable for v in program.list_vars()][:2] == [True, False]


def test_text_and_bytes_are_those_of_protobuf(pb):
    message = pb.ProgramDesc()
    block = message.blocks.add(idx=0, parent_idx=-1)
    add_var(pb, block, "x", [-1, 3])
    block.ops.add(type="relu").inputs.add(parameter="X", arguments=["x"])
    program = parse(message)
    assert program.serialize_to_string() == message.SerializeToString()
    assert str(program) == program.to_string(True) == str(message)
    assert program.block(0).to_string() == str(block)
    assert program.block(0).ops[0].to_string() == str(block.ops[0])
    assert program.block(0).var("x").to_string() == str(block.vars[0])
    again = Program.parse_from_string(program.serialize_to_string())
    assert str(again) == str(program)
    assert repr(program) == "<Program of 1 blocks, 1 operators>"


def test_a_new_program_has_one_empty_block(pb):
    message = pb.ProgramDesc()
    message.blocks.add(idx=0, parent_idx=-1)
    message.version.version = 1008005
    program = static.Program()
    assert program.num_blocks == 1 and program.current_block().ops == []
    assert program.serialize_to_string() == message.SerializeToString()


def test_parts_outlive_their_program(pb):
    message = pb.ProgramDesc()
    message.blocks.add(idx=0, parent_idx=-1).ops.add(type="some_type")
    op = parse(message).block(0).ops[0]
    assert op.type == "some_type"


@pytest.mark.parametrize(
    "binary, error", [(b"\xff", ValueError), ("text", TypeError), (None, TypeError)]
)
def test_what_is_no_program_raises(binary, error):
    with pytest.raises(error):
        Program.parse_from_string(binary)
