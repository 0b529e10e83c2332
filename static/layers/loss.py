"""Losses."""

from dygraph import ops
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.nn.learnt_loss import SAMPLERS, walker_tables
from dygraph.static.layers.learnt import known, parameter
from dygraph.static.layers.making import into, layer, operator, run
from dygraph.static.layers.tensor import filled


@operator(input="X")
def bpr_loss(input, label, name=None):
    """Bayesian personalised ranking of the label's score against the others."""


@operator(input="X", label="Y")
def huber_loss(input, label, delta):
    """Half the square of the difference; linear from `delta` on."""


@operator()
def kldiv_loss(x, target, reduction="mean", name=None):
    """target (log(target) - x)."""


@operator(input="Predicted", label="Labels")
def log_loss(input, label, epsilon=0.0001, name=None):
    """The cross entropy of probabilities of class 1."""


@operator(left="X1", right="X2")
def margin_rank_loss(label, left, right, margin=0.1, name=None):
    """max(0, margin - label (left - right))."""


@operator()
def rank_loss(label, left, right, name=None):
    """log(1 + exp(left - right)) - label (left - right)."""


@operator()
def sigmoid_cross_entropy_with_logits(x, label, ignore_index=-100, name=None, normalize=False):
    """The cross entropy of sigmoid(x), element by element."""


@operator(input="X")
def teacher_student_sigmoid_loss(input, label, soft_max_up_bound=15.0, soft_max_lower_bound=-15.0):
    """The loss of a student trained on labels and on a teacher's scores."""


@layer
def square_error_cost(input, label):
    """``(input - label)^2``.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.square_error_cost(dygraph.ones([1]), dygraph.zeros([1])).tolist()
    [1.0]
    """
    difference = run("elementwise_sub", {"X": input, "Y": label})["Out"]
    return run("square", {"X": difference})["Out"]


@layer
def mse_loss(input, label):
    """The mean of ``(input - label)^2``.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.mse_loss(dygraph.ones([1]), dygraph.zeros([1])).item()
    1.0
    """
    return ops.mse_loss(input, label)


@layer
def cross_entropy(input, label, soft_label=False, ignore_index=-100):
    """``-log(input[label])`` of rows of probabilities, in the shape of class numbers.

    `soft_label`: `label` holds probabilities as well. Rows labelled `ignore_index` give 0.

    >>> import dygraph
    >>> from dygraph import static
    >>> label = dygraph.to_variable([[0]])
    >>> static.layers.cross_entropy(dygraph.ones([1, 2]) * 1.0, label).tolist() == [[0.0]]
    True
    """
    if soft_label:
        return run("cross_entropy", {"X": input, "Label": label}, {"soft_label": True})["Y"]
    attrs = {"ignore_index": ignore_index}
    return run("cross_entropy2", {"X": input, "Label": label}, attrs)["Y"]


@layer
def softmax_with_cross_entropy(
    logits, label, soft_label=False, ignore_index=-100, numeric_stable_mode=True,
    return_softmax=False, axis=-1,
):  # fmt: skip
    """The cross entropy of softmax(logits); with `return_softmax` that as well.

    >>> import dygraph
    >>> from dygraph import static
    >>> label = dygraph.to_variable([[0]])
    >>> round(static.layers.softmax_with_cross_entropy(dygraph.zeros([1, 2]), label).item(), 4)
    0.6931
    """
    attrs = {
        "soft_label": bool(soft_label), "ignore_index": ignore_index, "axis": axis,
        "numeric_stable_mode": bool(numeric_stable_mode),
    }  # fmt: skip
    found = run("softmax_with_cross_entropy", {"Logits": logits, "Label": label}, attrs)
    return (found["Loss"], found["Softmax"]) if return_softmax else found["Loss"]


@layer
def smooth_l1(x, y, inside_weight=None, outside_weight=None, sigma=None):
    """Half the square of the difference, linear for large differences, summed by row.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.smooth_l1(dygraph.ones([1, 2]), dygraph.zeros([1, 2])).tolist()
    [[1.0]]
    """
    return ops.smooth_l1(x, y, inside_weight, outside_weight, sigma)


@layer
def dice_loss(input, label, epsilon=1e-05, name=None):
    """1 less the overlap of probabilities and labels (Sorensen and Dice).

    >>> import dygraph
    >>> from dygraph import static
    >>> p, label = dygraph.to_variable([[1.0, 0.0]]), dygraph.to_variable([[0]])
    >>> round(static.layers.dice_loss(p, label).item(), 4)
    0.0
    """
    return ops.dice_loss(input, label, epsilon)


@layer
def label_smooth(label, prior_dist=None, epsilon=0.1, dtype="float32", name=None):
    """``(1 - epsilon) label + epsilon prior_dist``; the default prior is uniform.

    >>> import dygraph
    >>> from dygraph import static
    >>> static.layers.label_smooth(dygraph.ones([1, 1])).tolist()
    [[1.0]]
    """
    epsilon = check.number(epsilon, "label_smooth: epsilon", 0, 1)
    return run("label_smooth", {"X": label, "PriorDist": prior_dist}, {"epsilon": epsilon})["Out"]


@layer
def warpctc(input, label, blank=0, norm_by_times=False, input_length=None, label_length=None):
    """Connectionist temporal classification, ``[sequences, 1]``; includes the softmax.

    `input` is ``[rows, classes + 1]`` with LoD, or ``[time, batch, classes + 1]`` with lengths.

    >>> import dygraph
    >>> from dygraph import static
    >>> x = dygraph.to_variable([[0.0, 0.0]], lod=[[0, 1]])
    >>> label = dygraph.to_variable([[1]], lod=[[0, 1]])
    >>> round(static.layers.warpctc(x, label.astype("int32")).item(), 4)
    0.6931
    """
    inputs = {
        "Logits": input, "Label": label, "LogitsLength": input_length, "LabelLength": label_length,
    }  # fmt: skip
    return run("warpctc", inputs, {"blank": blank, "norm_by_times": bool(norm_by_times)})["Loss"]


@layer
def ctc_greedy_decoder(input, blank, input_length=None, padding_value=0, name=None):
    """The most probable symbol of each step, without repetitions and blanks.

    >>> import dygraph
    >>> from dygraph import static
    >>> x = dygraph.to_variable([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]], lod=[[0, 3]])
    >>> static.layers.ctc_greedy_decoder(x, blank=0).tolist()
    [[1]]
    """
    return ops.ctc_greedy_decoder(input, blank, input_length, padding_value)


@layer(parameters=True)
def center_loss(input, label, num_classes, alpha, param_attr, update_center=True):
    """Half the squared distance of each row from its class's centre, which moves towards it.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x, label = static.data("x", [None, 4]), static.data("label", [None, 1], "int64")
    ...     static.layers.center_loss(x, label, 10, 0.1, None).shape
    (-1, 1)
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
    """Noise contrastive estimation for many classes, ``[rows, 1]`` (Gutmann and Hyvarinen, 2010).

    The operator's cost is divided by ``num_neg_samples + 1``.

    Parameters
    ----------
    input, label : Variable
        ``[rows, D]``, and int64 ``[rows, true classes]``.
    num_total_classes : int
    sample_weight : Variable, optional
        ``[rows, 1]`` factors.
    param_attr, bias_attr : ParamAttr, str or Initializer, optional
    num_neg_samples : int, optional
        Classes drawn for each row; None is 10.
    name : str, optional
    sampler : 'uniform', 'log_uniform' or 'custom_dist'
    custom_dist : list of float, optional
        The probability of each class, for 'custom_dist'.
    seed : int
        0: other draws in each run.
    is_sparse : bool
        The weight's gradient is SelectedRows.

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
            raise InvalidArgumentError("nce: custom_dist must be given for that sampler, got None")
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
    """Hierarchical sigmoid loss, ``[rows, 1]`` (Morin and Bengio, 2005).

    With `is_custom`, `path_table` and `path_code` give the path to each class; `num_classes` is
    then the number of inner nodes.

    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x, label = static.data("x", [None, 8]), static.data("label", [None, 1], "int64")
    ...     static.layers.hsigmoid(x, label, 6).shape
    (-1, 1)
    """
    check.variable(input, "hsigmoid: input")
    least = 1 if is_custom else 2
    classes = check.integer(num_classes, "hsigmoid: num_classes", least)
    if is_custom != (path_table is not None) or is_custom != (path_code is not None):
        raise InvalidArgumentError(
            "hsigmoid: path_table and path_code must be given with is_custom, and only then"
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
    "bpr_loss", "center_loss", "cross_entropy", "ctc_greedy_decoder", "dice_loss", "hsigmoid",
    "huber_loss", "kldiv_loss", "label_smooth", "log_loss", "margin_rank_loss", "mse_loss", "nce",
    "rank_loss", "sigmoid_cross_entropy_with_logits", "smooth_l1", "softmax_with_cross_entropy",
    "square_error_cost", "teacher_student_sigmoid_loss", "warpctc",
]  # fmt: skip
