"""Connectionist temporal classification."""

from dygraph import ops
from dygraph.static.layers.making import layer, run


@layer
def warpctc(input, label, blank=0, norm_by_times=False, input_length=None, label_length=None):
    """The loss of connectionist temporal classification (Graves and others, 2006).

    It includes the softmax of `input` and is minus the logarithm of the probability that the steps
    of a sequence spell its label.

    Parameters
    ----------
    input : Variable
        Scores ``[rows, classes]`` with LoD, or ``[time, batch, classes]`` with lengths; the blank
        is one of the classes. float32 or float64.
    label : Variable
        int32 ``[rows, 1]`` with LoD, or ``[batch, longest]`` with lengths.
    blank : int, default 0
        The number of the blank.
    norm_by_times : bool, default False
        Whether to divide the gradient by the number of steps.
    input_length, label_length : Variable, optional
        int64 ``[batch]``: the length of each sequence and label in a padded batch.

    Returns
    -------
    Variable
        ``[sequences, 1]``, of the type of `input`.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([[0.0, 0.0]], lod=[[0, 1]])
    >>> label = to_variable(np.array([[1]], "int32"), lod=[[0, 1]])
    >>> round(layers.warpctc(x, label).item(), 4)
    0.6931
    """
    inputs = {
        "Logits": input, "Label": label, "LogitsLength": input_length, "LabelLength": label_length,
    }  # fmt: skip
    return run("warpctc", inputs, {"blank": blank, "norm_by_times": bool(norm_by_times)})["Loss"]


@layer
def ctc_greedy_decoder(input, blank, input_length=None, padding_value=0, name=None):
    """The likeliest class of each step, with repetitions merged and then blanks left out.

    Parameters
    ----------
    input : Variable
        Probabilities ``[rows, classes]`` with LoD, or ``[batch, time, classes]`` with
        `input_length`; the blank is one of the classes.
    blank : int
        The number of the blank.
    input_length : Variable, optional
        int64 ``[batch, 1]``: the number of steps of each sequence in a padded batch.
    padding_value : int, default 0
        Fills the rows of a padded result.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable, or tuple of two
        int64 ``[rows, 1]`` with LoD. With `input_length`: ``[batch, time]``, and the lengths
        ``[batch, 1]``.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]], lod=[[0, 3]])
    >>> layers.ctc_greedy_decoder(x, blank=0).tolist()
    [[1]]
    """
    return ops.ctc_greedy_decoder(input, blank, input_length, padding_value)


__all__ = [
    "ctc_greedy_decoder", "warpctc",
]  # fmt: skip
