"""Normalizing layers, dropout, and the counts of what was shown and clicked."""

import math

from dygraph import _core, initializer, ops
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.static.layers.learnt import known, parameter, state
from dygraph.static.layers.making import activated, layer, run

__all__ = [
    "affine_channel", "continuous_value_model", "dropout", "group_norm", "instance_norm",
    "layer_norm", "lrn", "spectral_norm",
]  # fmt: skip


def channels_of(input, data_layout, owner):
    check.variable(input, f"{owner}: input")
    last = check.choice(data_layout, ("NCHW", "NHWC"), f"{owner}: data_layout") == "NHWC"
    if len(input.shape) < 2:
        raise InvalidArgumentError(
            f"{owner}: input must have 2 axes or more, got shape {list(input.shape)}"
        )
    return known(input.shape[-1 if last else 1], owner, "the channels", input)


@layer(parameters=True)
def layer_norm(
    input, scale=True, shift=True, begin_norm_axis=1, epsilon=1e-05, param_attr=None,
    bias_attr=None, act=None, name=None,
):  # fmt: skip
    """Each sample scaled to mean 0 and variance 1 over the axes from `begin_norm_axis` on.

    ``scale * (input - mean) / sqrt(variance + epsilon) + bias`` (Ba, Kiros and Hinton, 2016).

    Parameters
    ----------
    input : Variable
        At least one axis; float32 or float64.
    scale, shift : bool, default True
        Whether there is a scale and a bias, of as many elements as a sample.
    begin_norm_axis : int, default 1
        The first axis of a sample.
    epsilon : float, default 1e-05
        Added to the variance.
    param_attr, bias_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of scale and bias, which start at 1 and 0.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    name : str, optional
        The name of the result and of the parameters.

    Returns
    -------
    Variable
        The shape and type of `input`.

    Raises
    ------
    InvalidArgumentError
        A size of a sample is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     y = layers.layer_norm(static.data("x", [None, 2]))
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     (out,) = exe.run(feed={"x": np.array([[1.0, 3.0]], "float32")}, fetch_list=[y])
    >>> out.round(3).tolist()
    [[-1.0, 1.0]]
    """
    check.variable(input, "layer_norm: input")
    first = check.axis(begin_norm_axis, len(input.shape), "layer_norm: begin_norm_axis")
    sizes = [known(n, "layer_norm", "a sample's sizes", input) for n in input.shape[first:]]
    shape, one = [math.prod(sizes)], initializer.Constant(1.0)
    inputs = {"X": input}
    if scale:
        inputs["Scale"] = parameter(shape, input.dtype, param_attr, start=one)
    if shift:
        inputs["Bias"] = parameter(shape, input.dtype, bias_attr, bias=True)
    attrs = {"epsilon": check.number(epsilon, "layer_norm: epsilon", 0), "begin_norm_axis": first}
    return activated(run("layer_norm", inputs, attrs)["Y"], act, "layer_norm")


@layer(parameters=True)
def group_norm(
    input, groups, epsilon=1e-05, param_attr=None, bias_attr=None, act=None, data_layout="NCHW",
    name=None,
):  # fmt: skip
    """Each group of channels of a sample scaled to mean 0 and variance 1 (Wu and He, 2018).

    Parameters
    ----------
    input : Variable
        ``[batch, channels, ...]``, or with the channels last; float32 or float64.
    groups : int
        The number of groups; it divides the channels.
    epsilon : float, default 1e-05
        Added to the variance.
    param_attr : ParamAttr, str, Initializer or False, optional
        The attributes, name or start values of the scale, ``[channels]``; False: none.
    bias_attr : ParamAttr, str, Initializer or False, optional
        The same of the bias.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    data_layout : str, default "NCHW"
        ``"NCHW"`` or ``"NHWC"``.
    name : str, optional
        The name of the result and of the parameters.

    Returns
    -------
    Variable
        The shape and type of `input`.

    Raises
    ------
    InvalidArgumentError
        `input` has fewer than 2 axes, or an unknown number of channels.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     y = layers.group_norm(static.data("x", [None, 4]), groups=2)
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     feed = {"x": np.array([[1.0, 3.0, 2.0, 6.0]], "float32")}
    ...     (out,) = exe.run(feed=feed, fetch_list=[y])
    >>> out.round(3).tolist()
    [[-1.0, 1.0, -1.0, 1.0]]
    """
    count = channels_of(input, data_layout, "group_norm")
    inputs = {
        "X": input,
        "Scale": parameter([count], input.dtype, param_attr, start=initializer.Constant(1.0)),
        "Bias": parameter([count], input.dtype, bias_attr, bias=True),
    }
    attrs = {
        "epsilon": check.number(epsilon, "group_norm: epsilon", 0), "data_layout": data_layout,
        "groups": check.integer(groups, "group_norm: groups", 1),
    }  # fmt: skip
    return activated(run("group_norm", inputs, attrs)["Y"], act, "group_norm")


@layer(parameters=True)
def instance_norm(input, epsilon=1e-05, param_attr=None, bias_attr=None, name=None):
    """Each channel of each sample scaled to mean 0 and variance 1 (Ulyanov and others, 2016).

    Parameters
    ----------
    input : Variable
        ``[batch, channels, ...]``; float32 or float64.
    epsilon : float, default 1e-05
        Added to the variance.
    param_attr : ParamAttr, str, Initializer or False, optional
        The attributes, name or start values of the scale, ``[channels]``; False: none.
    bias_attr : ParamAttr, str, Initializer or False, optional
        The same of the bias.
    name : str, optional
        The name of the result and of the parameters.

    Returns
    -------
    Variable
        The shape and type of `input`.

    Raises
    ------
    InvalidArgumentError
        `input` has fewer than 2 axes, or an unknown number of channels.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     y = layers.instance_norm(static.data("x", [None, 1, 2]))
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     (out,) = exe.run(feed={"x": np.array([[[1.0, 3.0]]], "float32")}, fetch_list=[y])
    >>> out.round(3).tolist()
    [[[-1.0, 1.0]]]
    """
    count = channels_of(input, "NCHW", "instance_norm")
    inputs = {
        "X": input,
        "Scale": parameter([count], input.dtype, param_attr, start=initializer.Constant(1.0)),
        "Bias": parameter([count], input.dtype, bias_attr, bias=True),
    }
    attrs = {"epsilon": check.number(epsilon, "instance_norm: epsilon", 0)}
    return run("instance_norm", inputs, attrs)["Y"]


@layer(parameters=True)
def spectral_norm(weight, dim=0, power_iters=1, eps=1e-12, name=None):
    """`weight` divided by its greatest singular value (Miyato and others, 2018).

    `power_iters` steps of the power method estimate the value, from two vectors that are
    parameters. The gradient takes the vectors as constants.

    Parameters
    ----------
    weight : Variable
        2 to 5 axes of known sizes; float32 or float64.
    dim : int, default 0
        The axis that makes the rows of the matrix; the others make its columns.
    power_iters : int, default 1
        The number of steps.
    eps : float, default 1e-12
        Added to lengths that are divided by.
    name : str, optional
        The name of the result and of the parameters.

    Returns
    -------
    Variable
        The shape and type of `weight`.

    Raises
    ------
    InvalidArgumentError
        A size of `weight` is unknown.

    Examples
    --------
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     two = static.initializer.Constant(2.0)
    ...     weight = static.create_parameter([1, 1], "float32", default_initializer=two)
    ...     y = layers.spectral_norm(weight)
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     (out,) = exe.run(fetch_list=[y])
    >>> out.round(3).tolist()
    [[1.0]]
    """
    check.variable(weight, "spectral_norm: weight")
    axis = check.axis(dim, len(weight.shape), "spectral_norm: dim")
    sizes = [known(n, "spectral_norm", "the sizes", weight) for n in weight.shape]
    rows, columns = sizes[axis], math.prod(sizes[:axis] + sizes[axis + 1 :])
    start = initializer.Normal(0.0, 1.0)
    inputs = {
        "Weight": weight, "U": state([rows], weight.dtype, None, start),
        "V": state([columns], weight.dtype, None, start),
    }  # fmt: skip
    return run("spectral_norm", inputs, {"dim": axis, "power_iters": power_iters, "eps": eps})[
        "Out"
    ]


@layer
def affine_channel(x, scale=None, bias=None, data_layout="NCHW", name=None, act=None):
    """``act(scale * x + bias)``, with one scale and one bias for each channel.

    Parameters
    ----------
    x : Variable
        ``[batch, channels, ...]``, or with the channels last; float32 or float64.
    scale, bias : Variable, optional
        ``[channels]``, of the type of `x`.
    data_layout : str, default "NCHW"
        ``"NCHW"`` or ``"NHWC"``.
    name : str, optional
        The name of the result in a program; an eager call does not use it.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x, two = dygraph.ones([1, 2, 1, 1]), to_variable([2.0, 3.0])
    >>> layers.affine_channel(x, two, two).tolist()
    [[[[4.0]], [[6.0]]]]
    """
    inputs = {"X": x, "Scale": scale, "Bias": bias}
    out = run("affine_channel", inputs, {"data_layout": data_layout})["Out"]
    return activated(out, act, "affine_channel")


@layer
def lrn(input, n=5, k=1.0, alpha=1e-4, beta=0.75, name=None, data_format="NCHW"):
    """Each pixel divided by ``(k + alpha * s)^beta``, `s` the squares of `n` neighbouring channels
    added.

    Krizhevsky, Sutskever and Hinton, 2012.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, height, width]``, or with the channels last; float32 or float64.
    n : int, default 5
        How many channels, an odd number.
    k : float, default 1.0
        Added to the sum, at least 0.
    alpha : float, default 0.0001
        The factor of the sum, at least 0.
    beta : float, default 0.75
        The power, at least 0.
    name : str, optional
        The name of the result in a program; an eager call does not use it.
    data_format : str, default "NCHW"
        ``"NCHW"`` or ``"NHWC"``.

    Returns
    -------
    Variable
        The shape and type of `input`.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> layers.lrn(dygraph.ones([1, 1, 1, 1]), alpha=3.0, beta=1.0).item()
    0.25
    """
    attrs = {"n": n, "k": k, "alpha": alpha, "beta": beta, "data_format": data_format}
    return run("lrn", {"X": input}, attrs)["Out"]


@layer
def dropout(
    x, dropout_prob, is_test=False, seed=None, name=None,
    dropout_implementation="downgrade_in_infer",
):  # fmt: skip
    """In training, each element becomes 0 with the probability `dropout_prob`.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64.
    dropout_prob : float or Variable
        The probability, from 0 to 1.
    is_test : bool, default False
        Whether to drop nothing; `Program.clone` for tests sets it.
    seed : int, optional
        Drop the same elements in each run; None: others.
    name : str, optional
        The name of the result in a program; an eager call does not use it.
    dropout_implementation : str, default "downgrade_in_infer"
        ``"downgrade_in_infer"``: tests multiply by ``1 - dropout_prob``. ``"upscale_in_train"``:
        training divides by it.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Raises
    ------
    InvalidArgumentError
        `dropout_prob` lies outside [0, 1].

    Examples
    --------
    >>> import dygraph
    >>> from dygraph.static import layers
    >>> layers.dropout(dygraph.ones([2]), 0.25, is_test=True).tolist()
    [0.75, 0.75]
    >>> layers.dropout(dygraph.ones([2]), 1.0).tolist()
    [0.0, 0.0]
    """
    if not _core.holds_symbol(dropout_prob):
        dropout_prob = check.number(dropout_prob, "dropout: dropout_prob", 0, 1)
    attrs = {
        "dropout_prob": dropout_prob,
        "is_test": bool(is_test), "fix_seed": seed is not None, "seed": seed or 0,
        "dropout_implementation": dropout_implementation,
    }  # fmt: skip
    return ops.dropout(x, **attrs)


@layer
def continuous_value_model(input, cvm, use_cvm=True):
    """The counts in the first two columns of an embedding, how often an item was shown and clicked.

    With `use_cvm` they become ``log(shown + 1)`` and ``log(clicked + 1) - log(shown + 1)``, else
    they are dropped. The gradient of `input` has the rows of `cvm` in these two columns, by which a
    table learns its counts; the other columns have the gradient of the result.

    Parameters
    ----------
    input : Variable
        ``[rows, columns]``, float32 or float64, the counts first.
    cvm : Variable
        ``[rows, 2]``, or a row for each sequence of `input`.
    use_cvm : bool, default True
        Whether the two columns stay.

    Returns
    -------
    Variable
        ``[rows, columns]``; without `use_cvm` ``[rows, columns - 2]``.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x, counts = to_variable([[0.0, 0.0, 3.0]]), to_variable([[1.0, 1.0]])
    >>> layers.continuous_value_model(x, counts).tolist()
    [[0.0, 0.0, 3.0]]
    >>> layers.continuous_value_model(x, counts, use_cvm=False).tolist()
    [[3.0]]
    """
    return run("cvm", {"X": input, "CVM": cvm}, {"use_cvm": bool(use_cvm)})["Y"]
