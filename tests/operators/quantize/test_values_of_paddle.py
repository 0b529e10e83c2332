"""The operators of quantisation beside values that Paddle 2.6.2 computed."""

import json
from pathlib import Path

import numpy as np
import pytest

from dygraph import _core

RECORD = np.load(Path(__file__).with_name("paddle.npz"))
CASES = json.loads(str(RECORD["cases"]))


@pytest.mark.parametrize("i", range(len(CASES)), ids=[f"{i} {c[0]}" for i, c in enumerate(CASES)])
def test_value(i):
    op, attrs, inputs, outputs, _ = CASES[i]
    slots = {
        slot: [_core.to_variable(RECORD[k]) for k in given]
        if isinstance(given, list)
        else _core.to_variable(RECORD[given])
        for slot, given in inputs.items()
    }
    found = _core.run_op(op, slots, attrs, {})
    for name, key in outputs.items():
        got, expected = found[name].numpy(), RECORD[key]
        assert got.shape == expected.shape and got.dtype == expected.dtype, name
        np.testing.assert_allclose(got, expected, rtol=3e-7, atol=1e-12, err_msg=name)
