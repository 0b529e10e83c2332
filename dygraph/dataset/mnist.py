"""Handwritten digits of 28 by 28 pixels, from the four files of MNIST in Fluid's folder.

A sample is (784 float32 in [-1, 1], the digit). The files ``train-images-idx3-ubyte``,
``train-labels-idx1-ubyte``, ``t10k-images-idx3-ubyte`` and ``t10k-labels-idx1-ubyte`` are read from
``~/.cache/paddle/dataset/mnist/``, as they are or with ``.gz``. `dygraph.dataset.digits` needs no
file.
"""

import numpy as np

from dygraph.dataset.local_files import opened
from dygraph.errors import FormatError

__all__ = ["test", "train"]


def _read(file, magic, axes):
    with opened("mnist", file) as f:
        head = np.frombuffer(f.read(4 * (1 + axes)), ">i4")
        if len(head) != 1 + axes or head[0] != magic or (head[1:] < 0).any():
            raise FormatError(
                f"dataset.mnist: '{file}' must begin with the number {magic} and {axes} sizes, got "
                f"{head.tolist()}"
            )
        sizes = [int(n) for n in head[1:]]
        count = int(np.prod(sizes, dtype=object))
        data = np.frombuffer(f.read(min(count, 1 << 30) + 1), "uint8")
    if len(data) != count:
        raise FormatError(
            f"dataset.mnist: '{file}' must hold {count} bytes of data, for {sizes}, got "
            f"{'more' if len(data) > count else len(data)}"
        )
    return data.reshape(sizes)


def _reader(part):
    def reader():
        images = _read(f"{part}-images-idx3-ubyte", 2051, 3)
        labels = _read(f"{part}-labels-idx1-ubyte", 2049, 1)
        if len(images) != len(labels):
            raise FormatError(
                f"dataset.mnist: '{part}' must have as many labels as images, got {len(labels)} "
                f"and {len(images)}"
            )
        for image, label in zip(images, labels, strict=True):
            yield (image.reshape(-1) / 127.5 - 1.0).astype("float32"), int(label)

    return reader


def train():
    """A reader of the samples for training."""
    return _reader("train")


def test():
    """A reader of the samples for testing."""
    return _reader("t10k")
