"""The loss of transducers."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.functions import loss_parts
from dygraph.nn.functional.spelling import spelled

__all__ = ["rnnt_loss"]

ops = _core.ops


@spelled
def rnnt_loss(
    input, label, input_lengths, label_lengths, *, blank, fastemit_lambda, reduction="mean"
):
    """-log of the probability that a transducer emits the label (Graves, 2012).

    The sum goes over all paths: a blank goes to the next step, a label to the next label.

    Parameters
    ----------
    input : Variable
        ``[N, T, L + 1, C]``, float32 or float64: scores, or logarithms of probabilities, which the
        softmax in the loss does not change.
    label : Variable
        ``[N, L]`` integers, none of them `blank`.
    input_lengths, label_lengths : Variable
        ``[N]`` integers.
    blank : int
        The class that stands for nothing: 0 by Paddle's default, -1, the last, by torchaudio's.
    fastemit_lambda : float
        What is added, as a share, to the gradient where a label is emitted (Yu et al., FastEmit,
        2021); the loss stays. 0.001 by Paddle's default; torchaudio has none: 0.
    reduction : 'mean', 'sum' or 'none'

    Returns
    -------
    Variable
        A scalar, or ``[N]``.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for shapes that do not fit and for a label that is `blank`.
    OutOfRangeError
        (an IndexError) for lengths and labels out of range.

    Examples
    --------
    >>> import dygraph, dygraph.nn.functional as F
    >>> scores, label = dygraph.zeros(1, 2, 2, 2), dygraph.to_variable([[1]])
    >>> steps, size = dygraph.to_variable([2]), dygraph.to_variable([1])
    >>> round(F.rnnt_loss(scores, label, steps, size, blank=0, fastemit_lambda=0.0).item(), 4)
    1.3863
    """
    check.choice(reduction, loss_parts.REDUCTIONS, "rnnt_loss: reduction")
    if check.variable(input, "rnnt_loss: input").ndim != 4:
        raise InvalidArgumentError(
            f"rnnt_loss: input must be [N, T, L + 1, C], got shape {list(input.shape)}"
        )
    blank = check.integer(blank, "rnnt_loss: blank")
    if blank < 0:
        blank += check.known_size(input, 3, "rnnt_loss")
    loss = ops.warprnnt(
        input,
        check.variable(label, "rnnt_loss: label"),
        check.variable(input_lengths, "rnnt_loss: input_lengths"),
        check.variable(label_lengths, "rnnt_loss: label_lengths"),
        blank=blank,
        fastemit_lambda=check.number(fastemit_lambda, "rnnt_loss: fastemit_lambda", 0),
    )
    return loss_parts.reduced(loss, reduction, "rnnt_loss")
