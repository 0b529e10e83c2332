"""Which variables of a program hold no negative number, whatever it is fed."""

__all__ = ["never_negative"]

_MAKES = {
    "relu", "relu6", "sigmoid", "hard_sigmoid", "softmax", "softplus", "exp", "abs", "square",
    "sqrt", "fused_batch_norm_act", "fused_bn_add_activation",
}  # fmt: skip
_KEEPS = {
    "pool2d", "pool3d", "reshape", "reshape2", "flatten", "flatten2", "flatten_contiguous_range",
    "transpose", "transpose2", "squeeze2", "unsqueeze2", "reduce_mean", "reduce_sum", "reduce_max",
    "concat", "assign", "dropout", "slice", "elementwise_add", "elementwise_mul",
}  # fmt: skip


def never_negative(block, name):
    """Whether operators alone make sure of it: relu, or relu and a pooling behind it."""
    uses, waiting, seen = block.program.core.uses(), [name], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        writers = uses.writers(name)
        if len(writers) != 1:
            return False
        (op,) = writers
        if op.type in _KEEPS:
            waiting += [n for n in op.input_arg_names if n != "@EMPTY@"]
        elif op.type not in _MAKES:
            return False
    return True
