"""Runs an example as a newcomer does: in a process of its own, from the root of the tree."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
OUT = ROOT / "examples" / "out"


def run(name, timeout=240):
    """What ``examples/<name>.py`` prints; it must end well."""
    result = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{name}.py")],
        cwd=ROOT,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def number_after(text, words):
    """The number that follows `words` in what an example printed."""
    return float(text.split(words)[1].split()[0].rstrip(","))


def wrote_picture(name):
    """True if the example left a PNG file of that name."""
    return (OUT / name).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
