"""Medians, k-th elements, modes, counts, bins, diagonals and turns, by other libraries' words."""

import numpy as np
import pytest

import dygraph
from dygraph import static

X = np.array([[5.0, 1.0, 3.0, 1.0], [2.0, 2.0, 7.0, 0.0]])
TYPES = ("int8", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")


def var(values, dtype=None):
    made = dygraph.to_variable(np.asarray(values))
    return made if dtype is None else made.astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_elements_keep_their_type(dtype):
    x = var(X, dtype)
    for found in (dygraph.kthvalue(x, 3), x.mode(), dygraph.kthvalue(x, k=2, dim=0, keepdim=True)):
        assert found.values.dtype.name == dtype and found.indices.dtype.name == "int64"
    assert dygraph.kthvalue(x, 3).values.tolist() == [3, 2]
    assert dygraph.kthvalue(x, 3).indices.tolist() == [2, 1]
    assert x.kthvalue(1, axis=0).indices.tolist() == [1, 0, 0, 1]
    values, places = dygraph.mode(x)
    assert values.tolist() == [1, 2] and places.tolist() == [3, 1]  # torch 2.13's
    assert dygraph.median(x, axis=1, mode="min").dtype.name == dtype
    assert dygraph.median(x, axis=1, mode="min").tolist() == [1, 2]
    assert dygraph.median(x, axis=1, mode="avg").tolist() == [2, 2]
    assert dygraph.unique_consecutive(x[1]).tolist() == [2, 7, 0]
    assert dygraph.unique_consecutive(x[1]).dtype.name == dtype
    assert dygraph.histc(x, 2, 0, 8).tolist() == [6, 2]
    assert dygraph.histc(x, 2, 0, 8).dtype.name == dtype
    found = dygraph.searchsorted(var([1, 2, 5], dtype), x)
    assert found.tolist() == np.searchsorted([1, 2, 5], X).tolist()


def test_medians_without_nans():
    x = var([[np.nan, 1.0, 4.0], [np.nan, np.nan, np.nan]])
    assert dygraph.nanmedian(x, mode="avg").item() == 2.5
    assert x.nanmedian(mode="min", axis=1).tolist() == pytest.approx([1.0, np.nan], nan_ok=True)
    assert dygraph.nanmedian(x, mode="avg", axis=-1, keepdim=True).shape == (2, 1)
    assert dygraph.nanmedian(var([1, 2]), mode="avg").item() == 1.5
    with pytest.raises(TypeError, match="mode must be given"):
        dygraph.nanmedian(x)
    with pytest.raises(TypeError, match="nanmedian.. takes the axis as axis="):
        dygraph.nanmedian(x, 0)


def test_a_median_of_a_size_known_in_a_run():
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [-1, 3], "float64")
    down, across = dygraph.median(x, axis=0, mode="avg"), dygraph.median(x, axis=1)
    executor = static.Executor(dygraph.CPUPlace())
    for rows in (1, 4, 5):
        values = np.random.default_rng(rows).random((rows, 3))
        got = executor.run(program, feed={"x": values}, fetch_list=[down, across])
        np.testing.assert_array_equal(got[0], np.median(values, 0))
        np.testing.assert_array_equal(got[1], np.median(values, 1))
    with pytest.raises(RuntimeError, match="Or give mode"):
        dygraph.median(x, axis=0)


def test_searches():
    edges, x = var([1.0, 3.0, 5.0]), var([[0.0, 3.0], [5.0, 9.0]])
    assert dygraph.bucketize(x, edges).tolist() == [[0, 1], [2, 3]]
    assert dygraph.bucketize(x, edges, right=True).tolist() == [[0, 2], [3, 3]]
    assert x.bucketize(edges, out_int32=True).dtype.name == "int32"
    assert dygraph.bucketize(4.0, edges).item() == 2
    assert edges.searchsorted(x, side="right").tolist() == [[0, 2], [3, 3]]
    rows = var([[1.0, 2.0], [4.0, 8.0]])
    assert dygraph.searchsorted(rows, x).tolist() == [[0, 2], [1, 2]]
    turned = var([[2.0, 1.0], [8.0, 4.0]])
    assert dygraph.searchsorted(turned, x, sorter=turned.argsort()).tolist() == [[0, 2], [1, 2]]
    with pytest.raises(ValueError, match="boundaries must have one axis"):
        dygraph.bucketize(x, rows)
    leaf = var([1.0, 2.0])
    leaf.stop_gradient = False
    assert dygraph.searchsorted(leaf, leaf * 2).stop_gradient


def test_counts():
    assert dygraph.bincount(var([1, 3, 1])).tolist() == [0, 2, 0, 1]
    assert var([1, 3]).bincount(minlength=5).tolist() == [0, 1, 0, 1, 0]
    weighted = dygraph.bincount(var([1, 1], "uint8"), var([0.5, 2.0], "float32"))
    assert weighted.tolist() == [0, 2.5] and weighted.dtype.name == "float32"
    with pytest.raises(TypeError, match="x must hold integers, got"):
        dygraph.bincount(var([1.0]))
    with pytest.raises(AttributeError, match="dygraph.histc"):
        _ = dygraph.histogram
    x = var([[1, 1], [1, 2]])
    kept, inverse, counts = dygraph.unique_consecutive(x, True, True)
    assert kept.tolist() == [1, 2] and inverse.tolist() == [[0, 0], [0, 1]]
    assert counts.tolist() == [3, 1]
    assert dygraph.unique_consecutive(x, dim=1).tolist() == x.tolist()


def test_diagonals_and_turns():
    x = np.arange(24.0).reshape(2, 3, 4)
    assert dygraph.diagonal(var(x)).tolist() == np.diagonal(x).tolist()
    assert var(x).diagonal(1, 1, 2).tolist() == np.diagonal(x, 1, 1, 2).tolist()
    assert dygraph.diagonal(var(x), dim1=-2, dim2=-1).tolist() == np.diagonal(x, 0, 1, 2).tolist()
    assert np.diagonal(var(x), axis1=2, axis2=0).tolist() == np.diagonal(x, 0, 2, 0).tolist()
    for k in range(-5, 6):
        for axes in ((0, 1), (1, 0), (2, 0), (-1, -2)):
            assert dygraph.rot90(var(x), k, axes).tolist() == np.rot90(x, k, axes).tolist()
    with pytest.raises(ValueError, match="axes must be two, got"):
        dygraph.rot90(var(x), 1, [1, 1])


def test_triangles():
    assert dygraph.tril_indices(3).tolist() == np.array(np.tril_indices(3)).tolist()
    places = dygraph.triu_indices(3, col=4, offset=-1, dtype="int32")
    assert places.tolist() == np.array(np.triu_indices(3, -1, 4)).tolist()
    assert places.dtype.name == "int32"
    x = np.arange(9).reshape(3, 3)
    assert var(x)[tuple(dygraph.tril_indices(3))].tolist() == x[np.tril_indices(3)].tolist()
    with pytest.raises(TypeError, match=r"NumPy the diagonal. Write tril_indices\(n, col=m"):
        dygraph.tril_indices(3, 3)


def test_repeats_of_a_variable_in_a_program():
    program = static.Program()
    with static.program_guard(program):
        x, n = static.data("x", [-1, 2], "float64"), static.data("n", [-1], "int64")
    out = dygraph.repeat_interleave(x, n, 0)
    executor = static.Executor(dygraph.CPUPlace())
    values, times = np.arange(6.0).reshape(3, 2), np.array([2, 0, 1])
    (got,) = executor.run(program, feed={"x": values, "n": times}, fetch_list=[out])
    assert got.tolist() == np.repeat(values, times, 0).tolist()
    assert dygraph.repeat(var(values), [1, 0, 2], 0).tolist() == values[[0, 2, 2]].tolist()
    assert dygraph.repeat(var(values), var([3]), 1).tolist() == np.repeat(values, 3, 1).tolist()
