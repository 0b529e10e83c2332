"""Three networks as programs of ours, and what they compute, written once more in NumPy.

A network is a function of no arguments that appends to the default programs and returns (its input,
its result); its values by hand take the input and the weights by name.
"""

import math

import numpy as np

import dygraph
from dygraph import static
from dygraph.static import layers

VOCABULARY, WIDTH, HEADS, LENGTH, INNER = 20, 16, 2, 6, 32


def mlp():
    x = static.data("x", [None, 8], "float32")
    return x, layers.softmax(layers.fc(layers.fc(x, size=16, act="relu"), size=3))


def lenet(rate=0.5):
    x = static.data("x", [None, 1, 14, 14], "float32")
    h = layers.conv2d(x, num_filters=6, filter_size=5, padding=2, act="relu")
    h = layers.pool2d(layers.batch_norm(h), pool_size=2, pool_type="max", pool_stride=2)
    h = layers.conv2d(h, num_filters=8, filter_size=5, act="relu")
    h = layers.dropout(layers.pool2d(h, pool_size=2, pool_type="avg", pool_stride=2), rate)
    return x, layers.softmax(layers.fc(h, size=10))


def _heads(x):
    x = layers.reshape(x, shape=[0, 0, HEADS, WIDTH // HEADS])
    return layers.transpose(x, perm=[0, 2, 1, 3])


def transformer():
    """A block: attention of several heads, then two dense layers, each added to its input."""
    x = static.data("x", [None, LENGTH], "int64")
    h = layers.embedding(layers.unsqueeze(x, axes=[2]), size=[VOCABULARY, WIDTH])
    q, k, v = (_heads(layers.fc(h, size=WIDTH, num_flatten_dims=2)) for _ in range(3))
    scores = layers.matmul(q, k, transpose_y=True, alpha=1 / math.sqrt(WIDTH // HEADS))
    mixed = layers.matmul(layers.softmax(scores), v)
    mixed = layers.reshape(layers.transpose(mixed, perm=[0, 2, 1, 3]), shape=[0, 0, WIDTH])
    mixed = layers.fc(mixed, size=WIDTH, num_flatten_dims=2)
    h = layers.layer_norm(h + mixed, begin_norm_axis=2)
    inner = layers.fc(h, size=INNER, num_flatten_dims=2, act="gelu")
    inner = layers.fc(inner, size=WIDTH, num_flatten_dims=2)
    return x, layers.layer_norm(h + inner, begin_norm_axis=2)


NETWORKS = {"mlp": mlp, "lenet": lenet, "transformer": transformer}


def feed_of(name, rows=3, seed=7):
    rng = np.random.default_rng(seed)
    if name == "transformer":
        return rng.integers(0, VOCABULARY, (rows, LENGTH))
    shape = {"mlp": (rows, 8), "lenet": (rows, 1, 14, 14)}[name]
    return rng.standard_normal(shape).astype("float32")


def label_of(name, rows=3, seed=8):
    classes = {"mlp": 3, "lenet": 10}[name]
    return np.random.default_rng(seed).integers(0, classes, (rows, 1))


def fill(program, scope, seed=3):
    """Give every parameter and running mean numbers that are the same on any machine."""
    rng = np.random.default_rng(seed)
    for variable in sorted(static.io.get_program_persistable_vars(program), key=lambda v: v.name):
        values = rng.integers(-64, 65, variable.shape) / np.float32(128)
        scale = 1 / math.sqrt(np.prod(variable.shape[1:]) if len(variable.shape) > 2 else 2)
        values = (values * np.float32(scale)).astype("float32")
        if variable.name.endswith((".w_2", "variance")) or _is_variance(program, variable.name):
            values = np.abs(values) + np.float32(0.5)
        scope.var(variable.name).set(values)


def _is_variance(program, name):
    return any(
        op.type == "batch_norm" and op.input("Variance") == [name]
        for op in program.global_block().ops
    )


def described(name):
    """(main program, input, result, scope of weights) of a network."""
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    with dygraph.unique_name.guard(), static.program_guard(main, startup):
        x, y = NETWORKS[name]()
    fill(main, scope)
    return main, x, y, scope


def training(name, optimizer):
    """(main program, loss, scope of all its persistable variables) of a network and its update."""
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    with dygraph.unique_name.guard(), static.program_guard(main, startup):
        _, y = lenet(rate=0.0) if name == "lenet" else NETWORKS[name]()
        if name == "transformer":
            loss = layers.mean(layers.square(y - layers.scale(y, 0.0, bias=0.5)))
        else:
            label = static.data("label", [None, 1], "int64")
            loss = layers.mean(layers.cross_entropy(y, label))
        parameters = static.Program.parse_from_string(main.serialize_to_string())
        optimizer().minimize(loss)
    static.Executor().run(startup, scope=scope)
    fill(parameters, scope)
    return main, loss, scope


# By hand ------------------------------------------------------------------------------------------


def _softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _windows(x, size, stride):
    view = np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(2, 3))
    return view[:, :, ::stride, ::stride]


def _conv(x, w, b, padding=0):
    x = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    out = np.einsum("nchwij,fcij->nfhw", _windows(x, w.shape[-1], 1), w)
    return out + b[:, None, None]


def _layer_norm(x, scale, shift):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + shift


def _gelu(x):
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def mlp_by_hand(x, w):
    h = np.maximum(x @ w["fc_0.w_0"] + w["fc_0.b_0"], 0)
    return _softmax(h @ w["fc_1.w_0"] + w["fc_1.b_0"])


def lenet_by_hand(x, w):
    h = np.maximum(_conv(x, w["conv2d_0.w_0"], w["conv2d_0.b_0"], padding=2), 0)
    scale, shift, mean, variance = (
        w[f"batch_norm_0.{part}"][:, None, None] for part in ("w_0", "b_0", "w_1", "w_2")
    )
    h = (h - mean) / np.sqrt(variance + 1e-5) * scale + shift
    h = _windows(h, 2, 2).max((-2, -1))
    h = np.maximum(_conv(h, w["conv2d_1.w_0"], w["conv2d_1.b_0"]), 0)
    h = _windows(h, 2, 2).mean((-2, -1)) * 0.5  # what dropout does at inference, as Fluid's default
    return _softmax(h.reshape(len(h), -1) @ w["fc_0.w_0"] + w["fc_0.b_0"])


def transformer_by_hand(x, w):
    def fc(i, x):
        return x @ w[f"fc_{i}.w_0"] + w[f"fc_{i}.b_0"]

    def heads(x):
        return x.reshape(*x.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)

    h = w["embedding_0.w_0"][x]
    q, k, v = (heads(fc(i, h)) for i in range(3))
    mixed = _softmax(q @ k.swapaxes(-1, -2) / math.sqrt(WIDTH // HEADS)) @ v
    mixed = fc(3, mixed.transpose(0, 2, 1, 3).reshape(h.shape))
    h = _layer_norm(h + mixed, w["layer_norm_0.w_0"], w["layer_norm_0.b_0"])
    inner = fc(5, _gelu(fc(4, h)))
    return _layer_norm(h + inner, w["layer_norm_1.w_0"], w["layer_norm_1.b_0"])


BY_HAND = {"mlp": mlp_by_hand, "lenet": lenet_by_hand, "transformer": transformer_by_hand}


def by_hand(name, x, scope):
    """In float64."""
    weights = {n: scope.get_var(n).get().numpy().astype("f8") for n in scope.local_var_names()}
    return BY_HAND[name](x if name == "transformer" else x.astype("f8"), weights)
