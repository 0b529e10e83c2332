"""Variables as text and as a notebook's table."""

import numpy as np

from dygraph import _core
from dygraph.errors import DygraphError

_SHOWN_ROWS = _SHOWN_COLUMNS = 8


def _facts(x):
    facts = [f"shape={x.shape}", f"dtype={x.dtype}", f"place={x.place}"]
    facts.append(f"stop_gradient={x.stop_gradient}")
    if x.name:
        facts.append(f"name={x.name!r}")
    return facts


def text(x):
    """What ``repr(x)`` gives: the values as NumPy prints them, and the facts."""
    kind = type(x).__name__
    if _core.is_empty(x):
        return f"{kind}(no value yet)"
    facts = _facts(x)
    if _core.is_selected_rows(x):
        values = np.asarray(_core.rows_value(x))
        facts.append(f"rows={list(_core.rows(x))}")
    else:
        lod = _core.lod(x)
        if lod:
            facts.append(f"lod={lod}")
        try:
            values = _core.view(x)
        except DygraphError:  # while a program is recorded the values may not be looked at
            return f"{kind}({', '.join(facts)})"
    body = np.array2string(values, separator=", ", prefix=f"{kind}(")
    joint = ",\n" + " " * (len(kind) + 1) if "\n" in body or len(body) > 40 else ", "
    return f"{kind}({body}{joint}{', '.join(facts)})"


def html(x):
    """What a notebook shows: a table of values (the corner of a large one) and statistics."""
    if _core.is_empty(x) or _core.is_selected_rows(x):
        return f"<pre>{text(x)}</pre>"
    values = _core.view(x)
    table = _table(values)
    head = ", ".join(_facts(x)).replace("<", "&lt;")
    return f"<div><code>{type(x).__name__}: {head}</code>{table}{_statistics(values)}</div>"


def _table(values):
    grid = values.reshape(-1, values.shape[-1]) if values.ndim else values.reshape(1, 1)
    rows = []
    for row in grid[:_SHOWN_ROWS]:
        cells = "".join(f"<td>{_cell(v)}</td>" for v in row[:_SHOWN_COLUMNS])
        more = "<td>…</td>" if len(row) > _SHOWN_COLUMNS else ""
        rows.append(f"<tr>{cells}{more}</tr>")
    if len(grid) > _SHOWN_ROWS:
        rows.append(f"<tr><td>… {len(grid)} rows</td></tr>")
    return f"<table>{''.join(rows)}</table>"


def _cell(value):
    return f"{value:.6g}" if np.issubdtype(type(value), np.floating) else str(value)


def _statistics(values):
    if not values.size or values.dtype == bool:
        return ""
    floating = np.issubdtype(values.dtype, np.floating)
    wide = values.astype("float64")
    finite = wide[np.isfinite(wide)] if floating else wide
    parts = []
    if finite.size:
        parts = [
            f"{n} {f(finite):.6g}"
            for n, f in (("min", np.min), ("max", np.max), ("mean", np.mean), ("std", np.std))
        ]
    if floating:
        nan, inf = int(np.isnan(wide).sum()), int(np.isinf(wide).sum())
        if nan:
            parts.append(f"<b>{nan} NaN</b>")
        if inf:
            parts.append(f"<b>{inf} inf</b>")
    return f"<small>{', '.join(parts)}</small>"
