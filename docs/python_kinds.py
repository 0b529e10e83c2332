"""Kinds of Python code for docs/kinds_of_python.md, which shows how `jit.to_static` captures each.

Every function takes `x` of shape [n, 3]. A function that is refused is followed by one that
computes the same and is captured.
"""

import numpy as np

import dygraph

KINDS = []


class Kind:
    """A title, a function, and, if the function is refused, a version that is captured."""

    def __init__(self, title, function):
        self.title, self.function, self.instead = title, function, None


def kind(title):
    """Add a function under a title."""

    def add(function):
        KINDS.append(Kind(title, function))
        return function

    return add


def instead(function):
    """Add the captured version of the last function, which is refused."""
    KINDS[-1].instead = function
    return function


# Captured -----------------------------------------------------------------------------------------


@kind("`if` on a value")
def if_on_a_value(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y


@kind("conditional expression")
def conditional_expression(x):
    return x * 2 if x.sum() > 0 else x - 1


@kind("`and`, `or`, `not`: the right operand runs only if Python runs it")
def and_or_not(x):
    if x.sum() > 0 and not x.max() > 3 or x.shape[0] == 1:
        x = x * 2
    return x


@kind("early `return`")
def early_return(x):
    if x.sum() > 0:
        return x
    y = x * 2
    if y.min() < -8:
        return y
    return y - 1


@kind("`while` on a value")
def while_on_a_value(x):
    while x.max() < 10:
        x = x * 1.5 + 1
    return x


@kind("`for` over `range` of a size")
def for_over_a_size(x):
    total = x[0] * 0
    for i in range(x.shape[0]):
        total = total + x[i] * i
    return total


@kind("`for` over rows, with `enumerate` and `zip`")
def for_over_rows(x):
    total = x[0] * 0
    for i, (row, other) in enumerate(zip(x, x * 2, strict=False)):
        total = total * 0.5 + row * i + other
    return total


@kind("`break` and `continue`")
def break_and_continue(x):
    total = x[0] * 0
    for row in x:
        if row.sum() < 0:
            continue
        total = total + row
        if total.sum() > 5:
            break
    return total


@kind("`while True` with `break`; `else` of a loop")
def while_true(x):
    while True:
        x = x + 1
        if x.min() > 2:
            break
    for row in x:
        if row.sum() > 20:
            return row
    else:
        x = x * 2
    return x.sum(0)


@kind("nested loops with counters")
def loops_in_loops(x):
    count = 0
    for row in x:
        while row.sum() < 3:
            row = row + 1
            count += 1
    return x * count


@kind("a loop over Python values, which is unrolled")
def loop_of_python(x):
    for scale in (1.0, 0.5, 0.25):
        x = x * scale if x.sum() > 0 else x + scale
    return x


@kind("`append` in a loop, then `stack`")
def list_append(x):
    rows = []
    for row in x:
        rows.append(row / (1 + row.abs().sum()))
    return dygraph.stack(rows)


@kind("a list or a dict that changes on one path")
def dict_on_one_way(x):
    state = {"h": x, "parts": [1]}
    if x.sum() > 0:
        state["h"] = x * 2
        state["parts"].append(5)
    return state["h"] * sum(state["parts"])


@kind("attributes of an object")
def attributes(x):
    class Cell:
        h, steps = x, 0

        def step(self, by):
            if by.sum() > 0:
                self.h, self.steps = self.h + by, self.steps + 1

    cell = Cell()
    cell.step(x)
    cell.step(-x)
    return cell.h * cell.steps


@kind("methods and `super()`")
def methods(x):
    class Base:
        def value(self, v):
            return v if v.sum() > 0 else v - 1

    class Derived(Base):
        def value(self, v):
            return super().value(v) * 2

    return Derived().value(x)


@kind("closures and `nonlocal`")
def closures(x):
    total = x * 0

    def add(v):
        nonlocal total
        if v.sum() > 0:
            total = total + v

    add(x)
    add(x - 1)
    return total


@kind("lambdas, default arguments, `*args`, `**kwargs`")
def lambdas(x):
    pick = lambda v, *more, by=2: v * by if v.sum() > 0 else more[0]  # noqa: E731
    return pick(x, x + 1) + pick(-x, *[x], **{"by": 3})


@kind("comprehensions over Python values")
def comprehensions(x):
    kept = [v for v in (x, -x, x * 2) if v.sum() > 0]
    return sum(kept, x) + len(kept)


@kind("`any`, `all`, `max` over values")
def functions_of_python(x):
    if any(v > 2 for v in (x.max(), x.sum())) and all([x.max() > 0, x.min() < 2]):
        return x * max(x.max(), x.mean())
    return x


@kind("a generator that tests a value")
def generators(x):
    def values():
        yield x
        if x.sum() > 0:
            yield x * 2
        yield x + 1

    return sum(values())


@kind("recursion that ends on a Python number")
def recursion_on_a_number(x):
    def power(v, n):
        if n == 0 or v.sum() > 10:
            return v
        return power(v * 1.5, n - 1)

    return power(x, 3)


@kind("`try`, `except`, `else`, `finally`")
def try_and_except(x):
    try:
        if x.sum() > 0:
            raise KeyError("positive")
        y = x
    except KeyError:
        y = x * 2
    finally:
        x = x + 1
    return x + y


@kind("`raise` out of the function, with a value in its message")
def raises(x):
    if x.sum() > 6:
        raise ValueError(f"the sum is {x.sum()}")
    return x


@kind("`assert`")
def asserts(x):
    assert x.max() < 6, "too large"
    return x * 2


@kind("`with`")
def with_statement(x):
    with dygraph.no_grad():
        y = x * 2
        if y.sum() > 0:
            y = y + 1
    return y


@kind("`match`, `:=`")
def match_statement(x):
    match 1 if (s := x.sum()) > 0 else 2:
        case 1:
            return x * s
        case _:
            return x - s


@kind("`print` of a value")
def prints(x):
    if x.sum() > 0:
        print("sum", x.sum())
    return x * 2


@kind("`len()`, `float()`, and `int()` of integers")
def numbers(x):
    n, s = int(x.shape[0]), float(x.sum())
    if n > 2 or s < 0:
        n = n + len(x)
    return x * n / (abs(s) + 1)


@kind("a write in place")
def in_place(x):
    y = x * 1
    if y.sum() > 0:
        y[0] = 0.5
        y += 1
    return y


@kind("NumPy on constants")
def numpy_of_constants(x):
    weights = dygraph.to_variable(np.linspace(0, 1, 3).astype("float32"))
    return x * weights if x.sum() > 0 else x


@kind("different types on two paths, which do not join")
def different_types(x):
    y = x.astype("float64") if x.sum() > 0 else x
    return y * 2


@kind("random numbers on one path only")
def random_on_one_way(x):
    if x.sum() > 0:
        x = dygraph.ops.dropout(x, 0.5)
    return x


# Refused ------------------------------------------------------------------------------------------

CALLS = 0


@kind("`numpy()`, `item()`, `tolist()` of a value")
def reads_a_value(x):
    return x * x.max().item()


@instead
def reads_a_value_instead(x):
    return x * x.max()


@kind("the string of a value, used inside the function")
def keeps_text(x):
    name = f"sum {x.sum()}"
    return x if "-" in name else -x


@instead
def keeps_text_instead(x):
    return x if x.sum() < 0 else -x


@kind("`print` without a value, on one path")
def prints_text(x):
    if x.sum() > 0:
        print("positive")
    return x


@instead
def prints_text_instead(x):
    if x.sum() > 0:
        print("positive:", x.sum())
    return x


@kind("a size as a list index")
def size_as_an_index(x):
    return x * [0.0, 1.0, 0.5, 0.25, 0.125][x.shape[0]]


@instead
def size_as_an_index_instead(x):
    table = dygraph.to_variable(np.array([0.0, 1.0, 0.5, 0.25, 0.125], "float32"))
    return x * dygraph.gather(table, dygraph.shape(x)[:1])


@kind("a size as a dict key")
def size_as_a_key(x):
    return x * {1: 3.0, 2: 5.0}.get(x.shape[0], 1.0)


@instead
def size_as_a_key_instead(x):
    n = x.shape[0]
    return x * (3.0 if n == 1 else 5.0 if n == 2 else 1.0)


@kind("recursion that ends on a value")
def recursion_on_a_value(x):
    def grown(v):
        return v if v.sum() > 5 else grown(v + 1)

    return grown(x)


@instead
def recursion_on_a_value_instead(x):
    while not x.sum() > 5:
        x = x + 1
    return x


@kind("a string that changes in a loop")
def text_in_a_loop(x):
    state = "first"
    while x.sum() < 9:
        x = x + (1 if state == "first" else 2)
        state = "later"
    return x


@instead
def text_in_a_loop_instead(x):
    first = True
    while x.sum() < 9:
        x = x + (1 if first else 2)
        first = False
    return x


@kind("a type that changes in a loop")
def type_in_a_loop(x):
    y = x
    while y.sum() < 5:
        y = y.astype("float64") + 1
    return y


@instead
def type_in_a_loop_instead(x):
    y = x.astype("float64")
    while y.sum() < 5:
        y = y + 1
    return y


@kind("a name that only the loop binds, read after it")
def name_of_a_turn(x):
    for row in x:
        last = row * 2
    return last


@instead
def name_of_a_turn_instead(x):
    last = x[0] * 0
    for row in x:
        last = row * 2
    return last


@kind("a loop over rows in a comprehension, or in code without source")
def comprehension_over_rows(x):
    return dygraph.stack([row * 2 for row in x])


@instead
def comprehension_over_rows_instead(x):
    rows = []
    for row in x:
        rows.append(row * 2)
    return dygraph.stack(rows)


@kind("a loop over rows in a generator")
def loop_in_a_generator(x):
    def doubled():
        for row in x:
            yield row * 2

    return sum(doubled())


@instead
def loop_in_a_generator_instead(x):
    total = x[0] * 0
    for row in x:
        total = total + row * 2
    return total


@kind("a list filled by a loop, as a result or with `pop`, `insert`, ...")
def list_as_a_result(x):
    rows = []
    for row in x:
        rows.append(row * 2)
    return rows


@instead
def list_as_a_result_instead(x):
    rows = []
    for row in x:
        rows.append(row * 2)
    return dygraph.stack(rows)


@kind("results of different structure")
def different_results(x):
    if x.sum() > 0:
        return x, x.sum()
    return x


@instead
def different_results_instead(x):
    if x.sum() > 0:
        return x, x.sum()
    return x, x.sum() * 0


@kind("a write to a global, or to an attribute of an object that outlives the call")
def writes_a_global(x):
    global CALLS
    CALLS += 1
    return x * CALLS


@instead
def writes_a_global_instead(x, calls=1):
    return x * calls, calls + 1


@kind("a write in place to a Variable that has a second name on one path")
def writes_an_alias(x):
    y = z = x * 2
    if x.sum() > 0:
        y = x * 3
    y[0] = 1.0
    return y + z


@instead
def writes_an_alias_instead(x):
    y = z = x * 2
    if x.sum() > 0:
        y = x * 3
    y = y * 1
    y[0] = 1.0
    return y + z
