"""How often exploring runs a function: once for each question, since ways join."""

from dygraph.static.ways.explore import Explorer, Input
from dygraph.static.ways.graph import reachable

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


def explored(questions, operators, each=10):
    function = made(function_of(questions, operators, each), f"<{questions} questions>")
    explorer = Explorer(function, [Input("x", [None, 3], "float32")])
    explorer.explore()
    return explorer


def test_a_thousand_operators_and_a_hundred_questions():
    explorer = explored(100, 1000)
    blocks = reachable(explorer.root)
    assert sum(len(b.ops) for b in blocks) >= 900
    assert explorer.runs == 101


def test_twenty_operators_and_two_questions():
    explorer = explored(2, 20, each=2)
    assert explorer.runs == 3
