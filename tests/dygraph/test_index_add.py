"""index_add, cdist and lerp: values of NumPy, both orders of arguments, two derivatives."""

import numpy as np
import pytest

import dygraph

RNG = np.random.RandomState(0)
X, SOURCE = RNG.randn(4, 3), RNG.randn(5, 3)
INDEX = [1, 1, 3, 0, 1]


def var(values):
    return dygraph.to_variable(np.asarray(values))


def expected(x, axis, index, source):
    x = np.moveaxis(x.copy(), axis, 0)
    np.add.at(x, index, np.moveaxis(source, axis, 0))
    return np.moveaxis(x, 0, axis)


@pytest.mark.parametrize("axis", [0, -2])
def test_index_add(axis):
    x, index, source = var(X), var(INDEX), var(SOURCE)
    wanted = expected(X, axis, INDEX, SOURCE)
    for out in (
        dygraph.index_add(x, axis, index, source),  # torch's order
        dygraph.index_add(x, index, axis, source),  # Paddle's
        x.index_add(axis, index, source),
    ):
        np.testing.assert_allclose(out.numpy(), wanted)
    np.testing.assert_array_equal(x.numpy(), X)


def test_index_add_along_another_axis():
    wanted = expected(X, 1, [2, 0, 2, 2, 2], 3 * SOURCE[:4, [0, 1, 2, 0, 1]])
    out = var(X).index_add(1, var([2, 0, 2, 2, 2]), var(SOURCE[:4, [0, 1, 2, 0, 1]]), alpha=3)
    np.testing.assert_allclose(out.numpy(), wanted)


def test_index_add_has_two_derivatives():
    x, source = var(X).requires_grad_(), var(SOURCE).requires_grad_()
    out = dygraph.index_add(x * x, 0, var(INDEX), source**3)
    gx, gs = dygraph.grad((out * out).sum(), [x, source], create_graph=True)
    total = expected(X**2, 0, INDEX, SOURCE**3)
    np.testing.assert_allclose(gx.numpy(), 4 * X * total, rtol=1e-6)
    np.testing.assert_allclose(gs.numpy(), 6 * SOURCE**2 * total[INDEX], rtol=1e-6)
    (second,) = dygraph.grad(gx.sum(), source)
    np.testing.assert_allclose(second.numpy(), 12 * SOURCE**2 * X[INDEX], rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((0, var([0, 1]), var(SOURCE)), ValueError, r"index \[2\] and source \[5, 3\]"),
        ((0, var([[0]]), var(SOURCE[:1])), ValueError, r"index must be \[n\]"),
        ((0, var([9]), var(SOURCE[:1])), IndexError, "got 9"),
        ((2, var([0]), var(SOURCE[:1])), IndexError, "axis"),
        ((0, [0], var(SOURCE[:1])), TypeError, "index must be a Variable"),
    ],
)
def test_index_add_refuses(arguments, error, words):
    with pytest.raises(error, match=words):
        dygraph.index_add(var(X), *arguments)


@pytest.mark.parametrize("p", [2.0, 1.0, float("inf")])
def test_cdist(p):
    wanted = np.linalg.norm(X[:, None] - SOURCE[None], p, axis=-1)
    np.testing.assert_allclose(dygraph.cdist(var(X), var(SOURCE), p).numpy(), wanted, rtol=1e-6)
    batches = dygraph.cdist(var(np.stack([X, X])), var(SOURCE), p)
    np.testing.assert_allclose(batches.numpy()[1], wanted, rtol=1e-6)


def test_cdist_has_two_derivatives():
    """The sum of the squared distances of x and y has the gradients 2 (x_i - y_j), summed."""
    x = var(X).requires_grad_()
    loss = (dygraph.cdist(x, var(SOURCE)) ** 2).sum()
    (first,) = dygraph.grad(loss, x, create_graph=True)
    wanted = 2 * (X[:, None] - SOURCE[None]).sum(1)
    np.testing.assert_allclose(first.numpy(), wanted, rtol=1e-6, atol=1e-9)
    (second,) = dygraph.grad(first.sum(), x)
    np.testing.assert_allclose(second.numpy(), np.full((4, 3), 10.0), rtol=1e-6)
    (same,) = dygraph.grad(dygraph.cdist(x, x).sum(), x)  # a distance of 0 has the gradient 0
    assert np.isfinite(same.numpy()).all()
    for y in (var(X[0]), var(SOURCE[:, :2])):
        with pytest.raises(ValueError, match="cdist: "):
            dygraph.cdist(x, y)


def test_lerp_and_factors_in_place():
    x, y = var([0.0, 10.0]), var([4.0, 20.0])
    assert dygraph.lerp(x, y, 0.25).tolist() == [1.0, 12.5]
    assert dygraph.lerp(x, y, var([1.0, 0.0])).tolist() == [4.0, 10.0]
    average = x.clone()
    assert average.lerp_(y, 0.25) is average and average.tolist() == [1.0, 12.5]
    assert average.add_(y, alpha=0.5).tolist() == [3.0, 22.5]
    assert average.sub_(1, alpha=2).tolist() == [1.0, 20.5]
    assert average.mul_(0.5).add_(y, alpha=0.5).tolist() == [2.5, 20.25]  # an average of weights
