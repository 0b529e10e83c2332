"""Find drawn shapes: train a small single-shot detector and draw the boxes that it finds.

Images of 64 x 64 pixels show one to three circles, squares and triangles on noise. The detector
(SSD, Liu et al., 2016) has a box at each cell of two feature maps, for each of two sizes, and says
of each box which shape it holds, if any, and how to move it. The score is the mean average
precision on other images: a box is right if it overlaps with the shape by more than one half.
Takes about a minute on two cores and writes examples/out/detection.png.

    python examples/detection.py
"""

import argparse
import time
from pathlib import Path

import numpy as np

import dygraph
from dygraph.nn import BatchNorm2D, Conv2D, Layer, Sequential
from dygraph.static import layers

OUT = Path(__file__).resolve().parent / "out"
SIDE = 64
CLASSES = ["background", "circle", "square", "triangle"]
SIZES = [(13.0, 18.0), (22.0, 28.0)]  # of the boxes, in pixels, for each feature map
PROMISED = 0.9
SHOWN = 0.5  # the least probability of boxes in the picture


def covered(kind, left, top, side):
    """The pixels of a shape, as a mask of the image."""
    y, x = np.mgrid[:SIDE, :SIDE] + 0.5
    x, y = (x - left) / side, (y - top) / side  # 0 to 1 inside of its box
    if kind == "circle":
        return (x - 0.5) ** 2 + (y - 0.5) ** 2 <= 0.25
    inside = (x >= 0) & (x <= 1) & (y >= 0) & (y <= 1)
    return inside if kind == "square" else inside & (abs(x - 0.5) <= y / 2)


def draw(rng):
    """(image [3, 64, 64], boxes [n, 4] in parts of the image, classes [n])."""
    image = rng.normal(0.0, 0.3, (3, SIDE, SIDE))
    boxes, labels, taken = [], [], np.zeros((SIDE, SIDE), bool)
    for _ in range(rng.integers(1, 4)):
        label, side = rng.integers(1, len(CLASSES)), rng.integers(12, 29)
        left, top = rng.integers(0, SIDE - side, 2)
        around = taken[top : top + side, left : left + side]
        if around.any():
            continue
        around[:] = True
        colour = rng.uniform(0.7, 1.5, (3, 1)) * rng.choice([-1, 1], (3, 1))
        image[:, covered(CLASSES[label], left, top, side)] += colour
        boxes.append([left, top, left + side, top + side])
        labels.append(label)
    return image, np.array(boxes) / SIDE, np.array(labels)


def batch_of(samples):
    """Variables: images, and boxes and classes with those of each image as level of detail."""
    images, boxes, labels = zip(*samples, strict=True)
    lod = [[0, *np.cumsum([len(b) for b in boxes]).tolist()]]
    return (
        dygraph.to_variable(np.stack(images).astype("float32")),
        dygraph.to_variable(np.concatenate(boxes).astype("float32"), lod=lod),
        dygraph.to_variable(np.concatenate(labels)[:, None], lod=lod),
    )


def halved(channels, filters):
    """A feature map of half the size."""
    return Sequential(
        Conv2D(channels, filters, 3, stride=2, padding=1, bias_attr=False),
        BatchNorm2D(filters, act="relu"),
        Conv2D(filters, filters, 3, padding=1, bias_attr=False),
        BatchNorm2D(filters, act="relu"),
    )


class Detector(Layer):
    """Codes and scores of the boxes at the cells of two feature maps, 8 x 8 and 4 x 4."""

    def __init__(self, width=16):
        super().__init__()
        self.begin = Sequential(halved(3, width), halved(width, 2 * width))
        self.maps = Sequential(halved(2 * width, 4 * width), halved(4 * width, 4 * width))
        per_cell = 2  # a min size and a max size
        self.codes = Sequential(*(Conv2D(4 * width, per_cell * 4, 3, padding=1) for _ in SIZES))
        self.scores = Sequential(
            *(Conv2D(4 * width, per_cell * len(CLASSES), 3, padding=1) for _ in SIZES)
        )

    def forward(self, images):
        """(codes [N, boxes, 4], scores [N, boxes, classes], boxes [boxes, 4], their variances)."""
        x, found = self.begin(images), []
        for stage, code, score, (least, most) in zip(
            self.maps, self.codes, self.scores, SIZES, strict=True
        ):
            x = stage(x)
            boxes, variances = dygraph.vision.ops.prior_box(x, images, [least], [most])
            by_cell = [v(x).transpose([0, 2, 3, 1]) for v in (code, score)]
            found.append(
                (
                    by_cell[0].reshape([len(images), -1, 4]),
                    by_cell[1].reshape([len(images), -1, len(CLASSES)]),
                    boxes.reshape([-1, 4]),
                    variances.reshape([-1, 4]),
                )
            )
        codes, scores, boxes, variances = zip(*found, strict=True)
        return (
            dygraph.concat(codes, axis=1), dygraph.concat(scores, axis=1),
            dygraph.concat(boxes, axis=0), dygraph.concat(variances, axis=0),
        )  # fmt: skip


def loss_of(detector, images, boxes, labels):
    """The loss of SSD, a number."""
    codes, scores, priors, variances = detector(images)
    return layers.ssd_loss(codes, scores, boxes, labels, priors, variances).sum()


def detect(detector, images):
    """Rows [class, probability, box], with those of each image as level of detail."""
    with dygraph.no_grad():
        return layers.detection_output(*detector(images), nms_threshold=0.45, score_threshold=0.1)


def mean_average_precision(detector, samples):
    """Over all samples."""
    images, boxes, labels = batch_of(samples)
    truth = np.concatenate([labels.numpy(), boxes.numpy()], axis=1).astype("float32")
    truth = dygraph.to_variable(truth, lod=labels.lod())
    found = detect(detector, images)
    return dygraph.ops.detection_map(found, truth, class_num=len(CLASSES))[3].item()


def train(detector, samples, steps, batch=32, say=print):
    """`steps` steps of Adam, whose learning rate falls to 0."""
    rate = dygraph.CosineDecay(3e-3, 1, steps)
    optimizer = dygraph.optimizer.Adam(rate, parameters=detector.parameters())
    rng = np.random.default_rng(1)
    for step in range(steps):
        chosen = rng.choice(len(samples), batch, replace=False)
        loss = loss_of(detector, *batch_of([samples[i] for i in chosen]))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        if step % 100 == 0 or step == steps - 1:
            say(f"step {step:4d}  loss {loss.item():.3f}")


def draw_boxes(detector, samples, path):
    """A picture of the first images with the likely boxes found in them."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    found = detect(detector, batch_of(samples)[0])
    rows, offsets = found.numpy(), found.lod()[0]
    figure, axes = plt.subplots(2, 4, figsize=(12, 6.4))
    colours = [None, "cyan", "white", "yellow"]
    for i, axis in enumerate(axes.flat):
        image = samples[i][0].transpose(1, 2, 0)
        axis.imshow(np.clip(image / 4 + 0.5, 0, 1), extent=(0, SIDE, SIDE, 0))
        for label, score, *box in rows[offsets[i] : offsets[i + 1]]:
            if score < SHOWN:
                continue
            left, top, right, bottom = np.array(box) * SIDE
            colour = colours[int(label)]
            axis.add_patch(
                plt.Rectangle(
                    (left, top), right - left, bottom - top, fill=False, color=colour, linewidth=2
                )
            )
            text = f"{CLASSES[int(label)]} {score:.2f}"
            axis.text(left + 1, max(top - 1, 4), text, color=colour, fontsize=9, weight="bold")
        axis.set(xticks=[], yticks=[], xlim=(0, SIDE), ylim=(SIDE, 0))
    figure.suptitle("Shapes found in test images")
    figure.tight_layout()
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=700)
    steps = parser.parse_args().steps
    rng = np.random.default_rng(0)
    samples = [draw(rng) for _ in range(6200)]
    train_with, test_with = samples[:6000], samples[6000:]
    with dygraph.guard(seed=0):
        detector = Detector()
        begin = time.perf_counter()
        train(detector, train_with, steps)
        print(f"trained in {time.perf_counter() - begin:.0f} s")
        detector.eval()
        score = mean_average_precision(detector, test_with)
        print(f"mean average precision {score:.3f} on {len(test_with)} test images")
        draw_boxes(detector, test_with, OUT / "detection.png")
        print("wrote examples/out/detection.png")
    if steps >= 700 and score < PROMISED:
        raise SystemExit(f"the mean average precision must be at least {PROMISED}")


if __name__ == "__main__":
    main()
