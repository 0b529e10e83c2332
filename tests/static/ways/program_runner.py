"""Runs the emitted program of an explored function by the Executor."""

import dygraph
from dygraph import static
from dygraph.static.ways.arguments import build
from dygraph.static.ways.emit import emit

# Programs run where the core has all that they are made of.
RUNS = {"while", "conditional_block", "assert", "tensor_array_to_tensor"} <= set(dygraph.op_names())


def run(explorer, feeds):
    """The result, with the structure of the call's."""
    made = getattr(explorer, "emitted", None)
    if made is None:
        made = explorer.emitted = emit(explorer)
        explorer.executor, explorer.scope = static.Executor(), static.Scope()
    values = explorer.executor.run(
        made.program, feed=feeds, fetch_list=made.fetches, scope=explorer.scope, return_numpy=False
    )
    values = iter(values)
    return build(made.structure, lambda: next(values))
