"""Forward passes computed again for their gradients: the same weights, less memory."""

import numpy as np
import pytest

import dygraph
from dygraph import static

WIDTH, DEPTH, ROWS = 64, 12, 256


def trained(every, noise=False, runs=3):
    """(weights after some runs, peak memory of a run, types of the operators)."""
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    startup.random_seed = main.random_seed = 5
    layers = static.layers
    with static.program_guard(main, startup), static.unique_name.guard():
        y, kept = static.data("x", [None, WIDTH]), []
        for i in range(DEPTH):
            y = layers.softmax(layers.fc(layers.tanh(y * 2.0), WIDTH) * y)
            if noise:
                y = layers.batch_norm(layers.dropout(y, 0.25))
            if every and i % every == every - 1:
                kept.append(y)
        loss = layers.mean(layers.square(y))
        rule = static.optimizer.Momentum(0.5, 0.9)
        if every:
            rule = static.optimizer.RecomputeOptimizer(rule)
            rule.set_checkpoints(kept)
        rule.minimize(loss)
    executor = static.Executor()
    executor.run(startup, scope=scope)
    rows = np.random.RandomState(0).standard_normal((ROWS, WIDTH)).astype("float32")
    for _ in range(runs):
        executor.run(main, {"x": rows}, [loss], scope=scope)
    dygraph.memory.reset_peak()
    before = dygraph.memory.used()
    executor.run(main, {"x": rows}, [loss], scope=scope)
    peak = dygraph.memory.peak() - before
    weights = {p.name: scope.find_var(p.name).get().numpy() for p in main.all_parameters()}
    return weights, peak, [op.type for op in main.global_block().ops]


@pytest.mark.parametrize("noise", [False, True])
@pytest.mark.parametrize("every", [1, 3, 12])
def test_the_weights_are_the_same_bits(every, noise):
    plain, _, once = trained(0, noise)
    kept, _, twice = trained(every, noise)
    assert twice.count("tanh") > once.count("tanh") == DEPTH
    assert twice.count("dropout") == once.count("dropout")
    for name, value in plain.items():
        np.testing.assert_array_equal(kept[name], value)


def test_memory_falls():
    _, plain, _ = trained(0)
    _, kept, _ = trained(3)
    assert kept < 0.6 * plain


def test_mistakes():
    with static.program_guard(static.Program(), static.Program()):
        x = static.data("x", [None, 4])
        loss = static.layers.mean(static.layers.fc(x, 1))
        rule = static.optimizer.RecomputeOptimizer(static.optimizer.SGD(0.1))
        with pytest.raises(RuntimeError, match="set_checkpoints"):
            rule.minimize(loss)
        rule.set_checkpoints([x])
        with pytest.raises(ValueError, match="checkpoints must be results of operators.*'x'"):
            rule.minimize(loss)
    assert [op.type for op in loss.block.ops] == ["mul", "elementwise_add", "mean"]
    with pytest.raises(TypeError, match="must be one of static.optimizer"):
        static.optimizer.RecomputeOptimizer("sgd")


def test_chains_of_any_length_are_made_again():
    """What is made again is not found by recursion."""
    main = static.Program()
    with static.program_guard(main), static.unique_name.guard():
        x = static.data("x", [2], "float32")
        x.stop_gradient = False
        y = x
        for _ in range(3000):
            y = static.layers.scale(static.layers.square(y), 1.0)
        loss = static.layers.reduce_sum(y)
        w = main.global_block().create_parameter([2], "float32", "w")
        static.append_backward(static.layers.mean(loss * w), checkpoints=[y])
    ones = np.ones(2, "float32")
    scope = static.Scope()
    scope.var("w").set(ones)
    (grad,) = static.Executor().run(main, {"x": ones}, ["w@GRAD"], scope=scope)
    assert grad.tolist() == [1.0, 1.0]  # the mean of loss * w, where loss is 1 + 1, by each w
    made_again = sum(
        "@RECOMPUTE" in n for op in main.global_block().ops for n in op.output_arg_names
    )
    assert made_again > 0


def test_callbacks_see_what_runs_again_as_the_last_operator():
    main = static.Program()
    seen = []

    def note(block, op):
        assert block.ops[-1] is op
        seen.append(op.type)

    with static.program_guard(main, static.Program()):
        x = static.data("x", [None, 4])
        half = static.layers.square(static.layers.exp(static.layers.fc(x, 4)))
        loss = static.layers.mean(half)
        count = len(main.global_block().ops)
        static.append_backward(loss, callbacks=[note], checkpoints=[half])
    appended = [op.type for op in main.global_block().ops[count:]]
    assert seen == appended[1:]  # after the gradient of the loss
    assert seen.count("exp") == 1 and "exp_grad" in seen


def test_what_is_written_over_what_it_reads_is_not_made_again():
    """The value before is gone: y of the first operator would be scaled twice."""
    main = static.Program()
    with static.program_guard(main), static.unique_name.guard():
        x = static.data("x", [1], "float32")
        x.stop_gradient = False
        main.global_block().append_op("scale", {"X": x}, {"Out": x}, {"scale": 2.0})
        half = static.layers.square(static.layers.square(x))
        (loss,) = [static.layers.mean(half)]
        w = main.global_block().create_parameter([1], "float32", "w")
        static.append_backward(static.layers.mean(loss * w), checkpoints=[half])
    again = [n for op in main.global_block().ops for n in op.output_arg_names if "@RECOMPUTE" in n]
    assert "x@RECOMPUTE" not in again
