"""Where the numbers of a tensor are cut off: three ways to choose it from what was seen."""

import numpy as np

from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.inspect.shown import Shown

__all__ = ["KL", "Histogram", "MinMax", "Percentile", "method_of"]

_LEVELS = 128  # magnitudes of int8


class Histogram(Shown):
    """Counts of |x| in equal bins from 0 on, whose width doubles when a greater number comes."""

    def __init__(self, bins):
        self.counts, self.width, self.most = np.zeros(bins, np.int64), 0.0, 0.0

    def add(self, values):
        """Count the numbers of an array. InvalidArgumentError for NaN and infinity."""
        size = np.abs(np.asarray(values, np.float64)).reshape(-1)
        if not size.size:
            return
        most = float(size.max())
        if not np.isfinite(most):
            raise InvalidArgumentError(
                "quantize: calibration must see finite numbers, got NaN or infinity"
            )
        self.most = max(self.most, most)
        bins = self.counts.size
        if not self.width:
            if not most:
                return
            self.width = most / bins
        while most > self.width * bins:
            half = self.counts.reshape(-1, 2).sum(1)
            self.counts = np.concatenate([half, np.zeros_like(half)])
            self.width *= 2
        index = np.minimum((size / self.width).astype(np.int64), bins - 1)
        self.counts += np.bincount(index, minlength=bins)


class MinMax:
    """The greatest magnitude: nothing is cut off.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.quantization.MinMax()
    MinMax()
    """

    bins = 2

    def limit(self, histogram):
        """The magnitude that becomes 127."""
        return histogram.most

    def __repr__(self):
        return f"{type(self).__name__}()"


class Percentile:
    """The magnitude that so many percent of the numbers do not exceed.

    Parameters
    ----------
    percent : float
        Above 0, at most 100.

    Raises
    ------
    InvalidArgumentError
        `percent` is outside of these.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.quantization.Percentile(99.9)
    Percentile(99.9)
    """

    bins = 4096

    def __init__(self, percent=99.99):
        if isinstance(percent, bool) or not isinstance(percent, (int, float)):
            raise ArgumentTypeError(f"Percentile: percent must be a number, got {kind_of(percent)}")
        if not 0 < percent <= 100:
            raise InvalidArgumentError(
                f"Percentile: percent must be above 0 and at most 100, got {percent}"
            )
        self.percent = percent

    def limit(self, histogram):
        """The magnitude that becomes 127."""
        total = histogram.counts.sum()
        if not total:
            return histogram.most
        part = np.cumsum(histogram.counts) / total
        edge = int(np.searchsorted(part, self.percent / 100)) + 1
        return min(edge * histogram.width, histogram.most)

    def __repr__(self):
        return f"Percentile({self.percent})"


class KL:
    """The magnitude whose 128 levels keep most of the distribution (Migacz, 2017).

    For each candidate the numbers beyond it are added to its last bin, which gives the
    distribution P; Q is P with its bins joined to 128 levels, each spread evenly over its bins that
    hold numbers. The candidate of the least divergence, sum P log(P / Q), is taken. After S.
    Migacz, "8-bit inference with TensorRT", GPU Technology Conference, 2017.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.quantization.KL()
    KL()
    """

    bins, step = 2048, 16

    def limit(self, histogram):
        """The magnitude that becomes 127."""
        counts = histogram.counts.astype(np.float64)
        used = int(np.flatnonzero(counts)[-1]) + 1 if counts.any() else 0
        if used <= _LEVELS:
            return histogram.most
        best, chosen = np.inf, used
        for edge in [*range(_LEVELS, used, self.step), used]:
            found = divergence(counts, edge)
            if found < best:
                best, chosen = found, edge
        return min(chosen * histogram.width, histogram.most)

    def __repr__(self):
        return f"{type(self).__name__}()"


def divergence(counts, edge):
    """sum P log(P / Q) where the numbers are cut off behind bin `edge`."""
    p = counts[:edge].copy()
    inner = p.copy()
    p[-1] += counts[edge:].sum()
    level = np.arange(edge) * _LEVELS // edge
    there = p > 0
    total = np.bincount(level, inner, _LEVELS)
    holders = np.bincount(level, there, _LEVELS)
    q = np.where(there, (total / np.maximum(holders, 1))[level], 0.0)
    if not q.sum():
        return np.inf
    p, q = p / p.sum(), q / q.sum()
    small = 1e-12  # of a level whose numbers were all beyond the edge
    return float(np.sum(p[there] * np.log(p[there] / np.maximum(q[there], small))))


_NAMED = {"minmax": MinMax, "percentile": Percentile, "kl": KL}


def method_of(given):
    """The method of a name or an object."""
    if isinstance(given, str):
        if given not in _NAMED:
            raise InvalidArgumentError(
                f"quantize: method must be one of {', '.join(map(repr, _NAMED))}, got {given!r}"
            )
        return _NAMED[given]()
    if not hasattr(given, "limit") or isinstance(given, type):
        raise ArgumentTypeError(
            "quantize: method must be 'minmax', 'percentile', 'kl' or an object of these classes, "
            f"got {kind_of(given)}"
        )
    return given
