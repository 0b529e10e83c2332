"""Common operators, forward and backward, at three sizes, beside torch.

    python benchmarks/operators.py [rounds] [part of a name]

Small arrays show what a call costs, medium ones fit a core's own cache, large ones lie in memory.
The sides take turns and have the same arrays. "Backward" is the gradient alone, of a result that
is there. At the end stand the operators that are slower than torch, the worst first.
benchmarks/results/operators.md sums up; details/operators.md has a line for each operator. What is
not asked for stays there as it is.
"""

import functools
import itertools
import statistics
import sys

import operator_calls
import peer
import report

DIRECTIONS = ("forward", "backward")
TOLERANCE = 1e-3
RANDOM = "dropout"


# A worker's side ----------------------------------------------------------------------------------


def ours():
    import dygraph

    def variable(value, record=False):
        made = dygraph.to_variable(value)
        made.stop_gradient = not record
        return made

    def gradient(outputs, inputs, given):
        return dygraph.grad(outputs, inputs, given, retain_graph=True)

    return dygraph, variable, gradient, lambda v: not v.stop_gradient


def torchs():
    import torch

    def tensor(value, record=False):
        return torch.tensor(value, requires_grad=record)

    def gradient(outputs, inputs, given):
        found = torch.autograd.grad(outputs, inputs, given, retain_graph=True)
        return [gradient.contiguous() for gradient in found]  # an optimizer reads numbers

    return torch, tensor, gradient, lambda t: t.requires_grad


arrays = functools.cache(operator_calls.arrays)


def normal_like(array):
    import numpy as np

    return np.random.default_rng(1).standard_normal(array.shape).astype(array.dtype)


def flat(results):
    """The tensors of nested tuples."""
    if isinstance(results, (list, tuple)):
        return [tensor for part in results for tensor in flat(part)]
    return [results]


def sums(tensors):
    """A digest for comparing both sides: number, sum and norm of the elements."""
    import numpy as np

    values = [t.detach().numpy().astype("float64") for t in tensors]
    return [[v.size, float(v.sum()), float(np.sqrt(np.square(v).sum()))] for v in values]


def setup(side, name, size, direction):
    """run(n) calls the operator n times; run(0) gives `sums` of its results."""
    library, make, gradient, recorded = {"ours": ours, "torch": torchs}[side]()
    call = operator_calls.CALLS[name]
    function = getattr(call, side)
    backward = direction == "backward"
    operands = []
    for operand in call.of.split():
        value = arrays(size)[operand]
        wants = operand not in operator_calls.FIXED and value.dtype.kind == "f"
        operands.append(make(value, backward and wants))
    if backward:
        outputs = [t for t in flat(function(library, *operands)) if recorded(t)]
        given = [make(normal_like(t.detach().numpy())) for t in outputs]
        inputs = [t for t in operands if recorded(t)]
        work = functools.partial(gradient, outputs, inputs, given)
    else:
        work = functools.partial(function, library, *operands)

    def run(n):
        for _ in itertools.repeat(None, n):
            work()
        return None if n else sums(flat(work()))

    return run


def case_name(name, size, direction):
    return f"{name}; {size}, {direction}"


def cases(side):
    return {
        case_name(name, size, direction): functools.partial(setup, side, name, size, direction)
        for name, call in operator_calls.CALLS.items()
        for size in operator_calls.SIZES
        for direction in DIRECTIONS[: 1 + call.backward]
    }


def require_same(sides, case):
    """Sums may differ by a part of what they could be at most, given the norm."""
    (_, ours), (_, torchs) = ((side.name, side.value(case)) for side in sides)
    if len(ours) != len(torchs):
        raise SystemExit(f"{case}: {len(ours)} results, torch {len(torchs)}")
    for (count, total, norm), (peers, peers_total, peers_norm) in zip(ours, torchs, strict=True):
        near = abs(norm - peers_norm) <= TOLERANCE * peers_norm
        if count != peers or not near or abs(total - peers_total) > TOLERANCE * norm * count**0.5:
            raise SystemExit(f"{case}: ours {ours}, torch {torchs}")


# Results ------------------------------------------------------------------------------------------


def grouped(rows):
    """Ratios by size and direction, then by name."""
    groups = {}
    for row in rows:
        groups.setdefault((row["size"], row["direction"]), {})[row["what"]] = row["ratio"]
    return groups


def summary(rows):
    head = ["arrays", "operators", "faster", "median ratio", "best", "worst"]
    lines = []
    for (size, direction), ratios in grouped(rows).items():
        values = sorted(ratios.values())
        faster = sum(ratio < 1 for ratio in values)
        lines.append(
            [f"{size}, {direction}", str(len(values)), str(faster)]
            + [f"{r:.2f}" for r in (statistics.median(values), values[0], values[-1])]
        )
    return report.aligned(head, lines)


def details(rows):
    groups = grouped(rows)
    names = dict.fromkeys(row["what"] for row in rows)
    lines = [
        [name, *(f"{g[name]:.2f}" if name in g else "-" for g in groups.values())] for name in names
    ]
    return report.aligned(["ours / torch", *(f"{s}, {d}" for s, d in groups)], lines)


def slower(rows):
    """Rows of the operators that take more than torch's time, the worst first."""
    return sorted((row for row in rows if row["ratio"] > 1), key=lambda row: -row["ratio"])


def key(row):
    return row["what"], row["size"], row["direction"]


def line(row):
    times = report.seconds(row["ours"]), report.seconds(row["peer"])
    return f"{case_name(*key(row))} | {times[0]} | {times[1]} | {row['ratio']:.2f}"


def keep(rows, notes):
    kept = report.kept_rows("operators")
    names = list(operator_calls.CALLS)
    found = {key(row): row for row in kept + rows if row["what"] in names}
    order = [
        (name, size, direction)
        for size in operator_calls.SIZES
        for direction in DIRECTIONS
        for name in names
    ]
    rows = [found[k] for k in order if k in found]
    title = f"Operators beside torch, threads: {peer.THREADS}"
    behind = [f"{case_name(*key(row))} {row['ratio']:.2f}" for row in slower(rows)]
    report.write("details/operators", title, details(rows), notes)
    notes = [*notes, "Slower than torch: " + (". ".join(behind) or "none") + "."]
    report.keep("operators", title, summary(rows), notes, rows)


def main(rounds, part):
    rows = []
    with peer.Side(__file__, "ours") as us, peer.Side(__file__, "torch") as torch:
        sides = [us, torch]
        for size, direction, (name, call) in itertools.product(
            operator_calls.SIZES, DIRECTIONS, operator_calls.CALLS.items()
        ):
            if part.lower() not in name.lower() or (direction == "backward" and not call.backward):
                continue
            case = case_name(name, size, direction)
            if name != RANDOM:
                require_same(sides, case)
            medians, ratios = peer.interleave(sides, case, rounds)
            for side in sides:
                side.forget(case)
            rows.append(
                {
                    "what": name, "size": size, "direction": direction,
                    "ours": medians["ours"], "peer": medians["torch"], "ratio": ratios["torch"],
                }
            )  # fmt: skip
            print(line(rows[-1]), flush=True)
    print("\nSlower than torch:", *map(line, slower(rows)), sep="\n")
    keep(rows, ["Views of torch are made contiguous: results and gradients lie in memory."])


if __name__ == "__main__":
    if not peer.worker({side: cases(side) for side in ("ours", "torch")}):
        main(
            int(sys.argv[1]) if len(sys.argv) > 1 else 10,
            sys.argv[2] if len(sys.argv) > 2 else "",
        )
