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
    return dygraph.functional.rank(x), dygraph.functional.rank(x) + 1


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
