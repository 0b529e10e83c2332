"""Learning-rate schedules: the numbers of their formulas, step by step."""

import math

import numpy as np
import pytest

from dygraph import static
from dygraph.errors import InvalidArgumentError
from dygraph.static import layers

STEPS = 12


def cycled(step):
    whole = 5 * max(math.ceil(step / 5), 1)
    return (0.4 - 0.01) * (1 - step / whole) ** 2 + 0.01


# name: (what is described, the rate of step 0, 1, ...)
CASES = {
    "noam": (lambda: layers.noam_decay(64, 4, 0.5),
             lambda n: 0.5 * 64**-0.5 * min((n + 1) ** -0.5, (n + 1) * 4**-1.5)),
    "exponential": (lambda: layers.exponential_decay(0.4, 5, 0.5), lambda n: 0.4 * 0.5 ** (n / 5)),
    "exponential stairs": (lambda: layers.exponential_decay(0.4, 5, 0.5, True),
                           lambda n: 0.4 * 0.5 ** (n // 5)),
    "natural": (lambda: layers.natural_exp_decay(0.4, 5, 0.5),
                lambda n: 0.4 * math.exp(-0.5 * n / 5)),
    "natural stairs": (lambda: layers.natural_exp_decay(0.4, 5, 0.5, True),
                       lambda n: 0.4 * math.exp(-0.5 * (n // 5))),
    "inverse": (lambda: layers.inverse_time_decay(0.4, 5, 0.5),
                lambda n: 0.4 / (1 + 0.5 * n / 5)),
    "inverse stairs": (lambda: layers.inverse_time_decay(0.4, 5, 0.5, True),
                       lambda n: 0.4 / (1 + 0.5 * (n // 5))),
    "polynomial": (lambda: layers.polynomial_decay(0.4, 5, 0.01, 2.0),
                   lambda n: (0.4 - 0.01) * (1 - min(n, 5) / 5) ** 2 + 0.01),
    "polynomial cycle": (lambda: layers.polynomial_decay(0.4, 5, 0.01, 2.0, True), cycled),
    "piecewise": (lambda: layers.piecewise_decay([3, 7], [1.0, 0.5, 0.1]),
                  lambda n: 1.0 if n < 3 else 0.5 if n < 7 else 0.1),
    "cosine": (lambda: layers.cosine_decay(0.4, 3, 4),
               lambda n: 0.2 * (1 + math.cos(math.pi * (n // 3) / 4))),
    "warmup": (lambda: layers.linear_lr_warmup(0.4, 5, 0.1, 0.35),
               lambda n: 0.1 + 0.05 * n if n < 5 else 0.4),
    "warmup of a schedule": (
        lambda: layers.linear_lr_warmup(layers.piecewise_decay([6, 8], [0.4, 0.3, 0.2]), 5, 0, 0.4),
        lambda n: 0.08 * n if n < 5 else 0.4 if n < 6 else 0.3 if n < 8 else 0.2),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rates(name):
    write, formula = CASES[name]
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        rate = write()
    assert rate.shape == (1,) and str(rate.dtype) == "float32"
    assert {op.attr("op_role") for op in main.global_block().ops} == {static.OpRole.LRSched}
    scope, executor = static.Scope(), static.Executor()
    executor.run(startup, scope=scope)
    found = [executor.run(main, {}, [rate], scope=scope)[0].item() for _ in range(STEPS)]
    np.testing.assert_allclose(found, [formula(n) for n in range(STEPS)], rtol=2e-6)


def test_piecewise_values_are_exact():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        rate = layers.piecewise_decay([1], [0.1, 0.3])
    scope, executor = static.Scope(), static.Executor()
    executor.run(startup, scope=scope)
    found = [executor.run(main, {}, [rate], scope=scope)[0].item() for _ in range(2)]
    assert found == [np.float32(0.1), np.float32(0.3)]


def test_counter():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        counter = layers.autoincreased_step_counter(begin=10, step=5)
        again = layers.autoincreased_step_counter(begin=10, step=5)
    assert again is counter and counter.persistable and counter.stop_gradient
    assert [op.type for op in main.global_block().ops] == ["increment"]
    scope, executor = static.Scope(), static.Executor()
    executor.run(startup, scope=scope)
    found = [executor.run(main, {}, [counter], scope=scope)[0].tolist() for _ in range(3)]
    assert found == [[10], [15], [20]]


def test_schedules_share_one_counter():
    with static.program_guard(static.Program(), static.Program()):
        rate = layers.cosine_decay(0.1, 1, 10)
        layers.exponential_decay(0.1, 1, 0.5)
        ops = [op.type for op in rate.block.ops]
    assert ops.count("increment") == 1 and rate.block.has_var("@LR_DECAY_COUNTER@")


def test_an_optimizer_takes_a_schedule():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        loss = layers.mean(layers.fc(static.data("x", [None, 3]), 2, bias_attr="b"))
        rate = layers.piecewise_decay([2], [0.5, 0.25])
        static.optimizer.SGD(rate).minimize(loss)
    scope, executor, held = static.Scope(), static.Executor(), []
    executor.run(startup, scope=scope)
    for _ in range(4):
        executor.run(main, {"x": np.ones((2, 3), "float32")}, [loss], scope=scope)
        held.append(scope.find_var("b").get().numpy().tolist())
    assert held == [[-0.25] * 2, [-0.5] * 2, [-0.625] * 2, [-0.75] * 2]  # the gradient is 1/2
    tested = main.clone(for_test=True).global_block()
    assert [op.type for op in tested.ops] == ["mul", "elementwise_add", "mean"]


def test_wrong_pieces():
    with static.program_guard(static.Program(), static.Program()):
        with pytest.raises(InvalidArgumentError, match="piecewise_decay: .*got 2 and 2"):
            layers.piecewise_decay([1, 2], [0.1, 0.2])
        with pytest.raises(InvalidArgumentError, match="piecewise_decay: boundaries must rise"):
            layers.piecewise_decay([2, 1], [0.1, 0.2, 0.3])
        with pytest.raises(InvalidArgumentError, match="exponential_decay: decay_steps"):
            layers.exponential_decay(0.1, 0, 0.5)
