"""Writes docs/operators.md from the registry: ``python docs/operators.py``. `make docs` runs it."""

import sys
import textwrap
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import dygraph
from dygraph.static.remote import LISTEN, REMOTE

HERE = Path(__file__).parent
PAGE = HERE / "operators.md"

HEAD = """# Operators

`python docs/operators.py` writes this page from the registry. `help(dygraph.ops.NAME)` and
`dygraph.op_info("NAME")` give slots, attributes and examples.

- **dtypes**: the types that kernels take. `f`, `i`, `u` and `c` are floating-point numbers,
  integers, unsigned integers and complex numbers of so many bits; `bf16` is bfloat16.
- **gradient**: how many times the operator can be differentiated: `no`, 1, 2, 3 or `all`.
- **LoD**: the input that gives the output its level of detail; `reads` where the operator computes
  on sequences.
- **rows**: `yes` where the operator takes or gives SelectedRows, which sparse embeddings have as
  gradients.
- **libraries**: `own` kernels, and libraries whose kernels are preferred for the calls they take.
"""

# Marks of programs, which the executor carries out (static/reading.py, static/transpiler).
MARKS = {"create_py_reader", "read", LISTEN, *REMOTE}
SHORT = {"float": "f", "int": "i", "uint": "u", "complex": "c"}


def short(dtype):
    if dtype == "bool":
        return "bool"
    if dtype == "bfloat16":
        return "bf16"
    name = dtype.rstrip("0123456789")
    return SHORT[name] + dtype[len(name) :]


@cache
def info(name):
    return dygraph.op_info(name)


def kernels(name):
    """(dtypes in order of registration, libraries)."""
    dtypes, libraries = [], []
    for text in info(name).kernels:
        place, dtype, _, library = text.split(", ")
        if place != "CPUPlace":
            continue
        library = library.split()[1]
        for item, found in ((short(dtype), dtypes), (library, libraries)):
            if item not in found:
                found.append(item)
    libraries = ["own" if lib == "plain" else lib for lib in libraries]
    return dtypes, sorted(libraries, key=lambda lib: lib != "own")


def gradient(name):
    if info(name).no_gradient:
        return "no"
    order = info(name).gradient_order
    return {0: "no", None: "all"}.get(order, str(order))


def forward_operators():
    return [n for n in dygraph.op_names() if not is_gradient(n)]


def is_gradient(name):
    return name.endswith(("_grad", "_grad2")) or "_grad_" in name


def reads_lod(op):
    """Operators that compute on sequences say so where they describe their inputs."""
    texts = [s.help for s in op.inputs]
    return any(word in text for text in texts for word in ("LoD", "level of detail", "sequences"))


def row(name):
    op = info(name)
    dtypes, libraries = kernels(name)
    lod = "reads" if reads_lod(op) else ", ".join(op.shares_lod_of)
    rows = "yes" if op.has_var_type_rule or any(s.rows for s in op.inputs) else ""
    formula = op.comment.replace("|", "\\|").replace("\n", " ")
    cells = (f"`{name}`", formula, " ".join(dtypes), gradient(name), lod, rows, " ".join(libraries))
    return "| " + " | ".join(cells) + " |"


def fluid():
    """{tier: names} of docs/fluid_operators.txt."""
    tiers = {}
    for line in (HERE / "fluid_operators.txt").read_text().splitlines():
        if not line.startswith("#"):
            tier, names = line.split(":")
            tiers.setdefault(tier, []).extend(names.split())
    return tiers


def absences():
    """[(patterns of names, why they are absent)] of docs/operator_differences.txt."""
    lines = (HERE / "operator_differences.txt").read_text().splitlines()
    parts = [line.split("|") for line in lines]
    return [(p[0].split(), p[2].strip()) for p in parts if len(p) == 3 and p[1].strip() == "absent"]


def reasons(absent):
    """A line for each reason, behind its operators."""
    found = {}
    for name in absent:
        why = next(why for names, why in absences() if any(fnmatchcase(name, n) for n in names))
        found.setdefault(why, []).append(name)
    lines = [f"- {quoted(names)}: {why}." for why, names in found.items()]
    return [
        textwrap.fill(line, 100, subsequent_indent="  ", break_on_hyphens=False) for line in lines
    ]


def quoted(names):
    return ", ".join(f"`{n}`" for n in names) or "none"


def wrapped(text):
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def on_cuda():
    """The section on devices, with the CUDA backend of the tests; as it is now without one."""
    title = "## On CUDA devices"
    sys.path.append(str(HERE.parent / "tests"))
    import cuda_library

    if cuda_library.place() is None:
        text = PAGE.read_text(encoding="utf-8")
        return text[text.index(title) : text.index("## What Fluid has")].rstrip().split("\n")
    found = dygraph.cuda.device_kernels()
    own, host = found["device"], found["host"]
    text = (
        f"{len(own)} of {len(own) + len(host)} operators, those of gradients among them, have "
        "kernels of their own for a CUDAPlace: `dygraph.cuda.device_kernels()`. The host computes "
        "the others, with copies there and back:"
    )
    return [title, "", wrapped(text), "", wrapped(f"{quoted(sorted(host))}.")]


def page():
    names = forward_operators()
    known = set(dygraph.op_names())
    lines = [
        HEAD,
        f"{len(names)} operators, and {len(known) - len(names)} that compute gradients.",
        "",
    ]
    lines += [
        "| operator | formula | dtypes | gradient | LoD | rows | libraries |",
        "|---" * 7 + "|",
    ]
    lines += [row(n) for n in names]
    lines += ["", *on_cuda(), "", "## What Fluid has and this library lacks", ""]
    what = {"T1": "needed by ordinary models", "T2": "the next useful ones", "T3": "rarer ones"}
    for tier, listed in fluid().items():
        absent = [n for n in listed if n not in known | MARKS]
        here = f"{tier}, {what[tier]}: {len(listed) - len(absent)} of {len(listed)} are here."
        lines += [f"{here} Absent:" if absent else here, *reasons(absent), ""]
    beyond = sorted(set(names) - {n for listed in fluid().values() for n in listed})
    lines += [wrapped(f"Beyond Fluid: {quoted(beyond)}."), ""]
    text = f"The executor carries out {quoted(sorted(MARKS))} itself; they have no row above."
    lines += [wrapped(text), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE}: {len(forward_operators())} operators")
