"""Whether text of a size decides nothing: what `print` and `logging` write.

Any other text may be compared or parsed, which would hide the size from a trace.
"""

import ast
import functools
import linecache
import logging

_LOGGING = logging.__file__
_TEXTS = "str", "repr", "format", "list", "tuple"  # what an argument of print() may call


def _only_writes(node):
    """Whether a statement is ``print(...)``, whose text nothing else gets."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call) or getattr(call.func, "id", "") != "print":
        return False
    if any(keyword.arg not in ("sep", "end", "flush") for keyword in call.keywords):
        return False
    for part in ast.walk(call):
        name = getattr(part, "func", None)
        if isinstance(part, (ast.NamedExpr, ast.Lambda, ast.Await, ast.Yield)):
            return False
        if name is not None and part is not call:
            if getattr(name, "id", getattr(name, "attr", "")) not in _TEXTS:
                return False
    return True


@functools.lru_cache(64)
def _places(lines):
    """(line, column, last line, last column) of each statement of a source that only writes."""
    try:
        nodes = list(ast.walk(ast.parse("".join(lines))))
    except (SyntaxError, ValueError):
        return ()
    return tuple(
        (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        for node in nodes
        if _only_writes(node)
    )


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
        for a, b, c, d in _places(lines)
    )
