"""Attention, and the Transformer of Vaswani et al., "Attention is all you need", 2017."""

import collections
import math

import numpy as np

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.nn.activation import activation as find_activation
from dygraph.nn.common import Linear
from dygraph.nn.containers import LayerList
from dygraph.nn.layer import Layer
from dygraph.nn.norm import LayerNorm

__all__ = [
    "MultiHeadAttention",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "scaled_dot_product_attention",
]

ops = _core.ops
# In place of -inf: far below any score, and finite, so that a row without a key is no NaN.
_FAR = -1e30


def _dropout(x, p, training):
    if not training or p == 0:
        return x
    return ops.dropout(x, dropout_prob=p, dropout_implementation="upscale_in_train")


def _additive(mask, dtype, owner):
    """(the addend of the scores, 1 for visible keys) of a mask."""
    check.variable(mask, f"{owner}: attn_mask")
    if mask.dtype.name.startswith("float"):
        if mask.dtype != dtype:
            mask = ops.cast(mask, in_dtype=mask.dtype, out_dtype=dtype)
        far = ops.fill_constant(shape=[1], value=_FAR, dtype=dtype)
        seen = ops.greater_than(mask, far)
        return ops.elementwise_max(mask, far), ops.cast(seen, in_dtype=seen.dtype, out_dtype=dtype)
    if mask.dtype.name not in ("bool", "int32", "int64", "uint8"):
        raise _wrong_mask(mask, dtype, owner)
    if mask.dtype.name != "bool":
        mask = ops.cast(mask, in_dtype=mask.dtype, out_dtype="bool")
    seen = ops.cast(mask, in_dtype=mask.dtype, out_dtype=dtype)
    return ops.scale(seen, scale=-_FAR, bias=_FAR), seen


def _causal(queries, keys, dtype):
    mask = np.triu(np.full((queries, keys), _FAR), 1)
    return _core.literal(mask.astype(str(dtype)))


def _fitted(mask, dtype, owner):
    """A mask for the operator: bool, or of the scores' type."""
    check.variable(mask, f"{owner}: attn_mask")
    if mask.dtype == dtype or mask.dtype.name == "bool":
        return mask
    if mask.dtype.name.startswith("float"):
        return ops.cast(mask, in_dtype=mask.dtype, out_dtype=dtype)
    if mask.dtype.name not in ("int32", "int64", "uint8"):
        raise _wrong_mask(mask, dtype, owner)
    return ops.cast(mask, in_dtype=mask.dtype, out_dtype="bool")


def _wrong_mask(mask, dtype, owner):
    return ArgumentTypeError(
        f"{owner}: attn_mask must be of bool (True: seen), integers or the scores' type "
        f"{dtype}, got {mask.dtype}"
    )


def _attend_at_once(
    query, key, value, attn_mask, dropout_p, is_causal, training, owner, num_heads=0
):
    """The output of one operator, which does not keep the weights."""
    mask = None if attn_mask is None else _fitted(attn_mask, query.dtype, owner)
    try:
        return ops.scaled_dot_product_attention(
            query,
            key,
            value,
            mask=mask,
            num_heads=num_heads,
            is_causal=is_causal,
            dropout_prob=dropout_p,
            is_test=not training,
        )
    except ValueError as error:
        if "Mask must broadcast" not in str(error):
            raise
        shape = [*query.shape[:-2], query.shape[-2], key.shape[-2]]
        if num_heads:
            shape.insert(1, num_heads)
        raise _misfit_mask(attn_mask, shape, owner) from None


def _misfit_mask(mask, shape, owner):
    return InvalidArgumentError(
        f"{owner}: attn_mask must broadcast to the scores [batch, heads, queries, keys], "
        f"{list(shape)}, got shape {list(mask.shape)}"
    )


def _attend(query, key, value, attn_mask, dropout_p, is_causal, training, owner):
    """(output, weights) of attention over the last two axes."""
    width = check.known_size(query, query.ndim - 1, owner)
    scores = ops.matmul_v2(
        ops.scale(query, scale=1.0 / math.sqrt(width) if width else 1.0), key, trans_y=True
    )
    seen = None
    if is_causal:
        counts = (check.known_size(x, x.ndim - 2, owner) for x in (query, key))
        scores = ops.elementwise_add(scores, _causal(*counts, query.dtype))
    if attn_mask is not None:
        added, seen = _additive(attn_mask, query.dtype, owner)
        try:
            scores = ops.elementwise_add(scores, added)
        except ValueError:
            raise _misfit_mask(attn_mask, scores.shape, owner) from None
    weights = ops.softmax(scores, axis=-1)
    if seen is not None:  # zeros, not uniform weights, if a query sees no key
        weights = ops.elementwise_mul(weights, seen)
    weights = _dropout(weights, dropout_p, training)
    return ops.matmul_v2(weights, value), weights


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, training=True
):
    """``softmax(query key^T / sqrt(d) + mask) value``.

    Parameters
    ----------
    query, key, value : Variable
        ``[..., queries, d]``, ``[..., keys, d]``, ``[..., keys, e]``, of a floating type; leading
        axes (batch, heads) broadcast.
    attn_mask : Variable, optional
        Broadcasts to ``[..., queries, keys]``. bool: True where a query sees a key; floating: added
        to the scores, ``-inf`` hides a key. A query without visible keys gives zeros, not NaN.
    dropout_p : float
        Share of weights that become zero while `training`.
    is_causal : bool
        Query i sees keys 0 to i only.

    Returns
    -------
    Variable
        ``[..., queries, e]``.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> q = dygraph.to_variable(np.ones((2, 3, 4), "float32"))
    >>> dygraph.nn.scaled_dot_product_attention(q, q, q, is_causal=True).shape
    (2, 3, 4)
    """
    owner = "scaled_dot_product_attention"
    for what, v in (("query", query), ("key", key), ("value", value)):
        if len(check.variable(v, f"{owner}: {what}").shape) < 2:
            raise InvalidArgumentError(
                f"{owner}: {what} must have at least the axes [positions, size], got shape "
                f"{list(v.shape)}"
            )
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise InvalidArgumentError(
            f"{owner}: query and key must have one last size, key and value equally many "
            f"positions, got "
            f"{list(query.shape)}, {list(key.shape)} and {list(value.shape)}"
        )
    p = check.number(dropout_p, f"{owner}: dropout_p", 0, 1)
    rest = (attn_mask, p, bool(is_causal), training, owner)
    if query.shape[:-2] == key.shape[:-2] == value.shape[:-2]:
        return _attend_at_once(query, key, value, *rest)
    return _attend(query, key, value, *rest)[0]


def _per_part(attr, count, what):
    """A list of `count` attributes from one or from a list."""
    if isinstance(attr, (list, tuple)):
        if len(attr) != count:
            raise InvalidArgumentError(f"{what} must be one or {count} of them, got {len(attr)}")
        return list(attr)
    return [attr] * count


class MultiHeadAttention(Layer):
    """Attention by several heads: ``out = attention(query, key, value, attn_mask)``.

    Parameters
    ----------
    embed_dim : int
        Size of the query and of the result, a multiple of `num_heads`.
    num_heads : int
    dropout : float
        Of the weights, while training.
    kdim, vdim : int, optional
        Sizes of key and value; None: `embed_dim`.
    need_weights : bool
        Also return the weights ``[batch, heads, queries, keys]``.
    weight_attr, bias_attr : ParamAttr or False, optional
        Of the four projections ``q_proj``, ``k_proj``, ``v_proj``, ``out_proj``.

    Notes
    -----
    ``forward(query, key=None, value=None, attn_mask=None, cache=None)`` takes
    ``[batch, positions, size]``; a missing key is the query, a missing value the key. `attn_mask`
    as in `scaled_dot_product_attention`, broadcast to ``[batch, heads, queries, keys]``. With a
    cache of `gen_cache` the result is a tuple with the cache last: a `Cache` grows by the keys of
    each call, for decoding word by word; a `StaticCache` holds the keys of a memory.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> attention = dygraph.nn.MultiHeadAttention(8, 2)
    >>> attention(dygraph.to_variable(np.ones((3, 5, 8), "float32"))).shape
    (3, 5, 8)
    """

    Cache = collections.namedtuple("Cache", ["k", "v"])
    StaticCache = collections.namedtuple("StaticCache", ["k", "v"])

    def __init__(
        self, embed_dim, num_heads, dropout=0.0, kdim=None, vdim=None, need_weights=False,
        weight_attr=None, bias_attr=None, dtype=None,
    ):  # fmt: skip
        super().__init__(dtype=dtype)
        name = "MultiHeadAttention"
        self.embed_dim = check.integer(embed_dim, f"{name}: embed_dim", 1)
        self.num_heads = check.integer(num_heads, f"{name}: num_heads", 1)
        if embed_dim % num_heads:
            raise InvalidArgumentError(
                f"{name}: embed_dim must be a multiple of num_heads, got {embed_dim} and "
                f"{num_heads}"
            )
        self.head_dim = embed_dim // num_heads
        self.dropout = check.number(dropout, f"{name}: dropout", 0, 1)
        self.need_weights = bool(need_weights)
        kdim = embed_dim if kdim is None else check.integer(kdim, f"{name}: kdim", 1)
        vdim = embed_dim if vdim is None else check.integer(vdim, f"{name}: vdim", 1)
        weights = _per_part(weight_attr, 4, f"{name}: weight_attr")
        biases = _per_part(bias_attr, 4, f"{name}: bias_attr")
        for part, size, w, b in zip("qkv", (embed_dim, kdim, vdim), weights, biases, strict=False):
            setattr(self, f"{part}_proj", Linear(size, embed_dim, w, b, dtype=dtype))
        self.out_proj = Linear(embed_dim, embed_dim, weights[3], biases[3], dtype=dtype)

    def _heads(self, x):  # [batch, positions, embed_dim] -> [batch, heads, positions, head_dim]
        split = ops.reshape2(x, shape=[0, 0, self.num_heads, self.head_dim])
        return ops.transpose2(split, axis=[0, 2, 1, 3])

    def gen_cache(self, key, value=None, type=None):
        """A cache for `forward`.

        With ``type=MultiHeadAttention.StaticCache`` it holds the keys and values of a memory,
        computed once; otherwise it is a `Cache`, empty for the batch of `key`, or with the given
        `key` and `value`, ``[batch, heads, positions, head_dim]`` each.
        """
        if type is MultiHeadAttention.StaticCache:
            value = key if value is None else value
            return self.StaticCache(self._heads(self.k_proj(key)), self._heads(self.v_proj(value)))
        if value is None:
            shape = [key.shape[0], self.num_heads, 0, self.head_dim]
            empty = _core.to_variable(np.zeros(shape, str(key.dtype)))
            return self.Cache(empty, empty)
        return self.Cache(key, value)

    def forward(self, query, key=None, value=None, attn_mask=None, cache=None):
        key = query if key is None else key
        value = key if value is None else value
        for what, v in (("query", query), ("key", key), ("value", value)):
            if len(check.variable(v, f"MultiHeadAttention: {what}").shape) != 3:
                raise InvalidArgumentError(
                    f"MultiHeadAttention: {what} must be [batch, positions, size], got shape "
                    f"{list(v.shape)}"
                )
        rest = (attn_mask, self.dropout, False, self.training, "MultiHeadAttention")
        if cache is None and not self.need_weights:
            q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
            return self.out_proj(_attend_at_once(q, k, v, *rest, self.num_heads))
        q = self._heads(self.q_proj(query))
        if isinstance(cache, self.StaticCache):
            k, v = cache
        else:
            k, v = self._heads(self.k_proj(key)), self._heads(self.v_proj(value))
        if isinstance(cache, self.Cache):
            if cache.k.shape[2]:
                k, v = ops.concat([cache.k, k], axis=2), ops.concat([cache.v, v], axis=2)
            cache = self.Cache(k, v)
        if self.need_weights:
            out, weights = _attend(q, k, v, *rest)
        else:
            out = _attend_at_once(q, k, v, *rest)
        out = ops.transpose2(out, axis=[0, 2, 1, 3])
        out = self.out_proj(ops.reshape2(out, shape=[0, 0, self.embed_dim]))
        results = [out]
        if self.need_weights:
            results.append(weights)
        if cache is not None:
            results.append(cache)
        return out if len(results) == 1 else tuple(results)

    def extra_repr(self):
        return f"{self.embed_dim}, {self.num_heads}"


class _Block(Layer):
    """Base of encoder and decoder layers: the feed-forward part and the residuals."""

    def __init__(self, config, attentions):
        name = type(self).__name__
        super().__init__(dtype=config["dtype"])
        self._config = dict(config)
        d_model = check.integer(config["d_model"], f"{name}: d_model", 1)
        inner = check.integer(config["dim_feedforward"], f"{name}: dim_feedforward", 1)
        self._p = check.number(config["dropout"], f"{name}: dropout", 0, 1)
        act_p, attn_p = config["act_dropout"], config["attn_dropout"]
        self._act_p = (
            self._p if act_p is None else check.number(act_p, f"{name}: act_dropout", 0, 1)
        )
        attn_p = self._p if attn_p is None else check.number(attn_p, f"{name}: attn_dropout", 0, 1)
        self._before = bool(config["normalize_before"])
        self._act = find_activation(config["activation"], name)
        parts = len(attentions) + 1
        weights = _per_part(config["weight_attr"], parts, f"{name}: weight_attr")
        biases = _per_part(config["bias_attr"], parts, f"{name}: bias_attr")
        dtype = config["dtype"]
        for attention, w, b in zip(attentions, weights, biases, strict=False):
            made = MultiHeadAttention(
                d_model, config["nhead"], attn_p, weight_attr=w, bias_attr=b, dtype=dtype
            )
            setattr(self, attention, made)
        self.linear1 = Linear(d_model, inner, weights[-1], biases[-1], dtype=dtype)
        self.linear2 = Linear(inner, d_model, weights[-1], biases[-1], dtype=dtype)
        epsilon = config["layer_norm_eps"]
        for i in range(parts):
            setattr(self, f"norm{i + 1}", LayerNorm(d_model, epsilon=epsilon, dtype=dtype))

    def _joined(self, x, norm, part):
        """x + part(x), normalised before the part or after the sum; and the other results."""
        given = part(norm(x) if self._before else x)
        out, rest = given if isinstance(given, tuple) else (given, None)
        out = ops.elementwise_add(x, _dropout(out, self._p, self.training))
        return (out if self._before else norm(out)), rest

    def _feed_forward(self, x):
        inner = _dropout(self._act(self.linear1(x)), self._act_p, self.training)
        return self.linear2(inner)

    def fresh(self):
        """A layer with the same arguments and new parameters."""
        return type(self)(**self._config)


class TransformerEncoderLayer(_Block):
    """Self-attention and a feed-forward part, each with a residual and layer normalisation.

    Parameters
    ----------
    d_model, nhead, dim_feedforward : int
    dropout : float
        After each part, in training.
    activation : str
        Any operator of one input, ``'relu'``.
    attn_dropout, act_dropout : float, optional
        Of the attention weights and after the activation; None: `dropout`.
    normalize_before : bool
        Normalise each part's input instead of the sum after it.
    weight_attr, bias_attr : ParamAttr, False or list of 2, optional
        Of the attention and of the feed-forward part.
    layer_norm_eps : float

    Notes
    -----
    ``forward(src, src_mask=None, cache=None)`` takes ``[batch, positions, d_model]``; with a cache
    of `gen_cache` it returns (output, cache).

    Examples
    --------
    >>> import dygraph
    >>> layer = dygraph.nn.TransformerEncoderLayer(8, 2, 16)
    >>> layer(dygraph.ones([3, 5, 8])).shape
    (3, 5, 8)
    """

    def __init__(
        self, d_model, nhead, dim_feedforward, dropout=0.1, activation="relu", attn_dropout=None,
        act_dropout=None, normalize_before=False, weight_attr=None, bias_attr=None,
        layer_norm_eps=1e-5, dtype=None,
    ):  # fmt: skip
        config = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        super().__init__(config, ["self_attn"])

    def gen_cache(self, src):
        """An empty cache for the batch of `src`."""
        return self.self_attn.gen_cache(src)

    def forward(self, src, src_mask=None, cache=None):
        out, cache = self._joined(
            src, self.norm1, lambda x: self.self_attn(x, x, x, src_mask, cache)
        )
        out, _ = self._joined(out, self.norm2, self._feed_forward)
        return out if cache is None else (out, cache)


class TransformerDecoderLayer(_Block):
    """Self-attention, attention over the encoder's result, and a feed-forward part.

    Arguments as of `TransformerEncoderLayer`; `weight_attr` and `bias_attr` may be lists of 3.
    ``forward(tgt, memory, tgt_mask=None, memory_mask=None, cache=None)``; with a cache of
    ``gen_cache(memory)``, a pair of growing and static caches, it returns (output, cache).

    >>> import dygraph
    >>> layer = dygraph.nn.TransformerDecoderLayer(8, 2, 16)
    >>> layer(dygraph.ones([3, 4, 8]), memory=dygraph.ones([3, 5, 8])).shape
    (3, 4, 8)
    """

    def __init__(
        self, d_model, nhead, dim_feedforward, dropout=0.1, activation="relu", attn_dropout=None,
        act_dropout=None, normalize_before=False, weight_attr=None, bias_attr=None,
        layer_norm_eps=1e-5, dtype=None,
    ):  # fmt: skip
        config = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        super().__init__(config, ["self_attn", "cross_attn"])

    def gen_cache(self, memory):
        """(empty cache for the words so far, keys and values of the memory)."""
        static = self.cross_attn.gen_cache(memory, type=MultiHeadAttention.StaticCache)
        return self.self_attn.gen_cache(memory), static

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, cache=None):
        growing, static = cache if cache is not None else (None, None)
        out, growing = self._joined(
            tgt, self.norm1, lambda x: self.self_attn(x, x, x, tgt_mask, growing)
        )
        out, _ = self._joined(
            out, self.norm2, lambda x: self.cross_attn(x, memory, memory, memory_mask, static)
        )
        out, _ = self._joined(out, self.norm3, self._feed_forward)
        return out if cache is None else (out, (growing, static))


class _Stacked(Layer):
    def __init__(self, layer, num_layers, norm):
        super().__init__()
        name = type(self).__name__
        if not isinstance(layer, _Block):
            raise ArgumentTypeError(
                f"{name}: the layer must be a Transformer layer, got {kind_of(layer)}"
            )
        count = check.integer(num_layers, f"{name}: num_layers", 1, 10_000)
        self.layers = LayerList([layer, *(layer.fresh() for _ in range(count - 1))])
        self.norm = norm

    def gen_cache(self, x):
        """A cache for each layer."""
        return [layer.gen_cache(x) for layer in self.layers]

    def _run(self, out, call, cache):
        caches = []
        for i, layer in enumerate(self.layers):
            if cache is None:
                out = call(layer, out, None)
            else:
                out, grown = call(layer, out, cache[i])
                caches.append(grown)
        if self.norm is not None:
            out = self.norm(out)
        return out if cache is None else (out, caches)


class TransformerEncoder(_Stacked):
    """`num_layers` layers like `encoder_layer`, each with its own parameters.

    Parameters
    ----------
    encoder_layer : TransformerEncoderLayer
        The first layer; the others have the same arguments.
    num_layers : int
    norm : Layer, optional
        After the last layer.

    Examples
    --------
    >>> import dygraph
    >>> encoder = dygraph.nn.TransformerEncoder(dygraph.nn.TransformerEncoderLayer(8, 2, 16), 3)
    >>> encoder(dygraph.ones([3, 5, 8])).shape, len(encoder.layers)
    ((3, 5, 8), 3)
    """

    def __init__(self, encoder_layer, num_layers, norm=None):
        super().__init__(encoder_layer, num_layers, norm)

    def forward(self, src, src_mask=None, cache=None):
        return self._run(src, lambda layer, x, c: layer(x, src_mask, c), cache)


class TransformerDecoder(_Stacked):
    """`num_layers` layers like `decoder_layer`, see `TransformerEncoder`.

    >>> import dygraph
    >>> decoder = dygraph.nn.TransformerDecoder(dygraph.nn.TransformerDecoderLayer(8, 2, 16), 3)
    >>> decoder(dygraph.ones([3, 4, 8]), memory=dygraph.ones([3, 5, 8])).shape
    (3, 4, 8)
    """

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__(decoder_layer, num_layers, norm)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, cache=None):
        return self._run(tgt, lambda layer, x, c: layer(x, memory, tgt_mask, memory_mask, c), cache)


class Transformer(Layer):
    """Encoder and decoder: ``out = transformer(src, tgt, src_mask, tgt_mask, memory_mask)``.

    Parameters
    ----------
    d_model, nhead, num_encoder_layers, num_decoder_layers, dim_feedforward : int
    dropout, activation, attn_dropout, act_dropout, normalize_before
        As in `TransformerEncoderLayer`; with `normalize_before` both stacks end with a
        normalisation.
    weight_attr, bias_attr : ParamAttr, False or list, optional
        Of every layer.
    custom_encoder, custom_decoder : Layer, optional
        In place of the default ones.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> net = dygraph.nn.Transformer(8, 2, 1, 1, 16, dropout=0.0)
    >>> src = dygraph.to_variable(np.ones((2, 5, 8), "float32"))
    >>> tgt = dygraph.to_variable(np.ones((2, 3, 8), "float32"))
    >>> mask = net.generate_square_subsequent_mask(3)
    >>> net(src, tgt, tgt_mask=mask).shape
    (2, 3, 8)
    """

    def __init__(
        self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6,
        dim_feedforward=2048, dropout=0.1, activation="relu", attn_dropout=None, act_dropout=None,
        normalize_before=False, weight_attr=None, bias_attr=None, custom_encoder=None,
        custom_decoder=None, dtype=None,
    ):  # fmt: skip
        super().__init__(dtype=dtype)
        common = {
            "d_model": d_model,
            "nhead": nhead,
            "dim_feedforward": dim_feedforward,
            "dropout": dropout,
            "activation": activation,
            "attn_dropout": attn_dropout,
            "act_dropout": act_dropout,
            "normalize_before": normalize_before,
            "weight_attr": weight_attr,
            "bias_attr": bias_attr,
            "dtype": dtype,
        }

        def norm():
            return LayerNorm(d_model, dtype=dtype) if normalize_before else None

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(**common), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(**common), num_decoder_layers, norm()
        )

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None):
        memory = self.encoder(src, src_mask)
        return self.decoder(tgt, memory, tgt_mask, memory_mask)

    def generate_square_subsequent_mask(self, length):
        """``[length, length]`` with ``-inf`` above the diagonal: position i sees 0 to i."""
        length = check.integer(length, "generate_square_subsequent_mask: length", 0)
        mask = np.triu(np.full((length, length), -np.inf), 1)
        return _core.literal(mask.astype(str(self._dtype)))
