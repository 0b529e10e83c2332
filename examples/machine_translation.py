"""Translate numbers from English to French: attention and beam search in static programs.

The corpus are the names of the numbers below 1,000, such as "three hundred ninety one" and "trois
cent quatre vingt onze"; four out of ten are for training. Sentences are not padded: a batch holds
all their words, and its level of detail (LoD) says where each begins. The encoder is a GRU in both
directions; the decoder looks at its states through additive attention (Bahdanau et al., 2014). In
training its step is the block of a DynamicRNN, in translating that of a While, which goes on with
the best four beginnings of each sentence. That program is saved, loaded and run. Takes about three
seconds and writes examples/out/translation/.

    python examples/machine_translation.py
"""

import argparse
import itertools
import sys
import time
from pathlib import Path

import numpy as np

import dygraph
from dygraph import static
from dygraph.static import layers

OUT = Path(__file__).resolve().parent / "out" / "translation"
WIDTH, BEAMS, LONGEST = 64, 4, 10
BEGIN, END = 0, 1  # the words before and after a translation

ENGLISH = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
ENGLISH = (ENGLISH + "fifteen sixteen seventeen eighteen nineteen").split()
ENGLISH_TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()
FRENCH = "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze "
FRENCH = (FRENCH + "seize dix-sept dix-huit dix-neuf").split()
FRENCH_TENS = "- - vingt trente quarante cinquante soixante soixante".split()


def english(n):
    """The English words of a number below 1,000."""
    if n >= 100:
        return [ENGLISH[n // 100], "hundred", *(english(n % 100) if n % 100 else [])]
    if n < 20:
        return [ENGLISH[n]]
    return [ENGLISH_TENS[n // 10], *([ENGLISH[n % 10]] if n % 10 else [])]


def french(n):
    """The French words of a number below 1,000."""
    if n >= 100:
        hundreds = ["cent"] if n < 200 else [FRENCH[n // 100], "cent"]
        return [*hundreds, *(french(n % 100) if n % 100 else [])]
    if n < 20:
        return FRENCH[n].split("-")
    if n >= 80:
        return ["quatre", "vingt", *(french(n - 80) if n > 80 else [])]
    rest = n - 60 if n >= 60 else n % 10
    return [FRENCH_TENS[n // 10], *(["et"] if n % 10 == 1 else []), *(french(rest) if rest else [])]


class Language:
    """The words of sentences, each with a number."""

    def __init__(self, sentences):
        self.words = ["<begin>", "<end>", *sorted(set(itertools.chain(*sentences)))]
        self.numbers = {word: i for i, word in enumerate(self.words)}

    def ids(self, sentence):
        return [self.numbers[word] for word in sentence]

    def text(self, ids):
        return " ".join(self.words[i] for i in ids if i not in (BEGIN, END))


def ragged(sentences):
    """Lists of ids as one int64 Variable ``[words, 1]`` with a level of LoD."""
    words = np.array(list(itertools.chain(*sentences)), "int64")[:, None]
    return dygraph.to_variable(words, lod=[np.cumsum([0, *map(len, sentences)]).tolist()])


def dense(x, size, name, act=None, bias=True):
    """A linear layer, which the program that trains and the one that translates share by name."""
    bias = f"{name}.bias" if bias else False
    return layers.fc(x, size, act=act, param_attr=f"{name}.weight", bias_attr=bias)


def encode(words, vocabulary):
    """(states of the words, their part of the attention, the decoder's first state)."""
    x = layers.embedding(words, [vocabulary, WIDTH], param_attr="source.words")
    forward, backward = (
        layers.dynamic_gru(
            dense(x, 3 * WIDTH, name, bias=False), WIDTH, is_reverse=name == "backward",
            param_attr=f"{name}.gru", bias_attr=f"{name}.gru.bias",
        )
        for name in ("forward", "backward")
    )  # fmt: skip
    states = layers.concat([forward, backward], axis=1)
    read = layers.sequence_pool(backward, "first")  # going backward it has read the whole sentence
    first = dense(read, WIDTH, "first", act="tanh")
    return states, dense(states, WIDTH, "attention.states", bias=False), first


def attend(states, projected, hidden):
    """The mean of each sentence's states, weighted by how well they fit the decoder's state."""
    wanted = layers.sequence_expand(dense(hidden, WIDTH, "attention.hidden"), projected)
    fit = dense(layers.tanh(projected + wanted), 1, "attention.fit", bias=False)
    return layers.sequence_pool(states * layers.sequence_softmax(fit), "sum")


def step(word, hidden, states, projected, vocabulary):
    """(probabilities of the next word, the next state) after a word of the translation."""
    x = layers.embedding(word, [vocabulary, WIDTH], param_attr="target.words")
    x = dense(layers.concat([x, attend(states, projected, hidden)], axis=1), 3 * WIDTH, "decoder")
    hidden, _, _ = layers.gru_unit(x, hidden, 3 * WIDTH, param_attr="decoder.gru", bias_attr=False)
    return dense(hidden, vocabulary, "next", act="softmax"), hidden


def teach(source, target, learning_rate=5e-3):
    """Describe training: the loss of the right next words, and a step of Adam."""
    words, before, after = (
        static.data(name, [None, 1], "int64", lod_level=1) for name in ("words", "before", "after")
    )
    states, projected, first = encode(words, source)
    rnn = layers.DynamicRNN()
    with rnn.block():
        word = rnn.step_input(before)
        hidden = rnn.memory(init=first, need_reorder=True)
        seen = rnn.static_input(states), rnn.static_input(projected)
        likely, next_hidden = step(word, hidden, *seen, target)
        rnn.update_memory(hidden, next_hidden)
        rnn.output(likely)
    loss = layers.mean(layers.cross_entropy(rnn(), after))
    static.optimizer.Adam(learning_rate).minimize(loss)
    return loss


def translate(source, target):
    """Describe translating: ids and scores of the BEAMS best translations of each sentence.

    A turn goes on with what the last one chose. The LoD of the scores says how often each beginning
    was chosen, and sequence_expand repeats its states as often. Where all beams of a sentence have
    ended it has no rows any more.
    """
    words = static.data("words", [None, 1], "int64", lod_level=1)
    begin = static.data("begin", [None, 1], "int64", lod_level=2)
    begin_scores = static.data("begin_scores", [None, 1], "float32", lod_level=2)
    now, last = (layers.fill_constant([1], "int64", n) for n in (0, LONGEST))
    ids, scores = layers.array_write(begin, now), layers.array_write(begin_scores, now)
    kept = [layers.array_write(x, now) for x in encode(words, source)]
    more = layers.less_than(now, last)
    with layers.While(more).block():
        word, score = layers.array_read(ids, now), layers.array_read(scores, now)
        states, projected, hidden = (
            layers.sequence_expand(layers.array_read(array, now), score) for array in kept
        )
        likely, hidden = step(word, hidden, states, projected, target)
        best, found = layers.topk(likely, BEAMS)
        total = layers.lod_reset(layers.log(best) + score, score)
        chosen = layers.beam_search(word, score, found, total, BEAMS, END)
        layers.increment(now)
        written = zip((*chosen, states, projected, hidden), (ids, scores, *kept), strict=True)
        for value, array in written:
            layers.array_write(value, now, array)
        going_on = layers.logical_not(layers.is_empty(chosen[0]))
        layers.logical_and(layers.less_than(now, last), going_on, out=more)
    return layers.beam_search_decode(ids, scores, BEAMS, END)


def train(executor, program, loss, pairs, epochs, batch_size=32):
    """The mean loss of every epoch."""
    from tqdm import tqdm

    rng, losses = np.random.default_rng(0), []
    progress = tqdm(range(epochs), desc="training", unit="epoch")
    for _ in progress:
        order, found = rng.permutation(len(pairs)), []
        for start in range(0, len(order), batch_size):
            words, wanted = zip(*(pairs[i] for i in order[start : start + batch_size]), strict=True)
            feed = {
                "words": ragged(words),
                "before": ragged([[BEGIN, *ids] for ids in wanted]),
                "after": ragged([[*ids, END] for ids in wanted]),
            }
            found += executor.run(program, feed=feed, fetch_list=[loss])
        losses.append(float(np.mean(found)))
        progress.set_postfix(loss=f"{losses[-1]:.4f}")
    return losses


def run(executor, program, fetches, sentences):
    """(ids, scores) of the translating program: LoD says each sentence's beams and their words."""
    n = len(sentences)
    lod = [list(range(n + 1))] * 2  # a sentence has one beginning, which is one word
    feed = {
        "words": ragged(sentences),
        "begin": dygraph.to_variable(np.full([n, 1], BEGIN, "int64"), lod=lod),
        "begin_scores": dygraph.to_variable(np.zeros([n, 1], "float32"), lod=lod),
    }
    return executor.run(program, feed=feed, fetch_list=fetches, return_numpy=False)


def best(ids):
    """The first translation of each sentence: the beams come best first."""
    beams, words = ids.lod()
    return [ids.numpy()[words[i] : words[i + 1]].tolist() for i in beams[:-1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    start = time.perf_counter()
    numbers = np.random.default_rng(0).permutation(1000).tolist()
    corpus = [(english(n), french(n)) for n in numbers]
    source, target = (Language(side) for side in zip(*corpus, strict=True))
    sizes = len(source.words), len(target.words)
    pairs = [(source.ids(e), target.ids(f)) for e, f in corpus]
    questions, answers = zip(*pairs[400:], strict=True)

    learner, translator, startup = static.Program(), static.Program(), static.Program()
    startup.random_seed = arguments.seed
    with static.program_guard(learner, startup):
        loss = teach(*sizes)
    with static.program_guard(translator):
        results = list(translate(*sizes))
    executor = static.Executor()
    executor.run(startup)
    losses = train(executor, learner, loss, pairs[:400], arguments.epochs)
    found = run(executor, translator, results, questions)

    names = ["words", "begin", "begin_scores"]
    static.save_inference_model(OUT, names, results, executor, translator)
    with static.scope_guard(static.Scope()):
        loaded, _, fetches = static.load_inference_model(OUT, executor)
        again = run(executor, loaded, fetches, questions)
    same = all(
        np.array_equal(a.numpy(), b.numpy()) and a.lod() == b.lod()
        for a, b in zip(found, again, strict=True)
    )
    translations = best(found[0])
    right = np.mean([t == [BEGIN, *a, END] for t, a in zip(translations, answers, strict=True)])
    for question, translation in list(zip(questions, translations, strict=True))[:5]:
        print(f"{source.text(question)}: {target.text(translation)}")
    print(f"loss {losses[0]:.4f} at first, {losses[-1]:.4f} in the end")
    print(f"right {right:.4f} of {len(answers)} others, after {time.perf_counter() - start:.1f} s")
    print(f"the loaded program gives {'the same' if same else 'something else'}: {OUT}")
    return 0 if same and right >= 0.95 else 1


if __name__ == "__main__":
    sys.exit(main())
