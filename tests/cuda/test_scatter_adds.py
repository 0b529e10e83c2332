"""Sums by index on a device: the order of the host, whatever the number of indices."""

import numpy as np
import pytest

import cuda_library
from dygraph import _core, cuda, to_variable
from dygraph import ops as F

PLACE = cuda_library.place()
pytestmark = pytest.mark.skipif(PLACE is None, reason="no CUDA library")

# within a block, several tiles of the sort, and not a whole number of them
SIZES = [1, 3, 300, 5000, 40000]


@pytest.fixture(autouse=True)
def on_device():
    with cuda_library.on(PLACE):
        yield


def added(height, index, values):
    """scatter_nd_add into zeros."""
    x = to_variable(np.zeros((height, *values.shape[1:]), values.dtype))
    return F.scatter_nd_add(x, to_variable(index.reshape(-1, 1)), to_variable(values)).numpy()


def expected(height, index, values):
    out = np.zeros((height, *values.shape[1:]), values.dtype)
    np.add.at(out, index, values)
    return out


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("height", [1, 7, 70000])
def test_sums_have_the_order_of_the_list(n, height):
    rng = np.random.default_rng(n)
    index = rng.integers(0, height, n)
    values = rng.normal(size=(n, 2)).astype("float32")
    np.testing.assert_array_equal(added(height, index, values), expected(height, index, values))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "float64"])
def test_every_type(dtype):
    rng = np.random.default_rng(0)
    index = rng.integers(0, 5, 600)
    values = rng.integers(0, 100, (600, 3)).astype(dtype)
    np.testing.assert_array_equal(added(5, index, values), expected(5, index, values))


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_atomics(dtype):
    rng = np.random.default_rng(0)
    index = rng.integers(0, 5, 600)
    values = rng.integers(0, 100, (600, 3)).astype(dtype)
    before = _core.get_flag("cuda_atomics")
    _core.set_flag("cuda_atomics", True)
    try:
        np.testing.assert_array_equal(added(5, index, values), expected(5, index, values))
    finally:
        _core.set_flag("cuda_atomics", before)


@pytest.mark.parametrize("n", SIZES)
def test_the_last_write_stays(n):
    rng = np.random.default_rng(n)
    index = rng.integers(0, 50, n)
    values = rng.normal(size=(n, 3)).astype("float32")
    want = np.zeros((50, 3), "float32")
    for i, v in zip(index, values, strict=True):
        want[i] = v
    got = F.scatter(
        to_variable(np.zeros((50, 3), "float32")), to_variable(index), to_variable(values)
    )
    np.testing.assert_array_equal(got.numpy(), want)


@pytest.mark.parametrize("n", SIZES)
def test_true_elements(n):
    rng = np.random.default_rng(n)
    x, mask = rng.normal(size=n).astype("float32"), rng.random(n) < 0.3
    np.testing.assert_array_equal(
        F.masked_select(to_variable(x), to_variable(mask)).numpy(), x[mask]
    )
    np.testing.assert_array_equal(F.where_index(to_variable(mask)).numpy(), np.argwhere(mask))


@pytest.mark.parametrize("n", [0, *SIZES])
def test_messages_of_many_edges(n):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(40, 2)).astype("float32")
    source, target = rng.integers(0, 40, n), rng.integers(0, 40, n)
    got = F.graph_send_recv(to_variable(x), to_variable(source), to_variable(target)).numpy()
    np.testing.assert_allclose(got, expected(40, target, x[source]), rtol=2e-5, atol=1e-5)


def test_a_forward_selection_waits_once():
    x, mask = to_variable(np.arange(6.0)), to_variable(np.arange(6) % 2 == 0)
    x.stop_gradient = False
    before = cuda.syncs()
    y = F.masked_select(x, mask)
    assert cuda.syncs() == before + 1
    y.sum().backward()
    assert cuda.syncs() == before + 1
    assert x.gradient().tolist() == [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("setting", ["LATE", "REVERSE"])
def test_late_and_in_reverse(setting):
    if not cuda_library.is_pretended():
        pytest.skip("a setting of the pretended CUDA")
    with cuda_library.pretending(**{setting: 1}):
        test_sums_have_the_order_of_the_list(5000, 70000)
        test_sums_have_the_order_of_the_list(40000, 7)
        test_the_last_write_stays(5000)
        test_true_elements(5000)
        test_messages_of_many_edges(5000)
