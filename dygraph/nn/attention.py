"""Attention of batches, padded or ragged."""

import collections
import math

import numpy as np

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError
from dygraph.nn.common import Linear
from dygraph.nn.layer import Layer

__all__ = ["MultiHeadAttention", "scaled_dot_product_attention"]

ops = _core.ops
# In place of -inf: far below any score, and finite, so that a row without a key is no NaN.
_FAR = -1e30


def _is_ragged(x):
    """Whether a Variable holds rows of sequences, ``[total, features]`` with a level of detail."""
    levels = x.lod_level if _core.is_symbol(x) else len(_core.lod(x))
    return levels > 0 and len(x.shape) == 2


def dropout(x, p, training):
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
        if "Mask must " not in str(error):
            raise
        if _is_ragged(query):
            raise _misfit_ragged_mask(attn_mask, owner) from None
        shape = [*query.shape[:-2], query.shape[-2], key.shape[-2]]
        if num_heads:
            shape.insert(1, num_heads)
        raise _misfit_mask(attn_mask, shape, owner) from None


def _misfit_mask(mask, shape, owner):
    return InvalidArgumentError(
        f"{owner}: attn_mask must broadcast to the scores [batch, heads, queries, keys], "
        f"{list(shape)}, got shape {list(mask.shape)}"
    )


def _misfit_ragged_mask(mask, owner):
    return InvalidArgumentError(
        f"{owner}: attn_mask of a ragged batch must broadcast to [heads, queries, keys] of its "
        f"longest sequences, got shape {list(mask.shape)}. There is no padding to hide: leave a "
        "mask of padded keys out; is_causal=True hides later keys"
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
    weights = dropout(weights, dropout_p, training)
    return ops.matmul_v2(weights, value), weights


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, training=True
):
    """``softmax(query key^T / sqrt(d) + mask) value``.

    Parameters
    ----------
    query, key, value : Variable
        ``[..., queries, d]``, ``[..., keys, d]``, ``[..., keys, e]``, of a floating type; leading
        axes (batch, heads) broadcast. Or a ragged batch: rows ``[total, d]`` with a level of
        detail, whose sequences attend to the key's sequence of their number, of any length.
    attn_mask : Variable, optional
        Broadcasts to ``[..., queries, keys]``. bool: True where a query sees a key; floating: added
        to the scores, ``-inf`` hides a key. A query without visible keys gives zeros, not NaN. Of a
        ragged batch: ``[queries, keys]`` of its longest sequences; shorter ones take the top left
        part.
    dropout_p : float
        Share of weights that become zero while `training`.
    is_causal : bool
        Query i sees keys 0 to i only.
    training : bool
        False: no dropout.

    Returns
    -------
    Variable
        ``[..., queries, e]``, with the level of detail of the query.

    Notes
    -----
    The result of a ragged batch has, row for row, the bits of attending each sequence alone.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> q = dygraph.to_variable(np.ones((2, 3, 4), "float32"))
    >>> dygraph.nn.scaled_dot_product_attention(q, q, q, is_causal=True).shape
    (2, 3, 4)
    >>> rows = dygraph.to_variable(np.ones((5, 4), "float32"), lod=[[0, 2, 5]])  # 2 and 3 rows
    >>> dygraph.nn.scaled_dot_product_attention(rows, rows, rows).lod()
    [[0, 2, 5]]
    """
    owner = "scaled_dot_product_attention"
    for what, v in (("query", query), ("key", key), ("value", value)):
        if len(check.variable(v, f"{owner}: {what}").shape) < 2:
            raise InvalidArgumentError(
                f"{owner}: {what} must have at least the axes [positions, size], got shape "
                f"{list(v.shape)}"
            )
        levels = v.lod_level if _core.is_symbol(v) else len(_core.lod(v))
        if levels and len(v.shape) > 2:
            raise InvalidArgumentError(
                f"{owner}: a {what} with a level of detail must be rows [total, size], got shape "
                f"{list(v.shape)}. For several heads take nn.MultiHeadAttention; for a batch of "
                "equally long sequences drop the level: set_lod([])"
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


def per_part(attr, count, what):
    """A list of `count` attributes from one or from a list."""
    if isinstance(attr, (list, tuple)):
        if len(attr) != count:
            raise InvalidArgumentError(f"{what} must be one or {count} of them, got {len(attr)}")
        return list(attr)
    return [attr] * count


# Arguments of PyTorch's attention layers: a bool mask is True there where a key is hidden.
_MASKS = {
    "mask": "src_mask=, where a bool mask is True where a query sees a key; PyTorch's is ~mask",
    **{
        f"{of}key_padding_mask": f"{ours}=~mask[:, None, None, :], True where a key is seen"
        for of, ours in {
            "": "attn_mask", "src_": "src_mask", "tgt_": "tgt_mask", "memory_": "memory_mask",
        }.items()
    },
    "need_weights": "MultiHeadAttention(embed_dim, num_heads, need_weights=True)",
    "average_attn_weights": "weights.mean(1): they are [batch, heads, queries, keys]",
}  # fmt: skip


def refuse_masks(owner, others):
    """ArgumentTypeError for arguments by PyTorch's names, which mean the contrary of ours."""
    for name in others:
        fix = f"; use {_MASKS[name]}" if name in _MASKS else ""
        raise ArgumentTypeError(f"{owner}() got an unexpected argument '{name}'{fix}")


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
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

    Notes
    -----
    ``forward(query, key=None, value=None, attn_mask=None, cache=None, is_causal=False)`` takes
    ``[batch, positions, size]``, where PyTorch's default has the positions first; a missing key is
    the query, a missing value the key. `attn_mask`
    and `is_causal` as in `scaled_dot_product_attention`; the mask broadcasts to ``[batch, heads,
    queries, keys]``. A bool mask is True where a query sees a key, as in Paddle: PyTorch's layers
    take ``~mask``. With a cache of `gen_cache` the result is a tuple with the cache last: a
    `Cache` grows by the keys of each call, for decoding word by word; a `StaticCache` holds the
    keys of a memory.

    A ragged batch, rows ``[total, size]`` with a level of detail, attends within each sequence.
    Nothing is padded, so no mask of padded keys is taken; `attn_mask` broadcasts to ``[heads,
    queries, keys]`` of the longest sequences. Keys may have other lengths than queries: they need
    as many sequences. The result has the rows and the level of detail of the query, and differs
    from that of each sequence alone only by the rounding of the projections.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> attention = dygraph.nn.MultiHeadAttention(8, 2)
    >>> attention(dygraph.to_variable(np.ones((3, 5, 8), "float32"))).shape
    (3, 5, 8)
    >>> rows = dygraph.to_variable(np.ones((7, 8), "float32"), lod=[[0, 2, 7]])  # 2 and 5 rows
    >>> attention(rows).lod()
    [[0, 2, 7]]
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
        weights = per_part(weight_attr, 4, f"{name}: weight_attr")
        biases = per_part(bias_attr, 4, f"{name}: bias_attr")
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
        if _is_ragged(check.variable(key, "MultiHeadAttention: key")):
            raise InvalidArgumentError(
                "MultiHeadAttention: gen_cache() needs [batch, positions, size], got a ragged "
                f"batch of shape {list(key.shape)}. Pad it with sequence_pad(), or call forward() "
                "without a cache"
            )
        if type is MultiHeadAttention.StaticCache:
            value = key if value is None else value
            return self.StaticCache(self._heads(self.k_proj(key)), self._heads(self.v_proj(value)))
        if value is None:
            shape = [key.shape[0], self.num_heads, 0, self.head_dim]
            empty = _core.to_variable(np.zeros(shape, str(key.dtype)))
            return self.Cache(empty, empty)
        return self.Cache(key, value)

    def forward(
        self, query, key=None, value=None, attn_mask=None, cache=None, is_causal=False, **others
    ):  # fmt: skip
        refuse_masks("MultiHeadAttention", others)
        key = query if key is None else key
        value = key if value is None else value
        ragged = _is_ragged(check.variable(query, "MultiHeadAttention: query"))
        for what, v in (("query", query), ("key", key), ("value", value)):
            fits = len(check.variable(v, f"MultiHeadAttention: {what}").shape) == 3 - ragged
            if not fits or ragged and not _is_ragged(v):
                raise InvalidArgumentError(
                    f"MultiHeadAttention: {what} must be [batch, positions, size], or rows [total, "
                    "size] with a level of detail where query, key and value all are, got shape "
                    f"{list(v.shape)}"
                )
        if ragged and (self.need_weights or cache is not None):
            what = "need_weights=True" if self.need_weights else "a cache"
            raise InvalidArgumentError(
                f"MultiHeadAttention: {what} needs [batch, positions, size], got a ragged batch of "
                f"shape {list(query.shape)}. Pad it with sequence_pad(), or leave {what} out"
            )
        if is_causal and cache is not None:
            raise InvalidArgumentError(
                "MultiHeadAttention: is_causal=True counts keys from the first one, which a cache "
                "holds, got a cache. Decoding word by word needs no causal mask; for several words "
                "give attn_mask"
            )
        rest = (attn_mask, self.dropout, bool(is_causal), self.training, "MultiHeadAttention")
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
