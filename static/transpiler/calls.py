"""How operators that communicate run: the executor calls a function of Python for each.

The description of a program keeps Fluid's operators. What runs is a copy in which each of them is
a call of a host function, whose inputs are the values that it reads; variables that only order
operators are left out.
"""

import functools

import numpy as np

from dygraph import _core, ops
from dygraph.core.sparse import selected_rows
from dygraph.distributed import world
from dygraph.errors import InvalidArgumentError, PreconditionNotMetError, UnimplementedError
from dygraph.static.program import Program
from dygraph.static.transpiler.link import link_of

__all__ = ["CARRIED", "with_calls"]

CARRIED: dict = {}  # type -> function(attributes, names by slot, values by slot) -> results


def carried(*types, reads=("X",), writes=("Out",)):
    """Register the function of operators; `reads` and `writes` are the slots with values."""

    def register(function):
        for type in types:
            CARRIED[type] = function, reads, writes
        return function

    return register


# Programs -----------------------------------------------------------------------------------------


def with_calls(desc):
    """The description that runs, with calls instead of operators that communicate."""
    program = Program(desc)
    block = program.global_block()
    for inner in program.blocks[1:]:
        for op in inner.ops:
            if op.type in CARRIED:
                raise UnimplementedError(
                    f"Executor.run: {op.type} must be in block 0, since all ranks must come to it, "
                    f"got it in block {inner.idx}"
                )
    made, receiving = [], []
    for op in block.ops:
        if op.type in ("recv", "fetch_barrier"):
            receiving.append(op)
            continue
        if receiving:
            made.append(_receive(block, receiving))
            receiving = []
        remote = op.type in _LOOKUP_GRADIENTS and any(
            op.has_attr(name) and op.attr(name) for name in ("remote_prefetch", "is_distributed")
        )
        if op.type == "split_byref":
            made.append(_split(block, op))
        elif op.type in CARRIED or remote:
            call = _call(block, op, "remote_lookup_grad" if remote else op.type)
            made += [] if call is None else [call]
        else:
            made.append(op)
    if receiving:
        made.append(_receive(block, receiving))
    block.set_ops(made)
    return program.desc


_LOOKUP_GRADIENTS = ("lookup_table_grad", "lookup_table_v2_grad")


def _split(block, op):
    desc = _core.Op("split")
    desc.set_input("X", op.input("X"))
    desc.set_output("Out", op.output("Out"))
    desc.set_attr("axis", 0)
    desc.set_attr("sections", list(op.attr("sections")))
    desc.complete_attrs()
    return block.take(desc)


def _call(block, op, type):
    function, reads, writes = CARRIED[type]
    inputs = {slot: op.inputs.get(slot, []) for slot in reads}
    outputs = {slot: op.outputs.get(slot, []) for slot in writes}
    attrs = {name: _frozen(op.attr(name)) for name in op.attr_names if name not in _MARKS}
    if function is _nothing:
        return None
    if type == "remote_lookup_grad":
        attrs["height"] = int(block.var_recursive(op.input("W")[0]).shape[0])
    return _host_call(block, (type, _frozen(inputs), _frozen(outputs), _frozen(attrs)))


def _receive(block, receiving):
    """One call for operators in a row that receive: all requests go before the first answer."""
    wanted, outs = [], []
    for op in receiving:
        if op.type == "fetch_barrier":
            wanted += [("fetch_barrier", "", endpoint) for endpoint in op.attr("endpoints")]
            continue
        names = op.attr("recv_varnames") if op.has_attr("recv_varnames") else []
        names = list(names) or op.output("Out")
        outs.append((op.output("Out"), len(names)))
        wanted += [("get", n, e) for n, e in zip(names, op.attr("epmap"), strict=True)]
    attrs = {
        "trainer_id": receiving[0].attr("trainer_id"), "wanted": wanted,
        "joined": [count > len(own) for own, count in outs],
        "counts": [count for _, count in outs],
    }  # fmt: skip
    outputs = {"Out": [name for own, _ in outs for name in own]}
    return _host_call(block, ("recv", (), _frozen(outputs), _frozen(attrs)))


def _host_call(block, key):
    _, inputs, outputs, _ = key
    desc = _core.Op("py_func")
    desc.set_input("X", [name for _, names in inputs for name in names])
    desc.set_output("Out", [name for _, names in outputs for name in names])
    desc.set_attr("forward_callable_id", _handle(key))
    desc.set_attr("backward_callable_id", -1)
    desc.complete_attrs()
    return block.take(desc)


_MARKS = ("op_callstack", "op_role", "op_role_var", "op_namescope", "op_device")


def _frozen(value):
    if isinstance(value, dict):
        return tuple((k, _frozen(v)) for k, v in value.items())
    return tuple(value) if isinstance(value, list) else value


@functools.cache  # the core keeps functions for good, so equal operators share one
def _handle(key):
    type, inputs, outputs, attrs = key
    function = CARRIED[type][0]
    inputs, outputs, attrs = dict(inputs), dict(outputs), dict(attrs)
    names = {**inputs, **outputs}

    def call(values, wanted):
        del wanted
        given, at = {}, 0
        for slot, slot_names in inputs.items():
            given[slot] = values[at : at + len(slot_names)]
            at += len(slot_names)
        return function(attrs, names, given)

    return _core.add_host_function(call)


# Parameter servers --------------------------------------------------------------------------------


def _link(attrs):
    return link_of(trainer=int(attrs["trainer_id"]))


def _nothing(attrs, names, given):
    return []


@carried("send", writes=())
def _send(attrs, names, given):
    link = _link(attrs)
    if not link.received:
        raise PreconditionNotMetError(
            "send: a trainer must have received the parameters of the servers before its first "
            "step. Run transpiler.get_trainer_startup_program(); the startup program given to "
            "transpile() stays as it is, where Fluid changes it"
        )
    values, sent = given["X"], names["X"]
    if attrs.get("send_varnames"):
        sent = attrs["send_varnames"]
        values = _divided(values[0], attrs["sections"])
    if len(values) == 1:
        values = values * len(attrs["epmap"])
        sent = list(sent) * len(attrs["epmap"])
    for name, endpoint, value in zip(sent, attrs["epmap"], values, strict=True):
        link.request(endpoint, "send", name, value)
    return []


def _divided(value, sections):
    if _core.value_kind(value) == "SelectedRows":
        return list(ops.split_selected_rows(value, height_sections=list(sections)))
    return list(ops.split(value, sizes=list(sections), axis=0))


@carried("send_barrier", reads=(), writes=())
def _send_barrier(attrs, names, given):
    link = _link(attrs)
    for endpoint in attrs["endpoints"]:
        link.request(endpoint, "send_barrier")
    return []


@carried("recv", "fetch_barrier", reads=())
def _recv(attrs, names, given):
    link = _link(attrs)
    for do, name, endpoint in attrs["wanted"]:
        link.request(endpoint, do, name)
    answers = [(do, link.answer(endpoint)) for do, _, endpoint in attrs["wanted"]]
    values = iter([value for do, value in answers if do == "get"])
    results = []
    for joined, count in zip(attrs["joined"], attrs["counts"], strict=True):
        parts = [next(values) for _ in range(count)]
        results += [ops.concat(parts, axis=0)] if joined else parts
    link.received = True
    return results


@carried("checkpoint_notify", reads=(), writes=())
def _checkpoint(attrs, names, given):
    link = _link(attrs)
    for endpoint in attrs["endpoints"]:
        link.request(endpoint, "checkpoint", attrs["dirname"])
    for endpoint in attrs["endpoints"]:
        link.answer(endpoint)
    return []


# Tables -------------------------------------------------------------------------------------------


def _ids(value):
    return np.asarray(value.numpy()).reshape(-1).astype("int64")


def _rows_asked(link, name_of, rows, owner, local, endpoints):
    """Rows from servers: `owner` and `local` say where each of `rows` is."""
    asked = []
    for k, endpoint in enumerate(endpoints):
        here = np.flatnonzero(owner == k)
        if here.size:
            ids = _core.to_variable(local[here].reshape(-1, 1), None, "int64")
            link.request(endpoint, "prefetch", name_of(k), ids)
            asked.append((endpoint, here))
    found = None
    for endpoint, here in asked:
        part = link.answer(endpoint).numpy()
        if found is None:
            found = np.empty((len(rows), part.shape[1]), part.dtype)
        found[here] = part
    return found


def _results(ids, found, order, attrs):
    """A result for each variable of ids: its rows, those of the padding zero."""
    results, at = [], 0
    for value, padding in zip(ids, attrs["padding_idx"], strict=True):
        own = _ids(value)
        rows = found[order[at : at + own.size]]
        at += own.size
        if padding >= 0:
            rows[own == padding] = 0
        shape = value.shape
        if attrs["lookup_table_version"] == "lookup_table":
            shape = shape[:-1]
        made = _core.to_variable(rows.reshape(*shape, found.shape[1]))
        results.append(ops.lod_like(made, value) if value.lod_level else made)
    return results


def _check_rows(rows, height, name):
    if rows.size and not (0 <= rows.min() and rows.max() < height):
        raise InvalidArgumentError(
            f"embedding: row numbers of '{name}' must be in [0, {height}), got {rows.min()} to "
            f"{rows.max()}"
        )


@carried("distributed_lookup_table", reads=("Ids",), writes=("Outputs",))
def _lookup(attrs, names, given):
    link, sections = _link(attrs), attrs["height_sections"]
    ends = np.cumsum(sections)
    rows, order = np.unique(np.concatenate([_ids(v) for v in given["Ids"]]), return_inverse=True)
    _check_rows(rows, ends[-1], attrs["table_names"][0])
    owner = np.searchsorted(ends, rows, "right")
    local = rows - (ends - sections)[owner]
    found = _rows_asked(
        link, attrs["table_names"].__getitem__, rows, owner, local, attrs["endpoints"]
    )
    return _results(given["Ids"], found, order.reshape(-1), attrs)


@carried("split_ids", reads=("Ids",))
def _split_ids(attrs, names, given):
    count = len(names["Out"])
    if _core.value_kind(given["Ids"][0]) == "SelectedRows":
        return _split_rows(given["Ids"][0], count)
    rows = np.unique(np.concatenate([_ids(v) for v in given["Ids"]]))
    return [
        _core.to_variable(rows[rows % count == k].reshape(-1, 1), None, "int64")
        for k in range(count)
    ]


def _split_rows(value, count):
    """Selected rows by server; server k holds row r with r % count == k as its row r // count."""
    rows = np.asarray(value.rows(), "int64")
    values, height = value.rows_value().numpy(), value.height()
    parts = []
    for k in range(count):
        here = rows % count == k
        part = _core.to_variable(values[here], None, str(value.dtype))
        parts.append(
            selected_rows((rows[here] // count).tolist(), (height - k + count - 1) // count, part)
        )
    return parts


@carried("prefetch")
def _prefetch(attrs, names, given):
    link, count = _link(attrs), len(attrs["epmap"])
    for value, name, endpoint in zip(given["X"], names["X"], attrs["epmap"], strict=True):
        local = _core.to_variable(value.numpy() // count, None, "int64")
        link.request(endpoint, "prefetch", name, local)
    return [link.answer(endpoint) for endpoint in attrs["epmap"]]


@carried("merge_ids", reads=("Ids", "Rows", "X"))
def _merge_ids(attrs, names, given):
    ids = [_ids(v) for v in given["Rows"]]
    known, where = np.unique(np.concatenate(ids), return_index=True)
    found = np.concatenate([v.numpy() for v in given["X"]])[where]
    order = np.searchsorted(known, np.concatenate([_ids(v) for v in given["Ids"]]))
    return _results(given["Ids"], found, order, attrs)


@carried("lookup_sparse_table", reads=("Ids", "W"))
def _lookup_sparse_table(attrs, names, given):
    (ids,), (table,) = given["Ids"], given["W"]
    _check_rows(_ids(ids), table.shape[0], names["W"][0])
    return [ops.gather(table, ops.reshape(ids, shape=[-1]))]


@carried("remote_lookup_grad", reads=("Ids", "Out@GRAD"), writes=("W@GRAD",))
def _lookup_grad(attrs, names, given):
    """The gradient of rows: that of a lookup whose table this process lacks."""
    rows = _ids(given["Ids"][0])
    grad = given["Out@GRAD"][0]
    values = ops.reshape(grad, shape=[rows.size, grad.shape[-1]])
    kept = np.flatnonzero(rows != attrs["padding_idx"])
    if kept.size < rows.size:
        values = ops.gather(values, _core.to_variable(kept, None, "int64"))
    return [selected_rows(rows[kept].tolist(), attrs["height"], values)]


# Collective calls ---------------------------------------------------------------------------------


_REDUCTIONS = ("sum", "prod", "max", "min")  # by the numbers of allreduce's reduce_type


@carried("allreduce")
def _all_reduce(attrs, names, given):
    op = _REDUCTIONS[int(attrs.get("reduce_type", 0))]
    return [world().all_reduce(v, op) for v in given["X"]]


for _number, _op in enumerate(_REDUCTIONS):
    carried(f"c_allreduce_{_op}")(
        lambda attrs, names, given, number=_number: _all_reduce(
            {"reduce_type": number}, names, given
        )
    )


@carried("c_broadcast", "broadcast")
def _broadcast(attrs, names, given):
    root = int(attrs.get("root", 0))
    return [world().broadcast(v, root) for v in given["X"]]


@carried("c_allgather")
def _allgather(attrs, names, given):
    return [ops.concat(world().all_gather(v), axis=0) for v in given["X"]]


@carried("c_reducescatter")
def _reducescatter(attrs, names, given):
    return [world().reduce_scatter(v) for v in given["X"]]


@carried("c_comm_init", reads=(), writes=())
def _comm_init(attrs, names, given):
    comm = world()
    if (attrs["nranks"], attrs["rank"]) != (comm.size, comm.rank):
        raise PreconditionNotMetError(
            f"c_comm_init: the program is for rank {attrs['rank']} of {attrs['nranks']}, but this "
            f"is rank {comm.rank} of {comm.size}. Give transpile() the ranks of the job"
        )
    return []


carried(
    "fake_init", "gen_nccl_id", "c_gen_nccl_id", "c_sync_calc_stream", "c_sync_comm_stream",
    reads=(), writes=(),
)(_nothing)  # fmt: skip
