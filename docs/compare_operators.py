"""Writes docs/operators_beside_paddle.md: ``python docs/compare_operators.py``.

Compares the operators of Fluid's three tiers with the record of Fluid 1.8.5 (fluid_slots.txt) and
with what Paddle 2.6.2 said of its own (paddle_operators.json, written by read_paddle.py, which needs
Paddle). Each difference needs a reason in operator_differences.txt; ``--open`` lists the others.
"""

import json
import sys
import textwrap
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

import dygraph
from dygraph import _core

HERE = Path(__file__).parent
PAGE = HERE / "operators_beside_paddle.md"
WIRE = (
    "INT", "FLOAT", "STRING", "INTS", "FLOATS", "STRINGS", "BOOLEAN", "BOOLEANS", "BLOCK", "LONG",
    "BLOCKS", "LONGS", "FLOAT64S", "VAR", "VARS", "FLOAT64", "SCALAR", "SCALARS",
)  # fmt: skip

HEAD = """# Operators beside Paddle's

`python docs/compare_operators.py` writes this page. It compares the operators of Fluid's three
tiers with Fluid 1.8.5's protos (`fluid_slots.txt`) and with Paddle 2.6.2's
(`paddle_operators.json`: protos, defaults, CPU kernels, and for tiers T1 and T2 the ranks that
Paddle took when they were tried). A test repeats
the comparison and fails where a difference has no reason in `operator_differences.txt`.

The page lists what a program written for Paddle might miss. Types and ranks that only this library
takes are left out. An item says:

| item | meaning |
|---|---|
| `input S`, `output S`, `attr A` | Paddle (or Fluid) has it, this library does not |
| `own input S`, `own attr A` | this library has it, Paddle (or Fluid) does not |
| `needs S` | S is required here and optional in Paddle (or Fluid) |
| `list S` | one of the two takes a list |
| `type A`, `default A` | an attribute's type or default differs: ours, theirs |
| `tensor A` | Paddle takes a variable in place of the attribute |
| `dtype T` | Paddle has a kernel for the element type, this library has none |
| `ranks R` | ranks of the inputs, one digit each, that Paddle takes and this library refuses |
"""


def fluid():
    """{operator: (inputs, outputs, attributes)}; slots as {name: flags}."""
    found = {}
    for line in (HERE / "fluid_slots.txt").read_text().splitlines():
        if not line.startswith("#"):
            name, rest = line.split(":", 1)
            sides = [part.split() for part in (rest + " ").split("|")]
            slots = [{s.rstrip("*?~"): s[len(s.rstrip("*?~")) :] for s in side} for side in sides]
            found[name] = (slots[0], slots[1], sides[2])
    return found


def paddle():
    return json.loads((HERE / "paddle_operators.json").read_text())


def tiers():
    """The operators of Fluid's three tiers, in order."""
    names = []
    for line in (HERE / "fluid_operators.txt").read_text().splitlines():
        if not line.startswith("#"):
            names += line.split(":")[1].split()
    return names


def reasons():
    """[(operators, items, reason)] as patterns, in order: the first that fits counts."""
    rows = []
    for line in (HERE / "operator_differences.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            rows.append(tuple(part.strip() for part in line.split("|", 2)))
    return rows


# Differences --------------------------------------------------------------------------------------


def dtypes(name):
    return {text.split(", ")[1] for text in dygraph.op_info(name).kernels}


def letters(slot):
    flags = {"duplicable": "*", "dispensable": "?", "intermediate": "~", "extra": "~"}
    return "".join(letter for flag, letter in flags.items() if slot[flag])


def slot_items(side, ours, theirs, old):
    for slot in [*theirs, *(s for s in old if s not in theirs)]:
        if slot not in ours:
            yield f"{side} {slot}"
            continue
        flags = theirs.get(slot, old.get(slot))
        if ("*" in flags) != ("*" in ours[slot]):
            yield f"list {slot}"
        may_be_absent = "?" in flags or (slot in theirs and "?" in old.get(slot, ""))
        if side == "input" and may_be_absent and "?" not in ours[slot]:
            yield f"needs {slot}"
    for slot in ours:
        if slot not in theirs and slot not in old:
            yield f"own {side} {slot}"


def same(ours, theirs):
    def number(v):
        return np.float32(float(v)) if isinstance(v, (int, float)) else v

    if isinstance(ours, (list, tuple)) and isinstance(theirs, list):
        return [number(v) for v in ours] == [number(v) for v in theirs]
    if isinstance(theirs, str) and not isinstance(ours, str):
        theirs = float(theirs)  # an infinity
    return number(ours) == number(theirs)


def attr_items(ours, theirs, old):
    for name in [*theirs, *(a for a in old if a not in theirs)]:
        if name not in ours:
            yield f"attr {name}"
            continue
        if name not in theirs:
            continue
        type_, default, *more = theirs[name]
        field = ours[name]
        if WIRE[type_] != WIRE[field["wire_type"]]:
            yield f"type {name}: {WIRE[field['wire_type']]}, {WIRE[type_]}"
        if default != "None" and not same(field["default"], default):
            yield f"default {name}: {shown(field['default'])}, {shown(default)}"
        if more and not field["may_be_open"]:
            yield f"tensor {name}"
    for name in ours:
        if name not in theirs and name not in old:
            yield f"own attr {name}"


def shown(value):
    if isinstance(value, str):
        return f"'{value}'"
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def takes(name, op, ranks, tried):
    """Whether our operator computes inputs of these ranks, all sizes 2."""
    lists = {slot["name"] for slot in op["inputs"] if slot["duplicable"]}
    known = {attr["name"] for attr in op["attrs"]}
    given = {}
    for slot, rank, dtype in zip(tried["slots"], ranks, tried["types"], strict=True):
        value = np.full([2] * int(rank), 0.5 if dtype == "float32" else 1, dtype)
        variable = dygraph.to_variable(value)
        given[slot] = [variable, variable] if slot in lists else variable
    attrs = {a: v for a, v in tried.get("attrs", {}).items() if a in known}
    try:
        dygraph.run_op(name, given, attrs)
    except dygraph.errors.DygraphError:
        return False
    return True


def rank_items(name, op, tried):
    refused = [ranks for ranks in tried["takes"] if not takes(name, op, ranks, tried)]
    if refused:
        yield "ranks " + " ".join(refused)


def differences(name, old, new):
    """What differs in one operator; None where this library has it not."""
    if name not in dygraph.op_names():
        return None
    op = _core.describe_op(name)
    ours = {side: {s["name"]: letters(s) for s in op[side]} for side in ("inputs", "outputs")}
    attrs = {a["name"]: a for a in op["attrs"]}
    their = new or {"inputs": {}, "outputs": {}, "attrs": {}, "dtypes": []}
    was = old or ({}, {}, [])
    items = [
        *slot_items("input", ours["inputs"], their["inputs"], was[0]),
        *slot_items("output", ours["outputs"], their["outputs"], was[1]),
        *attr_items(attrs, their["attrs"], was[2]),
        *(f"dtype {t}" for t in their["dtypes"] if t not in dtypes(name)),
    ]
    if "ranks" in their:
        items += rank_items(name, op, their["ranks"])
    return items


def explained():
    """[(operator, [(item, number of its reason or None)])], None for absent operators' items."""
    rules, old, new = reasons(), fluid(), paddle()
    rows = []
    for name in tiers():
        items = differences(name, old.get(name), new.get(name))
        if items is None:
            items = ["absent"]
        rows.append((name, [(item, _reason(rules, name, item)) for item in items]))
    return rules, rows


def _reason(rules, name, item):
    for number, (operators, items, _) in enumerate(rules):
        fits = any(fnmatchcase(name, pattern) for pattern in operators.split())
        if fits and any(fnmatchcase(item, i.strip()) for i in items.split(";")):
            return number
    return None


# The page -----------------------------------------------------------------------------------------


def page():
    rules, rows = explained()
    lines = [HEAD, "## Operator by operator", "", "| operator | differs in | because |",
             "|---|---|---|"]  # fmt: skip
    everywhere = {}
    for name, items in rows:
        grouped = {}
        for item, number in items:
            if number is not None and rules[number][0] == "*":
                everywhere.setdefault(number, {}).setdefault(item, []).append(name)
            else:
                grouped.setdefault(number, []).append(item)
        for number, listed in grouped.items():
            reason = "**no reason yet**" if number is None else rules[number][2]
            cells = (f"`{name}`", ", ".join(f"`{item}`" for item in listed), reason)
            lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "## The same in many operators", "", "| differs in | operators | because |",
              "|---|---|---|"]  # fmt: skip
    for number in sorted(everywhere):
        found = everywhere[number]
        names = sorted({name for listed in found.values() for name in listed})
        text = ", ".join(f"`{n}`" for n in names) if len(names) <= 12 else f"{len(names)} operators"
        items = ", ".join(f"`{item}`" for item in sorted(found))
        lines.append(f"| {items} | {text} | {rules[number][2]} |")
    alike = [name for name, items in rows if not items]
    text = f"{len(alike)} of {len(rows)} operators differ in nothing: "
    text += ", ".join(f"`{n}`" for n in alike) + "."
    lines += ["", "## Alike", "", *textwrap.wrap(text, 100), ""]
    return "\n".join(lines)


def unexplained():
    return [f"{name}: {item}" for name, items in explained()[1] for item, n in items if n is None]


def unused():
    """Reasons for differences that are no more."""
    rules, rows = explained()
    used = {number for _, items in rows for _, number in items}
    return [" | ".join(rule) for number, rule in enumerate(rules) if number not in used]


if __name__ == "__main__":
    if sys.argv[1:] == ["--open"]:
        print("\n".join(unexplained()))
    else:
        PAGE.write_text(page(), encoding="utf-8")
        print(f"{PAGE}: {len(unexplained())} differences without a reason, {len(unused())} unused")
