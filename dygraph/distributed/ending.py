"""How a rank of a job ends: the whole job at once, with its text, or together with the others."""

import atexit
import os
import sys
import time
import traceback

from dygraph.errors import DygraphError

__all__ = ["guard", "note_status"]

_status = 0
_ended = False
_OTHERS_FIRST = 0.2  # seconds
_HIDDEN = ("runpy", "mpi4py", "dygraph/distributed/rank.py")


def note_status(code):
    """What the program gave `sys.exit`."""
    global _status
    _status = code if isinstance(code, int) else int(code is not None)


def guard(comm):
    """See to it that this process does not end alone, and does not end in silence.

    An exception that nobody catches ends the job. At its normal end the program waits until all
    ranks have come to theirs; ranks that still call something then raise, and name this one.
    """

    def ended(kind, error, trace):
        if issubclass(kind, KeyboardInterrupt):
            _end(comm, "interrupted", 130)
        _end(comm, _text(error), 1)

    sys.excepthook = ended
    atexit.register(_leave, comm, os.getpid())


def _end(comm, text, code):
    global _ended
    _ended = True
    if comm.rank > 0:  # where all ranks raise, one text is enough
        time.sleep(_OTHERS_FIRST)
    comm.abort(text, code)


def _text(error):
    """The traceback of an error, without the frames that started the program."""
    lines = traceback.TracebackException.from_exception(error)
    while lines.stack and any(name in lines.stack[0].filename for name in _HIDDEN):
        lines.stack.pop(0)
    return "".join(lines.format()).rstrip()


def _leave(comm, pid):
    if os.getpid() != pid or _ended:  # a fork; MPI's abort, which leaves through here
        return
    if _status:
        _end(comm, f"the program ended with exit status {_status}", _status)
    if comm.unfinished:
        text = "the program ended before a call that all ranks make had finished. Call its wait()"
        _end(comm, text, 1)
    try:
        comm._timeout.seconds = None  # others may compute for long
        comm._agree("the end of the program")
    except DygraphError as error:
        _end(comm, f"{type(error).__name__}: {error}", 1)
