"""static.diff: what differs between two programs."""

import pytest

import described
from dygraph import static


@pytest.fixture
def pair():
    main = described.trained()[0]
    return main, main.clone()


def lines(difference):
    return [(mark, what) for _, mark, what in difference]


def test_equal_programs(pair):
    found = static.diff(*pair)
    assert not found and len(found) == 0 and str(found) == "no difference"
    read = static.Program.parse_from_string(pair[0].serialize_to_string())
    assert not static.diff(pair[0], read, callstack=True)


def test_variables(pair):
    a, b = pair
    block = b.global_block()
    block.create_var(name="more", shape=[-1, 2], dtype="int64", persistable=True)
    block.var("x").desc.shape = [-1, 5]
    block.var("y").desc.dtype = "float64"
    block.var("fc_0.tmp_0").persistable = True
    a.global_block().create_var(name="rows", type="SELECTED_ROWS")
    assert lines(static.diff(a, b)) == [
        ("-", "variable rows: selected_rows"),
        ("~", "variable x: shape [-1, 3] -> [-1, 5]"),
        ("~", "variable y: dtype 'float32' -> 'float64'"),
        ("~", "variable fc_0.tmp_0: persistable False -> True"),
        ("+", "variable more: persistable int64[-1, 2]"),
    ]


def test_operators_taken_out_put_in_and_changed(pair):
    a, b = pair
    block = b.global_block()
    types = [op.type for op in block.ops]
    mean = types.index("mean")
    block.ops[mean].set_attr("note", 1, "INT")
    block.ops[types.index("mul")].set_attr("x_num_col_dims", 2)
    block.remove_op(len(types) - 1)
    block.insert_op(0, "scale", {"X": "x"}, {"Out": "x"}, {"scale": 2.0})
    found = lines(static.diff(a, b))
    assert found[:-1] == [
        ("+", "operator 0 scale(X=x) -> Out=x"),
        ("~", "operator 0 mul: x_num_col_dims 1 -> 2"),
        ("~", f"operator {mean} mean: note 1 is new"),
    ]
    mark, last = found[-1]
    assert mark == "-" and last.startswith(f"operator {len(types) - 1} sgd(Param=fc_0.w_0, ")


def test_slots_and_types_of_attributes(pair):
    a, b = pair
    op = b.global_block().ops[0]
    op.set_input("Y", ["x"])
    a.global_block().ops[1].set_attr("mine", 1, "INT")
    b.global_block().ops[1].set_attr("mine", 1, "LONG")
    assert lines(static.diff(a, b)) == [
        ("~", "operator 0 mul: Y ['fc_0.w_0'] -> ['x']"),
        ("~", "operator 1 elementwise_add: type of mine INT -> LONG"),
    ]


def test_lines_of_python_count_only_when_asked_for(pair):
    a, b = pair
    b.global_block().ops[0].set_attr("op_callstack", ["elsewhere.py:1"], "STRINGS")
    assert not static.diff(a, b)
    (found,) = lines(static.diff(a, b, callstack=True))
    assert found[1].startswith("operator 0 mul: op_callstack [") and "elsewhere.py:1" in found[1]


def test_blocks(pair):
    a, b = pair
    inner = b.create_block()
    inner.create_var(name="i", shape=[1], dtype="float32")
    inner.append_op("relu", {"X": "i"}, {"Out": "i"})
    b.create_block(0)
    b.rollback()
    a.create_block(0)
    found = static.diff(a, b)
    assert [block for block, _, _ in found] == [1, 1, 2]
    assert lines(found) == [
        ("+", "variable i: float32[1]"),
        ("+", "operator 0 relu(X=i) -> Out=i"),
        ("+", "the block, in block 0"),
    ]
    assert str(found).splitlines()[0] == "block 1" and "\nblock 2\n" in str(found)
    assert repr(found).startswith("<Difference of 3 lines>\nblock 1")
    assert lines(static.diff(b, a))[-1] == ("-", "the block, in block 0")


def test_misuse_is_typed(pair):
    with pytest.raises(TypeError, match="diff takes two static.Programs, got"):
        static.diff(pair[0], "x")
