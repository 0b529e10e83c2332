"""What happens after a backward pass and before a step: how gradients are joined among ranks."""

from dygraph import _core
from dygraph.autograd.recording import modes

__all__ = ["ends", "steps"]

ends: list = []  # after each outermost backward(): called with whether it came to its end
steps: list = []  # before each step of an optimizer: called with the optimizer


def backward(roots, grads, retain, create):
    """A backward pass that fills leaves; functions of `ends` follow the outermost one."""
    if not ends or modes.passing:
        _core.backward(roots, grads, retain, create)
        return
    finished, modes.passing = False, True
    try:
        _core.backward(roots, grads, retain, create)
        finished = True
    finally:
        modes.passing = False
        for end in tuple(ends):
            end(finished)


def grad(*arguments):
    """Gradients that no leaf keeps, so nothing follows."""
    if not modes.passing:
        return _core.grad(*arguments)
    modes.passing = False
    try:
        return _core.grad(*arguments)
    finally:
        modes.passing = True
