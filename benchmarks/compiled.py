"""Compiled training steps beside our eager ones, torch's and those of torch.compile.

    python benchmarks/compiled.py [rounds] [part of a row's name] [--times | --compiling | --memory]

All four sides of a row start from the same weights and are measured in turns. Before that, losses
and parameters of the compiled step are compared with the eager step's, bit for bit.
DYGRAPH_BENCH_THREADS sets the threads of all sides. Compiling: what the second to fifth calls
of a compiled step take beyond four eager steps; one more step is part of that, since the third call
runs eagerly and as a program and compares the two. "Not compared" is the work of compiling alone
(verify=False). Memory: the most that a step takes, by the allocator's count.
"""

import argparse
import functools
import itertools
import statistics
import time

import networks
import peer
import report

COMPILED = 0.7  # of torch.compile's time
CHECKED_STEPS = 6  # the first ones of a compiled step are eager
WARM_CALLS = 4
LOSS_TOLERANCE = 2e-3


def policy():
    """A small network that acts: one observation at a time."""
    return networks.Network(
        layers=[("linear", 4, 64), ("relu",), ("linear", 64, 2)],
        input=(1, 4),
        optimizer=("adam", 1e-3),
        share=0.35,
        classes=2,
    )


# Name: (network, the part of our eager step's time that the compiled one may take).
STEPS = {
    "MLP": (networks.mlp, 0.8),
    "LeNet": (networks.lenet, 0.85),
    "LSTM, loop over a cell": (lambda: networks.language_model("loop over lstm", 1.0), 0.75),
    "Transformer": (networks.transformer, 0.92),
    "policy network": (policy, 0.35),
}
COMPILING = {"MLP": (networks.mlp, 0.05), "ResNet-50": (networks.resnet50, 1.0)}
MEMORY = {
    "MLP": (networks.mlp, None),
    "LeNet": (networks.lenet, None),
    "ResNet-50": (networks.resnet50, 0.85),
    "Transformer": (networks.transformer, 0.85),
}


# A worker's side ----------------------------------------------------------------------------------


def our_step(make, compiled, verify=True):
    """(step() of the network, its parameters)"""
    import ours

    import dygraph

    step, inputs, net = ours.step_and_network(make())
    if compiled:
        step = dygraph.jit.compile(step, verify=verify)
    return lambda: step(*inputs), net


def torchs_step(make, how):
    """step() of the network, as it is or compiled: the network, the optimizer's step too."""
    import torch
    import torchs

    if not how:
        return torchs.trained(make())
    return torchs.trained(make(), compiled=lambda f: torch.compile(f), both=how == "both")


def timed(step_of):
    """run(n) does n steps; where these are few it gives their losses."""

    def case():
        step = step_of()

        def run(n):
            if n == CHECKED_STEPS:
                return [step().item() for _ in range(n)]
            for _ in itertools.repeat(None, n):
                step()
            return None

        return run

    return case


def bits(make):
    """run(n) of the eager and of the compiled step; gives whether n steps left the same bits."""

    def case():
        def run(n):
            found = []
            for compiled in (False, True):
                step, net = our_step(make, compiled)
                losses = [step().numpy().tobytes() for _ in range(n)]
                found.append([*losses, *(p.numpy().tobytes() for p in net.parameters())])
            return found[0] == found[1]

        return run

    return case


def compiling(make, verify=True):
    """run(n): seconds that the first calls of the compiled step take beyond eager steps."""

    def case():
        def run(n):
            eager, _ = our_step(make, False)
            for _ in range(2):
                eager()
            steps = []
            for _ in range(WARM_CALLS):
                start = time.perf_counter()
                eager()
                steps.append(time.perf_counter() - start)
            del eager
            extra = []
            for _ in range(n):
                step, _ = our_step(make, True, verify)
                step()  # the first call is an eager step, with a first step's costs
                start = time.perf_counter()
                for _ in range(WARM_CALLS):
                    step()
                extra.append(time.perf_counter() - start - WARM_CALLS * statistics.median(steps))
            return statistics.median(extra)

        return run

    return case


def peak(make, compiled):
    """run(n): the most bytes in use during one of n steps, after warming up."""

    def case():
        import dygraph

        step, _ = our_step(make, compiled)

        def run(n):
            for _ in range(WARM_CALLS + 1):
                step()
            dygraph.memory.reset_peak()
            for _ in range(n):
                step()
            return dygraph.memory.peak()

        return run

    return case


def cases():
    found = {"ours": {}, "torch": {}}
    for name, (make, _) in STEPS.items():
        for how in ("eager", "compiled"):
            step_of = functools.partial(lambda m, c: our_step(m, c)[0], make, how == "compiled")
            found["ours"][f"{how} {name}"] = timed(step_of)
        found["ours"][f"bits {name}"] = bits(make)
        for how in ("", "network", "both"):
            step_of = functools.partial(torchs_step, make, how)
            found["torch"][f"{how} {name}".strip()] = timed(step_of)
    for name, (make, _) in COMPILING.items():
        found["ours"][f"compiling {name}"] = compiling(make)
        found["ours"][f"compiling {name}, not compared"] = compiling(make, verify=False)
    for name, (make, _) in MEMORY.items():
        for how in ("eager", "compiled"):
            found["ours"][f"peak {how} {name}"] = peak(make, how == "compiled")
    return found


# The rows -----------------------------------------------------------------------------------------


def check(us, torch, name):
    """The compiled step's bits are the eager step's, and its losses torch's, as near as sums go."""
    if not us.run(f"bits {name}", CHECKED_STEPS)[1]:
        raise SystemExit(f"{name}: the compiled step differs from the eager step")
    ours = us.run(f"compiled {name}", CHECKED_STEPS)[1]
    theirs = torch.run(name, CHECKED_STEPS)[1]
    for o, t in zip(ours, theirs, strict=True):
        if not abs(o - t) <= LOSS_TOLERANCE * abs(t):
            raise SystemExit(f"{name}: losses differ, ours {ours}, torch {theirs}")


def times(name, share, rounds, table):
    with (
        peer.Side(__file__, "ours") as us,
        peer.Side(__file__, "our eager", library="ours") as eager,
        peer.Side(__file__, "torch") as torch,
        peer.Side(__file__, "torch.compile") as compiled,
    ):
        check(us, torch, name)
        ways = [f"{how} {name}" for how in ("network", "both")]
        way = min(ways, key=lambda case: min(compiled.time(case) for _ in range(3)))
        case = {
            "ours": f"compiled {name}", "our eager": f"eager {name}", "torch": name,
            "torch.compile": way,
        }  # fmt: skip
        medians, ratios = peer.interleave([us, eager, torch, compiled], case, rounds)
    shares = {"our eager": share, "torch": None, "torch.compile": COMPILED}
    for side, most in shares.items():
        table.add(
            f"{name}; {side}", medians["ours"], medians[side], ratios[side], most, peer_name=side
        )


def order():
    rows = [f"{n}; {s}" for n in STEPS for s in ("our eager", "torch", "torch.compile")]
    rows += [f"compiling {name}{how}" for name in COMPILING for how in ("", ", not compared")]
    return rows + [f"peak memory, {name}" for name in MEMORY]


def main(arguments):
    wanted = {what for what in ("times", "compiling", "memory") if getattr(arguments, what)}
    wanted = wanted or {"times", "compiling", "memory"}
    part = arguments.part.lower()
    title = f"A compiled training step, threads: {peer.THREADS}"
    kept = "compiled" if peer.THREADS == 2 else f"compiled_{peer.THREADS}"
    table = report.Report(kept, title, order=order(), peer="beside")
    if "times" in wanted:
        for name, (_, share) in STEPS.items():
            if part in name.lower():
                times(name, share, arguments.rounds, table)
    if "compiling" in wanted:
        for name, (_, most) in COMPILING.items():
            if part in name.lower():
                for how in ("", ", not compared"):
                    with peer.Side(__file__, "ours") as us:
                        seconds = us.run(f"compiling {name}{how}", 3)[1]
                    table.add(f"compiling {name}{how}", seconds, most=most)
    if "memory" in wanted:
        for name, (_, share) in MEMORY.items():
            if part not in name.lower():
                continue
            most = {}
            for how in ("eager", "compiled"):
                with peer.Side(__file__, "ours") as us:
                    most[how] = us.run(f"peak {how} {name}", 2)[1]
            table.add(
                f"peak memory, {name}", most["compiled"], most["eager"], share=share,
                form=report.megabytes, peer_name="our eager",
            )  # fmt: skip
    table.finish()


if __name__ == "__main__":
    if not peer.worker(cases()):
        parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
        parser.add_argument("rounds", nargs="?", type=int, default=20)
        parser.add_argument("part", nargs="?", default="")
        for what in ("times", "compiling", "memory"):
            parser.add_argument(f"--{what}", action="store_true")
        main(parser.parse_args())
