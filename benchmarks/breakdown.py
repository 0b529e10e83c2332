"""Where a training step of `train.py` spends its time, operator by operator, on both sides.

    python benchmarks/breakdown.py [part of a row's name] [steps]

Operators are split by the shapes of their inputs. Backward and update are calls like all others.
"""

import sys

import networks
import peer
import train

ROWS, WIDTH = 30, 150


def profiled(side, name, variant=""):
    """run(n) gives the table of n steps as text."""
    step = train.trained(side, networks.NETWORKS[name](), variant)
    for _ in range(3):
        step()

    def ours(n):
        import dygraph

        with dygraph.profiler.Profiler(record_shapes=True) as profiler:
            for _ in range(n):
                step()
        return table((row.total, row.calls, row.name) for row in profiler.summary())

    def torchs(n):
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
            for _ in range(n):
                step()
        averages = profiler.key_averages(group_by_input_shape=True)
        return table(
            (e.self_cpu_time_total / 1e3, e.count, f"{e.key} {[s for s in e.input_shapes if s]}")
            for e in averages
        )

    return ours if side == "ours" else torchs


def table(rows):
    """Text of (milliseconds, calls, name), the longest first."""
    rows = sorted(rows, reverse=True)
    total = sum(row[0] for row in rows)
    lines = [f"in all {total:.2f} ms"]
    for spent, calls, name in rows[:ROWS]:
        lines.append(f"{spent:9.2f} ms {spent / total:6.1%} {calls:6d} calls  {name[:WIDTH]}")
    return "\n".join(lines)


class Cases(dict):
    """A case for each name of a row, and of a variant."""

    def __init__(self, side):
        super().__init__()
        for name, make in networks.NETWORKS.items():
            for variant in [""] if side == "ours" else make().variants:
                self[train.with_variant(name, variant)] = lambda n=name, v=variant: profiled(
                    side, n, v
                )


def main(part, steps):
    for name in networks.named(part):
        for side in ("ours", "torch"):
            with peer.Side(__file__, side) as worker:
                for case in worker.ask()["cases"]:
                    if case.startswith(name):
                        print(f"{case}, {side}, {steps} steps\n{worker.run(case, steps)[1]}\n")


if __name__ == "__main__":
    if not peer.worker({side: Cases(side) for side in ("ours", "torch")}):
        part = sys.argv[1] if len(sys.argv) > 1 else ""
        main(part, int(sys.argv[2]) if len(sys.argv) > 2 else 3)
