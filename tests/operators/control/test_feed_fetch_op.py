"""feed and fetch called eagerly: an element of a list, and a list with an element."""

import numpy as np
import pytest

from dygraph import errors, run_op, to_variable
from dygraph import ops as F

VALUES = [np.array([1.5], "float32"), np.array([[2, 3]], "float32")]


def number(i):
    return to_variable(np.array([i]))


def array():
    """VALUES and, between them, an element that was not written."""
    return F.write_to_array(
        to_variable(VALUES[1]), number(2), array=F.write_to_array(to_variable(VALUES[0]), number(0))
    )


@pytest.mark.parametrize("col", [0, 2])
def test_feed_takes_an_element(col):
    out = run_op("feed", {"X": array()}, {"col": col})["Out"]
    assert out.tolist() == VALUES[col // 2].tolist()


def test_fetch_makes_a_list():
    out = run_op("fetch", {"X": to_variable(VALUES[1])}, {"col": 0})["Out"]
    assert len(out) == 1 and F.read_from_array(out, number(0)).tolist() == [[2.0, 3.0]]


def test_columns():
    with pytest.raises(errors.OutOfRangeError, match=r"^feed: col must be in \[0, 3\), got 3"):
        run_op("feed", {"X": array()}, {"col": 3})
    with pytest.raises(errors.PreconditionNotMetError, match=r"^feed: .*X\[1\] must have been w"):
        run_op("feed", {"X": array()}, {"col": 1})
    with pytest.raises(errors.InvalidArgumentError, match="col must be at least 0"):
        run_op("fetch", {"X": to_variable(VALUES[0])}, {"col": -1})
