"""Programs in the form of Paddle 2, and parts of programs that it does not support.

Inference models need no conversion: Paddle runs the files of `save_inference_model` unless they
hold an operator that `unknown_to_paddle` lists. Paddle's gradient operators read more variables
than those of a program: `for_paddle` adds them.
"""

from dygraph import _core, unique_name
from dygraph.errors import ArgumentTypeError, UnimplementedError, kind_of
from dygraph.static import paddle_operators, passes
from dygraph.static.program import OpRole, Program

__all__ = ["for_paddle", "unknown_to_paddle"]

# Attributes that Paddle ignores, with the value for which that is right; None: there is none.
_UNREAD = {
    ("flip", "dims"): None,
    ("gather", "overwrite"): True,
    ("relu6", "threshold"): 6.0,
    ("roll", "dims"): None,
    ("swish", "beta"): 1.0,
    ("trace", "dim1"): 0,
    ("trace", "dim2"): 1,
}


def unknown_to_paddle(program):
    """Parts of a program that Paddle 2.6 does not support or would ignore: one line each.

    Parameters
    ----------
    program : Program
        The program to look through.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import dygraph
    >>> from dygraph import static
    >>> main = static.Program()
    >>> with static.program_guard(main):
    ...     x = static.data("x", [None, 6, 8], "float32")
    ...     y = dygraph.nn.scaled_dot_product_attention(x, x, x)
    >>> static.io.unknown_to_paddle(main)
    ['operator 0 of block 0: Paddle has no scaled_dot_product_attention']
    >>> static.io.unknown_to_paddle(static.io.for_paddle(main))
    []
    """
    _require(program, "unknown_to_paddle")
    found = []
    for block in program.blocks:
        for i, op in enumerate(block.ops):
            where = f"operator {i} of block {block.idx}"
            if op.type not in paddle_operators.NAMES:
                found.append(f"{where}: Paddle has no {op.type}")
                continue
            for name in op.attr_names:
                neutral = _UNREAD.get((op.type, name), op)
                if neutral is not op and (neutral is None or op.attr(name) != neutral):
                    found.append(f"{where}: Paddle's {op.type} does not read {name}")
    return found


def _require(program, what):
    if not isinstance(program, Program):
        raise ArgumentTypeError(f"{what}: program must be a static.Program, got {kind_of(program)}")


# Slots of the forward call that only Paddle's gradients read.
_RESHAPING = (
    "reshape2", "transpose2", "squeeze2", "unsqueeze2", "flatten2", "flatten_contiguous_range"
)  # fmt: skip
_MORE_SLOTS = {
    "pool2d_grad": ("Out",),
    "pool3d_grad": ("Out",),
    "batch_norm_grad": ("Bias", "MeanOut", "VarianceOut", "ReserveSpace"),
}


def for_paddle(program):
    """A copy in the form of Paddle 2, which computes the same in both libraries.

    Gradient operators get the variables of the forward pass that Paddle's read, and forward
    operators write them: ``XShape`` of reshapes, ``ReserveSpace`` of ``batch_norm``. An attention
    operator of an inference program becomes matrix products and a softmax, ``rnn_memory_helper`` of
    a ``StaticRNN`` becomes ``assign``.

    `unknown_to_paddle` of the copy lists what Paddle still does not support.

    Parameters
    ----------
    program : Program
        The program to convert.

    Returns
    -------
    Program

    Examples
    --------
    >>> from dygraph import static
    >>> main = static.Program()
    >>> with static.program_guard(main):
    ...     x = static.data("x", [None, 6], "float32")
    ...     h = static.layers.reshape(static.layers.fc(x, size=4), [-1, 2, 2])
    ...     done = static.optimizer.SGD(0.1).minimize(static.layers.mean(h))
    >>> ops = static.io.for_paddle(main).global_block().ops
    >>> [sorted(op.input_names) for op in ops if op.type == "reshape2_grad"]
    [['Out@GRAD', 'XShape']]
    """
    _require(program, "for_paddle")
    return passes.apply("for_paddle", program)


def _for_paddle(program, scope):
    uses = program.core.uses()
    for block in program.blocks:
        for op in list(block.ops):
            if op.type == "scaled_dot_product_attention" and not _has_gradient(
                uses, op, "LogTotal"
            ):
                _spell_attention_out(block, op)
            elif op.type == "rnn_memory_helper" and not _has_gradient(uses, op, "Out"):
                block.remove_op(at := op.idx)
                block.insert_op(at, "assign", {"X": op.input("X")}, {"Out": op.output("Out")})
            elif op.type == "assign":
                op.desc.remove_attr("hands_on")
    uses = program.core.uses()  # the following steps bind more slots and remove no operator
    for block in program.blocks:
        for op in list(block.ops):
            if op.type == "batch_norm":
                _written(block, op, "ReserveSpace")
            elif op.type == "reshape2_grad" and "X" in op.input_names:
                _read_x_shape(block, op, uses)
        for op in block.ops:
            if op.type in _MORE_SLOTS:
                _add_slots(op, _forward_of(block, op, uses))


passes.add(
    "for_paddle", _for_paddle,
    "The form of Paddle 2: gradient operators read, and forward operators write, the same "
    "variables as Paddle's; attention without a gradient becomes products and a softmax, a memory "
    "of steps a copy.",
)  # fmt: skip


def _has_gradient(uses, op, slot):
    return any(
        reader.type == f"{op.type}_grad"
        for name in op.outputs.get(slot, []) for reader in uses.readers(name)
    )  # fmt: skip


def _written(block, op, slot):
    """The name of the variable for an optional output of `op`."""
    names = op.outputs.get(slot) or []
    if names and names[0] != "@EMPTY@":
        return names[0]
    name = f"{op.output_arg_names[0]}.{slot.lower()}"
    if not block.has_var(name):
        (of,) = op.inputs.get("X", [None])
        of = block.find_var_recursive(of)
        shape = [0, *of.shape] if slot == "XShape" else [-1]
        block.create_var(name=name, shape=shape, dtype=of.dtype, stop_gradient=True)
    op.set_output(slot, [name])
    return name


def _read_x_shape(block, op, uses):
    """Make reshape2_grad read the XShape of the operator that reads X."""
    (x,) = op.input("X")
    readers = (o for o in uses.readers(x) if o.block is block and o.type in _RESHAPING)
    forward = next((o for o in readers if o.input("X") == [x]), None)
    if forward is not None:
        _set_inputs(op, {"XShape": [_written(block, forward, "XShape")],
                         "Out@GRAD": op.input("Out@GRAD")})  # fmt: skip


def _set_inputs(op, inputs):
    """Bind only these slots."""
    for slot in op.input_names:
        op.desc.remove_input(slot)
    for slot, names in inputs.items():
        op.set_input(slot, names)


def _add_slots(op, forward):
    for slot in _MORE_SLOTS[op.type] if forward is not None else ():
        bound = {**forward.inputs, **forward.outputs}.get(slot, ["@EMPTY@"])
        if slot not in op.input_names and bound and bound[0] != "@EMPTY@":
            op.set_input(slot, bound)


def _forward_of(block, op, uses):
    """The forward call of a gradient operator, whose inputs and outputs it reads."""
    (x,) = op.input("X")
    for forward in uses.readers(x):
        slots = {**forward.inputs, **forward.outputs}
        if (
            forward.block is block
            and forward.type == op.type.removesuffix("_grad")
            and all(slots.get(slot, names) == names for slot, names in op.inputs.items())
        ):
            return forward
    return None


# Attention ----------------------------------------------------------------------------------------


def _spell_attention_out(block, op):
    """Replace an attention operator by products, a softmax and reshapes."""
    at, count, program = op.idx, len(block.ops), block.program
    # Names count from 0 in each call: the same program gives the same bytes.
    with unique_name.guard(), program.appending_to(block), program.marked(OpRole.Forward):
        made = _attention(op, *(_input(block, op, s) for s in ("Query", "Key", "Value", "Mask")))
    (name,) = op.output("Out")
    block.ops[-1].rename_output(made.name, name)
    block.remove_var(made.name)
    written = block.ops[count:]
    block.set_ops(block.ops[:at] + written + block.ops[at + 1 : count])
    for slot in ("LogTotal", "Drawn"):
        for unused in op.outputs.get(slot, []):
            if block.has_var(unused):
                block.remove_var(unused)


def _input(block, op, slot):
    names = op.inputs.get(slot) or ["@EMPTY@"]
    return None if names[0] == "@EMPTY@" else block.var_recursive(names[0])


def _attention(op, query, key, value, mask):
    ops, heads = _core.ops, op.attr("num_heads")
    if len(query.shape) == 2 and query.lod_level:
        raise UnimplementedError(
            f"for_paddle: Paddle has no attention over ragged batches, got {query.name} with "
            f"lod_level {query.lod_level}. Describe the attention over padded sequences, see "
            "sequence_pad()"
        )
    matrix = heads and len(query.shape) == 2
    if matrix:
        query, key, value = (ops.unsqueeze2(x, axes=[0]) for x in (query, key, value))
    width = query.shape[-1] // max(heads, 1)

    def apart(x):
        if not heads:
            return x
        x = ops.reshape2(x, shape=[0, 0, heads, x.shape[-1] // heads])
        return ops.transpose2(x, axis=[0, 2, 1, 3])

    scores = ops.matmul_v2(
        ops.scale(apart(query), scale=op.attr("scale") or width**-0.5), apart(key), trans_y=True
    )
    seen = None
    if mask is not None and str(mask.dtype) == "bool":
        seen = ops.cast(mask, in_dtype="bool", out_dtype=str(query.dtype))
        scores = ops.elementwise_add(scores, ops.scale(seen, scale=1e30, bias=-1e30))
    elif mask is not None:
        scores = ops.elementwise_add(scores, mask)
    if op.attr("is_causal"):
        past = ops.tril_triu(ops.fill_any_like(scores, value=1.0), diagonal=0, lower=True)
        scores = ops.elementwise_add(scores, ops.scale(past, scale=1e30, bias=-1e30))
    weights = ops.softmax(scores, axis=-1)
    if seen is not None:  # zeros, not uniform weights, if a query sees no key
        weights = ops.elementwise_mul(weights, seen)
    if op.attr("dropout_prob") and not op.attr("is_test"):
        weights, _ = ops.dropout(
            weights, dropout_prob=op.attr("dropout_prob"), seed=op.attr("seed"),
            dropout_implementation="upscale_in_train",
        )  # fmt: skip
    mixed = ops.matmul_v2(weights, apart(value))
    if not heads:
        return ops.assign(mixed)
    out = ops.transpose2(mixed, axis=[0, 2, 1, 3])
    return ops.reshape2(out, shape=[*([-1] if matrix else [0, 0]), value.shape[-1]])
