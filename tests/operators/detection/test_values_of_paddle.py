"""The operators of detection beside values that Paddle 2.6.2 computed."""

import numpy as np
import pytest

import detection_cases
from dygraph import _core

# Paddle 2.6.2 gives no level of detail here, as its counts say the same; Fluid 1.8.5 gave it.
COUNTED = {"multiclass_nms3", "matrix_nms"}
NAMES = [f"{i} {case[0]}" for i, case in enumerate(detection_cases.cases())]


@pytest.mark.parametrize("i", range(len(NAMES)), ids=NAMES)
def test_value(i):
    op, inputs, attrs, outputs, lods = detection_cases.cases()[i]
    slots = {
        slot: [_core.to_variable(v) for v in given]
        if isinstance(given, list)
        else _core.to_variable(given, lod=lods.get(slot))
        for slot, given in inputs.items()
    }
    found, expected = _core.run_op(op, slots, attrs, {}), detection_cases.recorded()[i]
    for name in outputs:
        got, (array, lod) = found[name], expected[name]
        if name == "MAP":
            array = array.reshape(())
        assert got.shape == array.shape and got.dtype == array.dtype, name
        np.testing.assert_allclose(got.numpy(), array, rtol=1e-5, atol=2e-5, err_msg=name)
        if op not in COUNTED:
            assert got.lod() == lod, name
