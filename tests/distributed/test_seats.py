"""`Seats`: processes that mpiexec did not start become the ranks of a job, and end with it."""

import json
import os
import signal
import subprocess
import sys
import time

from dygraph import distributed

SCRIPT = """
import json, os, sys, time
import numpy as np
from dygraph import distributed
os.environ.update(json.loads(sys.argv[1]))
comm = distributed.init(timeout=2)
print(comm.rank, comm.all_reduce(np.array([comm.rank + 1.0, 2.0])).tolist(), flush=True)
if sys.argv[2] == "lost":
    if comm.rank == 1:
        time.sleep(60)
    comm.barrier()
"""


def start(seats, mode):
    return [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, json.dumps(seats.environment(rank)), mode],
            env={**os.environ, "OMP_NUM_THREADS": "1"}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for rank in range(seats.ranks)
    ]  # fmt: skip


def test_processes_of_any_parent_are_ranks():
    with distributed.Seats(3) as seats:
        workers = start(seats, "fine")
        texts = [worker.communicate(timeout=60) for worker in workers]
        assert [text[0] for text in texts] == [f"{rank} [6.0, 6.0]\n" for rank in range(3)], texts
    assert [worker.returncode for worker in workers] == [0, 0, 0]


def test_the_death_of_one_does_not_keep_the_others_waiting():
    with distributed.Seats(2) as seats:
        workers = start(seats, "lost")
        assert workers[1].stdout.readline() == "1 [3.0, 4.0]\n"
        begin = time.monotonic()
        workers[1].send_signal(signal.SIGKILL)
        _, err = workers[0].communicate(timeout=30)
    assert workers[0].returncode != 0 and time.monotonic() - begin < 15
    assert "WaitTimeoutError: barrier" in err and "rank 1: does not wait in any call" in err
    workers[1].communicate()


def test_seats_end_with_the_process_that_opened_them(tmp_path):
    script = "import json, os\nfrom dygraph import distributed\nseats = distributed.Seats(2)\n"
    script += "print(seats._process.pid, flush=True)\nos._exit(0)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    path, end = f"/proc/{int(done.stdout)}/stat", time.monotonic() + 10
    while os.path.exists(path) and ") Z " not in open(path).read():
        assert time.monotonic() < end
        time.sleep(0.05)
