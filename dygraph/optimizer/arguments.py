"""Arguments of optimizers as torch and Paddle 2 spell and order them."""

import functools
import inspect

from dygraph.core.variable import Variable
from dygraph.errors import ArgumentTypeError, kind_of
from dygraph.regularizer import L2Decay

_OURS = {"lr": "learning_rate", "params": "parameter_list", "parameters": "parameter_list"}


def _holds_parameters(value):
    """Whether `value`, an optimizer's first argument, is what torch expects there."""
    if hasattr(value, "named_parameters"):
        return True
    is_rate = callable(value) or isinstance(value, (Variable, str)) or hasattr(value, "__float__")
    return hasattr(value, "__iter__") and not is_rate


def ours(kind, args, kwargs):
    """``(args, kwargs)`` of an optimizer by our names: parameters may come first, as in torch.

    ``lr``, ``params`` and ``parameters`` are other names of ``learning_rate`` and
    ``parameter_list``; ``weight_decay``, where the optimizer has no argument of that name, is a
    number or a regularizer for ``regularization``.

    ArgumentTypeError: where one thing is given twice, or the order beyond the first two is unclear.
    """
    if args and _holds_parameters(args[0]):
        parameters, *args = args
        if len(args) > 1:
            raise ArgumentTypeError(
                f"{kind.__name__}: after the parameters only the learning rate may be positional, "
                f"got {len(args)} arguments. Write {kind.__name__}(params, lr, name=value)"
            )
        kwargs = _named(kind, "parameter_list", parameters, kwargs)
        if args:
            kwargs = _named(kind, "learning_rate", args[0], kwargs)
        args = ()
    known = inspect.signature(kind.__init__).parameters
    for name, own in _OURS.items():
        if name in kwargs and name not in known:
            rest = {n: v for n, v in kwargs.items() if n != name}
            kwargs = _named(kind, own, kwargs[name], rest)
    decays = "regularization" in known and not any(n.endswith("weight_decay") for n in known)
    if "weight_decay" in kwargs and decays:
        decay = kwargs["weight_decay"]
        if isinstance(decay, (int, float)) and not isinstance(decay, bool):
            decay = L2Decay(decay) if decay else None
        rest = {n: v for n, v in kwargs.items() if n != "weight_decay"}
        kwargs = _named(kind, "regularization", decay, rest)
    return args, kwargs


def _named(kind, name, value, kwargs):
    """`kwargs` with one more. ArgumentTypeError where it is there by another name."""
    for other in (name, *(n for n, own in _OURS.items() if own == name)):
        if other in kwargs:
            raise ArgumentTypeError(
                f"{kind.__name__}: {name} must be given once, got {kind_of(value)} and "
                f"{other}={kind_of(kwargs[other])}"
            )
    return {**kwargs, name: value}


def takes_usual_arguments(init):
    """An optimizer's ``__init__`` that takes `ours` and other libraries' arguments."""

    @functools.wraps(init)
    def wrapped(self, *args, **kwargs):
        args, kwargs = ours(type(self), args, kwargs)
        init(self, *args, **kwargs)

    return wrapped
