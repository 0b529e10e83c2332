"""Programs, compiled steps and functions as graphs: equal bits, and what they refuse.

More than 600 lines because all kinds of graphs are held against the same steps.
"""

import contextlib
import gc
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest

import cuda_library
import dygraph
from dygraph import _core, cuda, static
from dygraph.errors import ArgumentTypeError, DygraphError, PreconditionNotMetError

PLACE = cuda_library.place()
pytestmark = pytest.mark.skipif(PLACE is None, reason="no CUDA library, not even the pretended one")
pretended = pytest.mark.skipif(
    not cuda_library.is_pretended(), reason="settings of the pretended CUDA"
)
LATE = [0, pytest.param(1, marks=pretended)]


@pytest.fixture(autouse=True)
def on_device():
    with cuda_library.on(PLACE):
        yield


def launches():
    return cuda.counts()["graph_launches"]


def late_or_not(late):
    return cuda_library.pretending(LATE=1) if late else contextlib.nullcontext()


def array(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype("float32")


def device(*shape, seed=0):
    return dygraph.to_variable(array(*shape, seed=seed))


class Net(dygraph.nn.Layer):
    """Two layers of weights, whose operators have kernels on the device."""

    def __init__(self, rate=0.0):
        super().__init__()
        self.rate = rate
        self.w1, self.w2 = self.create_parameter([6, 8]), self.create_parameter([8, 3])
        for i, w in enumerate((self.w1, self.w2)):
            w.set_value(array(*w.shape, seed=i))

    def forward(self, x):
        hidden = dygraph.ops.relu(dygraph.matmul(x, self.w1))
        if self.rate:
            hidden = dygraph.nn.functional.dropout(hidden, self.rate)
        return dygraph.matmul(hidden, self.w2)


def step_of(net, optimizer):
    def step(x, y):
        out = net(x)
        loss = dygraph.ops.mean((out + y) * (out + y))
        loss.backward()
        optimizer.step()
        optimizer.clear_gradients()
        return loss

    return step


def train(make_optimizer, wrap, steps=8, rate=0.0, change=None):
    """Losses and weights after some steps, and what `wrap` made of the step."""
    dygraph.seed(5)
    net = Net(rate)
    optimizer = make_optimizer(net.parameters())
    step = wrap(step_of(net, optimizer))
    losses = []
    for i in range(steps):
        if change is not None:
            change(i, net, optimizer)
        losses.append(step(device(4, 6, seed=10 + i), device(4, 3, seed=90 + i)).numpy().tobytes())
    return losses, [p.numpy().tobytes() for p in net.parameters()], step


def graphed(compiled):
    return compiled._ready[0].prepared.graphed


def sgd(parameters):
    return dygraph.optimizer.SGD(0.1, parameter_list=parameters)


def momentum(parameters):
    return dygraph.optimizer.Momentum(0.1, 0.9, parameter_list=parameters)


def adam(parameters):
    return dygraph.optimizer.Adam(0.1, parameter_list=parameters)


def on_device_kernel(name):
    return any("CUDAPlace" in kernel for kernel in _core.describe_op(name)["kernels"])


# Steps ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize("make", [sgd, momentum, adam])
def test_a_compiled_step_replays_with_the_bits_of_the_eager_one(make, late):
    with late_or_not(late):
        losses, weights, _ = train(make, lambda step: step)
        before = launches()
        got_losses, got_weights, step = train(make, dygraph.jit.compile)
        launched = launches() - before
    assert (got_losses, got_weights) == (losses, weights)
    if on_device_kernel(make.__name__):
        found = graphed(step)
        assert found["plain"] == "" and found["strayed"] == 0
        assert (found["graphs"], found["between"]) == (1, 0)
        # The program runs in the third call, and is recorded in its own third run.
        assert found["replays"] == 3 and launched == 4


@pretended
def test_a_replay_is_one_launch_and_a_few_copies():
    with cuda_library.pretending(COUNTERS=0) as counts:
        _, _, step = train(sgd, dygraph.jit.compile)
        x, y = device(4, 6), device(4, 3)
        counts.pretend_cuda_set(b"COUNTERS", 0)
        step(x, y)
        assert counts.pretend_cuda_get(b"GRAPH_LAUNCHES") == 1
        assert counts.pretend_cuda_get(b"WAITS") == 0
        assert counts.pretend_cuda_get(b"COPIES_WITHIN") <= 3  # the feeds, and the result


def test_a_schedule_moves_the_rate_of_a_graph():
    def make(parameters):
        rate = dygraph.lr.StepDecay(0.1, step_size=1, decay_rate=0.9)
        return dygraph.optimizer.SGD(rate, parameter_list=parameters)

    def change(i, net, optimizer):
        if i > 0:
            optimizer._learning_rate.step()

    losses, weights, _ = train(make, lambda step: step, 10, change=change)
    got_losses, got_weights, step = train(make, dygraph.jit.compile, 10, change=change)
    assert (got_losses, got_weights) == (losses, weights)
    assert graphed(step)["replays"] >= 3 and graphed(step)["plain"] == ""


def test_weights_that_are_set_or_shared_in_between_count():
    held = []

    def change(i, net, optimizer):
        if i == 6:  # other memory
            net.w1.set_value(array(6, 8, seed=77))
        if i == 8:
            held.append(net.w2.detach())  # shares the memory until somebody writes
            held.append(held[-1].numpy())

    losses, weights, _ = train(sgd, lambda step: step, 12, change=change)
    got_losses, got_weights, step = train(sgd, dygraph.jit.compile, 12, change=change)
    assert (got_losses, got_weights) == (losses, weights)
    np.testing.assert_array_equal(held[0].numpy(), held[1])  # a copy on write
    np.testing.assert_array_equal(held[2].numpy(), held[3])
    assert graphed(step)["replays"] > 0 and graphed(step)["plain"] == ""


# Random numbers ---------------------------------------------------------------------------------


@contextlib.contextmanager
def without_graphs():
    _core.set_flag("cuda_graphs", False)
    try:
        yield
    finally:
        _core.set_flag("cuda_graphs", True)


@pytest.mark.parametrize("late", LATE)
def test_dropout_is_part_of_a_graph(late):
    with late_or_not(late):
        losses, weights, _ = train(sgd, lambda step: step, rate=0.5)
        state = _core.generator_state()
        before = launches()
        got_losses, got_weights, step = train(sgd, dygraph.jit.compile, rate=0.5)
        launched = launches() - before
    assert (got_losses, got_weights) == (losses, weights)
    assert len(set(got_losses)) == len(got_losses)
    assert _core.generator_state() == state
    found = graphed(step)
    assert found["plain"] == "" and found["strayed"] == 0
    assert (found["graphs"], found["between"]) == (1, 0)
    assert found["replays"] == 3 and launched == 4


@pretended
def test_a_replay_with_dropout_is_one_launch_and_does_not_wait():
    with cuda_library.pretending(COUNTERS=0) as counts:
        _, _, step = train(sgd, dygraph.jit.compile, rate=0.5)
        x, y = device(4, 6), device(4, 3)
        counts.pretend_cuda_set(b"COUNTERS", 0)
        step(x, y)
        assert counts.pretend_cuda_get(b"GRAPH_LAUNCHES") == 1
        assert counts.pretend_cuda_get(b"LAUNCHES") == 0
        assert counts.pretend_cuda_get(b"WAITS") == 0
        assert counts.pretend_cuda_get(b"COPIES_TO_DEVICE") == 1  # seed and stream


def drawing(op, **attrs):
    return lambda x: next(iter(_core.run_op(op, {}, {"shape": [4, 5], **attrs}).values()))


def attended(x):
    args = {"num_heads": 1, "dropout_prob": 0.4, "is_test": False}
    return _core.run_op("scaled_dot_product_attention", dict.fromkeys(_QKV, x), args)["Out"]


_QKV = ("Query", "Key", "Value")
RANDOM = {
    "dropout": lambda x: dygraph.nn.functional.dropout(x, 0.3),
    "uniform_random": drawing("uniform_random", min=-2.0, max=3.0),
    "gaussian_random": drawing("gaussian_random", mean=1.0, std=2.0),
    "truncated_gaussian_random": drawing("truncated_gaussian_random"),
    "randint": drawing("randint", low=-3, high=9),
    "rrelu": lambda x: _core.run_op("rrelu", {"X": x}, {})["Out"],
    "bernoulli": lambda x: dygraph.ops.bernoulli(dygraph.ops.sigmoid(x)),
    "poisson": lambda x: dygraph.ops.poisson(x * x * 9.0),  # few and many on average
    "attention": lambda x: dygraph.reshape(attended(dygraph.reshape(x, [1, 4, 5])), [4, 5]),
}


@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize("name", RANDOM)
def test_replays_draw_what_runs_without_graphs_draw(name, late):
    """Two draws in each run; other calls draw in between; a seed repeats them."""

    def function(x):
        first, second = RANDOM[name](x + x), RANDOM[name](x * x)
        return (first - second) * first + first

    def runs():
        dygraph.seed(11)
        found = []
        for i in range(7):
            if i % 2:
                dygraph.ops.uniform_random([3])
            found.append(program(device(4, 5, seed=i)).numpy().tobytes())
        return found, _core.generator_state()

    program = traced(function, device(4, 5))
    with late_or_not(late):
        with without_graphs():
            expected = runs()
        before = launches()
        assert runs() == expected
        assert launches() - before == 5
        assert runs() == expected  # replays from the first on
        assert launches() - before == 12
    assert len(set(expected[0])) == 7
    found = program._prepared.graphed
    assert (found["graphs"], found["between"], found["plain"]) == (1, 0, "")


def test_own_seeds_give_the_same_numbers_in_each_replay():
    program = traced(
        lambda x: drawing("uniform_random", seed=7)(x) + dygraph.ops.mean(x * x), device(4, 5)
    )
    results = {program(device(4, 5)).numpy().tobytes() for _ in range(6)}
    assert len(results) == 1 and program._prepared.graphed["replays"] == 3


@pytest.mark.parametrize("seed", [0, 9])
def test_described_programs_with_dropout_run_as_one_graph(seed):
    program, start = static.Program(), static.Program()
    program.random_seed = seed
    with static.program_guard(program, start):
        x = static.data("x", [-1, 6], "float32")
        hidden = static.layers.dropout(static.layers.fc(x, 8, act="relu"), 0.5)
        loss = static.layers.mean(static.layers.fc(hidden, 4))
        static.optimizer.SGD(0.5).minimize(loss)

    def runs():
        executor, scope = static.Executor(PLACE), static.Scope()
        dygraph.seed(1)
        executor.run(start, scope=scope)
        feed, before = {"x": array(3, 6, seed=1)}, launches()
        found = [executor.run(program, feed, [loss], scope=scope)[0].tobytes() for _ in range(6)]
        return found, launches() - before

    with without_graphs():
        expected, launched = runs()
    assert launched == 0 and len(set(expected)) == 6
    assert runs() == (expected, 4)


class Averaged(Net):
    """Keeps an average of its results, which each step makes anew."""

    def __init__(self):
        super().__init__()
        self.average = self.register_buffer("average", dygraph.zeros([3]))

    def forward(self, x):
        out = super().forward(x)
        mean = dygraph.ops.mean(dygraph.reshape(out, [-1]))
        self.average.set_value(self.average * 0.5 + mean)
        return out


class Normed(Net):
    """With running means, which the host may compute between graphs."""

    def __init__(self):
        super().__init__()
        self.norm = dygraph.nn.BatchNorm1D(6)

    def forward(self, x):
        return super().forward(self.norm(x))


@pytest.mark.parametrize("kind", [Averaged, Normed])
def test_state_that_is_made_anew_stays_where_it_was(kind):
    def run(wrap):
        net = kind()
        step = wrap(step_of(net, momentum(net.parameters())))
        losses, states = [], []
        for i in range(9):
            loss = step(device(4, 6, seed=i), device(4, 3, seed=50 + i))
            losses.append(loss.numpy().tobytes())
            states.append([v.numpy().tobytes() for v in net.state_dict().values()])
        return losses, states, step

    losses, states, _ = run(lambda step: step)
    got_losses, got_states, step = run(dygraph.jit.compile)
    assert got_losses == losses and got_states == states
    found = graphed(step)
    assert found["replays"] >= 2 and found["plain"] == ""


@pretended
@pytest.mark.parametrize("code", [1, 2])
def test_a_recording_that_fails_leaves_everything_as_it_was(code):
    def run(nth):
        net = Averaged()
        step = dygraph.jit.compile(step_of(net, momentum(net.parameters())))
        found = []
        for i in range(8):
            x, y = device(4, 6, seed=i), device(4, 3, seed=50 + i)
            if i == 4:  # the program's third run
                settings.pretend_cuda_set(b"FAIL", nth * 1000 + code)
            loss = step(x, y)
            settings.pretend_cuda_set(b"FAIL", 0)
            found.append(loss.numpy().tobytes())
            found += [v.numpy().tobytes() for v in net.state_dict().values()]
        return found, graphed(step)["plain"]

    quiet = 0
    with cuda_library.pretending(FAIL=0) as settings:
        expected, plain = run(100000)
        assert plain == ""
        for nth in range(1, 140, 2):
            try:
                found, plain = run(nth)
            except DygraphError:
                continue  # a copy of an argument, for instance
            quiet += plain != ""
            assert found == expected, nth
    assert quiet > 5


def test_a_flag_switches_graphs_off():
    before = _core.get_flag("cuda_graphs")
    _core.set_flag("cuda_graphs", False)
    try:
        _, _, step = train(sgd, dygraph.jit.compile)
        assert graphed(step)["runs"] == graphed(step)["replays"] == 0
    finally:
        _core.set_flag("cuda_graphs", before)


# Programs ---------------------------------------------------------------------------------------


def traced(function, *inputs):
    return dygraph.jit.trace(function, list(inputs))[1]


def test_each_shape_has_a_graph_and_eight_are_kept():
    w = device(5, 3)
    program = traced(lambda x: dygraph.ops.relu(dygraph.matmul(x, w)), device(4, 5))
    before = launches()
    for rows in range(1, 11):
        x = array(rows, 5, seed=rows)
        expected = program(dygraph.to_variable(x)).numpy()
        for _ in range(4):
            got = program(dygraph.to_variable(x)).numpy()
            assert got.tobytes() == expected.tobytes()
    assert launches() - before == 10 * 3
    assert program._prepared.graphed["runs"] == 8


def test_results_are_the_callers_own():
    program = traced(lambda x: dygraph.ops.relu(x * x + x), device(4, 5))
    results = [program(device(4, 5, seed=i)) for i in range(8)]
    kept = [r.numpy() for r in results]
    for i in range(8):
        np.testing.assert_array_equal(results[i].numpy(), kept[i])
        x = array(4, 5, seed=i)
        np.testing.assert_allclose(kept[i], np.maximum(x * x + x, 0), rtol=1e-6)


def test_an_operator_that_waits_stands_between_graphs():
    def function(x):
        y = dygraph.ops.relu(x + x) * x
        z = dygraph.ops.erfinv(y * 0.01) if not on_device_kernel("erfinv") else y
        return dygraph.ops.relu(z + y) * x

    program = traced(function, device(4, 5))
    expected = function(device(4, 5, seed=2)).numpy()
    for _ in range(6):
        assert program(device(4, 5, seed=2)).numpy().tobytes() == expected.tobytes()
    found = program._prepared.graphed
    assert found["replays"] == 3
    if not on_device_kernel("erfinv"):
        assert found["graphs"] == 2 and found["between"] >= 1


def test_described_programs_run_as_graphs():
    program, start = static.Program(), static.Program()
    with static.program_guard(program, start):
        x = static.data("x", [-1, 6], "float32")
        out = static.layers.fc(x, 4, act="relu")
        loss = static.layers.mean(out)
        static.optimizer.SGD(0.5).minimize(loss)
    scopes = static.Scope(), static.Scope()
    executor = static.Executor(PLACE)
    found = []
    for scope, graphs in zip(scopes, (False, True), strict=True):
        _core.set_flag("cuda_graphs", graphs)
        dygraph.seed(1)
        executor.run(start, scope=scope)
        before = launches()
        losses = [
            executor.run(program, {"x": array(3, 6, seed=i)}, [loss, out], scope=scope)
            for i in range(6)
        ]
        found.append([[np.asarray(v).tobytes() for v in pair] for pair in losses])
        assert (launches() > before) == graphs
    assert found[0] == found[1]


@pytest.mark.parametrize("late", LATE)
def test_ragged_feeds_have_a_graph_for_each_division(late):
    program, start = static.Program(), static.Program()
    with static.program_guard(program, start):
        x = static.data("x", [-1, 4], "float32", lod_level=1)
        hidden = static.layers.fc(x, 5, act="relu")
        pooled = static.layers.sequence_pool(hidden * 2.0, "average")
        again = static.layers.sequence_expand_as(pooled, x)
        loss = static.layers.mean(static.layers.fc(again * hidden, 3))
        static.optimizer.SGD(0.5).minimize(loss)
    divisions = [[0, 2, 6], [0, 3, 6], [0, 1, 2, 6]]

    def runs():
        executor, scope, found = static.Executor(PLACE), static.Scope(), []
        dygraph.seed(1)
        executor.run(start, scope=scope)
        for i in range(15):
            lod = [divisions[i % 3 if i < 12 else 2]]
            feed = {"x": dygraph.to_variable(array(6, 4, seed=i), lod=lod)}
            results = executor.run(
                program, feed, [loss, pooled, again], scope=scope, return_numpy=False
            )
            found.append([(v.numpy().tobytes(), v.lod()) for v in results])
        return found

    with late_or_not(late):
        with without_graphs():
            expected = runs()
        before = launches()
        assert runs() == expected
        assert launches() - before >= 2 + 2 + 5


def test_constants_that_are_copied_to_the_device_are_part_of_a_graph():
    values = np.arange(5, dtype="float32")

    def function(x):
        args = {"shape": [5], "dtype": "float32", "fp32_values": values.tolist()}
        return dygraph.ops.relu(x + x) * _core.run_op("assign_value", {}, args)["Out"] + x

    if not on_device_kernel("assign_value"):
        pytest.skip("the host computes the operator")
    program = traced(function, device(4, 5))
    for i in range(6):
        x = array(4, 5, seed=i)
        got = program(dygraph.to_variable(x)).numpy()
        np.testing.assert_array_equal(got, np.maximum(x + x, 0) * values + x)
    assert program._prepared.graphed["between"] == 0


def test_graphs_give_their_memory_back():
    gc.collect()
    before = cuda.memory_allocated()
    program = traced(lambda x: dygraph.ops.relu(x * x + x), device(64, 64))
    for _ in range(5):
        program(device(64, 64))
    assert program._prepared.graphed["runs"] == 1
    del program
    gc.collect()
    assert cuda.memory_allocated() == before


# Failures ---------------------------------------------------------------------------------------


def fail_at(nth, code):
    """Errors of runs around the n-th call of CUDA, which fails; each other run has its bits."""
    w = device(5, 5)

    def function(x):
        return dygraph.ops.relu(dygraph.matmul(x, w) * x + x)

    program = traced(function, device(5, 5))
    x = device(5, 5, seed=1)
    expected = function(x).numpy()
    errors = []
    with cuda_library.pretending(FAIL=0) as settings:
        program(x)
        program(x)  # the next one is recorded
        settings.pretend_cuda_set(b"FAIL", nth * 1000 + code)
        for run in range(8):
            try:
                got = program(x).numpy()
            except DygraphError as error:
                errors.append(str(error))
            else:
                assert got.tobytes() == expected.tobytes()
            if run == 3:
                settings.pretend_cuda_set(b"FAIL", 0)
    return errors


@pretended
@pytest.mark.parametrize("code", [1, 2])  # a bad value, no memory
@pytest.mark.parametrize("nth", range(1, 60, 3))
def test_after_a_failure_the_next_run_works(nth, code):
    assert len(fail_at(nth, code)) <= 1


@pretended
@pytest.mark.parametrize("nth", range(1, 40, 5))
def test_an_error_that_stays_keeps_its_first_text(nth):
    code = f"""
        import sys
        sys.path[:0] = {sys.path!r}
        import cuda_library
        with cuda_library.on(cuda_library.place()):
            import test_graphs
            errors = test_graphs.fail_at({nth}, 719)
        texts = "cudaErrorLaunchFailure", "cuBLASLt"  # by the call that fails
        assert all(any(t in error for t in texts) for error in errors), errors
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True, text=True, cwd=Path(__file__).parent,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]


@pytest.mark.parametrize("nth", range(1, 25))
def test_without_memory_for_a_record_runs_go_on(nth):
    program = traced(lambda x: dygraph.ops.relu(x * x + x) * x, device(5, 5))
    x = device(5, 5, seed=1)
    expected = [program(x).numpy().tobytes() for _ in range(2)][0]
    _core.memory.fail_allocation(nth)
    try:
        got = program(x)  # is recorded, where it can be
    except MemoryError:
        got = None
    finally:
        _core.memory.fail_allocation(0)
    for result in [got, *(program(x) for _ in range(3))]:
        assert result is None or result.numpy().tobytes() == expected


def test_an_error_of_the_program_is_raised_as_in_plain_runs():
    program = traced(lambda x: dygraph.ops.relu(x + x) * x, device(4, 5))
    for _ in range(4):
        program(device(4, 5))
    with pytest.raises(DygraphError):
        program(device(4, 6))
    program(device(4, 5))


# dygraph.cuda.graph -----------------------------------------------------------------------------


@pytest.mark.parametrize("late", LATE)
def test_a_function_replays_from_its_third_call_on(late):
    net = Net()
    fast = cuda.graph(net)
    with late_or_not(late), dygraph.no_grad():
        before = launches()
        results = [fast(device(4, 6, seed=i)) for i in range(6)]
        assert launches() - before == 5
        for i, got in enumerate(results):  # each is its own
            assert got.numpy().tobytes() == net(device(4, 6, seed=i)).numpy().tobytes()
    assert (fast.recordings, fast.replays) == (1, 4)
    assert "Net" in repr(fast)


def test_structures_constants_and_shapes():
    @cuda.graph
    def both(x, factor, *, y):
        return {"sum": x + y, "rest": (dygraph.ops.relu(x * factor), None)}

    for rows in (2, 3):
        for factor in (2.0, 3.0):
            for i in range(4):
                x, y = device(rows, 5, seed=i), device(rows, 5, seed=50 + i)
                got = both(x, factor, y=y)
                np.testing.assert_array_equal(got["sum"].numpy(), x.numpy() + y.numpy())
                np.testing.assert_array_equal(
                    got["rest"][0].numpy(), np.maximum(x.numpy() * np.float32(factor), 0)
                )
                assert got["rest"][1] is None
    assert (both.recordings, both.replays) == (4, 8)


def test_weights_may_change_in_place_or_move():
    net = Net()
    fast = cuda.graph(net)
    optimizer = sgd(net.parameters())
    step = step_of(net, optimizer)
    x, y = device(4, 6), device(4, 3)
    for i in range(8):
        if i == 5:
            net.w1.set_value(array(6, 8, seed=33))
        with dygraph.no_grad():
            assert fast(x).numpy().tobytes() == net(x).numpy().tobytes()
        step(x, y)
    assert fast.replays >= 4 and fast.recordings == 2


def test_what_a_graph_cannot_hold_is_refused_and_undone():
    kept = device(2, 2)

    def reads(x):
        return x + x if (x + x).sum().item() > 0 else x

    def writes(x):
        kept.set_value(kept + x)
        return x + x

    def draws(x):
        with cuda_library.on(dygraph.CPUPlace()):
            there = dygraph.ops.uniform_random([2, 2])
        return x + there.to(PLACE)

    before, generator = kept.numpy(), _core.generator_state()
    x = device(2, 2)
    fast = cuda.graph(reads)
    with pytest.raises(PreconditionNotMetError, match="must not wait"):
        fast(x)
        fast(x)
    with pytest.raises(PreconditionNotMetError, match="write to Variables"):
        cuda.graph(writes)(x)
    draws = cuda.graph(draws)
    draws(x)
    _core.set_generator_state(*generator)
    with pytest.raises(PreconditionNotMetError, match="random numbers of the host"):
        draws(x)
    assert kept.numpy().tobytes() == before.tobytes()
    assert _core.generator_state() == generator
    with pytest.raises(ArgumentTypeError, match="must be a function"):
        cuda.graph(3)
    with pytest.raises(ArgumentTypeError, match="constants"):
        cuda.graph(lambda a: a)([1])
    with pytest.raises(ArgumentTypeError, match="one CUDAPlace"):
        cuda.graph(lambda a: a)(x.to("cpu"))
    fine = cuda.graph(lambda a: a + a)  # recording goes on
    for _ in range(4):
        np.testing.assert_array_equal(fine(x).numpy(), 2 * x.numpy())
    assert fine.replays == 2


@pytest.mark.parametrize("late", LATE)
def test_a_recorded_function_draws_anew_in_each_call(late):
    def function(x):
        return dygraph.nn.functional.dropout(x, 0.5) + RANDOM["uniform_random"](x)

    with late_or_not(late):
        dygraph.seed(4)
        expected = [function(device(4, 5, seed=i)).numpy().tobytes() for i in range(6)]
        state = _core.generator_state()
        fast = cuda.graph(function)
        for _ in range(2):
            dygraph.seed(4)
            assert [fast(device(4, 5, seed=i)).numpy().tobytes() for i in range(6)] == expected
            assert _core.generator_state() == state
    assert (fast.recordings, fast.replays) == (1, 10)


def test_a_program_within_a_recorded_function_draws_anew():
    program = traced(lambda x: dygraph.nn.functional.dropout(x * x, 0.5), device(4, 5))

    def function(x):
        return program(x + x) + dygraph.nn.functional.dropout(x, 0.5)

    dygraph.seed(4)
    expected = [function(device(4, 5)).numpy().tobytes() for i in range(5)]
    fast = cuda.graph(function)
    dygraph.seed(4)
    assert [fast(device(4, 5)).numpy().tobytes() for i in range(5)] == expected


@pretended
def test_pinned_memory_on_its_way_does_not_spoil_a_recording():
    small = dygraph.full([3], 2.0).pin_memory()
    with cuda_library.pretending(LATE=1):
        fast = cuda.graph(lambda v: v * small.cuda())
        for k in range(3):
            pinned = dygraph.full([100_000], float(k)).pin_memory()
            copied = pinned.cuda()
            del pinned  # given back when the copy is done, which the recording must not ask
            assert fast(dygraph.ones([3])).tolist() == [2.0] * 3
            assert copied.numpy().sum() == 100_000.0 * k


def test_other_threads_compute_while_one_records():
    stop, errors = threading.Event(), []
    a, b = array(8, 8), array(8, 8, seed=1)

    def compute():
        with cuda_library.on(PLACE):
            x, y = dygraph.to_variable(a), dygraph.to_variable(b)
            while not stop.is_set():
                if (x + y).numpy().tobytes() != (a + b).tobytes():
                    errors.append("other bits")

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        for i in range(20):
            fast = cuda.graph(lambda v: dygraph.ops.relu(v * v + v))
            for _ in range(3):
                x = array(8, 8, seed=i)
                got = fast(dygraph.to_variable(x)).numpy()
                np.testing.assert_array_equal(got, np.maximum(x * x + x, 0))
    finally:
        stop.set()
        thread.join()
    assert not errors
