"""What to write here for other libraries' names, which raise AttributeError with it.

`HINTS` are those of methods of a Variable, `OF_MODULE` of names of `dygraph`; those of its modules
are in `module_hints`. Tests ask that every name of ours in a hint is there, and that what looks
like torch's computes torch's numbers.
"""

_PLACE = "x.place says where the values lie; x.to(dygraph.CPUPlace()) gives them elsewhere"
_INNER = "dygraph.tensordot(x, y, axes=([-1], [-1]))"
_MEMORY = "Elements always lie in the order of the axes; np.asarray(x) views them in memory"

HINTS = {
    **dict.fromkeys(
        "get_device is_cpu is_gpu share_memory_".split(), _PLACE
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
    "argwhere": "dygraph.nonzero(x, as_tuple=False) gives the places, one a row",
    "fill": "x.fill_(value) writes it everywhere",
    "flat": "x.flatten() gives the elements as one axis",
    "gather": "dygraph.take_along_axis(x, index, axis) is torch's gather; "
    "dygraph.ops.gather(x, index) "
    "and x[index] take whole rows",
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
    "at": "x[0] = 1 writes in place, x[0] += 1 adds; y = x.clone() first keeps x",
    "block_until_ready": "Operators have computed when they return; x.numpy() gives the values",
    "value": "x.numpy() gives the values",
    "clear_grad": "x.clear_gradient()",
    **dict.fromkeys(("index_copy_", "index_fill_"), "x[index] = values writes rows"),
    "index_add_": "x.copy_(x.index_add(axis, index, values)) adds to rows that may repeat",
    "requires_gradient": "x.requires_grad",
    "itemset": "x[index] = value",
    "ptp": "x.max(axis=axis) - x.min(axis=axis)",
    "compress": "x[mask] takes elements",
    "partition": "dygraph.sort(x), or x.topk(k)",
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
    **{
        name: f"dygraph.{name}(x)"
        for name in (
            "acos asin atan cosh count_nonzero expm1 isfinite isinf isnan log10 log2 signbit sinh "
            "tan"
        ).split()
    },
    **{
        name: f"dygraph.{name}(x, y)"
        for name in (
            "bitwise_or bitwise_xor copysign hypot logaddexp logical_and logical_or logical_xor"
        ).split()
    },
    "logical_not": "dygraph.logical_not(x)",
    "put": "x[index] = value writes elements",
    "repeat": "torch's repeat is x.tile(times); NumPy's is x.repeat_interleave(times, axis)",
    "resize_": "x.reshape(shape) gives the elements in another shape",
    "scatter": "dygraph.ops.put_along_axis(x, index, values, axis) is torch's scatter; "
    "dygraph.ops.scatter(x, index, updates) writes whole rows",
    "scatter_": "x[index] = values writes in place",
    **dict.fromkeys(
        ("scatter_add", "scatter_add_"),
        "dygraph.ops.put_along_axis(x, index, values, axis, 'add') gives it, but an index of "
        "size 1 repeats along another axis; x.index_add(axis, index, rows) adds whole rows",
    ),
    **dict.fromkeys(
        ("scatter_reduce", "scatter_reduce_", "index_reduce"),
        "dygraph.ops.put_along_axis(x, index, values, axis, 'amax'), or 'add', 'mul', 'mean', "
        "'amin'; Include_self=False is torch's include_self",
    ),
    "select": "x[index] along the first axis, x[:, index] along the second",
    "narrow": "x[start:stop] takes a part",
    "take": "x[index] takes elements or rows",
    "tobytes": "x.numpy().tobytes()",
    "transpose_": "y = x.transpose(axes) gives another order",
    "unfold": "dygraph.ops.unfold(x, kernel_sizes) takes patches of images",
    "where": "dygraph.where(condition, x, y)",
    "amax": "x.max(axis=axis)",
    "amin": "x.min(axis=axis)",
    "aminmax": "x.min() and x.max()",
    "clamp_min": "x.clamp(min=value)",
    "clamp_max": "x.clamp(max=value)",
    "clamp_min_": "x.clamp_(min=value)",
    "clamp_max_": "x.clamp_(max=value)",
    "fmod": "x - y * dygraph.trunc(x / y): the sign is that of x",
    "remainder": "x % y",
    "floor_divide": "x // y",
    "true_divide": "x / y",
    **{n: "-x" for n in ("neg", "negative")},
    "bitwise_and": "x & y",
    "bitwise_not": "~x",
    "movedim": "x.moveaxis(source, destination)",
    "swapdims": "x.swapaxes(axis1, axis2)",
    "addcmul": "x + value * a * b",
    "addcmul_": "x.add_(value * a * b)",
    "addcdiv": "x + value * a / b",
    "addcdiv_": "x.add_(value * a / b)",
    "addmm": "x + a @ b",
    "addmv": "x + a @ b",
    "baddbmm": "x + a @ b",
    "inner": _INNER,
    "unflatten": "x.reshape(sizes)",
    "reshape_as": "x.reshape(y.shape)",
    "detach_": "y = x.detach() has no past",
    "squeeze_": "y = x.squeeze() has other axes",
    "unsqueeze_": "y = x.unsqueeze(axis) has other axes",
    "fill_diagonal_": "x.copy_(dygraph.ops.fill_diagonal(x, value=value))",
    "diag_embed": "dygraph.einsum('bi,ij->bij', x, dygraph.eye(n, dtype=x.dtype))",
    "is_floating_point": "dygraph.isdtype(x.dtype, 'real floating')",
    "bernoulli_": "x.copy_(dygraph.bernoulli(dygraph.full(x.shape, p)))",
    "quantile": "np.quantile(x.numpy(), q)",
    **{
        n: f"dygraph.linalg.{n}(x)"
        for n in "cholesky det lu matrix_exp matrix_power pinv qr slogdet svd".split()
    },
    **dict.fromkeys(("inverse", "pinverse"), "dygraph.linalg.inv(x) and dygraph.linalg.pinv(x)"),
    **{n: f"dygraph.linalg.{n}(x)" for n in ("eig", "eigvals")},
    **dict.fromkeys(
        ("stft", "istft"), "dygraph.signal.stft(x, n_fft) and dygraph.signal.istft(x, n_fft)"
    ),
    **dict.fromkeys(("solve", "lstsq"), "dygraph.linalg.solve(x, y), dygraph.linalg.lstsq(x, y)"),
    **dict.fromkeys(
        ("indices", "values"),
        "max, min, sort and topk give no pair with names. sort: dygraph.sort(x) and "
        "dygraph.argsort(x); max, min: x.max(axis=axis) and x.argmax(axis=axis); "
        "values, places = x.topk(k)",
    ),
    **dict.fromkeys(
        ("coalesce", "is_sparse", "to_sparse"),
        "Tensors are dense: dygraph.index_add(out, 0, row, values * x[column]) multiplies by a "
        "sparse matrix",
    ),
}

# Functions, types and modules of other libraries' top level, by what to write here.
_TO_VARIABLE = "dygraph.to_variable(values) makes a Variable, the type of all tensors"
_OPTIMIZERS = "Optimizers are in dygraph.optimizer, their schedules in dygraph.lr"
_GRADIENT = (
    "dygraph.grad(outputs, inputs) gives the gradients of what was computed, and y.backward() adds "
    "them to x.grad"
)
_TO_STATIC = "dygraph.jit.to_static(function) makes a program of it"
FUNCTIONS = "binary_cross_entropy cross_entropy l1_loss mse_loss nll_loss".split()
ACTIVATIONS = (
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
    "device": "dygraph.CPUPlace() and dygraph.CUDAPlace(0) are the devices",
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
    **dict.fromkeys(
        ("vstack", "row_stack"),
        "dygraph.stack([x, y]) of vectors, dygraph.concat([x, y], axis=0) of matrices",
    ),
    "hstack": "dygraph.concat([x, y], axis=1), of axis=0 for vectors",
    "dstack": "dygraph.stack([x, y], axis=2) of matrices, dygraph.concat([x, y], axis=2) of more "
    "axes",
    "column_stack": "dygraph.stack([x, y], axis=1) of vectors",
    **{
        n: f"dygraph.{m}(x)"
        for n, m in {
            "absolute": "abs", "arccos": "acos", "arcsin": "asin", "arctan": "atan",
            "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "fix": "trunc",
            "neg": "negative", "around": "round", "rint": "round",
            "ravel": "flatten", "product": "prod",
        }.items()
    },
    **{
        n: f"dygraph.{m}(x, y)"
        for n, m in {
            "arctan2": "atan2", "mul": "multiply", "sub": "subtract", "div": "divide",
            "true_divide": "divide", "power": "pow", "mod": "remainder",
            "eq": "equal", "ne": "not_equal", "gt": "greater", "ge": "greater_equal",
            "lt": "less", "le": "less_equal", "greater_than": "greater", "less_than": "less",
            "bmm": "matmul",
        }.items()
    },
    "amax": "x.max(axis=axis)",
    "amin": "x.min(axis=axis)",
    "inner": _INNER,
    "vdot": "dygraph.vecdot(x.flatten(), y.flatten())",
    "dot": "dygraph.vecdot(x, y) of vectors, dygraph.matmul(x, y) of matrices",
    "fmod": "x - y * dygraph.trunc(x / y): the sign is that of x",
    "rsqrt": "x.rsqrt()",
    "sgn": "dygraph.sign(x)",
    "swapdims": "dygraph.swapaxes(x, axis1, axis2)",
    "ger": "dygraph.outer(x, y)",
    **dict.fromkeys(("addmm", "baddbmm", "addmv"), "x + a @ b"),
    "addcmul": "x + value * a * b",
    "addcdiv": "x + value * a / b",
    "narrow": "x[start:stop], x[:, start:stop]",
    "detach": "x.detach()",
    "var_mean": "dygraph.var(x, axis, correction=1) and dygraph.mean(x, axis)",
    "std_mean": "dygraph.std(x, axis, correction=1) and dygraph.mean(x, axis)",
    "aminmax": "dygraph.min(x) and dygraph.max(x)",
    "scatter_add": "dygraph.ops.put_along_axis(x, index, values, axis, 'add'); "
    "dygraph.index_add(x, axis, index, rows) adds whole rows",
    "scatter_reduce": "dygraph.ops.put_along_axis(x, index, values, axis, 'amax'), or 'add', "
    "'mul', 'mean', 'amin'; Include_self=False is torch's include_self",
    "isin": "dygraph.any(x[..., None] == values, axis=-1)",
    "is_floating_point": "dygraph.isdtype(x.dtype, 'real floating')",
    "block_diag": "out = dygraph.zeros(n + m, n + m); out[:n, :n] = x; out[n:, n:] = y",
    "diag_embed": "dygraph.einsum('bi,ij->bij', x, dygraph.eye(n, dtype=x.dtype))",
    **dict.fromkeys(("tensor_split", "array_split"), "np.array_split(x, n, axis)"),
    "hsplit": "dygraph.split(x, num=parts, axis=1)",
    "vsplit": "dygraph.split(x, num=parts, axis=0)",
    **dict.fromkeys(("fliplr", "flipud"), "dygraph.flip(x, axis=1), and axis=0"),
    "inference_mode": "with dygraph.no_grad():",
    "autocast": "dygraph.amp.auto_cast()",
    **dict.fromkeys(("distributions",), "dygraph.distribution"),
    **dict.fromkeys(
        ("sparse", "sparse_coo_tensor"),
        "Tensors are dense: dygraph.index_add(out, 0, row, values * x[column]) multiplies by a "
        "sparse matrix",
    ),
    "Size": "x.shape is a tuple",
    "version": "dygraph.__version__",
    "backends": "dygraph.get_flags() and set_flags() show and set switches",
    "func": "dygraph.grad(outputs, inputs), and dygraph.autograd.jacobian, hessian, jvp, vjp",
    "cbrt": "x ** (1 / 3) for x >= 0",
    **{
        n: f"dygraph.special.{m}(x)"
        for n, m in {
            "digamma": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "i0": "i0",
            "lgamma": "gammaln", "logit": "logit", "sinc": "sinc",
        }.items()
    },
    "polygamma": "dygraph.special.polygamma(n, x)",
    "xlogy": "dygraph.special.xlogy(x, y)",
    "exp2": "dygraph.special.exp2(x)",
    "clamp": "dygraph.clip(x, min, max)",
    "array_equal": "bool(dygraph.all(x == y))",
    "equal_all": "bool(dygraph.all(x == y))",
    "gather": "dygraph.take_along_axis(x, index, axis) is torch's gather; dygraph.take(x, index, "
    "axis=0) takes rows, as Paddle's",
    "scatter": "x[index] = values writes rows; dygraph.ops.scatter has Fluid's slots",
    "index_select": "dygraph.take(x, index, axis=axis)",
    "masked_select": "x[mask]",
    "argwhere": "dygraph.nonzero(x, as_tuple=False)",
    "flatnonzero": "dygraph.nonzero(x.flatten())[0]",
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
    "pad": "dygraph.nn.functional.pad(x, [left, right, top, bottom]) of images [N, C, H, W]; "
    "NumPy's takes the widths of all axes from the first on",
    "ptp": "x.max(axis=axis) - x.min(axis=axis)",
    "rand_like": "dygraph.rand(x.shape, x.dtype)",
    "randn_like": "dygraph.randn(x.shape, x.dtype)",
    "randint_like": "dygraph.randint(low, high, x.shape)",
    "identity": "dygraph.eye(n)",
    "logspace": "base ** dygraph.linspace(start, stop, n)",
    "geomspace": "dygraph.exp(dygraph.linspace(a, b, n)) of logarithms a and b",
    "mgrid": "dygraph.meshgrid(x, y, indexing='ij')",
    "percentile": "np.percentile(x.numpy(), q)",
    "quantile": "np.quantile(x.numpy(), q)",
    "histogram": "dygraph.histc(x, bins, min, max) counts, as Paddle's; NumPy's and torch's gives "
    "the edges too: np.histogram(x.numpy())",
    "average": "dygraph.mean(x), or dygraph.sum(x * w) / dygraph.sum(w)",
    "nansum": "dygraph.sum(dygraph.where(dygraph.isnan(x), 0.0, x))",
    "nanmean": "x[~dygraph.isnan(x)].mean()",
    "logsumexp": "dygraph.ops.logsumexp(x, axis=[axis])",
    **{
        n: f"dygraph.nn.functional.{n}(x)"
        for n in ACTIVATIONS
        if n != "tanh"
    },
    **{
        n: f"dygraph.nn.functional.{n}(input, label)"
        for n in FUNCTIONS
    },
    **{
        n: f"dygraph.linalg.{n}"
        for n in (
            "cholesky cholesky_solve cond det eigh eigvalsh inv lstsq lu lu_unpack matrix_exp "
            "matrix_norm matrix_power matrix_rank multi_dot pinv qr slogdet solve "
            "solve_triangular svd svdvals triangular_solve vector_norm"
        ).split()
    },
    **dict.fromkeys(("inverse", "pinverse"), "dygraph.linalg.inv and dygraph.linalg.pinv"),
    **{n: f"dygraph.linalg.{n}" for n in ("eig", "eigvals")},
    **{n: f"dygraph.signal.{n}" for n in ("stft", "istft")},
    **{n: f"dygraph.fft.{n}" for n in ("rfft", "irfft", "ifft", "fftn", "rfftn")},
    "view_as_real": "dygraph.as_real(x)",
    "view_as_complex": "dygraph.as_complex(x)",
    "polar": "dygraph.complex(r * dygraph.cos(a), r * dygraph.sin(a))",
    **dict.fromkeys(("iscomplexobj", "iscomplex"), "dygraph.is_complex(x)"),
    **dict.fromkeys(
        ("cfloat", "cdouble", "complex32"), "dygraph.complex64 and dygraph.complex128 are the types"
    ),
    **dict.fromkeys(("optim", "optimizers"), _OPTIMIZERS),
    "layers": "Layers are in dygraph.nn; Fluid's functions in dygraph.static.layers",
    "losses": "Losses are in dygraph.nn, e.g. nn.MSELoss(), and in dygraph.nn.functional",
    "activations": "dygraph.nn.functional has them: relu, sigmoid, softmax",
    "initializers": "dygraph.initializer",
    "regularizers": "dygraph.regularizer",
    "Input": "dygraph.nn layers take their number of inputs: nn.Linear(in, out)",
    "Dense": "dygraph.nn.Linear(in, out)",
    "Module": "dygraph.nn.Layer",
    "utils": "Data loaders are in dygraph.io, dygraph.nn.utils clips gradients, dygraph.save and "
    "load keep states, dygraph.seed(n) seeds, dygraph.nn.functional.one_hot makes rows of classes",
    "convert_to_numpy": "x.numpy()",
    "stop_gradient": "x.detach()",
    "datasets": "dygraph.dataset",
    "hub": "dygraph.load reads states in a file",
    "models": "dygraph.Model(net) trains a network; dygraph.load reads states in a file",
    "backend": "The functions are those of dygraph; dygraph.seed(n) seeds them",
    **dict.fromkeys(("value_and_grad", "GradientTape"), _GRADIENT),
    **dict.fromkeys(
        ("jacrev", "jacfwd", "hessian", "jvp", "vjp"),
        "dygraph.autograd has jacobian, hessian, jvp, vjp and hvp; dygraph.grad(y, x, "
        "create_graph=True) gives gradients that can be differentiated again",
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
