"""hash: XXH64 of rows of integers."""

import numpy as np
import pytest

import dygraph
from op_test import OpTest

MASK = (1 << 64) - 1
P1, P2, P3, P4, P5 = (
    11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579,
    2870177450012600261,
)  # fmt: skip


def xxh64(data, seed=0):
    """Collet's hash, by its specification."""

    def rotate(x, bits):
        return (x << bits | x >> (64 - bits)) & MASK

    def stir(lane, word):
        return rotate((lane + word * P2) & MASK, 31) * P1 & MASK

    def word(at, size):
        return int.from_bytes(data[at : at + size], "little")

    at, whole = 0, len(data)
    if whole >= 32:
        lanes = [(seed + P1 + P2) & MASK, (seed + P2) & MASK, seed, (seed - P1) & MASK]
        while whole - at >= 32:
            lanes = [stir(lane, word(at + 8 * i, 8)) for i, lane in enumerate(lanes)]
            at += 32
        turns = zip(lanes, (1, 7, 12, 18), strict=True)
        h = sum(rotate(lane, bits) for lane, bits in turns) & MASK
        for lane in lanes:
            h = ((h ^ stir(0, lane)) * P1 + P4) & MASK
    else:
        h = (seed + P5) & MASK
    h = (h + whole) & MASK
    while whole - at >= 8:
        h = (rotate(h ^ stir(0, word(at, 8)), 27) * P1 + P4) & MASK
        at += 8
    while whole - at >= 4:
        h = (rotate(h ^ word(at, 4) * P1 & MASK, 23) * P2 + P3) & MASK
        at += 4
    while at < whole:
        h = rotate(h ^ data[at] * P5 & MASK, 11) * P1 & MASK
        at += 1
    h = (h ^ h >> 33) * P2 & MASK
    h = (h ^ h >> 29) * P3 & MASK
    return h ^ h >> 32


def test_the_reference_gives_the_published_hashes():
    assert xxh64(b"") == 0xEF46DB3751D8E999
    assert xxh64(b"a") == 0xD24EC4F1A98C6E5B
    assert xxh64(b"abc") == 0x44BC2CF5AD770999


class TestHash(OpTest):
    width, dtype, elementwise = 3, "int64", False

    def setUp(self):
        self.op_type = "hash"
        self.inputs = {"X": np.random.randint(-(2**31), 2**31, (4, self.width)).astype(self.dtype)}
        self.attrs = {"num_hash": 3, "mod_by": 1 << 40}

    def reference(self, inputs, attrs):
        x, count = inputs["X"], attrs.get("num_hash", 1)
        rows = x.reshape(int(np.prod(x.shape[:-1])), x.shape[-1])
        hashes = [
            [xxh64(row.tobytes(), k) % attrs.get("mod_by", 100000) for k in range(count)]
            for row in rows
        ]
        return {"Out": np.array(hashes, "int64").reshape(*x.shape[:-1], count, 1)}

    def test_check_output(self):
        self.check_output()


class TestHashOfLongRows(TestHash):
    width = 13


class TestHashOfInt32(TestHash):
    width, dtype = 11, "int32"


class TestHashOfOne(TestHash):
    width, dtype = 1, "int32"


def test_the_figures_of_the_reference_system():
    x = dygraph.to_variable(np.array([[5], [8], [9], [5], [0], [0], [1], [7]], "int32"))
    got = dygraph.ops.hash(x, num_hash=2, mod_by=10000)
    assert got.tolist() == [
        [[3481], [7475]], [[1719], [5986]], [[8473], [694]], [[3481], [7475]],
        [[4372], [9456]], [[4372], [9456]], [[6897], [3218]], [[9038], [7951]],
    ]  # fmt: skip


def test_wrong_input():
    with pytest.raises(ValueError, match="X must have 2 axes or more"):
        dygraph.ops.hash(dygraph.to_variable(np.array([1])))
    with pytest.raises(ValueError, match="mod_by must be at least 1, got 0"):
        dygraph.ops.hash(dygraph.to_variable(np.array([[1]])), mod_by=0)
