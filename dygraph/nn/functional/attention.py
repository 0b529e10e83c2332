"""Attention."""

from dygraph.core import check
from dygraph.errors import ArgumentTypeError, kind_of
from dygraph.nn import attention
from dygraph.nn.functional.spelling import spelled

__all__ = ["scaled_dot_product_attention"]


@spelled
def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, training=True
):
    """``softmax(scale * query key^T + mask) value``.

    The axes are PyTorch's ``[batch, heads, positions, size]``; Paddle's function has the heads
    third, so its operands must be transposed.

    Parameters
    ----------
    query, key, value : Variable
        ``[..., queries, d]``, ``[..., keys, d]``, ``[..., keys, e]``, float32 or float64; leading
        axes (batch, heads) broadcast.
    attn_mask : Variable, optional
        Broadcasts to ``[..., queries, keys]``. bool: True where a query sees a key; floating: added
        to the scores, ``-inf`` hides a key. A query without visible keys gives zeros, not NaN.
    dropout_p : float
        Share of weights that become zero while `training`.
    is_causal : bool
        Query i sees keys 0 to i only.
    scale : float, optional
        None: ``1 / sqrt(d)``.
    training : bool

    Returns
    -------
    Variable
        ``[..., queries, e]``.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for shapes that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> q = dygraph.ones(2, 3, 4)
    >>> F.scaled_dot_product_attention(q, q, q, is_causal=True).shape
    (2, 3, 4)
    """
    if not isinstance(is_causal, (bool, int)):
        raise ArgumentTypeError(
            "scaled_dot_product_attention: is_causal must be True or False, got "
            f"{kind_of(is_causal)}"
        )
    if scale is not None:
        size = check.variable(query, "scaled_dot_product_attention: query").shape[-1]
        scale = check.number(scale, "scaled_dot_product_attention: scale")
        query = query * (scale * float(size) ** 0.5)
    return attention.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, training
    )
