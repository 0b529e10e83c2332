"""`export`: a layer, a function or a program as an ONNX file."""

import functools
import importlib
import os
import pkgutil

import numpy as np

import dygraph
from dygraph.core import check, files
from dygraph.errors import (
    InvalidArgumentError,
    PreconditionNotMetError,
    UnimplementedError,
)
from dygraph.jit.sources import source_of
from dygraph.onnx.export_graph import EMITTERS, Block, Call, Model, Refused, type_of, used_by
from dygraph.onnx.package import TensorProto, helper, numpy_helper, onnx, require

__all__ = ["OLDEST", "export", "newest", "supported", "written"]

OLDEST = 17
_DEFAULT = 20
_MARKS = {"feed", "fetch"}
_LIMIT = 1_900_000_000  # bytes of one protobuf message, with room for the nodes


def newest():
    """The newest opset that the installed ``onnx`` knows."""
    return onnx.defs.onnx_opset_version()


def supported():
    """Types of the operators that `export` writes, sorted."""
    _load_families()
    return sorted(EMITTERS)


def export(
    model, path, input_spec=None, opset=None, *, feeds=None, fetches=None, scope=None,
    external_data=None, check_model=True,
):  # fmt: skip
    """Write a model as an ONNX file.

    The file computes what the program computes in evaluation: backward, updates and dropout are
    left out. Open sizes become named ones (``dim_param``): the names of `InputSpec`, else
    ``INPUT.AXIS``. An input with a level of detail becomes two, its rows and ``INPUT.lengths``,
    the lengths of its sequences as int64; so does such an output.

    Parameters
    ----------
    model : Layer, callable, TracedLayer, Program or path
        A layer or a function, which `dygraph.jit.to_static` takes or has made; what
        `dygraph.jit.trace` gave; a ``static.Program``; or the directory of a saved model.
    path : str or path
        The file, replaced at once or not at all. Its directory is made if it is missing.
    input_spec : list of InputSpec or Variable, optional
        One for each input of a layer or a function. May be left out if `to_static` got it.
    opset : int, optional
        The version of ONNX's operators, from 17 to the newest of the installed ``onnx``. Default
        20. Some operators need 18.
    feeds, fetches : list of str or Variable, optional
        Inputs and outputs of a Program, by default those of its feed and fetch operators.
    scope : Scope, optional
        Where the weights of a Program are. Default: ``static.global_scope()``.
    external_data : int, optional
        Weights go into a file beside the model, ``NAME.data``, if all together have more bytes than
        this. Default: 1.9 GB, since a model of 2 GB or more cannot be one file.
    check_model : bool
        True: ``onnx.checker`` looks at the whole model before it is written.

    Returns
    -------
    onnx.ModelProto
        What was written; with external data without the weights.

    Raises
    ------
    UnimplementedError
        (a NotImplementedError) for operators that have no exact form in ONNX: all of them, with
        the lines that made them. Nothing is written.
    InvalidArgumentError
        (a ValueError) for an unknown opset, or inputs and outputs that are no variables.
    ImportError
        The package onnx is missing.

    Examples
    --------
    >>> import dygraph, onnx, os, tempfile
    >>> net = dygraph.nn.Sequential(dygraph.nn.Linear(3, 4), dygraph.nn.ReLU())
    >>> _ = net.eval()
    >>> path = os.path.join(tempfile.mkdtemp(), "net.onnx")
    >>> made = dygraph.onnx.export(net, path, [dygraph.jit.InputSpec(["batch", 3])])
    >>> [node.op_type for node in made.graph.node], onnx.load(path).producer_name
    (['MatMul', 'Add', 'Relu'], 'dygraph')
    """
    require("dygraph.onnx.export")
    path = files.path_of(path, "onnx.export")
    limit = _LIMIT
    if external_data is not None:
        limit = min(check.integer(external_data, "onnx.export: external_data", 0), _LIMIT)
    proto, weights = written(model, input_spec, opset, feeds=feeds, fetches=fetches, scope=scope)
    _save(proto, weights, path, limit, check_model)
    return proto


def written(model, input_spec=None, opset=None, *, feeds=None, fetches=None, scope=None):
    """(ModelProto without the large weights, {name: array} of these); arguments as of `export`."""
    opset = _DEFAULT if opset is None else check.integer(opset, "onnx.export: opset")
    if not OLDEST <= opset <= newest():
        raise InvalidArgumentError(
            f"onnx.export: opset must be between {OLDEST} and {newest()}, the newest of onnx "
            f"{onnx.__version__}, got {opset}"
        )
    _load_families()
    source = source_of("onnx.export", model, input_spec, feeds, fetches, scope)
    return _Writer(*source, opset).write()


@functools.cache
def _load_families():
    """Import the modules that register emitters."""
    folder = os.path.dirname(__file__)
    for module in pkgutil.iter_modules([folder]):
        if module.name.startswith("export_"):
            importlib.import_module(f"dygraph.onnx.{module.name}")


# The model ----------------------------------------------------------------------------------------


class _Writer:
    def __init__(self, program, scope, feeds, fetches, sizes, opset):
        self.program, self.scope, self.sizes = program, scope, sizes
        self.feeds, self.fetches = feeds, fetches
        self.model = Model(opset, self.read_weight)
        self.block = Block(self.model, program.global_block())
        self.problems, self.given = [], set()

    def read_weight(self, name):
        """The value of a persistable variable in the scope; None where there is none."""
        variable = self.program.global_block().find_var_recursive(name)
        if variable is None or not variable.persistable:
            return None
        found = self.scope.find_var(name)
        if found is None or found.is_empty():
            raise PreconditionNotMetError(
                f"onnx.export: the weight '{name}' must hold a value in the scope. Run the startup "
                "program, or load the weights, before"
            )
        return found.numpy()

    def write(self):
        inputs = self.inputs()
        names = [self.output_name(i, name) for i, name in enumerate(self.fetches)]
        self.find_unknown()
        emit_block(self.block, self.problems)
        self.refuse()
        outputs = self.outputs(names)
        self.refuse()
        graph = self.block.graph("dygraph", inputs, outputs)
        used = {o.name for o in outputs}
        for node in graph.node:
            used |= used_by(node)
        model = self.model
        large, small = {}, set()
        for name, array in model.constants.items():
            if name in used and array.nbytes > 4096:
                large[name] = array
            elif name in used:
                small.add(name)
        graph.initializer.extend(model.initializers(small))
        opsets = [helper.make_opsetid("", model.opset)]
        proto = helper.make_model(
            graph, opset_imports=opsets, producer_name="dygraph",
            producer_version=dygraph.__version__,
            ir_version=helper.find_min_ir_version_for(opsets),
        )  # fmt: skip
        return proto, large

    def inputs(self):
        found = []
        for name in self.feeds:
            self.model.reserve(name)
        for name in self.feeds:
            variable = self.program.global_block().var(name)
            try:
                kind = type_of(variable.dtype)
            except Refused as error:
                self.problems.append(f"the input '{name}': {error}")
                continue
            shape = [n if n >= 0 else f"{name}.{i}" for i, n in enumerate(variable.shape)]
            for i, size in enumerate(self.sizes.get(name, ())):
                if isinstance(size, str) and size and variable.shape[i] < 0:
                    shape[i] = size
            lengths = None
            if variable.lod_level > 1:
                self.problems.append(
                    f"the input '{name}' has {variable.lod_level} levels of detail; ONNX files "
                    "take one"
                )
            if variable.lod_level:
                lengths = f"{name}.lengths"
                if lengths in self.model.names:
                    raise InvalidArgumentError(
                        f"onnx.export: two inputs would be called '{lengths}'. Rename one"
                    )
                self.model.reserve(lengths)
            self.block.set(name, name, lengths)
            found.append(helper.make_tensor_value_info(name, kind, shape))
            if lengths:
                found.append(
                    helper.make_tensor_value_info(lengths, TensorProto.INT64, [f"{name}.sequences"])
                )
        return found

    def output_name(self, i, name):
        """The name of output i: the variable's, or another where an input has it."""
        if name in self.model.names:
            name = self.model.name("output")
        self.model.reserve(name)
        return name

    def outputs(self, names):
        found = []
        for variable_name, name in zip(self.fetches, names, strict=True):
            variable = self.program.global_block().var(variable_name)
            try:
                value, kind = self.block.get(variable_name), type_of(variable.dtype)
            except Refused as error:
                self.problems.append(f"the output '{variable_name}': {error}")
                continue
            lengths = self.block.find(variable_name, "lengths")
            self.give(value, name)
            shape = None if variable.shape is None else [
                n if n >= 0 else f"{name}.{i}" for i, n in enumerate(variable.shape)
            ]  # fmt: skip
            found.append(helper.make_tensor_value_info(name, kind, shape))
            if lengths:
                self.give(lengths, f"{name}.lengths")
                found.append(
                    helper.make_tensor_value_info(f"{name}.lengths", TensorProto.INT64, [None])
                )
        return found

    def give(self, value, name):
        """Let the output `name` be this value: the node that makes it gets the name."""
        maker = None
        if value not in self.feeds and value not in self.given:
            maker = next((n for n in self.block.nodes if value in n.output), None)
            read = any(value in used_by(n) for n in self.block.nodes)
            maker = None if read or value in self.block.lengths.values() else maker
        self.given.add(name)
        if maker is None:
            self.block.nodes.append(helper.make_node("Identity", [value], [name]))
            return
        maker.output[list(maker.output).index(value)] = name
        for variable, held in self.block.values.items():
            if held == value:
                self.block.values[variable] = name

    def find_unknown(self):
        """Note operators without an emitter, in all blocks."""
        for block in self.program.blocks:
            for op in block.ops:
                if op.type not in EMITTERS and op.type not in _MARKS:
                    self.problems.append(f"{op.type}{_line(op)}")

    def refuse(self):
        if self.problems:
            listed = list(dict.fromkeys(self.problems))
            raise UnimplementedError(
                f"onnx.export: ONNX (opset {self.model.opset}) must have a form of each operator, "
                f"but not of these {len(listed)}: " + "; ".join(listed)
            )


def _line(op):
    stack = op.desc.attrs.get("op_callstack") or []
    return f" (made at {stack[-1]})" if stack else ""


def emit_block(block, problems):
    """Append the nodes of all operators of a program's block; notes those that are refused."""
    for op in block.program.ops:
        if op.type in _MARKS or op.type not in EMITTERS:
            continue
        try:
            emit(block, op)
        except Refused as error:
            problems.append(f"{op.type}{_line(op)}: {error}")
            _stand_in(block, op)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            # Attributes that do not fit, of a program that no check has seen.
            problems.append(f"{op.type}{_line(op)}: {type(error).__name__}: {error}")
            _stand_in(block, op)


def emit(block, op):
    call = Call(block, op)
    result = EMITTERS[op.type](call)
    if result is None:
        return
    if not isinstance(result, dict):
        result = {call.info["outputs"][0]["name"]: result}
    shared = None
    for slot in call.info["shares_lod_of"]:
        if call.has(slot):
            shared = shared or block.find(call.names(slot)[0], "lengths")
    for slot, value in result.items():
        names = op.outputs.get(slot, ())
        values = value if isinstance(value, list) else [value]
        for name, item in zip(names, values, strict=False):
            if name == "@EMPTY@" or item is None:
                continue
            item, lengths = item if isinstance(item, tuple) else (item, shared)
            block.set(name, item, lengths)


def _stand_in(block, op):
    """After a refusal: values for the outputs, so that the operators behind are looked at too."""
    for names in op.outputs.values():
        for name in names:
            block.set(name, block.model.name("refused"))


# The file -----------------------------------------------------------------------------------------


def _save(proto, weights, path, limit, check_model):
    folder, name = os.path.split(path)
    total = sum(array.nbytes for array in weights.values())
    if total <= limit:
        for key, array in weights.items():
            proto.graph.initializer.append(numpy_helper.from_array(array, key))
        if check_model:
            onnx.checker.check_model(proto, full_check=True)
        files.write_atomically(path, [proto.SerializeToString()])
        return
    data, chunks, offset = f"{name}.data", [], 0
    for key, array in weights.items():
        array = np.ascontiguousarray(array)
        padding = -offset % 64
        chunks.append(b"\0" * padding)
        offset += padding
        tensor = onnx.TensorProto(
            name=key, dims=array.shape, data_type=helper.np_dtype_to_tensor_dtype(array.dtype),
            data_location=TensorProto.EXTERNAL,
        )  # fmt: skip
        where = {"location": data, "offset": offset, "length": array.nbytes}
        for k, v in where.items():
            tensor.external_data.add(key=k, value=str(v))
        proto.graph.initializer.append(tensor)
        chunks.append(array.reshape(-1).view(np.uint8).data)
        offset += array.nbytes
    if check_model:
        _check_external(proto)
    files.write_together(folder or ".", {data: chunks, name: [proto.SerializeToString()]})


def _check_external(proto):
    """The checker's look at the nodes and shapes; it would look for the file of the weights."""
    bare = onnx.ModelProto()
    bare.CopyFrom(proto)
    for tensor in [t for t in bare.graph.initializer if t.external_data]:
        bare.graph.initializer.remove(tensor)
        bare.graph.input.append(
            helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
        )
    onnx.checker.check_model(bare, full_check=True)
