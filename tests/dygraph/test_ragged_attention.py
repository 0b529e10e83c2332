"""Attention and the Transformer over ragged batches: each sequence by itself, without padding."""

import numpy as np
import pytest

import dygraph
from dygraph import nn, static
from dygraph import ops as F

LENGTHS, OTHERS = [3, 1, 0, 5], [2, 4, 1, 6]  # of queries, and of keys of cross attention


def offsets(lengths):
    return [0, *np.cumsum(lengths).tolist()]


def rows(lengths, *size, seed=0, dtype="float64"):
    made = np.random.default_rng(seed).uniform(-1, 1, (sum(lengths), *size))
    return made.astype(dtype)


def parts(array, lengths):
    return np.split(array, np.cumsum(lengths)[:-1])


def ragged(array, lengths, grad=False):
    v = dygraph.to_variable(array, lod=[offsets(lengths)])
    v.stop_gradient = not grad
    return v


def plain(array, grad=False):
    v = dygraph.to_variable(array)
    v.stop_gradient = not grad
    return v


def alone(q, k, v, causal=False, added=0.0):
    """NumPy, of one sequence."""
    if not len(q):
        return np.zeros((0, v.shape[1]))
    scores = q @ k.T / np.sqrt(q.shape[1]) + added
    if causal:
        scores = np.where(np.tri(*scores.shape, dtype=bool), scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


@pytest.fixture(autouse=True)
def seeded():
    with dygraph.guard(seed=5):
        yield


@pytest.mark.parametrize("causal", [False, True])
def test_each_sequence_attends_to_its_own(causal):
    q, k, v = rows(LENGTHS, 4), rows(OTHERS, 4, seed=1), rows(OTHERS, 3, seed=2)
    out = nn.scaled_dot_product_attention(
        ragged(q, LENGTHS), ragged(k, OTHERS), ragged(v, OTHERS), is_causal=causal
    )
    assert out.lod() == [offsets(LENGTHS)]
    each = zip(parts(q, LENGTHS), parts(k, OTHERS), parts(v, OTHERS), strict=True)
    want = np.concatenate([alone(*one, causal) for one in each])
    np.testing.assert_allclose(out.numpy(), want, atol=1e-12)


def test_the_innermost_sequences_count():
    q = rows(LENGTHS, 4)
    x = dygraph.to_variable(q, lod=[[0, 1, 4], offsets(LENGTHS)])
    out = nn.scaled_dot_product_attention(x, x, x)
    assert out.lod() == x.lod()
    want = np.concatenate([alone(one, one, one) for one in parts(q, LENGTHS)])
    np.testing.assert_allclose(out.numpy(), want, atol=1e-12)


@pytest.mark.parametrize("heads", [1, 2])
def test_bits_are_those_of_each_sequence_alone(heads):
    lengths = [1, 70, 3, 129, 17]
    arrays = [rows(lengths, 32, seed=s, dtype="float32") for s in range(3)]
    together = [ragged(a, lengths, grad=True) for a in arrays]
    out = F.scaled_dot_product_attention(*together, num_heads=heads)
    found = [out, *dygraph.grad([(out * out).sum()], together)]
    single = []
    for one in zip(*(parts(a, lengths) for a in arrays), strict=True):
        inputs = [plain(a, grad=True) for a in one]
        y = F.scaled_dot_product_attention(*inputs, num_heads=heads)
        single.append([y, *dygraph.grad([(y * y).sum()], inputs)])
    for together, apart in zip(found, zip(*single, strict=True), strict=True):
        np.testing.assert_array_equal(together.numpy(), np.concatenate([a.numpy() for a in apart]))


def test_gradients_of_two_orders():
    """Against the same sequences one by one, whose derivatives test_transformer.py measures."""
    arrays = [
        rows(n, w, seed=i) for i, (n, w) in enumerate([(LENGTHS, 4), (OTHERS, 4), (OTHERS, 6)])
    ]
    lengths = (LENGTHS, OTHERS, OTHERS)

    def derivatives(together):
        if together:
            inputs = [ragged(a, n, grad=True) for a, n in zip(arrays, lengths, strict=True)]
            outs = [F.scaled_dot_product_attention(*inputs, num_heads=2, is_causal=True)]
        else:
            cut = zip(*(parts(a, n) for a, n in zip(arrays, lengths, strict=True)), strict=True)
            each = [[plain(a, grad=True) for a in one] for one in cut]
            outs = [F.scaled_dot_product_attention(*x, num_heads=2, is_causal=True) for x in each]
            inputs = [v for one in zip(*each, strict=True) for v in one]
        loss = sum((out * out * out).sum() for out in outs)
        found, orders = [], [dygraph.grad([loss], inputs, create_graph=True)]
        orders.append(
            dygraph.grad([sum((g * g).sum() for g in orders[0])], inputs, create_graph=True)
        )
        orders.append(dygraph.grad([sum((g * g).sum() for g in orders[1])], inputs))
        for grads in orders:
            values = [g.numpy() for g in grads]
            if not together:
                count = len(LENGTHS)
                values = [np.concatenate(values[i : i + count]) for i in (0, count, 2 * count)]
            found += values
        return found

    for one, other in zip(derivatives(True), derivatives(False), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)


def test_a_mask_is_that_of_the_longest_sequences():
    q = rows(LENGTHS, 4)
    x = ragged(q, LENGTHS)
    bias = np.random.default_rng(8).uniform(-1, 1, (5, 5))
    added = plain(bias, grad=True)
    out = nn.scaled_dot_product_attention(x, x, x, attn_mask=added)
    each = [alone(one, one, one, added=bias[: len(one), : len(one)]) for one in parts(q, LENGTHS)]
    np.testing.assert_allclose(out.numpy(), np.concatenate(each), atol=1e-12)
    (got,) = dygraph.grad([(out * out).sum()], [added])
    want = np.zeros((5, 5))
    for one in parts(q, LENGTHS):
        n, small = len(one), plain(bias[: len(one), : len(one)].copy(), grad=True)
        y = nn.scaled_dot_product_attention(plain(one), plain(one), plain(one), attn_mask=small)
        want[:n, :n] += dygraph.grad([(y * y).sum()], [small])[0].numpy()
    np.testing.assert_allclose(got.numpy(), want, atol=1e-12)


def test_dropout_draws_anew_for_each_sequence():
    """Of equal sequences; with the identity as value the result is the weights."""
    lengths = [16, 16, 16]
    q = plain(np.zeros((48, 4)))
    for v in (q, eye := plain(np.tile(np.eye(16), (3, 1)))):
        v.set_lod([offsets(lengths)])
    out = F.scaled_dot_product_attention(q, q, eye, dropout_prob=0.5, seed=3).numpy()
    first, second, third = (one != 0 for one in parts(out, lengths))
    assert 0.3 < first.mean() < 0.7
    assert (first != second).any() and (second != third).any()
    x = ragged(rows(lengths, 4), lengths, grad=True)
    weights = np.where(out != 0, 2.0, 0.0)
    results = []
    y = F.scaled_dot_product_attention(x, x, x, dropout_prob=0.5, seed=3)
    results.append(dygraph.grad([(y * y).sum()], [x])[0].numpy())
    alone = []
    for one, keep in zip(parts(x.numpy(), lengths), parts(weights, lengths), strict=True):
        s = plain(one, grad=True)
        scores = F.softmax(F.matmul_v2(s, s, trans_y=True) * 0.5) * plain(keep)
        y = F.matmul_v2(scores, s)
        alone.append(dygraph.grad([(y * y).sum()], [s])[0].numpy())
    np.testing.assert_allclose(results[0], np.concatenate(alone), rtol=1e-9, atol=1e-12)


def small(layer):
    """As the padded layer does with each sequence alone, [1, n, size]."""

    def of(*arrays, **kwargs):
        return layer(*(plain(a[None]) for a in arrays), **kwargs).numpy()[0]

    return of  # fmt: skip


def layers():
    kinds = {"dropout": 0.0, "dtype": "float64"}
    encoder = nn.TransformerEncoderLayer(8, 2, 16, **kinds)
    decoder = nn.TransformerDecoderLayer(8, 2, 16, normalize_before=True, **kinds)
    return {
        "attention": nn.MultiHeadAttention(8, 2, dtype="float64"),
        "encoder layer": encoder,
        "encoder": nn.TransformerEncoder(encoder, 2, nn.LayerNorm(8, dtype="float64")),
        "decoder layer": decoder,
        "decoder": nn.TransformerDecoder(decoder, 2),
        "transformer": nn.Transformer(8, 2, 1, 1, 16, **kinds),
    }


NAMES = ["attention", "encoder layer", "encoder", "decoder layer", "decoder", "transformer"]


def causal_of(name):
    return {"attention": "is_causal", "encoder layer": "is_causal", "encoder": "is_causal"}.get(
        name, "tgt_is_causal"
    )


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_layers(name, causal):
    """Rows, LoD and gradients of the layer with each sequence alone."""
    layer = layers()[name]
    lengths, others = [3, 1, 5], [2, 4, 6]
    crossed = name in ("decoder layer", "decoder", "transformer")
    arrays = [(rows(lengths, 8), lengths)]
    if crossed:
        arrays.append((rows(others, 8, seed=1), others))
    if name == "transformer":
        arrays.reverse()  # src, tgt
    kwargs = {causal_of(name): True} if causal else {}
    out = layer(*(ragged(*a) for a in arrays), **kwargs)
    assert out.lod() == [offsets(lengths)] and out.shape == (9, 8)
    cut = zip(*(parts(*a) for a in arrays), strict=True)
    want = np.concatenate([small(layer)(*one, **kwargs) for one in cut])
    np.testing.assert_allclose(out.numpy(), want, atol=1e-12)

    weights = layer.parameters()
    seed = plain(rows(lengths, 8, seed=9))
    got = dygraph.grad([(out * seed).sum()], weights)
    totals = [np.zeros(w.shape) for w in weights]
    each = zip(*(parts(*a) for a in arrays), parts(seed.numpy(), lengths), strict=True)
    for *one, up in each:
        y = layer(*(plain(a[None]) for a in one), **kwargs)
        for total, g in zip(
            totals, dygraph.grad([(y * plain(up[None])).sum()], weights), strict=True
        ):
            total += g.numpy()
    for g, total in zip(got, totals, strict=True):
        np.testing.assert_allclose(g.numpy(), total, atol=1e-11)


def batches():
    for lengths, others in (([3, 1, 5], [2, 4, 6]), ([2, 7], [1, 3])):
        yield (
            ragged(rows(n, 8, seed=s, dtype="float32"), n) for s, n in enumerate((lengths, others))
        )


def test_in_a_program_with_any_number_of_rows():
    decoder = nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0)
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x, memory = (static.data(n, [None, 8], lod_level=1) for n in ("x", "memory"))
        x.stop_gradient = memory.stop_gradient = False
        out = decoder(x, memory, tgt_is_causal=True)
        assert out.lod_level == 1 and tuple(out.shape) == (-1, 8)
        loss = static.layers.mean(out * out)
        slopes = static.gradients([loss], [x, memory])
    executor = static.Executor()
    executor.run(startup)
    for a, b in batches():
        feed = {"x": a, "memory": b}
        found = executor.run(main, feed, [out, *slopes], return_numpy=False)
        a.stop_gradient = b.stop_gradient = False
        want = decoder(a, b, tgt_is_causal=True)
        assert found[0].lod() == a.lod()
        np.testing.assert_allclose(np.array(found[0]), want.numpy(), atol=2e-6)
        for got, g in zip(
            found[1:], dygraph.grad([dygraph.mean(want * want)], [a, b]), strict=True
        ):
            np.testing.assert_allclose(np.array(got), g.numpy(), atol=2e-6)


def test_captured_with_any_number_of_rows():
    decoder = nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0)

    def call(x, memory):
        return decoder(x, memory, tgt_is_causal=True)

    captured = dygraph.jit.to_static(call)
    for a, b in [*batches(), *batches()]:
        out = captured(a, b)
        assert out.lod() == a.lod()
        np.testing.assert_allclose(out.numpy(), call(a, b).numpy(), atol=2e-6)


def test_what_is_refused():
    x, y = ragged(rows([2, 3], 8), [2, 3]), ragged(rows([2, 1, 2], 8), [2, 1, 2])
    attend, layer = nn.scaled_dot_product_attention, layers()["attention"]
    bare = plain(rows([2, 3], 8))
    with pytest.raises(ValueError, match="as many sequences, got 2 and 3"):
        attend(x, y, y)
    with pytest.raises(ValueError, match="both have a level of detail.*got one for Query alone"):
        attend(x, bare, bare)
    with pytest.raises(ValueError, match="both have a level of detail.*got one for Key alone"):
        attend(bare, x, x)
    with pytest.raises(ValueError, match="same sequences, got other offsets for Value"):
        attend(x, x, ragged(rows([1, 4], 8), [1, 4]))
    with pytest.raises(ValueError, match="query, key and value all are"):
        layer(x, bare)
    for mask in (np.ones((2, 1, 1, 3), bool), np.ones((5, 5), bool), np.ones((2, 2), bool)):
        for call in (lambda m: attend(x, x, x, m), lambda m: layer(x, attn_mask=m)):
            with pytest.raises(ValueError, match="longest sequences.*There is no padding to hide"):
                call(plain(mask))
    blocks = ragged(rows([2, 3], 2, 4), [2, 3])
    with pytest.raises(ValueError, match=r"must be rows \[total, size\].*MultiHeadAttention"):
        attend(blocks, blocks, blocks)
    with pytest.raises(ValueError, match=r"gen_cache\(\) needs \[batch, positions, size\]"):
        layer.gen_cache(x)
    weighing = nn.MultiHeadAttention(8, 2, need_weights=True, dtype="float64")
    with pytest.raises(ValueError, match="need_weights=True needs"):
        weighing(x)
    dense = plain(rows([2, 3], 8)[None])
    with pytest.raises(ValueError, match="is_causal=True counts keys from the first one"):
        layer(dense, cache=layer.gen_cache(dense), is_causal=True)


def test_no_form_for_paddle():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [None, 8], lod_level=1)
        nn.scaled_dot_product_attention(x, x, x)
    with pytest.raises(NotImplementedError, match="no attention over ragged batches"):
        static.io.for_paddle(main)


def test_padded_layers_take_is_causal():
    layer, x = layers()["encoder"], plain(rows([2, 3], 8)[None])
    mask = plain(np.tri(5, dtype=bool))
    np.testing.assert_allclose(layer(x, is_causal=True).numpy(), layer(x, mask).numpy(), atol=1e-12)
