"""Arithmetic, sums and moves of complex numbers: operators of other families."""

import numpy as np
import pytest

import dygraph
from complex_case import check_gradients, randc
from dygraph import _core

ops = _core.ops
RNG = np.random.RandomState(3)


def some(*shape):
    return RNG.uniform(0.5, 1.5, shape) + 1j * RNG.uniform(-1, 1, shape)


BINARY = {
    "elementwise_add": np.add, "elementwise_sub": np.subtract, "elementwise_mul": np.multiply,
    "elementwise_div": np.divide,
}  # fmt: skip


@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (3,)), ((), (2,))])
@pytest.mark.parametrize("name", BINARY)
def test_pairs(name, shapes):
    x, y = some(*shapes[0]), some(*shapes[1])
    run = getattr(ops, name)
    for dtype, tolerance in (("complex128", 1e-14), ("complex64", 1e-6)):
        a, b = x.astype(dtype), y.astype(dtype)
        out = run(dygraph.to_variable(a), dygraph.to_variable(b))
        assert out.dtype.name == dtype
        np.testing.assert_allclose(out.numpy(), BINARY[name](x, y), rtol=tolerance)
    check_gradients(run, x, y)


def test_division_by_zero_and_of_large_numbers():
    x = np.array([1 + 1j, 0j, 1e300 + 1e300j, 1e-300j])
    y = np.array([0j, 0j, 1e300 - 1e300j, 1e-300 + 1e-300j])
    with np.errstate(all="ignore"):
        want = x / y
    got = (dygraph.to_variable(x) / dygraph.to_variable(y)).numpy()
    np.testing.assert_allclose(got, want, rtol=1e-15)


def test_sums_and_means():
    x = some(3, 4, 5)
    v = dygraph.to_variable(x)
    for axis in (None, 0, 1, -1, (0, 2)):
        np.testing.assert_allclose(v.sum(axis=axis).numpy(), x.sum(axis=axis))
        np.testing.assert_allclose(v.mean(axis=axis).numpy(), x.mean(axis=axis))
    large = some(300, 1000).astype("complex64")
    np.testing.assert_allclose(
        dygraph.to_variable(large).sum().item(), large.astype("complex128").sum(), rtol=1e-6
    )
    check_gradients(lambda z: [z.sum(axis=1), z.mean(axis=0), z.mean()], some(2, 3))
    listed = ops.sum([v, v, v])
    np.testing.assert_allclose(listed.numpy(), 3 * x)
    np.testing.assert_array_equal((-v).numpy(), -x)
    np.testing.assert_allclose((2.5 * v + 1.0).numpy(), 2.5 * x + 1)


MOVES = {
    "reshape": (lambda x: x.reshape(4, 3), lambda x: x.reshape(4, 3)),
    "transpose": (lambda x: x.transpose(1, 0), lambda x: x.T),
    "concat": (lambda x: dygraph.concat([x, x], axis=1), lambda x: np.concatenate([x, x], 1)),
    "stack": (lambda x: dygraph.stack([x, x], axis=1), lambda x: np.stack([x, x], 1)),
    "slice": (lambda x: x[1:, ::2], lambda x: x[1:, ::2]),
    "index": (lambda x: x[[2, 0, 2]], lambda x: x[[2, 0, 2]]),
    "take": (lambda x: dygraph.take(x, dygraph.asarray([1, 1]), axis=1), lambda x: x[:, [1, 1]]),
    "flip": (lambda x: dygraph.flip(x, axis=0), lambda x: x[::-1]),
    "roll": (lambda x: dygraph.roll(x, 1, 0), lambda x: np.roll(x, 1, 0)),
    "tile": (lambda x: dygraph.tile(x, [1, 2]), lambda x: np.tile(x, [1, 2])),
    "pad": (lambda x: ops.pad(x, paddings=[1, 0, 0, 2]), lambda x: np.pad(x, [[1, 0], [0, 2]])),
    "split": (lambda x: dygraph.split(x, num=2, axis=1)[1], lambda x: np.split(x, 2, 1)[1]),
    "tril": (lambda x: dygraph.tril(x), np.tril),
    "where": (
        lambda x: dygraph.where(x.real > 0.9, x, -x), lambda x: np.where(x.real > 0.9, x, -x)
    ),
    "broadcast": (
        lambda x: dygraph.broadcast_to(x, [2, 3, 4]), lambda x: np.broadcast_to(x, [2, 3, 4])
    ),
    "gather_nd": (
        lambda x: ops.gather_nd(x, dygraph.asarray([[0, 1], [2, 2], [0, 1]])),
        lambda x: x[[0, 2, 0], [1, 2, 1]],
    ),
    "take_along_axis": (
        lambda x: dygraph.take_along_axis(x, dygraph.asarray([[0, 0], [1, 2], [3, 3]]), axis=1),
        lambda x: np.take_along_axis(x, np.array([[0, 0], [1, 2], [3, 3]]), 1),
    ),
    "unbind": (lambda x: ops.unbind(x, axis=0)[1], lambda x: x[1]),
    "masked": (lambda x: x[dygraph.asarray([True, False, True])], lambda x: x[[0, 2]]),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVES)
def test_moves(name):
    ours, numpy = MOVES[name]
    x = some(3, 4)
    for dtype in ("complex128", "complex64"):
        np.testing.assert_array_equal(
            ours(dygraph.to_variable(x.astype(dtype))).numpy(), numpy(x.astype(dtype))
        )
    check_gradients(ours, x)


def test_assignment():
    x = some(3, 4)
    v, want = dygraph.to_variable(x), x.copy()
    v[1] = 2j
    want[1] = 2j
    v[0, 1:3] = dygraph.to_variable(np.array([1 + 1j, 5.0]))
    want[0, 1:3] = [1 + 1j, 5]
    v[[2, 2], [0, 3]] = 7.0
    want[[2, 2], [0, 3]] = 7
    np.testing.assert_array_equal(v.numpy(), want)


def test_images_change_their_order():
    """Memory orders of 4-D values: elements of 16 bytes."""
    x = randc(2, 3, 4, 5)
    v = _core.to_layout(dygraph.to_variable(x), "NHWC")
    np.testing.assert_array_equal(v.numpy(), x)
    np.testing.assert_allclose((v * v).numpy(), x * x, rtol=1e-14)


def test_comparisons_and_tests():
    x = np.array([1 + 1j, 1 - 1j, complex(np.nan, 0), complex(np.inf, np.nan)])
    v = dygraph.to_variable(x)
    assert (v == 1 + 1j).tolist() == (x == 1 + 1j).tolist()
    assert (v != v).tolist() == (x != x).tolist()
    for name in ("isnan", "isinf", "isfinite"):
        assert getattr(dygraph, name)(v).tolist() == getattr(np, name)(x).tolist()
    assert dygraph.any(v * 0 == 0).item() is True and dygraph.all(v[:2]).item() is True
    with pytest.raises(NotImplementedError, match="less_than.*complex128"):
        ops.less_than(v, v)


@pytest.mark.parametrize("shapes", [((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((3,), (3,))])
def test_products_of_matrices(shapes):
    x, y = some(*shapes[0]), some(*shapes[1])
    for run in (lambda a, b: a @ b, dygraph.matmul):
        got = run(dygraph.to_variable(x), dygraph.to_variable(y))
        np.testing.assert_allclose(got.numpy(), x @ y)
    check_gradients(lambda a, b: a @ b, x, y)
    real = np.ones((shapes[1][0], 2))
    np.testing.assert_allclose(
        (dygraph.to_variable(x) @ dygraph.to_variable(real)).numpy(), x @ real
    )


def test_functions():
    x = some(3, 4)
    v = dygraph.to_variable(x)
    np.testing.assert_allclose(dygraph.exp(v).numpy(), np.exp(x))
    np.testing.assert_allclose(abs(v).numpy(), np.abs(x))
    np.testing.assert_allclose(dygraph.square(v).numpy(), x * x)
    np.testing.assert_allclose(dygraph.reciprocal(v).numpy(), 1 / x)
    check_gradients(dygraph.exp, some(2, 2))
    check_gradients(dygraph.abs, some(2, 2))
    check_gradients(dygraph.reciprocal, some(2, 2))


def test_gradient_of_a_mixed_formula():
    """A real weight times a complex value: the gradient of the real one is real."""
    check_gradients(lambda w, z: abs(w * z + 1j * w).sum(), RNG.uniform(1, 2, 3), some(3))
    w = dygraph.to_variable([2.0])
    w.stop_gradient = False
    loss = ((w * 1j) * dygraph.to_variable([3j])).real.sum()
    loss.backward()
    assert w.gradient().tolist() == [-3.0] and w.grad.dtype.name == "float32"


def test_convention_of_gradients():
    """torch 2.13 and Paddle 2.6.2 give the same: z * 2 of |z|^2, conj(a) of Re(a z)."""
    z = dygraph.to_variable(np.array([1 + 2j]))
    z.stop_gradient = False
    (g,) = dygraph.grad([(z * z.conj()).real], [z])
    assert g.tolist() == [2 + 4j]
    (g,) = dygraph.grad([((3 - 1j) * z).real], [z])
    assert g.tolist() == [3 + 1j]
    with pytest.raises(dygraph.errors.DygraphError, match="must be real.*complex128"):
        (z * z).backward()
