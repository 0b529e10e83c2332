"""Lists of open length, as tensor arrays of the program with a counter each."""

from dygraph.static.ways.graph import Go, Meta, Refused, reachable, short

_COUNT = Meta("int64", ())


class Arrays:
    """Writes the operators of arrays: all versions of one list are one variable."""

    def __init__(self, writer):
        self._writer, self._first, self._made, self._begun = writer, {}, {}, []
        metas = writer.metas
        for block in reachable(writer.flow.root):
            for op in block.ops:
                if op.type == "array_append":
                    self._unite(op.outs["Out"][0], op.ins["X"][0])
            if isinstance(block.end, Go):
                for uid, value in zip(block.end.block.params, block.end.args, strict=True):
                    if metas[uid].dtype == "array":
                        self._unite(uid, value)
        if any(m.dtype == "array" for m in metas.values()):
            self._check_versions(reachable(writer.flow.root), metas)

    def _check_versions(self, blocks, metas):
        """Refuse a list that grows while its earlier state is read, for example by a slice."""

        def arrays(uids):
            return {u for u in uids if not isinstance(u, str) and metas[u].dtype == "array"}

        read = {block: set() for block in blocks}  # at the start of each
        changed = True
        while changed:
            changed = False
            for block in reversed(blocks):
                live = set()
                for after in block.next():
                    live |= read[after] - set(after.params)
                if isinstance(block.end, Go):
                    live |= arrays(block.end.args)
                for op in reversed(block.ops):
                    made = arrays(u for uids in op.outs.values() for u in uids)
                    for uid in made:
                        if any(self._find(u) == self._find(uid) for u in live - {uid}):
                            raise Refused(
                                f"the list that grows at {short(op.line)} is also read as it was "
                                "before, for example through a slice. Stack it first, or loop over "
                                "a range of its length"
                            )
                    live = (live - made) | arrays(u for uids in op.ins.values() for u in uids)
                if live != read[block]:
                    read[block], changed = live, True

    def _find(self, uid):
        while self._first.get(uid, uid) != uid:
            uid = self._first[uid]
        return uid

    def _unite(self, a, b):
        a, b = self._find(a), self._find(b)
        if a != b:
            self._first[max(a, b)] = min(a, b)

    def _names(self, uid):
        """(array, counter) of a version."""
        first = self._find(uid)
        if first not in self._made:
            writer = self._writer
            self._made[first] = writer.new(Meta("array", ()), "list"), writer.new(_COUNT, "length")
        return self._made[first]

    def write(self, op):
        """One operator."""
        writer = self._writer
        kind, out = op.type, op.outs["Out"][0]
        given = op.ins.get("X", [])
        if kind == "array_new":
            array, count = self._names(out)
            writer.fill(count, 0, "int64")
            self._begun.append((array, writer.block.idx, op.line))
            for uid in given:
                self._append(array, count, writer.name(uid))
            return
        array, count = self._names(given[0])
        if kind == "array_append":
            self._append(array, count, writer.name(given[1]))
        elif kind == "array_length":
            writer.assign(count, writer.declare(out))
        elif kind == "array_read":
            ins = {"X": array, "I": writer.name(given[1])}
            writer.block.append_described(
                "read_from_array", _listed(ins), {"Out": [writer.declare(out)]}
            )
        else:
            self._not_empty(op, count)
            self._joined(op, array, out)

    def _not_empty(self, op, count):
        """The error of an eager call."""
        writer = self._writer
        zero, some = writer.new(_COUNT, "zero"), writer.new(Meta("bool", ()), "some")
        writer.fill(zero, 0, "int64")
        writer.op("greater_than", {"X": count, "Y": zero}, {"Out": some})
        kind = op.type.removeprefix("array_")
        text = f"{kind}: x must be a list of at least one Variable, got an empty one"
        attrs = {"message": text, "error": "InvalidArgumentError"}
        check = writer.op("assert", {"Cond": some}, {}, attrs)
        check.set_attr("op_callstack", [op.line])

    def _append(self, array, count, item):
        writer = self._writer
        index = writer.new(_COUNT, "index")  # the gradient reads it; the counter changes
        writer.assign(count, index)
        writer.block.append_described(
            "write_to_array", {"X": [item], "I": [index]}, {"Out": [array]}
        )
        writer.op("increment", {"X": count}, {"Out": count}, {"step": 1.0})

    def check(self, program):
        """A list that an iteration makes must end with it, or it would keep old elements."""
        loops = {op.attr("sub_block") for b in program.blocks for op in b.ops if op.type == "while"}
        for array, index, line in self._begun:
            while index >= 0 and not program.block(index).has_var(array):
                if index in loops:
                    raise Refused(
                        f"the list that an iteration makes at {short(line)} is read after the "
                        "loop. Make it before the loop, or stack it within the loop"
                    )
                index = program.block(index).parent_idx

    def _joined(self, op, array, out):
        writer = self._writer
        index = writer.new(Meta("int32", (-1,)), "sizes")
        writer.block.append_described(
            "tensor_array_to_tensor",
            {"X": [array]},
            {"Out": [writer.declare(out)], "OutIndex": [index]},
            {
                "axis": ("INT", op.attrs["axis"]),
                "use_stack": ("BOOLEAN", op.type == "array_stack"),
            },
        )


def _listed(slots):
    return {slot: [name] for slot, name in slots.items()}
