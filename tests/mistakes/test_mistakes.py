"""Common mistakes, and the exact messages that they raise.

Each other module of this folder is a family; each of its functions is one mistake that users make.
``golden/FAMILY.txt`` holds the messages. To change one, edit the library, rewrite the files with
this command, and read the difference::

    python tests/mistakes/test_mistakes.py --rewrite
"""

import importlib
import inspect
import pathlib
import re
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
if str(HERE.parent) not in sys.path:
    sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent)]  # tests/dygraph is no package

from mistakes.common import outcome  # noqa: E402

FAMILIES = sorted(p.stem for p in HERE.glob("*.py") if p.stem not in ("common", "test_mistakes"))


def programs(family):
    """Name -> function, in the order of the file."""
    module = importlib.import_module(f"mistakes.{family}")
    return {
        name: f
        for name, f in vars(module).items()
        if inspect.isfunction(f) and f.__module__ == module.__name__ and not name.startswith("_")
    }


def golden(family):
    """Name -> text."""
    path = HERE / "golden" / f"{family}.txt"
    parts = re.split(r"^== (.+) ==\n", path.read_text() if path.exists() else "", flags=re.M)
    return {name: text.rstrip("\n") for name, text in zip(parts[1::2], parts[2::2])}


CASES = [(family, name) for family in FAMILIES for name in programs(family)]


@pytest.mark.parametrize(("family", "name"), CASES)
def test_the_text_is_the_golden_one(family, name):
    assert outcome(programs(family)[name]) == golden(family)[name]


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_stands_in_the_golden_file_without_a_program(family):
    assert list(golden(family)) == list(programs(family))


def test_texts_are_short_and_there_are_enough_of_them():
    texts = [text for family in FAMILIES for text in golden(family).values()]
    assert len(texts) >= 60
    for text in texts:
        assert len(text) >= 40
        assert len(text.splitlines()) <= 8, text


def rewrite():
    for family in FAMILIES:
        texts = [f"== {name} ==\n{outcome(f)}\n" for name, f in programs(family).items()]
        (HERE / "golden" / f"{family}.txt").write_text("\n".join(texts))


if __name__ == "__main__":
    if sys.argv[1:] != ["--rewrite"]:
        sys.exit("python tests/mistakes/test_mistakes.py --rewrite")
    rewrite()
