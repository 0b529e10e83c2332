"""docs/deployment.md is right: its Python, C and shell lines run."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import plugins
from dygraph import inference

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "deployment.md").read_text()


def run(command, folder, **more):
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_reader_gets_the_numbers_of_python_in_c(tmp_path):
    (python,) = plugins.blocks(TEXT, "python")
    (program,) = plugins.blocks(TEXT, "c")
    run([sys.executable, "-c", python], tmp_path)
    (tmp_path / "net.c").write_text(program)
    shell = plugins.blocks(TEXT, "sh")[0].replace("python -c", f"{sys.executable} -c")
    output = run(["bash", "-ec", shell + "\n./net"], tmp_path, env={**os.environ})
    wanted = inference.Predictor(tmp_path / "model").run([np.ones((1, 4), "float32")])[0][0]
    np.testing.assert_allclose([float(n) for n in output.split()], wanted, rtol=1e-5)
