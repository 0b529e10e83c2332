"""The connection between trainers and servers, over `dygraph.distributed`.

All ranks of a job say once who they are: a server its name, a trainer its number. So any rank may
have any role, and names of servers are names alone. A message is a request, a line of JSON, and
the values that belong to it.
"""

import atexit
import json
import sys

import numpy as np

from dygraph.distributed import world
from dygraph.distributed.works import wait_for
from dygraph.errors import (
    FormatError,
    InvalidArgumentError,
    PreconditionNotMetError,
)
from dygraph.inspect.shown import Shown

__all__ = ["Link", "close", "link_of"]

_REQUEST, _VALUE, _ANSWER = 1, 2, 3
_LONGEST = 1 << 16  # bytes of a request
_comm = None  # its own messages
_link = None


class Link(Shown):
    """A role in a job, and who has the others.

    Attributes
    ----------
    servers : dict of str to int
        Ranks by name.
    trainers : dict of int to int
        Ranks by number.
    """

    def __init__(self, comm, role):
        self.role, self._comm = role, comm
        text = json.dumps(role).encode()
        said = [json.loads(bytes(part)) for part in comm.all_gather(np.frombuffer(text, "uint8"))]
        self.servers = {r["server"]: i for i, r in enumerate(said) if "server" in r}
        self.trainers = {r["trainer"]: i for i, r in enumerate(said) if "trainer" in r}
        self._works = []  # answers on their way
        self.received = False  # whether a trainer has its parameters
        self._check(said)

    def _check(self, said):
        names = [r["server"] if "server" in r else f"trainer {r['trainer']}" for r in said]
        if len(set(names)) < len(names):
            raise InvalidArgumentError(
                f"the ranks of a job must be different servers and trainers, got {names}"
            )
        for r in said:
            if "server" in r and sorted(self.trainers) != list(range(r["trainers"])):
                raise InvalidArgumentError(
                    f"the server {r['server']} expects trainers 0 to {r['trainers'] - 1}, but the "
                    f"ranks of the job are {names}"
                )

    # Both sides

    def put(self, rank, tag, fields, value=None):
        """Start to send a line, and a value behind it."""
        line = json.dumps({**fields, "value": value is not None}).encode()
        works = [self._comm.send(np.frombuffer(line, "uint8"), rank, tag, wait=False)]
        if value is not None:
            works.append(self._comm.send(value, rank, _VALUE, wait=False))
        return works

    def take(self, rank, tag):
        """A line of a rank, and the value behind it."""
        line = self._comm.recv(rank, tag)
        fields = None
        if isinstance(line, np.ndarray) and line.dtype == np.uint8 and line.size <= _LONGEST:
            try:
                fields = json.loads(line.tobytes())
            except ValueError:
                pass
        if not isinstance(fields, dict):
            raise FormatError(
                f"a message of rank {rank} between trainers and servers must be a line of JSON, "
                f"got {type(line).__name__} of {getattr(line, 'size', 0)} elements"
            )
        return fields, self._comm.recv(rank, _VALUE) if fields.get("value") is True else None

    # Trainers

    def rank_of(self, endpoint):
        """The rank of a server."""
        if endpoint not in self.servers:
            raise PreconditionNotMetError(
                f"the server '{endpoint}' must be a rank of the job, but its servers are "
                f"{sorted(self.servers) or 'none'}. Start servers and trainers as one job: "
                "python -m dygraph.distributed.run -n 4 train.py"
            )
        return self.servers[endpoint]

    def request(self, endpoint, do, name="", value=None):
        """Send a request to a server."""
        for work in self.put(self.rank_of(endpoint), _REQUEST, {"do": do, "name": name}, value):
            work.wait()

    def answer(self, endpoint):
        """The server's answer to the oldest request that has one."""
        fields, value = self.take(self.rank_of(endpoint), _ANSWER)
        if "error" in fields:
            raise InvalidArgumentError(f"the server {endpoint} refused: {fields['error']}")
        return value

    # Servers

    def next_request(self):
        """(rank, fields, value) of the request that waits longest."""
        found = wait_for(
            lambda: self._comm.probe(None, _REQUEST),
            f"the server {self.role['server']}: a request of a trainer",
            self._comm._timeout,
        )
        return found.source, *self.take(found.source, _REQUEST)

    def give(self, rank, value=None, error=None):
        """Answer a rank. No wait: it may be waiting for another server first."""
        self._works = [work for work in self._works if not work.done()]
        self._works += self.put(rank, _ANSWER, {} if error is None else {"error": error}, value)

    def finish(self):
        """Wait until all answers have gone."""
        for work in self._works:
            work.wait()


def link_of(**role):
    """The link of this process, made at the first call; a collective call of all ranks then.

    PreconditionNotMetError if the process said another role before.
    """
    global _link, _comm
    if _link is None:
        _comm = _comm or world().duplicate()
        _link = Link(_comm, role)
    if _link.role != role:
        raise PreconditionNotMetError(
            f"a process has one role until Executor.close(), and said {_link.role} before, got "
            f"{role}"
        )
    return _link


def close():
    """End the link; a trainer tells the servers that it makes no more steps."""
    global _link
    link, _link = _link, None
    if link is not None:
        link.finish()
    if link is not None and "trainer" in link.role:
        for endpoint in link.servers:
            link.request(endpoint, "complete")
        for endpoint in link.servers:
            link.answer(endpoint)


def _at_exit():
    if getattr(sys, "last_value", None) is None:  # an error ends the job instead
        close()


atexit.register(_at_exit)
