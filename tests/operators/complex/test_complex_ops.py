"""The operators of complex numbers and their parts: complex, real, imag, conj, angle, ..."""

import numpy as np
import pytest

import dygraph
from complex_case import ComplexCase, randc
from dygraph import _core
from op_test import OpTest, rand

ops = _core.ops


class Case(ComplexCase):
    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grads()


class TestReal(Case, OpTest):
    def setUp(self):
        self.op_type, self.inputs = "real", {"X": randc(2, 3)}

    def reference(self, inputs, attrs):
        return {"Out": inputs["X"].real}


class TestImag(Case, OpTest):
    def setUp(self):
        self.op_type, self.inputs = "imag", {"X": randc(2, 3)}

    def reference(self, inputs, attrs):
        return {"Out": inputs["X"].imag}


class TestConj(Case, OpTest):
    def setUp(self):
        self.op_type, self.inputs = "conj", {"X": randc(2, 3)}

    def reference(self, inputs, attrs):
        return {"Out": np.conj(inputs["X"])}


class TestConjOfSingle(TestConj):
    def setUp(self):
        self.op_type, self.inputs = "conj", {"X": randc(2, 3, 4, 5, dtype="complex64")}

    def test_check_grad(self):
        self.check_grads(order=1, eps=1e-2, atol=1e-2)


class TestAngle(Case, OpTest):
    def setUp(self):
        self.op_type = "angle"
        self.inputs = {"X": np.array([1 + 1j, -1 + 0.5j, -0.3 - 0.7j, 0.5 - 2j])}

    def reference(self, inputs, attrs):
        return {"Out": np.angle(inputs["X"])}


class TestComplexAbs(Case, OpTest):
    def setUp(self):
        self.op_type = "complex_abs"
        self.inputs = {"X": np.array([1 + 1j, -1 + 0.5j, -0.3 - 0.7j, 0.5 - 2j])}

    def reference(self, inputs, attrs):
        return {"Out": np.abs(inputs["X"])}


class TestComplex(Case, OpTest):
    def setUp(self):
        self.op_type, self.inputs = "complex", {"X": rand(2, 3), "Y": rand(2, 3)}

    def reference(self, inputs, attrs):
        return {"Out": inputs["X"] + 1j * inputs["Y"]}


class TestComplexBroadcast(TestComplex):
    def setUp(self):
        self.op_type, self.inputs = "complex", {"X": rand(2, 3), "Y": rand(2, 1)}


class TestAsReal(Case, OpTest):
    def setUp(self):
        self.op_type, self.inputs = "as_real", {"X": randc(2, 3)}

    def reference(self, inputs, attrs):
        return {"Out": np.stack([inputs["X"].real, inputs["X"].imag], -1)}


class TestAsComplex(Case, OpTest):
    def setUp(self):
        self.op_type, self.inputs = "as_complex", {"X": rand(3, 2)}

    def reference(self, inputs, attrs):
        return {"Out": inputs["X"][..., 0] + 1j * inputs["X"][..., 1]}


def test_edges():
    """Against NumPy: signed zeros, infinities, NaN, numbers whose squares overflow."""
    inf, nan = np.inf, np.nan
    x = np.array([0, -0.0, complex(-0.0, -0.0), complex(inf, nan), complex(nan, 1), 3e200 + 4e200j])
    v = dygraph.to_variable(x)
    np.testing.assert_array_equal(ops.complex_abs(v).numpy(), np.abs(x))
    np.testing.assert_array_equal(ops.angle(v[:3]).numpy(), np.angle(x[:3]))
    small = np.array([3e25 + 4e25j, 3e-30 + 4e-30j], "complex64")
    np.testing.assert_allclose(ops.complex_abs(dygraph.to_variable(small)).numpy(), np.abs(small))


def test_gradients_at_zero_are_zero():
    z = dygraph.to_variable(np.zeros(2, "complex128"))
    z.stop_gradient = False
    for op in (ops.complex_abs, ops.angle):
        (g,) = dygraph.grad([op(z)], [z])
        assert g.tolist() == [0, 0]


def test_refusals():
    real, z = dygraph.to_variable([1.0]), dygraph.to_variable([1j])
    for op in (ops.real, ops.imag, ops.conj, ops.angle, ops.complex_abs, ops.as_real):
        with pytest.raises(dygraph.errors.DygraphError, match="float32"):
            op(real)
    for call in (lambda: ops.complex(z, z), lambda: ops.as_complex(z)):
        with pytest.raises(dygraph.errors.DygraphError, match="complex64"):
            call()
    with pytest.raises(dygraph.errors.InvalidArgumentError, match="last axis of 2"):
        ops.as_complex(dygraph.ones([3]))
