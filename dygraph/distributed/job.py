"""The group of all processes of a job."""

import os

from dygraph.core import check
from dygraph.distributed import ending
from dygraph.distributed.comm import Comm
from dygraph.errors import MissingFileError, PreconditionNotMetError

__all__ = ["init", "world"]

# The number of ranks, as launchers tell it. SLURM_NTASKS is left out: a batch script has it too.
_SIZES = (
    "DYGRAPH_WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS",
    "PADDLE_TRAINERS_NUM", "WORLD_SIZE",
)  # fmt: skip
_world = None


def init(backend=None, *, timeout=None):
    """The `Comm` of all processes of the job; further calls give the same one.

    Parameters
    ----------
    backend : {"mpi", "nccl", "local"}, optional
        None: "mpi" if a launcher started more than this process, else "local".
    timeout : float, optional
        Seconds that a call may wait for another rank; None: no limit, or that of the launcher
        (``run --timeout``).

    Returns
    -------
    Comm

    Raises
    ------
    PreconditionNotMetError
        The launcher was asked for another number of processes than there are, or `init` was called
        with another backend before.
    MissingFileError
        mpi4py or an MPI is missing.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.distributed.init("local").size
    1
    """
    global _world
    if timeout is not None:
        timeout = check.number(timeout, "init: timeout", 0)
    _world = ending.guarded() or _world  # after shrink
    if backend is None:
        backend = _world.backend if _world else ("mpi" if asked_size() > 1 else "local")
    check.choice(backend, ("mpi", "nccl", "local"), "init: backend")
    if _world is None:
        if timeout is None and os.environ.get("DYGRAPH_TIMEOUT"):
            timeout = check.number(float(os.environ["DYGRAPH_TIMEOUT"]), "DYGRAPH_TIMEOUT", 0)
        _world = Comm(_transport(backend), timeout)
        if _world.size > 1:
            _world._transport.limit(timeout)
            ending.guard(_world)
    elif _world.backend != backend:
        raise PreconditionNotMetError(
            f"init: a process has one world; it was made with backend '{_world.backend}', "
            f"got '{backend}'"
        )
    elif timeout is not None:
        _world._timeout.seconds = timeout
        _world._transport.limit(timeout)
    return _world


def world():
    """The `Comm` that `init` made; without one, that of ``init()``.

    >>> import dygraph
    >>> dygraph.distributed.world().rank
    0
    """
    return init()


def asked_size():
    """The number of processes that the launcher was asked for; 1 without a launcher."""
    for name in _SIZES:
        text = os.environ.get(name, "")
        if text.isdecimal():
            return int(text)
    return 1


def _transport(backend):
    asked = asked_size()
    if backend == "local":
        from dygraph.distributed.local import Local

        found = Local()
    else:
        found = _over_mpi(backend)
    if found.size != asked and (asked > 1 or "DYGRAPH_WORLD_SIZE" in os.environ):
        raise PreconditionNotMetError(
            f"init: the launcher was asked for {asked} processes, but {backend} sees {found.size}: "
            "the processes do not know of each other. Start them with the mpiexec of the MPI that "
            "mpi4py uses (python -m dygraph.distributed.run -n 4 train.py finds it), or with "
            "srun --mpi=pmi2 (MPICH) or --mpi=pmix (Open MPI)"
        )
    return found


def _over_mpi(backend):
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise MissingFileError(
            f"init: backend '{backend}' needs mpi4py and an MPI library, got: {error}. "
            "pip install 'dygraph-autograd[mpi]' brings both"
        ) from None
    if backend == "mpi":
        from dygraph.distributed.mpi import Mpi as Transport
    else:
        from dygraph.distributed.nccl import Nccl as Transport
    return Transport(MPI, MPI.COMM_WORLD)
