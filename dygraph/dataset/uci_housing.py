"""Prices of houses from thirteen measurements, under Fluid's name.

A sample is (13 float32, 1 float32): measurements, minus their mean and divided by their range, and
a price. The first 404 of 506 samples are for training. They are read from the file ``housing.data``
of UCI if it is in Fluid's folder, ``~/.cache/paddle/dataset/uci_housing/``; nothing is downloaded.
Without the file they are **synthetic** and always the same: thirteen measurements in the same
range, and a price that depends on them linearly, with noise.
"""

import os

import numpy as np

from dygraph.errors import FormatError

__all__ = ["feature_names", "feature_num", "path", "test", "train"]

feature_names = [
    "CRIM", "ZN", "INDUS", "CHAS", "NOX", "RM", "AGE", "DIS", "RAD", "TAX", "PTRATIO", "B", "LSTAT",
]  # fmt: skip
feature_num = len(feature_names)
path = os.path.join("~", ".cache", "paddle", "dataset", "uci_housing", "housing.data")

_ROWS, _TRAINING = 506, 404


def _made_up():
    r = np.random.default_rng(506)
    hidden = r.standard_normal((_ROWS, 3))
    x = hidden @ r.standard_normal((3, feature_num)) + r.standard_normal((_ROWS, feature_num))
    x = (x - x.mean(0)) / (x.max(0) - x.min(0))
    price = 22.5 + x @ r.uniform(-12, 12, feature_num) + 2 * r.standard_normal(_ROWS)
    return np.column_stack([x, price])


def _rows():
    file = os.path.expanduser(path)
    if not os.path.exists(file):
        return _made_up()
    try:
        rows = np.loadtxt(file).reshape(-1, feature_num + 1)
    except ValueError as error:
        raise FormatError(
            f"uci_housing: the file '{file}' must hold {feature_num + 1} numbers a row, got others "
            f"({str(error)[:80]})"
        ) from None
    x = rows[:, :-1]
    return np.column_stack([(x - x.mean(0)) / (x.max(0) - x.min(0)), rows[:, -1]])


def _reader(part):
    def reader():
        rows = _rows().astype("float32")
        cut = len(rows) * _TRAINING // _ROWS
        rows = rows[:cut] if part == "train" else rows[cut:]
        return ((row[:-1].copy(), row[-1:].copy()) for row in rows)

    return reader


def train():
    """A reader of the samples for training.

    >>> from dygraph.dataset import uci_housing
    >>> x, y = next(uci_housing.train()())
    >>> x.shape, y.shape, len(list(uci_housing.train()()))
    ((13,), (1,), 404)
    """
    return _reader("train")


def test():
    """A reader of the samples for testing.

    >>> from dygraph.dataset import uci_housing
    >>> len(list(uci_housing.test()()))
    102
    """
    return _reader("test")
