"""Whether text of a size decides nothing: what `print` and `logging` write, and messages of errors.

Any other text may be compared or parsed, which would hide the size from a trace.
"""

import ast
import functools
import linecache
import logging

_LOGGING = logging.__file__


@functools.lru_cache(64)
def _written(file, lines):
    """Where the lines of a file write text: (line, column, last line, its column) of each place."""
    del file
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return ()
    places = []
    for node in ast.walk(tree):
        writes = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        name = node.value.func if writes else None
        if isinstance(node, ast.Raise) or (isinstance(name, ast.Name) and name.id == "print"):
            places.append((node.lineno, node.col_offset, node.end_lineno, node.end_col_offset))
    return tuple(places)


def is_written(frame):
    """Whether `frame`, which asks for text, is at a statement that writes it."""
    code = frame.f_code
    if code.co_filename == _LOGGING:
        return True
    if "print" in frame.f_locals or "print" in frame.f_globals:
        return False
    positions = list(code.co_positions())[frame.f_lasti // 2]
    if None in positions:
        return False
    line, last, column, end = positions
    lines = tuple(linecache.getlines(code.co_filename, frame.f_globals))
    return any(
        (a, b) <= (line, column) and (last, end) <= (c, d)
        for a, b, c, d in _written(code.co_filename, lines)
    )
