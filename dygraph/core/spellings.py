"""Other libraries' names for what a Variable does: those that work here, and hints for the rest.

A name that PyTorch users type daily is an alias of ours where it means the same. Every other known
name raises AttributeError with our spelling, so ``hasattr`` answers False. ``dir()`` lists the
aliases and leaves the hints out.
"""

from dygraph import _core
from dygraph.core import check, elements, in_place
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.functions import manipulation

__all__ = ["ALIASES", "HINTS", "OF_MODULE", "Count", "Hint", "listed"]

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
    """The values without a past, in shared memory: ``x.detach()``, by torch's name."""
    return self.detach()


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
    return elements.where(mask, value, self)


def _converts(name, dtype):
    def method(self):
        return self.astype(dtype)

    method.__name__ = name
    method.__qualname__ = f"Variable.{name}"
    method.__doc__ = f"``x.astype('{dtype}')``, by torch's name."
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
        "cuda device get_device is_cpu is_cuda is_gpu pin_memory share_memory_".split(), _PLACE
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
    "gather": "dygraph.take_along_axis(x, index, axis) is torch's gather; dygraph.gather(x, index) "
    "and x[index] take whole rows",
    "index_add": "dygraph.scatter(x, index, updates, overwrite=False) adds to rows",
    "index_fill": "x[index] = value writes rows",
    "index_select": "dygraph.index_select(x, index, dim=axis), or x[index]",
    "itemsize": "np.dtype(x.dtype.name).itemsize",
    "log_softmax": "dygraph.log_softmax(x, axis)",
    "logsumexp": "dygraph.logsumexp(x, axis)",
    "masked_fill_": "x[mask] = value writes in place",
    "masked_select": "x[mask], or dygraph.masked_select(x, mask)",
    "nbytes": "x.size times the bytes of x.dtype; dygraph.memory says what is in use",
    "nonzero": "dygraph.nonzero(x) gives the places",
    "put": "x[index] = value writes elements",
    "repeat": "torch's repeat is x.tile(times); NumPy's is x.repeat_interleave(times, axis)",
    "resize_": "x.reshape(shape) gives the elements in another shape",
    "scatter": "dygraph.put_along_axis(x, index, values, axis) is torch's scatter; "
    "dygraph.scatter(x, index, updates) writes whole rows",
    "scatter_": "x[index] = values writes in place",
    "scatter_add": "dygraph.put_along_axis(x, index, values, axis, reduce='add')",
    "searchsorted": "np.searchsorted(x.numpy(), values)",
    "select": "x[index] along the first axis, x[:, index] along the second",
    "narrow": "x[start:stop] takes a part",
    "take": "x[index] takes elements or rows",
    "tobytes": "x.numpy().tobytes()",
    "transpose_": "y = x.transpose(axes) gives another order",
    "unfold": "dygraph.unfold(x, kernel_sizes) takes patches of images",
    "view_as": "x.reshape(y.shape)",
}

# Functions and types of other libraries' top level, by what to write here.
OF_MODULE = {
    **dict.fromkeys(
        "Tensor array as_tensor asarray convert_to_tensor from_numpy tensor".split(),
        "dygraph.to_variable(values) makes a Variable, the type of all tensors",
    ),
    **dict.fromkeys(("cat", "concatenate"), "dygraph.concat([x, y], axis)"),
    **dict.fromkeys(
        ("cuda", "device", "set_device"), "dygraph.guard(dygraph.CUDAPlace(0)) computes there"
    ),
    **dict.fromkeys(
        ("double", "float", "half"), "dygraph.float64, float32 and float16 are the types"
    ),
    **dict.fromkeys(("int", "long"), "dygraph.int32 and dygraph.int64 are the types"),
    "bool": "dygraph.bool_ is the type",
    "expand_dims": "dygraph.unsqueeze(x, axis)",
    "manual_seed": "dygraph.seed(n)",
    "masked_fill": "dygraph.where(mask, value, x)",
    "permute": "dygraph.transpose(x, axes)",
    "repeat": "torch's repeat is dygraph.tile(x, times); NumPy's is dygraph.repeat_interleave",
    "vstack": "dygraph.concat([x, y], axis=0)",
    "hstack": "dygraph.concat([x, y], axis=1)",
}
