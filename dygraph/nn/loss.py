"""The losses of `dygraph.functions.losses` as layers."""

from dygraph.core import check
from dygraph.functions import loss_parts, losses
from dygraph.nn.functional import loss as functional
from dygraph.nn.layer import Layer

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss",
    "GaussianNLLLoss", "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss",
    "MarginRankingLoss", "NLLLoss", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss",
    "TripletMarginLoss",
]  # fmt: skip


class LossLayer(Layer):
    """A loss with a reduction: 'mean', 'sum' or 'none'."""

    reductions: tuple[str, ...] = loss_parts.REDUCTIONS

    def __init__(self, reduction):
        super().__init__()
        name = type(self).__name__
        self._reduction = check.choice(reduction, self.reductions, f"{name}: reduction")

    def _said(self, **options):
        """The reduction, and the options (value, default) that are not at their default."""
        parts = [f"reduction='{self._reduction}'"]
        parts += [f"{n}={value}" for n, (value, usual) in options.items() if value != usual]
        return ", ".join(parts)

    def extra_repr(self):
        return self._said()


class L1Loss(LossLayer):
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


class MSELoss(LossLayer):
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


class BCELoss(LossLayer):
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
    >>> [round(v, 4) for v in dygraph.nn.BCELoss(reduction="none")(p, label).tolist()]
    [0.6931, 1.3863]
    """

    def __init__(self, weight=None, reduction="mean"):
        super().__init__(reduction)
        self._weight = loss_parts.kept(weight)

    def forward(self, input, label):
        return losses.binary_cross_entropy(input, label, self._weight, self._reduction)


class BCEWithLogitsLoss(LossLayer):
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
    >>> [round(v, 4) for v in dygraph.nn.BCEWithLogitsLoss(reduction="none")(score, label).tolist()]
    [0.6931, 900.0]
    """

    def __init__(self, weight=None, reduction="mean", pos_weight=None):
        super().__init__(reduction)
        self._weight, self._pos_weight = map(loss_parts.kept, (weight, pos_weight))

    def forward(self, logit, label):
        return losses.binary_cross_entropy_with_logits(
            logit, label, self._weight, self._pos_weight, self._reduction
        )


class CrossEntropyLoss(LossLayer):
    """``-log(softmax(input)[label])``; see `dygraph.nn.functional.cross_entropy`.

    Parameters
    ----------
    weight : Variable or array, optional
        A factor for each class ``[C]``.
    ignore_index : int
        A label that counts for nothing.
    reduction : 'mean', 'sum' or 'none'
    soft_label : bool, optional
        Labels are distributions. None: their type says it.
    axis : int, optional
        The axis of the classes. None: for three axes and more, axis 1 (PyTorch's) or the last one
        (Paddle's), whichever fits the label.
    label_smoothing : float
        The share of each label that is spread equally over all classes.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> scores = dygraph.to_variable(np.array([[50.0, 0.0], [0.0, 50.0]]))
    >>> dygraph.nn.CrossEntropyLoss()(scores, dygraph.to_variable(np.array([0, 1]))).item() < 1e-9
    True
    """

    def __init__(
        self, weight=None, ignore_index=-100, reduction="mean", soft_label=None, axis=None, *,
        label_smoothing=0.0,
    ):  # fmt: skip
        super().__init__(reduction)
        self._weight = loss_parts.kept(weight)
        self._soft_label = None if soft_label is None else bool(soft_label)
        self._ignore_index = check.integer(ignore_index, "CrossEntropyLoss: ignore_index")
        self._axis = None if axis is None else check.integer(axis, "CrossEntropyLoss: axis")
        self._smoothing = check.number(label_smoothing, "CrossEntropyLoss: label_smoothing", 0, 1)

    def forward(self, input, label):
        return functional.cross_entropy(
            input,
            label,
            self._weight,
            self._ignore_index,
            self._reduction,
            self._soft_label,
            self._axis,
            label_smoothing=self._smoothing,
        )

    def extra_repr(self):
        return self._said(
            ignore_index=(self._ignore_index, -100),
            soft_label=(self._soft_label, None),
            axis=(self._axis, None),
            label_smoothing=(self._smoothing, 0.0),
        )


class NLLLoss(LossLayer):
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
        self._weight = loss_parts.kept(weight)
        self._ignore_index = check.integer(ignore_index, "NLLLoss: ignore_index")

    def forward(self, input, label):
        return functional.nll_loss(input, label, self._weight, self._ignore_index, self._reduction)

    def extra_repr(self):
        return self._said(ignore_index=(self._ignore_index, -100))


class KLDivLoss(LossLayer):
    """``label * (log(label) - input)``, `input` holding logarithms.

    Parameters
    ----------
    reduction : 'mean', 'batchmean', 'sum' or 'none'
        'batchmean' is the sum over the size of axis 0, the divergence per sample.
    log_target : bool
        Labels are logarithms, too.

    Examples
    --------
    >>> import dygraph
    >>> logs = dygraph.log(dygraph.to_variable([[0.5, 0.5]]))
    >>> label = dygraph.to_variable([[1.0, 0.0]])
    >>> round(dygraph.nn.KLDivLoss("batchmean")(logs, label).item(), 4)  # log(2)
    0.6931
    """

    reductions = ("mean", "batchmean", "sum", "none")

    def __init__(self, reduction="mean", log_target=False):
        super().__init__(reduction)
        self._log_target = check.flag(log_target, "KLDivLoss: log_target")

    def forward(self, input, label):
        return functional.kl_div(input, label, self._reduction, self._log_target)

    def extra_repr(self):
        return self._said(log_target=(self._log_target, False))


class HuberLoss(LossLayer):
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
        self._delta = functional.width(delta, "HuberLoss", "delta")

    def forward(self, input, label):
        return functional.huber_loss(input, label, self._reduction, self._delta)

    def extra_repr(self):
        return f"{super().extra_repr()}, delta={self._delta}"


class SmoothL1Loss(LossLayer):
    """``d^2 / (2 beta)`` for a difference below `beta`, ``|d| - beta / 2`` further out.

    Parameters
    ----------
    reduction : 'mean', 'sum' or 'none'
    beta : float
        Above 0. Paddle's argument `delta` is that of `HuberLoss`; with 1 they agree.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([1.0, 4.0])
    >>> dygraph.nn.SmoothL1Loss("none", beta=2.0)(x, dygraph.zeros_like(x)).tolist()
    [0.25, 3.0]
    """

    def __init__(self, reduction="mean", *, beta=1.0):
        super().__init__(reduction)
        self._beta = functional.width(beta, "SmoothL1Loss", "beta")

    def forward(self, input, label):
        return functional.smooth_l1_loss(input, label, self._reduction, beta=self._beta)

    def extra_repr(self):
        return f"{super().extra_repr()}, beta={self._beta}"


class SoftMarginLoss(LossLayer):
    """``log(1 + exp(-label * input))``, labels 1 or -1.

    Parameters
    ----------
    reduction : 'mean', 'sum' or 'none'

    Examples
    --------
    >>> import dygraph
    >>> score, label = dygraph.to_variable([0.0, 900.0]), dygraph.to_variable([1.0, -1.0])
    >>> [round(v, 4) for v in dygraph.nn.SoftMarginLoss("none")(score, label).tolist()]
    [0.6931, 900.0]
    """

    def __init__(self, reduction="mean"):
        super().__init__(reduction)

    def forward(self, input, label):
        return losses.soft_margin_loss(input, label, self._reduction)


class _MarginLoss(LossLayer):
    def __init__(self, margin, reduction):
        super().__init__(reduction)
        self._margin = check.number(margin, f"{type(self).__name__}: margin")

    def extra_repr(self):
        return f"margin={self._margin}, {super().extra_repr()}"


class MarginRankingLoss(_MarginLoss):
    """``max(0, margin - label * (input - other))``, label 1 where `input` ranks higher, else -1.

    Parameters
    ----------
    margin : float
        The least distance of the two scores that costs nothing.
    reduction : 'mean', 'sum' or 'none'

    Examples
    --------
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

    Parameters
    ----------
    margin : float
        The least distance that costs nothing for label -1.
    reduction : 'mean', 'sum' or 'none'

    Examples
    --------
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

    Parameters
    ----------
    margin : float
        The largest cosine that costs nothing for label -1.
    reduction : 'mean', 'sum' or 'none'

    Examples
    --------
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

    def extra_repr(self):
        usual = {"p": 2.0, "epsilon": 1e-6, "swap": False}
        more = [f"{n}={v}" for n, v in self._options.items() if v != usual[n]]
        return ", ".join([super().extra_repr(), *more])


class PoissonNLLLoss(LossLayer):
    """``exp(input) - label * input`` for counts; see `dygraph.nn.functional.poisson_nll_loss`.

    Parameters
    ----------
    log_input : bool
        `input` holds logarithms of means. False: means, ``input - label * log(input + epsilon)``.
    full : bool
        Add Stirling's approximation of ``log(label!)`` for labels above 1.
    epsilon : float
        Avoids ``log(0)`` without `log_input`.
    reduction : 'mean', 'sum' or 'none'

    Examples
    --------
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

    def extra_repr(self):
        usual = {"log_input": True, "full": False, "epsilon": 1e-08}
        return self._said(**{n: (v, usual[n]) for n, v in self._options.items()})


class GaussianNLLLoss(LossLayer):
    """``(log(variance) + (input - label)^2 / variance) / 2``.

    Parameters
    ----------
    full : bool
        Add the constant ``log(2 pi) / 2``.
    epsilon : float
        The least variance; smaller ones count as this.
    reduction : 'mean', 'sum' or 'none'

    Examples
    --------
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

    def extra_repr(self):
        usual = {"full": False, "epsilon": 1e-06}
        return self._said(**{n: (v, usual[n]) for n, v in self._options.items()})


class CTCLoss(LossLayer):
    """Connectionist temporal classification; see `dygraph.nn.functional.ctc_loss`.

    Parameters
    ----------
    blank : int
        The index of the blank class.
    reduction : 'mean', 'sum' or 'none'
        The mean is that of each loss over its number of labels.
    zero_infinity : bool
        Replace the infinite loss of labels that do not fit into the steps by 0.

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

    def extra_repr(self):
        return self._said(blank=(self._blank, 0), zero_infinity=(self._zero_infinity, False))
