"""Updates that stand together in a program run their loops as one, with the bits of one by one."""

import numpy as np
import pytest

import dygraph
from dygraph import jit, optimizer, static
from program.models import numbers

SHAPES = [(300, 200), (7,), (64, 64), (1,), (129, 33), (5, 4, 3)]


def sgd_program(updates, names):
    """A program of the operator sgd alone; `updates` are (parameter, gradient)."""
    program = static.Program()
    block = program.global_block()
    for name in names:
        block.create_var(name=name, shape=[None, 3], dtype="float32", persistable=True)
    block.create_var(name="rate", shape=[1], dtype="float32", persistable=True)
    for parameter, gradient in updates:
        block.append_op(
            "sgd",
            {"Param": parameter, "Grad": gradient, "LearningRate": "rate"},
            {"ParamOut": parameter},
        )
    return program


def filled(names, rate=0.5):
    scope = static.Scope()
    for i, name in enumerate(names):
        scope.var(name).set(numbers(50_000, 3, seed=i))
    scope.var("rate").set(np.float32([rate]))
    return scope


def values(scope, names):
    return {name: scope.find_var(name).get().numpy() for name in names}


@pytest.mark.parametrize("make", ["SGD", "Momentum", "Adam", "AdamW", "Lamb", "RMSProp", "Adagrad"])
def test_a_traced_step_of_many_parameters_has_the_eager_bits(make):
    def case():
        parameters = [dygraph.Parameter(numbers(*shape, seed=i)) for i, shape in enumerate(SHAPES)]
        more = (0.9,) if make == "Momentum" else ()
        update = getattr(optimizer, make)(0.05, *more, parameter_list=parameters)

        def step(x):
            loss = sum((p * p * x.mean()).sum() for p in parameters)
            loss.backward()
            update.step()
            update.clear_gradients()
            return loss

        return step, parameters

    (eager, want), (step, got) = case(), case()
    x = dygraph.to_variable(numbers(4, 3))
    eager(x)
    _, traced = jit.trace(step, [x])
    types = [op.type for op in traced.program.global_block().ops]
    rule = "adamw" if make == "Adam" else make.lower()  # one formula
    assert types[types.index(rule) :].count(rule) == len(SHAPES)
    for _ in range(3):
        assert eager(x).numpy().tobytes() == traced(x).numpy().tobytes()
    for a, b in zip(want, got, strict=True):
        assert a.numpy().tobytes() == b.numpy().tobytes()


def test_updates_that_need_each_other_stay_in_order():
    """p is written twice, and is the gradient of q between; r's gradient is written later."""
    names = ["p", "q", "r", "g"]
    program = sgd_program([("p", "g"), ("q", "p"), ("p", "q"), ("r", "g"), ("g", "r")], names)
    scope = filled(names)
    v = {name: value.astype("float64") for name, value in values(scope, names).items()}
    static.Executor().run(program, scope=scope)
    v["p"] = v["p"] - 0.5 * v["g"]
    v["q"] = v["q"] - 0.5 * v["p"]
    v["p"] = v["p"] - 0.5 * v["q"]
    v["r"] = v["r"] - 0.5 * v["g"]
    v["g"] = v["g"] - 0.5 * v["r"]
    for name, value in values(scope, names).items():
        np.testing.assert_allclose(value, v[name], rtol=1e-5, atol=1e-6)


def test_two_names_of_one_variable_are_updated_in_order():
    names = ["p", "q", "g", "h"]
    scope, one = filled(["g", "h"]), dygraph.to_variable(numbers(50_000, 3, seed=9))
    start = one.numpy()
    for name in ("p", "q"):
        scope.var(name).share(one)
    static.Executor().run(sgd_program([("p", "g"), ("q", "h")], names), scope=scope)
    g, h = (scope.find_var(name).get().numpy() for name in "gh")
    half = np.float32(0.5)
    np.testing.assert_allclose(one.numpy(), start - half * g - half * h, rtol=1e-5, atol=1e-6)


def test_variables_of_one_memory_keep_their_own_values():
    """What others hold is not written: the results go elsewhere, and the old values stay alive."""
    names = ["p", "q", "g", "h"]
    scope, shared = filled(["g", "h"]), dygraph.to_variable(numbers(50_000, 3, seed=9))
    start = shared.numpy()
    for name in ("p", "q"):
        scope.var(name).set(shared)
    static.Executor().run(sgd_program([("p", "g"), ("q", "h")], names), scope=scope)
    for name, gradient in (("p", "g"), ("q", "h")):
        want = start - np.float32(0.5) * scope.find_var(gradient).get().numpy()
        got = scope.find_var(name).get().numpy()
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(shared.numpy(), start)


def test_updates_before_one_that_fails_are_made():
    names = ["p", "q", "g"]
    program, scope = sgd_program([("p", "g"), ("q", "g")], names), filled(names)
    scope.var("q").set(numbers(4, 3))  # the gradient is longer
    before = values(scope, names)
    with pytest.raises(ValueError, match="Grad must have the shape of Param.*operator 1 of block"):
        static.Executor().run(program, scope=scope)
    after = values(scope, names)
    np.testing.assert_allclose(
        after["p"], before["p"] - np.float32(0.5) * before["g"], rtol=1e-5, atol=1e-6
    )
    np.testing.assert_array_equal(after["q"], before["q"])


def test_who_watches_sees_every_update():
    names = ["p", "q", "g"]
    program, scope = sgd_program([("p", "g"), ("q", "g")], names), filled(names)
    static.Executor().run(program, scope=scope)
    with dygraph.profiler.Profiler() as watched:
        static.Executor().run(program, scope=scope)
    (row,) = watched.summary()
    assert (row.name, row.calls) == ("sgd", 2)
