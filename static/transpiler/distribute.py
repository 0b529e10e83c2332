"""`DistributeTranspiler`: programs of trainers and parameter servers from one program."""

from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, PreconditionNotMetError, kind_of
from dygraph.inspect.shown import Shown
from dygraph.static.program import Program, default_main_program, default_startup_program
from dygraph.static.transpiler import collective, server, trainer
from dygraph.static.transpiler.config import DistributeTranspilerConfig
from dygraph.static.transpiler.editing import described
from dygraph.static.transpiler.parts import Division

__all__ = ["DistributeTranspiler"]


class DistributeTranspiler(Shown):
    """Divides a program that trains among the processes of a job.

    With parameter servers, each server holds parts of the parameters and updates them; trainers
    compute gradients, send them and receive the parameters. In collective mode there are no
    servers: all ranks add their gradients and update. `docs/parameter_servers.md` shows both.

    The programs are new ones and the given ones stay as they are; Fluid changes the startup
    program of trainers, and in collective mode both. So trainers run
    ``get_trainer_startup_program()``; a trainer that has not received its parameters raises.

    Parameters
    ----------
    config : DistributeTranspilerConfig, optional

    Examples
    --------
    >>> from dygraph import static
    >>> main, startup = static.Program(), static.Program()
    >>> with static.program_guard(main, startup):
    ...     x = static.data("x", [None, 2])
    ...     loss = static.layers.mean(static.layers.fc(x, 1))
    ...     _ = static.optimizer.SGD(0.1).minimize(loss)
    >>> transpiler = static.DistributeTranspiler()
    >>> transpiler.transpile(0, main, "s:1,s:2", trainers=2, startup_program=startup)
    >>> [op.type for op in transpiler.get_trainer_program().global_block().ops][-5:]
    ['send', 'send_barrier', 'recv', 'recv', 'fetch_barrier']
    """

    def __init__(self, config=None):
        config = DistributeTranspilerConfig() if config is None else config
        if not isinstance(config, DistributeTranspilerConfig):
            raise ArgumentTypeError(
                "DistributeTranspiler: config must be a DistributeTranspilerConfig, got "
                f"{kind_of(config)}"
            )
        self.config, self._division, self._pair = config, None, None

    def transpile(
        self, trainer_id, program=None, pservers="127.0.0.1:6174", trainers=1, sync_mode=True,
        startup_program=None, current_endpoint="127.0.0.1:6174",
    ):  # fmt: skip
        """Divide a program.

        Parameters
        ----------
        trainer_id : int
            The number of this trainer; servers give 0.
        program : Program, optional
            After ``minimize``. Default: the default main program.
        pservers : str
            The names of the servers, with commas between them. No socket is opened: each server
            says its name to the others when it begins.
        trainers : int or str
            The number of trainers; in collective mode also their names, with commas between them.
        sync_mode : bool
            Whether servers wait for the gradients of all trainers and average them. False: each
            gradient is applied when it arrives.
        startup_program : Program, optional
        current_endpoint : str
            Collective mode: the name of this rank.

        Raises
        ------
        UnimplementedError
            An optimizer, a rate or a clipping that cannot be divided, named.
        InvalidArgumentError
            Names repeat, or `trainer_id` is none of the trainers.
        """
        program = default_main_program() if program is None else program
        startup = default_startup_program() if startup_program is None else startup_program
        for value, name in ((program, "program"), (startup, "startup_program")):
            if not isinstance(value, Program):
                raise ArgumentTypeError(
                    f"transpile: {name} must be a static.Program, got {kind_of(value)}"
                )
        if not isinstance(sync_mode, bool):
            raise ArgumentTypeError(
                f"transpile: sync_mode must be a bool, got {kind_of(sync_mode)}"
            )
        self._division = self._pair = None
        if self.config.mode != "pserver":
            self._collective(trainer_id, program, startup, trainers, current_endpoint)
        else:
            trainers = check.integer(trainers, "transpile: trainers", 1)
            trainer_id = check.integer(trainer_id, "transpile: trainer_id", 0, trainers - 1)
            endpoints = _endpoints(pservers, "pservers")
            sync = sync_mode and self.config.sync_mode
            self._division = Division(
                program.clone(), self.config, endpoints, trainers, trainer_id, sync
            )
            self._startup = startup.clone()
        for given in (program, startup):
            given.transpiled = self.config.mode

    def _collective(self, trainer_id, program, startup, trainers, current_endpoint):
        if isinstance(trainers, str):
            endpoints = _endpoints(trainers, "trainers")
        else:
            count = check.integer(trainers, "transpile: trainers", 1)
            endpoints = [f"rank:{i}" for i in range(count)]
            current_endpoint = None
        rank = check.integer(trainer_id, "transpile: trainer_id", 0, len(endpoints) - 1)
        current = endpoints[rank] if current_endpoint is None else current_endpoint
        local = self.config.collective_mode == "local_sgd"
        kind = collective.LocalSGD if local else collective.GradAllReduce
        self._pair = kind().transpile(startup, program, rank, endpoints, current)

    # Programs

    def get_trainer_program(self, wait_port=True):
        """The program of a trainer.

        Parameters
        ----------
        wait_port : bool
            Fluid's; not used: a trainer waits for the servers in its first exchange.

        Returns
        -------
        Program
            The forward and backward pass; behind a gradient ``send``, with ``split_byref`` or
            ``split_selected_rows`` before it where a parameter is divided; at the end
            ``send_barrier``, ``recv`` for each parameter, ``fetch_barrier``, ``concat``. Without
            barriers in asynchronous mode. In collective mode gradients are added by
            ``c_allreduce_sum``.
        """
        if self._pair:
            return self._pair[1].clone()
        return trainer.trainer_program(self._divided())

    def get_trainer_startup_program(self):
        """The startup program of a trainer, which takes the parameters from the servers.

        Returns
        -------
        Program
            In collective mode rank 0 broadcasts the parameters.
        """
        if self._pair:
            return self._pair[0].clone()
        return trainer.startup_program(self._divided(), self._startup)

    def get_checkpoint_program(self, dirname):
        """A program by which one trainer, between two steps, has all servers save their variables.

        Parameters
        ----------
        dirname : str
            Inside the directory that ``Executor(files=...)`` of each server names. A server writes
            to ``pserver_0``, ``pserver_1``, ... in it; `static.io.load_persistables` reads them.

        Returns
        -------
        Program
            One operator, ``checkpoint_notify``.
        """
        if not isinstance(dirname, str):
            raise ArgumentTypeError(
                f"get_checkpoint_program: dirname must be a path, got {kind_of(dirname)}"
            )
        division, program = self._divided(), Program()
        attrs = {
            "endpoints": division.endpoints, "dirname": dirname,
            "trainer_id": division.trainer_id,
        }  # fmt: skip
        block = program.global_block()
        block.put_op(described(block, "checkpoint_notify", {}, {}, attrs))
        return program

    def get_pserver_program(self, endpoint):
        """The program of a server: ``listen_and_serv`` with blocks for the rate and the updates.

        Parameters
        ----------
        endpoint : str
            One of the names in `pservers`.

        Returns
        -------
        Program
            `Executor.run` of it ends when all trainers have ended.
        """
        return server.server_program(
            self._divided(), server.check_endpoint(self._divided(), endpoint)
        )

    def get_pserver_programs(self, endpoint):
        """(program, startup program) of a server."""
        return self.get_pserver_program(endpoint), self.get_startup_program(endpoint)

    def get_startup_program(self, endpoint, pserver_program=None, startup_program=None):
        """The startup program of a server.

        Parameters
        ----------
        endpoint : str
        pserver_program : Program, optional
            Fluid's; not used, since the names follow from the endpoint.
        startup_program : Program, optional
            Default: that of `transpile`.

        Returns
        -------
        Program
            First values of the server's parts and of what updates them. Rows of a random value are
            cut from the whole one, so that servers begin as one process does; a distributed table
            is drawn in parts.
        """
        division = self._divided()
        startup = self._startup if startup_program is None else startup_program
        return server.server_startup(division, server.check_endpoint(division, endpoint), startup)

    def _divided(self):
        if self._pair:
            raise PreconditionNotMetError(
                f"DistributeTranspiler: mode '{self.config.mode}' has no servers. Use config.mode "
                "= 'pserver'"
            )
        if self._division is None:
            raise PreconditionNotMetError(
                "DistributeTranspiler: transpile(...) must have been called before"
            )
        return self._division


def _endpoints(text, name):
    if not isinstance(text, str):
        raise ArgumentTypeError(
            f"transpile: {name} must be names with commas between them, got {kind_of(text)}"
        )
    endpoints = [part.strip() for part in text.split(",")]
    if "" in endpoints or len(set(endpoints)) < len(endpoints):
        raise InvalidArgumentError(
            f"transpile: {name} must be different names with commas between them, got '{text}'"
        )
    return endpoints
