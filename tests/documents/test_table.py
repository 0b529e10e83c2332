"""The table of the documents names tests that are there."""

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def named():
    """(path or None, test or None) of everything in backquotes that is a test or a file."""
    for line in (HERE / "README.md").read_text().splitlines():
        for part in line.split("|")[3:4]:
            for piece in part.split(";"):
                found = re.findall(r"`([^`]+)`", piece)
                files = [f for f in found if "/" in f]
                tests = [t for t in found if t.startswith("test_")]
                for test in tests:
                    yield (files[0] if files else None), test
                if files and not tests:
                    yield from ((f, None) for f in files)


def test_every_named_test_is_there():
    own = "".join(p.read_text() for p in HERE.glob("test_*.py"))
    rows = list(named())
    assert len(rows) > 50
    for path, test in rows:
        if path is not None:
            assert (ROOT / path).exists(), path
        if test is not None:
            text = own if path is None else (ROOT / path).read_text()
            assert f"def {test}(" in text, (path, test)


def test_every_test_is_named():
    """By itself, or by its file."""
    text = (HERE / "README.md").read_text()
    for path in HERE.glob("test_*.py"):
        if path != Path(__file__).resolve() and f"/{path.name}`" not in text:
            for test in re.findall(r"^def (test_\w+)\(", path.read_text(), re.MULTILINE):
                assert f"`{test}`" in text, (path.name, test)
