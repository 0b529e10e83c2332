"""Who a process of a job is: a trainer or a parameter server."""

import os
import typing

from dygraph.core import check
from dygraph.distributed import world
from dygraph.errors import InvalidArgumentError

__all__ = ["Role", "role"]


class Role(typing.NamedTuple):
    """What a process of a job is.

    Attributes
    ----------
    is_server : bool
    trainer_id : int
        0 for a server.
    endpoint : str
        The name of a server; empty for a trainer.
    pservers : str
        The names of all servers, for `DistributeTranspiler.transpile`.
    trainers : int

    Examples
    --------
    >>> from dygraph import static
    >>> static.transpiler.role("", 1)
    Role(is_server=False, trainer_id=0, endpoint='', pservers='', trainers=1)
    """

    is_server: bool
    trainer_id: int
    endpoint: str
    pservers: str
    trainers: int


def role(pservers=None, trainers=None):
    """The role of this process.

    The first ranks of the job are the servers, in the order of their names, the others the
    trainers. Fluid's environment variables come first where a launcher sets them:
    ``TRAINING_ROLE`` ("PSERVER" or "TRAINER"), ``PADDLE_TRAINER_ID``,
    ``PADDLE_CURRENT_ENDPOINT`` or ``POD_IP`` and ``PADDLE_PORT``.

    Parameters
    ----------
    pservers : str, optional
        The names of the servers, with commas between them. None:
        ``PADDLE_PSERVERS_IP_PORT_LIST``.
    trainers : int, optional
        None: ``PADDLE_TRAINERS_NUM``, or all ranks that are not servers.

    Returns
    -------
    Role

    Raises
    ------
    InvalidArgumentError
        The job has another number of ranks than there are servers and trainers.

    Examples
    --------
    >>> from dygraph import static
    >>> static.transpiler.role(pservers="", trainers=1).is_server
    False
    """
    env, comm = os.environ, world()
    if pservers is None:
        pservers = env.get("PADDLE_PSERVERS_IP_PORT_LIST", "")
    names = [name for name in pservers.split(",") if name]
    if trainers is None:
        trainers = int(env.get("PADDLE_TRAINERS_NUM", comm.size - len(names)))
    trainers = check.integer(trainers, "role: trainers", 1)
    if len(names) + trainers != comm.size:
        raise InvalidArgumentError(
            f"role: the job must have a rank for each of the {len(names)} servers and {trainers} "
            f"trainers, got {comm.size} ranks"
        )
    kind = env.get("TRAINING_ROLE", "PSERVER" if comm.rank < len(names) else "TRAINER")
    check.choice(kind, ("PSERVER", "TRAINER"), "role: TRAINING_ROLE")
    if kind == "TRAINER":
        number = int(env.get("PADDLE_TRAINER_ID", comm.rank - len(names)))
        number = check.integer(number, "role: the number of the trainer", 0, trainers - 1)
        return Role(False, number, "", pservers, trainers)
    name = env.get("PADDLE_CURRENT_ENDPOINT", "")
    if not name and "POD_IP" in env:
        name = f"{env['POD_IP']}:{env.get('PADDLE_PORT', '')}"
    if not name and comm.rank < len(names):
        name = names[comm.rank]
    check.choice(name, names, "role: the name of this server")
    return Role(True, 0, name, pservers, trainers)
