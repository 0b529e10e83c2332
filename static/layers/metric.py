"""Metrics: accuracy, area under a curve, overlap."""

from dygraph.core import check
from dygraph.static.layers.making import into, layer, operator, run
from dygraph.static.parameters import create_global_var


@operator(input="Predictions", label="Labels")
def mean_iou(input, label, num_classes):
    """(The mean overlap of classes, and for each class the wrong and the right elements.)"""


@layer
def accuracy(input, label, k=1, correct=None, total=None):
    """The share of rows whose label is among the `k` greatest; sets `correct` and `total`.

    >>> import dygraph
    >>> from dygraph import static
    >>> label = dygraph.to_variable([[1], [0]])
    >>> static.layers.accuracy(dygraph.to_variable([[0.1, 0.9], [0.2, 0.8]]), label).item()
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

    Returns
    -------
    tuple
        The area over all batches, the area over the last ones, and the list of counts that the runs
        keep: positive and negative of the last ones, positive and negative of all.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     p, label = static.data("p", [None, 2]), static.data("label", [None, 1], "int64")
    ...     area, of_batch, counts = static.layers.auc(p, label)
    >>> area.shape, len(counts)
    ((), 4)
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


__all__ = [
    "accuracy", "auc", "mean_iou",
]  # fmt: skip
