"""Which ranks wait where, and an end to calls that hang inside of MPI."""

import os
import sys
import threading
import time

import numpy as np

from dygraph.inspect.shown import Shown

__all__ = ["Watch"]

_MOST_BYTES = 500  # of the text of a call
_MOST_ASKED = 256  # ranks
_SECONDS_TO_ANSWER = 0.5
_ASK, _FIRST_ANSWER, _TAGS = 0, 1, 30_000


class Watch(Shown):
    """The watch of a process of a job, over a communicator of its own.

    A rank that waited longer than the limit asks the others where they are. A rank that waits
    answers, so those that do not answer are the ones that did not arrive. `inside` marks calls of
    MPI that block: Python cannot interrupt them, so a thread ends the process once such a call
    lasts longer than the limit.
    """

    def __init__(self, MPI, comm):
        self._mpi, self._comm = MPI, comm.Dup()
        self._answers, self._inside, self._asked = [], {}, 0
        self._thread, self._seconds = None, None

    def answer(self, what):
        """Tell ranks that ask that this one waits in `what`."""
        status = self._mpi.Status()
        while message := self._comm.Improbe(self._mpi.ANY_SOURCE, _ASK, status):
            tag = np.empty(1, "int64")
            message.Recv(tag)
            text = np.frombuffer(what.encode()[:_MOST_BYTES], "uint8")
            self._answers.append(self._comm.Isend(text, status.source, int(tag[0])))

    def places(self, group, what):
        """Where the ranks of an MPI group are, {rank of the group: text}: those that answer."""
        ranks = group.Translate_ranks(range(group.size), self._comm.group)
        others = [i for i, rank in enumerate(ranks) if rank != self._comm.rank][:_MOST_ASKED]
        tag = _FIRST_ANSWER + self._asked % _TAGS
        self._asked += 1
        number, found = np.array([tag], "int64"), {}
        self._answers += [self._comm.Isend(number, ranks[i], _ASK) for i in others]
        status = self._mpi.Status()
        end = time.monotonic() + _SECONDS_TO_ANSWER
        while len(found) < len(others) and time.monotonic() < end:
            self.answer(what)
            if message := self._comm.Improbe(self._mpi.ANY_SOURCE, tag, status):
                text = np.empty(status.Get_count(self._mpi.BYTE), "uint8")
                message.Recv(text)
                found[ranks.index(status.source)] = text.tobytes().decode(errors="replace")
            else:
                time.sleep(1e-3)
        return {i: found.get(i) for i in others}

    # Calls that block

    def limit(self, seconds):
        """End the process when a call of MPI blocks longer than this; None: never."""
        self._seconds = seconds
        if seconds is not None and self._thread is None:
            self._thread = threading.Thread(target=self._look, name="watch of MPI", daemon=True)
            self._thread.start()

    def inside(self, method, lost):
        """`method`, whose calls are watched; `lost` translates errors of MPI."""

        def call(*args):
            key = threading.get_ident()
            outer = self._inside.get(key)
            self._inside[key] = outer or (time.monotonic(), method.__name__)
            try:
                return method(*args)
            except self._mpi.Exception as error:
                raise lost(error, method.__name__) or error from None
            finally:
                self._inside[key] = outer

        return call

    def _look(self):
        while True:
            seconds = self._seconds
            time.sleep(1.0 if seconds is None else min(1.0, max(seconds / 4, 0.01)))
            for begin, name in filter(None, list(self._inside.values())):
                # The other ranks' own limits come first: they have more to tell.
                if seconds is not None and time.monotonic() - begin > seconds + 1:
                    sys.stderr.write(
                        f"rank {self._comm.rank} of {self._comm.size}: "
                        f"WaitTimeoutError: {name} has begun on all ranks, but MPI has not come "
                        f"back within {seconds:g} s: a rank is dead or stopped\n"
                    )
                    sys.stderr.flush()
                    time.sleep(0.05)  # the launcher forwards the text
                    threading.Thread(target=_exit_soon, daemon=True).start()
                    self._mpi.COMM_WORLD.Abort(1)


def _exit_soon():
    time.sleep(1)  # should MPI, where another thread is, not even abort
    os._exit(1)
