"""Beam search on ragged batches: one step, and the sequences that the steps make up."""

from dygraph.core import check
from dygraph.static.layers.arrays import whole
from dygraph.static.layers.making import layer, run

__all__ = ["beam_search", "beam_search_decode"]


@layer
def beam_search(
    pre_ids, pre_scores, ids, scores, beam_size, end_id, level=0, is_accumulated=True, name=None,
    return_parent_idx=False,
):  # fmt: skip
    """One step of beam search: the best `beam_size` continuations for each source.

    Parameters
    ----------
    pre_ids, pre_scores : Variable
        int64 and float32 ``[rows, 1]``: the last id and the score of every beam.
    ids : Variable or None
        int64 ``[rows, K]``: the candidates. None: the column numbers of `scores`.
    scores : Variable
        float32 ``[rows, K]`` with two levels of LoD: sources, and the beams of each.
    beam_size : int
        How many sequences are kept for each sample.
    end_id : int
        The id that ends a beam.
    level : int
        The level of LoD that separates the sources.
    is_accumulated : bool
        True: `scores` are scores of whole beams. False: they are probabilities of this step, whose
        logarithms are added to `pre_scores`.
    name : str, optional
        The name of the results.
    return_parent_idx : bool
        True: also return the int32 row from which each result continues.

    Returns
    -------
    (Variable, Variable) or (Variable, Variable, Variable)
        Ids and scores, ``[rows', 1]`` with two levels of LoD: sources, and the results that
        continue each beam.

    Raises
    ------
    ArgumentTypeError
        `pre_ids`, `pre_scores` or `scores` is not a Variable, or one has another type.
    InvalidArgumentError
        `beam_size` is less than 1, the shapes do not fit, or `scores` lacks the level of LoD; the
        last two in a program, when it runs.

    Examples
    --------
    One source, one beam, two candidates for the next id:

    >>> import numpy as np, dygraph
    >>> from dygraph.static import layers
    >>> def beams(array):
    ...     return dygraph.to_variable(np.array(array), lod=[[0, 1], [0, 1]])
    >>> ids, scores = layers.beam_search(
    ...     beams([[4]]), beams([[0.0]]).astype("float32"), beams([[7, 9]]),
    ...     beams([[-0.5, -1.5]]).astype("float32"), beam_size=2, end_id=1,
    ... )
    >>> ids.tolist(), scores.tolist()
    ([[7], [9]], [[-0.5], [-1.5]])
    """
    for value, what in ((pre_ids, "pre_ids"), (pre_scores, "pre_scores"), (scores, "scores")):
        check.variable(value, f"beam_search: {what}")
    inputs = {"pre_ids": pre_ids, "pre_scores": pre_scores, "ids": ids, "scores": scores}
    attrs = {
        "level": check.integer(level, "beam_search: level", 0),
        "beam_size": check.integer(beam_size, "beam_search: beam_size", 1),
        "end_id": check.integer(end_id, "beam_search: end_id"),
        "is_accumulated": bool(is_accumulated),
    }  # fmt: skip
    found = run("beam_search", inputs, attrs, {"parent_idx": 1})
    results = found["selected_ids"], found["selected_scores"]
    if not return_parent_idx:
        return results
    parents = found["parent_idx"]
    return *results, parents[0] if isinstance(parents, list) else parents


@layer
def beam_search_decode(ids, scores, beam_size, end_id, name=None):
    """Read whole sequences back from the steps of `beam_search`.

    Parameters
    ----------
    ids, scores : Variable or list
        Arrays with the results of `beam_search` for each step.
    beam_size : int
        How many sequences were kept for each sample.
    end_id : int
        The id that ends a sequence.
    name : str, optional
        The name of the results.

    Returns
    -------
    (Variable, Variable)
        Ids and scores with two levels of LoD: the sequences of each source, the best first, and
        the elements of each sequence.

    Raises
    ------
    ArgumentTypeError
        `ids` or `scores` is not an array, or `ids` is not of int64.
    InvalidArgumentError
        `beam_size` is less than 1. When it runs: the arrays have no element or not as many, or a
        step is not a result of `beam_search` that continues the step before.

    Examples
    --------
    One source, two beams, two steps; the second step ends one sequence with id 1:

    >>> import numpy as np, dygraph
    >>> from dygraph.static import layers
    >>> def column(numbers, dtype, lod):
    ...     return dygraph.to_variable(np.array(numbers, dtype)[:, None], lod=lod)
    >>> first, second = [[0, 1], [0, 2]], [[0, 2], [0, 1, 2]]
    >>> ids = [column([4, 5], "int64", first), column([6, 1], "int64", second)]
    >>> scores = [column([-1, -2], "float32", first), column([-3, -4], "float32", second)]
    >>> found, marks = layers.beam_search_decode(ids, scores, beam_size=2, end_id=1)
    >>> found.tolist(), found.lod(), marks.tolist()
    ([4, 6, 5, 1], [[0, 2], [0, 2, 4]], [-1.0, -3.0, -2.0, -4.0])
    """
    attrs = {
        "beam_size": check.integer(beam_size, "beam_search_decode: beam_size", 1),
        "end_id": check.integer(end_id, "beam_search_decode: end_id"),
    }  # fmt: skip
    inputs = {
        "Ids": whole(ids, "beam_search_decode: ids"),
        "Scores": whole(scores, "beam_search_decode: scores"),
    }  # fmt: skip
    found = run("beam_search_decode", inputs, attrs)
    return found["SentenceIds"], found["SentenceScores"]
