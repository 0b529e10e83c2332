"""Layers with parameters: matrices, tables and gates."""

import math

from dygraph import ParamAttr, initializer, ops
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError
from dygraph.static.layers.making import activated, layer, run
from dygraph.static.parameters import create_parameter
from dygraph.static.program import Variable, default_main_program

__all__ = [
    "bilinear_tensor_product", "embedding", "fc", "prelu", "row_conv", "sequence_conv",
]  # fmt: skip


def parameter(shape, dtype, attr, *, bias=False, start=None):
    """A parameter named after the layer function that runs; None if `attr` is False."""
    attr = ParamAttr.of(attr)
    if attr is None:
        return None
    return create_parameter(
        shape, dtype, attr=attr, is_bias=bias, default_initializer=start,
        layer=default_main_program().layer_name,
    )  # fmt: skip


def state(shape, dtype, name, value, average=True):
    """A parameter that the layer's operator changes, not an optimizer."""
    start = value if callable(value) else initializer.Constant(value)
    attr = ParamAttr(name=name, initializer=start, trainable=False, do_model_average=average)
    made = parameter(shape, dtype, attr)
    made.stop_gradient = True
    return made


def biased(x, size, attr, axis):
    """``x`` plus a bias of `size` along `axis`; ``x`` without a bias."""
    bias = parameter([size], x.dtype, attr, bias=True)
    return x if bias is None else ops.elementwise_add(x, bias, axis=axis)


def known(size, owner, what, x):
    """A size for a parameter's shape. InvalidArgumentError if it is not known."""
    if size is None or size < 0:
        raise check.open_size(
            f"{owner}: {what} must be known, got shape {list(x.shape)}",
            "Declare the size, which the shape of a parameter needs",
            InvalidArgumentError,
        )
    return size


@layer(parameters=True)
def fc(
    input, size, num_flatten_dims=1, param_attr=None, bias_attr=None, act=None, is_test=False,
    name=None,
):  # fmt: skip
    """``act(X W + b)``; the products of several inputs, each with its own weight, are added.

    Parameters
    ----------
    input : Variable or list of Variable
        float32 or float64. The first `num_flatten_dims` axes are rows, the others make one row.
    size : int
        The columns of the result.
    num_flatten_dims : int, default 1
        How many axes are rows; -1: all but the last.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the weight, ``[product of the other axes, size]``.
    bias_attr : ParamAttr, str, Initializer or False, optional
        The same of the bias, ``[size]``; False: no bias.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    is_test : bool, default False
        Accepted as in Fluid; not used.
    name : str, optional
        The name of the result and of the parameters.

    Returns
    -------
    Variable
        ``input.shape[:num_flatten_dims] + (size,)``

    Raises
    ------
    InvalidArgumentError
        A size that the weight needs is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.data("x", [None, 2])
    ...     y = layers.fc(x, size=1, param_attr=static.initializer.Constant(2.0))
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     exe.run(feed={"x": np.array([[1.0, 3.0]], "float32")}, fetch_list=[y])
    [array([[8.]], dtype=float32)]
    """
    inputs = list(input) if isinstance(input, (list, tuple)) else [input]
    attrs = list(param_attr) if isinstance(param_attr, (list, tuple)) else [param_attr]
    attrs = attrs * len(inputs) if len(attrs) == 1 else attrs
    if len(attrs) != len(inputs):
        raise InvalidArgumentError(
            f"fc: there must be one param_attr, or one for each input, got {len(attrs)} for "
            f"{len(inputs)} inputs"
        )
    size, terms = check.integer(size, "fc: size", 1), []
    for x, attr in zip(inputs, attrs, strict=True):
        check.variable(x, "fc: input")
        rows = num_flatten_dims if num_flatten_dims != -1 else len(x.shape) - 1
        row = x.shape[rows:]
        if -1 in row:
            raise check.open_size(
                f"fc: the sizes after axis {rows} must be known, got {x.shape}",
                "Declare them, since the shape of the weight needs them, or set num_flatten_dims",
                InvalidArgumentError,
            )
        w = parameter([math.prod(row), size], x.dtype, attr)
        terms.append(ops.mul(x, w, x_num_col_dims=rows))
    out = terms[0] if len(terms) == 1 else ops.sum(terms)
    return activated(biased(out, size, bias_attr, rows), act, "fc")


@layer(parameters=True)
def embedding(
    input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None,
    dtype="float32",
):  # fmt: skip
    """The rows of a table that `input` selects; the result keeps the LoD of `input`.

    Parameters
    ----------
    input : Variable
        Row numbers, int64 or int32 ``[..., 1]``; `static.embedding` takes them without the last
        axis.
    size : list of int
        Rows and columns of the table.
    is_sparse : bool, default False
        Whether the gradient of the table is SelectedRows.
    is_distributed : bool, default False
        Whether `DistributeTranspiler` divides the table among the parameter servers; `is_sparse`
        must be True then. One process keeps the whole table.
    padding_idx : int, optional
        The row that reads as 0; a negative one counts from the end.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the table.
    dtype : str or dtype, default "float32"
        The type of the table.

    Returns
    -------
    Variable
        ``[..., columns]``

    Raises
    ------
    ArgumentTypeError
        `input` does not hold integers.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     words = static.layers.data("words", [1], dtype="int64", lod_level=1)
    ...     out = static.layers.embedding(words, [1000, 8], is_sparse=True)
    >>> out.shape, out.lod_level
    ((-1, 8), 1)
    """
    check.variable(input, "embedding: input")
    if len(input.shape) > 1 and input.shape[-1] < 0:
        raise check.open_size(
            f"embedding: the last size of input must be known, got shape {list(input.shape)}",
            "Use static.embedding, which keeps all axes, or declare 1, which takes the axis away",
            InvalidArgumentError,
        )
    ends_in_one = len(input.shape) > 1 and input.shape[-1] == 1
    operator = "lookup_table" if ends_in_one else "lookup_table_v2"
    return looked_up(
        operator, input, size, is_sparse, padding_idx, param_attr, dtype, is_distributed
    )


def looked_up(
    operator, input, size, is_sparse, padding_idx, param_attr, dtype, is_distributed=False
):
    """Rows of a new table, by one of the two operators."""
    check.variable(input, "embedding: input")
    if str(input.dtype) not in ("int32", "int64"):
        raise ArgumentTypeError(f"embedding: input must be int32 or int64, got {input.dtype}")
    rows, columns = check.integers(size, 2, "embedding: size", 1)
    table = parameter([rows, columns], dtype, param_attr)
    padding = -1
    if padding_idx is not None:
        padding = check.integer(padding_idx, "embedding: padding_idx", -rows, rows - 1) % rows
    attrs = {"is_sparse": bool(is_sparse), "padding_idx": padding}
    out = run(operator, {"W": table, "Ids": input}, attrs)["Out"]
    if is_distributed and isinstance(out, Variable):
        out.op.set_attr("is_distributed", True, "BOOLEAN")
    return out


@layer(parameters=True)
def prelu(x, mode, param_attr=None, name=None):
    """``x`` above 0, else ``alpha * x`` with learnt slopes (He and others, 2015).

    The slopes start at 0.25.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, ...]``; float32 or float64.
    mode : str
        ``"all"``: one slope. ``"channel"``: one for each channel. ``"element"``: one for each
        element of a sample.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the slopes.
    name : str, optional
        The name of the result and of the parameters.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Raises
    ------
    InvalidArgumentError
        `mode` is unknown, or a size that the slopes need.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     y = layers.prelu(static.data("x", [None, 2]), "all")
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     exe.run(feed={"x": np.array([[-4.0, 2.0]], "float32")}, fetch_list=[y])
    [array([[-1.,  2.]], dtype=float32)]
    """
    check.variable(x, "prelu: x")
    shape = [1]
    if check.choice(mode, ("all", "channel", "element"), "prelu: mode") == "channel":
        shape = [1, known(x.shape[1], "prelu", "the channels", x)] + [1] * (len(x.shape) - 2)
    elif mode == "element":
        shape = [1, *(known(n, "prelu", "a sample's sizes", x) for n in x.shape[1:])]
    alpha = parameter(shape, x.dtype, param_attr, start=initializer.Constant(0.25))
    return run("prelu", {"X": x, "Alpha": alpha}, {"mode": mode})["Out"]


@layer(parameters=True)
def bilinear_tensor_product(x, y, size, act=None, name=None, param_attr=None, bias_attr=None):
    """``act(x W_i y^T + b_i)`` for each of `size` matrices.

    Parameters
    ----------
    x : Variable
        ``[rows, m]``; float32 or float64.
    y : Variable
        ``[rows, n]``, of the type of `x`.
    size : int
        The number of matrices.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    name : str, optional
        The name of the result and of the parameters.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the weight, ``[size, m, n]``.
    bias_attr : ParamAttr, str, Initializer or False, optional
        The same of the bias, ``[1, size]``; False: no bias.

    Returns
    -------
    Variable
        ``[rows, size]``

    Raises
    ------
    InvalidArgumentError
        The width of `x` or `y` is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x, y = static.data("x", [None, 2]), static.data("y", [None, 3])
    ...     one = static.initializer.Constant(1.0)
    ...     z = layers.bilinear_tensor_product(x, y, size=1, param_attr=one)
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     feed = {"x": np.array([[1, 2]], "float32"), "y": np.array([[1, 2, 3]], "float32")}
    ...     exe.run(feed=feed, fetch_list=[z])
    [array([[18.]], dtype=float32)]
    """
    check.variable(x, "bilinear_tensor_product: x")
    check.variable(y, "bilinear_tensor_product: y")
    size = check.integer(size, "bilinear_tensor_product: size", 1)
    widths = [known(v.shape[-1], "bilinear_tensor_product", "the widths", v) for v in (x, y)]
    weight = parameter([size, *widths], x.dtype, param_attr)
    bias = parameter([1, size], x.dtype, bias_attr, bias=True)
    inputs = {"X": x, "Y": y, "Weight": weight, "Bias": bias}
    return activated(run("bilinear_tensor_product", inputs)["Out"], act, "bilinear_tensor_product")


@layer(parameters=True)
def row_conv(input, future_context_size, param_attr=None, act=None):
    """The weighted sum, by column, of each row and the next ones of its sequence.

    ``out[t] = sum(input[t + w] * weight[w])`` for ``w`` from 0 to `future_context_size`, within the
    sequence (Amodei and others, "Deep speech 2", 2016).

    Parameters
    ----------
    input : Variable
        ``[rows, width]`` with LoD, or ``[batch, time, width]``; float32 or float64.
    future_context_size : int
        How many rows it looks ahead.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the weight, ``[future_context_size + 1, width]``.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.

    Returns
    -------
    Variable
        The shape, type and LoD of `input`.

    Raises
    ------
    InvalidArgumentError
        The width of `input` is unknown.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.data("x", [None, 1], lod_level=1)
    ...     y = layers.row_conv(x, 1, param_attr=static.initializer.Constant(1.0))
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     rows = dygraph.to_variable([[1.0], [2.0], [4.0]], lod=[[0, 3]])
    ...     exe.run(feed={"x": rows}, fetch_list=[y])[0].tolist()
    [[3.0], [6.0], [4.0]]
    """
    check.variable(input, "row_conv: input")
    rows = check.integer(future_context_size, "row_conv: future_context_size", 0) + 1
    width = known(input.shape[-1], "row_conv", "the width", input)
    weight = parameter([rows, width], input.dtype, param_attr)
    return activated(run("row_conv", {"X": input, "Filter": weight})["Out"], act, "row_conv")


@layer(parameters=True)
def sequence_conv(
    input, num_filters, filter_size=3, filter_stride=1, padding=True, padding_start=None,
    bias_attr=None, param_attr=None, act=None, name=None,
):  # fmt: skip
    """Each row with its neighbours in the sequence, times a matrix, plus a bias.

    `filter_size` rows in all make one result. Rows outside the sequence count as 0.

    Parameters
    ----------
    input : Variable
        ``[rows, width]`` with LoD; float32 or float64. The width must be known.
    num_filters : int
        The columns of the result.
    filter_size : int, default 3
        The number of rows that one result sees.
    filter_stride : int, default 1
        1.
    padding : bool, default True
        Accepted as in Fluid; not used.
    padding_start : int, optional
        The offset of the first row that is seen; None: ``-(filter_size // 2)``, so that the row
        itself is in the middle.
    bias_attr : ParamAttr, str, Initializer or False, optional
        Of the bias, ``[num_filters]``; False: no bias.
    param_attr : ParamAttr, str or Initializer, optional
        Of the weight, ``[filter_size * width, num_filters]``.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    name : str, optional
        The name of the result and of the parameters.

    Returns
    -------
    Variable
        ``[rows, num_filters]``, with the type and LoD of `input`.

    Raises
    ------
    InvalidArgumentError
        The width of `input` is unknown.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.data("x", [None, 1], lod_level=1)
    ...     y = layers.sequence_conv(x, 1, param_attr=static.initializer.Constant(1.0))
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     rows = dygraph.to_variable([[1.0], [2.0], [4.0]], lod=[[0, 3]])
    ...     exe.run(feed={"x": rows}, fetch_list=[y])[0].tolist()
    [[3.0], [7.0], [6.0]]
    """
    check.variable(input, "sequence_conv: input")
    size = check.integer(filter_size, "sequence_conv: filter_size", 1)
    count = check.integer(num_filters, "sequence_conv: num_filters", 1)
    width = known(input.shape[1], "sequence_conv", "the width", input)
    weight = parameter([size * width, count], input.dtype, param_attr)
    attrs = {
        "contextLength": size, "contextStride": filter_stride,
        "contextStart": -(size // 2) if padding_start is None else padding_start,
    }  # fmt: skip
    out = run("sequence_conv", {"X": input, "Filter": weight}, attrs)["Out"]
    return activated(biased(out, count, bias_attr, 1), act, "sequence_conv")
