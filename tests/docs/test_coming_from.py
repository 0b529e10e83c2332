"""The pages for users of other libraries are those that the table of habits gives."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs"))

import coming_from


@pytest.mark.parametrize("library", coming_from.LIBRARIES)
def test_page_is_current(library):
    assert coming_from.path_of(library).read_text() == coming_from.page(library), (
        "run python docs/coming_from.py"
    )
