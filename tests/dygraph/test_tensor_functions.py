"""Functions beside the operators: creation, manipulation, products; as methods too."""

import numpy as np
import pytest

import dygraph
import dygraph.ops as F

RNG = np.random.RandomState(3)
X = RNG.randn(3, 4)
DEEP = RNG.randn(2, 3, 4)


def var(array, grad=False):
    v = dygraph.to_variable(np.array(array))
    v.stop_gradient = not grad
    return v


def same(got, want, rtol=1e-12):
    got, want = got.numpy(), np.asarray(want)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-12)


# name: (call on a Variable, the same by NumPy, input)
PAIRS = {
    "squeeze": (lambda x: x.squeeze(), np.squeeze, DEEP[:, :1]),
    "squeeze_axis": (lambda x: F.squeeze(x, 1), lambda x: x.squeeze(1), DEEP[:, :1]),
    "squeeze_nothing": (lambda x: F.squeeze(x, []), lambda x: x, DEEP[:, :1]),
    "unsqueeze": (lambda x: x.unsqueeze([0, -1]), lambda x: x[None, ..., None], X),
    "flatten": (lambda x: x.flatten(), np.ravel, DEEP),
    "flatten_range": (lambda x: x.flatten(1), lambda x: x.reshape(2, 12), DEEP),
    "t": (lambda x: x.t(), np.transpose, X),
    "t_vector": (lambda x: F.t(x), lambda x: x, X[0]),
    "swapaxes": (lambda x: x.swapaxes(0, -1), lambda x: x.swapaxes(0, 2), DEEP),
    "moveaxis": (lambda x: x.moveaxis(0, 1), lambda x: np.moveaxis(x, 0, 1), DEEP),
    "moveaxis_two": (
        lambda x: F.moveaxis(x, [0, 1], [-1, 0]),
        lambda x: np.moveaxis(x, [0, 1], [-1, 0]),
        DEEP,
    ),
    "stack": (lambda x: F.stack([x, x * 2], -1), lambda x: np.stack([x, x * 2], -1), X),
    "concat": (lambda x: F.concat([x, x * 2], -1), lambda x: np.concatenate([x, x * 2], -1), X),
    "split": (lambda x: F.split(x, num=2, axis=1)[1], lambda x: np.split(x, 2, 1)[1], X),
    "split_sizes": (lambda x: x.split([1, -1], 1)[1], lambda x: x[:, 1:], X),
    "chunk": (lambda x: x.chunk(3, 1)[1], lambda x: x[:, 2:], X),
    "unbind": (lambda x: x.unbind(1)[2], lambda x: x[:, 2], X),
    "unstack": (lambda x: F.unstack(x, -1, 4)[2], lambda x: x[:, 2], X),
    "tile": (lambda x: x.tile([2, 1, 2]), lambda x: np.tile(x, [2, 1, 2]), X),
    "expand": (lambda x: x.expand([2, -1, 4]), lambda x: np.broadcast_to(x, (2, 3, 4)), X),
    "broadcast_to": (
        lambda x: F.broadcast_to(x, [2, 3, 4]),
        lambda x: np.broadcast_to(x, (2, 3, 4)),
        X,
    ),
    "expand_as": (
        lambda x: x.expand_as(var(DEEP)),
        lambda x: np.broadcast_to(x, (2, 3, 4)),
        X,
    ),
    "repeat": (lambda x: x.repeat_interleave(2, 1), lambda x: np.repeat(x, 2, 1), X),
    "repeat_flat": (lambda x: F.repeat_interleave(x, 3), lambda x: np.repeat(x, 3), X),
    "repeat_list": (
        lambda x: F.repeat_interleave(x, [0, 2, 1], 0),
        lambda x: np.repeat(x, [0, 2, 1], 0),
        X,
    ),
    "pad": (
        lambda x: F.pad(x, [1, 2, 0, 1], value=2.5),
        lambda x: np.pad(x, [(1, 2), (0, 1)], constant_values=2.5),
        X,
    ),
    "pad_last": (
        lambda x: F.pad(x, [1, 2, 3, 0]),
        lambda x: np.pad(x, [(0, 0), (3, 0), (1, 2)]),
        DEEP,
    ),
    "pad_channels_last": (
        lambda x: F.pad(x, [1, 2], data_format="NLC"),
        lambda x: np.pad(x, [(0, 0), (1, 2), (0, 0)]),
        DEEP,
    ),
    "pad_reflect": (
        lambda x: F.pad(x, [1, 2, 1, 0], mode="reflect"),
        lambda x: np.pad(x, [(0, 0), (0, 0), (1, 0), (1, 2)], mode="reflect"),
        DEEP[None],
    ),
    "pad_replicate": (
        lambda x: F.pad(x, [0, 0, 1, 2, 1, 0, 0, 0], mode="replicate", data_format="NHWC"),
        lambda x: np.pad(x, [(0, 0), (1, 2), (1, 0), (0, 0)], mode="edge"),
        DEEP[None],
    ),
    "flip": (lambda x: x.flip([0, -1]), np.flip, X),
    "roll": (lambda x: x.roll(2), lambda x: np.roll(x, 2), X),
    "roll_axes": (lambda x: F.roll(x, [1, -1], [0, 1]), lambda x: np.roll(x, [1, -1], [0, 1]), X),
    "cumsum": (lambda x: x.cumsum(1), lambda x: np.cumsum(x, 1), X),
    "cumsum_flat": (lambda x: F.cumsum(x), np.cumsum, X),
    "sort": (lambda x: F.sort(x, axis=0), lambda x: np.sort(x, 0), X),
    "sort_down": (lambda x: F.sort(x, descending=True), lambda x: -np.sort(-x), X),
    "topk": (lambda x: x.topk(2)[0], lambda x: -np.sort(-x)[:, :2], X),
    "topk_least": (lambda x: F.topk(x, 2, 0, False)[0], lambda x: np.sort(x, 0)[:2], X),
    "diag": (lambda x: x.diag(), np.diag, X[0]),
    "diag_above": (lambda x: F.diag(x, 2), lambda x: np.diag(x, 2), X[0]),
    "diag_below": (lambda x: F.diag(x, -1), lambda x: np.diag(x, -1), X[0]),
    "diagonal": (lambda x: F.diag(x), np.diag, X),
    "diagonal_above": (lambda x: F.diag(x, 2), lambda x: np.diag(x, 2), X),
    "diagonal_below": (lambda x: F.diag(x, -1), lambda x: np.diag(x, -1), X),
    "diagonal_none": (lambda x: F.diag(x, 9), lambda x: np.diag(x, 9), X),
    "tril": (lambda x: x.tril(1), lambda x: np.tril(x, 1), X),
    "triu": (lambda x: F.triu(x, -1), lambda x: np.triu(x, -1), X),
    "outer": (lambda x: x.outer(var([1.0, 2.0])), lambda x: np.outer(x, [1.0, 2.0]), X[0]),
    "mm": (lambda x: x.mm(x.t()), lambda x: x @ x.T, X),
    "matmul": (lambda x: x.matmul(x, transpose_y=True), lambda x: x @ x.T, X),
    "mv": (lambda x: F.mv(x, var(X[0])), lambda x: x @ X[0], X),
    "dot": (lambda x: x.dot(x), lambda x: x @ x, X[0]),
    "trace": (lambda x: x.trace(1), lambda x: np.trace(x, 1), X),
    "einsum": (lambda x: F.einsum("ij,kj->ik", x, x), lambda x: x @ x.T, X),
    "einsum_list": (lambda x: F.einsum("ij->i", [x]), lambda x: x.sum(1), X),
    "cross": (
        lambda x: x.cross(var(X.T[::-1]), axis=1),
        lambda x: np.cross(x, X.T[::-1]),
        X.T.copy(),
    ),
    "norm": (lambda x: x.norm(), np.linalg.norm, X),
    "norm_one": (lambda x: F.norm(x, 1, 0), lambda x: np.abs(x).sum(0), X),
    "norm_inf": (lambda x: F.norm(x, np.inf), lambda x: np.abs(x).max(), X),
    "norm_axes": (
        lambda x: F.norm(x, 3, [0, 2], keepdim=True),
        lambda x: (np.abs(x) ** 3).sum((0, 2), keepdims=True) ** (1 / 3),
        DEEP,
    ),
    "norm_fro": (
        lambda x: F.norm(x, axis=[1, 2]),
        lambda x: np.sqrt((x**2).sum((1, 2))),
        DEEP,
    ),
    "var": (lambda x: x.var(correction=1), lambda x: x.var(ddof=1), X),
    "var_axis": (
        lambda x: dygraph.var(x, axis=1, keepdims=True),
        lambda x: x.var(1, keepdims=True),
        X,
    ),
    "var_axes": (
        lambda x: dygraph.var(x, [0, 2], unbiased=True),
        lambda x: x.var((0, 2), ddof=1),
        DEEP,
    ),
    "std": (lambda x: x.std(0, unbiased=True), lambda x: x.std(0, ddof=1), X),
    "median": (lambda x: F.median(x, mode="avg"), np.median, X),
    "median_axis": (lambda x: F.median(x, axis=0), lambda x: np.median(x, 0), X),
    "median_kept": (
        lambda x: F.median(x, mode="avg", keepdim=True),
        lambda x: np.median(x, keepdims=True),
        X,
    ),
}


@pytest.mark.parametrize("name", list(PAIRS))
def test_as_numpy(name):
    function, reference, array = PAIRS[name]
    same(function(var(array)), reference(array))


@pytest.mark.parametrize("name", list(PAIRS))
def test_gradient(name):
    """Along one random direction, against a difference."""
    function, reference, array = PAIRS[name]
    x = var(array, grad=True)
    out = function(x)
    weights = RNG.uniform(0.5, 1.5, out.shape)
    (g,) = dygraph.grad([out], [x], [var(weights)])
    direction, delta = RNG.randn(*array.shape), 1e-6
    ends = [(reference(array + s * delta * direction) * weights).sum() for s in (1, -1)]
    slope = (ends[0] - ends[1]) / (2 * delta)
    assert abs((g.numpy() * direction).sum() - slope) < 1e-5 * max(1.0, abs(slope))


CREATED = {
    "zeros": (lambda: F.zeros([2, 3]), np.zeros((2, 3), "float32")),
    "zeros_scalar": (lambda: F.zeros([]), np.zeros((), "float32")),
    "ones": (lambda: dygraph.ones([2], "int32"), np.ones(2, "int32")),
    "full": (lambda: F.full([2], 2**53 + 1, "int64"), np.full(2, 2**53 + 1)),
    "full_exact": (lambda: F.full([1], 0.1, "float64"), np.full(1, 0.1)),
    "full_bool": (lambda: F.full([2], True, "bool"), np.ones(2, bool)),
    "zeros_like": (lambda: F.zeros_like(var(X)), np.zeros_like(X)),
    "ones_like": (lambda: F.ones_like(var([1, 2])), np.array([1, 1])),
    "full_like": (lambda: F.full_like(var(X), 3, "int32"), np.full(X.shape, 3, "int32")),
    "arange": (lambda: F.arange(5), np.arange(5)),
    "arange_step": (lambda: F.arange(1, 2, 0.25), np.arange(1, 2, 0.25, "float32")),
    "arange_down": (lambda: F.arange(5, 0, -2, "float64"), np.arange(5.0, 0, -2)),
    "arange_variables": (lambda: F.arange(var(2), var([5])), np.arange(2, 5)),
    "linspace": (lambda: F.linspace(0, 1, 5, "float64"), np.linspace(0, 1, 5)),
    "linspace_int": (lambda: F.linspace(0, 10, 6, "int32"), np.arange(0, 11, 2, "int32")),
    "eye": (lambda: F.eye(2, 3), np.eye(2, 3, dtype="float32")),
}


@pytest.mark.parametrize("name", list(CREATED))
def test_created(name):
    make, want = CREATED[name]
    got = make()
    assert got.dtype.name == want.dtype.name
    same(got, want)


def test_by_chance():
    dygraph.seed(4)
    first = [
        F.rand([200]), F.randn([200]), F.normal(1.0, 2.0, [200]),
        F.uniform([200], min=2.0, max=3.0), F.randint(5, shape=[200]), F.randperm(20),
        F.normal(var(X), var(0.0)),
    ]  # fmt: skip
    r, n, m, u, i, p, exact = (v.numpy() for v in first)
    assert 0 <= r.min() and r.max() < 1 and abs(r.mean() - 0.5) < 0.1
    assert abs(n.mean()) < 0.3 and abs(n.std() - 1) < 0.2
    assert abs(m.mean() - 1) < 0.6 and abs(m.std() - 2) < 0.4
    assert 2 <= u.min() and u.max() < 3
    assert set(i.tolist()) == set(range(5)) and i.dtype == "int64"
    assert sorted(p.tolist()) == list(range(20))
    np.testing.assert_array_equal(exact, X)
    dygraph.seed(4)
    np.testing.assert_array_equal(F.rand([200]).numpy(), r)


def test_gradient_of_normal_reaches_its_variables():
    mean, std = var([1.0, 2.0], grad=True), var(2.0, grad=True)
    drawn = F.normal(mean, std)
    a, b = dygraph.grad([drawn], [mean, std])
    np.testing.assert_array_equal(a.numpy(), [1.0, 1.0])
    z = (drawn.numpy() - mean.numpy()) / 2.0
    np.testing.assert_allclose(b.numpy(), z.sum(), rtol=1e-12)


def test_lists_of_pieces():
    assert [len(p) for p in F.chunk(var(np.zeros(7)), 3)] == [3, 3, 1]
    assert [p.shape for p in F.split(var(X), sizes=[1, 0, -1], axis=1)] == [(3, 1), (3, 0), (3, 3)]
    grid = F.meshgrid(var([1, 2]), var([3, 4, 5]))
    for got, want in zip(grid, np.meshgrid([1, 2], [3, 4, 5], indexing="ij"), strict=True):
        same(got, want)
    a, b = F.broadcast_tensors([var(np.zeros((3, 1))), var(np.ones(2))])
    assert a.shape == b.shape == (3, 2)


@pytest.mark.parametrize(
    "array", [[3, 1, 3, 2, 1], [[2.5, -1.0], [2.5, 7.0]], [], [1.0, np.nan, 0.0, np.nan]]
)
def test_unique(array):
    array = np.array(array)
    wanted = {"return_index": True, "return_counts": True}
    got = list(F.unique(var(array), **wanted))
    if np.ndim(array) == 1:
        inverse = F.unique(var(array), return_inverse=True)[1]
    else:
        with pytest.raises(ValueError, match="dygraph.unique_inverse"):
            F.unique(var(array), return_inverse=True)
        inverse = dygraph.unique_inverse(var(array)).inverse_indices
    got.insert(2, inverse)
    want = np.unique(array, True, True, True)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_array_equal(g.numpy().reshape(-1), w.reshape(-1))
    np.testing.assert_array_equal(var(array).unique().numpy(), want[0])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unique_slices(axis):
    array = np.array([[[2.0, 1], [2, 1]], [[0, 1], [0, 1]], [[2, 1], [2, 1]]])
    wanted = dict.fromkeys(("return_index", "return_inverse", "return_counts"), True)
    got = F.unique(var(array), **wanted, axis=axis)
    want = np.unique(array, True, True, True, axis=axis)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_array_equal(g.numpy(), w)
    x = var(array)
    x.stop_gradient = False
    F.unique(x, axis=0).sum().backward()
    np.testing.assert_array_equal(x.gradient()[:, 0, 0], [1, 1, 0])


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
@pytest.mark.parametrize(
    ("shape", "pad", "data_format", "pairs"),
    [
        ((5,), [2, 1], "NCL", [(2, 1)]),
        ((2, 3, 4), [3, 1], "NCL", [(0, 0), (0, 0), (3, 1)]),
        ((2, 4, 3), [1, 2], "NLC", [(0, 0), (1, 2), (0, 0)]),
        ((2, 1, 3, 4, 2), [1, 0, 3, 2, 1, 2], "NCDHW", [(0, 0), (0, 0), (1, 2), (3, 2), (1, 0)]),
        ((1, 3, 4, 2, 1), [1, 1, 0, 2, 2, 1], "NDHWC", [(0, 0), (2, 1), (0, 2), (1, 1), (0, 0)]),
        ((2, 3, 4, 5), [1, 1, 2, 0, 1, 2, 0, 4], "NCHW", [(1, 1), (2, 0), (1, 2), (0, 4)]),
    ],
)
def test_pad_with_what_is_there(mode, shape, pad, data_format, pairs):
    array = np.random.default_rng(0).standard_normal(shape)
    x = var(array)
    x.stop_gradient = False
    out = F.pad(x, pad, mode=mode, data_format=data_format)
    want = np.pad(array, pairs, "edge" if mode == "replicate" else mode)
    np.testing.assert_array_equal(out.numpy(), want)
    out.sum().backward()
    places = np.pad(
        np.arange(array.size).reshape(shape), pairs, "edge" if mode == "replicate" else mode
    )
    np.testing.assert_array_equal(x.gradient().ravel(), np.bincount(places.ravel()))


def test_allclose():
    x, near = var([1.0, np.nan]), var([1.0 + 1e-6, np.nan])
    assert not F.allclose(x, near) and F.allclose(x, near, equal_nan=True)
    assert not x.allclose(near, rtol=1e-7, atol=0.0, equal_nan=True)
    assert F.allclose(var([3.0]), var([[3.5], [2.6]]), rtol=0, atol=0.5)


def test_filling_keeps_all_digits():
    x = var(np.zeros(2))
    assert F.full_like(x, 0.1).numpy().tolist() == [0.1, 0.1]
    assert F.full_like(x, 1e300).numpy().tolist() == [1e300, 1e300]
    assert F.full_like(x, -np.inf).numpy().tolist() == [-np.inf, -np.inf]
    assert np.isnan(F.full_like(x, np.nan).numpy()).all()
    assert F.full_like(x, 2**62 + 1, "int64").numpy().tolist() == [2**62 + 1] * 2
    x.fill_(1 / 3)
    assert x.numpy().tolist() == [1 / 3, 1 / 3]
    assert F.full_like(x, True, "bool").numpy().tolist() == [True, True]
    with pytest.raises(TypeError, match="fill_: value must be a number"):
        x.fill_("a")


def test_argsort_and_topk_give_places():
    np.testing.assert_array_equal(var(X).argsort(0).numpy(), np.argsort(X, 0))
    np.testing.assert_array_equal(F.topk(var(X), 2)[1].numpy(), np.argsort(-X, 1)[:, :2])


def test_names_stand_at_the_top():
    assert dygraph.squeeze is F.squeeze and dygraph.zeros is F.zeros and dygraph.einsum is F.einsum
    assert "stack" in dir(dygraph)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: F.zeros([-1]), ValueError, "at least 0"),
        (lambda x: F.zeros("ab"), TypeError, "list of integers"),
        (lambda x: F.full([1], "x"), TypeError, "number"),
        (lambda x: F.arange(0, 1, 0), ValueError, "Step must not be 0"),
        (lambda x: F.squeeze(x, 5), IndexError, "axes"),
        (lambda x: F.squeeze(x, "a"), TypeError, "integer"),
        (lambda x: F.swapaxes(x, 0, 2), IndexError, "axis2"),
        (lambda x: F.moveaxis(x, [0, 1], 0), ValueError, "equal lengths"),
        (lambda x: F.moveaxis(x, [0, 0], [0, 1]), ValueError, "each axis once"),
        (lambda x: F.t(var(DEEP)), ValueError, "at most two axes"),
        (lambda x: F.split(x, num=2), ValueError, "divide"),
        (lambda x: F.chunk(x, 0), ValueError, "at least 1"),
        (lambda x: F.pad(x, [1]), ValueError, "two numbers for each axis"),
        (lambda x: F.pad(x, [9, 1], mode="reflect"), ValueError, "less than the size"),
        (lambda x: F.pad(x, [-1, 1], mode="replicate"), ValueError, "at least 0"),
        (lambda x: F.allclose(x, x, rtol=-1.0), ValueError, "at least 0"),
        (lambda x: F.allclose(x, x, atol=None), TypeError, "must be a number"),
        (lambda x: F.pad(x, [1, 1], mode="odd"), ValueError, "one of"),
        (lambda x: F.repeat_interleave(x, -1), ValueError, "at least 0"),
        (lambda x: F.repeat_interleave(x, [1, 2], 0), ValueError, "3 of them"),
        (lambda x: F.broadcast_tensors([x, var([1.0, 2.0])]), ValueError, "must broadcast"),
        (lambda x: F.topk(x, 0), ValueError, "at least 1"),
        (lambda x: F.unique(x, axis=2), IndexError, "axis"),
        (lambda x: F.diag(var(DEEP)), ValueError, "one axis or two"),
        (lambda x: F.einsum(3, x), TypeError, "equation must be a string"),
        (lambda x: F.einsum("ij"), ValueError, "an operand for each"),
        (lambda x: F.norm(x, "nuc"), ValueError, "one of 'fro'"),
        (lambda x: F.norm(x, axis=[0, 0]), ValueError, "each once"),
        (lambda x: dygraph.var(x, axis=2), IndexError, "axis"),
        (lambda x: F.median(var(np.zeros((0, 2))), axis=0), ValueError, "must have elements"),
        (lambda x: F.randperm(2.5), TypeError, "integer"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(var(X))
