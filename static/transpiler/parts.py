"""What a program updates, and how it is divided among parameter servers."""

import math
import re
import typing

from dygraph.errors import InvalidArgumentError, UnimplementedError
from dygraph.inspect.shown import Shown
from dygraph.static.codes import OpRole

__all__ = ["Division", "Part", "Trained", "part_sizes"]

DENSE, ROWS, TABLE = "dense", "rows", "table"

# Updates of one element from the elements beside it in other arrays; those of other optimizers, as
# lars_momentum and lamb, read the norm of the whole parameter.
_BY_ELEMENT = set(
    "sgd momentum adam adamax adagrad decayed_adagrad rmsprop ftrl adadelta proximal_gd "
    "proximal_adagrad dpsgd nadam radam adamw".split()
)
_ALSO_BY_ELEMENT = set(
    "scale sum sign clip cast assign elementwise_add elementwise_sub elementwise_mul "
    "elementwise_div fill_constant".split()
)
LOOKUPS = ("lookup_table", "lookup_table_v2")


class Part(typing.NamedTuple):
    """A part of a parameter: consecutive rows, or of a table every n-th one.

    Attributes
    ----------
    name, grad : str
        What servers call the part and its gradient.
    shape : tuple of int
    begin : int
        Its first row in the whole parameter; of a table, the number of its server.
    endpoint : str
    suffix : str
        ``.block0``, or nothing for a whole parameter.
    """

    name: str
    grad: str
    shape: tuple
    begin: int
    endpoint: str
    suffix: str


class Trained(typing.NamedTuple):
    """A parameter that the program updates.

    Attributes
    ----------
    name, grad : str
        The parameter, and its gradient as the backward pass leaves it.
    shape : tuple of int
    kind : str
        "dense"; "rows": the gradient is selected rows; "table": a distributed lookup table.
    fetched : bool
        Whether lookups ask servers for rows, and trainers do not hold the parameter.
    ops : list of Operator
        What makes the update of the gradient, in order; the update is the last one.
    parts : list of Part
    """

    name: str
    grad: str
    shape: tuple
    kind: str
    fetched: bool
    ops: list
    parts: list


def part_sizes(shape, count, least):
    """The numbers of rows of at most `count` parts, none below `least` elements, but for the last.

    >>> from dygraph.static.transpiler.parts import part_sizes
    >>> part_sizes([1200, 20], 2, 8192), part_sizes([10, 10], 2, 8192), part_sizes([100, 3], 3, 70)
    ([600, 600], [10], [34, 34, 32])
    """
    width = math.prod(shape[1:])
    total = shape[0] * width
    count = min(count, max(1, total // least))
    size = math.ceil(math.ceil(total / count) / width)  # in whole rows
    return [min(size, shape[0] - begin) for begin in range(0, shape[0], size)]


class Division(Shown):
    """The updates of a program, divided.

    Attributes
    ----------
    rates : list of Operator
        What makes the learning rates.
    trained : list of Trained
        In the order of their updates, tables last.
    updates : list of Operator
        All operators that trainers do not run, but for `rates`.
    """

    def __init__(self, program, config, endpoints, trainers, trainer_id, sync):
        self.program, self.config, self.endpoints = program, config, endpoints
        self.trainers, self.trainer_id, self.sync = trainers, trainer_id, sync
        block = program.global_block()
        self._vars = block.vars
        self.rates = [op for op in block.ops if op.role & OpRole.LRSched]
        self.updates = [
            op for op in block.ops if op.role & OpRole.Optimize and not op.role & OpRole.LRSched
        ]
        self._refuse_schedules()
        made = [(op, self._ops_of(op)) for op in self.updates if _is_update(op)]
        self._check(made)
        self._dispatcher = config.split_method(endpoints)
        plain = [self._trained(op, ops) for op, ops in made]
        tables = [t for t in plain if t.kind == TABLE]
        self.trained = [self._divided(t) for t in plain if t.kind != TABLE]
        self.trained += [self._divided(t) for t in tables]

    @property
    def merges(self):
        """Whether servers add the gradients of several trainers, each under a name of its own."""
        return self.sync and self.trainers > 1

    # What the program updates

    def _ops_of(self, update):
        """The operators of role Optimize that lead to an update, in order."""
        needed, found = set(update.input_arg_names), [update]
        for op in reversed(self.updates[: self.updates.index(update)]):
            if not _is_update(op) and needed.intersection(op.output_arg_names):
                needed.update(op.input_arg_names)
                found.append(op)
        return found[::-1]

    def _check(self, made):
        known = {id(op) for _, ops in made for op in ops}
        others = [op.type for op in self.updates if id(op) not in known]
        if others:
            raise UnimplementedError(
                "DistributeTranspiler: what an optimizer runs must lead to the update of a "
                f"parameter, got {others[0]}, which runs after or beside the updates: averages of "
                "parameters and the like are not divided among servers"
            )
        if not made:
            raise InvalidArgumentError(
                "DistributeTranspiler: the program must have been given to an optimizer's "
                "minimize(loss), got one without updates"
            )

    def _refuse_schedules(self):
        for name, schedule in self.program.schedules.items():
            if any(name in op.input_arg_names for op in self.updates):
                raise UnimplementedError(
                    "DistributeTranspiler: a learning rate must be a number or operators of the "
                    f"program, got {type(schedule).__name__}, whose steps no server sees. Use "
                    "static.layers.exponential_decay and its like"
                )

    def _trained(self, update, ops):
        (name,) = update.input("Param")
        made = {name for op in ops for name in op.output_arg_names}
        read = {n for op in ops for n in op.input_arg_names}
        backward = {
            n
            for op in self.program.global_block().ops
            if op.role & OpRole.Backward and not op.role & OpRole.Optimize
            for n in op.output_arg_names
        }
        grads = sorted(n for n in read if n in backward)
        if len(grads) != 1:
            raise UnimplementedError(
                f"DistributeTranspiler: the update of '{name}' must read the gradient of that "
                f"parameter alone, got {grads}. A norm over all gradients needs all of them in one "
                "place: use config.mode = 'collective', or clip each gradient by its own norm"
            )
        rates = {n for op in self.rates for n in op.output_arg_names}
        for n in sorted(read - made - rates - set(grads)):
            var = self.program.global_block().find_var_recursive(n)
            if var is None or not var.persistable:
                raise UnimplementedError(
                    f"DistributeTranspiler: the update of '{name}' must read parameters, states of "
                    f"the optimizer, rates and one gradient, got '{n}', which the forward pass "
                    "makes"
                )
        shape = tuple(self._vars[name].shape)
        sparse = self._vars[grads[0]].type == "SELECTED_ROWS"
        lookups = [op for op in self._lookups() if op.input("W") == [name]]
        distributed = [
            op.has_attr("is_distributed") and op.attr("is_distributed") for op in lookups
        ]
        kind = TABLE if any(distributed) else ROWS if sparse else DENSE
        readers = [
            op for op in self.program.global_block().ops
            if name in op.input_arg_names and not op.role & (OpRole.Optimize | OpRole.Backward)
        ]  # fmt: skip
        alone = bool(lookups) and len(readers) == len(lookups)
        if kind == TABLE and not (sparse and all(distributed) and alone):
            raise InvalidArgumentError(
                f"DistributeTranspiler: the distributed table '{name}' must be read by embeddings "
                "with is_distributed=True and is_sparse=True alone, got another operator that "
                f"reads it, or one that is not sparse: {[op.type for op in readers]}"
            )
        fetched = kind == TABLE or (kind == ROWS and alone)
        return Trained(name, grads[0], shape, kind, fetched, ops, [])

    def _lookups(self):
        return [op for op in self.program.global_block().ops if op.type in LOOKUPS]

    # Parts

    def _divided(self, trained):
        by_element = trained.ops[-1].type in _BY_ELEMENT and all(
            op.type in _ALSO_BY_ELEMENT for op in trained.ops[:-1]
        )
        if trained.kind == TABLE:
            if not by_element:
                raise UnimplementedError(
                    f"DistributeTranspiler: the update of the distributed table '{trained.name}' "
                    "must be one by element, since servers hold parts of it, got "
                    f"{[op.type for op in trained.ops]}"
                )
            parts = list(self._table_parts(trained))
        else:
            divides = self.config.slice_var_up and by_element and trained.shape
            parts = list(self._row_parts(trained, len(self.endpoints) if divides else 1))
        return trained._replace(parts=parts)

    def _row_parts(self, trained, count):
        sizes = part_sizes(trained.shape, count, self.config.min_block_size) if count > 1 else [0]
        many = len(sizes) > 1
        suffixes = [f".block{i}" if many else "" for i in range(len(sizes))]
        named = [_Named(trained.name + suffix) for suffix in suffixes]
        begin = 0
        for size, suffix, endpoint in zip(
            sizes, suffixes, self._dispatcher.dispatch(named), strict=True
        ):
            shape = (size, *trained.shape[1:]) if many else trained.shape
            grad = trained.grad + suffix
            yield Part(trained.name + suffix, grad, shape, begin, endpoint, suffix)
            begin += size

    def _table_parts(self, trained):
        """Row r is on server r % n, as its row r // n."""
        rows, count = trained.shape[0], len(self.endpoints)
        if rows < count:
            raise InvalidArgumentError(
                f"DistributeTranspiler: the distributed table '{trained.name}' must have a row for "
                f"each of the {count} servers, got {rows}"
            )
        for k, endpoint in enumerate(self.endpoints):
            grad = trained.grad if self.merges else f"{trained.grad}.pserver_{k}"
            shape = (math.ceil((rows - k) / count), *trained.shape[1:])
            yield Part(trained.name, grad, shape, k, endpoint, "")

    def prefetch_names(self, trained, side):
        """The variables that carry row numbers to servers ("in") and rows back ("out")."""
        first = next(t for t in self.trained if t.kind == TABLE)
        stem = f"prefetch_compress_{side}_tmp_" + ("" if trained is first else f"{trained.name}_")
        return [f"{stem}{k}" for k in range(len(self.endpoints))]

    def sent_by(self, trainer, trained, part):
        """What a trainer calls the gradient of a part."""
        suffix = f".trainer_{trainer}" if self.merges else ""
        if trained.kind == TABLE:
            return f"{trained.grad}{suffix}.pserver_{part.begin}"
        return part.grad + suffix


class _Named(typing.NamedTuple):
    name: str


def _is_update(op):
    return bool(op.inputs.get("Param") and op.inputs.get("Grad") and op.outputs.get("ParamOut"))


TRAINER = re.compile(r"\.trainer_(\d+)(\.pserver_\d+)?$")
