"""Progress of diabetes from ten measurements, in place of uci_housing; from scikit-learn.

A sample is (10 float32, 1 float32): measurements, minus their mean and divided by their range as in
uci_housing, and progress after a year. Four of five samples are for training.
"""

import numpy as np

from dygraph.dataset import bundled

__all__ = ["feature_names", "test", "train"]

feature_names = ["age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"]


def _reader(part):
    def reader():
        data = bundled.load("diabetes", scaled=False)
        x = data.data
        x = ((x - x.mean(0)) / (x.max(0) - x.min(0))).astype("float32")
        y = data.target.astype("float32").reshape(-1, 1)
        cut = len(x) * 4 // 5
        rows = range(cut, len(x)) if part == "test" else range(cut)
        return ((np.array(x[i]), np.array(y[i])) for i in rows)

    return reader


def train():
    """A reader of the samples for training."""
    return _reader("train")


def test():
    """A reader of the samples for testing."""
    return _reader("test")
