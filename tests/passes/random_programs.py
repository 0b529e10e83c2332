"""Random programs for passes: moves and conversions, constants, equal operators, dead ones, writes
over values that others read, random numbers, a loop now and then.
"""

import random

import numpy as np

from dygraph import static
from dygraph.static import layers

SHAPE = [3, 4]


def to_and_fro(r, x):
    """Something that gives x again, or nearly."""
    kind = r.choice(
        ["assign", "scale", "transpose", "reshape", "cast", "narrow", "axis", "identity"]
    )
    if kind == "assign":
        return layers.assign(x)
    if kind == "scale":
        return layers.scale(x, scale=r.choice([1.0, 1.0, -1.0]), bias=r.choice([0.0, 0.0, -0.0, 1]))
    if kind == "transpose":
        return layers.transpose(layers.transpose(x, [1, 0]), r.choice([[1, 0], [-1, 0]]))
    if kind == "reshape":
        return layers.reshape(layers.reshape(x, r.choice([[-1], [2, 6], [4, 3]])), [3, 4])
    if kind == "cast":
        return layers.cast(layers.cast(x, "float64"), "float32")
    if kind == "narrow":
        return layers.cast(layers.cast(x, r.choice(["int32", "bfloat16", "float16"])), "float32")
    if kind == "axis":
        at = r.choice([0, 1, -1])
        return layers.squeeze(layers.unsqueeze(x, [at]), [at])
    return layers.reshape(layers.transpose(x, [0, 1]), SHAPE)


def constant(r):
    """An array made of constants alone."""
    value = layers.fill_constant([1, 4], "float32", r.choice([0.0, -0.0, 0.1, 3.0, float("inf")]))
    if r.random() < 0.5:
        value = layers.scale(value, scale=r.choice([0.3, -2.0]), bias=0.7)
    if r.random() < 0.5:
        value = layers.concat([value, layers.fill_constant([2, 4], "float32", 0.2)], axis=0)
    if r.random() < 0.3:
        value = layers.cast(layers.cast(value, "float64") * 0.1, "float32")
    return value


def statement(r, values, trains):
    """Appends a few operators; what they make may join the values, or replace one."""
    kind, x, y = r.random() * (0.78 if trains else 1), r.choice(values), r.choice(values)
    if kind < 0.25:
        made = to_and_fro(r, x)
    elif kind < 0.4:
        made = r.choice([layers.relu, layers.tanh, layers.square])(x)
    elif kind < 0.55:
        made = r.choice([layers.elementwise_add, layers.elementwise_sub, layers.elementwise_max])(
            x, y
        )
    elif kind < 0.65:
        made = layers.elementwise_mul(x, constant(r))
    elif kind < 0.72:
        rows = layers.cast(layers.shape(x), "float32")
        made = layers.elementwise_add(x, layers.reduce_sum(rows))
    elif kind < 0.78:
        made = layers.elementwise_add(x, layers.uniform_random(SHAPE))
    elif kind < 0.88:
        layers.assign(x, output=y)  # y has another value from here on
        return
    elif kind < 0.94:
        i, n = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 2)
        more = layers.less_than(i, n)
        with layers.While(more).block():
            inner = [x, y, layers.elementwise_add(to_and_fro(r, x), y)]
            inner.append(layers.relu(layers.relu(inner[-1])))
            layers.assign(to_and_fro(r, inner[-1]), output=y)
            layers.increment(i)
            layers.less_than(i, n, cond=more)
        return
    else:
        made = layers.create_global_var(SHAPE, r.random(), "float32", persistable=True)
        layers.assign(x, output=made)
    values.append(made)


def made(seed, count=12):
    """(main, startup, feed, names to fetch) of a random program, with gradients now and then."""
    r = random.Random(seed)
    main, startup = static.Program(), static.Program()
    main.random_seed = startup.random_seed = 5
    with static.program_guard(main, startup), static.unique_name.guard():
        values = [static.data("x", SHAPE), static.data("y", SHAPE)]
        for v in values:
            v.stop_gradient = False
        weight = layers.create_parameter(SHAPE, "float32", name="w")
        values = [*values, weight, layers.elementwise_mul(values[0], weight)]
        trains = r.random() < 0.4  # gradients need what would be overwritten
        for _ in range(count):
            statement(r, values, trains)
        wanted = [v.name for v in r.sample(values, 3)]
        if trains:
            loss = layers.reduce_sum(layers.elementwise_mul(values[-1], values[3]))
            static.optimizer.SGD(0.1).minimize(loss)
            wanted.append(loss.name)
    rng = np.random.default_rng(seed)
    feed = {name: rng.normal(size=SHAPE).astype("float32") for name in "xy"}
    feed["x"][0, :2] = [-0.0, np.inf]
    return main, startup, feed, [name for name in wanted if main.global_block().has_var(name)]
