"""Waiting without burning a core, and results that arrive later."""

import time

from dygraph.errors import DygraphError
from dygraph.inspect.shown import Shown

__all__ = ["Limit", "RankLostError", "WaitTimeoutError", "Work", "wait_for"]

_AWAKE = 1e-4  # seconds of waiting before the first sleep
_LONGEST_SLEEP = 1e-3
_ANSWER_EVERY = 0.02


class WaitTimeoutError(DygraphError, TimeoutError):
    """A rank waited longer than the limit of `init` for another one.

    >>> import dygraph
    >>> issubclass(dygraph.distributed.WaitTimeoutError, TimeoutError)
    True
    """


class RankLostError(DygraphError, ConnectionError):
    """A rank died, and the MPI lets the others go on: `Comm.shrink` gives their Comm.

    >>> import dygraph
    >>> issubclass(dygraph.distributed.RankLostError, ConnectionError)
    True
    """


class Limit(Shown):
    """How long a call may wait: ``seconds`` or None, and the transport that knows the others."""

    def __init__(self, seconds, transport):
        self.seconds, self.transport = seconds, transport


def wait_for(ready, what, limit):
    """Call `ready` until it returns a true value, and return that.

    The wait is awake for 0.1 ms, then it sleeps between the calls, a twentieth of the time waited
    and at most 1 ms: a rank that waits leaves its core to others, and Ctrl-C interrupts it. It
    answers ranks that ask where it is.

    Raises
    ------
    WaitTimeoutError
        After the seconds of `limit`, with the ranks that wait elsewhere or do not answer.
    RankLostError
        A rank is dead.
    """
    begin = asked = time.perf_counter()
    try:
        while not (result := ready()):
            now = time.perf_counter()
            waited = now - begin
            if limit.seconds is not None and waited > limit.seconds:
                lines = limit.transport.places(what)
                raise WaitTimeoutError(
                    f"{what}: another rank must arrive within {limit.seconds:g} s; it is dead, "
                    "slow, or makes other calls. dygraph.distributed.init(timeout=seconds) sets "
                    "the limit" + "".join(f"\n  {line}" for line in lines)
                )
            if now - asked > _ANSWER_EVERY:
                asked = now
                limit.transport.answer(what)
            if waited > _AWAKE:
                time.sleep(min(_LONGEST_SLEEP, waited / 20))
    except Exception as error:
        if (lost := limit.transport.lost(error, what)) is None:
            raise
        raise lost from None
    return result


class Work(Shown):
    """A call that goes on beside the computation: the result of a call with ``wait=False``.

    Examples
    --------
    >>> import dygraph
    >>> comm = dygraph.distributed.init("local")
    >>> work = comm.all_reduce(dygraph.ones([2]), wait=False)
    >>> work.wait().tolist()
    [1.0, 1.0]
    """

    def __init__(self, ready, finish, what, limit):
        self._ready, self._finish, self._what, self._limit = ready, finish, what, limit
        self._result = None

    def done(self):
        """Whether `wait` would return at once."""
        return self._ready is None or bool(self._ready())

    def wait(self):
        """Wait for the other ranks; the result of the call, which is also in its value."""
        if self._ready is not None:
            wait_for(self._ready, self._what, self._limit)
            self._result = self._finish()
            self._ready = self._finish = None
        return self._result
