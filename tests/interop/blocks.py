"""Twenty programs of ours with blocks, and what each computes, written once more in NumPy.

A program takes x, float32 ``[rows, 4]``, and n, int64 ``[1]``; it runs on each of `FEEDS`, which
take every way through it. `PROGRAMS` holds pairs of (what appends to the default programs and
gives the result, or None for a function of `PYTHON`; the same by hand). `WEIGHT` is the weight that
some read.
"""

import numpy as np

import dygraph
from dygraph import static
from dygraph.static import layers

WEIGHT = np.linspace(-1, 1, 16, dtype="float32").reshape(4, 4)
FEEDS = [
    {"x": np.linspace(-2, 2, 4 * rows, dtype="float32").reshape(rows, 4), "n": np.array([n])}
    for rows, n in ((3, 0), (2, 1), (1, 2), (4, 5))
]
PROGRAMS = {}


def program(by_hand):
    def take(build):
        PROGRAMS[build.__name__] = (build, by_hand)
        return build

    return take


def integer(value):
    return layers.fill_constant([1], "int64", value)


def dense(x):
    return layers.fc(x, 4, act="tanh", param_attr=dygraph.ParamAttr(name="w"), bias_attr=False)


def counted(n, body):
    """Turns of `body`(i) for i from 0 to n."""
    i = integer(0)
    more = layers.less_than(i, n)
    with layers.While(more, is_test=True).block():
        body(i)
        layers.increment(i)
        layers.less_than(i, n, cond=more)


# Loops --------------------------------------------------------------------------------------------


@program(lambda x, n: x * 1.5**n)
def while_that_carries(x, n):
    s = layers.assign(x)
    counted(n, lambda i: layers.assign(s * 1.5, output=s))
    return s


def _recurrence(x, n):
    for _ in range(n):
        x = np.tanh(x @ WEIGHT)
    return x


@program(_recurrence)
def while_with_a_weight(x, n):
    s = layers.assign(x)
    counted(n, lambda i: layers.assign(dense(s), output=s))
    return s


@program(lambda x, n: x + sum(i * j for i in range(n) for j in range(i)))
def while_in_a_while(x, n):
    s = layers.assign(x)

    def outer(i):
        def inner(j):
            product = layers.cast(i * j, "float32")
            layers.assign(layers.elementwise_add(s, product), output=s)

        counted(i, inner)

    counted(n, outer)
    return s


@program(lambda x, n: x + sum(range(n)) * 0.5)
def loop_of_functions(x, n):
    def body(i, s):
        return [i + 1, s + layers.cast(i, "float32") * 0.5]

    _, s = layers.while_loop(lambda i, s: i < n, body, [integer(0), layers.assign(x)])
    return s


def _halvings(x, n):
    turns = 0
    while turns < n and np.abs(x).sum() > 2:
        x, turns = x / 2, turns + 1
    return np.append(x.ravel(), turns)


@program(_halvings)
def loop_until_two_conditions_fail(x, n):
    def going(i, s):
        return layers.logical_and(i < n, layers.reduce_sum(layers.abs(s)) > 2.0)

    i, s = layers.while_loop(going, lambda i, s: [i + 1, s / 2.0], [integer(0), layers.assign(x)])
    return layers.concat([layers.reshape(s, [-1]), layers.cast(i, "float32")], axis=0)


@program(lambda x, n: np.concatenate([x] + [x[:1] * (i + 2) for i in range(n)]))
def loop_whose_value_grows(x, n):
    first = layers.slice(x, axes=[0], starts=[0], ends=[1])

    def body(i, s):
        more = layers.elementwise_mul(first, layers.cast(i + 2, "float32"))
        return [i + 1, layers.concat([s, more], axis=0)]

    _, s = layers.while_loop(lambda i, s: i < n, body, [integer(0), layers.assign(x)])
    return s


# Arrays -------------------------------------------------------------------------------------------


@program(lambda x, n: np.concatenate([x * 2.0**i for i in range(n + 1)]))
def array_of_all_turns(x, n):
    s = layers.assign(x)
    kept = layers.array_write(s, integer(0))

    def turn(i):
        layers.assign(s * 2.0, output=s)
        layers.array_write(s, i + 1, array=kept)

    counted(n, turn)
    return layers.tensor_array_to_tensor(kept, axis=0)[0]


@program(lambda x, n: x + sum((n - 1 - i) * 3.0**i for i in range(n)))
def array_read_from_its_end(x, n):
    kept = layers.array_write(layers.fill_constant([1], "float32", 0.0), integer(0))
    counted(n, lambda i: layers.array_write(layers.cast(i, "float32"), i, array=kept))
    s, factor = layers.assign(x), layers.fill_constant([1], "float32", 1.0)

    def turn(i):
        element = layers.array_read(kept, n - 1 - i)
        layers.assign(layers.elementwise_add(s, element * factor), output=s)
        layers.assign(factor * 3.0, output=factor)

    counted(n, turn)
    return s


@program(lambda x, n: np.append(x.ravel(), n + 1))
def length_of_an_array(x, n):
    kept = layers.array_write(x, integer(0))
    counted(n, lambda i: layers.array_write(x, i + 1, array=kept))
    count = layers.cast(layers.array_length(kept), "float32")
    return layers.concat([layers.reshape(x, [-1]), count], axis=0)


# Choices ------------------------------------------------------------------------------------------


@program(lambda x, n: x * 2 if n < 2 else x - 1)
def choice(x, n):
    return layers.cond(n < 2, lambda: x * 2.0, lambda: x - 1.0)


@program(lambda x, n: x * 2 if n < 1 else x - 1 if n < 2 else np.tanh(x @ WEIGHT))
def choice_in_a_choice(x, n):
    def other():
        return layers.cond(n < 2, lambda: x - 1.0, lambda: dense(x))

    return layers.cond(n < 1, lambda: x * 2.0, other)


def _alternating(x, n):
    for i in range(n):
        x = x * 2 if i < 2 else x + i
    return x


@program(_alternating)
def choice_in_a_loop(x, n):
    s = layers.assign(x)

    def turn(i):
        number = layers.cast(i, "float32")
        layers.assign(
            layers.cond(i < 2, lambda: s * 2.0, lambda: layers.elementwise_add(s, number)), output=s
        )

    counted(n, turn)
    return s


@program(lambda x, n: x + n if n > 1 else -x)
def loop_in_a_choice(x, n):
    def many():
        s = layers.assign(x)
        counted(n, lambda i: layers.assign(s + 1.0, output=s))
        return s

    return layers.cond(n > 1, many, lambda: -x)


@program(lambda x, n: x + 1 if n < 1 else x * 3 if n < 2 else x / 2)
def first_case_that_holds(x, n):
    return layers.case(
        [(n < 1, lambda: x + 1.0), (n < 2, lambda: x * 3.0)], default=lambda: x / 2.0
    )


@program(lambda x, n: {0: x + 1, 2: x * 3}.get(n, x / 2))
def case_by_number(x, n):
    return layers.switch_case(
        layers.cast(n, "int32"), {0: lambda: x + 1.0, 2: lambda: x * 3.0}, lambda: x / 2.0
    )


@program(lambda x, n: x * np.float32(0.1 if n < 1 else 0.01 if n < 3 else 0.001))
def switch_that_sets_a_rate(x, n):
    rate = layers.fill_constant([1], "float32", 0.0)
    with layers.Switch() as switch:
        for most, value in ((1, 0.1), (3, 0.01)):
            with switch.case(layers.less_than(n, integer(most))):
                layers.assign(layers.fill_constant([1], "float32", value), output=rate)
        with switch.default():
            layers.assign(layers.fill_constant([1], "float32", 0.001), output=rate)
    return layers.elementwise_mul(x, rate)


@program(lambda x, n: np.where(x.sum(1, keepdims=True) < n, x * 2, x - 3))
def choice_for_each_row(x, n):
    total = layers.reduce_sum(x, dim=1, keep_dim=True)
    limit = layers.elementwise_add(layers.zeros_like(total), layers.cast(n, "float32"))
    rows = layers.IfElse(layers.less_than(total, limit))
    with rows.true_block():
        rows.output(rows.input(x) * 2.0)
    with rows.false_block():
        rows.output(rows.input(x) - 3.0)
    return rows()[0]


# Steps over time, and Python ----------------------------------------------------------------------


@program(lambda x, n: np.cumsum(x, axis=1).T[:, :, None] + n)
def steps_over_time(x, n):
    columns = layers.reshape(layers.transpose(x, [1, 0]), [4, -1, 1])
    rnn = layers.StaticRNN()
    with rnn.step():
        column = rnn.step_input(columns)
        total = rnn.memory(shape=[-1, 1], batch_ref=column)
        sum_ = total + column
        rnn.update_memory(total, sum_)
        rnn.step_output(sum_)
    return layers.elementwise_add(rnn(), layers.cast(n, "float32"))


def _python(x, n):
    total, i = x * 0, 0
    while i < n:
        if total.sum() > 4:
            total = total - 1
            break
        total = total + x * x if i % 2 == 0 else total * 2
        i += 1
    return total


def _early(x, n):
    if n < 1:
        return x + 1
    for i in range(3):
        if x.sum() > n:
            return x * (i + 2)
        x = x + 1
    return x


PYTHON = {"python_with_break": _python, "python_with_returns": _early}
PROGRAMS.update({name: (None, function) for name, function in PYTHON.items()})


class _Like:
    def __init__(self, *shape):
        self.shape = shape


def _captured(function):
    captured = dygraph.jit.to_static(function, input_spec=[_Like(None, 4), _Like(1)])
    entry = captured.entry(*(dygraph.to_variable(FEEDS[-1][name]) for name in "xn"))
    block = entry.program.global_block()
    return entry.program, entry.feeds, block.var(entry.fetches[0]), entry.scope


def described(name):
    """(program for inference, names of x and n, result, scope) of one of `PROGRAMS`."""
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    with dygraph.unique_name.guard():
        if name in PYTHON:
            return _captured(PYTHON[name])
        with static.program_guard(main, startup):
            x, n = static.data("x", [None, 4]), static.data("n", [1], "int64")
            result = PROGRAMS[name][0](x, n)
        static.Executor().run(startup, scope=scope)
        if scope.find_var("w") is not None:
            scope.var("w").set(WEIGHT)
    return main, ["x", "n"], result, scope


def by_hand(name, feed):
    """In float64."""
    return PROGRAMS[name][1](feed["x"].astype("f8"), int(feed["n"][0]))
