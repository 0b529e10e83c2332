"""Fused and other rarer operators beside values that Paddle 2.6.2 computed."""

import json
from pathlib import Path

import numpy as np
import pytest

from dygraph import _core

RECORD = np.load(Path(__file__).with_name("paddle.npz"))
CASES = json.loads(str(RECORD["cases"]))


def made(key, lengths):
    lod = [np.cumsum([0, *level]).tolist() for level in lengths or []]
    return _core.to_variable(RECORD[key], lod=lod or None)


def check(got, key, lengths):
    expected = RECORD[key]
    assert got.shape == expected.shape and got.dtype == expected.dtype
    np.testing.assert_allclose(got.numpy(), expected, rtol=2e-6, atol=2e-6)
    if lengths and set(lengths[-1]) != {1}:  # a row for each sequence: no LoD here
        assert [np.diff(level).tolist() for level in _core.lod(got)] == lengths


@pytest.mark.parametrize("i", range(len(CASES)), ids=[f"{i} {c[0]}" for i, c in enumerate(CASES)])
def test_value(i):
    op, attrs, inputs, outputs = CASES[i]
    lists = {slot for slot, given in inputs.items() if isinstance(given[0], list)}
    slots = {s: [made(*v) for v in g] if s in lists else made(*g) for s, g in inputs.items()}
    found = _core.run_op(op, slots, attrs, {})
    for name, record in outputs.items():
        if isinstance(record[0], list):
            for got, one in zip(found[name], record, strict=True):
                check(got, *one)
        else:
            check(found[name], *record)
