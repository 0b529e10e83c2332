"""What a user asks of the transpiler, and how parts of parameters are given to servers."""

import zlib

from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, UnimplementedError, kind_of
from dygraph.inspect.shown import Shown

__all__ = ["DistributeTranspilerConfig", "HashName", "RoundRobin"]

_MODES = ("pserver", "nccl2", "collective")
_COLLECTIVE_MODES = ("grad_allreduce", "local_sgd")
# Fluid's fields that are accepted at their values here alone.
_ALONE = {
    "enable_dc_asgd": (False, "gradients that arrive late are applied as they are"),
    "half_async": (False, "sync_mode is True or False"),
    "completely_not_async": (False, "sync_mode is True or False"),
    "geo_sgd_mode": (False, "collective_mode = 'local_sgd' exchanges parameters"),
    "use_hierarchical_allreduce": (False, "MPI chooses how it adds"),
    "nccl_comm_num": (1, "there is one communicator"),
}


class _Dispatcher(Shown):
    def __init__(self, pserver_endpoints):
        if isinstance(pserver_endpoints, str) or not all(
            isinstance(e, str) for e in pserver_endpoints
        ):
            raise ArgumentTypeError(
                f"{type(self).__name__}: pserver_endpoints must be a list of names, got "
                f"{kind_of(pserver_endpoints)}"
            )
        self.eps = list(pserver_endpoints)
        if not self.eps:
            raise InvalidArgumentError(
                f"{type(self).__name__}: pserver_endpoints must name a server, got none"
            )
        self.reset()

    def reset(self):
        """Begin again at the first server."""
        self._next = 0


class RoundRobin(_Dispatcher):
    """Gives each part to the next server, and after the last one to the first.

    Parameters
    ----------
    pserver_endpoints : list of str

    Examples
    --------
    >>> from dygraph import static
    >>> block = static.Program().global_block()
    >>> parts = [block.create_var(name=n, shape=[2], dtype="float32") for n in "abc"]
    >>> static.transpiler.RoundRobin(["s:1", "s:2"]).dispatch(parts)
    ['s:1', 's:2', 's:1']
    """

    def dispatch(self, varlist):
        """The server of each variable."""
        chosen = [self.eps[(self._next + i) % len(self.eps)] for i in range(len(varlist))]
        self._next = (self._next + len(varlist)) % len(self.eps)
        return chosen


class HashName(_Dispatcher):
    """Gives each part to the server that the CRC-32 of its name selects.

    Fluid takes Python's ``hash``, which differs from process to process; trainers and servers would
    disagree.

    Parameters
    ----------
    pserver_endpoints : list of str

    Examples
    --------
    >>> from dygraph import static
    >>> block = static.Program().global_block()
    >>> part = block.create_var(name="w.block0", shape=[2], dtype="float32")
    >>> static.transpiler.HashName(["s:1", "s:2"]).dispatch([part])
    ['s:1']
    """

    def dispatch(self, varlist):
        """The server of each variable."""
        return [self.eps[zlib.crc32(v.name.encode()) % len(self.eps)] for v in varlist]


class DistributeTranspilerConfig(Shown):
    """Settings of `DistributeTranspiler`.

    Attributes
    ----------
    mode : {"pserver", "collective", "nccl2"}
        Parameter servers, or programs whose ranks add their gradients; "nccl2" means the same as
        "collective" here.
    slice_var_up : bool
        Whether large parameters are divided among the servers, by rows.
    min_block_size : int
        The least number of elements of a part, 8192.
    split_method : type, optional
        `RoundRobin` (None means it) or `HashName`.
    sync_mode : bool
        Whether servers wait for the gradients of all trainers. `transpile` has an argument of this
        name; both must be True for synchronous training.
    runtime_split_send_recv : bool
        Asynchronous training alone: ``send`` and ``recv`` divide and join the parts themselves,
        without operators for it.
    wait_port : bool
        Fluid's; not used: trainers wait for servers in their first exchange.
    collective_mode : {None, "grad_allreduce", "local_sgd"}
        None: "grad_allreduce".

    Raises
    ------
    InvalidArgumentError
        Another value is set.
    UnimplementedError
        A field of Fluid is set to what is not done here: ``enable_dc_asgd``, ``half_async``,
        ``geo_sgd_mode``, ...

    Examples
    --------
    >>> from dygraph import static
    >>> config = static.DistributeTranspilerConfig()
    >>> config.min_block_size = 1024
    >>> config.mode, config.split_method.__name__
    ('pserver', 'RoundRobin')
    """

    def __init__(self):
        values = {name: value for name, (value, _) in _ALONE.items()}
        values |= {
            "mode": "pserver", "slice_var_up": True, "min_block_size": 8192,
            "split_method": RoundRobin, "sync_mode": True, "runtime_split_send_recv": False,
            "wait_port": True, "print_log": False, "collective_mode": None,
            "geo_sgd_need_push_nums": 100, "hierarchical_allreduce_inter_nranks": 0,
        }  # fmt: skip
        self.__dict__.update(values)

    def __repr__(self):
        return f"DistributeTranspilerConfig(mode='{self.mode}', sync_mode={self.sync_mode})"

    def __setattr__(self, name, value):
        what = f"DistributeTranspilerConfig: {name}"
        if name not in self.__dict__:
            raise InvalidArgumentError(
                f"{what} must be one of the fields {', '.join(sorted(self.__dict__))}"
            )
        if name in _ALONE and value != _ALONE[name][0]:
            alone, why = _ALONE[name]
            raise UnimplementedError(f"{what} must be {alone}: {why}, got {value!r}")
        if name == "mode":
            check.choice(value, _MODES, what)
        elif name == "collective_mode" and value is not None:
            check.choice(value, _COLLECTIVE_MODES, what)
        elif name == "min_block_size":
            value = check.integer(value, what, 1)
        elif name == "split_method":
            value = RoundRobin if value is None else value
            if not (isinstance(value, type) and issubclass(value, _Dispatcher)):
                raise ArgumentTypeError(
                    f"{what} must be RoundRobin or HashName, the class itself, got {kind_of(value)}"
                )
        elif name in ("sync_mode", "runtime_split_send_recv", "slice_var_up"):
            if not isinstance(value, bool):
                raise ArgumentTypeError(f"{what} must be True or False, got {value!r}")
            both = {**self.__dict__, name: value}
            if both["sync_mode"] and both["runtime_split_send_recv"]:
                raise InvalidArgumentError(
                    f"{what}: parts can be divided by send and recv in asynchronous training "
                    "alone. Set config.sync_mode = False first"
                )
        self.__dict__[name] = value
