"""Functions of `static.layers` that take no Variable: eager in `dygraph.guard`, as in Fluid."""

import math

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.static import layers

ARRAY = np.array([[1.5, -2.0]], "float32")
MADE = {
    "zeros": (lambda: layers.zeros([2], "int64"), [0, 0]),
    "ones": (lambda: layers.ones([2], "float32"), [1.0, 1.0]),
    "fill_constant": (lambda: layers.fill_constant([2], "float32", 2.5), [2.5, 2.5]),
    "full": (lambda: layers.full([1], 3.0), [3.0]),
    "eye": (lambda: layers.eye(2), [[1.0, 0.0], [0.0, 1.0]]),
    "range": (lambda: layers.range(1, 6, 2, "int64"), [1, 3, 5]),
    "arange": (lambda: layers.arange(0, 3), [0.0, 1.0, 2.0]),
    "linspace": (lambda: layers.linspace(0, 1, 3, "float32"), [0.0, 0.5, 1.0]),
    "assign": (lambda: layers.assign(ARRAY), ARRAY.tolist()),
    "create_global_var": (lambda: layers.create_global_var([2], 4.0, "float32"), [4.0, 4.0]),
    "create_parameter": (
        lambda: layers.create_parameter(
            [2], "float32", default_initializer=dygraph.initializer.Constant(5.0)
        ),
        [5.0, 5.0],
    ),
    "Uniform": (lambda: layers.Uniform(0.0, math.e).entropy(), 1.0),
    "while_loop": (
        lambda: layers.while_loop(
            lambda i: layers.less_than(i, layers.fill_constant([1], "int64", 5)),
            lambda i: layers.elementwise_add(i, layers.fill_constant([1], "int64", 2)),
            [layers.zeros([1], "int64")],
        )[0],
        [6],
    ),
    "cond": (
        lambda: layers.cond(
            layers.fill_constant([1], "bool", False),
            lambda: layers.ones([1], "float32"),
            lambda: layers.zeros([1], "float32"),
        ),
        [0.0],
    ),
}


@pytest.fixture(autouse=True)
def programs():
    """Programs of the test's own, to which nothing is appended."""
    main, startup = static.Program(), static.Program()
    before = static.switch_main_program(main), static.switch_startup_program(startup)
    yield main
    static.switch_main_program(before[0])
    static.switch_startup_program(before[1])


@pytest.mark.parametrize("name", MADE)
def test_they_compute(name, programs):
    make, expected = MADE[name]
    with dygraph.guard():
        made = make()
    assert not isinstance(made, static.Variable)
    assert made.tolist() == expected
    assert not programs.global_block().ops and not programs.global_block().vars


@pytest.mark.parametrize("name", MADE)
def test_outside_they_describe(name, programs):
    assert isinstance(MADE[name][0](), static.Variable)
    with static.program_guard(programs), dygraph.guard():
        pass
    assert isinstance(layers.zeros([1], "float32"), static.Variable)


def test_the_innermost_guard_decides(programs):
    with dygraph.guard():
        with static.program_guard(programs):
            assert isinstance(layers.zeros([1], "float32"), static.Variable)
            with dygraph.guard():
                assert layers.zeros([1], "float32").tolist() == [0.0]
            assert isinstance(layers.create_array("float32"), static.Variable)
        assert layers.create_array("float32") == []
    assert isinstance(layers.create_array("float32"), static.Variable)


def test_guards_end_with_an_error(programs):
    with pytest.raises(ZeroDivisionError), dygraph.guard():
        with static.program_guard(programs):
            _ = 1 / 0
    assert isinstance(layers.zeros([1], "float32"), static.Variable)


@pytest.mark.parametrize("place", [None, dygraph.CPUPlace()])
def test_enable_dygraph(place):
    dygraph.enable_dygraph(place)
    try:
        assert layers.zeros([1], "float32").tolist() == [0.0]
    finally:
        dygraph.disable_dygraph()
    assert isinstance(layers.zeros([1], "float32"), static.Variable)


def test_what_a_layer_function_makes_for_itself_is_described(programs):
    """The variable decides, also for the constants inside the function."""
    with static.program_guard(programs):
        x = static.data("x", [None, 3])
    with dygraph.guard():
        y = layers.label_smooth(layers.scale(x, 1.0), epsilon=0.5)
        shifted = x + 1.0
    given = np.array([[1.0, 0.0, 0.0]], "float32")
    got = static.Executor().run(programs, {"x": given}, [y, shifted])
    np.testing.assert_allclose(got[0], given / 2 + 1 / 6, rtol=1e-6)
    assert got[1].tolist() == [[2.0, 1.0, 1.0]]


def test_arrays_are_lists():
    with dygraph.guard():
        array = layers.create_array("float32")
        at = layers.fill_constant([1], "int64", 0)
        layers.array_write(layers.fill_constant([2], "float32", 7.0), at, array)
        assert layers.array_read(array, at).tolist() == [7.0, 7.0]
        assert layers.array_length(array).tolist() == [1]


def test_create_tensor_is_written_to():
    with dygraph.guard():
        total = layers.create_tensor("float32", name="total")
        layers.assign(ARRAY, total)
        assert total.name == "total" and total.tolist() == ARRAY.tolist()
        layers.assign(layers.ones([1, 2], "float32"), total)
        assert total.tolist() == [[1.0, 1.0]]


def test_parameters_are_trained():
    with dygraph.guard():
        w = layers.create_parameter([2], "float32", name="w", attr=dygraph.ParamAttr(
            initializer=dygraph.initializer.Constant(3.0), learning_rate=0.5))  # fmt: skip
        assert isinstance(w, dygraph.Parameter) and w.name == "w" and w.learning_rate == 0.5
        layers.reduce_sum(w * w).backward()
        assert w.gradient().tolist() == [6.0, 6.0]
        frozen = layers.create_parameter(
            [1], "float32", attr=dygraph.ParamAttr(name="f", trainable=False)
        )
        assert frozen.name == "f" and frozen.stop_gradient
        with pytest.raises(NotImplementedError, match="WeightNormParamAttr, which is of programs"):
            layers.create_parameter([2], "float32", attr=static.WeightNormParamAttr(dim=0))


SCHEDULES = {
    "noam_decay": (lambda: layers.noam_decay(4, 4), [0.0625, 0.125, 0.1875, 0.25]),
    "exponential_decay": (lambda: layers.exponential_decay(1.0, 2, 0.25), [1.0, 0.5, 0.25]),
    "natural_exp_decay": (
        lambda: layers.natural_exp_decay(1.0, 2, 1.0, True), [1.0, 1.0, math.exp(-1)],
    ),
    "inverse_time_decay": (lambda: layers.inverse_time_decay(1.0, 1, 1.0), [1.0, 0.5, 1 / 3]),
    "polynomial_decay": (lambda: layers.polynomial_decay(1.0, 4, 0.0), [1.0, 0.75, 0.5]),
    "piecewise_decay": (lambda: layers.piecewise_decay([2], [1.0, 0.5]), [1.0, 1.0, 0.5]),
    "cosine_decay": (lambda: layers.cosine_decay(1.0, 2, 2), [1.0, 1.0, 0.5]),
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_are_those_of_eager_optimizers(name):
    make, expected = SCHEDULES[name]
    with dygraph.guard():
        rate = make()
        parameter = dygraph.Parameter([0.0])
        sgd = dygraph.optimizer.SGD(rate, parameter_list=[parameter])
        before, steps = 0.0, []
        for _ in expected:
            parameter.sum().backward()
            sgd.step()
            sgd.clear_gradients()
            steps.append(before - parameter.item())
            before = parameter.item()
    np.testing.assert_allclose(steps, expected, rtol=1e-6)


def test_a_warmup():
    with dygraph.guard():
        rate = layers.linear_lr_warmup(1.0, 4, 0.0, 0.8)
    assert isinstance(rate, dygraph.lr.LinearLrWarmup)
