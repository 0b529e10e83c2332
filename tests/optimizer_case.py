"""What the tests of optimizer operators share: steps over dense and sparse gradients, storage,
wrong inputs."""

import numpy as np
import pytest

from dygraph import _core

ROWS = [4, 1, 4, 0]
HEIGHT, WIDTH = 6, 3


def variables(arrays):
    return {name: _core.to_variable(np.asarray(a)) for name, a in arrays.items()}


def run(op, arrays, attrs, **more):
    """{output: array}; `more` are variables that replace arrays."""
    results = _core.run_op(op, {**variables(arrays), **more}, attrs)
    return {name: v.numpy() for name, v in results.items()}


def sparse_gradient(dtype="float64"):
    """(selected rows, the same as a tensor): a row twice, three rows not at all."""
    values = np.random.RandomState(5).uniform(-1, 1, (len(ROWS), WIDTH)).astype(dtype)
    dense = np.zeros((HEIGHT, WIDTH), dtype)
    np.add.at(dense, ROWS, values)
    return _core.make_selected_rows(ROWS, HEIGHT, _core.to_variable(values)), dense


def check_sparse_like_dense(op, arrays, attrs, rows=slice(None)):
    """A gradient of selected rows does what the same tensor does, in these rows."""
    grad, dense = sparse_gradient()
    sparse_out = run(op, {k: v for k, v in arrays.items() if k != "Grad"}, attrs, Grad=grad)
    dense_out = run(op, {**arrays, "Grad": dense}, attrs)
    for name, expected in dense_out.items():
        part = rows if expected.shape == dense.shape else slice(None)
        np.testing.assert_allclose(
            sparse_out[name][part], expected[part], rtol=1e-12, atol=1e-15, err_msg=name
        )
    return sparse_out


def check_refusals(op, arrays, attrs):
    """A step refuses what does not fit, and has then written nothing."""
    before = variables(arrays)

    def refuse(error, message, **changed):
        with pytest.raises(error, match=message):
            _core.run_op(op, {**before, **variables(changed)}, attrs)
        for name, v in before.items():
            np.testing.assert_array_equal(v.numpy(), arrays[name], err_msg=name)

    p = np.asarray(arrays["Param"])
    like_param = set(arrays) - {"Param"}
    for slot in [s for s in like_param if np.asarray(arrays[s]).shape == p.shape]:
        refuse(ValueError, f"{slot} must have the shape of Param", **{slot: p[:1]})
        refuse(TypeError, f"{slot} must have the element type", **{slot: p.astype("int64")})
        refuse(TypeError, f"{slot} must have the element type", **{slot: p.astype("float16")})
    for slot in [s for s in like_param if np.asarray(arrays[s]).shape != p.shape]:
        refuse(ValueError, f"{slot} must hold one number", **{slot: np.zeros(2)})
        refuse(TypeError, f"{slot} must be of float32", **{slot: np.array([1])})
