"""Handwritten digits of 8 by 8 pixels, in place of mnist; from scikit-learn.

A sample is (64 float32 in [-1, 1], the digit). 1,438 are for training, 359 for testing; the
division is always the same.
"""

import numpy as np

from dygraph.dataset import bundled

__all__ = ["test", "train"]


def _reader(part):
    def reader():
        data = bundled.load("digits")
        images = (data.images.reshape(-1, 64) / 8 - 1).astype("float32")
        order = np.random.RandomState(0).permutation(len(images))
        cut = len(images) // 5
        for i in order[:cut] if part == "test" else order[cut:]:
            yield images[i].copy(), int(data.target[i])

    return reader


def train():
    """A reader of the samples for training."""
    return _reader("train")


def test():
    """A reader of the samples for testing."""
    return _reader("test")
