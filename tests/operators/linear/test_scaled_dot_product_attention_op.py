"""Attention in one operator, against NumPy and against the operators it stands for."""

import numpy as np
import pytest

import dygraph
from dygraph import _core
from dygraph import ops as F
from op_test import OpTest, rand


def heads_of(x, heads):
    """[batch, positions, heads * d] -> [batch, heads, positions, d]"""
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2) if heads else x


def attention(q, k, v, mask=None, heads=0, scale=0.0, causal=False, keep=1.0):
    q, k, v = (heads_of(x, heads) for x in (q, k, v))
    with np.errstate(invalid="ignore"):
        scores = q @ k.swapaxes(-1, -2) * (scale or q.shape[-1] ** -0.5)
        if mask is not None:
            hidden = ~mask if mask.dtype == bool else mask <= -1e30
            scores = np.where(hidden, -np.inf, scores + (0 if mask.dtype == bool else mask))
        if causal:
            scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
        top = scores.max(-1, keepdims=True)
        e = np.exp(scores - np.where(np.isneginf(top), 0, top))
        total = e.sum(-1, keepdims=True)
    out = e / np.where(total == 0, 1, total) * keep @ v
    return out.swapaxes(1, 2).reshape(len(out), out.shape[2], -1) if heads else out


class TestAttention(OpTest):
    shapes = (2, 3, 4), (2, 5, 4), (2, 5, 3)  # query, key, value
    mask = None
    attrs = {}
    leave_out = {
        "lod_passes": "to Out alone, and rows of two axes need those of Key: test_lod_passes"
    }

    def setUp(self):
        self.op_type = "scaled_dot_product_attention"
        names = ("Query", "Key", "Value")
        self.inputs = {n: rand(*s) for n, s in zip(names, self.shapes, strict=True)}
        if self.mask is not None:
            self.inputs["Mask"] = self.mask() if callable(self.mask) else self.mask
        self.outputs = {
            "Out": attention(
                *self.inputs.values(),
                heads=self.attrs.get("num_heads", 0),
                scale=self.attrs.get("scale", 0.0),
                causal=self.attrs.get("is_causal", False),
            )
        }

    def test_check_output(self):
        self.check_output()

    def test_check_grad(self):
        floating = [n for n, x in self.inputs.items() if x.dtype.kind == "f"]
        self.check_grad(floating, "Out")

    def test_lod_passes(self):
        slots = {n: _core.to_variable(x) for n, x in self.inputs.items()}
        _core.set_lod(slots["Query"], lod := [[0, 1, self.shapes[0][0]]])
        if len(self.shapes[0]) == 2:
            _core.set_lod(slots["Key"], [[0, 2, self.shapes[1][0]]])
            slots.pop("Mask", None)
        results = _core.run_op(self.op_type, slots, self.attrs)
        found = {n: _core.lod(v) for n, v in results.items() if _core.lod(v)}
        self.assertEqual(found, {"Out": lod})


class TestAttentionOneMatrix(TestAttention):
    shapes = (3, 4), (5, 4), (5, 3)


class TestAttentionHeads(TestAttention):
    shapes = (2, 3, 4), (2, 5, 4), (2, 5, 6)
    attrs = {"num_heads": 2}


class TestAttentionManyAxes(TestAttention):
    shapes = (2, 3, 4, 2), (2, 3, 3, 2), (2, 3, 3, 5)
    attrs = {"scale": 0.25}


class TestAttentionCausal(TestAttention):
    shapes = (2, 4, 4), (2, 4, 4), (2, 4, 6)
    attrs = {"num_heads": 2, "is_causal": True}


class TestAttentionMask(TestAttentionHeads):
    attrs = {"num_heads": 2}

    @staticmethod
    def mask():
        return rand(2, 2, 3, 5)


class TestAttentionMaskOfKeys(TestAttentionHeads):
    attrs = {"num_heads": 2}

    @staticmethod
    def mask():
        return rand(2, 1, 1, 5)


class TestAttentionMaskOfQueries(TestAttention):
    @staticmethod
    def mask():
        return rand(3, 1)


class TestAttentionMaskBool(TestAttention):
    mask = np.array([[1, 1, 0, 1, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 1]], bool)


def variables(*arrays):
    made = [dygraph.to_variable(a) for a in arrays]
    for v in made:
        v.stop_gradient = v.dtype.name == "bool"
    return made


def call(*inputs, mask=None, **attrs):
    return F.scaled_dot_product_attention(*inputs, mask=mask, **attrs)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("queries", "keys", "width"), [(1, 1, 1), (17, 33, 5), (130, 70, 31), (300, 401, 16)]
)
def test_odd_sizes_and_blocks_of_queries(dtype, queries, keys, width):
    rng = np.random.default_rng(1)
    q, k, v, up = (
        rng.normal(size=(3, n, 2 * width)).astype(dtype) for n in (queries, keys, keys, queries)
    )
    a, b = variables(q, k, v), variables(q, k, v)
    split = [F.transpose2(x.reshape([3, -1, 2, width]), axis=[0, 2, 1, 3]) for x in b]
    scores = F.matmul_v2(split[0], split[1], trans_y=True) * width**-0.5
    plain = F.transpose2(F.matmul_v2(F.softmax(scores), split[2]), axis=[0, 2, 1, 3])
    out = call(*a, num_heads=2)
    tolerance = {"rtol": 1e-4, "atol": 2e-5} if dtype == "float32" else {"rtol": 1e-10}
    np.testing.assert_allclose(out.numpy(), attention(q, k, v, heads=2), **tolerance)
    weight = dygraph.to_variable(up)
    got = dygraph.grad([(out * weight).sum()], a)
    want = dygraph.grad([(plain.reshape([3, queries, -1]) * weight).sum()], b)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g.numpy(), w.numpy(), **{**tolerance, "atol": 2e-5})


def test_bits_do_not_depend_on_threads():
    rng = np.random.default_rng(2)
    q, k, v = (rng.normal(size=(2, 3, 150, 24)).astype("float32") for _ in range(3))
    results = []
    for threads in (1, 2):
        before = dygraph.num_threads()
        dygraph.set_num_threads(threads)
        try:
            inputs = variables(q, k, v)
            out = call(*inputs, dropout_prob=0.3, seed=5)
            grads = dygraph.grad([(out * out).sum()], inputs)
            results.append([out.numpy(), *(g.numpy() for g in grads)])
        finally:
            dygraph.set_num_threads(before)
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


def test_nan_and_infinity():
    q, k, v = (np.ones((3, 2), "float32") for _ in range(3))
    k[1, 0] = np.nan
    assert np.isnan(call(*variables(q, k, v)).numpy()).all()
    hidden = dygraph.to_variable(np.array([True, False, True]))
    np.testing.assert_array_equal(call(*variables(q, k, v), mask=hidden).numpy(), v)
    k[1, 0] = np.inf
    assert np.isnan(call(*variables(q, k, v)).numpy()).all()
    k[1, 0] = -np.inf
    np.testing.assert_array_equal(call(*variables(q, k, v)).numpy(), v)
    none = dygraph.to_variable(np.full(3, -np.inf, "float32"))
    inputs = variables(q, np.ones_like(k), v)
    out = call(*inputs, mask=none)
    np.testing.assert_array_equal(out.numpy(), 0 * v)
    for g in dygraph.grad([out.sum()], inputs):
        np.testing.assert_array_equal(g.numpy(), 0 * v)


def test_no_keys_and_no_queries():
    empty, full = np.zeros((2, 0, 4), "float32"), np.ones((2, 3, 4), "float32")
    inputs = variables(full, empty, empty)
    out = call(*inputs)
    np.testing.assert_array_equal(out.numpy(), np.zeros((2, 3, 4)))
    np.testing.assert_array_equal(dygraph.grad([out.sum()], inputs[:1])[0].numpy(), 0 * full)
    inputs = variables(empty, full, full)
    out = call(*inputs)
    assert out.shape == (2, 0, 4)
    for g in dygraph.grad([out.sum()], inputs[1:]):
        np.testing.assert_array_equal(g.numpy(), 0 * full)


def test_dropout():
    """The identity as Value shows the weights; the gradient sees the same ones."""
    keys = 64
    q, k = np.zeros((1, 50, 4)), np.zeros((1, keys, 4))
    q, k, v = variables(q, k, np.eye(keys)[None])
    out = call(q, k, v, dropout_prob=0.25, seed=3)
    weights = out.numpy()
    kept = weights != 0
    assert 0.7 < kept.mean() < 0.8
    np.testing.assert_allclose(weights[kept], 1 / keys / 0.75)
    (g,) = dygraph.grad([out.sum()], [v])
    np.testing.assert_allclose(g.numpy()[0, :, 0], weights[0].sum(0))
    np.testing.assert_array_equal(call(q, k, v, dropout_prob=0.25, seed=3).numpy(), weights)
    assert not np.array_equal(call(q, k, v, dropout_prob=0.25, seed=4).numpy(), weights)
    np.testing.assert_allclose(
        call(q, k, v, dropout_prob=0.25, is_test=True).numpy(), np.full((1, 50, keys), 1 / keys)
    )
    np.testing.assert_array_equal(call(q, k, v, dropout_prob=1.0).numpy(), 0 * weights)


def test_second_order_with_dropout_is_that_of_the_same_weights():
    rng = np.random.default_rng(4)
    q, k, v = (rng.normal(size=(2, 6, 4)) for _ in range(3))
    eye = np.broadcast_to(np.eye(6), (2, 6, 6)).copy()
    weights = call(*variables(q, k, eye), dropout_prob=0.5, seed=9).numpy()
    keep = dygraph.to_variable(np.where(weights != 0, 2.0, 0.0))

    def plain(a, b, c):
        scores = F.matmul_v2(a, b, trans_y=True) * 0.5
        return F.matmul_v2(F.softmax(scores) * keep, c)

    results = []
    for f in (lambda *x: call(*x, dropout_prob=0.5, seed=9), plain):
        inputs = variables(q, k, v)
        first = dygraph.grad([F.square(f(*inputs)).sum()], inputs, create_graph=True)
        second = dygraph.grad([sum(F.square(g).sum() for g in first)], inputs)
        results.append([g.numpy() for g in (*first, *second)])
    for got, want in zip(*results, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(
    ("shapes", "attrs", "message"),
    [
        (((2, 3), (2, 4), (2, 3)), {}, "one last size"),
        (((2, 3), (2, 3), (3, 3)), {}, "as many positions"),
        (((1, 2, 3), (2, 2, 3), (2, 2, 3)), {}, "leading axes"),
        (((1, 1, 2, 3),) * 3, {"num_heads": 3}, "must be \\[batch, queries"),
        (((1, 2, 3), (1, 2, 3), (1, 2, 3)), {"num_heads": 2}, "multiples of num_heads"),
        (((3,), (3,), (3,)), {}, "one rank, at least 2"),
    ],
)
def test_what_does_not_fit(shapes, attrs, message):
    with pytest.raises(ValueError, match=message):
        call(*variables(*(np.ones(s, "float32") for s in shapes)), **attrs)


def test_wrong_masks():
    x = np.ones((2, 3, 4), "float32")
    inputs = variables(x, x, x)
    with pytest.raises(ValueError, match="Mask must broadcast to the scores"):
        call(*inputs, mask=dygraph.to_variable(np.ones((2, 4), "float32")))
    with pytest.raises(TypeError, match="Mask must be of bool or of the type of Query"):
        call(*inputs, mask=dygraph.to_variable(np.ones((3, 3))))
    with pytest.raises(TypeError, match="must have one type"):
        call(inputs[0], inputs[1], dygraph.to_variable(x.astype("float64")))


def test_the_fourth_derivative_is_refused():
    (x,) = variables(np.ones((2, 3)))
    (first,) = dygraph.grad([F.square(call(x, x, x)).sum()], [x], create_graph=True)
    (second,) = dygraph.grad([F.square(first).sum()], [x], create_graph=True)
    (third,) = dygraph.grad([F.square(second).sum()], [x], create_graph=True)
    with pytest.raises(NotImplementedError, match="fourth derivative"):
        dygraph.grad([third.sum()], [x])


def test_nothing_but_a_number_a_query_is_kept():
    slots = {n: _core.to_variable(np.ones((2, 5, 8), "float32")) for n in ("Query", "Key", "Value")}
    out = _core.run_op("scaled_dot_product_attention", slots, {"num_heads": 4})
    assert out["LogTotal"].shape == (2, 4, 5)
    assert out["Drawn"].shape == (0,)
