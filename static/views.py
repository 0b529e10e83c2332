"""HTML for notebooks of programs, blocks and their variables; all text is escaped."""

from html import escape

from dygraph.static import marks
from dygraph.static.codes import attribute_code, role_of, slots_code, type_code

_ROWS = 200  # of a table; others are counted
_COLOURS = {"forward": "#1155cc", "backward": "#cc0000", "update": "#38761d"}


def _cell(text, tag="td", style=""):
    return f'<{tag} style="text-align:left;{style}">{escape(str(text))}</{tag}>'


def _table(head, rows, count):
    parts = ["<table><tr>", *(_cell(text, "th") for text in head), "</tr>"]
    parts += [f"<tr>{''.join(cells)}</tr>" for cells in rows]
    if count > _ROWS:
        parts.append(f"<tr>{_cell(f'… {count} in all')}</tr>")
    return "".join([*parts, "</table>"])


def _variables(block):
    shown = list(block.vars.values())
    rows = []
    for v in shown[:_ROWS]:
        marks = [
            word
            for word, holds in (
                ("parameter", hasattr(v, "trainable")),
                ("persistable", v.persistable and not hasattr(v, "trainable")),
                ("fed", v.is_data),
            )
            if holds
        ]
        rows.append([_cell(v.name), _cell(type_code(v)), _cell(", ".join(marks))])
    return _table(("variable", "type", ""), rows, len(shown))


def _operators(block):
    rows = []
    for i, op in enumerate(block.ops[:_ROWS]):
        hidden = marks.of(op.type)
        attrs = ", ".join(f"{k}={attribute_code(op, k)}" for k in op.attr_names if k not in hidden)
        style = f"color:{_COLOURS[role_of(op)]};"
        cells = [_cell(i), _cell(op.type, style=style), _cell(slots_code(op.inputs))]
        rows.append([*cells, _cell(slots_code(op.outputs)), _cell(attrs)])
    return _table(("", "operator", "inputs", "outputs", "attributes"), rows, len(block.ops))


def block(block):
    """A table of its operators, coloured by role, and one of its variables."""
    return (
        f"<div><code>{escape(repr(block))}</code>{_operators(block)}"
        f"<details><summary>variables</summary>{_variables(block)}</details></div>"
    )


def program(program):
    """Its blocks."""
    blocks = "".join(block(b) for b in program.blocks)
    return f"<div><code>{escape(repr(program))}</code>{blocks}</div>"


def variable(v):
    """Its facts, its writers and its readers."""
    kind = type(v).__name__
    facts = f"{kind} {v.name}: {type_code(v)}{', persistable' * v.persistable}"
    facts += f", stop_gradient={v.stop_gradient}"
    writers = [op.type for op in v.block.core.writers(v.name)]
    readers = [op.type for op in v.block.core.readers(v.name)]
    lines = [
        f"<br><small>{word} {escape(', '.join(types))}</small>"
        for word, types in (("written by", writers), ("read by", readers))
        if types
    ]
    made = (
        f"<br><small>block {v.block.idx}, created at {escape(v.block.created_at(v.name))}</small>"
    )
    return f"<div><code>{escape(facts)}</code>{made}{''.join(lines)}</div>"
