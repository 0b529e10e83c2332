"""Updates and chains in planned runs: bits, memory, and what others hold stays as it is."""

import numpy as np
import pytest

import dygraph
from dygraph import nn, static
from dygraph import ops as F

OPTIMIZERS = {
    "sgd": lambda parameters: dygraph.optimizer.SGD(0.1, parameter_list=parameters),
    "momentum": lambda parameters: dygraph.optimizer.Momentum(0.1, 0.9, parameter_list=parameters),
    "adam": lambda parameters: dygraph.optimizer.Adam(0.01, parameter_list=parameters),
    "adamw": lambda parameters: dygraph.optimizer.AdamW(0.01, parameter_list=parameters),
    "clipped": lambda parameters: dygraph.optimizer.SGD(
        0.1, parameter_list=parameters, grad_clip=nn.ClipGradByGlobalNorm(0.05)
    ),
}


class Tied(dygraph.Layer):
    """A network whose first weight is read twice, with running statistics."""

    def __init__(self, width=8):
        super().__init__()
        self.first, self.norm = nn.Linear(width, width), nn.BatchNorm1D(width)
        self.last = nn.Linear(width, 2)

    def forward(self, x):
        h = F.tanh(self.norm(self.first(x)))
        h = F.relu(F.matmul(h, self.first.weight) + h) * 0.5 + h
        return self.last(h)


def trainer(make, width=8):
    dygraph.seed(5)
    net = Tied(width)
    for i, parameter in enumerate(net.parameters()):
        values = np.cos(np.arange(parameter.size) + i).reshape(parameter.shape) * 3 / width
        parameter.set_value(values.astype("float32"))
    optimizer = make(net.parameters())

    def step(x):
        loss = (net(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_gradients()
        return loss

    return step, net


def x_of(k, rows=16, width=8):
    values = np.random.default_rng(k).standard_normal((rows, width))
    return dygraph.to_variable(values.astype("float32"))


def planned(step):
    return step._ready[0].prepared.planned


@pytest.mark.parametrize("rows", [16, 9000])  # 9000: chains run block by block
@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_steps_are_direct_and_have_the_bits_of_eager_ones(make, rows):
    found = []
    for compiled in (False, True):
        step, net = trainer(make)
        step = dygraph.jit.compile(step) if compiled else step
        losses = [step(x_of(k, rows)).numpy().tobytes() for k in range(9)]
        found.append([*losses, *(v.numpy().tobytes() for v in [*net.parameters(), *net.buffers()])])
    assert found[0] == found[1]
    now = planned(step)
    assert now["steps"] == now["operators"] and now["strayed"] == 0
    in_chains = step._ready[0].prepared.operators_in_chains
    assert in_chains >= 4 if rows == 9000 else in_chains == 0


@pytest.mark.parametrize("width", [8, 300])  # 300: the lock is released meanwhile
def test_what_others_hold_of_a_parameter_stays(width):
    step, net = trainer(OPTIMIZERS["sgd"], width)
    step = dygraph.jit.compile(step)
    x = x_of(0, width=width)
    for _ in range(5):
        step(x)
    weight = net.last.weight
    held, before = weight.detach(), weight.numpy()
    step(x)
    np.testing.assert_array_equal(held.numpy(), before)
    assert (weight.numpy() != before).any()
    weight.set_value(np.zeros_like(before))
    net.last.bias.set_value(np.array([3.0, -1.0], "float32"))
    assert step(x).item() == 5.0  # (9 + 1) / 2
    assert planned(step)["strayed"] == 0


def test_a_gradient_that_is_read_later_stays():
    w = dygraph.Parameter(np.array([1.0, -2.0], "float32"))
    sgd = dygraph.optimizer.SGD(0.5, parameter_list=[w])
    x = dygraph.to_variable(np.array([3.0, 4.0], "float32"))

    @dygraph.jit.compile
    def step(x):
        loss = (w * x).sum()
        loss.backward()
        grad = w.grad * 1.0
        sgd.step()
        sgd.clear_gradients()
        with dygraph.no_grad():
            return loss, grad, w * 1.0

    for k in range(1, 7):
        loss, grad, after = step(x)
        want = np.array([1.0, -2.0]) - 0.5 * k * np.array([3.0, 4.0])
        np.testing.assert_array_equal(grad.numpy(), [3, 4])
        np.testing.assert_array_equal(after.numpy(), want)
        np.testing.assert_array_equal(loss.numpy(), (want + [1.5, 2.0]) @ [3, 4])


def large_program():
    """Pointwise operators on large arrays: numbers, rows, columns, results that others read."""
    main = static.Program()
    with static.program_guard(main):
        x, row, column = (static.data(n, s) for n, s in (
            ("x", [300, 400]), ("row", [400]), ("column", [300, 1])))  # fmt: skip
        a = static.layers.exp(x * 0.1) + row
        b = static.layers.tanh(a) * column
        c = static.layers.reshape(b, [400, 300])
        d = static.layers.sqrt(static.layers.abs(c)) + 1.0
        e = static.layers.square(static.layers.reshape(d, [300, 400]) - a)
        f = static.layers.matmul(e, e, transpose_y=True)
        g = static.layers.reduce_sum(static.layers.relu(f) * 2.0 - f)
    return main, [g, d, b]


@pytest.mark.parametrize("fetched", [1, 3])
@pytest.mark.parametrize("threads", [1, 2])
def test_chains_in_an_arena(fetched, threads):
    main, results = large_program()
    results, before = results[:fetched], dygraph.num_threads()
    compiled, executor = static.CompiledProgram(main), static.Executor()
    rng, held = np.random.default_rng(0), []
    dygraph.set_num_threads(threads)
    try:
        for _ in range(6):
            feed = {
                name: rng.standard_normal(shape).astype("float32")
                for name, shape in (("x", (300, 400)), ("row", 400), ("column", (300, 1)))
            }
            want = static.Executor().run(main, feed, results)
            held.append((want, executor.run(compiled, feed, results)))
    finally:
        dygraph.set_num_threads(before)
    for want, got in held:
        assert [v.tobytes() for v in got] == [v.tobytes() for v in want]
    (plan,) = executor._prepared.values()
    assert plan.program.operators_in_chains >= 6


def test_the_arena_holds_no_values_that_blocks_pass_on():
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [1000, 1000])
        y = x
        for _ in range(6):
            y = static.layers.tanh(y * 0.5)
        y = static.layers.reduce_sum(y)
    compiled, executor = static.CompiledProgram(main), static.Executor()
    feed = {"x": dygraph.ones([1000, 1000])}
    executor.run(compiled, feed, [y])
    dygraph.memory.reset_peak()
    before = dygraph.memory.stats()["used"]
    want = executor.run(compiled, feed, [y])[0]
    assert dygraph.memory.peak() - before < 1.2 * 4e6  # the last result alone
    chained = np.ones(1, "float32")
    for _ in range(6):
        chained = np.tanh(chained * np.float32(0.5))
    np.testing.assert_allclose(want, 1e6 * chained[0], rtol=1e-5)


def test_two_names_of_one_variable_see_writes_in_order():
    """No pass moves a read of one name over a write of the other."""
    main = static.Program()
    with static.program_guard(main):
        block = main.global_block()
        for name in ("w", "also"):
            block.create_var(name=name, shape=[2], dtype="float32", persistable=True)
        for name in ("g", "rate"):
            block.create_var(name=name, shape=[2 if name == "g" else 1], dtype="float32")
        for name in ("before", "after"):
            block.create_var(name=name, shape=[2], dtype="float32")
        block.append_op("scale", {"X": ["also"]}, {"Out": ["before"]}, {"scale": 2.0})
        slots = {"Param": ["w"], "Grad": ["g"], "LearningRate": ["rate"]}
        block.append_op("sgd", slots, {"ParamOut": ["w"]})
        block.append_op("scale", {"X": ["also"]}, {"Out": ["after"]}, {"scale": 2.0})
    scope, shared = static.Scope(), dygraph.to_variable(np.array([1.0, 2.0], "float32"))
    for name in ("w", "also"):
        scope.var(name).share(shared)
    feed = {"g": np.array([1.0, 1.0], "float32"), "rate": np.array([0.5], "float32")}
    compiled, executor = static.CompiledProgram(main), static.Executor()
    for k in range(4):
        before, after = executor.run(compiled, feed, ["before", "after"], scope=scope)
        np.testing.assert_array_equal(before, [2 - k, 4 - k])
        np.testing.assert_array_equal(after, [1 - k, 3 - k])
