import numpy as np
import pytest

import dygraph
from dygraph import ops
from op_test import OpTest, rand

LOD = [[0, 4, 5, 5, 10]]
SIZES = {"num_emb": 6, "space_len": 20, "rand_len": 2, "pyramid_layer": 5}


def xxh32(data, seed):
    """Collet's 32-bit hash of bytes in words of 4, written from its specification."""
    p1, p2, p3, p4, p5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393

    def rotated(x, bits):
        x &= 0xFFFFFFFF
        return (x << bits | x >> (32 - bits)) & 0xFFFFFFFF

    words = np.frombuffer(data, "<u4").tolist()
    h, at = seed + p5, 0
    if len(words) >= 4:
        lanes = [seed + p1 + p2, seed + p2, seed, seed - p1]
        while len(words) - at >= 4:
            lanes = [rotated(v + words[at + i] * p2, 13) * p1 for i, v in enumerate(lanes)]
            at += 4
        h = sum(rotated(v, bits) for v, bits in zip(lanes, (1, 7, 12, 18), strict=True))
    h += len(data)
    for word in words[at:]:
        h = rotated(h + word * p3, 17) * p4
    h &= 0xFFFFFFFF
    h = (h ^ h >> 15) * p2 & 0xFFFFFFFF
    h = (h ^ h >> 13) * p3 & 0xFFFFFFFF
    return h ^ h >> 16


def test_the_hash_of_the_test():
    assert xxh32(b"", 0) == 0x02CC5D05  # of its specification


class TestPyramidHash(OpTest):
    op_type = "pyramid_hash"
    attrs = {**SIZES, "drop_out_percent": 0.5}
    grad_inputs, grad_outputs = ["W"], ["Out"]
    fixed_dtypes = {"DropPos": "int32"}

    def setUp(self):
        x, w = np.random.randint(0, 1000, [10, 1]), rand(22, 1)
        self.inputs = {"X": (x, LOD), "W": w}
        rows, offsets, kept = [], [0], 0
        for begin, end in zip(LOD[0], LOD[0][1:], strict=False):
            terms = [
                x[at : at + size, 0].astype("float32").tobytes()
                for size in range(2, 6)
                for at in range(begin, end - size + 1)
            ]
            kept += len(terms)
            for term in terms:
                places = [xxh32(term, seed) % 20 for seed in (0, 2, 4)]
                rows.append(np.concatenate([w[p : p + 2, 0] for p in places]) / 2)
            rows += [] if terms else [np.zeros(6)]
            offsets.append(len(rows))
        self.outputs = {
            "Out": (np.stack(rows), [offsets]), "DropPos": np.arange(50)[:, None] < kept,
        }  # fmt: skip

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["W"], "Out")


def test_training_leaves_runs_out():
    ids = dygraph.to_variable(np.arange(400)[:, None], lod=[[0, 400]])
    w = dygraph.ones([22, 1])
    dygraph.seed(1)
    attrs = {**SIZES, "pyramid_layer": 2, "drop_out_percent": 0.25, "is_training": 1}
    out, kept = ops.pyramid_hash(ids, w, **attrs)
    assert out.shape[0] == kept.numpy().sum() and 240 < out.shape[0] < 355
    assert (out.numpy() == 1).all()
    again, _ = ops.pyramid_hash(ids, w, kept=kept, **attrs)
    assert again.shape == out.shape
    first, second = (ops.pyramid_hash(ids, w, seed=3, **attrs)[1].tolist() for _ in range(2))
    assert first == second


def test_what_does_not_fit_is_refused():
    ids = dygraph.to_variable(np.array([[1], [2]]), lod=[[0, 2]])
    w = dygraph.ones([22, 1])
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="a multiple of rand_len"):
        ops.pyramid_hash(ids, w)
    with pytest.raises(NotImplementedError, match="filters of terms are not read"):
        ops.pyramid_hash(ids, w, white_list_len=1, **SIZES)
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="W must have shape"):
        ops.pyramid_hash(ids, dygraph.ones([20, 1]), **SIZES)
    w.stop_gradient = False
    with pytest.raises(NotImplementedError, match="Let an optimizer train W"):
        ops.pyramid_hash(ids, w, lr=0.1, **SIZES)[0].sum().backward()
