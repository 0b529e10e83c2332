"""The declarations of variables of emitted blocks, and the outer variables of each block."""

from dygraph.static.variable import Variable


def settle(program, stays, controls):
    """Move each declaration of the global block to the innermost block around all its uses.

    Parameters
    ----------
    program : Program
    stays : set of str
        Names that stay in the global block.
    controls : list of (Operator, Block, str)
        Operators with their blocks, inner ones first, and the slot for what the block reads.
    """
    main = program.global_block()
    moved = {}
    for name, line in _lines(program).items():
        if line[-1] and name not in stays and main.has_var(name):
            moved.setdefault(line[-1], []).append(main.var(name))
    for index, variables in moved.items():
        for variable in variables:
            desc, stop = variable.desc.copy(), variable.stop_gradient
            main.forget_var(variable.name)
            made = program.block(index).core.declare(desc, desc.made_at, Variable)
            made.stop_gradient = stop
    for op, inner, first in controls:
        read, written = {}, {}
        for each in inner.ops:
            read.update(dict.fromkeys(n for n in each.input_arg_names if not inner.has_var(n)))
            written.update(dict.fromkeys(n for n in each.output_arg_names if not inner.has_var(n)))
        op.set_input(first, list(read))
        op.set_output("Out", list(written))


def _lines(program):
    """For each name the blocks around all its operators, from the global one inwards."""
    around = {}
    for block in program.blocks:
        line = [block.idx]
        while program.block(line[0]).parent_idx >= 0:
            line.insert(0, program.block(line[0]).parent_idx)
        for op in block.ops:
            for name in [*op.input_arg_names, *op.output_arg_names]:
                known = around.get(name, line)
                around[name] = [a for a, b in zip(known, line, strict=False) if a == b]
    return around
