"""Element types beside the floating ones: what operators give of integers, worked out by NumPy."""

import numpy as np
import pytest

from dygraph import _core
from op_test import OpTest

ops, variable = _core.ops, _core.to_variable
WHOLE = ["uint8", "int8", "int16", "int32", "int64"]


def big(dtype, shape, seed=3):
    """Numbers over all of a type's range, whose products and sums leave it."""
    limits = np.iinfo(dtype)
    return np.random.RandomState(seed).randint(limits.min, limits.max, shape, dtype=dtype)


@pytest.mark.parametrize("name", ["exp", "log", "log1p"])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_functions_of_integers_give_float32(name, dtype):
    x = np.array([[0, 1], [2, 30]], dtype)
    got = getattr(ops, name)(variable(x))
    with np.errstate(divide="ignore"):
        expected = getattr(np, name)(x.astype("float64"))
    assert got.dtype.name == "float32"
    np.testing.assert_allclose(got.numpy(), expected.astype("float32"), rtol=3e-7)
    described = _core.ops.exp(variable(np.zeros((0, 3), dtype)))
    assert described.shape == (0, 3) and described.dtype.name == "float32"


@pytest.mark.parametrize("dtype", WHOLE)
def test_signs(dtype):
    x = big(dtype, (5, 7))
    x[0, :3] = [0, np.iinfo(dtype).min, np.iinfo(dtype).max]
    got = ops.sign(variable(x)).numpy()
    assert got.dtype == dtype and np.array_equal(got, np.sign(x))


@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize(("exclusive", "reverse"), [(False, False), (True, False), (False, True)])
def test_sums_wrap(dtype, exclusive, reverse):
    x = big(dtype, (5, 9, 3))
    for axis in (1, 2):
        flow = np.flip(x, axis) if reverse else x
        expected = np.cumsum(flow, axis, dtype=dtype) - (flow if exclusive else 0)
        expected = np.flip(expected, axis) if reverse else expected
        got = ops.cumsum(variable(x), axis=axis, exclusive=exclusive, reverse=reverse)
        assert np.array_equal(got.numpy(), expected.astype(dtype))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("trans_x", [False, True])
@pytest.mark.parametrize("trans_y", [False, True])
@pytest.mark.parametrize("shapes", [((4, 5), (5, 3)), ((2, 1, 4, 5), (3, 5, 6)), ((0, 5), (5, 2))])
def test_matrix_products_wrap(shapes, trans_x, trans_y, dtype):
    x, y = big(dtype, shapes[0]), big(dtype, shapes[1], 4)
    expected = x @ y
    x = np.ascontiguousarray(np.swapaxes(x, -1, -2)) if trans_x else x
    y = np.ascontiguousarray(np.swapaxes(y, -1, -2)) if trans_y else y
    got = ops.matmul_v2(variable(x), variable(y), trans_x=trans_x, trans_y=trans_y)
    assert got.numpy().dtype == dtype and np.array_equal(got.numpy(), expected)


def test_matrix_products_of_vectors_and_of_nothing():
    x = np.array([[1, 2], [3, 4]])
    assert (variable(x) @ variable(np.array([5, 6]))).numpy().tolist() == [17, 39]
    assert ops.matmul_v2(variable(x[0]), variable(x[1])).numpy().tolist() == 11
    none = ops.matmul_v2(variable(np.zeros((2, 0), "int32")), variable(np.zeros((0, 3), "int32")))
    assert none.numpy().tolist() == [[0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("dtype", WHOLE)
def test_tables(dtype):
    table, ids = big(dtype, (6, 4)), np.array([[5], [0], [2]])
    expected = table[ids[:, 0]]
    assert np.array_equal(ops.lookup_table(variable(table), variable(ids)).numpy(), expected)
    expected[1] = 0
    got = ops.lookup_table_v2(variable(table), variable(ids[:, 0]), padding_idx=0)
    assert got.numpy().dtype == dtype and np.array_equal(got.numpy(), expected)


@pytest.mark.parametrize("dtype", WHOLE)
def test_scattered_sums_wrap(dtype):
    x, updates = big(dtype, (4, 3)), big(dtype, (5, 3), 4)
    index = np.array([[1], [3], [1], [0], [1]])
    expected = x.copy()
    np.add.at(expected, index[:, 0], updates)
    got = ops.scatter_nd_add(variable(x), variable(index), variable(updates))
    assert np.array_equal(got.numpy(), expected)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16"])
def test_values_of_narrow_types(dtype):
    got = ops.assign_value(shape=[2, 1], dtype=dtype, int32_values=[7, 100])
    assert got.numpy().dtype == dtype and got.numpy().tolist() == [[7], [100]]


def test_lengths_may_be_floats():
    """Position j is inside where j < length, so 1.5 holds two."""
    x = variable(np.array([1.5, 2.0, -1.0, np.nan, 9.0], "float32"))
    got = ops.sequence_mask(x, maxlen=3, out_dtype="int32").numpy().tolist()
    assert got == [[1, 1, 0], [1, 1, 0], [0, 0, 0], [0, 0, 0], [1, 1, 1]]


class TestAllcloseTolerances(OpTest):
    """Tensors in place of rtol and atol: |a - b| <= 0.25 + 0.5 * |b|."""

    elementwise = False

    def setUp(self):
        self.op_type = "allclose"
        self.inputs = {
            "Input": np.array([1.0, 3.2]), "Other": np.array([1.5, 2.0]),
            "Rtol": np.array([0.5]), "Atol": np.array([0.25]),
        }  # fmt: skip
        self.attrs = {"rtol": "9.0", "atol": "0.0"}
        self.outputs = {"Out": np.array(True)}

    def test_check_output(self):
        self.check_output()


def test_tolerances_count():
    a, b = variable(np.array([1.0, 3.2])), variable(np.array([1.5, 2.0]))
    number = lambda v: variable(np.array([v]))  # noqa: E731

    def close(rtol, atol):
        return ops.allclose(a, b, rtol=number(rtol), atol=number(atol)).numpy().item()

    assert close(0.5, 0.25) is True  # 1.2 <= 0.25 + 1.0
    assert close(0.5, 0.1) is False
    assert close(0.25, 0.25) is False
    with pytest.raises(ValueError, match="Rtol must be at least 0, got -1"):
        close(-1.0, 0.0)
    with pytest.raises(TypeError, match="Atol must be float64 or float32, got int64"):
        ops.allclose(a, b, atol=variable(np.array([1])))
    with pytest.raises(ValueError, match="Rtol must hold one number"):
        ops.allclose(a, b, rtol=a)
