"""dygraph.fft against NumPy, and its gradients against torch 2.13 and differences."""

from pathlib import Path

import numpy as np
import pytest

import dygraph
from complex_case import check_gradients

RECORDED = np.load(Path(__file__).with_name("spectra.npz"))
RNG = np.random.RandomState(5)
REAL = RNG.randn(3, 4, 6)
COMPLEX = REAL + 1j * RNG.randn(3, 4, 6)
ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
OF_REAL = ("rfft", "ihfft", "rfft2", "rfftn")


def agree(name, x, *args, **kwargs):
    got = getattr(dygraph.fft, name)(dygraph.to_variable(x), *args, **kwargs)
    want = getattr(np.fft, name)(x, *args, **kwargs)
    assert got.shape == want.shape and got.dtype == want.dtype
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ONE)
def test_one_axis(name, norm):
    for x in (REAL,) if name in OF_REAL else (COMPLEX, REAL):
        for axis in (-1, 0, 1):
            for n in (None, 1, 3, 4, 9):
                agree(name, x, n, axis, norm)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", SEVERAL)
def test_several_axes(name, norm):
    for x in (REAL,) if name in OF_REAL else (COMPLEX, REAL):
        agree(name, x, norm=norm)
        for s, axes in ((None, (0, 2)), ((5, 3), (1, 0)), ((2, 7), (-1, 0)), ((-1, 4), (0, 1))):
            agree(name, x, s, axes, norm)
        if name.endswith("n"):
            agree(name, x, axes=(1,), norm=norm)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies(n):
    for name in ("fftfreq", "rfftfreq"):
        got = getattr(dygraph.fft, name)(n, 0.1, dtype="float64")
        np.testing.assert_allclose(got.numpy(), getattr(np.fft, name)(n, 0.1), rtol=1e-15)
        assert getattr(dygraph.fft, name)(n).dtype == dygraph.float32
    for axes in (None, 0, (1, 2)):
        for name in ("fftshift", "ifftshift"):
            got = getattr(dygraph.fft, name)(dygraph.to_variable(REAL), axes).numpy()
            np.testing.assert_array_equal(got, getattr(np.fft, name)(REAL, axes))


def test_types():
    for dtype, want in (("float32", "complex64"), ("float64", "complex128"), ("int32", "complex64"),
                        ("float16", "complex64"), ("complex64", "complex64")):  # fmt: skip
        x = dygraph.to_variable(np.ones(4, dtype))
        assert dygraph.fft.fft(x).dtype.name == want
        assert dygraph.fft.irfft(x).dtype.name == ("float64" if want[-1] == "8" else "float32")


def test_gradients_as_torch():
    x = np.array([0.5, -1.0, 2.0, 0.25, -0.75, 1.5, 3.0, -2.0, 0.125, 1.0, -1.25])
    k = np.arange(9.0)
    v = dygraph.to_variable(x)
    v.stop_gradient = False
    r = dygraph.fft.rfft(v)
    (r.real * k[:6] + r.imag * k[:6] ** 2).sum().backward()
    np.testing.assert_allclose(v.gradient(), RECORDED["gr"], rtol=1e-12)
    for run, name in (
        (lambda q: (dygraph.fft.irfft(q, 9) * k).sum(), "gi"),
        (lambda q: abs(dygraph.fft.fft(q, norm="ortho")).sum(), "gf"),
    ):
        q = dygraph.to_variable(x[:6] + 1j * x[5:])
        q.stop_gradient = False
        run(q).backward()
        np.testing.assert_allclose(q.gradient(), RECORDED[name], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ONE + SEVERAL)
def test_gradients(name):
    x = REAL[:2, :2, :3] if name in OF_REAL else COMPLEX[:2, :2, :3]
    check_gradients(getattr(dygraph.fft, name), x)
    if name in ONE:
        check_gradients(lambda v: getattr(dygraph.fft, name)(v, 5, axis=1), x)


def test_a_filter_is_learnt():
    """A convolution through products of spectra, trained: what users do with it."""
    rng = np.random.RandomState(0)
    x = dygraph.to_variable(rng.randn(16, 32).astype("float32"))
    goal = np.zeros(32, "float32")
    goal[:3] = [0.5, -1.0, 0.25]
    want = dygraph.fft.irfft(dygraph.fft.rfft(x) * dygraph.fft.rfft(dygraph.to_variable(goal)), 32)
    w = dygraph.Parameter(np.zeros(32, "float32"))
    adam = dygraph.optimizer.Adam(0.1, parameter_list=[w])
    for _ in range(150):
        out = dygraph.fft.irfft(dygraph.fft.rfft(x) * dygraph.fft.rfft(w), 32)
        loss = ((out - want) ** 2).mean()
        loss.backward()
        adam.minimize(loss)
        adam.clear_gradients()
    np.testing.assert_allclose(w.numpy(), goal, atol=0.02)


def test_refusals():
    x, z = dygraph.to_variable(REAL), dygraph.to_variable(COMPLEX)
    fft = dygraph.fft
    for call, match in (
        (lambda: fft.rfft(z), "must be real, got complex128"),
        (lambda: fft.fft(x, 0), "n must be at least 1"),
        (lambda: fft.fft(x, axis=3), "axis"),
        (lambda: fft.fft(x, norm="unit"), "norm must be one of"),
        (lambda: fft.fftn(x, axes=(0, 0)), "once"),
        (lambda: fft.fftn(x, s=(2,), axes=(0, 1)), "s must have a size for each of the 2 axes"),
        (lambda: fft.irfft(z[..., :1]), "Pass n=1"),
        (lambda: fft.irfftn(z, s=(4, -1)), "NumPy reads as"),
        (lambda: fft.rfftn(x, axes=()), "at least one axis"),
        (lambda: fft.fft(1.0), "x"),
        (lambda: fft.fftfreq(0), "n must be at least 1"),
        (lambda: fft.stft, "dygraph.signal.stft"),
        (lambda: fft.hfft2, "hfft and ihfft transform one axis"),
        (lambda: fft.fft(x, dim=0, axis=1), "axis"),
    ):
        with pytest.raises((dygraph.errors.DygraphError, AttributeError), match=match):
            call()
    np.testing.assert_array_equal(fft.fft(x, dim=0).numpy(), fft.fft(x, axis=0).numpy())
