"""broadcast_tensors: all repeated to one shape."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import op_case
from op_test import rand

SHAPES = {
    "": [(3, 1), (4,), (2, 1, 1)],
    "One": [(2, 3)],
    "Equal": [(2, 3), (2, 3)],
    "Empty": [(0, 1), (3,)],
    "Number": [(), (2, 2)],
    "Image": [(2, 3, 1, 2), (2, 1, 2, 2)],
}


def together(inputs, attrs):
    arrays = np.broadcast_arrays(*inputs["X"])
    return {"Out": [(f"Out[{i}]", array) for i, array in enumerate(arrays)]}


for suffix, shapes in SHAPES.items():
    globals()[f"TestBroadcastTensors{suffix}"] = op_case(
        f"TestBroadcastTensors{suffix}", "broadcast_tensors",
        lambda shapes=shapes: {"X": [(f"x{i}", rand(*shape)) for i, shape in enumerate(shapes)]},
        {}, together, grad=[f"x{i}" for i in range(len(shapes))],
        out=[f"Out[{i}]" for i in range(len(shapes))],
    )  # fmt: skip


def test_errors():
    x, y = _core.to_variable(np.zeros((2, 3))), _core.to_variable(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="broadcast"):
        _core.ops.broadcast_tensors([x, y])
