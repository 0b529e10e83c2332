"""cast: X in another element type."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest, rand


class TestCast(OpTest):
    fixed_dtypes = {"Out": "float64"}

    def setUp(self):
        self.op_type = "cast"
        self.inputs = {"X": rand(2, 3, 2, 4, dtype="float32")}
        self.attrs = {"out_dtype": "float64"}

    def reference(self, inputs, attrs):
        return {"Out": inputs["X"].astype("float64")}

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        self.check_grad(["X"], "Out")


def cast(x, dtype):
    return _core.ops.cast(_core.to_variable(np.asarray(x)), out_dtype=dtype)


NUMPY_TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


@pytest.mark.parametrize("to", NUMPY_TYPES)
@pytest.mark.parametrize("of", NUMPY_TYPES)
def test_values_both_types_hold(of, to):
    x = np.array([0, 1, 3, 100]).astype(of)
    got = cast(x, to).numpy()
    assert got.dtype == np.dtype(to)
    np.testing.assert_array_equal(got, x.astype(to))


def test_floats_become_integers_towards_zero_and_saturate():
    x = np.array([1.9, -1.9, 1e30, -np.inf, np.nan])
    np.testing.assert_array_equal(cast(x, "int32").numpy(), [1, -1, 2**31 - 1, -(2**31), 0])
    np.testing.assert_array_equal(cast(x, "int64").numpy(), [1, -1, 2**63 - 1, -(2**63), 0])
    np.testing.assert_array_equal(cast(x, "uint8").numpy(), [1, 0, 255, 0, 0])


def test_a_double_is_rounded_to_float16_once():
    x = np.array([1 + 2**-11 + 2**-40, 1 + 2**-11, 65519.99999999, 65520.0])
    np.testing.assert_array_equal(cast(x, "float16").numpy(), [1 + 2**-10, 1.0, 65504.0, np.inf])


def test_bfloat16_keeps_eight_bits():
    x = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, -3e38], "float32")
    got = cast(x, "bfloat16")
    want = np.array([1.0, 1.0, 1 + 2**-6, -226 * 2.0**120], "float32")
    np.testing.assert_array_equal(_core.ops.cast(got, out_dtype="float32").numpy(), want)


@pytest.mark.parametrize("attrs", [{}, {"in_dtype": "float32"}])
def test_the_gradient_is_cast_back(attrs):
    x = _core.to_variable(np.array([1.0, 2.0], "float32"))
    x.stop_gradient = False
    y = _core.ops.cast(x, out_dtype="float64", **attrs)
    _core.backward([_core.ops.reduce_sum(_core.ops.square(y))], [], False, False)
    assert x.grad.numpy().dtype == np.dtype("float32")
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 4.0])


def test_out_dtype_must_be_given():
    with pytest.raises(ValueError, match="out_dtype"):
        _core.ops.cast(_core.to_variable(np.ones(2)))
