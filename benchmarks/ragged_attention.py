"""Self-attention over sequences of different lengths: ragged, padded by hand, and torch's two ways.

    DYGRAPH_PEER_PYTHON=... python benchmarks/ragged_attention.py [rounds]

32 sequences of 5 to 200 rows, features 128, 8 heads, one `MultiHeadAttention` layer of the same
weights on both sides. "Ours" takes the ragged batch as it is. "Padded" is a batch of the longest
length with a mask of its padding: the padding itself is not measured. torch's "nested" calls the
same projections on a nested tensor of jagged layout and attends with
scaled_dot_product_attention. "Training" is forward and the gradients of all weights and of the
input. The sides take turns.
"""

import functools
import sys

import numpy as np
import peer
import report

SEQUENCES, SHORTEST, LONGEST, WIDTH, HEADS = 32, 5, 200, 128, 8
LENGTHS = [SHORTEST + round((LONGEST - SHORTEST) * i / (SEQUENCES - 1)) for i in range(SEQUENCES)]
TOLERANCE = 2e-5


def arrays():
    """The rows of all sequences, and weights [in, out] with biases of q, k, v and out."""
    r = np.random.default_rng(0)
    rows = r.standard_normal((sum(LENGTHS), WIDTH), "float32")
    weights = r.standard_normal((4, WIDTH, WIDTH), "float32") / np.float32(WIDTH**0.5)
    biases = r.standard_normal((4, WIDTH), "float32")
    return rows, list(zip(weights, biases, strict=True))


def padded_of(rows):
    batch = np.zeros((SEQUENCES, LONGEST, WIDTH), "float32")
    ends = np.cumsum(LENGTHS)
    for one, end, length in zip(batch, ends, LENGTHS, strict=True):
        one[:length] = rows[end - length : end]
    return batch


def visible():
    return np.arange(LONGEST) < np.array(LENGTHS)[:, None]  # [sequences, positions]


# Ours ---------------------------------------------------------------------------------------------


def ours(form, train):
    import dygraph
    from dygraph import nn

    rows, parts = arrays()
    layer = nn.MultiHeadAttention(WIDTH, HEADS)
    names = (layer.q_proj, layer.k_proj, layer.v_proj, layer.out_proj)
    for linear, (weight, bias) in zip(names, parts, strict=True):
        linear.weight.set_value(weight)
        linear.bias.set_value(bias)
    mask = seen = None
    if form == "ragged":
        x = dygraph.to_variable(rows, lod=[[0, *np.cumsum(LENGTHS).tolist()]])
    else:
        x = dygraph.to_variable(padded_of(rows))
        mask = dygraph.to_variable(visible()[:, None, None, :])
        seen = dygraph.to_variable(visible()[:, :, None].astype("float32"))
    x.stop_gradient = not train
    inputs = [x, *layer.parameters()]

    def work():
        out = layer(x, attn_mask=mask)
        if not train:
            return out
        total = (out if seen is None else out * seen).sum()
        return dygraph.grad([total], inputs)

    def run(n):
        with dygraph.enable_grad() if train else dygraph.no_grad():
            for _ in range(n):
                work()
            if n:
                return None
            return digest(work(), form != "ragged", lambda v: v.numpy())

    return run


# torch --------------------------------------------------------------------------------------------


def torchs(form, train):
    import torch
    from torch.nn.functional import linear, scaled_dot_product_attention

    rows, parts = arrays()
    weights = [torch.tensor(w.T.copy(), requires_grad=train) for w, _ in parts]
    biases = [torch.tensor(b, requires_grad=train) for _, b in parts]
    ends = np.cumsum(LENGTHS)
    if form == "nested":
        flat = torch.tensor(rows, requires_grad=train)
        offsets = torch.tensor([0, *ends.tolist()])
    else:
        flat = torch.tensor(padded_of(rows), requires_grad=train)
        mask = torch.tensor(visible()[:, None, None, :])
        seen = torch.tensor(visible()[:, :, None].astype("float32"))

    def forward():
        q, k, v = (linear(flat, w, b) for w, b in zip(weights[:3], biases[:3], strict=True))
        if form == "nested":
            parts = [
                torch.nested.nested_tensor_from_jagged(
                    t, offsets, min_seqlen=SHORTEST, max_seqlen=LONGEST
                )
                .unflatten(-1, [HEADS, WIDTH // HEADS])
                .transpose(1, 2)
                for t in (q, k, v)
            ]
            out = scaled_dot_product_attention(*parts).transpose(1, 2).flatten(-2)
            return linear(out.values(), weights[3], biases[3])
        q, k, v = (
            t.view(SEQUENCES, LONGEST, HEADS, WIDTH // HEADS).transpose(1, 2) for t in (q, k, v)
        )
        out = scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return linear(out.transpose(1, 2).flatten(-2), weights[3], biases[3])

    def work():
        out = forward()
        if not train:
            return out
        total = (out if form == "nested" else out * seen).sum()
        given = [flat, *(p for pair in zip(weights, biases, strict=True) for p in pair)]
        return torch.autograd.grad(total, given)

    def run(n):
        with torch.set_grad_enabled(train):
            for _ in range(n):
                work()
            if n:
                return None
            return digest(work(), form != "nested", lambda t: t.detach().numpy())

    return run


def digest(found, padded, numbers):
    """Norms of the rows of sequences, or of each gradient: what all forms have in common."""
    if isinstance(found, (list, tuple)):
        return [float(np.linalg.norm(numbers(g).astype("float64"))) for g in found]
    out = numbers(found).astype("float64")
    return [float(np.linalg.norm(out[visible()] if padded else out))]


FORMS = {"ours": ("ragged", "padded"), "torch": ("padded", "nested")}


def case_name(form, train):
    return f"{form}, {'training' if train else 'forward'}"


CASES = {
    side: {
        case_name(form, train): functools.partial(make, form, train)
        for form in FORMS[side]
        for train in (False, True)
    }
    for side, make in {"ours": ours, "torch": torchs}.items()
}


def require_same(sides, train):
    values = {
        f"{side.name} {form}": side.value(case_name(form, train))
        for side in sides
        for form in FORMS[side.library]
    }
    (first, expected), *others = values.items()
    for name, found in others:
        # the bias of keys moves all scores of a query alike: its gradient is 0, but for rounding
        if not np.allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE * max(expected)):
            raise SystemExit(f"{name} {found}, {first} {expected}")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    result = report.Report(
        "ragged_attention", "Attention over 32 sequences of 5 to 200 rows, width 128, 8 heads"
    )
    with peer.Side(__file__, "ours") as own, peer.Side(__file__, "torch") as other:
        for train in (False, True):
            require_same([own, other], train)
            what = "training" if train else "forward"
            ragged = case_name("ragged", train)
            for form in FORMS["torch"]:
                case = {"ours": ragged, "torch": case_name(form, train)}
                medians, ratios = peer.interleave([own, other], case, rounds)
                result.add(
                    f"{what}: torch {form}", medians["ours"], medians["torch"], ratios["torch"]
                )
            with peer.Side(__file__, "ours") as by_hand:
                by_hand.name = "padded"
                case = {"ours": ragged, "padded": case_name("padded", train)}
                medians, ratios = peer.interleave([own, by_hand], case, rounds)
                result.add(
                    f"{what}: ours, padded by hand", medians["ours"], medians["padded"],
                    ratios["padded"],
                )  # fmt: skip
    rows = sum(LENGTHS)
    result.note(
        f"{rows} rows; {SEQUENCES * LONGEST} padded. Scores: {sum(n * n for n in LENGTHS)} of each "
        f"head; {SEQUENCES * LONGEST**2} padded."
    )
    result.finish()


if __name__ == "__main__" and not peer.worker(CASES):
    main()
