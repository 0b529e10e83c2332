"""The mean of gradients over ranks, beside the backward pass that makes them.

A hook on each parameter fires as its gradient is complete, before the leaf adds it to what it has.
So the hook of one parameter puts the gradient of the one before it into its bucket, and the end of
the pass does the last one. A bucket is sent once it is full and all buckets before it are sent:
ranks send in one order, whatever the order of their gradients.
"""

import time
import weakref

import numpy as np

from dygraph import _core
from dygraph.autograd import passes
from dygraph.autograd.recording import modes, no_grad
from dygraph.core.sparse import selected_rows
from dygraph.distributed.buckets import BucketTime, Slot, in_buckets
from dygraph.distributed.compared import compare_names, compare_values
from dygraph.distributed.jobs import Jobs
from dygraph.errors import PreconditionNotMetError, UnimplementedError
from dygraph.inspect.shown import Shown

__all__ = ["Reducer", "broadcast_all"]

_DENSE, _ROWS = 1, 2
_PIECE = 16 << 20  # bytes of one broadcast


class Reducer(Shown):
    """Joins the gradients of a layer's parameters over the ranks of a Comm of its own.

    A *round* makes the gradient of each parameter the mean of what the ranks have accumulated in
    it. It begins with the first gradient of a backward pass and ends with the pass.
    """

    def __init__(self, comm, layer, options):
        self.comm, self.layer, self.options = comm, layer, options
        named = list(layer.named_parameters())
        self.slots = [Slot(name, p) for name, p in named if not p.stop_gradient]
        self.frozen = [(name, p) for name, p in named if p.stop_gradient]
        self.ids = {id(s.parameter) for s in self.slots}
        self.buckets, self.rows, self.complete = None, [], False
        # Gradients are this rank's alone; they came over scale_loss, so they are summed.
        self.local, self.summing = False, False
        self.deferred, self.scaling = 0, False  # inside no_sync; this pass began at scale_loss
        self.expected = False  # a forward call was recorded, and no round followed
        self.opened, self.last, self.next = False, None, 0
        self.step, self.round, self._forwards = 0, 0, 0
        self.has_buffers = options.broadcast_buffers and any(True for _ in layer.named_buffers())
        self.sent_buffers = []
        self.rows_time, self.buffers_time = _Times(), _Times()
        self.jobs = Jobs("dygraph gradients", comm._transport.takes_threads())
        self._handles = []
        self._watch()

    def _watch(self):
        """Hooks that hold the reducer weakly, so that it dies with its layer."""
        me = weakref.ref(self)
        for slot in self.slots:
            self._handles.append(slot.parameter.register_hook(_Ready(me, slot)))
        end, step = _weakly(me, "end_pass"), _weakly(me, "before_step")
        passes.ends.append(end)
        passes.steps.append(step)
        weakref.finalize(self, _leave, self.jobs, self._handles, end, step)

    # A backward pass ------------------------------------------------------------------------------

    def ready(self, slot):
        """The gradient of a parameter is complete, and the leaf is about to add it."""
        self.check_alive()
        if self.deferred or self.scaling:
            self.local, self.summing = True, self.scaling
            return
        if _core.grad_enabled():
            raise UnimplementedError(
                "DataParallel: backward(create_graph=True) makes gradients that depend on this "
                "rank alone, so their mean cannot be differentiated, got it for "
                f"'{slot.name}'. For a penalty on gradients call dygraph.grad(..., "
                "create_graph=True), which leaves parameters alone, then backward() on the loss"
            )
        if modes.tracer is not None:
            raise _traced()
        if not self.opened:
            if self.local and self.summing:
                self._forget_sums()
            self._open()
        if slot.reached:
            raise UnimplementedError(
                f"DataParallel: '{slot.name}' got a second gradient in one backward pass: a "
                "function called backward() inside of it. Put the pass into no_sync() and call "
                "apply_collective_grads() behind it"
            )
        self._take_last()
        slot.reached, self.last = True, slot

    def _forget_sums(self):
        if self._has_gradients():
            raise PreconditionNotMetError(
                "DataParallel: gradients of scale_loss() wait for apply_collective_grads(), got a "
                "backward pass without scale_loss(). Scale every loss or none"
            )
        self.local = self.summing = False

    def _has_gradients(self):
        return any(s.parameter.grad is not None for s in self.slots)

    def _take_last(self):
        slot, self.last = self.last, None
        if slot is None or self.buckets is None or slot.bucket is None:
            return
        self._take(slot)
        # The last bucket is not announced: the end of the pass runs it at once.
        while self.next < len(self.buckets) and not self.buckets[self.next].missing:
            self._send(wake=self.next + 1 < len(self.buckets))

    def _take(self, slot):
        slot.bucket.take(slot, slot.parameter.grad, self._factor())

    def _factor(self):
        return 1.0 if self.summing else 1.0 / self.comm.size

    def _open(self):
        self.opened, self.expected = True, False
        self.round += 1
        self.next = 0
        for slot in self.slots:
            slot.reached = slot.taken = False
        for bucket in self.buckets or ():
            bucket.open()
        if self.has_buffers:
            self._send_buffers()

    def _send(self, wake=True):
        bucket = self.buckets[self.next]
        self.next += 1
        signature = f"gradients, bucket {bucket.number} of {bucket.bytes} bytes, {self._when()}"
        compressed = self.options.compression is not None
        self.jobs.add(lambda: bucket.reduce(self.comm, signature, compressed), wake)

    def _when(self):
        return f"round {self.round} of step {self.step}"

    def end_pass(self, finished):
        self.scaling = False
        if not self.opened:
            return
        if not finished:
            self.jobs.error = self.jobs.error or PreconditionNotMetError(
                "DataParallel: an earlier backward pass failed on this rank, so the ranks wait for "
                "different calls. End the job; a checkpoint restarts it"
            )
            return
        with no_grad():
            self.finish()

    def finish(self):
        """The end of a round: send what this rank lacks, wait for all sums, set the gradients."""
        self._take_last()
        if self.buckets is None:
            self._arrange()
        for bucket in self.buckets:
            for slot in bucket.slots if bucket.missing else ():
                if not slot.taken:
                    self._take(slot)
        while self.next < len(self.buckets):
            self._send(wake=False)
        if self.rows:
            self.jobs.add(self._reduce_rows, wake=False)
        self.jobs.finish()
        for bucket in self.buckets:
            for slot in bucket.slots:
                bucket.give(slot)
        self._take_buffers()
        self.opened = self.local = self.summing = False

    def flush(self):
        """A round without a backward pass: of what each rank has."""
        with no_grad():
            self._open()
            self.finish()

    # The first round ------------------------------------------------------------------------------

    def _arrange(self):
        """After the first pass the ranks agree whose gradients are selected rows."""
        self.jobs.finish()
        kinds = np.array([self._kind(s) == _ROWS for s in self.slots], "int8")
        if len(kinds):
            self.comm.all_reduce(kinds, "max")
        sparse = {
            id(p)
            for sub in self.layer.sublayers()
            if getattr(sub, "_is_sparse", False)
            for p in sub._parameters.values()
        }
        is_rows = [
            bool(k) or id(s.parameter) in sparse for k, s in zip(kinds, self.slots, strict=True)
        ]
        self.rows = [s for s, rows in zip(self.slots, is_rows, strict=True) if rows]
        dense = [s for s, rows in zip(self.slots, is_rows, strict=True) if not rows]
        self.buckets = in_buckets(dense, self.options.first_bytes, self.options.bucket_bytes)

    def _kind(self, slot):
        gradient = slot.parameter.grad
        if gradient is None:
            return 0
        return _ROWS if gradient.is_selected_rows() else _DENSE

    def _reduce_rows(self):
        begin = time.perf_counter_ns()
        kinds = np.zeros((len(self.rows), 3), "int8")
        kinds[np.arange(len(self.rows)), [self._kind(s) for s in self.rows]] = 1
        self.comm.all_reduce(kinds, "max")
        arrived, size = time.perf_counter_ns(), 0
        for slot, (_, dense, sparse) in zip(self.rows, kinds, strict=True):
            if dense or sparse:
                size += self._reduce_slot(slot, bool(dense))
        self.rows_time.note("rows", begin, arrived, size)

    def _reduce_slot(self, slot, dense):
        op = "sum" if self.summing else "mean"
        p, kind = slot.parameter, self._kind(slot)
        if dense:
            if kind == 0:
                total = np.zeros(slot.shape, slot.dtype)
            else:
                g = p.grad.to_dense() if kind == _ROWS else p.grad
                total = g.numpy().copy()
            p.grad = _core.to_variable(self.comm.all_reduce(total, op), None, slot.dtype)
            return total.nbytes
        rows = p.grad
        if rows is None:
            nothing = _core.to_variable(np.zeros((0, *slot.shape[1:]), "float32"), None, slot.dtype)
            rows = selected_rows([], slot.shape[0], nothing)
        p.grad = self.comm.all_reduce(rows, op)
        return p.grad.rows_value().numpy().nbytes

    # Buffers --------------------------------------------------------------------------------------

    def _send_buffers(self):
        self.sent_buffers = buffers = [b for _, b in self.layer.named_buffers()]
        packed = self.packed = np.concatenate([_bytes(b) for b in buffers])
        signature = f"buffers of {packed.nbytes} bytes, {self._when()}"

        def send():
            begin = time.perf_counter_ns()
            self.comm._agree(signature)
            arrived = time.perf_counter_ns()
            self.comm._transport.broadcast(packed, 0)
            self.buffers_time.note("buffers", begin, arrived, packed.nbytes)

        self.jobs.add(send, wake=bool(self.buckets))

    def _take_buffers(self):
        if self.sent_buffers and self.comm.rank:
            _unpack(self.packed, self.sent_buffers)

    # Calls of the user ----------------------------------------------------------------------------

    def check_alive(self):
        if self.jobs.error is not None:
            raise self.jobs.error

    def before_forward(self):
        self.check_alive()
        if not _core.grad_enabled():
            return
        if modes.tracer is not None or _core.recording():
            raise _traced()
        for name, p in self.frozen:
            if not p.stop_gradient:
                raise PreconditionNotMetError(
                    f"DataParallel: '{name}' had stop_gradient = True when DataParallel was made, "
                    "so its gradient is not summed over ranks. Make DataParallel after the change"
                )
        self._forwards += 1
        every = self.options.check_every
        if every and self._forwards % every == 0:
            named = list(self.layer.named_parameters())
            if self.options.broadcast_buffers:
                named += self.layer.named_buffers()
            compare_names(self.comm, named, "DataParallel(check_every)")
            compare_values(self.comm, named, "DataParallel(check_every)")
        if self.layer.training and not self.deferred:
            self.expected = True

    def _check_complete(self):
        """No parameter was made after the hooks, as a layer does that waits for its first input."""
        self.complete = True
        for name, p in self.layer.named_parameters():
            if not p.stop_gradient and id(p) not in self.ids:
                raise PreconditionNotMetError(
                    f"DataParallel: '{name}' was made after DataParallel, so its gradient is not "
                    "summed over ranks. Call the layer once before DataParallel(layer)"
                )

    def before_step(self, optimizer):
        if not self.complete:
            self._check_complete()
        if self.ids.isdisjoint(map(id, optimizer._parameters)):
            return
        self.check_alive()
        if self.local and self._has_gradients():
            raise PreconditionNotMetError(
                "step: gradients of DataParallel are this rank's alone after no_sync() or "
                "scale_loss(). Call backward() once outside of no_sync(), or "
                "apply_collective_grads(), before the step"
            )
        if self.expected:
            self.flush()
        self.step, self.round = self.step + 1, 0

    def collect(self):
        """Join what no_sync or scale_loss left on each rank, or what no pass has reached."""
        self.check_alive()
        if self.local or self.expected:
            self.flush()

    def times(self):
        found = [b.time() for b in self.buckets or ()]
        extra = [("rows", self.rows_time), ("buffers", self.buffers_time)]
        return found + [times.row(name) for name, times in extra if times.rounds]


class _Times:
    def __init__(self):
        self.bytes = self.rounds = 0
        self.waiting = self.transfer = 0.0

    def note(self, name, begin, arrived, size):
        end = time.perf_counter_ns()
        self.rounds, self.bytes = self.rounds + 1, size
        self.waiting += (arrived - begin) / 1e9
        self.transfer += (end - arrived) / 1e9
        if _core.watch.switches() & _core.watch.EVENTS:
            _core.watch.add_event(f"{name}: waiting", begin, arrived - begin)
            _core.watch.add_event(f"{name}: transfer", arrived, end - arrived)

    def row(self, name):
        rounds = max(1, self.rounds)
        return BucketTime(
            name, self.bytes, self.rounds, self.waiting / rounds, self.transfer / rounds
        )


class _Ready:
    """The hook of a parameter."""

    def __init__(self, reducer, slot):
        self._reducer, self._slot = reducer, slot

    def __call__(self, gradient):
        reducer = self._reducer() if modes.passing else None  # grad() fires hooks too
        if reducer is not None:
            reducer.ready(self._slot)


def _weakly(me, name):
    def call(argument):
        reducer = me()
        if reducer is not None:
            getattr(reducer, name)(argument)

    return call


def _leave(jobs, handles, end, step):
    jobs.end()
    passes.ends.remove(end)
    passes.steps.remove(step)
    for handle in handles:
        handle.remove()


def _traced():
    return UnimplementedError(
        "DataParallel: a traced or compiled step has no calls among ranks, so it cannot hold "
        "DataParallel. Decorate the forward() of the layer inside with @dygraph.jit.to_static"
    )


def broadcast_all(comm, variables):
    """Give the values of rank 0 to all ranks, in a few large messages."""
    group, size = [], 0
    for i, variable in enumerate(variables):
        group.append(variable)
        size += 8 * int(np.prod(variable.shape))
        if size >= _PIECE or i + 1 == len(variables):
            packed = np.concatenate([_bytes(v) for v in group])
            comm.broadcast(packed)
            if comm.rank:
                _unpack(packed, group)
            group, size = [], 0


def _bytes(variable):
    return np.ascontiguousarray(variable.numpy()).reshape(-1).view("uint8")


def _unpack(packed, variables):
    begin = 0
    for variable in variables:
        array = variable.numpy()
        end = begin + array.nbytes
        fresh = packed[begin:end].view(array.dtype).reshape(array.shape)
        variable.set_value(_core.to_variable(fresh, None, str(variable.dtype)))
        begin = end
