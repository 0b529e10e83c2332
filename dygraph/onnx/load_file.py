"""ONNX files as plain objects, checked before anything is built from them.

Nothing here computes. A file of any bytes gives a `Model` or raises `FormatError`, or
`UnimplementedError` for a part of ONNX that the library has no values for. Data that stand in
other files are read from the model's own directory alone.
"""

import math
import os

import numpy as np

from dygraph.core.files import path_of
from dygraph.errors import FormatError, MissingFileError, UnimplementedError
from dygraph.onnx.load_rules import dtype_named

MAX_BYTES = (1 << 31) - 1  # of a file; protobuf's own limit
MAX_NODES = 1_000_000
MAX_RANK = 16
MAX_NAME = 1024
MAX_NESTING = 32

_ITEM_BYTES = {
    "float32": 4, "uint8": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "bool": 1,
    "float16": 2, "float64": 8, "complex64": 8, "complex128": 16, "bfloat16": 2,
}  # fmt: skip


class Ref:
    """The value of an attribute of the function that a node stands in."""

    def __init__(self, name):
        self.name = name


class Node:
    """One call: names of inputs and outputs, attributes as Python's values."""

    __slots__ = ("attributes", "binary", "domain", "inputs", "name", "op_type", "outputs", "refers")

    def __init__(self, proto, attributes):
        self.op_type, self.name = proto.op_type, proto.name
        self.domain = "" if proto.domain == "ai.onnx" else proto.domain
        self.inputs, self.outputs = list(proto.input), list(proto.output)
        self.attributes = attributes
        self.refers = any(isinstance(a, Ref) for a in attributes.values())
        self.binary = None  # of a node with graphs, for ONNX's functions that look into them
        graphs = any(isinstance(a, Graph) for a in attributes.values())
        if graphs and self.op_type not in ("If", "Loop", "Scan"):
            self.binary = proto.SerializeToString()

    def resolved(self, given):
        """The node with the attributes that the call of its function gives."""
        if not self.refers:
            return self
        node = object.__new__(Node)
        for slot in Node.__slots__:
            setattr(node, slot, getattr(self, slot))
        values = {
            key: given.get(value.name) if isinstance(value, Ref) else value
            for key, value in self.attributes.items()
        }
        node.attributes = {key: value for key, value in values.items() if value is not None}
        node.refers = False
        return node

    def __str__(self):
        domain = f"{self.domain}." if self.domain else ""
        return f"{domain}{self.op_type}" + (f" '{self.name}'" if self.name else "")


class Port:
    """A declared input or output: its name, type and sizes (int, name or None), or no shape."""

    __slots__ = ("dtype", "kind", "name", "shape")

    def __init__(self, name, kind, dtype, shape):
        self.name, self.kind, self.dtype, self.shape = name, kind, dtype, shape


class Graph:
    __slots__ = ("initializers", "inputs", "name", "nodes", "outputs")

    def __init__(self, name, inputs, outputs, initializers, nodes):
        self.name, self.inputs, self.outputs = name, inputs, outputs
        self.initializers, self.nodes = initializers, nodes


class Function:
    __slots__ = ("attributes", "binary", "defaults", "inputs", "name", "nodes", "opsets", "outputs")


class Model:
    __slots__ = ("functions", "graph", "nodes", "opsets")


def fault(rule, got):
    return FormatError(f"onnx.load: {rule}, got {got}")


def read(source):
    """The `Model` of a path, of bytes or of a `onnx.ModelProto`."""
    import onnx

    folder = None
    if isinstance(source, onnx.ModelProto):
        proto = source
    else:
        if isinstance(source, (bytes, bytearray, memoryview)):
            content = bytes(source)
        else:
            path = path_of(source, "onnx.load: path")
            content, folder = _content(path), os.path.dirname(os.path.abspath(path))
        try:
            proto = onnx.ModelProto.FromString(content)
        except Exception as error:  # of protobuf, whose classes differ between its versions
            raise fault("the file must be an ONNX model", _shown(error)) from None
    try:
        return Reader(folder).model(proto)
    except UnicodeDecodeError as error:
        raise fault("texts must be UTF-8", _shown(error)) from None
    except RecursionError:
        raise fault(f"graphs must be nested at most {MAX_NESTING} deep", "more") from None


def _content(path):
    if not os.path.isfile(path):
        raise MissingFileError(f"onnx.load: there must be a file '{path}', got none")
    size = os.path.getsize(path)
    if size > MAX_BYTES:
        raise fault(f"a file must have at most {MAX_BYTES} bytes", size)
    with open(path, "rb") as file:
        return file.read(MAX_BYTES + 1)


def _shown(error):
    return f"{type(error).__name__}: {error}"[:200]


class Reader:
    def __init__(self, folder):
        self.folder, self.nodes = folder, 0

    def model(self, proto):
        import onnx

        if not proto.HasField("graph"):
            raise fault("a model must have a graph", "none")
        model = Model()
        model.opsets = self.opsets(proto.opset_import, "a model")
        version, newest = model.opsets.get("", 1), onnx.defs.onnx_opset_version()
        if not 1 <= version <= newest:
            raise UnimplementedError(
                f"onnx.load: the opset must be at most {newest}, the newest that the installed "
                f"onnx knows, got {version}"
            )
        model.functions = {}
        for function in proto.functions:
            made = self.function(function, model.opsets)
            key = (_domain(function.domain), function.name)
            if key in model.functions:
                raise fault("functions must have different names", f"'{function.name}' twice")
            model.functions[key] = made
        model.graph = self.graph(proto.graph, 0, {})
        model.nodes = self.nodes
        return model

    def opsets(self, imports, what):
        found = {}
        for one in imports:
            _check_name(one.domain)
            domain = _domain(one.domain)
            if domain in found:
                raise fault(f"{what} must import a domain once", f"'{domain}' twice")
            found[domain] = one.version
        if not found:
            raise fault(f"{what} must say which operators it uses (opset_import)", "none")
        return found

    def function(self, proto, opsets, whole=True):
        made = Function()
        for name in (proto.name, proto.domain, *proto.input, *proto.output, *proto.attribute):
            _check_name(name)
        made.name = proto.name
        made.inputs, made.outputs = list(proto.input), list(proto.output)
        made.attributes = list(proto.attribute)
        made.defaults = {a.name: self.attribute(a, 1) for a in proto.attribute_proto}
        made.opsets = (
            self.opsets(proto.opset_import, "a function") if proto.opset_import else opsets
        )
        known = dict.fromkeys(made.inputs)
        made.nodes = self.node_list(proto.node, 1, known, f"the function '{proto.name}'")
        for name in made.outputs if whole else ():
            if name not in known:
                raise fault(f"'{name}', an output of '{proto.name}', must be computed", "nothing")
        return made

    def graph(self, proto, depth, outside):
        if depth > MAX_NESTING:
            raise fault(f"graphs must be nested at most {MAX_NESTING} deep", "more")
        _check_name(proto.name)
        what = f"the graph '{_short(proto.name)}'"
        initializers = {}
        for tensor in proto.initializer:
            _check_name(tensor.name)
            if tensor.name in initializers:
                raise fault("initializers must have different names", f"'{tensor.name}' twice")
            initializers[tensor.name] = self.tensor(tensor, f"the initializer '{tensor.name}'")
        for tensor in proto.sparse_initializer:
            name = tensor.values.name
            _check_name(name)
            if name in initializers:
                raise fault("initializers must have different names", f"'{name}' twice")
            initializers[name] = self.sparse(tensor, f"the initializer '{name}'")
        inputs = [self.port(value) for value in proto.input]
        known = dict(outside)
        own = set()
        for port in inputs:
            if port.name in own:
                raise fault("inputs must have different names", f"'{port.name}' twice")
            own.add(port.name)
        known.update(dict.fromkeys(own), **dict.fromkeys(initializers))
        nodes = self.node_list(proto.node, depth, known, what)
        outputs = [self.port(value) for value in proto.output]
        for port in outputs:
            if port.name not in known:
                raise fault(
                    f"'{port.name}', an output of {what}, must be computed", "no node that does"
                )
        return Graph(proto.name, inputs, outputs, initializers, nodes)

    def node_list(self, protos, depth, known, what):
        self.nodes += len(protos)
        if self.nodes > MAX_NODES:
            raise fault(f"a model must have at most {MAX_NODES} nodes", self.nodes)
        made, written = [], set()
        later = None
        for proto in protos:
            for name in (proto.op_type, proto.domain, proto.name, *proto.input):
                _check_name(name)
            where = f"{proto.op_type} '{_short(proto.name)}'"
            for name in proto.input:
                if name and name not in known:
                    later = later or {n for p in protos for n in p.output}
                    if name in later:
                        raise fault(
                            f"nodes must stand in an order in which each reads what is computed "
                            f"before it, without cycles; {where} must not read '{_short(name)}'",
                            "it written by this or a later node",
                        )
                    raise fault(
                        f"{where} of {what} must read what is computed before it",
                        f"'{_short(name)}', which nothing writes",
                    )
            attributes = {}
            for attribute in proto.attribute:
                if attribute.name in attributes:
                    raise fault(f"{where} must have an attribute once", f"'{attribute.name}' twice")
                attributes[attribute.name] = self.attribute(attribute, depth + 1, known)
            for name in proto.output:
                _check_name(name)
                if not name:
                    continue
                if name in written:
                    raise fault("a value must be written once", f"'{_short(name)}' twice")
                written.add(name)
                known[name] = None
            made.append(Node(proto, attributes))
        return made

    # Attributes and tensors -----------------------------------------------------------------------

    def attribute(self, proto, depth, known=None):
        import onnx

        kinds = onnx.AttributeProto
        _check_name(proto.ref_attr_name)
        if proto.ref_attr_name:
            return Ref(proto.ref_attr_name)
        kind, name = proto.type, proto.name
        _check_name(name)
        if kind == kinds.FLOAT:
            return float(proto.f)
        if kind == kinds.INT:
            return int(proto.i)
        if kind == kinds.STRING:
            return _text(proto.s)
        if kind == kinds.TENSOR:
            return self.tensor(proto.t, f"the attribute {name}")
        if kind == kinds.GRAPH:
            return self.graph(proto.g, depth, known or {})
        if kind == kinds.FLOATS:
            return [float(v) for v in proto.floats]
        if kind == kinds.INTS:
            return [int(v) for v in proto.ints]
        if kind == kinds.STRINGS:
            return [_text(v) for v in proto.strings]
        if kind == kinds.TENSORS:
            return [self.tensor(t, f"the attribute {name}") for t in proto.tensors]
        if kind == kinds.GRAPHS:
            return [self.graph(g, depth, known or {}) for g in proto.graphs]
        if kind == kinds.SPARSE_TENSOR:
            return self.sparse(proto.sparse_tensor, f"the attribute {name}")
        if kind in (kinds.TYPE_PROTO, kinds.TYPE_PROTOS):
            return proto
        raise fault(f"the attribute {_short(name)} must have a type", f"number {kind}")

    def tensor(self, proto, what):
        """A NumPy array; bfloat16 has the type of ml_dtypes."""
        import onnx

        if proto.data_type == onnx.TensorProto.STRING:
            return np.array([_text(s) for s in proto.string_data], object)
        dtype = dtype_named(proto.data_type, f"onnx.load: the type of {what}")
        dims = _sizes(proto.dims, what)
        elements = math.prod(dims)
        bytes_ = elements * _ITEM_BYTES[dtype]
        if bytes_ > 1 << 62:
            raise fault(f"{what} must have fewer than 2**62 bytes", dims)
        if proto.data_location == onnx.TensorProto.EXTERNAL:
            raw = self.external(proto, bytes_, what)
        elif proto.HasField("raw_data"):
            raw = proto.raw_data
        else:
            return _typed(proto, dtype, dims, elements, what)
        if len(raw) != bytes_:
            raise fault(f"{what} of {dtype} {dims} must have {bytes_} bytes", len(raw))
        array = np.frombuffer(raw, _numpy(dtype)).reshape(dims)
        return array if dtype != "bool" else array.astype(bool)

    def external(self, proto, size, what):
        """Bytes of another file, in the directory of the model."""
        if self.folder is None:
            raise fault(
                f"{what} stands in another file; load the model by its path", "it without a path"
            )
        facts = {}
        for entry in proto.external_data:
            _check_name(entry.key)
            _check_name(entry.value)
            if entry.key in facts:
                raise fault(f"{what} must say each fact of its data once", f"{entry.key} twice")
            facts[entry.key] = entry.value
        try:
            offset = int(facts.get("offset") or 0)
            length = int(facts.get("length") or size)
        except ValueError:
            raise fault(f"offset and length of {what} must be integers", facts) from None
        if offset < 0 or length != size:
            raise fault(f"{what} must have {size} bytes from an offset of 0 or more", facts)
        path = self.beside(facts.get("location", ""), what)
        total = os.path.getsize(path)
        if offset + length > total:
            raise fault(f"{what} must lie inside its file", f"{offset} + {length} of {total} bytes")
        with open(path, "rb") as file:
            file.seek(offset)
            return file.read(length)

    def beside(self, location, what):
        """The path of a data file: inside the model's directory, over no link."""
        parts = location.replace("\\", "/").split("/")
        bad = not location or os.path.isabs(location) or ":" in parts[0] or "\0" in location
        if bad or any(part in ("", ".", "..") for part in parts):
            raise fault(f"the file of {what} must be named from the model's directory", location)
        path = self.folder
        for part in parts:
            path = os.path.join(path, part)
            if os.path.islink(path):
                raise fault(f"the file of {what} must not be reached over links", location)
        if not os.path.isfile(path):
            raise MissingFileError(
                f"onnx.load: the file of {what} must stand beside the model, got no '{location}'"
            )
        return path

    def sparse(self, proto, what):
        dims = _sizes(proto.dims, what)
        if math.prod(dims) > 1 << 26:
            raise UnimplementedError(
                f"onnx.load: {what} must have at most 2**26 elements, since it becomes dense, "
                f"got {dims}"
            )
        values = self.tensor(proto.values, what)
        places = self.tensor(proto.indices, what)
        dense = np.zeros(dims, values.dtype)
        fits = places.dtype == np.int64 and values.ndim == 1 and len(places) == len(values)
        if (
            not fits
            or places.ndim not in (1, 2)
            or places.ndim == 2
            and places.shape[1] != len(dims)
        ):
            raise fault(f"{what} must give one place for each value", places.shape)
        if places.ndim == 1:
            limits, places = [dense.size], places[:, None]
            dense = dense.reshape(-1)
        else:
            limits = dims
        if places.size and ((places < 0) | (places >= np.array(limits))).any():
            raise fault(f"places of {what} must lie in {dims}", places.max())
        dense[tuple(places.T)] = values
        return dense.reshape(dims)

    def port(self, proto):
        _check_name(proto.name)
        kind = proto.type.WhichOneof("value")
        if kind != "tensor_type":
            return Port(proto.name, kind, None, None)
        tensor = proto.type.tensor_type
        shape = None
        if tensor.HasField("shape"):
            if len(tensor.shape.dim) > MAX_RANK:
                raise fault(
                    f"'{proto.name}' must have at most {MAX_RANK} axes", len(tensor.shape.dim)
                )
            shape = []
            for dim in tensor.shape.dim:
                which = dim.WhichOneof("value")
                if which == "dim_value" and not 0 <= dim.dim_value < 1 << 62:
                    raise fault(f"sizes of '{proto.name}' must be 0 or more", dim.dim_value)
                _check_name(dim.dim_param)
                shape.append(
                    dim.dim_value if which == "dim_value"
                    else (dim.dim_param or None) if which else None
                )  # fmt: skip
        return Port(proto.name, kind, tensor.elem_type, shape)


def _typed(proto, dtype, dims, elements, what):
    """The array of a tensor whose elements stand in the field of their type."""
    fields = {
        "float32": "float_data", "complex64": "float_data", "float64": "double_data",
        "complex128": "double_data", "int64": "int64_data",
    }  # fmt: skip
    values = getattr(proto, fields.get(dtype, "int32_data"))
    wanted = elements * (2 if dtype.startswith("complex") else 1)
    if len(values) != wanted:
        raise fault(f"{what} of {dtype} {dims} must have {wanted} values", len(values))
    if dtype in ("float16", "bfloat16"):
        bits = np.array(values, np.int64)
        if ((bits < 0) | (bits > 0xFFFF)).any():
            raise fault(f"{what} must have values of 16 bits", bits.max())
        return bits.astype(np.uint16).view(_numpy(dtype)).reshape(dims)
    if dtype.startswith("complex"):
        parts = np.array(values, "float32" if dtype == "complex64" else "float64")
        return parts.view(dtype).reshape(dims)
    array = np.array(values, dtype if dtype != "bool" and fields.get(dtype) else np.int64)
    return array.astype(dtype, copy=False).reshape(dims)


def _numpy(dtype):
    if dtype == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype("uint8" if dtype == "bool" else dtype)


def _sizes(dims, what):
    sizes = [int(n) for n in dims]
    if len(sizes) > MAX_RANK:
        raise fault(f"{what} must have at most {MAX_RANK} axes", len(sizes))
    if any(n < 0 for n in sizes) or math.prod(n for n in sizes if n) > 1 << 62:
        raise fault(f"the sizes of {what} must be 0 or more, in all below 2**62", sizes)
    return sizes


def _domain(text):
    return "" if text == "ai.onnx" else text


def _check_name(name):
    if isinstance(name, bytes):  # what protobuf gives for a text that is none
        raise fault("names must be UTF-8", name[:60])
    if len(name.encode("utf-8", "replace")) > MAX_NAME:
        raise fault(f"names must have at most {MAX_NAME} bytes", f"'{_short(name)}'")


def _short(text):
    return text if len(text) < 60 else text[:57] + "..."


def _text(data):
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else data
