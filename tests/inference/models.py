"""Models that the tests of predictors save and run."""

import os

import numpy as np

from dygraph import static
from dygraph.static import layers


def save(folder, describe):
    """Saves a program: describe() gives its inputs and outputs. The folder, as a string."""
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    main.random_seed = startup.random_seed = 3
    with static.program_guard(main, startup):
        inputs, outputs = describe()
    executor = static.Executor()
    executor.run(startup, scope=scope)
    names = [v.name for v in inputs]
    static.save_inference_model(os.fspath(folder), names, outputs, executor, main, scope=scope)
    return os.fspath(folder)


def mlp():
    x = static.data("x", [None, 4])
    h = layers.fc(x, 8, act="relu")
    return [x], [layers.fc(h, 3, act="softmax"), h]


def endless():
    """Counts to a number that it is given."""
    n = static.data("n", [1], "int64")
    i = layers.fill_constant([1], "int64", 0)
    more = layers.less_than(i, n)
    with layers.While(more).block():
        layers.increment(i)
        layers.less_than(i, n, cond=more)
    return [n], [i]


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def by_executor(folder, feed):
    """What static.Executor gives for a saved model."""
    scope = static.Scope()
    program, _, fetches = static.load_inference_model(folder, scope=scope)
    return static.Executor().run(program, feed, fetches, scope=scope, return_numpy=False)
