"""The book's machine translation, to which the developer guide links, small.

The words of one language are the numbers 2 to 5, those of the other 6 to 9; word by word, w
becomes w + 4.
"""

import itertools

import numpy as np
import pytest

import dygraph
import dygraph.static as fluid
import dygraph.static.layers as pd
from dygraph import unique_name

START, END, WORDS = 0, 1, range(2, 6)
dict_size, word_dim, hidden_dim, decoder_size, beam_size, max_length = 10, 8, 8, 24, 2, 5
SENTENCES = [s for n in (1, 2) for s in itertools.product(WORDS, repeat=n)]


def translated(sentence):
    return [w + 4 for w in sentence]


@pytest.fixture(autouse=True)
def programs():
    with (
        fluid.program_guard(fluid.Program(), fluid.Program()),
        unique_name.guard(),
        fluid.scope_guard(fluid.Scope()),
    ):
        fluid.default_startup_program().random_seed = 1
        yield


def embedding(words):
    return pd.embedding(
        input=words, size=[dict_size, word_dim], dtype="float32", is_sparse=True,
        param_attr=fluid.ParamAttr(name="vemb"),
    )  # fmt: skip


def fc(name, input, size, act):
    """A layer that both decoders have."""
    parts = len(input) if isinstance(input, list) else 1
    weights = [fluid.ParamAttr(name=f"{name}.w{k}") for k in range(parts)]
    bias = fluid.ParamAttr(name=f"{name}.b")
    return pd.fc(input=input, size=size, act=act, param_attr=weights, bias_attr=bias)


def encoder():
    src_word_id = pd.data("src_word_id", shape=[1], dtype="int64", lod_level=1)
    fc1 = pd.fc(input=embedding(src_word_id), size=hidden_dim * 4, act="tanh")
    lstm_hidden0, lstm_0 = pd.dynamic_lstm(input=fc1, size=hidden_dim * 4)
    last = pd.sequence_last_step(input=lstm_hidden0)
    return pd.fc(input=last, size=decoder_size, act="tanh")


def decoder_train(context):
    trg_language_word = pd.data("target_language_word", shape=[1], dtype="int64", lod_level=1)
    trg_embedding = embedding(trg_language_word)

    rnn = pd.DynamicRNN()
    with rnn.block():
        current_word = rnn.step_input(trg_embedding)
        pre_state = rnn.memory(init=context, need_reorder=True)
        current_state = fc("state", [pre_state, current_word], decoder_size, "tanh")
        current_score = fc("score", current_state, dict_size, "softmax")
        rnn.update_memory(pre_state, current_state)
        rnn.output(current_score)

    return rnn()


def decoder_decode(context):
    array_len = pd.fill_constant(shape=[1], dtype="int64", value=max_length)
    counter = pd.zeros(shape=[1], dtype="int64", force_cpu=True)

    # fill the first element with init_state
    state_array = pd.create_array("float32")
    pd.array_write(context, array=state_array, i=counter)

    # ids, scores as memory
    ids_array = pd.create_array("int64")
    scores_array = pd.create_array("float32")
    init_ids = pd.data(name="init_ids", shape=[1], dtype="int64", lod_level=2)
    init_scores = pd.data(name="init_scores", shape=[1], dtype="float32", lod_level=2)
    pd.array_write(init_ids, array=ids_array, i=counter)
    pd.array_write(init_scores, array=scores_array, i=counter)

    cond = pd.less_than(x=counter, y=array_len)
    while_op = pd.While(cond=cond)
    with while_op.block():
        pre_ids = pd.array_read(array=ids_array, i=counter)
        pre_state = pd.array_read(array=state_array, i=counter)
        pre_score = pd.array_read(array=scores_array, i=counter)

        # expand the lod of pre_state to be the same with pre_score
        pre_state_expanded = pd.sequence_expand(pre_state, pre_score)
        pre_ids_emb = embedding(pre_ids)

        # use rnn unit to update rnn
        current_state = fc("state", [pre_state_expanded, pre_ids_emb], decoder_size, "tanh")
        current_state_with_lod = pd.lod_reset(x=current_state, y=pre_score)

        # use score to do beam search
        current_score = fc("score", current_state_with_lod, dict_size, "softmax")
        topk_scores, topk_indices = pd.topk(current_score, k=beam_size)
        accu_scores = pd.elementwise_add(
            x=pd.log(topk_scores), y=pd.reshape(pre_score, shape=[-1]), axis=0
        )
        selected_ids, selected_scores = pd.beam_search(
            pre_ids, pre_score, topk_indices, accu_scores, beam_size, end_id=END, level=0
        )
        pd.increment(x=counter, value=1, in_place=True)

        # update the memories
        pd.array_write(current_state, array=state_array, i=counter)
        pd.array_write(selected_ids, array=ids_array, i=counter)
        pd.array_write(selected_scores, array=scores_array, i=counter)

        # up to the max length, or until all candidates of the sentences have ended
        length_cond = pd.less_than(x=counter, y=array_len)
        finish_cond = pd.logical_not(pd.is_empty(x=selected_ids))
        pd.logical_and(x=length_cond, y=finish_cond, out=cond)

    return pd.beam_search_decode(
        ids=ids_array, scores=scores_array, beam_size=beam_size, end_id=END
    )


def ragged(sequences, dtype="int64", levels=1):
    """Sequences of one column; of two levels where each holds one candidate."""
    rows = np.array([w for s in sequences for w in s], dtype)[:, None]
    offsets = np.cumsum([0, *map(len, sequences)]).tolist()
    return dygraph.to_variable(rows, lod=[offsets] * levels)


def train(executor, steps):
    """Losses; the parameters stay in the scope."""
    rnn_out = decoder_train(encoder())
    label = pd.data("target_language_next_word", shape=[1], dtype="int64", lod_level=1)
    avg_cost = pd.mean(pd.cross_entropy(input=rnn_out, label=label))
    fluid.optimizer.Adam(learning_rate=0.02).minimize(avg_cost)
    executor.run(fluid.default_startup_program())
    feed = {
        "src_word_id": ragged(SENTENCES),
        "target_language_word": ragged([[START, *translated(s)] for s in SENTENCES]),
        "target_language_next_word": ragged([[*translated(s), END] for s in SENTENCES]),
    }
    return [executor.run(feed=feed, fetch_list=[avg_cost])[0].item() for _ in range(steps)]


def log_probability(context, words):
    """Of a translation, from the parameters, by NumPy."""
    names = ("vemb", "state.w0", "state.w1", "state.b", "score.w0", "score.b")
    scope = fluid.global_scope()
    value = {n: np.array(scope.find_var(n).get_tensor()).astype("float64") for n in names}
    state, total = context.astype("float64"), 0.0
    for before, word in itertools.pairwise(words):
        state = np.tanh(
            state @ value["state.w0"] + value["vemb"][before] @ value["state.w1"] + value["state.b"]
        )
        logits = state @ value["score.w0"] + value["score.b"]
        total += logits[word] - np.log(np.exp(logits).sum())
    return total


def test_trained_and_decoded():
    executor = fluid.Executor(fluid.CPUPlace())
    losses = train(executor, 150)
    assert losses[-1] < 0.05 < 1 < losses[0]

    decode = fluid.Program()
    with fluid.program_guard(decode, fluid.Program()), unique_name.guard():
        context = encoder()
        translation_ids, translation_scores = decoder_decode(context)
    count = len(SENTENCES)
    ids, scores, contexts = executor.run(
        decode,
        feed={
            "src_word_id": ragged(SENTENCES),
            "init_ids": ragged([[START]] * count, levels=2),
            "init_scores": ragged([[0.0]] * count, "float32", levels=2),
        },
        fetch_list=[translation_ids, translation_scores, context],
        return_numpy=False,
    )
    of_sentence, of_words = ids.lod()
    assert scores.lod() == ids.lod() and of_sentence == [2 * k for k in range(count + 1)]
    words, sums = ids.numpy().ravel().tolist(), scores.numpy().ravel()
    for k, sentence in enumerate(SENTENCES):
        found = []
        for candidate in (2 * k, 2 * k + 1):
            begin, end = of_words[candidate : candidate + 2]
            found.append((sums[end - 1], words[begin:end]))
            wanted = log_probability(contexts.numpy()[k], words[begin:end])
            np.testing.assert_allclose(sums[end - 1], wanted, rtol=1e-3, atol=1e-4)
        assert max(found)[1] == [START, *translated(sentence), END]
