"""The frozen records of operators, a protos.json a family, and what of a change old models survive.

A saved program names slots and attributes of its operators. ``make protos`` records what was added
since; it refuses where a program that was saved before would not load or would compute something
else. By hand: ``--rewrite`` does the same, ``--rewrite --break`` records that too, and then old
models need a conversion. ``--print`` shows the operators of this build.
"""

import json
import pathlib
import struct
import sys

RECORDS = pathlib.Path(__file__).parents[1] / "operators"
FLAGS = ("duplicable", "dispensable", "intermediate", "extra")


def protos():
    """{operator: {"inputs": {slot: flags}, "outputs": ..., "attrs": {name: [type, default]}}}."""
    from dygraph import _core

    found = {}
    for name in sorted(_core.op_names()):
        op = _core.describe_op(name)
        found[name] = {
            side: {s["name"]: [f for f in FLAGS if s[f]] for s in op[side]}
            for side in ("inputs", "outputs")
        }
        found[name]["attrs"] = {
            a["name"]: [a["wire_type"], _default(_on_the_wire(a))] for a in op["attrs"]
        }
    return found


def _on_the_wire(attr):
    """The default as a file holds it: a FLOAT rounds the double of an operator on float64."""
    value = attr["default"]
    if attr["wire_type"] != 1:
        return value
    return struct.unpack("f", struct.pack("f", value))[0]


def _default(value):
    """What JSON can hold and compares exactly: NaN, infinities and -0.0 too."""
    if isinstance(value, (list, tuple)):
        return [_default(v) for v in value]
    if isinstance(value, float):
        return repr(value)
    return value if isinstance(value, (bool, int, str, type(None))) else str(value)


def text_of(record):
    lines = [f"{json.dumps(name)}: {json.dumps(record[name])}" for name in sorted(record)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def recorded():
    """What the records of all families hold together."""
    return {
        name: proto
        for path in sorted(RECORDS.glob("*/protos.json"))
        for name, proto in json.loads(path.read_text()).items()
    }


def families(record):
    """{family: its part of the record}, by the folders that the operators' files lie in."""
    from dygraph import _core

    parts = {}
    for name in record:
        family = pathlib.PurePath(_core.describe_op(name)["file"]).parent.name
        parts.setdefault(family, {})[name] = record[name]
    return parts


def breaks(old, new):
    """Changes that a program saved before does not survive."""
    for name in old:
        if name not in new:
            yield f"{name}: the operator is gone"
            continue
        for side in ("inputs", "outputs"):
            yield from _slots(name, side[:-1], old[name][side], new[name][side])
        was, now = old[name]["attrs"], new[name]["attrs"]
        for attr in was:
            if attr not in now:
                yield f"{name}: the attribute {attr} is gone"
            elif was[attr] != now[attr]:
                yield f"{name}: the attribute {attr} had type, default {was[attr]}, now {now[attr]}"


def _slots(name, side, was, now):
    for slot, flags in was.items():
        if slot not in now:
            yield f"{name}: the {side} {slot} is gone"
        else:
            for flag in flags:
                if flag not in now[slot]:
                    yield f"{name}: the {side} {slot} is no longer {flag}"
    free = ("dispensable",) if side == "input" else ("dispensable", "intermediate", "extra")
    for slot, flags in now.items():
        if slot not in was and not set(free) & set(flags):
            yield f"{name}: the new {side} {slot} must be there"


def main(arguments):
    new = protos()
    if arguments == ["--print"]:
        print(json.dumps(new))
        return 0
    if arguments not in (["--rewrite"], ["--rewrite", "--break"]):
        print(__doc__)
        return 2
    problems = list(breaks(recorded(), new))
    if problems and "--break" not in arguments:
        print("\n".join(["Models that were saved before would break:", *problems]))
        return 1
    for family, part in families(new).items():
        (RECORDS / family / "protos.json").write_text(text_of(part))
    print(f"{RECORDS}/*/protos.json: {len(new)} operators")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
