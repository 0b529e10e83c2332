"""Decoding of chains of tags, with the names of ``paddle.text``."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import did_you_mean
from dygraph.nn.layer import Layer

__all__ = ["ViterbiDecoder", "viterbi_decode"]

ops = _core.ops


def viterbi_decode(potentials, transition_params, lengths, include_bos_eos_tag=True, name=None):
    """The chains of tags with the greatest scores (Viterbi, 1967).

    The score of a chain is the sum of ``potentials[s, t, tag]`` over its steps and of
    ``transition_params[tag, next_tag]`` between them.

    Parameters
    ----------
    potentials : Variable
        ``[sequences, steps, tags]``, float32 or float64.
    transition_params : Variable
        ``[tags, tags]``, from the tag of the row to that of the column.
    lengths : Variable
        ``[sequences]`` integers.
    include_bos_eos_tag : bool, default True
        True: the last tag stands for the beginning and the one before it for the end; their rows
        of `transition_params` are added at the first and at the last step.
    name : str, optional
        Accepted; nothing depends on it.

    Returns
    -------
    scores : Variable
        ``[sequences]``. No gradient.
    paths : Variable
        ``[sequences, max(lengths)]``, int64, 0 behind the end of a sequence; of equal scores the
        lower tag.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) for shapes that do not fit.
    OutOfRangeError
        (an IndexError) for a length that `potentials` does not have.

    Examples
    --------
    >>> import dygraph
    >>> potentials = dygraph.to_variable([[[2.0, 0.0], [0.0, 1.0]]])
    >>> transitions = dygraph.to_variable([[0.0, -5.0], [0.0, 0.0]])
    >>> n = dygraph.to_variable([2])
    >>> scores, paths = dygraph.text.viterbi_decode(potentials, transitions, n, False)
    >>> scores.tolist(), paths.tolist()
    ([2.0], [[0, 0]])
    """
    return ops.viterbi_decode(
        check.variable(potentials, "viterbi_decode: potentials").detach(),
        check.variable(transition_params, "viterbi_decode: transition_params").detach(),
        check.variable(lengths, "viterbi_decode: lengths"),
        include_bos_eos_tag=check.flag(include_bos_eos_tag, "viterbi_decode: include_bos_eos_tag"),
    )


class ViterbiDecoder(Layer):
    """`viterbi_decode` with transitions of its own.

    Parameters
    ----------
    transitions : Variable
        ``[tags, tags]``
    include_bos_eos_tag : bool, default True
        As of `viterbi_decode`.
    name : str, optional
        Accepted; nothing depends on it.

    Examples
    --------
    >>> import dygraph
    >>> decoder = dygraph.text.ViterbiDecoder(dygraph.zeros(2, 2), include_bos_eos_tag=False)
    >>> potentials = dygraph.to_variable([[[2.0, 0.0], [0.0, 1.0]]])
    >>> scores, paths = decoder(potentials, dygraph.to_variable([2]))
    >>> scores.tolist(), paths.tolist()
    ([3.0], [[0, 1]])
    """

    def __init__(self, transitions, include_bos_eos_tag=True, name=None):
        super().__init__()
        self.transitions = transitions
        self.include_bos_eos_tag = check.flag(
            include_bos_eos_tag, "ViterbiDecoder: include_bos_eos_tag"
        )

    def forward(self, potentials, lengths):
        return viterbi_decode(potentials, self.transitions, lengths, self.include_bos_eos_tag)


def __getattr__(name):
    hint = "" if name.startswith("__") else did_you_mean(name, __all__)
    hint = hint or " Data sets are in dygraph.dataset"
    raise AttributeError(f"dygraph.text has no function '{name}'.{hint}")


def __dir__():
    return list(__all__)
