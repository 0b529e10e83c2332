"""Whole training steps: forward, loss, backward, update, from equal parameters on both sides.

    python benchmarks/train.py [rounds] [part of a row's name] [--quiet | --busy | --memory]
    python benchmarks/train.py [rounds] --growth

`networks.py` describes the rows, `ours.py` and `torchs.py` build them. The losses of the first
steps are compared, so that both sides train the same thing. Each row is measured on a quiet
machine, then with a process that computes without end on one core, then, in processes of their own,
for the most memory it takes above what the import took; the options choose one of the three. Rows
that are not asked for stay in benchmarks/results/ as they are. `--growth` takes batches and lengths
from one to thousands in place of the usual rows.

"Of limit" is the time no program could beat here, over ours: the greater of FLOPs by the measured
peak and of bytes by the measured bandwidth (`machine.py`), both as `networks.work` counts them.
"""

import argparse
import functools
import os

import machine
import networks
import peer
import report

CHECKED_STEPS = 5
LOSS_TOLERANCE = 2e-3  # relative; sums are ordered differently
PEAK_STEPS = 5


# A worker's side ----------------------------------------------------------------------------------


def trained(side, network, variant=""):
    """step() of a network in the library of a side."""
    if side == "ours":
        import ours as library
    else:
        import torchs as library
    return library.trained(network, variant)


def timed(side, make, variant):
    """run(n) does n steps; where these are few it gives their losses."""
    step = trained(side, make(), variant)

    def run(n):
        losses = [step() for _ in range(n)] if n <= CHECKED_STEPS else []
        if not losses:
            for _ in range(n):
                step()
        return [loss.item() for loss in losses]

    return run


def peak(side, make, variant):
    """run(n): the most that n steps took, with the network, above what the import left behind."""
    __import__({"ours": "dygraph"}.get(side, "torch"))
    before = machine.resident()

    def run(n):
        step = trained(side, make(), variant)
        machine.restart_peak()
        for _ in range(n):
            step()
        return machine.resident("VmHWM") - before

    return run


def cases():
    """By side and name; a variant of torch's has its name behind a comma."""
    found = {"ours": {}, "torch": {}}
    for name, make in networks.NETWORKS.items():
        for what, function in (("", timed), ("peak ", peak)):
            found["ours"][what + name] = functools.partial(function, "ours", make, "")
            for variant in make().variants:
                case = what + with_variant(name, variant)
                found["torch"][case] = functools.partial(function, "torch", make, variant)
    return found


def with_variant(name, variant):
    return f"{name}, {variant}" if variant else name


# The rows -----------------------------------------------------------------------------------------


def first_losses(sides, name, variants):
    """Compare the losses of the first steps on all sides, for all ways to write the network."""
    by_side = {}
    for side in sides:
        for variant in variants if side.library == "torch" else [""]:
            case = with_variant(name, variant)
            by_side[f"{side.name} {variant}"] = side.run(case, CHECKED_STEPS)[1]
    first, *others = by_side.items()
    for other, values in others:
        for o, p in zip(first[1], values, strict=True):
            if not abs(o - p) <= LOSS_TOLERANCE * abs(p):
                raise SystemExit(f"{name}: losses differ, ours {first[1]}, {other} {values}")


def fastest(side, name, variants):
    """The case of the fastest way to write the network, by the least of three measurements."""
    names = [with_variant(name, v) for v in variants]
    if len(names) == 1:
        return names[0]
    return min(names, key=lambda case: min(side.time(case) for _ in range(3)))


def times(name, rounds, table, busy):
    """Two rows: beside torch as installed and beside tuned torch; budgets hold when it is quiet."""
    network = networks.NETWORKS[name]()
    flops, moved = networks.work(network)
    with (
        peer.Side(__file__, "ours") as us,
        peer.Side(__file__, "torch") as torch,
        peer.Side(__file__, "tuned") as tuned,
    ):
        sides = [us, torch, tuned]
        first_losses(sides, name, network.variants)
        case = {side.name: fastest(side, name, network.variants) for side in sides[1:]}
        case["ours"] = name
        medians, ratios = peer.interleave(sides, case, rounds)
    more = {"work": f"{flops / 1e9:.3g} GFLOP, {moved / 1e6:.3g} MB"}
    if not busy:
        more["of limit"] = f"{machine.least_seconds(flops, moved) / medians['ours']:.0%}"
    shares = {"torch": network.share, "tuned": network.tuned_share}
    for side, share in shares.items():
        table.add(
            row_name(name, side), medians["ours"], medians[side], ratios[side],
            None if busy else share, peer_name=side, more=more,
        )  # fmt: skip


def row_name(name, side):
    return f"{name}; torch tuned" if side == "tuned" else name


def memory(name, table):
    """Where torch has several ways, its least."""
    network = networks.NETWORKS[name]()

    def most(side, variant):
        with peer.Side(__file__, side) as worker:
            return worker.run("peak " + with_variant(name, variant), PEAK_STEPS)[1]

    torchs = min(most("torch", variant) for variant in network.variants)
    table.add(name, most("ours", ""), torchs, share=1.0, form=report.megabytes)


def main(arguments):
    wanted = {what for what in ("quiet", "busy", "memory") if getattr(arguments, what)}
    wanted = wanted or ({"quiet"} if arguments.growth else {"quiet", "busy", "memory"})
    if "busy" in wanted and os.sched_getscheduler(0) != os.SCHED_OTHER:
        wanted.discard("busy")  # a neighbour would get nothing, or everything
        print("With real-time priority there is no busy neighbour: that half is left out.")
    names = networks.named(arguments.part)
    if arguments.growth:
        names = [n for n in networks.GROWTH if arguments.part.lower() in n.lower()]
    if not names:
        raise SystemExit(f"no row has {arguments.part!r} in its name: {list(networks.NETWORKS)}")
    order = [row_name(name, side) for name in networks.NETWORKS for side in ("torch", "tuned")]
    if "quiet" in wanted:
        kept, title = ("growth", "as it grows, ") if arguments.growth else ("train", "")
        title = f"A training step, {title}threads: {peer.THREADS}"
        table = report.Report(kept, title, ["of limit", "work"], order)
        for name in names:
            times(name, arguments.rounds, table, busy=False)
        flops, moved = machine.limits()
        table.note(f"Limits here: {flops / 1e9:.0f} GFLOP/s, {moved / 1e9:.1f} GB/s.")
        table.finish()
    if "busy" in wanted:
        title = f"A training step beside a busy neighbour, threads: {peer.THREADS}"
        table = report.Report("train_busy", title, order=order)
        with machine.neighbour():
            for name in names:
                times(name, arguments.rounds, table, busy=True)
        table.note("A process computes without end on one of the cores.")
        table.finish()
    if "memory" in wanted:
        title = "Peak memory of training above what the import took"
        table = report.Report("train_memory", title, order=list(networks.NETWORKS))
        for name in names:
            memory(name, table)
        table.finish()


if __name__ == "__main__":
    if not peer.worker(cases()):
        parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
        parser.add_argument("rounds", nargs="?", type=int, default=30)
        parser.add_argument("part", nargs="?", default="")
        for what in ("quiet", "busy", "memory", "growth"):
            parser.add_argument(f"--{what}", action="store_true")
        main(parser.parse_args())
