"""Names for code written for Fluid, with little effect here.

Calls compute at once in every mode, and gradients are always added in one order; only the default
place has an effect.
"""

from _thread import _local

from dygraph import _core
from dygraph.autograd.recording import modes
from dygraph.errors import ArgumentTypeError, kind_of
from dygraph.functions.arguments import named_place
from dygraph.inspect.shown import Shown

__all__ = [
    "BackwardStrategy",
    "disable_dygraph",
    "disable_imperative",
    "enable_dygraph",
    "enable_imperative",
    "enabled",
]


class BackwardStrategy(Shown):
    """Fluid's option for the order in which gradients are added.

    Here they are always added in the order of the calls, newest first, so equal runs give equal
    bits; `sort_sum_gradient` has no effect.

    Examples
    --------
    >>> import dygraph
    >>> strategy = dygraph.BackwardStrategy()
    >>> strategy.sort_sum_gradient = True
    >>> w = dygraph.Parameter([3.0])
    >>> (w * w).backward(strategy)
    >>> w.gradient()
    array([6.], dtype=float32)
    """

    __slots__ = ("sort_sum_gradient",)

    def __init__(self):
        self.sort_sum_gradient = False

    @staticmethod
    def check(value, what):
        """ArgumentTypeError unless it is None or a BackwardStrategy."""
        if value is not None and not isinstance(value, BackwardStrategy):
            raise ArgumentTypeError(
                f"{what}: backward_strategy must be a BackwardStrategy, got {kind_of(value)}"
            )


class _Before(_local):
    place = None  # where variables went before enable_dygraph()


_before = _Before()


def enabled():
    """Whether calls of `dygraph` compute at once, as `in_dygraph_mode` says.

    Returns
    -------
    bool
        True.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.enabled()
    True
    """
    return True


def enable_dygraph(place=None):
    """Set the default place of this thread until `disable_dygraph`.

    `dygraph.guard` does so for a block. Calls of `dygraph` compute without this function, too;
    functions of ``static.layers`` that take no Variable compute as inside a guard.

    Parameters
    ----------
    place : CPUPlace or CUDAPlace, optional
        None: the current one.

    Raises
    ------
    ArgumentTypeError
        `place` is no place.
    PreconditionNotMetError, UnimplementedError
        The backend of the place is not built.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.enable_dygraph(dygraph.CPUPlace())
    >>> dygraph.to_variable([1.0]).place
    CPUPlace()
    >>> dygraph.disable_dygraph()
    """
    if place is None:
        modes.computes = True
        return
    if not isinstance(place, (_core.Place, str)):
        raise ArgumentTypeError(
            "enable_dygraph: place must be a place such as dygraph.CPUPlace(), "
            f"got {kind_of(place)}"
        )
    before = _core.current_place()
    _core.set_current_place(named_place(place))
    modes.computes = True
    if _before.place is None:
        _before.place = before


def disable_dygraph():
    """Restore the place from before `enable_dygraph`. Calls of `dygraph` still compute at once.

    Examples
    --------
    >>> import dygraph
    >>> before = dygraph.to_variable([1.0]).place
    >>> dygraph.enable_dygraph(dygraph.CPUPlace())
    >>> dygraph.disable_dygraph()
    >>> dygraph.to_variable([1.0]).place == before
    True
    """
    modes.computes = False
    if _before.place is not None:
        _core.set_current_place(_before.place)
        _before.place = None


enable_imperative = enable_dygraph
disable_imperative = disable_dygraph
