"""Small networks of layers.

Examples
--------
>>> from dygraph import static
>>> with static.program_guard(static.Program(), static.Program()):
...     image = static.data("image", [None, 1, 28, 28])
...     static.nets.simple_img_conv_pool(image, 6, 5, pool_size=2, pool_stride=2).shape
(-1, 6, 12, 12)
"""

from dygraph import nets as eager
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.static import layers

__all__ = [
    "glu", "img_conv_group", "scaled_dot_product_attention", "sequence_conv_pool",
    "simple_img_conv_pool",
]  # fmt: skip


def simple_img_conv_pool(
    input, num_filters, filter_size, pool_size, pool_stride, pool_padding=0, pool_type="max",
    global_pooling=False, conv_stride=1, conv_padding=0, conv_dilation=1, conv_groups=1,
    param_attr=None, bias_attr=None, act=None, use_cudnn=True,
):  # fmt: skip
    """`layers.conv2d`, then `layers.pool2d`.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``; float32 or float64.
    num_filters : int
        The channels of the result.
    filter_size : int or list of int
        Height and width of the filters.
    pool_size : int or list of int
        Height and width of the window that is pooled.
    pool_stride : int or list of int
        Its steps, down and across.
    pool_padding : int or list of int, default 0
        The padding of the pooling.
    pool_type : str, default "max"
        ``"max"`` or ``"avg"``.
    global_pooling : bool, default False
        Whether the window is the whole image.
    conv_stride, conv_padding, conv_dilation : int or list of int, default 1, 0 and 1
        Of the convolution, as of `layers.conv2d`.
    conv_groups : int, default 1
        Of the convolution.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the filters.
    bias_attr : ParamAttr, str, Initializer or False, optional
        The same of the bias; False: no bias.
    act : str, optional
        The name of an activation of the convolution, such as ``"relu"``.
    use_cudnn : bool, default True
        As of `layers.conv2d`.

    Returns
    -------
    Variable
        ``[batch, num_filters, new height, new width]``

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     image = static.data("image", [None, 1, 28, 28])
    ...     out = static.nets.simple_img_conv_pool(image, 6, 5, 2, 2, act="relu")
    ...     [op.type for op in out.block.ops]
    ['conv2d', 'elementwise_add', 'relu', 'pool2d']
    """
    convolved = layers.conv2d(
        input, num_filters, filter_size, conv_stride, conv_padding, conv_dilation, conv_groups,
        param_attr, bias_attr, use_cudnn, act,
    )  # fmt: skip
    return layers.pool2d(
        convolved, pool_size, pool_type, pool_stride, pool_padding, global_pooling, use_cudnn
    )


def img_conv_group(
    input, conv_num_filter, pool_size, conv_padding=1, conv_filter_size=3, conv_act=None,
    param_attr=None, conv_with_batchnorm=False, conv_batchnorm_drop_rate=0.0, pool_stride=1,
    pool_type="max", use_cudnn=True,
):  # fmt: skip
    """Several `layers.conv2d`, each with optional batch_norm and dropout, then `layers.pool2d`.

    Arguments of the convolutions are one value for all or a list of them.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``; float32 or float64.
    conv_num_filter : list of int
        The channels of each convolution.
    pool_size : int or list of int
        Height and width of the window that is pooled.
    conv_padding, conv_filter_size : int or list of int, default 1 and 3
        The padding and the filters of each convolution.
    conv_act : str, optional
        The name of the activation of all.
    param_attr : ParamAttr or list of ParamAttr, optional
        The attributes of the filters.
    conv_with_batchnorm : bool or list of bool, default False
        Whether a batch_norm follows; the activation then follows that.
    conv_batchnorm_drop_rate : float or list of float, default 0.0
        The probability of the dropout after a batch_norm; 0: none.
    pool_stride : int or list of int, default 1
        Steps of the pooling, down and across.
    pool_type : str, default "max"
        ``"max"`` or ``"avg"``.
    use_cudnn : bool, default True
        As of `layers.conv2d`.

    Returns
    -------
    Variable
        ``[batch, conv_num_filter[-1], new height, new width]``

    Raises
    ------
    InvalidArgumentError
        `conv_num_filter` is no list, or another list has not its length.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     image = static.data("image", [None, 3, 8, 8])
    ...     static.nets.img_conv_group(image, [4, 4], 2, conv_act="relu", pool_stride=2).shape
    (-1, 4, 4, 4)
    """
    if not isinstance(conv_num_filter, (list, tuple)):
        raise InvalidArgumentError(
            f"img_conv_group: conv_num_filter must be a list, got {conv_num_filter!r}"
        )
    count = len(conv_num_filter)

    def each(value, what):
        if not isinstance(value, (list, tuple)):
            return [value] * count
        if len(value) != count:
            raise InvalidArgumentError(
                f"img_conv_group: {what} must be one value or {count}, got {value}"
            )
        return list(value)

    paddings = each(conv_padding, "conv_padding")
    sizes = each(conv_filter_size, "conv_filter_size")
    attrs = each(param_attr, "param_attr")
    normalized = each(conv_with_batchnorm, "conv_with_batchnorm")
    rates = each(conv_batchnorm_drop_rate, "conv_batchnorm_drop_rate")
    out = input
    for i, filters in enumerate(conv_num_filter):
        act = None if normalized[i] else conv_act
        out = layers.conv2d(
            out, filters, sizes[i], padding=paddings[i], param_attr=attrs[i], act=act,
            use_cudnn=use_cudnn,
        )  # fmt: skip
        if normalized[i]:
            out = layers.batch_norm(out, act=conv_act)
            if abs(rates[i]) > 1e-5:
                out = layers.dropout(out, rates[i])
    return layers.pool2d(out, pool_size, pool_type, pool_stride, use_cudnn=use_cudnn)


def sequence_conv_pool(
    input, num_filters, filter_size, param_attr=None, act="sigmoid", pool_type="max",
    bias_attr=None,
):  # fmt: skip
    """`layers.sequence_conv`, then `layers.sequence_pool`.

    Parameters
    ----------
    input : Variable
        ``[rows, width]`` with LoD; float32 or float64.
    num_filters : int
        The columns of the result.
    filter_size : int
        The number of rows that one result sees.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the weight.
    act : str, default "sigmoid"
        The name of the activation of the convolution.
    pool_type : str, default "max"
        As of `layers.sequence_pool`.
    bias_attr : ParamAttr, str, Initializer or False, optional
        The same of the bias; False: no bias.

    Returns
    -------
    Variable
        ``[sequences, num_filters]``

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.layers.data("x", [16], lod_level=1)
    ...     static.nets.sequence_conv_pool(x, 4, 3).shape
    (-1, 4)
    """
    convolved = layers.sequence_conv(
        input, num_filters, filter_size, param_attr=param_attr, bias_attr=bias_attr, act=act
    )
    return layers.sequence_pool(convolved, pool_type)


def glu(input, dim=-1):
    """Gated linear unit: ``a * sigmoid(b)`` for the halves a and b of `input` (Dauphin and others,
    2016).

    Parameters
    ----------
    input : Variable
        An even size along `dim`; float32 or float64.
    dim : int, default -1
        The axis to halve; negative ones count from the end.

    Returns
    -------
    Variable
        The shape of `input` with half the size along `dim`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import static
    >>> static.nets.glu(dygraph.to_variable([[2.0, 0.0]])).tolist()
    [[1.0]]
    """
    a, b = layers.split(input, 2, dim)
    return layers.elementwise_mul(a, layers.sigmoid(b))


def scaled_dot_product_attention(queries, keys, values, num_heads=1, dropout_rate=0.0):
    """``softmax(q k^T / sqrt(d)) v`` for each head (Vaswani and others, 2017).

    With several heads `queries`, `keys` and `values` go through a `layers.fc` each, as in Fluid;
    eager Variables do not, see `dygraph.nets`.

    Parameters
    ----------
    queries : Variable
        ``[batch, M, D]``; float32 or float64.
    keys : Variable
        ``[batch, N, D]``
    values : Variable
        ``[batch, N, E]``
    num_heads : int, default 1
        The number of heads; it divides D and E.
    dropout_rate : float, default 0.0
        The probability of dropout of the weights.

    Returns
    -------
    Variable
        ``[batch, M, E]``

    Raises
    ------
    InvalidArgumentError
        The shapes do not fit.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     q, k = static.data("q", [None, 3, 4]), static.data("k", [None, 5, 4])
    ...     static.nets.scaled_dot_product_attention(q, k, k, num_heads=2).shape
    (-1, 3, 4)
    """
    owner = "scaled_dot_product_attention"
    variables = [
        check.variable(v, f"{owner}: {what}")
        for what, v in (("queries", queries), ("keys", keys), ("values", values))
    ]
    if not any(hasattr(v, "block") for v in variables):
        return eager.scaled_dot_product_attention(*variables, num_heads, dropout_rate)
    heads = check.integer(num_heads, f"{owner}: num_heads", 1)
    q, k, v = (list(x.shape) for x in variables)
    for x in variables:
        if x.shape:
            check.known_size(x, len(x.shape) - 1, owner)
    fits = len(q) == len(k) == len(v) == 3 and q[2] == k[2] and check.may_be_equal(k[1], v[1])
    if not fits or q[2] % heads or v[2] % heads or min(q[2], v[2]) < 1:
        raise InvalidArgumentError(
            f"{owner}: queries, keys and values must be [batch, M, D], [batch, N, D] and "
            f"[batch, N, E] with D and E divisible by num_heads {heads}, got {q}, {k}, {v}"
        )

    def split(x, width):
        if heads == 1:
            return x
        x = layers.fc(x, width, num_flatten_dims=2)
        x = layers.reshape(x, [0, 0, heads, width // heads])
        return layers.transpose(x, [0, 2, 1, 3])

    by_head = [split(x, shape[2]) for x, shape in zip(variables, (q, k, v), strict=True)]
    scaled = layers.scale(by_head[0], scale=(q[2] // heads) ** -0.5)
    weights = layers.softmax(layers.matmul(scaled, by_head[1], transpose_y=True))
    if dropout_rate:
        weights = layers.dropout(weights, dropout_rate)
    out = layers.matmul(weights, by_head[2])
    if heads == 1:
        return out
    return layers.reshape(layers.transpose(out, [0, 2, 1, 3]), [0, 0, v[2]])
