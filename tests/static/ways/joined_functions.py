"""Functions whose ways part and meet, each with what becomes of it.

More than 600 lines because each function is one case.

Inputs: `x` of open rows and three columns, as in `cases.INPUTS`.
"""

import functools
import math
from collections import namedtuple
from dataclasses import dataclass

import numpy as np

import dygraph

from .cases import captured, refused

# Branches -----------------------------------------------------------------------------------------


@captured
def if_else(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y + x


@captured
def if_without_else(x):
    y = x
    if x.sum() > 0:
        y = y * 2
    return y


@captured
def elif_chain(x):
    if x.sum() > 3:
        k = 1
    elif x.sum() > 0:
        k = 2
    elif x.max() > 1:
        k = 3
    else:
        k = 4
    return x * k


@captured
def nested_branches(x):
    y = x
    if x.sum() > 0:
        if x.max() > 1:
            y = y + 1
        else:
            y = y - 1
        y = y * 2
    elif x.min() < -1:
        y = y * 3
    return y - x


@captured
def early_return(x):
    if x.max() > 2:
        return x * 3
    if x.sum() > 0:
        return x
    y = x * x
    return y + 1


@captured
def return_in_both(x):
    if x.sum() > 0:
        return x + 1
    else:
        return x - 1


@captured
def conditional_expression(x):
    return x * 2 if x.sum() > 0 else x * 3 if x.max() > 1 else x


@captured
def short_and(x):
    if x.sum() > 0 and x.max() > 1 and x.min() > -1:
        return x * 2
    return x


@captured
def short_or(x):
    if x.sum() > 3 or x.max() > 1 or x.min() > -1:
        return x * 2
    return x


@captured
def negation(x):
    if not x.sum() > 0 or not (x.max() > 1 and x.min() < 0):
        return x - 2
    return x


@captured
def chained_comparison(x):
    if 0 < x.mean() < 1:
        return x * 2
    return x * 0.5


@captured
def any_and_all(x):
    parts = [x.sum() > 0, x.max() > 1, x.min() > -1]
    if any(parts):
        x = x + 1
    if all(parts):
        x = x * 2
    return x


@captured
def max_of_values(x):
    return max(x.sum(), x.max() * 2) + min([x.min(), x.mean()])


@captured
def sorted_values(x):
    a, b, c = sorted([x.sum(), x.max(), x.mean()])
    return a - b * 2 + c * 3


@captured
def number_by_branch(x):
    k = 2
    if x.sum() > 0:
        k = 3
    return x * k


@captured
def text_by_branch(x):
    mode = "plain"
    if x.sum() > 0:
        mode = "double"
    y = x + 1
    if mode == "double":
        y = y * 2
    return y


@captured
def none_by_branch(x):
    found = None
    if x.sum() > 0:
        found = x * 2
    if found is None:
        return x
    return found


@captured
def flag_by_branch(x):
    flag = x.sum() > 0
    y = x * 2 if flag else x
    if flag and x.max() > 1:
        y = y + 1
    return y


@captured
def unbound_on_one_way_and_not_read(x):
    if x.sum() > 0:
        t = x * 2
        y = t + 1
    else:
        y = x
    return y


@captured
def unbound_name_is_an_error_as_it_was(x):
    if x.sum() > 0:
        t = x * 2
    return t


@captured
def two_values_join(x):
    if x.sum() > 0:
        a, b = x, x * 2
    else:
        b, a = x, x * 3
    return a - b


@captured
def swap_on_one_way(x):
    a, b = x + 1, x * 2
    if x.sum() > 0:
        a, b = b, a
    return a - b * 0.5


@captured
def alias_on_one_way(x):
    y = x
    if x.sum() > 0:
        y = x * 1
    return y + x


@captured
def while_of_numbers(x):
    k = 0
    while k < 3:
        if x.sum() > k:
            x = x - 1
        k += 1
    return x * k


@captured
def many_sequential_questions(x):
    for k in range(12):
        if x.sum() > k:
            x = x - 0.5
        else:
            x = x + 0.25
    return x


@captured
def dead_numbers_do_not_keep_ways_apart(x):
    for k in range(12):
        if x.sum() > k:
            step = k
            x = x - step * 0.1
        else:
            step = -k
            x = x + step * 0.1
    return x


@captured
def numbers_that_count_many_ways(x):
    hits = 0
    for k in range(9):
        if x.sum() > k:
            hits += 1
            x = x - 0.5
    return x * hits


# Calls --------------------------------------------------------------------------------------------


def halved(v):
    if v.sum() > 0:
        return v * 0.5
    return v + 1


def several(v):
    if v.sum() > 0:
        return v, v * 2, 1
    return v * 2, v, 2


@captured
def helper(x):
    return halved(x) + 1


@captured
def half_computed_expression(x):
    return halved(x) * 2 - halved(x - 1) * halved(x + 1)


@captured
def helper_in_arguments(x):
    return dygraph.concat([halved(x), halved(-x)], axis=0)


@captured
def helper_gives_several(x):
    a, b, k = several(x)
    return a - b * k


@captured
def helper_gives_a_list(x):
    def parts(v):
        if v.sum() > 0:
            return [v, v + 1]
        return [v - 1, v]

    return sum(parts(x)) + parts(-x)[0]


@captured
def recursion_on_numbers(x):
    def power(v, n):
        if n == 0:
            return v
        if v.sum() > 10:
            return v
        return power(v * 1.5, n - 1)

    return power(x, 3)


@captured
def closure_changes_a_name(x):
    total = x * 0

    def add(v):
        nonlocal total
        if v.sum() > 0:
            total = total + v

    add(x)
    add(x - 1)
    return total


@captured
def closure_reads_a_changed_name(x):
    scale = 1

    def scaled(v):
        return v * scale

    if x.sum() > 0:
        scale = 3
    return scaled(x)


@captured
def default_arguments(x):
    def f(v, by=2, *, plus=1):
        if v.sum() > 0:
            by = by + 1
        return v * by + plus

    return f(x) + f(x, 5) + f(x, plus=2)


@captured
def star_arguments(x):
    def f(*vs, **named):
        out = vs[0]
        for v in vs[1:]:
            if v.sum() > 0:
                out = out + v
        return out * named.get("by", 1)

    return f(x, x + 1, x - 1) + f(*[x, x], **{"by": 2})


@captured
def lambdas(x):
    pick = lambda v: v * 2 if v.sum() > 0 else v - 1  # noqa: E731
    return pick(x) + pick(-x)


@captured
def functions_by_branch(x):
    f = dygraph.exp if x.sum() > 0 else dygraph.sigmoid
    return f(x * 0.1)


@captured
def partial(x):
    def f(a, b, k):
        return a + b * k if a.sum() > 0 else b

    return functools.partial(f, x, k=3)(x - 1)


@captured
def mapped(x):
    return sum(map(halved, [x, -x, x + 1]))


@captured
def comprehension(x):
    return sum([halved(x + k) for k in range(3)])


@captured
def filtered(x):
    kept = [v for v in (x, -x, x * 2) if v.sum() > 0]
    return sum(kept, x) + len(kept)


@captured
def generator(x):
    def values():
        yield x
        if x.sum() > 0:
            yield x * 2
        yield x + 1

    return sum(values())


@captured
def generator_is_left_early(x):
    def values():
        for k in range(3):
            if x.sum() > k:
                yield x + k

    for v in values():
        if v.sum() > 2:
            return v
    return x


@captured
def decorated(x):
    def doubled(f):
        @functools.wraps(f)
        def inner(v):
            return f(v) * 2

        return inner

    @doubled
    def f(v):
        if v.sum() > 0:
            return v + 1
        return v

    return f(x)


@captured
def walrus(x):
    if (s := x.sum()) > 0:
        return x * s
    return x - s


@captured
def match_on_numbers(x):
    k = 1 if x.sum() > 0 else 2
    match k:
        case 1:
            y = x * 2
        case _:
            y = x - 1
    return y


# State --------------------------------------------------------------------------------------------


@captured
def dict_entry_by_branch(x):
    state = {"h": x, "n": 1}
    if x.sum() > 0:
        state["h"] = x * 2
    return state["h"] * state["n"]


@captured
def dict_key_by_branch(x):
    state = {"a": x}
    if x.sum() > 0:
        state["b"] = x * 2
    return sum(state.values())


@captured
def list_append_by_branch(x):
    parts = [x]
    if x.sum() > 0:
        parts.append(x * 2)
    return dygraph.concat(parts, axis=0)


@captured
def list_item_by_branch(x):
    parts = [x, x + 1]
    if x.sum() > 0:
        parts[0] = x * 3
    return parts[0] - parts[1]


@captured
def nested_containers(x):
    state = {"layers": [(x, 1), (x * 2, 2)]}
    if x.sum() > 0:
        state["layers"][1] = (x * 3, 2)
    return sum(v * k for v, k in state["layers"])


@captured
def tuple_by_branch(x):
    state = (x, x + 1)
    if x.sum() > 0:
        state = (state[1], state[0] * 2)
    h, c = state
    return h - c


Pair = namedtuple("Pair", "h c")


@captured
def named_tuple(x):
    state = Pair(x, x * 2)
    if x.sum() > 0:
        state = state._replace(h=x * 3)
    return state.h - state.c


@dataclass
class Cell:
    h: object
    steps: int = 0

    def step(self, v):
        if v.sum() > 0:
            self.h = self.h + v
            self.steps += 1
        return self.h


@captured
def attribute_by_branch(x):
    cell = Cell(x)
    cell.step(x)
    cell.step(x - 1)
    return cell.h * cell.steps


@captured
def two_names_of_a_list(x):
    a = [x]
    b = a
    if x.sum() > 0:
        a.append(x * 2)
    return sum(b) + len(b)


@captured
def set_of_numbers(x):
    seen = {1, 2}
    if x.sum() > 0:
        seen.add(3)
    return x * len(seen)


@captured
def iterator_advanced_on_one_way(x):
    numbers = iter([1, 2, 3])
    first = next(numbers)
    if x.sum() > 0:
        first = next(numbers)
    return x * first + next(numbers)


@captured
def super_and_properties(x):
    class Base:
        def __init__(self, v):
            self.__v = v

        def value(self):
            return self.__v if self.__v.sum() > 0 else self.__v - 1

        @property
        def twice(self):
            return self.__v * 2

    class Derived(Base):
        def value(self):
            return super().value() + 1

    made = Derived(x)
    return made.value() + made.twice


@captured
def object_that_is_called(x):
    class Scale:
        def __init__(self, k):
            self.k = k

        def __call__(self, v):
            if v.sum() > 0:
                return v * self.k
            return v

    return Scale(3)(x) + Scale(2)(-x)


@captured
def context_manager(x):
    class Scaled:
        def __init__(self, k):
            self.k, self.out = k, None

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.out = x * self.k

    with Scaled(2) as one:
        if x.sum() > 0:
            one.k = 5
    return one.out


@captured
def manager_of_one_way_ends_as_it_began(x):
    log = []

    class Noted:
        def __init__(self, k):
            self.k = k

        def __enter__(self):
            return None

        def __exit__(self, *error):
            log.append(self.k)

    k = 1
    if x.sum() > 0:
        k = 2
    with Noted(k):
        if x.max() > 1:
            x = x + 1
    return x * log[0]


@captured
def in_place_write(x):
    y = x * 2
    if x.sum() > 0:
        y[0] = 1.0
    return y


@captured
def in_place_write_behind_a_join(x):
    y = x * 2
    if x.sum() > 0:
        y = x * 3
    y[0] = 1.0
    return y + x


@refused("is written in place at")
def in_place_write_to_a_sometimes_alias(x):
    z = x * 2
    y = z
    if x.sum() > 0:
        y = x * 3
    y[0] = 1.0
    return y + z


@refused("`is` at")
def identity_of_a_sometimes_alias(x):
    z = x * 2
    y = z
    if x.sum() > 0:
        y = x * 3
    w = y + 1
    if y is z:
        return w
    return w * 2


@refused("lives on after the call")
def in_place_write_to_an_argument(x):
    x[0] = 1.0
    return x


# Errors -------------------------------------------------------------------------------------------


@captured
def raises_on_one_way(x):
    if x.sum() > 3:
        raise ValueError("too large")
    return x


@captured
def one_error_of_several_ways(x):
    if not -0.5 < x.mean() < 0.5:
        halved(x)
        raise ValueError("mean")
    return x


@captured
def errors_behind_and_between_results(x):
    if x.sum() > 3:
        if x.max() > 2:
            y = halved(x)
            raise KeyError("max")
        return x
    y = halved(x) * 2
    if y.mean() < -1:
        raise ValueError("mean")
    return y


@captured
def asserts(x):
    assert x.sum() < 3, "too large"
    return x * 2


@captured
def caught_error(x):
    try:
        if x.sum() > 0:
            raise KeyError("positive")
        y = x
    except KeyError:
        y = x * 2
    return y


@captured
def caught_error_of_a_helper(x):
    def checked(v):
        if v.max() > 1:
            raise ValueError("max")
        return v

    try:
        y = checked(x)
    except ValueError as error:
        y = x * len(error.args)
    else:
        y = y + 1
    finally:
        x = x * 2
    return y + x


@captured
def finally_with_a_question(x):
    try:
        if x.sum() > 0:
            return x
        y = x * 2
    finally:
        if x.max() > 1:
            x = x + 5
    return y + x


@captured
def result_waits_in_finally(x):
    def f(v):
        try:
            if v.sum() > 0:
                return v
            return v * 2
        finally:
            v = v - 100
            if v.max() > -99:
                v = v + 1

    return f(x)


@captured
def reraise_in_a_handler(x):
    try:
        if x.sum() > 0:
            raise ValueError("one")
        raise KeyError("two")
    except (ValueError, KeyError):
        if x.max() > 1:
            return x + 1
        raise


@captured
def error_of_python(x):
    parts = [x]
    k = 0
    if x.sum() > 0:
        k = 1
    return parts[k]


@captured
def division_by_a_number_of_the_run(x):
    k = 0
    for row in x:
        if row.sum() > 0:
            k += 1
    return x * (6 / k)


@captured
def custom_error(x):
    class Mine(Exception):
        pass

    try:
        if x.sum() > 0:
            raise Mine("mine")
    except Mine:
        return x
    return x * 2


# Outside, and what cannot be ----------------------------------------------------------------------

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


@refused("the function changes COUNTS, which lives on after the call")
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


@refused("the error at joined_functions.py:")
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


@refused("ways end with different results: (Variable, Variable) at joined_functions.py:")
def different_results(x):
    if x.sum() > 0:
        return x, x
    return x


@refused("ways end with different results: 'a' at")
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


@refused("recursion turns on a value at joined_functions.py:")
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
