"""chunk_eval: chunks that tags mark, counted by hand."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest


def expected(infer, label, correct):
    p, r = correct / infer, correct / label
    f = 2 * p * r / (p + r) if correct else 0
    scalars = dict(zip(("Precision", "Recall", "F1-Score"), (p, r, f), strict=True))
    out = {k: np.array(v, "float32") for k, v in scalars.items()}
    counts = {"NumInferChunks": infer, "NumLabelChunks": label, "NumCorrectChunks": correct}
    return {**out, **{k: np.array(v) for k, v in counts.items()}}


class TestIob(OpTest):
    """Two types: B-0 I-0 B-1 I-1 O are 0 1 2 3 4."""

    elementwise = False
    fixed_dtypes = {"Precision": "float32", "Recall": "float32", "F1-Score": "float32"}
    scheme, types, excluded = "IOB", 2, []
    # Chunks of the tags: (0-1, 0), (3-4, 1), (6, 0) | (0, 1), (1, 0)
    tags = [0, 1, 4, 2, 3, 4, 0, 2, 0]
    # Chunks of the labels: (0-1, 0), (3, 1), (4, 1), (6, 0) | (0-1, 1)
    label = [0, 1, 4, 2, 2, 4, 0, 2, 3]
    lengths, counts = [7, 2], (5, 5, 2)

    def setUp(self):
        self.op_type = "chunk_eval"
        arrays = {"Inference": self.tags, "Label": self.label}
        self.inputs = {k: (np.array(a)[:, None], [self.lengths]) for k, a in arrays.items()}
        self.attrs = {
            "chunk_scheme": self.scheme,
            "num_chunk_types": self.types,
            "excluded_chunk_types": self.excluded,
        }
        self.outputs = expected(*self.counts)

    def test_check_output(self):
        self.check_output()


class TestIobExcluded(TestIob):
    excluded, counts = [1], (3, 2, 2)


class TestIobPadded(TestIob):
    def setUp(self):
        super().setUp()
        self.inputs = {
            k: np.array([a[:7], a[7:] + [99] * 5])
            for k, a in (("Inference", self.tags), ("Label", self.label))
        }
        self.inputs["SeqLength"] = np.array([7, 2])


class TestIoe(TestIob):
    """I-0 E-0 I-1 E-1 O."""

    scheme = "IOE"
    # (0-1, 0), (2, 0), (3, 1), (5-6, 1) against (0-1, 0), (2-3, 1), (5-6, 1)
    tags, label = [0, 1, 1, 3, 4, 2, 3], [0, 1, 2, 3, 4, 2, 3]
    lengths, counts = [7], (4, 3, 2)


class TestIobes(TestIob):
    """B I E S of one type: 0 1 2 3, outside 4."""

    scheme, types = "IOBES", 1
    # (0-2), (3), (5-6) against (0-2), (3), (6)
    tags, label = [0, 1, 2, 3, 4, 0, 2], [0, 1, 2, 3, 4, 4, 3]
    lengths, counts = [7], (3, 3, 2)


class TestPlain(TestIob):
    """One tag for each type; neighbours of a type are one chunk."""

    scheme = "plain"
    # (0-1, 0), (2, 1), (4, 1) against (0-1, 0), (2-3, 1)
    tags, label = [0, 0, 1, 2, 1], [0, 0, 1, 1, 2]
    lengths, counts = [5], (3, 2, 1)


def test_wrong_inputs():
    ok, bad = (_core.to_variable(np.array([[0], [t]]), lod=[[0, 2]]) for t in (1, 5))
    with pytest.raises(IndexError, match=r"Label must hold tags in \[0, 4\], got 5 at position 1"):
        _core.ops.chunk_eval(ok, bad, num_chunk_types=2)
    with pytest.raises(IndexError, match=r"excluded_chunk_types must lie in \[0, 2\), got 2"):
        _core.ops.chunk_eval(ok, ok, num_chunk_types=2, excluded_chunk_types=[2])
    with pytest.raises(ValueError, match="chunk_scheme"):
        _core.ops.chunk_eval(ok, ok, chunk_scheme="BIO")
