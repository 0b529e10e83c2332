"""Connectionist temporal classification."""

from dygraph.functions import losses
from dygraph.nn.functional.spelling import spelled

__all__ = ["ctc_loss"]


@spelled
def ctc_loss(
    log_probs, labels, input_lengths, label_lengths, blank=0, reduction="mean", *,
    zero_infinity=False,
):  # fmt: skip
    """Connectionist temporal classification (Graves et al., 2006).

    Parameters
    ----------
    log_probs : Variable
        ``[T, N, C]``, float32 or float64: logarithms of probabilities as in PyTorch, or scores as
        in Paddle. The softmax in the loss does not change the former.
    labels : Variable
        ``[N, L]`` integers, none of them `blank`.
    input_lengths, label_lengths : Variable
        ``[N]`` integers.
    blank : int
    reduction : 'mean', 'sum' or 'none'
        The mean is that of each loss over its number of labels.
    zero_infinity : bool
        Replace infinite losses, of labels that do not fit into the steps, by 0.

    Returns
    -------
    Variable
        A scalar, or ``[N]``.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for shapes and lengths that do not fit.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> scores, one = dygraph.zeros(1, 1, 2), dygraph.to_variable([1])
    >>> round(F.ctc_loss(scores, dygraph.to_variable([[1]]), one, one).item(), 4)  # log(2)
    0.6931
    """
    return losses.ctc_loss(
        log_probs, labels, input_lengths, label_lengths, blank, reduction,
        zero_infinity=zero_infinity,
    )  # fmt: skip
