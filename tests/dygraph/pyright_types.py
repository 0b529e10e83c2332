"""What pyright, which editors run, says about the programs in typing/: `make pyright`."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dygraph

ROOT = Path(dygraph.__file__).parents[1]
SAMPLES = Path(__file__).parent / "typing"


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """(name of the sample, line) -> [(severity, message)]; by the installed package."""
    folder = tmp_path_factory.mktemp("pyright")
    samples = [(folder / path.name) for path in sorted(SAMPLES.glob("*.py"))]
    for path in samples:
        path.write_text((SAMPLES / path.name).read_text())
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, cwd=folder, env=env)
    results: dict = {(path.name, 0): [] for path in samples}
    for one in json.loads(done.stdout)["generalDiagnostics"]:
        place = Path(one["file"]).name, one["range"]["start"]["line"] + 1
        results.setdefault(place, []).append((one["severity"], one["message"]))
    return results


def lines(name):
    return enumerate((SAMPLES / name).read_text().splitlines(), 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["revealed.py", "right.py", "training.py", "wrong.py"])
def test_errors_are_where_mypy_has_them(found, name):
    wanted = {i for i, line in lines(name) if "# error:" in line}
    wrong = {i for (n, i), all in found.items() if n == name and "error" in dict(all)}
    assert wrong == wanted, {i: found[name, i] for i in wrong - wanted}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["revealed.py", "training.py"])
def test_types_are_those_that_mypy_finds(found, name):
    seen = 0
    for i, line in lines(name):
        if kind := re.match(r"reveal_type.*  # (.*)", line):
            plain = re.sub(r"\b[a-z_]\w*\.(?=\w)", "", kind[1])  # pyright writes no modules
            said = [re.search(r'is "(.*)"$', text)[1] for _, text in found[name, i]]
            assert said == [plain] or (plain, said) == ("Any", ["Unknown"]), line
            seen += 1
    assert seen > 8
