"""Rules for RNN, GRU and LSTM."""

import dygraph
from dygraph import _core
from dygraph.errors import InvalidArgumentError
from dygraph.nn import functional as F
from dygraph.onnx.load_control import repeat
from dygraph.onnx.load_rules import dims_of, rule
from dygraph.onnx.load_shape import filled, steps_of

ops = _core.ops

_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
_ORDER = {
    "RNN": [0],
    "GRU": [1, 0, 2],
    "LSTM": [0, 2, 3, 1],
}  # ONNX's gates as operator rnn has them
_USUAL = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
_ACTIVATIONS = {
    "tanh": dygraph.tanh, "sigmoid": F.sigmoid, "relu": F.relu, "softsign": F.softsign,
    "softplus": lambda x: dygraph.logaddexp(x, dygraph.zeros_like(x)),
}  # fmt: skip
_WITH_NUMBERS = {
    "affine": (1.0, 0.0, lambda x, a, b: x * a + b),
    "leakyrelu": (0.01, 0.0, lambda x, a, b: F.leaky_relu(x, a)),
    "thresholdedrelu": (1.0, 0.0, lambda x, a, b: dygraph.where(x > a, x, dygraph.zeros_like(x))),
    "scaledtanh": (1.0, 1.0, lambda x, a, b: dygraph.tanh(x * b) * a),
    "hardsigmoid": (0.2, 0.5, lambda x, a, b: dygraph.clip(x * a + b, 0.0, 1.0)),
    "elu": (1.0, 0.0, lambda x, a, b: F.elu(x, a)),
}


def _activations(call, kind, directions):
    """For each direction its functions."""
    names = call.attr("activations", _USUAL[kind] * directions)
    alphas, betas = list(call.attr("activation_alpha", [])), list(call.attr("activation_beta", []))
    made = []
    for name in names:
        key = name.lower()
        if key in _ACTIVATIONS:
            made.append(_ACTIVATIONS[key])
        elif key in _WITH_NUMBERS:
            a, b, function = _WITH_NUMBERS[key]
            a = alphas.pop(0) if alphas else a
            b = betas.pop(0) if betas else b
            made.append(lambda x, a=a, b=b, function=function: function(x, a, b))
        else:
            raise InvalidArgumentError(f"activations must be ONNX's, got {name}")
    each = len(_USUAL[kind])
    if len(made) != each * directions:
        raise InvalidArgumentError(
            f"activations must name {each} functions for each direction, got {names}"
        )
    usual = [n.lower() for n in names] == [n.lower() for n in _USUAL[kind] * directions]
    return [made[i * each : (i + 1) * each] for i in range(directions)], usual


def _part(x, i):
    return ops.slice(x, axes=[0], starts=[i], ends=[i + 1], decrease_axis=[0])


def _gates(call, x, kind, hidden):
    """The gates of weights in the order of operator rnn, along axis 0."""
    order = _ORDER[kind]
    if order == [0]:
        return x
    parts = [ops.slice(x, axes=[0], starts=[g * hidden], ends=[(g + 1) * hidden]) for g in order]
    return ops.concat(parts, axis=0)


@rule("RNN", "GRU", "LSTM")
def recurrent(call, x, w, r, b, lengths, h0, c0, p):
    kind = call.node.op_type
    way = call.attr("direction", "forward")
    if way not in ("forward", "reverse", "bidirectional"):
        raise InvalidArgumentError(f"direction must be one of ONNX's, got {way}")
    directions = 2 if way == "bidirectional" else 1
    batch_first = bool(call.attr("layout", 0))
    hidden = call.shape(r)[-1]
    if call.attr("hidden_size", hidden) != hidden or call.shape(w)[0] != directions:
        raise InvalidArgumentError("the weights must fit hidden_size and direction")
    if batch_first:
        x = dygraph.permute_dims(x, [1, 0, 2])
        h0, c0 = (None if s is None else dygraph.permute_dims(s, [1, 0, 2]) for s in (h0, c0))
    functions, usual = _activations(call, kind, directions)
    steps, batch, _ = call.shape(x)
    sizes = [directions, batch, hidden]
    h0 = filled(call, sizes, 0, str(x.dtype)) if h0 is None else h0
    if kind == "LSTM" and c0 is None:
        c0 = filled(call, sizes, 0, str(x.dtype))
    plain = (
        usual and p is None and not call.attr("clip") and not call.attr("input_forget", 0)
        and (kind != "GRU" or call.attr("linear_before_reset", 0))
        and str(x.dtype) in ("float32", "float64")
    )  # fmt: skip
    compute = _by_operator if plain else _by_steps
    y, h, c = compute(call, kind, x, w, r, b, lengths, h0, c0, p, way, functions, hidden, steps)
    if batch_first:
        y = dygraph.permute_dims(y, [2, 0, 1, 3])
        h, c = (None if s is None else dygraph.permute_dims(s, [1, 0, 2]) for s in (h, c))
    return (y, h, c) if kind == "LSTM" else (y, h)


def _turned(call, x, lengths, steps):
    """Each sequence backwards, what lies beyond its end in its place."""
    if lengths is None:
        return dygraph.flip(x, 0)
    place = ops.reshape2(steps_of(call, steps), shape=[-1, 1, 1])
    lengths = ops.reshape2(lengths.astype("int64"), shape=[1, -1, 1])
    whole = place + dygraph.zeros_like(lengths)
    index = dygraph.where(place < lengths, lengths - 1 - place, whole)
    return ops.take_along_axis(x, dygraph.broadcast_to(index, dims_of(x)), Axis=0)


def _by_operator(call, kind, x, w, r, b, lengths, h0, c0, p, way, functions, hidden, steps):
    """One call of operator rnn, which reads both ways at once; backwards alone it is turned."""
    directions = 2 if way == "bidirectional" else 1
    n = _GATES[kind] * hidden
    weights, biases = [], []
    for d in range(directions):
        weights += [_gates(call, _part(v, d), kind, hidden) for v in (w, r)]
        if b is None:
            biases += [filled(call, [n], 0, str(x.dtype))] * 2
            continue
        both = _part(b, d)
        for start in (0, n):
            part = ops.slice(both, axes=[0], starts=[start], ends=[start + n])
            biases.append(_gates(call, part, kind, hidden))
    found = _core.run_op(
        "rnn",
        {
            "Input": _turned(call, x, lengths, steps) if way == "reverse" else x,
            "PreState": [s for s in (h0, c0) if s is not None], "WeightList": [*weights, *biases],
            **({} if lengths is None else {"SequenceLength": lengths}),
        },
        {
            "hidden_size": hidden, "input_size": dims_of(x)[-1], "is_test": True,
            "is_bidirec": directions == 2, "mode": "RNN_TANH" if kind == "RNN" else kind,
        },
    )  # fmt: skip
    out, state = found["Out"], found["State"]
    state = state if isinstance(state, (list, tuple)) else [state]
    if way == "reverse":
        out = _turned(call, out, lengths, steps)
    if directions == 1:
        y = ops.unsqueeze2(out, axes=[1])
    else:
        halves = [
            ops.slice(out, axes=[2], starts=[i * hidden], ends=[(i + 1) * hidden]) for i in (0, 1)
        ]
        y = ops.stack(halves, axis=1)
    return y, state[0], state[1] if kind == "LSTM" else None


def _joined(outs, hs, cs):
    y = ops.stack(outs, axis=1)
    h = ops.concat(hs, axis=0) if len(hs) > 1 else hs[0]
    c = None
    if cs[0] is not None:
        c = ops.concat(cs, axis=0) if len(cs) > 1 else cs[0]
    return y, h, c


def _by_steps(call, kind, x, w, r, b, lengths, h0, c0, p, way, functions, hidden, steps):
    """Step by step, for what operator rnn has not: peepholes, other functions, a clip."""
    outs, hs, cs = [], [], []
    for d in range(2 if way == "bidirectional" else 1):
        backwards = way == "reverse" or d == 1
        read = _turned(call, x, lengths, steps) if backwards else x
        weights = [None if v is None else _part(v, d) for v in (w, r, b, p)]
        first = [_part(s, d) for s in (h0, c0) if s is not None]
        out, last = _stepped(call, kind, read, weights, lengths, first, functions[d], hidden, steps)
        outs.append(_turned(call, out, lengths, steps) if backwards else out)
        hs.append(ops.unsqueeze2(last[0], axes=[0]))
        cs.append(ops.unsqueeze2(last[1], axes=[0]) if kind == "LSTM" else None)
    return _joined(outs, hs, cs)


def _stepped(call, kind, x, weights, lengths, first, functions, hidden, steps):
    w, r, b, p = weights
    bias = [0.0, 0.0]
    if b is not None:
        n = _GATES[kind] * hidden
        bias = [
            ops.slice(b, axes=[0], starts=[0], ends=[n]),
            ops.slice(b, axes=[0], starts=[n], ends=[2 * n]),
        ]
    projected = ops.matmul_v2(x, w, trans_y=True) + bias[0]
    limit = call.attr("clip")
    clipped = (lambda v: v) if limit is None else lambda v: dygraph.clip(v, -limit, limit)  # noqa: E731
    cell = {"RNN": _rnn, "GRU": _gru, "LSTM": _lstm}[kind]
    lengths = None if lengths is None else ops.reshape2(lengths.astype("int64"), shape=[-1, 1])

    def turn(step, holds, states):
        step = call.variable(step)
        row = ops.squeeze2(ops.gather(projected, step.reshape([1]), axis=0), axes=[0])
        new = cell(call, row, states, r, bias[1], p, functions, clipped, hidden)
        if lengths is None:
            return None, new, [new[0]]
        runs = dygraph.greater(lengths, step)
        out = dygraph.where(runs, new[0], dygraph.zeros_like(new[0]))
        return None, [dygraph.where(runs, a, c) for a, c in zip(new, states, strict=True)], [out]

    states, (out,) = repeat(call, steps, None, turn, first, 1)
    return out, states


def _cut(x, i, hidden):
    return ops.slice(x, axes=[1], starts=[i * hidden], ends=[(i + 1) * hidden])


def _rnn(call, row, states, r, bias, p, functions, clipped, hidden):
    return [functions[0](clipped(row + ops.matmul_v2(states[0], r, trans_y=True) + bias))]


def _gru(call, row, states, r, bias, p, functions, clipped, hidden):
    f, g = functions
    h = states[0]
    parts = ops.matmul_v2(h, r, trans_y=True) + bias
    z = f(clipped(_cut(row, 0, hidden) + _cut(parts, 0, hidden)))
    reset = f(clipped(_cut(row, 1, hidden) + _cut(parts, 1, hidden)))
    if call.attr("linear_before_reset", 0):
        inner = reset * _cut(parts, 2, hidden)
    else:
        own = ops.slice(r, axes=[0], starts=[2 * hidden], ends=[3 * hidden])
        inner = ops.matmul_v2(reset * h, own, trans_y=True)
        if isinstance(bias, _core.Variable):
            inner = inner + ops.slice(bias, axes=[0], starts=[2 * hidden], ends=[3 * hidden])
    new = g(clipped(_cut(row, 2, hidden) + inner))
    return [(1.0 - z) * new + z * h]


def _lstm(call, row, states, r, bias, p, functions, clipped, hidden):
    f, g, last = functions
    h, c = states
    parts = row + ops.matmul_v2(h, r, trans_y=True) + bias
    i, o, forget, new = (_cut(parts, k, hidden) for k in range(4))
    peep = [
        None if p is None else ops.slice(p, axes=[0], starts=[k * hidden], ends=[(k + 1) * hidden])
        for k in range(3)
    ]  # input, output, forget
    if p is not None:
        i, forget = i + peep[0] * c, forget + peep[2] * c
    i = f(clipped(i))
    forget = 1.0 - i if call.attr("input_forget", 0) else f(clipped(forget))
    c = forget * c + i * g(clipped(new))
    if p is not None:
        o = o + peep[1] * c
    return [f(clipped(o)) * last(c), c]
