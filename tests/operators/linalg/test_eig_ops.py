"""eig and eigvals: against NumPy, gradients against differences and torch 2.13."""

from pathlib import Path

import numpy as np
import pytest

import dygraph
from complex_case import check_gradients
from op_test import OpTest, rand

RECORDED = np.load(Path(__file__).parents[2] / "dygraph" / "spectra.npz")
MATRIX = np.array([[1.0, 2, 0], [0.5, -1, 3], [2, 0, 1]])
SKEW = np.array([[0.0, -1, 0.5], [1, 0.3, 2], [-0.5, -2, 0.1]])  # one real value and a pair
ops = dygraph.ops


class TestEig(OpTest):
    leave_out = {"forward_float32": "each vector has a free factor: test_equation"}

    def setUp(self):
        self.op_type = "eig"
        self.inputs = {"X": np.stack([MATRIX, SKEW])}

    def reference(self, inputs, attrs):
        w, v = np.linalg.eig(inputs["X"])
        return {"Eigenvalues": w, "Eigenvectors": v}

    def test_check_output(self):
        self.check_output()


class TestEigvals(OpTest):
    def setUp(self):
        self.op_type = "eigvals"
        self.inputs = {"X": rand(2, 4, 4)}

    def reference(self, inputs, attrs):
        return {"Out": np.linalg.eigvals(inputs["X"]).astype("complex128")}

    def test_check_output(self):
        self.check_output()


def test_equation():
    rng = np.random.RandomState(0)
    for shape in ((5, 5), (3, 4, 4), (2, 0, 0), (0, 3, 3), (1, 1)):
        for dtype, atol in (("float32", 2e-5), ("float64", 1e-12)):
            x = rng.randn(*shape).astype(dtype)
            w, v = ops.eig(dygraph.to_variable(x))
            assert w.dtype.name == v.dtype.name == ("complex64" if atol > 1e-6 else "complex128")
            turned = v.numpy() * w.numpy()[..., None, :]
            np.testing.assert_allclose(x @ v.numpy(), turned, atol=atol)
            if x.size:
                np.testing.assert_allclose(np.linalg.norm(v.numpy(), axis=-2), 1, rtol=1e-5)
            alone = ops.eigvals(dygraph.to_variable(x)).numpy()
            np.testing.assert_allclose(
                np.sort_complex(alone.ravel()), np.sort_complex(w.numpy().ravel()), atol=1e-4
            )


@pytest.mark.parametrize("matrix", [MATRIX, SKEW, np.stack([MATRIX, SKEW])])
def test_gradients(matrix):
    """Functions that do not depend on the factors of the vectors."""
    check_gradients(lambda x: ops.eigvals(x), matrix)
    check_gradients(lambda x: ops.eig(x)[0], matrix)

    def of_vectors(x):
        v = ops.eig(x)[1]
        return [abs(v) ** 2, (v[..., 0, :] * v[..., 1, :].conj())]

    check_gradients(of_vectors, matrix)


def test_gradients_as_torch():
    x = dygraph.Parameter(MATRIX)
    w, v = ops.eig(x)
    np.testing.assert_allclose(w.numpy(), RECORDED["eigL"], rtol=1e-12)
    (abs(w) ** 2 * np.array([1.0, 2, 2])).sum().backward()
    np.testing.assert_allclose(x.gradient(), RECORDED["gL"], rtol=1e-10)
    x.clear_gradient()
    (abs(ops.eig(x)[1]) ** 2 * np.arange(9.0).reshape(3, 3)).sum().backward()
    np.testing.assert_allclose(x.gradient(), RECORDED["gV"], rtol=1e-10, atol=1e-14)


def test_functions_and_refusals():
    x = dygraph.to_variable(MATRIX)
    found = dygraph.linalg.eig(x)
    np.testing.assert_allclose(found.eigenvalues.numpy(), np.linalg.eigvals(MATRIX), rtol=1e-12)
    assert found.eigenvectors.shape == (3, 3)
    assert dygraph.linalg.eigvals(dygraph.to_variable([[0.0, -1.0], [1.0, 0.0]])).tolist() == [
        1j, -1j,
    ]  # fmt: skip
    for bad, match in (
        (np.full((2, 2), np.nan), "must be finite"), (np.ones((2, 3)), "square"),
        (np.ones((2, 2), "complex64"), "complex64"),
    ):  # fmt: skip
        for run in (dygraph.linalg.eig, dygraph.linalg.eigvals):
            with pytest.raises(dygraph.errors.DygraphError, match=match):
                run(dygraph.to_variable(bad))
