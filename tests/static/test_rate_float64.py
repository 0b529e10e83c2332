"""The learning rate in a program has the type of the parameters, as in eager steps."""

import numpy as np
import pytest

import dygraph
import dygraph.static as fluid

W = np.array([[1.0], [2.0]])
X = np.array([[0.3, 0.7], [1.1, -0.2]])
STEPS = 3


def described(optimizer, dtype="float64", factor=1.0):
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        x = fluid.layers.data("x", [2], dtype=dtype)
        attr = fluid.ParamAttr("w", fluid.initializer.NumpyArrayInitializer(W), factor)
        w = fluid.layers.create_parameter([2, 1], dtype, attr=attr)
        optimizer.minimize(fluid.layers.mean(fluid.layers.square(fluid.layers.matmul(x, w))))
    return main, startup


def trained(optimizer, dtype="float64", factor=1.0):
    main, startup = described(optimizer, dtype, factor)
    executor = fluid.Executor(fluid.CPUPlace())
    scope = fluid.Scope()
    with fluid.scope_guard(scope):
        executor.run(startup)
        for _ in range(STEPS):
            executor.run(main, feed={"x": X.astype(dtype)})
        return scope.find_var("w").get().numpy()


def eager(make, factor=1.0):
    w = dygraph.to_variable(W)
    w.stop_gradient = False
    w.learning_rate = factor
    optimizer = make([w])
    for _ in range(STEPS):
        (dygraph.to_variable(X) @ w).square().mean().backward()
        optimizer.step()
        optimizer.clear_grad()
    return w.numpy()


def by_hand(rates):
    w = W.copy()
    for rate in rates:
        w -= rate * (X.T @ (X @ w))  # of the mean of two squares
    return w


@pytest.mark.parametrize(
    "name, options",
    [("SGD", {}), ("Momentum", {"momentum": 0.9}), ("AdamOptimizer", {}), ("Adagrad", {})],
)
def test_float64_updates_are_those_of_eager_steps(name, options):
    program = trained(getattr(fluid.optimizer, name)(0.1, **options))
    rule = getattr(dygraph.optimizer, name)
    steps = eager(lambda p: rule(learning_rate=0.1, parameters=p, **options))
    np.testing.assert_array_equal(program, steps)


def test_the_rate_is_not_rounded_to_float32():
    np.testing.assert_allclose(trained(fluid.optimizer.SGD(0.1)), by_hand([0.1] * 3), rtol=1e-15)
    other = trained(fluid.optimizer.SGD(0.1), factor=0.3)
    np.testing.assert_allclose(other, by_hand([0.1 * 0.3] * 3), rtol=1e-15)


def test_a_schedule_keeps_its_digits_and_advances_once_a_run():
    rates = fluid.dygraph.PiecewiseDecay([1, 2], [0.1, 0.05, 0.03], 0)
    np.testing.assert_allclose(
        trained(fluid.optimizer.SGD(rates)), by_hand([0.1, 0.05, 0.03]), rtol=1e-15
    )


def test_set_lr_writes_float64():
    optimizer = fluid.optimizer.SGD(0.5)
    main, startup = described(optimizer)
    executor = fluid.Executor(fluid.CPUPlace())
    with fluid.scope_guard(fluid.Scope()):
        executor.run(startup)
        optimizer.set_lr(0.1)
        assert fluid.global_scope().find_var("learning_rate_0").get().numpy().tolist() == [0.1]
        executor.run(main, feed={"x": X})


def test_a_program_of_both_types_has_two_rates_and_one_of_float32_keeps_its_file():
    main, _ = described(fluid.optimizer.SGD(0.1), "float32")
    rates = [v for v in main.list_vars() if v.name.startswith("learning_rate")]
    assert [(v.name, str(v.dtype)) for v in rates] == [("learning_rate_0", "float32")]
    main, startup = fluid.Program(), fluid.Program()
    rates = fluid.dygraph.PiecewiseDecay([1, 2], [0.1, 0.05, 0.03], 0)
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        one = fluid.initializer.Constant(1.0)
        a, b = (
            fluid.layers.create_parameter([1], t, name=t, default_initializer=one)
            for t in ("float32", "float64")
        )
        loss = fluid.layers.mean(fluid.layers.cast(a, "float64") + b)
        fluid.optimizer.SGD(rates).minimize(loss)
    executor, scope = fluid.Executor(fluid.CPUPlace()), fluid.Scope()
    with fluid.scope_guard(scope):
        executor.run(startup)
        for _ in range(STEPS):
            executor.run(main)
    expected = np.float32(1)
    for rate in (0.1, 0.05, 0.03):
        expected = np.float32(expected - np.float32(rate))
    assert scope.find_var("float32").get().numpy().tolist() == [expected]
    assert scope.find_var("float64").get().numpy().tolist() == [1 - 0.1 - 0.05 - 0.03]
