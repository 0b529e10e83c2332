"""Values recorded from Paddle 2.6.2: pooling of regions, YOLO heads, proposals and their labels.

regions_paddle.npz holds the inputs, the attributes and what Paddle's CPU kernels gave; `cases` says
which array is which.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from dygraph import _core

RECORD = np.load(Path(__file__).with_name("regions_paddle.npz"))
CASES = json.loads(str(RECORD["cases"]))


def arrays(entry):
    """(array, lod) of an entry, or a list of them."""
    if entry and isinstance(entry[0], list):
        return [arrays(e) for e in entry]
    return RECORD[entry[0]], entry[1]


def variable(entry):
    if isinstance(entry, list):
        return [variable(e) for e in entry]
    return _core.to_variable(entry[0], lod=entry[1] or None)


@pytest.mark.parametrize("name", CASES)
def test_values_are_paddles(name):
    case = CASES[name]
    expected = {slot: arrays(entry) for slot, entry in case["outputs"].items()}
    extra = {s["name"] for s in _core.describe_op(case["op"])["outputs"] if s["extra"]}
    counts = {s: len(e) if isinstance(e, list) else 1 for s, e in expected.items()
              if isinstance(e, list) or s in extra}  # fmt: skip
    inputs = {slot: variable(arrays(entry)) for slot, entry in case["inputs"].items()}
    got = _core.run_op(case["op"], inputs, case["attrs"], counts)
    for slot, entry in expected.items():
        found = got[slot] if isinstance(got[slot], list) else [got[slot]]
        entries = entry if isinstance(entry, list) else [entry]
        assert len(found) == len(entries)
        for value, (array, lod) in zip(found, entries, strict=True):
            assert value.shape == array.shape, slot
            np.testing.assert_allclose(value.numpy(), array, rtol=1e-5, atol=1e-5, err_msg=slot)
            if lod:
                assert _core.lod(value) == lod, slot
