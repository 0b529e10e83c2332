"""Calls of ranks beside the computation: a thread that makes them in order, one at a time."""

import collections
import threading

from dygraph.inspect.shown import Shown

__all__ = ["Jobs"]


class Jobs(Shown):
    """Functions that run one after another, on a thread of their own or on the one that waits.

    The thread that holds `_turn` takes the oldest function, so the order is that of `add` on every
    rank. The first error stops all later functions; `finish` raises it. `threaded` False: there is
    no thread, so all functions wait for `finish`.
    """

    def __init__(self, name, threaded=True):
        self._waiting = collections.deque()
        self._turn = threading.Lock()
        self._calls = threading.Semaphore(0)
        self._ended = False
        self.error = None
        if threaded:
            threading.Thread(target=self._serve, name=name, daemon=True).start()

    def add(self, function, wake=True):
        """Append a function. `wake` False: the thread stays asleep; `finish` follows at once."""
        self._waiting.append(function)
        if wake:
            self._calls.release()

    def finish(self):
        """Run what still waits, on this thread; raise the error of any of the functions."""
        while self._waiting or self._turn.locked():
            self._run_one()
        if self.error is not None:
            raise self.error

    def end(self):
        """End the thread. Functions that wait are dropped."""
        self._ended = True
        self._calls.release()

    def _serve(self):
        while True:
            self._calls.acquire()
            if self._ended:
                return
            self._run_one()

    def _run_one(self):
        with self._turn:
            if not self._waiting:
                return
            function = self._waiting.popleft()
            if self.error is None:
                try:
                    function()
                except BaseException as error:
                    self.error = error
