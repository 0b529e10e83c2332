"""The report of a device runs on the pretended one, in a reduced form, so that it never rots."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import cuda_library

REPORT = Path(__file__).resolve().parent / "report.py"
pytestmark = [
    pytest.mark.skipif(
        not (cuda_library.PRETENDED / "libdygraph_cuda.so").exists(),
        reason="the pretended library is not built",
    ),
    pytest.mark.skipif(os.environ.get("DYGRAPH_REPORT") == "1", reason="part of a report"),
]


def run(out, *arguments, **environment):
    done = subprocess.run(
        [sys.executable, REPORT, out, *arguments], capture_output=True, text=True, timeout=240,
        env={**os.environ, **environment},
    )  # fmt: skip
    return done, json.loads((out / "report.json").read_text())


def test_all_stages_run(tmp_path):
    done, report = run(tmp_path, "--pretended")
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(report) == [str(i) for i in range(1, 9)]
    assert report["2"]["facts"]["name"].startswith("pretended")
    assert report["3"]["relu of 8x8, us"] > 0
    assert "passed" in report["4"]["last line"] and "passed" in report["5"]["last line"]
    assert any(line.startswith("a + b, 8x8") for line in report["7"]["output"])
    assert report["8"]["mlp"]["first"] == report["8"]["mlp"]["last"]


def test_without_a_device_stages_say_so_and_those_asked_for_join_the_report(tmp_path):
    done, _ = run(tmp_path, "--pretended", "--stages", "2", PRETEND_CUDA_DEVICES="0")
    assert done.returncode == 0, done.stdout + done.stderr
    done, report = run(tmp_path, "--pretended", "--stages", "3,8", PRETEND_CUDA_DEVICES="0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [report[n].get("no device") for n in "238"] == [True] * 3


def test_a_stage_that_fails_is_told_and_the_next_one_runs(tmp_path):
    done, report = run(tmp_path, "--pretended", "--stages", "3,2", PRETEND_CUDA_FAIL="40:9")
    assert done.returncode == 1
    assert "cudaErrorInvalidConfiguration" in report["3"]["output"]
    assert report["3"]["failed"] and "facts" in report["2"]
