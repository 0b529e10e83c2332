"""A Variable in place of an attribute, where Paddle takes one, is read as the number it holds."""

import numpy as np
import pytest

from dygraph import _core

ops, variable = _core.ops, _core.to_variable
X = np.arange(6.0).reshape(2, 3)


def one(value, dtype="int64"):
    return variable(np.array([value], dtype))


def several(*values):
    return variable(np.array(values, "int64"))


CASES = {
    "arg_max": (lambda x: ops.arg_max(x, axis=one(1)), [2, 2]),
    "arg_min": (lambda x: ops.arg_min(x, axis=one(0)), [0, 0, 0]),
    "cumsum": (lambda x: ops.cumsum(x, axis=one(0, "int32")), [[0, 1, 2], [3, 5, 7]]),
    "dropout": (lambda x: ops.dropout(x, dropout_prob=one(0.0, "float32")), X.tolist()),
    "eye": (lambda x: ops.eye(num_rows=one(1), num_columns=one(2)), [[1, 0]]),
    "fill_any_like": (lambda x: ops.fill_any_like(x, value=one(2.5, "float32")), [[2.5] * 3] * 2),
    "frobenius_norm": (lambda x: ops.frobenius_norm(x, dim=several(0)), [3, 17**0.5, 29**0.5]),
    "pad": (
        lambda x: ops.pad(x, paddings=[1, 0, 0, 0], pad_value=one(7.0, "float64")),
        [[7, 7, 7], *X.tolist()],
    ),
    "reduce_max": (lambda x: ops.reduce_max(x, dim=several(0)), [3, 4, 5]),
    "reduce_mean": (lambda x: ops.reduce_mean(x, dim=several(1)), [1, 4]),
    "reduce_min": (lambda x: ops.reduce_min(x, dim=several(1)), [0, 3]),
    "reduce_prod": (lambda x: ops.reduce_prod(x, dim=several(0, 1)), 0),
    "reduce_sum": (lambda x: ops.reduce_sum(x, dim=[one(0), one(1)]), 15),
    "reverse": (lambda x: ops.reverse(x, axis=several(1)), [[2, 1, 0], [5, 4, 3]]),
    "squeeze2": (lambda x: ops.squeeze2(ops.unsqueeze2(x, axes=[0]), axes=several(0)), X.tolist()),
    "tile": (lambda x: ops.tile(x, repeat_times=several(1, 2)), np.tile(X, (1, 2)).tolist()),
}


@pytest.mark.parametrize("name", CASES)
def test_the_number_is_read(name):
    call, expected = CASES[name]
    np.testing.assert_allclose(call(variable(X)).numpy(), expected, rtol=1e-6)


def test_what_is_no_number_is_refused():
    with pytest.raises(TypeError, match="integer variable of one element"):
        ops.cumsum(variable(X), axis=variable(np.array([0.5])))
    with pytest.raises(TypeError, match="the attribute dim must be a list of ints, got float"):
        ops.reduce_sum(variable(X), dim=variable(np.array([0.0, 1.0])))
    with pytest.raises(TypeError, match="integer variable of one element"):
        ops.reduce_sum(variable(X), dim=variable(np.array([[0, 1]])))
