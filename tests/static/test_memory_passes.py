"""Fluid's `memory_optimize` and `release_memory`."""

import numpy as np
import pytest

import dygraph
from dygraph import static

IMAGES = np.linspace(-1, 1, 4 * 28 * 28, dtype="float32").reshape(4, 1, 28, 28)
LABELS = np.array([[1], [2], [3], [4]])


def lenet():
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    main.random_seed = startup.random_seed = 3
    with static.program_guard(main, startup), static.unique_name.guard():
        image = static.data("image", [None, 1, 28, 28])
        label = static.data("label", [None, 1], "int64")
        x = static.nets.simple_img_conv_pool(image, 6, 5, 2, 2, act="relu")
        x = static.nets.simple_img_conv_pool(x, 16, 5, 2, 2, act="relu")
        x = static.layers.fc(x, 84, act="relu")
        probabilities = static.layers.fc(x, 10, act="softmax")
        loss = static.layers.mean(static.layers.cross_entropy(probabilities, label))
        static.optimizer.SGD(learning_rate=0.1).minimize(loss)
    static.Executor().run(startup, scope=scope)
    return main, loss, probabilities, scope


def losses_and_peak(program, loss, scope):
    executor, found = static.Executor(), []
    for _ in range(2):
        found.append(
            executor.run(program, {"image": IMAGES, "label": LABELS}, [loss], scope=scope)[0]
        )
    dygraph.memory.reset_peak()
    before = dygraph.memory.stats()["used"]
    found.append(executor.run(program, {"image": IMAGES, "label": LABELS}, [loss], scope=scope)[0])
    return [value.tobytes() for value in found], dygraph.memory.peak() - before


def ended(program):
    return {
        name for op in program.global_block().ops if op.type == "delete_var"
        for name in op.input_arg_names
    }  # fmt: skip


@pytest.mark.parametrize("optimize", [static.memory_optimize, static.release_memory])
def test_lenet_has_the_same_bits_and_no_higher_peak(optimize):
    main, loss, _, scope = lenet()
    want, most = losses_and_peak(main, loss, scope)
    main, loss, _, scope = lenet()
    optimize(main)
    got, peak = losses_and_peak(main, loss, scope)
    assert got == want and peak <= most
    names = ended(main)
    assert len(names) > 10 and loss.name not in names
    assert not names & {p.name for p in main.all_parameters()}
    assert any("@GRAD" in name for name in names) == (optimize is static.release_memory)


def test_what_is_to_be_fetched_can_stay():
    main, loss, probabilities, scope = lenet()
    static.memory_optimize(main, skip_opt_set={probabilities.name})
    feed = {"image": IMAGES, "label": LABELS}
    (value,) = static.Executor().run(main, feed, [probabilities], scope=scope)
    np.testing.assert_allclose(value.sum(1), 1, rtol=1e-5)
    main, loss, probabilities, scope = lenet()
    static.memory_optimize(main)
    with pytest.raises(RuntimeError, match="delete_var ended it"):
        static.Executor().run(main, feed, [probabilities], scope=scope)


def test_the_pass_gives_a_copy():
    main, *_ = lenet()
    copy = static.passes.apply("memory_optimize", main, skip_grads=False)
    assert not ended(main) and ended(copy)
    assert "memory_optimize" in static.passes.names()


def test_a_loop_keeps_what_it_reads():
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [2])
        base = x * 2.0
        i, total = static.layers.fill_constant([1], "int64", 0), static.layers.zeros([2], "float32")
        end = static.layers.fill_constant([1], "int64", 3)
        _, total = static.layers.while_loop(
            lambda i, t: i < end, lambda i, t: [i + 1, t + base], [i, total]
        )
        y = total + 0.0
    static.memory_optimize(main)
    (value,) = static.Executor().run(main, {"x": np.array([1, 2], "float32")}, [y])
    assert value.tolist() == [6.0, 12.0]


def test_wrong_arguments(capsys):
    main, *_ = lenet()
    with pytest.raises(TypeError, match="must be a set of names"):
        static.memory_optimize(main, "loss")
    with pytest.raises(TypeError, match="must be a static.Program"):
        static.release_memory("main")
    with pytest.raises(ValueError, match="level"):
        static.memory_optimize(main, level=2)
    static.memory_optimize(main, print_log=True)
    assert "after operator" in capsys.readouterr().out
