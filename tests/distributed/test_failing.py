"""Jobs of `dygraph.distributed.run` that fail, each in its way: all ranks end, with a text."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

RUN = [sys.executable, "-m", "dygraph.distributed.run"]
PROLOGUE = """\
import os, sys, time
import numpy as np
import dygraph
from dygraph import distributed
comm = distributed.init()
open(f"pid.{comm.rank}", "w").write(str(os.getpid()))
comm.barrier()
"""


def begin(folder, script, *options, ranks=2):
    (folder / "train.py").write_text(PROLOGUE + textwrap.dedent(script))
    command = [*RUN, "-n", str(ranks), *options, "train.py", "an argument"]
    return subprocess.Popen(
        command, cwd=folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def run(*arguments, **more):
    """Exit status, output and errors of a job."""
    process = begin(*arguments, **more)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def pids(folder, ranks=2):
    """The processes of the ranks, once all have written theirs."""
    paths = [folder / f"pid.{rank}" for rank in range(ranks)]
    wait_until(lambda: all(p.exists() and p.read_text() for p in paths))
    return [int(p.read_text()) for p in paths]


def wait_until(true, seconds=20):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_rank_that_raises_ends_all_with_one_text(tmp_path):
    script = """
    if comm.rank == 1:
        raise RuntimeError("the data are gone")
    time.sleep(60)
    """
    code, _, err = run(tmp_path, script)
    assert code == 1 and err.count("RuntimeError: the data are gone") == 1
    assert "rank 1 of 2: Traceback" in err and "runpy" not in err and "mpi4py" not in err


def test_an_error_on_all_ranks_is_told_once(tmp_path):
    script = """
    comm.barrier() if comm.rank else comm.all_reduce(np.ones(2))
    """
    code, _, err = run(tmp_path, script)
    assert code == 1 and err.count("all ranks must make the same call") == 1
    assert "rank 0: all_reduce(sum) of float64 [2]\n  rank 1: barrier" in err


def test_a_rank_that_leaves_with_a_status_ends_all_with_it(tmp_path):
    script = """
    assert sys.argv[1:] == ["an argument"] and os.environ["DYGRAPH_RESTART"] == "0"
    if comm.rank == 1:
        sys.exit(3)
    time.sleep(60)
    """
    code, _, err = run(tmp_path, script)
    assert code == 3 and "rank 1 of 2: the program ended with exit status 3" in err


def test_a_rank_that_leaves_early_is_named(tmp_path):
    script = """
    if comm.rank == 1:
        sys.exit(0)
    comm.all_reduce(np.ones(2))
    """
    code, _, err = run(tmp_path, script)
    assert code == 1
    assert "rank 0: all_reduce(sum) of float64 [2]\n  rank 1: the end of the program" in err


def test_a_killed_rank_ends_all_within_seconds(tmp_path):
    script = """
    time.sleep(60)
    """
    job = begin(tmp_path, script)
    ranks = pids(tmp_path)
    begun = time.monotonic()
    os.kill(ranks[1], signal.SIGKILL)
    job.communicate(timeout=20)
    assert job.returncode == 128 + signal.SIGKILL and time.monotonic() - begun < 15
    wait_until(lambda: not any(map(alive, ranks)), 5)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_rank_outlives_the_launcher(number, tmp_path):
    script = """
    try:
        time.sleep(60)
    finally:
        open(f"left.{comm.rank}", "w").close()
    """
    job = begin(tmp_path, script)
    ranks = pids(tmp_path)
    time.sleep(0.2)  # past the barrier
    job.send_signal(number)
    _, err = job.communicate(timeout=20)
    wait_until(lambda: not any(map(alive, ranks)), 5)
    if number == signal.SIGINT:  # a Ctrl-C: finally clauses run
        assert job.returncode == 130 and "interrupted" in err
        assert any((tmp_path / f"left.{rank}").exists() for rank in range(2))
    else:
        assert job.returncode == -signal.SIGKILL


def test_a_hanging_rank_is_named_by_those_that_wait(tmp_path):
    script = """
    if comm.rank == 1:
        time.sleep(60)
    if comm.rank == 2:
        comm.recv(1, tag=5)
    comm.all_reduce(np.ones(2))
    """
    code, _, err = run(tmp_path, script, "--timeout", "1", ranks=3)
    assert code == 1
    assert "WaitTimeoutError: all_reduce(sum) of float64 [2]: another rank must arrive" in err
    assert "  rank 1: does not wait in any call\n" in err
    assert "  rank 2: waits in recv(source=1, tag=5)" in err


def test_a_rank_that_stops_inside_of_mpi_is_ended(tmp_path):
    # Without the agreement that comes first in every call: as if rank 1 had stopped after it.
    script = """
    if comm.rank == 1:
        time.sleep(60)
    comm._transport.broadcast(np.ones(100_000), 1)
    """
    code, _, err = run(tmp_path, script, "--timeout", "0.5")
    assert code == 1
    assert "rank 0 of 2: WaitTimeoutError: broadcast has begun on all ranks, but MPI" in err


RESUMED = """
comm = distributed.init(timeout=20)
start = int(os.environ["DYGRAPH_RESTART"])
w = dygraph.Parameter(np.zeros(3, "float64"), name="w")
class Net(dygraph.Layer):
    def __init__(self):
        super().__init__()
        self.w = w
net = Net()
optimizer = dygraph.optimizer.Momentum(0.1, 0.9, parameter_list=net.parameters())
step = 0
if os.path.exists("last.ckpt"):
    step = dygraph.checkpoint.load("last.ckpt", net, optimizer).step
while step < 6:
    target = dygraph.to_variable(np.full(3, 10.0 * step + comm.rank))
    ((net.w - target) ** 2).sum().backward()
    comm.all_reduce(net.w.grad, "mean")
    if start == 0 and step == 2 and comm.rank == 1:
        os.kill(os.getpid(), 9)  # inside of a step
    optimizer.step()
    optimizer.clear_grad()
    if start == 1 and step == 4 and comm.rank == 0:
        raise RuntimeError("after the update, before the checkpoint")
    step += 1
    if comm.rank == 0:
        dygraph.checkpoint.save("last.ckpt", net, optimizer, step=step)
    comm.barrier()
np.save(f"w.{comm.rank}.npy", net.w.numpy())
"""


def test_a_restarted_job_counts_each_step_once(tmp_path):
    code, _, err = run(tmp_path, RESUMED, "--max-restarts", "2")
    assert code == 0, err
    assert "run: start 1 ended with exit status 137" in err
    assert "run: start 2 ended with exit status 1" in err and "next one begins in 2 s" in err
    w = velocity = np.zeros(3)
    for step in range(6):
        gradient = np.mean([2 * (w - (10.0 * step + rank)) for rank in range(2)], axis=0)
        velocity = 0.9 * velocity + gradient
        w = w - 0.1 * velocity
    for rank in range(2):
        np.testing.assert_allclose(np.load(tmp_path / f"w.{rank}.npy"), w, rtol=1e-12)


def test_a_job_that_fails_each_time_is_given_up_with_its_last_text(tmp_path):
    script = """
    if comm.rank:
        raise ValueError(f"no data at start {os.environ['DYGRAPH_RESTART']}")
    """
    code, _, err = run(tmp_path, script, "--max-restarts", "1")
    assert code == 1
    last = err.strip().split("\n")[-1]
    assert last.startswith("run: start 2 ended with exit status 1 after ")
    assert last.endswith("it was the last one. rank 1 of 2: ValueError: no data at start 1")


def test_a_module_with_threads_and_prefixes(tmp_path):
    (tmp_path / "worker.py").write_text(
        "import json, os, sys\nfrom dygraph import distributed\n"
        "print(json.dumps([distributed.init().size, sys.argv[1:], os.environ['OMP_NUM_THREADS']]))"
    )
    unset = ("OMP_NUM_THREADS", "PYTHONSAFEPATH")  # the latter hides modules of the folder
    environment = {k: v for k, v in os.environ.items() if k not in unset}
    done = subprocess.run(
        [*RUN, "--nproc_per_node", "2", "--prefix-output", "-m", "worker", "-n", "x"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    threads = str(max(1, len(os.sched_getaffinity(0)) // 2))
    lines = sorted(done.stdout.split("\n"))[-2:]
    assert [line[:3] for line in lines] == ["[0]", "[1]"]
    assert json.loads(lines[0][3:]) == [2, ["-n", "x"], threads]
