"""Programs as Fluid's own tests have them, with loops and choices: trained, saved, decoded."""

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.static import layers


def value(name):
    return np.array(static.global_scope().find_var(name).get_tensor())


def ragged(rows, *levels):
    return dygraph.to_variable(rows, lod=[np.cumsum([0, *lengths]).tolist() for lengths in levels])


def repeated(x, body, turns=3):
    """body(body(body(x)))"""
    i, n = (layers.fill_constant([1], "int64", k) for k in (0, turns))
    s = layers.scale(x, 1.0)
    s.stop_gradient = False
    more = layers.less_than(i, n)
    with layers.While(more).block():
        layers.assign(body(s), output=s)
        layers.increment(i)
        layers.less_than(i, n, cond=more)
    return s


def start():
    executor = static.Executor()
    executor.run(static.default_startup_program())
    return executor


OPTIMIZERS = {
    "Momentum": {"learning_rate": 0.1, "momentum": 0.9},
    "Adam": {"learning_rate": 0.01},
    "RMSProp": {"learning_rate": 0.01},
    "Lamb": {"learning_rate": 0.01},
    "SGD": {
        "learning_rate": 0.1,
        "grad_clip": dygraph.nn.ClipGradByGlobalNorm(0.1),
        "regularization": dygraph.regularizer.L2Decay(0.1),
    },
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_loop_trains_to_the_bits_of_its_turns_written_one_after_the_other(name):
    def trained(loop):
        main, startup, executor = static.Program(), static.Program(), static.Executor()
        with static.program_guard(main, startup), dygraph.unique_name.guard():

            def body(s):
                return layers.fc(s, 5, act="tanh", param_attr="w", bias_attr="b")

            x = static.data("x", [4, 5])
            s = repeated(x, body) if loop else body(body(body(layers.scale(x, 1.0))))
            loss = layers.mean(layers.square(s))
            getattr(static.optimizer, name)(**OPTIMIZERS[name]).minimize(loss)
        with static.scope_guard(static.Scope()):
            executor.run(startup)
            static.global_scope().var("w").set(array(5, 5))
            losses = [
                executor.run(main, {"x": array(4, 5) * k}, [loss])[0].item() for k in (1, 2, 3)
            ]
            return losses, value("w"), value("b")

    for mine, theirs in zip(trained(True), trained(False), strict=True):
        assert np.array_equal(mine, theirs)


def array(*shape):
    return np.random.RandomState(sum(shape)).uniform(-1, 1, shape).astype("float32")


def test_running_statistics_and_dropout_of_a_loop():
    x = static.data("x", [6, 4])
    names = {"moving_mean_name": "mean", "moving_variance_name": "variance"}

    def body(s):
        return layers.dropout(layers.batch_norm(s, param_attr="g", bias_attr="b", **names), 0.3)

    s = repeated(x, body)
    static.optimizer.SGD(0.1).minimize(layers.mean(layers.square(s - 1.0)))
    test = static.default_main_program().clone(for_test=True)
    executor, feed = start(), {"x": array(6, 4)}
    for _ in range(5):
        executor.run(feed=feed)
    mean, variance, g, b = (value(name) for name in ("mean", "variance", "g", "b"))
    assert np.abs(mean).max() > 0
    wanted = feed["x"]
    for _ in range(3):
        wanted = ((wanted - mean) / np.sqrt(variance + 1e-5) * g + b) * np.float32(0.7)
    got = executor.run(test, feed=feed, fetch_list=[s])[0]
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


def test_training_goes_on_from_what_was_saved(tmp_path):
    x = static.data("x", [None, 4])
    s = repeated(layers.fc(x, 4), lambda s: layers.fc(s, 4, act="tanh", param_attr="w"))
    y = layers.cond(layers.reduce_sum(s) > 0.0, lambda: s * 2.0, lambda: s * 3.0)
    loss = layers.mean(layers.square(y - 1.0))
    static.optimizer.Adam(0.01).minimize(loss)
    main, executor, feed = static.default_main_program(), start(), {"x": array(3, 4)}

    def losses():
        return [executor.run(feed=feed, fetch_list=[loss])[0].item() for _ in range(3)]

    first = losses()
    static.save(main, str(tmp_path / "whole"))
    static.io.save_persistables(executor, str(tmp_path / "each"), main)
    wanted = losses()
    assert wanted[-1] < first[0]
    for load in (
        lambda: static.load(main, str(tmp_path / "whole")),
        lambda: static.io.load_persistables(executor, str(tmp_path / "each"), main),
    ):
        with static.scope_guard(static.Scope()):
            start()
            load()
            assert losses() == wanted


def test_sentences_of_documents_in_a_network_over_time_in_another():
    words = static.data("words", [None, 1], "int64", lod_level=2)
    label = static.data("label", [None, 1], lod_level=1)
    outer = layers.DynamicRNN()
    with outer.block():
        sentence = outer.step_input(words)
        embedded = layers.embedding(sentence, [20, 8], param_attr="e")
        inner = layers.DynamicRNN()
        with inner.block():
            word = inner.step_input(embedded)
            inner.output(layers.fc(word, 6, act="tanh", param_attr="w"))
        outer.output(layers.sequence_last_step(inner()))
    score = layers.fc(outer(), 1, param_attr="v")
    loss = layers.mean(layers.sigmoid_cross_entropy_with_logits(score, label))
    static.optimizer.SGD(0.0).minimize(loss)
    executor, ids, classes = start(), np.arange(12)[:, None] % 7, [[1.0], [0.0], [1.0]]
    feed = {
        "words": ragged(ids.astype("int64"), [2, 1], [3, 5, 4]),
        "label": ragged(np.array(classes, "float32"), [2, 1]),
    }
    got = executor.run(feed=feed, fetch_list=[loss, "e@GRAD"])
    e, w, v = (value(name).astype("f8") for name in "ewv")
    last = ids.ravel()[[2, 7, 11]]  # of each sentence: its last word alone counts

    def by_hand(e):
        s = (np.tanh(e[last] @ w) @ v).ravel()
        return np.mean(np.maximum(s, 0) - s * np.ravel(classes) + np.log1p(np.exp(-np.abs(s))))

    np.testing.assert_allclose(got[0], by_hand(e), rtol=1e-5)
    slope = np.zeros_like(e)
    for at in np.ndindex(*e.shape):
        moved = [e.copy(), e.copy()]
        moved[0][at] += 1e-5
        moved[1][at] -= 1e-5
        slope[at] = (by_hand(moved[0]) - by_hand(moved[1])) / 2e-5
    np.testing.assert_allclose(got[1], slope, atol=1e-6)


class Attention(layers.RNNCell):
    """An LSTM that looks at what the encoder gave; its state holds what it saw last."""

    def __init__(self, size):
        self.lstm = layers.LSTMCell(size, name="decoder")
        self.size = size

    def call(self, inputs, states, encoded):
        lstm, seen = states
        hidden, lstm = self.lstm(layers.concat([inputs, seen], 1), lstm)
        asked = layers.fc(hidden, self.size, bias_attr=False, param_attr="ask")
        fit = layers.softmax(layers.matmul(layers.unsqueeze(asked, [1]), encoded, transpose_y=True))
        seen = layers.concat([layers.squeeze(layers.matmul(fit, encoded), [1]), hidden], 1)
        seen = layers.fc(seen, self.size, bias_attr=False, param_attr="see")
        return seen, [lstm, seen]


WORDS, SIZE, BEGIN, END = 12, 16, 0, 1


def translator(mode):
    def embedded(ids):
        return static.embedding(ids, [WORDS, SIZE], param_attr="e")

    def scores(x):
        axes = len(x.shape) - 1
        return layers.fc(x, WORDS, axes, param_attr="scores", bias_attr=False)

    source = static.data("source", [None, None], "int64")
    encoded, state = layers.rnn(layers.LSTMCell(SIZE, name="encoder"), embedded(source))
    cell = Attention(SIZE)
    states = [state, cell.get_initial_states(encoded, shape=[SIZE])]
    first = layers.fill_constant_batch_size_like(source, [-1], "int64", BEGIN)
    if mode == "beams":
        decoder = layers.BeamSearchDecoder(cell, BEGIN, END, 3, embedded, scores)
        encoded = decoder.tile_beam_merge_with_batch(encoded, 3)
    elif mode == "greedy":
        helper = layers.GreedyEmbeddingHelper(embedded, first, END)
        decoder = layers.BasicDecoder(cell, helper, scores)
    else:
        target = static.data("target", [None, None], "int64")
        lengths = static.data("lengths", [None], "int64")
        helper = layers.TrainingHelper(embedded(target), lengths)
        decoder = layers.BasicDecoder(cell, helper, scores)
    steps = None if mode == "train" else 5
    return layers.dynamic_decode(decoder, states, max_step_num=steps, encoded=encoded)[0]


def test_a_translator_learns_to_copy_and_decodes():
    rng, executor, startup, train = (
        np.random.RandomState(0), static.Executor(), static.Program(), static.Program(),
    )  # fmt: skip
    source = rng.randint(2, WORDS, [8, 4])
    begin, end = (np.full([8, 1], k) for k in (BEGIN, END))
    with static.program_guard(train, startup), dygraph.unique_name.guard():
        label = static.data("label", [None, None, 1], "int64")
        outputs = translator("train").cell_outputs
        loss = layers.mean(layers.softmax_with_cross_entropy(outputs, label))
        static.optimizer.Adam(0.02).minimize(loss)
    startup.random_seed = 1
    executor.run(startup)
    feed = {
        "source": source, "target": np.concatenate([begin, source], 1), "lengths": np.full(8, 5),
        "label": np.concatenate([source, end], 1)[..., None],
    }  # fmt: skip
    for _ in range(150):
        last = executor.run(train, feed, [loss])[0].item()
    assert last < 0.1
    for mode in ("greedy", "beams"):
        program = static.Program()
        with static.program_guard(program, static.Program()), dygraph.unique_name.guard():
            made = translator(mode)
        ids = made if mode == "beams" else made.sample_ids
        got = executor.run(program, {"source": source}, [ids])[0]
        best = got[..., 0] if mode == "beams" else got
        assert (best[:, :4] == source).mean() > 0.95 and (best[:, 4] == END).mean() > 0.8, mode
