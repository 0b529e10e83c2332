"""Gradient clipping, for ``grad_clip`` of optimizers or for `ParamAttr`."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import InvalidArgumentError
from dygraph.inspect.shown import Shown

__all__ = ["ClipGradByGlobalNorm", "ClipGradByNorm", "ClipGradByValue"]

ops = _core.ops


def is_chosen(rule, parameter):
    return rule.need_clip is None or rule.need_clip(parameter)


def _limited(gradients, limit):
    """The gradients times ``limit / max(norm, limit)`` of their common norm."""
    return limited(gradients, limit, [ops.squared_l2_norm(g) for g in gradients])


def limited(gradients, limit, squares):
    """The gradients times ``limit / max(norm, limit)``, where squares add up to that of the norm.

    The squares may be those of more gradients than these.
    """
    widest = max((s.dtype for s in squares), key=str)
    squares = [s if s.dtype == widest else s.astype(widest) for s in squares]
    norm = ops.sqrt(ops.sum(squares) if len(squares) > 1 else squares[0])
    follows = _core.is_symbol(norm) or _core.recording()
    if not follows and norm.item() <= limit:  # the factor is 1
        return [_merged(g) for g in gradients]
    most = _core.literal(limit, str(widest))
    factor = ops.elementwise_div(most, ops.elementwise_max(norm, most))
    return [scaled(g, factor) for g in gradients]


def _merged(gradient):
    """Merged, so that each row index of a sparse gradient is unique."""
    return ops.merge_selected_rows(gradient) if _core.is_selected_rows(gradient) else gradient


def scaled(gradient, factor):
    """A dense or sparse gradient times a Variable of one element."""
    factor = factor if factor.dtype == gradient.dtype else factor.astype(gradient.dtype)
    return ops.scale(_merged(gradient), scale_tensor=ops.reshape2(factor, shape=[1]))


def limits(min, max, owner):
    """(least, greatest) of two numbers in either order, or of max only."""
    max = check.number(max, f"{owner}: max")
    if min is not None:
        return tuple(sorted((check.number(min, f"{owner}: min"), max)))
    if max < 0:
        raise InvalidArgumentError(f"{owner}: max without min must be at least 0, got {max}")
    return -max, max


class ClipGradByValue(Shown):
    """Clips every element of a gradient to [min, max].

    It takes two numbers in either order, since Fluid's versions differ: the smaller is `min`. A
    sparse gradient stays sparse if 0 is in [min, max].

    Parameters
    ----------
    min, max : float, optional
        The bounds; one number alone means [-number, number].
    need_clip : callable, optional
        Takes a parameter, returns whether to clip its gradient; None: all.

    Raises
    ------
    InvalidArgumentError
        The only number is negative.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([1.0, 1.0])
    >>> clip = dygraph.nn.ClipGradByValue(0.5)
    >>> rule = dygraph.optimizer.SGD(1.0, parameter_list=[w], grad_clip=clip)
    >>> (w * dygraph.to_variable([3.0, -0.25])).sum().backward()
    >>> rule.step()
    >>> w.tolist()
    [0.5, 1.25]
    """

    def __init__(self, min=None, max=None, need_clip=None):
        if max is None:
            min, max = None, min
        self.min, self.max = limits(min, max, "ClipGradByValue")
        self.need_clip = need_clip

    def clip(self, pairs):
        """(parameter, gradient) pairs with the gradients limited."""
        return [(p, self.one(g)) if is_chosen(self, p) else (p, g) for p, g in pairs]

    def one(self, gradient):
        """One gradient, limited."""
        if _core.is_selected_rows(gradient):
            if not self.min <= 0 <= self.max:  # missing rows change as well
                return self.one(_core.to_dense(gradient))
            merged = _core.merged(gradient)
            value = self.one(_core.rows_value(merged))
            return _core.make_selected_rows(_core.rows(merged), _core.height(merged), value)
        if str(gradient.dtype) in ("float32", "float64"):
            return ops.clip(gradient, min=self.min, max=self.max)
        low = _core.literal(self.min, gradient.dtype)
        high = _core.literal(self.max, gradient.dtype)
        return ops.elementwise_min(ops.elementwise_max(gradient, low), high)


class ClipGradByNorm(Shown):
    """Scales each gradient whose L2 norm exceeds `clip_norm` down to that norm.

    Parameters
    ----------
    clip_norm : float
        The greatest norm, at least 0.
    need_clip : callable, optional
        Takes a parameter, returns whether to clip its gradient; None: all.

    Examples
    --------
    >>> import dygraph
    >>> w, gradient = dygraph.Parameter([1.0, 1.0]), dygraph.to_variable([3.0, 4.0])
    >>> ((_, limited),) = dygraph.nn.ClipGradByNorm(0.5).clip([(w, gradient)])
    >>> [round(v, 4) for v in limited.tolist()]
    [0.3, 0.4]
    """

    def __init__(self, clip_norm, need_clip=None):
        self.clip_norm = check.number(clip_norm, f"{type(self).__name__}: clip_norm", 0)
        self.need_clip = need_clip

    def clip(self, pairs):
        """(parameter, gradient) pairs with the gradients limited."""
        return [(p, self._one(p, g)) for p, g in pairs]

    def _one(self, parameter, gradient):
        if not is_chosen(self, parameter):
            return gradient
        return _limited([gradient], self.clip_norm)[0]


class ClipGradByGlobalNorm(ClipGradByNorm):
    """Scales all gradients by one factor, so that their global norm is at most `clip_norm`.

    ``factor = clip_norm / max(sqrt(sum_i |g_i|^2), clip_norm)`` (Pascanu and others, 2013).

    Parameters
    ----------
    clip_norm : float
        The greatest norm, at least 0.
    group_name : str, default "default_group"
        Parameters whose `gradient_clip` rules have one group share one norm.
    need_clip : callable, optional
        Takes a parameter, returns whether to clip its gradient; None: all.

    Examples
    --------
    >>> import dygraph
    >>> v, w = dygraph.Parameter([1.0]), dygraph.Parameter([1.0])
    >>> pairs = [(v, dygraph.to_variable([3.0])), (w, dygraph.to_variable([4.0]))]
    >>> pairs = dygraph.nn.ClipGradByGlobalNorm(0.5).clip(pairs)
    >>> [round(gradient.item(), 4) for _, gradient in pairs]
    [0.3, 0.4]
    """

    def __init__(self, clip_norm, group_name="default_group", need_clip=None):
        super().__init__(clip_norm, need_clip)
        self.group_name = group_name

    def clip(self, pairs):
        """(parameter, gradient) pairs with the gradients limited."""
        chosen = [is_chosen(self, p) for p, _ in pairs]
        gradients = [g for (_, g), c in zip(pairs, chosen, strict=True) if c]
        results = iter(_limited(gradients, self.clip_norm) if gradients else ())
        return [(p, next(results) if c else g) for (p, g), c in zip(pairs, chosen, strict=True)]
