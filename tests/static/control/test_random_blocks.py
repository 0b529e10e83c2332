"""Random functions of loops, choices and arrays: programs give what eager calls give.

`static.layers` takes eager Variables as well, so one function is described and run. Losses and
first gradients agree to the bit, although a choice or loop hands on all three values and an array
keeps some, so that one value has several names. This plays more::

    PYTHONPATH=. python tests/static/control/test_random_blocks.py 4000
"""

import random
import sys

import numpy as np
import pytest

import dygraph
from dygraph import static
from dygraph.static import layers

NAMES = "abc"
OPERATORS = {
    "add": lambda u, t, w, x: u + t,
    "mul": lambda u, t, w, x: u * t * 0.7,
    "tanh": lambda u, t, w, x: layers.tanh(u),
    "matmul": lambda u, t, w, x: layers.tanh(layers.matmul(u, w)),
    "scale": lambda u, t, w, x: layers.scale(u, -0.6, 0.1),
    "relu": lambda u, t, w, x: layers.relu(u),
    "square": lambda u, t, w, x: layers.tanh(layers.square(t)),
    "rows": lambda u, t, w, x: layers.elementwise_add(u * 0.5, layers.reduce_sum(w, dim=0)),
    "input": lambda u, t, w, x: u * 0.3 + x,
}


def statements(r, depth, count):
    """A list of statements, some with lists inside."""
    found = []
    for _ in range(count):
        kind = r.random()
        inner = [statements(r, depth - 1, r.randint(1, 3)) for _ in range(2)] if depth else []
        if depth and kind < 0.25:
            found.append(("if", r.choice(NAMES), r.uniform(-0.5, 0.5), *inner))
        elif depth and kind < 0.5:
            kept = r.choice([None, None, *NAMES])
            found.append(("while", r.choice([0, 1, 2, 3, "n"]), inner[0], kept))
        else:
            names = [r.choice(NAMES) for _ in range(3)]
            found.append(("op", r.choice(list(OPERATORS)), *names))
    return found


class Function:
    """The statements on Variables: `integer` makes one that counts, `n` is a number of turns."""

    def __init__(self, tree, x, w, n, integer):
        self.tree, self.x, self.w, self.n, self.integer = tree, x, w, n, integer

    def loss(self, more):
        """With `more`, x and w lead to it whatever way is taken."""
        x = self.x
        a, b, c = self.run(self.tree, [x * 1.0, layers.tanh(x), layers.scale(x, 0.5)])
        loss = layers.reduce_sum(a + b * c)
        if more:
            loss = loss + layers.reduce_sum(layers.square(x)) + layers.reduce_sum(self.w) * 0.25
        return loss

    def run(self, tree, values):
        values = dict(zip(NAMES, values, strict=True))
        for kind, *rest in tree:
            if kind == "op":
                operator, to, u, t = rest
                values[to] = OPERATORS[operator](values[u], values[t], self.w, self.x)
                continue
            took = list(values.values())
            made = self.choose(took, values, *rest) if kind == "if" else self.repeat(took, *rest)
            values = dict(zip(NAMES, made, strict=True))
        return list(values.values())

    def choose(self, took, values, name, limit, yes, no):
        holds = layers.reduce_sum(values[name]) > limit
        return layers.cond(holds, lambda: self.run(yes, took), lambda: self.run(no, took))

    def repeat(self, took, turns, body, kept):
        """The body `turns` times; a value may be kept in an array, which is read afterwards."""
        n = self.n if turns == "n" else self.integer(turns)
        zero, at = self.integer(0), NAMES.find(kept or " ")
        if kept is None:
            turn = lambda i, *values: [i + 1, *self.run(body, values)]  # noqa: E731
            return layers.while_loop(lambda i, *_: i < n, turn, [zero, *took])[1:]
        array = layers.array_write(took[at], self.integer(0))

        def keeping(i, array, *values):
            values = self.run(body, values)
            before = layers.array_read(array, i)
            return [i + 1, layers.array_write(values[at] * 0.5 + before, i + 1, array), *values]

        _, array, *made = layers.while_loop(lambda i, *_: i < n, keeping, [zero, array, *took])
        half = layers.elementwise_floordiv(n, self.integer(2))
        made[at] = layers.array_read(array, n) + layers.array_read(array, half)
        return made


def eagerly(tree, feed, more):
    x, w = (dygraph.to_variable(feed[name]) for name in "xw")
    x.stop_gradient = w.stop_gradient = False
    n = dygraph.to_variable(feed["n"])
    loss = Function(tree, x, w, n, lambda k: dygraph.to_variable([k])).loss(more)
    loss.backward()
    return loss.numpy(), [v.gradient() for v in (x, w)]


def in_a_program(tree, feed, more):
    """(loss, gradients, the program once more from its bytes); None for what holds nothing."""
    main, executor = static.Program(), static.Executor()
    with static.program_guard(main, static.Program()), dygraph.unique_name.guard():
        x, w = static.data("x", [2, 3]), static.data("w", [3, 3])
        x.stop_gradient = w.stop_gradient = False
        n = static.data("n", [1], "int64")
        function = Function(tree, x, w, n, lambda k: layers.fill_constant([1], "int64", k))
        loss = function.loss(more)
        names = [getattr(g, "name", None) for g in static.gradients(loss, [x, w])]
    assert set(names) <= {"x@GRAD", "w@GRAD", None}
    gradients = []
    for name in names:
        try:
            gradients.append(name and executor.run(main, feed, [name])[0])
        except dygraph.errors.PreconditionNotMetError as error:
            assert "nothing has been written to it. No gradient came to" in str(error)
            gradients.append(None)
    again = static.Program.parse_from_string(main.serialize_to_string())
    results = [executor.run(program, feed, [loss.name])[0] for program in (main, again)]
    return results[0], gradients, results[1]


def play(seed):
    r, rng = random.Random(seed), np.random.RandomState(seed)
    tree, more = statements(r, r.choice([1, 2, 2, 3]), r.randint(2, 4)), r.random() < 0.7
    feed = {
        "x": rng.uniform(-1, 1, (2, 3)).astype("float32"),
        "w": rng.uniform(-1, 1, (3, 3)).astype("float32"),
        "n": np.array([r.randint(0, 3)]),
    }
    wanted, wanted_gradients = eagerly(tree, feed, more)
    loss, gradients, again = in_a_program(tree, feed, more)
    assert np.array_equal(loss, wanted) and np.array_equal(again, wanted), tree
    for mine, theirs in zip(gradients, wanted_gradients, strict=True):
        mine, theirs = (np.zeros(1, "float32") if g is None else g for g in (mine, theirs))
        assert mine.tobytes() == theirs.tobytes(), tree


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_programs_give_what_eager_calls_give(first):
    for seed in range(first, first + 20):
        play(seed)


if __name__ == "__main__":
    for seed in range(int(sys.argv[1])):
        play(seed)
    print(f"{sys.argv[1]} functions: all alike")
