"""Programs as Python source: executed, it makes the same bytes."""

import random
import xml.etree.ElementTree as xml

import pytest
from test_wire_bytes import random_program

import described
from dygraph import static

CONTROL = {i: None for i in range(32) if i not in (9, 10, 13)}  # what XML cannot hold


def rebuilt(program):
    code = static.to_code(program)
    scope = {}
    exec(code, scope)
    return code, scope["program"]


def check(program):
    code, made = rebuilt(program)
    assert made.serialize_to_string() == program.serialize_to_string()
    return code, made


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("make", [described.trained, described.inference])
def test_described_programs(make, which):
    program = make()[which]
    program.random_seed = 7
    code, made = check(program)
    assert "parse_from_string" not in code and "extend" not in code  # nothing is hidden in bytes
    assert made.random_seed == 7
    assert static.to_code(made) == code
    for mine, theirs in zip(made.list_vars(), program.list_vars(), strict=True):
        assert type(mine) is type(theirs) and mine.name == theirs.name
        assert (mine.is_data, mine.stop_gradient) == (theirs.is_data, theirs.stop_gradient)


def test_rebuilt_program_trains_to_the_same_bits():
    main, startup, loss = described.trained()
    losses = []
    for program, first in ((main, startup), (rebuilt(main)[1], rebuilt(startup)[1])):
        scope, executor = static.Scope(), static.Executor()
        static.default_startup_program()
        first.random_seed = program.random_seed = 5
        for op in first.global_block().ops:
            if op.has_attr("seed"):
                op.set_attr("seed", 5)
        executor.run(first, scope=scope)
        fetched = [
            executor.run(program, described.batch(i), [loss.name], scope=scope)[0] for i in range(5)
        ]
        losses.append([value.tobytes() for value in fetched])
    assert losses[0] == losses[1] and len(set(losses[0])) == 5


def test_attributes_of_every_wire_type():
    program = static.Program()
    block = program.global_block()
    program.create_block(0)
    program.rollback()
    values = {
        "INT": -3, "FLOAT": 0.1, "STRING": "a'\"\n\\é\0", "INTS": [1, -2], "FLOATS": [1e-45, 3e38],
        "STRINGS": ["", "b"], "BOOLEAN": False, "BOOLEANS": [True, False], "BLOCK": 1,
        "LONG": -(1 << 62), "BLOCKS": [1, 0], "LONGS": [1 << 40, 0],
    }  # fmt: skip
    op = block.append_described("mine", {"X": ["a", "b"], "None": []}, {"Out": ["c"]})
    for kind, value in values.items():
        op.set_attr(kind.lower(), value, kind)
    for i, value in enumerate(("inf", "-inf", "nan", "-0.0")):
        op.set_attr(f"f{i}", float(value), "FLOAT")
    op.set_attr("empty", [], "FLOATS")
    code, made = check(program)
    assert "parse_from_string" not in code
    found = made.global_block().ops[0]
    for kind, value in values.items():
        assert found.attr_type(kind.lower()) == kind
        if kind not in ("FLOAT", "FLOATS"):
            assert found.attr(kind.lower()) == value


def test_variables_of_every_type_and_nested_blocks():
    program = static.Program()
    block = program.global_block()
    for kind in ("LOD_TENSOR", "SELECTED_ROWS"):
        block.create_var(name=kind, type=kind, shape=[-1, 2], dtype="float16")
    for kind in ("FEED_MINIBATCH", "FETCH_LIST", "STEP_SCOPES", "READER", "RAW", "LOD_RANK_TABLE"):
        block.create_var(name=kind, type=kind)
    for dtype in ("bool", "uint8", "int8", "int16", "int32", "int64", "float64", "bfloat16"):
        block.create_var(name=dtype, shape=[], dtype=dtype, lod_level=1, persistable=True)
    first = program.create_block()
    first.create_var(name="inner", shape=[3], dtype="float32")
    program.create_block()
    program.rollback()
    program.rollback()
    program.create_block(0, forward_idx=1)
    program.rollback()
    code, made = check(program)
    assert "parse_from_string" not in code
    block.create_var(name="array", type="LOD_TENSOR_ARRAY", shape=[-1, 2], dtype="float16")
    check(program)
    assert [b.parent_idx for b in made.blocks] == [-1, 0, 1, 0]
    assert made.block(3).forward_block_idx == 1


def test_programs_read_from_any_bytes(pb):
    rng = random.Random(3)
    in_bytes = 0
    for _ in range(150):
        message = random_program(pb, rng)
        program = static.Program.parse_from_string(message.SerializeToString())
        in_bytes += "parse_from_string" in check(program)[0]
    assert in_bytes > 20  # what calls cannot say


def test_tools_take_any_program(pb):
    """Names, types and numbers of blocks that mean nothing."""
    rng = random.Random(4)
    last = static.Program()
    for _ in range(150):
        message = random_program(pb, rng)
        program = static.Program.parse_from_string(message.SerializeToString())
        if not program.num_blocks:
            continue
        assert static.debugger.pprint_program_codes(program)
        drawing = static.draw_graph(program)
        assert len(drawing.nodes) >= sum(len(block.ops) for block in program.blocks)
        xml.fromstring(drawing.svg().translate(CONTROL))
        xml.fromstring(program._repr_html_().replace("<br>", "<br/>").translate(CONTROL))
        assert str(static.diff(last, program)) and not static.diff(program, program)
        last = program


def test_an_inference_model_read_back(tmp_path):
    main, startup, out = described.inference()
    scope = static.Scope()
    static.Executor().run(startup, scope=scope)
    static.save_inference_model(
        tmp_path, ["x"], [out], None, main.clone(for_test=True), scope=scope
    )
    program = static.load_inference_model(tmp_path, scope=static.Scope())[0]
    code, _ = check(program)
    assert "append_described('feed'" in code and "parse_from_string" not in code


def test_blocks_are_appended_to_and_left():
    program = static.Program()
    inner = program.create_block()
    assert program.current_block() is inner and inner.idx == 1 and inner.parent_idx == 0
    innermost = program.create_block()
    assert innermost.parent_idx == 1
    program.rollback()
    assert program.current_block() is inner
    program.rollback()
    with pytest.raises(RuntimeError, match="rollback: a block must have been created"):
        program.rollback()
    with pytest.raises(IndexError, match="3 blocks, got block 7"):
        program.create_block(7)


def test_extend_refuses_names_that_are_there():
    a, b = static.Program().global_block(), static.Program().global_block()
    for block in (a, b):
        block.create_var(name="x")
    with pytest.raises(ValueError, match="a variable 'x' already"):
        a.extend(b)
    assert len(a.vars) == 1


def test_misuse_is_typed():
    with pytest.raises(TypeError, match="to_code takes a static.Program, got"):
        static.to_code("x")
    with pytest.raises(TypeError, match="a name of Python, got '1a'"):
        static.to_code(static.Program(), "1a")
