"""A parameter server: the loop of ``listen_and_serv``."""

import collections
import pathlib

from dygraph import _core, ops, to_variable
from dygraph.core import files
from dygraph.errors import DygraphError, InvalidArgumentError
from dygraph.inspect.shown import Shown
from dygraph.static.program import Program
from dygraph.static.remote import LISTEN, talks
from dygraph.static.transpiler import link
from dygraph.static.transpiler.calls import with_calls
from dygraph.static.transpiler.parts import TRAINER

__all__ = ["Server"]

_COUNTER = "@LR_DECAY_COUNTER@"


class _Refused(Exception):
    """A request that a server does not accept."""


def _listening(program):
    """The operator of a server's program."""
    (*others, listen) = program.global_block().ops
    if others or listen.type != LISTEN:
        raise InvalidArgumentError(
            f"Executor.run: {LISTEN} must be the only operator of block 0, got "
            f"{[op.type for op in (*others, listen)]}"
        )
    return listen


class Server(Shown):
    """Serves until all trainers have ended.

    In synchronous mode a step is: the gradients of all trainers arrive, each trainer sends a
    barrier, the blocks run, then requests of parameters are answered. A trainer that has sent its
    barrier waits; the others may still read the last step's parameters. In asynchronous mode a
    gradient runs its block when it arrives.
    """

    def __init__(self, program, scope, place, directory=None):
        listen = _listening(program)
        self._scope, self._place, self._directory = scope, place, directory
        self._number = int(listen.attr("pserver_id"))
        self._endpoint, self._trainers = listen.attr("endpoint"), int(listen.attr("Fanin"))
        self._sync = int(listen.attr("distributed_mode")) == 0
        self._rates = int(listen.attr("lr_decay_block_id"))
        self._vars = {v.name: v for v in program.global_block().vars.values()}
        self._blocks = {i: self._prepared(program, i) for i in listen.attr("optimize_blocks")}
        named = listen.attr("grad_to_block_id")
        by_grad = dict(item.rsplit(":", 1) for item in named)
        self._accepted = self._senders(program, {g: int(i) for g, i in by_grad.items()})
        self._tables = {}
        if listen.has_attr("prefetch_var_name_to_block_id"):
            for item in listen.attr("prefetch_var_name_to_block_id"):
                ids, number = item.rsplit(":", 1)
                rows = program.block(int(number)).ops[0].output("Out")[0]
                self._tables[ids] = self._prepared(program, int(number), [ids], [rows])
        self.steps = 0

    def _prepared(self, program, number, feeds=(), fetches=()):
        """A block as a program, whose variables outlive the run."""
        part = Program()
        part.random_seed = program.random_seed
        block = part.global_block()
        for outer in reversed(program.visible_blocks(program.block(number))[1:]):
            for var in outer.vars.values():
                desc = var.desc.copy()
                desc.persistable = desc.persistable or var.name not in (*feeds, *fetches)
                block.core.declare(desc, "", type(var))
        block.extend(program.block(number))
        desc = with_calls(part.desc) if talks(part) else part.desc
        prepared = _core.PreparedProgram(
            desc, self._scope, list(feeds), list(fetches), self._place, None
        )
        prepared.set_seed(program.random_seed)
        return prepared

    def _senders(self, program, by_grad):
        """{what trainers send: the block that reads it}."""
        accepted = {}
        for grad, number in by_grad.items():
            first = program.block(number).ops[0]
            merged = first.type == "sum" and first.output("Out") == [grad]
            for name in first.input("X") if merged else [grad]:
                accepted[name] = number
        return accepted

    # The loop

    def run(self, values):
        """Serve; the results of the run, none."""
        del values
        self.begin(link.link_of(server=self._endpoint, trainers=self._trainers))
        while len(self._ended) < self._trainers:
            rank, fields, value = self._link.next_request()
            try:
                self._take(rank, fields, value)
            except (_Refused, DygraphError) as error:
                self._refuse(rank, fields, str(error))
        link.close()
        return []

    def begin(self, link):
        """Take requests of a link from now on."""
        self._link = link
        self._numbers = {rank: number for number, rank in self._link.trainers.items()}
        self._given = {number: set() for number in self._numbers.values()}
        self._barriers, self._ended = set(), set()
        self._later = collections.deque()  # requests that wait for the end of a step
        if not self._sync and self._rates > 0:
            self._blocks[self._rates].run([])

    def _take(self, rank, fields, value):
        do, name = fields.get("do"), fields.get("name")
        trainer = self._numbers.get(rank)
        if trainer is None or do not in _REQUESTS or not isinstance(name, str):
            raise _Refused(f"a request must be one of {', '.join(_REQUESTS)}, got {fields}")
        if do in _ANSWERED and do != "complete" and trainer in self._barriers:
            self._later.append((rank, fields, value))
            return
        getattr(self, f"_{do}")(rank, trainer, name, value)

    def _refuse(self, rank, fields, text):
        """Tell a trainer what is wrong when it asks for something, and end."""
        while fields.get("do") not in _ANSWERED:
            other, fields, _ = self._link.next_request()
            fields = fields if other == rank else {}
        self._link.give(rank, error=text)
        self._link.finish()
        raise InvalidArgumentError(
            f"the server {self._endpoint} got from trainer {self._numbers.get(rank)}: {text}"
        ) from None

    # Requests

    def _send(self, rank, trainer, name, value):
        if name == _COUNTER and not self._sync and self._rates > 0:
            self._blocks[self._rates].run([])
            return
        owner = TRAINER.search(name)
        if name not in self._accepted or (owner and int(owner[1]) != trainer):
            mine = [n for n in self._accepted if _owner(n) in (None, trainer)]
            raise _Refused(f"a gradient must be one of {', '.join(mine)}, got '{name}'")
        if self._sync and (trainer in self._barriers or name in self._given[trainer]):
            raise _Refused(f"'{name}' must be sent once in a step, before the barrier")
        self._check(name, value)
        self._scope.var(name).set(value)
        self._given[trainer].add(name)
        if not self._sync:
            self._blocks[self._accepted[name]].run([])

    def _check(self, name, value):
        """Compare a gradient with its declaration."""
        var = self._vars[name]
        sparse = isinstance(value, _core.Variable) and _core.is_selected_rows(value)
        if not isinstance(value, _core.Variable) or sparse != (var.type == "SELECTED_ROWS"):
            want = "selected rows" if var.type == "SELECTED_ROWS" else "a tensor"
            raise _Refused(f"'{name}' must be {want}")
        shape = list(value.shape)
        if sparse:
            shape[0] = value.height()
        if shape != list(var.shape) or str(value.dtype) != str(var.dtype):
            raise _Refused(
                f"'{name}' must be {var.dtype} {list(var.shape)}, got {value.dtype} {shape}"
            )

    def _send_barrier(self, rank, trainer, name, value):
        expected = {n for n in self._accepted if _owner(n) in (None, trainer)}
        missing = sorted(expected - self._given[trainer])
        if missing or not self._sync:
            raise _Refused(
                f"all gradients must be sent before the barrier, but not {missing}"
                if missing
                else "barriers are for synchronous training; transpile with sync_mode=True"
            )
        self._barriers.add(trainer)
        self._check_ended(trainer)
        if len(self._barriers) == self._trainers:
            self._step()

    def _check_ended(self, trainer):
        if self._ended:
            raise _Refused(
                f"all trainers must make the same number of steps, but trainer "
                f"{min(self._ended)} ended after step {self.steps}, and trainer {trainer} makes "
                "another one"
            )

    def _step(self):
        for block in self._blocks.values():
            block.run([])
        self.steps += 1
        self._barriers.clear()
        for given in self._given.values():
            given.clear()
        later, self._later = self._later, collections.deque()
        for rank, fields, value in later:
            self._take(rank, fields, value)

    def _get(self, rank, trainer, name, value):
        var = self._vars.get(name)
        held = self._scope.find_var(name) if var is not None and var.persistable else None
        if held is None or held.is_empty():
            raise _Refused(
                f"'{name}' must be a parameter of this server with a value, of "
                f"{', '.join(sorted(n for n, v in self._vars.items() if v.persistable))}. Run the "
                "server's startup program before"
            )
        self._link.give(rank, held.get())

    def _prefetch(self, rank, trainer, name, value):
        if not isinstance(value, _core.Variable) or str(value.dtype) != "int64":
            raise _Refused(f"the row numbers for '{name}' must be int64")
        if name in self._tables:
            (rows,) = self._tables[name].run([value])
        else:
            var = self._vars.get(name)
            held = self._scope.find_var(name) if var is not None and var.persistable else None
            if held is None or held.is_empty():
                raise _Refused(f"'{name}' must be a table of this server")
            table, numbers = held.get(), value.numpy()
            if numbers.size and not (0 <= numbers.min() and numbers.max() < table.shape[0]):
                raise _Refused(f"row numbers of '{name}' must be in [0, {table.shape[0]})")
            rows = ops.gather(table, to_variable(numbers.reshape(-1)))
        self._link.give(rank, rows)

    def _fetch_barrier(self, rank, trainer, name, value):
        self._link.give(rank)

    def _checkpoint(self, rank, trainer, name, value):
        inside = pathlib.PurePath(name)
        if self._directory is None or inside.is_absolute() or ".." in inside.parts:
            raise _Refused(
                "a server saves inside the directory that Executor(files=...) names, got "
                f"'{name}' and files={self._directory!r}"
            )
        values = {
            var.name: [self._scope.find_var(var.name).get()]
            for var in self._vars.values()
            if var.persistable
        }
        folder = pathlib.Path(self._directory, inside, f"pserver_{self._number}")
        files.write_together(str(folder), values)
        self._link.give(rank)

    def _complete(self, rank, trainer, name, value):
        self._ended.add(trainer)
        self._link.give(rank)
        waiting = self._barriers - self._ended
        if waiting:
            other = min(waiting)
            rank = self._link.trainers[other]
            text = (
                f"all trainers must make the same number of steps, but trainer {trainer} ended "
                f"after step {self.steps}, and trainer {other} makes another one"
            )
            asked = next((f for r, f, _ in self._later if r == rank), {})
            self._refuse(rank, asked, text)


_ANSWERED = ("get", "prefetch", "fetch_barrier", "checkpoint", "complete")
_REQUESTS = ("send", "send_barrier", "get", "prefetch", "fetch_barrier", "checkpoint", "complete")


def _owner(name):
    found = TRAINER.search(name)
    return int(found[1]) if found else None
