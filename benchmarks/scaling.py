"""How training grows with the number of ranks: a simulator, its check, and a measurement.

    python benchmarks/scaling.py              the tables of docs/scaling.md
    python benchmarks/scaling.py --check      published curves of other systems beside the simulator
    python benchmarks/scaling.py --measure    all_reduce between processes of this machine, fitted
    python benchmarks/scaling.py --write      both tables into docs/scaling.md

A step is simulated rank by rank: every rank draws its time of computation, a bucket of gradients is
ready when the last rank has it, the network carries one bucket at a time, and the step ends with
the last bucket. docs/scaling.md explains the model and where the published numbers come from.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import typing
from pathlib import Path

import numpy as np

PAGE = Path(__file__).resolve().parent.parent / "docs" / "scaling.md"
BACKWARD = 2 / 3  # of a step's computation
BUCKETS = 25
STEPS = 200


class Network(typing.NamedTuple):
    """``latency`` in seconds a message, ``bandwidth`` in bytes a second and direction."""

    latency: float
    bandwidth: float


class Job(typing.NamedTuple):
    """One rank's work in a step, and how its gradients travel.

    ``compute`` in seconds; ``size`` of the gradients in bytes; ``overlap``, the part of the
    backward pass during which gradients already travel; ``jitter``, the standard deviation of the
    computation from rank to rank and step to step, as a part of it.
    """

    compute: float
    size: float
    network: Network
    overlap: float = 1.0
    jitter: float = 0.01


def ring(ranks, size, network):
    """Seconds of an all_reduce in a ring: ``2 (n - 1) (latency + size / (n bandwidth))``."""
    return 2 * (ranks - 1) * (network.latency + size / (ranks * network.bandwidth))


def halves(ranks, size, network):
    """Seconds of recursive halving and doubling:
    ``2 ceil(log2 n) latency + 2 (n - 1) / n size / bandwidth``.
    """
    rounds = math.ceil(math.log2(ranks))
    return 2 * rounds * network.latency + 2 * (ranks - 1) / ranks * size / network.bandwidth


def servers(ranks, size, network, count, beside=False):
    """Seconds in which parameter servers take the gradients of all ranks and send the parameters.

    The busier of a rank's link, ``size`` in each direction, and a server's, ``ranks size / count``.
    Servers `beside` the ranks share their links, and their own part stays on the machine.
    """
    if ranks == 1:
        return 0.0
    rank, server = size, ranks * size / count
    if beside:  # one link carries gradients and parameters out, and as much in
        rank = server = (ranks - 1) * (size / ranks + size / count)
    return 2 * network.latency + max(rank, server) / network.bandwidth


def step(ranks, job, carry, seed=0, steps=STEPS):
    """Mean seconds of a step of synchronous training over `carry(ranks, bytes, network)`.

    The slowest of the ranks decides when a bucket is ready.
    """
    rng = np.random.RandomState(seed)
    slowest = job.compute * (1 + job.jitter * _largest(rng, ranks, steps))
    ready = slowest * (1 - BACKWARD * job.overlap)
    between = slowest * BACKWARD * job.overlap / BUCKETS
    transfer = carry(ranks, job.size / BUCKETS, job.network)
    end = ready
    for bucket in range(1, BUCKETS + 1):
        end = np.maximum(end, ready + bucket * between) + transfer
    return float(end.mean())


def _largest(rng, ranks, steps):
    """For each step the largest of `ranks` normal numbers, at least 0."""
    draws = [
        rng.standard_normal((steps, min(ranks - i, 1000))).max(1) for i in range(0, ranks, 1000)
    ]
    return np.maximum(np.max(draws, 0), 0) if ranks > 1 else np.zeros(steps)


def asynchronous(ranks, job, count):
    """Steps a second of all ranks together where none waits for another: ranks or servers limit."""
    alone = job.compute + 2 * (job.network.latency + job.size / job.network.bandwidth)
    return min(ranks / alone, count * job.network.bandwidth / job.size)


def useful(ranks, mean_life, save, restart):
    """The part of the time that is not lost to failures, and the best seconds between checkpoints.

    A rank fails once in `mean_life` seconds, a job of n ranks n times as often. Daly's interval:
    ``sqrt(2 save life) - save``; lost are the saving, half an interval a failure, and the restart.
    """
    life = mean_life / ranks
    interval = max(math.sqrt(2 * save * life) - save, save)
    lost = save / (interval + save) + (interval / 2 + restart) / life
    return max(0.0, 1 - lost), interval


# Published curves --------------------------------------------------------------------------------


class Curve(typing.NamedTuple):
    """Samples a second by the number of machines; ``samples`` of one machine in a step."""

    name: str
    size: float  # bytes of gradients
    samples: int
    measured: dict
    servers: dict | None = None


MB = 1e6
# TensorFlow 1, parameter servers on the 1 to 8 machines that compute, 8 K80 each, 10 Gbit/s.
TENSORFLOW = [
    Curve("ResNet-152, batch 32", 241 * MB, 256, {1: 146, 2: 291, 4: 565, 8: 981}, {8: 4}),
    Curve("ResNet-50, batch 64", 102 * MB, 512, {1: 378, 2: 751, 4: 1388, 8: 2744}),
    Curve("ResNet-50, batch 32", 102 * MB, 256, {1: 333, 2: 667, 4: 1180, 8: 2315}, {8: 4}),
    Curve("Inception V3, batch 64", 95 * MB, 512, {1: 229, 2: 459, 4: 902, 8: 1783}, {8: 6}),
    Curve("Inception V3, batch 32", 95 * MB, 256, {1: 219, 2: 427, 4: 820, 8: 1608}),
]
# Horovod under TensorFlow 1.15, 1 to 4 machines of 8 V100, InfiniBand of 100 Gbit/s.
HOROVOD = [
    Curve("BERT-base, batch 32", 440 * MB, 256, {1: 806.56, 2: 1090.20, 4: 1923.68}),
    Curve("ResNet-50, batch 128", 102 * MB, 1024, {1: 2721.98, 2: 5099.42, 4: 9514.64}),
]
# Horovod on 128 machines of 4 P100, 25 Gbit/s: efficiency at 512 GPUs; speed of one GPU alone.
HOROVOD_512 = [
    Curve("VGG-16, batch 64", 553 * MB, 256, {1: 4 * 154, 128: 0.68 * 512 * 154}),
    Curve("Inception V3, batch 64", 95 * MB, 256, {1: 4 * 142, 128: 0.90 * 512 * 142}),
]


def carried(curve, machines):
    """How the gradients of a curve travel: over its servers, or in a ring."""
    if curve in TENSORFLOW:
        count = (curve.servers or {}).get(machines, machines)
        return lambda n, size, network: servers(n, size, network, count, beside=True)
    return ring


def predicted(curve, machines, bandwidth, overlap, jitter):
    """Samples a second that the simulator gives a curve at a number of machines."""
    job = Job(
        curve.samples / curve.measured[1], curve.size, Network(3e-5, bandwidth), overlap, jitter
    )
    return machines * curve.samples / step(machines, job, carried(curve, machines))


def fitted(curve, line_rate):
    """Bandwidth, overlap and jitter with the smallest error on one curve."""
    choices = [
        (line_rate * part, overlap, jitter)
        for part in np.linspace(0.1, 1, 19)
        for overlap in (0.0, 0.25, 0.5, 0.75, 1.0)
        for jitter in (0.0, 0.01, 0.02)
    ]
    return min(choices, key=lambda c: max(abs(e) for _, _, _, e in errors(curve, c)))


def errors(curve, constants):
    """(machines, measured, predicted, relative error) beyond one machine."""
    rows = []
    for machines, measured in curve.measured.items():
        if machines > 1:
            guess = predicted(curve, machines, *constants)
            rows.append((machines, measured, guess, guess / measured - 1))
    return rows


SYSTEMS = [
    ("TensorFlow, parameter servers", TENSORFLOW, 1.25e9),
    ("Horovod, V100", HOROVOD, 12.5e9),
    ("Horovod, 512 P100", HOROVOD_512, 3.125e9),
]


def check():
    """The table of published and predicted speeds; the largest error of a prediction."""
    lines = [
        "| system | network | machines | published | simulated | error |",
        "|---|---|---:|---:|---:|---:|",
    ]
    worst = 0.0
    for name, curves, line_rate in SYSTEMS:
        constants = fitted(curves[0], line_rate)
        for curve in curves:
            for machines, measured, guess, error in errors(curve, constants):
                role = "fitted" if curve is curves[0] else "predicted"
                worst = max(worst, abs(error))
                lines.append(
                    f"| {name} | {curve.name} ({role}) | {machines} | {measured:,.0f} "
                    f"| {guess:,.0f} | {100 * error:+.1f} % |"
                )
    return "\n".join(lines), worst


# Tables ------------------------------------------------------------------------------------------


ETHERNET, FAST = Network(3e-5, 1.25e9), Network(5e-6, 12.5e9)
RANKS = (2, 8, 64, 512, 4096, 10_000)


def tables():
    """What the page shows: efficiency by ranks, networks and ways; failures."""
    lines = [
        "| ranks | ring, 10 Gbit/s | halves, 10 Gbit/s | halves, 100 Gbit/s "
        "| as many servers, 100 Gbit/s | 8 servers, 100 Gbit/s | asynchronous, 8 servers |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    slow, fast = Job(0.3, 102 * MB, ETHERNET), Job(0.3, 102 * MB, FAST)

    def efficiency(ranks, job, carry):
        return job.compute / step(ranks, job, carry)

    for ranks in RANKS:
        row = [
            efficiency(ranks, slow, ring),
            efficiency(ranks, slow, halves),
            efficiency(ranks, fast, halves),
            efficiency(ranks, fast, lambda n, size, net: servers(n, size, net, n)),
            efficiency(ranks, fast, lambda n, size, net: servers(n, size, net, 8)),
            asynchronous(ranks, fast, 8) * fast.compute / ranks,
        ]
        lines.append(f"| {ranks:,} | " + " | ".join(f"{100 * e:.0f} %" for e in row) + " |")
    lines += [
        "",
        "| ranks | mean time between failures | interval of checkpoints | useful time |",
        "|---:|---:|---:|---:|",
    ]
    for ranks in RANKS:
        part, interval = useful(ranks, 5 * 365 * 86400, 20, 300)
        life = 5 * 365 * 24 / ranks
        lines.append(
            f"| {ranks:,} | {life:,.1f} h | {interval / 60:.0f} min | {100 * part:.1f} % |"
        )
    return "\n".join(lines)


def write():
    """Put both tables into the page."""
    text = PAGE.read_text()
    for name, table in (("check", check()[0]), ("tables", tables())):
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{table}\n{end}{rest.split(end)[1]}"
    PAGE.write_text(text)


# Measurement -------------------------------------------------------------------------------------

_SCRIPT = """
import json, sys, time
import numpy as np
from mpi4py import MPI
import dygraph
comm, plain = dygraph.distributed.init("mpi"), MPI.COMM_WORLD
rows = []
for size in json.loads(sys.argv[1]):
    ours, theirs = np.ones(size // 4, "float32"), np.ones(size // 4, "float32")
    times = [[], []]
    for _ in range(31):
        for i, call in enumerate((
            lambda: comm.all_reduce(ours, "max"),
            lambda: plain.Allreduce(MPI.IN_PLACE, theirs, MPI.MAX),
        )):
            plain.Barrier()
            begin = time.perf_counter()
            call()
            times[i].append(time.perf_counter() - begin)
    rows.append([size, *(float(np.median(t[1:])) for t in times)])
if comm.rank == 0:
    print(json.dumps(rows))
"""


def measure(ranks=(2, 3, 4)):
    """Print times of all_reduce here and the latency and bandwidth that fit them."""
    sizes = [4, 4096, 65536, 1 << 20, 10 << 20, 32 << 20]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "measure.py")
        path.write_text(_SCRIPT)
        for count in ranks:
            mpiexec = Path(sys.executable).with_name("mpiexec")
            command = [mpiexec, "-n", str(count), sys.executable, path, json.dumps(sizes)]
            out = subprocess.run(
                command, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True,
                capture_output=True, text=True,
            ).stdout  # fmt: skip
            rows = json.loads(out.strip().splitlines()[-1])
            print(f"{count} ranks: bytes, Comm.all_reduce, MPI's own call, ratio")
            for size, ours, theirs in rows:
                times = f"{1e6 * ours:10.1f} us {1e6 * theirs:10.1f} us"
                print(f"  {size:>10,} {times} {ours / theirs:6.2f}")
            latency, rate = fit_line(rows, count)
            print(f"  latency {1e6 * latency:.1f} us, bandwidth {rate / 1e9:.2f} GB/s")


def fit_line(rows, ranks):
    """Latency and bandwidth of halving and doubling, by least squares of relative errors."""
    rounds, part = 2 * math.ceil(math.log2(ranks)), 2 * (ranks - 1) / ranks
    system = np.array([[rounds, part * size] for size, _, _ in rows])
    times = np.array([theirs for _, _, theirs in rows])
    latency, slope = np.linalg.lstsq(system / times[:, None], np.ones(len(rows)), rcond=None)[0]
    return latency, 1 / slope


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.measure:
        measure()
    elif options.check:
        table, worst = check()
        print(table)
        print(f"largest error {100 * worst:.1f} %")
        sys.exit(worst > 0.15)
    elif options.write:
        write()
    else:
        print(tables())


if __name__ == "__main__":
    main()
