"""Writes docs/kinds_of_python.md: ``python docs/kinds_of_python.py``.

`jit.to_static` captures each function of python_kinds.py, and its program gives the bits of the
eager call on every input of INPUTS; or it refuses the function and captures the next version.
"""

import contextlib
import inspect
import io
import re
import textwrap
from pathlib import Path

import numpy as np
from python_kinds import KINDS

import dygraph
from dygraph import jit

PAGE = Path(__file__).parent / "kinds_of_python.md"
INPUTS = [
    np.array(rows, "float32")
    for rows in (
        [[1, 2, 3], [4, -5, 6]], [[-1, -2, -3]], [[0.5, 0, 0.25], [-4, 1, 2], [0, 0, 0.5]],
        [[-9, 2, 3], [1, 1, 1], [0, 0, -1], [2, 2, 0]],
    )
]  # fmt: skip
HEAD = """# Kinds of Python that become programs

`python docs/kinds_of_python.py` writes this page from the functions of `python_kinds.py`; a test
compares them. `from_python_to_a_program.md` explains how the capture works.

Every function takes `x` of shape [n, 3], where n may differ between calls. *Captured* means that
the program gives the bits of the eager call on inputs of one to four rows, and raises if that
raises. The table lists the operators for branches, loops, checks and printing in the program.
*Refused* means that the first call raises an error; a version that is captured follows.

| kind of code | operators |
|---|---|
"""
CAPTURED = """
## Captured
"""
REFUSED = """
## Refused, and what to write instead

In these messages, lines are counted from the `def`; a real message gives the file and its line.
"""


# The page -----------------------------------------------------------------------------------------


def variables_of(result):
    """The Variables and numbers of a result, in order."""
    if isinstance(result, (list, tuple)):
        return [v for part in result for v in variables_of(part)]
    return [result]


def bits(call):
    """The results of a call in a form that can be compared, or the error that it raises."""
    dygraph.seed(1)
    try:
        found = variables_of(call())
    except Exception as error:
        return error
    return [
        (v.dtype.name, v.shape, v.numpy().tobytes()) if isinstance(v, dygraph.Variable) else v
        for v in found
    ]


def equal(got, want):
    """Whether results have equal bits, or a program's error has or names the type of eager's."""
    if isinstance(want, Exception):
        return isinstance(got, type(want)) or type(want).__name__ in str(got)
    return got == want


def outcome(function):
    """(True, the operators with blocks), or (False, the message).

    Raises
    ------
    AssertionError
        The captured function gives another result than the eager call.
    """
    captured, samples = jit.to_static(function), [dygraph.to_variable(a) for a in INPUTS]
    with dygraph.no_grad(), contextlib.redirect_stdout(io.StringIO()):
        try:
            program = captured.entry(samples[0]).program
        except RuntimeError as error:
            return False, lines_of_its_own(str(error), function)
        for x in samples:
            want, got = [bits(lambda call=call, x=x: call(x)) for call in (function, captured)]
            assert equal(got, want), f"{function.__name__}: {got} != {want}"
    found = [op.type for block in program.blocks for op in block.ops]
    return True, [t for t in ("conditional_block", "while", "assert", "print") if t in found]


def lines_of_its_own(message, function):
    """The message, with lines counted from the function's `def`."""
    first = function.__code__.co_firstlineno + 1  # the line of the decorator comes before
    place = r"\S*" + re.escape(Path(function.__code__.co_filename).name) + r":(\d+)"
    return re.sub(place, lambda m: f"line {int(m[1]) - first + 1}", message)


def shown(function, name=None):
    """The function as a block of the page."""
    lines = inspect.getsource(function).splitlines()
    text = "\n".join(line for line in lines if not line.startswith("@"))
    return f"```python\n{text.replace('  # noqa: E731', '')}\n```"


def page():
    """The text of the page."""
    rows, captured, refused = [], [], []
    for one in KINDS:
        done, found = outcome(one.function)
        assert done == (one.instead is None), f"{one.function.__name__}: {found}"
        if done:
            rows.append(f"| {one.title} | {', '.join(f'`{t}`' for t in found)} |")
            captured.append(f"### {one.title}\n\n{shown(one.function)}\n")
            continue
        done, why = outcome(one.instead)
        assert done, f"{one.instead.__name__}: {why}"
        rows.append(f"| {one.title} | refused |")
        text = textwrap.fill(found, 96, initial_indent="> ", subsequent_indent="> ")
        refused.append(
            f"### {one.title}\n\n{shown(one.function)}\n\n{text}\n\n{shown(one.instead)}\n"
        )
    return HEAD + "\n".join([*rows, CAPTURED, *captured, REFUSED, *refused])


if __name__ == "__main__":
    made = page()
    PAGE.write_text(made, encoding="utf-8")
    print(made[made.index("| kind") : made.index(CAPTURED)])
