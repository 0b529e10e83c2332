"""multiplex: rows of one of several tensors."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import op_case
from op_test import rand


def multiplex(inputs, attrs):
    ids = inputs["Ids"].reshape(-1)
    return {"Out": np.stack(inputs["X"])[ids, np.arange(len(ids))]}


TestMultiplex = op_case(
    "TestMultiplex",
    "multiplex",
    lambda: {
        "Ids": np.array([[2], [0], [2], [1]], "int32"),
        "X": [(f"x{i}", rand(4, 3)) for i in range(3)],
    },
    {},
    multiplex,
    grad=["x0", "x1", "x2"],
)


def test_gradient_of_some_of_the_candidates():
    ids = _core.to_variable(np.array([[1], [0]]))
    a, b = (_core.to_variable(np.array([[1.0], [2.0]])) for _ in range(2))
    a.stop_gradient = False
    out = _core.ops.multiplex(ids, [a, b])
    (g,) = _core.grad([_core.ops.elementwise_mul(out, out)], [a], [], True, True, False)
    np.testing.assert_array_equal(g.numpy(), [[0.0], [4.0]])
    (second,) = _core.grad([g], [a], [], False, False, False)
    np.testing.assert_array_equal(second.numpy(), [[0.0], [2.0]])


def test_no_candidates_at_all():
    with pytest.raises(ValueError, match=r"Input\(X\) must be given"):
        _core.run_op("multiplex", {"Ids": _core.to_variable(np.array([[0]])), "X": []}, {})


def test_errors():
    x = _core.to_variable(np.zeros((2, 3)))
    with pytest.raises(IndexError, match=r"\[0, 2\).* got 2 at position 1"):
        _core.ops.multiplex(_core.to_variable(np.array([[0], [2]])), [x, x])
    with pytest.raises(ValueError, match="one number for each row"):
        _core.ops.multiplex(_core.to_variable(np.array([[0]])), [x, x])
    with pytest.raises(ValueError, match="one shape"):
        other = _core.to_variable(np.zeros((2, 4)))
        _core.ops.multiplex(_core.to_variable(np.array([[0], [1]])), [x, other])
