"""The loss of transducers as a layer."""

from dygraph.core import check
from dygraph.nn import functional
from dygraph.nn.loss import LossLayer

__all__ = ["RNNTLoss"]


class RNNTLoss(LossLayer):
    """The loss of transducers; see `dygraph.nn.functional.rnnt_loss`.

    Parameters
    ----------
    blank : int
        The class that stands for nothing; negative ones count from the end.
    fastemit_lambda : float
        What is added, as a share, to the gradient where a label is emitted.
    reduction : 'mean', 'sum' or 'none'

    Examples
    --------
    >>> import dygraph
    >>> scores, label = dygraph.zeros(1, 2, 2, 2), dygraph.to_variable([[1]])
    >>> steps, size = dygraph.to_variable([2]), dygraph.to_variable([1])
    >>> loss = dygraph.nn.RNNTLoss(blank=0, fastemit_lambda=0.0)
    >>> round(loss(scores, label, steps, size).item(), 4)
    1.3863
    """

    def __init__(self, *, blank, fastemit_lambda, reduction="mean"):
        super().__init__(reduction)
        self._blank = check.integer(blank, "RNNTLoss: blank")
        self._fastemit_lambda = check.number(fastemit_lambda, "RNNTLoss: fastemit_lambda", 0)

    def forward(self, input, label, input_lengths, label_lengths):
        return functional.rnnt_loss(
            input,
            label,
            input_lengths,
            label_lengths,
            blank=self._blank,
            fastemit_lambda=self._fastemit_lambda,
            reduction=self._reduction,
        )

    def extra_repr(self):
        said = super().extra_repr()
        return f"blank={self._blank}, fastemit_lambda={self._fastemit_lambda}, {said}"
