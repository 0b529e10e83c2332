"""Learn to write like Python's manual: a character language model, one GRU.

The text is what `help()` shows of the language, which ships with every Python as
`pydoc_data.topics`. The model reads 64 characters at a time, in 32 places of the text side by side,
and hands its state on from piece to piece. Takes half a minute on two cores and writes
examples/out/char_lm.png, the bits a character costs as training goes on.

    python examples/char_lm.py
"""

import argparse
import math
import sys
import time
from pathlib import Path

import numpy as np

import dygraph
from dygraph import nn

OUT = Path(__file__).resolve().parent / "out"
BITS_AIM = 2.4  # of text the model has not seen; guessing from letter counts costs about 4.6


class CharModel(dygraph.Layer):
    """Logits of the next character: embedding, GRU, linear layer."""

    def __init__(self, characters, width=128):
        super().__init__()
        self.embedding = nn.Embedding([characters, 48])
        self.gru = nn.GRU(48, width, time_major=False)
        self.output = nn.Linear(width, characters)

    def forward(self, text, state=None):
        hidden, state = self.gru(self.embedding(text), state)
        return self.output(hidden), state


def load_text():
    """The manual's topics, one after another; the last tenth is kept for the test."""
    from pydoc_data.topics import topics

    text = "\n".join(topics[name] for name in sorted(topics))
    text = "".join(c if " " <= c <= "~" or c == "\n" else "?" for c in text)
    alphabet = sorted(set(text))
    number = {c: i for i, c in enumerate(alphabet)}
    ids = np.array([number[c] for c in text], "int64")
    cut = len(ids) * 9 // 10
    return ids[:cut], ids[cut:], alphabet


def pieces(ids, rows, length):
    """(input, next characters) of `rows` places side by side, `length` characters at a time."""
    per_row = (len(ids) - 1) // rows
    x = ids[: rows * per_row].reshape(rows, per_row)
    y = ids[1 : rows * per_row + 1].reshape(rows, per_row)
    for start in range(0, per_row - length + 1, length):
        stop = start + length
        yield (
            dygraph.to_variable(x[:, start:stop].copy()),
            dygraph.to_variable(y[:, start:stop, None].copy()),
        )


def loss_of(model, x, y, state):
    logits, state = model(x, state)
    return dygraph.ops.softmax_with_cross_entropy(logits, y).mean(), state


def test_bits(model, ids):
    """Mean bits a character of unseen text."""
    model.eval()
    total, count, state = 0.0, 0, None
    for x, y in pieces(ids, 32, 64):
        loss, state = loss_of(model, x, y, state)
        total, count = total + float(loss), count + 1
    return total / count / math.log(2)


def train(model, ids, epochs, rows=32, length=64, learning_rate=6e-3):
    """Bits a character of every step. The learning rate falls along a cosine."""
    from tqdm import tqdm

    optimizer = dygraph.optimizer.Adam(learning_rate, parameter_list=model.parameters())
    steps_of_epoch = (len(ids) - 1) // rows // length
    bits = []
    model.train()
    with tqdm(total=epochs * steps_of_epoch, desc="training", unit="step") as progress:
        for _ in range(epochs):
            state = None
            for x, y in pieces(ids, rows, length):
                done = len(bits) / (epochs * steps_of_epoch)
                optimizer.set_lr(learning_rate * 0.5 * (1 + math.cos(math.pi * done)))
                loss, state = loss_of(model, x, y, state)
                loss.backward()
                optimizer.step()
                optimizer.clear_gradients()
                state = state.detach()  # the state goes on, its history does not
                bits.append(float(loss) / math.log(2))
                progress.update()
                if len(bits) % 20 == 0:
                    progress.set_postfix(bits=f"{np.mean(bits[-20:]):.3f}")
    return bits


def sample(model, alphabet, start, length, temperature=0.7, seed=0):
    """`start` and `length` characters drawn one by one from the model."""
    model.eval()
    rng = np.random.default_rng(seed)
    written = [alphabet.index(c) for c in start]
    logits, state = model(dygraph.to_variable(np.array([written])))
    for _ in range(length):
        scores = logits.numpy()[0, -1].astype("float64") / temperature
        p = np.exp(scores - scores.max())
        written.append(int(rng.choice(len(p), p=p / p.sum())))
        logits, state = model(dygraph.to_variable(np.array([[written[-1]]])), state)
    return "".join(alphabet[i] for i in written)


def plot(bits, tested):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    window = min(20, len(bits))
    smooth = np.convolve(bits, np.ones(window) / window, mode="valid")
    axes.plot(np.arange(len(smooth)) + window, smooth, label="training, mean of 20 steps")
    axes.axhline(tested, color="tab:orange", label=f"test, {tested:.3f}")
    axes.set(xlabel="step", ylabel="bits a character")
    axes.legend()
    figure.tight_layout()
    figure.savefig(OUT / "char_lm.png", dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=2)
    epochs = parser.parse_args().epochs
    OUT.mkdir(exist_ok=True)
    start = time.perf_counter()
    with dygraph.guard(seed=1):
        train_ids, test_ids, alphabet = load_text()
        model = CharModel(len(alphabet))
        print(f"{len(train_ids)} characters to learn from, {len(alphabet)} different ones")
        bits = train(model, train_ids, epochs)
        tested = test_bits(model, test_ids)
        print(f"test bits a character {tested:.3f} after {time.perf_counter() - start:.1f} s")
        plot(bits, tested)
        print("\n" + sample(model, alphabet, "The ", 300))
    print(f"\nthe figure is in {OUT}")
    return 0 if tested <= BITS_AIM else 1


if __name__ == "__main__":
    sys.exit(main())
