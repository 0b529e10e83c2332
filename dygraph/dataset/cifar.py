"""CIFAR: pictures of 32 by 32 pixels in 10 or 100 classes, from its binary files in Fluid's folder.

A sample is (3072 float32 in [0, 1], the class). The files of the **binary** version are read from
``~/.cache/paddle/dataset/cifar/``: ``data_batch_1.bin`` to ``data_batch_5.bin`` and
``test_batch.bin`` for 10 classes, ``train.bin`` and ``test.bin`` for 100, as they are or with
``.gz``. The version for Python consists of pickles, which may run code, and is not read.
"""

import numpy as np

from dygraph.dataset.local_files import opened
from dygraph.errors import FormatError

__all__ = ["test10", "test100", "train10", "train100"]


def _reader(files, labels, cycle=False):
    def samples():
        size = labels + 3072
        for file in files:
            with opened("cifar", file) as f:
                while record := f.read(size):
                    if len(record) != size:
                        raise FormatError(
                            f"dataset.cifar: '{file}' must hold records of {size} bytes, got a "
                            f"last one of {len(record)}"
                        )
                    image = np.frombuffer(record, "uint8", offset=labels)
                    yield (image / 255.0).astype("float32"), record[labels - 1]

    def reader():
        while True:
            yield from samples()
            if not cycle:
                return

    return reader


def train10(cycle=False):
    """A reader of the 10 classes for training; `cycle`: without end."""
    return _reader([f"data_batch_{i}.bin" for i in range(1, 6)], 1, cycle)


def test10(cycle=False):
    """A reader of the 10 classes for testing."""
    return _reader(["test_batch.bin"], 1, cycle)


def train100():
    """A reader of the 100 classes for training."""
    return _reader(["train.bin"], 2)


def test100():
    """A reader of the 100 classes for testing."""
    return _reader(["test.bin"], 2)
