"""Attention and the Transformer against NumPy."""

import numpy as np
import pytest

import dygraph
from dygraph import nn


@pytest.fixture(autouse=True)
def seeded():
    np.random.seed(4)
    with dygraph.guard(seed=5):
        yield


def var(array, grad=False):
    v = dygraph.to_variable(np.asarray(array))
    v.stop_gradient = not grad
    return v


def rand(*shape):
    return np.random.uniform(-1, 1, shape)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(q, k, v, seen=None, added=0.0):
    """NumPy, one query at a time; a query that sees nothing gives zeros."""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]) + added
    seen = np.ones(scores.shape, bool) if seen is None else np.broadcast_to(seen, scores.shape)
    out = np.zeros((*scores.shape[:-1], v.shape[-1]))
    v = np.broadcast_to(v, (*scores.shape[:-2], *v.shape[-2:]))
    for i in np.ndindex(scores.shape[:-1]):
        keys = np.flatnonzero(seen[i])
        if len(keys):
            out[i] = softmax(scores[i][keys]) @ v[i[:-1]][keys]
    return out


def linear(x, layer):
    y = x @ layer.weight.numpy()
    return y if layer.bias is None else y + layer.bias.numpy()


def norm(x, layer, epsilon=1e-5):
    scaled = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon)
    return scaled * layer.weight.numpy() + layer.bias.numpy()


def heads(x, count):
    batch, length, size = x.shape
    return x.reshape(batch, length, count, size // count).swapaxes(1, 2)


def multi_head(layer, q, k, v, seen=None):
    n = layer.num_heads
    projected = [heads(linear(x, p), n) for x, p in
                 ((q, layer.q_proj), (k, layer.k_proj), (v, layer.v_proj))]  # fmt: skip
    out = attention(*projected, seen)
    return linear(out.swapaxes(1, 2).reshape(*q.shape[:2], -1), layer.out_proj)


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (2, 2, 3, 4)])
def test_attention(shape):
    q, k, v = rand(*shape), rand(*shape[:-2], 5, 4), rand(*shape[:-2], 5, 2)
    out = nn.scaled_dot_product_attention(var(q), var(k), var(v))
    np.testing.assert_allclose(out.numpy(), attention(q, k, v), atol=1e-12)


def test_masks():
    q, k, v = rand(2, 4, 3), rand(2, 5, 3), rand(2, 5, 2)
    seen = np.random.uniform(size=(4, 5)) < 0.5
    seen[:, 0] = True
    want = attention(q, k, v, seen)
    added = np.where(seen, 0.0, -np.inf)
    for mask in (seen, seen.astype("int64"), added, np.where(seen, 0.0, -1e300)):
        out = nn.scaled_dot_product_attention(var(q), var(k), var(v), var(mask))
        np.testing.assert_allclose(out.numpy(), want, atol=1e-12)
    bias = rand(2, 4, 5)
    out = nn.scaled_dot_product_attention(var(q), var(k), var(v), var(bias))
    np.testing.assert_allclose(out.numpy(), attention(q, k, v, added=bias), atol=1e-12)
    causal = np.tri(4, 5, dtype=bool)
    out = nn.scaled_dot_product_attention(var(q), var(k), var(v), is_causal=True)
    np.testing.assert_allclose(out.numpy(), attention(q, k, v, causal), atol=1e-12)
    out = nn.scaled_dot_product_attention(var(q), var(k), var(v), var(seen), is_causal=True)
    np.testing.assert_allclose(out.numpy(), attention(q, k, v, causal & seen), atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["bool", "-inf"])
def test_a_query_that_sees_nothing(dtype, kind):
    """Zeros and finite gradients, no NaN."""
    seen = np.array([[True, False], [False, False]])
    mask = seen if kind == "bool" else np.where(seen, 0, -np.inf).astype(dtype)
    q, k, v = (var(rand(2, 3).astype(dtype), grad=True) for _ in range(3))
    out = nn.scaled_dot_product_attention(q, k, v, var(mask))
    np.testing.assert_allclose(out.numpy(), [v.numpy()[0], np.zeros(3)], rtol=1e-6)
    out.sum().backward()
    for x in (q, k):
        np.testing.assert_allclose(x.gradient(), np.zeros((2, 3)), atol=1e-7)
    np.testing.assert_allclose(v.gradient(), [[1, 1, 1], [0, 0, 0]], rtol=1e-6)


def test_gradients_and_second_order():
    arrays = [rand(2, 3), rand(4, 3), rand(4, 2), rand(2, 4)]
    seeds = rand(2, 2)

    def loss(values, create=False):
        v = [var(a, grad=True) for a in values]
        out = nn.scaled_dot_product_attention(*v, is_causal=True)
        return v, dygraph.grad([(out * var(seeds)).sum()], v, create_graph=create)

    def value(values):
        q, k, v, added = values
        return (attention(q, k, v, np.tri(2, 4, dtype=bool), added) * seeds).sum()

    v, first = loss(arrays, create=True)
    second = dygraph.grad([sum((g * g).sum() for g in first)], v)
    for i, array in enumerate(arrays):
        for at in np.ndindex(array.shape):
            ends, twice = [], []
            for step in (1e-5, -1e-5):
                moved = [a.copy() for a in arrays]
                moved[i][at] += step
                ends.append(value(moved))
                twice.append(sum((g.numpy() ** 2).sum() for g in loss(moved)[1]))
            np.testing.assert_allclose(first[i].numpy()[at], (ends[0] - ends[1]) / 2e-5, atol=1e-8)
            np.testing.assert_allclose(
                second[i].numpy()[at], (twice[0] - twice[1]) / 2e-5, atol=1e-7
            )


def test_multi_head_attention():
    layer = nn.MultiHeadAttention(6, 3, kdim=4, vdim=5, need_weights=True, dtype="float64")
    q, k, v = rand(2, 3, 6), rand(2, 4, 4), rand(2, 4, 5)
    seen = np.random.uniform(size=(2, 1, 3, 4)) < 0.7
    out, weights = layer(var(q), var(k), var(v), var(seen))
    np.testing.assert_allclose(out.numpy(), multi_head(layer, q, k, v, seen), atol=1e-12)
    np.testing.assert_allclose(weights.numpy().sum(-1), np.broadcast_to(seen.any(-1), (2, 3, 3)))
    assert len(layer.parameters()) == 8
    alone = nn.MultiHeadAttention(6, 2, bias_attr=False, dtype="float64")
    np.testing.assert_allclose(alone(var(q)).numpy(), multi_head(alone, q, q, q), atol=1e-12)
    assert len(alone.parameters()) == 4


def test_decoding_word_by_word():
    """With a growing cache each step gives what the whole sequence gives under a causal mask."""
    layer = nn.MultiHeadAttention(6, 2, dtype="float64")
    x = rand(2, 4, 6)
    whole = layer(var(x), attn_mask=var(np.tri(4, dtype=bool))).numpy()
    cache = layer.gen_cache(var(x))
    for t in range(4):
        out, cache = layer(var(x[:, t : t + 1]), cache=cache)
        np.testing.assert_allclose(out.numpy()[:, 0], whole[:, t], atol=1e-12)
    assert cache.k.shape == (2, 2, 4, 3)
    memory = rand(2, 5, 6)
    static = layer.gen_cache(var(memory), type=nn.MultiHeadAttention.StaticCache)
    out, again = layer(var(x), var(memory), var(memory), None, static)
    np.testing.assert_allclose(out.numpy(), multi_head(layer, x, memory, memory), atol=1e-12)
    assert again is static


def encoder_layer(layer, x, seen=None):
    if layer._before:
        h = norm(x, layer.norm1)
        x = x + multi_head(layer.self_attn, h, h, h, seen)
        h = norm(x, layer.norm2)
        return x + linear(np.maximum(linear(h, layer.linear1), 0), layer.linear2)
    x = norm(x + multi_head(layer.self_attn, x, x, x, seen), layer.norm1)
    inner = linear(np.maximum(linear(x, layer.linear1), 0), layer.linear2)
    return norm(x + inner, layer.norm2)


def decoder_layer(layer, x, memory, seen=None):
    if layer._before:
        h = norm(x, layer.norm1)
        x = x + multi_head(layer.self_attn, h, h, h, seen)
        x = x + multi_head(layer.cross_attn, norm(x, layer.norm2), memory, memory)
        h = norm(x, layer.norm3)
        return x + linear(np.maximum(linear(h, layer.linear1), 0), layer.linear2)
    x = norm(x + multi_head(layer.self_attn, x, x, x, seen), layer.norm1)
    x = norm(x + multi_head(layer.cross_attn, x, memory, memory), layer.norm2)
    inner = linear(np.maximum(linear(x, layer.linear1), 0), layer.linear2)
    return norm(x + inner, layer.norm3)


def shake(net):
    """Parameters that start at 0 or 1 would hide differences."""
    for p in net.parameters():
        p.set_value(rand(*p.shape))


@pytest.mark.parametrize("before", [False, True])
def test_transformer(before):
    net = nn.Transformer(4, 2, 2, 2, 6, dropout=0.1, normalize_before=before, dtype="float64")
    shake(net)
    net.eval()
    src, tgt = rand(2, 5, 4), rand(2, 3, 4)
    mask = net.generate_square_subsequent_mask(3)
    want_mask = np.where(np.tri(3, dtype=bool), 0.0, -np.inf)
    np.testing.assert_array_equal(mask.numpy(), want_mask)
    memory = src
    for layer in net.encoder.layers:
        memory = encoder_layer(layer, memory)
    if before:
        memory = norm(memory, net.encoder.norm)
    want = tgt
    for layer in net.decoder.layers:
        want = decoder_layer(layer, want, memory, np.tri(3, dtype=bool))
    if before:
        want = norm(want, net.decoder.norm)
    out = net(var(src), var(tgt), tgt_mask=mask)
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-9, atol=1e-9)

    encoded = net.encoder(var(src))
    cache = net.decoder.gen_cache(encoded)
    for t in range(3):
        step, cache = net.decoder(var(tgt[:, t : t + 1]), encoded, cache=cache)
        np.testing.assert_allclose(step.numpy()[:, 0], want[:, t], rtol=1e-9, atol=1e-9)


def test_an_encoder_with_a_cache_is_causal():
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, dtype="float64")
    encoder = nn.TransformerEncoder(layer, 2)
    x = rand(1, 3, 4)
    seen = np.tri(3, dtype=bool)
    whole = encoder(var(x), var(seen)).numpy()
    want = encoder_layer(encoder.layers[1], encoder_layer(encoder.layers[0], x, seen), seen)
    np.testing.assert_allclose(whole, want, atol=1e-9)
    cache = encoder.gen_cache(var(x))
    for t in range(3):
        out, cache = encoder(var(x[:, t : t + 1]), cache=cache)
        np.testing.assert_allclose(out.numpy()[:, 0], whole[:, t], atol=1e-9)


def test_layers_of_a_stack_have_parameters_of_their_own():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 3)
    parameters = encoder.parameters()
    assert len(parameters) == 3 * 16 == len({id(p) for p in parameters})
    first, second = (encoder.layers[i].linear1.weight.numpy() for i in (0, 1))
    assert not np.array_equal(first, second)


def test_dropout_while_training_only():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.5)
    x = var(rand(2, 3, 8).astype("float32"))
    assert not np.array_equal(layer(x).numpy(), layer(x).numpy())
    layer.eval()
    np.testing.assert_array_equal(layer(x).numpy(), layer(x).numpy())


def test_it_learns_to_copy():
    """One layer of attention learns to give each word the word before it."""
    words, length = 6, 8
    embed, place = nn.Embedding([words, 16]), nn.Embedding([length, 16])
    net = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0)
    head = nn.Linear(16, words)
    parameters = [p for layer in (embed, place, net, head) for p in layer.parameters()]
    adam = dygraph.optimizer.Adam(0.01, parameter_list=parameters)
    mask = var(np.tri(length, dtype=bool))
    where = var(np.arange(length))
    losses = []
    for _ in range(120):
        text = np.random.randint(0, words, (16, length))
        before = np.concatenate([text[:, :1], text[:, :-1]], axis=1)
        logits = head(net(embed(var(text)) + place(where), mask))
        loss = dygraph.ops.softmax_with_cross_entropy(logits, var(before[..., None]))
        loss = (loss[0] if isinstance(loss, tuple) else loss).mean()
        loss.backward()
        adam.minimize(loss)
        for p in parameters:
            p.clear_gradient()
        losses.append(loss.item())
    assert losses[0] > 1.5 and losses[-1] < 0.2


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: nn.MultiHeadAttention(6, 4), ValueError, "multiple of num_heads"),
        (lambda: nn.MultiHeadAttention(6, 2)(var(np.zeros((2, 6)))), ValueError,
         r"\[batch, positions, size\]"),
        (lambda: nn.scaled_dot_product_attention(var(rand(2, 3)), var(rand(2, 4)), var(rand(2, 4))),
         ValueError, "one last size"),
        (lambda: nn.scaled_dot_product_attention(var(rand(3)), var(rand(3)), var(rand(3))),
         ValueError, "at least the axes"),
        (lambda: nn.scaled_dot_product_attention(*[var(rand(2, 3))] * 3, np.ones((2, 2))),
         TypeError, "attn_mask must be a Variable"),
        (lambda: nn.TransformerEncoder(nn.Linear(2, 2), 2), TypeError, "a Transformer layer"),
        (lambda: nn.TransformerEncoderLayer(4, 2, 8, activation="geluu"), ValueError, "act"),
        (lambda: nn.TransformerEncoderLayer(4, 2, 8, weight_attr=[None]), ValueError,
         "one or 2 of them"),
    ],
)  # fmt: skip
def test_what_does_not_fit(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
