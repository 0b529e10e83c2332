"""Products of few rows and the steps of recurrent layers: the packed panels against NumPy."""

import contextlib

import numpy as np
import pytest

import dygraph
import recurrent_reference
from dygraph import _core
from dygraph import ops as F

GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


@contextlib.contextmanager
def settings(threads=2, level=0, library="", product=""):
    flags = {"cpu_level": level, "kernel_library": library, "matrix_product": product}
    before = dygraph.num_threads(), dygraph.get_flags(list(flags))
    dygraph.set_num_threads(threads)
    dygraph.set_flags(flags)
    try:
        yield
    finally:
        dygraph.set_num_threads(before[0])
        dygraph.set_flags(before[1])


def product(x, y):
    return F.matmul_v2(dygraph.to_variable(x), dygraph.to_variable(y), trans_y=True).numpy()


@pytest.mark.parametrize("level", [0, 1, 3])
@pytest.mark.parametrize("library", ["", "plain"])
@pytest.mark.parametrize("rows", [2, 3, 5, 7, 11, 13, 15, 16, 25, 33, 64, 96, 97])
def test_products_with_a_transposed_matrix(rows, library, level):
    rng = np.random.default_rng(rows)
    for n, k, dtype in ((130, 127, "float32"), (33, 512, "float32"), (1030, 17, "float64")):
        x, y = (rng.normal(size=s).astype(dtype) for s in ((rows, k), (n, k)))
        with settings(level=level, library=library):
            out = product(x, y)
        tolerance = 1e-4 if dtype == "float32" else 1e-12
        np.testing.assert_allclose(out, x.astype("float64") @ y.T.astype("float64"), atol=tolerance)


@pytest.mark.parametrize("level", [0, 1, 3])
@pytest.mark.parametrize("kernel", ["", "own", "panels", "onednn"])
def test_every_kernel_gives_the_product(kernel, level):
    """Sizes of every class of the table, in every orientation."""
    rng = np.random.default_rng(1)
    sizes = [(8, 24, 3000), (20, 600, 8), (64, 9, 1000), (200, 50, 64), (600, 70, 130)]
    sizes += [(1000, 12, 30), (3000, 8, 8), (13, 1200, 40), (5, 2600, 30)]
    for m, n, k in sizes:
        x, y = (rng.normal(size=s).astype("float32") for s in ((m, k), (k, n)))
        want = x.astype("float64") @ y.astype("float64")
        for trans_x, trans_y in ((False, False), (False, True), (True, False), (True, True)):
            a, b = x.T.copy() if trans_x else x, y.T.copy() if trans_y else y
            with settings(level=level, product=kernel):
                out = F.matmul_v2(
                    *map(dygraph.to_variable, (a, b)), trans_x=trans_x, trans_y=trans_y
                )
            np.testing.assert_allclose(out.numpy(), want, rtol=1e-5, atol=2e-4)


@pytest.mark.parametrize("level", [0, 1, 3])
def test_nan_and_infinity_stay_in_their_rows_and_columns(level):
    x, y = np.ones((21, 130), "float32"), np.ones((131, 130), "float32")
    x[3, 129], x[20, 0], y[130, 5] = np.nan, np.inf, -np.inf
    with settings(level=level, library="plain"):
        out = product(x, y)
    want = np.full((21, 131), 130.0)
    want[3], want[20], want[:, 130] = np.nan, np.inf, -np.inf
    want[3, 130] = want[20, 130] = np.nan
    np.testing.assert_array_equal(out, want)


def test_bits_of_products_depend_neither_on_threads_nor_on_other_rows():
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=s).astype("float32") for s in ((40, 300), (700, 300)))
    results = []
    for threads in (1, 2):
        with settings(threads, library="plain"):
            results.append(product(x, y))
    np.testing.assert_array_equal(*results)
    with settings(library="plain"):
        np.testing.assert_array_equal(product(x[7:30], y), results[0][7:30])


def run_rnn(mode, x, lod, states, weights, hidden):
    """Out, the last states and the gradients of all inputs from those of a weighted sum."""
    slots = {
        "Input": _core.to_variable(x, lod=lod),
        "PreState": [_core.to_variable(s) for s in states],
        "WeightList": [_core.to_variable(w) for w in weights],
    }
    wanted = [slots["Input"], *slots["PreState"], *slots["WeightList"]]
    for v in wanted:
        v.stop_gradient = False
    attrs = {"mode": mode, "input_size": x.shape[-1], "hidden_size": hidden, "num_layers": 1}
    made = _core.run_op("rnn", slots, attrs, {"State": len(states)})
    pull = np.random.default_rng(9).normal(size=made["Out"].shape).astype(x.dtype)
    total = F.mean(made["Out"] * dygraph.to_variable(pull)) * float(pull.size)
    for s in made["State"]:
        total = total + s.sum()
    grads = dygraph.grad([total], wanted)
    return [made["Out"].numpy(), *(s.numpy() for s in made["State"]), *(g.numpy() for g in grads)]


def make_case(mode, hidden, lengths, width=9, dtype="float32"):
    rng = np.random.default_rng(hidden)
    g = GATES[mode] * hidden
    x = rng.normal(size=(sum(lengths), width)).astype(dtype)
    states = [
        rng.normal(size=(1, len(lengths), hidden)).astype(dtype)
        for _ in range(2 if mode == "LSTM" else 1)
    ]
    shapes = ((g, width), (g, hidden), (g,), (g,))
    return x, states, [rng.uniform(-1, 1, s).astype(dtype) * hidden**-0.5 for s in shapes]


@pytest.mark.parametrize("level", [0, 1, 3])
@pytest.mark.parametrize("mode", GATES)
@pytest.mark.parametrize(("hidden", "lengths"), [(133, [3, 0, 7, 1, 5, 7, 2, 6, 4, 7, 7, 3, 2, 7])])
def test_steps_of_odd_width_over_sequences(mode, hidden, lengths, level):
    x, states, weights = make_case(mode, hidden, lengths)
    lod = [[0, *np.cumsum(lengths).tolist()]]
    results = []
    for threads in (1, 2):
        with settings(threads, level, "plain"):
            results.append(run_rnn(mode, x, lod, states, weights, hidden))
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)
    padded = np.zeros((max(lengths), len(lengths), x.shape[1]))
    for b, (start, n) in enumerate(zip(lod[0], lengths, strict=False)):
        padded[:n, b] = x[start : start + n]
    double = [[a.astype("float64") for a in group] for group in (states, weights)]
    out, last = recurrent_reference.rnn(mode, padded, *double, lengths)
    flat = np.concatenate([out[:n, b] for b, n in enumerate(lengths)])
    for got, want in zip(results[0][: 1 + len(last)], [flat, *last], strict=True):
        np.testing.assert_allclose(got, want, atol=2e-5)
    # gradients: those of float64, which the numeric differences of test_rnn_op.py have checked
    exact = run_rnn(mode, x.astype("float64"), lod, *double, hidden)
    for got, want in zip(results[0], exact, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * max(1, abs(want).max()))


def test_a_nan_stays_in_its_sequence():
    lengths, hidden = [4, 9, 6], 64
    x, states, weights = make_case("LSTM", hidden, lengths)
    lod = [[0, 4, 13, 19]]
    clean = run_rnn("LSTM", x, lod, states, weights, hidden)[0]
    x[6] = np.nan  # the third step of the second sequence
    out = run_rnn("LSTM", x, lod, states, weights, hidden)[0]
    rows = np.r_[0:6, 13:19]
    np.testing.assert_array_equal(out[rows], clean[rows])
    assert np.isnan(out[6:13]).all()


@pytest.mark.parametrize("library", ["", "plain"])
def test_bits_of_stacks_do_not_depend_on_threads(library):
    rng = np.random.default_rng(3)
    x, y = (rng.normal(size=(5, 2, 65, 70)).astype("float32") for _ in range(2))
    results = []
    for threads in (1, 2):
        with settings(threads, library=library):
            a, b = dygraph.to_variable(x), dygraph.to_variable(y)
            a.stop_gradient = b.stop_gradient = False
            out = F.matmul_v2(a, b, trans_y=True)
            grads = dygraph.grad([F.square(out).sum()], [a, b])
            results.append([v.numpy() for v in (out, *grads)])
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)
    want = x.astype("float64") @ y.swapaxes(2, 3)
    np.testing.assert_allclose(results[0][0], want, atol=1e-4)
    np.testing.assert_allclose(results[0][1], 2 * want @ y, rtol=1e-4, atol=1e-2)
