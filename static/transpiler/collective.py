"""Programs for ranks without servers: all add their gradients, or average their parameters."""

from dygraph.core import check
from dygraph.errors import InvalidArgumentError, PreconditionNotMetError
from dygraph.inspect.shown import Shown
from dygraph.static.codes import OpRole
from dygraph.static.transpiler.editing import declared, described, place_after

__all__ = ["GradAllReduce", "LocalSGD"]


class _Collective(Shown):
    def __init__(self, nrings=1):
        self.nrings = check.integer(nrings, f"{type(self).__name__}: nrings", 1, 1)

    def transpile(
        self, startup_program, main_program, rank, endpoints, current_endpoint, wait_port=True
    ):
        """New programs for a rank.

        Parameters
        ----------
        startup_program, main_program : Program
            Stay as they are, where Fluid changes them.
        rank : int
        endpoints : list of str
            A name for each rank.
        current_endpoint : str
            The name of this one.
        wait_port : bool
            Fluid's; not used.

        Returns
        -------
        (Program, Program)
            For the start, and for the steps.
        """
        kind = type(self).__name__
        if endpoints[rank] != current_endpoint:
            raise InvalidArgumentError(
                f"{kind}: current_endpoint must be the name of rank {rank}, '{endpoints[rank]}', "
                f"got {current_endpoint!r}"
            )
        self.endpoints, self.rank, self.nranks = list(endpoints), rank, len(endpoints)
        startup, main = startup_program.clone(), main_program.clone()
        names = [p.name for p in main.all_parameters()]
        self._begin(startup, [n for n in names if startup.global_block().core.has(n)])
        if self.nranks > 1:
            self._edit(startup.global_block(), main.global_block())
        return startup, main

    def _begin(self, startup, names):
        block = startup.global_block()
        unique = "nccl_id_0"
        block.create_var(name=unique, type="RAW", persistable=True)
        rank = {"rank": self.rank, "ring_id": 0}
        for type, inputs, outputs, attrs in (
            ("c_gen_nccl_id", {}, {"Out": [unique]}, {
                **rank, "endpoint": self.endpoints[self.rank],
                "other_endpoints": [e for i, e in enumerate(self.endpoints) if i != self.rank],
            }),
            ("c_comm_init", {"X": [unique]}, {}, {**rank, "nranks": self.nranks}),
        ):  # fmt: skip
            block.put_op(described(block, type, inputs, outputs, attrs, role=OpRole.Forward))
        for name in names:
            _put(block, len(block.ops), "c_broadcast", name, {"ring_id": 0, "root": 0})
        _put(block, len(block.ops), "c_sync_comm_stream", names[0], {"ring_id": 0})


def _put(block, index, type, name, attrs, role=OpRole.Forward, pair=()):
    slots = {"X": [name]}, {"Out": [name]}
    return block.put_op(described(block, type, *slots, attrs, role=role, pair=pair), index)


class GradAllReduce(_Collective):
    """Adds the gradients of all ranks, divided by their number, before the updates.

    Parameters
    ----------
    nrings : int
        1.

    Examples
    --------
    >>> from dygraph import static
    >>> main, startup = static.Program(), static.Program()
    >>> with static.program_guard(main, startup):
    ...     x = static.data("x", [None, 2])
    ...     loss = static.layers.mean(static.layers.fc(x, 1, bias_attr=False))
    ...     _ = static.optimizer.SGD(0.1).minimize(loss)
    >>> kind = static.transpiler.collective.GradAllReduce()
    >>> _, made = kind.transpile(startup, main, 0, ["a:1", "b:1"], "a:1")
    >>> [op.type for op in made.global_block().ops if op.type.startswith("c_")]
    ['c_sync_calc_stream', 'c_allreduce_sum', 'c_sync_comm_stream']
    """

    def _edit(self, startup, block):
        del startup
        self._scale_loss(block)
        pairs = _gradients(block)
        ring = {"ring_id": 0}
        for parameter, grad in pairs:
            index = place_after(block, grad)
            mark = {"role": OpRole.Backward, "pair": [parameter, grad]}
            _put(block, index, "c_sync_calc_stream", grad, {}, **mark)
            _put(
                block,
                index + 1,
                "c_allreduce_sum",
                grad,
                {**ring, "use_calc_stream": False},
                **mark,
            )
        last = max(block.ops.index(op) for op in block.ops if op.type == "c_allreduce_sum")
        first_update = next(
            (i for i, op in enumerate(block.ops) if op.role & OpRole.Optimize), last + 1
        )
        _put(
            block, max(first_update, last + 1), "c_sync_comm_stream", pairs[-1][1], ring,
            role=OpRole.Backward,
        )  # fmt: skip

    def _scale_loss(self, block):
        """The gradient of the loss divided by the number of ranks, so that sums are means."""
        for i, op in reversed(list(enumerate(block.ops))):
            if op.role == OpRole.Backward | OpRole.Loss:
                (grad,) = op.output_arg_names
                made = described(
                    block, "scale", {"X": [grad]}, {"Out": [grad]}, {"scale": 1.0 / self.nranks},
                    role=OpRole.Backward,
                )  # fmt: skip
                block.put_op(made, i + 1)


def _gradients(block):
    """[(parameter, gradient)]: what updates read of the backward pass, in its order."""
    owners, made, read = {}, {}, set()
    for op in block.ops:
        if op.role & OpRole.Optimize:
            read.update(op.input_arg_names)
        elif op.role & OpRole.Backward:
            made |= dict.fromkeys(op.output_arg_names)
            pair = op.attr("op_role_var") if op.has_attr("op_role_var") else []
            owners |= dict(zip(pair[1::2], pair[::2], strict=True))
    found = [(owners.get(name, ""), name) for name in made if name in read]
    if not found:
        raise PreconditionNotMetError(
            "transpile: the program must have gradients that an optimizer reads, got none. Call "
            "minimize(loss) before"
        )
    return found


class LocalSGD(_Collective):
    """Lets each rank update alone, and averages the parameters of all ranks after each step.

    A snapshot keeps what all ranks agreed on; a step adds the mean of what they changed.

    Parameters
    ----------
    nrings : int
        1.

    Examples
    --------
    >>> from dygraph import static
    >>> main, startup = static.Program(), static.Program()
    >>> with static.program_guard(main, startup):
    ...     x = static.data("x", [None, 2])
    ...     loss = static.layers.mean(static.layers.fc(x, 1, bias_attr=False))
    ...     _ = static.optimizer.SGD(0.1).minimize(loss)
    >>> kind = static.transpiler.collective.LocalSGD()
    >>> _, made = kind.transpile(startup, main, 0, ["a:1", "b:1"], "a:1")
    >>> [op.type for op in made.global_block().ops][-5:]
    ['elementwise_sub', 'c_allreduce_sum', 'scale', 'elementwise_sub', 'assign']
    """

    def _edit(self, startup, block):
        _gradients(block)
        trained = [n for op in block.ops if op.role & OpRole.Optimize for n in _updated(op)]
        for name in trained:
            kept = name + "@SNAPSHOT"
            for place in (startup, block):
                declared(place, place.var(name), kept, persistable=True)
            startup.append_op("assign", {"X": name}, {"Out": kept})
        with block.program.marked(OpRole.Optimize):
            for name in trained:
                kept, change = name + "@SNAPSHOT", name + "@CHANGE"
                declared(block, block.var(name), change, persistable=False)
                block.append_op("elementwise_sub", {"X": kept, "Y": name}, {"Out": change})
                _put(
                    block, len(block.ops), "c_allreduce_sum", change,
                    {"ring_id": 0, "use_calc_stream": True}, role=OpRole.Optimize,
                )  # fmt: skip
                share = {"scale": 1.0 / self.nranks}
                block.append_op("scale", {"X": change}, {"Out": change}, share)
                block.append_op("elementwise_sub", {"X": kept, "Y": change}, {"Out": name})
                block.append_op("assign", {"X": name}, {"Out": kept})


def _updated(op):
    return op.outputs.get("ParamOut", [])
