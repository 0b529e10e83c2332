"""Variables as text; `dygraph.inspect.views` has the HTML for notebooks."""

import numpy as np

from dygraph import _core
from dygraph.core import sizes
from dygraph.errors import ArgumentTypeError, DygraphError


def facts(x):
    """Shape, type, place and other facts, as strings."""
    found = [f"shape={sizes.text(x)}", f"dtype={x.dtype}", f"place={x.place}"]
    found.append(f"stop_gradient={x.stop_gradient}")
    if x.name:
        found.append(f"name={x.name!r}")
    return found


OPAQUE = ("TensorArray", "LoDRankTable", "StepScopes")


def _opaque(x, kind):
    """The text for a Variable without a tensor."""
    what = _core.value_kind(x)
    if what == "TensorArray":
        shapes = ["nothing" if s is None else str(tuple(s)) for s in _core.array_shapes(x)]
        shown = ", ".join(shapes[:8] + ["..."] * (len(shapes) > 8))
        facts = [f"length={len(shapes)}", f"shapes=[{shown}]", f"dtype={x.dtype}"]
    elif what == "LoDRankTable":
        facts = [f"(index, length)={_core.table_items(x)}"]
    else:
        facts = []
    return f"{kind}({', '.join([what, *facts])})"


def text(x):
    """The text of ``repr(x)``: the values as NumPy prints them, and the facts."""
    kind = type(x).__name__
    if _core.is_empty(x):
        return f"{kind}(no value yet)"
    if _core.value_kind(x) in OPAQUE:
        return _opaque(x, kind)
    found = facts(x)
    if _core.is_selected_rows(x):
        values = np.asarray(_core.rows_value(x))
        found.append(f"rows={list(_core.rows(x))}")
    else:
        lod = _core.lod(x)
        if lod:
            found.append(f"lod={lod}")
        try:
            values = _core.view(x)
        except DygraphError:  # values must not be read while a program is recorded
            return f"{kind}({', '.join(found)})"
    body = np.array2string(values, separator=", ", prefix=f"{kind}(")
    joint = ",\n" + " " * (len(kind) + 1) if "\n" in body or len(body) > 40 else ", "
    return f"{kind}({body}{joint}{', '.join(found)})"


def formatted(x, spec):
    """What ``f"{x:.3f}"`` gives: the number of a variable of one element, else the text."""
    if not spec:
        return str(x)
    if _core.is_empty(x) or x.size != 1:
        raise ArgumentTypeError(
            f"a format such as {spec!r} takes a variable of one element, got shape "
            f"{list(x.shape)}. Reduce it first, or format x.numpy()"
        )
    return format(x.item(), spec)


def html(x):
    """The HTML for notebooks: a table of values (the corner of a large one) and statistics."""
    from dygraph.inspect import views

    return views.variable(x)
