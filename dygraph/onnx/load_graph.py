"""Graphs interpreted by rules: described as a program, or computed at once."""

import math

import numpy as np

from dygraph import _core
from dygraph.autograd.recording import no_grad
from dygraph.errors import (
    DygraphError,
    FormatError,
    InvalidArgumentError,
    UnimplementedError,
    append_text,
)
from dygraph.onnx import load_functions, load_sizes
from dygraph.onnx.load_file import MAX_NESTING, Graph
from dygraph.onnx.load_rules import FOLDED, RULES, Call, TooLarge, Weight, dtype_named

_WIDER = {
    "float16": "float32", "bfloat16": "float32",
    "bool": "int32", "uint8": "int32", "int8": "int32", "int16": "int32",
}  # fmt: skip
EXPANDED = 10_000
_LITERAL = 64  # elements; a larger constant becomes a buffer


class Scope:
    """The values of one graph or function by name, and what it sees outside."""

    def __init__(self, opsets, outer=None, attributes=None, depth=0):
        self.opsets, self.outer, self.depth = opsets, outer, depth
        self.attributes = attributes or {}
        self.values = {}
        self.nodes, self.at, self.results = [], 0, []  # the node that runs; names that come out

    def find(self, name):
        scope = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.outer
        raise FormatError(f"onnx.load: '{name}' must be computed before it is read, got nothing")


class Importer:
    """One pass over a model. `program` None: the eager face."""

    def __init__(self, model, layer, program=None):
        self.model, self.layer, self.program = model, layer, program
        self.calls, self.most = 0, EXPANDED + 1000 * model.nodes  # of functions
        self._constants = {}  # (block, id): (symbolic, eager), which keeps the id alive
        self._arrays = {}  # id of an attribute's or initializer's array: (Variable, array)

    # Values ---------------------------------------------------------------------------------------

    def variable(self, value, describes, frozen=False):
        """The Variable for a value; `describes`: in the program."""
        if value is None:
            return None
        if isinstance(value, list):
            raise UnimplementedError("a tensor must be given, got a sequence")
        if isinstance(value, Weight):
            parameter = value.parameter(frozen)
            return self._face(parameter) if describes else parameter
        if load_sizes.is_sizes(value):
            return load_sizes.variable_of(value)
        if describes and not _core.is_symbol(value):
            return self._constant(value)
        return value

    def _face(self, value):
        """The program's variable for a parameter or a buffer."""
        if value.name in self.program.held and not self.program.declares(value.name):
            del self.program.held[value.name]  # its description was taken back
        return self.program.face_of(value, "onnx")

    def _constant(self, value):
        """What stands for an eager Variable in the program."""
        if value.persistable:
            return self._face(value)
        block = self.program.current_block()
        while block is not None:
            found = self._constants.get((block.idx, id(value)))
            if found is not None and block.core.find(found[0].name) is found[0]:
                return found[0]  # unless its description was taken back
            block = self.program.block(block.parent_idx) if block.parent_idx >= 0 else None
        dtype = str(value.dtype)
        if math.prod(value.shape) > _LITERAL or dtype.startswith("complex"):
            return self._face(self.layer.buffer(value))
        wide = _WIDER.get(dtype, dtype) if dtype != "bool" else dtype
        array = value.numpy().astype(wide)
        if dtype == "bool" and array.size and array.all() == array.any():
            with self.program.appending_to(self.program.current_block()):
                made = _core.ops.fill_constant(
                    shape=list(array.shape), dtype="bool", value=float(array.flat[0])
                )
            made.stop_gradient = True
        else:
            made = self.program.constant(array)
        if wide != dtype:
            made = made.astype(dtype)
        self._constants[self.program.current_block().idx, id(value)] = made, value
        return made

    def eager(self, array):
        """The eager Variable for an array of the model."""
        found = self._arrays.get(id(array))
        if found is None:
            if array.dtype == object:
                raise UnimplementedError("values must be numbers, got strings")
            found = self._arrays[id(array)] = _core.to_variable(array), array
        return found[0]

    def numbers(self, value):
        if isinstance(value, Weight):
            return np.asarray(value.array)
        if not isinstance(value, _core.Variable) or _core.is_symbol(value):
            return None
        return value.numpy()

    def shape(self, value):
        if isinstance(value, Weight) or load_sizes.is_sizes(value):
            return list(value.array.shape if isinstance(value, Weight) else value.shape)
        if _core.is_symbol(value):
            return list(value.followed_shape())
        return list(value.shape)

    def fix_for(self, value):
        """How the user can give a value that the model reads while it is loaded."""
        name = getattr(value, "name", None)
        if name in {port.name for port in self.model.graph.inputs}:
            return f". Give it: dygraph.onnx.load(path, values={{{name!r}: array}})"
        return ". Give the input that decides it, by values="

    # Graphs ---------------------------------------------------------------------------------------

    def graph(self, graph, inputs, outer, opsets=None):
        """The values of a graph's outputs, for values of its inputs."""
        depth = outer.depth + 1 if outer is not None else 0
        if depth > MAX_NESTING:
            raise FormatError(f"onnx.load: graphs must be nested at most {MAX_NESTING} deep")
        scope = Scope(
            outer.opsets if outer is not None else opsets, outer,
            outer.attributes if outer is not None else None, depth,
        )  # fmt: skip
        for name, array in graph.initializers.items():
            scope.values[name] = self.layer.initializer(self, name, array)
        names = [port.name for port in graph.inputs]
        if outer is None:
            names = [name for name in names if name in inputs or name not in graph.initializers]
            for name in names:
                if name not in inputs:
                    raise InvalidArgumentError(f"onnx.load: the input '{name}' must be given")
            scope.values.update(inputs)
        else:
            if len(names) != len(inputs):
                raise FormatError(
                    f"onnx.load: the graph '{graph.name}' must be given {len(names)} inputs, got "
                    f"{len(inputs)}"
                )
            scope.values.update(zip(names, inputs, strict=True))
        scope.results = [port.name for port in graph.outputs]
        self.nodes(graph.nodes, scope)
        return [scope.find(name) for name in scope.results]

    def nodes(self, nodes, scope):
        for i, node in enumerate(nodes):
            scope.nodes, scope.at = nodes, i
            try:
                results = self.node(node.resolved(scope.attributes), scope)
            except (
                DygraphError, TypeError, ValueError, LookupError, ArithmeticError, AttributeError,
                RecursionError,
            ) as e:  # fmt: skip
                if not getattr(e, "of_onnx_node", False):
                    if not isinstance(e, DygraphError):
                        e = FormatError(
                            f"onnx.load: {node} must have attributes and inputs as ONNX says, got "
                            f"{type(e).__name__}: {e}"
                        )
                    append_text(e, f"in {node} of the ONNX model")
                    e.of_onnx_node = True
                    raise e from None
                raise
            for name, value in zip(node.outputs, results, strict=False):
                if name:
                    scope.values[name] = value
            for name in node.outputs[len(results) :]:
                if name:
                    raise FormatError(
                        f"onnx.load: {node} must have at most {len(results)} outputs, got "
                        f"{len(node.outputs)}"
                    )

    def node(self, node, scope):
        """The values of a node's outputs."""
        inputs = [scope.find(name) if name else None for name in node.inputs]
        opset = scope.opsets.get(node.domain)
        if opset is None:
            raise FormatError(
                f"onnx.load: the domain '{node.domain}' must be imported (opset_import), got "
                f"{sorted(scope.opsets)}"
            )
        rule = None
        if (node.domain, node.op_type) not in self.model.functions:
            rule = RULES.get((node.domain, node.op_type))
        if rule is None:
            return self.expanded(node, inputs, scope, opset)
        call = Call(self, node, opset, scope, False)
        if any(map(load_sizes.is_sizes, inputs)):
            found = load_sizes.computed(node.op_type, call, inputs)
            if found is not None:
                return found if isinstance(found, list) else [found]
        if not rule.control and self.folds(rule, inputs):
            try:
                with no_grad():
                    return self.applied(rule, Call(self, node, opset, scope, True), inputs)
            except TooLarge:
                pass
        if rule.control or not call.describes:
            return self.applied(rule, call, inputs)
        with self.program.appending_to(self.program.current_block()):
            return self.applied(rule, call, inputs)

    def folds(self, rule, inputs):
        """Whether a node's result is a constant, small enough to be computed now."""
        if self.program is None or rule.random:
            return False
        elements, most = 0, 1
        for i, value in enumerate(inputs):
            if isinstance(value, list):
                if any(_core.is_symbol(v) for v in value):
                    return False
            elif isinstance(value, Weight):
                if i not in rule.known:
                    return False
            elif load_sizes.is_sizes(value) or value is not None and _core.is_symbol(value):
                return False
            elif value is not None:
                count = math.prod(value.shape)
                elements, most = elements + count, most * max(count, 1)
        return elements <= FOLDED and (len(inputs) < 2 or most <= FOLDED * FOLDED >> 8)

    def applied(self, rule, call, inputs):
        try:
            return self.computed(rule, call, inputs)
        except UnimplementedError as error:
            if "there must be a kernel for" not in str(error):
                raise
            narrow = {
                str(v.dtype) for i, v in enumerate(inputs)
                if isinstance(v, _core.Variable) and i not in rule.known
            } & _WIDER.keys()  # fmt: skip
            if not narrow:
                raise
            call.wider = {name: _WIDER[name] for name in narrow}
            results = self.computed(rule, call, inputs)
            first = next(
                str(v.dtype) for v in inputs
                if isinstance(v, _core.Variable) and str(v.dtype) in narrow
            )  # fmt: skip
            call.wider = None
            return [
                r.astype(first)
                if isinstance(r, _core.Variable) and str(r.dtype) == _WIDER[first]
                else r
                for r in results
            ]

    def computed(self, rule, call, inputs):
        if not rule.variadic and len(inputs) > rule.arity:
            raise InvalidArgumentError(
                f"it must have at most {rule.arity} inputs, got {len(inputs)}"
            )
        needed = load_functions.needed_inputs(call.node.domain, call.node.op_type, call.opset)
        for i, needs in enumerate(needed):
            if needs and (i >= len(inputs) or inputs[i] is None):
                raise InvalidArgumentError(f"input {i} must be given, got {len(inputs)} inputs")
        if not rule.lists and not rule.control and any(isinstance(v, list) for v in inputs):
            raise InvalidArgumentError("its inputs must be tensors, got a sequence")
        values = [
            v if i in rule.known or isinstance(v, list) else call.variable(v, i in rule.frozen)
            for i, v in enumerate(inputs)
        ]
        if not rule.variadic:
            values += [None] * (rule.arity - len(values))
        result = rule.function(call, *values)
        if isinstance(result, tuple):
            return list(result)
        return [result]

    # Functions ------------------------------------------------------------------------------------

    def expanded(self, node, inputs, scope, opset):
        """The results of a node that a function describes: one of the model, or ONNX's own."""
        function = self.model.functions.get((node.domain, node.op_type))
        if function is None:
            function = load_functions.of_schema(self, node, inputs, opset)
        if scope.depth > MAX_NESTING:
            raise FormatError(
                f"onnx.load: functions must be nested at most {MAX_NESTING} deep and must not call "
                f"themselves, got {node}"
            )
        if len(inputs) > len(function.inputs) or len(node.outputs) > len(function.outputs):
            raise InvalidArgumentError(
                f"it must have at most {len(function.inputs)} inputs and "
                f"{len(function.outputs)} outputs, got {len(inputs)} and {len(node.outputs)}"
            )
        self.calls += len(function.nodes)
        if self.program is not None and self.calls > self.most:
            raise FormatError(
                f"onnx.load: a model must have at most {self.most} nodes after its functions are "
                "expanded, got more"
            )
        given = {**function.defaults, **node.attributes}
        inner = Scope(function.opsets, None, given, scope.depth + 1)
        inner.values[""] = None
        inner.results = function.outputs
        for i, name in enumerate(function.inputs):
            inner.values[name] = inputs[i] if i < len(inputs) else None
        self.nodes(function.nodes, inner)
        return [inner.values.get(name) for name in function.outputs]


def declared(port):
    """The name of a declared input's type."""
    if port.kind != "tensor_type":
        kind = (port.kind or "no type").removesuffix("_type")
        raise UnimplementedError(f"onnx.load: '{port.name}' must be a tensor, got {kind}")
    return dtype_named(port.dtype, f"onnx.load: the type of '{port.name}'")


def unsupported(model):
    """What of a model has no rule and no function: (domain, name, opset), sorted."""
    found, seen = set(), set()

    def look(nodes, opsets):
        for node in nodes:
            key = (node.domain, node.op_type)
            if key in model.functions:
                if key not in seen:
                    seen.add(key)
                    function = model.functions[key]
                    look(function.nodes, function.opsets)
            elif (
                not load_functions.is_read(node, opsets)
                or key not in RULES
                and not load_functions.known(node, opsets)
            ):
                found.add((*key, opsets.get(node.domain, 0)))
            for value in node.attributes.values():
                for graph in value if isinstance(value, list) else [value]:
                    if isinstance(graph, Graph):
                        look(graph.nodes, opsets)

    look(model.graph.nodes, model.opsets)
    return sorted(found)
