"""The programs of a trainer: gradients go to servers, parameters and rows come back."""

from dygraph.errors import InvalidArgumentError, UnimplementedError
from dygraph.static.codes import OpRole
from dygraph.static.transpiler.editing import declared, described, place_after
from dygraph.static.transpiler.parts import DENSE, LOOKUPS, TABLE

__all__ = ["startup_program", "trainer_program"]

_COUNTER = "@LR_DECAY_COUNTER@"


def trainer_program(division):
    """A copy of the program that sends instead of updating."""
    return _Trainer(division).program


class _Trainer:
    def __init__(self, division):
        self.division = division
        self.program = division.program.clone()
        self.block = self.program.global_block()
        self.orders = {}  # gradient -> the variable that orders what follows its send
        self._drop_updates()
        for trained in division.trained:
            if trained.fetched and trained.kind != TABLE:
                self._ask_for_rows(trained)
            elif trained.kind == TABLE:
                self._prefetch(trained)
        for trained in division.trained:
            self._send(trained)
        count = len(self.block.ops)
        self._exchange()
        # Operators behind the updates see the parameters that have come.
        ops, tail = list(self.block.ops), count - self.tail
        self.block.set_ops([*ops[:tail], *ops[count:], *ops[tail:count]])

    # Helpers

    def _put(self, index, type, inputs, outputs, attrs, **kwargs):
        op = described(self.block, type, inputs, outputs, attrs, **kwargs)
        return self.block.put_op(op, index)

    def _append(self, *args, **kwargs):
        return self._put(len(self.block.ops), *args, **kwargs)

    # Updates

    def _drop_updates(self):
        last = max(i for i, op in enumerate(self.block.ops) if op.role & OpRole.Optimize)
        self.tail = len(self.block.ops) - last - 1
        dropped = {op for op in self.block.ops if op.role & (OpRole.Optimize | OpRole.LRSched)}
        self.tail -= sum(op in dropped for op in self.block.ops[last + 1 :])
        if not self.division.sync:  # the trainer counts its steps
            dropped = {op for op in dropped if not _counts(op)}
        self.block.set_ops([op for op in self.block.ops if op not in dropped])
        used = {n for b in self.program.blocks for op in b.ops for n in _names(op)}
        names = {n for op in dropped for n in _names(op)} - used
        parameters = {p.name for p in self.block.all_parameters()}
        self.block.core.forget_vars({n for n in names - parameters if self.block.core.has(n)})

    # Rows of tables

    def _lookups(self, trained):
        return [
            op for op in self.block.ops if op.type in LOOKUPS and op.input("W") == [trained.name]
        ]

    def _mark_gradients(self, trained, name):
        """The gradients of lookups in a table that this process lacks."""
        for op in self.block.ops:
            if op.type in ("lookup_table_grad", "lookup_table_v2_grad") and (
                op.input("W") == [trained.name]
            ):
                op.set_attr(name, True, "BOOLEAN")

    def _take_out(self, trained):
        """The lookups in a table, removed: (index of the first, ids, results, attributes)."""
        lookups = self._lookups(trained)
        index = self.block.ops.index(lookups[0])
        ids = [op.input("Ids")[0] for op in lookups]
        outs = [op.output("Out")[0] for op in lookups]
        late = [n for op in self.block.ops[index:] for n in op.output_arg_names if n in ids]
        if late:
            raise UnimplementedError(
                f"DistributeTranspiler: all lookups in '{trained.name}' must be possible at the "
                f"first one, since rows are asked for once, but '{late[0]}' is made after it"
            )
        attrs = {
            "padding_idx": [int(op.attr("padding_idx")) for op in lookups],
            "lookup_table_version": lookups[0].type,
        }
        self.block.set_ops([op for op in self.block.ops if op not in set(lookups)])
        return index, ids, outs, attrs

    def _ask_for_rows(self, trained):
        index, ids, outs, attrs = self._take_out(trained)
        attrs |= {
            "table_names": [p.name for p in trained.parts],
            "endpoints": [p.endpoint for p in trained.parts],
            "height_sections": [p.shape[0] for p in trained.parts],
            "trainer_id": self.division.trainer_id,
        }
        self._put(
            index, "distributed_lookup_table", {"Ids": ids, "W": [trained.name]},
            {"Outputs": outs}, attrs, role=OpRole.Forward, kinds=_LONGS,
        )  # fmt: skip
        self._mark_gradients(trained, "remote_prefetch")

    def _prefetch(self, trained):
        index, ids, outs, attrs = self._take_out(trained)
        asked = self.division.prefetch_names(trained, "in")
        given = self.division.prefetch_names(trained, "out")
        for name in asked:
            declared(self.block, self.block.var_recursive(ids[0]), name, [-1, 1])
        for name in given:
            declared(self.block, self.block.var(outs[0]), name, [-1, trained.shape[1]])
        forward = {"role": OpRole.Forward, "kinds": _LONGS}
        self._put(index, "split_ids", {"Ids": ids}, {"Out": asked}, {}, **forward)
        self._put(
            index + 1, "prefetch", {"X": asked}, {"Out": given},
            {"epmap": self.division.endpoints, "trainer_id": self.division.trainer_id}, **forward,
        )  # fmt: skip
        self._put(
            index + 2, "merge_ids", {"Ids": ids, "Rows": asked, "X": given}, {"Out": outs}, attrs,
            **forward,
        )  # fmt: skip
        self._mark_gradients(trained, "is_distributed")

    # Gradients

    def _send(self, trained):
        division = self.division
        names = [division.sent_by(division.trainer_id, trained, p) for p in trained.parts]
        grad, split = trained.grad, division.config.runtime_split_send_recv
        pair, kinds = [trained.name, grad], {}
        attrs = {"epmap": [p.endpoint for p in trained.parts], "trainer_id": division.trainer_id}
        index = place_after(self.block, grad)
        if trained.kind == TABLE:
            for name, part in zip(names, trained.parts, strict=True):
                declared(self.block, self.block.var(grad), name, part.shape)
            op = "split_ids", {"Ids": [grad]}, {"Out": names}, {}
            self._put(index, *op, role=OpRole.Dist)
            index += 1
        elif len(names) == 1:
            if names[0] != grad:
                self.block.rename_var(grad, names[0])
                pair[1] = names[0]
        elif split:
            attrs |= {"sections": [p.shape[0] for p in trained.parts], "send_varnames": names}
            names, kinds = [grad], _LONGS
        else:
            for name, part in zip(names, trained.parts, strict=True):
                declared(self.block, self.block.var(grad), name, part.shape)
            sections = [p.shape[0] for p in trained.parts]
            if trained.kind == DENSE:
                op = "split_byref", {"sections": sections}, {}
            else:
                op = "split_selected_rows", {"height_sections": sections}, _LONGS
            type, sizes, wire = op
            self._put(
                index, type, {"X": [grad]}, {"Out": names}, sizes, role=OpRole.Dist, kinds=wire
            )
            index += 1
        self.orders[trained.name] = order_in(self.block)
        self._put(
            index, "send", {"X": names}, {"Out": [self.orders[trained.name]]}, attrs, pair=pair,
            kinds=kinds,
        )  # fmt: skip

    # What follows the gradients

    def _exchange(self):
        division = self.division
        ends = {"endpoints": division.endpoints, "trainer_id": division.trainer_id}
        if not division.sync and division.rates:
            if not self.block.core.has(_COUNTER):
                raise UnimplementedError(
                    "DistributeTranspiler: asynchronous servers count steps by "
                    f"'{_COUNTER}', which the rates of static.layers have; the rate of this "
                    "program does not read it"
                )
            self._append(
                "send", {"X": [_COUNTER]}, {"Out": [order_in(self.block)]},
                {"epmap": division.endpoints, "trainer_id": division.trainer_id},
                pair=[_COUNTER, _COUNTER],
            )  # fmt: skip
        barrier = None
        if division.sync:
            barrier = order_in(self.block)
            self._append(
                "send_barrier", {"X": list(self.orders.values())}, {"Out": [barrier]},
                {**ends, "half_async": False},
            )  # fmt: skip
        received = []
        for trained in division.trained:
            if not trained.fetched:
                order = barrier or self.orders[trained.name]
                received += receive(self.block, division, trained, [order])
        if division.sync:
            self._append("fetch_barrier", {"X": [barrier]}, {"Out": received}, ends)
        for trained in division.trained:
            if not trained.fetched:
                join(self.block, division, trained)


def _check_draws(startup, trainer, trained):
    """InvalidArgumentError if trainers would draw different values of what no server sends."""
    for op in startup.global_block().ops:
        if not op.has_attr("seed") or op.attr("seed") or startup.random_seed:
            continue
        for name in op.output_arg_names:
            if name not in trained and trainer.core.has(name):
                raise InvalidArgumentError(
                    f"get_trainer_startup_program: '{name}' is not trained, so no server sends it, "
                    f"and {op.type} would draw other values on each trainer. Give its initializer "
                    "a seed, or set random_seed of the startup program"
                )


def order_in(block):
    """A variable without a value, which shows what comes after what."""
    number = 0
    while block.core.has(name := f"@CONTROL_DEPENDENCY@{number}"):
        number += 1
    block.create_var(name=name, stop_gradient=True)
    return name


def receive(block, division, trained, order):
    """Append the operator that takes a parameter from its servers; its outputs."""
    names, attrs = [p.name for p in trained.parts], {}
    if len(names) > 1 and division.config.runtime_split_send_recv:
        attrs, names = {"recv_varnames": names}, [trained.name]
    else:
        for part in trained.parts:
            declared(block, block.var(trained.name), part.name, part.shape, len(names) == 1)
    attrs |= {"epmap": [p.endpoint for p in trained.parts], "trainer_id": division.trainer_id}
    op = described(
        block, "recv", {"X": order}, {"Out": names}, attrs, pair=[trained.name, trained.grad]
    )
    block.put_op(op)
    return names


def join(block, division, trained):
    """Append the operator that joins the parts of a parameter."""
    if len(trained.parts) > 1 and not division.config.runtime_split_send_recv:
        with block.program.marked(OpRole.Dist):
            block.append_op(
                "concat", {"X": [p.name for p in trained.parts]}, {"Out": trained.name}, {"axis": 0}
            )


def startup_program(division, startup):
    """A copy of the startup program that takes the parameters from their servers."""
    made = startup.clone()
    block = made.global_block()
    trainer = trainer_program(division).global_block()
    states = {n for op in division.updates for n in op.input_arg_names if not trainer.core.has(n)}
    if division.sync:
        states |= {n for op in division.rates for n in _names(op) if not trainer.core.has(n)}
    _check_draws(startup, trainer, {t.name for t in division.trained})
    fetched = {t.name: t for t in division.trained if t.fetched}
    kept = [op for op in block.ops if not (states | set(fetched)).intersection(op.output_arg_names)]
    block.set_ops(kept)
    block.core.forget_vars({n for n in states if block.core.has(n)})
    for trained in fetched.values():
        op = described(
            block, "fake_init", {}, {"Out": [trained.name]}, {"shape": list(trained.shape)},
            role=OpRole.Forward, kinds=_LONGS,
        )  # fmt: skip
        block.put_op(op)
    for trained in division.trained:
        if not trained.fetched:
            receive(block, division, trained, [])
    ends = {"endpoints": division.endpoints, "trainer_id": division.trainer_id}
    block.put_op(described(block, "fetch_barrier", {}, {"Out": [order_in(block)]}, ends))
    for trained in division.trained:
        if not trained.fetched:
            join(block, division, trained)
    return made


_LONGS = {name: "LONGS" for name in ("height_sections", "shape", "padding_idx")}


def _names(op):
    return op.input_arg_names + op.output_arg_names


def _counts(op):
    return op.type == "increment" and op.output("Out") == [_COUNTER]
