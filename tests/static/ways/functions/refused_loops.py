"""Loops that are refused."""

import dygraph

from ..cases import refused


@refused("an iteration changes 'mode' from 'a' to 'b', neither a Variable nor a number")
def text_changes(x):
    mode = "a"
    while x.sum() < 5:
        x = x + 1 if mode == "a" else x + 2
        mode = "b"
    return x


@refused("neither a Variable nor a number")
def dict_grows(x):
    found = {}
    k = 0
    while x.sum() < 5:
        x = x + 1
        found[str(x.shape[1])] = x
        k += 1
    return x


@refused("'last' from None to a Variable")
def none_becomes_a_variable(x):
    last = None
    while x.sum() < 5:
        if last is not None:
            x = x + last * 0
        x = x + 1
        last = x
    return x


@refused("'y' is float32 before the loop at refused_loops.py:")
def type_changes(x):
    y = x
    while y.sum() < 5:
        y = y.astype("float64") + 1
    return y


@refused("which differ in rank")
def rank_changes(x):
    y = x
    while y.sum() < 5:
        y = y.sum() + 1
    return y


@refused("Bind it before the loop")
def name_of_a_turn_is_read_behind(x):
    for r in x:
        t = r * 2
    return t


@refused("but not by a for statement. Only a for statement becomes a while")
def list_of_rows(x):
    return sum(list(x))


@refused("but not by a for statement. Only a for statement becomes a while")
def comprehension_of_rows(x):
    return sum([r * 2 for r in x])


@refused("a list that grows in a loop cannot be a result")
def list_as_a_result(x):
    out = []
    for r in x:
        out.append(r)
    return out


@refused("has append, [i], [i:], len, iteration, stack and concat, got .pop")
def list_that_shrinks(x):
    out = [x[0], x[0]]
    for r in x:
        out.append(r)
    out.pop()
    return out[0]


@refused("has a second name that cannot be updated")
def list_held_by_a_caller(x):
    def fill(into):
        for r in x:
            into.append(r)

    out = []
    fill(out)
    return dygraph.stack(out)


@refused("code that needs an int at refused_loops.py:")
def axis_of_the_run(x):
    return dygraph.ops.cumsum(x, axis=x.shape[0] - x.shape[0])


@refused("code that needs an int at refused_loops.py:")
def index_of_python(x):
    return x * [1, 2, 3, 4, 5, 6][x.shape[0]]


@refused("the size of axis 0 of 'x' is known when the program runs")
def size_as_a_key(x):
    return x * {2: 3}.get(x.shape[0], 1)


@refused("it is in a generator")
def loop_in_a_generator(x):
    def values():
        for r in x:
            yield r * 2

    return sum(values())


@refused("the step of range()")
def step_of_the_run(x):
    for i in range(0, 8, x.shape[0]):
        x = x + i
    return x
