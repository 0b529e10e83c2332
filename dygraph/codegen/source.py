"""What is compiled: blocks of operators, weights, inputs and outputs."""

import os
from dataclasses import dataclass, field

import numpy as np

from dygraph import _core
from dygraph.errors import ArgumentTypeError, InvalidArgumentError

_EMBEDDED = 1 << 18  # bytes of weights that the text has; larger ones lie in a file beside it


@dataclass
class Model:
    """Blocks by number: declared variables, operators; the last uses of local variables."""

    feeds: list
    fetches: list
    blocks: list = field(default_factory=list)  # of {name: variable}
    ops: list = field(default_factory=list)
    parents: list = field(default_factory=list)
    last_uses: list = field(default_factory=list)  # of {number of an operator: names}
    weights: dict = field(default_factory=dict)  # name -> array
    offsets: dict = field(default_factory=dict)  # of weights in their file
    weight_bytes: int = 0
    embedded: bool = True

    def packed_weights(self):
        """The bytes of the file of weights."""
        data = bytearray(self.weight_bytes)
        for name, array in self.weights.items():
            raw = np.ascontiguousarray(array).tobytes()
            data[self.offsets[name] : self.offsets[name] + len(raw)] = raw
        return bytes(data)


def model_of(source, inputs=None, scope=None, feeds=None, fetches=None, embedded=None):
    """A Model of a program, a layer, a traced layer or a path."""
    from dygraph import static

    if isinstance(source, (str, os.PathLike)):
        scope = static.Scope()
        program, feeds, fetches = static.load_inference_model(source, scope=scope)
        fetches = [v.name for v in fetches]
    elif isinstance(source, static.Program):
        program, scope = source, static.global_scope() if scope is None else scope
    else:
        program, scope, feeds, fetches = _traced(source, inputs, feeds, fetches)
    feeds = [getattr(f, "name", f) for f in feeds or program.desc.feed_names]
    fetches = [getattr(f, "name", f) for f in fetches or program.desc.fetch_names]
    if not fetches:
        raise InvalidArgumentError(
            "compile: the program must have outputs. Give fetches=[...], the Variables to return"
        )
    desc = _core.apply_pass(
        program.clone(for_test=True).desc, "prune", {"feeds": feeds, "fetches": fetches}
    )
    return _model(static.Program(desc), scope, program.held, feeds, fetches, embedded)


def _traced(source, inputs, feeds, fetches):
    import dygraph

    if isinstance(source, dygraph.TracedLayer):
        traced = source
    elif callable(source):
        if inputs is None:
            raise ArgumentTypeError(
                "compile: a layer must come with inputs=[...], arrays or Variables to trace it with"
            )
        if isinstance(source, dygraph.Layer):
            source.eval()
        given = [x if isinstance(x, _core.Variable) else dygraph.to_variable(x) for x in inputs]
        _, traced = dygraph.jit.trace(source, given)
    else:
        raise ArgumentTypeError(
            "compile: the model must be a path, a static.Program, a Layer or a TracedLayer, "
            f"got {type(source).__name__}"
        )
    return traced.program, traced.scope, feeds or traced.feed_names, fetches or traced.fetch_names


def _model(program, scope, held, feeds, fetches, embedded):
    model = Model(list(feeds), list(fetches))
    for block in program.blocks:
        model.blocks.append(dict(block.vars))
        model.parents.append(block.parent_idx if block.idx else -1)
        model.ops.append([op.desc for op in block.ops])
    _check_tree(model)
    _add_weights(model, held, scope)
    model.weight_bytes = 0
    for name, array in model.weights.items():
        model.offsets[name] = model.weight_bytes
        model.weight_bytes += (array.nbytes + 63) // 64 * 64
    model.embedded = model.weight_bytes <= _EMBEDDED if embedded is None else embedded
    for index in range(len(model.blocks)):
        model.last_uses.append(_last_uses(model, index))
    for name in (*model.feeds, *model.fetches):
        if name not in model.blocks[0]:
            raise InvalidArgumentError(f"compile: {name!r} is no variable of the program")
    return model


def children(op):
    """Numbers of the blocks that an operator runs."""
    out = []
    for name in op.attr_names:
        kind = op.attr_type(name)
        if kind in ("BLOCK", "BLOCKS"):
            value = op.attr(name)
            out += [value] if isinstance(value, int) else list(value)
    return [int(getattr(b, "idx", b)) for b in out]


def _check_tree(model):
    """Each block is run by at most one operator, of its parent: a run cannot recurse."""
    seen = set()
    for index, ops in enumerate(model.ops):
        for op in ops:
            for child in children(op):
                fits = 0 < child < len(model.ops) and model.parents[child] == index
                if not fits or child in seen:
                    raise InvalidArgumentError(
                        f"compile: {op.type} must run a block of its own inside of its block, "
                        f"got block {child} in block {index}"
                    )
                seen.add(child)


def _add_weights(model, held, scope):
    used = {n for ops in model.ops for op in ops for n in op.input_arg_names}
    used |= set(model.fetches)
    for name, var in model.blocks[0].items():
        if not getattr(var, "persistable", False) or name not in used or name in model.feeds:
            continue
        if str(getattr(var, "type", "")) in ("FETCH_LIST", "FEED_MINIBATCH"):
            continue
        found = scope.find_var(name)
        if found is None and name in held:
            found = held[name]
        elif found is None or found.is_empty():
            continue
        model.weights[name] = np.array(found.numpy())


def names_of(model, op):
    """All variables that an operator or the blocks it runs read or write."""
    names = {n for n in (*op.input_arg_names, *op.output_arg_names) if n}
    pending = children(op)
    while pending:
        block = pending.pop()
        for inner in model.ops[block]:
            names.update(n for n in (*inner.input_arg_names, *inner.output_arg_names) if n)
            for name in inner.attr_names:
                if inner.attr_type(name) == "STRINGS":
                    names.update(inner.attr(name))
            pending += children(inner)
    for name in op.attr_names:
        if op.attr_type(name) == "STRINGS" and children(op):
            names.update(op.attr(name))
    return names


def _last_uses(model, index):
    last = {}
    for number, op in enumerate(model.ops[index]):
        if op.type in ("feed", "fetch"):
            continue
        for name in names_of(model, op):
            if name in model.blocks[index]:
                last[name] = number
    out = {}
    kept = {*model.weights, *model.feeds, *model.fetches} if index == 0 else set()
    if index and _keeps(model, index):
        return out
    for name, number in sorted(last.items()):
        if name not in kept:
            out.setdefault(number, []).append(name)
    return out


def _keeps(model, index):
    """Whether the operator that runs a block reads its variables after an iteration."""
    return any(
        op.type == "recurrent" and index in children(op) for op in model.ops[model.parents[index]]
    )
