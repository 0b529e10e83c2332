"""Memory: flat over many steps of a small network, a chain of a million operators.

    python benchmarks/memory.py [training steps]

The peaks of training steps are in `train.py`.
"""

import functools
import sys
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
    """run(n) does n training steps and tells resident memory and live objects after them."""
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


class Cases(dict):
    def __missing__(self, side):
        self[side] = {"chain": functools.partial(chain, side)}
        self[side]["steps"] = functools.partial(steps, side, networks.mlp)
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


def main(total):
    table = report.Report("memory", "Memory of training and of long graphs")
    flat(table, total)
    chains(table)
    table.finish()


if __name__ == "__main__":
    if not peer.worker(Cases()):
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
