"""Optimizer steps stand beside the gradients that feed them."""

import numpy as np

from dygraph import static

WIDTH = 8


def training(optimizer):
    main, startup = static.Program(), static.Program()
    main.random_seed = startup.random_seed = 3
    with static.program_guard(main, startup), static.unique_name.guard():
        x = static.data("x", [None, WIDTH])
        for _ in range(3):
            x = static.layers.fc(x, WIDTH, act="tanh")
        loss = static.layers.reduce_mean(x * x)
        optimizer().minimize(loss)
    return main, startup, loss


def losses(main, startup, loss):
    exe, scope = static.Executor(), static.Scope()
    with static.scope_guard(scope):
        exe.run(startup)
        feeds = {"x": np.linspace(-1, 1, 5 * WIDTH, dtype="float32").reshape(5, WIDTH)}
        return [exe.run(main, feeds, [loss])[0].tobytes() for _ in range(4)]


def types(program):
    return [op.type for op in program.global_block().ops]


def test_steps_follow_their_gradients():
    main, startup, loss = training(lambda: static.optimizer.SGD(0.1))
    early = static.passes.apply("early_updates", main)
    assert types(main)[-6:] == ["sgd"] * 6
    assert sorted(types(early)) == sorted(types(main))
    ops = early.global_block().ops
    written = {}
    for i, op in enumerate(ops):
        if op.type == "sgd":
            made = written[op.input("Grad")[0]]
            assert all(between.type == "sgd" for between in ops[made + 1 : i])
        written |= dict.fromkeys(op.output_arg_names, i)
    assert losses(early, startup, loss) == losses(main, startup, loss)


def test_a_parameter_is_read_before_it_changes():
    """The gradient of the layer before still reads the weight."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [None, 2])
        w = static.layers.create_parameter([2], "float32", name="w")
        first = x * w
        loss = static.layers.reduce_mean(static.layers.exp(first) * w)
        static.optimizer.SGD(0.1).minimize(loss)
    early = static.passes.apply("early_updates", main)
    ops = early.global_block().ops
    step = types(early).index("sgd")
    assert all("w" not in op.input_arg_names for op in ops[step + 1 :])
    assert losses_of_w(main, startup, loss) == losses_of_w(early, startup, loss)


def losses_of_w(main, startup, loss):
    exe, scope = static.Executor(), static.Scope()
    with static.scope_guard(scope):
        exe.run(startup)
        scope.var("w").set(np.array([0.5, -0.25], "float32"))
        x = np.array([[1.0, 2.0], [3.0, -1.0]], "float32")
        runs = [exe.run(main, {"x": x}, [loss, "w"]) for _ in range(3)]
    return [[value.tobytes() for value in run] for run in runs]


def test_clipping_by_all_gradients_keeps_steps_last():
    def clipped():
        return static.optimizer.SGD(0.1, grad_clip=static.clip.GradientClipByGlobalNorm(0.1))

    main, startup, loss = training(clipped)
    early = static.passes.apply("early_updates", main)
    assert losses(early, startup, loss) == losses(main, startup, loss)
    gradients = [i for i, t in enumerate(types(early)) if t.endswith("mul_grad") or "matmul" in t]
    assert types(early).index("sgd") > max(gradients)


def test_adam_runs_the_same():
    main, startup, loss = training(lambda: static.optimizer.Adam(0.01))
    early = static.passes.apply("early_updates", main)
    assert types(early) != types(main)
    assert losses(early, startup, loss) == losses(main, startup, loss)
