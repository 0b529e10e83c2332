"""Programs whose inputs want gradients, beside eager functions of the same inputs."""

import numpy as np

import dygraph
import static
from static import layers

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
