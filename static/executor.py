"""Running programs."""

import collections
import sys

import numpy as np

from dygraph import _core, to_variable
from dygraph.core import check
from dygraph.core.files import path_of
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    PreconditionNotMetError,
    kind_of,
)
from dygraph.inspect.shown import Shown
from dygraph.profiler import RecordEvent
from dygraph.static import reading, remote
from dygraph.static.compiler import CompiledProgram
from dygraph.static.program import OpRole, Program, default_main_program
from dygraph.static.scope import Scope, global_scope, scope_guard, set_rate
from dygraph.static.variable import Variable

__all__ = ["Executor", "global_scope", "scope_guard"]


def name_of(item):
    """The name in a fetch list: a string, or the name of a variable."""
    if isinstance(item, str):
        return item
    name = getattr(item, "name", None)
    if not isinstance(name, str) or not name:
        raise ArgumentTypeError(
            f"fetch_list must hold variables or their names, got {kind_of(item)}"
        )
    return name


def _check_fed(name, value):
    if not isinstance(name, str):
        hint = f". Take its name, '{name.name}'" if isinstance(name, Variable) else ""
        raise ArgumentTypeError(f"feed must have names for keys, got {kind_of(name)}{hint}")
    if value is None or isinstance(value, Variable):
        got = "None" if value is None else f"'{value.name}', a variable of a program"
        raise ArgumentTypeError(f"the feed '{name}' must be an array or a Variable, got {got}")


def _fed(value, name, program):
    """A value for the run. The floats of a list take the type that the variable declares."""
    if not isinstance(value, (list, tuple, float)):
        return value
    declared = program.global_block().vars.get(name)
    return _core.to_variable(value, beside=None if declared is None else declared.dtype)


def _by_name(feed, program):
    """A fed list as a dict: values in the order of declaration, or one dict."""
    if not isinstance(feed, (list, tuple)):
        raise ArgumentTypeError(
            f"feed must be a dict of names to values, or a list of values, got {kind_of(feed)}"
        )
    if feed and all(isinstance(part, dict) for part in feed):
        if len(feed) > 1:
            raise InvalidArgumentError(
                f"feed must be one dict, since programs run on one device, got {len(feed)}"
            )
        return feed[0]
    names = program.desc.feed_names or [v.name for v in program.list_vars() if v.is_data]
    if len(feed) != len(names):
        raise InvalidArgumentError(
            f"feed must have {len(names)} values, for {names}, got {len(feed)}"
        )
    return dict(zip(names, feed, strict=True))


# A prepared program: the core's plan, the names of its feeds, its readers, and the schedules of its
# learning rates.
_Plan = collections.namedtuple("_Plan", "program feeds reads schedules")


class Executor(Shown):
    """Runs programs on a place.

    Parameters
    ----------
    place : CPUPlace or CUDAPlace, optional
        None: the place of the current guard.
    files : str or os.PathLike, optional
        The directory in which programs may write and read files, by operators such as ``save`` and
        ``load``; their relative paths start there. None: programs with such operators are refused.

    Raises
    ------
    TypeError
        An argument is of another type.
    ValueError
        `files` is empty.

    Examples
    --------
    >>> import numpy as np
    >>> from dygraph import static
    >>> with static.program_guard(static.Program()):
    ...     x = static.data("x", [None, 2])
    ...     executor = static.Executor(static.CPUPlace())
    ...     executor.run(feed={"x": np.array([[1.0, 2.0]], "float32")}, fetch_list=[x * 2.0])
    [array([[2., 4.]], dtype=float32)]
    """

    _KEPT = 64  # prepared programs

    def __init__(self, place=None, files=None):
        if place is not None and not isinstance(place, _core.Place):
            raise ArgumentTypeError(
                f"Executor: place must be CPUPlace() or CUDAPlace(n), got {kind_of(place)}"
            )
        self.place, self._closed = place, False
        self._files = None if files is None else path_of(files, "Executor: files")
        self._prepared = collections.OrderedDict()
        self._runs = collections.Counter()  # with fetch_every

    def run(
        self,
        program=None,
        feed=None,
        fetch_list=None,
        feed_var_name="feed",
        fetch_var_name="fetch",
        scope=None,
        return_numpy=True,
        use_program_cache=False,
        return_merged=True,
        use_prune=False,
        fetch_every=1,
    ):
        """Run a program once.

        Parameters
        ----------
        program : Program or CompiledProgram, optional
            What to run. Default: ``default_main_program()``.
        feed : dict of str to array or Variable, or list, optional
            Values by variable name. Arrays keep their dtype; a Variable brings its LoD along. A
            list holds them in the order in which the program declares its feeds; it may also hold
            one dict, as in Fluid for one device. Variables of a reader may be fed too; then they
            are not read.
        fetch_list : list of Variable or str, optional
            What to return. Default: the variables of the program's own fetch operators.
        feed_var_name, fetch_var_name : str
            Fluid's; not used.
        scope : Scope, optional
            Holds persistable variables. Default: ``global_scope()``. Temporaries are in a child of
            it that ends with the run.
        return_numpy : bool
            NumPy arrays (True) or Variables (False).
        use_program_cache, return_merged : bool
            Fluid's; not used: prepared programs are always cached, and there is one device.
        use_prune : bool
            Run only the operators that `fetch_list` needs: no update if only a prediction is
            fetched.
        fetch_every : int
            Fetch in every n-th run of this program with this `fetch_list`, since a fetch copies
            and, on another device, waits. The other runs return None for each entry. A profile
            counts the fetches as events ``fetch``.

        Returns
        -------
        list of numpy.ndarray or list of Variable
            One for each entry of ``fetch_list``; for an array of a program a list of its elements,
            with None where nothing was written.

        Raises
        ------
        ValueError
            A feed is unknown or has another shape than its variable declares, or a feed of the
            program's own feed operators is missing.
        TypeError
            A feed is of another element type than its variable declares.
        EOFError
            (``core.EOFException``) A reader of the program has given its last batch.
        RuntimeError
            A variable that is read has no value: it was not fed, or the startup program has not
            run. A reader of the program was not made in this scope, or not started.
        Exception
            The error of a reader's generator.
        """
        if self._closed:
            raise PreconditionNotMetError(
                "Executor.run: the executor must be open, but close() was called. Make another one"
            )
        program = default_main_program() if program is None else program
        compiled = None
        if isinstance(program, CompiledProgram):
            compiled, program = program, program.program
        if not isinstance(program, Program):
            raise ArgumentTypeError(f"Executor.run takes a static.Program, got {kind_of(program)}")
        if program.transpiled is not None:
            _check_alone(program)
        scope = global_scope() if scope is None else scope
        if not isinstance(scope, Scope):
            raise ArgumentTypeError(f"scope must be a static.Scope, got {kind_of(scope)}")
        feed = {} if feed is None else feed
        if not isinstance(feed, dict):
            feed = _by_name(feed, program)
        for name, value in feed.items():
            if type(value) is not np.ndarray or type(name) is not str:
                _check_fed(name, value)
        if fetch_list is not None and not isinstance(fetch_list, (list, tuple)):
            fetch_list = [fetch_list]
        names = None if fetch_list is None else tuple([name_of(item) for item in fetch_list])
        skipped = 0
        if fetch_every != 1 and names:
            skipped = self._skipped(program, names, fetch_every)
            names = () if skipped else names
        plan = self._prepare(program, scope, frozenset(feed), names, bool(use_prune), compiled)
        values = [feed[name] for name in plan.feeds]
        for i, value in enumerate(values):
            if type(value) is not np.ndarray:
                values[i] = _fed(value, plan.feeds[i], program)
        if plan.reads is not None:
            plan.reads.make(scope)
            values += plan.reads.values(scope)
        for name, schedule in plan.schedules:
            set_rate(scope.find_var(name), schedule.get_lr())
        results = plan.program.run(values)
        if plan.schedules:
            for schedule in dict.fromkeys([schedule for _, schedule in plan.schedules]):
                schedule()  # advances one of Fluid's schedules per step
        if True in map(_core.is_empty, results):
            raise _unwritten(program, names, results)
        if skipped:
            return [None] * skipped
        if not results or not _core.watch.switches() & _core.watch.EVENTS:
            return [_given(value, return_numpy) for value in results]
        with RecordEvent("fetch"):
            return [_given(value, return_numpy) for value in results]

    def _skipped(self, program, names, every):
        """The number of fetches that are left out this time: 0 in every n-th run."""
        every = check.integer(every, "Executor.run: fetch_every", 1)
        self._runs[program.version, names] += 1
        return 0 if self._runs[program.version, names] % every == 0 else len(names)

    def close(self):
        """Drop the prepared programs. A closed executor runs no more programs.

        A trainer tells its parameter servers that it has ended; they end with the last one.
        """
        link = sys.modules.get("dygraph.static.transpiler.link")
        if link is not None:
            link.close()
        self._prepared.clear()
        self._closed = True

    def _prepare(self, program, scope, fed, fetches, prune, compiled):
        how = None if compiled is None else compiled.key()
        key = (program.version, program.random_seed, scope, fed, fetches, prune, how)
        plan = self._prepared.get(key)
        if plan is None and remote.listens(program):
            from dygraph.static.transpiler.serving import Server

            server = Server(program, scope, self.place, self._files)
            plan = self._prepared[key] = _Plan(server, [], None, [])
        elif plan is None:
            for name, parameter in program.held.items():
                if scope.find_var(name) is None:
                    variable = scope.var(name)
                    (variable.share if program.shares else variable.set)(parameter)
            declared = program.desc.feed_names
            missing = [name for name in declared if name not in fed]
            if missing:
                raise InvalidArgumentError(
                    f"Executor.run: the program must be fed {declared}, "
                    f"but feed has no {missing[0]!r}"
                )
            reads = reading.split(program, fed, self.place)
            desc = program.desc if reads is None else reads.desc
            if remote.talks(program):
                from dygraph.static.transpiler.calls import with_calls

                desc = with_calls(desc)
            order = declared + sorted(fed.difference(declared))
            wanted = program.desc.fetch_names if fetches is None else list(fetches)
            every = order if reads is None else order + reads.outputs
            if prune:
                desc = _core.apply_pass(desc, "prune", {"feeds": every, "fetches": wanted})
            # Passes tell variables apart by their names.
            if compiled is not None and not scope.has_aliases(_persistable(program)):
                desc = compiled.optimized(desc, wanted)
            prepared = _core.PreparedProgram(desc, scope, every, wanted, self.place, self._files)
            prepared.set_seed(program.random_seed)
            if compiled is not None:
                compiled.arrange(prepared)
            schedules = _schedules_in(program, desc)
            plan = self._prepared[key] = _Plan(prepared, order, reads, schedules)
            while len(self._prepared) > self._KEPT:
                self._prepared.popitem(last=False)
        else:
            self._prepared.move_to_end(key)
        return plan


def _check_alone(program):
    """PreconditionNotMetError for a program that a transpiler took, in a job of many ranks."""
    from dygraph.distributed.job import asked_size

    if asked_size() > 1:
        raise PreconditionNotMetError(
            "Executor.run: this program was given to DistributeTranspiler, which leaves it as it "
            "is, where Fluid changes it: each rank of the job would train alone. Run "
            "transpiler.get_trainer_startup_program() and get_trainer_program(), or a server's "
            "programs; a clone() of this one runs in one process"
        )


def _persistable(program):
    return [v.name for v in program.list_vars() if v.persistable]


def _schedules_in(program, desc):
    """The schedules whose rates are read in a run."""
    if not program.schedules:
        return []
    ops = Program(desc).global_block().ops
    used = {name for op in ops for name in op.input_arg_names}
    return [(name, schedule) for name, schedule in program.schedules.items() if name in used]


def _given(value, as_numpy):
    """A fetched value as the caller wants it."""
    if _core.value_kind(value) == "TensorArray":
        return [
            None if shape is None
            else _given(_core.ops.read_from_array(value, to_variable([k])), as_numpy)
            for k, shape in enumerate(_core.array_shapes(value))
        ]  # fmt: skip
    return value.numpy() if as_numpy else value


def _unwritten(program, names, results):
    """The error of a fetched variable that holds nothing."""
    i = [_core.is_empty(value) for value in results].index(True)
    name = program.desc.fetch_names[i] if names is None else names[i]
    return PreconditionNotMetError(
        f"Executor.run: '{name}', which is fetched, must hold a value, but nothing has been "
        f"written to it. {_reason(program, name)}"
    )


def _reason(program, name):
    """Why a variable may be empty after a run."""
    for op in program.global_block().core.writers(name):
        if program.num_blocks > 1 and op.role & OpRole.Backward:
            lines = op.attr("op_callstack") if op.has_attr("op_callstack") else []
            made = lines[-1] if lines else "an unknown line"
            return (
                f"No gradient came to {op.type}, made at {made}, since the blocks that compute it "
                f"did not run; an eager Variable has none there, either"
            )
    return "Run the startup program first, in the same scope"
