"""Recurrent networks as LSTM, GRU and RNN of ONNX; what these lack as Scan."""

import numpy as np

from dygraph.onnx.export_graph import Block, Call, operator, type_of
from dygraph.onnx.export_sequence import padded, unpadded
from dygraph.onnx.package import helper

_ACTIVATIONS = {"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu", "identity": "Affine"}


def blocks(c, value, order, size, axis):
    """The blocks of `size` along an axis in another order."""
    parts = [c.slice(value, [i * size], [(i + 1) * size], [axis]) for i in order]
    return c.Concat(*parts, axis=axis) if len(parts) > 1 else parts[0]


def activations(c, names):
    """ONNX's attributes for these activations; identity is Affine with alpha 1 and beta 0."""
    found = [_ACTIVATIONS[n] for n in names]
    if "Affine" not in found:
        return {"activations": found}
    count = found.count("Affine")
    return {"activations": found, "activation_alpha": [1.0] * count,
            "activation_beta": [0.0] * count}  # fmt: skip


# The stacked network ------------------------------------------------------------------------------

# Gates of ours in ONNX's order: i, o, f, c from i, f, g, o; z, r, h from r, z, m.
_ORDER = {"LSTM": [0, 3, 1, 2], "GRU": [1, 0, 2], "RNN_TANH": [0], "RNN_RELU": [0]}


@operator("rnn")
def _rnn(c):
    mode, hidden = c.attr("mode"), c.attr("hidden_size")
    layers, directions = c.attr("num_layers"), 2 if c.attr("is_bidirec") else 1
    drops = c.attr("dropout_prob") and not c.attr("is_test") and layers > 1
    c.require(not drops, "it draws random numbers while training")
    ragged = c.is_ragged("Input") and c.rank("Input") == 2
    if ragged:
        lengths = c.lengths("Input")
        x = c.Transpose(padded(c, c["Input"], lengths), perm=[1, 0, 2])
    else:
        c.require(c.rank("Input") == 3, "Input must be [time, batch, width] or have LoD")
        x = c["Input"]
        lengths = None
        if c.has("SequenceLength"):
            lengths = c.Reshape(c.cast(c["SequenceLength"], "int64"), np.array([-1]))
    counts = c.cast(lengths, "int32") if lengths else None
    states, weights = c.list("PreState"), c.list("WeightList")
    cells = layers * directions
    ends = [[] for _ in states]
    for layer in range(layers):
        own = range(layer * directions, (layer + 1) * directions)

        def stacked(numbers, axis=0):
            parts = [
                c.Unsqueeze(blocks(c, weights[i], _ORDER[mode], hidden, 0), axes=[0])
                for i in numbers
            ]
            return c.Concat(*parts, axis=axis) if len(parts) > 1 else parts[0]

        w, r = stacked(2 * i for i in own), stacked(2 * i + 1 for i in own)
        biases = [stacked(2 * cells + 2 * i + k for i in own) for k in (0, 1)]
        b = c.Concat(*biases, axis=1)
        first = [c.slice(s, [layer * directions], [(layer + 1) * directions], [0]) for s in states]
        attributes = {"hidden_size": hidden,
                      "direction": "bidirectional" if directions == 2 else "forward"}  # fmt: skip
        if mode == "LSTM":
            y, *last = c.LSTM(x, w, r, b, counts, *first, outputs=3, **attributes)
        elif mode == "GRU":
            y, *last = c.GRU(
                x, w, r, b, counts, *first, outputs=2, linear_before_reset=1, **attributes
            )
        else:
            name = "Tanh" if mode == "RNN_TANH" else "Relu"
            y, *last = c.RNN(
                x, w, r, b, counts, *first, outputs=2, activations=[name] * directions,
                **attributes,
            )  # fmt: skip
        for end, value, start in zip(ends, last, first, strict=True):
            if counts:  # a sequence without rows keeps its first state
                none = c.Reshape(c.Equal(counts, c.scalar(0, "int32")), np.array([1, -1, 1]))
                value = c.Where(none, start, value)
            end.append(value)
        y = c.Transpose(y, perm=[0, 2, 1, 3])
        x = c.Reshape(y, np.array([0, 0, directions * hidden]))
    state = [c.Concat(*e, axis=0) if layers > 1 else e[0] for e in ends]
    if ragged:
        out = unpadded(c, c.Transpose(x, perm=[1, 0, 2]), lengths), lengths
    else:
        out = x, None
    return {"Out": out, "State": [(s, None) for s in state]}


# Fluid's dynamic_lstm and dynamic_gru -------------------------------------------------------------


def time_major(c, rows, lengths):
    """[longest, sequences, width], and the lengths as int32."""
    grid = c.Transpose(padded(c, rows, lengths, rank=2), perm=[1, 0, 2])
    return grid, c.cast(lengths, "int32")


def rows_of(c, y, lengths):
    """The rows of [longest, 1, sequences, width]."""
    return unpadded(c, c.Transpose(c.Squeeze(y, axes=[1]), perm=[1, 0, 2]), lengths)


def _starts(c, lengths, size):
    """H0 and C0, or None where they are absent."""
    return [c.Unsqueeze(c[s], axes=[0]) if c.has(s) else None for s in ("H0", "C0")]


@operator("lstm", "fusion_lstm")
def _lstm(c):
    fused = c.op.type == "fusion_lstm"
    slot = "X" if fused else "Input"
    lengths = c.lengths(slot)
    r = c["WeightH" if fused else "Weight"]
    size = c.dims("WeightH" if fused else "Weight")[0]
    c.require(size > 0, "the width of the weight is open")
    if fused:
        w = blocks(c, c.Transpose(c["WeightX"], perm=[1, 0]), [1, 3, 2, 0], size, 0)
    else:
        w = c.value(np.eye(4 * size, dtype=c.dtype)[_rows([1, 3, 2, 0], size)])
    r = blocks(c, c.Transpose(r, perm=[1, 0]), [1, 3, 2, 0], size, 0)  # c, i, f, o as i, o, f, c
    flat = c.Reshape(c["Bias"], np.array([-1]))
    bias = blocks(c, flat, [1, 3, 2, 0], size, 0)
    bias = c.Concat(bias, np.zeros(4 * size, c.dtype), axis=0)
    peepholes = None
    if c.attr("use_peepholes"):
        peepholes = c.Unsqueeze(blocks(c, flat, [4, 6, 5], size, 0), axes=[0])
    x, counts = time_major(c, c[slot], lengths)
    h0, c0 = _starts(c, lengths, size)
    kinds = [c.attr(n) for n in ("gate_activation", "candidate_activation", "cell_activation")]
    y = c.LSTM(
        x, *(c.Unsqueeze(v, axes=[0]) for v in (w, r, bias)), counts, h0, c0, peepholes, outputs=3,
        hidden_size=size, direction="reverse" if c.attr("is_reverse") else "forward",
        **activations(c, kinds),
    )[0]  # fmt: skip
    # LSTM gives the last cell only; where all are read they come from a Scan.
    projected = c.MatMul(c["X"], c["WeightX"]) if fused else c["Input"]
    _, cells = _lstm_scan(c, projected, lengths, size, c["WeightH" if fused else "Weight"], flat)
    return {"Hidden": (rows_of(c, y, lengths), lengths), "Cell": (cells, lengths)}


def _rows(order, size):
    return np.concatenate([np.arange(i * size, (i + 1) * size) for i in order])


def scan(c, states, inputs, body, reverse=False):
    """A Scan over axis 0 of `inputs`; body(call, states, elements) gives (states, outputs).

    Returns the outputs of all steps.
    """
    block = Block(c.model, c.block.program, c.block)
    inner = Call(block, c.op)
    before = [c.model.name("state") for _ in states]
    elements = [c.model.name("step") for _ in inputs]
    after, outputs = body(inner, before, elements)
    after, outputs = ([inner.copy(v) for v in values] for values in (after, outputs))
    kind = type_of(c.dtype)

    def infos(names, kinds=None):
        kinds = kinds or [kind] * len(names)
        return [
            helper.make_tensor_value_info(n, k, None) for n, k in zip(names, kinds, strict=True)
        ]

    kinds = [kind] * (len(states) + len(inputs) - 1) + [type_of("bool")]
    graph = block.graph("step", infos([*before, *elements], kinds), infos([*after, *outputs]))
    count = len(after) + len(outputs)
    made = c.node(
        "Scan", *states, *inputs, outputs=count, body=graph, num_scan_inputs=len(inputs),
        scan_input_directions=[int(reverse)] * len(inputs),
        scan_output_directions=[int(reverse)] * len(outputs),
    )  # fmt: skip
    return (made if count > 1 else [made])[len(after) :]


def masked_scan(c, rows, lengths, states, step, reverse):
    """`step(call, states, x)` along each sequence: the rows of all its outputs, states included.

    The states of a sequence stay as they are where it has no row.
    """
    from dygraph.onnx.export_sequence import seen

    grid = c.Transpose(padded(c, rows, lengths, rank=2), perm=[1, 0, 2])
    there = c.Unsqueeze(c.Transpose(seen(c, lengths), perm=[1, 0]), axes=[2])

    def body(inner, before, elements):
        x, real = elements
        after = step(inner, before, x)
        after = [inner.Where(real, a, b) for a, b in zip(after, before, strict=True)]
        return after, after

    made = scan(c, states, [grid, there], body, reverse)
    return [unpadded(c, c.Transpose(v, perm=[1, 0, 2]), lengths) for v in made]


def zeros(c, lengths, size):
    return c.full([c.Shape(lengths), size], 0.0, c.dtype)


def act(c, value, name):
    return value if name == "identity" else c.node(_ACTIVATIONS[name], value)


def _lstm_step(c, x, h, cell, weight, flat, size, peepholes, clip=0.0):
    """(hidden state before its projection, cell) of one step; gates are c, i, f, o."""
    gate, candidate, kind = (
        c.attr(n) for n in ("gate_activation", "candidate_activation", "cell_activation")
    )
    bias = c.slice(flat, [0], [4 * size], [0])
    sums = c.Add(c.Add(x, c.MatMul(h, weight)), bias)
    part = lambda v, i, a: c.slice(v, [i * size], [(i + 1) * size], [a])  # noqa: E731
    g, i, f, o = (part(sums, k, 1) for k in range(4))
    if peepholes:
        i = c.Add(i, c.Mul(cell, part(flat, 4, 0)))
        f = c.Add(f, c.Mul(cell, part(flat, 5, 0)))
    new = c.Add(c.Mul(act(c, f, gate), cell), c.Mul(act(c, i, gate), act(c, g, candidate)))
    if clip > 0:
        new = c.Min(c.Max(new, -clip), clip)
    if peepholes:
        o = c.Add(o, c.Mul(new, part(flat, 6, 0)))
    return c.Mul(act(c, o, gate), act(c, new, kind)), new


def _lstm_scan(c, rows, lengths, size, weight, flat):
    states = [c[s] if c.has(s) else zeros(c, lengths, size) for s in ("H0", "C0")]

    def step(inner, before, x):
        h, cell = before
        return _lstm_step(inner, x, h, cell, weight, flat, size, c.attr("use_peepholes"))

    return masked_scan(c, rows, lengths, states, step, c.attr("is_reverse"))


@operator("lstmp")
def _lstmp(c):
    lengths, (size, narrow) = c.lengths("Input"), c.fixed("ProjWeight")
    flat = c.Reshape(c["Bias"], np.array([-1]))
    first = [c[s] if c.has(s) else zeros(c, lengths, n) for s, n in (("H0", narrow), ("C0", size))]
    clip = c.attr("proj_clip")

    def step(inner, before, x):
        r, cell = before
        hidden, new = _lstm_step(
            inner, x, r, cell, c["Weight"], flat, size, c.attr("use_peepholes"),
            c.attr("cell_clip"),
        )  # fmt: skip
        out = act(inner, inner.MatMul(hidden, c["ProjWeight"]), c.attr("proj_activation"))
        if clip > 0:
            out = inner.Min(inner.Max(out, -clip), clip)
        return out, new

    made = masked_scan(c, c["Input"], lengths, first, step, c.attr("is_reverse"))
    return {"Projection": (made[0], lengths), "Cell": (made[1], lengths)}


def _gru_weights(c, weight, size):
    """(to u and r [D, 2 D], to m [D, D]) of the numbers as Fluid lays them."""
    flat = c.Reshape(weight, np.array([-1]))
    gates = c.Reshape(c.slice(flat, [0], [2 * size * size], [0]), np.array([size, 2 * size]))
    rest = c.Reshape(c.slice(flat, [2 * size * size], [3 * size * size], [0]),
                     np.array([size, size]))  # fmt: skip
    return gates, rest


@operator("gru", "fusion_gru")
def _gru(c):
    fused = c.op.type == "fusion_gru"
    slot = "X" if fused else "Input"
    weight = "WeightH" if fused else "Weight"
    lengths, size = c.lengths(slot), c.dims(weight)[0]
    c.require(size > 0, "the width of the weight is open")
    gates, rest = _gru_weights(c, c[weight], size)
    kinds = [c.attr("gate_activation"), c.attr("activation")]
    flat = c.Reshape(c["Bias"], np.array([-1])) if c.has("Bias") else None
    turned = not c.attr("origin_mode")
    if turned and kinds[0] != "sigmoid":
        rows = c.MatMul(c["X"], c["WeightX"]) if fused else c["Input"]
        first = [c["H0"] if c.has("H0") else zeros(c, lengths, size)]

        def step(inner, before, x):
            return [_gru_step(inner, x, before[0], gates, rest, flat, size, *kinds, False)[0]]

        made = masked_scan(c, rows, lengths, first, step, c.attr("is_reverse"))
        return {"Hidden": (made[0], lengths)}
    # ONNX keeps z h + (1 - z) m. Without origin_mode u is the share of m: z = 1 - u, which for a
    # sigmoid is that of the negative sum.
    sign = np.ones(3 * size, c.dtype)
    if turned:
        sign[:size] = -1
    if fused:
        w = c.Mul(c.Transpose(c["WeightX"], perm=[1, 0]), sign[:, None])
    else:
        w = c.value(np.diag(sign))
    r = c.Transpose(c.Concat(gates, rest, axis=1), perm=[1, 0])
    r = c.Mul(r, sign[:, None])
    bias = np.zeros(3 * size, c.dtype) if flat is None else c.Mul(flat, sign)
    bias = c.Concat(bias, np.zeros(3 * size, c.dtype), axis=0)
    x, counts = time_major(c, c[slot], lengths)
    h0 = c.Unsqueeze(c["H0"], axes=[0]) if c.has("H0") else None
    y = c.GRU(
        x, *(c.Unsqueeze(v, axes=[0]) for v in (w, r, bias)), counts, h0, outputs=2,
        hidden_size=size, direction="reverse" if c.attr("is_reverse") else "forward",
        linear_before_reset=0, **activations(c, kinds),
    )[0]  # fmt: skip
    return {"Hidden": (rows_of(c, y, lengths), lengths)}


def _gru_step(c, x, h, gates, rest, flat, size, gate, kind, origin):
    """(Hidden, Gate, ResetHiddenPrev) of one step; gates are u, r, m."""
    if flat is not None:
        x = c.Add(x, flat)
    part = lambda v, i: c.slice(v, [i * size], [(i + 1) * size], [1])  # noqa: E731
    sums = c.MatMul(h, gates)
    u = act(c, c.Add(part(x, 0), part(sums, 0)), gate)
    r = act(c, c.Add(part(x, 1), part(sums, 1)), gate)
    reset = c.Mul(r, h)
    m = act(c, c.Add(part(x, 2), c.MatMul(reset, rest)), kind)
    old, new = (u, c.Sub(1.0, u)) if origin else (c.Sub(1.0, u), u)
    hidden = c.Add(c.Mul(old, h), c.Mul(new, m))
    return hidden, c.Concat(u, r, m, axis=1), reset


_NUMBERED = ("identity", "sigmoid", "tanh", "relu")


@operator("gru_unit")
def _gru_unit(c):
    size = c.dims("Weight")[0]
    c.require(size > 0, "the width of the weight is open")
    flat = c.Reshape(c["Bias"], np.array([-1])) if c.has("Bias") else None
    hidden, gate, reset = _gru_step(
        c, c["Input"], c["HiddenPrev"], *_gru_weights(c, c["Weight"], size), flat, size,
        _NUMBERED[c.attr("gate_activation")], _NUMBERED[c.attr("activation")],
        c.attr("origin_mode"),
    )  # fmt: skip
    return {"Hidden": hidden, "Gate": gate, "ResetHiddenPrev": reset}


@operator("lstm_unit")
def _lstm_unit(c):
    size = c.dims("C_prev")[1]
    c.require(size > 0, "the width of C_prev is open")
    i, f, o, g = (c.slice(c["X"], [k * size], [(k + 1) * size], [1]) for k in range(4))
    forget = c.Sigmoid(c.Add(f, c.attr("forget_bias")))
    cell = c.Add(c.Mul(forget, c["C_prev"]), c.Mul(c.Sigmoid(i), c.Tanh(g)))
    return {"C": cell, "H": c.Mul(c.Sigmoid(o), c.Tanh(cell))}
