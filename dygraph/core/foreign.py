"""What comes from other libraries: names that are assigned here without effect, and their files.

Assignments without effect, or that lose a parameter, raise an error with the fix. Variables read
from files that dygraph did not write are marked: a weight in them may lie transposed.
"""

from dygraph.errors import ArgumentTypeError, kind_of

_WRITE = "Write values with x.set_value(values), or x.copy_(y) under dygraph.no_grad()"
_FREEZE = "Write x.stop_gradient = True or x.requires_grad = False"
_FREEZE_ALL = (
    "Freeze its parameters: for p in layer.parameters(): p.stop_gradient = True. A class may "
    "declare the name and use it"
)

OF_VARIABLES = {
    **dict.fromkeys(("array", "flat", "value"), _WRITE),
    **dict.fromkeys(("require_grad", "requires_gradient", "stop_gradients", "trainable"), _FREEZE),
    "device": "x.to(place) gives the values on another place",
    "layout": "Elements always lie in the order of the axes",
    "lr": "A parameter has the factor p.learning_rate; an optimizer has set_lr(rate)",
    "names": "Axes have numbers alone; the variable has x.name",
    "volatile": "Compute under dygraph.no_grad()",
}
OF_LAYERS = dict.fromkeys(("requires_grad", "stop_gradient", "trainable"), _FREEZE_ALL)


def refuse(owner, name, fixes):
    """AttributeError if `fixes` has the name and the class of `owner` does not."""
    if name in fixes and not hasattr(type(owner), name):
        raise AttributeError(
            f"{type(owner).__name__} has no attribute '{name}' to assign. {fixes[name]}"
        )


_VALUES = (
    ". layer.{name}.set_value(x) writes other values, dygraph.Parameter(x) makes a new parameter, "
    "and `del layer.{name}` frees the name"
)


def require_none(layer, name, value, kind):
    """ArgumentTypeError if a value other than None would replace a parameter or layer."""
    if value is not None:
        fix = _VALUES if kind == "Parameter" else ". `del layer.{name}` frees the name"
        raise ArgumentTypeError(
            f"{type(layer).__name__}: '{name}' must be a {kind} or None, got {kind_of(value)}"
            f"{fix.format(name=name)}"
        )


def mark(variable):
    """Note that the values come from a file that dygraph did not write."""
    variable._from_elsewhere = True
    return variable


def is_marked(variable):
    return getattr(variable, "_from_elsewhere", False)
