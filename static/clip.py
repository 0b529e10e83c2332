"""Gradient clipping, under the names of Fluid."""

from dygraph.core.variable import Parameter
from dygraph.errors import ArgumentTypeError, kind_of
from dygraph.inspect.shown import Shown
from dygraph.nn.clip import ClipGradByGlobalNorm as GradientClipByGlobalNorm
from dygraph.nn.clip import ClipGradByNorm as GradientClipByNorm
from dygraph.nn.clip import ClipGradByValue as GradientClipByValue
from dygraph.nn.clip import limits

__all__ = [
    "ErrorClipByValue", "GradientClipByGlobalNorm", "GradientClipByNorm", "GradientClipByValue",
    "set_gradient_clip",
]  # fmt: skip


class ErrorClipByValue(Shown):
    """Clips the gradient that passes through one variable to [min, max].

    A hook: ``variable.register_hook(ErrorClipByValue(max=1.0))``.

    Parameters
    ----------
    max : float
        The upper bound; of two numbers the smaller one is `min`.
    min : float, optional
        The lower bound; None: ``-max``.

    Raises
    ------
    InvalidArgumentError
        `max` is negative and `min` missing.

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import static
    >>> w = dygraph.Parameter([3.0])
    >>> y = w * 10.0
    >>> handle = y.register_hook(static.clip.ErrorClipByValue(max=0.5))
    >>> (y * y).backward()
    >>> w.gradient()
    array([5.], dtype=float32)
    """

    def __init__(self, max, min=None):
        self.min, self.max = limits(min, max, "ErrorClipByValue")

    def __call__(self, gradient):
        return GradientClipByValue(self.min, self.max).one(gradient)


def set_gradient_clip(clip, param_list=None, program=None):
    """Clip the gradients of these parameters, as ``ParamAttr(gradient_clip=clip)`` does.

    Parameters
    ----------
    clip : GradientClipByValue, GradientClipByNorm or GradientClipByGlobalNorm
        The rule for these parameters.
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
    >>> from dygraph import static
    >>> w = dygraph.Parameter([1.0])
    >>> static.clip.set_gradient_clip(static.clip.GradientClipByValue(0.5), [w])
    >>> (w * 3.0).backward()
    >>> dygraph.optimizer.SGD(1.0, parameter_list=[w]).step()
    >>> w.item()
    0.5
    """
    if not hasattr(clip, "clip"):
        raise ArgumentTypeError(
            f"set_gradient_clip: clip must be a rule such as ClipGradByNorm, got {kind_of(clip)}"
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
