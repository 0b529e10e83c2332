"""README.md: its example runs, its figures are those of benchmarks/results."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


EXAMPLES = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=["eager", "program", "to_static"])
def test_examples_run(example, tmp_path):
    file = tmp_path / "example.py"  # to_static reads the source
    file.write_text(f"import sys; sys.path.insert(0, {str(ROOT)!r})\n" + example)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_figures_are_the_measured_ones():
    shown = TEXT.split("<!-- figures:")[1].split("<!-- end of figures -->")[0]
    for kept in sorted((ROOT / "benchmarks" / "results").glob("*.md")):
        table = [line for line in kept.read_text().splitlines() if line.startswith("|")]
        assert "\n".join(table) in shown, f"{kept.name}: run python benchmarks/report.py"


def test_files_it_names_exist():
    for name in re.findall(r"`([\w/]+\.(?:md|py))`", TEXT):
        assert (ROOT / name).exists(), name
    for target in re.findall(r"`make ([\w-]+)`|^make ([\w-]+)", TEXT, re.MULTILINE):
        target = target[0] or target[1]
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), target
