"""Recurrent networks in plain NumPy, one sequence and one row at a time."""

import numpy as np

ACTIVATIONS = {
    "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
    "tanh": np.tanh,
    "relu": lambda v: np.maximum(v, 0),
    "identity": lambda v: v,
}
sigmoid = ACTIVATIONS["sigmoid"]


def spans(lod, reverse=False):
    """The row numbers of each sequence of the last level, in the order they are read."""
    offsets = lod[-1]
    rows = [list(range(a, b)) for a, b in zip(offsets[:-1], offsets[1:], strict=True)]
    return [r[::-1] for r in rows] if reverse else rows


def lstm(x, lod, weight, bias, h0, c0, attrs):
    """Hidden and Cell of Fluid's lstm: gates lie as candidate, input, forget, output."""
    d = weight.shape[0]
    gate = ACTIVATIONS[attrs.get("gate_activation", "sigmoid")]
    cell_act = ACTIVATIONS[attrs.get("cell_activation", "tanh")]
    candidate = ACTIVATIONS[attrs.get("candidate_activation", "tanh")]
    peepholes = attrs.get("use_peepholes", True)
    p_i, p_f, p_o = bias[0, 4 * d :].reshape(3, d) if peepholes else np.zeros((3, d), bias.dtype)
    hidden, cell = np.zeros((len(x), d), x.dtype), np.zeros((len(x), d), x.dtype)
    for s, rows in enumerate(spans(lod, attrs.get("is_reverse", False))):
        h = h0[s] if h0 is not None else np.zeros(d, x.dtype)
        c = c0[s] if c0 is not None else np.zeros(d, x.dtype)
        for row in rows:
            a = x[row] + h @ weight + bias[0, : 4 * d]
            a_c, a_i, a_f, a_o = np.split(a, 4)
            i, f, g = gate(a_i + p_i * c), gate(a_f + p_f * c), candidate(a_c)
            c = f * c + i * g
            h = gate(a_o + p_o * c) * cell_act(c)
            hidden[row], cell[row] = h, c
    return hidden, cell


def lstmp(x, lod, weight, proj_weight, bias, h0, c0, attrs):
    """Projection and Cell of Fluid's lstmp."""
    d, p = proj_weight.shape
    names = ("gate_activation", "cell_activation", "candidate_activation", "proj_activation")
    gate, cell_act, candidate, proj_act = (
        ACTIVATIONS[attrs.get(name, "sigmoid" if name[0] == "g" else "tanh")] for name in names
    )
    cell_clip, proj_clip = (attrs.get(n, 0) or np.inf for n in ("cell_clip", "proj_clip"))
    peepholes = attrs.get("use_peepholes", True)
    p_i, p_f, p_o = bias[0, 4 * d :].reshape(3, d) if peepholes else np.zeros((3, d), bias.dtype)
    projection, cell = np.zeros((len(x), p), x.dtype), np.zeros((len(x), d), x.dtype)
    for s, rows in enumerate(spans(lod, attrs.get("is_reverse", False))):
        r = h0[s] if h0 is not None else np.zeros(p, x.dtype)
        c = c0[s] if c0 is not None else np.zeros(d, x.dtype)
        for row in rows:
            a_c, a_i, a_f, a_o = np.split(x[row] + r @ weight + bias[0, : 4 * d], 4)
            c = gate(a_f + p_f * c) * c + gate(a_i + p_i * c) * candidate(a_c)
            c = np.clip(c, -cell_clip, cell_clip)
            h = gate(a_o + p_o * c) * cell_act(c)
            r = np.clip(proj_act(h @ proj_weight), -proj_clip, proj_clip)
            projection[row], cell[row] = r, c
    return projection, cell


def gru_step(x, h, weight, bias, gate, candidate, origin_mode):
    d = len(h)
    flat = weight.reshape(-1)
    w_ur, w_m = flat[: 2 * d * d].reshape(d, 2 * d), flat[2 * d * d :].reshape(d, d)
    a = x + (0 if bias is None else bias[0])
    u, r = np.split(gate(a[: 2 * d] + h @ w_ur), 2)
    m = candidate(a[2 * d :] + (r * h) @ w_m)
    return u * h + (1 - u) * m if origin_mode else (1 - u) * h + u * m


def gru(x, lod, weight, bias, h0, attrs):
    """Hidden of Fluid's gru: gates lie as update, reset, candidate."""
    d = weight.shape[0]
    gate = ACTIVATIONS[attrs.get("gate_activation", "sigmoid")]
    candidate = ACTIVATIONS[attrs.get("activation", "tanh")]
    hidden = np.zeros((len(x), d), x.dtype)
    for s, rows in enumerate(spans(lod, attrs.get("is_reverse", False))):
        h = h0[s] if h0 is not None else np.zeros(d, x.dtype)
        for row in rows:
            h = gru_step(x[row], h, weight, bias, gate, candidate, attrs.get("origin_mode", False))
            hidden[row] = h
    return hidden


def cell_step(mode, x, state, w_ih, w_hh, b_ih, b_hh):
    """One step of the cells of the operator rnn; `state` is (h,) or (h, c)."""
    h = state[0]
    a, b = x @ w_ih.T + b_ih, h @ w_hh.T + b_hh
    if mode == "LSTM":
        i, f, g, o = np.split(a + b, 4, axis=-1)
        c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c
    if mode == "GRU":
        (a_r, a_z, a_m), (b_r, b_z, b_m) = np.split(a, 3, axis=-1), np.split(b, 3, axis=-1)
        r, z = sigmoid(a_r + b_r), sigmoid(a_z + b_z)
        m = np.tanh(a_m + r * b_m)
        return ((1 - z) * m + z * h,)
    return (np.tanh(a + b) if mode == "RNN_TANH" else np.maximum(a + b, 0),)


def rnn(mode, x, states, weights, lengths=None, layers=1, directions=1):
    """Out [time, batch, directions * hidden] and the last states of the operator rnn.

    `weights`: w_ih and w_hh of each layer and direction, then b_ih and b_hh of each.
    """
    steps, batch, _ = x.shape
    half = len(weights) // 2
    lengths = [steps] * batch if lengths is None else lengths
    last = [s.copy() for s in states]
    out = x
    for layer in range(layers):
        parts = []
        for direction in range(directions):
            k = layer * directions + direction
            w_ih, w_hh = weights[2 * k : 2 * k + 2]
            b_ih, b_hh = weights[half + 2 * k : half + 2 * k + 2]
            part = np.zeros((steps, batch, w_hh.shape[1]), x.dtype)
            for b in range(batch):
                state = tuple(s[k, b] for s in states)
                times = range(lengths[b])
                for t in reversed(times) if direction else times:
                    state = cell_step(mode, out[t, b], state, w_ih, w_hh, b_ih, b_hh)
                    part[t, b] = state[0]
                for s, value in zip(last, state, strict=True):
                    s[k, b] = value
            parts.append(part)
        out = np.concatenate(parts, axis=-1)
    return out, last
