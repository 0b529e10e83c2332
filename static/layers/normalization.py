"""Normalizing layers, and dropout."""

import math

from dygraph import _core, initializer, ops
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.static.layers.learnt import known, parameter, state
from dygraph.static.layers.making import activated, into, layer, run

__all__ = [
    "affine_channel", "batch_norm", "data_norm", "dropout", "group_norm", "inplace_abn",
    "instance_norm", "layer_norm", "lrn", "spectral_norm",
]  # fmt: skip


def _channels(input, data_layout, owner):
    check.variable(input, f"{owner}: input")
    last = check.choice(data_layout, ("NCHW", "NHWC"), f"{owner}: data_layout") == "NHWC"
    if len(input.shape) < 2:
        raise InvalidArgumentError(
            f"{owner}: input must have 2 axes or more, got shape {list(input.shape)}"
        )
    return known(input.shape[-1 if last else 1], owner, "the channels", input)


@layer(parameters=True)
def batch_norm(
    input, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None, bias_attr=None,
    data_layout="NCHW", in_place=False, name=None, moving_mean_name=None,
    moving_variance_name=None, do_model_average_for_mean_and_var=True, use_global_stats=False,
):  # fmt: skip
    """Each channel normalised to mean 0 and deviation 1 over the batch, then scale and bias.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, ...]``.
    act : str, optional
    is_test : bool
        Use the moving mean and variance; `Program.clone` for test sets it.
    momentum : float
        Share of the old mean and variance in the new ones; the operator updates them in place.
    epsilon : float
        Added to the variance.
    param_attr, bias_attr : ParamAttr, str or Initializer, optional
        Of scale and bias, which start at 1 and 0.
    data_layout : 'NCHW' or 'NHWC'
    in_place : bool
        Fluid's; not used.
    name, moving_mean_name, moving_variance_name : str, optional
    do_model_average_for_mean_and_var : bool
    use_global_stats : bool
        Use the moving mean and variance in training as well.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.data("x", [None, 3, 8, 8])
    ...     out = static.layers.batch_norm(x, act="relu")
    >>> [p.name.split(".")[1] for p in out.block.all_parameters()]
    ['w_0', 'b_0', 'w_1', 'w_2']
    """
    count = _channels(input, data_layout, "batch_norm")
    scale = parameter([count], input.dtype, param_attr, start=initializer.Constant(1.0))
    bias = parameter([count], input.dtype, bias_attr, bias=True)
    scale = state([count], input.dtype, None, 1.0) if scale is None else scale
    bias = state([count], input.dtype, None, 0.0) if bias is None else bias
    average = do_model_average_for_mean_and_var
    mean = state([count], input.dtype, moving_mean_name, 0.0, average)
    variance = state([count], input.dtype, moving_variance_name, 1.0, average)
    inputs = {"X": input, "Scale": scale, "Bias": bias, "Mean": mean, "Variance": variance}
    attrs = {
        "momentum": check.number(momentum, "batch_norm: momentum"),
        "epsilon": check.number(epsilon, "batch_norm: epsilon", 0), "is_test": bool(is_test),
        "data_layout": data_layout, "use_global_stats": bool(use_global_stats),
    }  # fmt: skip
    found = run("batch_norm", inputs, attrs)
    into(mean, found["MeanOut"], "batch_norm")
    into(variance, found["VarianceOut"], "batch_norm")
    return activated(found["Y"], act, "batch_norm")


@layer(parameters=True)
def inplace_abn(
    input, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None, bias_attr=None,
    data_layout="NCHW", name=None, moving_mean_name=None, moving_variance_name=None,
    do_model_average_for_mean_and_var=True, use_global_stats=False, act_alpha=1.0,
):  # fmt: skip
    """`batch_norm` and an invertible activation.

    Fluid writes the result over the input to save memory. Here the executor frees the input after
    its last use, and the operators are those of `batch_norm` and of the activation.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, ...]``.
    act : str, optional
        ``'identity'``, ``'leaky_relu'`` or ``'elu'``.
    act_alpha : float
        The slope of leaky_relu below 0, the alpha of elu.
    is_test, momentum, epsilon, param_attr, bias_attr, data_layout, name, moving_mean_name, \
    moving_variance_name, do_model_average_for_mean_and_var, use_global_stats
        See `batch_norm`.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.data("x", [None, 3, 8, 8])
    ...     out = static.layers.inplace_abn(x, act="leaky_relu", act_alpha=0.25)
    >>> [op.type for op in out.block.ops], out.op.attr("alpha")
    (['batch_norm', 'leaky_relu'], 0.25)
    """
    allowed = (None, "identity", "leaky_relu", "elu")
    check.choice(act, allowed, "inplace_abn: act")
    made = batch_norm.__wrapped__(
        input, None, is_test, momentum, epsilon, param_attr, bias_attr, data_layout,
        moving_mean_name=moving_mean_name, moving_variance_name=moving_variance_name,
        do_model_average_for_mean_and_var=do_model_average_for_mean_and_var,
        use_global_stats=use_global_stats,
    )  # fmt: skip
    if act in (None, "identity"):
        return made
    alpha = check.number(act_alpha, "inplace_abn: act_alpha")
    return run(act, {"X": made}, {"alpha": alpha})["Out"]


@layer(parameters=True)
def data_norm(
    input, act=None, epsilon=1e-05, param_attr=None, data_layout="NCHW", in_place=False, name=None,
    moving_mean_name=None, moving_variance_name=None, do_model_average_for_mean_and_var=True,
    slot_dim=-1, sync_stats=False, summary_decay_rate=0.9999999, enable_scale_and_shift=False,
):  # fmt: skip
    """Columns normalised by the sums over all earlier data, which are parameters.

    `param_attr` is a dict of start values: ``batch_size``, ``batch_sum``, ``batch_square``, and
    ``scale_w`` and ``bias`` with `enable_scale_and_shift`.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     static.layers.data_norm(static.data("x", [None, 3])).shape
    (-1, 3)
    """
    count = _channels(input, data_layout, "data_norm")
    given = param_attr if isinstance(param_attr, dict) else {}
    starts = {"batch_size": 1e4, "batch_sum": 0.0, "batch_square": 1e4}
    if enable_scale_and_shift:
        starts.update(scale_w=1.0, bias=0.0)
    made = {
        key: parameter(
            [count], input.dtype, None if name is None else f"{name}.{key}",
            start=initializer.Constant(float(given.get(key, value))),
        )
        for key, value in starts.items()
    }  # fmt: skip
    inputs = {
        "X": input, "BatchSize": made["batch_size"], "BatchSum": made["batch_sum"],
        "BatchSquareSum": made["batch_square"], "scale_w": made.get("scale_w"),
        "bias": made.get("bias"),
    }  # fmt: skip
    attrs = {
        "epsilon": epsilon, "slot_dim": slot_dim, "summary_decay_rate": summary_decay_rate,
        "enable_scale_and_shift": bool(enable_scale_and_shift), "data_layout": data_layout,
        "sync_stats": bool(sync_stats),
    }  # fmt: skip
    return activated(run("data_norm", inputs, attrs)["Y"], act, "data_norm")


@layer(parameters=True)
def layer_norm(
    input, scale=True, shift=True, begin_norm_axis=1, epsilon=1e-05, param_attr=None,
    bias_attr=None, act=None, name=None,
):  # fmt: skip
    """Each sample normalised to mean 0 and deviation 1 over the axes from `begin_norm_axis` on.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     static.layers.layer_norm(static.data("x", [None, 3, 4]), name="n").shape
    (-1, 3, 4)
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
    """Each group of channels of a sample normalised to mean 0 and deviation 1.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     static.layers.group_norm(static.data("x", [None, 4, 2, 2]), groups=2).shape
    (-1, 4, 2, 2)
    """
    count = _channels(input, data_layout, "group_norm")
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
    """Each channel of each sample normalised to mean 0 and deviation 1.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     static.layers.instance_norm(static.data("x", [None, 4, 2, 2])).shape
    (-1, 4, 2, 2)
    """
    count = _channels(input, "NCHW", "instance_norm")
    inputs = {
        "X": input,
        "Scale": parameter([count], input.dtype, param_attr, start=initializer.Constant(1.0)),
        "Bias": parameter([count], input.dtype, bias_attr, bias=True),
    }
    attrs = {"epsilon": check.number(epsilon, "instance_norm: epsilon", 0)}
    return run("instance_norm", inputs, attrs)["Y"]


@layer(parameters=True)
def spectral_norm(weight, dim=0, power_iters=1, eps=1e-12, name=None):
    """`weight` divided by its greatest singular value, which `power_iters` steps estimate.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     weight = static.create_parameter([3, 4], "float32")
    ...     static.layers.spectral_norm(weight).shape
    (3, 4)
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
    """``act(scale x + bias)``, with one scale and one bias for each channel.

    >>> import dygraph
    >>> from dygraph import static
    >>> x, two = dygraph.ones([1, 2, 1, 1]), dygraph.ones([2]) + 1.0
    >>> static.layers.affine_channel(x, two, two).tolist()
    [[[[4.0]], [[4.0]]]]
    """
    inputs = {"X": x, "Scale": scale, "Bias": bias}
    out = run("affine_channel", inputs, {"data_layout": data_layout})["Out"]
    return activated(out, act, "affine_channel")


@layer
def lrn(input, n=5, k=1.0, alpha=1e-4, beta=0.75, name=None, data_format="NCHW"):
    """Each pixel divided by (k + alpha sum of the squares of its `n` nearest channels)^beta.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.lrn(dygraph.ones([1, 1, 1, 1]), alpha=3.0, beta=1.0).item()
    0.25
    """
    attrs = {"n": n, "k": k, "alpha": alpha, "beta": beta, "data_format": data_format}
    return run("lrn", {"X": input}, attrs)["Out"]


@layer
def dropout(
    x, dropout_prob, is_test=False, seed=None, name=None,
    dropout_implementation="downgrade_in_infer",
):  # fmt: skip
    """Each element 0 with probability `dropout_prob` in training.

    Parameters
    ----------
    x : Variable
    dropout_prob : float or Variable
    is_test : bool
        True: nothing is dropped; `Program.clone` for test sets it.
    seed : int, optional
        Drop the same elements in each run.
    name : str, optional
    dropout_implementation : 'downgrade_in_infer' or 'upscale_in_train'
        Multiply the result by ``1 - dropout_prob`` in tests, or divide it in training.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.dropout(dygraph.ones([2]), 0.5, is_test=True).tolist()
    [0.5, 0.5]
    """
    if not _core.holds_symbol(dropout_prob):
        dropout_prob = check.number(dropout_prob, "dropout: dropout_prob", 0, 1)
    attrs = {
        "dropout_prob": dropout_prob,
        "is_test": bool(is_test), "fix_seed": seed is not None, "seed": seed or 0,
        "dropout_implementation": dropout_implementation,
    }  # fmt: skip
    return ops.dropout(x, **attrs)
