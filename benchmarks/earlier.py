"""This build beside an earlier one of ours: whether a change slowed what it was not to touch.

    python benchmarks/earlier.py FOLDER [rounds] [part of a name]

FOLDER is another checkout, in which an earlier commit was built. Both sides do what operators.py,
overhead.py, executor.py and train.py of this checkout measure, in turns, on one thread. Printed are
the ratios that lie outside 0.95 to 1.05, the slowest last, and the median of all. Equal code at
another address differs by some percent, and rarely by 40: callgrind's counts tell which it is.
"""

import statistics
import sys
from pathlib import Path

import executor
import operators
import overhead
import peer
import report
import train

NEAR = 0.05  # of 1: ratios that are not shown


def cases():
    steps = {name: make for name, make in train.cases()["ours"].items() if name[:5] != "peak "}
    return {
        **operators.cases("ours"),
        **{f"overhead: {name}": make for name, make in overhead.ours().items()},
        **{f"executor: {name}": make for name, make in executor.ours().items()},
        **{f"train: {name}": make for name, make in steps.items()},
    }


def main(folder, rounds, part):
    rows = []
    with (
        peer.Side(__file__, "ours", threads=1) as us,
        peer.Side(__file__, "earlier", threads=1, library="ours", root=folder) as earlier,
    ):
        for case in us.ask()["cases"]:
            if part not in case:
                continue
            try:
                earlier.run(case)
            except RuntimeError as error:
                print(f"left out, since the earlier build refuses it: {error}", flush=True)
                continue
            medians, ratios = peer.interleave([us, earlier], case, rounds)
            rows.append([f"{ratios['earlier']:.2f}", case, *map(report.seconds, medians.values())])
            us.forget(case)
            earlier.forget(case)
    rows.sort(key=lambda row: float(row[0]))
    shown = [row for row in rows if abs(float(row[0]) - 1) > NEAR]
    print(report.aligned(["ours / earlier", "case", "ours", "earlier"], shown))
    median = statistics.median(float(row[0]) for row in rows)
    print(f"{len(rows)} cases, median {median:.3f}")


if __name__ == "__main__":
    if "--worker" in sys.argv[1:2]:
        peer.serve(cases())
    else:
        main(
            Path(sys.argv[1]).resolve(),
            int(sys.argv[2]) if len(sys.argv) > 2 else 7,
            sys.argv[3] if len(sys.argv) > 3 else "",
        )
