"""Predictors in Python: the bits of the Executor, limits, clones, profiles, errors."""

import gc
import os
import signal
import threading
import time

import numpy as np
import psutil
import pytest

import dygraph
import fuzz_models
from dygraph import static
from dygraph.errors import FormatError
from dygraph.inference import Predictor, RunCancelledError, RunTimeoutError
from inference import models


def same(predictor, folder, feed):
    """Bits and levels of a predictor's outputs are the Executor's."""
    wanted = models.by_executor(folder, feed)
    got = predictor.run({k: feed[k] for k in feed}, return_numpy=False)
    assert len(wanted) == len(got)
    for w, g in zip(wanted, got, strict=True):
        assert w.dtype == g.dtype and w.shape == g.shape and w.lod() == g.lod()
        assert w.numpy().tobytes() == g.numpy().tobytes()


@pytest.fixture
def mlp(tmp_path):
    return models.save(tmp_path / "mlp", models.mlp)


@pytest.mark.parametrize("net", [n for n in fuzz_models.NETS if n != "pieces"])
def test_bits_of_the_executor(net, tmp_path):
    """Convolutions, ragged sequences, attention, while, conditions, recurrent blocks; from a
    directory, from one file and from one file whose weights stay in its pages."""
    folder, packed = str(tmp_path / "model"), tmp_path / "one.dygraph"
    fuzz_models.save_inference(net, folder)
    given = fuzz_models.described(net)[3]
    predictor = Predictor(folder)
    feed = {port.name: given[port.name] for port in predictor.inputs}
    same(predictor, folder, feed)
    predictor.save(packed)
    same(Predictor(packed), folder, feed)
    same(Predictor(packed, share_weights=True, threads=1), folder, feed)
    same(Predictor(packed.read_bytes()), folder, feed)


def test_what_a_traced_and_a_captured_layer_save(tmp_path):
    x = models.numbers(2, 3)
    with dygraph.guard(seed=2):
        layer = dygraph.nn.Sequential(dygraph.nn.Linear(3, 4), dygraph.nn.ReLU())
        out, traced = dygraph.jit.trace(layer, [dygraph.to_variable(x)])
        traced.save_inference_model(str(tmp_path / "traced"))
        dygraph.jit.save(layer, tmp_path / "captured", [dygraph.to_variable(x)])
    for name in ("traced", "captured"):
        (y,) = Predictor(tmp_path / name).run([x])
        assert y.tobytes() == out.numpy().tobytes()


def test_ports_and_sizes_that_are_open(mlp):
    predictor = Predictor(mlp)
    assert [tuple(p) for p in predictor.inputs] == [("x", dygraph.float32, (-1, 4), 0)]
    assert [p.shape for p in predictor.outputs] == [(-1, 3), (-1, 8)]
    for rows in (1, 5, 0, 64):
        x = models.numbers(rows, 4)
        softmax, hidden = predictor.run(x)
        assert softmax.shape == (rows, 3) and hidden.shape == (rows, 8)
        np.testing.assert_allclose(softmax.sum(1), np.ones(rows), rtol=1e-6)
    assert "inputs=['x']" in repr(predictor)


def test_inputs_by_name_by_order_and_as_views(mlp):
    predictor, x = Predictor(mlp), models.numbers(6, 4)
    wanted = predictor.run([x])[0].tobytes()
    wide = np.repeat(x, 2, axis=1)
    for given in ({"x": x}, (x,), x, [dygraph.to_variable(x)], [x.tolist()], [wide[:, ::2]]):
        assert predictor.run(given)[0].tobytes() == wanted
    first = predictor.run([x])[0]
    predictor.run([x * 2])
    assert first.tobytes() == wanted  # an array of the caller's own


@pytest.mark.parametrize(
    "given, error, words",
    [
        ([np.zeros((2, 4))], TypeError, "must be float32, got float64"),
        ([np.zeros((2, 5), "float32")], ValueError, r"must have the shape \[-1, 4\]"),
        ([np.zeros(4, "float32")], ValueError, r"must have the shape"),
        ([], ValueError, "a value for each of the inputs"),
        ({"z": np.zeros((2, 4), "float32")}, ValueError, "there is no 'x'"),
        ({"x": np.zeros((2, 4), "float32"), "z": 1}, ValueError, "got 'z' as well"),
        ([np.array(["a"])], TypeError, "a variable takes arrays"),
        ([None], TypeError, "a variable takes arrays"),
    ],
)
def test_inputs_that_do_not_fit(mlp, given, error, words):
    with pytest.raises(error, match=words):
        Predictor(mlp).run(given)


def test_models_and_options_that_do_not_fit(mlp, tmp_path):
    with pytest.raises(FileNotFoundError):
        Predictor(tmp_path / "nothing")
    with pytest.raises(KeyError, match="Did you mean 'prune'"):
        Predictor(mlp, passes="prun")
    with pytest.raises(ValueError, match="threads must be at least 0"):
        Predictor(mlp, threads=-1)
    with pytest.raises(TypeError):
        Predictor(7)
    with pytest.raises(FormatError, match="a directory or a packed file"):
        Predictor(os.path.join(mlp, "__params__"))
    os.symlink(os.path.join(mlp, "__model__"), tmp_path / "link")
    with pytest.raises(FormatError, match="symbolic link"):
        Predictor(tmp_path / "link")
    renamed = tmp_path / "renamed"
    os.rename(mlp, renamed)
    os.rename(renamed / "__model__", renamed / "m")
    assert Predictor(renamed, model_filename="m", params_filename="__params__").inputs


def test_passes_and_paddles_names(mlp, tmp_path):
    x = models.numbers(3, 4)
    os.rename(os.path.join(mlp, "__model__"), tmp_path / "net.pdmodel")
    os.rename(os.path.join(mlp, "__params__"), tmp_path / "net.pdiparams")
    plain = Predictor(tmp_path / "net").run([x])
    assert plain[0].shape == (3, 3)
    pruned = Predictor(tmp_path / "net", passes=["prune"])
    assert pruned.run([x])[0].tobytes() == plain[0].tobytes()


@pytest.mark.parametrize("cloned", [True, False])
def test_threads_at_different_sizes(mlp, cloned):
    """8 threads, each at its own batch size, give the bits of one thread."""
    predictor = Predictor(mlp)
    wanted = [predictor.run(models.numbers(n, 4, seed=n))[0].tobytes() for n in range(1, 9)]
    wrong = []

    def work(n):
        mine = predictor.clone() if cloned else predictor
        x = models.numbers(n, 4, seed=n)
        for _ in range(150):
            if mine.run([x])[0].tobytes() != wanted[n - 1]:
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_time_limit_and_cancel(tmp_path):
    predictor = Predictor(models.save(tmp_path, models.endless))
    assert predictor.run([np.array([10])])[0].tolist() == [10]
    predictor.time_limit = 0.1
    start = time.perf_counter()
    with pytest.raises(RunTimeoutError, match="longer than time_limit, 0.1 seconds"):
        predictor.run([np.array([10**12])])
    assert time.perf_counter() - start < 3
    with pytest.raises(ValueError, match="above 0"):
        predictor.time_limit = -1
    predictor.time_limit = None
    other, errors = predictor.clone(), []

    def run():
        try:
            other.run([np.array([10**12])])
        except RunCancelledError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.05)
    assert other.run([np.array([2])])[0].tolist() == [2]  # beside the run in progress
    while thread.is_alive():  # it may not have begun
        other.cancel()
        thread.join(0.01)
    assert len(errors) == 1
    assert other.run([np.array([3])])[0].tolist() == [3]


def test_a_limit_ends_a_long_operator(tmp_path):
    """One product of seconds, which is stopped between its pieces."""

    def product():
        x = static.data("x", [None, None])
        return [x], [static.layers.matmul(x, x)]

    predictor = Predictor(models.save(tmp_path, product), threads=1)
    x = np.ones((4000, 4000), "float32")
    predictor.time_limit = 0.05
    start = time.perf_counter()
    with pytest.raises(RunTimeoutError):
        predictor.run([x])
    assert time.perf_counter() - start < 1
    assert predictor.run([x[:2, :2]])[0].tolist() == [[2, 2], [2, 2]]


def test_signals_are_answered_during_a_run(tmp_path):
    predictor = Predictor(models.save(tmp_path, models.endless))

    def raising(number, frame):
        raise KeyError("from the handler")

    before = signal.signal(signal.SIGALRM, raising)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        start = time.perf_counter()
        with pytest.raises(KeyError, match="from the handler"):
            predictor.run([np.array([10**12])])
        assert time.perf_counter() - start < 2
    finally:
        signal.signal(signal.SIGALRM, before)
    assert predictor.run([np.array([4])])[0].tolist() == [4]


def test_loading_and_running_leaks_nothing(mlp):
    def once():
        predictor = Predictor(mlp)
        predictor.clone().run(models.numbers(3, 4))
        with pytest.raises(ValueError):
            predictor.run(models.numbers(3, 5))

    once()
    gc.collect()
    used = dygraph.memory.used(dygraph.CPUPlace())
    resident = psutil.Process().memory_info().rss
    for _ in range(300):
        once()
    gc.collect()
    assert dygraph.memory.used(dygraph.CPUPlace()) == used
    assert psutil.Process().memory_info().rss - resident < 8 << 20


def test_memory_limit(mlp):
    with pytest.raises(MemoryError, match="of the limit of"):
        Predictor(mlp, memory_limit=100)
    predictor = Predictor(mlp, memory_limit=1 << 20)
    assert predictor.run(models.numbers(8, 4))[0].shape == (8, 3)
    with pytest.raises(MemoryError, match="of the limit of 1.0 MB"):
        predictor.run(models.numbers(100000, 4))
    assert predictor.run(models.numbers(8, 4))[0].shape == (8, 3)


def test_profile(tmp_path):
    predictor = Predictor(models.save(tmp_path, models.endless))
    predictor.start_profile()
    for _ in range(3):
        predictor.run([np.array([5])])
    profile = predictor.profile()
    calls = {entry["operator"]: entry["calls"] for entry in profile["operators"]}
    assert profile["runs"] == 3 and calls["while"] == 3 and calls["increment"] == 15
    inner = [entry for entry in profile["operators"] if entry["block"] == 1]
    outer = next(entry for entry in profile["operators"] if entry["operator"] == "while")
    assert sum(entry["milliseconds"] for entry in inner) <= outer["milliseconds"]
    assert outer["milliseconds"] <= profile["milliseconds"]
    assert predictor.profile(as_text=True).startswith("3 runs of ")
    predictor.stop_profile()
    predictor.run([np.array([5])])
    assert predictor.profile() == {"runs": 0, "milliseconds": 0.0, "operators": []}


def test_closed_ones_and_their_clones(mlp):
    x = models.numbers(2, 4)
    with Predictor(mlp) as predictor:
        clone = predictor.clone()
        wanted = predictor.run(x)[0]
    for use in (lambda: predictor.run(x), lambda: predictor.save("x"), predictor.cancel):
        with pytest.raises(RuntimeError, match="must be open"):
            use()
    predictor.close()
    assert clone.run(x)[0].tobytes() == wanted.tobytes()


def test_clones_share_the_weights(tmp_path):
    def wide():
        x = static.data("x", [None, 1024])
        return [x], [static.layers.fc(x, 1024)]

    predictor = Predictor(models.save(tmp_path, wide))
    predictor.run(models.numbers(1, 1024))
    gc.collect()
    before = dygraph.memory.used(dygraph.CPUPlace())
    clones = [predictor.clone() for _ in range(20)]
    for clone in clones:
        clone.run(models.numbers(1, 1024))
    assert dygraph.memory.used(dygraph.CPUPlace()) - before < 1 << 20  # the weights are 4 MB
    del clones, clone, predictor
    gc.collect()
    assert dygraph.memory.used(dygraph.CPUPlace()) <= before
