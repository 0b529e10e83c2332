"""Replaces parameters of blocks that are one value on every edge by that value.

A loop makes parameters for values that an iteration might change. An unchanged one would be a
second name of the value with a sum of gradients of its own, whose terms the program would keep.
"""

from dygraph.static.ways.graph import Ask, Give, Go, reachable

__all__ = ["drop_unchanged"]


def drop_unchanged(root, metas):
    """Edit the graph from `root` on; `metas` marks arrays, which are kept."""
    blocks = reachable(root)
    written = {u for b in blocks for op in b.ops for us in op.outs.values() for u in us}
    before = {}
    for block in blocks:
        if type(block.end) is Go:
            before.setdefault(block.end.block, []).append(block.end)
    instead = {}

    def now(uid):
        while uid in instead:
            uid = instead[uid]
        return uid

    changed = True
    while changed:
        changed = False
        for block, ways in before.items():
            for place in reversed(range(len(block.params))):
                uid = block.params[place]
                values = {now(way.args[place]) for way in ways} - {uid}
                if len(values) != 1 or metas[uid].dtype == "array":
                    continue
                (value,) = values
                if isinstance(value, str) and value in written:
                    continue  # memory, which may change later
                instead[uid] = value
                _drop(block, ways, place)
                changed = True
    if instead:
        for block in blocks:
            _rename(block, now)


def _drop(block, ways, place):
    if len(block.kinds) == len(block.params):
        del block.kinds[place]
    del block.params[place], block.slots[place]
    for way in ways:
        way.args = [a for i, a in enumerate(way.args) if i != place]


def _rename(block, now):
    for op in block.ops:
        op.ins = {slot: [now(u) for u in uids] for slot, uids in op.ins.items()}
    end = block.end
    if isinstance(end, Ask):
        end.uid = now(end.uid)
    elif isinstance(end, Give):
        end.uids = [now(u) for u in end.uids]
    elif isinstance(end, Go):
        end.args = [now(a) for a in end.args]
