"""Compiled programs, by Fluid's names: `CompiledProgram` and its strategies."""

import difflib
import enum
import weakref

from dygraph import _core
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    NotFoundError,
    PreconditionNotMetError,
    UnimplementedError,
    kind_of,
)
from dygraph.inspect.shown import Shown
from dygraph.static import passes
from dygraph.static.program import Program

__all__ = ["BuildStrategy", "CompiledProgram", "ExecutionStrategy"]

_NO_EFFECT = "No effect on one CPU device"


class _Strategy:
    """Fields with checked values; an unknown one raises."""

    _fields: dict = {}  # name: (initial value, the kinds it may be, what it does)

    def __init__(self):
        for name, (value, _, _) in self._fields.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name, value):
        if name not in self._fields:
            near = difflib.get_close_matches(name, self._fields, 1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            raise NotFoundError(
                f"{type(self).__name__} has no field '{name}'.{hint} Its fields are "
                f"{', '.join(self._fields)}"
            )
        _, kinds, _ = self._fields[name]
        if not any(type(value) is k if k in (bool, int) else isinstance(value, k) for k in kinds):
            names = " or ".join("None" if k is type(None) else k.__name__ for k in kinds)
            raise ArgumentTypeError(
                f"{type(self).__name__}.{name} must be {names}, got {kind_of(value)}"
            )
        self._check(name, value)
        object.__setattr__(self, name, value)

    def _check(self, name, value):
        """Raises where the value cannot be had here."""

    def __repr__(self):
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, (value, _, _) in self._fields.items() if getattr(self, name) != value
        ]  # fmt: skip
        return f"{type(self).__name__}({', '.join(changed)})"

    @classmethod
    def about(cls, name=None):
        """What a field does, or all of them, as text.

        Examples
        --------
        >>> from dygraph import static
        >>> static.BuildStrategy.about("fuse_all_reduce_ops")
        'fuse_all_reduce_ops: No effect on one CPU device.'
        """
        names = cls._fields if name is None else [name]
        return "\n".join(f"{n}: {cls._fields[n][2]}." for n in names)


class _Reduce(enum.Enum):
    AllReduce = 0
    Reduce = 1


class _Scale(enum.Enum):
    CoeffNumDevice = 0
    One = 1
    Customized = 2


_SWITCH, _CHOICE = (bool,), (bool, type(None))


class BuildStrategy(_Strategy):
    """What is done to a program when it is compiled; Fluid's fields.

    ``about()`` says for each field what it does. No field changes a bit of a result.

    Raises
    ------
    NotFoundError
        (a KeyError) A field of another name is set.
    ArgumentTypeError, UnimplementedError
        A value of another type, or one that asks for several devices.

    Examples
    --------
    >>> from dygraph import static
    >>> strategy = static.BuildStrategy()
    >>> strategy.memory_optimize = True
    >>> strategy
    BuildStrategy(memory_optimize=True)
    """

    ReduceStrategy = _Reduce
    GradientScaleStrategy = _Scale

    _fields = {
        "reduce_strategy": (_Reduce.AllReduce, (_Reduce,), _NO_EFFECT),
        "gradient_scale_strategy": (
            _Scale.CoeffNumDevice, (_Scale,),
            "CoeffNumDevice and One are the same on one device; Customized is refused",
        ),
        "debug_graphviz_path": (
            "", (str,), "A file to which the compiled program is written as a graph, in DOT"
        ),
        "enable_sequential_execution": (
            False, _SWITCH, "Operators run one after the other even where several threads pay"
        ),
        "memory_optimize": (
            None, _CHOICE,
            "None or True: temporaries share one arena for each set of sizes, and updates of "
            "optimizers stand beside the gradients that feed them; False: neither",
        ),
        "enable_inplace": (
            None, _CHOICE, "No effect: results take the place of inputs where no bit changes"
        ),
        **{
            name: (False, _CHOICE, "No effect: operators are fused where no bit depends on it")
            for name in (
                "fuse_elewise_add_act_ops", "fuse_bn_act_ops", "fuse_bn_add_act_ops",
                "fuse_relu_depthwise_conv", "fuse_all_optimizer_ops", "enable_auto_fusion",
            )
        },
        **{
            name: (value, _CHOICE, _NO_EFFECT)
            for name, value in {
                "remove_unnecessary_lock": True, "sync_batch_norm": False,
                "fuse_all_reduce_ops": False, "fuse_broadcast_ops": False,
                "enable_parallel_graph": False, "enable_backward_optimizer_op_deps": True,
                "cache_runtime_context": False, "use_hierarchical_allreduce": False,
                "fix_op_run_order": False,
            }.items()
        },
        **{
            name: (False, _SWITCH, "True is refused: programs run in one process")
            for name in ("is_distribution", "async_mode")
        },
        "num_trainers": (1, (int,), "1; more are refused: programs run in one process"),
        "trainer_id": (0, (int,), "0; others are refused: programs run in one process"),
        "trainers_endpoints": ([], (list, tuple), "Empty; others are refused, as above"),
        "nccl_comm_num": (1, (int,), _NO_EFFECT),
        "hierarchical_allreduce_inter_nranks": (0, (int,), _NO_EFFECT),
        "mkldnn_enabled_op_types": (set(), (set, frozenset), _NO_EFFECT),
    }  # fmt: skip

    def _check(self, name, value):
        alone = {"is_distribution": False, "async_mode": False, "num_trainers": 1, "trainer_id": 0}
        if name in alone and value != alone[name] or name == "trainers_endpoints" and value:
            raise UnimplementedError(
                f"BuildStrategy.{name} must be {alone.get(name, [])!r}, since programs run in one "
                f"process on one device, got {value!r}"
            )
        if value is _Scale.Customized:
            raise UnimplementedError(
                "BuildStrategy.gradient_scale_strategy must be CoeffNumDevice or One, got "
                "Customized. Scale the loss in the program"
            )


class ExecutionStrategy(_Strategy):
    """How a compiled program runs; Fluid's fields.

    ``about()`` says for each field what it does.

    Raises
    ------
    NotFoundError
        (a KeyError) A field of another name is set.
    ArgumentTypeError, InvalidArgumentError
        A value of another type, or a count below its least.

    Examples
    --------
    >>> from dygraph import static
    >>> strategy = static.ExecutionStrategy()
    >>> strategy.num_threads = 1
    >>> strategy
    ExecutionStrategy(num_threads=1)
    """

    class ExecutorType(enum.Enum):
        Default = 0
        Experimental = 1

    _fields = {
        "num_threads": (
            0, (int,),
            "The most operators that run at the same time; 0: as many as there are threads. They "
            "never take more threads together than the process has (FLAGS_num_threads)",
        ),
        "num_iteration_per_drop_scope": (
            100, (int,), "No effect: temporaries end with each run"
        ),
        "num_iteration_per_run": (1, (int,), "1; others are refused: call run() that often"),
        "allow_op_delay": (False, _SWITCH, _NO_EFFECT),
        "use_thread_barrier": (True, _SWITCH, _NO_EFFECT),
        "use_experimental_executor": (False, _SWITCH, _NO_EFFECT),
    }  # fmt: skip

    def _check(self, name, value):
        least = {"num_threads": 0, "num_iteration_per_drop_scope": 1, "num_iteration_per_run": 1}
        if name in least and value < least[name]:
            raise InvalidArgumentError(
                f"ExecutionStrategy.{name} must be at least {least[name]}, got {value}"
            )
        if name == "num_iteration_per_run" and value != 1:
            raise UnimplementedError(
                f"ExecutionStrategy.num_iteration_per_run must be 1, got {value}. Call run() that "
                "often"
            )


class CompiledProgram(Shown):
    """A program with the passes that keep every bit, planned memory and scheduled operators.

    ``Executor.run`` takes it in place of the program, and gives the same bits. It is compiled at
    the first run with a set of feeds and fetches, and anew when the program was edited.

    Parameters
    ----------
    program_or_graph : Program
        Not changed.
    build_strategy : BuildStrategy, optional

    Raises
    ------
    ArgumentTypeError
        (a TypeError) An argument is of another type.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> main = static.Program()
    >>> with static.program_guard(main):
    ...     x = static.data("x", [None, 2])
    ...     y = x * 2.0
    >>> compiled = static.CompiledProgram(main)
    >>> static.Executor().run(compiled, {"x": np.ones((1, 2), "float32")}, [y])
    [array([[2., 2.]], dtype=float32)]
    """

    def __init__(self, program_or_graph, build_strategy=None):
        if not isinstance(program_or_graph, Program):
            raise ArgumentTypeError(
                "CompiledProgram: program_or_graph must be a static.Program, got "
                f"{kind_of(program_or_graph)}"
            )
        self._program = program_or_graph
        self._build = _strategy(build_strategy, BuildStrategy, "build_strategy")
        self._execution = ExecutionStrategy()
        self._is_parallel, self._prepared = False, weakref.WeakSet()

    def __repr__(self):
        return f"CompiledProgram({len(self._program.global_block().ops)} operators)"

    @property
    def program(self):
        """The program that was given."""
        return self._program

    def with_data_parallel(
        self, loss_name=None, build_strategy=None, exec_strategy=None, share_vars_from=None,
        places=None,
    ):  # fmt: skip
        """The same program for training on devices: here on one, so that sums have their order.

        Parameters
        ----------
        loss_name : str, optional
            The name of the loss; it must be a variable of the program.
        build_strategy : BuildStrategy, optional
            Replaces that of the constructor.
        exec_strategy : ExecutionStrategy, optional
        share_vars_from : CompiledProgram, optional
            Not used: programs that run in one scope share its variables.
        places : list of Place, or Place, optional
            One CPUPlace. Default: the executor's.

        Returns
        -------
        CompiledProgram
            Itself.

        Raises
        ------
        PreconditionNotMetError
            A second call.
        InvalidArgumentError, ArgumentTypeError, UnimplementedError
            The loss is no variable of the program; another type; several places.
        """
        if self._is_parallel:
            raise PreconditionNotMetError(
                "CompiledProgram.with_data_parallel must be called once, got a second call. Make "
                "another CompiledProgram"
            )
        if loss_name is not None:
            name = getattr(loss_name, "name", loss_name)
            if not isinstance(name, str) or not self._program.global_block().has_var(name):
                raise InvalidArgumentError(
                    "CompiledProgram.with_data_parallel: loss_name must name a variable of the "
                    f"program, got {name!r}"
                )
        if share_vars_from is not None and not isinstance(share_vars_from, CompiledProgram):
            raise ArgumentTypeError(
                "CompiledProgram.with_data_parallel: share_vars_from must be a CompiledProgram, "
                f"got {kind_of(share_vars_from)}"
            )
        places = places if isinstance(places, (list, tuple)) or places is None else [places]
        for place in places or ():
            if not isinstance(place, _core.Place):
                raise ArgumentTypeError(
                    "CompiledProgram.with_data_parallel: places must be a list of CPUPlace(), got "
                    f"{kind_of(place)}"
                )
        if places is not None and len(places) != 1:
            raise UnimplementedError(
                "CompiledProgram.with_data_parallel: places must have one place, since a program "
                f"runs on one device, got {len(places)}. Its operators use all threads"
            )
        if build_strategy is not None:
            self._build = _strategy(build_strategy, BuildStrategy, "build_strategy")
        self._execution = _strategy(exec_strategy, ExecutionStrategy, "exec_strategy")
        self._is_parallel = True
        return self

    def shrink(self):
        """Free the arenas that its runs left; the next run makes one again."""
        for prepared in self._prepared:
            prepared.shrink()

    # For the executor -----------------------------------------------------------------------------

    def key(self):
        """What plans of it are kept by."""
        return repr(self._build), repr(self._execution)

    def optimized(self, desc, keep):
        """A description after the passes, written as a graph where that was asked for."""
        late = self._build.memory_optimize is False
        desc = passes.keep_bits(desc, keep, without=["early_updates"] if late else [])
        if self._build.debug_graphviz_path:
            from dygraph.static import debugger

            debugger.draw_block_graphviz(
                Program(desc).global_block(), path=self._build.debug_graphviz_path
            )
        return desc

    def arrange(self, prepared):
        """How a prepared program runs."""
        if self._build.memory_optimize is not False:
            self._prepared.add(prepared)
            prepared.plan_memory()
            together = 1 if self._build.enable_sequential_execution else self._execution.num_threads
            prepared.limit_together(together)


def _strategy(given, kind, what):
    if given is None:
        return kind()
    if not isinstance(given, kind):
        raise ArgumentTypeError(
            f"CompiledProgram: {what} must be a {kind.__name__}, got {kind_of(given)}"
        )
    return given
