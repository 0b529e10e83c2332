"""dygraph.linalg beside numpy.linalg, its errors and its degenerate cases."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dygraph
from dygraph import linalg

RNG = np.random.default_rng(0)
InvalidArgument = dygraph.errors.InvalidArgumentError
SHAPES = [
    (3, 3),
    (4, 3),
    (3, 4),
    (2, 4, 3),
    (2, 1, 3, 5),
    (1, 1),
    (0, 0),
    (0, 3),
    (3, 0),
    (0, 2, 2),
]
SQUARES = [(3, 3), (2, 3, 3), (2, 1, 4, 4), (1, 1), (0, 0), (0, 2, 2), (2, 0, 0)]


def var(array):
    return dygraph.to_variable(np.asarray(array))


def grown(array):
    v = var(array)
    v.stop_gradient = False
    return v


def mt(x):
    return np.swapaxes(x, -1, -2)


def positive(*shape):
    x = RNG.standard_normal(shape)
    return x @ mt(x) + np.eye(shape[-1])


def close(got, expected, tolerance=1e-11):
    expected = np.asarray(expected)
    assert isinstance(got, dygraph.Variable) and got.shape == expected.shape
    np.testing.assert_allclose(got.numpy(), expected, rtol=tolerance, atol=tolerance)


# Values -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_svd(shape, full):
    x = RNG.standard_normal(shape)
    u, s, vh = result = linalg.svd(var(x), full_matrices=full)
    assert result._fields == ("U", "S", "Vh")
    expected = np.linalg.svd(x, full_matrices=full)
    assert [v.shape for v in result] == [v.shape for v in expected]
    close(s, expected.S)
    k = min(shape[-2:])
    close(var(u.numpy()[..., :k] * s.numpy()[..., None, :] @ vh.numpy()[..., :k, :]), x)
    for q in (u.numpy(), mt(vh.numpy())):
        close(var(mt(q) @ q), np.broadcast_to(np.eye(q.shape[-1]), mt(q).shape[:-1] + q.shape[-1:]))
    close(linalg.svdvals(var(x)), expected.S)


@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("shape", SHAPES)
def test_qr(shape, mode):
    x = RNG.standard_normal(shape)
    q, r = result = linalg.qr(var(x), mode=mode)
    assert result._fields == ("Q", "R")
    assert [v.shape for v in result] == [v.shape for v in np.linalg.qr(x, mode)]
    close(q @ r, x)
    close(
        var(mt(q.numpy()) @ q.numpy()),
        np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1])),
    )
    assert not np.tril(r.numpy(), -1).any()


@pytest.mark.parametrize("uplo", ["L", "U"])
@pytest.mark.parametrize("shape", SQUARES)
def test_eigh(shape, uplo):
    x = RNG.standard_normal(shape)
    w, v = result = linalg.eigh(var(x), UPLO=uplo)
    assert result._fields == ("eigenvalues", "eigenvectors")
    close(w, np.linalg.eigvalsh(x, uplo))
    close(linalg.eigvalsh(var(x), uplo), np.linalg.eigvalsh(x, uplo))
    half = np.tril(x) if uplo == "L" else np.triu(x)
    full = half + mt(half) - half * np.eye(shape[-1])
    close(var(v.numpy() * w.numpy()[..., None, :] @ mt(v.numpy())), full)


@pytest.mark.parametrize("shape", SQUARES)
def test_square_matrices(shape):
    x, s = RNG.standard_normal(shape), positive(*shape)
    close(linalg.cholesky(var(s)), np.linalg.cholesky(s))
    close(linalg.cholesky(var(s), upper=True), mt(np.linalg.cholesky(s)))
    close(linalg.inv(var(x)), np.linalg.inv(x), 1e-9)
    close(linalg.det(var(x)), np.linalg.det(x))
    for got, expected in zip(linalg.slogdet(var(x)), np.linalg.slogdet(x), strict=True):
        close(got, expected)
    for n in (-2, 0, 1, 3):
        close(linalg.matrix_power(var(x), n), np.linalg.matrix_power(x, n), 1e-8)
    b = RNG.standard_normal((*shape[:-1], 2))
    close(linalg.solve(var(x), var(b)), np.linalg.solve(x, b), 1e-9)
    vector = RNG.standard_normal(shape[-1])
    close(linalg.solve(var(x), var(vector)), np.linalg.solve(x, vector), 1e-9)
    lower = np.linalg.cholesky(s)
    close(linalg.cholesky_solve(var(b), var(lower)), np.linalg.solve(s, b), 1e-9)
    close(linalg.solve_triangular(var(lower), var(b), upper=False), np.linalg.solve(lower, b), 1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_any_matrices(shape):
    x = RNG.standard_normal(shape)
    close(linalg.pinv(var(x)), np.linalg.pinv(x), 1e-10)
    if 0 not in shape:
        rank = linalg.matrix_rank(var(x))
        assert rank.dtype.name == "int64"
        close(rank, np.linalg.matrix_rank(x))
    p, lower, u = result = linalg.lu(var(x))
    assert result._fields == ("P", "L", "U")
    close(p @ lower @ u, x)
    assert (np.abs(lower.numpy()) <= 1).all() and not np.tril(u.numpy(), -1).any()
    again = linalg.lu_unpack(*linalg.lu_factor(var(x)))
    for a, b in zip(result, again, strict=True):
        close(a, b.numpy(), 0)
    close(linalg.diagonal(var(x), offset=1), np.linalg.diagonal(x, offset=1))
    close(linalg.trace(var(x)), np.linalg.trace(x))


def test_matrix_rank_takes_tolerances():
    x = np.stack([np.diag([1.0, 0.4, 1e-3]), np.diag([2.0, 0.0, 0.0])])
    assert linalg.matrix_rank(var(x), 0.5).tolist() == [1, 1]
    assert linalg.matrix_rank(var(x), rtol=0.3).tolist() == [2, 1]
    assert linalg.matrix_rank(var(x), var([0.1, 3.0])).tolist() == [2, 0]
    assert linalg.matrix_rank(var(x), rtol=var([0.3, 0.0]), hermitian=True).tolist() == [2, 1]
    with pytest.raises(InvalidArgument, match="give tol or rtol"):
        linalg.matrix_rank(var(x), 0.1, rtol=0.1)


@pytest.mark.parametrize("driver", ["gelsd", "gelsy", "gelss", "gels"])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (3, 3), (2, 4, 2)])
def test_lstsq(shape, driver):
    x, y = RNG.standard_normal(shape), RNG.standard_normal((*shape[:-1], 2))
    result = linalg.lstsq(var(x), var(y), driver=driver)
    assert result._fields == ("solution", "residuals", "rank", "singular_values")
    close(result.solution, np.linalg.pinv(x) @ y, 1e-10)
    over = shape[-2] > shape[-1]
    residuals = ((x @ result.solution.numpy() - y) ** 2).sum(-2)
    close(result.residuals, residuals if over else np.zeros(0))
    if len(shape) == 2 and driver == "gelsd":
        solution, residuals, rank, values = np.linalg.lstsq(x, y)
        close(result.solution, solution, 1e-10)
        close(result.residuals, residuals, 1e-10)
        assert result.rank.item() == rank
        close(result.singular_values, values)
        vector = linalg.lstsq(var(x), var(y[:, 0]))
        close(vector.solution, solution[:, 0], 1e-10)


def test_lstsq_of_less_rank():
    x = np.outer([1.0, 2.0, 3.0], [1.0, 1.0])
    y = RNG.standard_normal((3, 1))
    for driver in ("gelsd", "gelsy", "gelss"):
        result = linalg.lstsq(var(x), var(y), driver=driver)
        close(result.solution, np.linalg.lstsq(x, y)[0])
        assert result.rank.item() == 1


ORDS = ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)


@pytest.mark.parametrize("ord", ORDS)
def test_norms_of_matrices(ord):
    x = RNG.standard_normal((2, 3, 4))
    close(linalg.matrix_norm(var(x), ord=ord), np.linalg.matrix_norm(x, ord=ord))
    expected = np.linalg.matrix_norm(x, ord=ord, keepdims=True)
    close(linalg.matrix_norm(var(x), ord=ord, keepdims=True), expected)
    expected = np.linalg.norm(x, ord, axis=(2, 0))
    close(linalg.matrix_norm(var(x), ord, axis=(2, 0)), expected)
    close(linalg.norm(var(x), ord=ord, axis=(2, 0)), expected)
    close(linalg.norm(var(x[0]), ord=ord), np.linalg.norm(x[0], ord))
    close(linalg.cond(var(x[:, :, :3]), ord), np.linalg.cond(x[:, :, :3], ord), 1e-9)


@pytest.mark.parametrize("ord", [2, 1, 0, 3.5, np.inf, -np.inf])
def test_norms_of_vectors(ord):
    x = RNG.standard_normal((2, 3, 4))
    for axis in (None, 1, (0, 2)):
        for keep in (False, True):
            close(
                linalg.vector_norm(var(x), ord=ord, axis=axis, keepdims=keep),
                np.linalg.vector_norm(x, ord=ord, axis=axis, keepdims=keep),
            )
    close(linalg.norm(var(x), ord, 1), np.linalg.norm(x, ord, 1))
    close(linalg.norm(var(x[0, 0]), ord), np.linalg.norm(x[0, 0], ord))
    close(linalg.norm(var(x)), np.linalg.norm(x))


def test_what_libraries_read_differently_raises():
    x = var(RNG.standard_normal((3, 3)))
    stack = var(RNG.standard_normal((3, 3, 3)))
    for call in (
        lambda: linalg.norm(x, 2),  # NumPy's spectral norm, Paddle's of all elements
        lambda: linalg.norm(x, 1, (0, 1)),
        lambda: linalg.norm(x, p=2),
        lambda: linalg.solve(stack, x),  # NumPy's matrix, torch's three vectors
        lambda: linalg.qr(x, "r"),
        lambda: linalg.outer(x, x),
    ):
        with pytest.raises(ValueError if call.__code__.co_names[1] != "norm" else Exception):
            call()
    with pytest.raises(AttributeError, match="dygraph.linalg.matrix_exp"):
        linalg.expm  # noqa: B018
    w, v = linalg.eig(x)
    close(abs(var(x.numpy()) @ v - v * w), np.zeros((3, 3)))


def test_products():
    x, y = RNG.standard_normal((2, 3)), RNG.standard_normal(3)
    close(linalg.cross(var(x), var(y)), np.linalg.cross(x, np.broadcast_to(y, x.shape)))
    close(linalg.outer(var(y), var(x[0])), np.linalg.outer(y, x[0]))
    close(linalg.vecdot(var(x), var(y)), np.linalg.vecdot(x, y))
    parts = [RNG.standard_normal(s) for s in ((2, 50), (50, 3), (3, 40), (40, 2))]
    close(linalg.multi_dot([var(p) for p in parts]), np.linalg.multi_dot(parts))
    assert linalg.diagonal(var(np.arange(6).reshape(2, 3))).tolist() == [0, 4]
    a, b = np.array([[0.0, 1.0], [-1.0, 0.0]]), 0.5
    turned = [[np.cos(b), np.sin(b)], [-np.sin(b), np.cos(b)]]
    close(linalg.matrix_exp(var(b * a)), turned)
    close(linalg.matrix_exp(var(np.diag([50.0, -50.0]))), np.diag(np.exp([50.0, -50.0])), 1e-12)


@pytest.mark.parametrize("name", ["inv", "det", "svdvals", "pinv", "eigvalsh", "cholesky"])
def test_float32(name):
    x = positive(2, 3, 3).astype("float32")
    got = getattr(linalg, name)(var(x))
    reference = "svdvals" if name == "svdvals" else name
    assert got.dtype.name == "float32"
    close(got, getattr(np.linalg, reference)(x), 2e-5)


def test_integers_compute_in_the_default_type():
    assert linalg.det(var(np.array([[1, 2], [3, 4]]))).dtype.name == "float32"


# Degenerate cases ---------------------------------------------------------------------------------

SINGULAR = np.stack([np.eye(2), np.ones((2, 2)), np.zeros((2, 2))])


@pytest.mark.parametrize("name", ["inv", "solve"])
def test_singular_matrices_are_named(name):
    arguments = [var(SINGULAR)] + [var(np.ones((3, 2, 1)))] * (name == "solve")
    with pytest.raises(InvalidArgument, match="matrix 1 of the stack is singular: pivot 1 is 0"):
        getattr(linalg, name)(*arguments)
    with pytest.raises(InvalidArgument, match="the matrix is singular"):
        getattr(linalg, name)(*[a[1] for a in arguments])
    assert isinstance(InvalidArgument(""), ValueError)  # as LinAlgError is


def test_others_name_the_matrix():
    s = np.stack([np.eye(2), np.diag([1.0, -1.0])])
    with pytest.raises(InvalidArgument, match="matrix 1 of the stack is not: .* order 2"):
        linalg.cholesky(var(s))
    with pytest.raises(InvalidArgument, match="positive definite"):
        linalg.cholesky(var([[np.nan]]))
    with pytest.raises(InvalidArgument, match="element 1 of its diagonal is 0"):
        linalg.solve_triangular(
            var(np.triu(SINGULAR[2]) + np.diag([1.0, 0])), var(np.ones((2, 1))), upper=True
        )
    with pytest.raises(InvalidArgument, match="full rank"):
        linalg.lstsq(var(np.outer(np.ones(3), [1.0, 0.0])), var(np.ones((3, 1))), driver="gels")
    with pytest.raises(InvalidArgument, match="is singular"):
        x = grown(np.zeros((2, 2)))
        linalg.det(x).backward()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity(bad):
    x = np.stack([np.eye(3), np.eye(3)])
    x[1, 2, 0] = bad
    for name in ("svd", "svdvals", "pinv", "eigh", "eigvalsh", "matrix_rank"):
        with pytest.raises(InvalidArgument, match="matrix 1 of the stack has NaN or infinity"):
            getattr(linalg, name)(var(x))
    with pytest.raises(InvalidArgument, match="has NaN or infinity"):
        linalg.lstsq(var(x), var(np.ones((2, 3, 1))))
    with pytest.raises(InvalidArgument, match="matrix 1 of the stack is not"):
        linalg.cholesky(var(x))
    assert np.isnan(linalg.matrix_exp(var(x)).numpy()[1]).all()


@pytest.mark.parametrize("at", [(0, 0), (0, 1), (1, 0)])
def test_a_nan_leaves_no_number_that_depends_on_it(at):
    """LAPACK passes a NaN over when it seeks pivots: of [[nan, 1], [0, 2]] it inverts a part."""
    x = np.stack([np.eye(2), [[0.0, 1.0], [0.0, 2.0]]])
    x[1][at] = np.nan
    inverse = linalg.inv(var(x)).numpy()
    assert (inverse[0] == np.eye(2)).all() and np.isnan(inverse[1]).all()
    solution = linalg.solve(var(x), var(np.ones((2, 2, 1)))).numpy()
    assert (solution[0] == 1).all() and np.isnan(solution[1]).all()
    assert np.isnan(linalg.matrix_power(var(x), -2).numpy()[1]).all()
    assert np.isnan(linalg.det(var(x)).numpy()[1])
    assert np.isnan([v.numpy()[1] for v in linalg.slogdet(var(x))]).all()


@pytest.mark.parametrize("name", "inv det slogdet eigh eigvalsh cholesky matrix_exp".split())
def test_shapes_are_checked(name):
    with pytest.raises(InvalidArgument, match="square"):
        getattr(linalg, name)(var(np.ones((2, 3))))
    with pytest.raises(InvalidArgument, match="must be a matrix"):
        getattr(linalg, name)(var(np.ones(3)))


def test_equal_values():
    """Gradients of the values exist; those of the vectors are not finite, as in torch 2.13."""
    x = grown(np.eye(3))
    linalg.svdvals(x).sum().backward()
    close(var(x.gradient()), np.eye(3))
    x = grown(np.eye(3))
    linalg.eigvalsh(x).sum().backward()
    close(var(x.gradient()), np.eye(3))
    x = grown(np.eye(3))
    linalg.svd(x).S.sum().backward()
    close(var(x.gradient()), np.eye(3))
    weights = var(RNG.standard_normal((3, 3)))
    for f in (lambda x: linalg.svd(x, full_matrices=False).U, lambda x: linalg.eigh(x)[1]):
        x = grown(np.eye(3))
        (f(x) * weights).sum().backward()
        assert not np.isfinite(x.gradient()).all()
    x = grown(np.eye(3))
    (linalg.pinv(x) * weights).sum().backward()  # which does not pass through svd
    close(var(x.gradient()), -weights.numpy())


def test_gradients_that_are_refused():
    x = grown(RNG.standard_normal((4, 3)))
    with pytest.raises(dygraph.errors.UnimplementedError, match="mode='reduced'"):
        linalg.qr(x, "complete").R.sum().backward()
    with pytest.raises(dygraph.errors.UnimplementedError, match="full_matrices=False"):
        linalg.svd(x).U.sum().backward()
    with pytest.raises(dygraph.errors.UnimplementedError, match="Residuals"):
        linalg.lstsq(x, var(np.ones((4, 1)))).residuals.sum().backward()


def test_singular_square_matrices_have_gradients_of_vectors():
    """Terms of tall and wide matrices divide by values that may be 0 in square ones."""
    x = np.diag([3.0, 2.0, 0.0])
    v = grown(x)
    weights = RNG.standard_normal((3, 3))
    (linalg.svd(v, full_matrices=False).U ** 2 * var(weights)).sum().backward()
    assert np.isfinite(v.gradient()).all()


# Gradients of compositions ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda x: linalg.cond(x),
        lambda x: linalg.cond(x, "fro"),
        lambda x: linalg.matrix_norm(x, ord="nuc"),
        lambda x: linalg.matrix_norm(x, ord=2),
        lambda x: linalg.matrix_norm(x, ord=1),
        lambda x: linalg.slogdet(x).logabsdet,
        lambda x: linalg.lu(x).U.sum(),
        lambda x: linalg.pinv(x, hermitian=True).sum(),
        lambda x: linalg.solve(linalg.matrix_exp(x), var(np.ones(3))).sum(),
        lambda x: linalg.trace(x) * linalg.diagonal(x, offset=-1).sum(),
    ],
)
def test_gradients_against_differences(f):
    x = RNG.standard_normal((3, 3))
    v = grown(x)
    f(v).sum().backward()
    step = 1e-6
    for i in np.ndindex(x.shape):
        ends = [x.copy(), x.copy()]
        ends[0][i] += step
        ends[1][i] -= step
        a, b = (f(var(e)).sum().item() for e in ends)
        np.testing.assert_allclose(v.gradient()[i], (a - b) / (2 * step), rtol=1e-5, atol=1e-6)


# The library --------------------------------------------------------------------------------------


def test_same_bits_for_any_number_of_threads():
    x = positive(40, 24, 24)
    large = RNG.standard_normal((300, 300))
    before = dygraph.num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            dygraph.set_num_threads(threads)
            found = [
                linalg.inv(var(x)), linalg.eigh(var(x))[1], linalg.svd(var(x)).U,
                linalg.solve(var(large), var(large[:, :7])), linalg.qr(var(large)).Q,
                linalg.svdvals(var(large)),
            ]  # fmt: skip
            results.append([v.numpy().tobytes() for v in found])
        assert results[0] == results[1] == results[2]
    finally:
        dygraph.set_num_threads(before)


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


INVERT = "import dygraph; print(dygraph.linalg.inv(dygraph.asarray([[2.0]])).item())"


def test_flag_names_a_library():
    result = run(INVERT, FLAGS_lapack="/nowhere/liblapack.so")
    assert "FLAGS_lapack must be a library with LAPACK" in result.stderr
    scipy = pytest.importorskip("scipy")  # whose library has integers of 32 bits
    (library,) = (Path(scipy.__path__[0]).parent / "scipy.libs").glob("libscipy_openblas*")
    code = (
        "import dygraph, numpy as np; x = np.random.default_rng(0).standard_normal((3, 5, 4))\n"
        "L, v = dygraph.linalg, dygraph.to_variable(x)\n"
        "s = dygraph.to_variable(x @ np.swapaxes(x, -1, -2) + np.eye(5))\n"
        "assert np.allclose(L.svd(v).S.numpy(), np.linalg.svd(x)[1])\n"
        "assert np.allclose(L.inv(s).numpy(), np.linalg.inv(s.numpy()))\n"
        "assert np.allclose(L.eigh(s)[0].numpy(), np.linalg.eigh(s.numpy())[0])\n"
        "p, l, u = L.lu(v); assert np.allclose((p @ l @ u).numpy(), x)\n"
        "for d in ('gels', 'gelsd', 'gelsy', 'gelss'):\n"
        "    y = L.lstsq(v, v, driver=d).solution\n"
        "    assert np.allclose(y.numpy(), np.eye(4))\n"
        "print('fine')"
    )
    result = run(code, FLAGS_lapack=str(library))
    assert result.stdout == "fine\n", result.stderr


def test_import_does_not_look_for_a_library():
    code = "import dygraph, sys; print('dygraph.linalg' in sys.modules, 'scipy' in sys.modules)"
    assert run(code).stdout == "False False\n"


def test_fork_and_numpy_threads():
    """OpenBLAS's own setting is as before after each call, also in a child."""
    code = (
        "import os, numpy as np, dygraph\n"
        "x = dygraph.to_variable(np.eye(200) * 2)\n"
        "y = dygraph.linalg.inv(x)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    ok = np.allclose(dygraph.linalg.inv(x).numpy(), np.eye(200) / 2)\n"
        "    os._exit(0 if ok and np.allclose(np.linalg.inv(x.numpy()), np.eye(200) / 2) else 3)\n"
        "print(os.waitpid(child, 0)[1])"
    )
    assert run(code).stdout == "0\n"


# Programs -----------------------------------------------------------------------------------------


def everything(x):
    """A number that depends on most functions, of a stack of square matrices."""
    s = x @ dygraph.matrix_transpose(x) + 0.5
    parts = [
        linalg.svd(x, full_matrices=False).S, linalg.eigh(s).eigenvalues, linalg.qr(x).R ** 2,
        linalg.cholesky(s), linalg.solve(s, x), linalg.inv(s), linalg.pinv(x), linalg.det(x),
        linalg.slogdet(s).logabsdet, linalg.lu(x).U, linalg.matrix_power(x, 3),
        linalg.matrix_exp(x), linalg.lstsq(s, x).solution, linalg.cond(s),
        linalg.matrix_norm(x, ord="nuc"), linalg.vector_norm(x, axis=-1), linalg.trace(x),
        linalg.solve_triangular(s, x, upper=True), linalg.matrix_rank(s).astype("float64"),
    ]  # fmt: skip
    return sum(dygraph.sum(p) for p in parts)


def test_to_static():
    captured = dygraph.jit.to_static(everything)
    for count in (2, 3):
        x = RNG.standard_normal((count, 3, 3))
        a, b = grown(x), grown(x)
        y, z = everything(a), captured(b)
        y.backward(), z.backward()
        np.testing.assert_allclose(z.numpy(), y.numpy(), rtol=1e-12)
        np.testing.assert_allclose(b.gradient(), a.gradient(), rtol=1e-10)


def test_program_of_unknown_batch():
    static = dygraph.static
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [-1, 3, 3], "float64")
        x.stop_gradient = False
        loss = everything(x)
        (gradient,) = static.gradients([loss], [x])
    executor = static.Executor()
    for count in (1, 4):
        given = RNG.standard_normal((count, 3, 3))
        v = grown(given)
        expected = everything(v)
        expected.backward()
        got, slope = executor.run(program, feed={"x": given}, fetch_list=[loss, gradient])
        np.testing.assert_allclose(got, expected.numpy(), rtol=1e-12)
        np.testing.assert_allclose(slope, v.gradient(), rtol=1e-10)
