"""`quantize`: products and convolutions of a trained program in 8 bits."""

import numpy as np

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.jit.sources import folded, source_of
from dygraph.jit.traced import TracedLayer
from dygraph.quantization.ranges import Histogram, method_of
from dygraph.quantization.signs import never_negative

__all__ = ["quantize"]

# (input, weight, axis of the weight's channels) of the operators that are written in 8 bits.
_SLOTS = {
    "conv2d": ("Input", "Filter", 0),
    "depthwise_conv2d": ("Input", "Filter", 0),
    "conv3d": ("Input", "Filter", 0),
    "mul": ("X", "Y", 1),
    "matmul": ("X", "Y", 1),
    "matmul_v2": ("X", "Y", 1),
    "fc": ("Input", "W", 1),
}


def quantize(
    model, batches, input_spec=None, method="percentile", *, weight_bits=7, skip=(), fold=True,
    feeds=None, fetches=None, scope=None,
):  # fmt: skip
    """A model whose products and convolutions with weights take numbers of 8 bits.

    Operators in branches and loops stay as they are.

    A weight becomes ``round(W / s * 63)`` as int8, s the greatest magnitude of its output channel;
    the input of the operator becomes ``round(x / t * L)``, cut off at the ends, and is multiplied
    by ``t / L`` again, t the limit that `method` finds in the batches. L is 127, or 255 where the
    input is that of a relu and the like and so is never negative. Each of these operators stands
    behind a pair of ``quantize_linear`` and ``dequantize_linear``; `dygraph.onnx.export` writes
    them as ONNX's QuantizeLinear and DequantizeLinear (QDQ), which ONNX Runtime computes in
    integers. The executor here computes the same numbers in float32 and is not faster: the library
    has no product of int8.

    The scheme is that of Jacob et al., "Quantization and training of neural networks for efficient
    integer-arithmetic-only inference", 2018, without zero points.

    Parameters
    ----------
    model, input_spec, feeds, fetches, scope
        As of `dygraph.onnx.export`. The model and its weights are not changed.
    batches : iterable
        Inputs that are typical, a few hundred samples: for each batch an array or a Variable for a
        model of one input, a list of them for several, or a dict by names.
    method : str or object
        ``"minmax"``, ``"percentile"`` (99.99), ``"kl"``, or a `MinMax`, `Percentile` or `KL`.
    weight_bits : int
        Bits of a weight with its sign, 2 to 8. Processors without VNNI or its like add products of
        pairs in 16 bits, which numbers of 8 bits overflow, silently; 7 bits never do.
    skip : list of str
        Names of weights, or types of operators, that stay as they are.
    fold : bool
        Fold batch_norm into the weights before it first (`static.fold_inference`).

    Returns
    -------
    TracedLayer
        Callable; `dygraph.onnx.export` writes it and ``save`` keeps it, weights as int8. Its
        attribute ``limits`` has the limit of each quantised input by name.

    Raises
    ------
    InvalidArgumentError
        (a ValueError) There is no batch, no operator to quantise, or a batch has NaN or infinity.
    ArgumentTypeError
        (a TypeError) A batch does not hold the model's inputs.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> net = dygraph.nn.Linear(4, 3)
    >>> x = np.linspace(-1, 1, 40, dtype="float32").reshape(10, 4)
    >>> small = dygraph.quantization.quantize(net, [x], [dygraph.jit.InputSpec([None, 4])])
    >>> exact = net(dygraph.to_variable(x)).numpy()
    >>> bool(abs(small(dygraph.to_variable(x)).numpy() - exact).max() < 0.03)
    True
    >>> [op.type for op in small.program.global_block().ops[1:4]]
    ['quantize_linear', 'dequantize_linear', 'dequantize_linear']
    """
    chosen = method_of(method)
    levels = 2 ** (check.integer(weight_bits, "quantize: weight_bits", 2, 8) - 1) - 1
    skip = {skip} if isinstance(skip, str) else set(skip)
    program, scope, feeds, fetches, _ = source_of(
        "quantize", model, input_spec, feeds, fetches, scope
    )
    scope = _copied(program, scope)
    if fold:
        program = folded(program, scope)
    sites = _sites(program, scope, skip)
    if not sites:
        raise InvalidArgumentError(
            "quantize: the model must have a product or a convolution with a weight that is not "
            f"skipped: {', '.join(_SLOTS)}"
        )
    inputs = list(dict.fromkeys(op.input(_SLOTS[op.type][0])[0] for op, _ in sites))
    limits = _calibrate(program, scope, feeds, inputs, batches, chosen)
    _Rewriting(program, scope, limits, levels).run(sites)
    program.forget_unused(weights=True)
    made = TracedLayer(program.desc, scope, len(fetches) == 1)
    made.limits = limits
    return made


def _copied(program, scope):
    """A scope of its own with the weights of the program."""
    made = _core.Scope()
    for name, variable in program.global_block().vars.items():
        found = scope.find_var(name) if variable.persistable else None
        if found is not None and not found.is_empty():
            value = found.get()
            made.var(name).set(_core.to_variable(value.numpy()))
    return made


def _sites(program, scope, skip):
    """(operator, its weight as an array) of those to quantise, in the global block."""
    uses, found = program.core.uses(), []
    for op in program.global_block().ops:
        if op.type not in _SLOTS or op.type in skip:
            continue
        given, slot, _ = _SLOTS[op.type]
        name = op.input(slot)[0]
        held = scope.find_var(name)
        if name in skip or held is None or held.is_empty() or uses.writers(name):
            continue
        weight = held.numpy()
        fits = weight.ndim == 2 or "conv" in op.type
        variable = program.global_block().var(op.input(given)[0])
        if weight.dtype == np.float32 and fits and str(variable.dtype) == "float32":
            found.append((op, weight))
    return found


def _calibrate(program, scope, feeds, names, batches, method):
    """{name of an input of a site: its limit}."""
    prepared = _core.PreparedProgram(program.desc, scope, feeds, names, None)
    histograms = {name: Histogram(method.bins) for name in names}
    count = 0
    for batch in batches:
        values = prepared.run(_inputs(batch, feeds), (0, 0))
        for name, value in zip(names, values, strict=True):
            histograms[name].add(value.numpy())
        count += 1
    if not count:
        raise InvalidArgumentError("quantize: batches must hold at least one batch, got none")
    return {name: float(method.limit(h)) or 1.0 for name, h in histograms.items()}


def _inputs(batch, feeds):
    if isinstance(batch, dict):
        missing = [name for name in feeds if name not in batch]
        if missing or len(batch) != len(feeds):
            raise ArgumentTypeError(
                f"quantize: a batch must hold the inputs {', '.join(feeds)}, got "
                f"{', '.join(map(str, batch)) or 'nothing'}"
            )
        batch = [batch[name] for name in feeds]
    elif not isinstance(batch, (list, tuple)):
        batch = [batch]
    if len(batch) != len(feeds):
        raise ArgumentTypeError(
            f"quantize: a batch must hold {len(feeds)} inputs, {', '.join(feeds)}, got "
            f"{len(batch)}. Leave labels out: batches=((x,) for x, y in loader)"
        )
    return [_variable(v) for v in batch]


def _variable(value):
    if isinstance(value, _core.Variable):
        return value
    if not hasattr(value, "__array__"):
        raise ArgumentTypeError(
            f"quantize: an input must be an array or a Variable, got {kind_of(value)}"
        )
    return _core.to_variable(np.asarray(value))


class _Rewriting:
    """Pairs of quantize_linear and dequantize_linear around the sites of a program."""

    def __init__(self, program, scope, limits, levels):
        self.block, self.scope, self.limits = program.global_block(), scope, limits
        self.levels = levels  # of a weight, on each side of 0
        self.uses = program.core.uses()
        self.inputs, self.weights = {}, {}

    def run(self, sites):
        for op, weight in sites:
            given, slot, axis = _SLOTS[op.type]
            turned = any(op.has_attr(a) and op.attr(a) for a in ("transpose_Y", "trans_y"))
            name, own = op.input(given)[0], op.input(slot)[0]
            axis = 0 if turned else axis
            if name not in self.inputs:
                self.inputs[name] = self.activation(name, op)
            if (own, axis) not in self.weights:
                self.weights[own, axis] = self.weight(own, weight, axis, op)
            op.set_input(given, [self.inputs[name]])
            op.set_input(slot, [self.weights[own, axis]])
            self.join_bias(op)

    def constant(self, name, array):
        """A persistable variable with this value."""
        self.block.create_var(
            name=name, shape=list(array.shape), dtype=array.dtype.name, persistable=True,
            stop_gradient=True,
        )  # fmt: skip
        self.scope.var(name).set(_core.to_variable(array))
        return name

    def free(self, name):
        """The name, or with a number where the block has it."""
        made, count = name, 1
        while self.block.has_var(made):
            count += 1
            made = f"{name}.{count}"
        return made

    def result(self, like, name, dtype="float32"):
        variable = self.block.var_recursive(like)
        return self.block.create_var(
            name=self.free(name), shape=list(variable.shape), dtype=dtype,
            lod_level=variable.lod_level,
        ).name  # fmt: skip

    def insert(self, op, type, inputs, name, axis, bits=8):
        """The operator before `op`; the name of its result."""
        inputs["ZeroPoint"] = [self.zero()]
        outputs = {"Y": [name]}
        for slot in ("OutState", "OutAccum", "OutScale"):  # required, but unused
            unread = self.free(f"{name}.{slot}")
            outputs[slot] = [self.block.create_var(name=unread, shape=[1], dtype="float32").name]
        attrs = {"quant_axis": axis, "bit_length": bits, "is_test": True}
        self.block.insert_op(op.idx, type, inputs, outputs, attrs)
        return name

    def zero(self):
        name = "quantization.zero"
        return name if self.block.has_var(name) else self.constant(name, np.zeros(1, np.float32))

    def activation(self, name, op):
        limit = np.array([self.limits[name]], np.float32)
        scale = self.constant(self.free(f"{name}.limit"), limit)
        whole, back = (self.result(name, f"{name}.{what}") for what in ("whole", "rounded"))
        # 9 bits with a sign are the 8 of numbers that have none.
        bits = 9 if never_negative(self.block, name) else 8
        self.insert(op, "quantize_linear", {"X": [name], "Scale": [scale]}, whole, -1, bits)
        given = {"X": [whole], "Scale": [scale]}
        return self.insert(op, "dequantize_linear", given, back, -1, bits)

    def weight(self, name, array, axis, op):
        rest = tuple(i for i in range(array.ndim) if i != axis)
        most = np.abs(array).max(rest, initial=0.0).astype(np.float32)
        most[most == 0] = 1.0
        shape = [1] * array.ndim
        shape[axis] = -1
        exact = array.astype(np.float64) / most.reshape(shape) * self.levels
        number = np.rint(exact).clip(-self.levels, self.levels).astype(np.int8)
        whole = self.constant(self.free(f"{name}.int8"), number)
        scale = self.constant(self.free(f"{name}.limit"), most)
        back = self.result(name, f"{name}.rounded")
        bits = self.levels.bit_length() + 1
        given = {"X": [whole], "Scale": [scale]}
        return self.insert(op, "dequantize_linear", given, back, axis, bits)

    def join_bias(self, op):
        """The bias that is added behind a convolution becomes its own, so that a runtime that
        computes in integers finds them together."""
        if op.type not in ("conv2d", "depthwise_conv2d") or op.inputs.get("Bias"):
            return
        (out,) = op.output("Output")
        readers = self.uses.readers(out)
        if len(readers) != 1 or readers[0].type != "elementwise_add":
            return
        add = readers[0]
        (x,), (bias,) = add.input("X"), add.input("Y")
        held = self.scope.find_var(bias)
        channels_last = op.attr("data_format") in ("NHWC", "AnyLayout")
        if x != out or held is None or held.is_empty() or channels_last or add.attr("axis") != 1:
            return
        if held.numpy().ndim != 1:
            return
        op.set_input("Bias", [bias])
        result = add.output("Out")[0]
        self.block.remove_op(self.block.core.index(add.desc))
        op.set_output("Output", [result])
        self.uses = self.block.program.core.uses()
