"""The Transformer of Vaswani et al., "Attention is all you need", 2017."""

import numpy as np

from dygraph import _core
from dygraph.core import check
from dygraph.core.promotion import default_float
from dygraph.errors import ArgumentTypeError, kind_of
from dygraph.nn.activation import activation as find_activation
from dygraph.nn.attention import MultiHeadAttention, dropout, per_part, refuse_masks
from dygraph.nn.common import Linear
from dygraph.nn.containers import LayerList
from dygraph.nn.layer import Layer
from dygraph.nn.norm import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

ops = _core.ops


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
        weights = per_part(config["weight_attr"], parts, f"{name}: weight_attr")
        biases = per_part(config["bias_attr"], parts, f"{name}: bias_attr")
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
        out = ops.elementwise_add(x, dropout(out, self._p, self.training))
        return (out if self._before else norm(out)), rest

    def _feed_forward(self, x):
        inner = dropout(self._act(self.linear1(x)), self._act_p, self.training)
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
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

    Notes
    -----
    ``forward(src, src_mask=None, cache=None, is_causal=False)`` takes ``[batch, positions,
    d_model]``, or rows ``[total, d_model]`` with a level of detail, whose sequences attend within
    themselves, see `MultiHeadAttention`; with a cache of `gen_cache` it returns (output, cache). A
    bool mask is True where a query sees a key, as in Paddle; PyTorch's is the contrary: ``~mask``.

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

    def forward(self, src, src_mask=None, cache=None, is_causal=False, **others):
        refuse_masks("TransformerEncoderLayer", others)
        out, cache = self._joined(
            src, self.norm1, lambda x: self.self_attn(x, x, x, src_mask, cache, is_causal)
        )
        out, _ = self._joined(out, self.norm2, self._feed_forward)
        return out if cache is None else (out, cache)


class TransformerDecoderLayer(_Block):
    """Self-attention, attention over the encoder's result, and a feed-forward part.

    Each part has a residual and layer normalisation.

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
    weight_attr, bias_attr : ParamAttr, False or list of 3, optional
        Of the two attentions and of the feed-forward part.
    layer_norm_eps : float
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

    Notes
    -----
    ``forward(tgt, memory, tgt_mask=None, memory_mask=None, cache=None, tgt_is_causal=False)``; with
    a cache of ``gen_cache(memory)``, a pair of growing and static caches, it returns (output,
    cache). Of a ragged `tgt`, `memory` has as many sequences, each of any length.

    Examples
    --------
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

    def forward(
        self, tgt, memory, tgt_mask=None, memory_mask=None, cache=None, tgt_is_causal=False,
        **others,
    ):  # fmt: skip
        refuse_masks("TransformerDecoderLayer", others)
        growing, static = cache if cache is not None else (None, None)
        out, growing = self._joined(
            tgt, self.norm1, lambda x: self.self_attn(x, x, x, tgt_mask, growing, tgt_is_causal)
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

    def forward(self, src, src_mask=None, cache=None, is_causal=False, **others):
        refuse_masks("TransformerEncoder", others)
        return self._run(src, lambda layer, x, c: layer(x, src_mask, c, is_causal), cache)


class TransformerDecoder(_Stacked):
    """`num_layers` layers like `decoder_layer`, each with its own parameters.

    Parameters
    ----------
    decoder_layer : TransformerDecoderLayer
        The first layer; the others have the same arguments.
    num_layers : int
    norm : Layer, optional
        After the last layer.

    Examples
    --------
    >>> import dygraph
    >>> decoder = dygraph.nn.TransformerDecoder(dygraph.nn.TransformerDecoderLayer(8, 2, 16), 3)
    >>> decoder(dygraph.ones([3, 4, 8]), memory=dygraph.ones([3, 5, 8])).shape
    (3, 4, 8)
    """

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self, tgt, memory, tgt_mask=None, memory_mask=None, cache=None, tgt_is_causal=False,
        **others,
    ):  # fmt: skip
        refuse_masks("TransformerDecoder", others)

        def call(layer, x, cache):
            return layer(x, memory, tgt_mask, memory_mask, cache, tgt_is_causal)

        return self._run(tgt, call, cache)


class Transformer(Layer):
    """Encoder and decoder: ``out = transformer(src, tgt, src_mask, tgt_mask, memory_mask)``.

    `src` and `tgt` are ``[batch, positions, d_model]``, or ragged batches with as many sequences,
    see `MultiHeadAttention`. ``src_is_causal=True`` and ``tgt_is_causal=True`` hide later ones.

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
    dtype : dtype, optional
        Type of the parameters; None: `dygraph.get_default_dtype`.

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

    def forward(
        self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_is_causal=False,
        tgt_is_causal=False, **others,
    ):  # fmt: skip
        refuse_masks("Transformer", others)
        causal = {"is_causal": True} if src_is_causal else {}  # custom ones may not take it
        memory = self.encoder(src, src_mask, **causal)
        causal = {"tgt_is_causal": True} if tgt_is_causal else {}
        return self.decoder(tgt, memory, tgt_mask, memory_mask, **causal)

    def generate_square_subsequent_mask(self, length=None):
        """``[length, length]`` with ``-inf`` above the diagonal: position i sees 0 to i.

        Of the layer's type; called on the class, as in PyTorch, of the default one.
        """
        dtype = self._dtype if isinstance(self, Transformer) else default_float()
        length = length if isinstance(self, Transformer) else self
        length = check.integer(length, "generate_square_subsequent_mask: length", 0)
        mask = np.triu(np.full((length, length), -np.inf), 1)
        return _core.literal(mask.astype(str(dtype)))
