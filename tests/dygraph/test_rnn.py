"""Recurrent layers against step-by-step NumPy: padded, ragged and one by one are the same."""

import numpy as np
import pytest

import dygraph
import recurrent_reference as reference
from dygraph import nn, static

MODES = {
    "LSTM": lambda *a, **k: nn.LSTM(*a, time_major=False, **k),
    "GRU": lambda *a, **k: nn.GRU(*a, time_major=False, **k),
    "RNN_TANH": lambda *a, **k: nn.SimpleRNN(*a, time_major=False, **k),
    "RNN_RELU": lambda *a, **k: nn.SimpleRNN(*a, activation="relu", time_major=False, **k),
}
CELLS = {
    "LSTM": nn.LSTMCell,
    "GRU": nn.GRUCell,
    "RNN_TANH": nn.SimpleRNNCell,
    "RNN_RELU": lambda *a, **k: nn.SimpleRNNCell(*a, activation="relu", **k),
}
LENGTHS = [3, 0, 5, 1]


@pytest.fixture(autouse=True)
def seeded():
    np.random.seed(3)
    with dygraph.guard(seed=7):
        yield


def var(array, lod=None):
    return dygraph.to_variable(np.asarray(array), lod=lod)


def rand(*shape):
    return np.random.uniform(-1, 1, shape)


def offsets(lengths):
    return [0, *np.cumsum(lengths).tolist()]


def rows_of(padded, lengths=LENGTHS):
    return np.concatenate([padded[b, :n] for b, n in enumerate(lengths)])


def weights_of(layer):
    suffixes = getattr(layer, "_suffixes", [""])
    names = [f"{kind}_{side}" for kind in ("weight", "bias") for side in ("ih", "hh")]
    get = {n: [getattr(layer, n + s).numpy() for s in suffixes] for n in names}
    pairs = zip(get["weight_ih"], get["weight_hh"], strict=True)
    more = zip(get["bias_ih"], get["bias_hh"], strict=True)
    return [w for pair in [*pairs, *more] for w in pair]


def expected(mode, layer, x, states, lengths=None):
    """Batch-major NumPy result."""
    out, last = reference.rnn(
        mode, x.swapaxes(0, 1), states, weights_of(layer), lengths,
        getattr(layer, "num_layers", 1), getattr(layer, "num_directions", 1),
    )  # fmt: skip
    return out.swapaxes(0, 1), last


def as_list(states):
    return [s.numpy() for s in (states if isinstance(states, tuple) else (states,))]


def zeros(mode, cells, batch, hidden):
    return [np.zeros((cells, batch, hidden))] * (2 if mode == "LSTM" else 1)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_padded_and_ragged_are_the_same(mode, direction):
    net = MODES[mode](3, 2, num_layers=2, direction=direction, dtype="float64")
    cells = 2 * (1 + (direction != "forward"))
    x = rand(4, 5, 3)
    states = [rand(cells, 4, 2) for _ in zeros(mode, cells, 4, 2)]
    want, want_last = expected(mode, net, x, states, LENGTHS)
    given = [var(s) for s in states]
    given = tuple(given) if mode == "LSTM" else given[0]

    out, last = net(var(x), given, LENGTHS)
    np.testing.assert_allclose(out.numpy(), want, atol=1e-10)
    ragged, ragged_last = net(var(rows_of(x), [offsets(LENGTHS)]), given)
    np.testing.assert_allclose(ragged.numpy(), rows_of(want), atol=1e-10)
    assert ragged.lod() == [offsets(LENGTHS)]
    for got, again, value in zip(as_list(last), as_list(ragged_last), want_last, strict=True):
        np.testing.assert_allclose(got, value, atol=1e-10)
        np.testing.assert_allclose(again, value, atol=1e-10)

    out, _ = net(var(x[2:3]), tuple(var(s[:, 2:3]) for s in states) if mode == "LSTM"
                 else var(states[0][:, 2:3]))  # fmt: skip
    np.testing.assert_allclose(out.numpy(), want[2:3], atol=1e-10, err_msg="one by one")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_ragged_batches_are_described(mode, direction):
    """How many sequences there are shows when the program runs; some have no step."""
    net = MODES[mode](3, 2, num_layers=2, direction=direction, dtype="float64")
    cells = 2 * (1 + (direction != "forward"))
    program = static.Program()
    with static.program_guard(program):
        rows = static.data("rows", [None, 3], "float64", lod_level=1)
        out, last = net(rows)
    states = list(last) if mode == "LSTM" else [last]
    assert out.shape == (-1, cells) and out.lod_level == 1
    assert [s.shape for s in states] == [(cells, -1, 2)] * len(states)
    executor, scope = static.Executor(), static.Scope()
    for lengths in (LENGTHS, [4], [1, 1, 6, 2, 0, 3]):
        x = rand(len(lengths), max(lengths), 3)
        first = zeros(mode, cells, len(lengths), 2)
        want, want_last = expected(mode, net, x, first, lengths)
        given = var(rows_of(x, lengths), [offsets(lengths)])
        got, *got_last = executor.run(
            program, {"rows": given}, [out, *states], scope=scope, return_numpy=False
        )
        np.testing.assert_allclose(got.numpy(), rows_of(want, lengths), atol=1e-10)
        assert got.lod() == [offsets(lengths)]
        eager, eager_last = net(given)
        assert got.numpy().tobytes() == eager.numpy().tobytes()
        for one, again, value in zip(got_last, as_list(eager_last), want_last, strict=True):
            np.testing.assert_allclose(one.numpy(), value, atol=1e-10)
            assert one.numpy().tobytes() == again.tobytes()


def test_a_described_ragged_batch_trains():
    """The steps of a program are those of the eager layer, bit for bit."""
    net = nn.LSTM(3, 4, time_major=False)
    start = [p.numpy() for p in net.parameters()]
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        _, (h, _) = net(static.data("rows", [None, 3], "float32", lod_level=1))
        loss = static.layers.mean(h * h)
        static.optimizer.SGD(0.5).minimize(loss)
    executor, scope = static.Executor(), static.Scope()
    executor.run(startup, scope=scope)
    sgd = dygraph.optimizer.SGD(0.5, parameter_list=net.parameters())
    for p, value in zip(net.parameters(), start, strict=True):
        p.set_value(value)
    for lengths in (LENGTHS, [2, 7], LENGTHS):
        rows = rand(sum(lengths), 3).astype("float32")
        given = var(rows, [offsets(lengths)])
        (got,) = executor.run(main, {"rows": given}, [loss], scope=scope)
        _, (h, _) = net(given)
        eager = dygraph.mean(h * h)
        eager.backward()
        sgd.step()
        sgd.clear_gradients()
        assert got.tobytes() == eager.numpy().tobytes()
    assert not np.array_equal(net.weight_hh_l0.numpy(), start[1])


def test_a_ragged_batch_is_traced(tmp_path):
    net = nn.GRU(3, 4, direction="bidirectional", time_major=False)
    given = [
        var(rand(sum(n), 3).astype("float32"), [offsets(n)]) for n in (LENGTHS, [2, 7], [1, 2, 3])
    ]
    _, traced = dygraph.jit.trace(lambda rows: net(rows), [given[0]])
    traced.save(tmp_path)
    for rows in given:
        for program in (traced, dygraph.jit.load(tmp_path)):
            for got, want in zip(program(rows), net(rows), strict=True):
                assert got.numpy().tobytes() == want.numpy().tobytes()


def test_time_major_and_absent_states():
    net = nn.GRU(3, 2, time_major=True, dtype="float64")
    x = rand(5, 4, 3)
    out, last = net(var(x))
    want, (want_last,) = expected("GRU", net, x.swapaxes(0, 1), zeros("GRU", 1, 4, 2))
    np.testing.assert_allclose(out.numpy(), want.swapaxes(0, 1), atol=1e-10)
    np.testing.assert_allclose(last.numpy(), want_last, atol=1e-10)


def test_a_sequence_in_two_pieces():
    """The last states of the first piece begin the second."""
    net = nn.LSTM(3, 4, num_layers=2, dtype="float64", time_major=False)
    x = rand(2, 6, 3)
    whole, (h, c) = net(var(x))
    first, states = net(var(x[:, :2]))
    second, (h2, c2) = net(var(x[:, 2:]), states)
    np.testing.assert_allclose(np.concatenate([first.numpy(), second.numpy()], 1), whole.numpy())
    np.testing.assert_allclose(h2.numpy(), h.numpy())
    np.testing.assert_allclose(c2.numpy(), c.numpy())


@pytest.mark.parametrize("mode", CELLS)
def test_cells(mode):
    cell = CELLS[mode](3, 2, dtype="float64")
    x, states = rand(4, 3), [rand(4, 2) for _ in zeros(mode, 1, 1, 1)]
    want = reference.cell_step(mode, x, tuple(states), *weights_of(cell))
    given = tuple(map(var, states)) if mode == "LSTM" else var(states[0])
    out, last = cell(var(x), given)
    np.testing.assert_allclose(out.numpy(), want[0], atol=1e-10)
    for got, value in zip(as_list(last), want, strict=True):
        np.testing.assert_allclose(got, value, atol=1e-10)
    out, _ = cell(var(x))
    nothing = tuple(np.zeros_like(s) for s in states)
    want = reference.cell_step(mode, x, nothing, *weights_of(cell))
    np.testing.assert_allclose(out.numpy(), want[0], atol=1e-10)


@pytest.mark.parametrize("mode", CELLS)
@pytest.mark.parametrize("is_reverse", [False, True])
def test_the_loop_over_a_cell(mode, is_reverse):
    """RNN(cell) over padded and ragged batches, against NumPy of one direction."""
    cell = CELLS[mode](3, 2, dtype="float64")
    rnn = nn.RNN(cell, is_reverse)
    x = rand(4, 5, 3)
    w_ih, w_hh, b_ih, b_hh = weights_of(cell)
    want, lasts = np.zeros((4, 5, 2)), []
    for b, n in enumerate(LENGTHS):
        state = tuple(np.zeros(2) for _ in zeros(mode, 1, 1, 1))
        for t in reversed(range(n)) if is_reverse else range(n):
            state = reference.cell_step(mode, x[b, t], state, w_ih, w_hh, b_ih, b_hh)
            want[b, t] = state[0]
        lasts.append(state)
    out, last = rnn(var(x), sequence_length=LENGTHS)
    np.testing.assert_allclose(out.numpy(), want, atol=1e-10)
    ragged, ragged_last = rnn(var(rows_of(x), [offsets(LENGTHS)]))
    np.testing.assert_allclose(ragged.numpy(), rows_of(want), atol=1e-10)
    assert ragged.lod() == [offsets(LENGTHS)]
    for i, (got, again) in enumerate(zip(as_list(last), as_list(ragged_last), strict=True)):
        np.testing.assert_allclose(got, [s[i] for s in lasts], atol=1e-10)
        np.testing.assert_allclose(again, [s[i] for s in lasts], atol=1e-10)


def test_time_major_loop():
    cell = nn.GRUCell(3, 2, dtype="float64")
    x = rand(5, 4, 3)
    out, _ = nn.RNN(cell, time_major=True)(var(x), sequence_length=var(np.array(LENGTHS)))
    want, _ = nn.RNN(cell)(var(x.swapaxes(0, 1)), sequence_length=LENGTHS)
    np.testing.assert_array_equal(out.numpy(), want.numpy().swapaxes(0, 1))


def test_a_step_of_ones_own():
    """A user's cell: a running sum with a counter beside it."""

    class Sum(dygraph.Layer):
        def forward(self, x, states, factor):
            total, count = states
            total = total + x * factor
            return total, (total, count + 1.0)

    x = rand(6, 2)
    v = var(x, [[0, 4, 6]])
    v.stop_gradient = False
    out, (total, count) = nn.RNN(Sum())(
        v, (var(np.zeros((2, 2))), var(np.zeros((2, 1)))), factor=2.0
    )
    want = np.concatenate([2 * np.cumsum(x[:4], 0), 2 * np.cumsum(x[4:], 0)])
    np.testing.assert_allclose(out.numpy(), want)
    np.testing.assert_allclose(total.numpy(), want[[3, 5]])
    np.testing.assert_array_equal(count.numpy(), [[4], [2]])
    out.sum().backward()
    np.testing.assert_allclose(v.gradient()[:, 0], [8, 6, 4, 2, 4, 2])
    with pytest.raises(ValueError, match="initial_states must be given"):
        nn.RNN(Sum())(v)


def test_both_directions_of_a_cell():
    fw, bw = nn.LSTMCell(3, 2, dtype="float64"), nn.LSTMCell(3, 2, dtype="float64")
    net = nn.BiRNN(fw, bw)
    x = rand(4, 5, 3)
    out, (last_fw, last_bw) = net(var(x), sequence_length=LENGTHS)
    stack = nn.LSTM(3, 2, direction="bidirectional", dtype="float64", time_major=False)
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(stack, f"{name}_l0").set_value(getattr(fw, name))
        getattr(stack, f"{name}_l0_reverse").set_value(getattr(bw, name))
    want, (h, c) = stack(var(x), sequence_length=LENGTHS)
    np.testing.assert_allclose(out.numpy(), want.numpy(), atol=1e-12)
    np.testing.assert_allclose([last_fw[0].numpy(), last_bw[0].numpy()], h.numpy(), atol=1e-12)
    np.testing.assert_allclose([last_fw[1].numpy(), last_bw[1].numpy()], c.numpy(), atol=1e-12)
    ragged, _ = net(var(rows_of(x), [offsets(LENGTHS)]))
    np.testing.assert_allclose(ragged.numpy(), rows_of(want.numpy()), atol=1e-12)
    assert ragged.lod() == [offsets(LENGTHS)]


def test_gradients_of_operator_and_loop_agree():
    """The fused stack and a loop of cells: first gradients, and gradients of those."""
    net, cell = nn.LSTM(3, 2, dtype="float64", time_major=False), nn.LSTMCell(3, 2, dtype="float64")
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    for name in names:
        getattr(net, f"{name}_l0").set_value(getattr(cell, name))
    x, lod, seed = rand(9, 3), [offsets(LENGTHS)], rand(9, 2)
    results = []
    for run, parameters in (
        (net, [getattr(net, f"{n}_l0") for n in names]),
        (nn.RNN(cell), [getattr(cell, n) for n in names]),
    ):
        v = var(x, lod)
        v.stop_gradient = False
        out, _ = run(v)
        first = dygraph.grad([(out * var(seed)).sum()], [v, *parameters], create_graph=True)
        second = dygraph.grad([sum((g * g).sum() for g in first)], [v, *parameters])
        results.append([g.numpy() for g in [*first, *second]])
    for fused, loop in zip(*results, strict=True):
        np.testing.assert_allclose(fused, loop, atol=1e-10)


def test_dropout_only_between_layers_while_training():
    net = nn.GRU(3, 8, num_layers=2, dropout=0.5, time_major=False)
    x = var(rand(2, 4, 3).astype("float32"))
    a, b = net(x)[0].numpy(), net(x)[0].numpy()
    assert not np.array_equal(a, b)
    net.eval()
    np.testing.assert_array_equal(net(x)[0].numpy(), net(x)[0].numpy())
    single = nn.GRU(3, 8, num_layers=1, dropout=0.5, time_major=False)
    np.testing.assert_array_equal(single(x)[0].numpy(), single(x)[0].numpy())


def test_without_biases():
    net = nn.GRU(3, 2, bias_ih_attr=False, bias_hh_attr=False, dtype="float64", time_major=False)
    assert [n for n, _ in net.named_parameters()] == ["weight_ih_l0", "weight_hh_l0"]
    x = rand(1, 4, 3)
    weights = [net.weight_ih_l0.numpy(), net.weight_hh_l0.numpy(), np.zeros(6), np.zeros(6)]
    want, _ = reference.rnn("GRU", x.swapaxes(0, 1), zeros("GRU", 1, 1, 2), weights)
    np.testing.assert_allclose(net(var(x))[0].numpy(), want.swapaxes(0, 1), atol=1e-10)
    with pytest.raises(ValueError, match="weight_ih_attr must not be False"):
        nn.LSTM(3, 2, weight_ih_attr=False)


def test_fluids_gru_unit():
    unit = nn.GRUUnit(6, origin_mode=True, dtype="float64")
    x, h = rand(3, 6), rand(3, 2)
    hidden, reset, gate = unit(var(x), var(h))
    sigmoid = reference.sigmoid
    want = [
        reference.gru_step(a, b, unit.weight.numpy(), None, sigmoid, np.tanh, True)
        for a, b in zip(x, h, strict=True)
    ]
    np.testing.assert_allclose(hidden.numpy(), want)
    np.testing.assert_allclose(reset.numpy(), gate.numpy()[:, 2:4] * h)
    assert unit.weight.shape == (2, 6) and unit.bias.shape == (1, 6)


def test_it_learns_to_count():
    """Ragged sequences of ones and zeros; the label is how many ones."""
    net = dygraph.nn.GRU(1, 8, time_major=False)
    head = nn.Linear(8, 1)
    adam = dygraph.optimizer.Adam(0.02, parameter_list=[*net.parameters(), *head.parameters()])
    lengths = np.random.randint(1, 6, 32)
    ones = np.random.randint(0, 2, (int(lengths.sum()), 1)).astype("float32")
    lod = [offsets(lengths)]
    labels = np.add.reduceat(ones[:, 0], lod[0][:-1])[:, None].astype("float32")
    losses = []
    for _ in range(150):
        _, last = net(var(ones, lod))
        error = head(last[0]) - var(labels)
        loss = (error * error).mean()
        loss.backward()
        adam.minimize(loss)
        net.clear_gradients()
        head.clear_gradients()
        losses.append(loss.item())
    assert losses[-1] < 0.05 < losses[0]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: nn.LSTM(3, 2, direction="backward"), ValueError, "direction must be one of"),
        (lambda: nn.LSTM(0, 2), ValueError, "input_size must be at least 1"),
        (lambda: nn.GRU(3, 2, dropout=2.0), ValueError, "dropout must lie"),
        (lambda: nn.SimpleRNN(3, 2, activation="gelu"), ValueError, "activation must be one of"),
        (lambda: MODES["LSTM"](3, 2)(var(np.zeros((4, 3), "float32"))), ValueError, "with LoD"),
        (lambda: MODES["LSTM"](3, 2)(np.zeros((1, 4, 3))), TypeError, "must be a Variable"),
        (lambda: MODES["LSTM"](3, 2)(var(np.zeros((1, 4, 3), "float32")), var([1.0])), ValueError,
         r"the states must be \(h, c\)"),
        (lambda: MODES["GRU"](3, 2)(var(np.zeros((1, 4, 3), "float32")), None, [5]), IndexError,
         "SequenceLength must lie"),
        (lambda: nn.LSTM(3, 2)(var(np.zeros((1, 4, 3), "float32"))), ValueError,
         r"time_major must be given.*\[batch, time, size\]"),
        (lambda: nn.GRU(3, 2, time_major=True, batch_first=False), ValueError, "got both"),
        (lambda: nn.GRU(3, 2, batch_first="no"), TypeError, "batch_first must be True or False"),
        (lambda: nn.RNN(nn.GRUCell(3, 2))(var(np.zeros((1, 4, 3), "float32")), None, [5]),
         IndexError, "sequence_length must lie"),
        (lambda: nn.RNN(nn.GRUCell(3, 2))(var(np.zeros((1, 4, 3), "float32")), None, [1, 2]),
         ValueError, "must hold 1 integers"),
        (lambda: nn.RNN(len), TypeError, "cell must be a Layer"),
        (lambda: nn.GRUUnit(7), ValueError, "multiple of 3"),
    ],
)  # fmt: skip
def test_what_does_not_fit(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_the_fourth_derivative_is_refused():
    net = nn.GRU(2, 2, dtype="float64", time_major=False)
    x = var(rand(1, 3, 2))
    x.stop_gradient = False
    (first,) = dygraph.grad([net(x)[0].sum()], [x], create_graph=True)
    (second,) = dygraph.grad([(first * first).sum()], [x], create_graph=True)
    (third,) = dygraph.grad([(second * second).sum()], [x], create_graph=True)
    with pytest.raises(NotImplementedError, match="fourth derivative"):
        dygraph.grad([(third * third).sum()], [x])


class Sum(dygraph.nn.RNNCellBase):
    state_shape = (2,)

    def forward(self, inputs, states):
        states = states + inputs
        return states, states


@pytest.mark.parametrize("time_major", [False, True])
def test_a_trace_of_an_open_length_is_refused_with_line_and_fix(time_major):
    def sizes(batch, time):
        return (time, batch, 2) if time_major else (batch, time, 2)

    rnn, x = dygraph.nn.RNN(Sum(), time_major=time_major), dygraph.ones(list(sizes(3, 4)))

    def function(x):
        outputs, last = rnn(x)
        return last * 2.0

    line = function.__code__.co_firstlineno + 1
    expected = (
        rf"RNN calls its cell once for each step, which asks for the size of \d+ "
        rf"\(axis {0 if time_major else 1} of 'x'\), at .*test_rnn.py:{line} in function. Capture "
        "the function with dygraph.jit.to_static"
    )
    with pytest.raises(ValueError, match=expected):
        dygraph.jit.trace(function, [x], dims=[sizes(3, "length")])
    _, traced = dygraph.jit.trace(function, [x], dims=[sizes(None, 4)])
    assert traced(dygraph.ones(list(sizes(5, 4)))).tolist() == [[8.0, 8.0]] * 5
    captured = dygraph.jit.to_static(function, dims=[sizes(3, "length")])
    assert captured(dygraph.ones(list(sizes(3, 6)))).tolist() == [[12.0, 12.0]] * 3


def test_a_trace_of_ragged_steps_is_refused_with_line_and_fix():
    rnn = dygraph.nn.RNN(Sum())
    rows = dygraph.to_variable(np.ones([5, 2], "float32"), lod=[[0, 2, 5]])

    def function(x):
        return rnn(x)[0]

    line = function.__code__.co_firstlineno + 1
    with pytest.raises(
        RuntimeError, match=f"need other steps, at .*:{line} in function. Capture the"
    ):
        dygraph.jit.trace(function, [rows])
    assert dygraph.jit.to_static(function)(rows).tolist() == rnn(rows)[0].tolist()
