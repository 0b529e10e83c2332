"""feed and fetch called eagerly: an element of a list, and a list with an element."""

import numpy as np
import pytest

from dygraph import errors, run_op, to_variable

VALUES = [np.array([1.5], "float32"), np.array([[2, 3]], "float32")]


@pytest.mark.parametrize("col", [0, 1])
def test_feed_takes_an_element(col):
    fed = [to_variable(v) for v in VALUES]
    assert run_op("feed", {"X": fed}, {"col": col})["Out"].tolist() == VALUES[col].tolist()


def test_fetch_makes_a_list():
    out = run_op("fetch", {"X": to_variable(VALUES[1])}, {"col": 0})["Out"]
    assert len(out) == 1 and out[0].tolist() == [[2.0, 3.0]]


def test_columns():
    fed = [to_variable(v) for v in VALUES]
    with pytest.raises(errors.OutOfRangeError, match=r"^feed: col must be in \[0, 2\), got 2"):
        run_op("feed", {"X": fed}, {"col": 2})
    with pytest.raises(errors.InvalidArgumentError, match="col must be at least 0"):
        run_op("fetch", {"X": fed[0]}, {"col": -1})
