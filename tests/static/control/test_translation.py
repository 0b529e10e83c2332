"""Fluid's book on machine translation: training with attention, decoding by beam search.

Both beside Python: training beside eager loops over one sentence at a time, decoding beside lists.
"""

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.static import layers

WORDS, HIDDEN, WIDTH, BEAMS, END, LONGEST = 12, 5, 4, 3, 7, 6


def array(*shape):
    return np.random.RandomState(sum(shape)).normal(0, 1.5, shape).astype("float32")


VALUES = {
    "words": array(WORDS, WIDTH),
    "from_state": array(HIDDEN, HIDDEN),
    "from_word": array(WIDTH, HIDDEN),
    "gates": array(WIDTH, 3 * HIDDEN),
    "gru": array(HIDDEN, 3 * HIDDEN),
    "score": array(HIDDEN, WORDS),
}


def by_layers(state, x):
    return layers.fc(
        [state, x], HIDDEN, act="tanh", bias_attr=False,
        param_attr=[dygraph.ParamAttr(name=n) for n in ("from_state", "from_word")],
    )  # fmt: skip


def by_gru(state, x):
    gates = layers.fc(x, 3 * HIDDEN, bias_attr=False, param_attr="gates")
    return layers.gru_unit(gates, state, 3 * HIDDEN, param_attr="gru", bias_attr=False)[0]


def described(first, cell):
    """The book's loop: states, ids and scores in arrays, no attention."""
    last = layers.fill_constant([1], "int64", LONGEST)
    now = layers.zeros([1], "int64", force_cpu=True)
    states = layers.create_array("float32")
    layers.array_write(first, array=states, i=now)
    ids, scores = layers.create_array("int64"), layers.create_array("float32")
    begin = static.data("begin", [None, 1], "int64", lod_level=2)
    begin_scores = static.data("begin_scores", [None, 1], "float32", lod_level=2)
    layers.array_write(begin, array=ids, i=now)
    layers.array_write(begin_scores, array=scores, i=now)
    more = layers.less_than(now, last)
    with layers.While(cond=more).block():
        word = layers.array_read(array=ids, i=now)
        state = layers.array_read(array=states, i=now)
        score = layers.array_read(array=scores, i=now)
        state = layers.sequence_expand(state, score)
        x = layers.embedding(word, [WORDS, WIDTH], param_attr="words")
        state = cell(state, x)
        with_lod = layers.lod_reset(state, y=score)
        likely = layers.fc(with_lod, WORDS, act="softmax", bias_attr=False, param_attr="score")
        best, which = layers.topk(likely, k=BEAMS)
        total = layers.elementwise_add(layers.log(best), layers.reshape(score, shape=[-1]), axis=0)
        chosen, chosen_scores = layers.beam_search(
            word, score, which, total, BEAMS, end_id=END, level=0
        )
        layers.increment(now, value=1, in_place=True)
        layers.array_write(state, array=states, i=now)
        layers.array_write(chosen, array=ids, i=now)
        layers.array_write(chosen_scores, array=scores, i=now)
        layers.logical_and(
            layers.less_than(now, last), layers.logical_not(layers.is_empty(chosen)), out=more
        )
    return layers.beam_search_decode(ids, scores, BEAMS, END)


def tanh_of(h, x):
    return np.tanh(h @ VALUES["from_state"] + x @ VALUES["from_word"])


def gru_of(h, x):
    x = x @ VALUES["gates"]
    flat, n = VALUES["gru"].ravel(), 2 * HIDDEN * HIDDEN  # two matrices, one behind the other
    gates = x[: 2 * HIDDEN] + h @ flat[:n].reshape(HIDDEN, 2 * HIDDEN)
    u, r = np.split(1 / (1 + np.exp(-gates)), 2)
    return (1 - u) * h + u * np.tanh(x[2 * HIDDEN :] + (r * h) @ flat[n:].reshape(HIDDEN, HIDDEN))


def searched(state, cell):
    """(sentences, scores) of one source, the best first: the same search on lists."""
    beams = [([0], [0.0], state)]
    for _ in range(LONGEST):
        found = []
        for ids, marks, h in beams:
            if ids[-1] == END:
                found.append((marks[-1], ids, marks, h, None))
                continue
            h = cell(h, VALUES["words"][ids[-1]])
            e = np.exp(h @ VALUES["score"])
            marked = np.log(e / e.sum()) + marks[-1]
            found += [(m, ids, marks, h, w) for w, m in enumerate(marked)]
        found = sorted(found, key=lambda f: -f[0])[:BEAMS]
        if all(w is None for *_, w in found):
            break
        beams = [
            (ids, marks, h) if w is None else ([*ids, w], [*marks, m], h)
            for m, ids, marks, h, w in found
        ]
    beams.sort(key=lambda b: -b[1][-1])
    return [ids for ids, *_ in beams], [marks for _, marks, _ in beams]


@pytest.mark.parametrize("sources", [1, 3, 40])
@pytest.mark.parametrize("cells", [(by_layers, tanh_of), (by_gru, gru_of)])
def test_the_books_decoder_beside_python(cells, sources):
    first = static.data("first", [None, HIDDEN], "float32")
    results = described(first, cells[0])
    for name, value in VALUES.items():
        static.global_scope().var(name).set(value)
    lod = [list(range(sources + 1))] * 2
    value = array(sources, HIDDEN)
    ids, scores = static.Executor().run(
        feed={
            "first": value,
            "begin": dygraph.to_variable(np.zeros([sources, 1], "int64"), lod=lod),
            "begin_scores": dygraph.to_variable(np.zeros([sources, 1], "float32"), lod=lod),
        },
        fetch_list=list(results), return_numpy=False,
    )  # fmt: skip
    wanted = [searched(row, cells[1]) for row in value]
    sentences = [s for found, _ in wanted for s in found]
    lod = [
        np.cumsum([0, *(len(found) for found, _ in wanted)]).tolist(),
        np.cumsum([0, *map(len, sentences)]).tolist(),
    ]
    assert ids.lod() == scores.lod() == lod
    assert ids.numpy().ravel().tolist() == [i for s in sentences for i in s]
    marks = [m for _, found in wanted for s in found for m in s]
    np.testing.assert_allclose(scores.numpy().ravel(), marks, rtol=1e-5, atol=1e-5)
    lengths = {len(s) for s in sentences}
    assert sources < 40 or min(lengths) < LONGEST + 1 == max(lengths)  # some end, some are cut


# Training -----------------------------------------------------------------------------------------

SHAPES = {
    "source": [WORDS, WIDTH], "target": [WORDS, WIDTH], "encoder": [WIDTH, HIDDEN],
    "ask": [HIDDEN, HIDDEN], "fit": [HIDDEN, 1], "word": [WIDTH, HIDDEN],
    "seen": [HIDDEN, HIDDEN], "state": [HIDDEN, HIDDEN], "next": [HIDDEN, WORDS],
}  # fmt: skip
RATE = 0.5


def linear(x, name, act=None):
    return layers.fc(x, SHAPES[name][1], act=act, bias_attr=False, param_attr=name)


def attention_program():
    """The mean loss of a decoder that looks at all words of its sentence, and a step of SGD."""
    words, before, after = (
        static.data(n, [None, 1], "int64", lod_level=1) for n in ("words", "before", "after")
    )
    states = linear(layers.embedding(words, SHAPES["source"], param_attr="source"), "encoder",
                    "tanh")  # fmt: skip
    x = layers.embedding(before, SHAPES["target"], param_attr="target")
    first = layers.sequence_pool(states, "last")
    rnn = layers.DynamicRNN()
    with rnn.block():
        now, seen = rnn.step_input(x), rnn.static_input(states)
        hidden = rnn.memory(init=first, need_reorder=True)
        asked = layers.sequence_expand(linear(hidden, "ask"), seen)
        weight = layers.sequence_softmax(linear(layers.tanh(seen + asked), "fit"))
        context = layers.sequence_pool(seen * weight, "sum")
        new = layers.tanh(linear(now, "word") + linear(context, "seen") + linear(hidden, "state"))
        rnn.update_memory(hidden, new)
        rnn.output(linear(new, "next", "softmax"))
    loss = layers.mean(layers.cross_entropy(rnn(), after))
    static.optimizer.SGD(RATE).minimize(loss)
    return loss


def eager_loss(w, sources, befores, afters):
    """The same, a sentence at a time, a word at a time."""
    losses = []
    for source, before, after in zip(sources, befores, afters, strict=True):
        states = (w["source"][source] @ w["encoder"]).tanh()
        hidden = states[-1:]
        for i, wanted in zip(before, after, strict=True):
            fit = (states + hidden @ w["ask"]).tanh() @ w["fit"]
            weight = (fit - fit.max()).exp()
            context = (states * (weight / weight.sum())).sum(axis=0, keepdim=True)
            x = w["target"][[i]]
            hidden = (x @ w["word"] + context @ w["seen"] + hidden @ w["state"]).tanh()
            score = (hidden @ w["next"]).exp()
            losses.append(-(score[0, wanted] / score.sum()).log().reshape([1]))
    return dygraph.concat(losses).mean()


def test_training_with_attention_beside_eager_loops_over_sentences():
    rng = np.random.RandomState(5)
    values = {name: rng.normal(0, 0.5, shape).astype("float32") for name, shape in SHAPES.items()}
    loss = attention_program()
    executor = static.Executor()
    executor.run(static.default_startup_program())
    for name, value in values.items():
        static.global_scope().var(name).set(value)
    w = {n: dygraph.to_variable(v) for n, v in values.items()}
    for each in w.values():
        each.stop_gradient = False

    def ragged(sentences):
        rows = np.concatenate([np.array(s, "int64") for s in sentences])[:, None]
        return dygraph.to_variable(rows, lod=[np.cumsum([0, *map(len, sentences)]).tolist()])

    losses = []
    for n in range(5):
        count = 3 + n  # another batch, of other lengths, at each step
        sources, befores = (
            [rng.randint(0, WORDS, rng.randint(1, 7)).tolist() for _ in range(count)] for _ in "sb"
        )
        afters = [[*b[1:], END] for b in befores]
        feed = {"words": ragged(sources), "before": ragged(befores), "after": ragged(afters)}
        losses.append(float(executor.run(feed=feed, fetch_list=[loss])[0]))
        wanted = eager_loss(w, sources, befores, afters)
        assert losses[-1] == pytest.approx(float(wanted), rel=1e-5)
        wanted.backward()
        for name, each in w.items():
            w[name] = dygraph.to_variable(each.numpy() - RATE * each.gradient())
            w[name].stop_gradient = False
    for name, each in w.items():
        mine = np.array(static.global_scope().var(name).get_tensor())
        assert not np.allclose(mine, values[name])
        np.testing.assert_allclose(mine, each.numpy(), rtol=1e-4, atol=1e-5, err_msg=name)
