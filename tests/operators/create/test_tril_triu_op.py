"""tril_triu: a triangle of each matrix."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import class_name, op_case
from op_test import rand

for suffix, shape, attrs in [
    ("", (3, 4), {}),
    ("Upper", (4, 3), {"lower": False}),
    ("Below", (3, 3), {"diagonal": -1}),
    ("Above", (2, 3, 4), {"diagonal": 2, "lower": False}),
    ("Far", (2, 3), {"diagonal": 100}),
    ("FarBelow", (2, 3), {"diagonal": -100}),
    ("Image", (2, 3, 2, 2), {}),
]:
    name = class_name("tril_triu", suffix)

    def triangle(inputs, attrs):
        keep = np.tril if attrs.get("lower", True) else np.triu
        return {"Out": keep(inputs["X"], attrs.get("diagonal", 0))}

    globals()[name] = op_case(
        name, "tril_triu", lambda shape=shape: {"X": rand(*shape)}, attrs, triangle, grad=["X"]
    )


def test_errors_and_integers():
    x = np.arange(9).reshape(3, 3)
    np.testing.assert_array_equal(_core.ops.tril_triu(_core.to_variable(x)).numpy(), np.tril(x))
    with pytest.raises(ValueError, match="two axes"):
        _core.ops.tril_triu(_core.to_variable(np.zeros(3)))
