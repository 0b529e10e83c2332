"""Memory: flat over many steps of a small network, a chain of a million operators, programs.

    python benchmarks/memory.py [training steps] [--programs]

Programs: the most that an eager call, tracing it, and the program then take above what the import
took, each in a process of its own; by the system's count and, in a second row, by the allocator's.
``--programs`` measures these alone. The peaks of eager training steps are in `train.py`.
"""

import argparse
import dataclasses
import functools
import itertools
import os
import tempfile
import time

import machine
import networks
import peer
import report
import train

LINKS = 500_000  # of y * a + b: a million operators
ROUNDS = 10
GROWTH = 2**20  # bytes the resident memory may move by over all rounds


def counts(side):
    """Live objects of ours; torch keeps no such counts."""
    if side == "torch":
        return {}
    from dygraph import _core

    stats = _core.memory.stats(_core.CPUPlace())
    return {
        "variables": _core.live_variables(),
        "blocks": stats["live_blocks"],
        "bytes": stats["used"],
    }


def steps(side, network):
    """run(n) makes n training steps and returns resident memory and live objects after them."""
    step = train.trained(side, network())

    def run(n):
        for _ in range(n):
            step()
        return {"resident": machine.resident(), **counts(side)}

    return run


def chain(side):
    """run(n): seconds to build, play and free n links; bytes they held; live objects left over."""
    if side == "ours":
        from dygraph import _core

        def leaf(value):
            v = _core.to_variable([value])
            v.stop_gradient = False
            return v

        def backward(y):
            _core.backward([y], [], False, False)
    else:
        import torch

        def leaf(value):
            return torch.tensor([value], requires_grad=True)

        def backward(y):
            y.backward()

    def run(n):
        a, b = leaf(1.0), leaf(1e-6)
        # Live objects after a first small pass: what the library keeps for good is there.
        backward(a * a + b)
        a.grad = b.grad = None
        left, memory = counts(side), machine.resident()
        clock = [time.perf_counter()]
        y = a
        for _ in range(n):
            y = y * a + b
        clock.append(time.perf_counter())
        held = machine.resident() - memory
        backward(y)
        clock.append(time.perf_counter())
        gradient = b.grad.item()
        y = a * 0 + b  # an unplayed chain dies as a whole
        for _ in range(n):
            y = y * a + b
        clock.append(time.perf_counter())
        del y
        clock.append(time.perf_counter())
        a.grad = b.grad = None
        left = {k: v - left[k] for k, v in counts(side).items()}
        spans = [y - x for x, y in zip(clock, clock[1:], strict=False)]
        return {
            "build": spans[0], "play": spans[1], "free": spans[3],
            "held": held, "gradient": gradient, "left": left,
        }  # fmt: skip

    return run


# Programs -----------------------------------------------------------------------------------------

TRACING, RUNNING = 1.3, 1.0  # of the eager peak
INFERENCE = {
    "ResNet-50, batch 8": lambda: dataclasses.replace(
        networks.resnet50(), input=(8, 3, 224, 224), labels=(8,)
    ),
    "BERT-base, 128 words": networks.bert_base,
}
TRAINING = {"ResNet-50, batch 4, a training step": networks.resnet50}
MODEL = "DYGRAPH_BENCH_MODEL"  # names the folder of a saved program


def peaks(work):
    """run(n): the most that n calls take above the import, by the system and by the allocator."""

    def run(n):
        import dygraph

        dygraph.memory.reset_peak()
        machine.restart_peak()
        for _ in itertools.repeat(None, n):
            work()
        return {
            "resident": machine.resident("VmHWM") - BARE,
            "allocator": dygraph.memory.peak(),
        }

    return run


BARE = 0  # resident bytes after the import


def imported(setup):
    """A case whose figures count from the import on."""

    def case():
        global BARE
        import ours  # noqa: F401

        BARE = machine.resident()
        return peaks(setup())

    return case


def evaluated(network):
    """The network in evaluation mode and its input."""
    import ours

    import dygraph

    net = ours.Chain(network.layers)
    net.eval()
    return net, dygraph.to_variable(networks.data(network)[0])


def inference(make, how):
    """work() of a network that answers, without a tape as a service would run it."""

    def setup():
        import dygraph

        if how == "load":
            traced = dygraph.jit.load(os.environ[MODEL])
            x = dygraph.to_variable(networks.data(make())[0])
            return lambda: traced(x)
        net, x = evaluated(make())

        def trace():
            with dygraph.no_grad():
                return dygraph.jit.trace(net, [x])[1]

        def call():
            with dygraph.no_grad():
                net(x)

        if how == "run":  # as a service would: the network is no longer there
            traced = trace()
            del net, call, trace
            return lambda: traced(x)
        if how == "save":
            return lambda: trace().save(os.environ[MODEL])
        return {"eager": call, "trace": trace}[how]

    return setup


def training(make, how):
    """work() of a step that trains."""

    def setup():
        import ours

        import dygraph

        step, inputs = ours.step_of(make())

        def trace():
            return dygraph.jit.trace(step, inputs)[1]

        if how == "run":
            traced = trace()
            return lambda: traced(*inputs)
        return {"eager": lambda: step(*inputs), "trace": trace}[how]

    return setup


def programs():
    found = {}
    for setup, networks_of in ((inference, INFERENCE), (training, TRAINING)):
        for name, make in networks_of.items():
            for how in ("eager", "trace", "run", "save", "load"):
                found[f"{how} {name}"] = imported(setup(make, how))
    return found


class Cases(dict):
    def __missing__(self, side):
        self[side] = {"chain": functools.partial(chain, side)}
        self[side]["steps"] = functools.partial(steps, side, networks.mlp)
        if side == "ours":
            self[side].update(programs())
        return self[side]


def flat(table, total):
    with peer.Side(__file__, "ours") as us:
        us.run("steps", 200)  # caches fill
        seen = [us.run("steps", max(1, total // ROUNDS))[1] for _ in range(ROUNDS)]
    for what in ("variables", "blocks", "bytes"):
        spread = max(s[what] for s in seen) - min(s[what] for s in seen)
        table.add(f"{total} steps: change in live {what}", spread, most=0, form=str)
    growth = max(s["resident"] for s in seen) - seen[0]["resident"]
    table.add(
        f"{total} steps: growth of resident memory", growth, most=GROWTH, form=report.megabytes
    )


def chains(table):
    result = {}
    for side in ("ours", "torch"):
        with peer.Side(__file__, side, threads=1) as worker:
            result[side] = worker.run("chain", LINKS)[1]
    o, t = result["ours"], result["torch"]
    for what in ("build", "play", "free"):
        table.add(f"chain of {2 * LINKS} operators: {what}", o[what], t[what])
    table.add("  memory it holds", o["held"], t["held"], form=report.megabytes)
    for what, left in o["left"].items():
        table.add(f"  live {what} left over", left, most=0, form=str)


def most(case, calls):
    """The peaks of a case, in a process of its own."""
    with peer.Side(__file__, "ours") as us:
        return us.run(case, calls)[1]


def program_rows(table):
    calls = {"eager": 3, "trace": 1, "run": 3, "load": 3}
    words = {"trace": "tracing", "run": "its program, where it was traced", "load": "loaded"}
    for name in (*INFERENCE, *TRAINING):
        with tempfile.TemporaryDirectory() as folder:
            os.environ[MODEL] = folder
            kinds = ["eager", "trace", "run"]
            if name in INFERENCE:
                most(f"save {name}", 1)
                kinds.append("load")
            peak = {how: most(f"{how} {name}", calls[how]) for how in kinds}
        for how in kinds[1:]:
            for what in ("resident", "allocator"):
                table.add(
                    f"{name}: {words[how]}, {what}", peak[how][what], peak["eager"][what],
                    share=TRACING if how == "trace" else RUNNING, form=report.megabytes,
                    peer_name="eager",
                )  # fmt: skip


def main(arguments):
    table = report.Report(
        "memory", "Memory of training, of long graphs and of programs", peer="torch, or eager"
    )
    if not arguments.programs:
        flat(table, arguments.steps)
        chains(table)
    program_rows(table)
    if arguments.programs:  # the other rows stay as they are kept
        measured = [row["what"] for row in table.rows]
        kept = [row["what"] for row in report.kept_rows("memory")]
        table.order = [what for what in kept if what not in measured] + measured
    table.finish()


if __name__ == "__main__":
    if not peer.worker(Cases()):
        parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
        parser.add_argument("steps", nargs="?", type=int, default=10_000)
        parser.add_argument("--programs", action="store_true")
        main(parser.parse_args())
