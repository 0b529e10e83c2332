"""`Comm`: a group of processes that exchange values."""

import collections
import functools
import zlib

import numpy as np

from dygraph import _core
from dygraph.autograd.recording import no_grad
from dygraph.core import check
from dygraph.distributed import ending, packets
from dygraph.distributed.works import Limit, Work, wait_for
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    PreconditionNotMetError,
    kind_of,
)
from dygraph.inspect.shown import Shown

__all__ = ["Comm", "Message"]

OPS = ("sum", "mean", "prod", "max", "min")


class Message(Shown):
    """A message that waits, as `Comm.probe` finds it: its sender and tag.

    >>> import dygraph
    >>> comm = dygraph.distributed.init("local")
    >>> comm.send(1.5, to=0, tag=7)
    >>> comm.probe().tag
    7
    >>> comm.recv(0, 7).item()
    1.5
    """

    def __init__(self, source, tag):
        self.source, self.tag = source, tag


class Comm(Shown):
    """A group of processes ("ranks") that exchange Variables, NumPy arrays and selected rows.

    `dygraph.distributed.init` makes the group of all processes of a job. Every rank makes the same
    collective calls (``all_reduce``, ``broadcast``, ``all_gather``, ``reduce_scatter``,
    ``barrier``) in the same order. Before data move the ranks compare call, type and shape; a
    difference raises on every rank. One thread at a time uses a Comm; `duplicate` gives another
    thread its own.

    Attributes
    ----------
    rank : int
        The number of this process, in [0, size).
    size : int
        The number of processes.
    backend : str
        "local", "mpi" or "nccl".

    Examples
    --------
    >>> import dygraph
    >>> comm = dygraph.distributed.init("local")
    >>> comm.rank, comm.size, comm.all_reduce(dygraph.ones([2])).tolist()
    (0, 1, [1.0, 1.0])
    """

    def __init__(self, transport, timeout=None):
        self._transport, self._timeout = transport, Limit(timeout, transport)
        self._turns = collections.deque()  # calls whose data do not move yet, in order
        self.rank, self.size, self.backend = transport.rank, transport.size, transport.name

    def __repr__(self):
        return f"Comm(backend='{self.backend}', rank={self.rank}, size={self.size})"

    def __deepcopy__(self, memo):
        return self  # a copy of a layer or an optimizer belongs to the same ranks

    @property
    def unfinished(self):
        """The number of calls that have begun here and that other ranks have not made yet."""
        return len(self._turns)

    # Collective calls

    def all_reduce(self, value, op="sum", *, wait=True):
        """Combine the values of all ranks, element by element, in place.

        ``out[i] = sum over ranks of value[i]``; "mean" divides by the number of ranks. All ranks
        get the same bits, and the same ones in every run of equal size.

        Parameters
        ----------
        value : Variable or numpy.ndarray
            Equal type and shape on all ranks; a writable row-major array. Its values are replaced.
            Selected rows are gathered: the result holds the rows of rank 0, then of rank 1, ...;
            equal rows add, as always ("sum" and "mean" alone).
        op : {"sum", "mean", "prod", "max", "min"}
        wait : bool
            False: return a `Work` at once; its ``wait()`` gives the result. Do not touch the value
            before.

        Returns
        -------
        Variable, numpy.ndarray or Work
            The value itself.

        Raises
        ------
        InvalidArgumentError
            Ranks differ in call, type or shape.
        PreconditionNotMetError
            The value is the result of recorded calls, whose gradient would be wrong.

        Examples
        --------
        >>> import dygraph
        >>> comm = dygraph.distributed.init("local")
        >>> comm.all_reduce(dygraph.to_variable([1.0, 2.0]), "mean").tolist()
        [1.0, 2.0]
        """
        check.choice(op, OPS, "all_reduce: op")
        if self._transport.on_device(value):
            return self._on_device("all_reduce", value, op, wait=wait)
        packet = self._writable(value, "all_reduce")
        if packet.kind == packets.ROWS:
            return self._reduce_rows(value, packet, op, wait)
        _check_arithmetic(packet, op)
        # An array is reduced where it is, a Variable in memory of its own: others may share it.
        buffer = packet.array if packet.kind == packets.ARRAY else _copy(packet)
        work = self._start(
            packet.signature(f"all_reduce({op})"),
            lambda: self._transport.start_reduce(buffer, "sum" if op == "mean" else op),
            lambda: self._reduced(value, packet, buffer, op),
        )
        return work.wait() if wait else work

    def _reduced(self, value, packet, buffer, op):
        if op == "mean":
            _divide(buffer, self.size)
        return _put(value, packet, buffer)

    def _reduce_rows(self, value, packet, op, wait):
        if op not in ("sum", "mean"):
            raise InvalidArgumentError(
                f"all_reduce: op of selected rows must be sum or mean, got {op}"
            )
        if not wait:
            raise InvalidArgumentError(
                "all_reduce: selected rows must be combined with wait=True: each rank first learns "
                "the numbers of rows"
            )
        rows, values, _ = self._gather_rows(packet, f"all_reduce({op})")
        if op == "mean":
            _divide(values, self.size)
        _core.become(
            value, packets.value_of(packets.ROWS, packet.dtype, values, rows, packet.height)
        )
        return value

    def _gather_rows(self, packet, name):
        self._agree(packet.signature(name))
        counts = self._counts(len(packet.rows))
        rows = self._transport.gather(packet.rows, counts)
        width = int(np.prod(packet.array.shape[1:], dtype="int64"))
        flat = self._transport.gather(packet.array.reshape(-1), [n * width for n in counts])
        return rows, flat.reshape(len(rows), *packet.array.shape[1:]), counts

    def broadcast(self, value, root=0):
        """Replace the value of every rank by that of rank `root`, in place.

        Parameters
        ----------
        value : Variable or numpy.ndarray
            Equal type and shape on all ranks.
        root : int

        Returns
        -------
        Variable or numpy.ndarray
            The value itself.

        Examples
        --------
        >>> import dygraph
        >>> dygraph.distributed.init("local").broadcast(dygraph.ones([2])).tolist()
        [1.0, 1.0]
        """
        root = check.integer(root, "broadcast: root", 0, self.size - 1)
        if self._transport.on_device(value):
            return self._on_device("broadcast", value, root)
        packet = self._writable(value, "broadcast", also=self.rank == root)
        if packet.kind == packets.ROWS:
            raise ArgumentTypeError(
                "broadcast: the value must be a tensor or an array, got selected rows. "
                "Give value.to_dense()"
            )
        buffer = packet.array
        if self.rank != root and packet.kind == packets.VARIABLE:
            buffer = np.empty_like(packet.array)
        self._agree(packet.signature(f"broadcast(root={root})"))
        self._transport.broadcast(buffer, root)
        return value if self.rank == root else _put(value, packet, buffer)

    def all_gather(self, value):
        """The values of all ranks, whose first sizes may differ.

        Parameters
        ----------
        value : Variable, numpy.ndarray or number
            Equal type and shape on all ranks, but for the size of axis 0.

        Returns
        -------
        list
            The value of rank 0, of rank 1, ...

        Examples
        --------
        >>> import dygraph
        >>> dygraph.distributed.init("local").all_gather(dygraph.ones([2]))[0].tolist()
        [1.0, 1.0]
        """
        if self._transport.on_device(value):
            return self._on_device("all_gather", value)
        packet = packets.closed(value, "all_gather")
        if packet.kind == packets.ROWS:
            rows, values, counts = self._gather_rows(packet, "all_gather")
            ends = np.cumsum(counts)
            return [
                packets.value_of(packets.ROWS, packet.dtype, v, r, packet.height)
                for r, v in zip(np.split(rows, ends[:-1]), np.split(values, ends[:-1]), strict=True)
            ]
        shape = packet.array.shape
        self._agree(
            f"all_gather of {packet.dtype} with axes {len(shape)}, rows of {list(shape[1:])}"
        )
        sizes = self._counts(shape[0]) if shape else [1] * self.size
        width = int(np.prod(shape[1:], dtype="int64"))
        flat = self._transport.gather(packet.array.reshape(-1), [n * width for n in sizes])
        parts = np.split(flat, np.cumsum([n * width for n in sizes])[:-1])
        return [
            packets.value_of(
                packet.kind, packet.dtype, part.reshape((n, *shape[1:]) if shape else ())
            )
            for n, part in zip(sizes, parts, strict=True)
        ]

    def reduce_scatter(self, value, op="sum"):
        """Combine the values of all ranks and give each rank its part of the rows.

        Parameters
        ----------
        value : Variable or numpy.ndarray
            Equal type and shape on all ranks; the size of axis 0 is a multiple of the number of
            ranks.
        op : {"sum", "mean", "prod", "max", "min"}

        Returns
        -------
        Variable or numpy.ndarray
            ``shape[0] / size`` rows: rank 0 gets the first ones.

        Examples
        --------
        >>> import dygraph
        >>> dygraph.distributed.init("local").reduce_scatter(dygraph.ones([2])).tolist()
        [1.0, 1.0]
        """
        check.choice(op, OPS, "reduce_scatter: op")
        device = self._transport.on_device(value)
        packet = None if device else packets.closed(value, "reduce_scatter")
        shape = value.shape if device else packet.array.shape
        rows = not device and packet.kind == packets.ROWS
        if rows or not shape or shape[0] % self.size:
            given = "selected rows" if rows else f"shape {list(shape)}"
            raise InvalidArgumentError(
                "reduce_scatter: the value must be a tensor whose axis 0 the number of ranks "
                f"({self.size}) divides, got {given}"
            )
        if device:
            return self._on_device("reduce_scatter", value, op)
        _check_arithmetic(packet, op)
        self._agree(packet.signature(f"reduce_scatter({op})"))
        part = np.empty((shape[0] // self.size, *shape[1:]), packet.array.dtype)
        self._transport.reduce_scatter(packet.array, part, "sum" if op == "mean" else op)
        if op == "mean":
            _divide(part, self.size)
        return packets.value_of(packet.kind, packet.dtype, part)

    def barrier(self):
        """Wait until every rank has made this call."""
        self._agree("barrier")

    # Messages

    def send(self, value, to, tag=0, *, wait=True):
        """Send a value to one rank, which calls `recv`.

        Parameters
        ----------
        value : Variable, numpy.ndarray or number
        to : int
            The rank; this one's own too.
        tag : int
            In [0, 32767]: what the receiver may ask for.
        wait : bool
            False: return a `Work`; do not write to an array before its ``wait()``.

        Examples
        --------
        >>> import dygraph
        >>> comm = dygraph.distributed.init("local")
        >>> comm.send(dygraph.ones([2]), to=0)
        >>> comm.recv(0).tolist()
        [1.0, 1.0]
        """
        to = check.integer(to, "send: to", 0, self.size - 1)
        tag = check.integer(tag, "send: tag", 0, 32767)
        if self._transport.on_device(value):
            ready = self._transport.device_send(value, to, tag)
            work = Work(ready, lambda: None, f"send to rank {to}, tag {tag}", self._timeout)
            return work.wait() if wait else work
        packet = packets.closed(value, "send")
        parts = [packets.header(packet)]
        if packet.rows is not None:
            parts.append(packet.rows)
        parts.append(np.ascontiguousarray(packets.bits(packet)))
        ready = self._transport.start_send(parts, to, tag)
        work = Work(ready, lambda: None, f"send to rank {to}, tag {tag}", self._timeout)
        return work.wait() if wait else work

    def recv(self, source=None, tag=None):
        """Wait for a value that another rank sends to this one.

        Parameters
        ----------
        source, tag : int, optional
            None: of any rank, with any tag.

        Returns
        -------
        Variable or numpy.ndarray
            Of the kind that was sent; a number comes as an array of shape ().

        Raises
        ------
        FormatError
            What arrives was not sent by `send`.
        """
        self._check_source(source, tag, "recv")
        what = f"recv(source={source}, tag={tag})"
        found = wait_for(lambda: self._transport.match(source, tag), what, self._timeout)
        return self._transport.receive(found)

    def probe(self, source=None, tag=None):
        """The next message that `recv` with these arguments would receive, or None; no wait.

        Returns
        -------
        Message or None
        """
        self._check_source(source, tag, "probe")
        found = self._transport.probe(source, tag)
        return None if found is None else Message(*found)

    def _check_source(self, source, tag, name):
        if isinstance(source, (_core.Variable, np.ndarray)):
            raise ArgumentTypeError(
                f"{name}: source must be a rank or None, got a {kind_of(source)}. "
                "The value is the result: x = comm.recv(source)"
            )
        if source is not None:
            check.integer(source, f"{name}: source", 0, self.size - 1)
        if tag is not None:
            check.integer(tag, f"{name}: tag", 0, 32767)

    # The group

    def duplicate(self):
        """Another Comm of the same ranks, whose calls and messages are its own. Collective.

        >>> import dygraph
        >>> dygraph.distributed.init("local").duplicate().size
        1
        """
        self._agree("duplicate")
        return Comm(self._transport.duplicate(), self._timeout.seconds)

    def split(self, color, key=None):
        """The Comm of the ranks that give the same `color`, in the order of `key`. Collective.

        Parameters
        ----------
        color : int
            At least 0.
        key : int, optional
            None: the order of this Comm's ranks.

        >>> import dygraph
        >>> dygraph.distributed.init("local").split(color=0).size
        1
        """
        color = check.integer(color, "split: color", 0)
        key = self.rank if key is None else check.integer(key, "split: key")
        self._agree("split")
        return Comm(self._transport.split(color, key), self._timeout.seconds)

    def shrink(self):
        """The Comm of the ranks that are alive, after a `RankLostError`. Collective among them.

        Ranks are numbered anew in the old order; this Comm is of no more use. If it is the one of
        `init`, the new one takes its place: ``world()`` gives it. Ranks may be one step apart,
        since a call can finish on some of them: broadcast the state of the one that is ahead.

        Raises
        ------
        UnimplementedError
            The MPI has no ULFM. Open MPI 5 has, if ``run --elastic`` starts the job.

        >>> import dygraph
        >>> dygraph.distributed.init("local").shrink().size
        1
        """
        made = Comm(self._transport.shrink(), self._timeout.seconds)
        ending.replace(self, made)
        return made

    def abort(self, text, code=1):
        """End all processes of the job at once, with a text on this rank's standard error."""
        self._transport.abort(text, code)

    # Inside

    def _on_device(self, call, value, *arguments, wait=True):
        """A call on an array that the transport carries from device to device."""
        given = ", ".join(map(str, arguments))
        self._agree(f"{call}({given}) of {value.dtype} {list(value.shape)} on the device")
        result = getattr(self._transport, f"device_{call}")(value, *arguments)
        return result if wait else Work(lambda: True, lambda: result, call, self._timeout)

    def _writable(self, value, name, also=False):
        if isinstance(value, _core.Variable):
            if value.grad_fn is not None and not also:
                raise PreconditionNotMetError(
                    f"{name}: the value must not be a result of recorded calls, since it is "
                    f"replaced, got {value.grad_fn}. Give value.detach().clone()"
                )
        elif not isinstance(value, np.ndarray) or not (
            value.flags.c_contiguous and value.flags.writeable
        ):
            raise ArgumentTypeError(
                f"{name}: the value must be a Variable or a writable row-major NumPy array, since "
                f"the result is written into it, got {kind_of(value)}"
            )
        return packets.closed(value, name)

    def _start(self, signature, start, finish):
        return Work(self._take_turn(signature, start), finish, signature, self._timeout)

    def _agree(self, signature):
        """Wait until all ranks make this call and the data of all earlier ones move."""
        wait_for(self._take_turn(signature, lambda: _at_once), signature, self._timeout)

    def _take_turn(self, signature, start):
        """A function that says whether a call is done: `start` runs once all ranks have come.

        Data move in the order of the calls, in whatever order a rank waits for them.
        """
        turn = _Turn(signature, start, self._transport)
        self._turns.append(turn)

        def ready():
            while turn.ready is None:
                if not self._turns[0].agreed():
                    return False
                self._begin(self._turns.popleft())
            return turn.ready()

        return ready

    def _begin(self, turn):
        try:
            if turn.differs():
                self._disagree(turn.signature)
            turn.ready = turn.start()
        except Exception as error:  # raised where its own result is asked for
            turn.ready = functools.partial(_raise, error)

    def _disagree(self, signature):
        text = np.frombuffer(signature.encode(), "uint8")
        counts = self._counts(len(text))
        joined = self._transport.gather(text, counts)
        parts = np.split(joined, np.cumsum(counts)[:-1])
        lines = [f"rank {i}: {part.tobytes().decode()}" for i, part in enumerate(parts)]
        raise InvalidArgumentError(
            "all ranks must make the same call with equal types and shapes, got\n  "
            + "\n  ".join(lines)
        )

    def _counts(self, count):
        """The numbers that the ranks give, a list of int."""
        own = np.array([count], "int64")
        return self._transport.gather(own, [1] * self.size).tolist()


class _Turn:
    """A call that waits for the other ranks: `agreed` once all have sent what they call."""

    def __init__(self, signature, start, transport):
        number = zlib.crc32(signature.encode())
        self._pair = np.array([number, -number], "int64")
        self.signature, self.start, self.ready = signature, start, None
        self.agreed = transport.start_agreeing(self._pair)

    def differs(self):
        return self._pair[0] != -self._pair[1]


def _at_once():
    return True


def _raise(error):
    raise error


def _check_arithmetic(packet, op):
    dtype = packet.dtype
    refused = (
        dtype == "bool"
        or (op == "mean" and not dtype.startswith(("float", "bfloat", "complex")))
        or (op in ("max", "min") and dtype.startswith("complex"))
    )
    if refused:
        raise InvalidArgumentError(
            f"{op} over ranks must have numbers that it is defined for, got {dtype}. "
            "Cast first: value.astype('float32')"
        )


def _copy(packet):
    return np.array(packet.array, copy=True, order="C")


def _divide(array, count):
    np.divide(array, array.dtype.type(count), out=array)


def _put(value, packet, buffer):
    if packet.kind == packets.VARIABLE:
        with no_grad():
            _core.become(value, packets.variable_of(buffer, packet.dtype))
    return value
