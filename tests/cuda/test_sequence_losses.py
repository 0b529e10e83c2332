"""Losses over sequences on a device: the host's numbers at sizes beyond a warp, without a wait.
What is wrong with lengths, labels and matrices is reported as bad indices are."""

import numpy as np
import pytest

import cuda_library
from dygraph import _core, cuda, to_variable
from dygraph import ops as F

PLACE = cuda_library.place()
HOST = _core.CPUPlace()
pytestmark = pytest.mark.skipif(PLACE is None, reason="no CUDA library")


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def crf(values, weights):
    tags = np.random.default_rng(1).integers(0, 70, (3, 40))
    return F.linear_chain_crf(
        values, weights, to_variable(tags), length=to_variable(np.array([[40], [1], [17]]))
    )


def ctc(values):
    label = np.array([[5, 5, 9, 5, 7], [1, 2, 1, 0, 0], [3, 0, 0, 0, 0]])
    return F.warpctc(
        values,
        to_variable(label),
        blank=299,
        logits_length=to_variable(np.array([30, 12, 0])),
        label_length=to_variable(np.array([5, 3, 0])),
    )


def rnnt(values):
    label = np.array([[4, 4, 2, 39], [1, 0, 0, 0]])
    return F.warprnnt(
        values, to_variable(label), to_variable(np.array([9, 6])), to_variable(np.array([4, 1]))
    )


CASES = {
    "linear_chain_crf": (crf, [(3, 40, 70), (72, 70)]),
    "warpctc": (ctc, [(30, 3, 300)]),
    "warprnnt": (rnnt, [(2, 9, 5, 40)]),
}


def loss_and_slopes(name, place):
    call, shapes = CASES[name]
    with cuda_library.on(place):
        inputs = [to_variable(numbers(*shape, seed=i)) for i, shape in enumerate(shapes)]
        for v in inputs:
            v.stop_gradient = False
        loss = call(*inputs)
        loss.sum().backward()
        return [loss.numpy(), *(v.gradient() for v in inputs)]


@pytest.mark.parametrize("name", CASES)
def test_the_hosts_numbers(name):
    for got, want in zip(loss_and_slopes(name, PLACE), loss_and_slopes(name, HOST), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_a_step_waits_for_nothing(name):
    call, shapes = CASES[name]
    with cuda_library.on(PLACE):
        inputs = [to_variable(numbers(*shape)) for shape in shapes]
        for v in inputs:
            v.stop_gradient = False
        before = cuda.syncs()
        call(*inputs).sum().backward()
        assert cuda.syncs() == before


def test_a_length_beyond_the_steps_is_reported():
    with cuda_library.on(PLACE):
        label, size = to_variable(np.array([[1]])), to_variable(np.array([1]))
        loss = F.warpctc(
            to_variable(numbers(2, 1, 3)),
            label,
            logits_length=to_variable(np.array([3])),
            label_length=size,
        )
        with pytest.raises(IndexError, match=r"LogitsLength must lie in \[0, 3\), got 3"):
            loss.numpy()
        cuda.synchronize()


def test_a_blank_among_the_labels_is_reported():
    with cuda_library.on(PLACE):
        size = to_variable(np.array([1]))
        loss = F.warpctc(
            to_variable(numbers(2, 1, 3)),
            to_variable(np.array([[0]])),
            logits_length=to_variable(np.array([2])),
            label_length=size,
        )
        with pytest.raises(ValueError, match="Label must not hold blank, got 0"):
            loss.numpy()
        cuda.synchronize()


def test_a_tag_that_is_none_is_reported():
    with cuda_library.on(PLACE):
        loss = F.linear_chain_crf(
            to_variable(numbers(1, 2, 2)),
            to_variable(numbers(4, 2)),
            to_variable(np.array([[0, 2]])),
            length=to_variable(np.array([[2]])),
        )
        with pytest.raises(IndexError, match=r"Label must lie in \[0, 2\), got 2"):
            loss.numpy()
        cuda.synchronize()


@pytest.mark.parametrize("call", ["inverse", "cholesky", "solve"])
def test_a_matrix_without_a_result_is_reported(call):
    with cuda_library.on(PLACE):
        x = to_variable(np.array([np.eye(3), np.zeros((3, 3))]))
        out = F.solve(x, x) if call == "solve" else getattr(F, call)(x)
        with pytest.raises(ValueError, match="matrix 1 is"):
            out.numpy()
        cuda.synchronize()
        assert F.inverse(to_variable(np.eye(2))).tolist() == np.eye(2).tolist()
