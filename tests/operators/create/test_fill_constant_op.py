"""fill_constant: one value everywhere."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest

fill_constant = _core.ops.fill_constant


class TestFillConstant(OpTest):
    fixed_dtypes = {"Out": "float32"}
    elementwise = False

    def setUp(self):
        self.op_type = "fill_constant"
        self.attrs = {"shape": [2, 3], "value": 1.5}
        self.outputs = {"Out": np.full((2, 3), 1.5, "float32")}

    def test_check_output(self):
        self.check_output()


@pytest.mark.parametrize("shape", [[], [0], [2, 0, 3], [1, 4]])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32", "float64"])
def test_shapes_and_types(shape, dtype):
    got = fill_constant(shape=shape, dtype=dtype, value=1.0).numpy()
    assert got.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(got, np.ones(shape, dtype))


def test_str_value_is_exact():
    assert fill_constant(shape=[], dtype="int64", str_value=str(2**53 + 1)).numpy() == 2**53 + 1
    assert fill_constant(shape=[], dtype="float64", str_value="0.1", value=7.0).numpy() == 0.1
    assert fill_constant(shape=[], str_value="-inf").numpy() == -np.inf
    assert np.isnan(fill_constant(shape=[], str_value="nan").numpy())
    assert fill_constant(shape=[], dtype="int32", str_value="3.0").numpy() == 3


def test_tensors_give_shape_and_value():
    size = [_core.to_variable(np.array([n], "int64")) for n in (2, 3)]
    value = _core.to_variable(np.array([7], "int32"))
    both = _core.to_variable(np.array([2, 3], "int32"))
    want = np.full((2, 3), 7, "float32")
    np.testing.assert_array_equal(fill_constant(shape_tensor=both, value=7.0).numpy(), want)
    np.testing.assert_array_equal(
        fill_constant(shape_tensor_list=size, value_tensor=value).numpy(), want
    )


@pytest.mark.parametrize(
    "attrs, error, text",
    [
        ({"shape": [-1]}, ValueError, "at least 0"),
        ({"shape": [2], "str_value": "two"}, ValueError, "a number"),
        ({"shape": [2], "dtype": "uint8", "str_value": "-1"}, IndexError, "fit into uint8"),
        ({"shape": [2], "dtype": "float32", "str_value": "1e39"}, IndexError, "fit into float32"),
        ({"shape": [2**40, 2**40]}, IndexError, "64 bits"),
    ],
)
def test_errors(attrs, error, text):
    with pytest.raises(error, match=text):
        fill_constant(**attrs)
