"""Losses as layers: what `dygraph.losses` has as functions, and those with parameters."""

import numpy as np

from dygraph import _core, check, losses
from dygraph.errors import InvalidArgumentError
from dygraph.nn.layer import Layer

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CenterLoss", "CosineEmbeddingLoss",
    "CrossEntropyLoss", "GaussianNLLLoss", "HSigmoid", "HingeEmbeddingLoss", "HuberLoss",
    "KLDivLoss", "L1Loss", "MSELoss", "MarginRankingLoss", "NCE", "NLLLoss", "PoissonNLLLoss",
    "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss",
]  # fmt: skip

ops = _core.ops


class _Loss(Layer):
    """A loss with a reduction: 'mean', 'sum' or 'none'."""

    reductions: tuple[str, ...] = losses.REDUCTIONS

    def __init__(self, reduction):
        super().__init__()
        name = type(self).__name__
        self._reduction = check.choice(reduction, self.reductions, f"{name}: reduction")

    def extra_repr(self):
        return f"reduction='{self._reduction}'"


class L1Loss(_Loss):
    """``|input - label|``; both of one shape.

    Parameters
    ----------
    reduction : 'mean', 'sum' or 'none'

    Examples
    --------
    >>> import dygraph
    >>> x, y = dygraph.to_variable([1.0, 4.0]), dygraph.to_variable([1.0, 2.0])
    >>> dygraph.nn.L1Loss()(x, y).item()
    1.0
    """

    def __init__(self, reduction="mean"):
        super().__init__(reduction)

    def forward(self, input, label):
        return losses.l1_loss(input, label, self._reduction)


class MSELoss(_Loss):
    """``(input - label)^2``; both of one shape.

    Parameters
    ----------
    reduction : 'mean', 'sum' or 'none'

    Examples
    --------
    >>> import dygraph
    >>> x, y = dygraph.to_variable([1.0, 4.0]), dygraph.to_variable([1.0, 2.0])
    >>> dygraph.nn.MSELoss()(x, y).item()
    2.0
    """

    def __init__(self, reduction="mean"):
        super().__init__(reduction)

    def forward(self, input, label):
        return losses.mse_loss(input, label, self._reduction)


class BCELoss(_Loss):
    """``-label log(input) - (1 - label) log(1 - input)`` of probabilities.

    Parameters
    ----------
    weight : Variable or array, optional
        Factors that broadcast to the losses.
    reduction : 'mean', 'sum' or 'none'

    Examples
    --------
    >>> import dygraph
    >>> p, label = dygraph.to_variable([0.5, 0.75]), dygraph.to_variable([1.0, 0.0])
    >>> dygraph.nn.BCELoss(reduction="none")(p, label).numpy().round(4).tolist()
    [0.6931, 1.3863]
    """

    def __init__(self, weight=None, reduction="mean"):
        super().__init__(reduction)
        self._weight = weight

    def forward(self, input, label):
        return losses.binary_cross_entropy(input, label, self._weight, self._reduction)


class BCEWithLogitsLoss(_Loss):
    """`BCELoss` of ``sigmoid(logit)``, stable for scores of any size.

    Parameters
    ----------
    weight : Variable or array, optional
        Factors that broadcast to the losses.
    reduction : 'mean', 'sum' or 'none'
    pos_weight : Variable or array, optional
        Factors of the part of label 1, which broadcast to the losses.

    Examples
    --------
    >>> import dygraph
    >>> score, label = dygraph.to_variable([0.0, 900.0]), dygraph.to_variable([1.0, 0.0])
    >>> dygraph.nn.BCEWithLogitsLoss(reduction="none")(score, label).numpy().round(4).tolist()
    [0.6931, 900.0]
    """

    def __init__(self, weight=None, reduction="mean", pos_weight=None):
        super().__init__(reduction)
        self._weight, self._pos_weight = weight, pos_weight

    def forward(self, logit, label):
        return losses.binary_cross_entropy_with_logits(
            logit, label, self._weight, self._pos_weight, self._reduction
        )


class CrossEntropyLoss(_Loss):
    """``-log(softmax(input)[label])``; see `dygraph.functional.softmax_cross_entropy`.

    Parameters
    ----------
    weight : Variable or array, optional
        A factor for each class ``[C]``.
    ignore_index : int
        A label that counts for nothing.
    reduction : 'mean', 'sum' or 'none'
    soft_label : bool
        Labels are distributions.
    axis : int
        Where the classes are.
    label_smoothing : float
        The share of each label that all classes get in equal parts.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> scores = dygraph.to_variable(np.array([[50.0, 0.0], [0.0, 50.0]]))
    >>> dygraph.nn.CrossEntropyLoss()(scores, dygraph.to_variable(np.array([0, 1]))).item() < 1e-9
    True
    """

    def __init__(
        self, weight=None, ignore_index=-100, reduction="mean", soft_label=False, axis=-1,
        label_smoothing=0.0,
    ):  # fmt: skip
        super().__init__(reduction)
        self._weight, self._soft_label = weight, bool(soft_label)
        self._ignore_index = check.integer(ignore_index, "CrossEntropyLoss: ignore_index")
        self._axis = check.integer(axis, "CrossEntropyLoss: axis")
        self._smoothing = check.number(label_smoothing, "CrossEntropyLoss: label_smoothing", 0, 1)

    def forward(self, input, label):
        return losses.softmax_cross_entropy(
            input,
            label,
            self._weight,
            self._ignore_index,
            self._reduction,
            self._soft_label,
            self._axis,
            self._smoothing,
        )


class NLLLoss(_Loss):
    """``-input[label]`` of logarithms of probabilities ``[N, C]`` or ``[N, C, d1, ...]``.

    Parameters
    ----------
    weight : Variable or array, optional
        A factor for each class ``[C]``; the mean divides by the sum of those of the labels.
    reduction : 'mean', 'sum' or 'none'
    ignore_index : int
        A label that counts for nothing.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> logs = dygraph.to_variable(np.log([[0.5, 0.5], [0.75, 0.25]]))
    >>> loss = dygraph.nn.NLLLoss(reduction="none")(logs, dygraph.to_variable([0, 1]))
    >>> loss.numpy().round(4).tolist()  # log(2) and log(4)
    [0.6931, 1.3863]
    """

    def __init__(self, weight=None, reduction="mean", ignore_index=-100):
        super().__init__(reduction)
        self._weight = weight
        self._ignore_index = check.integer(ignore_index, "NLLLoss: ignore_index")

    def forward(self, input, label):
        weight = None if self._weight is None else losses.constant(self._weight, input)
        return ops.nll_loss(
            input,
            label,
            weight=weight,
            reduction=self._reduction,
            ignore_index=self._ignore_index,
        )[0]


class KLDivLoss(_Loss):
    """``label * (log(label) - input)``, `input` holding logarithms.

    Parameters
    ----------
    reduction : 'mean', 'batchmean', 'sum' or 'none'
        'batchmean' is the sum over the size of axis 0, the divergence per sample.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> logs, label = dygraph.to_variable(np.log([[0.5, 0.5]])), dygraph.to_variable([[1.0, 0.0]])
    >>> round(dygraph.nn.KLDivLoss("batchmean")(logs, label).item(), 4)  # log(2)
    0.6931
    """

    reductions = ("mean", "batchmean", "sum", "none")

    def __init__(self, reduction="mean"):
        super().__init__(reduction)

    def forward(self, input, label):
        input, label = losses.same_shape("KLDivLoss", input=input, label=label)
        return ops.kldiv_loss(input, label, reduction=self._reduction)


class HuberLoss(_Loss):
    """``d^2 / 2`` for a difference below `delta`, ``delta (|d| - delta / 2)`` further out.

    Parameters
    ----------
    reduction : 'mean', 'sum' or 'none'
    delta : float
        Above 0.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([0.5, 3.0])
    >>> dygraph.nn.HuberLoss("none", delta=2.0)(x, dygraph.zeros_like(x)).tolist()
    [0.125, 4.0]
    """

    def __init__(self, reduction="mean", delta=1.0):
        super().__init__(reduction)
        self._delta = check.number(delta, f"{type(self).__name__}: the width of the square", 0)
        if self._delta == 0:
            raise InvalidArgumentError(
                f"{type(self).__name__}: the width of the square must be above 0. "
                "Use L1Loss for absolute values"
            )

    def forward(self, input, label):
        input, label = losses.same_shape(type(self).__name__, input=input, label=label)
        loss = ops.huber_loss(input, label, delta=self._delta)
        return losses.reduced(loss, self._reduction, "HuberLoss")


class SmoothL1Loss(HuberLoss):
    """``d^2 / (2 beta)`` for a difference below `beta`, ``|d| - beta / 2`` further out.

    Parameters
    ----------
    reduction : 'mean', 'sum' or 'none'
    beta : float
        Above 0.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([1.0, 4.0])
    >>> dygraph.nn.SmoothL1Loss("none", beta=2.0)(x, dygraph.zeros_like(x)).tolist()
    [0.25, 3.0]
    """

    def __init__(self, reduction="mean", beta=1.0):
        super().__init__(reduction, beta)

    def forward(self, input, label):
        return super().forward(input, label) / self._delta


class SoftMarginLoss(_Loss):
    """``log(1 + exp(-label * input))``, labels 1 or -1.

    >>> import dygraph
    >>> score, label = dygraph.to_variable([0.0, 900.0]), dygraph.to_variable([1.0, -1.0])
    >>> dygraph.nn.SoftMarginLoss("none")(score, label).numpy().round(4).tolist()
    [0.6931, 900.0]
    """

    def __init__(self, reduction="mean"):
        super().__init__(reduction)

    def forward(self, input, label):
        return losses.soft_margin_loss(input, label, self._reduction)


class _MarginLoss(_Loss):
    def __init__(self, margin, reduction):
        super().__init__(reduction)
        self._margin = check.number(margin, f"{type(self).__name__}: margin")

    def extra_repr(self):
        return f"margin={self._margin}, {super().extra_repr()}"


class MarginRankingLoss(_MarginLoss):
    """``max(0, margin - label * (input - other))``, label 1 where `input` ranks higher, else -1.

    >>> import dygraph
    >>> x, other = dygraph.to_variable([3.0, 1.0]), dygraph.to_variable([1.0, 2.0])
    >>> dygraph.nn.MarginRankingLoss(reduction="none")(x, other, dygraph.ones_like(x)).tolist()
    [0.0, 1.0]
    """

    def __init__(self, margin=0.0, reduction="mean"):
        super().__init__(margin, reduction)

    def forward(self, input, other, label):
        return losses.margin_ranking_loss(input, other, label, self._margin, self._reduction)


class HingeEmbeddingLoss(_MarginLoss):
    """`input`, a distance, for label 1; ``max(0, margin - input)`` for label -1.

    >>> import dygraph
    >>> distance, label = dygraph.to_variable([0.5, 0.25]), dygraph.to_variable([1.0, -1.0])
    >>> dygraph.nn.HingeEmbeddingLoss(reduction="none")(distance, label).tolist()
    [0.5, 0.75]
    """

    def __init__(self, margin=1.0, reduction="mean"):
        super().__init__(margin, reduction)

    def forward(self, input, label):
        return losses.hinge_embedding_loss(input, label, self._margin, self._reduction)


class CosineEmbeddingLoss(_MarginLoss):
    """``1 - cos(input1, input2)`` for label 1, ``max(0, cos - margin)`` for label -1.

    >>> import dygraph
    >>> a = dygraph.to_variable([[1.0, 0.0], [1.0, 0.0]])
    >>> b = dygraph.to_variable([[0.0, 1.0], [1.0, 0.0]])
    >>> loss = dygraph.nn.CosineEmbeddingLoss(margin=0.25, reduction="none")
    >>> loss(a, b, dygraph.to_variable([1.0, -1.0])).tolist()
    [1.0, 0.75]
    """

    def __init__(self, margin=0.0, reduction="mean"):
        super().__init__(margin, reduction)

    def forward(self, input1, input2, label):
        return losses.cosine_embedding_loss(input1, input2, label, self._margin, self._reduction)


class TripletMarginLoss(_MarginLoss):
    """``max(0, d(input, positive) - d(input, negative) + margin)``.

    Parameters
    ----------
    margin, p, epsilon : float
        `p` is the norm of the distances, to whose differences `epsilon` is added.
    swap : bool
        Take the smaller of the distances of `negative` to the two others.
    reduction : 'mean', 'sum' or 'none'

    Examples
    --------
    >>> import dygraph
    >>> x, positive = dygraph.to_variable([[0.0, 0.0]]), dygraph.to_variable([[0.0, 6.0]])
    >>> negative = dygraph.to_variable([[3.0, 4.0]])  # 6 away, 5 away, and a margin of 1
    >>> round(dygraph.nn.TripletMarginLoss()(x, positive, negative).item(), 4)
    2.0
    """

    def __init__(self, margin=1.0, p=2.0, epsilon=1e-6, swap=False, reduction="mean"):
        super().__init__(margin, reduction)
        self._options = {
            "p": check.number(p, "TripletMarginLoss: p", 1),
            "epsilon": check.number(epsilon, "TripletMarginLoss: epsilon", 0),
            "swap": bool(swap),
        }

    def forward(self, input, positive, negative):
        return losses.triplet_margin_loss(
            input, positive, negative, self._margin, reduction=self._reduction, **self._options
        )


class PoissonNLLLoss(_Loss):
    """``exp(input) - label * input``; see `dygraph.functional.poisson_nll_loss`.

    >>> import dygraph
    >>> mean, count = dygraph.to_variable([3.0, 1.0]), dygraph.to_variable([0.0, 5.0])
    >>> loss = dygraph.nn.PoissonNLLLoss(log_input=False, reduction="none")
    >>> loss(mean, count).numpy().round(4).tolist()  # 3 - 0 and 1 - 5 log(1)
    [3.0, 1.0]
    """

    def __init__(self, log_input=True, full=False, epsilon=1e-8, reduction="mean"):
        super().__init__(reduction)
        epsilon = check.number(epsilon, "PoissonNLLLoss: epsilon", 0)
        self._options = {"log_input": bool(log_input), "full": bool(full), "epsilon": epsilon}

    def forward(self, input, label):
        return losses.poisson_nll_loss(input, label, reduction=self._reduction, **self._options)


class GaussianNLLLoss(_Loss):
    """``(log(variance) + (input - label)^2 / variance) / 2``.

    >>> import dygraph
    >>> x, y = dygraph.to_variable([0.0]), dygraph.to_variable([2.0])
    >>> dygraph.nn.GaussianNLLLoss()(x, y, dygraph.ones_like(x)).item()
    2.0
    """

    def __init__(self, full=False, epsilon=1e-6, reduction="mean"):
        super().__init__(reduction)
        epsilon = check.number(epsilon, "GaussianNLLLoss: epsilon", 0)
        self._options = {"full": bool(full), "epsilon": epsilon}

    def forward(self, input, label, variance):
        return losses.gaussian_nll_loss(
            input, label, variance, reduction=self._reduction, **self._options
        )


class CTCLoss(_Loss):
    """Connectionist temporal classification; see `dygraph.functional.ctc_loss`.

    Parameters
    ----------
    blank : int
        The class that stands for nothing.
    reduction : 'mean', 'sum' or 'none'
        The mean is that of each loss over its number of labels.
    zero_infinity : bool
        Take 0 for the infinite loss of labels that do not fit into the steps.

    Examples
    --------
    >>> import dygraph
    >>> scores = dygraph.zeros([1, 1, 2])  # one step, blank and another class alike
    >>> one = dygraph.to_variable([1])
    >>> loss = dygraph.nn.CTCLoss()(scores, dygraph.to_variable([[1]]), one, one)
    >>> round(loss.item(), 4)  # log(2)
    0.6931
    """

    def __init__(self, blank=0, reduction="mean", zero_infinity=False):
        super().__init__(reduction)
        self._zero_infinity = bool(zero_infinity)
        self._blank = check.integer(blank, "CTCLoss: blank", 0)

    def forward(self, log_probs, labels, input_lengths, label_lengths, norm_by_times=False):
        return losses.ctc_loss(
            log_probs,
            labels,
            input_lengths,
            label_lengths,
            self._blank,
            self._reduction,
            norm_by_times,
            self._zero_infinity,
        )


class CenterLoss(_Loss):
    """Half the squared distance of features to the center of their class (Wen et al., 2016).

    While training each center moves by `alpha` times the mean difference of its samples, the
    number of samples counted one higher. Centers have no gradient.

    Parameters
    ----------
    num_classes, feat_dim : int
    alpha : float
        How far centers move.
    param_attr : ParamAttr, str or Initializer, optional
    update_center : bool
    reduction : 'mean', 'sum' or 'none'
    dtype : dtype

    Attributes
    ----------
    centers : Variable
        ``[num_classes, feat_dim]``, a buffer.

    Examples
    --------
    >>> import dygraph
    >>> loss = dygraph.nn.CenterLoss(2, 2, param_attr=dygraph.initializer.Constant(0.0))
    >>> x = dygraph.to_variable([[4.0, 8.0]], dtype="float32")
    >>> loss(x, dygraph.to_variable([1])).item()  # (4^2 + 8^2) / 2
    40.0
    >>> loss.centers.tolist()  # half of half the way
    [[0.0, 0.0], [1.0, 2.0]]
    """

    def __init__(
        self, num_classes, feat_dim, alpha=0.5, param_attr=None, update_center=True,
        reduction="mean", dtype="float32",
    ):  # fmt: skip
        super().__init__(reduction)
        self._classes = check.integer(num_classes, "CenterLoss: num_classes", 1)
        feat_dim = check.integer(feat_dim, "CenterLoss: feat_dim", 1)
        self._alpha = check.number(alpha, "CenterLoss: alpha")
        self._update = bool(update_center)
        start = self.create_parameter([self._classes, feat_dim], param_attr, dtype=dtype)
        self.register_buffer("centers", start.detach())

    def forward(self, input, label):
        rate = losses.constant([self._alpha], self.centers)
        update = self._update and self.training
        centers, _, loss = ops.center_loss(
            input, label, self.centers, rate, cluster_num=self._classes, need_update=update
        )
        if update:
            _core.become(self.centers, centers.detach())
        return losses.reduced(loss, self._reduction, "CenterLoss")


SAMPLERS = ("uniform", "log_uniform", "custom_dist")


class NCE(Layer):
    """Noise contrastive estimation for many classes (Gutmann and Hyvarinen, 2010).

    Parameters
    ----------
    num_total_classes, dim : int
        Number of classes, and width of the input.
    sample_weight : Variable, optional
        ``[N, 1]`` factors.
    param_attr, bias_attr : ParamAttr, str, Initializer, None or False
    num_neg_samples : int, optional
        Classes drawn for each row; None is 10.
    sampler : 'uniform', 'log_uniform' or 'custom_dist'
    custom_dist : sequence of float, optional
        The probability of each class, for 'custom_dist'.
    seed : int
        0 draws anew at each call.
    is_sparse : bool
        The weight's gradient is SelectedRows.
    dtype : dtype

    Attributes
    ----------
    weight, bias : Parameter
        ``[num_total_classes, dim]`` and ``[num_total_classes, 1]``.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> nce = dygraph.nn.NCE(100, 8, num_neg_samples=5)
    >>> x = dygraph.to_variable(np.ones((4, 8), "float32"))
    >>> nce(x, dygraph.to_variable(np.array([[1], [7], [2], [1]]))).shape
    (4, 1)
    """

    def __init__(
        self, num_total_classes, dim, sample_weight=None, param_attr=None, bias_attr=None,
        num_neg_samples=None, sampler="uniform", custom_dist=None, seed=0, is_sparse=False,
        dtype="float32",
    ):  # fmt: skip
        super().__init__(dtype=dtype)
        classes = check.integer(num_total_classes, "NCE: num_total_classes", 1)
        dim = check.integer(dim, "NCE: dim", 1)
        samples = 10 if num_neg_samples is None else num_neg_samples
        sampler = check.choice(sampler, SAMPLERS, "NCE: sampler")
        self._attrs = {
            "num_total_classes": classes,
            "num_neg_samples": check.integer(samples, "NCE: num_neg_samples", 1),
            "sampler": SAMPLERS.index(sampler),
            "seed": check.integer(seed, "NCE: seed"),
            "is_sparse": bool(is_sparse),
        }
        self._sample_weight = sample_weight
        self._tables = {}
        if sampler == "custom_dist":
            self._tables = walker_tables(custom_dist, classes, str(self._dtype))
        self.weight = self.create_parameter([classes, dim], param_attr)
        self.bias = self.create_parameter([classes, 1], bias_attr, is_bias=True)

    def forward(self, input, label, sample_weight=None):
        weights = self._sample_weight if sample_weight is None else sample_weight
        slots = {"bias": self.bias, "sample_weight": weights, **self._tables}
        slots = {name: v for name, v in slots.items() if v is not None}
        cost = ops.nce(input, label, self.weight, **slots, **self._attrs)
        return cost / (self._attrs["num_neg_samples"] + 1)

    def extra_repr(self):
        classes, dim = self.weight.shape
        return f"{classes}, {dim}, num_neg_samples={self._attrs['num_neg_samples']}"


def walker_tables(distribution, classes, dtype):
    """Walker's alias method: each class keeps a part of its draws and gives the rest to another."""
    p = np.asarray(distribution, "float64")
    if p.shape != (classes,) or not (p >= 0).all() or not abs(p.sum() - 1) < 1e-3:
        raise InvalidArgumentError(
            f"NCE: custom_dist must hold {classes} probabilities that add up to 1, got shape "
            f"{list(p.shape)}. Divide them by their sum"
        )
    keep, alias = p * classes, np.full(classes, -1, "int32")
    small = [i for i in range(classes) if keep[i] < 1]
    large = [i for i in range(classes) if keep[i] >= 1]
    while small and large:
        low, high = small.pop(), large[-1]
        alias[low] = high
        keep[high] -= 1 - keep[low]
        if keep[high] < 1:
            small.append(large.pop())
    keep[alias < 0] = 1
    return {
        "custom_dist_probs": _core.to_variable(p.astype(dtype)),
        "custom_dist_alias": _core.to_variable(alias),
        "custom_dist_alias_probs": _core.to_variable(keep.astype(dtype)),
    }


class HSigmoid(Layer):
    """A softmax over many classes as turns in a binary tree (Morin and Bengio, 2005).

    Parameters
    ----------
    feature_size, num_classes : int
        Width of the input, and number of classes (for a custom tree, of its inner nodes).
    param_attr, bias_attr : ParamAttr, str, Initializer, None or False
    is_custom : bool
        The paths come with each call, as `path_table` and `path_code`.
    is_sparse : bool
        The weight's gradient is SelectedRows.
    dtype : dtype

    Attributes
    ----------
    weight, bias : Parameter
        A row and a number for each inner node.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> loss = dygraph.nn.HSigmoid(8, 100)
    >>> x = dygraph.to_variable(np.ones((4, 8), "float32"))
    >>> loss(x, dygraph.to_variable(np.array([[1], [7], [2], [1]]))).shape
    (4, 1)
    """

    def __init__(
        self, feature_size, num_classes, param_attr=None, bias_attr=None, is_custom=False,
        is_sparse=False, dtype="float32",
    ):  # fmt: skip
        super().__init__(dtype=dtype)
        width = check.integer(feature_size, "HSigmoid: feature_size", 1)
        classes = check.integer(num_classes, "HSigmoid: num_classes", 2)
        self._is_custom, self._classes = bool(is_custom), classes
        self._is_sparse = bool(is_sparse)
        nodes = classes if is_custom else classes - 1
        self.weight = self.create_parameter([nodes, width], param_attr)
        self.bias = self.create_parameter([nodes, 1], bias_attr, is_bias=True)

    def forward(self, input, label, path_table=None, path_code=None):
        if self._is_custom != (path_table is not None) or self._is_custom != (
            path_code is not None
        ):
            raise InvalidArgumentError(
                "HSigmoid: path_table and path_code must be given if and only if is_custom=True, "
                f"got is_custom={self._is_custom}"
            )
        slots = {"bias": self.bias, "path_table": path_table, "path_code": path_code}
        slots = {name: v for name, v in slots.items() if v is not None}
        return ops.hierarchical_sigmoid(
            input,
            self.weight,
            label,
            num_classes=self._classes,
            is_sparse=self._is_sparse,
            **slots,
        )

    def extra_repr(self):
        return f"{self.weight.shape[1]}, {self._classes}"
