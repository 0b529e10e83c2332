"""Measures of a model over many batches: `update` with each, `eval` for the value so far, `reset`.

They take Variables and arrays and count in NumPy, so no call is recorded.

Examples
--------
>>> import numpy as np
>>> from dygraph.metrics import Precision
>>> metric = Precision()
>>> metric.update(np.array([0.9, 0.8, 0.1]), np.array([1, 0, 1]))
>>> metric.eval()
0.5
"""

import numpy as np

from dygraph.core import check
from dygraph.core.spellings import OfObjects
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, PreconditionNotMetError, kind_of
from dygraph.inspect.shown import text

__all__ = [
    "Accuracy", "Auc", "ChunkEvaluator", "CompositeMetric", "EditDistance", "MetricBase",
    "Precision", "Recall",
]  # fmt: skip


def array_of(value, what):
    """A Variable, an array or a number as an array of numbers. ArgumentTypeError."""
    if hasattr(value, "numpy"):
        value = value.numpy()
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise ArgumentTypeError(
            f"{what} must be a Variable, an array or a number, got {kind_of(value)}"
        )
    return array


def count_of(value, what):
    """One number, at least 0."""
    array = array_of(value, what)
    if array.size != 1:
        raise InvalidArgumentError(f"{what} must be one number, got shape {list(array.shape)}")
    number = array.reshape(()).item()
    if not number >= 0:
        raise InvalidArgumentError(f"{what} must be at least 0, got {number}")
    return number


def binary(preds, labels, owner):
    """Probabilities of the positive class, and labels 0 or 1, as two flat arrays."""
    preds, labels = array_of(preds, f"{owner}: preds"), array_of(labels, f"{owner}: labels")
    flat = labels.reshape(-1)
    if preds.size != flat.size:
        raise InvalidArgumentError(
            f"{owner}: preds and labels must hold as many values, got shapes "
            f"{list(preds.shape)} and {list(labels.shape)}"
        )
    wrong = (flat != 0) & (flat != 1)
    if wrong.any():
        raise InvalidArgumentError(
            f"{owner}: labels must hold 0 or 1, got {flat[wrong][0]} at position "
            f"{int(wrong.argmax())}"
        )
    return preds.reshape(-1), flat.astype(bool)


def name_of(metric):
    """The name of a metric in logs: its name, else its class in lower case."""
    name = getattr(metric, "name", None) or getattr(metric, "_name", None)
    name = name() if callable(name) else name
    return name if isinstance(name, str) else type(metric).__name__.lower()


class MetricBase(OfObjects):
    """Base class: subclasses define `update`, `eval` and, for other counts, `reset`.

    Parameters
    ----------
    name : str, optional
        None: the class's name.

    Attributes
    ----------
    better : {"max", "min", None}
        Which value is better, for callbacks that keep the best one.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph.metrics import MetricBase
    >>> class Worst(MetricBase):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.worst = 0.0
    ...
    ...     def update(self, preds, labels):
    ...         self.worst = max(self.worst, float(np.abs(preds - labels).max()))
    ...
    ...     def eval(self):
    ...         return self.worst
    >>> metric = Worst()
    >>> metric.update(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    >>> metric.eval(), str(metric)
    (2.0, 'Worst')
    >>> metric.reset()
    >>> metric.eval()
    0.0
    """

    _hints = {
        "result": "metric.eval() gives the value",
        "accumulate": "metric.eval() gives the value",
        "update_state": "metric.update(values, weight) takes a batch",
        "compute": "metric.update(values, weight) takes a batch",
    }

    better: str | None = None  # "max" or "min", if one is better than the other

    def __init__(self, name=None):
        self._name = str(name) if name is not None else type(self).__name__

    def __str__(self):
        return self._name

    def __repr__(self):
        own = self._name == type(self).__name__
        more = {key: value for key, value in self.get_config().items() if key != "name"}
        return text(self, without=["name"] if own else [], **more)

    def reset(self):
        """Clear all counts: numbers become 0, arrays and lists as well."""
        for key, value in list(self.__dict__.items()):
            if key.startswith("_"):
                continue
            if isinstance(value, bool):
                setattr(self, key, False)
            elif isinstance(value, (int, float)):
                setattr(self, key, type(value)(0))
            elif isinstance(value, np.ndarray):
                setattr(self, key, np.zeros_like(value))
            elif isinstance(value, list):
                setattr(self, key, [])

    def get_config(self):
        """A copy of the counts by name."""
        return {k: v for k, v in self.__dict__.items() if not k.startswith("_")}

    def update(self, preds, labels):
        """Add one batch."""
        raise NotImplementedError(f"{type(self).__name__} must define update(preds, labels)")

    def eval(self):
        """The value over all batches since the last `reset`."""
        raise NotImplementedError(f"{type(self).__name__} must define eval()")


class CompositeMetric(MetricBase):
    """Several metrics of the same batches.

    Parameters
    ----------
    name : str, optional
        The name of the metric; None: that of the class.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph.metrics import CompositeMetric, Precision, Recall
    >>> both = CompositeMetric()
    >>> both.add_metric(Precision())
    >>> both.add_metric(Recall())
    >>> both.update(np.array([0.9, 0.2]), np.array([1, 1]))
    >>> both.eval()
    [1.0, 0.5]
    """

    def __init__(self, name=None):
        super().__init__(name)
        self._metrics = []

    def __repr__(self):
        return f"{type(self).__name__}({self._metrics!r})"

    @property
    def better(self):
        """That of the first metric, whose value `Model` logs."""
        return getattr(self._metrics[0], "better", None) if self._metrics else None

    def add_metric(self, metric):
        """Add a MetricBase. ArgumentTypeError for other types."""
        if not isinstance(metric, MetricBase):
            raise ArgumentTypeError(
                f"CompositeMetric: metric must be a MetricBase, got {kind_of(metric)}"
            )
        self._metrics.append(metric)

    def reset(self):
        for metric in self._metrics:
            metric.reset()

    def get_config(self):
        return {str(metric): metric.get_config() for metric in self._metrics}

    def update(self, preds, labels):
        for metric in self._metrics:
            metric.update(preds, labels)

    def eval(self):
        """The values in the order in which the metrics were added."""
        return [metric.eval() for metric in self._metrics]


class Precision(MetricBase):
    """The share of true positives among predicted positives: probabilities that round to 1.

    `update` takes equally many probabilities and labels 0 or 1; 0 without predicted positives.

    Parameters
    ----------
    name : str, optional
        The name of the metric; None: that of the class.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph.metrics import Precision
    >>> metric = Precision()
    >>> metric.update(np.array([0.9, 0.8, 0.7, 0.6, 0.1]), np.array([1, 0, 1, 1, 1]))
    >>> metric.eval()  # three of four
    0.75
    """

    better = "max"

    def __init__(self, name=None):
        super().__init__(name)
        self.tp = 0
        self.fp = 0

    def update(self, preds, labels):
        preds, labels = binary(preds, labels, "Precision")
        positive = np.rint(preds) == 1
        self.tp += int((positive & labels).sum())
        self.fp += int((positive & ~labels).sum())

    def eval(self):
        found = self.tp + self.fp
        return self.tp / found if found else 0.0


class Recall(MetricBase):
    """The share of positive labels whose probability rounds to 1; 0 without positive labels.

    Parameters
    ----------
    name : str, optional
        The name of the metric; None: that of the class.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph.metrics import Recall
    >>> metric = Recall()
    >>> metric.update(np.array([0.9, 0.8, 0.1]), np.array([1, 0, 1]))
    >>> metric.eval()  # one of two
    0.5
    """

    better = "max"

    def __init__(self, name=None):
        super().__init__(name)
        self.tp = 0
        self.fn = 0

    def update(self, preds, labels):
        preds, labels = binary(preds, labels, "Recall")
        positive = np.rint(preds) == 1
        self.tp += int((positive & labels).sum())
        self.fn += int((~positive & labels).sum())

    def eval(self):
        wanted = self.tp + self.fn
        return self.tp / wanted if wanted else 0.0


class Accuracy(MetricBase):
    """The mean of the batches' accuracies, weighted by their sizes.

    `update` takes a batch's accuracy, as the operator `accuracy` gives it, and its weight.

    Parameters
    ----------
    name : str, optional
        The name of the metric; None: that of the class.

    Examples
    --------
    >>> from dygraph.metrics import Accuracy
    >>> metric = Accuracy()
    >>> metric.update(value=0.5, weight=2)
    >>> metric.update(value=1.0, weight=6)
    >>> metric.eval()
    0.875
    """

    better = "max"

    def __init__(self, name=None):
        super().__init__(name)
        self.value = 0.0
        self.weight = 0.0

    def update(self, value, weight):
        value, weight = count_of(value, "Accuracy: value"), count_of(weight, "Accuracy: weight")
        self.value += value * weight
        self.weight += weight

    def eval(self):
        if not self.weight:
            raise PreconditionNotMetError("Accuracy: eval() needs batches first. Call update()")
        return self.value / self.weight


class ChunkEvaluator(MetricBase):
    """Precision, recall and F1 of chunks, from the counts that the operator `chunk_eval` gives.

    Parameters
    ----------
    name : str, optional
        The name of the metric; None: that of the class.

    Examples
    --------
    >>> from dygraph.metrics import ChunkEvaluator
    >>> metric = ChunkEvaluator()
    >>> metric.update(num_infer_chunks=4, num_label_chunks=4, num_correct_chunks=3)
    >>> metric.eval()
    (0.75, 0.75, 0.75)
    """

    better = "max"

    def __init__(self, name=None):
        super().__init__(name)
        self.num_infer_chunks = 0
        self.num_label_chunks = 0
        self.num_correct_chunks = 0

    def update(self, num_infer_chunks, num_label_chunks, num_correct_chunks):
        owner = "ChunkEvaluator"
        infer = count_of(num_infer_chunks, f"{owner}: num_infer_chunks")
        label = count_of(num_label_chunks, f"{owner}: num_label_chunks")
        correct = count_of(num_correct_chunks, f"{owner}: num_correct_chunks")
        self.num_infer_chunks += int(infer)
        self.num_label_chunks += int(label)
        self.num_correct_chunks += int(correct)

    def eval(self):
        """(precision, recall, F1), 0 for empty denominators."""
        correct = self.num_correct_chunks
        precision = correct / self.num_infer_chunks if self.num_infer_chunks else 0.0
        recall = correct / self.num_label_chunks if self.num_label_chunks else 0.0
        f1 = 2 * precision * recall / (precision + recall) if correct else 0.0
        return precision, recall, f1


class EditDistance(MetricBase):
    """The mean edit distance, and the share of sequences with a distance above 0.

    `update` takes what the operator `edit_distance` gives: distances ``[N, 1]`` and N.

    Parameters
    ----------
    name : str, optional
        The name of the metric; None: that of the class.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph.metrics import EditDistance
    >>> metric = EditDistance()
    >>> metric.update(np.array([[0.0], [3.0]]), 2)
    >>> metric.eval()
    (1.5, 0.5)
    """

    better = "min"

    def __init__(self, name=None):
        super().__init__(name)
        self.total_distance = 0.0
        self.seq_num = 0
        self.instance_error = 0

    def update(self, distances, seq_num):
        distances = array_of(distances, "EditDistance: distances")
        seq_num = int(count_of(seq_num, "EditDistance: seq_num"))
        if distances.size != seq_num:
            raise InvalidArgumentError(
                f"EditDistance: distances must hold seq_num = {seq_num} numbers, got shape "
                f"{list(distances.shape)}"
            )
        self.total_distance += float(distances.sum(dtype="float64"))
        self.seq_num += seq_num
        self.instance_error += int((distances > 0).sum())

    def eval(self):
        """(mean distance, share of sequences with an error)."""
        if not self.seq_num:
            raise PreconditionNotMetError("EditDistance: eval() needs sequences. Call update()")
        return self.total_distance / self.seq_num, self.instance_error / self.seq_num


class Auc(MetricBase):
    """The area under a curve of `num_thresholds` thresholds.

    `update` takes probabilities ``[N, 2]`` (the last column counts) or ``[N]`` and ``[N, 1]``, and
    labels 0 or 1, N of them.

    Parameters
    ----------
    name : str, optional
        The name of the metric; None: that of the class.
    curve : 'ROC' or 'PR'
        True over false positive rate, or precision over recall.
    num_thresholds : int
        How many thresholds divide the probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph.metrics import Auc
    >>> metric = Auc("auc")
    >>> metric.update(np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]), np.array([0, 1, 1]))
    >>> metric.eval()
    1.0
    """

    better = "max"

    def __init__(self, name=None, curve="ROC", num_thresholds=4095):
        super().__init__(name)
        self._curve = check.choice(curve, ("ROC", "PR"), "Auc: curve")
        self._num_thresholds = check.integer(num_thresholds, "Auc: num_thresholds", 1)
        self.stat_pos = np.zeros(self._num_thresholds + 1, "int64")
        self.stat_neg = np.zeros(self._num_thresholds + 1, "int64")

    def update(self, preds, labels):
        preds = array_of(preds, "Auc: preds")
        if preds.ndim == 2 and preds.shape[1] in (1, 2):
            preds = preds[:, -1]
        preds, labels = binary(preds, labels, "Auc")
        if not ((preds >= 0) & (preds <= 1)).all():
            worst = preds[~((preds >= 0) & (preds <= 1))][0]
            raise InvalidArgumentError(
                f"Auc: preds must be probabilities in [0, 1], got {worst}. Scores need a sigmoid"
            )
        buckets = (preds * self._num_thresholds).astype("int64")
        size = self._num_thresholds + 1
        self.stat_pos += np.bincount(buckets[labels], minlength=size)
        self.stat_neg += np.bincount(buckets[~labels], minlength=size)

    def eval(self):
        """The area, 0 if one kind of label is missing."""
        # From the highest threshold down, with the point where nothing is positive.
        true = np.concatenate([[0.0], np.cumsum(self.stat_pos[::-1], dtype="float64")])
        false = np.concatenate([[0.0], np.cumsum(self.stat_neg[::-1], dtype="float64")])
        if not true[-1] or not false[-1]:
            return 0.0
        if self._curve == "ROC":
            x, y = false / false[-1], true / true[-1]
        else:
            found = true + false
            x, y = true / true[-1], np.where(found > 0, true / np.maximum(found, 1), 1.0)
        return float((np.diff(x) * (y[1:] + y[:-1]) / 2).sum())
