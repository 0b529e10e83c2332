"""docs/detection.md: its code runs from top to bottom and prints what stands below it."""

import contextlib
import io
import re
from pathlib import Path

TEXT = (Path(__file__).parents[2] / "docs" / "detection.md").read_text(encoding="utf-8")


def test_the_code_prints_what_the_page_shows():
    names, shown = {}, 0
    blocks = re.findall(r"^```(python)?\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    printed = ""
    for kind, text in blocks:
        if kind:
            assert not printed, f"the page does not show {printed!r}"
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(text, names)
            printed = out.getvalue()
        else:
            assert printed == text
            printed, shown = "", shown + 1
    assert shown == 6 and not printed
