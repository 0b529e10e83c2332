"""Classify patches of two photographs: train a small residual network.

The data are the photographs that ship with scikit-learn, a pagoda by a lake and a flower. Patches
of 32 x 32 pixels are classified by what they show: sky, pagoda, trees, flower, leaves.
Regions of the photographs that show one of these are cut into blocks of 64 x 64 pixels; patches for
training come from two blocks out of three, patches for testing from the others, so that no pixel is
in both. Takes about ten seconds on two cores and writes examples/out/patches.png.

    python examples/patches.py
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import dygraph
import dygraph.ops as F
from dygraph.nn import AdaptiveAvgPool2D, BatchNorm2D, Conv2D, Layer, Linear, Sequential

OUT = Path(__file__).resolve().parent / "out"
PATCH, BLOCK = 32, 64
# What is seen where: photograph, then left, top, right and bottom of rectangles.
REGIONS = {
    "sky": (0, [(320, 0, 576, 192), (0, 0, 64, 128)]),
    "pagoda": (0, [(96, 96, 320, 352)]),
    "trees": (0, [(376, 299, 632, 427), (0, 363, 128, 427)]),
    "flower": (1, [(214, 148, 406, 340)]),
    "leaves": (1, [(0, 0, 192, 384), (448, 0, 640, 320)]),
}
CLASSES = list(REGIONS)


class Residual(Layer):
    """Two convolutions, and a way around them (He et al., 2016)."""

    def __init__(self, channels, filters, stride=1):
        super().__init__()
        self.conv1 = Conv2D(channels, filters, 3, stride=stride, padding=1, bias_attr=False)
        self.norm1 = BatchNorm2D(filters, act="relu")
        self.conv2 = Conv2D(filters, filters, 3, padding=1, bias_attr=False)
        self.norm2 = BatchNorm2D(filters)
        self.around = None
        if stride != 1 or channels != filters:
            self.around = Sequential(
                Conv2D(channels, filters, 1, stride=stride, bias_attr=False), BatchNorm2D(filters)
            )

    def forward(self, x):
        y = self.norm2(self.conv2(self.norm1(self.conv1(x))))
        return F.relu(y + (x if self.around is None else self.around(x)))


class ResNet(Layer):
    """Three stages, each at half the size of the one before, and the mean of what is left."""

    def __init__(self, classes, width=16):
        super().__init__()
        self.begin = Sequential(
            Conv2D(3, width, 3, padding=1, bias_attr=False), BatchNorm2D(width, act="relu")
        )
        self.stages = Sequential(
            Residual(width, width, stride=2),
            Residual(width, 2 * width, stride=2),
            Residual(2 * width, 4 * width, stride=2),
        )
        self.mean = AdaptiveAvgPool2D(1)
        self.output = Linear(4 * width, classes)

    def forward(self, images):
        x = self.mean(self.stages(self.begin(images)))
        return self.output(x.reshape([-1, x.shape[1]]))


def load_blocks():
    """{True: blocks to train with, False: to test with}, each a list of (pixels, class)."""
    from sklearn.datasets import load_sample_images

    photographs = load_sample_images().images
    blocks = {True: [], False: []}
    for label, (number, boxes) in enumerate(REGIONS.values()):
        pixels = photographs[number].astype("float32").transpose(2, 0, 1) / 127.5 - 1
        corners = [
            (row, column)
            for left, top, right, bottom in boxes
            for row in range(top, bottom - BLOCK + 1, BLOCK)
            for column in range(left, right - BLOCK + 1, BLOCK)
        ]
        for i, (row, column) in enumerate(corners):
            block = pixels[:, row : row + BLOCK, column : column + BLOCK]
            blocks[i % 3 != 1].append((block, label))
    return blocks


def cut(blocks, rng):
    """A patch from a random place of every block, half of them mirrored."""
    patches = np.empty((len(blocks), 3, PATCH, PATCH), "float32")
    for i, (pixels, _) in enumerate(blocks):
        top, left = rng.integers(0, BLOCK - PATCH + 1, 2)
        patch = pixels[:, top : top + PATCH, left : left + PATCH]
        patches[i] = patch[:, :, ::-1] if rng.random() < 0.5 else patch
    return patches


def grid(blocks):
    """The four quarters of every block, and their classes."""
    patches, labels = [], []
    for pixels, label in blocks:
        for top in (0, PATCH):
            for left in (0, PATCH):
                patches.append(pixels[:, top : top + PATCH, left : left + PATCH])
                labels.append(label)
    return np.stack(patches), np.array(labels)


def predict(model, patches):
    """Class of each patch; nothing is recorded, since the model is in eval mode."""
    return model(dygraph.to_variable(patches)).numpy().argmax(axis=1)


def train(model, blocks, epochs, batch_size=64, learning_rate=3e-3):
    """Returns the mean loss and the test accuracy of every epoch. The learning rate falls along
    a cosine."""
    from tqdm import tqdm

    optimizer = dygraph.optimizer.Adam(learning_rate, parameter_list=model.parameters())
    test_patches, test_labels = grid(blocks[False])
    labels = np.array([label for _, label in blocks[True]])[:, None]
    rng = np.random.default_rng(0)
    losses, accuracies = [], []
    progress = tqdm(range(epochs), desc="training", unit="epoch")
    for epoch in progress:
        model.train()
        optimizer.set_lr(learning_rate * 0.5 * (1 + np.cos(np.pi * epoch / epochs)))
        # Every block gives eight patches in an epoch.
        patches = np.concatenate([cut(blocks[True], rng) for _ in range(8)])
        answers = np.tile(labels, (8, 1))
        order = rng.permutation(len(patches))
        total = 0.0
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            logits = model(dygraph.to_variable(patches[rows]))
            answer = dygraph.to_variable(answers[rows])
            loss = F.softmax_with_cross_entropy(logits, answer).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_gradients()
            total += float(loss) * len(rows)
        model.eval()
        losses.append(total / len(order))
        accuracies.append(float((predict(model, test_patches) == test_labels).mean()))
        progress.set_postfix(loss=f"{losses[-1]:.4f}", accuracy=f"{accuracies[-1]:.4f}")
    return losses, accuracies


def plot(losses, accuracies, patches, predicted, labels):
    """The learning curve, and test patches with what the model says; wrong answers in red."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(9, 4.5), layout="constrained")
    curves, shown = figure.subfigures(1, 2, width_ratios=[1, 1.2])
    left = curves.subplots()
    epochs = range(1, len(losses) + 1)
    left.plot(epochs, losses, color="tab:blue")
    left.set(xlabel="epoch", ylabel="training loss", yscale="log")
    right = left.twinx()
    right.plot(epochs, accuracies, color="tab:orange")
    right.set(ylabel="test accuracy", ylim=(0, 1))
    axes = shown.subplots(4, 4).ravel()
    for axis, i in zip(axes, np.linspace(0, len(labels) - 1, len(axes)).astype(int), strict=True):
        axis.imshow((patches[i].transpose(1, 2, 0) + 1) / 2)
        axis.set_title(
            CLASSES[predicted[i]], fontsize=8, color="k" if predicted[i] == labels[i] else "r"
        )
        axis.axis("off")
    figure.savefig(OUT / "patches.png", dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    start = time.perf_counter()
    with dygraph.guard(seed=arguments.seed):
        blocks = load_blocks()
        model = ResNet(len(CLASSES))
        losses, accuracies = train(model, blocks, arguments.epochs)
        model.eval()
        patches, labels = grid(blocks[False])
        predicted = predict(model, patches)
        accuracy = float((predicted == labels).mean())
    print(f"{len(blocks[True])} blocks to train with, {len(patches)} patches to test with")
    print(f"test accuracy {accuracy:.4f} after {time.perf_counter() - start:.1f} s")
    plot(losses, accuracies, patches, predicted, labels)
    print(f"the figure is in {OUT}")
    return 0 if accuracy >= 0.95 else 1


if __name__ == "__main__":
    sys.exit(main())
