"""Two ranks of one thread beside one process of two threads, and beside torch's DDP with gloo.

    python benchmarks/distributed.py [rounds] [part of a row's name]

The global batch is the same on all sides: a rank has one half of it. The losses of the first steps
are compared. Further rows: an all-reduce beside MPI's own call, and what `DataParallel` adds to a
step of one process.

A job's worker is its rank 0; it tells the other rank what to run. Both begin together, and rank 0
measures the time.
"""

import argparse
import functools
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import networks
import peer
import report

RANKS = 2
CHECKED_STEPS = 5
LOSS_TOLERANCE = 2e-3  # relative; sums are ordered differently
REDUCED = 10 << 20  # bytes
# By row: the network and the most that ours may take of one process's time.
ROWS = {
    "ResNet-18 for 32x32, batch 16, momentum": (networks.resnet18, 1 / 0.95),
    "Transformer encoder, 4 layers, AdamW": (networks.transformer, 1 / 0.95),
    "MLP 784-256-256-10, batch 64, SGD": (networks.mlp, 1 / 0.8),
    "MLP 784-256-256-10, batch 512, SGD": (
        lambda: networks.grown(networks.mlp, 512), 1 / 0.8,
    ),
}  # fmt: skip
DDP_SHARE, MPI_SHARE, ALONE_SHARE = 0.85, 1.2, 1.02


# Workers ------------------------------------------------------------------------------------------


def half_of(data, rank):
    """networks.data for one rank."""

    def part(network):
        inputs, labels = data(network)
        n = len(inputs) // RANKS
        return inputs[rank * n : (rank + 1) * n], labels[rank * n : (rank + 1) * n]

    return part


def timed(step, begin, mean):
    """run(n): [seconds of n steps, losses of few steps]; `begin` waits for all ranks."""

    def run(n):
        begin()
        start = time.perf_counter()
        losses = [step() for _ in range(n)] if n <= CHECKED_STEPS else []
        if not losses:
            for _ in range(n):
                step()
        seconds = time.perf_counter() - start
        return [seconds, mean([loss.item() for loss in losses if hasattr(loss, "item")])]

    return run


class OurRanks:
    """What a rank of our job needs: `tell` gives all of them the numbers of rank 0."""

    def __init__(self):
        import numpy as np

        import dygraph

        self.comm = dygraph.distributed.init()
        self.rank, self.size, self.np = self.comm.rank, self.comm.size, np

    def tell(self, numbers):
        return self.comm.broadcast(self.np.array(numbers, "int64")).tolist()

    def mean(self, values):
        return self.comm.all_reduce(self.np.array(values), "mean").tolist()

    def begin(self):
        self.comm.barrier()

    def trained(self, make):
        import ours

        import dygraph

        if self.size > 1:
            networks.data = half_of(DATA, self.rank)
        step, given, _ = ours.step_and_network(make(), dygraph.DataParallel)
        return timed(lambda: step(*given), self.begin, self.mean)

    def all_reduce(self):
        array = self.np.ones(REDUCED // 4, "float32")
        return timed(lambda: [self.comm.all_reduce(array, "max")], self.begin, self.mean)

    def raw(self):
        from mpi4py import MPI

        array = self.np.ones(REDUCED // 4, "float32")
        world = MPI.COMM_WORLD
        return timed(lambda: world.Allreduce(MPI.IN_PLACE, array, MPI.MAX), self.begin, self.mean)

    def cases(self):
        found = {name: functools.partial(self.trained, make) for name, (make, _) in ROWS.items()}
        return {**found, "all_reduce": self.all_reduce, "MPI": self.raw}


class TorchsRanks:
    """The same of a job of torch. The first process starts the other one."""

    def __init__(self, folder=None):
        import torch

        self.torch = torch
        self.rank, self.size = int(folder is not None), RANKS
        folder = folder or tempfile.mkdtemp()
        if self.rank == 0:
            command = [sys.executable, __file__, "--follow", folder]
            self.other = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        torch.set_num_threads(1)
        torch.distributed.init_process_group(
            "gloo", init_method=f"file://{folder}/store", rank=self.rank, world_size=RANKS
        )

    def tell(self, numbers):
        agreed = self.torch.tensor(numbers)
        self.torch.distributed.broadcast(agreed, 0)
        return agreed.tolist()

    def mean(self, values):
        total = self.torch.tensor(values)
        self.torch.distributed.all_reduce(total)
        return (total / RANKS).tolist()

    def begin(self):
        self.torch.distributed.barrier()

    def trained(self, make):
        import torchs

        networks.data = half_of(DATA, self.rank)
        wrap = self.torch.nn.parallel.DistributedDataParallel
        step = torchs.trained(make(), wrap=functools.partial(wrap, gradient_as_bucket_view=True))
        return timed(step, self.begin, self.mean)

    def cases(self):
        return {name: functools.partial(self.trained, make) for name, (make, _) in ROWS.items()}


DATA = networks.data
MAKE, RUN, END = range(3)


def serve(ranks):
    """Rank 0 answers the benchmark and tells the others, who follow."""
    cases = ranks.cases()
    names = sorted(cases)
    if ranks.rank:
        return follow(ranks, cases, names)

    def made(name):
        ranks.tell([MAKE, names.index(name), 0])
        run = cases[name]()

        def agreed(n):
            ranks.tell([RUN, names.index(name), n])
            return run(n)

        return agreed

    peer.serve({name: functools.partial(made, name) for name in names})
    ranks.tell([END, 0, 0])


def follow(ranks, cases, names):
    made = {}
    while True:
        what, case, n = ranks.tell([0, 0, 0])
        if what == END:
            return
        if what == MAKE:
            made[case] = cases[names[case]]()
        else:
            made[case](n)


def alone(make, wrapped):
    """run(n) of one process."""
    import ours

    import dygraph

    step, given, _ = ours.step_and_network(make(), dygraph.DataParallel if wrapped else None)
    return timed(lambda: step(*given), lambda: None, lambda losses: losses)


def alone_cases():
    found = {}
    for name, (make, _) in ROWS.items():
        for kind, wrapped in (("", False), (", DataParallel", True)):
            found[name + kind] = functools.partial(alone, make, wrapped)
    return found


class Job(peer.Side):
    """A side whose worker is a command of its own, and measures the time itself."""

    def __init__(self, name, command, threads):
        self.name, self.library = name, name
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
        if name == "torch":
            environment.pop("PYTHONPATH", None)
        else:
            environment["PYTHONPATH"] = str(peer.ROOT)
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.numbers, self.warm = {}, {}

    def run(self, case, number=1, warm=0):
        seconds, losses = self.ask(case=case, number=number, warm=warm)["value"]
        return seconds / number, losses


def sides():
    mpiexec = pathlib.Path(sys.executable).with_name("mpiexec")
    job = [mpiexec, "-n", str(RANKS), sys.executable, "-m", "mpi4py", __file__, "--worker", "job"]
    return [
        Job("ours", list(map(str, job)), 1),
        Job("one", [sys.executable, __file__, "--worker", "one"], RANKS),
        Job("torch", [peer.peer_python(), __file__, "--worker", "torch"], 1),
    ]


# The rows -----------------------------------------------------------------------------------------


def check_losses(workers, name):
    found = {side.name: side.run(name, CHECKED_STEPS)[1] for side in workers}
    for other in ("one", "torch"):
        if "norm" in str(ROWS[name][0]().layers):
            break  # statistics of half a batch are others than those of a whole one
        for o, p in zip(found["ours"], found[other], strict=True):
            if not abs(o - p) <= LOSS_TOLERANCE * abs(p):
                raise SystemExit(f"{name}: losses differ, {found}")


def in_turns(side, cases, rounds):
    """Median seconds of each of two cases of one side, and the median of their ratios."""
    times = {case: [] for case in cases}
    for _ in range(rounds + 1):  # the first one warms up
        for case in cases:
            times[case].append(side.time(case))
    first, second = (t[1:] for t in times.values())
    ratio = statistics.median(a / b for a, b in zip(first, second, strict=True))
    return statistics.median(first), statistics.median(second), ratio


def main(arguments):
    names = [n for n in ROWS if arguments.part.lower() in n.lower()]
    order = [f"{name}; {other}" for name in ROWS for other in ("one process", "torch DDP")]
    order += ["all-reduce of 10 MiB", *(f"DataParallel at one rank: {name}" for name in ROWS)]
    title = "Two ranks of one thread beside one process of two threads"
    table = report.Report("distributed", title, order=order, peer="peer")
    workers = sides()
    ours, one, _ = workers
    for name in names:
        check_losses(workers, name)
        medians, ratios = peer.interleave(workers, name, arguments.rounds)
        for side, called, share in (
            ("one", "one process", ROWS[name][1]), ("torch", "torch DDP", DDP_SHARE),
        ):  # fmt: skip
            table.add(
                f"{name}; {called}", medians["ours"], medians[side], ratios[side],
                round(share, 3), peer_name=called,
            )  # fmt: skip
    if arguments.part.lower() in "all-reduce of 10 mib":
        found = in_turns(ours, ["all_reduce", "MPI"], arguments.rounds)
        table.add("all-reduce of 10 MiB", *found, MPI_SHARE, peer_name="MPI's own")
    for name in names:
        found = in_turns(one, [f"{name}, DataParallel", name], arguments.rounds)
        table.add(
            f"DataParallel at one rank: {name}", *found, ALONE_SHARE, peer_name="the layer"
        )  # fmt: skip
    for side in workers:
        side.close()
    table.note("A ratio is the median of ratios of times within a round; below 1 ours is faster.")
    table.note(
        "On two cores nothing is free while a rank communicates, so every copy counts. The small "
        "MLP needs 0.6 ms for half of its batch on one thread, as for all of it on two, and 0.5 ms "
        "for copying, meeting and summing 1 MiB; with eight times the batch the sum costs nothing. "
        "Without communication the Transformer's half batch takes 0.87 of torch's time."
    )
    table.finish()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--follow"]:
        serve(TorchsRanks(sys.argv[2]))
    elif sys.argv[1:] == ["--worker", "one"]:
        peer.serve(alone_cases())
    elif sys.argv[1:2] == ["--worker"]:
        serve({"job": OurRanks, "torch": TorchsRanks}[sys.argv[2]]())
    else:
        parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
        parser.add_argument("rounds", nargs="?", type=int, default=30)
        parser.add_argument("part", nargs="?", default="")
        main(parser.parse_args())
