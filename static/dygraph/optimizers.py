"""Fluid's optimizers in the eager mode, also without a parameter_list, as in Fluid 1.5 and 1.6."""

import gc

from dygraph.core import check
from dygraph.errors import PreconditionNotMetError
from dygraph.nn import Layer

__all__ = ["AnyParameters", "eager_optimizer"]


def eager_optimizer(kind, args, kwargs):
    """An optimizer of `dygraph.optimizer`, or one that finds its parameters."""
    given = args[1:] + tuple(kwargs.get(n) for n in ("parameter_list", "parameters", "params"))
    if any(isinstance(a, (list, tuple, Layer)) or hasattr(a, "__next__") for a in given):
        return kind(*args, **kwargs)
    return AnyParameters(kind, args, kwargs)


def _all_parameters():
    """The trainable parameters of all layers, in the order in which they were made."""
    found = {}
    for thing in gc.get_objects():
        if isinstance(thing, Layer):
            for p in thing.parameters():
                if not p.stop_gradient:
                    found[id(p)] = p
    return list(found.values())


class AnyParameters:
    """An optimizer without a parameter_list: `minimize` updates every parameter with a gradient.

    It looks for the layers at each step, which takes milliseconds; give parameter_list to avoid it.

    >>> import dygraph.static as fluid
    >>> import numpy as np
    >>> with fluid.dygraph.guard():
    ...     fc = fluid.dygraph.FC("fc", 1, param_attr=fluid.initializer.Constant(1.0))
    ...     sgd = fluid.optimizer.SGDOptimizer(0.5)
    ...     loss = fluid.layers.mean(fc(fluid.dygraph.to_variable(np.ones((2, 1), "float32"))))
    ...     loss.backward()
    ...     done = sgd.minimize(loss)
    ...     fc.weight.tolist()
    [[0.5]]
    """

    def __init__(self, kind, args, kwargs):
        self._kind, self._args, self._kwargs = kind, args, kwargs
        self._inner = None

    def __repr__(self):
        return f"{self._kind.__name__}(every parameter with a gradient)"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._made(), name)

    def _made(self, chosen=()):
        """The optimizer of all parameters, of which new ones may have come."""
        wanted = {id(p): p for p in [*_all_parameters(), *chosen]}
        inner = self._inner
        if inner is not None:
            old = {id(p): p for p in inner._parameters}
            if wanted.keys() <= old.keys():
                return inner
            wanted = {**old, **wanted}
        if not wanted:
            raise PreconditionNotMetError(
                f"{self._kind.__name__}: there must be a layer with parameters before the first "
                "step, got none. Call the layers first, or give parameter_list"
            )
        made = self._kind(*self._args, parameter_list=list(wanted.values()), **self._kwargs)
        if inner is not None:
            made._states = inner._states
        self._inner = made
        return made

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """As `Optimizer.minimize`, of every parameter with a gradient, or of `parameter_list`."""
        check.variable(loss, f"{self._kind.__name__}.minimize: loss")
        chosen = [] if parameter_list is None else list(parameter_list)
        made = self._made(chosen)
        return made.minimize(loss, startup_program, chosen or None, no_grad_set)
