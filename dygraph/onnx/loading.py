"""ONNX models as programs and as layers."""

import numpy as np

import dygraph
from dygraph import _core, unique_name
from dygraph.core.variable import Parameter
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, UnimplementedError, kind_of
from dygraph.inspect.shown import Shown
from dygraph.nn.layer import Layer
from dygraph.onnx import (  # noqa: F401  the families register their rules
    load_control,
    load_conv,
    load_elements,
    load_images,
    load_linear,
    load_ml,
    load_norm,
    load_pad,
    load_parts,
    load_quantize,
    load_recurrent,
    load_reduce,
    load_resize,
    load_sequences,
    load_shape,
    load_signal,
    load_steps,
)
from dygraph.onnx.load_file import read
from dygraph.onnx.load_graph import Importer, declared, unsupported
from dygraph.onnx.load_rules import Weight

__all__ = ["ImportedModel", "OnnxLayer", "load"]


class OnnxLayer(Layer):
    """A model from an ONNX file as a layer: its forward pass computes node by node.

    Its parameters are the initializers of floating type that the nodes read, by their ONNX names.
    `load` makes it.
    """

    def __init__(self, model, trainable, values):
        super().__init__("onnx_layer")
        self._model, self._trainable, self._values = model, trainable, values
        inputs, initializers = model.graph.inputs, model.graph.initializers
        self.input_names = [
            p.name for p in inputs if p.name not in initializers and p.name not in values
        ]
        self._weights = {}
        self.output_names = [p.name for p in model.graph.outputs]

    def initializer(self, importer, name, array):
        """The value of an initializer: a weight, or a constant."""
        if array.dtype == object:
            raise UnimplementedError(f"onnx.load: '{name}' must hold numbers, got strings")
        kind = str(array.dtype)
        if array.ndim and array.size and kind in ("float32", "float64", "float16", "bfloat16"):
            train = self._trainable is None or name in self._trainable
            return Weight(name, array, self, train)
        return importer.eager(array)

    def weight(self, name, array, trainable):
        """The parameter of this ONNX name, made at the first call."""
        found, _ = self._weights.get(id(array), (None, None))
        if found is None:
            name = name if name not in self._parameters else f"{name}_{len(self._parameters)}"
            made = Parameter(
                _core.to_variable(array), trainable=trainable, name=self._program_name(name)
            )
            found = self._parameters[name] = made
            self._weights[id(array)] = made, array  # which keeps the id alive
        elif not trainable:
            found.stop_gradient = True
        return found

    def buffer(self, value):
        """A large constant as a Variable that programs hold; the layer computes it anew."""
        value.name, value.persistable = self._program_name("constant"), True
        return value

    def _program_name(self, name):
        """A name for programs."""
        return unique_name.generate(f"{self.full_name()}.{name}"[:1000])

    def extra_repr(self):
        return f"{', '.join(self.input_names)} -> {', '.join(self.output_names)}"

    def forward(self, *inputs):
        """The outputs for the inputs, in the order of the file; one output as it is."""
        names = self.input_names
        if len(inputs) != len(names):
            raise InvalidArgumentError(
                f"OnnxLayer: it takes {len(names)} inputs, {names}, got {len(inputs)}"
            )
        ports = {port.name: port for port in self._model.graph.inputs}
        given = {}
        for name, value in zip(names, inputs, strict=True):
            value = value if isinstance(value, _core.Variable) else _core.to_variable(value)
            wanted = declared(ports[name])
            if str(value.dtype) != wanted:
                raise ArgumentTypeError(
                    f"OnnxLayer: the input '{name}' must be {wanted}, got {value.dtype}"
                )
            _check_shape(ports[name], value.shape)
            given[name] = value
        importer = Importer(self._model, self)
        given.update({name: importer.eager(array) for name, array in self._values.items()})
        results = importer.graph(self._model.graph, given, None, self._model.opsets)
        results = [importer.variable(value, False) for value in results]
        return results[0] if len(results) == 1 else tuple(results)


def _check_shape(port, shape):
    if port.shape is None:
        return
    fits = len(shape) == len(port.shape) and all(
        not isinstance(n, int) or n == size for n, size in zip(port.shape, shape, strict=True)
    )
    if not fits:
        raise InvalidArgumentError(
            f"OnnxLayer: the input '{port.name}' must have the shape {port.shape}, got "
            f"{tuple(shape)}"
        )


class ImportedModel(Shown):
    """What `load` gives: a program, its weights, and a layer on the same weights.

    It unpacks as ``program, feed_names, fetch_vars``, as ``load_inference_model`` gives them.

    Attributes
    ----------
    program : static.Program
        Weights are parameters of it: append a loss and minimize it.
    startup : static.Program
        Where an optimizer puts the start of its state.
    scope : static.Scope
        Holds the weights. They are those of `layer`: training one trains the other.
    feed_names : list of str
        The inputs that must be fed.
    fetch_vars : list of static.Variable
        The outputs, in the order of the file.
    layer : OnnxLayer
        The eager face: ``model.layer(x)`` computes with a tape.
    """

    def __init__(self, layer):
        self.layer = layer
        self.program, self.startup = dygraph.static.Program(), dygraph.static.Program()
        self.scope = dygraph.static.Scope()
        self.program.shares = True
        self._executor = None

    def __iter__(self):
        return iter((self.program, self.feed_names, self.fetch_vars))

    def __repr__(self):
        return (
            f"ImportedModel({', '.join(self.feed_names)} -> {', '.join(self.layer.output_names)})"
        )

    def run(self, feed, return_numpy=True):
        """The outputs for one feed.

        Parameters
        ----------
        feed : dict of str to array, or list of array
            By the names of the inputs, or in their order.
        return_numpy : bool
            NumPy arrays (True) or Variables (False).

        Returns
        -------
        list
            In the order of the file.

        Examples
        --------
        >>> import numpy as np, onnx, dygraph.onnx
        >>> graph = onnx.parser.parse_graph("g (float[N] x) => (float[N] y) { y = Relu(x) }")
        >>> model = dygraph.onnx.load(onnx.helper.make_model(graph))
        >>> model.run({"x": np.array([-1.0, 2.0], "float32")})
        [array([0., 2.], dtype=float32)]
        """
        if isinstance(feed, (list, tuple)):
            if len(feed) != len(self.feed_names):
                raise InvalidArgumentError(
                    f"ImportedModel.run: feed must have {len(self.feed_names)} values, for "
                    f"{self.feed_names}, got {len(feed)}"
                )
            feed = dict(zip(self.feed_names, feed, strict=True))
        if self._executor is None:
            self._executor = dygraph.static.Executor()
        return self._executor.run(
            self.program, feed, self.fetch_vars, scope=self.scope, return_numpy=return_numpy
        )


def load(path, values=None, trainable=None):
    """Read an ONNX model as a program that runs and trains, with a layer on the same weights.

    Sizes that the file leaves open are open in the program; those of one name must be equal in a
    run. Loading runs no code of the file, and reads other files only for its tensors, from the
    model's own directory.

    Parameters
    ----------
    path : str, os.PathLike, bytes or onnx.ModelProto
        The file, its content, or the model.
    values : dict of str to array, optional
        Inputs that become constants. An input that decides the number of axes of a result, or what
        the library needs when it describes a program, must be given here, unless only the layer is
        used.
    trainable : list of str, optional
        The initializers that train. None: all of floating type that have an axis, except the
        running statistics of batch normalization.

    Returns
    -------
    ImportedModel
        With `program`, `scope`, `feed_names`, `fetch_vars` and `layer`.

    Raises
    ------
    FormatError
        The file is no ONNX model, or damaged: cycles, names that repeat, values that nothing
        writes, tensors of another size than they say.
    UnimplementedError
        Operators without a rule, all in one message with domain and opset; types that the library
        lacks.
    InvalidArgumentError, ArgumentTypeError
        A node has attributes or inputs that its operator refuses.
    ImportError
        The wheel ``onnx`` is missing.

    Examples
    --------
    >>> import numpy as np, onnx, dygraph, dygraph.onnx
    >>> graph = onnx.parser.parse_graph(
    ...     "g (float[N, 2] x) => (float[N, 1] y) <float[2, 1] w = {1.0, 2.0}> { y = MatMul(x, w) }"
    ... )
    >>> model = dygraph.onnx.load(onnx.helper.make_model(graph))
    >>> model.run({"x": np.ones([3, 2], "float32")})[0].tolist()
    [[3.0], [3.0], [3.0]]

    The layer trains:

    >>> loss = model.layer(dygraph.ones([4, 2])).mean()
    >>> loss.backward()
    >>> [(name, p.gradient().tolist()) for name, p in model.layer.named_parameters()]
    [('w', [[1.0], [1.0]])]

    So does the program:

    >>> from dygraph import static
    >>> with static.program_guard(model.program, model.startup):
    ...     loss = static.layers.mean(model.fetch_vars[0])
    ...     _ = static.optimizer.SGD(0.5).minimize(loss)
    >>> exe = static.Executor()
    >>> _ = exe.run(model.startup, scope=model.scope)
    >>> feed = {"x": np.ones([3, 2], "float32")}
    >>> _ = exe.run(model.program, feed, scope=model.scope)
    >>> model.layer.state_dict()["w"].tolist()
    [[0.5], [1.5]]
    """
    _require_onnx()
    model = read(path)
    missing = unsupported(model)
    if missing:
        listed = ", ".join(
            f"{domain + '.' if domain else ''}{name} (opset {opset})"
            for domain, name, opset in missing
        )
        raise UnimplementedError(
            f"onnx.load: every operator must have a rule here, got {listed} without one"
        )
    given = _values(model, values)
    if trainable is not None:
        trainable = _names(trainable, model)
    layer = OnnxLayer(model, trainable, given)
    made = ImportedModel(layer)
    with dygraph.static.program_guard(made.program, made.startup):
        _describe(model, made, given)
    for name, variable in made.program.held.items():
        made.scope.var(name).share(variable)
    return made


def _require_onnx():
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "onnx.load: the wheel onnx must be installed. Run: pip install dygraph-autograd[onnx]"
        ) from error


def _values(model, values):
    values = {} if values is None else values
    if not isinstance(values, dict):
        raise ArgumentTypeError(
            f"onnx.load: values must be a dict of names to arrays, got {kind_of(values)}"
        )
    ports = {port.name: port for port in model.graph.inputs}
    given = {}
    for name, value in values.items():
        if name not in ports:
            raise InvalidArgumentError(
                f"onnx.load: values must name inputs of the model, {sorted(ports)}, got {name!r}"
            )
        array = value.numpy() if isinstance(value, _core.Variable) else np.asarray(value)
        wanted = declared(ports[name])
        if wanted != "bfloat16" and str(array.dtype) != wanted:
            raise ArgumentTypeError(
                f"onnx.load: the value of '{name}' must be {wanted}, got {array.dtype}"
            )
        given[name] = array
    return given


def _names(names, model):
    if isinstance(names, str) or not all(isinstance(n, str) for n in names):
        raise ArgumentTypeError(
            f"onnx.load: trainable must be a list of names, got {kind_of(names)}"
        )
    for name in names:
        if name not in model.graph.initializers:
            raise InvalidArgumentError(
                f"onnx.load: trainable must name initializers of the model, got {name!r}"
            )
    return frozenset(names)


def _describe(model, made, given):
    """Write the model into the program."""
    program, layer = made.program, made.layer
    importer = Importer(model, layer, program)
    inputs, first = {}, {}
    for port in model.graph.inputs:
        if port.name in given:
            inputs[port.name] = importer.eager(given[port.name])
        elif port.name not in model.graph.initializers:
            inputs[port.name] = _fed(port, program, first)
    made.feed_names = layer.input_names
    results = importer.graph(model.graph, inputs, None, model.opsets)
    made.fetch_vars = [
        _fetched(program, importer, value, port.name)
        for value, port in zip(results, model.graph.outputs, strict=True)
    ]


def _fed(port, program, first):
    """The fed variable of an input. Open sizes of one name are one size."""
    dtype = declared(port)
    if port.shape is None:
        raise UnimplementedError(
            f"onnx.load: the input '{port.name}' must declare its shape, at least the number of "
            "axes, got none"
        )
    sizes = [n if isinstance(n, int) else -1 for n in port.shape]
    variable = dygraph.static.data(port.name, [None if n < 0 else n for n in sizes], dtype)
    names = [n if isinstance(n, str) else "" for n in port.shape]
    if any(names):
        variable.desc.size_names = {axis: name for axis, name in enumerate(names) if name}
        own = program.sizes
        for axis, name in enumerate(names):
            if name and name in first:
                other, place = first[name]
                own._size(other, place)
                own._numbers[id(variable), axis] = own._numbers[id(other), place]
            elif name:
                first[name] = variable, axis
    return variable


def _fetched(program, importer, value, name):
    """The variable of an output, under its name where that is free."""
    if isinstance(value, list) or value is None:
        raise UnimplementedError(f"onnx.load: the output '{name}' must be a tensor, got a sequence")
    with program.appending_to(program.current_block()):
        variable = importer.variable(value, True)
        taken = variable.persistable or variable.is_data or variable.op is None
        if taken or program.declares(name):
            variable = _core.ops.assign(variable)
    if not program.declares(name):
        program.global_block().rename_var(variable.name, name)
    return variable
