"""Whether the text of a size is only written, by `print` or `logging`.

Other text may be compared or parsed, which would hide the size from a trace.
"""

import ast
import functools
import linecache
import logging

_LOGGING = logging.__file__
_TEXTS = "str", "repr", "format", "list", "tuple"  # functions that an argument of print() may call


def _only_writes(node):
    """Whether a statement is ``print(...)`` and no other code gets its text."""
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
    """(first, last) line of each statement that only writes, without others on its lines."""
    try:
        nodes = list(ast.walk(ast.parse("".join(lines))))
    except (SyntaxError, ValueError):
        return ()
    begins = sorted(node.lineno for node in nodes if isinstance(node, ast.stmt))
    return tuple(
        (node.lineno, node.end_lineno)
        for node in nodes
        if _only_writes(node) and sum(node.lineno <= n <= node.end_lineno for n in begins) == 1
    )


def is_written(frame):
    """Whether `frame`, which reads the text, is at a statement that writes it."""
    file = frame.f_code.co_filename
    if file == _LOGGING:
        return True
    if "print" in frame.f_locals or "print" in frame.f_globals:
        return False
    lines = tuple(linecache.getlines(file, frame.f_globals))
    return any(first <= frame.f_lineno <= last for first, last in _places(lines))
