"""`ParallelExecutor`, the old name of an executor with a compiled program."""

from dygraph.errors import ArgumentTypeError, InvalidArgumentError, UnimplementedError, kind_of
from dygraph.inspect.shown import Shown
from dygraph.static.compiler import CompiledProgram
from dygraph.static.executor import Executor
from dygraph.static.program import default_main_program

__all__ = ["ParallelExecutor"]


class ParallelExecutor(Shown):
    """Runs one program, compiled, on one device.

    Parameters
    ----------
    use_cuda : bool
        False; True is refused, since this build computes on the CPU.
    loss_name : str, optional
    main_program : Program, optional
        Default: ``default_main_program()``.
    share_vars_from : ParallelExecutor, optional
        Not used: programs that run in one scope share its variables.
    exec_strategy : ExecutionStrategy, optional
    build_strategy : BuildStrategy, optional
    num_trainers, trainer_id : int
        1 and 0; others are refused.
    scope : Scope, optional
        Default: ``global_scope()``.

    Raises
    ------
    UnimplementedError
        Another device or several processes are asked for.
    ArgumentTypeError, InvalidArgumentError
        As `CompiledProgram.with_data_parallel`.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     x = static.data("x", [None, 2])
    ...     y = x * 2.0
    ...     runner = static.ParallelExecutor(use_cuda=False)
    >>> runner.run([y.name], {"x": np.ones((1, 2), "float32")})
    [array([[2., 2.]], dtype=float32)]
    """

    def __init__(
        self, use_cuda, loss_name=None, main_program=None, share_vars_from=None,
        exec_strategy=None, build_strategy=None, num_trainers=1, trainer_id=0, scope=None,
    ):  # fmt: skip
        if use_cuda:
            raise UnimplementedError(
                "ParallelExecutor: use_cuda must be False, since programs run on the CPU, got "
                f"{use_cuda!r}"
            )
        if (num_trainers, trainer_id) != (1, 0):
            raise UnimplementedError(
                "ParallelExecutor: num_trainers must be 1 and trainer_id 0, since programs run in "
                f"one process, got {num_trainers!r} and {trainer_id!r}"
            )
        if share_vars_from is not None and not isinstance(share_vars_from, ParallelExecutor):
            raise ArgumentTypeError(
                "ParallelExecutor: share_vars_from must be a ParallelExecutor, got "
                f"{kind_of(share_vars_from)}"
            )
        program = default_main_program() if main_program is None else main_program
        self._compiled = CompiledProgram(program).with_data_parallel(
            loss_name, build_strategy, exec_strategy
        )
        self._executor, self._scope = Executor(), scope

    @property
    def device_count(self):
        """The number of devices: 1."""
        return 1

    def run(self, fetch_list, feed=None, feed_dict=None, return_numpy=True):
        """Run the program once.

        Parameters
        ----------
        fetch_list : list of Variable or str
        feed : dict, or list of one dict, optional
        feed_dict : dict, optional
            The old name of `feed`.
        return_numpy : bool
            NumPy arrays (True) or Variables (False).

        Returns
        -------
        list of numpy.ndarray or list of Variable

        Raises
        ------
        Exception
            As `Executor.run`.
        """
        if feed is not None and feed_dict is not None:
            raise InvalidArgumentError(
                "ParallelExecutor.run: give feed or its old name feed_dict, got both"
            )
        feed = feed_dict if feed is None else feed
        return self._executor.run(
            self._compiled, feed, fetch_list, scope=self._scope, return_numpy=return_numpy
        )

    def drop_local_exe_scopes(self):
        """Nothing to do: the temporaries of a run end with it."""
