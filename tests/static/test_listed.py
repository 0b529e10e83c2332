"""Lists that show an operator: they read as lists, and an edit raises instead of being lost."""

import copy
import pickle

import numpy as np
import pytest

from dygraph import static


@pytest.fixture
def program():
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [2, 3])
        y = static.layers.relu(static.layers.scale(x, 2.0))
        static.layers.transpose(y, [1, 0])
    return main


LIST_EDITS = {
    "append": lambda v: v.append(v[0]),
    "extend": lambda v: v.extend(v[:1]),
    "insert": lambda v: v.insert(0, v[0]),
    "pop": lambda v: v.pop(0),
    "remove": lambda v: v.remove(v[0]),
    "clear": lambda v: v.clear(),
    "sort": lambda v: v.sort(key=id),
    "reverse": lambda v: v.reverse(),
    "del": lambda v: v.__delitem__(0),
    "assignment": lambda v: v.__setitem__(0, v[-1]),
    "slice": lambda v: v.__setitem__(slice(None), []),
    "+=": lambda v: v.__iadd__([v[0]]),
    "*=": lambda v: v.__imul__(2),
}
DICT_EDITS = {
    "pop": lambda v: v.pop(next(iter(v))),
    "popitem": lambda v: v.popitem(),
    "clear": lambda v: v.clear(),
    "update": lambda v: v.update(a=1),
    "setdefault": lambda v: v.setdefault("a", 1),
    "del": lambda v: v.__delitem__(next(iter(v))),
    "assignment": lambda v: v.__setitem__("a", 1),
    "|=": lambda v: v.__ior__({"a": 1}),
}
LISTS = {
    "program.blocks": (lambda p: p.blocks, r"program\.create_block\(\)"),
    "op.input(slot)": (lambda p: p.global_block().ops[0].input("X"), r"op\.set_input"),
    "op.output(slot)": (lambda p: p.global_block().ops[0].output("Out"), r"op\.set_output"),
    "op.input_arg_names": (lambda p: p.global_block().ops[0].input_arg_names, "set_input"),
    "op.output_arg_names": (lambda p: p.global_block().ops[0].output_arg_names, "set_output"),
    "op.inputs": (lambda p: p.global_block().ops[0].inputs["X"], "set_input"),
    "op.attr(name)": (lambda p: p.global_block().ops[2].attr("axis"), r"op\.set_attr"),
    "op.attrs": (lambda p: p.global_block().ops[2].attrs["axis"], r"op\.set_attr"),
}
DICTS = {
    "op.inputs": (lambda p: p.global_block().ops[0].inputs, r"op\.set_input"),
    "op.outputs": (lambda p: p.global_block().ops[0].outputs, r"op\.set_output"),
    "op.attrs": (lambda p: p.global_block().ops[0].attrs, r"op\.set_attr"),
}
CASES = [(what, *LISTS[what], how, edit) for what in LISTS for how, edit in LIST_EDITS.items()] + [
    (what, *DICTS[what], how, edit) for what in DICTS for how, edit in DICT_EDITS.items()
]


@pytest.mark.parametrize(
    "what, get, fix, how, edit", CASES, ids=[f"{case[0]}-{case[3]}" for case in CASES]
)
def test_an_edit_raises_and_changes_nothing(program, what, get, fix, how, edit):
    before, shown = program.serialize_to_string(), copy.copy(get(program))
    with pytest.raises(NotImplementedError, match=fix) as error:
        edit(get(program))
    assert str(error.value).startswith(f"{what}: ")
    assert program.serialize_to_string() == before and get(program) == shown


def test_assigning_the_lists_themselves(program):
    op = program.global_block().ops[0]
    for owner, name in ((program, "blocks"), (op, "inputs"), (op, "attrs"), (op, "type")):
        with pytest.raises(AttributeError):
            setattr(owner, name, [])
    assert len(program.global_block().ops) == 3


def test_the_calls_that_the_messages_name(program):
    """What is edited by them runs as edited, and is written so."""
    block, x = program.global_block(), -np.ones((2, 3), "float32")
    last = block.ops[-1].output("Out")[0]
    run = lambda: static.Executor().run(program, {"x": x}, [last])[0].tolist()  # noqa: E731
    assert run() == [[0, 0]] * 3
    block.ops[0].set_attr("scale", -3.0)
    assert run() == [[3, 3]] * 3
    block.ops[2].set_input("X", [block.ops[0].output("Out")[0]])
    block.remove_op(1)
    assert run() == [[3, 3]] * 3 and [op.type for op in block.ops] == ["scale", "transpose2"]
    again = static.Program.parse_from_string(program.serialize_to_string())
    assert [op.type for op in again.global_block().ops] == ["scale", "transpose2"]


def test_they_read_and_copy_as_lists_and_dicts(program):
    block = program.global_block()
    names = block.ops[0].input("X")
    assert names == ["x"] and repr(names) == "['x']" and "x" in names
    for made in (copy.copy(names), copy.deepcopy(names), pickle.loads(pickle.dumps(names))):
        assert type(made) is list and made == ["x"]
        made.append("y")
    slots = block.ops[0].inputs
    assert slots["X"] == ["x"] and repr(slots["X"]) == "['x']"
    for made in (copy.deepcopy(slots), pickle.loads(pickle.dumps(slots)), slots.copy()):
        made["Y"] = []
