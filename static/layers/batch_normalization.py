"""Normalization by statistics that the parameters keep."""

from dygraph import initializer
from dygraph.core import check
from dygraph.static.layers.learnt import parameter, state
from dygraph.static.layers.making import activated, into, layer, run
from dygraph.static.layers.normalization import channels_of


@layer(parameters=True)
def batch_norm(
    input, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None, bias_attr=None,
    data_layout="NCHW", in_place=False, name=None, moving_mean_name=None,
    moving_variance_name=None, do_model_average_for_mean_and_var=True, use_global_stats=False,
):  # fmt: skip
    """Each channel scaled to mean 0 and variance 1 over the batch, then times a scale plus a bias.

    ``scale * (input - mean) / sqrt(variance + epsilon) + bias`` (Ioffe and Szegedy, 2015). Runs
    that train keep moving means and variances, which tests use.

    Parameters
    ----------
    input : Variable
        ``[batch, channels, ...]``, or with the channels last; float32 or float64.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    is_test : bool, default False
        Whether to use the moving mean and variance; `Program.clone` for tests sets it.
    momentum : float, default 0.9
        The share of the old mean and variance in the new ones.
    epsilon : float, default 1e-05
        Added to the variance.
    param_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of the scale, ``[channels]``, which starts at 1.
    bias_attr : ParamAttr, str or Initializer, optional
        The same of the bias, ``[channels]``, which starts at 0.
    data_layout : str, default "NCHW"
        ``"NCHW"`` or ``"NHWC"``.
    in_place : bool, default False
        Accepted as in Fluid; not used.
    name : str, optional
        The name of the result and of the parameters.
    moving_mean_name, moving_variance_name : str, optional
        The names of the moving mean and variance.
    do_model_average_for_mean_and_var : bool, default True
        Whether `ModelAverage` averages the moving mean and variance.
    use_global_stats : bool, default False
        Whether training uses the moving mean and variance as well.

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
    ...     y = layers.batch_norm(static.data("x", [None, 1]))
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     (out,) = exe.run(feed={"x": np.array([[1.0], [3.0]], "float32")}, fetch_list=[y])
    >>> out.round(3).tolist()
    [[-1.0], [1.0]]
    """
    count = channels_of(input, data_layout, "batch_norm")
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
        ``[batch, channels, ...]``, or with the channels last; float32 or float64.
    act : str, optional
        ``"identity"``, ``"leaky_relu"`` or ``"elu"``; None: no activation.
    is_test : bool, default False
        Whether to use the moving mean and variance.
    momentum : float, default 0.9
        The share of the old mean and variance in the new ones.
    epsilon : float, default 1e-05
        Added to the variance.
    param_attr, bias_attr : ParamAttr, str or Initializer, optional
        The attributes, name or start values of scale and bias.
    data_layout : str, default "NCHW"
        ``"NCHW"`` or ``"NHWC"``.
    name : str, optional
        The name of the result and of the parameters.
    moving_mean_name, moving_variance_name : str, optional
        The names of the moving mean and variance.
    do_model_average_for_mean_and_var : bool, default True
        Whether `ModelAverage` averages the moving mean and variance.
    use_global_stats : bool, default False
        Whether training uses the moving mean and variance as well.
    act_alpha : float, default 1.0
        The slope of ``"leaky_relu"`` below 0, the alpha of ``"elu"``.

    Returns
    -------
    Variable
        The shape and type of `input`.

    Raises
    ------
    InvalidArgumentError
        `act` is another one.

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
    """Columns scaled by the mean and the spread of all earlier data, which parameters hold.

    ``(input - batch_sum / batch_size) * sqrt(batch_size / batch_square)``. The sums have no
    gradient.

    Parameters
    ----------
    input : Variable
        ``[rows, columns]``; float32 or float64.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    epsilon : float, default 1e-05
        Accepted as in Fluid; not used.
    param_attr : dict, optional
        Start values by name: ``batch_size`` (10000), ``batch_sum`` (0) and ``batch_square``
        (10000), and with `enable_scale_and_shift` ``scale_w`` (1) and ``bias`` (0).
    data_layout : str, default "NCHW"
        ``"NCHW"`` or ``"NHWC"``.
    in_place : bool, default False
        Accepted as in Fluid; not used.
    name : str, optional
        The name of the result and of the parameters.
    moving_mean_name, moving_variance_name : str, optional
        Accepted as in Fluid; not used.
    do_model_average_for_mean_and_var : bool, default True
        Accepted as in Fluid; not used.
    slot_dim : int, default -1
        The columns of a slot: a slot whose first column, a count, is 0 gives zeros. -1: rows
        without slots.
    sync_stats : bool, default False
        Accepted as in Fluid; not used.
    summary_decay_rate : float, default 0.9999999
        Accepted as in Fluid; not used.
    enable_scale_and_shift : bool, default False
        Whether a scale and a bias follow.

    Returns
    -------
    Variable
        The shape and type of `input`.

    Raises
    ------
    InvalidArgumentError
        The number of columns is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     starts = {"batch_size": 4.0, "batch_sum": 8.0, "batch_square": 1.0}
    ...     y = layers.data_norm(static.data("x", [None, 1]), param_attr=starts)
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     exe.run(feed={"x": np.array([[3.0]], "float32")}, fetch_list=[y])
    [array([[2.]], dtype=float32)]
    """
    count = channels_of(input, data_layout, "data_norm")
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


__all__ = [
    "batch_norm", "data_norm", "inplace_abn",
]  # fmt: skip
