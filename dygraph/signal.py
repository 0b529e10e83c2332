"""Frames of signals and short-time Fourier transforms, as ``paddle.signal`` and torch have them.

>>> import dygraph
>>> x = dygraph.arange(8, dtype="float32")
>>> spectrum = dygraph.signal.stft(x, n_fft=4, hop_length=2)
>>> spectrum.shape, spectrum.dtype.name
((3, 5), 'complex64')
>>> dygraph.signal.istft(spectrum, n_fft=4, hop_length=2).round(4).tolist()
[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
"""

from dygraph import _core
from dygraph.core import check
from dygraph.core.promotion import floating
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, did_you_mean
from dygraph.functions.borders import pad
from dygraph.functions.complex_numbers import as_complex_type, is_complex

__all__ = ["frame", "istft", "overlap_add", "stft"]

ops = _core.ops


def frame(x, frame_length, hop_length, axis=-1):
    """The frames of a signal: frame f has `frame_length` numbers from ``f * hop_length`` on.

    Numbers behind the last whole frame are left out.

    Parameters
    ----------
    x : Variable
        ``[..., n]``, or ``[n, ...]`` with ``axis=0``.
    frame_length, hop_length : int
    axis : {-1, 0}
        The axis of the signal.

    Returns
    -------
    Variable
        ``[..., frame_length, frames]``, or ``[frames, frame_length, ...]``.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.signal.frame(dygraph.asarray([1.0, 2.0, 3.0, 4.0]), 2, 1).tolist()
    [[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]]
    """
    return ops.frame(
        check.variable(x, "frame: x"),
        frame_length=check.integer(frame_length, "frame: frame_length", 1),
        hop_length=check.integer(hop_length, "frame: hop_length", 1),
        axis=check.integer(axis, "frame: axis"),
    )


def overlap_add(x, hop_length, axis=-1):
    """The signal that frames add up to: the way back from `frame`, where frames do not overlap.

    Parameters
    ----------
    x : Variable
        ``[..., frame_length, frames]``, or ``[frames, frame_length, ...]`` with ``axis=0``.
    hop_length : int
    axis : {-1, 0}
        The axis of the frames.

    Returns
    -------
    Variable
        ``[..., n]``, or ``[n, ...]``, with ``n = (frames - 1) * hop_length + frame_length``.

    Examples
    --------
    >>> import dygraph
    >>> frames = dygraph.asarray([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]])
    >>> dygraph.signal.overlap_add(frames, 1).tolist()
    [1.0, 4.0, 6.0, 4.0]
    """
    return ops.overlap_add(
        check.variable(x, "overlap_add: x"),
        hop_length=check.integer(hop_length, "overlap_add: hop_length", 1),
        axis=check.integer(axis, "overlap_add: axis"),
    )


def _window(window, win_length, n_fft, like, owner):
    """The window of n_fft numbers, zeros around those given, as a column; None: all are 1."""
    win_length = n_fft if win_length is None else win_length
    check.integer(win_length, f"{owner}: win_length", 1, n_fft)
    if window is None:
        if win_length == n_fft:
            return None
        window = ops.fill_constant(shape=[win_length], dtype=like, value=1.0)
    window = check.variable(window, f"{owner}: window")
    if window.shape != (win_length,) or is_complex(window):
        raise InvalidArgumentError(
            f"{owner}: window must be real and of shape [win_length], {[win_length]}, got "
            f"{window.dtype} of shape {list(window.shape)}"
        )
    before = (n_fft - win_length) // 2
    behind = n_fft - win_length - before
    window = ops.pad(window.astype(like), paddings=[before, behind])
    return ops.unsqueeze(window, axes=[-1])


def _lengths(n_fft, hop_length, owner):
    n_fft = check.integer(n_fft, f"{owner}: n_fft", 1)
    hop = max(n_fft // 4, 1) if hop_length is None else hop_length
    return n_fft, check.integer(hop, f"{owner}: hop_length", 1)


def stft(
    x, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect",
    normalized=False, onesided=None, return_complex=True,
):  # fmt: skip
    """The Fourier transform of each frame of a signal, under a window.

    Parameters
    ----------
    x : Variable
        ``[n]`` or ``[batch, n]``; real or complex.
    n_fft : int
        The length of a frame.
    hop_length : int, optional
        From one frame to the next; None: ``n_fft // 4``.
    win_length : int, optional
        The length of the window, which stands in the middle of a frame; None: `n_fft`.
    window : Variable, optional
        ``[win_length]``; None: all are 1.
    center : bool
        Pad `x` by ``n_fft // 2`` on both sides, so that frame f has ``x[f * hop_length]`` in its
        middle.
    pad_mode : {'reflect', 'constant', 'replicate', 'circular'}
        With what `center` pads; 'constant' are zeros.
    normalized : bool
        Divide by the root of `n_fft`.
    onesided : bool, optional
        Give the first ``n_fft // 2 + 1`` frequencies, whose conjugates the others are; None: of
        real `x`.
    return_complex : bool
        True: as torch's.

    Returns
    -------
    Variable
        ``[..., frequencies, frames]``, complex.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.asarray([1.0, 2.0, 1.0, 2.0])
    >>> dygraph.signal.stft(x, n_fft=2, hop_length=1, center=False).tolist()
    [[(3+0j), (3+0j), (3+0j)], [(-1+0j), (1+0j), (-1+0j)]]
    """
    n_fft, hop = _lengths(n_fft, hop_length, "stft")
    if check.variable(x, "stft: x").ndim not in (1, 2):
        raise InvalidArgumentError(f"stft: x must be [n] or [batch, n], got shape {list(x.shape)}")
    if return_complex is not None and not check.flag(return_complex, "stft: return_complex"):
        raise ArgumentTypeError(
            "stft: return_complex must be True, got False. dygraph.as_real(result) gives pairs"
        )
    of_complex = is_complex(x)
    if onesided is None:
        onesided = not of_complex
    if check.flag(onesided, "stft: onesided") and of_complex:
        raise InvalidArgumentError("stft: onesided must be False for complex x, got True")
    if not of_complex:
        x = floating(x)
        x = x.astype("float32") if x.dtype.itemsize == 2 else x
    like = x.dtype if not of_complex else ("float32" if x.dtype.itemsize == 8 else "float64")
    window = _window(window, win_length, n_fft, like, "stft")
    if check.flag(center, "stft: center"):
        check.choice(pad_mode, ("reflect", "constant", "replicate", "circular"), "stft: pad_mode")
        half = n_fft // 2
        size = check.known_size(x, x.ndim - 1, "stft with center")
        if size == 0 or (pad_mode == "reflect" and half >= size):
            raise InvalidArgumentError(
                f"stft: x must have more than n_fft // 2 = {half} numbers to be padded, got shape "
                f"{list(x.shape)}. Pass center=False and pad x"
            )
        if half:
            x = pad(x, [half, half], mode=pad_mode)
    frames = ops.frame(x, frame_length=n_fft, hop_length=hop, axis=-1)
    if window is not None:
        frames = frames * (as_complex_type(window) if of_complex else window)
    norm = "ortho" if check.flag(normalized, "stft: normalized") else "backward"
    if of_complex:
        return ops.fft_c2c(frames, axes=[-2], normalization=norm, forward=True)
    return ops.fft_r2c(frames, axes=[-2], normalization=norm, forward=True, onesided=onesided)


def istft(
    x, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False,
    onesided=None, length=None, return_complex=False,
):  # fmt: skip
    """The signal of which `stft` made `x`, with the same arguments.

    Of frames that overlap, the result is the signal whose transform is nearest: the sum of the
    frames under the window, divided by the sum of the windows squared.

    Parameters
    ----------
    x : Variable
        ``[frequencies, frames]`` or ``[batch, frequencies, frames]``, complex.
    n_fft : int
        The length of a frame.
    hop_length : int, optional
        From one frame to the next; None: ``n_fft // 4``.
    win_length : int, optional
        The length of the window; None: `n_fft`.
    window : Variable, optional
        ``[win_length]``; None: all are 1.
    center : bool
        Leave out the padding of ``n_fft // 2`` on both sides.
    normalized : bool
        Whether `stft` divided by the root of `n_fft`.
    onesided : bool, optional
        Whether `x` has the first ``n_fft // 2 + 1`` frequencies alone; None: unless
        `return_complex`.
    length : int, optional
        Of the signal, which is cut, or padded with zeros behind.
    return_complex : bool
        Give a complex signal.

    Returns
    -------
    Variable
        ``[n]`` or ``[batch, n]``.

    Raises
    ------
    InvalidArgumentError
        The windows leave a number of the signal out.

    Examples
    --------
    >>> import dygraph
    >>> spectrum = dygraph.asarray([[3 + 0j, 3 + 0j, 3 + 0j], [-1 + 0j, 1 + 0j, -1 + 0j]])
    >>> dygraph.signal.istft(spectrum, n_fft=2, hop_length=1, center=False).tolist()
    [1.0, 2.0, 1.0, 2.0]
    """
    n_fft, hop = _lengths(n_fft, hop_length, "istft")
    if check.variable(x, "istft: x").ndim not in (2, 3) or not is_complex(x):
        raise InvalidArgumentError(
            "istft: x must be complex and [frequencies, frames] or [batch, frequencies, frames], "
            f"got {x.dtype} of shape {list(x.shape)}"
        )
    if onesided is None:
        onesided = not return_complex
    onesided = check.flag(onesided, "istft: onesided")
    if check.flag(return_complex, "istft: return_complex") and onesided:
        raise InvalidArgumentError("istft: onesided must be False with return_complex, got True")
    frequencies = n_fft // 2 + 1 if onesided else n_fft
    count = check.known_size(x, x.ndim - 1, "istft")
    if x.shape[-2] != frequencies or count == 0:
        raise InvalidArgumentError(
            f"istft: x must have {frequencies} frequencies for n_fft = {n_fft} and onesided = "
            f"{onesided}, and at least a frame, got shape {list(x.shape)}"
        )
    like = "float32" if x.dtype.itemsize == 8 else "float64"
    window = _window(window, win_length, n_fft, like, "istft")
    norm = "ortho" if check.flag(normalized, "istft: normalized") else "backward"
    if onesided:
        frames = ops.fft_c2r(x, axes=[-2], normalization=norm, forward=False, last_dim_size=n_fft)
    else:
        frames = ops.fft_c2c(x, axes=[-2], normalization=norm, forward=False)
        frames = frames if return_complex else ops.real(frames)
    if window is None:
        window = ops.fill_constant(shape=[n_fft, 1], dtype=like, value=1.0)
    weight = as_complex_type(window) if return_complex else window
    signal = ops.overlap_add(frames * weight, hop_length=hop, axis=-1)
    squares = ops.expand_v2(window * window, shape=[n_fft, count])
    weights = ops.overlap_add(squares, hop_length=hop, axis=-1)
    total = (count - 1) * hop + n_fft
    start = n_fft // 2 if check.flag(center, "istft: center") else 0
    if length is None:
        stop = total - start
    else:
        stop = start + check.integer(length, "istft: length", 1)
    signal, weights = signal[..., start:stop], weights[start:stop]
    if weights.shape[0] == 0 or float(weights.min()) < 1e-11:
        raise InvalidArgumentError(
            "istft: the windows must reach every number of the signal, but their squares add up "
            "to 0 at one. Pass a smaller hop_length, or center=True as to stft"
        )
    signal = signal / (as_complex_type(weights) if return_complex else weights)
    if stop > total:
        signal = ops.pad(signal, paddings=[0, 0] * (signal.ndim - 1) + [0, stop - total])
    return signal


def __getattr__(name):
    hint = "" if name.startswith("__") else did_you_mean(name, __all__)
    raise AttributeError(f"dygraph.signal has no function '{name}'.{hint}")


def __dir__():
    return list(__all__)
