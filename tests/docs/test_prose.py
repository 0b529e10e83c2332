"""Pages keep to 100 columns, and the files and names of `dygraph` that they mention exist."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ["", "benchmarks", "csrc", "csrc/operators", "docs", "dygraph", "examples", "static"]
FOLDERS += ["tests", "tests/documents", "tests/interop"]
PAGES = sorted(
    path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).glob("*.md")
)
# Files that a reader of the page makes, or that a run or a build makes.
MADE = re.compile(
    r"squared_relu|drop_unit_scale|relu_op\.cu|examples/out/|golden/|\.libs/|^array_api"
)
SUITE = {"test_constants.py", "test_fft.py", "test_signatures.py"}  # of array-api-tests
PATH = re.compile(r"[\w.*-]+/[\w./*-]*|[\w-]+\.(?:py|cc|h|md|json|txt)")
NAME = re.compile(
    r"(?<![\w./])(?:dygraph|static|jit|nn|layers)(?:\.(?!(?:cc|py|so|NAME)\b)[A-Za-z]\w*)+"
)


def prose(text):
    """(number, line) of what is neither code nor a row of a table."""
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            code = not code
        elif not code and not line.startswith("|"):
            yield number, line


def quoted(page):
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(), flags=re.S | re.M)
    return sorted(set(re.findall(r"`([^`\n]+)`", text)))


def exists(path):
    if "/" not in path:
        return any(True for folder in FOLDERS[1:] for _ in (ROOT / folder).rglob(path)) or (
            (ROOT / path).exists()
        )
    return any(True for folder in FOLDERS for _ in (ROOT / folder).glob(path.rstrip("/")))


def found(name):
    first, *rest = name.split(".")
    rooms = {"static": "dygraph.static", "layers": "dygraph.static.layers"}
    rooms |= {"jit": "dygraph.jit", "nn": "dygraph.nn"}
    value = importlib.import_module(rooms.get(first, first))
    for part in rest:
        if not hasattr(value, part):
            try:
                importlib.import_module(f"{value.__name__}.{part}")
            except (ImportError, AttributeError):
                return False
        value = getattr(value, part)
    return True


@pytest.mark.parametrize("page", PAGES)
def test_lines_fit_into_100_columns(page):
    text = (ROOT / page).read_text()
    assert not [f"{page}:{number}" for number, line in prose(text) if len(line) > 100]


@pytest.mark.parametrize("page", PAGES)
def test_files_that_a_page_names_exist(page):
    paths = [p for p in quoted(page) if PATH.fullmatch(p) and not MADE.search(p)]
    assert not [p for p in paths if p not in SUITE and not exists(p)]


@pytest.mark.parametrize("page", [p for p in PAGES if p != "CHANGELOG.md"])  # it has old names
def test_names_of_the_package_exist(page):
    names = [name for text in quoted(page) for name in NAME.findall(text)]
    assert not [name for name in names if not found(name)]


def test_the_checks_notice():
    assert exists("platform/loop_queue.h") and exists("loop_queue.h") and exists("csrc/base/")
    assert not exists("platform/loop_queues.h") and not exists("loop_queues.h")
    assert found("dygraph.nn.Linear") and found("static.io.for_paddle")
    assert not found("dygraph.nn.Linea") and not found("static.nothing.at_all")
    assert [n for n, _ in prose("a\n```\nb\n```\n| c |\nd")] == [1, 6]
