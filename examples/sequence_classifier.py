"""Classify passages by the library they document: train a transformer encoder on words.

The data are the docstrings of NumPy, SciPy, scikit-learn and Matplotlib, cut into passages of 32
words, the libraries' names left out. A docstring's passages are all for training or all for
testing, as many of each library. Two encoder layers with learned positions are trained on them, the
mean over a passage is classified (Vaswani et al., 2017). Takes about twenty seconds on two cores
and writes examples/out/sequence_classifier.png.

    python examples/sequence_classifier.py
"""

import argparse
import collections
import importlib
import inspect
import re
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import dygraph
import dygraph.ops as F
from dygraph.nn import (
    Embedding,
    Layer,
    Linear,
    TransformerEncoder,
    TransformerEncoderLayer,
)

OUT = Path(__file__).resolve().parent / "out"
LENGTH, PASSAGES = 32, 1000  # words in a passage; passages of each library, at most
HIDDEN = 0.2  # share of the words that training does not see
SOURCES = {
    "NumPy": "numpy numpy.linalg numpy.fft numpy.random numpy.ma numpy.polynomial",
    "SciPy": "scipy.special scipy.stats scipy.linalg scipy.signal scipy.optimize scipy.ndimage",
    "scikit-learn": "sklearn.linear_model sklearn.cluster sklearn.ensemble sklearn.metrics "
    "sklearn.preprocessing sklearn.decomposition sklearn.model_selection",
    "Matplotlib": "matplotlib.axes matplotlib.figure matplotlib.lines matplotlib.patches "
    "matplotlib.colors matplotlib.ticker matplotlib.collections",
}
LIBRARIES = list(SOURCES)
NAMES = {"numpy", "np", "scipy", "sklearn", "scikit", "learn", "matplotlib", "mpl", "plt", "pyplot"}


def docstrings(modules):
    """The docstrings of public functions, classes and their methods, each text once."""
    found = {}
    for name in modules.split():
        module = importlib.import_module(name)
        for part in sorted(n for n in dir(module) if not n.startswith("_")):
            thing = getattr(module, part)
            things = [thing]
            if inspect.isclass(thing):
                things += [m for n, m in sorted(vars(thing).items()) if not n.startswith("_")]
            for one in things:
                text = inspect.getdoc(one) if callable(one) else None
                if text and len(text) > 200:
                    found.setdefault(text)
    return list(found)


def load_passages(rng):
    """(words, labels) for training and for testing; four docstrings out of five are for training.

    Returns
    -------
    dict of bool to (list of list of str, numpy.ndarray)
        True: for training.
    """
    passages = {True: ([], []), False: ([], [])}
    seen = set()
    for label, modules in enumerate(SOURCES.values()):
        texts = docstrings(modules)
        order = rng.permutation(len(texts))
        for kind, most in ((True, PASSAGES), (False, PASSAGES // 4)):
            mine = []
            for i in order:
                if (i % 5 != 0) != kind:
                    continue
                words = [w for w in re.findall(r"[a-z]+", texts[i].lower()) if w not in NAMES]
                for start in range(0, len(words) - LENGTH + 1, LENGTH):
                    passage = tuple(words[start : start + LENGTH])
                    if passage not in seen:  # docstrings share paragraphs
                        seen.add(passage)
                        mine.append(passage)
            passages[kind][0].extend(mine[:most])
            passages[kind][1].extend([label] * len(mine[:most]))
    return {kind: (words, np.array(labels)) for kind, (words, labels) in passages.items()}


def numbered(passages, size=4000):
    """Passages as numbers of words; the most frequent ones of training have one, 0 is any other."""
    count = collections.Counter(word for words in passages[True][0] for word in words)
    numbers = {word: i for i, (word, _) in enumerate(count.most_common(size - 1), 1)}
    table = {
        kind: (np.array([[numbers.get(w, 0) for w in words] for words in texts]), labels)
        for kind, (texts, labels) in passages.items()
    }
    return table, size


class Classifier(Layer):
    """Word and position, two encoder layers, the mean, a class."""

    def __init__(self, vocabulary, classes, width=32, heads=4, layers=2):
        super().__init__()
        self.words = Embedding([vocabulary, width])
        self.positions = Embedding([LENGTH, width])
        block = TransformerEncoderLayer(width, heads, 2 * width, dropout=0.1, activation="gelu")
        self.encoder = TransformerEncoder(block, layers)
        self.output = Linear(width, classes)
        self.order = dygraph.arange(LENGTH)

    def forward(self, words):
        x = self.words(words) + self.positions(self.order)
        return self.output(self.encoder(x).mean(axis=1))


def predict(model, words, batch_size=256):
    """Class of each passage; nothing is recorded, since the model is in eval mode."""
    parts = [words[i : i + batch_size] for i in range(0, len(words), batch_size)]
    return np.concatenate([model(dygraph.to_variable(p)).numpy().argmax(axis=1) for p in parts])


def train(model, data, epochs, batch_size=64, learning_rate=4e-3):
    """Returns the mean loss and the test accuracy of every epoch. The learning rate falls along
    a cosine. A share of the words is hidden, so that no single one is learnt by heart."""
    from tqdm import tqdm

    words, labels = data[True]
    optimizer = dygraph.optimizer.AdamW(learning_rate, parameter_list=model.parameters())
    rng = np.random.default_rng(0)
    losses, accuracies = [], []
    progress = tqdm(range(epochs), desc="training", unit="epoch")
    for epoch in progress:
        model.train()
        optimizer.set_lr(learning_rate * 0.5 * (1 + np.cos(np.pi * epoch / epochs)))
        order = rng.permutation(len(words))
        total = 0.0
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            batch = np.where(rng.random((len(rows), LENGTH)) < HIDDEN, 0, words[rows])
            logits = model(dygraph.to_variable(batch))
            answer = dygraph.to_variable(labels[rows][:, None])
            loss = F.softmax_with_cross_entropy(logits, answer).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_gradients()
            total += float(loss) * len(rows)
        model.eval()
        losses.append(total / len(order))
        accuracies.append(float((predict(model, data[False][0]) == data[False][1]).mean()))
        progress.set_postfix(loss=f"{losses[-1]:.4f}", accuracy=f"{accuracies[-1]:.4f}")
    return losses, accuracies


def plot(losses, accuracies, predicted, labels):
    """The learning curve, and how often each library is taken for each."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, table) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    epochs = range(1, len(losses) + 1)
    left.plot(epochs, losses, color="tab:blue")
    left.set(xlabel="epoch", ylabel="training loss", yscale="log")
    right = left.twinx()
    right.plot(epochs, accuracies, color="tab:orange")
    right.set(ylabel="test accuracy", ylim=(0.5, 1))
    counts = np.zeros((len(LIBRARIES),) * 2, int)
    np.add.at(counts, (labels, predicted), 1)
    table.imshow(counts, cmap="Blues")
    for (row, column), n in np.ndenumerate(counts):
        color = "white" if n > counts.max() / 2 else "black"
        table.text(column, row, n, ha="center", va="center", color=color)
    ticks = range(len(LIBRARIES))
    table.set_xticks(ticks, LIBRARIES, rotation=20)
    table.set_yticks(ticks, LIBRARIES)
    table.set(xlabel="predicted", ylabel="true")
    figure.savefig(OUT / "sequence_classifier.png", dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    warnings.simplefilter("ignore")  # deprecated names in the libraries that are read
    start = time.perf_counter()
    passages = load_passages(np.random.default_rng(0))
    data, vocabulary = numbered(passages)
    words, labels = data[False]
    print(f"{len(data[True][1])} passages to train with, {len(labels)} to test with")
    with dygraph.guard(seed=arguments.seed):
        model = Classifier(vocabulary, len(LIBRARIES))
        losses, accuracies = train(model, data, arguments.epochs)
        model.eval()
        predicted = predict(model, words)
    accuracy = float((predicted == labels).mean())
    always = float(np.bincount(labels).max() / len(labels))
    print(
        f"test accuracy {accuracy:.4f}, of the commonest answer {always:.4f}, "
        f"after {time.perf_counter() - start:.1f} s"
    )
    for i in np.linspace(0, len(labels) - 1, 4).astype(int):
        print(f"{LIBRARIES[predicted[i]]}: {' '.join(passages[False][0][i][:12])} ...")
    plot(losses, accuracies, predicted, labels)
    print(f"the figure is in {OUT}")
    return 0 if accuracy >= 0.85 else 1


if __name__ == "__main__":
    sys.exit(main())
