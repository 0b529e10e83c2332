"""A function of Fluid's room and of `dygraph.ops` with the same arguments has one body."""

import ast
import inspect
import textwrap

from dygraph import _core, ops
from dygraph.static import layers

TWO = {
    "rank",  # a variable of a program, and a number
    "square_error_cost",  # Fluid's broadcasts
}


def calls(function):
    """The functions that a Python function calls and operators it runs; None of an operator."""
    function = inspect.unwrap(function)
    if not inspect.isfunction(function):
        return None
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    called = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = {getattr(c.func, "attr", getattr(c.func, "id", None)) for c in called}
    run = [c.args[0] for c in called if getattr(c.func, "id", None) == "run"]
    return names | {operator.value for operator in run if isinstance(operator, ast.Constant)}


def test_one_is_the_other_or_calls_it():
    both = [name for name in layers.__all__ if name in ops.__all__]
    two = set()
    for name in both:
        fluids, own = (inspect.unwrap(getattr(room, name)) for room in (layers, ops))
        same = inspect.signature(fluids) == inspect.signature(own)
        composed = calls(own) is not None and own is not getattr(_core.ops, name, None)
        if same and composed and fluids is not own and name not in calls(fluids):
            two.add(name)
    assert two == TWO and len(both) > 200
