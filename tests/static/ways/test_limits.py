"""How long exploring takes."""

import time

from static.ways.explore import Explorer, Input
from static.ways.graph import reachable

from .random_functions import made


def function_of(questions, operators, each=10):
    """Text of a function with so many questions, `each` of them in a helper."""
    out = []
    for first in range(0, questions, each):
        out.append(f"def part{first}(x):")
        for i in range(first, first + each):
            out += [f"    if x.sum() > {i}:", "        x = x * 1.01", "    else:"]
            out.append("        x = x + 0.1")
            out += ["    x = x * 0.99 + 0.01"] * ((operators // questions - 5) // 2)
        out.append("    return x")
    calls = [f"    x = part{first}(x)" for first in range(0, questions, each)]
    return "\n".join([*out, "def f(x):", *calls, "    return x", ""])


def explored_in(questions, operators, each=10):
    function = made(function_of(questions, operators, each), f"<{questions} questions>")
    explorer = Explorer(function, [Input("x", [None, 3], "float32")])
    start = time.process_time()
    explorer.explore()
    return explorer, time.process_time() - start


def test_a_thousand_operators_and_a_hundred_questions():
    explorer, seconds = explored_in(100, 1000)
    blocks = reachable(explorer.root)
    assert sum(len(b.ops) for b in blocks) >= 900
    assert explorer.runs == 101  # ways join, so each question costs one run
    assert seconds < 9  # 3 s are meant; other processes share the machine


def test_twenty_operators_and_two_questions():
    explorer, seconds = explored_in(2, 20, each=2)
    assert explorer.runs == 3
    assert seconds < 0.2
