"""Readers in programs, loaders that feed them, and what goes wrong with either."""

import _thread
import gc
import threading
import time

import numpy as np
import pytest

from dygraph import _core, static, unique_name
from leftovers import left


@pytest.fixture(autouse=True)
def programs():
    """Default programs, names and scope of each test's own; no thread is left behind."""
    with (
        static.program_guard(static.Program(), static.Program()),
        unique_name.guard(),
        static.scope_guard(static.Scope()),
    ):
        yield
    assert not left()


def line(rows, dtype="float32"):
    """A sample for each row: two numbers and a label."""
    return lambda: ((np.full(2, i, dtype), [i % 3]) for i in range(rows))


def declared():
    x = static.data("x", [None, 2], "float32")
    y = static.data("y", [None, 1], "int64")
    return x, y


def sums(x, y):
    return [static.layers.reduce_sum(x), static.layers.reduce_sum(y)]


def values(executor, fetches, loader):
    """What runs without a feed give until the reader ends."""
    seen = []
    loader.start()
    try:
        while True:
            seen.append(tuple(float(v) for v in executor.run(fetch_list=fetches)))
    except static.core.EOFException:
        loader.reset()
    return seen


# x sums to 2 * (0 + 1), 2 * (2 + 3), 2 * 4; y to 0 + 1, 2 + 0, 1
WHOLE, FULL = [(2, 1), (10, 2), (8, 1)], [(2, 1), (10, 2)]


def make_loader(kind, feed_list, iterable):
    if kind == "PyReader":
        return static.io.PyReader(feed_list, capacity=4, iterable=iterable)
    return static.io.DataLoader.from_generator(feed_list, capacity=4, iterable=iterable)


def give(loader, kind, what):
    call = getattr(loader, f"{'decorate' if kind == 'PyReader' else 'set'}_{what}_generator")
    if what == "sample":
        call(line(5), batch_size=2, drop_last=False)
    elif what == "sample_list":
        call(static.batch(line(5), 2))
    else:
        batches = [[np.full((2, 2), n, "float32"), np.full((2, 1), n)] for n in (1, 2)]
        call(lambda: iter(batches))


@pytest.mark.parametrize("kind", ["PyReader", "DataLoader"])
@pytest.mark.parametrize("what", ["sample", "sample_list", "batch"])
@pytest.mark.parametrize("iterable", [True, False])
def test_every_way_gives_the_same_batches(kind, what, iterable):
    x, y = declared()
    fetches = sums(x, y)
    loader = make_loader(kind, [x, y], iterable)
    give(loader, kind, what)
    executor = static.Executor()
    executor.run(static.default_startup_program())
    expected = [(4, 2), (8, 4)] if what == "batch" else WHOLE
    for _ in range(2):  # passes
        if iterable:
            seen = [
                tuple(float(v) for v in executor.run(feed=data, fetch_list=fetches))
                for data in loader()
            ]
        else:
            seen = values(executor, fetches, loader)
        assert seen == expected
    assert loader.iterable is iterable


def test_incomplete_batches_are_left_out_by_default():
    x, y = declared()
    fetches = sums(x, y)
    loader = static.io.DataLoader.from_generator([x, y], iterable=False)
    loader.set_sample_generator(line(5), 2)
    executor = static.Executor()
    executor.run(static.default_startup_program())
    assert values(executor, fetches, loader) == FULL


def test_the_operators_of_a_reader():
    """The startup program makes it, the main program reads it; training and inference know both."""
    main, startup = static.default_main_program(), static.default_startup_program()
    x, y = declared()
    static.io.DataLoader.from_generator([x, y], iterable=False)
    loss = static.layers.mean(static.layers.cross_entropy(static.layers.fc(x, 3, act="softmax"), y))
    static.optimizer.SGD(0.1).minimize(loss)
    (create,) = [op for op in startup.global_block().ops if op.type == "create_py_reader"]
    assert create.attr("shape_concat") == [-1, 2, -1, 1] and create.attr("ranks") == [2, 2]
    assert create.attr("lod_levels") == [0, 0] and create.attr("dtypes") == [5, 3]
    (read,) = [op for op in main.global_block().ops if op.type == "read"]
    assert read.input("Reader") == create.output("Out") == ["create_py_reader_0"]
    assert read.output("Out") == ["x", "y"]
    for program in (main, startup):
        variable = program.global_block().var("create_py_reader_0")
        assert variable.type == "READER" and variable.persistable and variable.shape is None
    assert "type: READER" in str(main)
    again = static.Program.parse_from_string(main.serialize_to_string())
    assert again.serialize_to_string() == main.serialize_to_string()
    assert "read" in static.debugger.pprint_program_codes(main)
    scope = {}
    exec(static.to_code(main), scope)
    assert scope["program"].serialize_to_string() == main.serialize_to_string()


def test_training_and_testing_from_a_reader(tmp_path):
    """A clone reads from the same generator; what is saved for inference reads from none."""
    x, y = declared()
    loader = static.io.PyReader([x, y], capacity=2, iterable=False)
    zero = static.ParamAttr(initializer=static.initializer.Constant(0.0))
    predict = static.layers.fc(x, 3, act="softmax", param_attr=zero, bias_attr=zero)
    loss = static.layers.mean(static.layers.cross_entropy(predict, y))
    test = static.default_main_program().clone(for_test=True)
    static.optimizer.SGD(0.1).minimize(loss)
    executor = static.Executor()
    executor.run(static.default_startup_program())
    corners = np.float32([[1, 0], [0, 1], [-1, -1]])
    rows = [(corners[i % 3] * (1 + i // 3), [i % 3]) for i in range(6)]
    loader.decorate_sample_list_generator(static.batch(lambda: iter(rows), 3))
    losses = []
    for _ in range(20):
        loader.start()
        with pytest.raises(static.core.EOFException):
            while True:
                losses.append(float(executor.run(fetch_list=[loss])[0]))
        loader.reset()
    assert len(losses) == 40 and losses[0] == pytest.approx(np.log(3))
    assert losses[-2] < 0.5 * losses[0] and losses[-1] < losses[-2]
    loader.start()
    first, second = (executor.run(test, fetch_list=[loss])[0] for _ in range(2))
    loader.reset()
    assert first != second
    batch = {"x": corners, "y": np.arange(3).reshape(3, 1)}
    assert executor.run(test, batch, [loss])[0] == first  # what is fed is not read
    static.io.save_persistables(executor, tmp_path / "all")
    assert sorted(p.name for p in (tmp_path / "all").iterdir()) == [
        "fc_0.b_0", "fc_0.w_0", "learning_rate_0",
    ]  # fmt: skip
    static.save_inference_model(tmp_path / "model", ["x"], [predict], executor)
    program, feeds, fetches = static.load_inference_model(tmp_path / "model", executor)
    assert feeds == ["x"] and not any("read" in op.type for op in program.global_block().ops)
    assert executor.run(program, {"x": batch["x"]}, fetches)[0].shape == (3, 3)


def test_ragged_samples_have_levels_of_detail():
    words = static.data("words", [None, 1], "int64", lod_level=1)
    label = static.data("label", [None, 1], "int64")
    pooled = static.layers.sequence_pool(static.layers.cast(words, "float32"), "sum")
    rows = [([1, 2, 3], [0]), ([4], [1]), ([5, 6], [2])]
    feeding = static.io.DataLoader.from_generator([words, label])
    feeding.set_sample_generator(lambda: iter(rows), 3)
    (data,) = feeding
    assert data["words"].lod() == [[0, 3, 4, 6]] and data["words"].shape == (6, 1)
    executor = static.Executor()
    (fed,) = executor.run(feed=data, fetch_list=[pooled])
    np.testing.assert_array_equal(fed, [[6], [4], [11]])
    loader = static.io.DataLoader.from_generator([words, label], iterable=False)
    loader.set_sample_generator(lambda: iter(rows), 2, drop_last=False)
    executor.run(static.default_startup_program())
    loader.start()
    runs = [executor.run(fetch_list=[pooled, label]) for _ in range(2)]
    loader.reset()
    np.testing.assert_array_equal(runs[0][0], [[6], [4]])
    np.testing.assert_array_equal(runs[1][0], [[11]])
    np.testing.assert_array_equal(runs[1][1], [[2]])


def test_py_reader_and_read_file():
    reader = static.layers.py_reader(
        8, shapes=[[-1, 2], [-1, 1]], dtypes=["float32", "int64"], name="train"
    )
    x, y = static.layers.read_file(static.layers.double_buffer(reader))
    assert x.shape == (-1, 2) and str(y.dtype) == "int64" and x.stop_gradient
    fetches = sums(x, y)
    executor = static.Executor()
    executor.run(static.default_startup_program())
    reader.decorate_paddle_reader(static.batch(line(5), 2))
    assert values(executor, fetches, reader) == WHOLE
    reader.decorate_tensor_provider(
        lambda: iter([[np.ones((3, 2), "float32"), np.ones((3, 1), "int64")]])
    )
    assert values(executor, fetches, reader) == [(6, 3)]
    reader.decorate_sample_generator(line(4), 4)
    assert values(executor, fetches, reader) == [(12, 3)]
    assert static.default_main_program().global_block().has_var("train_reader")


def test_a_reader_like_other_variables():
    x, y = declared()
    reader = static.layers.create_py_reader_by_data(4, [x, y])
    read = static.layers.read_file(reader)
    assert [(v.shape, v.dtype) for v in read] == [(v.shape, v.dtype) for v in (x, y)]
    assert {v.name for v in read}.isdisjoint({"x", "y"})
    reader.decorate_sample_list_generator(static.batch(line(2), 2))
    executor = static.Executor()
    executor.run(static.default_startup_program())
    assert values(executor, sums(*read), reader) == [(2, 1)]


# Mistakes -----------------------------------------------------------------------------------------


def started(generator=None, kind="batch"):
    """A reader of x and y that runs on what the generator gives."""
    x, y = declared()
    fetches = sums(x, y)
    loader = static.io.DataLoader.from_generator([x, y], iterable=False)
    executor = static.Executor()
    executor.run(static.default_startup_program())
    if generator is not None:
        getattr(loader, f"set_{kind}_generator")(generator)
        loader.start()
    return loader, lambda: executor.run(fetch_list=fetches)


X, Y = np.ones((2, 2), "float32"), np.ones((2, 1), "int64")


@pytest.mark.parametrize(
    "batch, error, match",
    [
        ([X], ValueError, r"a batch must have 2 parts, \['x', 'y'\], got 1"),
        ([X, Y, Y], ValueError, "a batch must have 2 parts, .*, got 3"),
        ({"x": X, "z": Y}, ValueError, r"must have the names \['x', 'y'\], got \['x', 'z'\]"),
        (3, TypeError, r"must be a list or a dict with \['x', 'y'\], got int 3"),
        ([X, Y.astype("int32")], TypeError, "the feed 'y' must be int64, got int32"),
        ([X[:, :1], Y], ValueError, r"the feed 'x' must have the shape \[-1, 2\] .*got \[2, 1\]"),
        ([X[:0], Y[:0]], None, None),
    ],
)
def test_batches_that_do_not_fit(batch, error, match):
    loader, run = started(lambda: iter([batch]))
    if error is None:
        assert [float(v) for v in run()] == [0, 0]
    else:
        with pytest.raises(error, match=match):
            run()
    loader.reset()


@pytest.mark.parametrize(
    "sample, error, match",
    [
        ((X[0],), ValueError, "a sample must have 2 parts, got 1 in sample 0"),
        ((np.ones(3, "float32"), [1]), ValueError, "a row of 'x' must have shape"),
        (
            ("two words", [1]),
            ValueError,
            "the field 'x' must have rows of one shape and of float32",
        ),
    ],
)
def test_samples_that_do_not_fit(sample, error, match):
    loader, run = started(lambda: iter([[sample]]), "sample_list")
    with pytest.raises(error, match=match):
        run()
    loader.reset()


def test_order_of_calls():
    x, y = declared()
    fetches = sums(x, y)
    loader = static.io.DataLoader.from_generator([x, y], iterable=False)
    executor = static.Executor()

    def run():
        return executor.run(fetch_list=fetches)

    with pytest.raises(RuntimeError, match="'create_py_reader_0' has not been made in this scope"):
        run()
    executor.run(static.default_startup_program())
    with pytest.raises(RuntimeError, match="'create_py_reader_0': it must be started before"):
        run()
    with pytest.raises(RuntimeError, match="a generator must be set before it is read, got none"):
        loader.start()
    loader.reset()  # nothing runs: nothing to do
    loader.set_sample_generator(line(100), 1)
    loader.start()
    with pytest.raises(RuntimeError, match=r"started already. Call reset\(\)"):
        loader.start()
    with pytest.raises(RuntimeError, match="cannot be replaced while it runs"):
        loader.set_sample_generator(line(1), 1)
    assert [float(run()[0]) for _ in range(3)] == [0, 2, 4]
    loader.reset()  # in the middle
    with pytest.raises(RuntimeError, match="must be started"):
        run()
    assert len(values(executor, fetches, loader)) == 100  # from the beginning
    loader.start()
    for _ in range(100):
        run()
    for _ in range(2):  # the end stays the end
        with pytest.raises(static.core.EOFException, match="all batches of the pass are read"):
            run()
    with pytest.raises(EOFError):
        run()
    loader.reset()
    with pytest.raises(TypeError, match="Pass the function itself, without calling it"):
        loader.set_batch_generator(iter([]))


def test_kinds_of_loaders_do_not_mix():
    x, y = declared()
    feeding = static.io.PyReader([x, y])
    for call in (feeding.start, feeding.reset):
        with pytest.raises(RuntimeError, match="belongs to iterable=False; use a loop over"):
            call()
    with pytest.raises(RuntimeError, match="a generator must be set"):
        iter(feeding)
    reading = static.io.PyReader([x, y], iterable=False)
    with pytest.raises(RuntimeError, match="read by the program, not by a loop"):
        iter(reading)
    for bad in (None, [], ["x"], X):
        with pytest.raises(TypeError, match="feed_list must"):
            static.io.PyReader(bad, iterable=False)
    with pytest.raises(ValueError, match="PyReader: capacity"):
        static.io.PyReader([x, y], capacity=0)
    with pytest.raises(TypeError, match="feed_list must be a list of variables of a program"):
        static.io.DataLoader.from_generator(iterable=False)


def test_reader_layers_mistaken():
    with pytest.raises(ValueError, match="lod_levels must have equal lengths, got 2, 1"):
        static.layers.py_reader(1, [[1], [1]], ["float32"])
    with pytest.raises(TypeError, match="shapes must be a list"):
        static.layers.py_reader(1, None, ["float32"])
    with pytest.raises(TypeError, match="read_file: reader must be what py_reader gives, got str"):
        static.layers.read_file("x")
    with pytest.raises(TypeError, match="double_buffer: reader must be"):
        static.layers.double_buffer(3)
    with pytest.raises(TypeError, match="create_py_reader_by_data: feed_list must be a list"):
        static.layers.create_py_reader_by_data(1, None)


class Broken(LookupError):
    pass


@pytest.mark.parametrize("kind", ["batch", "sample_list"])
def test_errors_of_generators_arrive_in_the_run(kind):
    def generator():
        yield [X, Y] if kind == "batch" else [(X[0], Y[0])] * 2
        raise Broken("the disk is gone")

    loader, run = started(generator, kind)
    assert float(run()[0]) == 4
    with pytest.raises(Broken, match="the disk is gone"):
        run()
    with pytest.raises(RuntimeError, match=r"ended by an error \(Broken: the disk is gone\)"):
        run()
    loader.reset()
    loader.start()  # again from the beginning
    assert float(run()[0]) == 4
    loader.reset()


def test_reset_in_the_middle_ends_an_endless_generator():
    closed = threading.Event()

    def endless():
        try:
            while True:
                yield [X, Y]
        finally:
            closed.set()

    loader, run = started(endless)
    run()
    loader.reset()
    assert closed.wait(10)


def test_a_forgotten_reader_ends_its_thread():
    def endless():
        while True:
            yield [X, Y]

    with static.program_guard(static.Program(), static.Program()):
        loader, run = started(endless)
        run()
        del loader, run
    deadline = time.monotonic() + 10
    gc.collect()
    while left() and time.monotonic() < deadline:
        time.sleep(0.01)
        gc.collect()


def test_an_interrupt_while_waiting_ends_the_run():
    """Ctrl-C is answered while the generator is slow."""
    go = threading.Event()

    def slow():
        yield [X, Y]
        go.wait(30)
        yield [X, Y]

    loader, run = started(slow)
    run()
    threading.Timer(0.2, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        run()
    go.set()
    with pytest.raises(RuntimeError, match="ended by an error"):
        run()
    loader.reset()


def test_a_saved_program_with_a_reader_can_be_fed():
    x, y = declared()
    fetches = [v.name for v in sums(x, y)]
    static.io.PyReader([x, y], iterable=False)
    loaded = static.Program.parse_from_string(static.default_main_program().serialize_to_string())
    executor = static.Executor()
    with pytest.raises(RuntimeError, match=r"no generator, .* Feed \['x', 'y'\] instead"):
        executor.run(loaded, fetch_list=fetches)
    assert [float(v) for v in executor.run(loaded, {"x": X, "y": Y}, fetches)] == [4, 2]
    with pytest.raises(ValueError, match=r"all or none must be fed, got \['x'\]"):
        executor.run(loaded, {"x": X}, fetches)


@pytest.mark.parametrize(
    "readers, outs, match",
    [
        ([], ["x"], r"Reader must name one variable and Out at least one, got \[\]"),
        (["a", "b"], ["x"], "Reader must name one variable"),
        (["r_reader"], [], r"Out at least one, got \['r_reader'\] and \[\]"),
        (["nowhere"], ["x"], "'nowhere' has no generator"),
        (["x"], ["y"], "'x' has no generator"),
        (["r_reader"], ["x", "y", "x"], "Out must name 2 variables"),
        (["r_reader"], ["x", "x"], "may be fed once, got 'x' twice"),
        (["r_reader"], ["x", "nothing"], "must be a variable of the program, got 'nothing'"),
    ],
)
def test_reader_operators_written_by_hand(readers, outs, match):
    x, y = declared()
    static.layers.create_py_reader_by_data(2, [x, y], name="r")
    desc = _core.Op("read")
    desc.set_input("Reader", readers)
    desc.set_output("Out", outs)
    block = static.default_main_program().global_block()
    block.put_op(static.Operator(block, desc))
    with pytest.raises((ValueError, RuntimeError), match=match):
        static.Executor().run(fetch_list=[x.name])


def test_two_readers_in_one_program():
    x, y = declared()
    fetches = sums(x, y)
    left_, right = (
        static.io.PyReader([v], iterable=False).set_sample_generator(g, 1)
        for v, g in ((x, lambda: ((i[0],) for i in line(3)())), (y, lambda: ([[7]], [[8]])))
    )
    executor = static.Executor()
    executor.run(static.default_startup_program())
    left_.start()
    right.start()
    seen = [tuple(float(v) for v in executor.run(fetch_list=fetches)) for _ in range(2)]
    assert seen == [(0, 7), (2, 8)]
    with pytest.raises(static.core.EOFException, match="create_py_reader_1"):
        executor.run(fetch_list=fetches)
    left_.reset()
    right.reset()


def test_readers_serve_several_threads():
    """Every batch is given to one run."""
    loader, run = started(lambda: ([np.full((1, 2), i, "float32"), Y[:1]] for i in range(40)))
    seen, errors = [], []

    def work():
        try:
            while True:
                seen.append(float(run()[0]))
        except static.core.EOFException:
            pass
        except BaseException as error:
            errors.append(error)

    scope, main = static.global_scope(), static.default_main_program()

    def in_scope():
        with static.scope_guard(scope), static.program_guard(main):
            work()

    threads = [threading.Thread(target=in_scope) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    loader.reset()
    assert not errors and sorted(seen) == [2.0 * i for i in range(40)]
