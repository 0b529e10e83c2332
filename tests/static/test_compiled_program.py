"""`static.CompiledProgram`: the Program's bits, and Fluid's arguments."""

import numpy as np
import pytest

import dygraph
from dygraph import static

X = np.arange(12, dtype="float32").reshape(3, 4) / 10
LABELS = np.array([[0], [1], [1]])


def training_program(optimizer=None, dropout=0.0):
    """A classifier, its loss, and the scope after its startup program."""
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    main.random_seed = startup.random_seed = 7
    with static.program_guard(main, startup), static.unique_name.guard():
        x, label = static.data("x", [None, 4]), static.data("label", [None, 1], "int64")
        hidden = static.layers.fc(x, 8, act="relu")
        if dropout:
            hidden = static.layers.dropout(hidden, dropout)
        logits = static.layers.fc(hidden, 2)
        loss = static.layers.mean(static.layers.softmax_with_cross_entropy(logits, label))
        (optimizer or static.optimizer.Adam)(learning_rate=0.1).minimize(loss)
    static.Executor().run(startup, scope=scope)
    return main, loss, scope


def losses(program, loss, scope, batches, executor=None):
    executor = executor or static.Executor()
    return [
        executor.run(program, {"x": X[:n], "label": LABELS[:n]}, [loss], scope=scope)[0].tobytes()
        for n in batches
    ]


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_training_has_the_bits_of_the_program(dropout):
    batches = [3, 3, 3, 2, 3, 2, 1, 3, 3]
    main, loss, scope = training_program(dropout=dropout)
    want = losses(main, loss, scope, batches)
    weights = {v.name: scope.find_var(v.name).get().numpy() for v in main.all_parameters()}
    main, loss, scope = training_program(dropout=dropout)
    assert losses(static.CompiledProgram(main), loss, scope, batches) == want
    for name, weight in weights.items():
        np.testing.assert_array_equal(scope.find_var(name).get().numpy(), weight)


def test_the_value_is_numpys():
    with static.program_guard(static.Program()):
        x = static.data("x", [None, 4])
        y = static.layers.reduce_sum(static.layers.exp(x) * 2.0)
        compiled = static.CompiledProgram(static.default_main_program())
    for _ in range(4):
        (value,) = static.Executor().run(compiled, {"x": X}, [y])
        np.testing.assert_allclose(value, 2 * np.exp(X).sum(), rtol=1e-6)


def test_what_is_fetched_outlives_later_runs():
    with static.program_guard(static.Program()):
        x = static.data("x", [None, 4])
        a = static.layers.exp(x)
        b, c = static.layers.reshape(a, [-1]), static.layers.sqrt(a)
        compiled = static.CompiledProgram(static.default_main_program())
    executor, kept = static.Executor(), []
    for k in range(1, 6):
        values = executor.run(compiled, {"x": X * k}, [a, b, c], return_numpy=False)
        kept.append((np.exp(X * k), values))
    for want, (one, two, three) in kept:
        np.testing.assert_allclose(one.numpy(), want, rtol=1e-6)
        np.testing.assert_allclose(two.numpy(), want.reshape(-1), rtol=1e-6)
        np.testing.assert_allclose(three.numpy(), np.sqrt(want), rtol=1e-6)


def test_sizes_that_the_data_decide():
    with static.program_guard(static.Program()):
        x = static.data("x", [None])
        chosen = static.layers.masked_select(x, x > 0.0)
        y = static.layers.reduce_sum(static.layers.exp(chosen) + 1.0)
        compiled = static.CompiledProgram(static.default_main_program())
    executor = static.Executor()
    for positive in (2, 2, 3, 1, 3, 0, 2, 4):
        x = np.array([1.0] * positive + [-1.0] * (4 - positive), "float32")
        (value,) = executor.run(compiled, {"x": x}, [y])
        np.testing.assert_allclose(value, positive * (np.exp(1.0) + 1), rtol=1e-6)


def test_an_edit_of_the_program_is_noticed():
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [None, 4])
        y = x * 2.0
    compiled, executor = static.CompiledProgram(main), static.Executor()
    for _ in range(3):
        executor.run(compiled, {"x": X}, [y])
    with static.program_guard(main):
        z = y + 1.0
    (value,) = executor.run(compiled, {"x": X}, [z])
    np.testing.assert_array_equal(value, X * 2 + 1)


def test_a_value_set_in_the_scope_is_seen():
    main, loss, scope = training_program(static.optimizer.SGD)
    executor, compiled = static.Executor(), static.CompiledProgram(main)
    losses(compiled, loss, scope, [3] * 4, executor)
    for parameter in main.all_parameters():
        scope.find_var(parameter.name).set(np.zeros(parameter.shape, "float32"))
    (value,) = executor.run(compiled, {"x": X, "label": LABELS}, [loss], scope=scope)
    np.testing.assert_allclose(value, np.log(2), rtol=1e-6)


def test_a_failed_run_leaves_the_next_one_right():
    main, loss, scope = training_program(static.optimizer.SGD)
    executor, compiled = static.Executor(), static.CompiledProgram(main)
    want = losses(compiled, loss, scope, [3] * 4, executor)
    with pytest.raises(IndexError, match="Label must be a class"):
        executor.run(compiled, {"x": X, "label": np.array([[0], [5], [1]])}, [loss], scope=scope)
    twin = training_program(static.optimizer.SGD)
    got = losses(twin[0], twin[1], twin[2], [3] * 6)
    assert got[:4] == want and losses(compiled, loss, scope, [3, 3], executor) == got[4:]


def test_shrink_frees_the_arenas():
    with static.program_guard(static.Program()):
        y = static.data("x", [None])
        for _ in range(6):
            y = static.layers.concat([static.layers.exp(y * 0.1), y])
        y = static.layers.reduce_sum(y)
        compiled = static.CompiledProgram(static.default_main_program())
    executor, before = static.Executor(), dygraph.memory.stats()["used"]
    x = np.ones(5_000, "float32")
    want = [executor.run(compiled, {"x": x}, [y])[0] for _ in range(3)]
    held = dygraph.memory.stats()["used"] - before
    assert held >= 4 * 64 * x.size  # the largest concat is in the arena
    assert held < 4 * 3 * 64 * x.size  # all of them, side by side, with the products would be more
    compiled.shrink()
    assert dygraph.memory.stats()["used"] - before < x.nbytes
    assert executor.run(compiled, {"x": x}, [y])[0] == want[0] == want[2]


def test_fluids_way_to_train():
    main, loss, scope = training_program(static.optimizer.SGD)
    build, execution = static.BuildStrategy(), static.ExecutionStrategy()
    build.fuse_all_optimizer_ops, build.memory_optimize = True, False
    build.reduce_strategy = static.BuildStrategy.ReduceStrategy.Reduce
    execution.num_threads, execution.num_iteration_per_drop_scope = 1, 10
    compiled = static.CompiledProgram(main).with_data_parallel(
        loss_name=loss.name, build_strategy=build, exec_strategy=execution,
        places=static.cpu_places(1),
    )  # fmt: skip
    got = losses(compiled, loss, scope, [3, 2, 3])
    main, loss, scope = training_program(static.optimizer.SGD)
    assert got == losses(main, loss, scope, [3, 2, 3])


def test_parallel_executor():
    main, loss, scope = training_program(static.optimizer.SGD)
    runner = static.ParallelExecutor(
        use_cuda=False, loss_name=loss.name, main_program=main, scope=scope
    )
    assert runner.device_count == 1
    got = [runner.run([loss.name], feed={"x": X, "label": LABELS})[0].tobytes() for _ in range(3)]
    got += [runner.run([loss.name], feed_dict={"x": X, "label": LABELS})[0].tobytes()]
    main, loss, scope = training_program(static.optimizer.SGD)
    assert got == losses(main, loss, scope, [3] * 4)
    with pytest.raises(NotImplementedError, match="use_cuda must be False"):
        static.ParallelExecutor(True, main_program=main)
    with pytest.raises(NotImplementedError, match="num_trainers must be 1"):
        static.ParallelExecutor(False, main_program=main, num_trainers=2)


def set_on(kind, name, value):
    return lambda: setattr(kind(), name, value)


BUILD, EXECUTION = static.BuildStrategy, static.ExecutionStrategy


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (set_on(BUILD, "memory_optimise", True), KeyError, "Did you mean 'memory_optimize'"),
        (set_on(BUILD, "memory_optimize", 1), TypeError, "must be bool or None, got int 1"),
        (set_on(BUILD, "num_trainers", 2), NotImplementedError, "must be 1"),
        (set_on(BUILD, "trainers_endpoints", ["a:1"]), NotImplementedError, "one process"),
        (set_on(BUILD, "async_mode", True), NotImplementedError, "must be False"),
        (
            set_on(BUILD, "gradient_scale_strategy", BUILD.GradientScaleStrategy.Customized),
            NotImplementedError, "Scale the loss",
        ),
        (set_on(EXECUTION, "num_thread", 1), KeyError, "Did you mean 'num_threads'"),
        (set_on(EXECUTION, "num_threads", -1), ValueError, "at least 0, got -1"),
        (set_on(EXECUTION, "num_iteration_per_run", 2), NotImplementedError, "must be 1"),
        (lambda: static.CompiledProgram("main"), TypeError, "must be a static.Program"),
        (
            lambda: static.CompiledProgram(static.Program(), EXECUTION()),
            TypeError, "must be a BuildStrategy",
        ),
        (
            lambda: static.CompiledProgram(static.Program()).with_data_parallel("cost"),
            ValueError, "must name a variable of the program, got 'cost'",
        ),
        (
            lambda: static.CompiledProgram(static.Program()).with_data_parallel(
                places=static.cpu_places(2)
            ),
            NotImplementedError, "one place",
        ),
        (
            lambda: static.CompiledProgram(static.Program())
            .with_data_parallel().with_data_parallel(),
            RuntimeError, "called once",
        ),
    ],
)  # fmt: skip
def test_wrong_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_every_field_says_what_it_does():
    for kind in (BUILD, EXECUTION):
        for line in kind.about().splitlines():
            name, text = line.split(": ", 1)
            assert hasattr(kind(), name) and text.endswith(".")
    assert BUILD.about("sync_batch_norm") == "sync_batch_norm: No effect on one CPU device."


def test_the_graph_is_written(tmp_path):
    main = static.Program()
    with static.program_guard(main):
        y = static.layers.exp(static.data("x", [None, 4]))
    build = static.BuildStrategy()
    build.debug_graphviz_path = str(tmp_path / "graph.dot")
    static.Executor().run(static.CompiledProgram(main, build), {"x": X}, [y])
    assert "exp" in (tmp_path / "graph.dot").read_text()


def test_names_of_fluid():
    fluid = static.fluid
    for name in ("CompiledProgram", "BuildStrategy", "ExecutionStrategy", "ParallelExecutor"):
        assert getattr(fluid, name) is getattr(dygraph.static, name)
