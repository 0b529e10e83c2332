"""While and while_loop: values as of Python's loop, and what they refuse."""

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, PreconditionNotMetError
from dygraph.static import layers


def ints(value):
    return layers.fill_constant([1], "int64", value)


def floats(value, shape=(1,)):
    return layers.fill_constant(list(shape), "float32", value)


def counted(turns, body, i=None):
    """A While of so many turns."""
    i = ints(0) if i is None else i
    n = ints(turns)
    more = layers.less_than(i, n)
    loop = layers.While(more)
    with loop.block():
        body(i)
        layers.increment(i)
        layers.less_than(i, n, cond=more)
    return i


@pytest.mark.parametrize("turns", [0, 1, 5])
def test_while_carries_what_was_made_before(run, turns):
    x = static.data("x", [3], "float32")
    total = floats(0.0, [3])
    i = counted(turns, lambda i: layers.assign(total + x, total))
    value = np.array([0.1, 2.0, -3.0], "float32")
    got, count = run(total, i, x=value)
    wanted = np.zeros(3, "float32")
    for _ in range(turns):
        wanted = wanted + value
    assert np.array_equal(got, wanted) and count.tolist() == [turns]


def test_while_nested(run):
    rows = floats(0.0)

    def outer(i):
        def inner(j):
            layers.assign(rows + 1.0, rows)

        counted(3, inner, ints(0))
        layers.assign(rows * 2.0, rows)

    counted(4, outer)
    wanted = 0.0
    for _ in range(4):
        wanted = (wanted + 3) * 2
    assert run(rows)[0].tolist() == [wanted]
    assert static.default_main_program().num_blocks == 3


def test_while_writes_fluid_s_operator():
    total, unread = floats(0.0), floats(3.0)
    weight = layers.create_parameter([1], "float32", name="w")
    made = []

    def body(i):
        made.append(total + weight)
        layers.assign(made[0], total)
        layers.assign(made[0], unread)

    i = counted(2, body)
    block = static.default_main_program().global_block()
    op = block.ops[-1]
    cond = op.input("Condition")[0]
    assert op.type == "while" and op.attr("sub_block") == 1 and op.attr("is_test") is False
    limit = op.block.ops[-3].output("Out")[0]
    assert op.input("X") == [total.name, "w", i.name, limit]
    assert op.output("Out") == [cond, total.name, unread.name, i.name]
    assert block.var(op.output("StepScopes")[0]).type == "STEP_SCOPES"
    assert made[0].block.idx == 1 and not block.has_var(made[0].name)


def test_a_block_that_raises_is_taken_back():
    program = static.default_main_program()
    total, i = floats(0.0), ints(0)
    more = layers.less_than(i, ints(3))
    before, start = program.serialize_to_string(), static.default_startup_program()
    startup = start.serialize_to_string()
    loop = layers.While(more)
    with pytest.raises(ZeroDivisionError), loop.block():
        layers.assign(layers.concat([total, total]), total)
        layers.fc(layers.reshape(total, [1, 2]), 4)
        raise ZeroDivisionError
    assert program.serialize_to_string() == before and total.shape == (1,)
    assert start.serialize_to_string() == startup
    assert program.num_blocks == 1 and program.current_block().idx == 0
    with loop.block():  # which may be described now
        layers.increment(i)
        layers.less_than(i, ints(3), cond=more)
    assert static.Executor().run(fetch_list=[i])[0].tolist() == [3]


@pytest.mark.parametrize(
    "make, error, text",
    [
        (lambda: ints(1), ArgumentTypeError, "must be one bool, got int64"),
        (lambda: floats(1, [2]) > 0.0, InvalidArgumentError, "must be one bool, got shape"),
        (lambda: True, ArgumentTypeError, "takes variables of programs, got bool"),
        (lambda: dygraph.to_variable([True]), ArgumentTypeError, "Write Python's own loop"),
    ],
)
def test_while_wants_one_bool_of_the_program(make, error, text):
    with pytest.raises(error, match=text):
        layers.While(make())


def test_while_refuses_another_program_s_condition():
    more = ints(0) < ints(1)
    with static.program_guard(static.Program()), pytest.raises(InvalidArgumentError) as error:
        layers.While(more)
    assert "test_loops.py:" in str(error.value)


def test_the_block_must_write_the_condition():
    i = ints(0)
    with (
        pytest.raises(PreconditionNotMetError, match="must write the condition"),
        layers.While(i < ints(1)).block(),
    ):
        layers.increment(i)


def test_the_block_is_described_once():
    loop_of = []
    i = ints(0)
    more = layers.less_than(i, ints(3))
    loop_of.append(layers.While(more))
    with loop_of[0].block():
        layers.less_than(i, i, cond=more)
    with pytest.raises(PreconditionNotMetError, match="Make another While"), loop_of[0].block():
        pass
    assert static.default_main_program().num_blocks == 2


@pytest.mark.parametrize("new, text", [([2], "has the shape"), ([1, 1], "must keep its rank")])
def test_a_turn_must_keep_shapes(new, text):
    x = floats(0.0)
    with pytest.raises(InvalidArgumentError, match=text):
        counted(2, lambda i: layers.assign(floats(1.0, new), x))
    assert x.shape == (1,)


def test_an_open_size_may_change(run):
    x = floats(1.0)
    x.desc.shape = [-1]
    counted(3, lambda i: layers.assign(layers.concat([x, x]), x))
    assert run(x)[0].shape == (8,)


def test_what_is_made_in_a_block_ends_with_it():
    made = []
    counted(2, lambda i: made.append(i + 1))
    with pytest.raises(PreconditionNotMetError, match=r"ends with it.*output=variable"):
        made[0] + 1
    with pytest.raises(PreconditionNotMetError, match="ends with it"):
        layers.relu(made[0])


def test_a_block_left_open_inside():
    program = static.default_main_program()
    i = ints(0)
    more = layers.less_than(i, ints(3))
    with (
        pytest.raises(PreconditionNotMetError, match="must end inside"),
        layers.While(more).block(),
    ):
        layers.less_than(i, i, cond=more)
        program.create_block()
    assert program.num_blocks == 1 and program.current_block().idx == 0


# while_loop ---------------------------------------------------------------------------------------


def collatz(n, steps):
    half = n // 2
    odd = n - 2 * half
    return odd * (3 * n + 1) + (1 - odd) * half, steps + 1


@pytest.mark.parametrize("start", [1, 6, 27])
def test_while_loop_as_python_does(run, start):
    def more(n, steps):
        return n > 1

    wanted = start, 0
    while wanted[0] > 1:
        wanted = collatz(*wanted)
    n = static.data("n", [1], "int64")
    described = layers.while_loop(more, collatz, (n, ints(0)))
    assert isinstance(described, tuple)
    got = run(*described, n=np.array([start]))
    assert [v.item() for v in got] == list(wanted)
    eager = layers.while_loop(
        more, collatz, [dygraph.to_variable([start]), dygraph.to_variable([0])]
    )
    assert isinstance(eager, list) and [v.item() for v in eager] == list(wanted)


def test_while_loop_swaps_and_keeps_what_it_is_given(run):
    a, b, i = floats(1.0), floats(2.0), ints(0)
    got = layers.while_loop(lambda a, b, i: i < 3, lambda a, b, i: (b, a, i + 1), [a, b, i])
    assert [v.item() for v in run(*got, a, b, i)] == [2.0, 1.0, 3, 1.0, 2.0, 0]


def test_while_loop_of_structures(run):
    start = [{"x": floats(1.0), "y": [floats(2.0)]}, ints(0)]

    def body(state, i):
        return [{"x": state["y"][0], "y": [state["x"] + state["y"][0]]}, i + 1]

    state, i = layers.while_loop(lambda state, i: i < 6, body, start)
    x, y = 1.0, 2.0
    for _ in range(6):
        x, y = y, x + y
    assert [v.item() for v in run(state["x"], state["y"][0], i)] == [x, y, 6]


def test_while_loop_opens_sizes_that_change(run):
    def body(i, x):
        return [i + 1, layers.concat([x, layers.cast(i, "float32")])]

    i, x = layers.while_loop(lambda i, x: i < 4, body, [ints(0), floats(9.0)])
    assert x.shape == (-1,)
    assert run(x)[0].tolist() == [9.0, 0.0, 1.0, 2.0, 3.0]


def test_while_loop_of_a_sum_that_needs_a_gradient():
    w = layers.create_parameter([1], "float32", name="w")
    i, total = layers.while_loop(
        lambda i, s: i < 3, lambda i, s: [i + 1, s * 2.0 + w], [ints(0), floats(0.0)]
    )
    assert not total.stop_gradient
    body = static.default_main_program().block(1)
    (doubled,) = (op.output("Out")[0] for op in body.ops if op.type == "scale")
    assert not body.var(doubled).stop_gradient


def test_parameters_of_a_turn_that_is_described_again(run):
    made = []

    def body(i, x):
        if not made:
            made.append(layers.create_parameter([1], "float32", name="kept"))
        x = layers.fc(layers.reshape(x, [1, 1]), 1, bias_attr=False)
        return [i + 1, layers.reshape(x, [-1]) + made[0]]

    start = static.data("x", [1], "float32")  # which needs no gradient; after a turn it does
    i, x = layers.while_loop(lambda i, x: i < 2, body, [ints(0), start])
    main = static.default_main_program()
    assert start.stop_gradient and not x.stop_gradient
    assert [p.name for p in main.all_parameters()] == ["kept", "fc_0.w_0"]
    starts = static.default_startup_program().global_block()
    assert sorted(op.output("Out")[0] for op in starts.ops) == ["fc_0.w_0", "kept"]
    static.append_backward(layers.reduce_sum(x))
    static.Executor().run(static.default_startup_program())
    for name, value in (("kept", 5.0), ("fc_0.w_0", 3.0)):
        shape = main.global_block().var(name).shape
        static.global_scope().var(name).set(np.full(shape, value, "float32"))
    wanted = (7.0 * 3 + 5) * 3 + 5
    got = run(x, "fc_0.w_0@GRAD", "kept@GRAD", x=np.array([7], "float32"))
    assert [v.item() for v in got] == [wanted, 2 * 7.0 * 3 + 5, 3 + 1]


def test_while_loop_writes_an_array(run):
    array = layers.create_array("float32")

    def body(i, array):
        return [i + 1, layers.array_write(layers.cast(i, "float32") * 2.0, i, array)]

    i, array = layers.while_loop(lambda i, array: i < 3, body, [ints(0), array])
    each = [layers.array_read(array, ints(k)) for k in range(3)]
    assert [v.item() for v in run(*each)] == [0.0, 2.0, 4.0]


def test_while_loop_whose_condition_is_a_variable_from_before(run):
    flag = layers.fill_constant([1], "bool", True)

    def cond(i, go):
        return go

    i, go = layers.while_loop(cond, lambda i, go: [i + 1, i + 1 < 5], [ints(0), flag])
    assert [v.item() for v in run(i, go, flag)] == [5, False, True]


@pytest.mark.parametrize(
    "arguments, error, text",
    [
        ((1, lambda i: i, 0), ArgumentTypeError, "cond must be a function"),
        ((lambda i: i, None, 0), ArgumentTypeError, "body must be a function"),
        ((lambda i: i, lambda i: i, ()), InvalidArgumentError, "must hold a Variable, got none"),
        ((lambda i: i, lambda i: i, (3,)), ArgumentTypeError, "must hold Variables, got int"),
        ((lambda i: i, lambda i: i), ArgumentTypeError, "must be one bool, got int64"),
        ((lambda i: i < 2, lambda i: (i, i)), InvalidArgumentError, "got a list of 2|got a tuple"),
        (
            (lambda i: i < 2, lambda i: layers.cast(i, "float32")),
            ArgumentTypeError,
            "keep the type",
        ),
        ((lambda i: i < 2, lambda i: layers.concat([i, i])), InvalidArgumentError, "one bool"),
        ((lambda i: i < 2, lambda i: layers.reshape(i, [1, 1])), InvalidArgumentError, "the rank"),
        ((lambda i: i < 2, lambda i: 7), ArgumentTypeError, "what body gives"),
    ],
)
def test_while_loop_refuses(arguments, error, text):
    program = static.default_main_program()
    i = ints(0)
    before = program.serialize_to_string()
    cond, body, *given = arguments
    with pytest.raises(error, match=text):
        layers.while_loop(cond, body, given[0] if given else [i])
    assert program.serialize_to_string() == before


def test_while_loop_eager_refuses_another_structure():
    with pytest.raises(InvalidArgumentError, match="body must give what loop_vars hold"):
        layers.while_loop(lambda i: i < 2, lambda i: (i, i), [dygraph.to_variable([0])])


def test_counters_may_want_a_gradient_and_have_none(run):
    """As Fluid's scripts have it, which set stop_gradient on whatever a loop uses."""
    x = static.data("x", [2], "float32")
    x.stop_gradient = False
    i, n = (layers.fill_constant([1], "int64", k) for k in (0, 3))
    more = layers.less_than(i, n)
    for each in (i, n, more):
        each.stop_gradient = False
        assert each.stop_gradient
    s = layers.scale(x, 1.0)
    with layers.While(more).block():
        layers.assign(s * x, output=s)
        layers.increment(i)
        layers.less_than(i, n, cond=more)
    (gradient,) = static.gradients(layers.reduce_sum(s), x)
    got = run(gradient, x=np.array([1.0, 2.0], "float32"))[0]
    assert got.tolist() == [4.0, 32.0]
