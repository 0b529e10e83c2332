"""Twenty programs of Paddle's with blocks; Paddle's Python runs this, by way of paddle_side.py.

Each takes x, float32 ``[rows, 4]``, and n, int64 ``[1]``, and runs on each of `FEEDS`.
"""

import os

import numpy as np
import paddle
from paddle import static
from paddle.static.nn import case, cond, switch_case, while_loop

FEEDS = [
    {"x": np.linspace(-2, 2, 4 * rows, dtype="float32").reshape(rows, 4), "n": np.array([n])}
    for rows, n in ((3, 0), (2, 1), (1, 2), (4, 5))
]


def integer(value):
    return paddle.full([1], value, "int64")


def real(value):
    return paddle.cast(value, "float32")


def dense(x):
    return paddle.tanh(static.nn.fc(x, 4))


def counted(n, body, *values):
    """What `body`(i, *values) leaves after i from 0 to n."""
    found = while_loop(
        lambda i, *_: i < n,
        lambda i, *values: [i + 1, *body(i, *values)],
        [integer(0), *values],
    )
    return found[1:]


def sum_in_a_loop(x, n):
    return counted(n, lambda i, s: [s + x * real(i)], x)[0]


def loop_with_weights(x, n):
    return counted(n, lambda i, s: [dense(s)], x)[0]


def loop_of_two_values(x, n):
    a, b = counted(n, lambda i, a, b: [b, a + b], x, paddle.ones_like(x))
    return paddle.concat([a, b], axis=1)


def loop_in_a_loop(x, n):
    def outer(i, s):
        return counted(i, lambda j, t: [t * 0.5 + real(j)], s)

    return counted(n, outer, x)[0]


def loop_that_multiplies(x, n):
    power = counted(n, lambda i, p: [paddle.matmul(p, p) * 0.25], paddle.eye(4) * 3.0 + 0.5)[0]
    return paddle.matmul(x, power)


def loop_until_a_value(x, n):
    def going(i, s):
        return paddle.logical_and(i < n, paddle.sum(s, keepdim=True).reshape([1]) < 30.0)

    i, s = while_loop(going, lambda i, s: [i + 1, s * 2.0 + 1.0], [integer(0), x])
    return s + real(i)


def loop_with_a_choice(x, n):
    def body(i, s):
        return [cond(i % 2 == 0, lambda: s * 2.0, lambda: s - real(i))]

    return counted(n, body, x)[0]


def loop_with_a_case(x, n):
    def body(i, s):
        return [case([(i < 1, lambda: s + 1.0), (i < 3, lambda: s * 2.0)], lambda: -s)]

    return counted(n, body, x)[0]


def array_of_turns(x, n):
    kept = paddle.tensor.create_array("float32")
    kept = paddle.tensor.array_write(x, integer(0), kept)

    def body(i, s, kept):
        s = s * 1.5
        return [s, paddle.tensor.array_write(s, i + 1, kept)]

    _, kept = counted(n, body, x, kept)
    return paddle.concat(
        [paddle.tensor.array_read(kept, n), paddle.tensor.array_read(kept, n // 2)]
    )


def length_of_an_array(x, n):
    kept = paddle.tensor.create_array("float32")
    kept = paddle.tensor.array_write(x, integer(0), kept)
    (kept,) = counted(n, lambda i, a: [paddle.tensor.array_write(x, i + 1, a)], kept)
    return x * real(paddle.tensor.array_length(kept))


def loop_over_columns(x, n):
    def body(i, total, s):
        column = paddle.gather(x, i % 4, axis=1)
        return [total + column, s + total * column]

    zeros = paddle.zeros_like(x)
    return counted(n, body, zeros, zeros)[1]


def choice(x, n):
    return cond(n < 2, lambda: x * 2.0, lambda: x - 1.0)


def choice_with_weights(x, n):
    return cond(n < 2, lambda: dense(x), lambda: dense(dense(x)))


def choice_of_several(x, n):
    a, b = cond(n > 1, lambda: (x + 1.0, x * x), lambda: (x * x, -x))
    return a * 3.0 + b


def choice_in_a_choice(x, n):
    def small():
        return cond(n < 1, lambda: x * 2.0, lambda: x + 7.0)

    return cond(n < 2, small, lambda: x - 1.0)


def choice_by_a_value(x, n):
    y = cond(paddle.mean(x) > 0.1, lambda: x - paddle.mean(x), lambda: paddle.exp(x))
    return y * real(n)


def loop_in_a_choice(x, n):
    def many():
        return counted(n, lambda i, s: [s * 0.5 + 1.0], x)[0]

    return cond(n > 1, many, lambda: -x)


def first_case_that_holds(x, n):
    return case([(n < 1, lambda: x + 1.0), (n < 2, lambda: x * 3.0)], default=lambda: x / 2.0)


def case_by_number(x, n):
    return switch_case(
        paddle.cast(n, "int32"), {0: lambda: x + 1.0, 2: lambda: x * 3.0}, lambda: x / 2.0
    )


def case_by_number_in_a_loop(x, n):
    def body(i, s):
        ways = [(0, lambda: s + 1.0), (1, lambda: s * 2.0), (3, lambda: s - 5.0)]
        return [switch_case(paddle.cast(i, "int32"), ways, lambda: s * 0.5)]

    return counted(n, body, x)[0]


PROGRAMS = [
    sum_in_a_loop, loop_with_weights, loop_of_two_values, loop_in_a_loop, loop_that_multiplies,
    loop_until_a_value, loop_with_a_choice, loop_with_a_case, array_of_turns, length_of_an_array,
    loop_over_columns, choice, choice_with_weights, choice_of_several, choice_in_a_choice,
    choice_by_a_value, loop_in_a_choice, first_case_that_holds, case_by_number,
    case_by_number_in_a_loop,
]  # fmt: skip


def write(executor, path, bare, folder):
    """All of them into one file: of each its model, its weights and what it gave for each feed."""
    kept = {}
    for build in PROGRAMS:
        name = build.__name__
        paddle.seed(5)
        main, startup = static.Program(), static.Program()
        with static.scope_guard(static.Scope()), paddle.utils.unique_name.guard():
            with static.program_guard(main, startup):
                x, n = static.data("x", [None, 4], "float32"), static.data("n", [1], "int64")
                y = build(x, n)
            executor.run(startup)
            prefix = f"{folder}/{name}"
            static.save_inference_model(prefix, [x, n], [y], executor, program=main)
            program, feeds, fetches = static.load_inference_model(prefix, executor)
            assert feeds == ["x", "n"], feeds
            results = [executor.run(program, feed=f, fetch_list=fetches)[0] for f in FEEDS]
            kept[f"{name}/y"] = np.concatenate([result.ravel() for result in results])
            kept[f"{name}/model"] = np.frombuffer(bare(program), "uint8")
            if os.path.exists(prefix + ".pdiparams"):  # not where there are no weights
                with open(prefix + ".pdiparams", "rb") as file:
                    kept[f"{name}/weights"] = np.frombuffer(file.read(), "uint8")
    for i, feed in enumerate(FEEDS):
        kept.update({f"feeds/{key}{i}": value for key, value in feed.items()})
    np.savez_compressed(path, **kept)
