"""A ProgramDesc as a tree of wire fields: taken apart, changed at random and put together again.

Lengths always fit, so that damage reaches what the reader of bytes lets through. Nothing here
knows the library's own reader.
"""

import struct

# message -> field -> message inside; other fields are numbers and strings
SCHEMA = {
    "Program": {1: "Block", 3: "Map", 4: "Version"},
    "Block": {3: "Var", 4: "Op"},
    "Op": {1: "Slot", 2: "Slot", 4: "Attr"},
    "Var": {2: "Type"},
    "Type": {2: "Tensor", 3: "Lod", 4: "Lod", 5: "Reader"},
    "Lod": {1: "Tensor"},
    "Reader": {1: "Lod"},
    "Map": {1: "Pair"},
    "Pair": {2: "Info"},
}
NUMBERS = [
    0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 22, 31, 33, 127, 128, 255, 1000, 10001, 2**20, 2**31 - 1, 2**31,
    2**32 - 1, 2**32, 2**40, 2**53, 2**63 - 1, 2**63, -1, -2, -3, -7, -(2**31), -(2**63),
]  # fmt: skip
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, 3e38, float("nan"), float("inf"), float("-inf")]
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Message:
    """Fields in their order, each ``[number, wire type, value]``."""

    def __init__(self, kind, fields):
        self.kind, self.fields = kind, fields

    def walk(self):
        """Itself and every message inside."""
        yield self
        for _, _, value in self.fields:
            if isinstance(value, Message):
                yield from value.walk()


def _varint(data, at):
    if data[at] < 128:
        return data[at], at + 1
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def parse(data, kind="Program"):
    """The tree of sound bytes."""
    at, fields = 0, []
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, at = _varint(data, at)
        elif wire == BYTES:
            size, at = _varint(data, at)
            value, at = bytes(data[at : at + size]), at + size
            inside = SCHEMA.get(kind, {}).get(number)
            if inside:
                value = parse(value, inside)
        else:
            size = 8 if wire == FIXED64 else 4
            value, at = bytes(data[at : at + size]), at + size
        fields.append([number, wire, value])
    return Message(kind, fields)


_SHORT = [bytes([value]) for value in range(128)]


def copied(message):
    """A copy whose changes leave the message as it is."""
    fields = [
        [n, wire, copied(v) if isinstance(v, Message) else v] for n, wire, v in message.fields
    ]
    return Message(message.kind, fields)


def _encoded(value):
    if 0 <= value < 128:
        return _SHORT[value]
    value %= 1 << 64
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def unparse(message):
    """Its bytes."""
    out = []
    for number, wire, value in message.fields:
        out.append(_encoded(number << 3 | wire))
        if wire == VARINT:
            out.append(_encoded(value))
        elif wire == BYTES:
            value = unparse(value) if isinstance(value, Message) else value
            out += [_encoded(len(value)), value]
        else:
            out.append(value)
    return b"".join(out)


class Pool:
    """What changes draw from: the messages and strings of other programs, names of operators."""

    def __init__(self, programs, op_types):
        self.messages, self.strings = {}, []
        for tree in map(parse, programs):
            for message in tree.walk():
                for field in message.fields:
                    if isinstance(field[2], Message):
                        self.messages.setdefault(field[2].kind, []).append(field)
                    elif field[1] == BYTES:
                        self.strings.append(field[2])
        self.op_types = [name.encode() for name in op_types]


def _copy(field):
    value = field[2]
    if isinstance(value, Message):
        value = Message(value.kind, [_copy(f) for f in value.fields])
    return [field[0], field[1], value]


def _string(r, old, message, number, strings, pool):
    p = r.random()
    if message.kind == "Op" and number == 3 and p < 0.8:
        return r.choice(pool.op_types)
    if p < 0.6:
        return r.choice(strings)
    if p < 0.8:
        return r.choice(pool.strings)
    if p < 0.9 and old:
        at = r.randrange(len(old))
        return old[:at] + bytes([r.randrange(256)]) + old[at + 1 :]
    return r.choice([b"", b"@EMPTY@", b"x" * 1024, b"x" * 1025, b"a/b", b"../x", b"\0", b"\xff"])


_VALUES = {"Attr": range(3, 16), "Slot": (2,), "Tensor": (2,), "Lod": (2,), "Op": (3,), "Var": (3,)}


def edit(r, tree, pool):
    """Change one value that operators see: an attribute, an argument, a size, a type."""
    kind = r.choice(["Attr", "Attr", "Attr", "Slot", "Slot", "Tensor", "Lod", "Op", "Var"])
    messages = list(tree.walk())
    fields = [(m, f) for m in messages if m.kind == kind for f in m.fields if f[0] in _VALUES[kind]]
    if not fields:
        return
    message, field = r.choice(fields)
    if field[1] == VARINT:
        near = [field[2] + 1, field[2] - 1, field[2] ^ 1, r.randrange(5)]
        field[2] = r.choice(near if r.random() < 0.6 else NUMBERS)
    elif field[1] == FIXED32:
        field[2] = struct.pack("<f", r.choice(FLOATS))
    elif kind == "Op":
        field[2] = r.choice(pool.op_types)
    elif kind == "Slot":
        field[2] = r.choice([f[2] for m in messages if m.kind == "Slot" for f in m.fields[1:]])
    elif r.random() < 0.3 and len(message.fields) > 3:
        message.fields.remove(field)
    else:
        field[2] = r.choice(pool.strings)


def mutate(r, tree, pool):
    """Change one thing, of any kind."""
    messages = list(tree.walk())
    strings = [f[2] for m in messages for f in m.fields if isinstance(f[2], bytes)] or [b"x"]
    attrs = [m for m in messages if m.kind in ("Attr", "Slot", "Tensor")]
    message = r.choice(attrs if attrs and r.random() < 0.5 else messages)
    fields = message.fields
    kind = r.random()
    if kind < 0.55 and fields:
        field = r.choice(fields)
        number, wire, value = field
        if isinstance(value, Message):
            field[2] = _copy(r.choice(pool.messages.get(value.kind, [field])))[2]
        elif wire == VARINT:
            near = [value + 1, value - 1, value ^ 1, -value, r.randrange(32)]
            field[2] = r.choice(near if r.random() < 0.5 else NUMBERS)
        elif wire == BYTES:
            field[2] = _string(r, value, message, number, strings, pool)
        elif wire == FIXED32:
            field[2] = struct.pack("<f", r.choice(FLOATS))
    elif kind < 0.67 and fields:
        del fields[r.randrange(len(fields))]
    elif kind < 0.77 and fields:
        fields.insert(r.randrange(len(fields) + 1), _copy(r.choice(fields)))
    elif kind < 0.82 and len(fields) > 1:
        i, j = r.randrange(len(fields)), r.randrange(len(fields))
        fields[i], fields[j] = fields[j], fields[i]
    elif kind < 0.92:
        inside = r.choice(list(SCHEMA.get(message.kind, {}).values()) or ["Op"])
        inside = inside if inside in pool.messages else "Op"
        fields.insert(r.randrange(len(fields) + 1), _copy(r.choice(pool.messages[inside])))
    elif kind < 0.97:
        value = r.choice([*NUMBERS, r.randrange(32)])
        fields.insert(r.randrange(len(fields) + 1), [r.randrange(1, 18), VARINT, value])
    elif fields:
        del fields[r.randrange(len(fields)) :]
