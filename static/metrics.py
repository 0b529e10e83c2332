"""Metrics counted in Python from fetched values: those of `dygraph.metrics`; and `DetectionMAP`.

>>> from dygraph import static
>>> metric = static.metrics.Accuracy()
>>> metric.update(value=0.5, weight=2)
>>> metric.eval()
0.5
"""

from dygraph.metrics import (
    Accuracy,
    Auc,
    ChunkEvaluator,
    CompositeMetric,
    EditDistance,
    MetricBase,
    Precision,
    Recall,
)
from dygraph.static.evaluator import DetectionMAP

__all__ = [
    "Accuracy", "Auc", "ChunkEvaluator", "CompositeMetric", "DetectionMAP", "EditDistance",
    "MetricBase", "Precision", "Recall",
]  # fmt: skip
