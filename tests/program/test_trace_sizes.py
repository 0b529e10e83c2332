"""Sizes that Python reads while a function is traced: they follow the batch, or are refused."""

import copy
import functools
import inspect
import io
import itertools
import logging
import math
import operator
import pickle

import numpy as np
import pytest

import dygraph
from dygraph import _core, jit
from dygraph import ops as F
from program.models import numbers

TRACED_AT, SIZES = 3, range(1, 10)


def var(n, seed=0):
    return dygraph.to_variable(numbers(n, 4, seed=seed))


@functools.lru_cache
def remembered(n):
    return n


def matched(x):
    match x.shape[0]:
        case 7:
            return x * 2
        case _:
            return x * 3


def whiles(x):
    i, y = 0, x
    while i < x.shape[0] - 6:
        i, y = i + 1, y * 2
    return y


def swallowed(x):
    try:
        factor = int(x.shape[0])
    except Exception:
        factor = 3
    return x * float(factor)


def of_a_gradient(x):
    x = x * 1.0
    x.stop_gradient = False
    (g,) = dygraph.grad((x * x).sum(), x)
    return x * 2 if g.shape[0] > 4 else x * 3


def late(x):
    for _ in range(3):
        x = F.relu(x * 2.0)
    return x * 2 if x.shape[0] > 4 else x * 3


def of_rows_that_data_choose(x):
    chosen = x[x[:, 0] > 100.0]
    return x * 2 if chosen.shape[0] else x * 3


def caught(x):
    try:
        return x.reshape([5, -1]).sum(axis=0)[0] * 2
    except ValueError:
        return x.sum()


def caught_index(x):
    try:
        return x[6] * 2
    except IndexError:
        return x[0]


def saved(x):
    x = x * 1.0
    x.stop_gradient = False
    return x * 2 if dygraph.saved(x * x)[0].bytes > 100 else x * 3


def printed_before(x):
    print(x.shape)
    return x * 2 if str(x.shape) == "(7, 4)" else x * 3


def shadowed_print(x):
    def print(text):
        kept.append(text)

    kept = []
    print(f"{x.shape[0]}")
    return x * 2 if kept[0] == "7" else x * 3


def printed_elsewhere(x):
    text = io.StringIO()
    print(x.shape[0], file=text)
    return x * 2 if text.getvalue() == "7\n" else x * 3


def printed_and_kept(x):
    print(kept := str(x.shape[0]))
    return x * 2 if kept == "7" else x * 3


def printed_beside(x):
    print("shape")
    kept = str(x.shape[0])  # noqa: E702
    return x * 2 if kept == "7" else x * 3


def raised_and_caught(x):
    try:
        raise LookupError(f"{x.shape[0]}")
    except LookupError as error:
        return x * 2 if str(error) == "7" else x * 3


# What only this batch could answer. Each must be refused with its line, also where the answers for
# the sizes that are tried are the same.
REFUSED = {
    "greater": lambda x: x * 2 if x.shape[0] > 4 else x * 3,
    "less, turned": lambda x: x * 2 if 4 < x.shape[0] else x * 3,
    "equal": lambda x: x * 2 if x.shape[0] == 7 else x * 3,
    "unequal": lambda x: x * 2 if x.shape[0] != 7 else x * 3,
    "at least a float": lambda x: x * 2 if x.shape[0] >= 4.5 else x * 3,
    "truth of a difference": lambda x: x * 2 if x.shape[0] - 7 else x * 3,
    "not": lambda x: x * 2 if not (x.shape[0] - 7) else x * 3,
    "in a tuple": lambda x: x * 2 if x.shape[0] in (6, 7) else x * 3,
    "in a set": lambda x: x * 2 if x.shape[0] in {6, 7} else x * 3,
    "key of a dict": lambda x: x * {7: 2.0}.get(x.shape[0], 3.0),
    "shape as a key": lambda x: x * {(7, 4): 2.0}.get(x.shape, 3.0),
    "shape of numbers": lambda x: x * 2 if x.shape == (7, 4) else x * 3,
    "shape, turned": lambda x: x * 2 if (7, 4) == x.shape else x * 3,
    "list of the shape": lambda x: x * 2 if list(x.shape) == [7, 4] else x * 3,
    "a slice of the shape": lambda x: x * 2 if x.shape[:1] == (7,) else x * 3,
    "count of a size": lambda x: x * 2 if x.shape.count(7) else x * 3,
    "unpacked": lambda x: [x * 2 if rows > 4 else x * 3 for rows, _ in [x.shape]],
    "half": lambda x: x * 2 if x.shape[0] // 2 > 4 else x * 3,
    "odd": lambda x: x * 2 if x.shape[0] % 2 else x * 3,
    "divmod": lambda x: x * 2 if divmod(x.shape[0], 7)[0] else x * 3,
    "bits": lambda x: x * 2 if x.shape[0] & 8 else x * 3,
    "shifted": lambda x: x * 2 if x.shape[0] >> 2 else x * 3,
    "shifting": lambda x: x * float(1 << x.shape[0]),
    "bit_length": lambda x: x * 2 if x.shape[0].bit_length() > 2 else x * 3,
    "int": lambda x: x * 2 if int(x.shape[0]) > 4 else x * 3,
    "float": lambda x: x * 2 if float(x.shape[0]) > 4 else x * 3,
    "index": lambda x: x * 2 if operator.index(x.shape[0]) > 4 else x * 3,
    "round": lambda x: x * 2 if round(x.shape[0]) > 4 else x * 3,
    "division": lambda x: F.scale(x, 1.0 / x.shape[0]),
    "halved": lambda x: x * 2 if x.shape[0] / 2 > 4 else x * 3,
    "times a float": lambda x: x * 2 if x.shape[0] * 0.5 > 4 else x * 3,
    "root": lambda x: x * 2 if x.shape[0] ** 0.5 > 2.5 else x * 3,
    "power of a size": lambda x: x * 2 if 2 ** x.shape[0] > 100 else x * 3,
    "math.sqrt": lambda x: x * 2 if math.sqrt(x.shape[0]) > 2.5 else x * 3,
    "math.log": lambda x: x * 2 if math.log(x.shape[0]) > 1.5 else x * 3,
    "math.floor": lambda x: x * 2 if math.floor(x.shape[0]) > 4 else x * 3,
    "math.gcd": lambda x: x * 2 if math.gcd(x.shape[0], 7) > 1 else x * 3,
    "math.prod": lambda x: x * 2 if math.prod(x.shape) > 20 else x * 3,
    "sum of the shape": lambda x: x * 2 if sum(x.shape) > 10 else x * 3,
    "np.prod": lambda x: x * 2 if np.prod(x.shape) > 20 else x * 3,
    "np.array": lambda x: x * 2 if np.array(x.shape)[0] > 4 else x * 3,
    "np.asarray": lambda x: x * 2 if np.asarray(x.shape[0]) > 4 else x * 3,
    "np.zeros": lambda x: x * 2 if np.zeros(x.shape[0]).size > 4 else x * 3,
    "np.ones of the shape": lambda x: x * 2 if np.ones(x.shape).sum() > 20 else x * 3,
    "np.arange": lambda x: x * 2 if np.arange(x.shape[0]).sum() > 20 else x * 3,
    "np.sqrt": lambda x: x * 2 if np.sqrt(x.shape[0]) > 2.5 else x * 3,
    "np.minimum": lambda x: x * 2 if np.minimum(x.shape[0], 9) > 4 else x * 3,
    "np.int64": lambda x: x * 2 if np.int64(x.shape[0]) > 4 else x * 3,
    "np.float32 times it": lambda x: x * 2 if np.float32(1) * x.shape[0] > 4 else x * 3,
    "np.int64 and it": lambda x: x * 2 if np.int64(0) + x.shape[0] > 4 else x * 3,
    "array times it": lambda x: x * 2 if (np.ones(2) * x.shape[0])[0] > 4 else x * 3,
    "np.shape": lambda x: x * 2 if np.shape(x)[0] > 4 else x * 3,
    "np.size": lambda x: x * 2 if np.size(x) > 20 else x * 3,
    "size": lambda x: x * 2 if x.size > 20 else x * 3,
    "len": lambda x: x * 2 if len(x) > 4 else x * 3,
    "len that would follow": lambda x: F.reshape(x, shape=[len(x) * 4]),
    "rows": lambda x: [y for y in x][0] * 2,
    "iter": lambda x: next(iter(x)) * 2,
    "enumerate": lambda x: [y for i, y in enumerate(x) if i > 5] or x,
    "zip": lambda x: [a + b for a, b in zip(x, x, strict=True)][0],
    "range": lambda x: x * 2 if 5 in range(x.shape[0]) else x * 3,
    "sum over a range": lambda x: x * 2 if sum(1 for _ in range(x.shape[0])) > 4 else x * 3,
    "list times it": lambda x: x * float(len([0] * x.shape[0])),
    "it times a list": lambda x: x * float(len(x.shape[0] * [0])),
    "text times it": lambda x: x * float(len("a" * x.shape[0])),
    "index of a list": lambda x: x * ([3.0] * 5 + [2.0] * 5)[x.shape[0]],
    "slice of a list": lambda x: x * float(len([0] * 20)) * float(len([0, 0][: x.shape[0]])),
    "islice": lambda x: x * float(len(list(itertools.islice([0] * 5, x.shape[0])))),
    "min": lambda x: x * float(min(x.shape[0], 5) == 5),
    "max": lambda x: x * float(max(x.shape[0], 5) == 5),
    "sorted": lambda x: x * 2 if sorted([x.shape[0], 5])[0] == 5 else x * 3,
    "any": lambda x: x * 2 if any(n > 6 for n in x.shape) else x * 3,
    "text": lambda x: x * 2 if str(x.shape[0]) == "7" else x * 3,
    "text of the shape": lambda x: x * 2 if str(x.shape) == "(7, 4)" else x * 3,
    "f-string": lambda x: x * 2 if f"{x.shape[0]}" == "7" else x * 3,
    "f-string, aligned": lambda x: x * 2 if f"{x.shape[0]:02d}" == "07" else x * 3,
    "%d": lambda x: x * 2 if "%d" % x.shape[0] == "7" else x * 3,
    "%s": lambda x: x * 2 if "%s" % x.shape[0] == "7" else x * 3,
    "format": lambda x: x * 2 if "{}".format(x.shape[0]) == "7" else x * 3,
    "printed before": printed_before,
    "shadowed print": shadowed_print,
    "printed elsewhere": printed_elsewhere,
    "printed and kept": printed_and_kept,
    "raised and caught": raised_and_caught,
    "printed beside": printed_beside,
    "repr": lambda x: x * 2 if repr(x.shape) == "(7, 4)" else x * 3,
    "pickled": lambda x: x * 2 if pickle.loads(pickle.dumps(x.shape[0])) > 4 else x * 3,
    "hash": lambda x: x * 2 if hash(x.shape[0]) > 4 else x * 3,
    "cached": lambda x: x * 2 if remembered(x.shape[0]) > 4 else x * 3,
    "match": matched,
    "while": whiles,
    "swallowed": swallowed,
    "a gradient": of_a_gradient,
    "after operators": late,
    "rows that data choose": of_rows_that_data_choose,
    "mask": lambda x: x * 2 if F.nonzero(x > 100.0).shape[0] > 0 else x * 3,
    "transposed": lambda x: x * 2 if x.T.shape[1] > 4 else x * 3,
    "detached": lambda x: x * 2 if x.detach().shape[0] > 4 else x * 3,
    "flat": lambda x: x * 2 if x.reshape([-1]).shape[0] > 20 else x * 3,
    "twice": lambda x: x * 2 if dygraph.concat([x, x]).shape[0] > 8 else x * 3,
    "one less": lambda x: x * 2 if x[1:].shape[0] > 4 else x * 3,
    "every second": lambda x: x * 2 if x[::2].shape[0] > 2 else x * 3,
    "at most 5": lambda x: x * 2 if x[:5].shape[0] == x.shape[0] else x * 3,
    "at most 2": lambda x: x * 2 if x[:2].shape[0] == 2 else x * 3,
    "outer": lambda x: x * 2 if (x @ x.T).shape[1] > 4 else x * 3,
    "filled": lambda x: x * 2 if F.zeros([x.shape[0], 2]).shape[0] > 4 else x * 3,
    "a sum": lambda x: x * 2 if x.shape[0] + x.shape[1] > 9 else x * 3,
    "power of a variable": lambda x: x ** x.shape[0],
    "power with a variable": lambda x: x.shape[0] ** x,
    "caught error": caught,
    "caught index": caught_index,
    "saved": saved,
    "attribute": lambda x: F.topk(x.T, x.shape[0] - 1)[0] if x.ndim == 2 else x,
    "a value": lambda x: x * F.full([1], x.shape[0]),
    "to_variable": lambda x: x * dygraph.to_variable(x.shape[0]),
    "unbind": lambda x: F.unbind(x)[0] * 2,
    "unbound": lambda x: x * 2 if len(F.unbind(x)) > 4 else x * 3,
    "chunks": lambda x: x * 2 if len(F.chunk(x, 5)) > 4 else x * 3,
    "unstack": lambda x: F.unstack(x)[0] * 2,
    "split": lambda x: F.split(x, num=x.shape[0])[0],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_one_batch_would_answer_is_refused_with_its_line(name):
    function = REFUSED[name]
    with pytest.raises((ValueError, RuntimeError)) as error:  # a value that is read
        jit.trace(function, [var(TRACED_AT)])
    source, first = inspect.getsourcelines(function)
    lines = [f"test_trace_sizes.py:{first + i} in" for i in range(len(source))]
    assert any(line in str(error.value) for line in lines), str(error.value)
    assert function(var(2)) is not None  # and nothing is followed any more


def named(x):
    rows, columns = x.shape
    y = F.reshape(x, shape=[rows, 2, columns // 2])
    return F.reshape(F.transpose(y, [0, 2, 1]), shape=[rows * 2, 2])


def windows(x):
    y = x.reshape([-1, 2])  # twice as many rows
    rows = y.shape[0] // 2
    return y.reshape([rows, -1]) * 2


def checked(x):
    y = F.relu(x)
    assert x.shape[0] == y.shape[0] and x.shape == y.shape and y.shape[0] >= x.shape[0]
    assert not x.shape[0] > y.shape[0] and x.shape[0] - y.shape[0] == 0
    return x + y if (x.shape[0], 4) == y.shape else x


def present(x):
    assert x.shape[0], "rows"
    assert x.shape[0] > 0 and x.shape[0] != 0 and x.shape[0] >= 1 and x.size > 0
    return x * 2 if max(x.shape[0], 1) == x.shape[0] else x


def columns(x):
    y = [x[:, i] * i for i in range(x.shape[1])]
    return sum(y, y[0]) if x.shape[1] == 4 and x.shape[1:] == (4,) else x


def kinds(x):
    n = x.shape[0]
    good = isinstance(n, int) and isinstance(x.shape, tuple) and n is not None and n != "3"
    return x.reshape([copy.copy(n), 4]) if good and x.ndim == len(x.shape) else x * 0


def remainder_of_pairs(x):
    y = dygraph.concat([x, x])
    return y * 2 if y.shape[0] % 2 == 0 else y


def expanded(x):
    y = F.expand(x[:1], [2, x.shape[0], -1])
    assert y.shape == (2, x.shape[0], 4) and y.shape[2] > 3
    return F.reshape(y, shape=[2 * x.shape[0], 2, y.shape[2] // 2]) / y.shape[1]


def gradient_of_an_expansion(x):
    row = x[:1] * 1.0
    row.stop_gradient = False
    (g,) = dygraph.grad((F.expand(row, [x.shape[0], 4]) * x).sum(), row)
    return g


def written_up_to_it(x):
    table = dygraph.zeros([12, 4]) + x.sum()
    table[: x.shape[0]] = x
    table[x.shape[0]] = -1.0
    return table


def printed(x):
    print(x.shape, x.shape[0], f"{x.shape[0]:>4}", "%s" % (x.shape,), sep="; ")
    print("rows", "{}".format(x.shape[0]))
    logging.getLogger("sizes").warning("rows: %s, %s", x.shape[0], x.shape)
    return x * 2.0


def mean_loss(x):
    x = x * 1.0
    x.stop_gradient = False
    loss = (x * x).sum() / x.shape[0]
    (g,) = dygraph.grad(loss, x)
    return loss, g


# What every batch answers alike, and what the program can follow.
RIGHT = {
    "named": named,
    "windows": windows,
    "checked": checked,
    "present": present,
    "columns": columns,
    "kinds": kinds,
    "pairs": remainder_of_pairs,
    "mean": mean_loss,
    "divided": lambda x: x / x.shape[0],
    "dividing": lambda x: x.shape[0] / (x * x + 1.0),
    "times": lambda x: [x * x.shape[0], x.shape[0] * x],
    "plus": lambda x: [x + x.shape[0], x.shape[0] + x, x - x.shape[0], x.shape[0] - x],
    "integers": lambda x: x.astype("int64") * x.shape[0] + x.shape[0],
    "halves of integers": lambda x: x.astype("int64") / x.shape[0],
    "compared with a variable": lambda x: [x < x.shape[0], x.shape[0] > x * 4.0],
    "elements": lambda x: x.sum() / x.size,
    "a polynomial": lambda x: x / (2 * x.shape[0] * x.shape[0] + x.shape[1] - 1),
    "np.var": lambda x: np.var(x),
    "np.var of rows": lambda x: np.var(x, axis=0),
    "var": lambda x: [dygraph.var(x), dygraph.var(x, axis=0)],
    "size operator": lambda x: [x / F.size(x).astype("float32"), F.size(x)],
    "shape operator": lambda x: x / F.shape(x)[0].astype("float32"),
    "zeros": lambda x: dygraph.concat([x, F.zeros([x.shape[0], 2])], axis=1),
    "as long as a part": lambda x: F.ones([x[:5].shape[0], 1]) * x[:5],
    "sum over a part": lambda x: F.ones([x[:5].shape[0]]).sum() + x.sum(),
    "as long as every second": lambda x: F.full([x[::2].shape[0], 4], 2.0) + x[::2],
    "a part of its length": lambda x: F.reshape(x[:5], shape=[x[:5].shape[0], 2, 2]),
    "flat": lambda x: F.reshape(x, shape=[x.size]),
    "flat by NumPy": lambda x: F.reshape(x, shape=[x.shape[0] * np.prod(x.shape[1:])]),
    "flat by product": lambda x: F.reshape(x, shape=[math.prod(x.shape)]),
    "like": lambda x: F.zeros_like(x) + F.ones(list(x.shape)),
    "expanded": lambda x: F.expand(x[:, None], [x.shape[0], 3, 4]),
    "broadcast": lambda x: F.broadcast_to(x, [2, *x.shape]),
    "minus one": lambda x: F.reshape(x, shape=[x.shape[0], -1, 2]),
    "tiles": lambda x: F.tile(x[:1], [x.shape[0], 1]) + x,
    "tiles of the batch": lambda x: [y := F.tile(x, [2, x.shape[0]]), y / y.shape[0] + y.shape[1]],
    "tiles with an axis more": lambda x: F.tile(x, [x.shape[0], 1, 1]),
    "one row as often": lambda x: F.expand(x[:1], [x.shape[0], 4]) * x,
    "a column for each row": lambda x: F.expand(x[:, :1], [x.shape[0], x.shape[0]]) @ x,
    "a number for each row": lambda x: F.broadcast_to(x.sum(), [x.shape[0], 2]),
    "its sizes go on": expanded,
    "one row as": lambda x: F.expand_as(x[:1], x) - x,
    "a gradient through": gradient_of_an_expansion,
    "printed": printed,
    "all but the last row": lambda x: x[: x.shape[0] - 1],
    "the last row": lambda x: [x[x.shape[0] - 1], x[:, None][x.shape[0] - 1, 0, 1:]],
    "part of a table": lambda x: x + dygraph.arange(48.0).reshape(12, 4)[: x.shape[0]],
    "every second up to it": lambda x: dygraph.arange(12)[: x.shape[0] : 2],
    "up to a variable": lambda x: x[: (x > 0.0).astype("int64").sum()],
    "a square": lambda x: F.ones([x.shape[0], x.shape[0]]) @ x,
    "twice as many": lambda x: F.full([2 * x.shape[0]], 3),
    "numbers": lambda x: [
        y := F.arange(x.shape[0], dtype="float32"), x * y.reshape([-1, 1]) / y.shape[0],
        F.arange(1, x.shape[0] + 1), F.linspace(0, 1, x.shape[0]),
    ],
    "written up to it": written_up_to_it,
    "pairs of rows": lambda x: F.tril(F.ones([x.shape[0], x.shape[0]])) @ x,
}  # fmt: skip


def arrays(value):
    return [v.numpy() for v in (value if isinstance(value, (list, tuple)) else [value])]


@pytest.mark.parametrize("traced_at", [1, 3, 8])
@pytest.mark.parametrize("name", RIGHT)
def test_what_follows_is_right_at_every_size(name, traced_at):
    function = RIGHT[name]
    _, traced = jit.trace(function, [var(traced_at)])
    for n in SIZES:
        x = var(n, seed=n)
        for want, got in zip(arrays(function(x)), arrays(traced(x)), strict=True):
            np.testing.assert_array_equal(got, want, strict=True)


def test_the_message_says_what_and_what_to_do():
    def forward(x):
        return x * 2 if x.shape[0] > 4 else x * 3

    with pytest.raises(ValueError) as error:
        jit.trace(forward, [var(3)])
    text = str(error.value)
    assert text.startswith(
        "trace: Python code must not depend on the batch size, but `> 4` tests the size of 2 "
        "(axis 0 of 'x'), at "
    )
    assert "in forward. Use sizes in arithmetic with Variables" in text


def test_printed_sizes_are_those_of_the_run(capsys, caplog):
    jit.trace(printed, [var(3)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["(3, 4); 3;    3; (3, 4)", "rows 3"]
    assert "(2, 4); 2;    2; (2, 4)" in lines  # one of the sizes that are tried
    assert "rows: 3, (3, 4)" in caplog.messages and "rows: 2, (2, 4)" in caplog.messages


def test_the_refusal_of_len_says_what_follows():
    with pytest.raises(ValueError, match=r"Use x\.shape\[0\], which is valid in shapes"):
        jit.trace(lambda x: F.reshape(x, shape=[len(x) * 4]), [var(3)])


def test_several_inputs_share_the_batch_and_others_do_not():
    def forward(x, y, table):
        assert x.shape[0] == y.shape[0] and table.shape[0] == 5
        return x @ table[: x.shape[1]] + y

    table = dygraph.to_variable(numbers(5, 4))
    _, traced = jit.trace(forward, [var(3), var(3, 1), table])
    x, y = var(7, 2), var(7, 3)
    np.testing.assert_array_equal(traced([x, y, table])[0].numpy(), forward(x, y, table).numpy())
    with pytest.raises(ValueError, match="`== 5` tests the size"):
        jit.trace(lambda x, y: x * 2 if x.shape[0] == 5 else y, [var(3), table])


def test_a_question_to_empty_batches_is_asked_of_one():
    with pytest.raises(RuntimeError, match="differs for inputs of shapes"):
        jit.trace(lambda x: x.sum() if x.shape[0] > 0 else x.sum() + 1.0, [var(3)])
    with pytest.raises(RuntimeError, match="differs for inputs of shapes"):
        jit.trace(lambda x: x.sum() if x.shape[0] else x.sum() + 1.0, [var(3)])

    def guarded(x):
        if not x.shape[0]:
            raise LookupError("no rows")
        return x * 2.0

    _, traced = jit.trace(guarded, [var(3)])
    np.testing.assert_array_equal(traced(var(1)).numpy(), numbers(1, 4) * 2)


def test_lengths_of_sequences_are_refused():
    x = dygraph.to_variable(numbers(5, 3), lod=[[0, 2, 5]])
    for read in (
        lambda x: x * 2.0 if len(x.lod()[0]) > 5 else x * 3.0,
        lambda x: x * 2.0 if x.recursive_sequence_lengths()[0][0] > 5 else x * 3.0,
        lambda x: x * 2.0 if x.lod() == [[0, 1, 2]] else x * 3.0,
        lambda x: x * 2.0 if x.shape[0] > 50 else x * 3.0,
    ):
        with pytest.raises(ValueError, match="must not"):
            jit.trace(read, [x])
    _, traced = jit.trace(lambda x: x * 2.0 if x.lod() and x.lod_level else x * 3.0, [x])
    np.testing.assert_array_equal(traced(x).numpy(), x.numpy() * 2)


def test_sizes_that_live_on_are_ints():
    kept = []

    def forward(x):
        kept.append(x.shape[0])
        return x * 2

    jit.trace(forward, [var(3)])
    assert [type(n) for n in kept].count(int) >= 2  # the ordinary call, and comparisons
    for n in kept:
        assert n in (1, 2, 3) and int(n) == n and n + 1 > n and f"{n}" == str(int(n))
        assert 10 // n == 10 // int(n) and n / 2 == int(n) / 2 and {n: 1}[int(n)] == 1
        assert list(range(n)) == list(range(int(n))) and -n < 0 and n**2 == int(n) ** 2
        assert type(pickle.loads(pickle.dumps(n))) is int and np.sqrt(n) == math.sqrt(int(n))


def test_lists_of_results_are_counted():
    def forward(x):
        rows = _core.run_op("unstack", {"X": x}, {"axis": 0}, {"Y": x.shape[1]})["Y"]
        return x * float(len(rows))

    def dead(x):
        rows = _core.run_op("unstack", {"X": x}, {"axis": 0}, {"Y": _core.dims(x)[0]})["Y"]
        return x * 2 if len(rows) > 4 else x * 3

    with pytest.raises(ValueError):
        jit.trace(forward, [var(3)])
    with pytest.raises(ValueError, match="makes 3 values at the first size and 2 at the second"):
        jit.trace(dead, [var(3)])


def test_a_function_of_one_size_reads_it_as_a_number():
    def forward(x):
        return F.reshape(x, shape=[2, 6]) * (2.0 if x.shape[0] == 3 else 3.0)

    _, traced = jit.trace(forward, [var(3)])
    np.testing.assert_array_equal(traced(var(3)).numpy(), numbers(3, 4).reshape(2, 6) * 2)
    with pytest.raises(ValueError):
        traced(var(6))
