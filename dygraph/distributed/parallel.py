"""`DataParallel`: one layer on many ranks, each with its part of the batch; Fluid's names."""

import contextlib
import os
import typing

from dygraph import _core
from dygraph.core import check
from dygraph.distributed.comm import Comm
from dygraph.distributed.compared import compare_names
from dygraph.distributed.job import asked_size, init, world
from dygraph.distributed.reducer import Reducer, broadcast_all
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    PreconditionNotMetError,
    UnimplementedError,
    kind_of,
)
from dygraph.inspect.shown import Shown
from dygraph.nn.layer import Layer

__all__ = ["DataParallel", "ParallelEnv", "ParallelStrategy", "prepare_context"]


def _count(name, default, least=0):
    text = os.environ.get(name, str(default))
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise InvalidArgumentError(
            f"ParallelEnv: {name} must be an integer of at least {least}, got '{text}'"
        )
    return value


def _launched_rank(size):
    """The rank that a launcher gave this process; where it gives the size alone, MPI says it."""
    if size == 1:
        return 0
    names = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "RANK")
    found = (os.environ.get(name, "") for name in names)
    given = next((int(text) for text in found if text.isdecimal()), None)
    return init().rank if given is None else given


class ParallelEnv(Shown):
    """The environment variables of the process launcher.

    Attributes
    ----------
    nranks : int
        The number of processes that the launcher was asked for: ``PADDLE_TRAINERS_NUM``, or what
        MPI's launchers set; default 1.
    local_rank : int
        The rank among them: ``PADDLE_TRAINER_ID``, or what MPI's launchers set; 0.
    dev_id : int
        ``FLAGS_selected_gpus``, 0.
    current_endpoint : str
        ``PADDLE_CURRENT_ENDPOINT``, empty.
    trainer_endpoints : list of str
        ``PADDLE_TRAINER_ENDPOINTS``, separated by commas; empty.

    Examples
    --------
    >>> import dygraph
    >>> env = dygraph.ParallelEnv()
    >>> env.nranks, env.local_rank
    (1, 0)
    """

    def __init__(self):
        self.nranks = _count("PADDLE_TRAINERS_NUM", asked_size(), 1)
        given = "PADDLE_TRAINER_ID" in os.environ
        self.local_rank = _count("PADDLE_TRAINER_ID", 0 if given else _launched_rank(asked_size()))
        if self.local_rank >= self.nranks:
            raise InvalidArgumentError(
                f"ParallelEnv: PADDLE_TRAINER_ID must be below PADDLE_TRAINERS_NUM {self.nranks}, "
                f"got {self.local_rank}"
            )
        self.dev_id = _count("FLAGS_selected_gpus", 0)
        self.current_endpoint = os.environ.get("PADDLE_CURRENT_ENDPOINT", "")
        endpoints = os.environ.get("PADDLE_TRAINER_ENDPOINTS", "")
        self.trainer_endpoints = [e.strip() for e in endpoints.split(",") if e.strip()]


class ParallelStrategy(Shown):
    """The number of processes and the rank of this one; see `prepare_context`.

    >>> import dygraph
    >>> strategy = dygraph.distributed.ParallelStrategy()
    >>> strategy.nranks, strategy.local_rank
    (1, 0)
    """

    def __init__(self):
        self.nranks = 1
        self.local_rank = 0
        self.trainer_endpoints = []
        self.current_endpoint = ""


def _checked(strategy, size, owner):
    if not isinstance(strategy, ParallelStrategy):
        raise ArgumentTypeError(
            f"{owner}: strategy must be what prepare_context() gives, got {kind_of(strategy)}"
        )
    given = check.integer(strategy.nranks, f"{owner}: strategy.nranks", 1)
    if given != size:
        raise PreconditionNotMetError(
            f"{owner}: strategy.nranks must be the number of processes of the job, {size}, got "
            f"{given}. Start the job by python -m dygraph.distributed.run -n {given} train.py"
        )
    return strategy


def prepare_context(strategy=None):
    """The strategy for `DataParallel`: as given, or from the environment. It begins the job.

    Parameters
    ----------
    strategy : ParallelStrategy, optional
        None: that of the environment.

    Returns
    -------
    ParallelStrategy
        For `DataParallel`.

    Raises
    ------
    PreconditionNotMetError
        The job has another number of processes than the strategy says.

    Examples
    --------
    >>> import dygraph
    >>> strategy = dygraph.prepare_context()
    >>> net = dygraph.DataParallel(dygraph.nn.Linear(3, 2), strategy)
    >>> net(dygraph.ones([4, 3])).shape
    (4, 2)
    """
    comm = init()
    if strategy is None:
        env, strategy = ParallelEnv(), ParallelStrategy()
        strategy.nranks, strategy.local_rank = env.nranks, comm.rank
        strategy.trainer_endpoints = env.trainer_endpoints
        strategy.current_endpoint = env.current_endpoint
    return _checked(strategy, comm.size, "prepare_context")


class Options(typing.NamedTuple):
    """What a `Reducer` is asked for."""

    first_bytes: int
    bucket_bytes: int
    broadcast_buffers: bool
    compression: str | None
    check_every: int


# torch's arguments that mean nothing here, and what they must be.
_TORCHS = {
    "device_ids": "Parameters are where the layer was made",
    "output_device": "Results are where the layer computes",
    "dim": "Each rank loads its part of the batch: dygraph.io.DistributedSampler",
    "process_group": "Write comm=dygraph.distributed.init().split(color)",
    "mixed_precision": "Write compression='bfloat16'",
    "delay_all_reduce_named_params": "Leave it out",
    "param_to_hook_all_reduce": "Leave it out",
    "device_mesh": "Write comm=dygraph.distributed.init().split(color)",
}
_MEBIBYTE = 1 << 20


class DataParallel(Layer):
    """A layer on all ranks of a job: each computes a part of the batch, gradients are averaged.

    After ``backward()`` the gradient of each parameter is the mean over the ranks, equal in all
    bits on all of them: with parts of equal size and a loss that is a mean, it is the gradient of
    the whole batch. Gradients are collected in buckets, in reverse order of the parameters, and a
    full bucket is summed by a thread of its own while backward goes on.

    Construction compares names, types and shapes of the parameters between the ranks and gives all
    of them the values of rank 0. With one rank it is the layer itself.

    Parameters
    ----------
    layers : Layer
    strategy : ParallelStrategy, optional
        A result of `prepare_context`; None: that of the job.
    comm : Comm, optional
        The ranks; None: all of the job. DataParallel uses a duplicate.
    bucket_cap_mb, first_bucket_mb : float
        Sizes of the buckets and of the first one, in MiB: smaller ones begin earlier, larger ones
        cost less.
    broadcast_buffers : bool
        Buffers, such as running means, become those of rank 0 at the end of each backward pass.
        False: each rank keeps its own.
    compression : {None, "bfloat16"}
        Send float32 gradients in half the bytes: each is rounded to 8 bits of mantissa before and
        after the sum.
    check_every : int
        Compare the values of all parameters between the ranks at every `check_every`-th
        forward call that is recorded, as `compare` does; 0: never.
    find_unused_parameters, gradient_as_bucket_view, static_graph, init_sync : bool
        torch's, without effect: a parameter that a rank leaves out always counts as zero there,
        and one that all leave out keeps ``grad`` None; gradients always are views of buckets,
        which later steps do not change; ``init_sync`` must be True.
    **torchs
        torch's other arguments: None, or they raise and say what to write here.

    Raises
    ------
    InvalidArgumentError
        The ranks have different parameters; it names the first one.
    UnimplementedError
        In backward with ``create_graph=True``, and in a traced or compiled step.

    Notes
    -----
    A sparse gradient is gathered: the result has the rows of all ranks. Every rank calls backward
    equally often. A step on gradients of one rank raises.

    Examples
    --------
    >>> import dygraph
    >>> model = dygraph.DataParallel(dygraph.nn.Linear(2, 1))
    >>> sgd = dygraph.optimizer.SGD(0.1, model.parameters())
    >>> model(dygraph.ones([3, 2])).mean().backward()
    >>> sgd.step()
    >>> sorted(model.state_dict())
    ['bias', 'weight']
    """

    def __init__(
        self, layers, strategy=None, *, comm=None, bucket_cap_mb=25.0, first_bucket_mb=1.0,
        broadcast_buffers=True, compression=None, check_every=0, find_unused_parameters=True,
        gradient_as_bucket_view=True, static_graph=False, init_sync=True, **torchs,
    ):  # fmt: skip
        super().__init__()
        if not isinstance(layers, Layer):
            raise ArgumentTypeError(f"DataParallel: layers must be a Layer, got {kind_of(layers)}")
        _refuse(torchs)
        for name, flag in (
            ("broadcast_buffers", broadcast_buffers), ("static_graph", static_graph),
            ("find_unused_parameters", find_unused_parameters),
            ("gradient_as_bucket_view", gradient_as_bucket_view), ("init_sync", init_sync),
        ):  # fmt: skip
            if flag not in (True, False, None):
                raise ArgumentTypeError(
                    f"DataParallel: {name} must be True or False, got {kind_of(flag)}"
                )
        if not init_sync:
            raise UnimplementedError(
                "DataParallel: init_sync must be True, since ranks train the same values"
            )
        if comm is None:
            comm = world()
        elif not isinstance(comm, Comm):
            raise ArgumentTypeError(f"DataParallel: comm must be a Comm, got {kind_of(comm)}")
        if compression is not None:
            check.choice(compression, ("bfloat16",), "DataParallel: compression")
        options = Options(
            _bytes(first_bucket_mb, "first_bucket_mb"), _bytes(bucket_cap_mb, "bucket_cap_mb"),
            bool(broadcast_buffers), compression,
            check.integer(check_every, "DataParallel: check_every", 0),
        )  # fmt: skip
        if strategy is not None:
            _checked(strategy, comm.size, "DataParallel")
        self._layers = layers
        self._comm_size = comm.size
        self._reducer = None
        if comm.size > 1:
            if comm.backend != "mpi":
                raise UnimplementedError(
                    "DataParallel: gradients are summed in host memory, over backend 'mpi', got "
                    f"'{comm.backend}'. Write comm=dygraph.distributed.init('mpi')"
                )
            named = [*layers.named_parameters(), *layers.named_buffers()]
            compare_names(comm, named, "DataParallel")
            for name, value in named:
                if not str(value.place).startswith("CPU"):
                    raise UnimplementedError(
                        f"DataParallel: parameters must be in host memory, got '{name}' on "
                        f"{value.place}"
                    )
            own = comm.duplicate()
            broadcast_all(own, [value for _, value in named])
            self._reducer = Reducer(own, layers, options)

    @property
    def module(self):
        """The layer inside, by torch's name."""
        return self._layers

    def forward(self, *inputs, **kwargs):
        if self._reducer is not None:
            _check_eager(inputs)
            self._reducer.before_forward()
        return self._layers(*inputs, **kwargs)

    @contextlib.contextmanager
    def no_sync(self):
        """Backward passes inside add to this rank's gradients alone: no call among ranks.

        The next pass outside averages the sum of all. For gradients of several small batches:

        >>> import dygraph
        >>> model = dygraph.DataParallel(dygraph.nn.Linear(2, 1))
        >>> with model.no_sync():
        ...     model(dygraph.ones([3, 2])).mean().backward()
        >>> model(dygraph.ones([3, 2])).mean().backward()
        >>> model.module.bias.grad.item()
        2.0
        """
        if self._reducer is None:
            yield
            return
        self._reducer.deferred += 1
        try:
            yield
        finally:
            self._reducer.deferred -= 1

    def scale_loss(self, loss):
        """Fluid's: the loss divided by the number of ranks.

        A backward pass from it adds to this rank's gradients alone; `apply_collective_grads` then
        *sums* them over the ranks. So Fluid's scripts average once. Without `scale_loss`, backward
        itself averages.
        """
        check.variable(loss, "DataParallel.scale_loss: loss")
        if self._comm_size == 1:
            return loss
        scaled = loss / self._comm_size
        if not scaled.stop_gradient:
            scaled.register_hook(_Scaling(self._reducer))
        return scaled

    def apply_collective_grads(self):
        """Join the gradients that are still this rank's alone, as Fluid's scripts ask.

        After `scale_loss` the sum over the ranks, after `no_sync` the mean. After a plain backward
        there is nothing to do.
        """
        if self._reducer is not None:
            self._reducer.collect()

    def bucket_times(self):
        """Average times of each bucket: a list of `BucketTime`, in the order of sending.

        Empty before the first backward pass, and with one rank.
        """
        return [] if self._reducer is None else self._reducer.times()

    def bucket_table(self):
        """`bucket_times` as text, in milliseconds."""
        lines = [("Bucket", "Bytes", "Rounds", "Waiting ms", "Transfer ms")]
        for t in self.bucket_times():
            lines.append(
                (str(t.bucket), str(t.bytes), str(t.rounds), f"{t.waiting * 1e3:.3f}",
                 f"{t.transfer * 1e3:.3f}")
            )  # fmt: skip
        widths = [max(len(line[i]) for line in lines) for i in range(5)]
        return "\n".join(
            "  ".join(c.rjust(w) for c, w in zip(line, widths, strict=True)) for line in lines
        )

    def register_comm_hook(self, *_, **__):
        """torch's; raises: compression is an argument."""
        raise UnimplementedError(
            "DataParallel has no register_comm_hook. DataParallel(layer, compression='bfloat16') "
            "sends half the bytes"
        )

    def join(self, *_, **__):
        """torch's; raises: ranks make equal numbers of steps."""
        raise UnimplementedError(
            "DataParallel has no join: all ranks make equally many steps. "
            "dygraph.io.DistributedSampler gives them equally many batches"
        )

    def __getstate__(self):
        if self._reducer is not None:
            raise UnimplementedError(
                "DataParallel cannot be copied or pickled, since it belongs to a job. Copy the "
                "layer inside, model.module, or save model.state_dict()"
            )
        return super().__getstate__()

    def state_dict(self, destination=None, include_sublayers=True, structured_name_prefix=""):
        """The state of the wrapped layer, under its own names."""
        return self._layers.state_dict(destination, include_sublayers, structured_name_prefix)

    def set_state_dict(
        self, stat_dict, include_sublayers=True, use_structured_name=True, strict=True,
        from_torch=None,
    ):  # fmt: skip
        """Set the state of the wrapped layer; see `Layer.set_state_dict`."""
        return self._layers.set_state_dict(
            stat_dict, include_sublayers, use_structured_name, strict, from_torch
        )

    set_dict = set_state_dict
    load_dict = set_state_dict


class _Scaling:
    """The hook of a scaled loss: it fires before those of the parameters."""

    def __init__(self, reducer):
        self._reducer = reducer

    def __call__(self, gradient):
        self._reducer.scaling = True


def _bytes(mebibytes, name):
    size = check.number(mebibytes, f"DataParallel: {name}", 0)
    return int(size * _MEBIBYTE)


def _refuse(torchs):
    for name, value in torchs.items():
        if name not in _TORCHS:
            raise ArgumentTypeError(f"DataParallel: there is no argument {name}")
        if value is not None:
            raise UnimplementedError(
                f"DataParallel: {name} is torch's and must be None, got {kind_of(value)}. "
                f"{_TORCHS[name]}"
            )


def _check_eager(inputs):
    for value in inputs:
        if isinstance(value, _core.Variable) and hasattr(type(value), "block"):
            raise UnimplementedError(
                "DataParallel: a program has no calls among ranks here, got a variable of a "
                "program. Describe the layer inside; static's DistributeTranspiler joins programs"
            )
