"""docs/promotion.md says what the library does."""

import operator
import re
from pathlib import Path

import numpy as np
import pytest

import dygraph
from dygraph import static

PAGE = Path(__file__).resolve().parents[2] / "docs" / "promotion.md"
NAMES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "bfloat16", "float16", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip
FLOATS, COMPLEX = NAMES[6:10], NAMES[10:]


def expected(a, b):
    """The array API's table, and the float where it leaves a pair open."""
    if a == b:
        return a
    if a in COMPLEX or b in COMPLEX:
        return "complex128" if {"complex128", "float64"} & {a, b} else "complex64"
    if (a in FLOATS) != (b in FLOATS):
        return a if a in FLOATS else b
    if "bfloat16" in (a, b):
        other = b if a == "bfloat16" else a
        return "float32" if other == "float16" else other
    return np.promote_types(a, b).name


def table():
    """The table as the page holds it: {(row, column): type}."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if re.match(r"\| (type|\*\*)", line)
    ]
    head = rows[0][1:]
    return {(r[0].strip("*"), c): t for r in rows[1:] for c, t in zip(head, r[1:], strict=True)}


def test_the_table_is_complete_and_true():
    said = table()
    assert len(said) == len(NAMES) ** 2
    for (a, b), result in said.items():
        assert result == expected(a, b), (a, b)
        assert dygraph.promote_types(a, b).name == result, (a, b)


@pytest.mark.parametrize("a", NAMES)
def test_operators_follow_the_table(a):
    for b in NAMES:
        x, y = (dygraph.to_variable(np.ones(2, "float32")).astype(t) for t in (a, b))
        assert dygraph.result_type(x, y, 1).name == expected(a, b)
        assert (x == y).numpy().all()
        meet = expected(a, b)
        if meet in ("float32", "float64", *COMPLEX) or meet.startswith("int"):
            assert (x + y).dtype.name == meet
            assert (x / y).dtype.name == ("float32" if meet.startswith("int") else meet)


def test_numbers():
    def var(dtype):
        return dygraph.to_variable(np.ones(2, dtype))

    for number in (2.5, 2, True):
        assert (var("float32") + number).dtype == dygraph.float32
        assert dygraph.result_type(var("float32"), number) == dygraph.float32
    assert (var("int32") + 2).dtype == dygraph.int32
    for name, result in (("float32", "complex64"), ("float64", "complex128")):
        assert (var(name) * 1j).dtype.name == dygraph.result_type(var(name), 1j).name == result
    with pytest.raises(TypeError, match=r"astype\('complex64'\)"):
        var("int32") * 1j
    with pytest.raises(TypeError, match="fraction"):
        var("int32") + 2.5
    for number in (300, -1):
        with pytest.raises(IndexError, match="uint8"):
            var("uint8") + number
    with pytest.raises(TypeError, match="bool"):
        operator.add(var("bool"), 2)
    assert (var("int32") * np.float32(2.5)).dtype == dygraph.float32
    assert (var("float32") * np.float64(2.5)).dtype == dygraph.float32
    assert np.sqrt(var("int64")).dtype == np.mean(var("int64")).dtype == dygraph.float32


def test_result_type():
    assert dygraph.result_type(True) == dygraph.bool_
    assert dygraph.result_type(1, True) == dygraph.int64
    assert dygraph.result_type(1, 2.0) == dygraph.float32
    assert dygraph.result_type(np.zeros(1, "int8"), "uint8", 2.0) == dygraph.int16
    assert dygraph.result_type(np.dtype("float64"), dygraph.float16) == dygraph.float64
    for bad in ((), ([1, 2],), (None,), ("text",), (object(),)):
        with pytest.raises((TypeError, ValueError, KeyError)):
            dygraph.result_type(*bad)


def test_writing_casts_to_the_target():
    x = dygraph.to_variable(np.zeros(2, "int32"))
    x[0] = dygraph.to_variable(np.array(2.75))
    assert x.dtype == dygraph.int32 and x.numpy().tolist() == [2, 0]
    with pytest.raises(TypeError):
        dygraph.ops.elementwise_add(x, x.astype("int64"))


SPREAD = {
    "mean": (lambda x: x.mean(), np.mean),
    "var": (lambda x: x.var(unbiased=False), np.var),
    "std": (lambda x: x.std(unbiased=False), np.std),
    "dygraph.mean": (lambda x: dygraph.mean(x), np.mean),
    "dygraph.median": (lambda x: dygraph.median(x, mode="avg"), np.median),
    "dygraph.var": (lambda x: dygraph.var(x), np.var),
    "dygraph.std": (lambda x: dygraph.std(x, correction=1), lambda a: np.std(a, ddof=1)),
    "mean of an axis": (lambda x: x.mean(axis=0), lambda a: a.mean(0)),
    "median of an axis": (
        lambda x: dygraph.median(x, axis=1, mode="avg"),
        lambda a: np.median(a, axis=1),
    ),
    "var of an axis": (lambda x: x.var(axis=1, unbiased=False), lambda a: a.var(1)),
    "reduce_mean": (lambda x: dygraph.ops.reduce_mean(x, dim=1), lambda a: a.mean(1)),
    "layers.mean": (lambda x: static.layers.mean(x), np.mean),
    "layers.reduce_mean": (lambda x: static.layers.reduce_mean(x, dim=[0]), lambda a: a.mean(0)),
    "np.mean": (lambda x: np.mean(x), np.mean),
    "np.average": (
        lambda x: np.average(x, weights=np.arange(8).reshape(4, 2)),
        lambda a: np.average(a, weights=np.arange(8).reshape(4, 2)),
    ),
    "l1_loss": (lambda x: dygraph.ops.l1_loss(x, 0 * x), lambda a: np.abs(a).mean()),
}  # fmt: skip
NUMBERS = np.array([[0, 1], [2, 5], [7, 3], [1, 1]])


@pytest.mark.parametrize(
    "name, dtype",
    [(n, d) for n in SPREAD for d in [*NAMES[:6]][4 * (n == "l1_loss") :]],
)
def test_means_of_integers_are_floats(name, dtype):
    ours, theirs = SPREAD[name]
    x = NUMBERS.astype(dtype)
    expected = theirs(x.astype("float64"))
    got = ours(dygraph.to_variable(x))
    assert got.dtype == dygraph.float32
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("name", [n for n in SPREAD if not n.startswith(("np.", "l1"))])
def test_means_of_integers_are_floats_in_programs(name):
    ours, theirs = SPREAD[name]
    program = static.Program()
    with static.program_guard(program):
        out = ours(static.data("x", [4, 2], "int64"))
    assert out.dtype == dygraph.float32
    (got,) = static.Executor().run(program, {"x": NUMBERS}, [out])
    np.testing.assert_allclose(got, theirs(NUMBERS), rtol=1e-6)


def test_the_operator_of_a_loaded_program_gives_integers():
    """As Fluid's and Paddle's: programs that were written elsewhere keep their results."""
    got = dygraph.run_op("reduce_mean", {"X": dygraph.to_variable(NUMBERS)}, {"reduce_all": True})
    assert got["Out"].dtype == dygraph.int64 and got["Out"].item() == 2
