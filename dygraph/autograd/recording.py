"""Switches of recording: `no_grad`, `enable_grad`, and their state in each thread."""

import functools
from _thread import _local

from dygraph import _core
from dygraph.errors import ArgumentTypeError, kind_of
from dygraph.inspect.shown import Shown

__all__ = ["enable_grad", "grad_enabled", "is_grad_enabled", "no_grad", "set_grad_enabled"]

_GENERATOR = 0x20  # co_flags of a generator function


class ThreadModes(_local):
    """The state of one thread. Class attributes are the initial values."""

    tracer = None  # jit.trace runs a function and observes optimizer steps
    sizes = None  # jit.trace records and follows the sizes that Python reads
    ways = None  # to_static runs a function and answers tests of symbolic variables
    passing = False  # backward() plays, which `passes.ends` wait for
    casts = None  # inside amp.auto_cast(), which says what has float32: its other type
    computes = False  # the innermost of dygraph.guard and static.program_guard is the first
    # inside enable_grad(), which overrides eval mode
    forced = property(
        lambda self: _core.recording_forced(), lambda self, on: _core.set_recording_forced(on)
    )
    # why recording is off, for the error of a later backward()
    reason = property(lambda self: _core.grad_off_reason())


modes = ThreadModes()


def switch(on, reason=""):
    """Turn recording on or off for this thread; backward() reports the `reason` for off."""
    _core.set_grad_enabled(on, "" if on else reason)


def grad_enabled():
    """True while operator calls of this thread are recorded for backward().

    Returns
    -------
    bool

    Examples
    --------
    >>> import dygraph
    >>> with dygraph.no_grad():
    ...     dygraph.grad_enabled()
    False
    """
    return _core.grad_enabled()


is_grad_enabled = grad_enabled


class _GradMode(Shown):
    """Recording on or off, as a context manager and as a decorator. Nests, also with itself."""

    def __init__(self, on):
        self._on = on
        self._saved = []

    def __enter__(self):
        self._saved.append((_core.grad_enabled(), modes.reason, modes.forced))
        modes.forced = self._on
        if self._on != self._saved[-1][0]:
            switch(self._on)
        return self

    def __exit__(self, *_):
        on, reason, modes.forced = self._saved.pop()
        switch(on, reason)
        return False

    def __call__(self, function):
        if not callable(function):
            raise ArgumentTypeError(
                f"no_grad and enable_grad decorate functions, got {kind_of(function)}"
            )
        on = self._on
        code = getattr(function, "__code__", None)
        if code is not None and code.co_flags & _GENERATOR:

            @functools.wraps(function)
            def stepwise(*args, **kwargs):
                # The mode applies while the generator runs, not while its caller runs.
                generator = function(*args, **kwargs)
                value = None
                while True:
                    with _GradMode(on):
                        try:
                            produced = generator.send(value)
                        except StopIteration as end:
                            return end.value
                    value = yield produced

            return stepwise

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with _GradMode(on):
                return function(*args, **kwargs)

        return wrapped


def no_grad(func=None):
    """Compute without recording: a context manager, or a decorator with or without parentheses.

    Applies to this thread until the end of the block, also after an exception.

    Parameters
    ----------
    func : callable, optional
        A function to decorate; None: a context manager, or a decorator.

    Returns
    -------
    callable or context manager
        The decorated function, or what ``with`` takes.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.to_variable([2.0])
    >>> w.stop_gradient = False
    >>> with dygraph.no_grad():
    ...     y = w * w
    >>> y.stop_gradient
    True
    """
    mode = _GradMode(False)
    return mode if func is None else mode(func)


class set_grad_enabled(_GradMode):  # noqa: N801 - read as a function
    """Turn recording on or off for this thread, or for the block that it begins.

    Unlike `enable_grad` it does not override a layer's eval mode.

    Parameters
    ----------
    mode : bool

    Examples
    --------
    >>> import dygraph
    >>> with dygraph.set_grad_enabled(False):
    ...     dygraph.is_grad_enabled()
    False
    >>> dygraph.is_grad_enabled()
    True
    """

    def __init__(self, mode):
        if not isinstance(mode, bool):
            raise ArgumentTypeError(f"set_grad_enabled: mode must be a bool, got {kind_of(mode)}")
        super().__init__(mode)
        self._before = (_core.grad_enabled(), modes.reason, modes.forced)
        switch(mode)

    def __enter__(self):
        # The first block ends what the call began.
        before, self._before = self._before, None
        self._saved.append(before or (_core.grad_enabled(), modes.reason, modes.forced))
        switch(self._on)
        return self

    def __call__(self, function):
        on, reason, _ = self._before or (_core.grad_enabled(), modes.reason, False)
        switch(on, reason)  # a decorator applies inside the function only
        self._before = None
        return super().__call__(function)


def enable_grad(function=None):
    """Record inside `no_grad`, or in calls of a layer in eval mode.

    Parameters
    ----------
    function : callable, optional
        As a decorator: the function whose calls are recorded.

    Returns
    -------
    context manager or callable

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.to_variable([2.0])
    >>> w.stop_gradient = False
    >>> with dygraph.no_grad(), dygraph.enable_grad():
    ...     y = w * w
    >>> y.stop_gradient
    False
    """
    mode = _GradMode(True)
    return mode if function is None else mode(function)
