"""Float attributes in files: a FLOAT for all readers, and all digits behind it for float64."""

import numpy as np
import pytest

import dygraph
import fuzz_calls
from dygraph import _core, jit, nn, optimizer, static
from dygraph.errors import FormatError
from dygraph.static.source import to_code
from float64_calls import PAIRS, bits, telling

X = np.array([[-1.7, 0.3], [0.9, 2.6]])
RATE = 1 / 64  # a program holds the rate in float32, as Fluid's does


def described(op, call):
    """(program, feeds by name, results by slot) of a call."""
    program, feeds, slots = static.Program(), {}, {}
    block = program.global_block()
    lists = {s["name"] for s in fuzz_calls.describe(op)["inputs"] if s["duplicable"]}
    for slot, values in call.inputs.items():
        made = []
        for v in values:
            name = f"v{len(feeds)}"
            feeds[name] = v
            made.append(
                block.create_var(
                    name=name, shape=list(v.shape), dtype=v.dtype, lod_level=len(_core.lod(v))
                )
            )
        if made:
            slots[slot] = made if slot in lists else made[0]
    with program.appending_to(block):
        results = _core.run_op(op, slots, call.attrs, call.outputs)
    return program, feeds, results


def run(program, feeds, names):
    prepared = _core.PreparedProgram(program.desc, _core.Scope(), list(feeds), names, None)
    return prepared.run(list(feeds.values()), (7, 0))


def again(program):
    return static.Program.parse_from_string(program.serialize_to_string())


def from_code(program):
    names = {}
    exec(to_code(program), names)
    return names["program"]


@pytest.mark.parametrize(("op", "name"), PAIRS)
def test_programs_have_the_bits_of_eager_calls(op, name):
    call = telling(op, name)
    kinds = [v for values in (call.inputs.values() if call else ()) for v in values]
    if call is None or any(_core.is_selected_rows(v) for v in kinds):
        return
    program, feeds, results = described(op, call)
    assert program.global_block().ops[0].attr(name) == call.attrs[name]
    _core.set_generator_state(7, 0)
    want = bits({s: v if isinstance(v, list) else [v] for s, v in
                 _core.run_op(op, call.inputs, call.attrs, call.outputs).items()})  # fmt: skip
    flat = {s: v if isinstance(v, list) else [v] for s, v in results.items()}
    names = [v.name for values in flat.values() for v in values if v is not None]
    for each in (program, again(program), again(again(program)), from_code(program)):
        found = iter(run(each, feeds, names))
        got = {s: [next(found) if v is not None else None for v in vs] for s, vs in flat.items()}
        assert bits(got) == want


def scaled(dtype, **attrs):
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x = static.data("x", [2, 2], dtype)
        y = _core.ops.scale(x, **attrs)
    return program, y


def attrs_of(pb, program):
    message = pb.ProgramDesc()
    message.ParseFromString(program.serialize_to_string())
    (op,) = [op for op in message.blocks[0].ops if op.type == "scale"]
    return {a.name: a for a in op.attrs}


def test_the_form_of_a_file(pb):
    program, y = scaled("float64", scale=0.1, bias=0.5)
    attrs = attrs_of(pb, program)
    assert attrs["scale"].type == pb.FLOAT and attrs["scale"].f == np.float32(0.1)
    assert attrs["scale@float64"].type == pb.STRING and attrs["scale@float64"].s == "0.1"
    assert attrs["bias"].f == 0.5 and "bias@float64" not in attrs  # a float has it exactly
    op = again(program).global_block().ops[0]
    assert op.attr("scale") == 0.1 and op.attr_type("scale") == "FLOAT"
    assert not op.has_attr("scale@float64") and "scale@float64" not in op.attr_names
    assert 's: "0.1"' in str(program) and not static.diff(program, again(program), callstack=True)
    assert "('FLOAT', 0.1)" in to_code(program) and "@float64" not in to_code(program)
    again(program).desc.verify()


@pytest.mark.parametrize("number", [1 / 3, 5e-324, 1e300, -1.7976931348623157e308, 2**53 + 2.0])
def test_numbers_of_every_size(number):
    program, y = scaled("float64", bias=number)
    want = (np.zeros((2, 2)) + number).tobytes()
    for each in (program, again(program)):
        found = static.Executor().run(each, {"x": np.zeros((2, 2))}, [y.name])[0]
        assert found.tobytes() == want


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_other_types_have_a_float_alone(pb, dtype):
    program, y = scaled(dtype, scale=0.1)
    assert not [name for name in attrs_of(pb, program) if "@" in name]
    op = program.global_block().ops[0]
    assert op.attr("scale") == np.float32(0.1) and "@float64" not in str(program)
    op.set_attr("scale", 0.3)
    assert op.attr("scale") == np.float32(0.3)
    assert not [name for name in attrs_of(pb, program) if "@" in name]


def test_an_appended_operator_and_an_edit_keep_all_digits():
    program = static.Program()
    block = program.global_block()
    for name in "xy":
        block.create_var(name=name, shape=[2, 2], dtype="float64")
    op = block.append_op("scale", {"X": "x"}, {"Out": "y"}, {"scale": 0.1})
    assert op.attr("scale") == 0.1 and again(program).global_block().ops[0].attr("scale") == 0.1
    op.set_attr("scale", 0.3)
    found = static.Executor().run(again(program), {"x": X}, ["y"])[0]
    assert found.tobytes() == (X * 0.3).tobytes()
    other = again(program)
    other.global_block().ops[0].set_attr("scale", float(np.float32(0.3)))
    assert "scale" in str(static.diff(program, other))


def damage(pb, program, change):
    message = pb.ProgramDesc()
    message.ParseFromString(program.serialize_to_string())
    (op,) = [op for op in message.blocks[0].ops if op.type == "scale"]
    change({a.name: a for a in op.attrs}, op)
    return message.SerializeToString()


def number(pb):
    def change(attrs, op):
        attrs["scale@float64"].type = pb.FLOAT
        attrs["scale@float64"].f = 0.1

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda attrs, op: setattr(attrs["scale@float64"], "s", "0.2"),
        lambda attrs, op: setattr(attrs["scale@float64"], "s", "0.1 "),
        lambda attrs, op: setattr(attrs["scale@float64"], "s", ""),
        lambda attrs, op: setattr(attrs["scale@float64"], "s", "nan"),
        lambda attrs, op: op.attrs.remove(attrs["scale"]),
        number,
    ],
)
def test_digits_that_do_not_fit_are_refused(pb, change):
    program, y = scaled("float64", scale=0.1)
    change = change(pb) if change is number else change
    with pytest.raises(
        FormatError, match="scale@float64 must be a string with the digits of scale"
    ):
        read = static.Program.parse_from_string(damage(pb, program, change))
        static.Executor().run(read, {"x": X}, [y.name])


def test_the_order_of_the_two_is_free(pb):
    def swap(attrs, op):
        kept = list(op.attrs)
        del op.attrs[:]
        op.attrs.extend(reversed(kept))

    program, y = scaled("float64", scale=0.1)
    read = static.Program.parse_from_string(damage(pb, program, swap))
    assert static.Executor().run(read, {"x": X}, [y.name])[0].tobytes() == (X * 0.1).tobytes()


def test_a_float64_of_paddle_stays_one(pb):
    def widen(attrs, op):
        op.attrs.remove(attrs["scale@float64"])
        attrs["scale"].Clear()
        attrs["scale"].name, attrs["scale"].type, attrs["scale"].float64 = "scale", pb.FLOAT64, 0.1

    program, y = scaled("float64", scale=0.1)
    binary = damage(pb, program, widen)
    read = static.Program.parse_from_string(binary)
    assert read.serialize_to_string() == binary
    assert read.global_block().ops[0].attr_type("scale") == "FLOAT64"
    assert static.Executor().run(read, {"x": X}, [y.name])[0].tobytes() == (X * 0.1).tobytes()


def test_a_saved_network_has_the_bits_of_the_eager_one(tmp_path):
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.norm = nn.LayerNorm(2, dtype="float64")

        def forward(self, x):
            y = nn.functional.leaky_relu(self.norm(x), 0.1)
            return nn.functional.pad(y, [1, 0], value=0.1)

    net = Net()
    x = _core.to_variable(X)
    _, traced = jit.trace(net, [x])
    traced.save_inference_model(tmp_path / "net")
    (found,) = jit.load(tmp_path / "net")([x])
    assert found.numpy().tobytes() == traced([x])[0].numpy().tobytes() == net(x).numpy().tobytes()


@pytest.mark.parametrize("name", ["AdamOptimizer", "AdamW", "RMSProp", "Lamb", "Adagrad", "Adamax"])
def test_training_in_float64_has_the_bits_of_eager_steps(name):
    steps = [np.random.RandomState(i).normal(size=(2, 2)) for i in range(3)]
    p = dygraph.Parameter(X)
    rule = getattr(optimizer, name)(RATE, parameter_list=[p])
    for g in steps:
        (p * _core.to_variable(g)).sum().backward()
        rule.step()
        rule.clear_grad()
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        g = static.data("g", [2, 2], "float64")
        w = static.create_parameter(
            [2, 2], "float64", "w", default_initializer=static.initializer.NumpyArrayInitializer(X)
        )
        getattr(static.optimizer, name)(RATE).minimize(static.layers.reduce_sum(w * g))
    scope, exe = static.Scope(), static.Executor()
    with static.scope_guard(scope):
        exe.run(again(startup))
        for g in steps:
            found = exe.run(again(main), {"g": g}, ["w"])[0]
    assert found.tobytes() == p.numpy().tobytes()
