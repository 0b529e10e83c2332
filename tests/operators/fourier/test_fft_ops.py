"""fft_c2c, fft_r2c and fft_c2r against NumPy, and their gradients against differences."""

import numpy as np
import pytest

import dygraph
from complex_case import ComplexCase, randc
from op_test import OpTest, rand

FORWARD = {True: np.fft.fftn, False: np.fft.ifftn}


def transformed(x, axes, norm, forward):
    """NumPy's; ifftn with norm 'backward' divides, as backward transforms do."""
    return FORWARD[forward](x, axes=axes, norm=norm)


class Case(ComplexCase):
    elementwise = False

    def test_check_output(self):
        self.check_output(rtol=1e-12, atol=1e-12)

    def test_check_grad(self):
        self.check_grads()


class TestC2C(Case, OpTest):
    attrs = {"axes": [-1]}

    def setUp(self):
        self.op_type, self.inputs = "fft_c2c", {"X": randc(2, 6)}

    def reference(self, inputs, attrs):
        axes = attrs.get("axes", [-1])
        norm, forward = attrs.get("normalization", "backward"), attrs.get("forward", True)
        return {"Out": transformed(inputs["X"], axes, norm, forward)}


class TestC2CBackward(TestC2C):
    attrs = {"axes": [0, 2], "forward": False, "normalization": "backward"}
    rows_move = True

    def setUp(self):
        self.op_type, self.inputs = "fft_c2c", {"X": randc(3, 2, 5)}


class TestC2COrtho(TestC2CBackward):
    rows_move = False
    attrs = {"axes": [1], "normalization": "ortho"}


class TestC2CForwardNorm(TestC2CBackward):
    attrs = {"axes": [2, 0], "forward": False, "normalization": "forward"}
    rows_move = True


class TestC2CForwardNormForward(TestC2CBackward):
    attrs = {"axes": [0], "forward": True, "normalization": "forward"}
    rows_move = True


class TestC2CSingle(TestC2C):
    def setUp(self):
        self.op_type, self.inputs = "fft_c2c", {"X": randc(2, 6, dtype="complex64")}

    def test_check_output(self):
        self.check_output(rtol=1e-6, atol=1e-6)

    def test_check_grad(self):
        self.check_grads(order=1, eps=1e-2, atol=1e-2)


class TestR2C(Case, OpTest):
    attrs = {"axes": [-1]}

    def setUp(self):
        self.op_type, self.inputs = "fft_r2c", {"X": rand(2, 6)}

    def reference(self, inputs, attrs):
        axes = attrs.get("axes", [-1])
        norm, forward = attrs.get("normalization", "backward"), attrs.get("forward", True)
        full = transformed(inputs["X"], axes, norm, forward)
        if not attrs.get("onesided", True):
            return {"Out": full}
        half = full.shape[axes[-1]] // 2 + 1
        return {"Out": np.take(full, np.arange(half), axis=axes[-1])}


class TestR2COdd(TestR2C):
    attrs = {"axes": [0, 1], "normalization": "ortho"}
    rows_move = True

    def setUp(self):
        self.op_type, self.inputs = "fft_r2c", {"X": rand(3, 5)}


class TestR2COtherAxis(TestR2C):
    attrs = {"axes": [2, 1], "forward": False}

    def setUp(self):
        self.op_type, self.inputs = "fft_r2c", {"X": rand(2, 4, 3)}


class TestR2COddOtherAxis(TestR2COtherAxis):
    attrs = {"axes": [1, 0], "normalization": "forward"}

    def setUp(self):
        self.op_type, self.inputs = "fft_r2c", {"X": rand(3, 2, 2)}


class TestR2CWhole(TestR2COtherAxis):
    attrs = {"axes": [0, 2], "onesided": False}
    rows_move = True


class TestC2R(Case, OpTest):
    attrs = {"axes": [-1], "forward": False, "last_dim_size": 6}

    def setUp(self):
        self.op_type, self.inputs = "fft_c2r", {"X": randc(2, 4)}

    def reference(self, inputs, attrs):
        x, axes, n = inputs["X"], attrs["axes"], attrs.get("last_dim_size", 0)
        n = n or 2 * (x.shape[axes[-1]] - 1)
        norm, forward = attrs.get("normalization", "backward"), attrs.get("forward", True)
        if forward:  # of the conjugates backward, with the scale of forward
            x = np.conj(x)
            norm = {"backward": "forward", "forward": "backward"}.get(norm, norm)
        sizes = [x.shape[a] for a in axes[:-1]] + [n]
        return {"Out": np.fft.irfftn(x, s=sizes, axes=axes, norm=norm)}


class TestC2ROdd(TestC2R):
    attrs = {"axes": [0, 1], "forward": False, "last_dim_size": 7, "normalization": "ortho"}
    rows_move = True


class TestC2RForward(TestC2R):
    attrs = {"axes": [1, 0], "forward": True}

    def setUp(self):
        self.op_type, self.inputs = "fft_c2r", {"X": randc(4, 2, 2)}


class TestC2ROtherAxis(TestC2R):
    attrs = {"axes": [2, 1], "forward": False, "normalization": "forward", "last_dim_size": 5}

    def setUp(self):
        self.op_type, self.inputs = "fft_c2r", {"X": randc(2, 3, 2)}


def rms(v):
    return np.sqrt(np.mean(np.abs(v) ** 2))


SIZES = [*range(1, 65), 77, 97, 101, 121, 128, 169, 243, 509, 1000, 1009, 1024, 2047, 2048, 4096,
         4099, 5000, 6561, 16384, 30030, 65537]  # fmt: skip


@pytest.mark.parametrize("n", SIZES)
def test_every_length(n):
    """The greatest error beside NumPy's doubles, in units of the last place of the typical result.

    Powers, products of small primes, primes, lengths that are divided, few and many lines.
    """
    rng = np.random.RandomState(n)
    for lines in (1, 11) if n < 5000 else (1,):
        z = rng.randn(lines, n) + 1j * rng.randn(lines, n)
        for dtype, eps in (("complex128", 2.2e-16), ("complex64", 1.2e-7)):
            v = z.astype(dtype)
            for forward in (True, False):
                want = transformed(v.astype("complex128"), [1], "ortho", forward)
                got = dygraph.ops.fft_c2c(
                    dygraph.to_variable(v), axes=[1], normalization="ortho", forward=forward
                ).numpy()
                assert np.abs(got - want).max() < 25 * eps * rms(want)
            x = v.real
            half = dygraph.fft.rfft(dygraph.to_variable(x), norm="ortho")
            want = np.fft.rfft(x.astype("float64"), norm="ortho")
            assert np.abs(half.numpy() - want).max() < 25 * eps * rms(want)
            back = dygraph.fft.irfft(half, n, norm="ortho").numpy()
            assert np.abs(back - x).max() < 25 * eps * rms(x)


def test_a_million():
    rng = np.random.RandomState(0)
    for n in (1 << 20, 10**6, 1000003):
        x = rng.randn(n).astype("float32")
        got = dygraph.fft.rfft(dygraph.to_variable(x)).numpy()
        want = np.fft.rfft(x.astype("float64"))
        assert np.abs(got - want).max() < 15 * 1.2e-7 * rms(want)


def test_results_do_not_depend_on_threads_or_neighbours():
    x = randc(37, 240)
    before = dygraph.num_threads()
    found = []
    for threads in (1, 4):
        dygraph.set_num_threads(threads)
        found.append(dygraph.fft.fft(dygraph.to_variable(x)).numpy())
    dygraph.set_num_threads(before)
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(
        dygraph.fft.fft(dygraph.to_variable(x[5:12])).numpy(), found[0][5:12]
    )


def test_empty_and_refused():
    ops, error = dygraph.ops, dygraph.errors
    assert ops.fft_c2c(dygraph.to_variable(np.zeros((0, 3), "complex64"))).shape == (0, 3)
    assert ops.fft_r2c(dygraph.zeros([0, 4])).shape == (0, 3)
    z = dygraph.to_variable([1j, 2j])
    for call, match in (
        (lambda: ops.fft_c2c(dygraph.to_variable(np.zeros((2, 0), "complex64"))), "elements"),
        (lambda: ops.fft_c2c(z, axes=[0, -1]), "axis twice"),
        (lambda: ops.fft_c2c(z, axes=[1]), "axes"),
        (lambda: ops.fft_c2c(z, normalization="no"), "normalization"),
        (lambda: ops.fft_c2r(z, last_dim_size=7), r"last_dim_size / 2 \+ 1 = 4"),
        (lambda: ops.fft_c2r(z[:1]), "last_dim_size=1"),
        (lambda: ops.fft_r2c(dygraph.ones([2]), axes=[]), "must name an axis"),
    ):
        with pytest.raises(error.DygraphError, match=match):
            call()
    with pytest.raises(error.DygraphError, match="complex64"):
        ops.fft_r2c(z)
    with pytest.raises(error.DygraphError, match="float32"):
        ops.fft_c2c(dygraph.ones([2]))
