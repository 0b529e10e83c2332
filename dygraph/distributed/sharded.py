"""Optimizer state divided among ranks: `ShardedOptimizer`."""

import json
import zlib

import numpy as np

from dygraph import _core
from dygraph.autograd.recording import modes, no_grad
from dygraph.core import check
from dygraph.core.sparse import selected_rows
from dygraph.distributed import clip, job, packets
from dygraph.distributed.comm import Comm
from dygraph.errors import (
    ArgumentTypeError,
    FormatError,
    InvalidArgumentError,
    PreconditionNotMetError,
    UnimplementedError,
    kind_of,
)
from dygraph.inspect.shown import Shown
from dygraph.nn import clip as local_clip
from dygraph.nn import loading
from dygraph.optimizer.base import Optimizer
from dygraph.optimizer.descent import Dpsgd
from dygraph.optimizer.parameters import parameters_of

__all__ = ["ShardedOptimizer", "divide"]

_PIECE = 8 << 20  # bytes of a rank's part of one message
_DIFFERENT_GRADIENTS = (
    "the gradients must be equal on all ranks, averaged by DataParallel, got different ones. "
    "Without DataParallel give average_gradients=True"
)
_DIFFERENT_PARAMETERS = (
    "the parameters must be equal on all ranks, got different ones. Make the layer after "
    "dygraph.seed(0), or call comm.broadcast(p) for every parameter p"
)
_OF_ALL = ("LR_Scheduler", "LR")  # what a state holds beside accumulators


def divide(sizes, ranks, loads=None):
    """The rank of each size: the largest first, each to the rank with the least so far.

    Parameters
    ----------
    sizes : list of int
    ranks : int
    loads : list of int, optional
        What the ranks have already; it is brought up to date.

    Returns
    -------
    list of int
        Equal on all ranks.

    Examples
    --------
    >>> from dygraph.distributed.sharded import divide
    >>> divide([1, 5, 2, 3], 2)
    [0, 0, 1, 1]
    """
    loads = [0] * ranks if loads is None else loads
    owners = [0] * len(sizes)
    for i in sorted(range(len(sizes)), key=lambda i: (-sizes[i], i)):
        owners[i] = min(range(ranks), key=lambda rank: (loads[rank], rank))
        loads[owners[i]] += sizes[i]
    return owners


class ShardedOptimizer(Shown):
    """An optimizer whose state is divided among ranks (ZeRO-1, Rajbhandari and others, 2020).

    Each rank keeps the state of some parameters, divided by size, the largest first; it updates
    these and sends their new values to the others in messages of up to 8 MB of each rank. Values
    have the bits of the optimizer itself. A parameter is not divided: the state of one that is
    larger than all others together stays on one rank.

    `step`, `minimize`, `state_dict`, `set_state_dict` and `add_param_group` are collective: all
    ranks call them. Learning rates and schedules work as before, on all ranks alike.

    Parameters
    ----------
    optimizer : Optimizer
        An eager one, before its first step; from now on it belongs to this object.
    comm : Comm, optional
        None: the ranks of `dygraph.distributed.world`.
    average_gradients : bool
        False: gradients are whole and equal on all ranks, averaged by `DataParallel`. True: without
        `DataParallel`; the step averages the gradients of this rank's samples over ranks and gives
        each rank those of its parameters only, which is half of the data. Other gradients are
        cleared.

    Raises
    ------
    PreconditionNotMetError
        The optimizer has a state already; or, in a step, the gradients, with `average_gradients`
        the parameters, are not equal on all ranks, which the steps 1, 2, 4, 8, ... look for.
    UnimplementedError
        For `Dpsgd`, whose random numbers depend on the order of all parameters; in a trace; and
        with `average_gradients` for clipping rules of other libraries.

    Notes
    -----
    ``grad_clip`` of the optimizer sees what it would see undivided: with whole gradients it runs on
    all of them, on each rank. With ``average_gradients`` the norm of `nn.ClipGradByGlobalNorm` is
    that of all ranks' parts (`distributed.ClipGradByGlobalNorm`).

    Examples
    --------
    >>> import dygraph
    >>> net = dygraph.nn.Linear(3, 2)
    >>> adam = dygraph.optimizer.Adam(0.1, parameter_list=net)
    >>> adam = dygraph.distributed.ShardedOptimizer(adam)
    >>> net(dygraph.ones([4, 3])).sum().backward()
    >>> adam.step()
    >>> adam.clear_gradients()
    >>> sorted(adam.state_dict())[:2]
    ['bias.Beta1Pow', 'bias.Beta2Pow']
    """

    def __init__(self, optimizer, comm=None, average_gradients=False):
        name = "ShardedOptimizer"
        if not isinstance(optimizer, Optimizer) or hasattr(optimizer, "backward"):
            raise ArgumentTypeError(
                f"{name}: optimizer must be an eager optimizer such as Adam, got "
                f"{kind_of(optimizer)}. Lookahead and averages take no part"
            )
        if isinstance(optimizer, Dpsgd):
            raise UnimplementedError(
                f"{name}: Dpsgd is not divided: its noise is drawn in the order of all parameters, "
                "so ranks that each update a part would draw other numbers"
            )
        if comm is not None and not isinstance(comm, Comm):
            raise ArgumentTypeError(f"{name}: comm must be a Comm or None, got {kind_of(comm)}")
        if optimizer._states or optimizer._sharding is not None:
            raise PreconditionNotMetError(
                f"{name}: the optimizer must not have made a step, got one with a state. Divide it "
                "first, then set_state_dict(state)"
            )
        self.optimizer, self.comm = optimizer, comm or job.world()
        self.average_gradients = check.flag(average_gradients, f"{name}: average_gradients")
        self._division = _Division(optimizer, self.comm, self.average_gradients)
        optimizer._sharding = self._division

    def __repr__(self):
        own = len(self._division.numbers[self.comm.rank])
        count = len(self.optimizer._parameters)
        return f"ShardedOptimizer({self.optimizer!r}, {own} of {count} on this rank)"

    def __getattr__(self, name):
        if name.startswith("__") or "optimizer" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.optimizer, name)

    def step(self):
        """Update this rank's parameters, and take the other ranks' new values. Collective."""
        self.optimizer.step()

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """`Optimizer.minimize`, with a divided step. Collective."""
        return self.optimizer.minimize(loss, startup_program, parameter_list, no_grad_set)

    def clear_gradients(self):
        """Clear the gradients of all parameters."""
        self.optimizer.clear_gradients()

    clear_gradient = clear_grad = clear_gradients

    def zero_grad(self, set_to_none=True):
        """`clear_gradients`, by torch's name."""
        self.optimizer.clear_gradients()

    def get_lr(self):
        """The learning rate of the next step."""
        return self.optimizer.get_lr()

    def set_lr(self, value):
        """Set another learning rate; call it on all ranks."""
        self.optimizer.set_lr(value)

    @property
    def learning_rate(self):
        """The result of `get_lr`; assigning a number calls `set_lr`."""
        return self.optimizer.get_lr()

    @learning_rate.setter
    def learning_rate(self, value):
        self.optimizer.set_lr(value)

    def owner_of(self, parameter):
        """The rank that updates a parameter.

        Parameters
        ----------
        parameter : Parameter

        Returns
        -------
        int
        """
        for rank, numbers in enumerate(self._division.numbers):
            if any(self.optimizer._parameters[i] is parameter for i in numbers):
                return rank
        raise InvalidArgumentError(
            "ShardedOptimizer.owner_of: the parameter must be one of the optimizer, got "
            f"{getattr(parameter, 'name', None) or kind_of(parameter)}"
        )

    def add_param_group(self, param_group):
        """Add parameters, which go to the ranks with the least state. Collective.

        Parameters
        ----------
        param_group : dict or list
            A group as in the optimizer's `parameter_list`, or parameters.
        """
        optimizer = self.optimizer
        groups = [param_group] if isinstance(param_group, dict) else param_group
        kind, rate = type(optimizer).__name__, optimizer._learning_rate
        new = parameters_of(groups, kind, rate=rate)
        known = {*map(id, optimizer._parameters)}
        for p in new.parameters:
            if id(p) in known:
                raise InvalidArgumentError(
                    f"{kind}: a parameter must be given once, got {p.name or 'one'} again"
                )
        for group in new.groups.values():
            optimizer._check_decay(group.weight_decay)
        self._division.add(new.parameters)
        optimizer._parameters.extend(new.parameters)
        optimizer._waiting.extend(new.parameters)
        optimizer._names.update(new.names)
        optimizer._groups.update(new.groups)

    # State ----------------------------------------------------------------------------------------

    def local_state_dict(self):
        """The part of `state_dict` that this rank keeps; not collective."""
        return self.optimizer.state_dict()

    def part_of(self, state):
        """The entries of a whole state that this rank keeps.

        Parameters
        ----------
        state : dict

        Returns
        -------
        dict
        """
        others = {name for name, p in self.optimizer._named() if not self._division.owns(p)}
        return {k: v for k, v in state.items() if str(k).rpartition(".")[0] not in others}

    def state_dict(self):
        """The whole state, collected from all ranks, as the optimizer itself gives it. Collective.

        Every rank gets it, so it must have room for it; `distributed.checkpoint` does not collect.
        """
        own = self.optimizer.state_dict()
        every = _collected({k: v for k, v in own.items() if k not in _OF_ALL}, self.comm)
        names = [name for name, _ in self.optimizer._named()]
        places = {name: i for i, name in enumerate(names)}
        order = sorted(every, key=lambda key: places[key.rpartition(".")[0]])
        return {
            **{key: own.get(key, every[key]) for key in order},
            **{k: v for k, v in own.items() if k in _OF_ALL},
        }

    def set_state_dict(self, stat_dict):
        """Restore a whole `state_dict`, of a divided optimizer or not; this rank keeps its part.

        Raises
        ------
        InvalidArgumentError
            Lists missing and mismatched names; no value has been written.
        """
        kind = type(self.optimizer).__name__
        if not hasattr(stat_dict, "keys"):
            raise ArgumentTypeError(f"{kind}: the state must be a dict, got {kind_of(stat_dict)}")
        by_owner = {}
        for key in stat_dict:
            by_owner.setdefault(str(key).rpartition(".")[0], []).append(key)
        given = dict(stat_dict)
        for name, p in self.optimizer._named():
            keys = by_owner.get(name, ())
            if keys and not self._division.owns(p):
                part = {key: given.pop(key) for key in keys}
                state = self.optimizer.make_state(p)  # for its names and shapes
                report = loading.compare({f"{name}.{s}": v for s, v in state.items()}, part)
                if report:
                    loading.refuse(kind, report, "")
        self.optimizer.set_state_dict(given)

    set_dict = load_state_dict = set_state_dict


class _Division:
    """Which rank updates which parameter of an optimizer, and what ranks exchange in a step."""

    def __init__(self, optimizer, comm, average):
        self.optimizer, self.comm, self.average = optimizer, comm, average
        self.loads = [0] * comm.size
        self.numbers = [[] for _ in range(comm.size)]  # of each rank's parameters
        self.count, self.own, self.places = 0, set(), {}
        self.buffer, self.steps = np.empty(0, "uint8"), 0
        self._norms = average and self._divided_norms()
        self.add(optimizer._parameters)

    def __deepcopy__(self, memo):
        raise PreconditionNotMetError(
            "ShardedOptimizer: a divided optimizer must not be copied, got copy.deepcopy. Make a "
            "new one and give it the state_dict()"
        )

    def __getstate__(self):
        return self.__deepcopy__(None)

    def add(self, parameters):
        if self.average and self.comm.size > 1:
            for p in parameters:
                _check_own_rule(getattr(p, "gradient_clip", None), p.name)
        sizes = [p.size * packets.item_bytes(str(p.dtype)) for p in parameters]
        owners = divide(sizes, self.comm.size, self.loads)
        for p, owner in zip(parameters, owners, strict=True):
            self.numbers[owner].append(self.count)
            self.places[id(p)] = self.count
            self.count += 1
            if owner == self.comm.rank:
                self.own.add(id(p))

    def _divided_norms(self):
        """Give the optimizer a norm over ranks where it has one over its gradients."""
        rule = self.optimizer._grad_clip
        if self.comm.size == 1 or rule is None:
            return
        if type(rule) is local_clip.ClipGradByGlobalNorm:
            norm = clip.ClipGradByGlobalNorm(
                rule.clip_norm, rule.group_name, rule.need_clip, self.comm
            )
            self.optimizer._grad_clip = norm.numbered(self.places)
        elif not isinstance(rule, (local_clip.ClipGradByNorm, local_clip.ClipGradByValue)):
            raise UnimplementedError(
                "ShardedOptimizer: with average_gradients the grad_clip must be a rule of "
                f"dygraph.nn, since ranks have parts of the gradients, got {kind_of(rule)}"
            )

    def joined(self, arrays):
        """Arrays of bytes one after another, in memory that the next call uses again."""
        size = sum(map(len, arrays))
        if len(self.buffer) < size:
            self.buffer = np.empty(size, "uint8")
        return np.concatenate(arrays, out=self.buffer[:size])

    def owns(self, parameter):
        return id(parameter) in self.own

    def before_step(self):
        if modes.tracer is not None or _core.recording():
            raise UnimplementedError(
                "ShardedOptimizer.step: a program cannot exchange values with other ranks, got a "
                "step in a traced function. Trace the loss and call step() after it"
            )
        self.steps += 1
        if self.comm.size == 1:
            return
        looks = not self.steps & (self.steps - 1)  # steps 1, 2, 4, 8, ...
        parameters = self.optimizer._parameters
        if looks and self.average:
            _check_equal(self.comm, parameters, _DIFFERENT_PARAMETERS)
        elif looks:
            _check_equal(self.comm, [p.grad for p in parameters], _DIFFERENT_GRADIENTS)
        if self.average:
            _average(self)

    def after_step(self):
        if self.comm.size > 1:
            _exchange(self)

    def rounds(self, numbers_of_ranks):
        """For each message the numbers of parameters that each rank sends."""
        parameters = self.optimizer._parameters
        pieces = []
        for numbers in numbers_of_ranks:
            mine, size = [[]], 0
            for i in numbers:
                nbytes = parameters[i].size * packets.item_bytes(str(parameters[i].dtype))
                if mine[-1] and size + nbytes > _PIECE:
                    mine.append([])
                    size = 0
                mine[-1].append(i)
                size += nbytes
            pieces.append(mine)
        for k in range(max(map(len, pieces))):
            yield [mine[k] if k < len(mine) else [] for mine in pieces]


def _check_own_rule(rule, name):
    if rule is not None and not isinstance(
        rule, (local_clip.ClipGradByNorm, local_clip.ClipGradByValue)
    ) or isinstance(rule, local_clip.ClipGradByGlobalNorm):  # fmt: skip
        raise UnimplementedError(
            "ShardedOptimizer: with average_gradients a parameter's own gradient_clip must be "
            f"ClipGradByNorm or ClipGradByValue, got {kind_of(rule)} for {name}. Give the "
            "optimizer grad_clip=dygraph.nn.ClipGradByGlobalNorm(limit)"
        )


def _check_equal(comm, values, text):
    """Refuse values that ranks must have in common, by some elements of each."""
    number = 0
    for i, value in enumerate(values):
        if value is not None:
            array = packets.closed(value.detach(), "step").array.reshape(-1)
            some = np.ascontiguousarray(array[:: 1 + array.size // 16])
            number = zlib.crc32(some, zlib.crc32(str(i).encode(), number))
    pair = comm.all_reduce(np.array([number, -number], "int64"), "max")
    if pair[0] != -pair[1]:
        raise PreconditionNotMetError(f"ShardedOptimizer.step: {text}")


@no_grad
def _exchange(division):
    """Send the new values of this rank's parameters, and take the others'.

    A message begins with a byte for each parameter: whether it was updated.
    """
    parameters, comm = division.optimizer._parameters, division.comm
    for numbers in division.rounds(division.numbers):
        mine = numbers[comm.rank]
        fresh = np.array([parameters[i].grad is not None for i in mine], "uint8")
        changed = [parameters[i] for i, on in zip(mine, fresh, strict=True) if on]
        parts = comm.all_gather(division.joined([fresh, *map(_bytes_of, changed)]))
        for rank, part in enumerate(parts):
            if rank == comm.rank:
                continue
            count = len(numbers[rank])
            at = count
            for i, on in zip(numbers[rank], part[:count], strict=True):
                if on:
                    at += _take(parameters[i], part, at)


def _bytes_of(variable):
    packet = packets.closed(variable.detach(), "step")
    return np.ascontiguousarray(packets.bits(packet)).reshape(-1).view("uint8")


def _take(parameter, data, at):
    """Set a parameter to the bytes at a position; how many they are."""
    dtype = str(parameter.dtype)
    size = parameter.size * packets.item_bytes(dtype)
    parameter.set_value(packets.from_bytes(data[at : at + size], dtype, parameter.shape))
    return size


@no_grad
def _average(division):
    """Replace the gradients of this rank's samples by those of all, on the rank that needs them."""
    parameters, comm = division.optimizer._parameters, division.comm
    kinds = np.zeros((2, len(parameters)), "uint8")  # dense, sparse
    for i, p in enumerate(parameters):
        if p.grad is not None:
            kinds[int(p.grad.is_selected_rows()), i] = 1
    comm.all_reduce(kinds, "max")
    dense, sparse = kinds[0] == 1, (kinds[1] == 1) & (kinds[0] == 0)
    for i in np.flatnonzero(sparse):
        p = parameters[i]
        rows = p.grad
        if rows is None:
            rows = selected_rows([], p.shape[0], np.zeros((0, *p.shape[1:]), str(p.dtype)))
        comm.all_reduce(rows, "mean")
        p.grad = rows if division.owns(p) else None
    for dtype in sorted({str(parameters[i].dtype) for i in np.flatnonzero(dense)}):
        wanted = [
            [i for i in numbers if dense[i] and str(parameters[i].dtype) == dtype]
            for numbers in division.numbers
        ]
        for numbers in division.rounds(wanted):
            _average_round(parameters, comm, numbers, dtype)


def _average_round(parameters, comm, numbers, dtype):
    sizes = [sum(parameters[i].size for i in part) for part in numbers]
    wide = "float32" if dtype == "bfloat16" else dtype
    matrix = np.empty((comm.size, max(sizes)), wide)
    for row, part in zip(matrix, numbers, strict=True):
        at = 0
        for i in part:
            p = parameters[i]
            grad = 0.0
            if p.grad is not None:
                grad = p.grad.to_dense() if p.grad.is_selected_rows() else p.grad
                grad = packets.closed(grad.detach(), "step").array.reshape(-1)
            row[at : at + p.size] = grad
            at += p.size
            p.grad = None
        row[at:] = 0.0
    own = comm.reduce_scatter(matrix, "mean")[0]
    at = 0
    for i in numbers[comm.rank]:
        p = parameters[i]
        p.grad = packets.variable_of(own[at : at + p.size].reshape(p.shape), dtype)
        at += p.size


def _collected(state, comm):
    """The union of the ranks' dicts of Variables."""
    heads = [[key, str(v.dtype), list(v.shape)] for key, v in state.items()]
    texts = comm.all_gather(np.frombuffer(json.dumps(heads).encode(), "uint8"))
    parts = comm.all_gather(np.concatenate([np.empty(0, "uint8"), *map(_bytes_of, state.values())]))
    result = {}
    for rank, (text, part) in enumerate(zip(texts, parts, strict=True)):
        at = 0
        for key, dtype, shape in json.loads(text.tobytes()):
            size = int(np.prod(shape, dtype="int64")) * packets.item_bytes(dtype)
            array = packets.from_bytes(part[at : at + size], dtype, shape)
            result[key] = packets.variable_of(array.copy(), dtype)
            at += size
        if at != len(part):
            raise FormatError(
                f"ShardedOptimizer.state_dict: rank {rank} must send the {at} bytes that it "
                f"announced, got {len(part)}"
            )
    return result
