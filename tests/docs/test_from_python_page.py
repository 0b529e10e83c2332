"""The examples of `docs/from_python_to_a_program.md` do what they show."""

import doctest
import pathlib

from dygraph import unique_name

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "from_python_to_a_program.md"


def test_examples_of_the_page():
    with unique_name.guard():
        failed, tried = doctest.testfile(
            str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS
        )
    assert (failed, tried > 20) == (0, True)
