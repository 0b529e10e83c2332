"""Predictors run planned, with weights in panels: the same bits, limits and files as before."""

import concurrent.futures
import os
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.inference import Predictor, RunCancelledError, RunTimeoutError
from dygraph.static import layers

sys.path[:0] = [str(Path(__file__).resolve().parent)]

import models  # noqa: E402

# Rows by the ways of their products: one, a few, some that oneDNN computes, and many.
BATCHES = (1, 2, 3, 5, 8, 13, 16, 24, 40, 130, 200)


def net():
    """Widths that fill panels and that do not, deeper and less deep than a part of a sum."""
    x = static.data("x", [None, 300])
    h = layers.fc(x, 64, act="relu")
    h = layers.fc(h, 33, act="tanh")
    h = layers.fc(h, 16, bias_attr=False, act="relu")
    return [x], [layers.fc(h, 10), h]


def deep():
    x = static.data("x", [None, 384])
    h = x
    for _ in range(24):
        h = layers.fc(h, 384, act="relu")
    return [x], [h]


def convolutional():
    x = static.data("x", [None, 3, 12, 12])
    h = layers.conv2d(x, 16, 3, act="relu")
    h = layers.conv2d(layers.pool2d(h, 2, pool_stride=2), 8, 3, act="relu")
    return [x], [layers.fc(h, 5, act="softmax")]


def bits(values):
    return [np.asarray(v).tobytes() for v in values]


@pytest.mark.parametrize("threads", [1, 2])
def test_bits_at_all_sizes(tmp_path, threads):
    folder = models.save(tmp_path, net)
    feeds = {n: models.numbers(n, 300, seed=n) for n in BATCHES}
    feeds[5][2, 7], feeds[130][0, 0], feeds[8][1] = np.nan, np.inf, -0.0
    predictor = Predictor(folder, threads=threads)
    wanted = {n: bits(models.by_executor(folder, {"x": x})) for n, x in feeds.items()}
    for n in (*BATCHES * 3, *reversed(BATCHES)):
        assert bits(predictor.run([feeds[n]])) == wanted[n], n


def test_convolutions_with_kept_filters(tmp_path):
    folder = models.save(tmp_path, convolutional)
    predictor = Predictor(folder)
    for n in (1, 4, 1, 4, 1, 4, 9, 1, 1):
        x = models.numbers(n, 3, 12, 12, seed=n)
        assert bits(predictor.run([x])) == bits(models.by_executor(folder, {"x": x})), n


@pytest.mark.parametrize("shared", [False, True])
def test_a_model_saves_what_it_loaded(tmp_path, shared):
    first, second = tmp_path / "first.dygraph", tmp_path / "second.dygraph"
    Predictor(models.save(tmp_path / "net", net)).save(first)
    predictor = Predictor(first, share_weights=shared)
    x = models.numbers(8, 300)
    for _ in range(3):
        found = bits(predictor.run([x]))
    predictor.save(second)
    assert second.read_bytes() == first.read_bytes()
    assert bits(Predictor(second).run([x])) == found


def test_panels_take_the_place_of_weights(tmp_path):
    folder = models.save(tmp_path, deep)
    before = dygraph.memory.used(dygraph.CPUPlace())
    predictor = Predictor(folder)
    weights = dygraph.memory.used(dygraph.CPUPlace()) - before
    assert weights >= 24 * 384 * 384 * 4
    for _ in range(3):
        predictor.run([models.numbers(2, 384)])
    assert dygraph.memory.used(dygraph.CPUPlace()) - before < 1.1 * weights


def test_limits_end_a_planned_run(tmp_path):
    predictor = Predictor(models.save(tmp_path, deep), threads=1)
    x = models.numbers(3000, 384)
    wanted = [bits(predictor.run([x])) for _ in range(3)][-1]
    predictor.time_limit = 0.02  # of some 0.3 s
    start = time.perf_counter()
    with pytest.raises(RunTimeoutError):
        predictor.run([x])
    assert time.perf_counter() - start < 0.2
    predictor.time_limit = None
    assert bits(predictor.run([x])) == wanted

    ended = []

    def run():
        try:
            while True:
                predictor.run([x])
        except RunCancelledError as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive():  # it may not have begun
        predictor.cancel()
        thread.join(0.01)
    assert len(ended) == 1
    assert bits(predictor.run([x])) == wanted


def test_threads_at_sizes_of_their_own(tmp_path):
    """Weights are packed, given up and asked for by all of them at once."""
    folder = models.save(tmp_path, net)
    feeds = {n: models.numbers(n, 300, seed=n) for n in (1, 2, 16, 24, 40, 130)}
    wanted = {n: bits(models.by_executor(folder, {"x": x})) for n, x in feeds.items()}

    def work(predictor, n):
        return all(bits(predictor.run([feeds[n]])) == wanted[n] for _ in range(20))

    for _ in range(5):
        predictor = Predictor(os.fspath(folder))
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            assert all(pool.map(work, [predictor.clone() for _ in feeds], feeds))
