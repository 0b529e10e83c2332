"""More than 2^31 elements: `make test-big`, alone, because it holds 5 GB and takes a minute."""

import numpy as np
import pytest

import dygraph
from dygraph import ops as F

COUNT = 2**31 + 16
PLACES = [COUNT - 1, 2**31, 5, 0]


@pytest.fixture(scope="module")
def x():
    values = np.zeros(COUNT, "uint8")
    values[PLACES] = [7, 3, 1, 0]
    return dygraph.to_variable(values)


def at_places(v):
    return F.gather(v, dygraph.to_variable(np.array(PLACES))).tolist()


def test_gather(x):
    assert x.shape == (COUNT,) and at_places(x) == [7, 3, 1, 0]


def test_copy(x):
    copy = F.scale(x, scale=1.0)
    assert at_places(copy) == [7, 3, 1, 0]


def test_add(x):
    assert at_places(x + x) == [14, 6, 2, 0]


def test_sum(x):
    assert dygraph.run_op("reduce_sum", {"X": x}, {"reduce_all": True, "out_dtype": "int64"})[
        "Out"
    ].item() == 11  # fmt: skip


def test_an_index_beyond_32_bits_says_so(x):
    with pytest.raises(IndexError, match="must fit into 32 bits, got 2147483663"):
        x[COUNT - 1]
