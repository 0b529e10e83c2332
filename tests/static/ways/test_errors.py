"""What a refusal says: the rule, the line, and how to write it instead."""

import importlib.util
import textwrap

import pytest

from dygraph.static.ways.explore import Explorer, Input
from dygraph.static.ways.graph import Raise, Refused, reachable
from refusals import unhelpful

CASES = {
    "loop": (
        """\
        def forward(x):
            mode = "a"
            while x.sum() < 5:
                x = x + 1
                mode = "b"
            return x if mode == "a" else -x
        """,
        "to_static: the loop at model.py:3 in forward cannot become a while: an iteration changes "
        "'mode' from 'a' to 'b', neither a Variable nor a number. Bind it before the loop, or "
        "loop over Python values",
    ),
    "an argument in place": (
        """\
        def forward(x):
            x += 1
            return x * 2
        """,
        "to_static: the function changes 'x' at model.py:2 in forward, which lives on after the "
        "call; a program cannot. Return it, or keep it with register_buffer",
    ),
    "loop without source": (
        """\
        text = "def halved(x):\\n    while x.sum() > 1:\\n        x = x / 2\\n    return x"
        exec(compile(text, "lib.py", "exec"))
        def forward(x):
            return halved(x)
        """,
        "to_static: code without source loops on a value at lib.py:2. Only a loop whose source "
        "can be read becomes a while. Write it in a file",
    ),
    "rows without a loop": (
        """\
        def forward(x):
            return list(x)[0]
        """,
        "to_static: a Variable whose length is known when the program runs is iterated at "
        "model.py:2, but not by a for statement. Only a for statement becomes a while. Write one",
    ),
    "recursion": (
        """\
        def forward(x):
            def descend(x):
                return x if x.sum() > 5 else descend(x + 1)
            return descend(x)
        """,
        "to_static: recursion depends on a value at model.py:3 in descend. Write it as a loop",
    ),
    "types": (
        """\
        def forward(x):
            while x.sum() < 5:
                x = x.astype("float64") + 1
            return x
        """,
        "to_static: 'x' is float32 before the loop at model.py:2 and float64 after an "
        "iteration (made at model.py:3). Give both one type with astype()",
    ),
    "results": (
        """\
        def forward(x):
            if x.sum() > 0:
                return x, x
            return x
        """,
        "to_static: paths end with different results: (Variable, Variable) at model.py:3 and "
        "Variable at model.py:4. Return the same structure on each",
    ),
    "outside": (
        """\
        class Model:
            calls = 0
            def __init__(self):
                self.calls = 0
            def forward(self, x):
                self.calls += 1
                return x
        forward = Model().forward
        """,
        "to_static: the function changes self.calls at model.py:6, which lives on after the call; "
        "a program cannot. Return it, or keep it with register_buffer",
    ),
    "not the same twice": (
        """\
        import random, dygraph
        def forward(x):
            if random.random() < draws.pop():
                return dygraph.relu(x)
            return dygraph.exp(x)
        class Draws(list):
            pop = lambda self: next(numbers)
        numbers = iter([2, 0, 2, 0])
        draws = Draws()
        """,
        "to_static: the function does not do the same twice: it called exp at model.py:5 where the "
        "first run called relu at model.py:4. Does it keep something in Python from one call to "
        "the next? Pass that as an argument",
    ),
    "read": (
        """\
        def forward(x):
            return x * float(x.sum().numpy())
        """,
        "to_static: numpy() of a value at model.py:2 cannot become part of a program. Compute with "
        "operators, or return it",
    ),
    "size": (
        """\
        def forward(x):
            return x * "ab".count("a" * x.shape[0])
        """,
        "the size of axis 0 of 'x' is known when the program runs: code that needs an int at "
        "model.py:2 cannot read it. Use it in arithmetic, comparisons and range(), which take it "
        "as it is",
    ),
    "alias": (
        """\
        def forward(x):
            z = x * 2
            y = z
            if x.sum() > 0:
                y = x * 3
            y[0] = 1.0
            return y + z
        """,
        "to_static: 'y' is written in place at model.py:6, but on one path it is the same Variable "
        "as 'z' and on another it is not. Take a copy before: y = z.clone()",
    ),
    "ways": (
        """\
        def forward(x):
            k = ""
            for i in range(9):
                if x.sum() > i:
                    k = k + "a"
                else:
                    k = k + "b"
            return x * len(k)
        """,
        "to_static: more than 40 paths, with branches at model.py:4. The paths of model.py:4 do "
        "not join because 'k' is ",
    ),
}


def forward_of(source, folder):
    """The function of a file ``model.py``."""
    file = folder / "model.py"
    file.write_text(textwrap.dedent(source))
    spec = importlib.util.spec_from_file_location("model", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.forward


@pytest.mark.parametrize("name", CASES)
def test_text(name, tmp_path):
    source, text = CASES[name]
    explorer = Explorer(forward_of(source, tmp_path), [Input("x", [None, 3], "float32")])
    explorer.max_ways = 40 if name == "ways" else explorer.max_ways
    with pytest.raises(Refused) as refusal:
        explorer.explore()
    said = str(refusal.value)
    want = said[: len(text)] if name == "ways" else said
    assert want == text
    assert unhelpful(said, "model.py", "lib.py") is None


def test_a_handler_of_the_user_cannot_take_a_refusal_back(tmp_path):
    source = """\
    def forward(x):
        try:
            return x * float(x.sum().numpy())
        except BaseException:
            return x
    """
    explorer = Explorer(forward_of(source, tmp_path), [Input("x", [None, 3], "float32")])
    with pytest.raises(Refused, match="numpy\\(\\) of a value at model.py:3"):
        explorer.explore()


def test_text_of_values_in_an_error_that_leaves(tmp_path):
    source = """\
    def forward(x):
        assert x.shape[0] < 4, f"got {x.shape[0]} rows"
        if x.sum() > 0:
            raise ValueError("sum %s" % (x.sum(),))
        return x
    """
    explorer = Explorer(forward_of(source, tmp_path), [Input("x", [None, 3], "float32")])
    explorer.explore()
    ends = [b.end for b in reachable(explorer.root) if isinstance(b.end, Raise)]
    assert {(e.type, e.args) for e in ends} == {
        (AssertionError, ("got <the size of axis 0 of 'x'> rows",)),
        (ValueError, ("sum <a Variable of shape []>",)),
    }


def test_an_error_before_any_question_is_the_users(tmp_path):
    source = """\
    def forward(x):
        raise KeyError("mine")
    """
    explorer = Explorer(forward_of(source, tmp_path), [Input("x", [None, 3], "float32")])
    with pytest.raises(KeyError, match="mine"):
        explorer.explore()


def test_what_a_refused_run_changed_is_brought_back(tmp_path):
    source = """\
    kept = {"a": [1]}
    def forward(x):
        kept["a"].append(2)
        kept["b"] = x
        return x
    forward.kept = kept
    """
    forward = forward_of(source, tmp_path)
    with pytest.raises(Refused, match="lives on after the call"):
        Explorer(forward, [Input("x", [None, 3], "float32")]).explore()
    assert forward.kept == {"a": [1]}
