"""How a rank of a job ends: the whole job at once, with its text, or together with the others."""

import atexit
import os
import sys
import time
import traceback

from dygraph.errors import DygraphError

__all__ = ["guard", "guarded", "note_status", "replace"]

_guarded = None  # the Comm of the job
_status = 0
_ended = False
_OTHERS_FIRST = 0.2  # seconds
_HIDDEN = ("runpy", "mpi4py", "dygraph/distributed/rank.py")


def note_status(code):
    """What the program gave `sys.exit`."""
    global _status
    _status = code if isinstance(code, int) else int(code is not None)


def guarded():
    """The Comm of the job, or None."""
    return _guarded


def replace(old, new):
    """After the death of a rank `new` is the Comm of the job, if `old` was."""
    global _guarded
    if _guarded is old:
        _guarded = new


def guard(comm):
    """See to it that this process does not end alone, and does not end in silence.

    An uncaught exception ends the job. At its normal end the program waits until all
    ranks have come to theirs; ranks that still call something then raise, and name this one.
    """

    global _guarded

    def ended(kind, error, trace):
        if issubclass(kind, KeyboardInterrupt):
            _end("interrupted", 130)
        _end(_text(error), 1)

    _guarded = comm
    sys.excepthook = ended
    atexit.register(_leave, os.getpid())


def _end(text, code):
    global _ended
    _ended = True
    if _guarded.rank > 0:  # where all ranks raise, one text is enough
        time.sleep(_OTHERS_FIRST)
    _guarded.abort(text, code)


def _text(error):
    """The traceback of an error, without the frames that started the program."""
    lines = traceback.TracebackException.from_exception(error)
    while lines.stack and any(name in lines.stack[0].filename for name in _HIDDEN):
        lines.stack.pop(0)
    return "".join(lines.format()).rstrip()


def _leave(pid):
    if os.getpid() != pid or _ended:  # a fork; MPI's abort, which leaves through here
        return
    if _status:
        _end(f"the program ended with exit status {_status}", _status)
    if _guarded.unfinished:
        text = "the program ended before a call that all ranks make had finished. Call its wait()"
        _end(text, 1)
    try:
        _guarded._timeout.seconds = None  # others may compute for long
        _guarded._agree("the end of the program")
    except DygraphError as error:
        _end(f"{type(error).__name__}: {error}", 1)
