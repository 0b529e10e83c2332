"""Edits of a program, drawn at random: each is seen by the next run and stands in the bytes."""

import copy
import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dygraph import static
from dygraph.errors import (
    AlreadyExistsError,
    ArgumentTypeError,
    InvalidArgumentError,
    OutOfRangeError,
    PreconditionNotMetError,
)

X = np.array([1.0, -2.0, 0.5], "float32")
FACTORS = [-2.0, -1.0, 0.5, 2.0, 3.0]  # powers and small numbers: no rounding to speak of


class Model:
    """What the program has to be: operators `Out = factor * X` and names, as plain Python."""

    def __init__(self):
        self.program = static.Program()
        self.block = self.program.global_block()
        self.names, self.ops, self.out, self.gone = [], [], [], {}
        self.executor, self.scope = static.Executor(), static.Scope()
        for name in ("x", "a", "b", "c", "d"):
            self.block.create_var(name=name, shape=[3], dtype="float32")
            self.names.append(name)

    def make(self, read, written, factor, index=None):
        index = len(self.ops) if index is None else index
        op = self.block.insert_op(index, "scale", {"X": read}, {"Out": written}, {"scale": factor})
        self.ops.insert(index, [op, read, written, factor])

    def entry(self, op):
        return next(e for e in self.ops + self.out if e[0] is op)

    def set(self, entries):
        self.out = [e for e in self.ops + self.out if e not in entries]
        self.ops = list(entries)

    def values(self):
        """Every variable that is written, as NumPy computes it; None where nothing gives one."""
        values = {"x" if "x" in self.names else "?": X}
        written = {}
        for _, read, to, factor in self.ops:
            if read not in values or to not in self.names:
                return None
            values[to] = written[to] = values[read] * np.float32(factor)
        return written

    def check(self, pb):
        binary = self.program.serialize_to_string()
        (block,) = pb.ProgramDesc.FromString(binary).blocks
        applied = []
        for op in block.ops:
            (factor,) = (a.f for a in op.attrs if a.name == "scale")
            (read,), (to,) = op.inputs[0].arguments, op.outputs[0].arguments
            applied.append((op.type, read, to, factor))
        assert applied == [("scale", *rest) for _, *rest in self.ops]
        assert [v.name for v in block.vars] == self.names == [*self.block.vars]
        assert static.Program.parse_from_string(binary).serialize_to_string() == binary
        assert self.block.ops == [e[0] for e in self.ops]
        assert [op.idx for op in self.block.ops] == list(range(len(self.ops)))
        wanted, feed = self.values(), {"x": X} if "x" in self.names else {}
        fetch = sorted(wanted) if wanted is not None else [self.ops[-1][2]]
        if wanted is None:
            with pytest.raises((RuntimeError, ValueError, KeyError)):
                self.executor.run(self.program, feed, fetch, scope=static.Scope())
            return
        got = self.executor.run(self.program, feed, fetch, scope=static.Scope())
        for name, value in zip(fetch, got, strict=True):
            np.testing.assert_array_equal(value, wanted[name])


def _index(draw, count):
    return draw(st.integers(-count, count - 1))


def _some(draw, entries):
    return draw(st.permutations(entries))[: draw(st.integers(0, len(entries)))]


def edit(model, draw):
    """One edit of the program, and the same of the model."""
    block, ops = model.block, model.ops
    count, held = len(ops), model.out
    kinds = ["insert_op", "append_op", "assign", "reverse", "slice", "rename", "remove_var", "new"]
    kinds += ["pop", "del", "del slice", "remove", "set_attr", "set_input", "set_output",
              "clear", "sort", "twice"] if count else []  # fmt: skip
    kinds += ["append", "insert", "extend"] if held else []
    kinds += ["replace"] if held and count else []
    kinds += ["put back"] if model.gone else []
    kind = draw(st.sampled_from(kinds))
    name = st.sampled_from(model.names)
    if kind in ("insert_op", "append_op"):
        index = draw(st.integers(0, count)) if kind == "insert_op" else count
        model.make(draw(name), draw(name), draw(st.sampled_from(FACTORS)), index)
    elif kind == "assign":
        entries = _some(draw, ops + held)
        block.ops = [e[0] for e in entries]
        model.set(entries)
    elif kind == "reverse":
        block.ops.reverse()
        model.set(ops[::-1])
    elif kind == "slice":
        begin, end = sorted((draw(st.integers(0, count)), draw(st.integers(0, count))))
        entries = _some(draw, ops[begin:end] + held)
        block.ops[begin:end] = [e[0] for e in entries]
        model.set(ops[:begin] + entries + ops[end:])
    elif kind == "pop":
        index = _index(draw, count)
        assert block.ops.pop(index) is ops[index][0]
        model.set([e for e in ops if e is not ops[index]])
    elif kind == "del":
        index = _index(draw, count)
        del block.ops[index]
        model.set([e for e in ops if e is not ops[index]])
    elif kind == "del slice":
        begin, step = draw(st.integers(0, count)), draw(st.sampled_from([-2, -1, 1, 2]))
        dropped = ops[begin::step]
        del block.ops[begin::step]
        model.set([e for e in ops if e not in dropped])
    elif kind == "remove":
        entry = draw(st.sampled_from(ops))
        block.ops.remove(entry[0])
        model.set([e for e in ops if e is not entry])
    elif kind == "clear":
        block.ops.clear()
        model.set([])
    elif kind == "sort":
        block.ops.sort(key=lambda op: op.attr("scale"))
        model.set(sorted(ops, key=lambda e: e[3]))
    elif kind == "twice":  # an operator stands in one place
        with pytest.raises(AlreadyExistsError, match="scale: an operator stands in one place"):
            draw(st.sampled_from([block.ops.append, lambda op: block.ops.insert(0, op),
                                  lambda op: block.ops.extend([op])]))(ops[-1][0])  # fmt: skip
    elif kind == "append":
        entry = draw(st.sampled_from(held))
        block.ops.append(entry[0])
        model.set([*ops, entry])
    elif kind == "insert":
        entry, index = draw(st.sampled_from(held)), draw(st.integers(-count - 2, count + 2))
        block.ops.insert(index, entry[0])
        mine = list(ops)
        mine.insert(index, entry)
        model.set(mine)
    elif kind == "extend":
        entries = _some(draw, held)
        block.ops += [e[0] for e in entries]
        model.set(ops + entries)
    elif kind == "replace":
        entry, index = draw(st.sampled_from(held)), _index(draw, count)
        block.ops[index] = entry[0]
        mine = list(ops)
        mine[index] = entry
        model.set(mine)
    elif kind == "set_attr":
        entry, factor = draw(st.sampled_from(ops)), draw(st.sampled_from(FACTORS))
        entry[0].set_attr("scale", factor)
        entry[3] = factor
    elif kind == "set_input":
        entry, read = draw(st.sampled_from(ops)), draw(name)
        entry[0].set_input("X", [read])
        entry[1] = read
    elif kind == "set_output":
        entry, written = draw(st.sampled_from(ops)), draw(name)
        entry[0].set_output("Out", block.var(written))
        entry[2] = written
    elif kind == "rename":
        rename(model, draw(name), draw(st.sampled_from(["x", "a", "e", "f"])), draw(st.booleans()))
    elif kind == "remove_var":
        remove(model, draw(name), draw(st.sampled_from(["del", "pop", "call"])))
    elif kind == "new":
        new = next(n for n in map("v{}".format, range(99)) if n not in model.names)
        block.create_var(name=new, shape=[3], dtype="float32")
        model.names.append(new)
    elif kind == "put back":
        back = draw(st.sampled_from(sorted(model.gone)))
        variable = model.gone.pop(back)
        if back in model.names:
            with pytest.raises((InvalidArgumentError, AlreadyExistsError)):
                block.vars[back] = variable
        else:
            block.vars[back] = variable
            assert block.var(back) is variable
            model.names.append(back)


def rename(model, old, new, assign):
    variable = model.block.var(old)
    if new != old and new in model.names:
        with pytest.raises(AlreadyExistsError, match=f"'{new}'"):
            model.block.rename_var(old, new)
        return
    if assign:
        variable.name = new
    else:
        assert model.block.rename_var(old, new) is variable
    assert variable.name == new and model.block.var(new) is variable
    model.names[model.names.index(old)] = new
    for entry in model.ops:
        entry[1:3] = [new if n == old else n for n in entry[1:3]]


def remove(model, name, how):
    variable = model.block.var(name)
    used = [e for e in model.ops if name in e[1:3]]
    call = {
        "del": lambda: model.block.vars.__delitem__(name),
        "pop": lambda: model.block.vars.pop(name),
        "call": lambda: model.block.remove_var(name),
    }[how]
    if used:
        at = model.ops.index(used[0])
        does = "reads" if name == used[0][1] else "writes"
        with pytest.raises(PreconditionNotMetError, match=rf"'{name}'.*operator {at} .*{does} it"):
            call()
        return
    call()
    model.names.remove(name)
    model.gone[name] = variable
    assert name not in model.block.vars and not model.block.has_var(name)


@settings(max_examples=40)
@given(data=st.data())
def test_every_edit_is_seen_by_runs_and_bytes(pb, data):
    model = Model()
    for read, to in (("x", "a"), ("a", "b"), ("b", "c")):
        model.make(read, to, data.draw(st.sampled_from(FACTORS)))
    model.check(pb)
    for _ in range(data.draw(st.integers(1, 8))):
        edit(model, data.draw)
        model.check(pb)


# One by one ---------------------------------------------------------------------------------------


@pytest.fixture
def block():
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [3], "float32")
        static.layers.scale(static.layers.scale(x, 2.0, name="one"), 3.0, name="two")
    return program.global_block()


EDITS = {
    "pop": lambda b: b.ops.pop(0),
    "insert": lambda b: b.ops.insert(0, b.ops.pop()),
    "del": lambda b: b.ops.__delitem__(0),
    "slice": lambda b: b.ops.__setitem__(slice(0, 2), b.ops[1::-1]),
    "assignment": lambda b: setattr(b, "ops", b.ops[:1]),
    "+=": lambda b: b.ops.__iadd__([b.ops.pop(0)]),
    "*=": lambda b: b.ops.__imul__(0),
    "set_attr": lambda b: b.ops[0].set_attr("scale", 5.0),
    "set_input": lambda b: b.ops[1].set_input("X", ["x"]),
    "set_output": lambda b: b.ops[1].set_output("Out", ["x"]),
    "rename_input": lambda b: b.ops[0].rename_input("x", "y"),
    "remove_attr": lambda b: b.ops[0].desc.remove_attr("op_callstack"),
    "rename": lambda b: setattr(b.var("x"), "name", "image"),
    "persistable": lambda b: setattr(b.var("x"), "persistable", True),
    "shape": lambda b: setattr(b.var("x").desc, "shape", [-1]),
    "dtype": lambda b: setattr(b.var("x").desc, "dtype", "float64"),
    "lod_level": lambda b: setattr(b.var("x"), "lod_level", 1),
    "create_var": lambda b: b.create_var(name="more"),
    "create_block": lambda b: b.program.create_block(),
    "variables": lambda b: (b.ops.clear(), b.vars.clear()),
    "append_op": lambda b: b.append_op("relu", {"X": "x"}, {"Out": b.create_var(name="y")}),
    "extend": lambda b: b.extend(_other()),
}


def _other():
    other = static.Program().global_block()
    other.append_op("relu", {"X": other.create_var(name="o", shape=[1], dtype="float32")},
                    {"Out": "o"})  # fmt: skip
    return other


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_moves_the_version_and_the_bytes(block, edit):
    program = block.program
    version, binary, whole = program.version, program.serialize_to_string(), program.desc
    edit(block)
    assert program.version > version and program.serialize_to_string() != binary
    assert whole.to_bytes() == binary  # a description that was taken before stays as it was


def test_reading_moves_no_version(block):
    program, version = block.program, block.program.version
    assert [op.type for op in block.ops] == ["scale", "scale"] and repr(program) and str(program)
    [v.shape for v in block.vars.values()], block.ops[0].attrs, program.clone(), block.vars.copy()
    assert block.ops[0].rename_input("nothing", "else") is None
    assert program.version == version and static.Program().version > version


def test_a_plan_is_that_of_the_edited_program(block):
    """What the executor had prepared before the edit does not run."""
    executor, names = static.Executor(), ["one.tmp_0", "two.tmp_0"]
    run = lambda *names: [  # noqa: E731
        a.tolist() for a in executor.run(block.program, {"x": X}, list(names), scope=static.Scope())
    ]
    assert run(*names) == [(X * 2).tolist(), (X * 6).tolist()]
    block.ops.pop(0)
    assert repr(block) == "<Block 0: 3 variables, 1 operators>"
    with pytest.raises((RuntimeError, ValueError), match="one.tmp_0"):
        run(names[1])
    block.ops[0].set_input("X", "x")
    assert run(names[1]) == [(X * 3).tolist()]


def test_wrong_edits_say_what_to_write_and_change_nothing(block):
    other = static.Program().global_block()
    theirs = other.create_var(name="theirs", shape=[1], dtype="float32")
    op = other.append_op("relu", {"X": theirs}, {"Out": theirs})
    before = block.program.serialize_to_string()
    for edit, error, match in (
        (lambda: block.ops.append("relu"), ArgumentTypeError, r"got str.*block\.append_op"),
        (lambda: block.ops.append(op), AlreadyExistsError, r"relu.*in block 0 already"),
        (lambda: block.ops.__imul__(2), AlreadyExistsError, "stands in one place"),
        (lambda: block.ops.__setitem__(0, block.ops[1]), AlreadyExistsError, "in one place"),
        (lambda: setattr(block, "ops", [*block.ops, None]), ArgumentTypeError, "got None"),
        (lambda: setattr(block, "ops", 3), ArgumentTypeError, "got int"),
        (lambda: block.ops.pop(2), OutOfRangeError, "2 operators, got number 2"),
        (lambda: block.ops["x"], ArgumentTypeError, "a number, got str"),
        (lambda: block.vars.__setitem__("x", None), ArgumentTypeError, r"block\.create_var"),
        (lambda: block.vars.__setitem__("y", block.var("x")), InvalidArgumentError,
         r"rename_var\('x', 'y'\)"),
        (lambda: block.vars.__setitem__("theirs", theirs), AlreadyExistsError, "one block"),
        (lambda: block.vars.pop("x"), PreconditionNotMetError, "scale.*operator 0.*reads it"),
        (lambda: block.vars.clear(), PreconditionNotMetError, r"reads it.*remove_op"),
        (lambda: block.vars.popitem(), PreconditionNotMetError, "'two.tmp_0'.*writes it"),
        (lambda: block.vars.pop("nothing"), KeyError, "nothing"),
        (lambda: setattr(block, "vars", {}), PreconditionNotMetError, "reads it"),
        (lambda: setattr(block, "vars", [1]), ArgumentTypeError, "by name, got list"),
        (lambda: setattr(block, "vars", dict(reversed(block.vars.copy().items()))),
         NotImplementedError, "keep the order"),
        (lambda: block.rename_var("x", "one.tmp_0"), AlreadyExistsError, "one.tmp_0"),
        (lambda: setattr(block.var("x"), "name", ""), ArgumentTypeError, "must be a name"),
        (lambda: static.Variable(), TypeError, r"block\.create_var"),
    ):  # fmt: skip
        with pytest.raises(error, match=match):
            edit()
        assert block.program.serialize_to_string() == before
    assert op.block is other and other.ops == [op]


def test_lists_of_the_same_block_are_one(block):
    ops, names = block.ops, block.vars
    block.ops.pop(1)
    assert len(ops) == 1 and len(names) == 3
    block.create_var(name="more")
    assert "more" in names and list(names)[-1] == "more"
    block.ops += []
    block.vars |= {}
    assert ops == block.ops and names == block.vars and ops[0] in ops and ops[0] is block.ops[0]


def test_slices_copies_and_sums_are_lists_of_their_own(block):
    for mine in (block.ops[:], block.ops + [], [] + block.ops, block.ops.copy(),
                 copy.copy(block.ops), block.ops * 1):  # fmt: skip
        assert type(mine) is list and mine == block.ops
        mine.pop()
    for mine in (block.vars.copy(), copy.copy(block.vars), block.vars | {}, {} | block.vars):
        assert type(mine) is dict and [*mine] == ["x", "one.tmp_0", "two.tmp_0"]
        mine.clear()
    assert len(block.ops) == 2 and len(block.vars) == 3 and len(list(block.vars.items())) == 3


def test_attributes_of_parts_stay_with_them(block):
    """Python's objects are the same at each look, with what was put on them."""
    block.ops[0].note, block.var("x").note = "mine", "too"
    gc.collect()
    assert block.ops[0].note == "mine" and block.var("x").note == "too"
    op = block.ops.pop(0)
    block.ops.append(op)
    assert block.ops[1] is op and op.note == "mine" and op.idx == 1


def test_parts_that_were_taken_out(block):
    op = block.ops.pop()
    with pytest.raises(PreconditionNotMetError, match="it was removed"):
        assert op.idx
    op.set_attr("scale", 7.0)  # and so it comes back
    block.ops.append(op)
    (got,) = static.Executor().run(block.program, {"x": X}, ["two.tmp_0"], scope=static.Scope())
    np.testing.assert_array_equal(got, X * 14)
    block.ops.clear()
    y = block.vars.pop("two.tmp_0")
    with pytest.raises(PreconditionNotMetError, match=r"'two.tmp_0' was taken out"):
        static.layers.relu(y)
    y.stop_gradient = False  # y is no longer in the program
    block.vars["two.tmp_0"] = y
    assert static.layers.relu(y).op.input("X") == ["two.tmp_0"]


# Blocks in blocks ---------------------------------------------------------------------------------


@pytest.fixture
def nested():
    program = static.Program()
    outer = program.global_block()
    for name in ("a", "b"):
        outer.create_var(name=name, shape=[1], dtype="float32")
    inner = program.create_block()
    program.rollback()
    inner.append_described("relu", {"X": ["a"]}, {"Out": ["a"]})
    return outer, inner


def test_renaming_reaches_the_blocks_that_see_the_variable(nested):
    outer, inner = nested
    inner.create_var(name="b", shape=[1], dtype="float32")
    inner.append_described("relu", {"X": ["b"]}, {"Out": ["b"]})
    outer.rename_var("a", "c")
    assert inner.ops[0].input("X") == ["c"] == inner.ops[0].output("Out")
    outer.rename_var("b", "d")  # which the inner block's own hides
    assert inner.ops[1].input("X") == ["b"] and inner.var("b").name == "b"
    for block, old, new in ((outer, "c", "b"), (inner, "b", "c")):
        with pytest.raises(AlreadyExistsError, match=f"'{new}' already, so that '{old}'"):
            block.rename_var(old, new)


def test_a_variable_that_an_inner_block_reads_stays(nested):
    outer, inner = nested
    with pytest.raises(PreconditionNotMetError, match="relu .operator 0 of block 1.*reads it"):
        del outer.vars["a"]
    del outer.vars["b"]
    inner.ops.clear()
    del outer.vars["a"]
    assert not outer.vars


def test_renaming_a_parameter_keeps_its_update():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [None, 2], "float32")
        loss = static.layers.mean(static.layers.fc(x, 1, bias_attr=False))
        ((weight, gradient),) = static.append_backward(loss)
    (op,) = [op for op in main.global_block().ops if gradient.name in op.output_arg_names]
    assert op.attr("op_role_var") == [weight.name, gradient.name]
    main.global_block().rename_var(weight.name, "w")
    main.global_block().rename_var(gradient.name, "g")
    assert op.attr("op_role_var") == ["w", "g"]


def test_programs_with_looked_at_parts_are_freed():
    program = static.Program()
    with static.program_guard(program):
        y = static.layers.relu(static.data("x", [3], "float32"))
    for part in (*program.global_block().ops, *program.global_block().vars.values()):
        part.itself = part
    seen = weakref.ref(program)
    del program, part
    gc.collect()
    assert seen() is y.block.program  # which a variable keeps
    del y
    gc.collect()
    assert seen() is None


def test_the_backward_pass_lets_gradients_through_what_it_writes(block):
    """Also where Python has looked at the variable before."""
    x = block.var("x")
    x.stop_gradient = False
    for name in ("one.tmp_0", "two.tmp_0"):
        block.var(name).stop_gradient = False
    two = block.var("two.tmp_0")
    looked = block.create_var(name="x@GRAD@LATER", shape=[3], dtype="float32", stop_gradient=True)
    (gradient,) = static.gradients(two, x)
    block.rename_var(gradient.name, "first")
    assert looked.stop_gradient and not gradient.stop_gradient
    assert not static.layers.scale(gradient, 2.0).stop_gradient
    gradient.stop_gradient = True
    assert static.layers.scale(gradient, 2.0).stop_gradient
