"""What a prepared program does in another way than call after call: filters that are kept in their
kernel's order, operators that become one, results written where an input was."""

import threading

import numpy as np
import pytest

import dygraph
from dygraph import _core, nn, static
from program.models import numbers

PIXELS = 16  # with 32 channels enough work for a filter in another order


class Residual(dygraph.Layer):
    """Two convolutions with batch_norm, a way around them, relu; the ways a network uses them."""

    def __init__(self, width=32):
        super().__init__()
        self.first = nn.Conv2D(8, width, 3, padding=1, bias_attr=False)
        self.first_norm = nn.BatchNorm2D(width)
        self.second = nn.Conv2D(width, width, 3, padding=1, bias_attr=False)
        self.second_norm = nn.BatchNorm2D(width)

    def forward(self, x):
        x = dygraph.relu(self.first_norm(self.first(x)))
        return dygraph.relu(self.second_norm(self.second(x)) + x)


def image(batch=1, seed=0):
    return numbers(batch, 8, PIXELS, PIXELS, seed=seed)


def residual(width):
    dygraph.seed(3)
    layer = Residual(width)
    rng = np.random.default_rng(4)
    for norm in (layer.first_norm, layer.second_norm):
        for name, value in norm.state_dict().items():
            low = 0.5 if "variance" in name else -1.0
            value.set_value(rng.uniform(low, 1.5, value.shape).astype("float32"))
    layer.eval()
    return layer


@pytest.fixture
def net():
    return residual(32)


def described(layer, shape=(8, PIXELS, PIXELS)):
    program = static.Program()
    with static.program_guard(program):
        out = layer(static.data("x", [None, *shape]))
    return program, out


def bits(layer, x):
    return layer(dygraph.to_variable(x)).numpy().tobytes()


def types(program):
    return [op.type for op in program.global_block().ops]


@pytest.mark.parametrize("width", [32, 272])  # filters in one part; in parts for one image
def test_a_test_network_has_the_bits_of_its_calls(width):
    net = residual(width)
    program, out = described(net)
    assert types(program).count("batch_norm") == 2  # the description says what was called
    executor, scope = static.Executor(), static.Scope()
    for batch in (1, 3, 1, 2):
        x = image(batch, seed=batch)
        (got,) = executor.run(program, {"x": x}, [out], scope=scope)
        assert got.tobytes() == bits(net, x)


def test_a_filter_set_between_runs_is_the_one_used(net):
    program, out = described(net)
    executor, scope, x = static.Executor(), static.Scope(), image()

    def run():
        return executor.run(program, {"x": x}, [out], scope=scope)[0].tobytes()

    assert run() == run() == bits(net, x)
    name, old = net.second.weight.name, net.second.weight.numpy()
    for factor in (2, -1, 0.5):
        scope.var(name).set((old * factor).astype("float32"))
        net.second.weight.set_value((old * factor).astype("float32"))
        assert run() == bits(net, x)


def test_memory_of_another_library_is_read_anew():
    dygraph.seed(5)
    layer = nn.Conv2D(8, 32, 3, bias_attr=False)
    program, out = described(layer)
    executor, scope, x = static.Executor(), static.Scope(), image()
    executor.run(program, {"x": x}, [out], scope=scope)
    shared = layer.weight.numpy().copy()
    scope.var(layer.weight.name).set(dygraph.from_dlpack(shared, copy=False))
    for factor in (1, 3):
        shared *= factor
        layer.weight.set_value(shared.copy())
        (got,) = executor.run(program, {"x": x}, [out], scope=scope)
        assert got.tobytes() == bits(layer, x)


def test_training_and_testing_programs_take_turns():
    """The optimizer writes into filters whose other form the testing program keeps."""

    def describe():
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup), dygraph.unique_name.guard():
            main.random_seed = startup.random_seed = 7
            x = static.data("x", [None, 8, PIXELS, PIXELS])
            y = static.layers.conv2d(x, 32, 3, padding=1, bias_attr=False)
            y = static.layers.batch_norm(y, act="relu")
            loss = static.layers.mean(static.layers.square(y))
            test = main.clone(for_test=True)
            static.optimizer.SGD(0.5).minimize(loss)
        return main, startup, test, y, loss

    main, startup, test, y, loss = describe()
    results = []
    for keep in (True, False):
        executor, scope = static.Executor(), static.Scope()
        executor.run(startup, scope=scope)
        found = []
        for step in range(4):
            executor.run(main, {"x": image(2, seed=step)}, [loss], scope=scope)
            if not keep:
                executor = static.Executor()  # nothing is kept from step to step
            found.append(executor.run(test, {"x": image()}, [y], scope=scope)[0])
        results.append(found)
    for kept, fresh in zip(*results, strict=True):
        assert kept.tobytes() == fresh.tobytes()
    assert results[0][0].tobytes() != results[0][1].tobytes()


def test_threads_share_what_is_kept(net):
    program, out = described(net)
    executor, scope = static.Executor(), static.Scope()
    name, old = net.first.weight.name, net.first.weight.numpy()
    inputs = [image(1 + n % 2, seed=n) for n in range(4)]
    want = [bits(net, x) for x in inputs]
    failures = []

    def work(i):
        for _ in range(60):
            (got,) = executor.run(program, {"x": inputs[i]}, [out], scope=scope)
            if got.tobytes() != want[i]:
                failures.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    for value in (old * 2, old):
        scope.var(name).set(value)
        net.first.weight.set_value(value)
        (got,) = executor.run(program, {"x": inputs[0]}, [out], scope=scope)
        assert got.tobytes() == bits(net, inputs[0])


def test_what_is_kept_goes_with_the_plan():
    dygraph.seed(5)
    layer = nn.Conv2D(64, 128, 3, padding=1, bias_attr=False)
    program, out = described(layer, (64, 8, 8))
    executor, scope, x = static.Executor(), static.Scope(), numbers(1, 64, 8, 8)
    bare = dygraph.memory.used()
    executor.run(program, {"x": x}, [out], scope=scope)
    first = dygraph.memory.used()
    for factor in range(5):  # one form at a time, however often the filter changes
        scope.var(layer.weight.name).set(np.full(layer.weight.shape, factor, "float32"))
        executor.run(program, {"x": x}, [out], scope=scope)
    size = layer.weight.numpy().nbytes
    assert dygraph.memory.used() <= first + 1.5 * size
    executor.close()
    assert dygraph.memory.used() < bare + 1.5 * size  # the filter that was set, and no other form


def test_who_watches_sees_every_operator(net):
    program, out = described(net)
    executor, scope, x = static.Executor(), static.Scope(), image()
    (plain,) = executor.run(program, {"x": x}, [out], scope=scope)
    with dygraph.profiler.Profiler() as watched:
        (got,) = executor.run(program, {"x": x}, [out], scope=scope)
    assert got.tobytes() == plain.tobytes() == bits(net, x)
    seen = str(watched.summary())
    for name in ("batch_norm", "relu", "elementwise_add", "conv2d"):
        assert name in seen
    assert "fused" not in seen


def test_nan_is_found_in_the_operator_that_made_it(net):
    net.second_norm.weight.set_value(np.full(32, np.nan, "float32"))
    program, out = described(net)
    before = dygraph.get_flags(["FLAGS_check_nan_inf"])
    dygraph.set_flags({"FLAGS_check_nan_inf": True})
    try:
        with pytest.raises(FloatingPointError, match="batch_norm"):
            static.Executor().run(program, {"x": image()}, [out], scope=static.Scope())
    finally:
        dygraph.set_flags(before)
    (got,) = static.Executor().run(program, {"x": image()}, [out], scope=static.Scope())
    assert np.isnan(got).all()


def test_results_between_can_be_fetched(net):
    program, out = described(net)
    x = image(2)
    names = [op.output_arg_names[0] for op in program.global_block().ops]
    all_at_once = static.Executor().run(program, {"x": x}, names, scope=static.Scope())
    for name, value in zip(names, all_at_once, strict=True):
        (alone,) = static.Executor().run(program, {"x": x}, [name], scope=static.Scope())
        assert alone.tobytes() == value.tobytes()
    assert all_at_once[-1].tobytes() == bits(net, x)


def test_a_summand_of_another_shape_is_broadcast():
    """What becomes one operator adds arrays of one shape; the sizes are known at a run only."""
    program = static.Program()
    with static.program_guard(program):
        x, z = static.data("x", [None, 4, 5, 5]), static.data("z", [None, 4, 5, 5])
        norm = nn.BatchNorm2D(4)
        norm.eval()
        out = dygraph.relu(norm(x) + z)
    executor, scope = static.Executor(), static.Scope()
    xs, one, three = numbers(3, 4, 5, 5), numbers(1, 4, 5, 5, seed=1), numbers(3, 4, 5, 5, seed=2)
    for zs in (three, one, three):
        (got,) = executor.run(program, {"x": xs, "z": zs}, [out], scope=scope)
        want = dygraph.relu(norm(dygraph.to_variable(xs)) + dygraph.to_variable(zs)).numpy()
        assert got.tobytes() == want.tobytes()
    with pytest.raises(ValueError, match="elementwise_add.*operator 1 of block 0"):
        executor.run(program, {"x": xs, "z": numbers(2, 4, 5, 5)}, [out], scope=scope)


def test_a_wrong_parameter_is_told_by_the_operator_that_was_described(net):
    program, out = described(net)
    scope = static.Scope()
    scope.var(net.first_norm.weight.name).set(np.ones(5, "float32"))
    with pytest.raises(ValueError, match="batch_norm.*Scale must have one number") as caught:
        static.Executor().run(program, {"x": image()}, [out], scope=scope)
    assert "fused" not in str(caught.value)


def test_training_statistics_are_left_to_batch_norm():
    """With statistics of its own batch the running ones change, fused or not."""
    dygraph.seed(3)
    layer = Residual()
    program, out = described(layer)
    scope, x = static.Scope(), image(4)
    names = [layer.first_norm._mean.name, layer.second_norm._variance.name]
    (got,) = static.Executor().run(program, {"x": x}, [out], scope=scope)
    assert got.tobytes() == bits(layer, x)
    assert (
        scope.find_var(names[0]).get().numpy().tobytes() == layer.first_norm._mean.numpy().tobytes()
    )


def test_feeds_and_results_are_not_written_to():
    """relu and additions write over temporaries, never over feeds or fetched results."""
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [None, 4])
        a = dygraph.relu(x)
        b = a + 1.0
        c = dygraph.relu(b)
        d = dygraph.relu(dygraph.reshape(c, [-1, 2])) * 2.0
        e = c + c
    values = numbers(3, 4)
    given = dygraph.to_variable(values)
    executor, scope = static.Executor(), static.Scope()
    first = np.maximum(values, 0) + 1
    for wanted in ([e], [d, e], [a, c, e], [b, d]):
        got = executor.run(program, {"x": given}, wanted, scope=scope, return_numpy=False)
        want = {
            a.name: np.maximum(values, 0), b.name: first, c.name: first,
            d.name: first.reshape(-1, 2) * 2, e.name: first + first,
        }  # fmt: skip
        again = executor.run(program, {"x": given}, wanted, scope=scope)
        for variable, value, later in zip(wanted, got, again, strict=True):
            np.testing.assert_array_equal(value.numpy(), want[variable.name])
            np.testing.assert_array_equal(later, want[variable.name])
        np.testing.assert_array_equal(given.numpy(), values)


# Weights that are kept once -----------------------------------------------------------------------


class Deep(dygraph.Layer):
    """Filters of 2.25 MB each on images of 36 KB."""

    def __init__(self, count=4):
        super().__init__()
        self.parts = nn.LayerList(
            [nn.Conv2D(256, 256, 3, padding=1, bias_attr=False) for _ in range(count)]
        )

    def forward(self, x):
        for part in self.parts:
            x = dygraph.relu(part(x))
        return x


FILTER = 256 * 256 * 9 * 4
DEEP = (256, 6, 6)


@pytest.fixture
def deep(tmp_path):
    """(layer, folder of its saved program)"""
    dygraph.seed(6)
    layer = Deep()
    layer.eval()
    _, traced = dygraph.jit.trace(layer, [dygraph.to_variable(numbers(2, *DEEP))])
    traced.save(tmp_path / "deep")
    return layer, tmp_path / "deep"


def weight_names(traced):
    held = (v for v in traced.program.list_vars() if v.persistable and v.type == "LOD_TENSOR")
    return sorted(v.name for v in held)


def test_a_loaded_program_keeps_each_filter_once(deep):
    layer, folder = deep
    x = dygraph.to_variable(numbers(2, *DEEP))
    want = layer(x).numpy().tobytes()
    before = dygraph.memory.used()
    loaded = dygraph.jit.load(folder)
    for _ in range(3):
        assert loaded(x).numpy().tobytes() == want
    assert dygraph.memory.used() - before < 4.5 * FILTER
    dygraph.memory.reset_peak()
    loaded(x)
    assert dygraph.memory.peak() - before < 5 * FILTER
    # What is asked of a variable is the filter as it was saved.
    filters = [part.weight.numpy() for part in layer.parts]
    got = [loaded.scope.find_var(n).get().numpy() for n in weight_names(loaded)]
    assert sorted(f.tobytes() for f in filters) == sorted(f.tobytes() for f in got)
    variable = loaded.scope.find_var(weight_names(loaded)[0])
    assert variable.shape == (256, 256, 3, 3) and not variable.is_empty()
    assert loaded(x).numpy().tobytes() == want


@pytest.mark.parametrize("groups", [2, 64, 256])
def test_filters_of_groups_are_kept_once(groups, tmp_path):
    dygraph.seed(8)
    width = 512 if groups == 2 else 256 * 16
    layer = nn.Conv2D(width, width, 3, padding=1, groups=groups, bias_attr=False)
    layer.eval()
    x = dygraph.to_variable(numbers(1, width, 4, 4))
    out, traced = dygraph.jit.trace(layer, [x])
    traced.save(tmp_path / "model")
    size = layer.weight.numpy().nbytes
    before = dygraph.memory.used()
    loaded = dygraph.jit.load(tmp_path / "model")
    for _ in range(2):
        assert loaded(x).numpy().tobytes() == out.numpy().tobytes()
    assert dygraph.memory.used() - before < 1.6 * size
    got = loaded.scope.find_var(weight_names(loaded)[0]).get().numpy()
    assert got.tobytes() == layer.weight.numpy().tobytes()


def test_a_program_whose_filters_are_kept_once_is_saved_and_read_again(deep, tmp_path):
    layer, folder = deep
    x = dygraph.to_variable(numbers(2, *DEEP))
    loaded = dygraph.jit.load(folder)
    loaded(x)
    loaded.save(tmp_path / "again")
    for name in ("__model__", "__params__"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


@pytest.mark.parametrize("batches", [(2, 1, 5, 2), (1, 64, 1)])
def test_a_filter_that_is_kept_once_serves_every_size(deep, batches):
    layer, folder = deep
    loaded = dygraph.jit.load(folder)
    before = dygraph.memory.used()
    for batch in batches * 2:
        x = dygraph.to_variable(numbers(batch, *DEEP, seed=batch))
        assert loaded(x).numpy().tobytes() == layer(x).numpy().tobytes()
    assert dygraph.memory.used() - before < 4.5 * FILTER  # at most one more order of the four
    filters = sorted(part.weight.numpy().tobytes() for part in layer.parts)
    got = [loaded.scope.find_var(n).get().numpy().tobytes() for n in weight_names(loaded)]
    assert sorted(got) == filters


def test_another_library_reads_the_filter_that_was_kept(deep):
    """A kernel that does not know the form gets the filter itself."""
    layer, folder = deep
    loaded, x = dygraph.jit.load(folder), dygraph.to_variable(numbers(2, *DEEP))
    first = loaded(x).numpy().tobytes()
    dygraph.set_flags({"FLAGS_kernel_library": "plain"})
    try:
        assert loaded(x).numpy().tobytes() == layer(x).numpy().tobytes()
    finally:
        dygraph.set_flags({"FLAGS_kernel_library": ""})
    assert loaded(x).numpy().tobytes() == first


def test_a_filter_set_anew_takes_the_place_of_the_kept_one(deep):
    layer, folder = deep
    loaded, x = dygraph.jit.load(folder), dygraph.to_variable(numbers(2, *DEEP))
    loaded(x)
    before = dygraph.memory.used()
    names = weight_names(loaded)
    for name in names:
        loaded.scope.var(name).set(loaded.scope.find_var(name).get().numpy() * 2)
    got = loaded(x).numpy()
    assert dygraph.memory.used() - before < 0.5 * FILTER
    for part in layer.parts:
        part.weight.set_value(part.weight.numpy() * 2)
    assert got.tobytes() == layer(x).numpy().tobytes()


def test_two_programs_share_filters_that_one_had_kept(deep):
    layer, folder = deep
    x = numbers(2, *DEEP)
    program, feeds, fetches = static.load_inference_model(folder, scope=(scope := static.Scope()))
    want = bits(layer, x)
    executor = static.Executor()
    run = lambda fetch: executor.run(program, {feeds[0]: x}, fetch, scope=scope)  # noqa: E731
    for _ in range(2):
        assert run(fetches)[0].tobytes() == want
    names = [op.output_arg_names[0] for op in program.global_block().ops if op.type == "conv2d"]
    (middle,) = run([names[0]])  # another plan
    direct = layer.parts[0](dygraph.to_variable(x)).numpy()
    assert middle.tobytes() == direct.tobytes()
    for _ in range(2):
        assert run(fetches)[0].tobytes() == want
        assert run([names[0]])[0].tobytes() == middle.tobytes()
    executor.close()
    assert static.Executor().run(program, {feeds[0]: x}, fetches, scope=scope)[0].tobytes() == want


def test_threads_run_while_filters_are_given_up_and_asked_for(deep):
    layer, folder = deep
    inputs = [numbers(1 + n % 2, *DEEP, seed=n) for n in range(3)]
    want = [bits(layer, x) for x in inputs]
    filters = {part.weight.numpy().tobytes() for part in layer.parts}
    failures = []
    for _ in range(4):
        loaded = dygraph.jit.load(folder)
        names = weight_names(loaded)

        def work(i, loaded=loaded, names=names):
            try:
                for _ in range(6):
                    got = loaded(dygraph.to_variable(inputs[i])).numpy()
                    if got.tobytes() != want[i]:
                        failures.append(i)
                    if loaded.scope.find_var(names[i]).get().numpy().tobytes() not in filters:
                        failures.append(names[i])
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


def test_what_is_kept_has_a_bound(deep):
    layer, folder = deep
    x = dygraph.to_variable(numbers(2, *DEEP))
    want = layer(x).numpy().tobytes()
    before = dygraph.get_flags(["FLAGS_kept_weights_mb"])
    dygraph.set_flags({"FLAGS_kept_weights_mb": 0})
    try:
        used = dygraph.memory.used()
        _, traced = dygraph.jit.trace(layer, [x])  # shares the layer's filters
        for _ in range(2):
            assert traced(x).numpy().tobytes() == want
        assert dygraph.memory.used() - used < 0.5 * FILTER
    finally:
        dygraph.set_flags(before)
    for _ in range(2):
        assert traced(x).numpy().tobytes() == want
    if any("onednn" in kernel for kernel in _core.describe_op("conv2d")["kernels"]):
        assert dygraph.memory.used() - used > 3.5 * FILTER  # beside the layer's own
