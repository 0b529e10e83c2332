"""Learn what words mean from the text that comes with Python: skip-grams with negative sampling.

The corpus is the manual behind ``help()`` and docstrings of the standard library, about 250,000
words. A word's vector is trained to distinguish the words near it from words drawn at random
(Mikolov et al., 2013). The gradients of both tables are sparse: a step touches the rows of its
batch and no others. The vectors must separate texts not seen in training from noise better than
word frequencies alone, and related words must find each other. Takes about ten seconds on two cores
and writes to examples/out/: word_vectors.png and word_vectors.npz.

    python examples/word2vec.py
"""

import argparse
import collections
import os
import re
import sys
import time
from pathlib import Path

import numpy as np

import dygraph
from dygraph import ops as F
from dygraph.nn import Embedding

OUT = Path(__file__).resolve().parent / "out"
WINDOW, NEGATIVES = 5, 5
# Words that do the same work in such texts: the score is how many find each other.
RELATED = (
    "true false, first second, list tuple, int float, read write, input output, left right, "
    "open close, encode decode, server client, class classes, function method, minimum maximum, "
    "file directory, string bytes, start end, module package, key value, hour minute, child parent"
)


def read_corpus():
    """Lists of lower-case words, one list for each text."""
    import pydoc_data.topics

    texts = list(pydoc_data.topics.topics.values())
    for path in sorted(Path(os.__file__).parent.glob("*.py")):
        source = path.read_text(encoding="utf-8", errors="ignore")
        texts += re.findall(r'"""(.*?)"""', source, re.DOTALL)
    for name in ("asyncio", "email", "http", "json", "logging", "multiprocessing", "unittest"):
        for path in sorted((Path(os.__file__).parent / name).glob("*.py")):
            source = path.read_text(encoding="utf-8", errors="ignore")
            texts += re.findall(r'"""(.*?)"""', source, re.DOTALL)
    return [re.findall(r"[a-z]+", text.lower()) for text in texts]


def make_pairs(corpus, rng, least=8, threshold=1e-3):
    """(vocabulary, counts, centres, contexts, texts): pairs of words at most WINDOW apart, and the
    number of the text each comes from.

    Frequent words are thinned out, and the distance is drawn, so that near words count more.
    """
    counts = collections.Counter(word for text in corpus for word in text)
    words = [word for word, n in counts.most_common() if n >= least]
    number = {word: i for i, word in enumerate(words)}
    frequency = np.array([counts[word] for word in words], "float64")
    kept = np.minimum(1.0, np.sqrt(threshold * frequency.sum() / frequency))
    ids, text_of = [], []
    for t, text in enumerate(corpus):
        known = [number[word] for word in text if word in number]
        ids += known
        text_of += [t] * len(known)
    ids, text_of = np.array(ids), np.array(text_of)
    stays = rng.random(len(ids)) < kept[ids]
    ids, text_of = ids[stays], text_of[stays]
    reach = rng.integers(1, WINDOW + 1, len(ids))
    centres, contexts, texts = [], [], []
    for distance in range(1, WINDOW + 1):
        same = text_of[distance:] == text_of[:-distance]
        for centre, context in ((0, distance), (distance, 0)):
            end = len(ids) - distance
            use = same & (reach[centre : centre + end] >= distance)
            centres.append(ids[centre : centre + end][use])
            contexts.append(ids[context : context + end][use])
            texts.append(text_of[:end][use])
    return words, frequency, *(np.concatenate(part) for part in (centres, contexts, texts))


class SkipGram(dygraph.Layer):
    """A vector for each word as a centre, another for it as a neighbour; logits are products."""

    def __init__(self, size, width):
        super().__init__()
        start = dygraph.initializer.Uniform(-0.5 / width, 0.5 / width)
        zero = dygraph.initializer.Constant(0.0)
        self.centre = Embedding([size, width], is_sparse=True, param_attr=start)
        self.context = Embedding([size, width], is_sparse=True, param_attr=zero)

    def forward(self, centres, contexts):
        """[n] and [n, k] words give [n, k] logits."""
        return dygraph.matmul(
            self.context(contexts), F.unsqueeze2(self.centre(centres), axes=[2])
        ).sum(2)


def with_negatives(centres, contexts, noise, rng):
    """A batch: centres, the true neighbour before NEGATIVES random words, and which is which."""
    drawn = np.searchsorted(noise, rng.random((len(centres), NEGATIVES)))
    candidates = np.concatenate([contexts[:, None], drawn], axis=1)
    labels = np.zeros(candidates.shape, "float32")
    labels[:, 0] = 1.0
    return centres, candidates, labels


def loss_of(logits, labels):
    """The mean over pairs of what telling one true word from NEGATIVES others costs."""
    return F.sigmoid_cross_entropy_with_logits(logits, labels).sum() / float(labels.shape[0])


def train(model, pairs, noise, epochs, batch_size=1024, learning_rate=0.004):
    """Returns the mean loss of every hundred steps. The rate falls to nothing along a line."""
    from tqdm import tqdm

    centres, contexts = pairs
    steps = epochs * (len(centres) // batch_size)
    rate = dygraph.lr.PolynomialDecay(learning_rate, steps, end_learning_rate=0.0)
    optimizer = dygraph.optimizer.Adam(rate, parameter_list=model.parameters(), lazy_mode=True)
    rng = np.random.default_rng(1)
    losses, total = [], 0.0
    progress = tqdm(range(steps), desc="training", unit="step")
    for step in progress:
        at = step * batch_size % (len(centres) - batch_size)
        if at < batch_size:
            order = rng.permutation(len(centres))
        rows = order[at : at + batch_size]
        batch = with_negatives(centres[rows], contexts[rows], noise, rng)
        words, candidates, labels = (dygraph.to_variable(array) for array in batch)
        loss = loss_of(model(words, candidates), labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_gradients()
        total += float(loss)
        if step % 100 == 99:
            losses.append(total / 100)
            total = 0.0
            progress.set_postfix(loss=f"{losses[-1]:.4f}", rate=f"{rate.get_lr():.5f}")
    return losses


def held_out_losses(model, pairs, frequency, noise):
    """The model's loss on texts it has not seen, and that of the best rule that looks at the
    candidate alone: how frequent it is among neighbours, against how frequent among random words.
    """
    rng = np.random.default_rng(2)
    centres, candidates, labels = with_negatives(*pairs, noise, rng)
    logits = model(dygraph.to_variable(centres), dygraph.to_variable(candidates)).numpy()
    drawn = np.diff(noise, prepend=0.0)
    near = (frequency + 1) / (frequency + 1).sum()
    unigram = np.log(near / (NEGATIVES * drawn))[candidates]
    return [float((np.logaddexp(0, z) - labels * z).sum(axis=1).mean()) for z in (logits, unigram)]


def neighbours(vectors, row, count):
    """Rows of the nearest vectors by angle, the word itself left out."""
    return [i for i in np.argsort(-vectors @ vectors[row])[: count + 1] if i != row][:count]


def found(vectors, words, nearest=20):
    """The part of the RELATED pairs of which one is among the nearest words of the other."""
    number = {word: i for i, word in enumerate(words)}
    pairs = [[number.get(word) for word in pair.split()] for pair in RELATED.split(",")]
    pairs = [(a, b) for a, b in pairs if a is not None and b is not None]
    hits = sum(
        b in neighbours(vectors, a, nearest) or a in neighbours(vectors, b, nearest)
        for a, b in pairs
    )
    return hits / len(pairs)


def plot(losses, baseline, vectors, words):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5))
    left.plot(np.arange(1, len(losses) + 1) * 100, losses, label="training")
    left.axhline(baseline, color="gray", linestyle="--", label="frequencies alone")
    left.set(xlabel="step", ylabel="loss")
    left.legend()
    number = {word: i for i, word in enumerate(words)}
    shown = [word for pair in RELATED.split(",") for word in pair.split() if word in number]
    chosen = vectors[[number[word] for word in shown]]
    _, _, axes = np.linalg.svd(chosen - chosen.mean(axis=0), full_matrices=False)
    for word, (x, y) in zip(shown, chosen @ axes[:2].T, strict=True):
        right.plot(x, y, ".", color="tab:blue")
        right.annotate(word, (x, y), fontsize=8)
    right.set(title="two directions of the vectors", xticks=[], yticks=[])
    figure.tight_layout()
    figure.savefig(OUT / "word_vectors.png", dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=3)
    epochs = parser.parse_args().epochs
    OUT.mkdir(exist_ok=True)
    start = time.perf_counter()
    rng = np.random.default_rng(0)
    words, frequency, centres, contexts, texts = make_pairs(read_corpus(), rng)
    held = texts % 20 == 0  # whole texts that training does not see
    kept = ~held
    noise = np.cumsum(frequency**0.75)
    noise /= noise[-1]
    print(f"{len(words)} words, {len(centres)} pairs")
    with dygraph.guard(seed=1):
        model = SkipGram(len(words), 64)
        losses = train(model, (centres[kept], contexts[kept]), noise, epochs)
        model.eval()
        near = np.bincount(contexts[kept], minlength=len(words)).astype("float64")
        loss, baseline = held_out_losses(model, (centres[held], contexts[held]), near, noise)
        vectors = model.centre(dygraph.to_variable(np.arange(len(words)))).numpy()
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    part, seconds = found(vectors, words), time.perf_counter() - start
    print(f"held-out loss {loss:.4f}, by frequencies alone {baseline:.4f}, after {seconds:.1f} s")
    print(f"related words found {part:.2f}")
    for word in ("list", "true", "server", "float"):
        rows = neighbours(vectors, words.index(word), 6)
        print(f"  near {word}: {', '.join(words[i] for i in rows)}")
    plot(losses, baseline, vectors, words)
    np.savez(OUT / "word_vectors.npz", words=np.array(words), vectors=vectors)
    print(f"figure and vectors are in {OUT}")
    return 0 if loss < baseline - 0.1 and part >= 0.4 else 1


if __name__ == "__main__":
    sys.exit(main())
