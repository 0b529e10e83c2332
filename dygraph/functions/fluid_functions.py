"""Functions of ``fluid.layers`` without an operator of that name, or with other defaults.

`dygraph.ops` has them beside the operators, with Fluid's arguments. ``name`` is accepted and
not used, since an eager call has no name.
"""

from dygraph import _core, nets
from dygraph.core import check
from dygraph.core.size_lists import beside, is_open, matching, sizes_of
from dygraph.errors import InvalidArgumentError, kind_of
from dygraph.functions import creation, images
from dygraph.functions.creation import arange
from dygraph.functions.random import drawn
from dygraph.functions.reductions import reduced, reduced_in_run

__all__ = [
    "adaptive_pool2d",
    "adaptive_pool3d",
    "addcmul",
    "argmax",
    "argmin",
    "clamp",
    "elementwise_equal",
    "fsp_matrix",
    "gaussian_random_batch_size_like",
    "has_inf",
    "has_nan",
    "hsigmoid",
    "image_resize",
    "image_resize_short",
    "l2_normalize",
    "lod_append",
    "meshgrid",
    "nonzero",
    "rank",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "resize_bilinear",
    "resize_nearest",
    "resize_trilinear",
    "scatter_nd",
    "sequence_first_step",
    "sequence_last_step",
    "sigmoid_focal_loss",
    "sums",
    "uniform_random_batch_size_like",
]

ops = _core.ops
lod_append = nets.lod_append
sequence_first_step, sequence_last_step = nets.sequence_first_step, nets.sequence_last_step


# Reductions ---------------------------------------------------------------------------------------


def _reduction(operator, what, result, rows="[[1.0, 2.0], [3.0, 4.0]]"):
    """The function of an operator; its help shows that `rows` over axis 0 give `result`."""

    def function(input, dim=None, keep_dim=False, name=None):
        check.variable(input, f"{operator}: input")
        if dim is None or (isinstance(dim, (list, tuple)) and not dim):
            return reduced(operator, input, None, bool(keep_dim))
        if _core.holds_symbol(dim):
            return reduced_in_run(operator, input, dim, bool(keep_dim))
        dims = [check.axis(d, input.ndim, f"{operator}: dim") for d in check.axes(dim)]
        if len(set(dims)) != len(dims):
            raise InvalidArgumentError(f"{operator}: dim must name each axis once, got {dim}")
        return reduced(operator, input, dims, bool(keep_dim))

    function.__name__ = function.__qualname__ = operator
    function.__doc__ = (
        f"The {what} over `dim`: an axis or several; None or none: over all, giving shape ``()``."
        f"{' Of integers it is a float32.' if what == 'mean' else ''}"
        "\n\n`keep_dim` leaves the axes in the shape with size 1. OutOfRangeError for an axis too"
        " many.\n\n"
        f">>> import dygraph\n>>> x = dygraph.to_variable({rows})\n"
        f">>> dygraph.ops.{operator}(x, dim=0).tolist()\n{result}"
    )
    return function


reduce_sum = _reduction("reduce_sum", "sum", "[4.0, 6.0]")
reduce_mean = _reduction("reduce_mean", "mean", "[2.0, 3.0]")
reduce_max = _reduction("reduce_max", "greatest element", "[3.0, 4.0]")
reduce_min = _reduction("reduce_min", "least element", "[1.0, 2.0]")
reduce_prod = _reduction("reduce_prod", "product", "[3.0, 8.0]")
reduce_all = _reduction(
    "reduce_all", "logical and", "[True, False]", "[[True, True], [True, False]]"
)
reduce_any = _reduction(
    "reduce_any", "logical or", "[True, False]", "[[True, False], [True, False]]"
)


def _axis(axis, x, what):
    return axis if _core.holds_symbol(axis) else check.axis(axis, x.ndim, what)


def argmax(x, axis=0):
    """The index of the greatest element along `axis`, int64; the first of several.

    >>> import dygraph
    >>> dygraph.ops.argmax(dygraph.to_variable([[1.0, 5.0], [7.0, 2.0]])).tolist()
    [1, 0]
    """
    check.variable(x, "argmax: x")
    return ops.arg_max(x, axis=_axis(axis, x, "argmax: axis"))


def argmin(x, axis=0):
    """The index of the least element along `axis`, int64; the first of several.

    >>> import dygraph
    >>> dygraph.ops.argmin(dygraph.to_variable([[1.0, 5.0], [7.0, 2.0]])).tolist()
    [0, 1]
    """
    check.variable(x, "argmin: x")
    return ops.arg_min(x, axis=_axis(axis, x, "argmin: axis"))


def sums(input, out=None):
    """The sum of a list of variables of one shape; `out`, if given, is set to it.

    >>> import dygraph
    >>> dygraph.ops.sums([dygraph.ones([2]), dygraph.ones([2])]).tolist()
    [2.0, 2.0]
    """
    total = ops.sum([input] if isinstance(input, _core.Variable) else list(input))
    if out is None:
        return total
    return check.variable(out, "sums: out").copy_(total)


def has_inf(x):
    """True where an element is infinite: one bool.

    >>> import dygraph
    >>> dygraph.ops.has_inf(dygraph.to_variable([1.0, float("inf")])).item()
    True
    """
    return ops.reduce_any(ops.isinf_v2(x), dim=[0], reduce_all=True)


def has_nan(x):
    """True where an element is no number: one bool.

    >>> import dygraph
    >>> dygraph.ops.has_nan(dygraph.to_variable([1.0, float("inf")])).item()
    False
    """
    return ops.reduce_any(ops.isnan_v2(x), dim=[0], reduce_all=True)


def rank(input):
    """The number of axes, as a 0-d int32 variable.

    >>> import dygraph
    >>> dygraph.ops.rank(dygraph.ones([2, 3])).item()
    2
    """
    return _core.to_variable(len(check.variable(input, "rank: input").shape), None, "int32")


# Elements -----------------------------------------------------------------------------------------


def clamp(input, min=None, max=None, output=None, name=None):
    """Every element clipped to [min, max]; None: no bound. `output` is set to it.

    >>> import dygraph
    >>> dygraph.ops.clamp(dygraph.to_variable([-1.0, 0.5, 2.0]), min=0.0, max=1.0).tolist()
    [0.0, 0.5, 1.0]
    """
    clipped = check.variable(input, "clamp: input").clip(min, max)
    return clipped if output is None else check.variable(output, "clamp: output").copy_(clipped)


def addcmul(input, tensor1, tensor2, value=1.0, out=None, name=None):
    """``input + value * tensor1 * tensor2``; `out`, if given, is set to it.

    >>> import dygraph
    >>> one = dygraph.ones([2])
    >>> dygraph.ops.addcmul(one, one, one, value=3.0).tolist()
    [4.0, 4.0]
    """
    total = input + tensor1 * tensor2 * check.number(value, "addcmul: value")
    return total if out is None else check.variable(out, "addcmul: out").copy_(total)


def elementwise_equal(x, y, name=None):
    """``x == y``, element by element.

    >>> import dygraph
    >>> x, y = dygraph.to_variable([1, 2, 3]), dygraph.to_variable([1, 0, 3])
    >>> dygraph.ops.elementwise_equal(x, y).tolist()
    [True, False, True]
    """
    return ops.equal(x, y)


def meshgrid(*inputs):
    """The coordinates of the points of a grid: the first input runs along the first axis.

    `dygraph.meshgrid` follows NumPy, whose first input runs along the second axis.

    >>> import dygraph
    >>> import dygraph.ops as F
    >>> x, y = F.meshgrid(dygraph.arange(2), dygraph.arange(3))
    >>> x.shape, y.numpy().tolist()
    ((2, 3), [[0, 1, 2], [0, 1, 2]])
    """
    return creation.meshgrid(*inputs, indexing="ij")


def nonzero(input, as_tuple=False):
    """The indices of the elements that are not 0: ``[count, axes]``, or a column for each axis.

    >>> import dygraph
    >>> dygraph.ops.nonzero(dygraph.to_variable([0.0, 3.0, 4.0])).tolist()
    [[1], [2]]
    """
    check.variable(input, "nonzero: input")
    places = ops.where_index(input if input.dtype == _core.bool_ else input != 0)
    if not as_tuple:
        return places
    return tuple(ops.slice(places, axes=[1], starts=[i], ends=[i + 1]) for i in range(input.ndim))


def scatter_nd(index, updates, shape, name=None):
    """Zeros of `shape` with `updates` added at the positions of `index`.

    >>> import dygraph
    >>> places, values = dygraph.to_variable([[1], [3], [1]]), dygraph.to_variable([9.0, 7.0, 1.0])
    >>> dygraph.ops.scatter_nd(places, values, [4]).tolist()
    [0.0, 10.0, 0.0, 7.0]
    """
    check.variable(updates, "scatter_nd: updates")
    shape = check.shape(shape, "scatter_nd: shape")
    with beside(updates):
        zeros = ops.fill_constant(shape=shape, dtype=updates.dtype)
    return ops.scatter_nd_add(zeros, index, updates)


def l2_normalize(x, axis, epsilon=1e-12, name=None):
    """``x / sqrt(sum(x^2) + epsilon)`` along `axis`, or along the only axis.

    >>> import dygraph
    >>> dygraph.ops.l2_normalize(dygraph.to_variable([3.0, 4.0]), 0).numpy()
    array([0.6, 0.8], dtype=float32)
    """
    check.variable(x, "l2_normalize: x")
    axis = 0 if x.ndim == 1 else check.axis(axis, x.ndim, "l2_normalize: axis")
    return ops.norm(x, axis=axis, epsilon=check.number(epsilon, "l2_normalize: epsilon", 0))


def fsp_matrix(x, y):
    """Products of the channels of two images: ``out[b] = x[b] y[b]^T / (height * width)``.

    Yim and others, "A gift from knowledge distillation", 2017.

    Parameters
    ----------
    x, y : Variable
        ``[batch, channels, height, width]``, of one size except for the channels.

    Returns
    -------
    Variable
        ``[batch, channels of x, channels of y]``.

    Examples
    --------
    >>> import dygraph
    >>> x, y = dygraph.ones([1, 2, 3, 3]), dygraph.full([1, 1, 3, 3], 5.0)
    >>> dygraph.ops.fsp_matrix(x, y).tolist()
    [[[5.0], [5.0]]]
    """
    shapes = [check.variable(v, f"fsp_matrix: {w}").shape for w, v in (("x", x), ("y", y))]
    one, two = shapes
    if len(one) != 4 or len(two) != 4 or one[0] != two[0] or one[2:] != two[2:]:
        rule = (
            "fsp_matrix: x and y must be [batch, channels, height, width] that differ in channels "
            f"only, got {list(one)} and {list(two)}"
        )
        if is_open(x) or is_open(y):
            raise check.open_size(rule, "Declare the others alike", InvalidArgumentError)
        raise InvalidArgumentError(rule)
    if is_open(x) or is_open(y):  # the run finds sizes that differ
        y = ops.concat([x.detach(), y], axis=1)[:, sizes_of(x)[1] :]
    whole = ops.einsum([x, y], equation="bchw,bdhw->bcd")
    height, width = sizes_of(x)[2:]
    if type(height * width) is int:
        return whole / float(max(height * width, 1))
    return whole / (height * width)


# Images -------------------------------------------------------------------------------------------


def _resized(input, out_shape, scale, mode, align_corners, align_mode, data_format, owner):
    if out_shape is not None:  # as in Fluid, sizes override a scale
        sizes = out_shape.tolist() if isinstance(out_shape, _core.Variable) else list(out_shape)
        return images.interpolate(input, sizes, None, mode, align_corners, align_mode, data_format)
    if scale is None:
        raise InvalidArgumentError(f"{owner}: out_shape or scale must be given, got neither")
    scale = scale.item() if isinstance(scale, _core.Variable) else scale
    return images.interpolate(input, None, scale, mode, align_corners, align_mode, data_format)


def image_resize(
    input,
    out_shape=None,
    scale=None,
    name=None,
    resample="BILINEAR",
    actual_shape=None,
    align_corners=True,
    align_mode=1,
    data_format="NCHW",
):
    """Resize images ``[batch, channels, height, width]``, or volumes for ``'TRILINEAR'``.

    Parameters
    ----------
    input : Variable
    out_shape : list of int or Variable, optional
        Spatial sizes of the result; overrides `scale`.
    scale : float or Variable, optional
    resample : 'BILINEAR', 'NEAREST' or 'TRILINEAR'
    actual_shape : Variable, optional
        Overrides `out_shape`.
    align_corners : bool
    align_mode : 0 or 1
    data_format : 'NCHW' or 'NHWC', for volumes 'NCDHW' or 'NDHWC'

    Examples
    --------
    >>> import dygraph
    >>> dygraph.ops.image_resize(dygraph.ones([1, 3, 4, 5]), out_shape=[8, 6]).shape
    (1, 3, 8, 6)
    """
    names = {"BILINEAR": "bilinear", "NEAREST": "nearest", "TRILINEAR": "trilinear"}
    mode = names[check.choice(resample, tuple(names), "image_resize: resample")]
    formats = ("NCDHW", "NDHWC") if mode == "trilinear" else ("NCHW", "NHWC")
    check.choice(data_format, formats, f"image_resize: data_format for {resample}")
    sizes = out_shape if actual_shape is None else actual_shape
    return _resized(
        input, sizes, scale, mode, align_corners, align_mode, data_format, "image_resize"
    )


def resize_bilinear(
    input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True,
    align_mode=1, data_format="NCHW",
):  # fmt: skip
    """`image_resize` by weighted means of four pixels.

    >>> import dygraph
    >>> x = dygraph.to_variable([[[[1.0, 3.0]]]])
    >>> dygraph.ops.resize_bilinear(x, out_shape=[1, 3]).tolist()
    [[[[1.0, 2.0, 3.0]]]]
    """
    return image_resize(
        input, out_shape, scale, name, "BILINEAR", actual_shape, align_corners, align_mode,
        data_format,
    )  # fmt: skip


def resize_nearest(
    input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True,
    data_format="NCHW",
):  # fmt: skip
    """`image_resize` that takes the nearest pixel.

    >>> import dygraph
    >>> x = dygraph.to_variable([[[[1.0, 3.0]]]])
    >>> dygraph.ops.resize_nearest(x, out_shape=[1, 4]).tolist()
    [[[[1.0, 1.0, 3.0, 3.0]]]]
    """
    return image_resize(
        input, out_shape, scale, name, "NEAREST", actual_shape, align_corners, 1, data_format
    )


def resize_trilinear(
    input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True,
    align_mode=1, data_format="NCDHW",
):  # fmt: skip
    """`image_resize` of volumes by weighted means of eight cells.

    >>> import dygraph
    >>> x = dygraph.to_variable([[[[[1.0]], [[3.0]]]]])
    >>> dygraph.ops.resize_trilinear(x, out_shape=[3, 1, 1]).tolist()
    [[[[[1.0]], [[2.0]], [[3.0]]]]]
    """
    return image_resize(
        input, out_shape, scale, name, "TRILINEAR", actual_shape, align_corners, align_mode,
        data_format,
    )  # fmt: skip


def image_resize_short(input, out_short_len, resample="BILINEAR"):
    """`image_resize` to a shorter side of `out_short_len`, with the proportions kept.

    >>> import dygraph
    >>> dygraph.ops.image_resize_short(dygraph.ones([1, 1, 4, 6]), 8).shape
    (1, 1, 8, 12)
    """
    images.require_axes(input, 2, "image_resize_short")
    short = check.integer(out_short_len, "image_resize_short: out_short_len", 1)
    sizes = [check.known_size(input, axis, "image_resize_short") for axis in (2, 3)]
    least = min(sizes)
    if least < 1:
        raise InvalidArgumentError(
            f"image_resize_short: there must be pixels, got shape {list(input.shape)}"
        )
    return image_resize(
        input, [int(n * (short / least) + 0.5) for n in sizes], None, None, resample
    )


def _adaptive(axes, input, pool_size, pool_type, require_index, owner):
    check.choice(pool_type, ("max", "avg"), f"{owner}: pool_type")
    if pool_type == "max":
        pool = images.adaptive_max_pool2d if axes == 2 else images.adaptive_max_pool3d
        return pool(input, pool_size, bool(require_index))
    if require_index:
        raise InvalidArgumentError(f"{owner}: require_index must be False for 'avg', got True")
    pool = images.adaptive_avg_pool2d if axes == 2 else images.adaptive_avg_pool3d
    return pool(input, pool_size)


def adaptive_pool2d(input, pool_size, pool_type="max", require_index=False, name=None):
    """Pool images of any size to `pool_size`; with `require_index` the indices as well.

    >>> import dygraph
    >>> x = dygraph.arange(6.0).reshape(1, 1, 2, 3)
    >>> dygraph.ops.adaptive_pool2d(x, [2, 1], "avg").tolist()
    [[[[1.0], [4.0]]]]
    """
    return _adaptive(2, input, pool_size, pool_type, require_index, "adaptive_pool2d")


def adaptive_pool3d(input, pool_size, pool_type="max", require_index=False, name=None):
    """Pool volumes of any size to `pool_size`; with `require_index` the indices as well.

    >>> import dygraph
    >>> x = dygraph.arange(8.0).reshape(1, 1, 2, 2, 2)
    >>> dygraph.ops.adaptive_pool3d(x, 1).tolist()
    [[[[[7.0]]]]]
    """
    return _adaptive(3, input, pool_size, pool_type, require_index, "adaptive_pool3d")


# Random numbers
# ----------------------------------------------------------------------------------------


def _like(input, shape, input_dim_idx, output_dim_idx, owner):
    """`shape` with one size taken from `input`."""
    check.variable(input, f"{owner}: input")
    if isinstance(shape, str) or not hasattr(shape, "__iter__"):
        raise InvalidArgumentError(f"{owner}: shape must be a list of sizes, got {kind_of(shape)}")
    sizes = list(shape)
    axis = check.axis(output_dim_idx, len(sizes), f"{owner}: output_dim_idx")
    from_axis = check.axis(input_dim_idx, input.ndim, f"{owner}: input_dim_idx")
    others = check.shape([n for i, n in enumerate(sizes) if i != axis], f"{owner}: shape")
    return [*others[:axis], sizes_of(input)[from_axis], *others[axis:]]


def uniform_random_batch_size_like(
    input, shape, dtype="float32", input_dim_idx=0, output_dim_idx=0, min=-1.0, max=1.0, seed=0
):
    """Uniform samples from [min, max) in `shape`, with the batch size of `input`.

    >>> import dygraph
    >>> x = dygraph.ones([5, 2])
    >>> dygraph.ops.uniform_random_batch_size_like(x, [-1, 3]).shape
    (5, 3)
    """
    sizes = _like(input, shape, input_dim_idx, output_dim_idx, "uniform_random_batch_size_like")
    owner = "uniform_random_batch_size_like"
    with beside(input):
        return drawn("uniform_random", sizes, owner, dtype=dtype, min=min, max=max, seed=seed)


def gaussian_random_batch_size_like(
    input, shape, input_dim_idx=0, output_dim_idx=0, mean=0.0, std=1.0, seed=0, dtype="float32"
):
    """Samples of a normal distribution in `shape`, with the batch size of `input`.

    >>> import dygraph
    >>> x = dygraph.ones([5, 2])
    >>> dygraph.ops.gaussian_random_batch_size_like(x, [-1, 3]).shape
    (5, 3)
    """
    sizes = _like(input, shape, input_dim_idx, output_dim_idx, "gaussian_random_batch_size_like")
    owner = "gaussian_random_batch_size_like"
    with beside(input):
        return drawn("gaussian_random", sizes, owner, dtype=dtype, mean=mean, std=std, seed=seed)


# Losses -------------------------------------------------------------------------------------------


def hsigmoid(
    input, label, weight, bias=None, num_classes=2, path_table=None, path_code=None,
    is_sparse=False,
):  # fmt: skip
    """Hierarchical sigmoid loss (Morin and Bengio, 2005), ``[rows, 1]``.

    Fluid's function makes its parameters, as `dygraph.nn.HSigmoid` does; here they are arguments:
    `weight` ``[num_classes - 1, D]`` and `bias` ``[num_classes - 1, 1]``.

    >>> import dygraph
    >>> x, weight = dygraph.ones([1, 3]), dygraph.zeros([1, 3])
    >>> loss = dygraph.ops.hsigmoid(x, dygraph.to_variable([[1]]), weight)
    >>> round(loss.item(), 4)  # one turn, even chances: log(2)
    0.6931
    """
    return ops.hierarchical_sigmoid(
        input, weight, label, path_table=path_table, path_code=path_code, bias=bias,
        num_classes=check.integer(num_classes, "hsigmoid: num_classes", 2),
        is_sparse=bool(is_sparse),
    )  # fmt: skip


def sigmoid_focal_loss(x, label, fg_num, gamma=2.0, alpha=0.25):
    """Focal loss of detection, element by element (Lin and others, 2017).

    ``-alpha (1 - p)^gamma log(p) / fg_num`` where the column, counted from 1, is the row's label,
    else ``-(1 - alpha) p^gamma log(1 - p) / fg_num``, with ``p = sigmoid(x)``. Rows labelled -1 do
    not count.

    Parameters
    ----------
    x : Variable
        ``[rows, classes]``.
    label : Variable
        ``[rows, 1]`` of integers: 0 for the background, -1 to ignore a row.
    fg_num : Variable
        The number of foreground rows: one integer.

    Returns
    -------
    Variable
        ``[rows, classes]``.

    Examples
    --------
    >>> import dygraph
    >>> one = dygraph.to_variable([[1]])
    >>> loss = dygraph.ops.sigmoid_focal_loss(dygraph.zeros([1, 1]), one, one)
    >>> round(loss.item(), 4)  # 0.25 * 0.5^2 * log(2)
    0.0433
    """
    for name, value in (("x", x), ("label", label), ("fg_num", fg_num)):
        check.variable(value, f"sigmoid_focal_loss: {name}")
    fits = x.ndim == label.ndim == 2 and check.may_be_equal(label.shape[0], x.shape[0])
    if not (fits and check.may_be_equal(label.shape[1], 1)):
        raise InvalidArgumentError(
            "sigmoid_focal_loss: x must be [rows, classes] and label [rows, 1], got "
            f"{list(x.shape)} and {list(label.shape)}"
        )
    gamma = check.number(gamma, "sigmoid_focal_loss: gamma", 0)
    alpha = check.number(alpha, "sigmoid_focal_loss: alpha")
    label = matching(x[:, :1].astype(label.dtype), label)
    with beside(x):
        columns = arange(1, sizes_of(x)[1] + 1).astype(label.dtype)
    hit = ops.equal(label, columns).astype(x.dtype)
    counts = ops.not_equal(label, _core.literal(-1, label.dtype)).astype(x.dtype)
    many = ops.elementwise_max(fg_num, _core.literal(1, fg_num.dtype)).astype(x.dtype)
    p = ops.sigmoid(x)
    right = (1.0 - p) ** gamma * ops.logsigmoid(x) * alpha
    wrong = p**gamma * ops.logsigmoid(-x) * (1.0 - alpha)
    return -(hit * right + (1.0 - hit) * counts * wrong) / many
