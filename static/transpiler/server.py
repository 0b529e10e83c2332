"""The programs of a parameter server: the updates of its parts, and their first values."""

from dygraph.errors import InvalidArgumentError, NotFoundError, UnimplementedError
from dygraph.static.codes import OpRole
from dygraph.static.operator import Operator
from dygraph.static.program import Program
from dygraph.static.transpiler.editing import declared, described
from dygraph.static.transpiler.parts import TABLE

__all__ = ["server_program", "server_startup"]

# Operators of a startup program whose results for some rows are those of another shape.
_CONSTANT = "fill_constant"
_RANDOM = ("uniform_random", "gaussian_random", "truncated_gaussian_random")


def own_parts(division, endpoint):
    """The parts that a server holds: [(Trained, Part)]."""
    return [(t, p) for t in division.trained for p in t.parts if p.endpoint == endpoint]


def state_name(division, trained, part, name):
    """What a server calls a state of a part: Fluid's name, unless it holds two of the parameter."""
    same = [p for p in trained.parts if p.endpoint == part.endpoint]
    return name + part.suffix if len(same) > 1 else name


def server_program(division, endpoint):
    """The program of a server: one operator that listens, and the blocks that it runs."""
    return _Server(division, endpoint).program


class _Server:
    def __init__(self, division, endpoint):
        self.division, self.number = division, division.endpoints.index(endpoint)
        self.origin = division.program.global_block()
        self.program = Program()
        self.program.random_seed = division.program.random_seed
        self.block = self.program.global_block()
        self.blocks, self.by_grad, self.sparse, self.prefetches = [], [], [], []
        self.senders = []
        rates = self._rates() if division.rates else -1
        outer = self.program.num_blocks - 1
        for trained, part in own_parts(division, endpoint):
            self._update(trained, part, outer)
        if not self.blocks:
            self.blocks.append(self._inside(outer).idx)
        for trained, part in own_parts(division, endpoint):
            if trained.kind == TABLE:
                self._lookup(trained, part)
        attrs = {
            "optimize_blocks": self.blocks,
            "endpoint": endpoint,
            "pserver_id": self.number,
            "Fanin": division.trainers,
            "distributed_mode": 0 if division.sync else 1,
            "grad_to_block_id": self.by_grad,
            "sparse_grad_to_param": self.sparse,
            "lr_decay_block_id": rates,
            "rpc_get_thread_num": 1,
            "rpc_send_thread_num": 1,
            "rpc_prefetch_thread_num": 1,
        }
        if self.prefetches:
            attrs["prefetch_var_name_to_block_id"] = self.prefetches
        listen = described(
            self.block, "listen_and_serv", {"X": self.senders}, {}, attrs,
            kinds={"optimize_blocks": "BLOCKS"},
        )  # fmt: skip
        self.block.put_op(listen)

    def _inside(self, parent):
        block = self.program.create_block(parent)
        self.program.rollback()
        return block

    def _rates(self):
        """The block of the learning rates, whose variables other blocks read."""
        pruned = self.division.program.clone()
        kept = pruned.global_block()
        kept.set_ops([op for op in kept.ops if op.role & OpRole.LRSched])
        pruned.drop_blocks()
        pruned.forget_unused(weights=True)
        used = {n for op in kept.ops for n in op.input_arg_names + op.output_arg_names}
        for name in sorted(used):
            if kept.core.has(name):
                declared(self.block, kept.var(name))
        block = self._inside(0)
        block.extend_ops(kept)
        self.blocks.append(block.idx)
        return block.idx

    def _update(self, trained, part, outer):
        block = self._inside(outer)
        self.blocks.append(block.idx)
        origin = self.origin
        grad = declared(self.block, origin.var(trained.grad), part.grad, part.shape, False)
        declared(self.block, origin.var(trained.name), part.name, part.shape, True)
        self.by_grad.append(f"{part.grad}:{block.idx}")
        if trained.kind != "dense":
            self.sparse.append(f"{part.grad}:{part.name}")
        if self.division.merges:
            self._merge(block, trained, part, grad)
        else:
            self.senders.append(part.grad)
        names = {trained.name: part.name, trained.grad: part.grad}
        rates = {n for op in self.division.rates for n in op.output_arg_names}
        for op in trained.ops:
            for name in op.input_arg_names + op.output_arg_names:
                var = origin.core.find(name)
                if var is None or name in names or name in rates:
                    continue
                shape = part.shape if tuple(var.shape) == trained.shape else var.shape
                names[name] = name
                if not var.persistable:
                    declared(block, var, name, shape)
                elif name in op.inputs.get("LearningRate", ()):
                    declared(self.block, var)
                else:
                    names[name] = state_name(self.division, trained, part, name)
                    declared(self.block, var, names[name], shape)
            self._copy(block, op, names, [part.name, part.grad])

    def _merge(self, block, trained, part, grad):
        senders = [self.division.sent_by(i, trained, part) for i in range(self.division.trainers)]
        self.senders += senders
        for name in senders:
            declared(self.block, grad, name)
        with self.program.marked(OpRole.Optimize, [part.name, part.grad]):
            block.append_op("sum", {"X": senders}, {"Out": grad})
            scale = {"scale": 1.0 / self.division.trainers}
            block.append_op("scale", {"X": grad}, {"Out": grad}, scale)

    @staticmethod
    def _copy(block, op, names, pair):
        desc = op.desc.copy()
        for old, new in names.items():
            if old != new:
                desc.rename_input(old, new)
                desc.rename_output(old, new)
        desc.set_attr("op_role_var", pair, "STRINGS")
        block.put_op(Operator(block, desc))

    def _lookup(self, trained, part):
        """The block that reads rows of a table."""
        block = self._inside(self.blocks[-1])
        ids = self.division.prefetch_names(trained, "in")[self.number]
        rows = self.division.prefetch_names(trained, "out")[self.number]
        self.block.create_var(name=ids, shape=[-1, 1], dtype="int64", stop_gradient=True)
        self.block.create_var(
            name=rows, shape=[-1, *part.shape[1:]], dtype=self.origin.var(trained.name).dtype,
            stop_gradient=True,
        )  # fmt: skip
        attrs = {"is_sparse": True, "is_distributed": True, "padding_idx": -1}
        block.put_op(
            described(
                block, "lookup_sparse_table", {"Ids": [ids], "W": [part.name]}, {"Out": [rows]},
                attrs, role=OpRole.Forward, kinds={"padding_idx": "LONG"},
            )
        )  # fmt: skip
        self.prefetches.append(f"{ids}:{block.idx}")


# First values -------------------------------------------------------------------------------------


def server_startup(division, endpoint, startup):
    """The startup program of a server: first values of its parts, and of what updates them."""
    return _Startup(division, endpoint, startup).program


class _Startup:
    def __init__(self, division, endpoint, startup):
        self.program, self.count = Program(), len(division.endpoints)
        self.program.random_seed = startup.random_seed
        self.block = self.program.global_block()
        self.origin = startup.global_block()
        wanted = self._wanted(division, endpoint)
        needed = set(wanted)
        ops = []
        for op in reversed(self.origin.ops):
            if needed.intersection(op.output_arg_names):
                ops.append(op)
                needed.update(op.input_arg_names)
        made = {n for op in ops for n in op.output_arg_names}
        lost = sorted(set(wanted) - made)
        if lost:
            raise NotFoundError(
                "get_startup_program: the startup program must give first values to what the "
                f"server of {endpoint} updates, got none for {lost[0]}"
            )
        for op in reversed(ops):
            self._copy(op, wanted)

    def _wanted(self, division, endpoint):
        """{name in the startup program: [(name, Trained or None, Part)]}; None: a whole value."""
        program = server_program(division, endpoint)
        held = program.global_block()
        wanted, named = {}, set()
        for trained, part in own_parts(division, endpoint):
            origin = division.program.global_block()
            names = {n for op in trained.ops for n in op.input_arg_names}
            rates = {n for op in trained.ops for n in op.inputs.get("LearningRate", ())}
            for name in sorted(names - rates):
                var = origin.core.find(name)
                if var is None or not var.persistable:
                    continue
                own = (
                    part.name if name == trained.name
                    else state_name(division, trained, part, name)
                )  # fmt: skip
                divided = tuple(var.shape) == trained.shape
                if own not in named:
                    wanted.setdefault(name, []).append((own, trained if divided else None, part))
                named.add(own)
        for var in held.vars.values():
            if var.persistable and var.name not in named:
                wanted.setdefault(var.name, []).append((var.name, None, None))
        return wanted

    def _copy(self, op, wanted):
        outs = op.output_arg_names
        cut = [n for n in set(op.input_arg_names) - set(outs) if n in wanted]
        cut = [n for n in cut if n not in [own for own, _, _ in wanted[n]]]
        if cut:
            raise UnimplementedError(
                f"get_startup_program: {op.type} reads the whole '{cut[0]}', of which servers hold "
                "parts. Set config.slice_var_up = False"
            )
        for name in [*op.input_arg_names, *outs]:
            if name not in wanted and self.origin.core.has(name):
                declared(self.block, self.origin.var(name))
        if len(outs) != 1 or outs[0] not in wanted:
            for name in outs:
                if name in wanted:
                    declared(self.block, self.origin.var(name))
            self.block.put_op(Operator(self.block, op.desc.copy()))
            return
        (name,) = outs
        var, rest = self.origin.var(name), []
        for own, trained, part in wanted[name]:
            if trained is None or tuple(part.shape) == tuple(var.shape):
                declared(self.block, var, own)
                self._put(op, name, own)
                continue
            declared(self.block, var, own, part.shape)
            if op.type == _CONSTANT or (op.type in _RANDOM and trained.kind == TABLE):
                self._put(op, name, own, part)
            else:
                rest.append((own, trained, part))
        if rest:
            self._take_parts(op, var, rest)

    def _put(self, op, name, own, part=None):
        desc = op.desc.copy()
        desc.rename_output(name, own)
        desc.rename_input(name, own)
        made = Operator(self.block, desc)
        if part is not None:
            made.set_attr("shape", list(part.shape))
            if op.type in _RANDOM:
                seed = op.attr("seed") or self.program.random_seed
                made.set_attr("seed", seed + part.begin if seed else 0)
        self.block.put_op(made)

    def _take_parts(self, op, var, rest):
        """Draw the whole value, as one process does, and keep the rows of the parts."""
        whole = f"{var.name}.whole"
        declared(self.block, var, whole, persistable=False)
        self._put(op, var.name, whole)
        for own, trained, part in rest:
            if trained.kind == TABLE:
                type, more = "strided_slice", {"strides": [self.count]}
                begin, end = part.begin, trained.shape[0]
            else:
                type, more = "slice", {}
                begin, end = part.begin, part.begin + part.shape[0]
            attrs = {"axes": [0], "starts": [begin], "ends": [end], **more}
            self.block.append_op(type, {"Input": whole}, {"Out": own}, attrs)


def check_endpoint(division, endpoint):
    """The endpoint, if it is one of the servers'."""
    if endpoint not in division.endpoints:
        raise InvalidArgumentError(
            "DistributeTranspiler: endpoint must be one of the servers "
            f"{', '.join(division.endpoints)}, got {endpoint!r}"
        )
    return endpoint
