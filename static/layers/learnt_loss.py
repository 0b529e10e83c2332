"""Losses with parameters: centres, and many classes."""

from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.nn.learnt_loss import SAMPLERS, walker_tables
from dygraph.static.layers.learnt import known, parameter
from dygraph.static.layers.making import into, layer, run
from dygraph.static.layers.tensor import filled


@layer(parameters=True)
def center_loss(input, label, num_classes, alpha, param_attr, update_center=True):
    """Half the squared distance of each row from the centre of its class (Wen and others, 2016).

    The centres are a parameter. Each run moves them towards their rows, by `alpha` times the mean
    difference.

    Parameters
    ----------
    input : Variable
        ``[rows, width]``; float32 or float64. The width must be known.
    label : Variable
        The classes of the rows, int64 ``[rows, 1]``.
    num_classes : int
        The number of classes.
    alpha : float or Variable
        The rate at which the centres move.
    param_attr : ParamAttr, str or Initializer
        The attributes, name or start values of the centres, ``[num_classes, width]``.
    update_center : bool, default True
        Whether runs move the centres.

    Returns
    -------
    Variable
        ``[rows, 1]``

    Raises
    ------
    InvalidArgumentError
        The width of `input` is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x, label = static.data("x", [None, 2]), static.data("label", [None, 1], "int64")
    ...     loss = layers.center_loss(x, label, 3, 0.1, static.initializer.Constant(1.0))
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     feed = {"x": np.array([[4.0, 5.0]], "float32"), "label": np.array([[2]])}
    ...     exe.run(feed=feed, fetch_list=[loss])
    [array([[12.5]], dtype=float32)]
    """
    check.variable(input, "center_loss: input")
    classes = check.integer(num_classes, "center_loss: num_classes", 1)
    width = known(input.shape[1], "center_loss", "the width", input)
    centers = parameter([classes, width], input.dtype, param_attr)
    centers.stop_gradient = True
    rate = filled([1], input.dtype, alpha, "center_loss")
    inputs = {"X": input, "Label": label, "Centers": centers, "CenterUpdateRate": rate}
    attrs = {"cluster_num": classes, "need_update": bool(update_center)}
    found = run("center_loss", inputs, attrs)
    into(centers, found["CentersOut"], "center_loss")
    return found["Loss"]


@layer(parameters=True)
def nce(
    input, label, num_total_classes, sample_weight=None, param_attr=None, bias_attr=None,
    num_neg_samples=None, name=None, sampler="uniform", custom_dist=None, seed=0, is_sparse=False,
):  # fmt: skip
    """Noise contrastive estimation for many classes (Gutmann and Hyvarinen, 2010).

    It learns to distinguish a row's true classes from `num_neg_samples` random ones. The operator's
    cost is divided by ``num_neg_samples + 1``.

    Parameters
    ----------
    input : Variable
        ``[rows, width]``; float32 or float64. The width must be known.
    label : Variable
        int64 ``[rows, true classes]``.
    num_total_classes : int
        The number of classes.
    sample_weight : Variable, optional
        The weight of each row, ``[rows, 1]``; None: 1.
    param_attr : ParamAttr, str or Initializer, optional
        Of the weight, ``[num_total_classes, width]``.
    bias_attr : ParamAttr, str, Initializer or False, optional
        Of the bias, ``[num_total_classes, 1]``; False: no bias.
    num_neg_samples : int, optional
        The number of classes drawn for each row; None is 10.
    name : str, optional
        The name of the result and of the parameters.
    sampler : str, default "uniform"
        How classes are drawn: ``"uniform"``, ``"log_uniform"`` or ``"custom_dist"``.
    custom_dist : list of float, optional
        The probability of each class, for ``"custom_dist"``.
    seed : int, default 0
        0: each run draws others.
    is_sparse : bool, default False
        Whether the gradient of the weight is SelectedRows.

    Returns
    -------
    Variable
        ``[rows, 1]``, of the type of `input`.

    Raises
    ------
    InvalidArgumentError
        `sampler` is unknown, `custom_dist` is missing, or the width of `input` is unknown.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x, label = static.data("x", [None, 8]), static.data("label", [None, 1], "int64")
    ...     static.layers.nce(x, label, 100, num_neg_samples=5).shape
    (-1, 1)
    """
    check.variable(input, "nce: input")
    classes = check.integer(num_total_classes, "nce: num_total_classes", 1)
    check.choice(sampler, SAMPLERS, "nce: sampler")
    width = known(input.shape[1], "nce", "the width", input)
    inputs = {
        "Input": input, "Label": label, "SampleWeight": sample_weight,
        "Weight": parameter([classes, width], input.dtype, param_attr),
        "Bias": parameter([classes, 1], input.dtype, bias_attr, bias=True),
    }  # fmt: skip
    if sampler == "custom_dist":
        if custom_dist is None:
            raise InvalidArgumentError(
                "nce: custom_dist must be given for sampler='custom_dist', got None"
            )
        tables = walker_tables(custom_dist, classes, str(input.dtype))
        slots = {"probs": "Probs", "alias": "Alias", "alias_probs": "AliasProbs"}
        for key, slot in slots.items():
            inputs[f"CustomDist{slot}"] = tables[f"custom_dist_{key}"]
    count = 10 if num_neg_samples is None else num_neg_samples
    attrs = {
        "num_total_classes": classes, "sampler": SAMPLERS.index(sampler), "seed": seed,
        "num_neg_samples": check.integer(count, "nce: num_neg_samples", 1),
        "is_sparse": bool(is_sparse),
    }  # fmt: skip
    return run("nce", inputs, attrs)["Cost"] / (attrs["num_neg_samples"] + 1)


@layer(parameters=True)
def hsigmoid(
    input, label, num_classes, param_attr=None, bias_attr=None, name=None, path_table=None,
    path_code=None, is_custom=False, is_sparse=False,
):  # fmt: skip
    """Hierarchical sigmoid loss: a class is a path through a binary tree (Morin and Bengio, 2005).

    Each inner node on the path decides between left and right by a logistic regression, so the cost
    grows with the logarithm of the number of classes. By default the tree is complete; with
    `is_custom` the caller gives the paths.

    Parameters
    ----------
    input : Variable
        ``[rows, width]``; float32 or float64. The width must be known.
    label : Variable
        int64 ``[rows, 1]``.
    num_classes : int
        The number of classes, at least 2; with `is_custom`, of inner nodes.
    param_attr : ParamAttr, str or Initializer, optional
        Of the weight, ``[inner nodes, width]``.
    bias_attr : ParamAttr, str, Initializer or False, optional
        Of the bias, ``[inner nodes, 1]``; False: no bias.
    name : str, optional
        The name of the result and of the parameters.
    path_table, path_code : Variable, optional
        int64 ``[rows, longest path]``: the inner nodes on the path of each row, and the turn at
        each; -1 after the end. For `is_custom`.
    is_custom : bool, default False
        Whether `path_table` and `path_code` give the tree.
    is_sparse : bool, default False
        Whether the gradient of the weight is SelectedRows.

    Returns
    -------
    Variable
        ``[rows, 1]``, of the type of `input`.

    Raises
    ------
    InvalidArgumentError
        The paths are given without `is_custom` or are missing with it, or the width of `input` is
        unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x, label = static.data("x", [None, 2]), static.data("label", [None, 1], "int64")
    ...     loss = layers.hsigmoid(x, label, 2, param_attr=static.initializer.Constant(0.0))
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     feed = {"x": np.ones((1, 2), "float32"), "label": np.array([[1]])}
    ...     (cost,) = exe.run(feed=feed, fetch_list=[loss])
    >>> round(float(cost[0, 0]), 4)
    0.6931
    """
    check.variable(input, "hsigmoid: input")
    least = 1 if is_custom else 2
    classes = check.integer(num_classes, "hsigmoid: num_classes", least)
    if is_custom != (path_table is not None) or is_custom != (path_code is not None):
        raise InvalidArgumentError(
            "hsigmoid: path_table and path_code must be given if and only if is_custom=True, got "
            f"is_custom={is_custom}"
        )
    nodes = classes if is_custom else classes - 1
    width = known(input.shape[1], "hsigmoid", "the width", input)
    inputs = {
        "X": input, "Label": label, "PathTable": path_table, "PathCode": path_code,
        "W": parameter([nodes, width], input.dtype, param_attr),
        "Bias": parameter([nodes, 1], input.dtype, bias_attr, bias=True),
    }  # fmt: skip
    attrs = {"num_classes": classes, "is_sparse": bool(is_sparse)}
    return run("hierarchical_sigmoid", inputs, attrs)["Out"]


__all__ = [
    "center_loss", "hsigmoid", "nce",
]  # fmt: skip
