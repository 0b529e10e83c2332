"""dygraph.signal beside torch 2.13 and Paddle 2.6.2, whose results spectra.npz holds."""

from pathlib import Path

import numpy as np
import pytest

import dygraph
from complex_case import check_gradients
from dygraph import signal

RECORDED = np.load(Path(__file__).with_name("spectra.npz"))
X = np.array([0.5, -1.0, 2.0, 0.25, -0.75, 1.5, 3.0, -2.0, 0.125, 1.0, -1.25])
WINDOW, FLAT = np.array([0.25, 1.0, 0.75]), np.array([0.5, 1.0, 1.0, 0.5])
HANN = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(4) / 4)


def var(a):
    return dygraph.to_variable(a)


CASES = {
    "a": lambda: signal.stft(var(X), 4, hop_length=2),
    "b": lambda: signal.stft(
        var(X), 4, 3, win_length=3, window=var(WINDOW), center=False, normalized=True,
        onesided=False,
    ),
    "c": lambda: signal.stft(
        var(np.stack([X, 2 - X])), 5, 2, 3, var(WINDOW), pad_mode="constant", return_complex=True
    ),
    "d": lambda: signal.stft(var(X + 1j * X[::-1]), 4, 2, window=var(HANN)),
    "e": lambda: signal.istft(var(RECORDED["e_in"]), 4, 1, window=var(FLAT)),
    "f": lambda: signal.istft(var(RECORDED["e_in"]), 4, 1, window=var(FLAT), length=9),
    "frame": lambda: signal.frame(var(X), 4, 3),
    "frame0": lambda: signal.frame(var(X), 4, 3, axis=0),
    "ola": lambda: signal.overlap_add(var(RECORDED["frame"]), 3),
    "ola0": lambda: signal.overlap_add(var(RECORDED["frame0"]), 3, axis=0),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_as_torch_and_paddle(name):
    got = CASES[name]()
    assert got.shape == RECORDED[name].shape and got.dtype == RECORDED[name].dtype
    np.testing.assert_allclose(got.numpy(), RECORDED[name], rtol=1e-12, atol=1e-14)


def test_gradient_as_torch():
    x = var(X)
    x.stop_gradient = False
    (abs(signal.stft(x, 4, hop_length=2)) ** 2).sum().backward()
    np.testing.assert_allclose(x.gradient(), RECORDED["ga"], rtol=1e-12)


def test_gradients():
    check_gradients(lambda x: signal.stft(x, 4, 1, window=var(FLAT)), X[:6])
    check_gradients(lambda z: signal.istft(z, 4, 1, window=var(FLAT)), RECORDED["e_in"][:, :5])
    check_gradients(lambda x: signal.frame(x, 3, 2, axis=0), X.reshape(11, 1)[:6])
    check_gradients(lambda x: signal.overlap_add(x, 2), X[:9].reshape(3, 3))


@pytest.mark.parametrize("n_fft, hop", [(8, 2), (9, 3), (16, 4), (400, 160)])
@pytest.mark.parametrize("of_complex", [False, True])
def test_there_and_back(n_fft, hop, of_complex):
    rng = np.random.RandomState(0)
    x = rng.randn(2, 5 * n_fft)
    if of_complex:
        x = x + 1j * rng.randn(*x.shape)
    window = var(0.6 - 0.4 * np.cos(2 * np.pi * np.arange(n_fft) / n_fft))
    for normalized in (False, True):
        there = signal.stft(var(x), n_fft, hop, window=window, normalized=normalized)
        back = signal.istft(
            there, n_fft, hop, window=window, normalized=normalized, length=x.shape[1] + 3,
            return_complex=of_complex,
        )  # fmt: skip
        reached = there.shape[-1] * hop - hop + n_fft - n_fft // 2
        assert back.shape == (2, x.shape[1] + 3) and back.dtype == x.dtype
        n = min(reached, x.shape[1])
        np.testing.assert_allclose(back.numpy()[:, :n], x[:, :n], atol=1e-12)
        assert (back.numpy()[:, max(reached, n) :] == 0).all()


def test_types():
    x = np.ones(8, "float32")
    assert signal.stft(var(x), 4).dtype.name == "complex64"
    assert signal.stft(var(x.astype("int32")), 4).dtype.name == "complex64"
    assert signal.istft(signal.stft(var(x), 4), 4).dtype.name == "float32"


def test_refusals():
    x, z = var(X), var(RECORDED["a"])
    for call, match in (
        (lambda: signal.stft(x, 0), "n_fft must be at least 1"),
        (lambda: signal.stft(x, 4, 0), "hop_length must be at least 1"),
        (lambda: signal.stft(x, 64), "more than n_fft // 2 = 32"),
        (lambda: signal.stft(x, 4, window=x), r"shape \[win_length\], \[4\]"),
        (lambda: signal.stft(x, 4, win_length=5), "win_length must be at most 4"),
        (lambda: signal.stft(x, 4, pad_mode="edge"), "pad_mode must be one of"),
        (lambda: signal.stft(x, 4, return_complex=False), "as_real"),
        (lambda: signal.stft(var(X + 0j), 4, onesided=True), "onesided must be False"),
        (lambda: signal.stft(dygraph.ones([2, 2, 8]), 4), r"\[n\] or \[batch, n\]"),
        (lambda: signal.istft(x, 4), "must be complex"),
        (lambda: signal.istft(z, 6), "must have 4 frequencies"),
        (lambda: signal.istft(z, 4, return_complex=True, onesided=True), "onesided must be False"),
        (lambda: signal.istft(z, 4, 4, window=var(HANN), center=False), "reach every number"),
        (lambda: signal.frame(x, 12, 1), "at most the 11 numbers"),
        (lambda: signal.frame(x, 2, 1, axis=1), "must be 0, the first axis, or -1"),
        (lambda: signal.overlap_add(x, 1), "an axis of frames"),
        (lambda: signal.Frame, "frame"),
    ):
        with pytest.raises((dygraph.errors.DygraphError, AttributeError), match=match):
            call()
