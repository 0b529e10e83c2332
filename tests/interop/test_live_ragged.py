"""Paddle itself runs our programs over ragged batches; collected where its Python is named."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import dygraph
from dygraph import nn, static
from dygraph.static import layers
from interop import golden, translator

SIDE = Path(__file__).with_name("ragged_side.py")


def ragged(value, *lengths):
    """An array with levels of detail, of lengths from the outermost."""
    return dygraph.to_variable(value, lod=[np.cumsum([0, *n]).tolist() for n in lengths])


def both(tmp_path, main, feed, results):
    """(our results, Paddle's) of an inference model, as (array, LoD)."""
    executor = static.Executor()
    static.save_inference_model(tmp_path / "model", list(feed), results, executor, main)
    ours = executor.run(main, feed=feed, fetch_list=results, return_numpy=False)
    return [(v.numpy(), v.lod() or []) for v in ours], paddle(tmp_path, feed)


def paddle(tmp_path, feed):
    """Paddle's results of the model in a folder, as (array, LoD)."""
    arrays = {}
    for name, value in feed.items():
        arrays[name] = value.numpy()
        arrays.update({f"{name}@{k}": np.array(v) for k, v in enumerate(value.lod())})
    np.savez(tmp_path / "feed.npz", **arrays)
    python = os.environ["DYGRAPH_PADDLE_PYTHON"]
    paths = [str(tmp_path / name) for name in ("model", "feed.npz", "result.npz")]
    done = subprocess.run(
        [python, str(SIDE), *paths], env={"PATH": os.environ["PATH"]}, capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    with np.load(tmp_path / "result.npz") as file:
        found = dict(file)
    count = sum("@" not in name for name in found)
    levels = [[k for k in sorted(found) if k.startswith(f"{i}@")] for i in range(count)]
    return [(found[str(i)], [found[k].tolist() for k in names]) for i, names in enumerate(levels)]


def test_the_translator_of_the_example(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples"))
    import machine_translation as example

    pairs = [(example.english(n), example.french(n)) for n in range(0, 1000, 3)]
    source, target = (example.Language(side) for side in zip(*pairs, strict=True))
    pairs = [(source.ids(e), target.ids(f)) for e, f in pairs]
    learner, translator, startup = static.Program(), static.Program(), static.Program()
    startup.random_seed = 1
    with static.program_guard(learner, startup):
        loss = example.teach(len(source.words), len(target.words))
    with static.program_guard(translator):
        results = list(example.translate(len(source.words), len(target.words)))
    executor = static.Executor()
    with static.scope_guard(static.Scope()):
        executor.run(startup)
        example.train(executor, learner, loss, pairs, epochs=6)
        questions = [words for words, _ in pairs[:50]]
        one = [[1] * 50] * 2
        feed = {
            "words": ragged(np.concatenate(questions)[:, None], [len(q) for q in questions]),
            "begin": ragged(np.zeros([50, 1], "int64"), *one),
            "begin_scores": ragged(np.zeros([50, 1], "float32"), *one),
        }
        ours, theirs = both(tmp_path, translator, feed, results)
    assert np.array_equal(ours[0][0], theirs[0][0])  # the same words
    assert ours[0][1] == theirs[0][1] == ours[1][1] == theirs[1][1]
    np.testing.assert_allclose(ours[1][0], theirs[1][0], rtol=1e-5, atol=1e-5)


def test_a_translator_with_attention_trains_alike(tmp_path):
    arrays = golden.train_translator(tmp_path)
    np.testing.assert_allclose(translator.losses(arrays), arrays["losses"], atol=1e-5)


class Leaky(nn.RNNCellBase):
    state_shape = (4,)

    def __init__(self):
        super().__init__()
        self.new, self.old = nn.Linear(3, 4), nn.Linear(4, 4)

    def forward(self, x, h):
        h = (self.new(x) + self.old(h)).tanh()
        return h * 2.0, h


@pytest.mark.parametrize("is_reverse", [False, True])
def test_a_network_over_ragged_batches(tmp_path, is_reverse):
    rnn = nn.RNN(Leaky(), is_reverse)
    rows = np.random.RandomState(1).uniform(-1, 1, (11, 3)).astype("float32")
    first, second = ragged(rows, [3, 1, 5, 2]), ragged(rows, [4, 7])
    with dygraph.no_grad():
        captured = dygraph.jit.to_static(rnn)
        captured.save(tmp_path / "model", first)
        (name,) = captured.entry(first).feeds
        for x in (first, second):
            found = paddle(tmp_path, {name: x})
            for mine, (other, lod) in zip(rnn(x), found, strict=True):
                np.testing.assert_allclose(mine.numpy(), other, rtol=1e-5, atol=1e-6)
                assert (mine.lod() or []) == lod


def test_a_dynamic_rnn_with_external_memory(tmp_path):
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [None, 2], "float32", lod_level=1)
        outside = static.data("outside", [None, 2], "float32", lod_level=1)
        rnn = layers.DynamicRNN()
        with rnn.block():
            now, seen = rnn.step_input(x), rnn.static_input(outside)
            total = rnn.memory(shape=[2], value=0.5)
            after = total + now * layers.sequence_pool(seen, "average")
            rnn.update_memory(total, after)
            rnn.output(after)
        results = [rnn()]
    rows = np.random.RandomState(2).uniform(-1, 1, (9, 2)).astype("float32")
    feed = {"x": ragged(rows, [2, 4, 3]), "outside": ragged(rows[:6], [1, 3, 2])}
    ours, theirs = both(tmp_path, main, feed, results)
    np.testing.assert_allclose(ours[0][0], theirs[0][0], rtol=1e-6)
    assert ours[0][1] == theirs[0][1] == [[0, 2, 6, 9]]
