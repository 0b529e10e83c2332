"""HTML for notebooks of variables, layers and optimizers; all text is escaped."""

import itertools
import math
from html import escape

import numpy as np

from dygraph import _core
from dygraph.errors import DygraphError
from dygraph.inspect.saved import human

_ROWS = _COLUMNS = 8  # of a table of values: the corner of a large one
_BLOCK = 1 << 20  # elements read at a time
_BARS = 24
_LEFT = ' style="text-align:left"'


def _code(text):
    return f"<code>{escape(text)}</code>"


def _line(cells, tag="td"):
    return "<tr>" + "".join(f"<{tag}{_LEFT}>{escape(str(c))}</{tag}>" for c in cells) + "</tr>"


def _count(n, noun):
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


# Variables ----------------------------------------------------------------------------------------


def variable(x):
    """A table of values (the corner of a large one), statistics and a histogram."""
    from dygraph.inspect import printing

    kind = type(x).__name__
    if _core.is_empty(x):
        return f"<div>{_code(f'{kind}: no value yet')}</div>"
    if _core.value_kind(x) in printing.OPAQUE:
        return f"<div>{_code(printing.text(x))}</div>"
    head = _code(f"{kind}: {', '.join(printing.facts(x))}")
    names = None
    try:
        if _core.is_selected_rows(x):
            names = _core.rows(x)
            values = np.asarray(_core.rows_value(x))
            head += f"<br><small>selected rows: {len(names)} of {_core.height(x)}</small>"
        else:
            values = _core.view(x)
            lod = _core.lod(x)
            if lod:
                levels = [[b - a for a, b in itertools.pairwise(level)] for level in lod]
                head += f"<br><small>LoD {lod}, lengths {levels}</small>"
    except DygraphError:  # values must not be read while a program is recorded
        return f"<div>{head}</div>"
    return f"<div>{head}{_table(values, names)}{_statistics(values)}{_gradient(x)}</div>"


def _table(values, names):
    if names is not None:  # each row follows its index
        grid = values.reshape(len(names), math.prod(values.shape[1:]))
    else:
        last = values.shape[-1] if values.ndim else 1
        grid = values.reshape(math.prod(values.shape[:-1]), last)
    rows = []
    for i, row in enumerate(grid[:_ROWS]):
        number = "" if names is None else f"<th>{names[i]}</th>"
        cells = "".join(f"<td>{escape(_cell(v))}</td>" for v in row[:_COLUMNS])
        more = "<td>…</td>" if len(row) > _COLUMNS else ""
        rows.append(f"<tr>{number}{cells}{more}</tr>")
    if len(grid) > _ROWS:
        rows.append(f"<tr><td>… {len(grid)} rows</td></tr>")
    return f"<table>{''.join(rows)}</table>"


def _cell(value):
    return f"{value:.6g}" if np.issubdtype(type(value), np.floating) else str(value)


def _blocks(values):
    """The finite values, block by block as float64, and the counts of NaN and infinity."""
    flat = values.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK].astype("float64")
        finite = np.isfinite(block)
        nan = int(np.isnan(block).sum())
        yield block[finite], nan, block.size - int(finite.sum()) - nan


def _statistics(values):
    """One pass for range and mean, one for deviation and histogram, without large copies."""
    if not values.size or values.dtype == bool or values.dtype.kind not in "iuf":
        return ""
    count, total, low, high, nan, inf = 0, 0.0, math.inf, -math.inf, 0, 0
    for block, more_nan, more_inf in _blocks(values):
        nan, inf, count = nan + more_nan, inf + more_inf, count + block.size
        if block.size:
            total += float(block.sum())
            low, high = min(low, float(block.min())), max(high, float(block.max()))
    parts, picture = [], ""
    if count:
        mean, squares = total / count, 0.0
        bars = np.zeros(_BARS, "int64")
        drawn = count >= _BARS and math.isfinite(high - low) and high > low
        for block, _, _ in _blocks(values):
            squares += float(np.square(block - mean).sum())
            if drawn:
                bars += np.histogram(block, _BARS, (low, high))[0]
        std = math.sqrt(squares / count)
        parts = [f"{n} {v:.6g}" for n, v in zip(_NAMES, (low, high, mean, std), strict=True)]
        picture = _histogram(bars, low, high) if drawn else ""
    parts += [f"<b>{n} {what}</b>" for n, what in ((nan, "NaN"), (inf, "inf")) if n]
    return f"<small>{', '.join(parts)}</small>{picture}"


_NAMES = ("min", "max", "mean", "std")


def _histogram(bars, low, high):
    width, height = 5, 32
    tallest = max(int(bars.max()), 1)
    shapes = "".join(
        f'<rect x="{i * width}" y="{height - h}" width="{width - 1}" height="{h}">'
        f"<title>{n}</title></rect>"
        for i, n in enumerate(bars.tolist())
        if (h := math.ceil(height * n / tallest))
    )
    return (
        f'<br><svg width="{_BARS * width}" height="{height}" fill="steelblue" role="img">'
        f"<title>histogram from {low:.6g} to {high:.6g}</title>{shapes}</svg>"
    )


def _gradient(x):
    grad = x.grad
    if grad is None:
        return ""
    dense = np.asarray(_core.rows_value(grad) if _core.is_selected_rows(grad) else grad)
    return f"<br><small>gradient: {_statistics_text(dense)}</small>"


def _statistics_text(values):
    wide = values.astype("float64")
    text = f"norm {math.sqrt(float(np.square(wide).sum())):.6g}"
    bad = wide.size - int(np.isfinite(wide).sum())
    return f"{text}, <b>{bad} not finite</b>" if bad else text


# Layers -------------------------------------------------------------------------------------------


def layer(layer):
    """A tree of layers that unfolds, with parameters, shapes, sizes; totals at the top."""
    parameters, buffers = layer.parameters(), layer.buffers()
    numbers = sum(p.size for p in parameters)
    trained = sum(p.size for p in parameters if not p.stop_gradient)
    size = sum(_bytes(v) for v in (*parameters, *buffers))
    total = (
        f"{_count(numbers, 'parameter')} ({trained:,} trained), {human(size)} with buffers, "
        f"{'training' if layer.training else 'eval'} mode"
    )
    return f"<div>{_branch('', layer, set(), True)}<small>{total}</small></div>"


def _bytes(v):
    return 0 if _core.is_empty(v) else _core.view(v).nbytes


def _branch(name, layer, seen, unfolded=False):
    extra = "" if layer._sub_layers else layer.extra_repr()
    title = f"{name}: " if name else ""
    title += f"{type(layer).__name__}({extra})" if extra else type(layer).__name__
    if id(layer) in seen:
        return f"<div>{_code(title)} <small>shared, see above</small></div>"
    seen.add(id(layer))
    own = sum(p.size for p in layer.parameters())
    inner = _tensors(layer) + "".join(_branch(n, s, seen) for n, s in layer._sub_layers.items())
    head = f"{_code(title)} <small>{_count(own, 'parameter')}</small>"
    if not inner:
        return f"<div>{head}</div>"
    opened = " open" if unfolded else ""
    return (
        f"<details{opened}><summary>{head}</summary>"
        f'<div style="margin-left:1.5em">{inner}</div></details>'
    )


def _tensors(layer):
    lines = []
    for group, what in ((layer._parameters, None), (layer._buffers, "buffer")):
        for name, v in group.items():
            if v is not None:
                kind = what or ("frozen" if v.stop_gradient else "trained")
                lines.append(_line((name, list(v.shape), v.dtype, f"{v.size:,}", kind)))
    if not lines:
        return ""
    head = _line(("name", "shape", "dtype", "size", ""), "th")
    return f"<table>{head}{''.join(lines)}</table>"


# Optimizers ---------------------------------------------------------------------------------------


def optimizer(optimizer):
    """Rule, rate or schedule, groups, clip, decay and the size of the state."""
    rate = optimizer._learning_rate
    shown = repr(rate) if callable(rate) else f"{rate:g}"
    last = optimizer._last
    if callable(rate) and last is not None:
        shown += f", {last:g} at the last step"
    states = [v for state in optimizer._states.values() for v in state.values()]
    facts = {"rule": optimizer.operator or type(optimizer).__name__, "learning rate": shown}
    attributes = ", ".join(f"{k}={v}" for k, v in optimizer.attributes.items())
    if attributes:
        facts["attributes"] = attributes
    if optimizer._grad_clip is not None:
        facts["clip"] = _settings(optimizer._grad_clip)
    if optimizer._regularization is not None:
        facts["regularization"] = repr(optimizer._regularization)
    numbers = sum(p.size for p in optimizer._parameters)
    facts["parameters"] = f"{len(optimizer._parameters)} with {numbers:,} numbers"
    size = sum(_bytes(v) for v in states)
    facts["state"] = f"{_count(len(states), 'variable')}, {human(size)}" if states else "none yet"
    rows = "".join(_line(pair) for pair in facts.items())
    head = _code(type(optimizer).__name__)
    return f"<div>{head}<table>{rows}</table>{_groups(optimizer)}</div>"


def _settings(rule):
    facts = ", ".join(f"{k}={v}" for k, v in vars(rule).items() if v is not None)
    return f"{type(rule).__name__}({facts})"


def _groups(optimizer):
    groups = {}
    for p in optimizer._parameters:
        group = optimizer._groups.get(id(p))
        if group is not None:
            groups.setdefault(id(group), (group, []))[1].append(p)
    if not groups:
        return ""
    lines = [_line(("group", "parameters", "numbers", "rate factor", "weight decay"), "th")]
    for i, (group, members) in enumerate(groups.values()):
        decay = "the optimizer's" if group.weight_decay is None else group.weight_decay
        size = f"{sum(p.size for p in members):,}"
        lines.append(_line((i, len(members), size, f"{group.learning_rate:g}", decay)))
    return f"<table>{''.join(lines)}</table>"
