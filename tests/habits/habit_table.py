"""The table of habits: lines that users of other libraries type first, and what they give.

``<library>.txt`` holds paragraphs. One that begins with ``#`` is a heading. Any other is a habit:
the lines as typed there, the last an expression; then, where they raise here,

    ! a part of the message, which names our spelling
    = the lines to write here

where libraries contradict each other, so that the lines neither raise nor agree,

    ? whose meaning they have here
    = the lines to write here

and for Fluid, which no longer installs,

    ~ its formula in NumPy

The names that a library's users import stand for ours when a habit runs here: ``torch`` is
`dygraph`. ``record.py`` runs the lines in the library itself and keeps their values in
``recorded/<library>.json``; ``test_habits.py`` runs them here; ``docs/coming_from.py`` makes pages
of them.
"""

import ast
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

HERE = Path(__file__).parent
LIBRARIES = ("numpy", "torch", "keras", "jax", "fluid", "paddle")

# What stands in the lines beside a library's names; a, d, v and w hold floats.
ARRAYS = {
    "a": np.array([[1, 2, 3], [4, 5, 6]], "float32"),
    "d": np.array([[2, 0.5, 1], [1, 4, 2]], "float32"),
    "v": np.array([1, -2, 3], "float32"),
    "w": np.array([1, 2, 3], "float32"),  # needs a gradient, where the library has that flag
    "n": np.array([2, 0, 1], "int64"),
    "b": np.array([True, False, True]),
    "img": np.arange(16, dtype="float32").reshape(1, 1, 4, 4),
}

# Our modules by the names that users of a library import.
OURS = {
    "numpy": {"np": "dygraph"},
    "torch": {
        "torch": "dygraph",
        "nn": "dygraph.nn",
        "F": "dygraph.nn.functional",
        "optim": "dygraph.optimizer",
    },
    "keras": {"keras": "dygraph", "layers": "dygraph.nn", "ops": "dygraph"},
    "jax": {"jax": "dygraph", "jnp": "dygraph"},
    "fluid": {"fluid": "dygraph.static"},
    "paddle": {"paddle": "dygraph", "nn": "dygraph.nn", "F": "dygraph.nn.functional"},
}


class Habit(NamedTuple):
    """Lines as typed in a library, and what they give here."""

    heading: str
    code: str
    hint: str  # a part of the message, where they raise here
    other: str  # whose meaning the lines have here, where it is another
    here: str  # what to write instead; may be empty
    formula: str  # in NumPy, for a library that cannot be run


def habits(library):
    """The habits of a library, in the order of its file."""
    found, heading = [], ""
    for paragraph in (HERE / f"{library}.txt").read_text().split("\n\n"):
        lines = paragraph.strip("\n").splitlines()
        if not lines or not lines[0]:
            continue
        if lines[0].startswith("# "):
            heading = lines[0][2:]
            continue
        parts = {mark: [] for mark in " !?=~"}
        for line in lines:
            mark = line[0] if line[:2] in ("! ", "? ", "= ", "~ ") else " "
            parts[mark].append(line if mark == " " else line[2:])
        found.append(Habit(heading, *("\n".join(parts[mark]) for mark in " !?=~")))
    return found


def recorded(library):
    """{code: what the library gave}."""
    return json.loads((HERE / "recorded" / f"{library}.json").read_text())


def run(code, names):
    """The value of the last line, an expression. The others run before."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<habit>", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), code, "eval"), names)


def plain(value):
    """`value` as JSON keeps it: arrays with shape and type, numbers, text, lists of these."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, int):  # our `x.size`
        return int(value)
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    name = getattr(value, "name", None)
    if isinstance(value, np.dtype) or (type(value).__name__ == "dtype" and name):
        return name
    if type(value).__name__ in ("dtype", "DataType", "VarType", "_ScalarMeta"):
        return str(value).rsplit(".", 1)[-1].lower()
    if not isinstance(value, (np.ndarray, np.generic)):
        value = value.detach() if hasattr(value, "detach") else value
        if not hasattr(value, "__array__"):
            return {"is": type(value).__name__}
        value = value.__array__()
    value = np.asarray(value)
    return {"shape": list(value.shape), "dtype": str(value.dtype), "values": value.tolist()}
