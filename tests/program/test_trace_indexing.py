"""Indexing inside a traced function: the program repeats it for any batch."""

import numpy as np
import pytest

import dygraph
from dygraph import jit
from program.models import numbers

PICKED = np.array([[-1, 0], [0, 0]])


def written(x):
    y = x * 2.0
    y[:, [0, 2]] = x[:, :2] + 1.0
    y[1:, 3] = 0.0
    y[[0, -1], 1] = y[-1, 0]
    return y


def masked(x):
    y = x * 1.0
    y[x > 0.2] = -1.0
    return y


CASES = {
    "rows": lambda x: x[1:3],
    "most rows": lambda x: x[1:-1],
    "last row": lambda x: x[-1],
    "backwards": lambda x: x[::-1],
    "all rows of one batch": lambda x: x[:4],
    "columns": lambda x: x[:, ::-2],
    "one column": lambda x: x[:, 1],
    "new axis behind": lambda x: x[:, None],
    "new axis in front": lambda x: x[None],
    "strided and picked": lambda x: x[::2, 1],
    "list": lambda x: x[[0, -1]],
    "list of columns": lambda x: x[:, [2, 0, 0]],
    "table of rows": lambda x: x[PICKED],
    "table of columns": lambda x: x[:, PICKED],
    "pairs": lambda x: x[[0, -1], [1, 2]],
    "pairs and a new axis": lambda x: x[:, None, PICKED, None],
    "constant mask": lambda x: x[:, np.array([True, False, True, False])],
    "mask": lambda x: x[x > 0.1],
    "mask of rows": lambda x: x[x[:, 0] > 0.1],
    "mask and a column": lambda x: x[x[:, 0] > 0.1, 2],
    "written": written,
    "masked": masked,
}


@pytest.mark.parametrize("name", CASES)
def test_program_repeats_the_index(name):
    def forward(x):
        return CASES[name](x)

    _, traced = jit.trace(forward, [dygraph.to_variable(numbers(4, 4))])
    for n in (3, 4, 7):
        x = dygraph.to_variable(numbers(n, 4, seed=n))
        np.testing.assert_array_equal(traced(x).numpy(), forward(x).numpy())


def test_indices_that_are_inputs():
    def forward(x, rows, columns):
        return x[rows], x[rows, columns], x[rows, 1], x[:, columns[:2]]

    rows, columns = np.array([[0], [0], [-1]]), np.array([1, 1, 2], "int32")
    x = numbers(5, 4)
    given = [dygraph.to_variable(a) for a in (x, rows, columns)]
    _, traced = jit.trace(forward, given)
    rows, columns, x = rows * 4 + 5, np.array([0, -4, 1], "int32"), numbers(7, 4, seed=1)
    got = traced(*(dygraph.to_variable(a) for a in (x, rows, columns)))
    for result, want in zip(
        got, [x[rows], x[rows, columns], x[rows, 1], x[:, columns[:2]]], strict=True
    ):
        np.testing.assert_array_equal(result.numpy(), want)


def test_a_step_read_from_a_value_raises():
    def forward(x):
        return x[:: (x[0, 0] > 0).astype("int64") + 1]

    with pytest.raises(RuntimeError, match="forward"):
        jit.trace(forward, [dygraph.to_variable(numbers(4, 4))])


def test_bounds_of_slices_may_be_values():
    def forward(x):
        n = (x > 0).astype("int64").sum()
        y = x * 2.0
        y[n : n + 2, 0] = -1.0
        return x[:n], x[1, -1:n:-1], x[n - 9 :, None], y

    _, traced = jit.trace(forward, [dygraph.to_variable(numbers(4, 4))])
    for rows in (1, 3, 8):
        x = numbers(rows, 4, seed=rows) if rows > 1 else np.full((2, 4), -1, "float32")
        n, y = (x > 0).sum(), x * 2
        y[n : n + 2, 0] = -1
        wants = [x[:n], x[1, -1:n:-1], x[n - 9 :, None], y]
        for got, want in zip(traced(dygraph.to_variable(x)), wants, strict=True):
            np.testing.assert_array_equal(got.numpy(), want, strict=True)
