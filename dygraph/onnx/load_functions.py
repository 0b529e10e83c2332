"""Operators that ONNX itself defines by others: their bodies, from the wheel's schemas."""

import functools

import numpy as np

from dygraph import _core
from dygraph.errors import FormatError, UnimplementedError
from dygraph.onnx import load_file, load_sizes
from dygraph.onnx.load_rules import NUMBERS, Weight


def _schema(domain, name, opset):
    import onnx

    try:
        return onnx.defs.get_schema(name, opset, domain)
    except Exception:  # onnx's SchemaError, or TypeError for a version out of range
        return None


OLDEST = 7  # opset whose operators the rules read


def is_read(node, opsets):
    """Whether the version of an operator is one that rules know: those before opset 7 differ."""
    opset = opsets.get(node.domain, 0)
    if node.domain or opset >= OLDEST:
        return True
    then, now = (_schema("", node.op_type, version) for version in (opset, OLDEST))
    return then is not None and now is not None and then.since_version == now.since_version


@functools.lru_cache(maxsize=4096)
def needed_inputs(domain, name, opset):
    """Whether each input of an operator must be given."""
    schema = _schema(domain, name, opset)
    if schema is None:
        return ()
    import onnx

    single = onnx.defs.OpSchema.FormalParameterOption.Single
    return tuple(i < schema.min_input and v.option == single for i, v in enumerate(schema.inputs))


def known(node, opsets):
    """Whether ONNX has a body for the operator in this version."""
    opset = opsets.get(node.domain)
    schema = _schema(node.domain, node.op_type, opset) if opset else None
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


@functools.lru_cache(maxsize=256)
def _plain(domain, name, opset):
    schema = _schema(domain, name, opset)
    if schema is None or not schema.has_function:
        return None
    versions = [v for v in schema.function_opset_versions if v <= opset]
    if not versions:
        return None
    import onnx

    body = schema.get_function_with_opset_version(max(versions))
    return _read(onnx.FunctionProto.FromString(body), {"": max(versions)})


def _read(proto, opsets):
    """A function of ONNX itself; without nodes whose results are unused, if the node builds it."""
    function = load_file.Reader(None).function(proto, opsets, whole=False)
    for domain, version in opsets.items():
        function.opsets.setdefault(domain, version)
    return function


def of_schema(importer, node, inputs, opset):
    """The body of an operator, for inputs of these types."""
    found = _plain(node.domain, node.op_type, opset)
    if found is not None:
        return found
    schema = _schema(node.domain, node.op_type, opset)
    if schema is None or not schema.has_context_dependent_function:
        raise UnimplementedError(
            f"onnx.load: operators must have a rule here, got {node} of opset {opset}"
        )
    import onnx

    versions = [v for v in schema.context_dependent_function_opset_versions if v <= opset]
    if not versions:
        raise UnimplementedError(f"onnx.load: {node} must be defined in opset {opset}")
    types = [_type(importer, value).SerializeToString() for value in inputs]
    binary = node.binary or _written(node)
    try:
        body = schema.get_context_dependent_function_with_opset_version(
            max(versions), binary, types
        )
        made = onnx.FunctionProto.FromString(body)
    except Exception as error:  # of onnx's C++, for types that the body does not fit
        raise FormatError(
            f"onnx.load: {node} must have inputs as ONNX says, got {type(error).__name__}: {error}"
        ) from None
    if not made.node:
        raise FormatError(f"onnx.load: {node} must have inputs as ONNX says, got others")
    domain = importer.model.opsets.get("", onnx.defs.onnx_opset_version())
    return _read(made, {"": domain if node.domain else max(versions)})


def _written(node):
    """The bytes of a node."""
    import onnx

    given = {k: v for k, v in node.attributes.items() if not isinstance(v, list) or v}
    for name, value in given.items():
        if isinstance(value, np.ndarray):
            given[name] = onnx.numpy_helper.from_array(value)
    proto = onnx.helper.make_node(
        node.op_type, node.inputs, node.outputs, domain=node.domain, **given
    )
    return proto.SerializeToString()


def _type(importer, value):
    """The TypeProto of a value."""
    import onnx

    if value is None:
        return onnx.TypeProto()
    if load_sizes.is_sizes(value):
        dtype = "int64"
    elif isinstance(value, Weight):
        dtype = str(value.array.dtype)
    else:
        dtype = str(value.dtype)
    if isinstance(value, _core.Variable) and _core.is_symbol(value):
        shape = [None if n < 0 else n for n in value.desc.shape]
    else:
        shape = importer.shape(value)
    return onnx.helper.make_tensor_type_proto(NUMBERS[dtype], shape)
