"""The decoder of Fluid's book on machine translation: While, arrays, beam search; beside Python."""

import numpy as np
import pytest

import dygraph
import static
from static import layers

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
