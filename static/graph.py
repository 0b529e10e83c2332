"""A program as an SSA graph: every write of a variable is a new version.

`static.passes.graph` makes one; ``csrc/passes/graph.h`` holds it.
"""

from dygraph import _core
from dygraph.errors import ArgumentTypeError, PreconditionNotMetError, kind_of

__all__ = ["BlockGraph", "Graph", "Node", "Version"]


class _Part:
    """One of a block's nodes or versions, by its number."""

    __slots__ = "block", "index"

    def __init__(self, block, index):
        self.block, self.index = block, index

    def __eq__(self, other):
        return (
            type(self) is type(other)
            and self.index == other.index
            and self.block.core is other.block.core
            and self.block.index == other.block.index
        )

    def __hash__(self):
        return hash((type(self), self.block.index, self.index))


class Version(_Part):
    """What a variable holds from one write to the next.

    Attributes
    ----------
    name : str
        The variable's.
    number : int
        How many writes of its block came before; 0: what it holds when the block begins.
    inputs : list of Node
        The operator that writes it; empty for number 0.
    outputs : list of Node
        The operators that read it, in order.
    wanted : bool
        Whether more than these operators may read it: the scope, another block, a fetch.
    """

    def _get(self):
        return self.block.core.version(self.block.index, self.index)

    name = property(lambda self: self._get()[0])
    number = property(lambda self: self._get()[1])
    wanted = property(lambda self: self._get()[5])

    @property
    def inputs(self):
        producer = self._get()[2]
        return [] if producer < 0 else [Node(self.block, producer)]

    @property
    def outputs(self):
        return [Node(self.block, n) for n in self._get()[3]]

    def __repr__(self):
        return f"{self.name}:{self.number}"


class Node(_Part):
    """An operator between the versions that it reads and writes.

    Attributes
    ----------
    op : Operator
        The operator, in the graph's own copy of the program.
    type : str
        Its type.
    inputs, outputs : list of Version
        What it reads and writes, in the order of its slots; then what the block that it runs reads
        and writes of the variables around it.
    body : BlockGraph or None
        The graph of the block that it runs.
    """

    def _get(self):
        return self.block.core.node(self.block.index, self.index)

    def _versions(self, numbers):
        return [Version(self.block, v) for v in numbers]

    op = property(lambda self: self._get()[0])
    type = property(lambda self: self.op.type)
    inputs = property(lambda self: self._versions(self._get()[1] + self._get()[3]))
    outputs = property(lambda self: self._versions(self._get()[2] + self._get()[4]))

    @property
    def body(self):
        body = self._get()[5]
        return None if body < 0 else BlockGraph(self.block.core, body)

    def __repr__(self):
        return f"<{self.type} of {self.inputs} to {self.outputs}>"


class BlockGraph:
    """The operators of a block and the versions of its variables.

    Attributes
    ----------
    nodes : list of Node
        Its operators in order.
    versions : list of Version
        Those that an operator of the block reads or writes.
    """

    def __init__(self, core, index):
        self.core, self.index = core, index

    @property
    def nodes(self):
        nodes = [Node(self, n) for n in range(self.core.node_count(self.index))]
        return [node for node in nodes if not node._get()[6]]

    @property
    def versions(self):
        versions = [Version(self, v) for v in range(self.core.version_count(self.index))]
        nodes = {node.index for node in self.nodes}
        return [v for v in versions if v._get()[2] in nodes or v._get()[3]]

    def __repr__(self):
        return f"<graph of {len(self.nodes)} operators and {len(self.versions)} versions>"


class Graph:
    """A copy of a program as a graph that can be edited and written back. ``str`` prints it.

    Attributes
    ----------
    blocks : list of BlockGraph
        The graph of each block.
    nodes, versions : list
        Those of block 0.
    """

    def __init__(self, program, keep=()):
        self._program = program.clone()
        self._core = _core.Graph(self._program.core, list(keep))

    @property
    def blocks(self):
        return [BlockGraph(self._core, i) for i in range(self._core.block_count)]

    nodes = property(lambda self: self.blocks[0].nodes)
    versions = property(lambda self: self.blocks[0].versions)

    def _own(self, part, kind, what):
        if not isinstance(part, kind):
            raise ArgumentTypeError(f"{what} takes a {kind.__name__}, got {kind_of(part)}")
        if part.block.core is not self._core:
            raise PreconditionNotMetError(
                f"{what}: a {kind.__name__} must be one of this graph, got {part!r} of another"
            )
        return part

    def replace(self, version, by):
        """Let the operators that read one version read another one.

        Parameters
        ----------
        version, by : Version
            Of one block.

        Returns
        -------
        bool
            False, and nothing is changed, where the program could not say so by names: a later
            write takes the name of `by`, or an operator reads `version` in a block that it runs.
        """
        version = self._own(version, Version, "Graph.replace")
        by = self._own(by, Version, "Graph.replace")
        if version.block.index != by.block.index:
            raise PreconditionNotMetError(
                f"Graph.replace: both must be versions of one block, got {version!r} of block "
                f"{version.block.index} and {by!r} of block {by.block.index}"
            )
        return self._core.replace(version.block.index, version.index, by.index)

    def remove(self, node):
        """Take an operator out, whose results nothing reads.

        Raises
        ------
        PreconditionNotMetError
            Something reads a result, or may.
        """
        node = self._own(node, Node, "Graph.remove")
        self._core.remove(node.block.index, node.index)

    def to_program(self):
        """The graph as a program; of an unchanged graph it has the bytes of the one given.

        Returns
        -------
        Program
        """
        self._core.write()
        return self._program.clone()

    def draw(self, path=None):
        """The graph as a picture, like `static.draw_graph`.

        Returns
        -------
        Drawing
            With ``dot``, ``svg()``, and a picture in notebooks.
        """
        from dygraph.static.debugger import draw_graph

        return draw_graph(self.to_program(), path)

    def __str__(self):
        return self._core.text()

    def __repr__(self):
        return f"<graph of {len(self.blocks)} blocks, block 0 with {len(self.nodes)} operators>"
