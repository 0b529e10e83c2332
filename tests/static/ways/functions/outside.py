"""Functions that change what lives on, or cannot be captured."""

import math

import numpy as np

import dygraph

from ..cases import captured, refused

COUNTS = []
TABLE = {"scale": 2.0}
CALLS = 0


@captured
def reads_globals(x):
    return x * TABLE["scale"] + math.pi


@captured
def numpy_constant(x):
    w = dygraph.to_variable(np.arange(3, dtype="float32"))
    if x.sum() > 0:
        x = x * w
    return x + w


@captured
def array_beside_a_value(x):
    return x + np.array([1.0, 2.0, 3.0], "float32")


@refused("the function changes COUNTS at outside.py:36, which lives on after the call")
def changes_a_list_outside(x):
    COUNTS.append(1)
    return x


@refused("the function changes TABLE")
def changes_a_dict_on_one_way(x):
    if x.sum() > 0:
        TABLE["scale"] = 3.0
    return x


@refused("the function changes CALLS")
def counts_its_calls(x):
    global CALLS
    CALLS += 1
    return x * CALLS


@refused("numpy() of a value at")
def reads_a_value(x):
    return x * float(x.sum().numpy())


@refused("item() of a value at")
def reads_an_item(x):
    try:
        return x * x.sum().item()
    except Exception:
        return x


@captured
def kinds_of_numbers_and_variables(x):
    n = x.shape[0]
    k = 2 if type(n) is int and isinstance(n, int) and not isinstance(n, float) else 3
    return x * (k if type(x) is dygraph.Variable and isinstance(x, dygraph.Variable) else 5)


@refused("the error at outside.py:")
def text_of_an_error_is_handled(x):
    try:
        if x.sum() > 0:
            raise ValueError(f"sum is {x.sum()}")
    except ValueError as error:
        return x if "1" in str(error) else x * 2
    return x


@captured
def error_without_values_is_handled(x):
    try:
        if x.sum() > 0:
            raise ValueError(f"{1 + 1}")
    except ValueError as error:
        return x * len(str(error))
    return x


@refused("the text of a Variable of shape [] at")
def makes_text_of_a_value(x):
    return x if str(x.sum()) else x * 2


@refused("the text of a Variable of shape [] at")
def formats_a_value(x):
    text = f"{x.sum()}"
    return x if text else x * 2


@refused("paths end with different results: (Variable, Variable) at outside.py:")
def different_results(x):
    if x.sum() > 0:
        return x, x
    return x


@refused("paths end with different results: 'a' at")
def different_texts(x):
    return "a" if x.sum() > 0 else "b"


@captured
def different_numbers(x):
    return (x, 2) if x.sum() > 0 else (x, 3)


@captured
def results_in_containers(x):
    out = {"y": x, "k": [1, (x + 1, None)], "name": "n"}
    if x.sum() > 0:
        out["y"] = x * 2
    return out


@refused("recursion depends on a value at outside.py:")
def recursion_on_values(x):
    def f(v):
        return v if v.sum() > 5 else f(v + 1)

    return f(x)


@refused("the function does not do the same twice")
def random_in_python(x):
    return x * np.random.rand()


@refused("to_static: the function does")
def layer_made_inside(x):
    return dygraph.nn.Linear(3, 2)(x)


@refused("print() of plain text")
def prints_text(x):
    print("forward")
    return x


@refused("results must be")
def gives_an_object(x):
    return object()
