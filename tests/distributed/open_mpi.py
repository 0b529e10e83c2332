"""A rank dies, and the others go on: with Open MPI in the folder DYGRAPH_OPEN_MPI (make open-mpi).

MPICH, which the other tests use, does not implement ULFM.
"""

import json
import os
import pathlib
import subprocess
import sys

PREFIX = pathlib.Path(os.environ["DYGRAPH_OPEN_MPI"])
SCRIPT = """
import json, os, sys
import numpy as np
import dygraph
from dygraph import distributed

comm = distributed.init(timeout=20)
me, died = comm.rank, int(sys.argv[1])
w, step = np.zeros(4), 0
while step < 12:
    if me == died and step == 5:
        os.kill(os.getpid(), 9)
    gradient = np.full(4, float(step))
    try:
        comm.all_reduce(gradient, "mean")
        w += gradient
        step += 1
    except distributed.RankLostError:
        comm = comm.shrink()
        steps = [int(s) for s in comm.all_gather(step)]
        ahead = steps.index(max(steps))
        comm.broadcast(w, ahead)
        step = max(steps)
assert distributed.world() is comm
open(f"{me}.json", "w").write(json.dumps([comm.rank, comm.size, w.tolist()]))
"""


def run(folder, script, *arguments):
    (folder / "train.py").write_text(script)
    environment = {
        **os.environ, "PATH": f"{PREFIX / 'bin'}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1",
        "LD_LIBRARY_PATH": str(PREFIX / "lib"), "MPI4PY_MPIABI": "openmpi",
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }  # fmt: skip
    command = [sys.executable, "-m", "dygraph.distributed.run", "-n", "3", "--timeout", "20"]
    return subprocess.run(
        [*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip


def test_survivors_go_on(tmp_path):
    for died in (0, 1):
        done = run(tmp_path, SCRIPT, "--elastic", "train.py", str(died))
        assert done.returncode == 0, done.stderr
        living = [rank for rank in range(3) if rank != died]
        for number, rank in enumerate(living):
            path = tmp_path / f"{rank}.json"
            assert json.loads(path.read_text()) == [number, 2, [66.0] * 4]  # 0 + 1 + ... + 11
            path.unlink()
        assert not (tmp_path / f"{died}.json").exists()


def test_ends_of_other_kinds(tmp_path):
    script = """
import os, sys, time
from dygraph import distributed
comm = distributed.init()
comm.barrier()
if comm.rank == 1:
    if sys.argv[1] == "raise":
        raise RuntimeError("no data")
    if sys.argv[1] == "kill":
        os.kill(os.getpid(), 9)
    sys.exit(int(sys.argv[1]))
comm.barrier()
"""
    for mode, code, text in (
        ("raise", 1, "RuntimeError: no data"),
        ("kill", 137, "signal 9"),
        ("3", 3, "rank 1 of 3: the program ended with exit status 3"),
        ("0", 1, "rank 1: the end of the program"),
    ):
        done = run(tmp_path, script, "train.py", mode)
        assert done.returncode == code and text in done.stderr, (mode, done.stderr)
