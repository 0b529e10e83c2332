"""Examples of the documents give the programs that Fluid 1.8.5 printed for them.

`reference/` holds its texts. They are compared as messages: attributes and variables by name, empty
slots and empty lists of bookkeeping as absent. A scalar's shape is [] here and [1] there; call
stacks and numbered scopes of names are not compared.
"""

import re
from pathlib import Path

import numpy as np
import pytest

import dygraph
import dygraph.static as fluid

FOLDER = Path(__file__).parent / "reference"
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]|[^\s{}]+')
LOSS = 256.0
OF_TABLES = (  # on servers
    "epmap grad_inplace height_sections is_distributed remote_prefetch table_names trainer_id"
).split()
NOT_COMPARED = {"op_callstack", "op_namescope"}


def fields(tokens):
    """[(name, text or fields), ...] up to the closing brace."""
    found = []
    for name in tokens:
        if name == "}":
            break
        value = next(tokens)
        found.append((name.rstrip(":"), fields(tokens) if value == "{" else value.strip('"')))
    return found


def parse(text):
    return fields(iter(TOKEN.findall(text)))


def all_of(message, name):
    return [value for key, value in message if key == name]


def one_of(message, name):
    return all_of(message, name)[0]


def value_of(text):
    """A number as float32 has it; any other text as it stands."""
    try:
        return float(np.float32(text))
    except ValueError:
        return text


def operator(message):
    slots = {}
    for side in ("inputs", "outputs"):
        for slot in all_of(message, side):
            if all_of(slot, "arguments"):
                slots[one_of(slot, "parameter")] = all_of(slot, "arguments")
    attrs = {}
    for attr in all_of(message, "attrs"):
        name = one_of(attr, "name")
        values = [value_of(v) for key, v in attr if key not in ("name", "type")]
        if name not in NOT_COMPARED and not (name == "op_role_var" and not values):
            attrs[name] = (one_of(attr, "type"), values)
    return one_of(message, "type"), slots, attrs


def without_scalar(message):
    """A description with [1] in place of a scalar's []."""
    if not isinstance(message, list):
        return message
    if all_of(message, "data_type") and not all_of(message, "dims"):
        return [*message, ("dims", "1")]
    return [(key, without_scalar(value)) for key, value in message]


def blocks(text):
    """For each block: its operators in order, its variables by name."""
    message = parse(text)
    found = []
    for block in all_of(message, "blocks"):
        variables = {one_of(v, "name"): without_scalar(v) for v in all_of(block, "vars")}
        found.append(([operator(op) for op in all_of(block, "ops")], variables))
    return found, all_of(message, "version")


def scalar_ones(operators):
    """The seed of a scalar loss has the shape [1] in Fluid."""
    for type, _, attrs in operators:
        if type == "fill_constant" and attrs["shape"] == ("LONGS", []):
            attrs["shape"] = ("LONGS", [1.0])


def assert_same(program, name):
    ours, version = blocks(str(program))
    theirs, their_version = blocks((FOLDER / f"{name}.txt").read_text())
    assert version == their_version and len(ours) == len(theirs)
    for (ops, variables), (their_ops, their_variables) in zip(ours, theirs, strict=True):
        scalar_ones(ops)
        assert [op[0] for op in ops] == [op[0] for op in their_ops]
        for mine, their in zip(ops, their_ops, strict=True):
            assert mine == their
        assert variables == their_variables


def assert_same_forward(program, name):
    """The same of operators that are not of the backward pass or an update, and their variables.

    Fluid orders what a block uses of others as Python's sets happen to.
    """
    ours, theirs = (
        blocks(text)[0] for text in (str(program), (FOLDER / f"{name}.txt").read_text())
    )
    for mine, their in zip(ours, theirs[: len(ours)], strict=True):
        mine, their = (_forward(*block) for block in (mine, their))
        scalar_ones(mine[0])
        assert [op[0] for op in mine[0]] == [op[0] for op in their[0]]
        for op, other in zip(mine[0], their[0], strict=True):
            assert op == other
        assert mine[1] == their[1]


def _forward(ops, variables):
    ops = [op for op in ops if op[2]["op_role"][1] in ([0.0], [LOSS])]
    for type, slots, attrs in ops:
        attrs["op_role"] = ("INT", [0.0])  # a loss is marked when its backward pass is made
        if type == "while":
            slots.update({slot: sorted(names) for slot, names in slots.items()})
        for name in OF_TABLES if type == "lookup_table" else ():
            attrs.pop(name, None)
    used = {name for _, slots, _ in ops for names in slots.values() for name in names}
    return ops, {name: v for name, v in variables.items() if name in used}


def while_array():
    d0 = fluid.layers.data("d0", shape=[10], append_batch_size=False, dtype="float32")
    d1 = fluid.layers.data("d1", shape=[10], append_batch_size=False, dtype="float32")
    i = fluid.layers.fill_constant([1], "int64", 0)
    data_array = fluid.layers.array_write(d0, i)
    fluid.layers.increment(i)
    fluid.layers.array_write(d1, i, array=data_array)
    i = fluid.layers.fill_constant([1], "int64", 0)
    mem_array = fluid.layers.array_write(fluid.layers.fill_constant([10], "float32", 0.0), i)
    n = fluid.layers.fill_constant([1], "int64", 2)
    cond = fluid.layers.less_than(i, n)
    with fluid.layers.While(cond).block():
        d = fluid.layers.array_read(data_array, i)
        prev = fluid.layers.array_read(mem_array, i)
        result = fluid.layers.sums([d, prev])
        fluid.layers.increment(i)
        fluid.layers.array_write(result, i, array=mem_array)
        fluid.layers.less_than(i, n, cond=cond)
    return fluid.layers.mean(fluid.layers.array_read(mem_array, i))


def dynamic_rnn():
    trg = fluid.layers.data("trg", shape=[1], dtype="int64", lod_level=1)
    enc = fluid.layers.data("enc", shape=[8], dtype="float32")
    words = fluid.layers.embedding(trg, size=[30, 6], is_sparse=True)
    rnn = fluid.layers.DynamicRNN()
    with rnn.block():
        word = rnn.step_input(words)
        before = rnn.memory(init=enc)
        after = fluid.layers.fc([word, before], size=8, act="tanh")
        scores = fluid.layers.fc(after, size=30, act="softmax")
        rnn.update_memory(before, after)
        rnn.output(scores)
    return fluid.layers.mean(rnn())


@pytest.mark.parametrize("example", [while_array, dynamic_rnn], ids=lambda f: f.__name__)
def test_blocks_are_those_of_fluid(example):
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), dygraph.unique_name.guard():
        example()
    assert_same_forward(main, f"{example.__name__}.main")


OURS = {  # which Fluid's operators lack
    "while_grad": {"restored", "term_names", "term_counts"},
    "write_to_array": {"add"},
    "scale": {"bias", "bias_after_scale"},
}


def backward_of(text):
    """Operators of the backward pass of each block, and which block each belongs to.

    As one text has them whose loops add up gradients of their own accord. Fluid makes zeros for
    what arrives at a loop without a gradient, and lists the variables of a block in random order.
    """
    found = []
    for block, (ops, _) in zip(all_of(parse(text), "blocks"), blocks(text)[0], strict=True):
        ops = [op for op in ops if op[2]["op_role"][1][0] == 1.0]
        for type, slots, attrs in ops:
            attrs.pop("op_role_var", None)  # Fluid marks the array's reader, not its maker
            for slot in ("Rest", "X_W"):
                slots.pop(slot, None)
            for name in OURS.get(type, ()):
                attrs.pop(name, None)
            for name in OF_TABLES if type == "lookup_table_grad" else ():
                attrs.pop(name, None)
            if type == "while_grad":
                whole = dict(zip(slots["X"], slots["X@GRAD"], strict=True))
                slots["X@GRAD"] = {k: v for k, v in whole.items() if k not in slots["Out"]}
                slots["X"] = sorted(name for name in slots["X"] if name not in slots["Out"])
                slots["Out"] = sorted(slots["Out"])
        forward = all_of(block, "forward_block_idx")
        found.append((one_of(block, "parent_idx"), forward, ops))
    return found


def variables_of(text):
    """Gradients that each block declares: type and sizes.

    Fluid writes ``lod_level: 0`` and ``persistable: false`` for some and not for others.
    """

    def said(value):
        if not isinstance(value, list):
            return value
        unsaid = [("lod_level", "0"), ("persistable", "false")]
        return [(name, said(v)) for name, v in value if (name, v) not in unsaid]

    return [
        {name: said(v) for name, v in variables.items() if name.endswith("@GRAD")}
        for _, variables in blocks(text)[0]
    ]


def assert_same_gradients(ours, theirs):
    """Fluid declares gradients of arrays in the block of the gradient, too, as if it had others."""
    for mine, their in zip(variables_of(ours), variables_of(theirs), strict=True):
        more = {name: v for name, v in their.items() if name not in mine}
        assert mine == {name: v for name, v in their.items() if name not in more}
        assert all("LOD_TENSOR_ARRAY" in str(v) for v in more.values())


@pytest.mark.parametrize("example", [while_array, dynamic_rnn], ids=lambda f: f.__name__)
def test_gradients_of_blocks_are_those_of_fluid(example):
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), dygraph.unique_name.guard():
        loss = example()
        if example is dynamic_rnn:
            fluid.optimizer.SGD(0.1).minimize(loss)
        else:
            arrays = [main.global_block().var(f"array_write_{n}.out") for n in (0, 2)]
            fluid.gradients(loss, arrays)
    texts = str(main), (FOLDER / f"{example.__name__}.main.txt").read_text()
    assert_same_gradients(*texts)
    ours, theirs = map(backward_of, texts)
    assert [block[:2] for block in ours] == [block[:2] for block in theirs]
    for (*_, mine), (*_, their) in zip(ours, theirs, strict=True):
        assert [op[0] for op in mine] == [op[0] for op in their]
        for op, other in zip(mine, their, strict=True):
            if op[0] == "while_grad":
                # an array that a turn adds to begins empty here, with zeros there
                assert set(op[1].pop("Out@GRAD")) <= set(other[1].pop("Out@GRAD"))
                op[2].pop("original_output_grad"), other[2].pop("original_output_grad")
            assert op == other


def fit_a_line():
    x = fluid.layers.data(name="x", shape=[13], dtype="float32")
    y_predict = fluid.layers.fc(input=x, size=1, act=None)
    y = fluid.layers.data(name="y", shape=[1], dtype="float32")
    cost = fluid.layers.square_error_cost(input=y_predict, label=y)
    avg_cost = fluid.layers.mean(cost)
    fluid.optimizer.SGD(learning_rate=0.01).minimize(avg_cost)


def conv_adam_5_statements():
    image = fluid.data(name="image", shape=[None, 3, 224, 224], dtype="float32")
    result = fluid.layers.conv2d(input=image, num_filters=64, filter_size=3)
    loss = fluid.layers.reduce_mean(result)
    adam = fluid.optimizer.Adam(learning_rate=1e-3)
    adam.minimize(loss)


def paramattr():
    x = fluid.layers.data(name="x", shape=[13], dtype="float32")
    w_param_attrs = fluid.ParamAttr(
        name=None,
        initializer=fluid.initializer.Uniform(low=-1.0, high=1.0, seed=0),
        learning_rate=1.0,
        regularizer=fluid.regularizer.L1Decay(1.0),
        trainable=True,
    )
    y_predict = fluid.layers.fc(input=x, size=1, param_attr=w_param_attrs)
    clip = dygraph.nn.ClipGradByValue(-1.0, 1.0)
    fluid.optimizer.SGD(learning_rate=0.1, grad_clip=clip).minimize(fluid.layers.mean(y_predict))


@pytest.mark.parametrize(
    "example", [fit_a_line, paramattr, conv_adam_5_statements], ids=lambda f: f.__name__
)
def test_programs_are_those_of_fluid(example):
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 1
    with fluid.program_guard(main, startup), dygraph.unique_name.guard():
        example()
    assert_same(main, f"{example.__name__}.main")
    assert_same(startup, f"{example.__name__}.startup")


def test_create_var_as_fluid_prints_it():
    """An unused variable, in a program of its own; the default programs stay empty."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        cur_block = fluid.Program().current_block()
        new_var = cur_block.create_var(name="X", shape=[-1, 16, 16], dtype="float32")
    for program, name in ((main, "create_var.main"), (startup, "create_var.startup")):
        assert_same(program, name)
    wanted = """name: "X" type { type: LOD_TENSOR lod_tensor { tensor { data_type: FP32
        dims: -1 dims: 16 dims: 16 } } }"""
    assert parse(str(new_var)) == parse(wanted)


@pytest.mark.parametrize(
    "example", [fit_a_line, paramattr, conv_adam_5_statements], ids=lambda f: f.__name__
)
def test_each_is_printed_as_code(example):
    """One line for each operator, with its inputs, outputs and attributes."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), dygraph.unique_name.guard():
        example()
    for program in (main, startup):
        ops = program.global_block().ops
        lines = fluid.debugger.pprint_program_codes(program).splitlines()
        lines = [line for line in lines if " = " in line]
        for op, line in zip(ops, lines, strict=True):
            left, right = line.split(" = ", 1)
            assert right.startswith(f"{op.type}(")
            assert all(name in left for name in op.output_arg_names)
            assert all(name in right for name in op.input_arg_names)
