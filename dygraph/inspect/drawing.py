"""Graphs of operators as pictures: DOT text, and SVG in notebooks. `draw` draws the tape."""

from html import escape

from dygraph import _core
from dygraph.core import check

__all__ = ["Drawing", "draw"]

Variable = _core.Variable
_FILL = {
    "leaf": "#d9ead3", "operator": "#eef2f7", "function": "#fce5cd",
    # of programs
    "forward": "#a4c2f4", "backward": "#ea9999", "update": "#b6d7a8", "variable": "#ffffff",
    "parameter": "#efefef", "highlight": "#ffe599",
}  # fmt: skip
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 150, 34, 16, 34, 12


class Drawing:
    """Nodes and edges of a tape or a program. A notebook shows it as a picture.

    Attributes
    ----------
    nodes : list of dict
        ``id``, ``kind`` ('operator', 'function' or 'leaf'; of programs 'forward', 'backward',
        'update', 'variable', 'parameter', 'highlight'), ``label``, newest first. A node with
        ``top`` is right above its first reader; ``boxes`` lists the boxes around a node, the
        outermost first.
    edges : list of (int, int)
        From the id that produces to the id that consumes.
    boxes : dict of int to str
        The titles of boxes, by number.
    """

    def __init__(self, nodes, edges, hidden=0, title="tape", boxes=None):
        self.nodes, self.edges, self.hidden, self.title = nodes, edges, hidden, title
        self.boxes = boxes or {}

    @property
    def dot(self):
        """The graph in the DOT language of Graphviz."""
        lines = [f"digraph {self.title} {{"]
        lines.append('  node [shape=box, style=filled, fontname="sans-serif"];')
        for n in self.nodes:
            node = f'n{n["id"]} [label={_quoted(n["label"])}, fillcolor="{_FILL[n["kind"]]}"];'
            for number in reversed(n.get("boxes", ())):  # parts of one name are one box
                title = _quoted(self.boxes[number])
                node = f"subgraph cluster_{number} {{ label={title}; {node} }}"
            lines.append(f"  {node}")
        lines += [f"  n{a} -> n{b};" for a, b in self.edges]
        return "\n".join([*lines, "}"])

    def _rows(self):
        """Ids by row: a node is below all nodes that it reads."""
        below = {n["id"]: [] for n in self.nodes}
        readers = {n["id"]: [] for n in self.nodes}
        for a, b in self.edges:
            below[b].append(a)
            readers[a].append(b)
        row = {}
        for n in sorted(self.nodes, key=lambda n: n["id"]):  # producers are older
            row[n["id"]] = 1 + max((row[a] for a in below[n["id"]]), default=-1)
        # A leaf is right above its first reader.
        for n in self.nodes:
            if n["kind"] == "leaf" or n.get("top"):
                row[n["id"]] = max(min((row[b] for b in readers[n["id"]]), default=1) - 1, 0)
        rows = [[] for _ in range(1 + max(row.values(), default=-1))]
        for n in sorted(self.nodes, key=lambda n: n["id"]):
            rows[row[n["id"]]].append(n["id"])
        return rows

    def svg(self):
        """The picture as SVG text, drawn without Graphviz."""
        rows = self._rows()
        step_x, step_y = _WIDTH + _GAP_X, _HEIGHT + _GAP_Y
        width = max((len(r) for r in rows), default=1) * step_x + 2 * _MARGIN
        height = len(rows) * step_y + 2 * _MARGIN
        at = {}
        for y, row in enumerate(rows):
            left = (width - len(row) * step_x + _GAP_X) / 2
            for x, node in enumerate(row):
                at[node] = (left + x * step_x, _MARGIN + y * step_y)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
            f'viewBox="0 0 {width:g} {height:g}" font-family="sans-serif" font-size="11">',
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#777"/></marker>',
            "</defs>",
        ]
        parts += self._frames(at)
        for a, b in self.edges:
            (xa, ya), (xb, yb) = at[a], at[b]
            parts.append(
                f'<line x1="{xa + _WIDTH / 2:g}" y1="{ya + _HEIGHT:g}" x2="{xb + _WIDTH / 2:g}" '
                f'y2="{yb:g}" stroke="#777" marker-end="url(#tip)"/>'
            )
        for n in self.nodes:
            x, y = at[n["id"]]
            first, *rest = n["label"].split("\n")
            parts.append(
                f"<g><title>{escape(n['label'])}</title>"
                f'<rect x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="4" '
                f'fill="{_FILL[n["kind"]]}" stroke="#999"/>'
                f'<text x="{x + _WIDTH / 2:g}" y="{y + 14:g}" text-anchor="middle">'
                f"{escape(_fit(first))}</text>"
                f'<text x="{x + _WIDTH / 2:g}" y="{y + 27:g}" text-anchor="middle" fill="#555">'
                f"{escape(_fit(rest[0] if rest else ''))}</text></g>"
            )
        return "\n".join([*parts, "</svg>"])

    def _frames(self, at):
        """A dashed frame around the nodes of each box, with its title above."""
        for number, title in self.boxes.items():
            inside = [n for n in self.nodes if number in n.get("boxes", ())]
            if not inside:
                continue
            places, depth = [at[n["id"]] for n in inside], inside[0]["boxes"].index(number)
            left, top = (min(p[i] for p in places) - 5 for i in (0, 1))
            right, bottom = max(p[0] for p in places) + _WIDTH, max(p[1] for p in places) + _HEIGHT
            yield (
                f'<g><title>{escape(title)}</title><rect x="{left:g}" y="{top:g}" '
                f'width="{right - left + 5:g}" height="{bottom - top + 5:g}" rx="6" fill="none" '
                f'stroke="#999" stroke-dasharray="4 3"/><text x="{left + 4 + _WIDTH * depth:g}" '
                f'y="{max(top - 2, 8):g}" font-size="9" fill="#777">{escape(title)}</text></g>'
            )

    _repr_svg_ = svg

    def __repr__(self):
        more = f" ({self.hidden} more not shown)" if self.hidden else ""
        return f"<{self.title} of {len(self.nodes)} nodes and {len(self.edges)} edges{more}>"


def _quoted(text):
    """Text quoted for DOT."""
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'


def _fit(text, most=24):
    return text if len(text) <= most else text[: most - 1] + "…"


def draw(root, names=None, most=500):
    """Draw the recorded computation of `root`.

    Parameters
    ----------
    root : Variable
        A loss, or another result of Variables with stop_gradient False.
    names : Layer, dict of str to Variable, optional
        Names for the leaves: a layer gives those of its parameters.
    most : int
        The maximum number of nodes; the newest are drawn.

    Returns
    -------
    Drawing
        With ``dot``, ``svg()``, and a picture in notebooks.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.to_variable([2.0]); w.stop_gradient = False
    >>> drawing = dygraph.draw(dygraph.exp(w * w), names={"w": w})
    >>> [n["label"].split()[0] for n in drawing.nodes]
    ['exp', 'elementwise_mul', 'w']
    """
    check.variable(root, "draw: root")
    most = check.integer(most, "draw: most", least=1)
    named = dict(names.named_parameters()) if hasattr(names, "named_parameters") else names or {}
    labels = {}
    for name, v in named.items():
        node = _core.node_of(check.variable(v, f"draw: names['{name}']"))
        if node is not None:
            labels[node.number] = f"{name}\n{list(v.shape)} {v.dtype}"
    start = _core.node_of(root)
    seen, stack = {}, [start] if start is not None else []
    while stack:
        node = stack.pop()
        if node.number in seen:
            continue
        seen[node.number] = node
        stack.extend(n for n, _ in node.inputs if n is not None)
    shown = sorted(seen, reverse=True)[:most]
    kept = set(shown)
    nodes = [
        {"id": i, "kind": seen[i].kind, "label": labels.get(i) or _label(seen[i])} for i in shown
    ]
    edges = []
    for i in shown:
        for node, _ in seen[i].inputs:
            if node is not None and node.number in kept and (node.number, i) not in edges:
                edges.append((node.number, i))
    return Drawing(nodes, edges, len(seen) - len(shown))


def _label(node):
    if node.kind == "leaf":
        return "leaf"
    if node.freed:
        return f"{node.name}\n(freed)"
    kept = [f"{slot} {list(shape)}" for slot, shape, _, size in node.kept if size]
    return node.name + ("\nkeeps " + ", ".join(kept) if kept else "")
