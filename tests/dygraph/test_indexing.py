"""x[index] and x[index] = value, against NumPy."""

import warnings

import numpy as np
import pytest

import dygraph
from dygraph import _core

A = np.arange(60, dtype="float32").reshape(3, 4, 5)

CASES = [
    np.s_[0],
    np.s_[-1],
    np.s_[1, 2, 3],
    np.s_[1, -2],
    np.s_[:],
    np.s_[...],
    np.s_[()],
    np.s_[1:],
    np.s_[:-1, 1:3],
    np.s_[::2],
    np.s_[::-1],
    np.s_[::-2, ::3],
    np.s_[2:0:-1],
    np.s_[-1:-10:-1],
    np.s_[5:1],
    np.s_[1:100],
    np.s_[..., 0],
    np.s_[..., -1:],
    np.s_[0, ...],
    np.s_[1, ..., 2],
    np.s_[None],
    np.s_[:, None],
    np.s_[..., None],
    np.s_[0, None, 1:3],
    np.s_[None, 1, None, ::-1, 2],
    np.s_[np.int64(1), np.int32(-1)],
]


def var(values, grad=False):
    x = dygraph.to_variable(values)
    if grad:
        x.stop_gradient = False
    return x


@pytest.mark.parametrize("index", CASES, ids=str)
def test_reads_as_numpy(index):
    got = var(A)[index]
    assert got.shape == A[index].shape
    assert np.array_equal(got.numpy(), A[index])


@pytest.mark.parametrize("index", CASES, ids=str)
def test_gradient_goes_to_the_part(index):
    x = var(A, grad=True)
    part = x[index]
    part.backward(np.ones(part.shape, "float32"))
    expected = np.zeros_like(A)
    expected[index] = 1
    assert np.array_equal(x.gradient(), expected)


@pytest.mark.parametrize("index", CASES, ids=str)
def test_writes_as_numpy(index):
    x, expected = var(A), A.copy()
    x[index] = 7.0
    expected[index] = 7.0
    assert np.array_equal(x.numpy(), expected)


def test_0d_and_zero_size():
    assert var(np.float32(3.0))[()].item() == 3.0
    assert var(np.float32(3.0))[None].shape == (1,)
    assert var(np.zeros((0, 3)))[:, 1:].shape == (0, 2)
    with pytest.raises(IndexError):
        var(np.float32(3.0))[0]
    with pytest.raises(IndexError):
        var(np.zeros((0, 3)))[0]


def test_variables_as_indices():
    i = var(np.array(2))
    assert np.array_equal(var(A)[i].numpy(), A[2])
    assert np.array_equal(var(A)[:i].numpy(), A[:2])


@pytest.mark.parametrize("index", [3, -4, (0, 4), (0, 0, 0, 0), (..., ...)], ids=str)
def test_out_of_range(index):
    x = var(A)
    with pytest.raises(IndexError):
        x[index]
    with pytest.raises(IndexError):
        x[index] = 0.0


@pytest.mark.parametrize(
    "index", ["a", 1.5, (0, "b"), [0.5], A, object()], ids=lambda i: str(type(i))
)
def test_what_is_no_index(index):
    for bad in (index, (0, index)):
        with pytest.raises(IndexError, match="integers"):
            var(A)[bad]
    with pytest.raises(TypeError, match="slice"):
        var(A)["a":]
    with pytest.raises(IndexError, match="float32"):
        var(A)[var(A)]


def test_zero_step():
    with pytest.raises(ValueError):
        var(A)[::0]


def test_written_values_are_broadcast_and_cast():
    x, expected = var(A), A.copy()
    x[1] = np.arange(5)
    expected[1] = np.arange(5)
    x[:, 0, 0] = var(np.array([1.5, 2.5, 3.5]))
    expected[:, 0, 0] = [1.5, 2.5, 3.5]
    assert np.array_equal(x.numpy(), expected)
    with pytest.raises(ValueError):
        x[0] = np.zeros((3, 3), "float32")
    for bad in (None, "a"):
        with pytest.raises(TypeError):
            x[0] = bad
    with pytest.raises(TypeError):
        del x[0]


def test_gradient_through_a_write():
    base, value = var(np.ones(4, "float32"), grad=True), var(np.array([5.0], "float32"), grad=True)
    x = base * 2.0
    x[1:2] = value
    (x * x).backward()
    assert base.gradient().tolist() == [8.0, 0.0, 8.0, 8.0]
    assert value.gradient().tolist() == [10.0]


def test_writing_keeps_what_others_hold():
    x = var(A)
    y = x.detach()
    x[0] = 0.0
    assert np.array_equal(y.numpy(), A)


class TestTemporaries:
    @pytest.mark.parametrize("make", [lambda x: x[A > 3], lambda x: x[[0, 1]], lambda x: x + 1])
    def test_a_lost_write_warns(self, make):
        x = var(A)
        with pytest.warns(UserWarning, match=r"x\[mask\]"):
            make(x)[0] = 1.0
        assert np.array_equal(x.numpy(), A)

    def test_kept_variables_do_not_warn(self):
        class Holder:
            pass

        holder = Holder()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            x = var(A)
            x[0] = 1.0
            y = x[1].clone()
            y[0] = 2.0
            holder.x = x
            holder.x[1] = 3.0
            [x][0][0, 0] = 4.0
            w = var(np.ones(3, "float32"), grad=True)
            (w * w).backward()
            w.grad[0] = 0.0
        assert w.gradient().tolist() == [0.0, 2.0, 2.0]
        assert y.numpy()[0].tolist() == [2.0] * 5


class TestInPlace:
    WRITES = [np.s_[0], np.s_[::2, 1], np.s_[[0, 2]], np.s_[[0, 1], [1, 1]]]

    @pytest.mark.parametrize("index", WRITES, ids=str)
    def test_memory_that_nobody_shares_is_written_where_it_lies(self, index):
        x, expected = var(A), A.copy()
        before = _core.data_pointer(x)
        x[index] = -1.0
        expected[index] = -1.0
        assert _core.data_pointer(x) == before and np.array_equal(x.numpy(), expected)

    @pytest.mark.parametrize("index", [*WRITES, A > 30], ids=str)
    def test_shared_memory_is_left_alone(self, index):
        x = var(A)
        twin, view = x.detach(), np.asarray(x)
        x[index] = -1.0
        assert np.array_equal(twin.numpy(), A) and np.array_equal(view, A)
        assert (x.numpy()[index] == -1.0).all()

    @pytest.mark.parametrize("index", [*WRITES, A > 30], ids=str)
    def test_a_leaf_that_needs_a_gradient_is_not_written_while_recording(self, index):
        x = var(A, grad=True)
        with pytest.raises(RuntimeError, match="no_grad"):
            x[index] = -1.0
        assert np.array_equal(x.numpy(), A)
        with dygraph.no_grad():
            x[index] = -1.0
        assert (x.numpy()[index] == -1.0).all() and not x.stop_gradient

    @pytest.mark.parametrize("index", [*WRITES, A > 30], ids=str)
    def test_a_failed_write_changes_nothing(self, index):
        x = var(A)
        for bad in (np.zeros((7, 7), "float32"), var(np.zeros(77, "float32"))):
            with pytest.raises(ValueError):
                x[index] = bad
        for outside in ([0, 9], ([0, 1], 9)):
            with pytest.raises(IndexError):
                x[outside] = 1.0
        assert np.array_equal(x.numpy(), A)

    def test_a_part_of_itself(self):
        for index in (np.s_[::-1], [2, 1, 0]):
            x = var(A)
            x[index] = x
            assert np.array_equal(x.numpy(), A[::-1])

    def test_what_the_tape_keeps_stays(self):
        w = var(A, grad=True)
        x = var(A)
        y = w * x
        x[[0, 1]] = 0.0
        x[2] = 0.0
        y.sum().backward()
        assert np.array_equal(w.gradient(), A)

    @pytest.mark.parametrize("index", [np.s_[0], [1], np.arange(5) > 2], ids=str)
    def test_the_lod_stays(self, index):
        x = dygraph.to_variable(np.zeros((5, 2)), lod=[[0, 2, 5]])
        x[index] = 1.0
        assert x.lod() == [[0, 2, 5]]
