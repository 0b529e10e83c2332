"""Scripts of Fluid, with changed import lines, and unchanged by ``python -m dygraph.fluid``.

They read MNIST from a folder of a test's own, which holds pictures that are easy to tell apart: the
digit d is a bright square at the place d.
"""

import gzip
import os
import re
import subprocess
import sys

import numpy as np
import pytest

SCRIPTS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "fluid_scripts")
ROOT = os.path.dirname(os.path.dirname(SCRIPTS))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home directory with MNIST's files, two of them packed."""
    home = tmp_path_factory.mktemp("home")
    folder = home / ".cache" / "paddle" / "dataset" / "mnist"
    folder.mkdir(parents=True)
    r = np.random.default_rng(0)
    for part, count in (("train", 320), ("t10k", 64)):
        labels = r.integers(0, 10, count).astype("uint8")
        images = r.integers(0, 40, (count, 28, 28)).astype("uint8")
        for image, d in zip(images, labels, strict=True):
            row, column = 4 + 10 * (d // 5), 1 + 5 * (d % 5)
            image[row : row + 6, column : column + 5] += 200
        head = np.array([2051, count, 28, 28], ">i4").tobytes()
        (folder / f"{part}-images-idx3-ubyte").write_bytes(head + images.tobytes())
        head = np.array([2049, count], ">i4").tobytes()
        packed = gzip.compress(head + labels.tobytes())
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(packed)
    return home


def run(home, *command, ok=True):
    path = {"PYTHONPATH": ROOT, "HOME": str(home), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, cwd=home,
        env={**os.environ, **path},
    )  # fmt: skip
    assert (done.returncode == 0) is ok, done.stderr[-2000:]
    return done.stdout if ok else done.stderr


LINES = {
    "import paddle.fluid as fluid": "import dygraph.static as fluid",
    "import paddle.v2.fluid as fluid": "import dygraph.static as fluid",
    "import paddle.v2 as paddle": "import dygraph.static as paddle",
    "import paddle\n": "import dygraph.static as paddle\n",
    "import paddle.fluid.core as core": "import dygraph.static.core as core",
    "from paddle.fluid.": "from dygraph.static.",
    "from paddle.v2.fluid import": "from dygraph.static import",
}


def both_ways(name, home, tmp_path, *arguments):
    """What the script prints unchanged, which is what it prints with changed import lines."""
    script = os.path.join(SCRIPTS, name)
    unchanged = run(home, "-m", "dygraph.fluid", script, *arguments)
    with open(script) as f:
        text = f.read()
    for line, ours in LINES.items():
        text = text.replace(line, ours)
    assert not re.search(r"^(import|from) paddle", text, re.M)
    changed = tmp_path / name
    changed.write_text(text)
    return unchanged, run(home, changed, *arguments)


@pytest.mark.parametrize("name", ["mnist_dygraph.py", "recognize_digits.py"])
def test_recognizes_digits(name, home, tmp_path):
    for out in both_ways(name, home, tmp_path, tmp_path / "saved"):
        losses = [float(v) for v in re.findall(r"(?:avg_loss is|avg_cost): ([\d.e-]+)", out)]
        accuracy = [float(v) for v in re.findall(r"acc(?: is)?: ([\d.]+)", out)]
        assert len(losses) == len(accuracy) >= 3
        assert losses[-1] < 0.5 * losses[0] and accuracy[-1] > 0.9
        assert "checkpoint loaded True" in out or name == "recognize_digits.py"


def test_layers_that_find_their_sizes(home, tmp_path):
    for out in both_ways("mnist_fc.py", home, tmp_path):
        losses = [float(v) for v in re.findall(r"loss ([\d.e-]+)", out)]
        assert len(losses) == 8 and losses[-1] < 0.2 * losses[0]


def test_the_documents_first_script(home, tmp_path):
    for out in both_ways("fit_a_line.py", home, tmp_path):
        losses = [float(v) for v in re.findall(r"pass \d (\S+)", out)]
        assert len(losses) == 5 and losses[-1] < losses[0]


def test_in_that_process_fluid_is_ours(tmp_path):
    (tmp_path / "helper.py").write_text("import paddle.fluid.layers as layers\n")
    (tmp_path / "script.py").write_text(
        """
import sys, dygraph.static.layers, helper, dygraph
from dygraph import static
import paddle, paddle.fluid as fluid, paddle.v2.fluid, paddle.fluid.layers, paddle.reader
from paddle.fluid.framework import Program
assert fluid is paddle.fluid is paddle.v2.fluid is static
assert paddle.fluid.layers is static.layers is helper.layers
assert Program is static.Program and paddle.reader is dygraph.reader
assert paddle.__version__ == fluid.__version__ == "1.8.5" and sys.argv[1:] == ["a", "--b"]
assert __name__ == "__main__" and fluid.dygraph.guard is dygraph.guard
for line in ("import paddle.nn", "import paddle.fluid.nothing", "paddle.tensor"):
    try:
        exec(line)
    except (ModuleNotFoundError, AttributeError) as error:
        print(error)
print("done")
"""
    )
    out = run(tmp_path, "-m", "dygraph.fluid", "script.py", "a", "--b")
    assert out.endswith("done\n")
    assert "No module named 'paddle.nn' in dygraph.fluid" in out
    assert "No module named 'paddle.fluid.nothing'" in out
    assert "module 'paddle' has no attribute 'tensor'" in out


def test_what_the_runner_refuses(tmp_path):
    assert "needs a script" in run(tmp_path, "-m", "dygraph.fluid", ok=False)
    beside = (
        "import sys, types; sys.modules['paddle'] = types.ModuleType('paddle'); "
        "from dygraph import fluid; fluid.install()"
    )
    text = run(tmp_path, "-c", beside, ok=False)
    assert "only in a process without Paddle" in text and "import dygraph.static as fluid" in text
    text = run(tmp_path, "-c", "import dygraph.fluid as fluid; fluid.layers", ok=False)
    assert "Write dygraph.static.layers" in text
    (tmp_path / "script.py").write_text("import paddle\nnext(paddle.dataset.mnist.train()())\n")
    text = run(tmp_path, "-m", "dygraph.fluid", "script.py", ok=False)
    assert "'train-images-idx3-ubyte' must be at '" in text and "nothing is downloaded" in text
