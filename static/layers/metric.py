"""Metrics: accuracy, area under a curve, overlap."""

from dygraph.core import check
from dygraph.static.layers.making import into, layer, operator, run
from dygraph.static.parameters import create_global_var


@operator(input="Predictions", label="Labels")
def mean_iou(input, label, num_classes):
    """The mean over the classes of intersection over union, ``right / (right + wrong)``.

    An element that is right counts for its class, a wrong one against both classes.

    Parameters
    ----------
    input, label : Variable
        Class numbers of any one shape, int32 or int64.
    num_classes : int
        The number of classes.

    Returns
    -------
    mean : Variable
        One float32, over the classes that occur.
    wrong, right : Variable
        int32 ``[num_classes]``: the elements of each class.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> found, label = to_variable([0, 1, 1]), to_variable([0, 1, 0])
    >>> mean, wrong, right = layers.mean_iou(found, label, 2)
    >>> mean.item(), wrong.tolist(), right.tolist()
    (0.5, [1, 1], [1, 1])
    """


@layer
def accuracy(input, label, k=1, correct=None, total=None):
    """The share of rows whose label is among the `k` greatest.

    Parameters
    ----------
    input : Variable
        Scores or probabilities ``[rows, classes]``; float32 or float64.
    label : Variable
        int64 or int32 ``[rows, 1]``.
    k : int, default 1
        How many of the greatest count.
    correct, total : Variable, optional
        Variables of one integer that take the number of right rows and of all rows.

    Returns
    -------
    Variable
        One float32.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> label = to_variable([[1], [0]])
    >>> layers.accuracy(to_variable([[0.1, 0.9], [0.2, 0.8]]), label).item()
    0.5
    """
    best = run("top_k", {"X": input}, {"k": check.integer(k, "accuracy: k", 1)})
    inputs = {"Out": best["Out"], "Indices": best["Indices"], "Label": label}
    found = run("accuracy", inputs)
    into(correct, found["Correct"], "accuracy")
    into(total, found["Total"], "accuracy")
    return found["Accuracy"]


@layer(parameters=True)
def auc(input, label, curve="ROC", num_thresholds=4095, topk=1, slide_steps=1):
    """The area under the ROC or PR curve, over all batches and over the last `slide_steps`.

    Parameters
    ----------
    input : Variable
        Probabilities of two classes ``[rows, 2]``; float32 or float64.
    label : Variable
        0 or 1, int64 ``[rows, 1]``.
    curve : str, default "ROC"
        ``"ROC"`` or ``"PR"``.
    num_thresholds : int, default 4095
        How many thresholds divide the probabilities.
    topk : int, default 1
        Accepted as in Fluid; not used.
    slide_steps : int, default 1
        How many batches the second area is of; 0: all.

    Returns
    -------
    area : Variable
        One float64, over all batches.
    area_of_last : Variable
        One float64, over the last ones.
    counts : list of Variable
        The counts that the runs keep: positive and negative of the last batches, positive and
        negative of all.

    Raises
    ------
    InvalidArgumentError
        `num_thresholds` is below 1 or `slide_steps` below 0.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     p, label = static.data("p", [None, 2]), static.data("label", [None, 1], "int64")
    ...     area, of_last, counts = layers.auc(p, label)
    ...     exe = static.Executor()
    ...     _ = exe.run(static.default_startup_program())
    ...     feed = {"p": np.array([[0.25, 0.75], [0.75, 0.25]], "float32")}
    ...     feed["label"] = np.array([[1], [0]])
    ...     float(exe.run(feed=feed, fetch_list=[area])[0])
    1.0
    """
    count = check.integer(num_thresholds, "auc: num_thresholds", 1)
    steps = check.integer(slide_steps, "auc: slide_steps", 0)
    sizes = [(1 + steps) * (count + 1) + (1 if steps else 0)] * 2 + [count + 1] * 2
    counts = [create_global_var([1, size], 0, "int64", persistable=True) for size in sizes]

    def area(positive, negative, steps):
        inputs = {"Predict": input, "Label": label, "StatPos": positive, "StatNeg": negative}
        attrs = {"curve": curve, "num_thresholds": count, "slide_steps": steps}
        found = run("auc", inputs, attrs)
        into(positive, found["StatPosOut"], "auc")
        into(negative, found["StatNegOut"], "auc")
        return found["AUC"]

    of_batch = area(counts[0], counts[1], steps)
    return area(counts[2], counts[3], 0), of_batch, counts


@layer
def chunk_eval(
    input, label, chunk_scheme, num_chunk_types, excluded_chunk_types=None, seq_length=None
):
    """Precision, recall and F1 of the chunks that tags describe, such as names in a text.

    Parameters
    ----------
    input : Variable
        The tags found, int64 ``[rows, 1]`` with LoD, or ``[batch, time]`` with `seq_length`.
    label : Variable
        The right tags, of the same shape.
    chunk_scheme : str
        How tags mark a chunk: ``"IOB"``, ``"IOE"``, ``"IOBES"`` or ``"plain"``.
    num_chunk_types : int
        The number of types of chunks.
    excluded_chunk_types : list of int, optional
        Types that do not count.
    seq_length : Variable, optional
        int64 ``[batch]``: the lengths in a padded batch.

    Returns
    -------
    precision, recall, f1 : Variable
        One float32 each.
    found, labelled, correct : Variable
        The numbers of chunks found, labelled, and both; one int64 each.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> found = to_variable([[0], [1], [2], [0]], lod=[[0, 4]])
    >>> right = to_variable([[0], [1], [2], [2]], lod=[[0, 4]])
    >>> [v.item() for v in layers.chunk_eval(found, right, "IOB", 1)]
    [0.5, 1.0, 0.6666666865348816, 2, 1, 1]
    """
    inputs = {"Inference": input, "Label": label, "SeqLength": seq_length}
    attrs = {
        "num_chunk_types": num_chunk_types, "chunk_scheme": chunk_scheme,
        "excluded_chunk_types": list(excluded_chunk_types or []),
    }  # fmt: skip
    found = run("chunk_eval", inputs, attrs)
    counts = ("NumInferChunks", "NumLabelChunks", "NumCorrectChunks")
    return tuple(found[slot] for slot in ("Precision", "Recall", "F1-Score", *counts))


@layer
def edit_distance(
    input, label, normalized=True, ignored_tokens=None, input_length=None, label_length=None
):
    """The least number of insertions, deletions and substitutions from one sequence to the other.

    Parameters
    ----------
    input : Variable
        The sequences found, int64 ``[rows, 1]`` with LoD, or ``[batch, time]`` with `input_length`.
    label : Variable
        The right ones, likewise.
    normalized : bool, default True
        Whether to divide by the length of the right sequence.
    ignored_tokens : list of int, optional
        Tokens that are left out first; for sequences with LoD.
    input_length, label_length : Variable, optional
        int64 ``[batch]``: the lengths in a padded batch.

    Returns
    -------
    distance : Variable
        float32 ``[sequences, 1]``.
    count : Variable
        The number of sequences, one int64.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([[1], [2], [3]], lod=[[0, 3]])
    >>> y = to_variable([[1], [3]], lod=[[0, 2]])
    >>> distance, count = layers.edit_distance(x, y, normalized=False)
    >>> distance.tolist(), count.item()
    ([[1.0]], 1)
    """
    if ignored_tokens:
        tokens = {"tokens": list(ignored_tokens)}
        input = run("sequence_erase", {"X": input}, tokens)["Out"]
        label = run("sequence_erase", {"X": label}, tokens)["Out"]
    inputs = {
        "Hyps": input, "Refs": label, "HypsLength": input_length, "RefsLength": label_length,
    }  # fmt: skip
    found = run("edit_distance", inputs, {"normalized": bool(normalized)})
    return found["Out"], found["SequenceNum"]


__all__ = [
    "accuracy", "auc", "chunk_eval", "edit_distance", "mean_iou",
]  # fmt: skip
