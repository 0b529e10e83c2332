"""The wheel of `make wheel`: what it holds, and that it runs in an empty environment."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MIB = 2**20

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel():
    found = sorted((ROOT / "dist").glob("*.whl"), key=os.path.getmtime)
    assert found, "there is no wheel in dist/. Run make wheel, or make test, which does"
    return found[-1]


def links(names, folder):
    """Links of installed distributions, and of what they require, instead of a download."""
    waiting, seen = list(names), set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            assert name not in names
            continue
        for top in {file.parts[0] for file in found.files} - {"..", "__pycache__"}:
            if not (folder / top).exists():
                os.symlink(found.locate_file(top), folder / top)
        required = (r for r in found.requires or () if "extra ==" not in r)
        waiting += [re.match(r"[\w.-]+", r)[0] for r in required]


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """Python of an environment with the wheel and what the example needs, and nothing else."""
    home = tmp_path_factory.mktemp("empty")
    venv.create(home, symlinks=True)
    (packages,) = home.glob("lib/python*/site-packages")
    links(["numpy", "scikit-learn", "tqdm", "matplotlib"], packages)
    python = home / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index", wheel],
        check=True, timeout=120, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )  # fmt: skip
    return python


@pytest.fixture
def folder(tmp_path):
    """A project of a user, who keeps files for the web in static/."""
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "style.css").write_text("")
    (tmp_path / "static" / "pages.py").write_text("mine = 3\n")
    return tmp_path


def run(python, folder, *arguments):
    hidden = ("PYTHONPATH", "PYTHONSAFEPATH", "PYTHONHOME")
    env = {k: v for k, v in os.environ.items() if k not in hidden}
    done = subprocess.run(
        [python, *arguments], capture_output=True, text=True, timeout=250, cwd=folder,
        env={**env, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_it_holds(wheel):
    assert re.fullmatch(
        r"dygraph_autograd-[\d.]+-cp3\d+-cp3\d+-manylinux_\d_\d+_x86_64.whl", wheel.name
    )
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (n for n in names if n.endswith(".dist-info/METADATA"))
        text = archive.read(metadata).decode()
        size = sum(f.file_size for f in archive.infolist())
    assert {n.split("/")[0] for n in names} <= {
        "dygraph", "dygraph_autograd.libs", os.path.dirname(metadata)
    }  # fmt: skip
    assert names >= {
        f"dygraph/{n}"
        for n in (
            "__init__.py", "__init__.pyi", "_core.pyi", "ops.pyi", "nn/__init__.pyi", "py.typed",
            "static/__init__.py", "static/layers/__init__.py",
            "include/op/op_registry.h", "libs/libdygraph.so",
        )
    }  # fmt: skip
    assert not [n for n in names if "test" in n.split("/")[1]]
    assert not [n for n in names if n.endswith(".pyc")]
    if "dygraph/libs/libdnnl.so.3" in names:
        assert "dygraph/libs/onednn/LICENSE" in names
    assert "\nName: dygraph-autograd\n" in text
    required = re.findall(r"^Requires-Dist: (.*)$", text, re.M)
    assert [r for r in required if "extra ==" not in r] == ["numpy"]
    assert size < 70 * MIB and wheel.stat().st_size < 20 * MIB


def test_it_checks_itself(python, folder):
    assert run(python, folder, "-m", "dygraph", "check").endswith("all is well\n")


def test_digits(python, folder):
    shutil.copy(ROOT / "examples" / "digits.py", folder)
    text = run(python, folder, "digits.py")
    assert "bit-identical" in text
    assert float(re.search(r"test accuracy ([\d.]+)", text)[1]) >= 0.98


def test_a_folder_named_static_stays_the_users(python, folder):
    code = """
import dygraph
import dygraph.static as fluid
import static, static.pages
from os import getcwd
assert list(static.__path__) == [getcwd() + "/static"] and static.pages.mine == 3
assert dygraph.static is fluid and "/site-packages/dygraph/static/" in fluid.__file__

import numpy as np
x = fluid.data("x", [None, 2])
y = fluid.layers.fc(x, 1, param_attr=fluid.initializer.Constant(2.0))
executor = fluid.Executor(fluid.CPUPlace())
executor.run(fluid.default_startup_program())
(out,) = executor.run(feed={"x": np.array([[1.0, 3.0]], "float32")}, fetch_list=[y])
assert out.tolist() == [[8.0]]
"""
    run(python, folder, "-c", code)


def test_onednn_and_openmp_are_its_own(wheel, python, folder):
    """Those of another package in the process, such as torch's libgomp, stay apart."""
    code = """
import dygraph
x = dygraph.ones([8, 16, 32, 32])
dygraph.nn.Conv2D(16, 32, 3)(x).numpy()
files = {line.split()[-1] for line in open("/proc/self/maps")}
print(*(f for f in files if "libgomp" in f or "libdnnl" in f))
"""
    files = run(python, folder, "-c", code).split()
    with zipfile.ZipFile(wheel) as archive:
        assert len(files) == sum("libdnnl" in n or "libgomp" in n for n in archive.namelist())
    assert all("/site-packages/dygraph" in file for file in files)


def test_types_are_found(python, folder):
    """mypy finds the wheel's stubs: no errors but those that the samples name."""
    samples = ROOT / "tests" / "dygraph" / "typing"
    for name in ("right.py", "wrong.py"):
        shutil.copy(samples / name, folder)
    command = [sys.executable, "-m", "mypy", "--python-executable", python, "right.py", "wrong.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, cwd=folder)
    found = set(re.findall(r"^(\w+\.py):(\d+): error:", done.stdout, re.M))
    lines = enumerate((samples / "wrong.py").read_text().splitlines(), 1)
    wanted = {("wrong.py", str(i)) for i, line in lines if "# error:" in line}
    assert found == wanted and len(wanted) > 20, done.stdout
