"""What tracing and programs take of memory, by the allocator's count: little more than the calls
they were made of."""

import subprocess
import sys

import numpy as np
import pytest

import dygraph
from dygraph import jit, memory, nn, static
from program.models import numbers

TENSOR = 1 << 20  # bytes
SIDE = 512  # of a tensor of float32
LINKS = 40


def square(seed=0):
    return dygraph.to_variable(numbers(SIDE, SIDE, seed=seed))


def peak_of(work):
    """(bytes `work` took above what was in use, its result)."""
    before = memory.used()
    memory.reset_peak()
    result = work()
    return memory.peak() - before, result


def chain(x):
    for _ in range(LINKS):
        x = dygraph.exp(x * 0.5)
    return x.sum()


def test_a_traced_call_lets_go_of_its_values():
    """By the length of the chain it would be 80 tensors."""
    x = square()
    eager, _ = peak_of(lambda: chain(x))
    traced, _ = peak_of(lambda: jit.trace(chain, [x]))
    assert eager < 4 * TENSOR
    assert traced < 9 * TENSOR  # its inputs, twice as many rows in one of the runs


def test_a_program_lets_go_of_its_values():
    x = square()
    out, traced = jit.trace(chain, [x])
    traced(x)
    took, got = peak_of(lambda: traced(x))
    assert took < 4 * TENSOR
    assert got.numpy().tobytes() == out.numpy().tobytes()


def test_tracing_takes_no_second_tape():
    layer = nn.Linear(SIDE, SIDE)

    def deep(x):
        for _ in range(LINKS):
            x = dygraph.tanh(layer(x))
        return x.sum()

    x = square()
    eager, result = peak_of(lambda: deep(x))
    assert eager > LINKS * TENSOR  # what the tape keeps
    del result
    traced, (out, _) = peak_of(lambda: jit.trace(deep, [x]))
    assert traced < 1.3 * eager
    out.backward()  # the tape of the ordinary call is there
    assert np.isfinite(layer.weight.grad.numpy()).all()


def test_gradients_in_a_later_call_alone_are_refused():
    layer, calls = nn.Linear(3, 2), []

    def step(x):
        loss = layer(x).sum()
        calls.append(1)
        if len(calls) > 1:
            loss.backward()
        return loss

    before = layer.weight.numpy()
    with pytest.raises(RuntimeError, match="compute gradients in every call or in none"):
        jit.trace(step, [dygraph.ones([4, 3])])
    np.testing.assert_array_equal(layer.weight.numpy(), before)
    assert layer.weight.grad is None


def test_a_loaded_program_takes_no_modules_to_describe_programs(tmp_path):
    """Those of ``static`` take as much memory as a small model."""
    layer = nn.Linear(SIDE, 3)
    x = square()
    out, traced = jit.trace(layer, [x])
    traced.save(tmp_path / "model")
    np.save(tmp_path / "x.npy", x.numpy())
    code = f"""
import sys, numpy, dygraph
x = dygraph.to_variable(numpy.load({str(tmp_path / "x.npy")!r}))
numpy.save({str(tmp_path / "out.npy")!r}, dygraph.jit.load({str(tmp_path / "model")!r})(x).numpy())
assert "static" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert np.load(tmp_path / "out.npy").tobytes() == out.numpy().tobytes()


def test_tracing_leaves_no_arenas_behind():
    code = """
import dygraph
from dygraph import jit, memory
x = dygraph.ones([24 << 20, 1])  # 96 MB
def step(x):
    return (dygraph.exp(x) * 2.0).sum()
step(x)
memory.release_free()
held = memory.stats()["reserved"]
out, traced = jit.trace(step, [x])
assert memory.stats()["reserved"] <= held + (64 << 20), (memory.stats(), held)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_weights_are_shared_with_the_layer():
    layer = nn.Linear(SIDE, SIDE, bias_attr=False)
    x = square()
    layer.eval()
    before = memory.used()
    out, traced = jit.trace(layer, [x])
    traced(x)
    held = memory.used() - before
    assert held < 1.5 * TENSOR  # the output, not the weight
    layer.weight.set_value(np.zeros((SIDE, SIDE), "float32"))  # seen by the layer alone
    assert traced(x).numpy().tobytes() == out.numpy().tobytes()
    assert not layer(x).numpy().any()


def step_of(depth=12):
    """A step of training through blocks with a way around them."""
    layers = [nn.Linear(64, 64) for _ in range(depth)]
    parameters = [p for layer in layers for p in layer.parameters()]
    adam = dygraph.optimizer.Adam(0.01, parameter_list=parameters)

    def step(x):
        for layer in layers:
            x = dygraph.tanh(layer(x)) + dygraph.sigmoid(x)
        loss = (x * x).mean()
        loss.backward()
        adam.step()
        adam.clear_gradients()
        return loss

    return step, parameters


def test_a_traced_step_takes_no_more_than_an_eager_one():
    """The addition's gradient asks for the sizes of its operands: their data goes."""
    x = dygraph.to_variable(numbers(4096, 64))  # 1 MB
    step, _ = step_of()
    step(x)
    eager, _ = peak_of(lambda: step(x))
    assert eager > 24 * TENSOR
    tracing, (_, traced) = peak_of(lambda: jit.trace(step, [x]))
    assert tracing < 1.6 * eager  # one of the runs has a row more, another one twice as many
    traced(x)
    running, _ = peak_of(lambda: traced(x))
    assert running <= 1.02 * eager


def test_a_described_step_lets_go_of_what_only_shapes_are_asked_of():
    """x -> exp -> + -> mean: the operands of the addition are not read by its gradient."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [None, SIDE])
        h = static.layers.fc(x, SIDE, bias_attr=False)
        for _ in range(LINKS):
            h = static.layers.scale(h, 0.5) + static.layers.scale(h, 0.25)
        loss = static.layers.mean(h)
        static.optimizer.SGD(0.1).minimize(loss)
    executor, scope = static.Executor(), static.Scope()
    executor.run(startup, scope=scope)
    feed = {"x": numbers(SIDE, SIDE)}
    weight = main.all_parameters()[0].name
    start = scope.find_var(weight).get().numpy()
    executor.run(main, feed, [loss], scope=scope)
    want = start - 0.1 * feed["x"].T @ np.full((SIDE, SIDE), 0.75**LINKS / SIDE**2)
    np.testing.assert_allclose(scope.find_var(weight).get().numpy(), want, rtol=1e-5, atol=1e-7)
    took, _ = peak_of(lambda: executor.run(main, feed, [loss], scope=scope))
    assert took < 8 * TENSOR


def test_a_trace_that_fails_brings_fresh_accumulators_back():
    x = dygraph.to_variable(numbers(32, 64))
    step, parameters = step_of(2)
    begin = [p.numpy() for p in parameters]

    def fails(x):
        return float(step(x))

    with pytest.raises((RuntimeError, TypeError)):
        jit.trace(fails, [x])
    for want, p in zip(begin, parameters, strict=True):
        np.testing.assert_array_equal(p.numpy(), want)
    first = step(x)
    after = [p.numpy() for p in parameters]
    other, again = step_of(2)
    for p, value in zip(again, begin, strict=True):
        p.set_value(value)
    assert other(x).numpy().tobytes() == first.numpy().tobytes()
    for want, p in zip(after, again, strict=True):
        assert p.numpy().tobytes() == want.tobytes()
