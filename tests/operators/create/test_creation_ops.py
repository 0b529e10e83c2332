"""Operators that make tensors of numbers written in the call."""

import numpy as np
import pytest

from dygraph import _core
from op_cases import op_case
from op_test import rand

ops = _core.ops


def variable(value, dtype=None):
    return _core.to_variable(np.array(value, dtype))


def full_like_batch(inputs, attrs):
    shape = list(attrs["shape"])
    shape[attrs.get("output_dim_idx", 0)] = inputs["Input"].shape[attrs.get("input_dim_idx", 0)]
    return {"Out": np.full(shape, attrs["value"], "float32")}


def one_hot(inputs, attrs):
    ids = inputs["X"]
    eye = np.eye(attrs["depth"], dtype="float32")
    if ids.size and not (0 <= ids.min() and ids.max() < attrs["depth"]):
        eye = np.vstack([eye, np.zeros((1, attrs["depth"]))])
        ids = np.where((ids < 0) | (ids >= attrs["depth"]), attrs["depth"], ids)
    return {"Out": eye[ids]}


TestFillConstantBatchSizeLike = op_case(
    "TestFillConstantBatchSizeLike",
    "fill_constant_batch_size_like",
    lambda: {"Input": rand(4, 3)},
    {"shape": [-1, 2], "value": 1.5},
    full_like_batch,
    fixed_dtypes={"Out": "float32"},
)
TestFillConstantBatchSizeLikeAxes = op_case(
    "TestFillConstantBatchSizeLikeAxes",
    "fill_constant_batch_size_like",
    lambda: {"Input": rand(4, 3)},
    {"shape": [2, 7], "value": -2.0, "input_dim_idx": 1, "output_dim_idx": 1},
    full_like_batch,
    fixed_dtypes={"Out": "float32"},
)
TestFillZerosLike = op_case(
    "TestFillZerosLike",
    "fill_zeros_like",
    lambda: {"X": rand(2, 3)},
    {},
    lambda inputs, attrs: {"Out": np.zeros_like(inputs["X"])},
    elementwise=True,
)
TestFillZerosLike2 = op_case(
    "TestFillZerosLike2",
    "fill_zeros_like2",
    lambda: {"X": rand(2, 3)},
    {},
    lambda inputs, attrs: {"Out": np.zeros_like(inputs["X"])},
)
TestShape = op_case(
    "TestShape",
    "shape",
    lambda: {"Input": rand(2, 3)},
    {},
    lambda inputs, attrs: {"Out": np.array(inputs["Input"].shape, "int32")},
    fixed_dtypes={"Out": "int32"},
)
TestSize = op_case(
    "TestSize",
    "size",
    lambda: {"Input": rand(2, 3)},
    {},
    lambda inputs, attrs: {"Out": np.array(inputs["Input"].size)},
    fixed_dtypes={"Out": "int64"},
)
TestDiag = op_case(
    "TestDiag",
    "diag",
    lambda: {"Diagonal": rand(3)},
    {},
    lambda inputs, attrs: {"Out": np.diag(inputs["Diagonal"])},
)
TestOneHotV2 = op_case(
    "TestOneHotV2",
    "one_hot_v2",
    lambda: {"X": np.array([[2, 0], [1, 3]])},
    {"depth": 4},
    one_hot,
)
TestOneHotV2Lenient = op_case(
    "TestOneHotV2Lenient",
    "one_hot_v2",
    lambda: {"X": np.array([-1, 2, 3], "int32")},
    {"depth": 3, "allow_out_of_range": True},
    one_hot,
)
TestOneHot = op_case(
    "TestOneHot",
    "one_hot",
    lambda: {"X": np.array([[2], [0]])},
    {"depth": 3},
    lambda inputs, attrs: one_hot({"X": inputs["X"][..., 0]}, attrs),
)
TestOneHotTensor = op_case(
    "TestOneHotTensor",
    "one_hot_v2",
    lambda: {"X": np.array([2, 0, 1]), "depth_tensor": np.array([4], "int32")},
    {},
    lambda inputs, attrs: one_hot(inputs, {"depth": 4}),
    leave_out={"empty": "depth_tensor keeps its one element"},
)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("numbers", [(0, 5, 1), (5, -2, -2), (1, 1, 3), (3, 0, 1), (-3, 10, 4)])
def test_range(dtype, numbers):
    got = ops.range(*(variable([n], dtype) for n in numbers))
    want = np.arange(*numbers, dtype=dtype)
    assert got.dtype.name == dtype
    np.testing.assert_array_equal(got.numpy(), want)


def test_range_of_fractions():
    got = ops.range(*(variable([n], "float32") for n in (0.0, 1.0, 0.1))).numpy()
    np.testing.assert_allclose(got, np.arange(10) / 10, rtol=1e-6)


@pytest.mark.parametrize(
    ("numbers", "dtype", "error", "message"),
    [
        ((0, 5, 0), "int64", ValueError, "Step must not be 0"),
        ((0.0, np.inf, 1.0), "float64", ValueError, "lead to an end"),
        ((0.0, np.nan, 1.0), "float64", ValueError, "lead to an end"),
        ((-(2**63), 2**63 - 1, 1), "int64", IndexError, "2\\^63"),
    ],
)
def test_range_errors(numbers, dtype, error, message):
    with pytest.raises(error, match=message):
        ops.range(*(variable([n], dtype) for n in numbers))


LINES = [(0, 5, 3, [0, 2, 5]), (-5, 6, 4, [-5, -1, 2, 6]), (10, -3, 5, [10, 6, 3, 0, -3])]


@pytest.mark.parametrize(("start", "stop", "num", "expected"), LINES)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_linspace_of_integers_cuts_towards_zero(start, stop, num, expected, dtype):
    ends = [variable([v], dtype) for v in (start, stop)]
    got = ops.linspace(*ends, variable([num], "int32"))
    assert got.numpy().tolist() == expected and got.dtype.name == dtype
    ends = [variable([v + np.sign(v) * 0.5], "float32") for v in (start, stop)]
    got = ops.linspace(*ends, variable([num], "int32"), dtype=dtype)
    assert got.numpy().tolist() == expected and got.dtype.name == dtype
    got = ops.linspace(variable([0], "int64"), variable([1], "int64"), variable([5], "int64"),
                       dtype="float64")  # fmt: skip
    assert got.numpy().tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize(("start", "stop", "num"), [(0.0, 1.0, 5), (3.0, -1.0, 4), (2.0, 9.0, 1)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_linspace(start, stop, num, dtype):
    got = ops.linspace(variable([start], dtype), variable([stop], dtype), variable([num], "int32"))
    np.testing.assert_allclose(got.numpy(), np.linspace(start, stop, num, dtype=dtype), rtol=1e-6)
    with pytest.raises(ValueError, match="Num must be at least 1"):
        ops.linspace(variable([start]), variable([stop]), variable([0]))


@pytest.mark.parametrize("dtype", ["bool", "int32", "float16", "float64"])
@pytest.mark.parametrize(("rows", "columns"), [(3, -1), (2, 4), (3, 1), (0, 2)])
def test_eye(dtype, rows, columns):
    got = ops.eye(num_rows=rows, num_columns=columns, dtype=dtype).numpy()
    np.testing.assert_array_equal(got, np.eye(rows, rows if columns < 0 else columns, dtype=dtype))


def test_fill_and_assign_value():
    got = ops.fill(value=[1.0, 2.0, 3.5, -4.0], shape=[2, 2], dtype="float64").numpy()
    np.testing.assert_array_equal(got, [[1.0, 2.0], [3.5, -4.0]])
    assert ops.fill(value=[], shape=[0, 2]).shape == (0, 2)
    for dtype, name, values in [
        ("bool", "bool_values", [1, 0]),
        ("int32", "int32_values", [3, -1]),
        ("int64", "int64_values", [2**40, 1]),
        ("float32", "fp32_values", [0.5, 2.0]),
        ("float64", "fp32_values", [0.5, 2.0]),
    ]:
        got = ops.assign_value(shape=[2, 1], dtype=dtype, **{name: values}).numpy()
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, np.array(values, dtype).reshape(2, 1))


def test_batch_of_sequences():
    x = _core.to_variable(np.zeros((5, 2), "float32"), lod=[[0, 2, 5]])
    assert ops.fill_constant_batch_size_like(x, shape=[-1, 3]).shape == (2, 3)
    got = ops.fill_constant_batch_size_like(x, shape=[1], dtype="int64", str_value="7")
    assert got.numpy().tolist() == [7, 7]


def test_shape_of_other_types():
    assert ops.shape(variable([[True]])).numpy().tolist() == [1, 1]
    assert ops.shape(variable(3)).shape == (0,)
    assert ops.size(variable(3)).numpy() == 1
    assert ops.fill_zeros_like2(variable([1, 2]), dtype="float32").dtype.name == "float32"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ops.fill(value=[1.0], shape=[2]), ValueError, "each of Out"),
        (lambda: ops.fill(value=[1.0], shape=[-1]), ValueError, "at least 0"),
        (lambda: ops.assign_value(shape=[2], fp32_values=[1.0]), ValueError, "for each element"),
        (lambda: ops.eye(num_rows=-1), ValueError, "at least 0"),
        (lambda: ops.diag(variable([[1.0]])), ValueError, "one axis"),
        (lambda: ops.one_hot_v2(variable([1, 4]), depth=4), IndexError, r"\[0, 4\).* got 4 at"),
        (lambda: ops.one_hot_v2(variable([-1]), depth=4), IndexError, "got -1 at position 0"),
        (lambda: ops.one_hot(variable([1, 2]), depth=4), ValueError, "last axis"),
        (lambda: ops.one_hot_v2(variable([1])), ValueError, "at least 1"),
        (
            lambda: ops.fill_constant_batch_size_like(variable([1.0]), shape=[-1, -2]),
            ValueError,
            "at least 0",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "make",
    [
        lambda values: ops.fill(value=values, shape=[2], dtype="float64"),
        lambda values: ops.assign_value(fp32_values=values, shape=[2], dtype="float64"),
    ],
)
def test_a_list_of_floats_is_not_rounded_in_silence(make):
    assert make([0.5, float("inf")]).numpy().tolist() == [0.5, float("inf")]
    with pytest.raises(ValueError, match=r"must hold float32 numbers.*got 0\.1 for dtype float64"):
        make([0.5, 0.1])
