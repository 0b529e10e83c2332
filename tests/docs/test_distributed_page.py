"""docs/distributed.md and the example: the lines run on two ranks."""

import os
import subprocess
import sys
from pathlib import Path

import plugins
from jobs import MPIEXEC, start_job

ROOT = Path(__file__).resolve().parents[2]
OWN = "A script becomes|What is averaged|Several passes|Sparse gradients|Scripts written|Looking"


def test_the_lines_of_data_parallel_run(tmp_path):
    text = (ROOT / "docs" / "distributed.md").read_text()
    sections = [s for s in text.split("\n## ") if s.startswith(tuple(OWN.split("|")))]
    assert len(sections) == 6
    script = "\n".join(b for s in sections for b in plugins.blocks(s, "python"))
    job = start_job(2, script, tmp_path)
    assert job.code == 0, job.err
    assert "Waiting ms" in job.out
    assert (tmp_path / "trace.json").exists()


def test_the_example_has_one_curve_on_one_and_two_ranks():
    command = [sys.executable, "-m", "mpi4py", ROOT / "examples" / "distributed_digits.py"]
    curves = []
    for start in ([], [MPIEXEC, "-n", "2"]):
        done = subprocess.run(
            [*start, *command, "--epochs", "1"], capture_output=True, text=True, timeout=60,
            env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        curves.append(done.stdout.splitlines()[0])
    assert curves[0] == curves[1] and curves[0].startswith("epoch 1: loss ")
