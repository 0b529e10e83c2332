"""Training steps with 1 to 8 compute threads, quiet and beside a process that computes without end,
and what a parallel loop costs.

    python benchmarks/threads.py [seconds for each figure] [part of a row's name]

A figure is the mean of a step, for what a disturbed step loses shows in few of them. "Worst" is the
largest mean over the least of a line. More threads than cores should cost nothing.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import machine
import networks
import report

COUNTS = (1, 2, 3, 4, 8)
ROWS = ("MLP", "LeNet", "Sparse", "sequences")
LOOP = 1 << 16  # additions: as few as two threads share


def step_times(name, seconds):
    """Seconds of each step, after some untimed ones."""
    import ours

    step = ours.trained(networks.NETWORKS[name]())
    for _ in range(10):
        step()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return times


def loop_times(pause):
    """Seconds of a short loop: called again and again, or after threads have gone to sleep."""
    import numpy as np

    import dygraph

    x = dygraph.to_variable(np.ones(LOOP, "float32"))
    times = []
    for _ in range(50 if pause else 2000):
        time.sleep(pause)
        start = time.perf_counter()
        x + x
        times.append(time.perf_counter() - start)
    return times[len(times) // 10 :]


def measure(threads, what, *arguments):
    """What a function of this file gives in a process with this number of threads."""
    code = f"import json, threads; print(json.dumps(threads.{what}(*{arguments!r})))"
    here = Path(__file__).resolve().parent
    environment = {
        **os.environ,
        "FLAGS_num_threads": str(threads),
        "PYTHONPATH": os.pathsep.join([str(here.parent), str(here)]),
    }
    environment.pop("OMP_NUM_THREADS", None)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def mean(times):
    return sum(times) / len(times)


def table(title, names, seconds):
    print(f"\n{title:<42}" + "".join(f"{n:>9}" for n in COUNTS) + "    worst")
    for name in names:
        means = [mean(measure(n, "step_times", name, seconds)) for n in COUNTS]
        cells = "".join(f"{report.seconds(m):>9}" for m in means)
        print(f"{name:<42}{cells}{max(means) / min(means):9.2f}")


def main(arguments):
    names = [n for n in networks.NETWORKS if n not in networks.GROWTH]
    names = [n for n in names if any(part in n for part in ROWS)]
    names = [n for n in names if arguments.part.lower() in n.lower()]
    print(report.machine())
    for what, pause in (("again and again", 0), ("after 5 ms of sleep", 0.005)):
        medians = [statistics.median(measure(n, "loop_times", pause)) for n in (1, 2)]
        one, two = (report.seconds(m) for m in medians)
        print(f"A loop over {LOOP} numbers, {what}: one thread {one}, two {two}")
    table("Quiet, threads:", names, arguments.seconds)
    with machine.neighbour():
        table("Beside a busy process, threads:", names, arguments.seconds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seconds", nargs="?", type=float, default=2)
    parser.add_argument("part", nargs="?", default="")
    main(parser.parse_args())
