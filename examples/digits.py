"""Recognise handwritten digits: train a LeNet eagerly, export it, run it without its model.

The data are the 1,797 scanned digits (8 x 8 grey values) that ship with scikit-learn. Takes a
few seconds on two
cores and writes to examples/out/: learning_curve.png, confusion_matrix.png and the exported
program in digits_model/.

    python examples/digits.py
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import dygraph
from dygraph.nn import Conv2D, Linear, Pool2D

OUT = Path(__file__).resolve().parent / "out"


class LeNet(dygraph.Layer):
    """Two convolutions, each followed by max pooling, then two linear layers; after LeCun et
    al., 1998."""

    def __init__(self):
        super().__init__()
        self.conv1 = Conv2D(num_channels=1, num_filters=16, filter_size=3, padding=1, act="relu")
        self.pool1 = Pool2D(pool_size=2, pool_type="max", pool_stride=2)
        self.conv2 = Conv2D(num_channels=16, num_filters=32, filter_size=3, padding=1, act="relu")
        self.pool2 = Pool2D(pool_size=2, pool_type="max", pool_stride=2)
        self.hidden = Linear(32 * 2 * 2, 64, act="relu")
        self.output = Linear(64, 10)

    def forward(self, images):
        x = self.pool1(self.conv1(images))
        x = self.pool2(self.conv2(x))
        return self.output(self.hidden(x.reshape([-1, 128])))


def load_data(seed=0):
    """Images [n, 1, 8, 8] in [0, 1] as float32 and labels [n, 1] as int64, split 4 : 1."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    digits = load_digits()
    images = (digits.images / 16.0).astype("float32")[:, None]
    labels = digits.target.astype("int64")[:, None]
    return train_test_split(images, labels, test_size=0.2, random_state=seed, stratify=labels)


def shifted(images, rng):
    """The images moved by up to one pixel each way: a digit does not change when the scanner
    trembles."""
    down, right = rng.integers(0, 3, 2)
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return padded[:, :, down : down + 8, right : right + 8]


def batches(images, labels, size, rng):
    order = rng.permutation(len(images))
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        batch = shifted(images[rows], rng) if rng.random() < 0.5 else images[rows]
        yield dygraph.to_variable(batch), dygraph.to_variable(labels[rows])


def predict(model, images):
    """Class of each image; nothing is recorded, since the model is in eval mode."""
    return model(dygraph.to_variable(images)).numpy().argmax(axis=1)


def train(model, data, epochs, batch_size=64, learning_rate=4e-3):
    """Returns the mean loss and the test accuracy of every epoch. The learning rate falls along
    a cosine."""
    from tqdm import tqdm

    train_images, test_images, train_labels, test_labels = data
    optimizer = dygraph.optimizer.Adam(learning_rate, parameter_list=model.parameters())
    rng = np.random.default_rng(0)
    losses, accuracies = [], []
    progress = tqdm(range(epochs), desc="training", unit="epoch")
    for epoch in progress:
        model.train()
        optimizer.set_lr(learning_rate * 0.5 * (1 + np.cos(np.pi * epoch / epochs)))
        total = 0.0
        for images, labels in batches(train_images, train_labels, batch_size, rng):
            loss = dygraph.ops.softmax_with_cross_entropy(model(images), labels).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_gradients()
            total += float(loss) * len(images)
        model.eval()
        losses.append(total / len(train_images))
        accuracies.append(float((predict(model, test_images) == test_labels[:, 0]).mean()))
        progress.set_postfix(loss=f"{losses[-1]:.4f}", accuracy=f"{accuracies[-1]:.4f}")
    return losses, accuracies


def plot(losses, accuracies, predicted, labels):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, left = plt.subplots(figsize=(6, 4))
    epochs = range(1, len(losses) + 1)
    left.plot(epochs, losses, color="tab:blue")
    left.set(xlabel="epoch", ylabel="training loss", yscale="log")
    right = left.twinx()
    right.plot(epochs, accuracies, color="tab:orange")
    right.set(ylabel="test accuracy", ylim=(0.8, 1.0))
    figure.tight_layout()
    figure.savefig(OUT / "learning_curve.png", dpi=120)

    counts = np.zeros((10, 10), int)
    np.add.at(counts, (labels, predicted), 1)
    figure, axes = plt.subplots(figsize=(5, 5))
    axes.imshow(counts, cmap="Blues")
    for (row, column), n in np.ndenumerate(counts):
        if n:
            axes.text(
                column, row, n, ha="center", va="center", color="white" if n > 20 else "black"
            )
    axes.set(xlabel="predicted digit", ylabel="true digit", xticks=range(10), yticks=range(10))
    figure.tight_layout()
    figure.savefig(OUT / "confusion_matrix.png", dpi=120)


# What a process needs that has the exported files and nothing else: no model class, no Python
# source of it.
RUN_EXPORTED = """
import sys
import numpy as np
from dygraph import static

executor = static.Executor(static.CPUPlace())
program, feeds, fetches = static.load_inference_model(sys.argv[1], executor)
(logits,) = executor.run(program, feed={feeds[0]: np.load(sys.argv[2])}, fetch_list=fetches)
np.save(sys.argv[3], logits)
"""


def export_and_compare(model, images):
    """True if a child process that only has the exported program computes the same bits."""
    folder = OUT / "digits_model"
    expected, traced = dygraph.jit.trace(model, [dygraph.to_variable(images)])
    traced.save_inference_model(str(folder))
    np.save(OUT / "images.npy", images)
    subprocess.run(
        [
            sys.executable,
            "-c",
            RUN_EXPORTED,
            str(folder),
            str(OUT / "images.npy"),
            str(OUT / "logits.npy"),
        ],
        check=True,
    )
    return np.load(OUT / "logits.npy").tobytes() == expected.numpy().tobytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=40)
    epochs = parser.parse_args().epochs
    OUT.mkdir(exist_ok=True)
    start = time.perf_counter()
    with dygraph.guard(seed=1):
        data = load_data()
        model = LeNet()
        losses, accuracies = train(model, data, epochs)
        model.eval()
        _, test_images, _, test_labels = data
        predicted = predict(model, test_images)
        accuracy = float((predicted == test_labels[:, 0]).mean())
        print(f"test accuracy {accuracy:.4f} after {time.perf_counter() - start:.1f} s")
        plot(losses, accuracies, predicted, test_labels[:, 0])
        same = export_and_compare(model, test_images)
    verdict = "bit-identical" if same else "DIFFERENT"
    print(f"the exported program ran without its model; outputs {verdict}")
    print(f"figures and program are in {OUT}")
    return 0 if same and accuracy >= 0.98 else 1


if __name__ == "__main__":
    sys.exit(main())
