"""Level of detail (LoD) stays where rows stay rows: what users call, eagerly, described and traced.

`tests/op/test_lod_rule.py` asks the operators; here stand the functions, methods and layers.
"""

import functools

import numpy as np
import pytest

import dygraph
from dygraph import nn, static
from dygraph import ops as F

OFFSETS = [[0, 1, 4]]


def some(*shape):
    return np.random.default_rng(3).random(shape, "float32")


ROWS = some(4, 4)  # as many columns as rows: equal sizes must not decide
PLAIN = some(4, 4) + 1
BLOCKS = some(4, 2, 4)
IDS = np.array([3, 0, 1, 1])
COLUMN = some(4, 1)
INPUTS = {"x": ROWS, "p": PLAIN, "z": BLOCKS, "ids": IDS, "one": COLUMN}
INPUTS |= {"table": some(7, 3), "two": np.array([0, 2]), "turned": np.array([3, 2, 1, 0])}
RAGGED = ("x", "z", "ids", "one")  # p is an ordinary variable of as many rows


@functools.cache
def layer(name, *sizes):
    """One layer for all three ways: what it makes at each call would differ."""
    return getattr(nn, name)(*sizes)


# Functions of the inputs, by the names of their parameters.
KEPT = {
    # columns and inner axes
    "x[:, 1:3]": lambda x: x[:, 1:3],
    "x[..., 0]": lambda x: x[..., 0],
    "x[:, None]": lambda x: x[:, None],
    "x[:, [0, 2]]": lambda x: x[:, [0, 2]],
    "x[:, ::-1]": lambda x: x[:, ::-1],
    "x[:]": lambda x: x[:],
    "reshape": lambda x: x.reshape([-1, 2, 2]),
    "reshape 0": lambda x: x.reshape([0, 2, 2]),
    "view": lambda x: x.view(-1, 2, 2),
    "flatten": lambda z: z.flatten(1),
    "squeeze": lambda one: one.squeeze(-1),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "unsqueeze -1": lambda x: x.unsqueeze(-1),
    "split": lambda x: dygraph.split(x, num=2, axis=1)[1],
    "chunk": lambda x: x.chunk(2, 1)[0],
    "unstack": lambda x: F.unstack(x, axis=1, num=4)[0],
    "stack": lambda x: dygraph.stack([x, x], 1),
    "stack with a plain one": lambda x, p: dygraph.stack([p, x], 1),
    "concat": lambda x, p: dygraph.concat([x, p], 1),
    "concat after a plain one": lambda x, p: dygraph.concat([p, x], 1),
    "transpose": lambda z: z.transpose([0, 2, 1]),
    "permute": lambda z: z.permute(0, 2, 1),
    "flip": lambda x: dygraph.flip(x, [1]),
    "roll": lambda x: dygraph.roll(x, 1, 1),
    "pad": lambda x: F.pad(x, [1, 1]),
    "tile": lambda x: dygraph.tile(x, [1, 2]),
    "expand": lambda one: dygraph.expand(one, [-1, 3]),
    "index_select": lambda x, two: dygraph.ops.index_select(x, two, 1),
    "gather": lambda x, two: F.gather(x, two, axis=1),
    # elementwise, from either side
    "x + 1": lambda x: x + 1,
    "1 - x": lambda x: 1 - x,
    "1 / x": lambda x: 1 / x,
    "2 ** x": lambda x: 2**x,
    "x + p": lambda x, p: x + p,
    "p + x": lambda x, p: p + x,
    "p * one": lambda p, one: p * one,
    "one * p": lambda p, one: one * p,
    "row * x": lambda x, p: p.sum(0) * x,
    "maximum": lambda x, p: dygraph.maximum(p, x),
    "axis=0": lambda x: F.elementwise_mul(x, x[:, 0], axis=0),
    "axis=0 of a plain one": lambda x, p: F.elementwise_mul(p, x[:, 0], axis=0),
    "where": lambda x: dygraph.where(x > 0.5, x, 0.0),
    "where in the second": lambda x, p: dygraph.where(p > 0.5, p, x),
    "where in the condition": lambda x, p: dygraph.where(x > 0.5, p, p),
    "x > 0.5": lambda x: x > 0.5,
    "p > x": lambda x, p: p > x,
    "logical_and": lambda x, p: dygraph.logical_and(p > 0.5, x > 0.5),
    "logical_not": lambda x: dygraph.logical_not(x > 0.5),
    "clip": lambda x: x.clip(0.25, 0.5),
    "astype": lambda x: x.astype("float64"),
    "sqrt": lambda x: dygraph.sqrt(x),
    "zeros_like": lambda x: dygraph.zeros_like(x),
    "detach": lambda x: x.detach(),
    # along rows
    "sum": lambda x: x.sum(1),
    "sum keepdim": lambda x: x.sum(axis=-1, keepdim=True),
    "sum of two axes": lambda z: z.sum([1, 2]),
    "mean": lambda x: x.mean(1),
    "max": lambda x: x.max(axis=1),
    "prod": lambda x: x.prod(1),
    "all": lambda x: dygraph.all(x > 0, 1),
    "any": lambda x: dygraph.any(x > 0, 1),
    "argmax": lambda x: x.argmax(1),
    "logsumexp": lambda x: dygraph.ops.logsumexp(x, 1),
    "norm": lambda x: dygraph.norm(x, axis=1),
    "std": lambda x: x.std(1, correction=0),
    "cumsum": lambda x: x.cumsum(1),
    "softmax": lambda x: F.softmax(x),
    "log_softmax": lambda x: F.log_softmax(x),
    "argsort": lambda x: dygraph.argsort(x, 1),
    "topk": lambda x: dygraph.topk(x, 2, 1)[0],
    # products
    "x @ w": lambda x, p: x @ p,
    "z @ w": lambda z, p: z @ p,
    "einsum": lambda x, p: dygraph.einsum("ij,jk->ik", x, p),
    "batched product": lambda z: F.bmm(z, z.transpose([0, 2, 1])),
    # tables
    "one_hot": lambda ids: F.one_hot(ids.unsqueeze(1), depth=5),
    "table[ids]": lambda table, ids: F.gather(table, ids),
    "gather_nd": lambda table, ids: F.gather_nd(table, ids.unsqueeze(1)),
    "take_along_axis": lambda x, ids: F.take_along_axis(x, ids.unsqueeze(1), Axis=1),
    # layers
    "Linear": lambda x: layer("Linear", 4, 3)(x),
    "Embedding": lambda ids: layer("Embedding", (5, 3))(ids),
    "Dropout": lambda x: layer("Dropout", 0.5)(x),
    "LayerNorm": lambda x: layer("LayerNorm", 4)(x),
    "BatchNorm1D": lambda x: layer("BatchNorm1D", 4)(x),
    "PReLU": lambda x: layer("PReLU")(x),
    "LSTM": lambda x: layer("LSTM", 4, 3)(x)[0],
    "GRU": lambda x: layer("GRU", 4, 3)(x)[0],
    "SimpleRNN": lambda x: layer("SimpleRNN", 4, 3)(x)[0],
    "MultiHeadAttention": lambda x: layer("MultiHeadAttention", 4, 2)(x),
    "position encoding": lambda x: F.add_position_encoding(x, alpha=1.0, beta=1.0),
    # losses of each row
    "cross entropy": lambda x, ids: F.softmax_with_cross_entropy(x, ids.unsqueeze(1)),
    "of ragged labels": lambda p, ids: F.softmax_with_cross_entropy(p, ids.unsqueeze(1)),
    "huber": lambda x, p: F.huber_loss(p, x, delta=1.0),
}

LOST = {
    "x[1:]": lambda x: x[1:],
    "x[::-1]": lambda x: x[::-1],
    "x[0]": lambda x: x[0],
    "x[None]": lambda x: x[None],
    "x[[3, 2, 1, 0]]": lambda x: x[[3, 2, 1, 0]],
    "sum": lambda x: x.sum(0),
    "sum of all": lambda x: x.sum(),
    "max": lambda x: x.max(axis=0),
    "argmax": lambda x: x.argmax(0),
    "cumsum": lambda x: x.cumsum(0),
    "softmax": lambda x: F.softmax(x, axis=0),
    "log_softmax": lambda x: F.log_softmax(x, axis=-2),
    "logsumexp": lambda x: dygraph.ops.logsumexp(x, 0),
    "reshape": lambda x: x.reshape([-1]),
    "reshape rows": lambda x: x.reshape([-1, 2]),
    "flip": lambda x: dygraph.flip(x, [0]),
    "roll": lambda x: dygraph.roll(x, 1, 0),
    "argsort": lambda x: dygraph.argsort(x, 0),
    "stack": lambda x: dygraph.stack([x, x], 0),
    "with a plain one below": lambda x, p: dygraph.concat([x, p], 0),
    "below a plain one": lambda x, p: dygraph.concat([p, x], 0),
    "transpose": lambda x: x.transpose([1, 0]),
    "w @ x": lambda x, p: p @ x,
    "einsum": lambda x, p: dygraph.einsum("ij,jk->ki", x, p),
    "column + x": lambda x, p: x[:, 0] + p,
    "gather": lambda x, turned: F.gather(x, turned),
    "tile": lambda x: dygraph.tile(x, [2, 1]),
}


def names_of(function):
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def variable(name):
    return dygraph.to_variable(INPUTS[name], lod=OFFSETS if name in RAGGED else None)


CASES = [(f"{k}: kept", f, OFFSETS) for k, f in KEPT.items()]
CASES += [(f"{k}: lost", f, []) for k, f in LOST.items()]
cases = pytest.mark.parametrize(
    ("function", "lod"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)


@cases
def test_eager(function, lod):
    with dygraph.guard(seed=2):
        out = function(*map(variable, names_of(function)))
    assert out.lod() == lod


@cases
def test_described(function, lod):
    names, main, startup = names_of(function), static.Program(), static.Program()
    with static.program_guard(main, startup):
        declared = [
            static.data(
                n, [None, *INPUTS[n].shape[1:]], str(INPUTS[n].dtype), lod_level=int(n in RAGGED)
            )
            for n in names
        ]
        out = function(*declared)
    assert out.lod_level == len(lod)
    executor, scope = static.Executor(), static.Scope()
    executor.run(startup, scope=scope)
    feed = {n: variable(n) for n in names}
    (found,) = executor.run(main, feed, [out], scope=scope, return_numpy=False)
    assert found.lod() == lod


@cases
def test_captured(function, lod):
    with dygraph.guard(seed=2):
        captured = dygraph.jit.to_static(function)
        for _ in range(2):  # recorded, then run
            out = captured(*map(variable, names_of(function)))
            assert out.lod() == lod


def test_concat_of_ragged_ones_along_rows_has_the_sequences_of_both():
    x, y = variable("x"), dygraph.to_variable(some(3, 4), lod=[[0, 2, 3]])
    assert dygraph.concat([x, y], 0).lod() == [[0, 1, 4, 6, 7]]


OTHER = [[0, 2, 4]]
TWO = {
    "x + y": lambda x, y: x + y,
    "x > y": lambda x, y: x > y,
    "maximum": lambda x, y: dygraph.maximum(x, y),
    "where": lambda x, y: dygraph.where(x > 0.5, x, y),
    "where with another condition": lambda x, y: dygraph.where(y > 0.5, x, x),
    "logical_and": lambda x, y: dygraph.logical_and(x > 0.5, y > 0.5),
    "stack": lambda x, y: dygraph.stack([x, y], 1),
    "concat": lambda x, y: dygraph.concat([x, y], 1),
    "sum": lambda x, y: F.sum([x, y]),
    "huber": lambda x, y: F.huber_loss(x, y, delta=1.0),
    "a row's weight": lambda x, y: F.elementwise_mul(x, y[:, 0], axis=0),
}


@pytest.mark.parametrize("function", TWO.values(), ids=TWO)
def test_two_that_differ_are_refused(function):
    x, y = variable("x"), dygraph.to_variable(PLAIN, lod=OTHER)
    with pytest.raises(ValueError, match=r"got offsets \[0, 1, 4\] and \[0, 2, 4\].*lod_reset\(\)"):
        function(x, y)
    main = static.Program()
    with static.program_guard(main):
        a, b = (static.data(n, [None, 4], lod_level=1) for n in "xy")
        out = function(a, b)
    assert out.lod_level == 1
    with pytest.raises(ValueError, match=r"got offsets \[0, 1, 4\] and \[0, 2, 4\]"):
        static.Executor().run(main, {"x": x, "y": y}, [out])


def test_levels_above_equal_sequences_agree():
    """The rows are parted alike: x's levels, as in Fluid."""
    x, y = variable("x"), dygraph.to_variable(PLAIN, lod=[[0, 2], *OFFSETS])
    assert (x + y).lod() == OFFSETS
    assert (y + x).lod() == [[0, 2], *OFFSETS]


def test_the_fix_of_the_message():
    x, y = variable("x"), dygraph.to_variable(PLAIN, lod=OTHER)
    assert (x + F.lod_reset(y, y=x)).lod() == OFFSETS
    y.set_lod([])
    assert (x + y).lod() == OFFSETS


def test_a_mean_over_a_ragged_batch_is_over_its_rows():
    """cross_entropy: each row counts once, however its sequences are cut."""
    rows = variable("x")
    losses = F.cross_entropy(F.softmax(rows), dygraph.to_variable(IDS[:, None], lod=OFFSETS))
    e = np.exp(ROWS.astype("float64"))
    want = -np.log(e[np.arange(4), IDS] / e.sum(1))
    np.testing.assert_allclose(losses.numpy().ravel(), want, rtol=1e-5)
    loss = dygraph.mean(losses)
    assert losses.lod() == OFFSETS and loss.lod() == []
    np.testing.assert_allclose(loss.numpy(), want.mean(), rtol=1e-5)
