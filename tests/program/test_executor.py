"""Scopes and the executor: feeds, fetches, what lives where and how long, errors."""

import signal
import threading

import numpy as np
import pytest

import dygraph
from dygraph import _core, jit, static
from program.models import MLP, numbers


@pytest.fixture
def mlp():
    """(program, scope, model): an MLP as a program, its weights in a scope of their own."""
    model = MLP()
    _, traced = jit.trace(model, [dygraph.to_variable(numbers(4, 6))])
    scope = static.Scope()
    for name, value in model.state_dict().items():
        scope.var(dict(model.named_parameters())[name].name).set(value)
    return traced.program, scope, model


def expected(model, x):
    return model(dygraph.to_variable(x)).numpy()


def test_run_returns_arrays_or_variables(mlp):
    program, scope, model = mlp
    executor = static.Executor(dygraph.CPUPlace())
    x = numbers(5, 6, seed=3)
    (array,) = executor.run(program, {"x": x}, scope=scope)
    assert isinstance(array, np.ndarray) and array.tobytes() == expected(model, x).tobytes()
    (variable,) = executor.run(program, {"x": x}, scope=scope, return_numpy=False)
    assert isinstance(variable, dygraph.Variable) and variable.numpy().tobytes() == array.tobytes()


def test_any_variable_may_be_fetched(mlp):
    program, scope, model = mlp
    x = numbers(2, 6)
    hidden = program.global_block().var("relu_0.tmp_0")
    results = static.Executor().run(
        program, {"x": x}, [hidden, "x", model.first.bias.name], scope=scope
    )
    first = dygraph.ops.relu(model.first(dygraph.to_variable(x))).numpy()
    assert results[0].tobytes() == first.tobytes()
    np.testing.assert_array_equal(results[1], x)
    np.testing.assert_array_equal(results[2], model.first.bias.numpy())


def test_persistables_stay_in_the_scope_and_temporaries_go(mlp):
    program, scope, _ = mlp
    before = scope.local_var_names()
    static.Executor().run(program, {"x": numbers(2, 6)}, scope=scope)
    assert scope.local_var_names() == before and scope.kids == []
    assert scope.find_var("relu_0.tmp_0") is None


def test_memory_is_back_after_a_run_and_temporaries_die_early():
    def chain(x):
        for _ in range(20):
            x = dygraph.ops.relu(x)
        return dygraph.mean(x)

    _, traced = jit.trace(chain, [dygraph.to_variable(numbers(2, 1 << 18))])
    x = dygraph.to_variable(numbers(4, 1 << 18))
    traced(x)
    used = dygraph.memory.used()
    dygraph.memory.reset_peak()
    result = traced(x)
    mib = 1 << 20
    assert dygraph.memory.peak() - used < 2 * 4 * mib + mib  # an input and an output, not twenty
    del result
    assert dygraph.memory.used() - used < mib


@pytest.mark.parametrize(
    "feed, error, text",
    [
        ({}, ValueError, "feed has no 'x'"),
        ({"x": np.zeros((2, 6))}, TypeError, "'x' must be float32, got float64"),
        ({"x": np.zeros((2, 5), "float32")}, ValueError, r"shape \[-1, 6\].*got \[2, 5\]"),
        ({"x": np.zeros(6, "float32")}, ValueError, r"shape \[-1, 6\].*got \[6\]"),
        (
            {"x": np.zeros((2, 6), "float32"), "y": np.zeros(1)},
            ValueError,
            "variable of the program, got 'y'",
        ),
        ({"x": "words"}, TypeError, "arrays of bool"),
        ([1], TypeError, "'x' must be float32, got int64"),
        ("x", TypeError, "feed must be a dict"),
    ],
)
def test_wrong_feeds_raise(mlp, feed, error, text):
    program, scope, _ = mlp
    with pytest.raises(error, match=text):
        static.Executor().run(program, feed, scope=scope)


def test_wrong_fetches_and_programs_raise(mlp):
    program, scope, _ = mlp
    executor = static.Executor()
    with pytest.raises(ValueError, match="got 'relu_0.tmp_1'. Did you mean 'relu_0.tmp_0'"):
        executor.run(program, {"x": numbers(2, 6)}, ["relu_0.tmp_1"], scope=scope)
    with pytest.raises(TypeError, match="got int"):
        executor.run(program, {"x": numbers(2, 6)}, [3], scope=scope)
    with pytest.raises(TypeError, match="takes a static.Program, got str"):
        executor.run("program")
    with pytest.raises(TypeError, match="scope must be"):
        executor.run(program, {"x": numbers(2, 6)}, scope={})


def test_a_place_that_is_not_built_raises(mlp):
    program, scope, _ = mlp
    with pytest.raises((NotImplementedError, IndexError), match=r"CUDAPlace\(100\)"):
        static.Executor(dygraph.CUDAPlace(100)).run(program, {"x": numbers(2, 6)}, scope=scope)


def test_an_empty_weight_names_operator_position_and_line(mlp):
    program, _, _ = mlp
    with pytest.raises(RuntimeError) as error:
        static.Executor().run(program, {"x": numbers(2, 6)}, scope=static.Scope())
    text = str(error.value)
    assert text.startswith("matmul") and "run the startup program first" in text
    assert "(operator 1 of block 0, made at " in text and "models.py:" in text


def test_an_error_at_run_time_leaves_the_program_usable():
    def forward(x, rows):
        return dygraph.ops.gather(dygraph.ops.relu(x), rows)

    def given(*rows):
        return dygraph.to_variable(np.array(rows))

    x = dygraph.to_variable(numbers(4, 3))
    _, traced = jit.trace(forward, [x, given(0, 1, 0)], dims=[("n", 3), ("m",)])
    with pytest.raises(IndexError, match="operator 3 of block 0, made at .*test_executor.py"):
        traced(x, given(1, 4))
    out = traced(x, given(3, 1))
    np.testing.assert_array_equal(out.numpy(), np.maximum(numbers(4, 3), 0)[[3, 1]])


def test_threads_run_one_program_at_once(mlp):
    program, scope, model = mlp
    executor = static.Executor()
    inputs = [numbers(n + 1, 6, seed=n) for n in range(4)]
    want = [expected(model, x).tobytes() for x in inputs]
    failures = []

    def work(i):
        for _ in range(200):
            (out,) = executor.run(program, {"x": inputs[i]}, scope=scope)
            if out.tobytes() != want[i]:
                failures.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [] and scope.kids == []


def test_one_program_in_two_scopes_at_once(mlp):
    """Operators hold no state of a run: what differs is in the scopes."""
    program, scope, model = mlp
    other = static.Scope()
    for name in scope.local_var_names():
        other.var(name).set(scope.var(name).numpy() * 2)
    executor, x = static.Executor(), numbers(3, 6)
    want = [executor.run(program, {"x": x}, scope=s)[0].tobytes() for s in (scope, other)]
    assert want[0] == expected(model, x).tobytes() != want[1]
    wrong = []

    def work(scope, want):
        for _ in range(200):
            if executor.run(program, {"x": x}, scope=scope)[0].tobytes() != want:
                wrong.append(scope)

    threads = [
        threading.Thread(target=work, args=args) for args in zip((scope, other), want, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_temporaries_are_in_a_child_while_the_run_lasts():
    program, scope = static.Program(), static.Scope()
    with static.program_guard(program):
        x = static.data("x", [None, None], "float32")
        y = x
        for _ in range(20):
            y = static.layers.matmul(y, x)
    feed, stop, seen = {"x": np.eye(300, dtype="float32")}, threading.Event(), []

    def work():
        while not stop.is_set():
            static.Executor().run(program, feed, [y], scope=scope)

    thread = threading.Thread(target=work)
    thread.start()
    while not seen:
        for kid in scope.kids:
            seen += [name for name in kid.local_var_names() if name == y.name]
            assert kid.parent is not None
    stop.set()
    thread.join()
    assert scope.kids == [] and scope.local_var_names() == []


def test_ctrl_c_is_answered_between_operators():
    def chain(x):
        for _ in range(3000):
            x = dygraph.ops.relu(x)
        return x

    x = dygraph.to_variable(numbers(1, 1 << 14))
    recorder = _core.Recorder(lambda: "here")
    recorder.add_feed(x, "x")
    recorder.start()
    y = chain(x)
    recorder.stop()
    recording = recorder.finish([y])
    prepared = _core.PreparedProgram(
        recording.program, _core.Scope(), ["x"], recording.fetches, None
    )
    timer = threading.Timer(0.0, signal.raise_signal, [signal.SIGINT])
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        for _ in range(1000):
            prepared.run([x])
    timer.join()
    (out,) = prepared.run([x])
    np.testing.assert_array_equal(out.numpy(), np.maximum(numbers(1, 1 << 14), 0))


# Scopes -------------------------------------------------------------------------------------------


def test_scopes_look_outwards():
    outer = static.Scope()
    outer.var("a").set(np.float32([1]))
    inner = outer.new_scope()
    inner.var("b").set(np.float32([2]))
    assert inner.find_var("a").get().numpy().tolist() == [1]
    assert outer.find_var("b") is None and inner.find_var("c") is None
    inner.var("a").set(np.float32([3]))  # hides the outer one
    assert inner.find_var("a").get().numpy().tolist() == [3]
    assert outer.find_var("a").get().numpy().tolist() == [1]
    assert outer.var("a").get().numpy().tolist() == [1]
    assert [kid.local_var_names() for kid in outer.kids] == [["a", "b"]]
    assert inner.parent is not None and outer.parent is None
    outer.drop_kids()
    assert outer.kids == []
    with pytest.raises(KeyError, match=r"hold no variable 'aa', got 2 others: 'a', 'b'"):
        inner.get_var("aa")
    with pytest.raises(ValueError, match="must have a name"):
        outer.var("")


def test_a_kid_outlives_its_parent():
    outer = static.Scope()
    inner = outer.new_scope()
    inner.var("b").set(np.float32([2]))
    del outer
    assert inner.parent is None and inner.find_var("a") is None
    assert inner.find_var("b").get().numpy().tolist() == [2]


def test_scope_guard_changes_the_global_scope_of_the_thread():
    outside = static.global_scope()
    mine = static.Scope()
    with pytest.raises(KeyError), static.scope_guard(mine):
        assert static.global_scope() is mine
        raise KeyError
    assert static.global_scope() is outside
    with pytest.raises(TypeError, match="takes a static.Scope, got dict"), static.scope_guard({}):
        pass


def test_a_program_writes_a_parameter_where_its_layer_does():
    total = dygraph.to_variable(np.zeros(2, "float32"), name="total")
    step = dygraph.to_variable(np.ones(1, "float32"))

    class Counter(dygraph.Layer):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", total)

        def forward(self, x):
            _core.become(self.total, self.total + step)
            return x + self.total

    _, traced = jit.trace(Counter(), [dygraph.to_variable(np.zeros((3, 2), "float32"))])
    np.testing.assert_array_equal(total.numpy(), [1, 1])  # as after one call
    zeros = dygraph.to_variable(np.zeros((1, 2), "float32"))
    assert traced(zeros).numpy().tolist() == [[1, 1]]
    assert traced(zeros).numpy().tolist() == [[2, 2]]
    np.testing.assert_array_equal(total.numpy(), [1, 1])


def two_results(first, second):
    """A program whose one operator writes a big result and a small one, to the names given."""
    program = static.Program()
    block = program.global_block()
    shapes = {"x": (1, 2, 40, 40), "f": (2, 2, 3, 3), "g": (1, 2, 38, 38)}
    for name, shape in shapes.items():
        block.create_var(name=name, shape=shape, dtype="float32")
    for name in {first, second}:
        block.create_var(name=name, dtype="float32", persistable=True)
    slots = {"Input": ["x"], "Filter": ["f"], "Output@GRAD": ["g"]}
    outputs = {"Input@GRAD": [first], "Filter@GRAD": [second]}
    block.append_op("conv2d_grad", inputs=slots, outputs=outputs)
    return program, {name: np.ones(shape, "float32") for name, shape in shapes.items()}


def test_results_have_variables_of_their_own():
    """Two results in one variable would be written into memory of one's size."""
    with pytest.raises(ValueError, match=r"variable of its own, got 'a' for Output\(Filter@GRAD\)"):
        two_results("a", "a")
    program, feed = two_results("a", "b")
    scope, shared = static.Scope(), dygraph.to_variable(np.zeros(1, "float32"))
    for name in ("a", "b"):  # two names of one variable: it takes one result after the other
        scope.var(name).share(shared)
    static.Executor().run(program, feed, scope=scope, fetch_list=[])
    assert shared.shape == (2, 2, 3, 3) and (shared.numpy() == 38 * 38).all()
    scope, shared = static.Scope(), dygraph.to_variable(feed.pop("x"))
    program.global_block().var("x").persistable = True
    for name in ("a", "x"):  # read and written
        scope.var(name).share(shared)
    static.Executor().run(program, feed, scope=scope, fetch_list=[])
    assert shared.shape == (1, 2, 40, 40) and shared.numpy()[0, 0, 20, 20] == 2 * 9
    program, feed = two_results("a", "b")
    sound = static.Scope()
    static.Executor().run(program, feed, scope=sound, fetch_list=[])
    assert sound.var("a").get_tensor().shape == (1, 2, 40, 40)
    assert sound.var("b").get_tensor().shape == (2, 2, 3, 3)
