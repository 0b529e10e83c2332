"""Switch: several blocks, of which the first with a true condition runs."""

from dygraph.errors import PreconditionNotMetError
from dygraph.inspect.shown import Shown
from dygraph.static import bodies
from dygraph.static.layers.choices import conditional_block
from dygraph.static.layers.comparisons import logical_and, logical_not

__all__ = ["Switch"]


class Switch(Shown):
    """Several blocks, of which one runs: the first with a true condition, or the default block.

    Parameters
    ----------
    name : str, optional
        Accepted as in Fluid; not used.

    Raises
    ------
    PreconditionNotMetError
        `case` or `default` is called outside the ``with`` statement or after `default`, or
        `default` before any `case`.
    ArgumentTypeError, InvalidArgumentError
        A condition is not one bool of the program. For an eager Variable write Python's ``if``.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> from dygraph.static import layers
    >>> with static.program_guard(static.Program()):
    ...     x = static.data("x", [1], "float32")
    ...     rate = layers.fill_constant([1], "float32", 0.0)
    ...     with layers.Switch() as switch:
    ...         with switch.case(x < 10.0):
    ...             _ = layers.assign(np.array([1.0], "float32"), rate)
    ...         with switch.default():
    ...             _ = layers.assign(np.array([0.1], "float32"), rate)
    ...     static.Executor().run(feed={"x": np.array([20], "float32")}, fetch_list=[rate])
    [array([0.1], dtype=float32)]
    """

    def __init__(self, name=None):
        self._undo, self._inside, self._others, self._ended = None, False, None, False

    def __enter__(self):
        if self._inside or self._others is not None:
            raise PreconditionNotMetError(
                "Switch: a Switch describes one branch, but was entered twice. Make another Switch"
            )
        self._inside = True
        return self

    def __exit__(self, kind, error, trace):
        self._inside = False
        undo, self._undo = self._undo, None
        return undo.__exit__(kind, error, trace) if undo is not None else False

    def _check(self, what):
        if not self._inside:
            raise PreconditionNotMetError(
                f"Switch: {what}() must be called inside `with layers.Switch() as switch:`"
            )
        if self._ended:
            raise PreconditionNotMetError(
                f"Switch: {what}() must come before default(), got it after"
            )

    def case(self, condition):
        """The block that runs if `condition` is the first true one.

        Parameters
        ----------
        condition : Variable
            One bool of the program.

        Returns
        -------
        context manager
            For one ``with`` statement.

        Raises
        ------
        ArgumentTypeError, InvalidArgumentError
            `condition` is not one bool of the program.
        PreconditionNotMetError
            It is called outside the ``with`` statement of the Switch, or after `default`.
        """
        self._check("case")
        program = bodies.program_of(
            condition, "Switch.case", "Write Python's if: if condition: ..."
        )
        bodies.condition(condition, "Switch.case: condition")
        if self._undo is None:
            self._undo = bodies.taken_back(program)
            self._undo.__enter__()
        self._program, before = program, self._others
        if before is None:
            self._others = logical_not(condition)
            taken = condition
        else:
            taken = logical_and(before, condition)
            self._others = logical_and(before, logical_not(condition))
        return _Case(conditional_block(program, [taken], "Switch.case"))

    def default(self):
        """The block that runs if no condition is true.

        Returns
        -------
        context manager
            For one ``with`` statement.

        Raises
        ------
        PreconditionNotMetError
            It is called outside the ``with`` statement of the Switch, twice, or before any `case`.
        """
        self._check("default")
        if self._others is None:
            raise PreconditionNotMetError("Switch: default() needs a case() before it, got none")
        self._ended = True
        return _Case(conditional_block(self._program, [self._others], "Switch.default"))


class _Case:
    """A block for one ``with`` statement, which binds no name."""

    def __init__(self, manager):
        self._manager = manager

    def __enter__(self):
        self._manager.__enter__()

    def __exit__(self, *error):
        return self._manager.__exit__(*error)
