"""Eager Variables that the function makes of Python values, or finds outside."""

import numpy as np

import dygraph

from ..cases import captured, refused

THREE = dygraph.to_variable(np.float32([1, 2, 3]))


@captured
def a_result(x):
    return THREE


@captured
def in_a_structure(x):
    return {"a": THREE, "b": [THREE * 2, x]}


@captured
def rank(x):
    return dygraph.ops.rank(x), dygraph.ops.rank(x) + 1


@captured
def on_one_way(x):
    t = dygraph.to_variable(np.float32(0))
    if x.sum() > 0:
        t = x.sum()
    return t


@captured
def chosen(x):
    t = THREE if x.sum() > 0 else x[0]
    return t * 2


@captured
def summed_up(x):
    t = dygraph.to_variable(np.float32(0))
    for row in x:
        t = t + row.sum()
    return t


@captured
def counted(x):
    t = dygraph.to_variable(np.float32(0))
    while t < x.sum():
        t = t + 1
    return t


@captured
def reset_by_a_turn(x):
    t = THREE
    for row in x:
        t = dygraph.to_variable(np.float32([1, 2, 4])) if row.sum() > 0 else t * 2
    return t


@captured
def bound_in_an_object(x):
    kept = {"t": THREE}
    while x.sum() < 5:
        x = x + 1
        kept["t"] = x[0]
    return kept["t"]


@captured
def first_of_a_list(x):
    rows = [THREE]
    for row in x:
        rows.append(row)
    return dygraph.stack(rows), rows[0] + rows[-1]


@captured
def in_a_list(x):
    rows = []
    for row in x:
        rows.append(THREE if row.sum() > 0 else row)
    return dygraph.stack(rows)


@captured
def beside_rows(x):
    t = x[0] * 0
    for row, k in zip(x, THREE):  # noqa: B905
        t = t + row * k
    return t


@captured
def decided_by(x):
    for k in THREE:
        if k > x.sum():
            return x
        x = x + k
    return x


@refused("'t' is float32 before the loop at constants.py:")
def type_changes(x):
    t = dygraph.to_variable(np.float32(0))
    for row in x:
        t = row.sum().astype("float64")
    return t


@refused("Make it with dygraph.zeros(), ones() or full()")
def written_in_place(x):
    t = dygraph.to_variable(np.float32([1, 1, 1]))
    t[0] = x.sum()
    return t


@captured
def swapped(x):
    a, b, n = THREE, x[0], x.sum()
    while n < 3:
        a, b = b, a
        n = n + 1
    return a * 2, b


@captured
def two_names_of_one(x):
    t = u = dygraph.to_variable(np.float32([0, 0, 0]))
    for row in x:
        t = t + row
    t[0] = 5.0
    return t, u


@captured
def rows_added(x):
    t = dygraph.to_variable(np.zeros((1, 3), "float32"))
    for _ in x:
        t = dygraph.concat([t, x], axis=0)
    return t


@captured
def a_bool_tested(x):
    done = dygraph.to_variable(np.array(False))
    while not done:
        x = x + 1
        done = x.sum() > 10
    return x


@captured
def in_nested_loops(x):
    t = dygraph.to_variable(np.float32(0))
    for row in x:
        u = dygraph.to_variable(np.float32(1))
        for other in x:
            u = u + (other * row).sum()
        t = t + u
    return t


@captured
def of_a_closure_and_defaults(x):
    t = THREE

    def add(row, more=THREE):
        nonlocal t
        t = t + row * more

    for row in x:
        add(row)
        add(row, row)
    return t


@captured
def among_others_in_a_list(x):
    kept = [THREE, THREE]
    for row in x:
        kept[0] = kept[0] + row
    return kept[0], kept[1]
