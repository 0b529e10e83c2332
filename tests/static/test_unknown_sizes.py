"""Sizes that a program knows when it runs: they follow the run, or are refused, never -1."""

import copy
import json
import math
import pickle
import warnings

import numpy as np
import pytest

import dygraph
from dygraph import jit, static
from dygraph import ops as F
from dygraph.static import layers

BATCHES = 1, 2, 5


def rows(n, seed=0):
    return np.random.default_rng(seed).standard_normal((n, 3)).astype("float32")


def run(describe, feed):
    """What a program of ``a [-1, 3]`` gives: the sizes it declares, and arrays for each batch."""
    main = static.Program()
    with static.program_guard(main, static.Program()):
        a = static.data("a", [-1, 3])
        made = describe(a)
        executor = static.Executor()
        results = [executor.run(main, {"a": value}, [made])[0] for value in feed]
    return tuple(made.desc.shape), results


def total(n, value):
    return np.full((n, 3), value, "float32")


# (what is described, what NumPy makes of an array of n rows, sizes the program declares)
FOLLOWED = {
    "divided": (lambda a: a / a.shape[0], lambda x: x / np.float32(len(x)), (-1, 3)),
    "dividing": (lambda a: a.shape[0] / (a * a + 1.0), lambda x: len(x) / (x * x + 1), (-1, 3)),
    "times one less": (lambda a: a * (a.shape[0] - 1), lambda x: x * (len(x) - 1), (-1, 3)),
    "square": (lambda a: a + a.shape[0] ** 2, lambda x: x + len(x) ** 2, (-1, 3)),
    "elements": (
        lambda a: layers.reduce_sum(a) / math.prod(a.shape), lambda x: np.mean(x), (),
    ),
    "fluid's data": (lambda a: a * (1 + a.shape[0] * 2), lambda x: x * (1 + 2 * len(x)), (-1, 3)),
    "after a layer": (
        lambda a: layers.relu(a) - layers.relu(a).shape[0], lambda x: np.maximum(x, 0) - len(x),
        (-1, 3),
    ),
    "range": (
        lambda a: layers.range(0, a.shape[0], 1, "int64"), lambda x: np.arange(len(x)), (-1,),
    ),
    "arange": (
        lambda a: layers.arange(1, a.shape[0] + 1), lambda x: np.arange(1, len(x) + 1), (-1,),
    ),
    "linspace": (
        lambda a: layers.linspace(0, 1, a.shape[0], "float32"), lambda x: np.linspace(0, 1, len(x)),
        (-1,),
    ),
    "fill_constant": (
        lambda a: layers.fill_constant([a.shape[0], 3], "float32", 2.0),
        lambda x: total(len(x), 2), (-1, 3),
    ),
    "a value": (
        lambda a: layers.fill_constant([2], "float32", a.shape[0]),
        lambda x: np.full(2, len(x), "float32"), (2,),
    ),
    "zeros": (
        lambda a: layers.concat([a, layers.zeros([a.shape[0], 2], "float32")], axis=1),
        lambda x: np.pad(x, [(0, 0), (0, 2)]), (-1, 5),
    ),
    "eager names": (
        lambda a: dygraph.zeros([a.shape[0], 3]) + dygraph.ones([2 * a.shape[0], 1])[:1] + a,
        lambda x: x + 1, (-1, 3),
    ),
    "twice as many": (
        lambda a: layers.ones([2 * a.shape[0], 4], "int64"),
        lambda x: np.ones((2 * len(x), 4), "int64"), (-1, 4),
    ),
    "reshape": (
        lambda a: layers.reshape(a, [a.shape[0], 3, 1]), lambda x: x[:, :, None], (-1, 3, 1),
    ),
    "reshape to a product": (
        lambda a: layers.reshape(a, [a.shape[0] * 3]), lambda x: x.ravel(), (-1,),
    ),
    "two sizes": (
        lambda a: layers.reshape(a, [a.shape[0], -1, 1]), lambda x: x[:, :, None], (-1, -1, 1),
    ),
    "method": (lambda a: a.reshape([a.shape[0], 1, 3]), lambda x: x[:, None], (-1, 1, 3)),
    "method, numbers": (lambda a: a.reshape(a.shape[0], 1, 3), lambda x: x[:, None], (-1, 1, 3)),
    "function": (lambda a: F.reshape(a, [a.shape[0], 1, 3]), lambda x: x[:, None], (-1, 1, 3)),
    "expand_times": (
        lambda a: layers.expand(layers.slice(a, [0], [0], [1]), [a.shape[0], 2]),
        lambda x: np.tile(x[:1], (len(x), 2)), (-1, 6),
    ),
    "expand": (
        lambda a: F.expand(a[:1], [a.shape[0], 3]), lambda x: np.repeat(x[:1], len(x), 0), (-1, 3),
    ),
    "expand_as": (
        lambda a: F.expand_as(a[:1], a), lambda x: np.repeat(x[:1], len(x), 0), (-1, 3),
    ),
    "more axes": (
        lambda a: F.expand(a, [2, a.shape[0], -1]), lambda x: np.stack([x, x]), (2, -1, 3),
    ),
    "tile": (
        lambda a: F.tile(a[:1], [a.shape[0], 2]), lambda x: np.tile(x[:1], (len(x), 2)), (-1, 6),
    ),
    "slice": (
        lambda a: layers.slice(a, [0], [a.shape[0] - 1], [a.shape[0]]), lambda x: x[-1:], (-1, 3),
    ),
    "compared with a variable": (
        lambda a: layers.cast(a < a.shape[0], "int32"), lambda x: (x < len(x)).astype("int32"),
        (-1, 3),
    ),
    "prod of NumPy": (
        lambda a: layers.reshape(a, [-1, int(np.prod(a.shape[1:]))]), lambda x: x, (-1, 3),
    ),
    "elements by NumPy": (
        lambda a: layers.reshape(a, [a.shape[0] * np.prod(a.shape[1:])]), lambda x: x.ravel(),
        (-1,),
    ),
    "all elements by NumPy": (
        lambda a: layers.reduce_sum(a) / np.prod(a.shape), lambda x: np.mean(x), (),
    ),
    "like the batch": (
        lambda a: layers.fill_constant_batch_size_like(a, [a.shape[0], 2], "float32", 1.5),
        lambda x: np.full((len(x), 2), 1.5, "float32"), (-1, 2),
    ),
    "row": (lambda a: a[a.shape[0] - 1, 1:], lambda x: x[-1, 1:], (-1,)),
    "rows": (lambda a: a[: a.shape[0] - 1], lambda x: x[:-1], (-1, 3)),
    "rows of a table": (
        lambda a: layers.range(0, 20, 1, "int64")[: a.shape[0] : 2],
        lambda x: np.arange(20)[: len(x) : 2], (-1,),
    ),
    "up to a variable": (
        lambda a: a[: layers.shape(a)[0] - 1], lambda x: x[:-1], (-1, 3),
    ),
    "function arange": (lambda a: F.arange(a.shape[0]), lambda x: np.arange(len(x)), (-1,)),
    "known": (lambda a: a * (a.shape[1] * 2), lambda x: x * 6, (-1, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLLOWED)
def test_sizes_follow_the_run(name):
    describe, expected, sizes = FOLLOWED[name]
    feed = [rows(n, n) for n in BATCHES]
    declared, results = run(describe, feed)
    assert declared == sizes
    for x, got in zip(feed, results, strict=True):
        want = np.asarray(expected(x))
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-6)


# What Python would compute with -1.
REFUSED = {
    "greater": lambda a: a.shape[0] > 4,
    "less, turned": lambda a: 4 < a.shape[0],
    "equal": lambda a: a.shape[0] == 4,
    "shape of numbers": lambda a: a.shape == (4, 3),
    "at least one": lambda a: max(a.shape[0], 1),
    "sorted": lambda a: sorted(a.shape),
    "product": lambda a: math.prod(a.shape) > 0,
    "range": lambda a: range(a.shape[0]),
    "list": lambda a: [0] * a.shape[0],
    "text": lambda a: "a" * a.shape[0],
    "index": lambda a: [1, 2][a.shape[0]],
    "part of a list": lambda a: [1, 2][: a.shape[0]],
    "int": lambda a: int(a.shape[0]),
    "float": lambda a: float(a.shape[0]),
    "round": lambda a: round(a.shape[0]),
    "sqrt": lambda a: math.sqrt(a.shape[0]),
    "reciprocal": lambda a: layers.scale(a, 1.0 / a.shape[0]),
    "half": lambda a: a.shape[0] / 2,
    "whole half": lambda a: a.shape[0] // 2,
    "remainder": lambda a: a.shape[0] % 2,
    "bits": lambda a: a.shape[0] & 1,
    "power": lambda a: a ** a.shape[0],
    "np.zeros": lambda a: np.zeros(a.shape),
    "np.array": lambda a: np.array(a.shape, "int64"),
    "np.array of objects": lambda a: np.array(a.shape) > 2,
    "np.prod": lambda a: np.prod(a.shape) > 12,
    "np.full": lambda a: np.full(2, a.shape[0], "int64"),
    "np.maximum": lambda a: np.maximum(a.shape[0], 1),
    "np.arange": lambda a: np.arange(a.shape[0]),
    "np.float32": lambda a: np.float32(2) * a.shape[0],
    "topk": lambda a: layers.topk(a, a.shape[0]),
    "scale": lambda a: layers.scale(a, a.shape[0]),
    "one_hot": lambda a: layers.one_hot(layers.cast(a[:, :1], "int64"), a.shape[0]),
    "raw expand": lambda a: F.expand_v2(a, shape=[a.shape[0], 3]),
    "raw fill": lambda a: F.fill_constant(shape=[a.shape[0], 3]),
    "wrong reshape": lambda a: F.reshape(a, [a.shape[0] - 1, 3]),
    "parameter": lambda a: layers.create_parameter([a.shape[0], 3], "float32"),
    "pickled": lambda a: pickle.dumps(a.shape[0] * 2),
    "truth": lambda a: bool(a.shape[0] - 1),
    "loop": lambda a: [i for i in range(a.shape[0] * 2)],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_python_would_compute_is_refused_with_line_and_spelling(name):
    with static.program_guard(static.Program(), static.Program()):
        a = static.data("a", [-1, 3])
        line = f"test_unknown_sizes.py:{REFUSED[name].__code__.co_firstlineno} in"
        with pytest.raises(ValueError) as error:
            REFUSED[name](a)
    assert line in str(error.value)
    assert "Use static.layers.shape(a)[0]" in str(error.value)


def test_the_message():
    with static.program_guard(static.Program()):
        a = static.data("a", [None, 3])
        with pytest.raises(ValueError) as error:
            bool(a.shape[0] * 2 - 1 > 4)
    text = str(error.value)
    assert text.startswith(
        "sizes of a program are known when it runs, but `> 4` tests the size of "
        "2 * a.shape[0] - 1, at "
    )
    assert text.endswith("Use static.layers.shape(a)[0], which is the size in each run")


def test_what_scripts_ask_is_answered_as_in_fluid():
    with static.program_guard(static.Program(), static.Program()):
        a = layers.data("a", [3])
        b = static.data("b", [None, 3])
        c = layers.fc(a, 4)
        n = a.shape[0]
        assert a.shape == (-1, 3) and (-1, 3) == a.shape and list(a.shape) == [-1, 3]
        assert a.shape == b.shape and c.shape == (-1, 4) and a.shape != (-1, 4)
        assert n == -1 and n < 0 and not n > 0 and not n >= 0 and n != 0 and n <= 0 and n > -2
        assert n is not None and not n == None and n != "x" and bool(n)  # noqa: E711
        assert -1 in a.shape and None not in a.shape and a.shape.index(-1) == 0
        assert a.shape.count(-1) == 1 and any(size == -1 for size in a.shape)
        assert isinstance(n, int) and isinstance(a.shape, tuple) and len(a.shape) == 2
        assert repr(a.shape) == "(-1, 3)" and str(n) == "-1" and f"{n:>3}" == " -1"
        assert "%s" % n == "-1" and f"{a.shape}" == "(-1, 3)"
        assert hash(a.shape) == hash((-1, 3)) and {(-1, 3): 1}[a.shape] == 1 and n in {-1}
        assert copy.deepcopy(a.shape) == (-1, 3) and copy.copy(n) == -1
        assert pickle.loads(pickle.dumps(a.shape)) == (-1, 3)
        assert type(pickle.loads(pickle.dumps(n))) is int
        assert type(a.shape[1]) is int and a.shape[1] * 2 == 6 and np.prod(a.shape[1:]) == 3
        assert n - b.shape[0] != "x" and n - n == 0 and n == b.shape[0] and n * 2 == 2 * n
        assert a.desc.shape == (-1, 3) and json.dumps(a.desc.shape) == "[-1, 3]"
        assert np.array_equal(a.shape, (-1, 3)) and (np.array(a.shape) < 0).tolist() == [
            True,
            False,
        ]
        assert np.int64(-1) == n and not np.int64(0) == n
        assert layers.gaussian_random_batch_size_like(a, a.shape).shape == (-1, 3)
        feeder = static.DataFeeder([{"name": "a", "shape": a.shape, "dtype": "float32"}])
        assert feeder.feed([([1.0, 2.0, 3.0],)])["a"].shape == (1, 3)
        reader = layers.py_reader(2, [a.shape], ["float32"])
        assert layers.read_file(reader).shape == (-1, 3)
        assert static.data("d", a.shape).shape == (-1, 3)
        block = static.default_main_program().global_block()
        assert block.create_var(name="e", shape=a.shape, dtype="float32").shape == (-1, 3)
        known = static.data("known", [4, 3])
        assert all(type(size) is int for size in known.shape) and known.shape[0] > 3


def test_functions_of_the_library_compute_with_no_unknown_size():
    with static.program_guard(static.Program()):
        square, row = static.data("square", [3, -1]), static.data("row", [-1])
        label = static.data("label", [3], "int64")
        for describe in (
            lambda: F.diag(square),
            lambda: F.diag(row),
            lambda: F.softmax_cross_entropy(square, label, label_smoothing=0.1),
        ):
            with pytest.raises(
                RuntimeError,
                match=r"when the program runs.*Declare the size \(described at .*:\d+ in <lambda>",
            ):
                describe()


def test_fsp_matrix_divides_by_the_pixels_of_the_run():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 3, 4, 5)), rng.standard_normal((2, 6, 4, 5))
    x, y = x.astype("float32"), y.astype("float32")
    with static.program_guard(static.Program()):
        one, two = static.data("x", [-1, 3, -1, 5]), static.data("y", [-1, 6, -1, 5])
        made = layers.fsp_matrix(one, two)
        (got,) = static.Executor().run(feed={"x": x, "y": y}, fetch_list=[made])
    np.testing.assert_allclose(got, np.einsum("bchw,bdhw->bcd", x, y) / 20, rtol=1e-5, atol=1e-6)


def test_sizes_of_two_programs_do_not_meet():
    with static.program_guard(static.Program()):
        a = static.data("a", [None, 3])
    with static.program_guard(static.Program()):
        b = static.data("a", [None, 3])
    assert a.shape == b.shape
    with pytest.raises(ValueError, match="another program"):
        a.shape[0] + b.shape[0]


def test_programs_that_hold_sizes_are_saved_cloned_and_trained():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        a = static.data("a", [-1, 3])
        w = layers.create_parameter([3, 1], "float32", name="w_sizes")
        loss = layers.reduce_sum(layers.square(layers.matmul(a, w))) / a.shape[0]
        test = main.clone(for_test=True)
        static.optimizer.SGD(0.1).minimize(loss)
    again = static.Program.parse_from_string(main.serialize_to_string())
    x = rows(4)
    for program in (main, again):
        with static.scope_guard(static.Scope()):
            executor = static.Executor()
            executor.run(startup)
            start = np.array([[0.5], [-1.0], [2.0]], "float32")
            static.global_scope().find_var("w_sizes").get_tensor().set(start, static.CPUPlace())
            (before,) = executor.run(test, {"a": x}, [loss.name])
            (value,) = executor.run(program, {"a": x}, [loss.name])
            w_now = np.array(static.global_scope().find_var("w_sizes").get_tensor())
        want = np.sum((x @ start) ** 2) / 4
        np.testing.assert_allclose([before, value], [want, want], rtol=1e-6)
        np.testing.assert_allclose(w_now, start - 0.1 * 2 * x.T @ (x @ start) / 4, rtol=1e-5)


def test_squeeze_finds_one_element_where_the_size_is_open():
    with static.program_guard(static.Program()):
        a = static.data("a", [-1, 1, 3])
        made = layers.squeeze(a, [0, 1])
        assert made.shape == (3,)
        (got,) = static.Executor().run(feed={"a": rows(1)[:, None]}, fetch_list=[made])
        np.testing.assert_array_equal(got, rows(1)[0])
        with pytest.raises(ValueError, match="must be left with one element, got 2 for axis 0"):
            static.Executor().run(feed={"a": rows(2)[:, None]}, fetch_list=[made])


def test_files_refuse_variables_without_values(tmp_path):
    with static.program_guard(static.Program()):
        a = static.data("a", [-1, 3])
        for filename in (None, "all"):
            with pytest.raises(RuntimeError, match="'a', a variable of a program"):
                dygraph.save_fluid_params({"a": a}, tmp_path, filename)


def test_an_open_size_decides_no_rank():
    with static.program_guard(static.Program()):
        a = static.data("a", [-1, 1, 3])
        for describe in (
            lambda: F.squeeze2(a),
            lambda: layers.squeeze(a, []),
            lambda: F.squeeze2(a, axes=[0]),
        ):
            line = f"test_unknown_sizes.py:{describe.__code__.co_firstlineno} in"
            with pytest.raises(ValueError, match="must not decide how many axes") as error:
                describe()
            assert line in str(error.value) and "Declare the size" in str(error.value)
        assert F.squeeze2(a, axes=[1]).shape == (-1, 3)


def test_fluids_own_description_of_squeeze_keeps_fluids_rank():
    main = static.Program()
    block = main.global_block()
    with static.program_guard(main):
        a = static.data("a", [-1, 1, 3])
        out = block.create_var(name="out", dtype="float32")
        block.append_op("squeeze2", {"X": a}, {"Out": out}, {"axes": []})
    assert out.shape == (-1, 3)
    again = static.Program.parse_from_string(main.serialize_to_string())
    for n, shape in ((2, (2, 3)), (1, (3,))):
        (got,) = static.Executor().run(again, {"a": rows(n)[:, None]}, ["out"])
        assert got.shape == shape


@pytest.mark.parametrize("loss", ["mse_loss", "l1_loss"])
def test_shapes_that_eager_losses_compare_are_compared_by_the_run(loss):
    with static.program_guard(static.Program()):
        a, b = static.data("a", [-1, 3]), static.data("b", [-1, 3])
        made = getattr(F, loss)(a, b)
        executor = static.Executor()
        (got,) = executor.run(feed={"a": rows(4), "b": rows(4, 1)}, fetch_list=[made])
        difference = rows(4) - rows(4, 1)
        want = np.mean(difference**2 if loss == "mse_loss" else np.abs(difference))
        np.testing.assert_allclose(got, want, rtol=1e-6)
        with pytest.raises(ValueError, match="stack: .*test_unknown_sizes.py"):
            executor.run(feed={"a": rows(4), "b": rows(1)}, fetch_list=[made])


def test_a_mask_must_have_the_sizes_of_the_run():
    with static.program_guard(static.Program()):
        a, mask = static.data("a", [-1, 3]), static.data("mask", [-1], "bool")
        made, executor = a[mask], static.Executor()
        feed = {"a": rows(3), "mask": np.array([True, False, True])}
        (got,) = executor.run(feed=feed, fetch_list=[made])
        np.testing.assert_array_equal(got, rows(3)[[0, 2]])
        with pytest.raises(ValueError, match="stack"):
            executor.run(feed={**feed, "a": rows(5)}, fetch_list=[made])


def test_embedding_asks_whether_the_last_axis_goes():
    with static.program_guard(static.Program(), static.Program()):
        words = static.data("words", [-1, -1], "int64")
        with pytest.raises(ValueError, match="Use static.embedding"):
            layers.embedding(words, [7, 3])
        assert static.embedding(words, [7, 3]).shape == (-1, -1, 3)


NUMPY = {
    "array_split": lambda a: np.array_split(a, 2),
    "squeeze": np.squeeze,
    "repeat": lambda a: np.repeat(a, [1, 2], axis=0),
}
COUNTED = {
    "roll": lambda a: np.roll(a, 1, axis=0),
    "roll flat": lambda a: np.roll(a, 2),
    "tile": lambda a: np.tile(a, (2, 1)),
    "flip": lambda a: np.flip(a, 0),
    "tril": np.tril,
    "trace": np.trace,
    "var": np.var,
    "var of rows": lambda a: np.var(a, axis=0, ddof=1),
    "std": lambda a: np.std(a, axis=(0, 1)),
    "diagonal": np.diagonal,
    "median": lambda a: np.median(a, axis=0),
    "repeat": lambda a: np.repeat(a, 2, axis=0),
}


@pytest.mark.parametrize("name", NUMPY)
def test_numpys_functions_compute_with_no_unknown_size(name):
    with static.program_guard(static.Program()):
        fits = "known when the program runs.*described at"
        with pytest.raises((RuntimeError, ValueError), match=fits):
            NUMPY[name](static.data("a", [-1, 3]))


@pytest.mark.parametrize("name", COUNTED)
def test_numpys_functions_count_in_the_run(name):
    with static.program_guard(static.Program()):
        made = COUNTED[name](static.data("a", [-1, 3]))
        for n in (1, 2, 5):
            a = np.arange(3.0 * n, dtype="float32").reshape(n, 3) ** 2
            (got,) = static.Executor().run(feed={"a": a}, fetch_list=[made])
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                want = COUNTED[name](a)
            assert got.shape == np.shape(want)
            np.testing.assert_allclose(got, want, rtol=1e-6)


def test_positions_in_variables_of_open_length():
    x = np.arange(12, dtype="float32").reshape(3, 4)
    i, j = np.array([2, 0]), np.array([1, 3])
    with static.program_guard(static.Program()):
        a = static.data("a", [-1, -1])
        first, second = static.data("i", [-1], "int64"), static.data("j", [-1], "int64")
        made = [a[first], a[:, second], a[first, second], a[None, :, None], a[[1, 0]]]
        feed = {"a": x, "i": i, "j": j}
        found = static.Executor().run(feed=feed, fetch_list=made)
    for got, want in zip(found, [x[i], x[:, j], x[i, j], x[None, :, None], x[[1, 0]]], strict=True):
        np.testing.assert_array_equal(got, want)


def test_reading_a_variable_of_another_program_raises_in_to_static():
    with static.program_guard(static.Program()):
        a = static.data("a", [-1, 3])
    function = dygraph.jit.to_static(lambda x: x + 1 if a is not None else x)
    with pytest.raises(RuntimeError, match="'a', a variable of a program"):
        function(dygraph.ones([2, 3]))


def test_a_captured_function_names_the_fix_of_the_rule_and_no_other():
    captured = jit.to_static(lambda x: F.mse_loss(x, x[:, :1]))
    with pytest.raises(RuntimeError, match=r"sizes.py:\d+ in <lambda>") as error:
        captured(dygraph.zeros([2, 3]))
    assert str(error.value).endswith("Declare the sizes alike")
