"""Marks of functions: captured with eager's bits, or refused with a text."""

import numpy as np

INPUTS = [
    np.random.default_rng(seed).normal(shift, 1.5, (rows, 3)).astype("float32")
    for seed, (rows, shift) in enumerate([(2, 0), (1, 1), (4, -1), (3, 0.5), (5, 0), (1, -2)])
]


def captured(function):
    """It becomes a program that gives eager's bits, or raises what it raises."""
    function.becomes = None
    return function


def refused(text):
    """It is refused with this in the message."""

    def mark(function):
        function.becomes = text
        return function

    return mark


def cases_of(module):
    """The marked functions of a module."""
    return [f for f in vars(module).values() if hasattr(f, "becomes")]
