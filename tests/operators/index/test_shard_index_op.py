"""shard_index: places on one of several shards."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import op_case


def shard(inputs, attrs):
    size = -(-attrs["index_num"] // attrs["nshards"])
    x = inputs["X"]
    return {"Out": np.where(x // size == attrs["shard_id"], x % size, attrs["ignore_value"])}


TestShardIndex = op_case(
    "TestShardIndex",
    "shard_index",
    lambda: {"X": np.array([[1], [6], [12], [19], [10]])},
    {"index_num": 20, "nshards": 2, "shard_id": 1, "ignore_value": -1},
    shard,
)
TestShardIndexUneven = op_case(
    "TestShardIndexUneven",
    "shard_index",
    lambda: {"X": np.arange(7, dtype="int32")[:, None]},
    {"index_num": 7, "nshards": 3, "shard_id": 2, "ignore_value": -5},
    shard,
)


def test_errors():
    x = _core.to_variable(np.array([[3]]))
    with pytest.raises(IndexError, match="got 3 at position 0"):
        _core.ops.shard_index(x, index_num=3, nshards=1, shard_id=0)
    with pytest.raises(ValueError, match="shard_id must lie"):
        _core.ops.shard_index(x, index_num=3, nshards=1, shard_id=1)
    with pytest.raises(ValueError, match="at least 1"):
        _core.ops.shard_index(x)
    with pytest.raises(ValueError, match="last axis"):
        _core.ops.shard_index(_core.to_variable(np.array([3])[:0]), index_num=3, nshards=1)
