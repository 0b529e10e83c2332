"""The calls that `operators.py` measures: arrays by size, and each operator in both libraries.

`CALLS` has a `Call` for each name. `of` names the operands among `arrays`, those of floating type
want gradients but for the `FIXED`; `ours` and `torch` get their library's module and the operands.
"""

from collections.abc import Callable
from dataclasses import dataclass

# Sides of matrices, and images: what a call costs; what fits a core's own cache; what does not.
SIZES = {
    "small": {
        "n": 8, "square": 8, "batch": (2, 8), "image": (1, 4, 8, 8), "steps": (2, 2, 8),
        "matrices": (64, 8, 8),
    },
    "medium": {
        "n": 256, "square": 128, "batch": (4, 64), "image": (2, 32, 32, 32), "steps": (8, 8, 64),
        "matrices": (256, 256),
    },
    "large": {
        "n": 2048, "square": 1024, "batch": (32, 256), "image": (16, 64, 64, 64),
        "steps": (32, 64, 256), "matrices": (512, 512),
    },
}  # fmt: skip


FIXED = {"share", "mean", "variance"}  # operands that never want gradients


@dataclass
class Call:
    of: str
    ours: Callable
    torch: Callable
    backward: bool = True


def arrays(size):
    """The operands by name, made alike on both sides."""
    import numpy as np

    random = np.random.default_rng(0)
    sizes = SIZES[size]
    n, square, image = sizes["n"], sizes["square"], sizes["image"]
    channels, (count, side) = image[1], sizes["batch"]
    steps, sequences, width = sizes["steps"]

    def normal(*shape):
        return random.standard_normal(shape, np.float32)

    x = normal(n, n)
    return {
        "x": x,
        "y": normal(n, n),
        "row": normal(n),
        "positive": np.abs(x) + np.float32(0.1),
        "share": np.abs(np.tanh(x)).clip(0.01, 0.99),
        "inside": np.tanh(x).clip(-0.99, 0.99),
        "part": np.abs(np.tanh(x)).clip(0.01, 0.99),
        "double": normal(n, n).astype("float64"),
        "whole": random.integers(-1000, 1000, (n, n)),
        "mask": normal(n, n) > 0,
        "ids": random.integers(0, n, n),
        "column": random.integers(0, n, (n, 1)),
        "places": random.integers(0, n, (n, n)),
        "a": normal(square, square),
        "b": normal(square, square),
        "batch_a": normal(count, side, side),
        "batch_b": normal(count, side, side),
        "image": normal(*image),
        "channels": normal(channels),
        "scale": np.abs(normal(channels)) + 1,
        "mean": normal(channels),
        "variance": np.abs(normal(channels)) + 1,
        "filter3": normal(channels, channels, 3, 3),
        "filter1": normal(channels, channels, 1, 1),
        "filter_depth": normal(channels, 1, 3, 3),
        "sequence": normal(steps, sequences, width),
        "state": normal(1, sequences, width),
        "cell": normal(1, sequences, width),
        "lstm_in": normal(4 * width, width) * np.float32(width**-0.5),
        "lstm_hidden": normal(4 * width, width) * np.float32(width**-0.5),
        "lstm_bias": normal(4 * width),
        "gru_in": normal(3 * width, width) * np.float32(width**-0.5),
        "gru_hidden": normal(3 * width, width) * np.float32(width**-0.5),
        "gru_bias": normal(3 * width),
        **matrices(normal(*sizes["matrices"])),
    }


def matrices(x):
    """Regular ones, symmetric positive definite ones, right-hand sides."""
    import numpy as np

    n = x.shape[-1]
    definite = x @ x.swapaxes(-1, -2) / n + np.eye(n, dtype=x.dtype)
    return {"matrices": x + 4 * np.eye(n, dtype=x.dtype), "definite": definite, "sides": x[..., :4]}


def unary(name, of="x", torch=None):
    """The functional of this name on both sides, or another of torch's."""
    return Call(
        of,
        lambda d, x: getattr(d.ops, name)(x),
        torch or (lambda t, x: getattr(t, name)(x)),
    )


def ours_lstm(d, x, h, c, w_in, w_hidden, bias):
    return d.ops.rnn(
        x, [h, c], [w_in, w_hidden, bias, bias], mode="LSTM", input_size=x.shape[2],
        hidden_size=h.shape[2],
    )  # fmt: skip


def torchs_lstm(t, x, h, c, w_in, w_hidden, bias):
    parameters = [w_in, w_hidden, bias, bias]
    return t.lstm(x, (h, c), parameters, True, 1, 0.0, True, False, False)


def ours_gru(d, x, h, w_in, w_hidden, bias):
    return d.ops.rnn(
        x, [h], [w_in, w_hidden, bias, bias], mode="GRU", input_size=x.shape[2],
        hidden_size=h.shape[2],
    )  # fmt: skip


def torchs_gru(t, x, h, w_in, w_hidden, bias):
    return t.gru(x, h, [w_in, w_hidden, bias, bias], True, 1, 0.0, True, False, False)


def ours_pool(d, x, **attributes):
    return d.ops.pool2d(x, ksize=[2, 2], strides=[2, 2], **attributes)


def functional(name, *arguments):
    """The function of this name of `nn.functional` on both sides, of images."""

    def call(library, x):
        return getattr(library.nn.functional, name)(x, *arguments)

    return Call("image", call, call)


def resized(of, mode):
    def call(library, x):
        return library.nn.functional.interpolate(x, scale_factor=2.0, mode=mode)

    return Call(of, call, call)


def fold(library, x):
    """Columns of windows of 2 x 2 added into images that are larger by one."""
    batch, channels, height, width = x.shape
    columns = x.reshape(batch, channels, height * width)
    return library.nn.functional.fold(columns, (height + 1, width + 1), 2)


def there_and_back(library, x, **returns):
    most, where = library.nn.functional.max_pool3d(x, (1, 2, 2), **returns)
    return library.nn.functional.max_unpool3d(most, where, (1, 2, 2))


def there_and_back_by_fft(library, x):
    return library.fft.irfft(library.fft.rfft(x), x.shape[-1])


def of_linalg(name, of, pick):
    """The function of this name on both sides; `pick`: which of its results."""
    options = {"svd": {"full_matrices": False}, "lstsq": {"driver": "gelsd"}}.get(name, {})

    def call(library, *operands):
        found = getattr(library.linalg, name)(*operands, **options)
        if pick == "diagonal":  # of R, without the signs
            return library.linalg.diagonal(found[1]) ** 2
        return found if pick is None else found[pick]

    return Call(of, call, call)


CALLS = {
    # Two operands
    "x + y": Call("x y", lambda d, x, y: x + y, lambda t, x, y: x + y),
    "x + row": Call("x row", lambda d, x, y: x + y, lambda t, x, y: x + y),
    "image + channels": Call(
        "image channels",
        lambda d, x, c: d.ops.elementwise_add(x, c, axis=1),
        lambda t, x, c: x + c[:, None, None],
    ),
    "x - y": Call("x y", lambda d, x, y: x - y, lambda t, x, y: x - y),
    "x * y": Call("x y", lambda d, x, y: x * y, lambda t, x, y: x * y),
    "x * 2": Call("x", lambda d, x: x * 2.0, lambda t, x: x * 2.0),
    "x / y": Call("x positive", lambda d, x, y: x / y, lambda t, x, y: x / y),
    "x ** 3": Call("x", lambda d, x: x**3.0, lambda t, x: x**3.0),
    "maximum": Call(
        "x y", lambda d, x, y: d.ops.elementwise_max(x, y), lambda t, x, y: t.maximum(x, y)
    ),
    "fmax": Call("x y", lambda d, x, y: d.fmax(x, y), lambda t, x, y: t.fmax(x, y)),
    "fmin": Call("x y", lambda d, x, y: d.fmin(x, y), lambda t, x, y: t.fmin(x, y)),
    "atan2": Call("x y", lambda d, x, y: d.atan2(x, y), lambda t, x, y: t.atan2(x, y)),
    "lerp": Call("x y", lambda d, x, y: x.lerp(y, 0.3), lambda t, x, y: x.lerp(y, 0.3)),
    "heaviside": Call(
        "x y", lambda d, x, y: d.heaviside(x, y), lambda t, x, y: t.heaviside(x, y), backward=False
    ),
    "isclose": Call(
        "x y", lambda d, x, y: d.isclose(x, y), lambda t, x, y: t.isclose(x, y), backward=False
    ),
    "x > y": Call("x y", lambda d, x, y: x > y, lambda t, x, y: x > y, backward=False),
    "where": Call(
        "mask x y",
        lambda d, m, x, y: d.ops.where(m, x, y),
        lambda t, m, x, y: t.where(m, x, y),
    ),
    # One operand
    "exp": unary("exp"),
    "log": unary("log", "positive"),
    "sqrt": unary("sqrt", "positive"),
    "rsqrt": unary("rsqrt", "positive"),
    "abs": unary("abs"),
    "square": unary("square"),
    "tanh": unary("tanh"),
    "sigmoid": unary("sigmoid"),
    "relu": unary("relu"),
    "leaky relu": Call(
        "x",
        lambda d, x: d.ops.leaky_relu(x, alpha=0.01),
        lambda t, x: t.nn.functional.leaky_relu(x),
    ),
    "gelu": unary("gelu", torch=lambda t, x: t.nn.functional.gelu(x)),
    "silu": unary("silu", torch=lambda t, x: t.nn.functional.silu(x)),
    "softplus": unary("softplus", torch=lambda t, x: t.nn.functional.softplus(x)),
    "erf": unary("erf"),
    "trunc": unary("trunc"),
    "asinh": unary("asinh"),
    "acosh": Call("positive", lambda d, x: d.acosh(x + 1.0), lambda t, x: t.acosh(x + 1.0)),
    "atanh": unary("atanh", "inside"),
    "logit": Call("part", lambda d, x: d.special.logit(x), lambda t, x: t.logit(x)),
    "erfc": unary("erfc"),
    "erfinv": unary("erfinv", "inside"),
    "lgamma": unary("lgamma"),
    "digamma": unary("digamma", "positive"),
    "trigamma": Call(
        "positive", lambda d, x: d.ops.polygamma(x, n=1), lambda t, x: t.polygamma(1, x)
    ),
    **{name: unary(name, torch=lambda t, x, name=name: getattr(t.special, name)(x))
       for name in ("i0", "i0e", "i1", "i1e")},
    "celu": unary("celu", torch=lambda t, x: t.nn.functional.celu(x)),
    "rrelu": Call(
        "x",
        lambda d, x: d.nn.functional.rrelu(x, training=False),
        lambda t, x: t.nn.functional.rrelu(x),
    ),
    "clip": Call(
        "x",
        lambda d, x: d.ops.clip(x, min=-1.0, max=1.0),
        lambda t, x: t.clamp(x, -1.0, 1.0),
    ),
    # in steps of 1/8, so that no number of either side lies at another's edge
    "fake quantize": Call(
        "x",
        lambda d, x: d.ops.fake_quantize_dequantize_moving_average_abs_max(
            x, d.full([1], 15.875), is_test=True, round_type=0
        )[0],
        lambda t, x: t.fake_quantize_per_tensor_affine(x, 0.125, 0, -127, 127),
    ),
    "fake quantize, channels": Call(
        "x",
        lambda d, x: d.ops.fake_channel_wise_quantize_dequantize_abs_max(
            x, round_type=0, quant_axis=0
        )[0],
        lambda t, x: t.fake_quantize_per_channel_affine(
            x, x.detach().abs().amax(1) / 127, t.zeros(x.shape[0], dtype=t.int32), 0, -127, 127
        ),
    ),
    "quantize": Call(
        "x",
        lambda d, x: d.ops.quantize(x.detach(), Scale=8.0, is_negative_input=True),
        lambda t, x: t.quantize_per_tensor(x.detach(), 0.125, 0, t.qint8).int_repr(),
        backward=False,
    ),
    "cast to double": Call("x", lambda d, x: x.astype("float64"), lambda t, x: x.double()),
    "dropout": Call(
        "x",
        lambda d, x: d.ops.dropout(
            x, dropout_prob=0.5, dropout_implementation="upscale_in_train"
        ),
        lambda t, x: t.nn.functional.dropout(x, 0.5),
    ),
    # Over axes
    "sum": Call("x", lambda d, x: x.sum(), lambda t, x: x.sum()),
    "sum of axis 0": Call("x", lambda d, x: x.sum(0), lambda t, x: x.sum(0)),
    "sum of axis 1": Call("x", lambda d, x: x.sum(1), lambda t, x: x.sum(1)),
    "sum, double": Call("double", lambda d, x: x.sum(), lambda t, x: x.sum()),
    "sum, int64": Call("whole", lambda d, x: x.sum(), lambda t, x: x.sum(), backward=False),
    "mean": Call("x", lambda d, x: x.mean(), lambda t, x: x.mean()),
    "mean of axis 1": Call("x", lambda d, x: x.mean(1), lambda t, x: x.mean(1)),
    "max": Call("x", lambda d, x: x.max(), lambda t, x: x.max()),
    "max of axis 1": Call("x", lambda d, x: x.max(axis=1), lambda t, x: x.amax(1)),
    "argmax of axis 1": Call(
        "x", lambda d, x: d.ops.arg_max(x, axis=1), lambda t, x: x.argmax(1), backward=False
    ),
    "norm": Call(
        "x",
        lambda d, x: d.ops.frobenius_norm(x, reduce_all=True),
        lambda t, x: t.linalg.vector_norm(x),
    ),
    "cumsum of axis 1": Call("x", lambda d, x: d.ops.cumsum(x, 1), lambda t, x: x.cumsum(1)),
    "cumprod of axis 1": Call("x", lambda d, x: d.cumprod(x, 1), lambda t, x: x.cumprod(1)),
    "send_u_recv": Call(
        "x ids column", lambda d, x, src, dst: d.geometric.send_u_recv(x, src, dst[:, 0]),
        lambda t, x, src, dst: t.zeros_like(x).index_add(0, dst[:, 0], x[src]),
    ),
    "send_u_recv, the greatest": Call(
        "x ids column",
        lambda d, x, src, dst: d.geometric.send_u_recv(x, src, dst[:, 0], "max"),
        lambda t, x, src, dst: t.zeros_like(x).index_reduce(
            0, dst[:, 0], x[src], "amax", include_self=False
        ),
    ),
    "segment sums": Call(
        "x ids", lambda d, x, ids: d.geometric.segment_sum(x, ids, num_segments=x.shape[0]),
        lambda t, x, ids: t.zeros_like(x).index_add(0, ids, x),
    ),
    "kthvalue of axis 1": Call(
        "x", lambda d, x: d.kthvalue(x, x.shape[1] // 2)[0],
        lambda t, x: t.kthvalue(x, x.shape[1] // 2)[0],
    ),
    "mode of axis 1": Call(
        "whole", lambda d, x: d.mode(x)[0], lambda t, x: t.mode(x)[0], backward=False
    ),
    "median": Call("x", lambda d, x: d.median(x, mode="min"), lambda t, x: t.median(x)),
    "nanmedian": Call("x", lambda d, x: d.nanmedian(x, mode="min"), lambda t, x: t.nanmedian(x)),
    "searchsorted": Call(
        "row x", lambda d, row, x: d.searchsorted(d.sort(row), x),
        lambda t, row, x: t.searchsorted(row.sort()[0], x), backward=False,
    ),
    "bincount": Call(
        "ids", lambda d, x: d.bincount(x), lambda t, x: t.bincount(x), backward=False
    ),
    "histc": Call(
        "x", lambda d, x: d.histc(x, 50, -3, 3), lambda t, x: t.histc(x, 50, -3, 3), backward=False
    ),
    "unique_consecutive": Call(
        "whole", lambda d, x: d.unique_consecutive(x), lambda t, x: t.unique_consecutive(x),
        backward=False,
    ),
    "diagonal": Call(
        "x", lambda d, x: d.diagonal(x, 1), lambda t, x: t.diagonal(x, 1).contiguous()
    ),
    "repeat_interleave": Call(
        "x", lambda d, x: d.repeat_interleave(x, 2, 1), lambda t, x: t.repeat_interleave(x, 2, 1)
    ),
    "repeat_interleave of axis 0": Call(
        "x", lambda d, x: d.repeat_interleave(x, 3, 0), lambda t, x: t.repeat_interleave(x, 3, 0)
    ),
    "index_add": Call(
        "x ids y", lambda d, x, ids, y: d.index_add(x, 0, ids, y),
        lambda t, x, ids, y: t.index_add(x, 0, ids, y),
    ),
    "index_add of axis 1": Call(
        "x ids y", lambda d, x, ids, y: d.index_add(x, 1, ids, y),
        lambda t, x, ids, y: t.index_add(x, 1, ids, y),
    ),
    "cummax of axis 1": Call("x", lambda d, x: d.ops.cummax(x, 1)[0], lambda t, x: x.cummax(1)[0]),
    "cummin of axis 0": Call("x", lambda d, x: d.ops.cummin(x, 0)[0], lambda t, x: x.cummin(0)[0]),
    "logcumsumexp of axis 1": Call(
        "x", lambda d, x: d.ops.logcumsumexp(x, axis=1), lambda t, x: x.logcumsumexp(1)
    ),
    "logsumexp of axis 1": Call(
        "x", lambda d, x: d.ops.logsumexp(x, axis=[1]), lambda t, x: x.logsumexp(1)
    ),
    "softmax": Call("x", lambda d, x: d.ops.softmax(x), lambda t, x: t.softmax(x, 1)),
    "log softmax": Call(
        "x", lambda d, x: d.ops.log_softmax(x), lambda t, x: t.log_softmax(x, 1)
    ),
    "argsort of axis 1": Call(
        "x",
        lambda d, x: d.ops.argsort(x, 1),
        lambda t, x: x.sort(dim=1, stable=True)[1],
        backward=False,
    ),
    "top 4 of axis 1": Call("x", lambda d, x: d.ops.topk(x, 4), lambda t, x: x.topk(4)),
    # Products
    "a @ b": Call("a b", lambda d, x, y: x @ y, lambda t, x, y: x @ y),
    "a @ b transposed": Call(
        "a b",
        lambda d, x, y: d.ops.matmul_v2(x, y, trans_y=True),
        lambda t, x, y: x @ y.t(),
    ),
    "batch of products": Call(
        "batch_a batch_b", lambda d, x, y: d.ops.bmm(x, y), lambda t, x, y: t.bmm(x, y)
    ),
    # Places
    "reshape": Call("x", lambda d, x: x.reshape([-1]), lambda t, x: x.reshape(-1)),
    "transpose": Call("x", lambda d, x: x.transpose([1, 0]), lambda t, x: x.t().contiguous()),
    "heads to the front": Call(
        "image",
        lambda d, x: x.transpose([0, 2, 1, 3]),
        lambda t, x: x.transpose(1, 2).contiguous(),
    ),
    "concat": Call(
        "x y", lambda d, x, y: d.ops.concat([x, y], 1), lambda t, x, y: t.cat([x, y], 1)
    ),
    "stack": Call(
        "x y", lambda d, x, y: d.ops.stack([x, y]), lambda t, x, y: t.stack([x, y])
    ),
    "split": Call(
        "x",
        lambda d, x: d.ops.split(x, num=2, axis=1),
        lambda t, x: [part.contiguous() for part in x.chunk(2, 1)],
    ),
    "slice": Call("x", lambda d, x: x[:, 1:-1], lambda t, x: x[:, 1:-1].contiguous()),
    "every second column": Call("x", lambda d, x: x[:, ::2], lambda t, x: x[:, ::2].contiguous()),
    "expand": Call(
        "row",
        lambda d, x: d.ops.expand_v2(x, shape=[x.shape[0], x.shape[0]]),
        lambda t, x: x.expand(len(x), len(x)).contiguous(),
    ),
    "pad": Call(
        "image",
        lambda d, x: d.ops.pad2d(x, paddings=[1, 1, 1, 1]),
        lambda t, x: t.nn.functional.pad(x, (1, 1, 1, 1)),
    ),
    "rows by number": Call(
        "x ids", lambda d, x, i: d.ops.gather(x, i), lambda t, x, i: x.index_select(0, i)
    ),
    "elements by number": Call(
        "x places",
        lambda d, x, i: d.ops.index_sample(x, i),
        lambda t, x, i: x.gather(1, i),
    ),
    "embedding": Call(
        "x ids",
        lambda d, w, i: d.ops.lookup_table_v2(w, i),
        lambda t, w, i: t.nn.functional.embedding(i, w),
    ),
    "one hot": Call(
        "ids",
        lambda d, i: d.ops.one_hot_v2(i, depth=i.shape[0]),
        lambda t, i: t.nn.functional.one_hot(i, len(i)),
        backward=False,
    ),
    # Losses
    "softmax with cross entropy": Call(
        "x column",
        lambda d, x, label: d.ops.softmax_with_cross_entropy(x, label),
        lambda t, x, label: t.nn.functional.cross_entropy(x, label[:, 0], reduction="none"),
    ),
    "sigmoid with cross entropy": Call(
        "x share",
        lambda d, x, y: d.ops.sigmoid_cross_entropy_with_logits(x, y),
        lambda t, x, y: t.nn.functional.binary_cross_entropy_with_logits(
            x, y, reduction="none"
        ),
    ),
    "mean squared error": Call(
        "x y",
        lambda d, x, y: d.ops.mse_loss(x, y),
        lambda t, x, y: t.nn.functional.mse_loss(x, y),
    ),
    # Layers
    "layer norm": Call(
        "x row",
        lambda d, x, w: d.ops.layer_norm(x, scale=w, bias=w),
        lambda t, x, w: t.nn.functional.layer_norm(x, [len(w)], w, w),
    ),
    "batch norm": Call(
        "image scale channels mean variance",
        lambda d, x, w, b, mean, var: d.ops.batch_norm(x, w, b, mean, var)[0],
        lambda t, x, w, b, mean, var: t.nn.functional.batch_norm(x, mean, var, w, b, True),
    ),
    "group norm": Call(
        "image scale channels",
        lambda d, x, w, b: d.ops.group_norm(x, groups=4, scale=w, bias=b),
        lambda t, x, w, b: t.nn.functional.group_norm(x, 4, w, b),
    ),
    "convolution 3x3": Call(
        "image filter3",
        lambda d, x, w: d.ops.conv2d(x, w, paddings=[1, 1]),
        lambda t, x, w: t.nn.functional.conv2d(x, w, padding=1),
    ),
    "convolution 1x1": Call(
        "image filter1",
        lambda d, x, w: d.ops.conv2d(x, w),
        lambda t, x, w: t.nn.functional.conv2d(x, w),
    ),
    "depthwise convolution": Call(
        "image filter_depth",
        lambda d, x, w: d.ops.depthwise_conv2d(
            x, w, paddings=[1, 1], groups=x.shape[1]
        ),
        lambda t, x, w: t.nn.functional.conv2d(x, w, padding=1, groups=x.shape[1]),
    ),
    "transposed convolution": Call(
        "image filter3",
        lambda d, x, w: d.ops.conv2d_transpose(x, w, strides=[2, 2]),
        lambda t, x, w: t.nn.functional.conv_transpose2d(x, w, stride=2),
    ),
    "max pool 2x2": Call(
        "image",
        lambda d, x: ours_pool(d, x, pooling_type="max"),
        lambda t, x: t.nn.functional.max_pool2d(x, 2),
    ),
    "average pool 2x2": Call(
        "image",
        lambda d, x: ours_pool(d, x, pooling_type="avg"),
        lambda t, x: t.nn.functional.avg_pool2d(x, 2),
    ),
    "mean of pixels": Call("image", lambda d, x: x.mean([2, 3]), lambda t, x: x.mean((2, 3))),
    "resize twofold": Call(
        "image",
        lambda d, x: d.ops.interpolate(x, scale_factor=2.0, mode="bilinear"),
        lambda t, x: t.nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear"),
    ),
    "resize twofold, cubic": resized("image", "bicubic"),
    "resize twofold, nearest": resized("image", "nearest"),
    "resize twofold, line": resized("sequence", "linear"),
    "fold": Call("image", fold, fold),
    "pixel unshuffle": functional("pixel_unshuffle", 2),
    "channel shuffle": functional("channel_shuffle", 2),
    "pad volumes": Call(
        "image",
        lambda d, x: d.ops.pad3d(d.unsqueeze(x, 2), paddings=[1] * 6, mode="replicate"),
        lambda t, x: t.nn.functional.pad(t.unsqueeze(x, 2), [1] * 6, mode="replicate"),
    ),
    "max pool and back, volumes": Call(
        "image",
        lambda d, x: there_and_back(d, d.unsqueeze(x, 2), return_mask=True),
        lambda t, x: there_and_back(t, t.unsqueeze(x, 2), return_indices=True),
    ),
    # Matrices: of vectors whose sign is free, the values alone are compared
    **{f"linalg.{name}": of_linalg(name, of, pick) for name, of, pick in (
        ("solve", "matrices sides", None), ("inv", "matrices", None), ("slogdet", "matrices", 1),
        ("cholesky", "definite", None), ("qr", "matrices", "diagonal"), ("svd", "matrices", 1),
        ("eigh", "definite", 0), ("lstsq", "matrices sides", 0),
    )},
    "fft.fft, abs": Call("x", lambda d, x: abs(d.fft.fft(x)), lambda t, x: abs(t.fft.fft(x))),
    "fft.rfft, irfft": Call("x", there_and_back_by_fft, there_and_back_by_fft),
    "fft.fft, columns": Call(
        "x", lambda d, x: d.fft.fft(x, dim=0).real, lambda t, x: t.fft.fft(x, dim=0).real
    ),
    "stft, abs": Call(
        "x", lambda d, x: abs(d.signal.stft(x, 8, 4)),
        lambda t, x: abs(t.stft(x, 8, 4, window=t.ones(8), return_complex=True)),
    ),
    "lstm": Call("sequence state cell lstm_in lstm_hidden lstm_bias", ours_lstm, torchs_lstm),
    "gru": Call("sequence state gru_in gru_hidden gru_bias", ours_gru, torchs_gru),
}  # fmt: skip
