"""Summary of a layer: a table of its layers with output shapes, parameters and FLOPs."""

from html import escape

from dygraph import _core
from dygraph.autograd.recording import no_grad
from dygraph.errors import ArgumentTypeError, kind_of
from dygraph.inspect.saved import human
from dygraph.nn.layer import Layer

__all__ = ["Summary", "summary"]

Variable = _core.Variable


class Row:
    """One call of one layer: `name`, `type`, `output` (shapes), `parameters`, `flops`."""

    __slots__ = ("flops", "name", "output", "parameters", "type")

    def __init__(self, name, kind, output, parameters, flops):
        self.name, self.type, self.output = name, kind, output
        self.parameters, self.flops = parameters, flops


class Summary:
    """Rows in order of their calls, and totals. Prints as a table, also in notebooks.

    Attributes
    ----------
    rows : list of Row
    parameters, trainable : int
        The number of elements of all parameters, and of the trained ones.
    bytes : int
        Of all parameters and buffers.
    flops : int
        Multiplications and additions of matrix products and convolutions in one forward call.
    """

    def __init__(self, layer, rows):
        self.rows = rows
        found = layer.parameters()
        self.parameters = sum(p.size for p in found)
        self.trainable = sum(p.size for p in found if not p.stop_gradient)
        self.bytes = sum(_core.view(v).nbytes for v in [*found, *layer.buffers()])
        self.flops = rows[0].flops if rows else 0

    def _cells(self):
        yield "Layer", "Type", "Output", "Parameters", "FLOPs"
        for r in self.rows:
            yield r.name, r.type, r.output, f"{r.parameters:,}", f"{r.flops:,}" if r.flops else ""

    def _foot(self):
        return (
            f"{self.parameters:,} parameters ({self.trainable:,} trained), "
            f"{human(self.bytes)} with buffers, {self.flops:,} FLOPs a call"
        )

    def __repr__(self):
        lines = list(self._cells())
        widths = [max(len(line[i]) for line in lines) for i in range(5)]
        left = [
            "  ".join(
                c.ljust(w) if i < 3 else c.rjust(w)
                for i, (c, w) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        return "\n".join([*left, self._foot()])

    def _repr_html_(self):
        head, *body = self._cells()
        parts = ["<table><tr>", *(f"<th>{c}</th>" for c in head), "</tr>"]
        for line in body:
            cells = "".join(f'<td style="text-align:left">{escape(c)}</td>' for c in line)
            parts.append(f"<tr>{cells}</tr>")
        return "".join([*parts, f"</table><small>{self._foot()}</small>"])


def _shapes(value):
    """Shapes of the Variables in nested containers, as text."""
    if isinstance(value, Variable):
        return str(list(value.shape))
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        found = [_shapes(v) for v in value]
        return ", ".join(f for f in found if f)
    return ""


def _work(name, shapes):
    """FLOPs of one operator call from the shapes of its slots; 0 for cheap operators."""
    if name in ("matmul_v2", "mul", "matmul", "bmm") and "Out" in shapes:
        inner = shapes["X"][-1] if shapes["X"] else 1
        return 2 * _count(shapes["Out"]) * inner
    if name.startswith(("conv", "depthwise_conv")) and "Output" in shapes:
        if "transpose" in name:
            return 2 * _count(shapes["Input"]) * _count(shapes["Filter"][1:])
        return 2 * _count(shapes["Output"]) * _count(shapes["Filter"][1:])
    return 0


def _count(shape):
    n = 1
    for size in shape:
        n *= size
    return n


def summary(layer, *inputs):
    """Call a layer once and summarise it.

    Parameters
    ----------
    layer : Layer
    *inputs : Variable
        The arguments. The call is not recorded; running means and the random state are kept.

    Returns
    -------
    Summary
        ``rows``, ``parameters``, ``trainable``, ``bytes``, ``flops``; prints as a table.

    Raises
    ------
    ArgumentTypeError
        For what is no Layer.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> net = dygraph.nn.Sequential(dygraph.nn.Linear(4, 8, act="relu"), dygraph.nn.Linear(8, 2))
    >>> dygraph.summary(net, dygraph.to_variable(np.ones((1, 4), "float32")))
    Layer       Type        Output  Parameters  FLOPs
    Sequential  Sequential  [1, 2]          58     96
      0         Linear      [1, 8]          40     64
      1         Linear      [1, 2]          18     32
    58 parameters (58 trained), 232 B with buffers, 96 FLOPs a call
    """
    if not isinstance(layer, Layer):
        raise ArgumentTypeError(f"summary: layer must be a Layer, got {kind_of(layer)}")
    for value in inputs:
        if isinstance(value, (tuple, list)) and {*map(type, value)} == {int}:
            raise ArgumentTypeError(
                f"summary: the layer is called with Variables, got a shape, {value}. Write "
                f"dygraph.summary(layer, dygraph.zeros({list(value)}))"
            )
    names = {id(sub): name for name, sub in layer.named_sublayers(include_self=True)}
    rows, open_rows, handles = [], [], []

    def enter(sub, _):
        name = names.get(id(sub), "")
        depth = name.count(".") + 1 if name else 0
        shown = "  " * depth + (name.rsplit(".", 1)[-1] if name else type(layer).__name__)
        count = sum(p.size for p in sub.parameters())
        row = Row(shown, type(sub).__name__, "", count, 0)
        rows.append(row)
        open_rows.append(row)

    def leave(_, __, outputs):
        open_rows.pop().output = _shapes(outputs)

    def work(name, inputs, outputs):
        flops = _work(name, {slot: v[0].shape for slot, v in (*inputs.items(), *outputs.items())})
        for row in open_rows:
            row.flops += flops

    listener = _core.watch.Listener(work)
    state = [(b, b.detach()) for b in layer.buffers()]
    random = _core.generator_state()
    try:
        for _, sub in layer.named_sublayers(include_self=True):
            handles.append(sub.register_forward_pre_hook(enter))
            handles.append(sub.register_forward_post_hook(leave))
        listener.start()
        with no_grad():
            layer(*inputs)
    finally:
        listener.stop()
        for handle in handles:
            handle.remove()
        _core.set_generator_state(*random)
        with no_grad():
            for buffer, value in state:
                _core.become(buffer, value)
    return Summary(layer, rows)
