"""Beam search over LoD: one step of it, and the way back to whole sequences."""

from dygraph import check
from static.layers.making import layer, run

__all__ = ["beam_search", "beam_search_decode"]


@layer
def beam_search(
    pre_ids, pre_scores, ids, scores, beam_size, end_id, level=0, is_accumulated=True, name=None,
    return_parent_idx=False,
):  # fmt: skip
    """The best `beam_size` continuations of each source's beams.

    Parameters
    ----------
    pre_ids, pre_scores : Variable
        int64 and float32 ``[rows, 1]``: the last ids of the beams, and their scores.
    ids : Variable or None
        int64 ``[rows, K]``: candidates; None: the columns of `scores`.
    scores : Variable
        float32 ``[rows, K]``, with two levels of LoD: sources, and beams of each.
    beam_size : int
    end_id : int
        A beam that has it ends there.
    level : int
        Of the LoD that tells the sources apart.
    is_accumulated : bool
        True: `scores` hold the scores of the beams; False: they are probabilities of this step.
    name : str, optional
    return_parent_idx : bool
        Give the rows that the results come of as well, int32.

    Returns
    -------
    (Variable, Variable) or (Variable, Variable, Variable)
        Ids and scores, ``[rows', 1]`` with LoD.
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
    """The sequences of beams whose steps `beam_search` has chosen.

    Parameters
    ----------
    ids, scores : Variable or list
        Arrays of what `beam_search` gave in each step.
    beam_size : int
    end_id : int
    name : str, optional

    Returns
    -------
    (Variable, Variable)
        Ids and scores with two levels of LoD: sequences of each source, and elements of each.
    """
    attrs = {
        "beam_size": check.integer(beam_size, "beam_search_decode: beam_size", 1),
        "end_id": check.integer(end_id, "beam_search_decode: end_id"),
    }  # fmt: skip
    found = run("beam_search_decode", {"Ids": ids, "Scores": scores}, attrs)
    return found["SentenceIds"], found["SentenceScores"]
