"""Nodes, constants and names of an ONNX model while it is written; the registry of operators.

An operator's emitter is a function of a `Call` that appends nodes and returns the outputs::

    @operator("softsign")
    def softsign(c):
        return c.Div(c.x, c.Add(c.Abs(c.x), 1.0))

A value is the name of an ONNX tensor. `Call.NAME(...)` appends a node of the ONNX operator NAME;
numbers among its operands become constants of the call's element type, arrays constants of theirs.
Nodes all of whose operands are constants are computed here, so shapes and weights are folded.
"""

import functools

import numpy as np

from dygraph import _core
from dygraph.inspect.shown import Shown
from dygraph.onnx import export_fold
from dygraph.onnx.package import TensorProto, helper, numpy_helper

__all__ = ["EMITTERS", "Block", "Call", "Model", "Refused", "operator", "type_of"]

EMITTERS: dict = {}  # by the type of operator

_TYPES = {
    "bool": "BOOL",
    "uint8": "UINT8",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "float16": "FLOAT16",
    "bfloat16": "BFLOAT16",
    "float32": "FLOAT",
    "float64": "DOUBLE",
}
_AXES_AS_INPUT = {"Unsqueeze", "Squeeze", "ReduceSum"}  # in all opsets; other Reduce from 18 on
GRAPH = 5  # AttributeProto's number of a subgraph
_SMALL = 1024  # bytes of a constant that is looked for among those there are


class Refused(Exception):
    """What an operator cannot be written for; `export` lists all of them."""


def operator(*types):
    """Decorator: the emitter of operators of these types."""

    def register(emit):
        for type in types:
            if type in EMITTERS:
                raise KeyError(f"two emitters of {type}")
            EMITTERS[type] = emit
        return emit

    return register


def type_of(dtype):
    """ONNX's number of an element type."""
    if str(dtype) not in _TYPES:
        raise Refused(f"ONNX operators take no {dtype}")
    return getattr(TensorProto, _TYPES[str(dtype)])


class Model(Shown):
    """What all blocks of a model share."""

    def __init__(self, opset, read_weight=None):
        self.opset, self.read_weight = opset, read_weight
        self.names, self.constants, self.known = set(), {}, {}
        self.folded = {}  # values of folded nodes, by what these were
        self.integers = {}  # of floats that stand for whole numbers: these
        self.counts = {}

    def reserve(self, name):
        """Keep a name for an input or output."""
        self.names.add(name)

    def name(self, hint):
        """A name that no value has."""
        while True:
            count = self.counts[hint] = self.counts.get(hint, 0) + 1
            name = f"{hint}_{count}"
            if name not in self.names:
                self.names.add(name)
                return name

    def constant(self, array, hint="constant"):
        """The value of an array."""
        array = np.asarray(array)
        key = None
        if array.nbytes <= _SMALL:
            key = array.dtype.str, array.shape, array.tobytes()
            if key in self.known:
                return self.known[key]
        name = self.name(hint)
        self.constants[name] = array
        if key:
            self.known[key] = name
        return name

    def array(self, value):
        """The array of a constant; None for other values."""
        return self.constants.get(value)

    def initializers(self, used):
        """The constants among these names, as tensors."""
        return [numpy_helper.from_array(a, n) for n, a in self.constants.items() if n in used]


class Block(Shown):
    """Nodes in order, and the values of a program's variables at this point."""

    def __init__(self, model, program_block, parent=None):
        self.model, self.program, self.parent = model, program_block, parent
        self.nodes, self.values, self.lengths = [], {}, {}
        self.arrays, self.tables = {}, {}  # element types; ranks of sequences

    def find(self, name, table="values"):
        """The value of a variable here or in the blocks around; None if it has none."""
        block = self
        while block is not None:
            found = getattr(block, table).get(name)
            if found is not None:
                return found
            block = block.parent
        return None

    def get(self, name):
        """The value of a variable; a weight is read from the scope."""
        found = self.find(name)
        if found is None and self.model.read_weight:
            array = self.model.read_weight(name)
            if array is not None:
                root = self
                while root.parent is not None:
                    root = root.parent
                found = root.values[name] = self.model.constant(array, "weight")
        if found is None:
            raise Refused(f"the variable '{name}' must hold a value before it is read")
        return found

    def set(self, name, value, lengths=None):
        self.values[name] = value
        self.lengths[name] = lengths

    def graph(self, name, inputs, outputs, initializers=()):
        """A GraphProto of the nodes so far; those that nothing needs are left out."""
        needed = {o.name for o in outputs}
        kept = []
        for node in reversed(self.nodes):
            if any(o in needed for o in node.output):
                kept.append(node)
                needed.update(used_by(node))
        return helper.make_graph(kept[::-1], name, inputs, outputs, list(initializers))


def used_by(node):
    """Names that a node reads, its subgraphs included."""
    names = set(node.input)
    for attribute in node.attribute:
        if attribute.type == GRAPH:
            graph = attribute.g
            names.update(o.name for o in graph.output)
            for inner in graph.node:
                names |= used_by(inner)
    return names


@functools.cache
def description(type):
    return _core.describe_op(type)


class Call(Shown):
    """One operator of a program, and the block that its nodes go to."""

    def __init__(self, block, op):
        self.block, self.model, self.op = block, block.model, op
        self.info = description(op.type)
        self.opset = self.model.opset

    # What the operator is -------------------------------------------------------------------------

    def names(self, slot):
        """Names of the variables in an input slot."""
        return [n for n in self.op.inputs.get(slot, ()) if n != "@EMPTY@"]

    def has(self, slot):
        """Whether an input slot is filled."""
        return bool(self.names(slot))

    def wants(self, slot):
        """Whether the program names a variable for an output slot."""
        return bool([n for n in self.op.outputs.get(slot, ()) if n != "@EMPTY@"])

    def __getitem__(self, slot):
        """The value in an input slot; None if it is empty."""
        names = self.names(slot)
        return self.block.get(names[0]) if names else None

    def list(self, slot):
        """The values in an input slot."""
        return [self.block.get(name) for name in self.names(slot)]

    @property
    def first(self):
        """The first input slot that is filled."""
        for slot in self.info["inputs"]:
            if self.has(slot["name"]):
                return slot["name"]
        raise Refused("it has no input")

    @property
    def x(self):
        """The value of the first input."""
        return self[self.first]

    def variable(self, slot, i=0):
        name = self.names(slot)[i]
        found = self.block.program.find_var_recursive(name)
        if found is None:
            raise Refused(f"the variable '{name}' must be declared")
        return found

    def dims(self, slot=None, i=0):
        """Sizes of an input's axes; -1 where the program does not know them."""
        shape = self.variable(slot or self.first, i).shape
        if shape is None:
            raise Refused(f"the shape of {slot or self.first} must be known")
        return list(shape)

    def rank(self, slot=None, i=0):
        return len(self.dims(slot, i))

    def dtype_of(self, slot, i=0):
        return str(self.variable(slot, i).dtype)

    @functools.cached_property
    def dtype(self):
        """Element type of the first input; float32 if there is none."""
        return self.dtype_of(self.first) if any(self.has(s["name"]) for s in self.info["inputs"]) \
            else "float32"  # fmt: skip

    @property
    def floating(self):
        return "float" in self.dtype

    def attr(self, name):
        """An attribute, or its default."""
        if self.op.has_attr(name):
            return self.op.attr(name)
        for attr in self.info["attrs"]:
            if attr["name"] == name:
                return attr["default"]
        raise Refused(f"it has no attribute {name}")

    def dtype_attr(self, name="dtype", default=None):
        """The element type that an attribute names."""
        number = self.attr(name)
        if number in (-1, None):
            return default or self.dtype
        return str(_core.dtype_of(number))

    def axis(self, name="axis", rank=None):
        """An attribute that numbers an axis, from 0 on."""
        rank = self.rank() if rank is None else rank
        return int(self.attr(name)) % max(rank, 1)

    def require(self, holds, why):
        """Refuse the operator unless `holds`."""
        if not holds:
            raise Refused(why)

    def fixed(self, slot=None, axes=None):
        """Sizes of an input, which must be known."""
        dims = self.dims(slot)
        for i in range(len(dims)) if axes is None else axes:
            self.require(dims[i] >= 0, f"the size of {slot or self.first} along axis {i} is open")
        return dims

    def array(self, value):
        """The array of a constant; None for other values."""
        return self.model.array(value) if value else None

    def ints(self, attr, slot=None, slot_list=None):
        """Integers from a list of inputs, an input or an attribute: ints if they are known, else
        values of one element each."""
        if slot_list and self.has(slot_list):
            return [self.int_or_value(v) for v in self.list(slot_list)]
        if slot and self.has(slot):
            array = self.array(self[slot])
            if array is not None:
                return [int(n) for n in array.reshape(-1)]
            dims = self.dims(slot)
            self.require(len(dims) <= 1 and -1 not in dims, f"the number of {slot} must be known")
            value = self.Reshape(self.cast(self[slot], "int64"), np.array([-1]))
            count = dims[0] if dims else 1
            return [self.Slice(value, np.array([i]), np.array([i + 1])) for i in range(count)]
        return [int(n) for n in self.attr(attr)]

    def int_or_value(self, value):
        array = self.array(value)
        if array is not None:
            return int(array.reshape(-1)[0])
        return self.Reshape(self.cast(value, "int64"), np.array([1]))

    # Nodes ----------------------------------------------------------------------------------------

    def __getattr__(self, name):
        if name[:1].isupper():
            return functools.partial(self.node, name)
        raise AttributeError(name)

    def scalar(self, number, dtype=None):
        """A 0-d constant, of the call's element type."""
        dtype = dtype or self.dtype
        type_of(dtype)
        if dtype == "bfloat16":
            import ml_dtypes

            return self.model.constant(np.array(number, ml_dtypes.bfloat16))
        return self.model.constant(np.array(number, dtype))

    def value(self, operand):
        """The name of an operand: a value, a number, an array, or None for an absent one."""
        if operand is None or isinstance(operand, str):
            return operand or ""
        if isinstance(operand, (bool, int, float)):
            return self.scalar(operand)
        return self.model.constant(np.asarray(operand))

    def node(self, type, *operands, outputs=1, **attributes):
        """Append a node; its value, or a list of them."""
        axes = attributes.get("axes")
        if axes is not None and (
            type in _AXES_AS_INPUT or (type.startswith("Reduce") and self.opset >= 18)
        ):
            del attributes["axes"]
            operands = [*operands, np.array(list(axes), np.int64)]
        operands = [self.value(o) for o in operands]
        while operands and not operands[-1]:
            operands.pop()
        if outputs == 1 and operands and all(o in self.model.constants for o in operands):
            folded = self.folded(type, operands, attributes)
            if folded is not None:
                return folded
        names = [self.model.name(self.op.type) for _ in range(outputs)]
        attributes = {k: v for k, v in attributes.items() if v is not None}
        self.block.nodes.append(helper.make_node(type, operands, names, **attributes))
        return names[0] if outputs == 1 else names

    def folded(self, type, operands, attributes):
        """The constant that a node of constants makes; None where it stays a node."""
        key = type, tuple(operands), repr(sorted(attributes.items()))
        if key not in self.model.folded:
            made = export_fold.fold(type, [self.array(o) for o in operands], attributes)
            self.model.folded[key] = None if made is None else self.model.constant(made)
        return self.model.folded[key]

    def Identity(self, value):
        """The value itself: values never change, so no node is needed."""
        return self.value(value)

    def copy(self, value):
        """A node that hands a value on, as outputs of subgraphs need."""
        name = self.model.name(self.op.type)
        self.block.nodes.append(helper.make_node("Identity", [value], [name]))
        return name

    def cast(self, value, dtype):
        """The value in another element type."""
        return self.Cast(value, to=type_of(dtype))

    # Shapes ---------------------------------------------------------------------------------------

    def size(self, value, axis, dims=None):
        """The size along an axis: an int where it is known, else a value of one element."""
        array = self.array(value)
        if array is not None:
            return array.shape[axis]
        if dims is not None and dims[axis] >= 0:
            return dims[axis]
        return self.Shape(value, start=axis, end=axis + 1)

    def sizes(self, slot=None, i=0):
        """Sizes of an input, as of `size`."""
        slot = slot or self.first
        value, dims = self.block.get(self.names(slot)[i]), self.dims(slot, i)
        return [self.size(value, axis, dims) for axis in range(len(dims))]

    def vector(self, items):
        """One int64 tensor of ints and of values of one element."""
        parts, run = [], []
        for item in [*items, None]:
            if isinstance(item, str) or item is None:
                if run:
                    parts.append(np.array(run, np.int64))
                    run = []
                if item is not None:
                    parts.append(item)
            else:
                run.append(int(item))
        if not parts:
            return self.value(np.zeros([0], np.int64))
        return self.value(parts[0]) if len(parts) == 1 else self.Concat(*parts, axis=0)

    def times(self, items):
        """The product of sizes, as of `size`."""
        known, values = 1, []
        for item in items:
            if isinstance(item, str):
                values.append(item)
            else:
                known *= item
        result = known
        for value in values:
            is_one = isinstance(result, int) and result == 1
            result = value if is_one else self.Mul(self.vector([result]), value)
        return result

    def plus(self, a, b):
        """The sum of two sizes."""
        if isinstance(a, str) or isinstance(b, str):
            return self.Add(self.vector([a]), self.vector([b]))
        return a + b

    def reshape(self, value, items):
        """`value` in a shape of ints and values; at most one open size is left to be inferred."""
        items = list(items)
        open_ones = [i for i, item in enumerate(items) if isinstance(item, str)]
        if len(open_ones) == 1 and 0 not in items and -1 not in items:
            items[open_ones[0]] = -1
        return self.Reshape(value, self.vector(items), allowzero=int(0 in items) or None)

    def slice(self, value, starts, ends, axes, steps=None):
        """Part of a value; starts and ends are sizes."""
        return self.Slice(
            value, self.vector(starts), self.vector(ends), np.array(axes, np.int64),
            None if steps is None else self.vector(steps),
        )  # fmt: skip

    def squeeze(self, value, axes):
        return self.Squeeze(value, axes=axes) if len(axes) else value

    def unsqueeze(self, value, axes):
        return self.Unsqueeze(value, axes=axes) if len(axes) else value

    def transpose(self, value, perm):
        perm = list(perm)
        return value if perm == sorted(perm) else self.Transpose(value, perm=perm)

    def range(self, count):
        """0, 1, ... count - 1 as int64; count is a size."""
        if isinstance(count, int):
            return self.value(np.arange(count))
        return self.Range(self.scalar(0, "int64"), self.squeeze(count, [0]),
                          self.scalar(1, "int64"))  # fmt: skip

    def full(self, sizes, number, dtype):
        """A tensor of these sizes with one number everywhere."""
        if all(isinstance(n, int) for n in sizes) and np.prod(sizes, dtype=np.int64) <= 256:
            if dtype != "bfloat16":
                return self.value(np.full(sizes, number, dtype))
        one = numpy_helper.from_array(self.array(self.scalar(number, dtype)).reshape(1))
        return self.ConstantOfShape(self.vector(sizes), value=one)

    # Sequences ------------------------------------------------------------------------------------

    def lengths(self, slot=None):
        """The lengths of the sequences whose rows an input holds."""
        name = self.names(slot or self.first)[0]
        found = self.block.find(name, "lengths")
        if found is None:
            raise Refused(f"{slot or self.first} must have a level of detail")
        return found

    def is_ragged(self, slot=None):
        names = self.names(slot or self.first)
        return bool(names) and self.block.find(names[0], "lengths") is not None
