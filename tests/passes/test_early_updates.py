"""Updates beside the gradients that feed them: order, bits, memory."""

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.static import layers, passes


def training(optimizer, width=8, depth=3):
    main, startup = static.Program(), static.Program()
    main.random_seed = startup.random_seed = 3
    with static.program_guard(main, startup), static.unique_name.guard():
        h = static.data("x", [4, width])
        for _ in range(depth):
            h = layers.fc(h, width, act="tanh")
        loss = layers.mean(layers.square(h))
        optimizer().minimize(loss)
    feed = {"x": np.random.default_rng(0).normal(size=(4, width)).astype("float32")}
    return main, startup, feed, loss.name


def types(program):
    return [op.type for op in program.global_block().ops]


def test_each_update_follows_the_gradient_that_feeds_it():
    main, _, _, loss = training(lambda: static.optimizer.SGD(0.1))
    less = passes.apply(main, ["early_updates"])
    assert types(main)[-6:] == ["sgd"] * 6
    # the gradient of the product reads the weight, so that the update comes after it
    one = ["tanh_grad", "elementwise_add_grad", "sgd", "mul_grad", "sgd"]
    assert types(less)[-15:] == one * 3
    assert sorted(types(less)) == sorted(types(main))
    again = passes.apply(less, ["early_updates"])
    assert again.serialize_to_string() == less.serialize_to_string()


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda: static.optimizer.Momentum(0.1, 0.9),
        lambda: static.optimizer.Adam(0.01),
        lambda: static.optimizer.SGD(layers.exponential_decay(0.1, 2, 0.5)),
        lambda: static.optimizer.SGD(0.1, grad_clip=static.clip.GradientClipByGlobalNorm(0.01)),
    ],
)
def test_steps_have_the_same_bits(optimizer):
    main, startup, feed, loss = training(optimizer)
    less = passes.apply(main, ["early_updates"])
    found = []
    for program in (main, less):
        scope, executor = static.Scope(), static.Executor()
        executor.run(startup, scope=scope)
        losses = [executor.run(program, feed, [loss], scope=scope)[0] for _ in range(4)]
        held = [v.name for v in main.list_vars() if v.persistable]
        found.append([v.tobytes() for v in losses])
        found[-1] += [scope.find_var(name).get().numpy().tobytes() for name in held]
    assert found[0] == found[1]


def test_what_prints_sees_the_parameters_as_before():
    main, _, _, _ = training(lambda: static.optimizer.SGD(0.1))
    with static.program_guard(main):
        layers.Print(layers.fill_constant([1], "float32", 1.0))
    block = main.global_block()
    ops = block.ops
    ops[:] = [*ops[:-8], *ops[-2:], *ops[-8:-2]]  # print stands before the updates
    less = passes.apply(main, ["early_updates"])
    assert types(less) == types(main) and types(main)[-7:] == ["print"] + ["sgd"] * 6


def test_gradients_end_early():
    width, depth = 512, 8  # a weight has 1 MB
    main, startup, feed, loss = training(lambda: static.optimizer.SGD(0.1), width, depth)
    peaks = []
    for program in (main, passes.apply(main, ["early_updates"])):
        scope, executor = static.Scope(), static.Executor()
        executor.run(startup, scope=scope)
        executor.run(program, feed, [loss], scope=scope)
        dygraph.memory.reset_peak()
        executor.run(program, feed, [loss], scope=scope)
        peaks.append(dygraph.memory.stats()["peak"])
    assert peaks[0] - peaks[1] > (depth - 3) << 20
