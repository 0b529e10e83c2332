"""Other libraries' names for what a Variable does: those that work here, and hints for the rest.

A name that PyTorch users type daily is an alias of ours where it means the same. Every other known
name raises AttributeError with our spelling, so ``hasattr`` answers False. ``dir()`` lists the
aliases and leaves the hints out.
"""

from dygraph import _core
from dygraph.core import check, in_place
from dygraph.core.lazily import find
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.functions import manipulation

__all__ = [
    "ALIASES", "HINTS", "OF_LAYERS", "OF_MODULE", "OF_NN", "OF_OPTIMIZERS", "OF_OPTIMIZER_MODULE",
    "Count", "Hint", "OfObjects", "listed",
]  # fmt: skip

ops = _core.ops
Variable = _core.Variable


class Count(int):
    """A number of elements. Called, it gives the shape, as torch's ``x.size()`` does.

    >>> import dygraph
    >>> x = dygraph.zeros(2, 3)
    >>> x.size, x.size(), x.size(0)
    (6, (2, 3), 2)
    """

    _shape: tuple

    def __call__(self, axis=None):
        if axis is None:
            return self._shape
        return self._shape[check.axis(axis, len(self._shape), "size: axis")]

    def __reduce__(self):
        return int, (int(self),)

    def __copy__(self):
        return int(self)

    def __deepcopy__(self, memo):
        return int(self)


class Hint:
    """A class attribute that raises AttributeError, which names what to write instead."""

    __slots__ = ("name", "fix")

    def __init__(self, name, fix):
        self.name, self.fix = name, fix

    def __get__(self, instance, owner=None):
        raise AttributeError(
            f"'{(owner or Variable).__name__}' has no attribute '{self.name}'. {self.fix}"
        )


def listed(self):
    """What ``dir()`` shows: all attributes but hints."""
    return sorted(name for name in object.__dir__(self) if name not in HINTS)


# Aliases ------------------------------------------------------------------------------------------


def view(self, *shape):
    """``x.reshape(*shape)``, by torch's name. A view shares no memory here.

    >>> import dygraph
    >>> dygraph.zeros(2, 3).view(-1).shape
    (6,)
    """
    if len(shape) == 1 and isinstance(shape[0], (_core.dtype, str)):
        raise ArgumentTypeError(
            f"view: shape must be sizes, got {kind_of(shape[0])}. x.astype(dtype) converts values; "
            "x.numpy().view(dtype) reads the bytes as another type"
        )
    return self.reshape(*shape)


def permute(self, *axes):
    """The axes in another order, by torch's name; see `transpose`.

    >>> import dygraph
    >>> dygraph.zeros(2, 3, 4).permute(2, 0, 1).shape
    (4, 2, 3)
    """
    if len(axes) == 1 and isinstance(axes[0], (list, tuple)):
        axes = axes[0]
    if len(axes) != self.ndim:
        raise InvalidArgumentError(
            f"permute: there must be one number for each of the {self.ndim} axes, got {list(axes)}"
        )
    return self.transpose(list(axes))


def contiguous(self):
    """The variable itself: elements always lie in the order of the axes."""
    return self


def numel(self):
    """``x.size``, by torch's name."""
    return self.size


def dim(self):
    """``x.ndim``, by torch's name."""
    return self.ndim


def data(self):
    """The values without a past. What is written into them is written into `x`, past the tape.

    >>> import dygraph
    >>> w = dygraph.Parameter([3.0])
    >>> w.data.zero_().tolist(), w.tolist()
    ([0.0], [0.0])
    """
    return self.detach() if _core.is_symbol(self) else _core.alias(self)


def set_data(self, value):
    self.set_value(value)


def requires_grad_(self, requires_grad=True):
    """Set ``requires_grad`` and give the variable, as in torch."""
    self.requires_grad = requires_grad
    return self


def retain_grad(self):
    """``x.retain_grads()``, by torch's name."""
    self.retain_grads()


def masked_fill(self, mask, value):
    """`value` where `mask` is True, else the variable's own elements.

    >>> import dygraph
    >>> x = dygraph.to_variable([1.0, -2.0])
    >>> x.masked_fill(x < 0, 0.0).tolist()
    [1.0, 0.0]
    """
    return find("dygraph.functions.elementwise", "where")(mask, value, self)


def _converts(name, dtype):
    def method(self):
        return self if self.dtype.name == dtype else self.astype(dtype)

    method.__name__ = name
    method.__qualname__ = f"Variable.{name}"
    method.__doc__ = f"``x.astype('{dtype}')``, by torch's name; `x` itself if that is its type."
    return method


ALIASES = {
    "view": view,
    "permute": permute,
    "contiguous": contiguous,
    "numel": numel,
    "dim": dim,
    "clamp": in_place.clip,
    "clamp_": in_place.METHODS["clip_"],
    "mul_": in_place.METHODS["multiply_"],
    "sub_": in_place.METHODS["subtract_"],
    "div_": in_place.METHODS["divide_"],
    "ravel": manipulation.flatten,
    "data": property(data, set_data, doc=data.__doc__),
    "requires_grad_": requires_grad_,
    "retain_grad": retain_grad,
    "masked_fill": masked_fill,
    **{
        name: _converts(name, dtype)
        for name, dtype in {
            "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16",
            "long": "int64", "int": "int32", "bool": "bool",
        }.items()
    },
}  # fmt: skip

# Hints --------------------------------------------------------------------------------------------

_PLACE = "x.place says where the values lie; x.to(dygraph.CPUPlace()) gives them elsewhere"
_MEMORY = "Elements always lie in the order of the axes; np.asarray(x) views them in memory"

HINTS = {
    **dict.fromkeys(
        "cuda get_device is_cpu is_cuda is_gpu pin_memory share_memory_".split(), _PLACE
    ),
    **dict.fromkeys(
        "data_ptr element_size is_contiguous storage storage_offset stride strides "
        "untyped_storage".split(),
        _MEMORY,
    ),
    **dict.fromkeys(("type", "type_as"), "x.dtype is the type; x.astype(dtype) converts"),
    **dict.fromkeys(("byte", "char", "short"), "x.astype('uint8') and the like convert"),
    **dict.fromkeys(
        ("new_empty", "new_full", "new_ones", "new_tensor", "new_zeros"),
        "dygraph.full(shape, value, x.dtype) makes a tensor of the same type",
    ),
    "nelement": "x.size is the number of elements",
    **dict.fromkeys(("get_shape", "ndimension"), "x.shape and x.ndim say it"),
    **dict.fromkeys(("assign",), "x.set_value(values) writes values of the same shape and type"),
    **dict.fromkeys(("assign_add", "assign_sub"), "x.add_(y) and x.subtract_(y) write in place"),
    **dict.fromkeys(("eval", "read_value"), "x.numpy() gives the values"),
    "argwhere": "dygraph.nonzero(x) gives the places",
    "fill": "x.fill_(value) writes it everywhere",
    "flat": "x.flatten() gives the elements as one axis",
    "gather": "dygraph.take_along_axis(x, index, axis) is torch's gather; "
    "dygraph.ops.gather(x, index) "
    "and x[index] take whole rows",
    "index_add": "dygraph.ops.scatter(x, index, updates, overwrite=False) adds to rows",
    "index_fill": "x[index] = value writes rows",
    "index_select": "dygraph.ops.index_select(x, index, dim=axis), or x[index]",
    "itemsize": "np.dtype(x.dtype.name).itemsize",
    "log_softmax": "dygraph.ops.log_softmax(x, axis)",
    "logsumexp": "dygraph.ops.logsumexp(x, axis)",
    "masked_fill_": "x[mask] = value writes in place",
    "masked_select": "x[mask], or dygraph.ops.masked_select(x, mask)",
    "nbytes": "x.size times the bytes of x.dtype; dygraph.memory says what is in use",
    "nonzero": "dygraph.nonzero(x) gives the places, a Variable for each axis as NumPy; "
    "dygraph.nonzero(x, as_tuple=False) one matrix, as torch and Paddle",
    "sort": "dygraph.sort(x) gives the sorted elements, x.argsort() their places; NumPy's method "
    "sorts in place, torch's gives both",
    **dict.fromkeys(
        ("indices", "values"),
        "dygraph.sort(x) gives the sorted elements alone, dygraph.argsort(x) their places",
    ),
    **dict.fromkeys(
        ("cummax", "cummin", "kthvalue", "mode"),
        "dygraph.sort(x, axis=axis) and dygraph.argsort(x, axis=axis) give elements in order",
    ),
    "at": "x[0] = 1 writes in place, x[0] += 1 adds; y = x.clone() first keeps x",
    "block_until_ready": "Operators have computed when they return; x.numpy() gives the values",
    "value": "x.numpy() gives the values",
    "clear_grad": "x.clear_gradient()",
    **dict.fromkeys(("index_copy_", "index_fill_", "index_add_"), "x[index] = values, or +="),
    "requires_gradient": "x.requires_grad",
    "itemset": "x[index] = value",
    "ptp": "x.max(axis=axis) - x.min(axis=axis)",
    "compress": "x[mask] takes elements",
    "partition": "dygraph.sort(x), or x.topk(k)",
    "conj": "There are no complex types",
    "new": "dygraph.to_variable(values)",
    "expand_dims": "x.unsqueeze(axis)",
    "concat": "dygraph.concat([x, y], axis)",
    **{
        n: f"dygraph.{m}(x, y)"
        for n, m in {
            "add": "add",
            "sub": "subtract",
            "subtract": "subtract",
            "mul": "multiply",
            "multiply": "multiply",
            "div": "divide",
            "divide": "divide",
            "eq": "equal",
            "ne": "not_equal",
            "gt": "greater",
            "ge": "greater_equal",
            "lt": "less",
            "le": "less_equal",
            "maximum": "maximum",
            "minimum": "minimum",
        }.items()
    },
    "put": "x[index] = value writes elements",
    "repeat": "torch's repeat is x.tile(times); NumPy's is x.repeat_interleave(times, axis)",
    "resize_": "x.reshape(shape) gives the elements in another shape",
    "scatter": "dygraph.ops.put_along_axis(x, index, values, axis) is torch's scatter; "
    "dygraph.ops.scatter(x, index, updates) writes whole rows",
    "scatter_": "x[index] = values writes in place",
    "scatter_add": "dygraph.ops.put_along_axis(x, index, values, axis, reduce='add')",
    "searchsorted": "np.searchsorted(x.numpy(), values)",
    "select": "x[index] along the first axis, x[:, index] along the second",
    "narrow": "x[start:stop] takes a part",
    "take": "x[index] takes elements or rows",
    "tobytes": "x.numpy().tobytes()",
    "transpose_": "y = x.transpose(axes) gives another order",
    "unfold": "dygraph.ops.unfold(x, kernel_sizes) takes patches of images",
    "view_as": "x.reshape(y.shape)",
}

# Functions, types and modules of other libraries' top level, by what to write here.
_TO_VARIABLE = "dygraph.to_variable(values) makes a Variable, the type of all tensors"
_OPTIMIZERS = "Optimizers are in dygraph.optimizer, their schedules in dygraph.lr"
_GRADIENT = (
    "dygraph.grad(outputs, inputs) gives the gradients of what was computed, and y.backward() adds "
    "them to x.grad"
)
_TO_STATIC = "dygraph.jit.to_static(function) makes a program of it"
_FUNCTIONS = "binary_cross_entropy cross_entropy l1_loss mse_loss nll_loss".split()
_ACTIVATIONS = (
    "elu gelu leaky_relu log_softmax one_hot relu relu6 selu sigmoid silu softmax softplus tanh"
).split()
OF_MODULE = {
    "functional": "Operators with their slots are in dygraph.ops, functions of layers in "
    "dygraph.nn.functional",
    **dict.fromkeys(
        "BoolTensor DoubleTensor FloatTensor IntTensor LongTensor Tensor array as_tensor "
        "asanyarray ascontiguousarray constant convert_to_tensor from_numpy fromiter tensor "
        "to_tensor".split(),
        _TO_VARIABLE,
    ),
    **dict.fromkeys(("cat", "concatenate"), "dygraph.concat([x, y], axis)"),
    **dict.fromkeys(("cuda", "set_device"), "dygraph.guard(dygraph.CUDAPlace(0)) computes there"),
    "device": "dygraph.CPUPlace() and dygraph.CUDAPlace(0) are the devices",
    "is_compiled_with_cuda": "dygraph.static.is_compiled_with_cuda()",
    **dict.fromkeys(
        ("double", "float", "half"), "dygraph.float64, float32 and float16 are the types"
    ),
    **dict.fromkeys(("int", "long"), "dygraph.int32 and dygraph.int64 are the types"),
    "manual_seed": "dygraph.seed(n)",
    "random": "dygraph.seed(n), and dygraph.rand, randn, randint, uniform, normal of a shape; "
    "dygraph.Generator(seed) keeps a state of its own",
    "PRNGKey": "dygraph.Generator(seed)",
    "masked_fill": "dygraph.where(mask, value, x)",
    "permute": "dygraph.permute_dims(x, axes)",
    "movedim": "dygraph.moveaxis(x, source, destination)",
    "rollaxis": "dygraph.moveaxis(x, source, destination)",
    **dict.fromkeys(("vstack", "row_stack"), "dygraph.concat([x, y], axis=0)"),
    "hstack": "dygraph.concat([x, y], axis=1), of axis=0 for vectors",
    "dstack": "dygraph.concat([x, y], axis=2)",
    "column_stack": "dygraph.stack([x, y], axis=1) of vectors",
    **{
        n: f"dygraph.{m}(x)"
        for n, m in {
            "absolute": "abs", "arccos": "acos", "arcsin": "asin", "arctan": "atan",
            "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "fix": "trunc",
            "neg": "negative", "around": "round", "rint": "round",
            "ravel": "flatten", "product": "prod", "amax": "max", "amin": "min",
        }.items()
    },
    **{
        n: f"dygraph.{m}(x, y)"
        for n, m in {
            "arctan2": "atan2", "mul": "multiply", "sub": "subtract", "div": "divide",
            "true_divide": "divide", "power": "pow", "mod": "remainder", "fmod": "remainder",
            "eq": "equal", "ne": "not_equal", "gt": "greater", "ge": "greater_equal",
            "lt": "less", "le": "less_equal", "greater_than": "greater", "less_than": "less",
            "fmax": "maximum", "fmin": "minimum", "inner": "vecdot", "vdot": "vecdot",
            "bmm": "matmul",
        }.items()
    },
    "dot": "dygraph.vecdot(x, y) of vectors, dygraph.matmul(x, y) of matrices",
    "rsqrt": "dygraph.reciprocal(dygraph.sqrt(x))",
    "cbrt": "x ** (1 / 3) for x >= 0",
    "exp2": "2.0 ** x",
    "clamp": "dygraph.clip(x, min, max)",
    "isclose": "dygraph.abs(x - y) <= tolerance, or dygraph.allclose(x, y)",
    "array_equal": "bool(dygraph.all(x == y))",
    "equal_all": "bool(dygraph.all(x == y))",
    "gather": "dygraph.take_along_axis(x, index, axis) is torch's gather; dygraph.take(x, index, "
    "axis=0) takes rows, as Paddle's",
    "scatter": "x[index] = values writes rows; dygraph.ops.scatter has Fluid's slots",
    "index_select": "dygraph.take(x, index, axis=axis)",
    "masked_select": "x[mask]",
    **dict.fromkeys(("argwhere", "flatnonzero"), "dygraph.nonzero(x)"),
    "select": "dygraph.where(condition, x, y)",
    "put": "x[index] = value",
    "delete": "x[mask] keeps elements; dygraph.concat([x[:i], x[i + 1:]]) leaves one out",
    "append": "dygraph.concat([x, y], axis)",
    "insert": "dygraph.concat([x[:i], y, x[i:]], axis)",
    "copy": "x.clone()",
    "clone": "x.clone()",
    "assign": "x.clone(); x.copy_(y) writes into x",
    "add_n": "sum([x, y])",
    "increment": "x += 1, or dygraph.ops.increment(x)",
    "metric": "dygraph.metrics",
    "size": "x.size is the number of elements",
    "numel": "x.size is the number of elements",
    "shape": "x.shape; dygraph.ops.shape(x) gives a Variable",
    "rank": "x.ndim",
    "ndim": "x.ndim",
    "cast": "x.astype(dtype)",
    "to_numpy": "x.numpy()",
    **dict.fromkeys(("is_tensor", "is_variable"), "isinstance(x, dygraph.Variable)"),
    "pad": "dygraph.nn.functional.pad(x, [left, right, top, bottom]) pads the last axes first; "
    "NumPy's takes the widths of all axes from the first on",
    "array_split": "dygraph.chunk(x, n, axis)",
    "ptp": "x.max(axis=axis) - x.min(axis=axis)",
    "rand_like": "dygraph.rand(x.shape, x.dtype)",
    "randn_like": "dygraph.randn(x.shape, x.dtype)",
    "randint_like": "dygraph.randint(low, high, x.shape)",
    "identity": "dygraph.eye(n)",
    "logspace": "base ** dygraph.linspace(start, stop, n)",
    "geomspace": "dygraph.exp(dygraph.linspace(a, b, n)) of logarithms a and b",
    "mgrid": "dygraph.meshgrid(x, y, indexing='xy')",
    "percentile": "np.percentile(x.numpy(), q)",
    "quantile": "np.quantile(x.numpy(), q)",
    "histogram": "np.histogram(x.numpy())",
    "bincount": "np.bincount(x.numpy())",
    "average": "dygraph.mean(x), or dygraph.sum(x * w) / dygraph.sum(w)",
    "nansum": "dygraph.sum(dygraph.where(dygraph.isnan(x), 0.0, x))",
    "nanmean": "x[~dygraph.isnan(x)].mean()",
    "nan_to_num": "dygraph.where(dygraph.isnan(x), 0.0, x)",
    "cumprod": "dygraph.cumulative_prod(x, axis=axis)",
    "logsumexp": "dygraph.ops.logsumexp(x, axis=[axis])",
    **{
        n: f"dygraph.nn.functional.{n}(x)"
        for n in _ACTIVATIONS
        if n != "tanh"
    },
    **{
        n: f"dygraph.nn.functional.{n}(input, label)"
        for n in _FUNCTIONS
    },
    "linalg": "dygraph.norm, matmul, outer, trace, einsum are here; np.linalg takes x.numpy()",
    "fft": "np.fft takes x.numpy(); there are no complex types",
    **dict.fromkeys(("optim", "optimizers"), _OPTIMIZERS),
    "layers": "Layers are in dygraph.nn; Fluid's functions in dygraph.static.layers",
    "losses": "Losses are in dygraph.nn, e.g. nn.MSELoss(), and in dygraph.nn.functional",
    "activations": "dygraph.nn.functional has them: relu, sigmoid, softmax",
    "initializers": "dygraph.initializer",
    "regularizers": "dygraph.regularizer",
    "Input": "dygraph.nn layers take their number of inputs: nn.Linear(in, out)",
    "Dense": "dygraph.nn.Linear(in, out)",
    "Module": "dygraph.nn.Layer",
    "utils": "Data loaders are in dygraph.io, dygraph.nn.clip clips gradients, dygraph.save and "
    "load keep states, dygraph.seed(n) seeds, dygraph.nn.functional.one_hot makes rows of classes",
    "convert_to_numpy": "x.numpy()",
    "stop_gradient": "x.detach()",
    "datasets": "dygraph.dataset",
    "vision": "Layers for images are in dygraph.nn, data sets in dygraph.dataset",
    "hub": "dygraph.load reads states in a file",
    "models": "dygraph.Model(net) trains a network; dygraph.load reads states in a file",
    "backend": "The functions are those of dygraph; dygraph.seed(n) seeds them",
    "distributed": "dygraph.DataParallel",
    "amp": "layer.to(dtype='bfloat16') computes in a smaller type",
    **dict.fromkeys(("value_and_grad", "func", "GradientTape"), _GRADIENT),
    **dict.fromkeys(
        ("jacrev", "jacfwd", "hessian", "jvp", "vjp"),
        "dygraph.grad(y, x, create_graph=True) gives gradients that can be differentiated again",
    ),
    **dict.fromkeys(("vmap", "pmap"), "Operators take whole batches along the first axis"),
    **dict.fromkeys(("compile", "function", "make_jaxpr"), _TO_STATIC),
    "lax": "Python's if, for and while run as they stand, and dygraph.jit.to_static keeps them "
    "in a program; x.detach() stops gradients",
    "tree_map": "{name: f(p) for name, p in layer.state_dict().items()}",
    **dict.fromkeys(("tree", "tree_util"), "layer.state_dict() is a flat dict"),
    "device_get": "x.numpy()",
    "device_put": "x.to(place)",
    "devices": "dygraph.CPUPlace() and dygraph.CUDAPlace(0) are the devices",
    "local_device_count": "dygraph.CUDAPlace(0) and on; dygraph.DataParallel",
    "numpy": "The functions are those of dygraph; x.numpy() gives an array",
    "scipy": "dygraph.nn.functional has softmax, gelu and the like",
    "set_printoptions": "np.set_printoptions: a Variable prints as its array",
    "enable_static": "with dygraph.static.program_guard(program): describes a program",
    "disable_static": "Calls compute at once; only dygraph.static describes programs",
    "in_dynamic_mode": "dygraph.in_dygraph_mode()",
    "create_parameter": "dygraph.Parameter(values), or layer.create_parameter(shape)",
    "flops": "dygraph.summary(net, x)",
    "Trainer": "dygraph.Model(net) trains a network",
    "rearrange": "x.reshape(sizes).transpose(axes)",
    "get_device": _PLACE,
}  # fmt: skip

OF_NN = {
    **{n: f"dygraph.nn.functional.{n}" for n in (*_ACTIVATIONS, *_FUNCTIONS)},
    "logsumexp": "dygraph.ops.logsumexp(x, axis=[axis])",
    "initializers": "dygraph.initializer",
    "Module": "nn.Layer is the base of layers",
    "ModuleList": "nn.LayerList([layer, ...])",
    "ModuleDict": "nn.LayerDict",
    "Parameter": "dygraph.Parameter(values), or layer.create_parameter(shape)",
    "Dense": "nn.Linear(in, out, act='relu'): the number of inputs comes first",
    "init": "Initializers are in dygraph.initializer: nn.Linear(2, 3, "
    "param_attr=dygraph.initializer.Xavier()); p.uniform_(), p.normal_() and p.fill_() write",
    "initializer": "dygraph.initializer",
    "utils": "dygraph.nn.clip clips gradients: SGD(0.1, parameters, "
    "grad_clip=dygraph.nn.ClipGradByGlobalNorm(1.0))",
    "Conv1d": "nn.Conv1D", "Conv2d": "nn.Conv2D", "Conv3d": "nn.Conv3D",
    "ConvTranspose1d": "nn.Conv1DTranspose", "ConvTranspose2d": "nn.Conv2DTranspose",
    "ConvTranspose3d": "nn.Conv3DTranspose", "ZeroPad2d": "nn.Pad2D", "ZeroPad2D": "nn.Pad2D",
    **{
        f"BatchNorm{n}d": f"nn.BatchNorm{n}D(channels); its momentum is the share of the old "
        "value, so torch's 0.1 is 0.9 here"
        for n in (1, 2, 3)
    },
    **{f"InstanceNorm{n}d": f"nn.InstanceNorm{n}D" for n in (1, 2, 3)},
    **{f"{kind}Pool{n}d": f"nn.{kind}Pool{n}D" for n in (1, 2, 3)
       for kind in ("Avg", "Max", "AdaptiveAvg", "AdaptiveMax")},
    **{f"{kind}Pooling{n}D": f"nn.{short}Pool{n}D" for n in (1, 2, 3)
       for kind, short in (("Average", "Avg"), ("Max", "Max"))},
    **{f"GlobalAveragePooling{n}D": f"nn.AdaptiveAvgPool{n}D(1)" for n in (1, 2, 3)},
    "BatchNormalization": "nn.BatchNorm1D(channels), BatchNorm2D for images",
    "LayerNormalization": "nn.LayerNorm(size)",
    "MultiheadAttention": "nn.MultiHeadAttention(embed_dim, num_heads), whose inputs have the "
    "batch first",
    "Activation": "nn.ReLU() and the like",
    "Input": "nn layers take their number of inputs: nn.Linear(in, out)",
    "InputLayer": "nn layers take their number of inputs: nn.Linear(in, out)",
    "Add": "x + y in forward()", "Concatenate": "dygraph.concat([x, y], axis) in forward()",
    "Lambda": "a class with forward(), or the function itself in forward()",
    "Reshape": "x.reshape(sizes) in forward()",
    "Bidirectional": "nn.LSTM(2, 3, direction='bidirect')",
    "TimeDistributed": "nn.Linear acts on the last axis, with any axes before",
    "UpSampling2D": "nn.Upsample(scale_factor=2)",
    "DataParallel": "dygraph.DataParallel(layer)",
    "Hardtanh": "dygraph.clip(x, -1, 1) in forward()",
    "Softmax2d": "nn.Softmax(axis=1)",
}  # fmt: skip

OF_LAYERS = {
    "modules": "layer.sublayers() are all below; named_sublayers(include_self=True) has itself",
    "named_modules": "layer.named_sublayers(include_self=True)",
    "add_module": "layer.add_sublayer(name, sublayer)",
    "register_module": "layer.add_sublayer(name, sublayer)",
    "register_parameter": "layer.add_parameter(name, parameter)",
    "register_forward_hook": "layer.register_forward_post_hook(hook)",
    **dict.fromkeys(
        ("register_backward_hook", "register_full_backward_hook"),
        "parameter.register_hook(hook) sees gradients",
    ),
    **dict.fromkeys(("double", "float", "half", "bfloat16"), "layer.to(dtype='float64')"),
    "type": "layer.to(dtype='float64')",
    **dict.fromkeys(("cuda", "cpu"), "layer.to(dygraph.CUDAPlace(0)), or dygraph.CPUPlace()"),
    "trainable_variables": "layer.parameters()",
    "trainable_weights": "layer.parameters()",
    "variables": "layer.parameters() and layer.buffers()",
    "weights": "layer.parameters()",
    "get_weights": "[p.numpy() for p in layer.parameters()]",
    "set_weights": "layer.set_state_dict(state)",
    "count_params": "sum(p.size for p in layer.parameters()), or dygraph.summary(layer)",
    "summary": "dygraph.summary(layer, x)",
    **dict.fromkeys(
        "compile evaluate fit predict".split(),
        "model = dygraph.Model(layer); model.prepare(optimizer, loss); model.fit(data)",
    ),
    "save": "dygraph.save(layer.state_dict(), path)",
    "save_weights": "dygraph.save(layer.state_dict(), path)",
    "load_weights": "layer.set_state_dict(dygraph.load(path))",
    "call": "layer(x); a class defines forward()",
    "build": "__init__ makes the parameters: their sizes are known there",
    "add": "layer.add_sublayer(name, sublayer)",
    "add_weight": "layer.create_parameter(shape)",
    "kernel": "layer.weight",
    "running_mean": "norm._mean",
    "running_var": "norm._variance",
    "init": "Parameters are made with the layer; layer.state_dict() holds them",
}

OF_OPTIMIZERS = {
    "param_groups": "optimizer.get_lr() and set_lr(rate); groups go into the constructor: "
    "[{'params': p, 'learning_rate': 0.1}]",
    "add_param_group": "groups go into the constructor: [{'params': p, 'learning_rate': 0.1}]",
    "lr": "optimizer.get_lr() and set_lr(rate)",
    "learning_rate": "optimizer.get_lr() and set_lr(rate)",
    "apply_gradients": "loss.backward(), then optimizer.step()",
    "apply": "loss.backward(), then optimizer.step()",
    "update": "loss.backward(), then optimizer.step()",
    "init": "An optimizer keeps its own state: optimizer.state_dict()",
}

OF_OPTIMIZER_MODULE = {
    "RMSprop": "RMSProp(rate, parameter_list=parameters)",
    "lr_scheduler": "Schedules are in dygraph.lr: StepDecay, CosineDecay, ReduceLROnPlateau; one "
    "stands for the learning rate of dygraph.optimizer.SGD and the like",
    "schedules": "dygraph.lr: ExponentialDecay, CosineDecay and the like",
    "LBFGS": "dygraph.optimizer has SGD, Momentum, Adam and others; scipy.optimize has L-BFGS",
    "Nadam": "NAdam", "SGDW": "SGD", "Adafactor": "Adagrad", "Lion": "AdamW",
}  # fmt: skip


class OfObjects:
    """Base of classes whose missing attributes are answered with a hint, and cost nothing else."""

    _hints: dict = {}

    def __getattr__(self, name):
        if name not in self._hints:
            return object.__getattribute__(self, name)  # raises Python's error, or the property's
        raise AttributeError(
            f"'{type(self).__name__}' object has no attribute '{name}'. {self._hints[name]}"
        )
