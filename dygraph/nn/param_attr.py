"""Attributes of parameters."""

from dygraph.core import check
from dygraph.errors import ArgumentTypeError, kind_of
from dygraph.inspect.shown import Shown

__all__ = ["ParamAttr"]


class ParamAttr(Shown):
    """Name, start value and training of a parameter.

    Parameters
    ----------
    name : str, optional
        None: made from the layer's name.
    initializer : Initializer, optional
        None: the layer's own.
    learning_rate : float
        Factor on the optimizer's.
    regularizer : L1Decay or L2Decay, optional
        Overrides the optimizer's.
    trainable : bool
        False: no gradient, no update.
    gradient_clip : object, optional
        Clips this parameter's gradient before the optimizer's own clipping.
    do_model_average : bool
        Whether `ModelAverage` averages it.
    clip : object, optional
        Another name of `gradient_clip`.

    Examples
    --------
    >>> import dygraph
    >>> attr = dygraph.ParamAttr(name="w", learning_rate=0.1)
    >>> dygraph.nn.Linear(2, 2, param_attr=attr).weight.name
    'w'
    """

    def __init__(
        self,
        name=None,
        initializer=None,
        learning_rate=1.0,
        regularizer=None,
        trainable=True,
        gradient_clip=None,
        do_model_average=True,
        clip=None,
    ):
        gradient_clip = gradient_clip if clip is None else clip
        if name is not None and not isinstance(name, str):
            raise ArgumentTypeError(f"ParamAttr: name must be a string, got {kind_of(name)}")
        for what, value in (("initializer", initializer), ("regularizer", regularizer)):
            if value is not None and not callable(value):
                raise ArgumentTypeError(
                    f"ParamAttr: {what} must be one of dygraph.{what}, got {kind_of(value)}"
                )
        if gradient_clip is not None and not hasattr(gradient_clip, "clip"):
            raise ArgumentTypeError(
                "ParamAttr: gradient_clip must be a rule such as dygraph.nn.ClipGradByNorm, "
                f"got {kind_of(gradient_clip)}"
            )
        self.name = name
        self.initializer = initializer
        self.learning_rate = check.number(learning_rate, "ParamAttr: learning_rate", 0)
        self.regularizer = regularizer
        self.trainable = bool(trainable)
        self.gradient_clip = gradient_clip
        self.do_model_average = bool(do_model_average)

    @staticmethod
    def of(value):
        """A ParamAttr from what layers accept: None, a name, an initializer; None for False."""
        if isinstance(value, ParamAttr):
            return value
        if value is None or value is True:
            return ParamAttr()
        if value is False:
            return None
        if isinstance(value, str):
            return ParamAttr(name=value)
        if callable(value):
            return ParamAttr(initializer=value)
        raise ArgumentTypeError(
            "a parameter's attributes must be a ParamAttr, a name, an initializer or False, "
            f"got {kind_of(value)}. Arrays go into dygraph.initializer.NumpyArrayInitializer"
        )
