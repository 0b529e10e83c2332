"""Observation of operator calls: their callers, and results that are not finite.

`detect_anomaly` names the line of the first NaN; ``FLAGS_log_calls`` prints every call. When no
watcher is active, a call costs one more test.
"""

import contextlib
import functools
import os
import sys

from dygraph import _core

__all__ = ["detect_anomaly"]

# contextlib is between the user's ``with`` and the library's generator.
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OWN = (_ROOT + os.sep, contextlib.__file__)
_core.set_own_folders(_OWN)


def caller():
    """``train.py:12 in loss_of (layer Net.conv1)``: the newest frame that is not of this package.

    The layer is the innermost one whose forward is running, with its path from the outermost one.
    """
    frame = sys._getframe(1)
    where = ""
    while frame is not None and not where:
        code = frame.f_code
        if not code.co_filename.startswith(_OWN):
            where = f"{_short(code.co_filename)}:{frame.f_lineno} in {code.co_name}"
        frame = frame.f_back
    layers = _core.running_layers()
    if not layers:
        return where
    from dygraph.nn.paths import path_of  # layers import this module's neighbours

    return f"{where} (layer {path_of(layers)})"


@functools.lru_cache(1024)
def is_own_file(file):
    """Whether a source file belongs to this library."""
    return file.startswith(_OWN)


user_line = _core.user_line


def _short(filename):
    """The file's name with its folder; notebook cells keep theirs."""
    if filename.startswith("<"):
        return filename
    return os.path.join(*filename.split(os.sep)[-2:])


class Watching:
    """Activates watchers for calls of all threads within a ``with`` block. Nests."""

    def __init__(self, what):
        self._what = what

    def __enter__(self):
        _core.watch.set_caller_function(caller)
        _core.watch.ask(self._what)
        return self

    def __exit__(self, *_):
        _core.watch.release(self._what)
        return False


def detect_anomaly(check_nan=True):
    """Within this context a result with NaN or infinity raises an error with its line.

    Forward calls raise at once. In a backward pass the error names the line and the layer of the
    forward call; other errors in the pass do so too. Recording lines makes each call a few
    microseconds slower, so use it for debugging. ``FLAGS_check_nan_inf`` checks without lines.

    Parameters
    ----------
    check_nan : bool
        False: record lines only.

    Returns
    -------
    context manager

    Raises
    ------
    NonFiniteError
        (a FloatingPointError) inside the block, at the first result that is not finite.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.to_variable([0.0, 4.0])
    >>> x.stop_gradient = False
    >>> with dygraph.detect_anomaly():
    ...     y = dygraph.sqrt(x)
    ...     try:
    ...         y.sum().backward()
    ...     except FloatingPointError as error:
    ...         print(str(error).splitlines()[0][:57])
    sqrt_grad: Output(X@GRAD) of shape [2] must hold finite n
    """
    finite = _core.watch.CHECK_FINITE if check_nan else 0
    return Watching(_core.watch.CALLERS | finite)
