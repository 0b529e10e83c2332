"""Gradient clipping, for ``grad_clip`` of optimizers or for `ParamAttr`."""

from dygraph import _core
from dygraph.core import check
from dygraph.core.variable import Parameter
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of

__all__ = [
    "ErrorClipByValue",
    "GradientClipByGlobalNorm",
    "GradientClipByNorm",
    "GradientClipByValue",
    "set_gradient_clip",
]

ops = _core.ops


def _chosen(rule, parameter):
    return rule.need_clip is None or rule.need_clip(parameter)


def _limited(gradients, limit):
    """The gradients times ``limit / max(norm, limit)`` of their common norm."""
    squares = [ops.squared_l2_norm(g) for g in gradients]
    widest = max((s.dtype for s in squares), key=str)
    squares = [s if s.dtype == widest else s.astype(widest) for s in squares]
    norm = ops.sqrt(ops.sum(squares) if len(squares) > 1 else squares[0])
    follows = _core.is_symbol(norm) or _core.recording()
    if not follows and norm.item() <= limit:  # the factor is 1
        return [_merged(g) for g in gradients]
    most = _core.literal(limit, str(widest))
    factor = ops.elementwise_div(most, ops.elementwise_max(norm, most))
    return [_scaled(g, factor if g.dtype == widest else factor.astype(g.dtype)) for g in gradients]


def _merged(gradient):
    """Merged, so that each row index of a sparse gradient is unique."""
    return ops.merge_selected_rows(gradient) if _core.is_selected_rows(gradient) else gradient


def _scaled(gradient, factor):
    return ops.scale(_merged(gradient), scale_tensor=ops.reshape2(factor, shape=[1]))


def _limits(min, max, owner):
    """(least, greatest) of two numbers in either order, or of max only."""
    max = check.number(max, f"{owner}: max")
    if min is not None:
        return tuple(sorted((check.number(min, f"{owner}: min"), max)))
    if max < 0:
        raise InvalidArgumentError(f"{owner}: max without min must be at least 0, got {max}")
    return -max, max


class GradientClipByValue:
    """Clips every element to [min, max].

    Takes two numbers in either order, since Fluid's versions differ: the smaller is `min`. ``max``
    without `min` means [-max, max]. A sparse gradient stays sparse if 0 is in [min, max].

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
        self.min, self.max = _limits(min, max, "GradientClipByValue")
        self.need_clip = need_clip

    def clip(self, pairs):
        """(parameter, gradient) pairs with the gradients limited."""
        return [(p, self._one(g)) if _chosen(self, p) else (p, g) for p, g in pairs]

    def _one(self, gradient):
        if _core.is_selected_rows(gradient):
            if not self.min <= 0 <= self.max:  # missing rows change as well
                return self._one(_core.to_dense(gradient))
            merged = _core.merged(gradient)
            value = self._one(_core.rows_value(merged))
            return _core.make_selected_rows(_core.rows(merged), _core.height(merged), value)
        if str(gradient.dtype) == "float32":
            return ops.clip(gradient, min=self.min, max=self.max)
        # The attributes would round the limits to float32.
        low = _core.literal(self.min, gradient.dtype)
        high = _core.literal(self.max, gradient.dtype)
        return ops.elementwise_min(ops.elementwise_max(gradient, low), high)


class ErrorClipByValue:
    """Clips the gradient that passes through one variable to [min, max].

    A hook: ``variable.register_hook(ErrorClipByValue(max=1.0))``. `min` defaults to ``-max``; of
    two numbers the smaller is `min`.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([3.0])
    >>> y = w * 10.0
    >>> handle = y.register_hook(dygraph.static.clip.ErrorClipByValue(max=0.5))
    >>> (y * y).backward()
    >>> w.gradient()
    array([5.])
    """

    def __init__(self, max, min=None):
        self.min, self.max = _limits(min, max, "ErrorClipByValue")

    def __call__(self, gradient):
        return GradientClipByValue(self.min, self.max)._one(gradient)


def set_gradient_clip(clip, param_list=None, program=None):
    """Clip the gradients of these parameters, as ``ParamAttr(gradient_clip=clip)`` does.

    Parameters
    ----------
    clip : GradientClipByValue, GradientClipByNorm or GradientClipByGlobalNorm
    param_list : list of Parameter
        Required: without a program there is no default.
    program : None
        Fluid's; must be None. Optimizers take ``grad_clip`` for all their parameters.

    Raises
    ------
    ArgumentTypeError
        For another kind of clip, for a value that is no Parameter, and for a program.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([1.0])
    >>> dygraph.static.clip.set_gradient_clip(dygraph.nn.ClipGradByValue(0.5), [w])
    >>> (w * 3.0).backward()
    >>> dygraph.optimizer.SGD(1.0, parameter_list=[w]).step()
    >>> w.item()
    0.5
    """
    if not hasattr(clip, "clip"):
        raise ArgumentTypeError(
            f"set_gradient_clip: clip must be one of dygraph.nn.clip, got {kind_of(clip)}"
        )
    if program is not None or not isinstance(param_list, (list, tuple)):
        what, value = ("param_list", param_list) if program is None else ("program", program)
        rule = "must be a list of Parameters" if program is None else "must be None"
        raise ArgumentTypeError(f"set_gradient_clip: {what} {rule}, got {kind_of(value)}")
    for i, parameter in enumerate(param_list):
        if not isinstance(parameter, Parameter):
            raise ArgumentTypeError(
                f"set_gradient_clip: param_list[{i}] must be a Parameter, got {kind_of(parameter)}"
            )
    for parameter in param_list:
        parameter.gradient_clip = clip


class GradientClipByNorm:
    """Scales each gradient whose L2 norm exceeds `clip_norm` down to that norm.

    >>> import dygraph
    >>> w, gradient = dygraph.Parameter([1.0, 1.0]), dygraph.to_variable([3.0, 4.0])
    >>> ((_, limited),) = dygraph.nn.ClipGradByNorm(0.5).clip([(w, gradient)])
    >>> limited.numpy().round(4).tolist()
    [0.3, 0.4]
    """

    def __init__(self, clip_norm, need_clip=None):
        self.clip_norm = check.number(clip_norm, f"{type(self).__name__}: clip_norm", 0)
        self.need_clip = need_clip

    def clip(self, pairs):
        """(parameter, gradient) pairs with the gradients limited."""
        return [(p, self._one(p, g)) for p, g in pairs]

    def _one(self, parameter, gradient):
        if not _chosen(self, parameter):
            return gradient
        return _limited([gradient], self.clip_norm)[0]


class GradientClipByGlobalNorm(GradientClipByNorm):
    """Scales all gradients by one factor, so that their global norm is at most `clip_norm`.

    ``factor = clip_norm / max(sqrt(sum_i |g_i|^2), clip_norm)`` (Pascanu and others, 2013.)

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
        chosen = [_chosen(self, p) for p, _ in pairs]
        gradients = [g for (_, g), c in zip(pairs, chosen, strict=True) if c]
        limited = iter(_limited(gradients, self.clip_norm) if gradients else ())
        return [(p, next(limited) if c else g) for (p, g), c in zip(pairs, chosen, strict=True)]
