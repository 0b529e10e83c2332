"""Less memory for more time: parts of the forward pass are computed again for their gradients.

What the gradients read is dropped after the forward pass, but for the checkpoints, and made again
from them shortly before it is read (Chen and others, 2016).
"""

import dygraph

__all__ = ["again"]


def again(forward, backward, checkpoints, lasting):
    """The gradient operators, with those of the forward pass that have to run again.

    Parameters
    ----------
    forward : list of Operator
    backward : list of (Op, int)
        Gradient operators, each with the number of the forward operator it comes from, or -1.
    checkpoints : set of str
        Variables that are kept.
    lasting : set of str
        Variables that are there anyway: persistable or fed.

    Returns
    -------
    list of (Op, int)
    """
    makers = _makers(forward, checkpoints, lasting)
    result, made = [], {}

    def make(name):
        """The name of the variable made again; the same name where it is kept."""
        waiting = [name]  # what is made of others waits for them: chains have any length
        while waiting:
            number = makers.get(waiting[-1])
            if number is None or waiting[-1] in made:
                waiting.pop()
                continue
            desc = forward[number].desc.copy()
            inputs = list(dict.fromkeys(desc.input_arg_names))
            first = [own for own in inputs if own not in made and makers.get(own, number) < number]
            if first:
                waiting.extend(reversed(first))
                continue
            for own in inputs:
                desc.rename_input(own, made.get(own, own))
            for own in dict.fromkeys(desc.output_arg_names):
                made[own] = f"{own}@RECOMPUTE"
                desc.rename_output(own, made[own])
            result.append((desc, number))
        return made.get(name, name)

    for desc, number in backward:
        for name in dict.fromkeys(desc.input_arg_names):
            desc.rename_input(name, make(name))
        result.append((desc, number))
    return result


def _makers(forward, checkpoints, lasting):
    """Variable -> number of the operator that can make it again, up to the last checkpoint."""
    writes = {}
    for op in forward:
        for name in op.output_arg_names:
            writes[name] = writes.get(name, 0) + 1
    last = max(
        (i for i, op in enumerate(forward) if checkpoints & {*op.output_arg_names}), default=0
    )
    makers = {}
    for number, op in enumerate(forward[:last]):
        names = [n for n in op.output_arg_names if n != "@EMPTY@"]
        # Not twice: numbers drawn, statistics that go on, variables that several operators write.
        if dygraph.op_info(op.type).random or any(n in lasting or writes[n] > 1 for n in names):
            continue
        if checkpoints.isdisjoint(names):
            makers.update(dict.fromkeys(names, number))
    return makers
