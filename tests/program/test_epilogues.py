"""Steps that the kernel of a convolution does for the operators behind it: the bits of eager calls,
whatever the values, sizes, threads and the program around it."""

import numpy as np
import pytest

import dygraph
from dygraph import _core, nn, static
from program.models import numbers

PIXELS = 12


def norm(channels):
    return nn.BatchNorm2D(channels)


class Block(dygraph.Layer):
    """A block of a residual network whose way around is a convolution, or nothing."""

    def __init__(self, channels, out, stride, groups=1):
        super().__init__()
        self.first, self.first_norm = nn.Conv2D(channels, 16, 1, bias_attr=False), norm(16)
        self.second = nn.Conv2D(16, 16, 3, stride=stride, padding=1, groups=groups)
        self.second_norm = norm(16)
        self.third, self.third_norm = nn.Conv2D(16, out, 1, bias_attr=False), norm(out)
        self.around = None
        if stride != 1 or channels != out:
            self.around = nn.Conv2D(channels, out, 1, stride=stride, bias_attr=False)
            self.around_norm = norm(out)

    def forward(self, x):
        y = dygraph.relu(self.first_norm(self.first(x)))
        y = dygraph.relu(self.second_norm(self.second(y)))
        y = self.third_norm(self.third(y))
        return dygraph.relu(y + (self.around_norm(self.around(x)) if self.around else x))


class Net(dygraph.Layer):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(
            Block(8, 64, 1), Block(64, 64, 1), Block(64, 64, 1, groups=4), Block(64, 96, 2)
        )
        self.last = nn.Conv2D(96, 32, 3)  # its batch_norm has no relu behind it
        self.last_norm = norm(32)

    def forward(self, x):
        return self.last_norm(self.last(self.blocks(x)))


def with_statistics(layer, seed=5):
    rng = np.random.default_rng(seed)
    for name, value in layer.state_dict().items():
        if "norm" in name:
            low = 0.5 if "variance" in name else -1.0
            value.set_value(rng.uniform(low, 1.5, value.shape).astype("float32"))
    layer.eval()
    return layer


@pytest.fixture
def net():
    dygraph.seed(2)
    return with_statistics(Net())


class Run:
    """A layer as a program."""

    def __init__(self, layer, channels=8):
        self.program, self.executor = static.Program(), static.Executor()
        with static.program_guard(self.program):
            self.out = layer(static.data("x", [None, channels, PIXELS, PIXELS]))

    def __call__(self, x):
        return self.executor.run(self.program, {"x": x}, [self.out])[0]

    def joined(self):
        (plan,) = self.executor._prepared.values()
        return plan.program.operators_in_kernels


def image(batch=1, seed=0):
    return numbers(batch, 8, PIXELS, PIXELS, seed=seed)


def eager(layer, x):
    return layer(dygraph.to_variable(x)).numpy()


@pytest.fixture(params=[1, 2])
def threads(request):
    before = dygraph.num_threads()
    dygraph.set_num_threads(request.param)
    yield request.param
    dygraph.set_num_threads(before)


def test_the_bits_of_eager_calls_at_every_size(net, threads):
    run = Run(net)
    for batch in (1, 3, 1, 8):
        for seed in range(3):  # the first run of a size compares, the others trust it
            x = image(batch, seed)
            assert run(x).tobytes() == eager(net, x).tobytes(), (batch, seed)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
def test_values_that_are_no_numbers(net, threads, value):
    run, plain, odd = Run(net), image(2), image(2)
    odd[1, 3, 5, 5] = value
    for x in (odd, plain, plain, odd, odd, plain):  # before and after the first run's comparison
        with np.errstate(all="ignore"):
            want = eager(net, x)
            got = run(x)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        assert np.isnan(want[1]).any() == (x is odd) and not np.isnan(want[0]).any()
        np.testing.assert_array_equal(got, want)
    assert run(plain).tobytes() == eager(net, plain).tobytes()


def test_statistics_set_between_runs_are_the_ones_used(net):
    run, x = Run(net), image()
    first = run(x), run(x)
    assert first[0].tobytes() == first[1].tobytes()
    for part in (net.last_norm.weight, net.blocks[1].third_norm._mean):
        part.set_value(part.numpy() + 0.25)
        static.global_scope().find_var(part.name).get_tensor().set(part.numpy())
        assert run(x).tobytes() == eager(net, x).tobytes() != first[0].tobytes()


def test_an_array_that_is_read_again_is_not_written_to():
    """The sum at the end of a block may replace its other array, but not one that lives on."""

    class Twice(dygraph.Layer):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = (nn.Conv2D(8, 8, 3, padding=1) for _ in range(3))
            self.a_norm, self.b_norm, self.c_norm = norm(8), norm(8), norm(8)

        def forward(self, x):
            z = self.a_norm(self.a(x))
            y = dygraph.relu(self.b_norm(self.b(x)) + z)
            w = dygraph.relu(self.c_norm(self.c(z)) + z)  # z is what the convolution reads, too
            return dygraph.concat([y, w, z], axis=1)

    layer = with_statistics(Twice())
    run = Run(layer)
    for seed in range(4):
        x = image(2, seed)
        assert run(x).tobytes() == eager(layer, x).tobytes()


def test_a_fed_array_stays_as_it_was():
    class Around(dygraph.Layer):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2D(8, 8, 3, padding=1), norm(8)

        def forward(self, x, z):
            return dygraph.relu(self.norm(self.conv(x)) + z)

    layer = with_statistics(Around())
    program, executor = static.Program(), static.Executor()
    with static.program_guard(program):
        x, z = (static.data(name, [None, 8, PIXELS, PIXELS]) for name in "xz")
        out = layer(x, z)
    fed = {"x": dygraph.to_variable(image(2)), "z": dygraph.to_variable(image(2, 1))}
    for _ in range(3):
        (got,) = executor.run(program, fed, [out])
        assert got.tobytes() == layer(fed["x"], fed["z"]).numpy().tobytes()
        np.testing.assert_array_equal(fed["z"].numpy(), image(2, 1))


def test_a_program_that_counts_its_runs_counts_each_once(net):
    """NaN begins a run anew only where that is not seen."""
    program, start, executor = static.Program(), static.Program(), static.Executor()
    with static.program_guard(program, start):
        out = net(static.data("x", [None, 8, PIXELS, PIXELS]))
        count = static.layers.create_global_var([1], 0.0, "float32", persistable=True, name="count")
        static.layers.increment(count)
    executor.run(start)
    odd = image()
    odd[0, 0, 0, 0] = np.nan
    for i, x in enumerate((image(), odd, image(), odd, odd)):
        got, counted = executor.run(program, {"x": x}, [out, count])
        assert counted.item() == i + 1
        np.testing.assert_array_equal(got, eager(net, x))


def test_convolutions_do_the_steps_behind_them(net):
    """Of the 15 that stand before a batch_norm, 5 have a bias, whose addition lies between."""
    run = Run(net)
    run(image(16))
    onednn = any("onednn" in kernel for kernel in _core.describe_op("conv2d")["kernels"])
    assert 0 < run.joined() <= 10 if onednn else run.joined() == 0
