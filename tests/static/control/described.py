"""Programs whose inputs want gradients, beside eager functions of the same inputs."""

import numpy as np

import dygraph
from dygraph import ops as F
from dygraph import static
from dygraph.static import layers

ROWS, WIDTH = 3, 4


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


class Described:
    """A program whose inputs want gradients, beside the same inputs as eager variables."""

    def __init__(self, **arrays):
        self.arrays = arrays
        self.program = static.Program()
        with self:
            for name, array in arrays.items():
                kind = "float32" if array.dtype == np.float32 else str(array.dtype)
                variable = static.data(name, list(array.shape), kind)
                variable.stop_gradient = array.dtype != np.float32
                setattr(self, name, variable)

    def __enter__(self):
        self._guard = static.program_guard(self.program, static.Program())
        self._guard.__enter__()
        return self

    def __exit__(self, *error):
        return self._guard.__exit__(*error)

    def run(self, loss, names):
        with self:
            wanted = [loss, *static.gradients(loss, [getattr(self, n) for n in names])]
        return static.Executor().run(self.program, feed=self.arrays, fetch_list=wanted)


def eager(function, names, **arrays):
    given = {n: dygraph.to_variable(a) for n, a in arrays.items()}
    for name in names:
        given[name].stop_gradient = False
    loss = function(**given)
    loss.backward()
    return [loss.numpy(), *(given[n].gradient() for n in names)]


def assert_same_bits(got, want):
    assert [a.tobytes() for a in got] == [np.asarray(b).tobytes() for b in want]


def counted(limit):
    i = layers.fill_constant([1], "int64", 0)
    return i, layers.less_than(i, limit)


def copied(x):
    y = layers.assign(x)
    y.stop_gradient = False
    return y


def limited(turns, **arrays):
    return Described(**arrays, n=np.array([turns], "int64"))


# Programs whose gradients of first and second order are tested: (Described, loss, the same in
# Python).


def loops_in_loops(outer, inner):
    d = Described(
        x=numbers(ROWS, WIDTH), w=numbers(WIDTH, WIDTH, seed=1),
        n=np.array([outer], "int64"), k=np.array([inner], "int64"),
    )  # fmt: skip
    with d:
        one = layers.fill_constant([1], "int64", 1)
        i, more = counted(d.n)
        s = copied(d.x)
        with layers.While(more).block():
            j, again = counted(d.k)
            u = copied(F.tanh(s))
            with layers.While(again).block():
                v = F.tanh(F.matmul_v2(u, d.w)) * d.x
                with layers.Switch() as choice:
                    with choice.case(layers.less_than(j, one)):
                        layers.assign(v * v, output=u)
                    with choice.default():
                        layers.assign(v + s, output=u)
                layers.increment(j)
                layers.less_than(j, d.k, cond=again)
            layers.assign(u + d.x, output=s)
            layers.increment(i)
            layers.less_than(i, d.n, cond=more)
        loss = F.mean(F.matmul_v2(s, d.w))

    def python(x, w, n, k):
        s = F.assign(x)
        for _ in range(outer):
            u = F.assign(F.tanh(s))
            for j in range(inner):
                v = F.tanh(F.matmul_v2(u, w)) * x
                u = v * v if j < 1 else v + s
            s = u + x
        return F.mean(F.matmul_v2(s, w))

    return d, loss, python


def elements_of_an_array(turns):
    """Each is read twice in a turn; the first one behind the loop as well."""
    d = limited(turns, x=numbers(ROWS, WIDTH), w=numbers(WIDTH, WIDTH, seed=1))
    with d:
        i, more = counted(d.n)
        memory = layers.array_write(F.tanh(d.x), i)
        with layers.While(more).block():
            a, b = layers.array_read(memory, i), layers.array_read(memory, i)
            t = F.tanh(F.matmul_v2(a, d.w)) * b
            layers.increment(i)
            layers.array_write(t, i, array=memory)
            layers.less_than(i, d.n, cond=more)
        first = layers.array_read(memory, layers.fill_constant([1], "int64", 0))
        loss = F.mean(layers.array_read(memory, i) * first)

    def python(x, w, n):
        memory = [F.tanh(x)]
        for t in range(turns):
            memory.append(F.tanh(F.matmul_v2(memory[t], w)) * memory[t])
        return F.mean(memory[turns] * memory[0])

    return d, loss, python


def ragged_steps(offsets, lengths):
    """A cell over the rows of each sequence, in Python; the mean square of its states."""

    def python(x, w, u):
        outs = []
        for begin, length in zip(offsets, lengths, strict=False):
            h = dygraph.zeros([1, WIDTH])
            for t in range(begin, begin + length):
                h = F.tanh(F.matmul_v2(x[t : t + 1], w) + F.matmul_v2(h, u))
                outs.append(h)
        out = F.concat(outs, axis=0)
        return F.mean(out * out)

    return python
