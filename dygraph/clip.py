"""Limits on gradients, given to optimizers as ``grad_clip`` or to parameters by `ParamAttr`."""

import math

from dygraph import _core, check
from dygraph.errors import InvalidArgumentError

__all__ = ["GradientClipByGlobalNorm", "GradientClipByNorm", "GradientClipByValue"]

ops = _core.ops


def _chosen(rule, parameter):
    return rule.need_clip is None or rule.need_clip(parameter)


def _squares(gradient):
    return float(ops.squared_l2_norm(gradient))


def _scaled(gradient, factor):
    if _core.is_selected_rows(gradient):
        gradient = _core.merged(gradient)
    # An attribute would round the factor to float32.
    factor = _core.to_variable([factor], None, str(gradient.dtype))
    return ops.scale(gradient, scale_tensor=factor)


class GradientClipByValue:
    """Every element goes into [min, max].

    Takes ``(min, max)`` by position and both by name, and ``max`` alone for [-max, max]. A sparse
    gradient stays sparse where 0 lies in [min, max].
    """

    def __init__(self, min=None, max=None, need_clip=None):
        if max is None:
            min, max = None, min
        self.max = check.number(max, "GradientClipByValue: max")
        self.min = -self.max if min is None else check.number(min, "GradientClipByValue: min")
        if self.min > self.max:
            raise InvalidArgumentError(
                f"GradientClipByValue: min must not exceed max {self.max}, got {self.min}"
            )
        self.need_clip = need_clip

    def clip(self, pairs):
        """(parameter, gradient) pairs with the gradients limited."""
        return [(p, self._one(g)) if _chosen(self, p) else (p, g) for p, g in pairs]

    def _one(self, gradient):
        if _core.is_selected_rows(gradient):
            if not self.min <= 0 <= self.max:  # rows that are not there change as well
                return self._one(_core.to_dense(gradient))
            merged = _core.merged(gradient)
            value = self._one(_core.rows_value(merged))
            return _core.make_selected_rows(_core.rows(merged), _core.height(merged), value)
        low = _core.to_variable(self.min, None, gradient.dtype)
        high = _core.to_variable(self.max, None, gradient.dtype)
        return ops.elementwise_min(ops.elementwise_max(gradient, low), high)


class GradientClipByNorm:
    """A gradient whose L2 norm exceeds `clip_norm` is scaled down to it, each by itself."""

    def __init__(self, clip_norm, need_clip=None):
        self.clip_norm = check.number(clip_norm, f"{type(self).__name__}: clip_norm", 0)
        self.need_clip = need_clip

    def clip(self, pairs):
        """(parameter, gradient) pairs with the gradients limited."""
        return [(p, self._one(p, g)) for p, g in pairs]

    def _one(self, parameter, gradient):
        if not _chosen(self, parameter):
            return gradient
        norm = math.sqrt(_squares(gradient))
        return _scaled(gradient, self.clip_norm / norm) if norm > self.clip_norm else gradient


class GradientClipByGlobalNorm(GradientClipByNorm):
    """All gradients are scaled by one factor, so that their common norm is at most `clip_norm`.

    ``factor = clip_norm / max(sqrt(sum_i |g_i|^2), clip_norm)`` (Pascanu and others, 2013.)
    """

    def __init__(self, clip_norm, group_name="default_group", need_clip=None):
        super().__init__(clip_norm, need_clip)
        self.group_name = group_name

    def clip(self, pairs):
        """(parameter, gradient) pairs with the gradients limited."""
        chosen = [_chosen(self, p) for p, _ in pairs]
        norm = math.sqrt(sum(_squares(g) for (_, g), c in zip(pairs, chosen, strict=True) if c))
        if norm <= self.clip_norm:
            return pairs
        factor = self.clip_norm / norm
        return [
            (p, _scaled(g, factor) if c else g) for (p, g), c in zip(pairs, chosen, strict=True)
        ]
