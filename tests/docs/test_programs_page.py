"""The examples of `docs/programs.md` do what they show; the map of `static` has every file."""

import doctest
import pathlib

from dygraph import unique_name

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "programs.md"


def test_examples_of_the_page():
    with unique_name.guard():
        failed, tried = doctest.testfile(
            str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS
        )
    assert (failed, tried > 20) == (0, True)


def test_the_map_of_static_has_every_file():
    files = {path.name for path in (ROOT / "static").glob("*.py")} - {"__init__.py"}
    text = (ROOT / "static" / "README.md").read_text(encoding="utf-8")
    assert {name for name in files if f"`{name}`" not in text} == set()
