"""The rules of the importer: for each ONNX operator a function that calls dygraph's own.

    @rule("Relu")
    def relu(call, x):
        return F.relu(x)

A rule serves both faces of a model. Under `static.program_guard` its Variables are symbolic and the
calls describe a program, in the eager face they compute. What an input holds is one of

- a Variable: eager if it is a constant, or in the eager face;
- a `Weight`: an initializer that becomes a parameter at its first use as a Variable;
- a NumPy array of objects: sizes, of which some are known only in a run (`load_sizes`);
- None for an input that is left out; a list for a sequence.

A rule gets Variables. The inputs that it names in `known` come as they are: the rule reads their
numbers with `Call.numbers` or `Call.integers`, or takes the Variable with `Call.variable`.
"""

import inspect

import numpy as np

from dygraph import _core
from dygraph.errors import InvalidArgumentError, UnimplementedError

RULES: dict = {}  # (domain, name of the operator): Rule

DTYPES = {
    1: "float32", 2: "uint8", 3: "int8", 5: "int16", 6: "int32", 7: "int64", 9: "bool",
    10: "float16", 11: "float64", 14: "complex64", 15: "complex128", 16: "bfloat16",
}  # fmt: skip
NUMBERS = {name: number for number, name in DTYPES.items()}
TABLE = 1 << 24  # elements of what is computed from declared sizes
FOLDED = 1 << 16  # elements that a constant may have to be computed while the model is loaded


class Rule:
    """One operator's function and what the importer must know about it."""

    def __init__(self, function, known, frozen, random, control, lists):
        self.function, self.known, self.frozen = function, frozenset(known), frozenset(frozen)
        self.random, self.control, self.lists = random, control, lists
        parameters = list(inspect.signature(function).parameters.values())[1:]
        self.variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        self.arity = sum(
            p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty for p in parameters
        )


def rule(*names, domain="", known=(), frozen=(), random=False, control=False, lists=False):
    """Register a function for the operators of these names.

    known : positions of inputs that it gets as they are; frozen : of initializers that training
    leaves alone; random : constants as inputs do not make its result one; control : it holds
    graphs; lists : it takes sequences.
    """

    def register(function):
        for name in names:
            RULES[domain, name] = Rule(function, known, frozen, random, control, lists)
        return function

    return register


class Weight:
    """An initializer of floating type: a parameter of the layer from its first use on."""

    __slots__ = ("array", "layer", "name", "trainable")

    def __init__(self, name, array, layer, trainable=True):
        self.name, self.array, self.layer, self.trainable = name, array, layer, trainable

    def parameter(self, frozen=False):
        return self.layer.weight(self.name, self.array, self.trainable and not frozen)


class Call:
    """One node of the graph, as its rule sees it."""

    def __init__(self, importer, node, opset, scope, folding):
        self.importer, self.node, self.opset, self.scope = importer, node, opset, scope
        self.attributes = node.attributes
        self.folding = folding  # eager Variables alone: the result is a constant
        self.describes = importer.program is not None and not folding
        self.wider = None  # {dtype: dtype} where the operator has no kernel for narrow types

    # Attributes -----------------------------------------------------------------------------------

    def attr(self, name, default=None):
        """The value of an attribute: a number, text, list, tensor (NumPy) or graph."""
        found = self.attributes.get(name)
        return default if found is None else found

    def needs(self, name):
        """The value of an attribute that must be given."""
        found = self.attributes.get(name)
        if found is None:
            raise InvalidArgumentError(
                f"the attribute {name} must be given, got only {sorted(self.attributes)}"
            )
        return found

    @property
    def outputs(self):
        """The number of outputs; those after the last that is named do not count."""
        return len(self.node.outputs)

    def wants(self, i):
        """Whether output `i` has a name."""
        return i < len(self.node.outputs) and bool(self.node.outputs[i])

    # Values ---------------------------------------------------------------------------------------

    def variable(self, value, frozen=False):
        """The Variable for a value."""
        made = self.importer.variable(value, self.describes, frozen)
        if self.wider and made is not None and str(made.dtype) in self.wider:
            made = made.astype(self.wider[str(made.dtype)])
        return made

    def constant(self, array, like=None):
        """The Variable for a NumPy array, in the type of `like`."""
        array = np.asarray(array) if like is None else np.asarray(array, _numpy_of(like))
        made = _core.to_variable(array)
        if like is not None and str(like.dtype) == "bfloat16":
            made = made.astype("bfloat16")
        return self.importer.variable(made, self.describes)

    def numbers(self, value, what=None):
        """The values as a NumPy array, or None where only a run knows them.

        With `what`, their name in messages, they must be known.
        """
        array = self.importer.numbers(value)
        if array is None and value is not None and what is not None:
            raise UnimplementedError(
                f"{what} must be known when the model is loaded, but a run decides it"
                + self.importer.fix_for(value)
            )
        return array

    def integers(self, value, what=None):
        """The elements of a list of sizes as ints and Sizes, or None where a run decides them."""
        if isinstance(value, np.ndarray):
            return list(value.reshape(-1))
        array = self.numbers(value, what)
        return None if array is None else [int(n) for n in array.reshape(-1)]

    def integer(self, value, what):
        """One integer that is known when the model is loaded."""
        found = self.integers(value, what)
        if len(found) != 1:
            raise InvalidArgumentError(f"{what} must be one integer, got {len(found)}")
        return found[0]

    def shape(self, value):
        """The sizes of a Variable: ints, and Sizes for those that only a run knows."""
        return self.importer.shape(value)

    def rank(self, value):
        return len(value.array.shape) if isinstance(value, Weight) else len(dims_of(value))

    def axis(self, axis, rank, what="axis"):
        """An axis counted from 0."""
        if not -rank <= axis < max(rank, 1):
            raise InvalidArgumentError(f"{what} must be in [{-rank}, {rank}), got {axis}")
        return axis % max(rank, 1)

    def room(self, elements):
        """Refuse to compute a large constant while the model is loaded: a run does it."""
        if self.folding and self.importer.program is not None and elements > FOLDED:
            raise TooLarge

    def table(self, elements, what="indices"):
        """Refuse a table that is made while the model is loaded and far larger than its file."""
        self.room(elements)
        if self.importer.program is not None and elements > TABLE:
            raise UnimplementedError(
                f"a table of {what} must have at most {TABLE} elements, got {elements}"
            )


class TooLarge(Exception):
    """A constant that is too large to be computed while the model is loaded."""


def _numpy_of(variable):
    name = str(variable.dtype)
    return "float32" if name == "bfloat16" else name


def dtype_named(number, what="the type"):
    """The name of the type with ONNX's number."""
    if number not in DTYPES:
        import onnx

        try:
            name = onnx.TensorProto.DataType.Name(number)
        except ValueError:
            name = number
        raise UnimplementedError(f"{what} must be one of {', '.join(NUMBERS)}, got {name}")
    return DTYPES[number]


def dims_of(value):
    """The sizes as ints, -1 for open ones."""
    if not isinstance(value, _core.Variable):
        raise InvalidArgumentError(f"a tensor must be given, got {type(value).__name__}")
    return _core.dims(value)


def type_of(value):
    """The name of the type of a Variable, a `Weight` or sizes."""
    if isinstance(value, Weight):
        return str(value.array.dtype)
    return str(value.dtype) if isinstance(value, _core.Variable) else "int64"


def is_floating(variable):
    return str(variable.dtype) in ("float16", "bfloat16", "float32", "float64")
