"""Jobs of several real processes, which tests start with mpiexec on this machine."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

__all__ = ["Job", "start_job"]

_PROLOGUE = """\
import json, os, pathlib
import numpy as np
import dygraph
from dygraph import distributed
comm = distributed.init()
result = None
"""
_EPILOGUE = """
pathlib.Path(os.environ["JOB_RESULTS"], f"{comm.rank}.json").write_text(json.dumps(result))
"""
MPIEXEC = pathlib.Path(sys.executable).with_name("mpiexec")


class Job:
    """What a job left: its exit status, its texts, and ``results``, what each rank put into
    `result`, by rank; None for a rank that did not come to its end.
    """

    def __init__(self, code, out, err, results):
        self.code, self.out, self.err, self.results = code, out, err, results


def start_job(ranks, script, folder, *, env=None, options=(), timeout=90):
    """Run a script on `ranks` processes. It finds numpy as np, dygraph, distributed and comm, and
    puts what JSON can hold into `result`.

    Parameters
    ----------
    ranks : int
    script : str
    folder : pathlib.Path
        An empty folder, such as pytest's tmp_path.
    env : dict of str, optional
        Further environment variables.
    options : sequence of str
        Further arguments of mpiexec.
    timeout : float
        Seconds; the whole job is killed after them and the test fails.

    Returns
    -------
    Job
    """
    if not MPIEXEC.exists():
        pytest.fail("jobs need an mpiexec beside Python: pip install 'dygraph-autograd[mpi]'")
    results = folder / "results"
    results.mkdir(exist_ok=True)
    path = folder / "script.py"
    path.write_text(_PROLOGUE + textwrap.dedent(script) + _EPILOGUE)
    command = [MPIEXEC, *options, "-n", str(ranks), sys.executable, "-m", "mpi4py", path]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "JOB_RESULTS": str(results), **(env or {})}
    process = subprocess.Popen(
        list(map(str, command)), env=environment, text=True, cwd=folder, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        out, err = process.communicate()
        pytest.fail(f"the job must end within {timeout} s\n{out}\n{err}")
    found = [results / f"{rank}.json" for rank in range(ranks)]
    texts = [json.loads(p.read_text()) if p.exists() else None for p in found]
    return Job(process.returncode, out, err, texts)
