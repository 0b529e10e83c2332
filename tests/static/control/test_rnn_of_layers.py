"""nn.RNN over cells on ragged batches: in programs it is a DynamicRNN, with the bits of eager."""

import numpy as np
import pytest

import dygraph
from dygraph import nn, static
from dygraph.errors import PreconditionNotMetError

ONE, TWO = [[0, 3, 3, 8, 9]], [[0, 2, 4], [0, 3, 3, 8, 9]]  # the second sequence is empty


class Leaky(nn.RNNCellBase):
    """A user's cell: two layers, a running count beside the state, an argument from outside."""

    state_shape = ((4,), (1,))

    def __init__(self):
        super().__init__()
        self.new, self.old = nn.Linear(3, 4), nn.Linear(4, 4)

    def forward(self, x, states, shift=None):
        h, count = states
        h = (self.new(x) + self.old(h) * 0.5).tanh()
        if shift is not None:
            h = h + shift
        return h * 2.0, (h, count + 1.0)

    def step(self, x, h):
        """The same for one row, of NumPy."""
        w, b = self.new.weight.numpy(), self.new.bias.numpy()
        return np.tanh(x @ w + b + (h @ self.old.weight.numpy() + self.old.bias.numpy()) * 0.5)


def rows(count=9):
    return np.random.RandomState(7).uniform(-1, 1, (count, 3)).astype("float32")


def ragged(value, lod):
    x = dygraph.to_variable(value, lod=lod)
    x.stop_gradient = False
    return x


def described(rnn, levels, **options):
    """(program, x, outputs, states) of a layer in a program."""
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", [None, 3], "float32", lod_level=levels)
        x.stop_gradient = False
        outputs, states = rnn(x, **options)
    return main, x, outputs, states


@pytest.mark.parametrize("lod", [ONE, TWO])
@pytest.mark.parametrize("is_reverse", [False, True])
def test_a_users_cell_beside_numpy(lod, is_reverse):
    cell = Leaky()
    main, _, outputs, (h, count) = described(nn.RNN(cell, is_reverse), len(lod))
    assert "while" in [op.type for op in main.global_block().ops]
    value = rows()
    wanted, last = np.zeros((9, 4), "float32"), []
    for a, b in zip(lod[-1][:-1], lod[-1][1:], strict=True):
        state = np.zeros(4, "float32")
        for t in reversed(range(a, b)) if is_reverse else range(a, b):
            state = cell.step(value[t], state)
            wanted[t] = 2 * state
        last.append(state)
    got = static.Executor().run(
        main, feed={"x": ragged(value, lod)}, fetch_list=[outputs, h, count], return_numpy=False
    )
    np.testing.assert_allclose(got[0].numpy(), wanted, rtol=1e-5, atol=1e-6)
    assert got[0].lod() == lod
    np.testing.assert_allclose(got[1].numpy(), last, rtol=1e-5, atol=1e-6)
    assert got[2].numpy().ravel().tolist() == [3, 0, 5, 1]


@pytest.mark.parametrize("lod", [ONE, TWO])
@pytest.mark.parametrize("is_reverse", [False, True])
@pytest.mark.parametrize("kind", ["user", "lstm", "both"])
def test_the_bits_of_eager_and_of_its_gradients(kind, is_reverse, lod):
    make = {
        "user": lambda: nn.RNN(Leaky(), is_reverse),
        "lstm": lambda: nn.RNN(nn.LSTMCell(3, 4), is_reverse),
        "both": lambda: nn.BiRNN(nn.GRUCell(3, 4), nn.SimpleRNNCell(3, 2)),
    }
    rnn = make[kind]()
    parameters = rnn.parameters()
    x = ragged(rows(), lod)
    outputs, states = rnn(x)
    ((outputs * outputs).sum() + states[0].exp().sum()).backward()
    main, x_there, there, states_there = described(rnn, len(lod))
    with static.program_guard(main, static.Program()):
        loss = (there * there).sum() + states_there[0].exp().sum()
        weights = [main.global_block().var(p.name) for p in parameters]
        gradients = static.gradients([loss], [x_there, *weights])
    got = static.Executor().run(
        main, feed={"x": x}, fetch_list=[there, *states_there, *gradients], return_numpy=False
    )
    wanted = [outputs.numpy(), *(s.numpy() for s in states), x.gradient()]
    wanted += [p.gradient() for p in parameters]
    for mine, eager in zip(got, wanted, strict=True):
        assert np.array_equal(mine.numpy(), eager)
    assert got[0].lod() == outputs.lod() == lod


def test_one_program_serves_batches_of_other_lengths():
    rnn = nn.RNN(Leaky())
    main, _, outputs, (h, count) = described(rnn, 1)
    for lengths in ([1], [4, 4], [0, 0, 2, 7], list(range(1, 20))):
        x = ragged(rows(sum(lengths)), [np.cumsum([0, *lengths]).tolist()])
        wanted, (last, counted) = rnn(x)
        got = static.Executor().run(main, feed={"x": x}, fetch_list=[outputs, h, count])
        for mine, eager in zip(got, (wanted, last, counted), strict=True):
            assert np.array_equal(mine, eager.numpy())
        assert counted.numpy().ravel().tolist() == lengths


@pytest.mark.parametrize("lod", [ONE, TWO])
def test_networks_behind_one_another(lod):
    class Sum(nn.RNNCellBase):
        state_shape = (3,)

        def forward(self, x, total):
            return total + x, total + x

    one, two, three = nn.RNN(Sum()), nn.RNN(Sum(), True), nn.BiRNN(Sum(), Sum())
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", [None, 3], "float32", lod_level=len(lod))
        last, _ = three(two(one(x)[0])[0])
        assert last.lod_level == len(lod)
    value = np.round(rows() * 8)
    (got,) = static.Executor().run(
        main, feed={"x": ragged(value, lod)}, fetch_list=[last], return_numpy=False
    )
    for a, b in zip(lod[-1][:-1], lod[-1][1:], strict=True):
        back = np.cumsum(np.cumsum(value[a:b], axis=0)[::-1], axis=0)[::-1]
        both = [np.cumsum(back, axis=0), np.cumsum(back[::-1], axis=0)[::-1]]
        assert np.array_equal(got.numpy()[a:b], np.concatenate(both, axis=1))
    assert got.lod() == lod


def test_first_states_and_arguments_from_outside():
    rnn = nn.RNN(Leaky())
    first = rows()[:4].repeat(2, 1)[:, :4], np.full((4, 1), 10, "float32")
    x, shift = ragged(rows(), ONE), dygraph.to_variable(np.array([0.25], "float32"))
    wanted, (h, count) = rnn(x, tuple(map(dygraph.to_variable, first)), shift=shift)
    main = static.Program()
    with static.program_guard(main, static.Program()):
        there = static.data("x", [None, 3], "float32", lod_level=1)
        a, b = static.data("a", [None, 4], "float32"), static.data("b", [None, 1], "float32")
        s = static.data("s", [1], "float32")
        outputs, states = rnn(there, (a, b), shift=s)
    feed = {"x": x, "a": first[0], "b": first[1], "s": shift}
    got = static.Executor().run(main, feed=feed, fetch_list=[outputs, *states])
    for mine, eager in zip(got, (wanted, h, count), strict=True):
        assert np.array_equal(mine, eager.numpy())
    assert np.array_equal(got[1][1], first[0][1])  # an empty sequence keeps its first state
    assert count.numpy().ravel().tolist() == [13, 10, 15, 11]


@pytest.mark.parametrize("time_major", [False, True])
def test_padded_batches_with_lengths(time_major):
    rnn = nn.RNN(Leaky(), time_major=time_major)
    value = rows(20).reshape(4, 5, 3)
    value = value.swapaxes(0, 1).copy() if time_major else value
    lengths = np.array([3, 0, 5, 1])
    wanted, (h, _) = rnn(dygraph.to_variable(value), sequence_length=lengths)
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", [5, None, 3] if time_major else [None, 5, 3], "float32")
        n = static.data("n", [None], "int64")
        outputs, states = rnn(x, sequence_length=n)
    got = static.Executor().run(main, feed={"x": value, "n": lengths},
                                fetch_list=[outputs, states[0]])  # fmt: skip
    assert np.array_equal(got[0], wanted.numpy())
    assert np.array_equal(got[1], h.numpy())
    padding = got[0].swapaxes(0, 1) if time_major else got[0]
    assert not padding[0, 3:].any() and not padding[1].any() and padding[2].any()


def test_it_trains_as_eager_does():
    runs = []
    for program in (False, True):
        with dygraph.guard(seed=3), dygraph.unique_name.guard():
            rnn = nn.RNN(Leaky())
            runs.append(losses(rnn, program))
    assert runs[0] == runs[1]
    assert runs[0][-1] < 0.8 * runs[0][0]


def losses(rnn, program):
    """Five steps of SGD on batches of other lengths."""
    batches = [
        ragged(rows(sum(n)), [np.cumsum([0, *n]).tolist()]) for n in ([4, 1], [2, 0, 6], [3], [5])
    ] * 3
    if not program:
        optimizer = dygraph.optimizer.SGD(0.1, parameter_list=rnn.parameters())
        found = []
        for x in batches:
            loss = ((rnn(x)[0] - 1.0) * (rnn(x)[0] - 1.0)).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_gradients()
            found.append(float(loss))
        return found
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [None, 3], "float32", lod_level=1)
        loss = ((rnn(x)[0] - 1.0) * (rnn(x)[0] - 1.0)).mean()
        static.optimizer.SGD(0.1).minimize(loss)
    executor = static.Executor()
    executor.run(startup)
    return [float(executor.run(main, feed={"x": x}, fetch_list=[loss])[0]) for x in batches]


def test_what_cannot_be_written():
    rnn = nn.RNN(Leaky())
    with pytest.raises(PreconditionNotMetError, match="to_static"):
        dygraph.jit.trace(rnn, [dygraph.to_variable(rows(), lod=ONE)])


@pytest.mark.parametrize("given", [True, False])
def test_padded_batches_of_any_length(given):
    """The time axis is open; without lengths every sequence has as many steps as the batch."""
    rnn, main = nn.RNN(Leaky()), static.Program()
    with static.program_guard(main, static.Program()):
        x, n = static.data("x", [None, None, 3], "float32"), static.data("n", [None], "int64")
        outputs, (h, count) = rnn(x, sequence_length=n if given else None)
    executor = static.Executor()
    for batch, time, lengths in ((2, 3, [3, 1]), (3, 5, [2, 5, 4]), (1, 1, [1])):
        values = rows(batch * time).reshape(batch, time, 3)
        lengths = np.array(lengths, "int64")
        got = executor.run(
            main, feed={"x": values, "n": lengths}, fetch_list=[outputs, h, count],
        )  # fmt: skip
        eager, states = rnn(
            dygraph.to_variable(values),
            sequence_length=dygraph.to_variable(lengths) if given else None,
        )
        for a, b in zip(got, [eager, *states], strict=True):
            assert a.tobytes() == b.numpy().tobytes()
