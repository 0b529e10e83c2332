"""cond, case, switch_case and Switch: values of either way, and what they refuse."""

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.errors import (
    AlreadyExistsError,
    ArgumentTypeError,
    InvalidArgumentError,
    PreconditionNotMetError,
)
from dygraph.static import layers


def floats(value, shape=(1,)):
    return layers.fill_constant(list(shape), "float32", value)


def data(name="x", shape=(2,)):
    return static.data(name, list(shape), "float32")


def array(*values):
    return np.array(values, "float32")


def nothing(*done):
    """What a function gives that only writes."""


def positive(x):
    return layers.reduce_sum(x) > 0.0


# cond ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("values, wanted", [((1, 2), (3, 6)), ((-1, -2), (-2, -3))])
def test_cond_takes_one_way(run, values, wanted):
    x = data()
    y = layers.cond(positive(x), lambda: x * 3.0, lambda: x - 1.0)
    assert run(y, x=array(*values))[0].tolist() == list(wanted)
    eager = dygraph.to_variable(array(*values))
    taken = []
    got = layers.cond(
        positive(eager),
        lambda: taken.append(1) or eager * 3.0,
        lambda: taken.append(2) or eager - 1.0,
    )
    assert got.tolist() == list(wanted) and len(taken) == 1


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_cond_of_structures_and_constants(run, sign):
    x = data()
    got = layers.cond(
        positive(x), lambda: {"a": [x, "up"], "b": x * 2.0}, lambda: {"b": -x, "a": [x + 1.0, "up"]}
    )
    assert got["a"][1] == "up"
    value = array(sign, sign)
    wanted = (value, value * 2) if sign > 0 else (value + 1, -value)
    for mine, theirs in zip(run(got["a"][0], got["b"], x=value), wanted, strict=True):
        assert np.array_equal(mine, theirs)


def test_cond_nested(run):
    x = data(shape=(1,))
    y = layers.cond(
        x > 0.0,
        lambda: layers.cond(x > 10.0, lambda: x * 100.0, lambda: x * 10.0),
        lambda: layers.cond(x < -10.0, lambda: x * 3.0, lambda: x * 2.0),
    )
    for value, factor in ((20.0, 100.0), (2.0, 10.0), (-20.0, 3.0), (-2.0, 2.0)):
        assert run(y, x=array(value))[0].tolist() == [value * factor]


def test_cond_in_a_loop(run):
    def body(i, x):
        return [i + 1, layers.cond(x > 4.0, lambda: x - 3.0, lambda: x * 2.0)]

    i = layers.fill_constant([1], "int64", 0)
    _, x = layers.while_loop(lambda i, x: i < 7, body, [i, data(shape=(1,))])
    for start in (1.0, 9.0):
        wanted = start
        for _ in range(7):
            wanted = wanted - 3 if wanted > 4 else wanted * 2
        assert run(x, x=array(start))[0].tolist() == [wanted]


def test_cond_opens_a_size_in_which_the_ways_differ(run):
    x = data()
    y = layers.cond(positive(x), lambda: x, lambda: layers.concat([x, x]))
    assert y.shape == (-1,)
    assert run(y, x=array(1, 2))[0].shape == (2,) and run(y, x=array(-1, 0))[0].shape == (4,)


def test_cond_without_results_writes_to_what_was_made_before(run):
    x, kept = data(), floats(5.0, [2])
    assert layers.cond(positive(x), lambda: nothing(layers.assign(x, kept))) is None
    assert run(kept, x=array(1, 2))[0].tolist() == [1, 2]
    assert run(kept, x=array(-1, 0))[0].tolist() == [5, 5]
    assert layers.cond(positive(x)) is None


def test_a_write_of_another_size_opens_it(run):
    x, kept = data(), floats(5.0, [3])
    layers.cond(positive(x), lambda: nothing(layers.assign(x, kept)))
    assert kept.shape == (-1,)
    with pytest.raises(InvalidArgumentError, match="must keep its rank"):
        layers.cond(positive(x), lambda: nothing(layers.assign(layers.reshape(x, [1, 2]), kept)))
    assert kept.shape == (-1,)


def test_the_question_is_asked_before_a_way_can_change_it(run):
    flag = layers.fill_constant([1], "bool", True)
    count = floats(0.0)

    def yes():
        layers.assign(layers.fill_constant([1], "bool", False), flag)
        layers.assign(count + 1.0, count)

    def no():
        layers.assign(count + 10.0, count)

    layers.cond(flag, yes, no)
    assert run(count)[0].tolist() == [1.0]


def test_cond_writes_fluid_s_operators():
    x = data()
    pred = positive(x)
    layers.cond(pred, lambda: x * 3.0, lambda: x - 1.0)
    block = static.default_main_program().global_block()
    inverse, yes, no = block.ops[-3:]
    assert [op.type for op in block.ops[-3:]] == ["logical_not"] + ["conditional_block"] * 2
    assert yes.input("Cond") == [pred.name] and no.input("Cond") == inverse.output("Out")
    assert yes.input("Input") == no.input("Input") == ["x"]
    assert yes.output("Out") == no.output("Out")
    assert yes.attr("is_scalar_condition") is True
    assert [yes.attr("sub_block"), no.attr("sub_block")] == [1, 2]


@pytest.mark.parametrize(
    "make, error, text",
    [
        (lambda x: (x, None, None), ArgumentTypeError, "must be one bool, got float32"),
        (lambda x: (x > 0.0, None, None), InvalidArgumentError, r"got shape \(2,\)"),
        (lambda x: (True, None, None), ArgumentTypeError, "got bool"),
        (lambda x: (positive(x), 3, None), ArgumentTypeError, "true_fn must be a function"),
        (lambda x: (positive(x), None, 3), ArgumentTypeError, "false_fn must be a function"),
        (lambda x: (positive(x), lambda: x, None), InvalidArgumentError, "false_fn is None"),
        (lambda x: (positive(x), None, lambda: x), InvalidArgumentError, "true_fn is None"),
        (
            lambda x: (positive(x), lambda: x, lambda: [x, x]), InvalidArgumentError,
            "got a Variable and a list of 2",
        ),
        (
            lambda x: (positive(x), lambda: {"a": x}, lambda: {"b": x}), InvalidArgumentError,
            r"got a dict of \['a'\] and a dict of \['b'\]",
        ),
        (
            lambda x: (positive(x), lambda: x, lambda: layers.create_array("float32")),
            ArgumentTypeError, "got LOD_TENSOR of float32 .* made at .* and LOD_TENSOR_ARRAY of",
        ),
        (lambda x: (positive(x), lambda: [x, 1], lambda: [x, 2]), ArgumentTypeError, "1 and 2"),
    ],
)  # fmt: skip
def test_cond_refuses(make, error, text):
    program = static.default_main_program()
    arguments = make(data())
    before = program.serialize_to_string()
    with pytest.raises(error, match=text):
        layers.cond(*arguments)
    assert program.serialize_to_string() == before and program.num_blocks == 1


def test_a_function_that_raises_leaves_no_block():
    program, x = static.default_main_program(), data()
    pred = positive(x)
    before = program.serialize_to_string()
    with pytest.raises(ZeroDivisionError):
        layers.cond(pred, lambda: layers.fc(layers.reshape(x, [1, 2]), 3), lambda: 1 / 0)
    assert program.serialize_to_string() == before
    assert not static.default_startup_program().global_block().ops


def test_results_of_which_the_type_or_rank_differs(run):
    """As in the examples of Fluid's manual: such a result can be fetched, and no more."""
    x = data()
    pred = positive(x)

    def second():
        return layers.fill_constant([3, 4], "int64", 3), x - 1.0, layers.reshape(x, [2, 1])

    results = layers.cond(pred, lambda: (x * 2.0, x, x), second)
    assert [(v.shape, v.dtype and str(v.dtype)) for v in results] == [
        (None, None), ((2,), "float32"), (None, None),
    ]  # fmt: skip
    (inner,) = layers.cond(pred, lambda: [results[0]], lambda: [layers.cast(x, "int32")])
    assert inner.shape is None
    value = np.array([1, 2], "float32")
    assert [g.tolist() for g in run(*results, inner, x=value)] == [[2, 4], [1, 2], [1, 2], [2, 4]]
    got = run(*results, inner, x=-value)
    assert [g.tolist() for g in got] == [[[3] * 4] * 3, [-2, -3], [[-1], [-2]], [-1, -2]]
    assert [str(g.dtype) for g in got] == ["int64", "float32", "float32", "int32"]
    for use in (lambda v: layers.scale(v, 2.0), lambda v: v + x, layers.mean, layers.assign):
        with pytest.raises(InvalidArgumentError, match="both functions of cond the same type"):
            use(results[0])
    again = static.Program.parse_from_string(static.default_main_program().serialize_to_string())
    fetched = static.Executor().run(again, {"x": value}, [results[0].name])[0]
    assert fetched.tolist() == [2, 4]


# case, switch_case --------------------------------------------------------------------------------


def chosen(x):
    return layers.case(
        [(x < 1.0, lambda: x * 10.0), (x < 5.0, lambda: x * 20.0)], default=lambda: x * 30.0
    )


@pytest.mark.parametrize("value, factor", [(0.5, 10), (3.0, 20), (7.0, 30)])
def test_case_takes_the_first_that_holds(run, value, factor):
    assert run(chosen(data(shape=(1,))), x=array(value))[0].tolist() == [value * factor]
    assert chosen(dygraph.to_variable([value])).tolist() == [value * factor]


def test_case_without_default_takes_the_last(run):
    x = data(shape=(1,))
    y = layers.case([(x < 1.0, lambda: x), (x < 2.0, lambda: x * 2.0)])
    assert run(y, x=array(9))[0].tolist() == [18]


def numbered(index, functions, default=None):
    return layers.switch_case(index, functions, default)


@pytest.mark.parametrize(
    "functions, default, wanted",
    [
        ({1: 10, 4: 40}, 99, {0: 99, 1: 10, 4: 40, 5: 99}),
        ({4: 40, 1: 10}, None, {0: 40, 1: 10, 4: 40, 7: 40}),
        ([10, 20, 30], 99, {0: 10, 2: 30, 3: 99, -1: 99}),
        ([(2, 20), (0, 5)], 99, {0: 5, 2: 20, 1: 99}),
    ],
)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_switch_case(run, functions, default, wanted, dtype):
    def function(value):
        return None if value is None else lambda: floats(value)

    if isinstance(functions, dict):
        given = {k: function(v) for k, v in functions.items()}
    elif isinstance(functions[0], tuple):
        given = [(k, function(v)) for k, v in functions]
    else:
        given = [function(v) for v in functions]
    index = static.data("k", [1], dtype)
    y = layers.switch_case(index, given, function(default))
    for number, value in wanted.items():
        assert run(y, k=np.array([number], dtype))[0].tolist() == [value]


def test_switch_case_eager():
    x = dygraph.to_variable([2.0])
    for number, wanted in ((0, 2.0), (1, 4.0), (9, 6.0)):
        index = dygraph.to_variable(np.array([number]))
        got = layers.switch_case(index, [lambda: x, lambda: x * 2.0], lambda: x * 3.0)
        assert got.tolist() == [wanted]


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x, k: layers.case(3), ArgumentTypeError, "must be a list of pairs"),
        (lambda x, k: layers.case([]), InvalidArgumentError, "must hold a pair, got none"),
        (lambda x, k: layers.case([x]), ArgumentTypeError, "must hold pairs"),
        (lambda x, k: layers.case([(x, lambda: x)]), ArgumentTypeError, "got float32"),
        (lambda x, k: layers.case([(x > 0.0, x)]), ArgumentTypeError, "must be a function"),
        (
            lambda x, k: layers.case([(x > 0.0, lambda: x)], 3), ArgumentTypeError,
            "default must be a function",
        ),
        (lambda x, k: layers.switch_case(x, [lambda: x]), ArgumentTypeError, "got float32"),
        (lambda x, k: layers.switch_case(1, [lambda: x]), ArgumentTypeError, "got int"),
        (lambda x, k: layers.switch_case(k, 3), ArgumentTypeError, "a dict or list of functions"),
        (lambda x, k: layers.switch_case(k, []), InvalidArgumentError, "got none"),
        (lambda x, k: layers.switch_case(k, [(1.5, x)]), ArgumentTypeError, "pairs"),
        (lambda x, k: layers.switch_case(k, {1: x}), ArgumentTypeError, "must be a function"),
        (
            lambda x, k: layers.switch_case(k, [(1, lambda: x), (1, lambda: x)]),
            AlreadyExistsError, "got 1 twice",
        ),
        (
            lambda x, k: layers.switch_case(layers.concat([k, k]), [lambda: x]),
            InvalidArgumentError, "must hold one number",
        ),
    ],
)  # fmt: skip
def test_case_and_switch_case_refuse(call, error, text):
    x, k = data(shape=(1,)), static.data("k", [1], "int64")
    with pytest.raises(error, match=text):
        call(x, k)
    assert static.default_main_program().num_blocks == 1


# Switch -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value, wanted", [(0.5, 1.0), (3.0, 2.0), (9.0, 3.0)])
def test_switch_runs_one_block(run, value, wanted):
    x, y = data(shape=(1,)), floats(0.0)
    with layers.Switch() as switch:
        with switch.case(x < 1.0):
            layers.assign(floats(1.0), y)
        with switch.case(x < 5.0):
            layers.assign(floats(2.0), y)
        with switch.default():
            layers.assign(floats(3.0), y)
    assert run(y, x=array(value))[0].tolist() == [wanted]


def test_switch_without_default(run):
    x, y = data(shape=(1,)), floats(0.0)
    with layers.Switch() as switch, switch.case(x < 1.0):
        layers.assign(floats(1.0), y)
    assert run(y, x=array(3))[0].tolist() == [0.0]


def test_switch_that_raises_is_taken_back():
    program, x = static.default_main_program(), data(shape=(1,))
    first, second = x < 1.0, x < 5.0
    before = program.serialize_to_string()
    with pytest.raises(ZeroDivisionError), layers.Switch() as switch:
        with switch.case(first):
            layers.relu(x)
        with switch.case(second):
            raise ZeroDivisionError
    assert program.serialize_to_string() == before


def test_switch_refuses():
    x = data(shape=(1,))
    small = x < 1.0
    with pytest.raises(PreconditionNotMetError, match="inside `with layers.Switch"):
        layers.Switch().case(small)
    with pytest.raises(PreconditionNotMetError, match="inside `with layers.Switch"):
        layers.Switch().default()
    with (
        pytest.raises(PreconditionNotMetError, match="needs a case"),
        layers.Switch() as switch,
        switch.default(),
    ):
        pass
    with pytest.raises(PreconditionNotMetError, match="before default"), layers.Switch() as switch:
        with switch.case(small):
            pass
        with switch.default():
            pass
        with switch.case(small):
            pass
    with pytest.raises(ArgumentTypeError, match="got float32"), layers.Switch() as switch:
        switch.case(x)
    with pytest.raises(ArgumentTypeError, match="Python's if"), layers.Switch() as switch:
        switch.case(dygraph.to_variable([True]))
    with switch_used() as switch, pytest.raises(PreconditionNotMetError, match="another Switch"):
        switch.__enter__()


def switch_used():
    return layers.Switch()
