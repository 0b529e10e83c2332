"""NumPy's functions and ufuncs on Variables: the values of NumPy, with gradients."""

import numpy as np
import pytest

import dygraph
from dygraph import _core
from dygraph.core import numpy_functions, numpy_protocol

RNG = np.random.default_rng(3)
A = RNG.uniform(0.2, 0.9, (3, 4))
B = RNG.uniform(0.2, 0.9, (3, 4))
V = RNG.uniform(0.2, 0.9, 4)
MASK = A > 0.5

# Each takes what stands for A and B: arrays first, then Variables.
DIFFERENTIABLE = {
    "add": lambda a, b: np.add(a, b),
    "subtract": lambda a, b: np.subtract(a, b),
    "multiply": lambda a, b: np.multiply(a, b),
    "divide": lambda a, b: np.divide(a, b),
    "true_divide": lambda a, b: np.true_divide(a, 2.0) + np.true_divide(1.0, b),
    "power": lambda a, b: np.power(a, b) + np.power(a, 2.0) + np.power(2.0, b),
    "float_power": lambda a, b: np.float_power(a, b),
    "negative": lambda a, b: np.negative(a),
    "positive": lambda a, b: np.positive(a) * b,
    "matmul": lambda a, b: np.matmul(a, np.transpose(b)),
    "maximum": lambda a, b: np.maximum(a, b),
    "minimum": lambda a, b: np.minimum(a, 0.5),
    "fmax": lambda a, b: np.fmax(a, b),
    "fmin": lambda a, b: np.fmin(0.5, b),
    "hypot": lambda a, b: np.hypot(a, b),
    "reciprocal": lambda a, b: np.reciprocal(a),
    "sqrt": lambda a, b: np.sqrt(a),
    "exp": lambda a, b: np.exp(a),
    "log": lambda a, b: np.log(a),
    "tanh": lambda a, b: np.tanh(a),
    "absolute": lambda a, b: np.abs(a - 0.5),
    "fabs": lambda a, b: np.fabs(a - 0.5),
    "square": lambda a, b: np.square(a),
    "sum": lambda a, b: np.sum(a, axis=0) + np.sum(b),
    "add.reduce": lambda a, b: np.add.reduce(a) + np.add.reduce(b, axis=1, keepdims=True),
    "multiply.reduce": lambda a, b: np.multiply.reduce(a),
    "mean": lambda a, b: np.mean(a, axis=1, keepdims=True) + np.mean(b),
    "average": lambda a, b: np.average(a, axis=0) + np.average(a, axis=1, weights=V)[:, None],
    "prod": lambda a, b: np.prod(a, axis=1) + np.prod(b),
    "max": lambda a, b: np.max(a, axis=1),
    "amin": lambda a, b: np.amin(a, axis=0) + np.amax(b),
    "var": lambda a, b: np.var(a, axis=0) + np.var(b, ddof=1),
    "std": lambda a, b: np.std(a, axis=(0, 1)),
    "median": lambda a, b: np.median(a, axis=1) + np.median(b),
    "linalg.norm": lambda a, b: np.linalg.norm(a) + np.linalg.norm(b, axis=1),
    "cumsum": lambda a, b: np.cumsum(a, axis=1),
    "clip": lambda a, b: np.clip(a, 0.3, 0.7) + np.clip(b, None, 0.6),
    "where": lambda a, b: np.where(MASK, a, b) + np.where(MASK, a, 0.0),
    "concatenate": lambda a, b: np.concatenate([a, b, A], axis=1),
    "stack": lambda a, b: np.stack([a, b], axis=1),
    "vstack": lambda a, b: np.vstack([a, b, V]),
    "hstack": lambda a, b: np.hstack([a, b]),
    "split": lambda a, b: np.split(a, 2, axis=1)[1] * np.split(b, [1, 2], axis=1)[0],
    "split from the end": lambda a, b: np.split(a, [-2, 9], axis=1)[1] + np.split(b, [1])[0][:, :2],
    "array_split": lambda a, b: np.array_split(a, 3, axis=1)[0],
    "reshape": lambda a, b: np.reshape(a, (2, -1)),
    "ravel": lambda a, b: np.ravel(a),
    "transpose": lambda a, b: np.transpose(a, (1, 0)) @ np.transpose(b).T,
    "swapaxes": lambda a, b: np.swapaxes(a, 0, -1),
    "moveaxis": lambda a, b: np.moveaxis(a[None], 0, -1),
    "expand_dims": lambda a, b: np.expand_dims(a, (0, -1)),
    "squeeze": lambda a, b: np.squeeze(a[None, :, None]) + np.squeeze(b[None], axis=0),
    "atleast_1d": lambda a, b: np.atleast_1d(np.sum(a)),
    "atleast_2d": lambda a, b: np.atleast_2d(a[0]),
    "dot": lambda a, b: np.dot(a, V) + np.dot(a[0], b[0]) + np.dot(2.0, b[:, 0]),
    "inner": lambda a, b: np.inner(a, b),
    "outer": lambda a, b: np.outer(a, V),
    "tensordot": lambda a, b: np.tensordot(a, b, axes=([0], [0])) + np.tensordot(a, b, axes=2),
    "trace": lambda a, b: np.trace(a) + np.trace(b, 1),
    "diagonal": lambda a, b: np.diagonal(a) + np.diagonal(b, 1)[:, None],
    "take": lambda a, b: np.take(a, [2, 0, 2], axis=1) + np.take(b, 3),
    "take_along_axis": lambda a, b: np.take_along_axis(a, np.array([[1], [0], [2]]), 1),
    "repeat": lambda a, b: np.repeat(a, 2, axis=0) * np.repeat(b, [1, 3, 2], axis=0),
    "tile": lambda a, b: np.tile(a, (2, 1, 2)),
    "broadcast_to": lambda a, b: np.broadcast_to(a, (2, 3, 4)),
    "flip": lambda a, b: np.flip(a) + np.flip(b, 0) + np.flip(b, (0, 1)),
    "fliplr": lambda a, b: np.fliplr(a) + np.flipud(b),
    "roll": lambda a, b: np.roll(a, 2) + np.roll(b, 1, axis=0) + np.roll(b, (1, 2), (0, 1)),
    "tril": lambda a, b: np.tril(a),
    "triu": lambda a, b: np.triu(a, 1),
    "diff": lambda a, b: np.diff(a, n=2),
    "copy": lambda a, b: np.copy(a),
    "array * v": lambda a, b: A * b + V - a,
    "array @ v": lambda a, b: A.T @ b + (V @ a.T).sum(),
    "array ** v": lambda a, b: A**b,
    "array / v": lambda a, b: A / b,
    "np.float64 - v": lambda a, b: np.float64(2.0) * a - np.float32(1.0) / b,
}  # fmt: skip


def leaf(array):
    x = dygraph.to_variable(array)
    x.stop_gradient = False
    return x


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_values_and_gradients(name):
    function = DIFFERENTIABLE[name]
    a, b = leaf(A), leaf(B)
    expected = np.asarray(function(A, B))
    got = function(a, b)
    assert isinstance(got, dygraph.Variable) and not got.stop_gradient
    assert got.shape == expected.shape
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-12)
    seed = np.random.default_rng(5).standard_normal(expected.shape)
    da, db = _core.grad([got], [a, b], [dygraph.to_variable(seed)], False, False, True)
    toward = np.random.default_rng(6).standard_normal((2, 3, 4))
    step = 1e-6
    slope = (
        (np.asarray(function(A + step * toward[0], B + step * toward[1])) * seed).sum()
        - (np.asarray(function(A - step * toward[0], B - step * toward[1])) * seed).sum()
    ) / (2 * step)
    total = sum(
        0.0 if g is None else float((g.numpy() * t).sum())
        for g, t in zip((da, db), toward, strict=True)
    )
    assert abs(total - slope) <= 1e-6 * max(1.0, abs(slope))


def test_there_are_more_than_forty():
    assert len(DIFFERENTIABLE) > 60


PLAIN = {
    "argmax": lambda a: np.argmax(a, axis=1),
    "argmin": lambda a: np.argmin(a),
    "argwhere": lambda a: np.argwhere(a > 0.5),
    "nonzero": lambda a: np.nonzero(a > 0.5)[1],
    "where": lambda a: np.where(a > 0.5)[0],
    "flatnonzero": lambda a: np.flatnonzero(a > 0.5),
    "any": lambda a: np.any(a > 0.8, axis=0),
    "all": lambda a: np.all(a > 0.3, axis=1),
    "logical_or.reduce": lambda a: np.logical_or.reduce(a > 0.8),
    "greater": lambda a: np.greater(a, 0.5),
    "less_equal": lambda a: np.less_equal(A, a),
    "equal": lambda a: np.equal(a, A),
    "array < v": lambda a: A < a * 1.0,
    "zeros_like": lambda a: np.zeros_like(a),
    "ones_like": lambda a: np.ones_like(a),
    "full_like": lambda a: np.full_like(a, 2.5),
    "cumsum of bools": lambda a: np.cumsum(a > 0.5, axis=0),
    "sum of bools": lambda a: np.sum(a > 0.5, axis=0),
}


@pytest.mark.parametrize("name", PLAIN)
def test_values(name):
    got, expected = PLAIN[name](dygraph.to_variable(A)), PLAIN[name](A)
    assert isinstance(got, dygraph.Variable) and got.shape == expected.shape
    np.testing.assert_array_equal(got.numpy(), expected)


def test_what_only_looks_gives_what_numpy_gives(tmp_path):
    v = dygraph.to_variable(A)
    assert np.array_equal(v, A) and np.allclose(A, v) and not np.array_equal(v, B)
    assert np.shape(v) == (3, 4) and np.ndim(v) == 2 and np.size(v) == 12
    assert np.count_nonzero(v > 0.5) == (A > 0.5).sum()
    assert np.isclose(v, A).all()
    np.save(tmp_path / "v.npy", v)
    assert np.array_equal(np.load(tmp_path / "v.npy"), A)
    np.testing.assert_array_equal(v, A)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("fft", lambda v: np.fft.fft(v)),
        ("linalg.norm", lambda v: np.linalg.norm(v, ord=1)),
        ("linalg.norm, spectral", lambda v: np.linalg.norm(v, 2, axis=(0, 1))),
        ("linalg.norm, spectral, all axes", lambda v: np.linalg.norm(v, 2)),
        ("linalg.norm, Frobenius of vectors", lambda v: np.linalg.norm(v, "fro", axis=1)),
        ("median", lambda v: np.median(v, overwrite_input=True)),
        ("sum with where", lambda v: np.sum(v, where=v > 0.5)),
        ("frexp", lambda v: np.frexp(v)),
        ("add.accumulate", lambda v: np.add.accumulate(v)),
        ("add.at", lambda v: np.add.at(v, [0], 1.0)),
        ("add with dtype", lambda v: np.add(v, v, dtype="float32")),
        ("round with decimals", lambda v: np.round(v, 2)),
    ],
)
def test_what_is_not_there_names_the_way_out(name, call):
    with pytest.raises(TypeError, match=r"numpy\."):
        call(dygraph.to_variable(A))
    with pytest.raises(TypeError, match=r"\.numpy\(\)"):
        call(dygraph.to_variable(A))


def test_a_variable_is_not_written_into_an_array():
    a = A.copy()
    with pytest.raises(TypeError, match="out="):
        np.add(a, dygraph.to_variable(A), out=a)
    with pytest.raises(TypeError, match="out="):
        a += dygraph.to_variable(A)
    assert np.array_equal(a, A)


def test_a_missing_operator_is_named():
    with pytest.raises(NotImplementedError, match=r"needs the operator no_such_op.*\.numpy\(\)"):
        numpy_functions.op("no_such_op", "something")


OPERATORS = {
    **numpy_protocol._UNARY_OPERATORS,
    **numpy_protocol._TESTS,
    **numpy_protocol._BINARY_OPERATORS,
}


@pytest.mark.parametrize("name", OPERATORS)
def test_a_ufunc_has_its_operator_or_names_it(name):
    ufunc = getattr(np, name)
    kind = "bool" if name.startswith(("bitwise", "logical", "invert")) else "float64"
    kind = "int64" if name in ("floor_divide", "remainder") else kind
    arrays = [np.array([0.3, 1.0, 2.6, 7.0]), np.array([1.5, 2.0, 0.4, 2.0])][: ufunc.nin]
    if name in ("arccos", "arcsin", "arctanh"):
        arrays = [a / 10 for a in arrays]
    if name == "arccosh":
        arrays = [a + 1 for a in arrays]
    arrays = [np.ceil(a).astype(kind) if kind != "float64" else a for a in arrays]
    given = [dygraph.to_variable(a) for a in arrays]
    if not hasattr(_core.ops, OPERATORS[name]):
        with pytest.raises(NotImplementedError, match=f"operator {OPERATORS[name]}"):
            ufunc(*given)
        return
    np.testing.assert_allclose(ufunc(*given).numpy(), ufunc(*arrays), rtol=1e-12)


def test_every_name_of_the_tables_is_numpys():
    for name in [
        *numpy_protocol._PYTHON, *numpy_protocol._UNARY_OPERATORS, *numpy_protocol._TESTS,
        *numpy_protocol._BINARY_OPERATORS,
    ]:  # fmt: skip
        assert isinstance(getattr(np, name), np.ufunc)


def test_arguments_are_checked():
    v = dygraph.to_variable(A)
    for wrong in (
        lambda: np.stack([v], axis=3),
        lambda: np.concatenate([v, v], axis=2),
        lambda: np.moveaxis(v, 0, 2),
        lambda: np.cumsum(v, axis=5),
        lambda: np.expand_dims(v, 4),
        lambda: np.take(v, [4], axis=1),
    ):
        with pytest.raises(IndexError):
            wrong()
    for wrong in (
        lambda: np.split(v, 3, axis=1),
        lambda: np.squeeze(v, axis=0),
        lambda: np.broadcast_to(v, (4, 4)),
        lambda: np.tensordot(v, v, axes=([0], [1])),
        lambda: np.where(v > 0, v),
        lambda: np.reshape(v, (5, -1)),
        lambda: np.concatenate([v, v[0]]),
    ):
        with pytest.raises(ValueError):
            wrong()


class TestSingleElements:
    def test_item(self):
        v = dygraph.to_variable(A)
        assert v.item(5) == A.item(5) and v.item(-1) == A.item(-1)
        assert v.item(1, 2) == v.item((1, 2)) == A[1, 2]
        assert v[0, 0].item() == A[0, 0]
        for bad in (12, -13, (3, 0)):
            with pytest.raises(IndexError):
                v.item(bad)
        with pytest.raises(ValueError, match="2 axes"):
            v.item(1, 2, 3)
        with pytest.raises(ValueError):
            v.item()
        with pytest.raises(TypeError):
            v.item(1.5)

    def test_contains(self):
        v = dygraph.to_variable(np.array([[1, 2], [3, 4]]))
        assert 3 in v and 5 not in v
        assert np.array([1, 9]) in v  # as NumPy: some element equals, after broadcasting
        assert dygraph.to_variable(np.array(4)) in v
        assert 0.0 not in dygraph.to_variable(np.zeros((0, 3)))

    def test_iteration(self):
        v = dygraph.to_variable(A)
        assert len(v) == 3 and [float(row.sum()) for row in v] == [float(r.sum()) for r in A]
        zero = dygraph.to_variable(1.0)
        for bad in (len, list, iter):
            with pytest.raises(TypeError, match="0-d"):
                bad(zero)
        assert list(dygraph.to_variable(np.zeros((0, 2)))) == []


def test_weights_of_an_average():
    square = np.arange(9.0).reshape(3, 3) ** 2
    x, weights = dygraph.to_variable(square), [1.0, 2.0, 5.0]
    for axis in (0, 1, -1):
        expected = np.average(square, axis=axis, weights=weights)
        np.testing.assert_allclose(np.average(x, axis=axis, weights=weights).numpy(), expected)
    expected = np.average(square, axis=0, weights=square + 1)
    np.testing.assert_allclose(np.average(x, axis=0, weights=square + 1).numpy(), expected)
    for axis in (None, (0, 1)):
        with pytest.raises(ValueError, match="be those of one axis"):
            np.average(x, axis=axis, weights=weights)
    with pytest.raises(ValueError, match="must be 3 weights for axis 0"):
        np.average(x, axis=0, weights=[1.0, 2.0])
