"""The frozen record of all operators, op_protos.json, and what of a change old models survive.

A saved program names slots and attributes of its operators. ``--rewrite`` records what was added
since; it refuses where a program that was saved before would not load or would compute something
else. ``--rewrite --break`` records that too: then old models need a conversion. ``--print`` shows
the operators of this build.
"""

import json
import pathlib
import sys

RECORD = pathlib.Path(__file__).with_name("op_protos.json")
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
            a["name"]: [a["wire_type"], _default(a["default"])] for a in op["attrs"]
        }
    return found


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
    return json.loads(RECORD.read_text())


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
    problems = list(breaks(recorded(), new)) if RECORD.exists() else []
    if problems and "--break" not in arguments:
        print("\n".join(["Models that were saved before would break:", *problems]))
        return 1
    RECORD.write_text(text_of(new))
    print(f"{RECORD}: {len(new)} operators")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
