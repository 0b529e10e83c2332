"""Ranks in processes that something else starts, such as Ray's workers."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

from dygraph.core import check
from dygraph.distributed import launchers
from dygraph.errors import MissingFileError, PreconditionNotMetError
from dygraph.inspect.shown import Shown

__all__ = ["Seats"]

_NAMES = ("PMI_PORT", "PMI_ID", "PMI_HOSTNAME")
_SECONDS = 60  # to start


class Seats(Shown):
    """Places in a job of MPI that other processes take: one for each rank.

    MPICH's ``mpiexec`` starts a placeholder for each rank, and connects processes that come with
    the environment of a placeholder. The processes may run on other machines that reach this one.
    They end together: close the seats after the death of one, and open new ones.

    Parameters
    ----------
    ranks : int

    Raises
    ------
    MissingFileError
        Without mpi4py and MPICH (Open MPI and others cannot do this).

    Examples
    --------
    In the process that starts the others, and in the others before they call `init`::

        with Seats(2) as seats:
            start_workers([seats.environment(rank) for rank in range(2)])

        os.environ.update(environment)
        comm = dygraph.distributed.init(timeout=600)
    """

    def __init__(self, ranks):
        self.ranks = check.integer(ranks, "Seats: ranks", 1)
        try:
            path, kind = launchers.find()
        except launchers.LaunchError as error:
            raise MissingFileError(f"Seats: {error}") from None
        if kind != "hydra":
            raise MissingFileError(f"Seats: the MPI must be MPICH, got {path} of {kind}")
        self._folder = tempfile.TemporaryDirectory(prefix="dygraph-seats-")
        self._process = subprocess.Popen(
            [path, "-pmi-port", "-n", str(ranks), sys.executable, "-S", "-c", _PLACEHOLDER,
             self._folder.name, str(os.getpid())],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        self._environments = self._read()

    def _read(self):
        paths = [pathlib.Path(self._folder.name, str(rank)) for rank in range(self.ranks)]
        end = time.monotonic() + _SECONDS
        while not all(path.exists() for path in paths):
            if self._process.poll() is not None or time.monotonic() > end:
                self.close()
                raise PreconditionNotMetError("Seats: mpiexec must start placeholders, it ended")
            time.sleep(0.01)
        return [json.loads(path.read_text()) for path in paths]

    def environment(self, rank, one_machine=True):
        """What the process that becomes this rank puts into `os.environ` before `init`.

        Parameters
        ----------
        rank : int
        one_machine : bool
            False: ranks are on several machines, and none uses shared memory.

        Returns
        -------
        dict of str
        """
        rank = check.integer(rank, "environment: rank", 0, self.ranks - 1)
        made = {name: self._environments[rank][name] for name in _NAMES}
        made["DYGRAPH_WORLD_SIZE"] = str(self.ranks)
        if not one_machine:
            host, _, port = made["PMI_PORT"].rpartition(":")
            made["PMI_PORT"] = f"{socket.gethostbyname(host)}:{port}"
            made["MPIR_CVAR_NOLOCAL"] = "1"
        return made

    def close(self):
        """End the job: its processes lose their place."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


# Writes down its environment, and stays until mpiexec ends it or the process that asked is dead.
_PLACEHOLDER = """
import json, os, sys, time
path = os.path.join(sys.argv[1], os.environ["PMI_ID"])
with open(path + ".part", "w") as f:
    json.dump({k: v for k, v in os.environ.items() if k.startswith("PMI_")}, f)
os.replace(path + ".part", path)
while True:
    os.kill(int(sys.argv[2]), 0)
    time.sleep(1)
"""
