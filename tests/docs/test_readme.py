"""README.md: its examples run, its figures and those of docs/benchmarks.md are the kept ones."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


EXAMPLES = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=["eager", "to_static"])
def test_examples_run(example, tmp_path):
    file = tmp_path / "example.py"  # to_static reads the source
    file.write_text(f"import sys; sys.path.insert(0, {str(ROOT)!r})\n" + example)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


RESULTS = ROOT / "benchmarks" / "results"


def table(text):
    return [[c.strip() for c in line.split("|")] for line in text.splitlines() if line[:1] == "|"]


def figures(text):
    return text.split("<!-- figures:")[1].split("<!-- end of figures -->")[0]


def test_the_page_of_benchmarks_shows_the_kept_figures():
    shown = figures((ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8"))
    for kept in sorted(RESULTS.glob("*.md")):
        lines = [line for line in kept.read_text().splitlines() if line.startswith("|")]
        assert "\n".join(lines) in shown, f"{kept.name}: run python benchmarks/report.py"


def test_ten_figures_are_kept_ones():
    kept = {
        (ours, peer, ratio, budget, met)
        for path in RESULTS.glob("*.md")
        for _, _, budget, ours, peer, ratio, met, *_ in table(path.read_text())
    }
    rows = table(figures(TEXT))[2:]
    assert len(rows) == 10
    for _, what, ours, peer, ratio, budget, met, _ in rows:
        peer = peer.rsplit(" (", 1)[0]
        assert (ours, peer, ratio, budget, met) in kept, f"{what}: run python benchmarks/report.py"


def test_it_is_short():
    assert len(TEXT.splitlines()) <= 110


def test_files_it_names_exist():
    for name in re.findall(r"`([\w/]+\.(?:md|py))`", TEXT):
        assert (ROOT / name).exists(), name
    for target in re.findall(r"`make ([\w-]+)`|^make ([\w-]+)", TEXT, re.MULTILINE):
        target = target[0] or target[1]
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), target
