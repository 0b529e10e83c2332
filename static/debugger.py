"""Display of programs: pseudo code, and graphs coloured by the roles of operators.

>>> from dygraph import static
>>> main = static.Program()
>>> with static.program_guard(main):
...     x = static.data("x", [None, 3], "float32")
...     y = static.layers.scale(x, scale=2.0)
>>> print(static.debugger.pprint_program_codes(main))  # doctest: +ELLIPSIS
// block 0, in no other
float32[-1, 3] x
float32[-1, 3] scale_...
scale_... = scale(X=x) [scale=2.0, bias=0.0, bias_after_scale=True]
"""

import re

from dygraph import _core
from dygraph.core import files
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.inspect.drawing import Drawing
from dygraph.static import marks
from dygraph.static.block import Block
from dygraph.static.codes import attribute_code, role_of, slots_code, type_code
from dygraph.static.program import Program

__all__ = [
    "draw_block_graphviz", "draw_graph", "pprint_block_codes", "pprint_program_codes", "role_of",
]  # fmt: skip


def _program(value, what):
    if isinstance(value, _core.ProgramDesc):  # Fluid's older form: program.desc
        return Program(value)
    if not isinstance(value, Program):
        raise ArgumentTypeError(f"{what} takes a static.Program, got {kind_of(value)}")
    return value


def _block(value, what):
    if not isinstance(value, Block):
        raise ArgumentTypeError(f"{what} takes a Block of a program, got {kind_of(value)}")
    return value


# Pseudo code --------------------------------------------------------------------------------------


def pprint_program_codes(program):
    """The program as pseudo code: a line for each block, variable and operator.

    Parameters
    ----------
    program : Program or ProgramDesc
        A program, or the ``desc`` of one.

    Returns
    -------
    str
        As Fluid's function returns it; ``print`` shows it.

    Examples
    --------
    >>> from dygraph import static
    >>> main = static.Program()
    >>> with static.program_guard(main):
    ...     y = static.layers.relu(static.data("x", [None, 2]))
    >>> "relu" in static.debugger.pprint_program_codes(main)
    True
    """
    blocks = _program(program, "pprint_program_codes").blocks
    return "\n\n".join(pprint_block_codes(block, show_backward=True) for block in blocks)


def pprint_block_codes(block, show_backward=False):
    """One block as pseudo code.

    Parameters
    ----------
    block : Block
        The block to show.
    show_backward : bool
        False: without the operators of the backward pass and the variables that only they use.

    Returns
    -------
    str
        ``type[shape] name`` for each variable, ``outputs = type(inputs) [attributes]`` for each
        operator.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.data("x", [4, 3], "float32")
    ...     loss = static.layers.mean(static.layers.fc(x, size=1, bias_attr=False))
    ...     pairs = static.append_backward(loss)
    >>> text = static.debugger.pprint_block_codes(loss.block)
    >>> "persistable float32[3, 1] fc" in text, "mean_grad" in text
    (True, False)
    """
    _block(block, "pprint_block_codes")
    ops, variables = block.ops, list(block.vars.values())
    if not show_backward:
        ops = [op for op in ops if role_of(op) != "backward"]
        hidden = {n for op in block.ops for n in (*op.input_arg_names, *op.output_arg_names)}
        hidden -= {n for op in ops for n in (*op.input_arg_names, *op.output_arg_names)}
        variables = [v for v in variables if v.name not in hidden or v.persistable]
    parent = f"in block {block.parent_idx}" if block.parent_idx >= 0 else "in no other"
    forward = block.forward_block_idx
    gradient = f", for the gradient of block {forward}" if forward >= 0 else ""
    lines = [f"// block {block.idx}, {parent}{gradient}"]
    lines += [_variable_code(v) for v in variables]
    return "\n".join([*lines, *(_operator_code(op) for op in ops)])


def _variable_code(variable):
    return f"{'persistable ' * variable.persistable}{type_code(variable)} {variable.name}"


def _operator_code(op):
    outputs = ", ".join(op.output_arg_names)
    attrs = ", ".join(
        f"{k}={attribute_code(op, k)}" for k in op.attr_names if k not in marks.of(op.type)
    )
    call = f"{op.type}({slots_code(op.inputs)})"
    return f"{f'{outputs} = ' if outputs else ''}{call}{f' [{attrs}]' if attrs else ''}"


# Pictures -----------------------------------------------------------------------------------------


class _Graph:
    """Nodes and edges of blocks.

    Each write of a variable makes a node: the graph runs downwards.
    """

    def __init__(self, highlights):
        self.nodes, self.edges, self.latest = [], [], {}
        self.boxes, self.drawn, self.inside = {}, set(), ()
        self.highlights = highlights

    def add(self, kind, label, top=False):
        node = {"id": len(self.nodes), "kind": kind, "label": label, "top": top}
        if self.inside:
            node["boxes"] = self.inside
        self.nodes.append(node)
        return len(self.nodes) - 1

    def variable(self, block, name, top):
        found = block.find_var_recursive(name)
        kind = "parameter" if found is not None and found.persistable else "variable"
        if any(pattern.match(name) for pattern in self.highlights):
            kind = "highlight"
        return self.add(kind, f"{name}\n{type_code(found) if found is not None else ''}", top)

    def key(self, block, name):
        found = block.find_var_recursive(name)
        return (None if found is None else found.block.idx, name)

    def body(self, block, op):
        """A block that an operator runs, as a box."""
        before, self.inside = self.inside, (*self.inside, block.idx)
        self.boxes[block.idx] = f"block {block.idx} of {op.type}"
        self.block(block)
        self.inside = before

    def block(self, block):
        """The operators of a block and of those that they run."""
        self.drawn.add(block.idx)
        for op in block.ops:
            reads = []
            for name in dict.fromkeys(op.input_arg_names):
                key = self.key(block, name)
                if key not in self.latest:
                    self.latest[key] = self.variable(block, name, True)
                reads.append(self.latest[key])
            for idx in _blocks_of(op):
                if 0 < idx < block.program.num_blocks and idx not in self.drawn:
                    self.body(block.program.block(idx), op)
            node = self.add(role_of(op), f"{op.type}\n{slots_code(op.outputs)}")
            self.edges += [(read, node) for read in reads]
            for name in dict.fromkeys(op.output_arg_names):
                if name != "@EMPTY@":
                    made = self.latest[self.key(block, name)] = self.variable(block, name, False)
                    self.edges.append((node, made))

    def drawing(self, path):
        drawing = Drawing(self.nodes[::-1], self.edges, title="program", boxes=self.boxes)
        if path is not None:
            files.write_atomically(path, [drawing.dot.encode()])
        return drawing


def _blocks_of(op):
    """The numbers of the blocks that an operator runs."""
    for name in op.attr_names:
        if op.attr_type(name) in ("BLOCK", "BLOCKS"):
            value = op.attr(name)
            yield from value if isinstance(value, list) else [value]


def _pattern(value):
    if not isinstance(value, str):
        raise ArgumentTypeError(
            f"draw_block_graphviz: highlights must hold names, got {kind_of(value)}"
        )
    try:
        return re.compile(value)
    except re.error as error:
        raise InvalidArgumentError(
            f"draw_block_graphviz: highlights must hold names or regular expressions, got "
            f"{value!r}: {error}"
        ) from None


def draw_block_graphviz(block, highlights=None, path="./temp.dot"):
    """Draw a block: forward operators blue, backward red, update green.

    Parameters
    ----------
    block : Block
        The block to draw.
    highlights : list of str, optional
        Names of variables, or regular expressions for their beginnings: these are yellow.
    path : str or os.PathLike or None
        The file for the DOT text; None: no file.

    Returns
    -------
    Drawing
        With ``dot``, ``svg()``, and a picture in notebooks.

    Examples
    --------
    >>> from dygraph import static
    >>> with static.program_guard(static.Program(), static.Program()):
    ...     x = static.data("x", [4, 3], "float32")
    ...     loss = static.layers.mean(static.layers.fc(x, size=1, bias_attr=False))
    >>> static.debugger.draw_block_graphviz(loss.block, ["x"], path=None)
    <program of 6 nodes and 5 edges>
    """
    _block(block, "draw_block_graphviz")
    highlights = [] if highlights is None else highlights
    if not isinstance(highlights, (list, tuple, set)):
        raise ArgumentTypeError(
            f"draw_block_graphviz: highlights must be a list of names, got {kind_of(highlights)}"
        )
    highlights = [_pattern(value) for value in highlights]
    if path is not None:
        path = files.path_of(path, "draw_block_graphviz")
    graph = _Graph(highlights)
    graph.block(block)
    return graph.drawing(path)


def draw_graph(program, path=None):
    """Draw all blocks of a program like `draw_block_graphviz`; inner blocks are boxes.

    Parameters
    ----------
    program : Program
        The program to draw.
    path : str or os.PathLike, optional
        The file for the DOT text.

    Returns
    -------
    Drawing

    Examples
    --------
    >>> from dygraph import static
    >>> main = static.Program()
    >>> with static.program_guard(main, static.Program()):
    ...     x = static.data("x", [4, 3], "float32")
    ...     loss = static.layers.mean(static.layers.fc(x, size=1, bias_attr=False))
    ...     done = static.optimizer.SGD(0.1).minimize(loss)
    >>> drawing = static.draw_graph(main)
    >>> sorted({node["kind"] for node in drawing.nodes})
    ['backward', 'forward', 'parameter', 'update', 'variable']
    """
    _program(program, "draw_graph")
    if path is not None:
        path = files.path_of(path, "draw_graph")
    graph = _Graph([])
    for block in program.blocks:
        if block.idx not in graph.drawn:
            graph.block(block)
    return graph.drawing(path)
