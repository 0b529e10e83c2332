"""Lists that loops build."""

import dygraph

from ..cases import captured


@captured
def list_then_stack(x):
    out = []
    for r in x:
        out.append(r * 2)
    return dygraph.stack(out)


@captured
def list_then_stack_on_axis_one(x):
    out = []
    for i in range(x.shape[0]):
        out.append(x[i] + i)
    return dygraph.stack(out, axis=1)


@captured
def list_then_concat(x):
    out = [x]
    k = 0
    while x.sum() < 9:
        x = x + 1
        k += 1
        out.append(x[0:1])
    return dygraph.concat(out, axis=0)


@captured
def list_of_states(x):
    hs = [x[0]]
    for r in x:
        hs.append(hs[-1] * 0.5 + r)
    return hs[-1] + hs[0] * len(hs)


@captured
def list_is_gone_over(x):
    out = []
    for r in x:
        out.append(r)
    total = x[0] * 0
    for v in out:
        total = total + v
    for i, v in enumerate(out[1:]):
        total = total + v * i
    return total


@captured
def list_on_one_way_of_a_turn(x):
    kept = [x[0]]
    for r in x:
        if r.sum() > 0:
            kept.append(r)
    return dygraph.stack(kept)


@captured
def list_in_nested_loops(x):
    out = []
    for r in x:
        for v in r:
            out.append(v)
    return dygraph.stack(out)


@captured
def list_read_by_number(x):
    out = []
    for r in x:
        out.append(r)
    total = x[0] * 0
    for i in range(len(out)):
        total = total + out[i] * i
    return total


@captured
def read_past_the_end(x):
    out = []
    for r in x:
        out.append(r)
    return out[2]
