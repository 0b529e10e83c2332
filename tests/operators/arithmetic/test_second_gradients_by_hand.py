"""Second gradients called by name: shapes that the tape guarantees are checked where it is not."""

import numpy as np
import pytest

from dygraph import _core
from op_test import rand


def ones(*shape):
    return _core.to_variable(np.ones(shape, "float32"))


CASES = {
    "maxout_grad_grad": ({"X": (2, 4, 3, 3), "Out": (2, 2, 3, 3)}, {"groups": 2}),
    "pool2d_grad_grad": ({"X": (1, 1, 4, 4)}, {"ksize": [2, 2]}),
    "pool3d_grad_grad": ({"X": (1, 1, 4, 4, 4)}, {"ksize": [2, 2, 2]}),
    "reduce_max_grad_grad": ({"X": (2, 3), "Out": (3,)}, {"dim": [0]}),
    "reduce_min_grad_grad": ({"X": (2, 3), "Out": (3,)}, {"dim": [0]}),
}


@pytest.mark.parametrize("op", CASES)
def test_the_direction_has_the_shape_of_x(op):
    shapes, attrs = CASES[op]
    inputs = {slot: ones(*shape) for slot, shape in shapes.items()}
    _core.run_op(op, {**inputs, "X@GRAD@GRAD": ones(*shapes["X"])}, attrs, None)
    for wrong in ((), (1,), (2,), shapes["X"][::-1][:-1], (*shapes["X"], 2)):
        with pytest.raises(ValueError, match="must have the shape of X"):
            _core.run_op(op, {**inputs, "X@GRAD@GRAD": ones(*wrong)}, attrs, None)


@pytest.mark.parametrize("groups", [0, -1, 3])
def test_maxout_with_groups_that_do_not_divide(groups):
    inputs = {"X": ones(2, 4), "Out": ones(2, 2), "X@GRAD@GRAD": ones(2, 4)}
    with pytest.raises(ValueError, match="groups must divide"):
        _core.run_op("maxout_grad_grad", inputs, {"groups": groups}, None)


def test_maxout_with_another_result():
    inputs = {"X": ones(2, 4), "Out": ones(1, 1), "X@GRAD@GRAD": ones(2, 4)}
    with pytest.raises(ValueError, match=r"Input\(Out\) must have the shape"):
        _core.run_op("maxout_grad_grad", inputs, {"groups": 2}, None)


def test_a_third_gradient_by_hand():
    """What gets no gradient is zeros; what does not fit raises, whatever is left out."""
    x, row, v = rand(2, 3), rand(2), _core.to_variable
    slots = {"X": v(x), "Mean": v(row), "Variance": v(row), "Y@GRAD": v(x), "X@GRAD@GRAD": v(x)}
    got = _core.run_op("layer_norm_grad_grad_grad", slots, {})
    assert got["Mean@GRAD"].tolist() == got["Variance@GRAD"].tolist() == [0.0, 0.0]
    assert np.isfinite(got["X@GRAD"].numpy()).all()
    for name, wrong in {"X@GRAD@GRAD": rand(2, 2), "Y@GRAD": rand(3), "Mean": rand(1)}.items():
        with pytest.raises(ValueError, match="must have"):
            _core.run_op("layer_norm_grad_grad_grad", {**slots, name: v(wrong)}, {})
