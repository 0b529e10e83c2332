"""Methods of the Variable type that are written in Python, and `Parameter`."""

import numpy as np

from dygraph import _core
from dygraph.autograd import passes
from dygraph.core import (
    check,
    copies,
    element_methods,
    exchange,
    foreign,
    in_place,
    index_arrays,
    size_lists,
    sizes,
    spellings,
)
from dygraph.core.compat import BackwardStrategy
from dygraph.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    PreconditionNotMetError,
    kind_of,
)
from dygraph.functions import (
    extent,
    manipulation,
    matrices,
    pieces,
    products,
    reductions,
    searching,
    sets,
    sorting,
)
from dygraph.functions.arguments import cuda_place_of, place_and_type
from dygraph.inspect import printing

__all__ = ["Parameter", "Variable"]

Variable = _core.Variable
ops = _core.ops


# Gradients ----------------------------------------------------------------------------------------


def backward(self, grad=None, retain_graph=False, create_graph=False, backward_strategy=None):
    """Add the gradients of this variable to the ``grad`` of every leaf it depends on.

    Parameters
    ----------
    grad : Variable or array_like, optional
        The incoming gradient, of this variable's shape. None stands for ones, as for a loss.
    retain_graph : bool
        Keep the graph for a second pass.
    create_graph : bool
        Record the computation of the gradients, so that they can be differentiated again.
    backward_strategy : BackwardStrategy, optional
        Fluid's; accepted as the first argument, too.

    Raises
    ------
    PreconditionNotMetError
        (a RuntimeError) if nothing was recorded, with the reason, or if an earlier pass freed the
        graph.
    InvalidArgumentError
        (a ValueError) for a gradient of another shape.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.to_variable([3.0])
    >>> w.stop_gradient = False
    >>> (w * w).backward()
    >>> w.gradient()
    array([6.], dtype=float32)
    """
    if isinstance(grad, BackwardStrategy):
        grad, backward_strategy = None, grad
    BackwardStrategy.check(backward_strategy, "backward")
    if grad is not None and not isinstance(grad, Variable):
        grad = _core.to_variable(grad, None, self.dtype)
    retain = bool(retain_graph or create_graph)
    passes.backward([self], [] if grad is None else [grad], retain, bool(create_graph))


def gradient(self):
    """The gradient as a NumPy array, or None.

    Returns
    -------
    numpy.ndarray or (numpy.ndarray, numpy.ndarray)
        The sparse gradient of an embedding is (values, row indices), as in Fluid.
    """
    grad = self.grad
    if grad is None:
        return None
    if _core.is_selected_rows(grad):
        return _core.rows_value(grad).numpy(), np.array(_core.rows(grad), "int64")
    return grad.numpy()


class HookHandle:
    """The handle of a hook: ``handle.remove()`` removes it."""

    __slots__ = ("_variable", "_id")

    def __init__(self, variable, number):
        self._variable, self._id = variable, number

    def remove(self):
        """Remove the hook. A second call has no effect."""
        if self._variable is not None:
            _core.remove_hook(self._variable, self._id)
            self._variable = None


def register_hook(self, hook):
    """Call ``hook(grad)`` once in each pass, with the complete gradient of this variable.

    Parameters
    ----------
    hook : callable
        Takes the gradient; its result replaces the gradient, None keeps it.

    Returns
    -------
    HookHandle
        ``remove()`` removes the hook.

    Raises
    ------
    PreconditionNotMetError
        If the variable gets no gradient.

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.to_variable([3.0])
    >>> w.stop_gradient = False
    >>> handle = w.register_hook(lambda g: g * 2)
    >>> (w * w).backward()
    >>> w.gradient()
    array([12.], dtype=float32)
    """
    if not callable(hook):
        raise ArgumentTypeError(
            f"register_hook: hook must be a function of the gradient, got {kind_of(hook)}"
        )
    return HookHandle(self, _core.add_hook(self, hook))


def grad_fn(self):
    """The step of the tape that computed this variable, or None for a leaf.

    It has ``name``, ``inputs`` (pairs of a step and the number of its output), ``kept``, ``freed``
    and ``caller``.

    >>> import dygraph
    >>> w = dygraph.to_variable([2.0])
    >>> w.stop_gradient = False
    >>> y = dygraph.exp(w * w)
    >>> y.grad_fn.name, y.grad_fn.inputs[0][0].name
    ('exp', 'elementwise_mul')
    """
    return _core.producer_of(self)


def retain_grads(self):
    """Keep the gradient of this intermediate variable in ``grad``; leaves always keep theirs."""
    _core.retain_grad(self)


def requires_grad(self):
    """True: a gradient flows into it. The opposite of ``stop_gradient``, by torch's name."""
    return not self.stop_gradient


def set_requires_grad(self, value):
    if not value and not self.is_leaf:
        raise PreconditionNotMetError(
            f"requires_grad: only a leaf can be frozen, got the result of {grad_fn(self).name}. "
            "x.detach() gives its values without the graph"
        )
    self.stop_gradient = not value


# LoD ----------------------------------------------------------------------------------------------


def lod(self):
    """Offsets of the sequences, a list for each level: ``[[0, 2, 5]]``. Empty for plain tensors."""
    return sizes.offsets(self, _core.lod(self))


def set_lod(self, offsets):
    """Divide the rows into sequences. InvalidArgumentError if the offsets do not fit them."""
    _core.set_lod(self, offsets)


def recursive_sequence_lengths(self):
    """Lengths of the sequences, a list for each level: ``[[2, 3]]``."""
    return sizes.offsets(self, _core.offsets_to_lengths(_core.lod(self)))


def set_recursive_sequence_lengths(self, lengths):
    """As `set_lod`, from lengths."""
    _core.set_lod(self, _core.lengths_to_offsets(lengths))


# Shape and type -----------------------------------------------------------------------------------

_reshape2, _transpose2 = ops.reshape2, ops.transpose2
_LISTS = list, tuple
_AXES = [set(range(rank)) for rank in range(17)]  # a variable has at most 16


def astype(self, dtype):
    """The values in another type; gradients flow back through float types.

    >>> import dygraph
    >>> dygraph.to_variable([1.7]).astype("int32").numpy()
    array([1], dtype=int32)
    """
    if dtype is None:
        raise ArgumentTypeError("astype: dtype must be an element type, got None")
    dtype = _core.dtype_of(dtype)
    if dtype == self.dtype:
        return ops.assign(self)
    return ops.cast(self, in_dtype=self.dtype, out_dtype=dtype)


def reshape(self, *shape):
    """The same elements in another shape, given as numbers or as one list.

    Parameters
    ----------
    *shape : int
        One size may be -1 (the rest); 0 keeps the size of that axis, as in Fluid.

    Examples
    --------
    >>> import dygraph, numpy as np
    >>> dygraph.to_variable(np.arange(6)).reshape(2, -1).shape
    (2, 3)
    """
    sizes = shape[0] if len(shape) == 1 and type(shape[0]) in _LISTS else shape
    for size in sizes:
        if type(size) is not int or size < -1:
            break  # for the slower way, which converts or says what is wrong
    else:
        return _reshape2(self, sizes)
    if len(shape) == 1 and not hasattr(type(shape[0]), "__index__"):
        shape = shape[0]
        if isinstance(shape, str) or not hasattr(shape, "__iter__"):
            raise ArgumentTypeError(f"reshape: shape must be integers, got {kind_of(shape)}")
    elif len(shape) == 1 and isinstance(shape[0], (Variable, np.ndarray)) and shape[0].ndim:
        shape = shape[0].tolist()
    if any(getattr(type(n), "is_of_the_run", False) for n in shape):
        return size_lists.reshaped(self, list(shape))
    if any(hasattr(type(n), "as_attribute") for n in shape):  # sizes of a program
        shape = list(shape)
        if sum(type(n) is not int or n == -1 for n in shape) > 1:
            shape = size_lists.kept(self, shape)
            if sum(type(n) is not int or n == -1 for n in shape) > 1:
                return size_lists.reshaped(self, shape)
        return _reshape2(self, shape)
    return _reshape2(self, [check.integer(n, "reshape: a size", -1) for n in shape])


def transpose(self, *perm):
    """The axes in another order; without arguments reversed.

    >>> import dygraph, numpy as np
    >>> dygraph.to_variable(np.zeros((2, 3, 4))).transpose(2, 0, 1).shape
    (4, 2, 3)
    """
    rank = self.ndim
    if len(perm) == 1 and isinstance(perm[0], (list, tuple)):
        perm = perm[0]
    if not perm:
        perm = range(rank - 1, -1, -1)
    elif rank == 2 and perm == (0, 1):
        raise InvalidArgumentError(
            "transpose: the axes of a matrix must be one list, got 0, 1, which keep their order in "
            "NumPy and change places in torch. Write x.T, or x.transpose([0, 1]) to keep the order"
        )
    elif len(perm) == rank:
        for axis in perm:
            if type(axis) is not int:
                break  # for the slower way, which converts or says what is wrong
        else:
            if {*perm} == _AXES[rank]:
                return _transpose2(self, perm)
    axes = [check.axis(p, rank, "transpose: an axis") for p in perm]
    if sorted(axes) != list(range(rank)):
        raise InvalidArgumentError(
            f"transpose: the axes must be a permutation of 0 to {rank - 1}, got {list(perm)}"
            + (". x.swapaxes({}, {}) exchanges two".format(*perm) if len(perm) == 2 < rank else "")
        )
    return _transpose2(self, axes) if rank else ops.assign(self)


def matmul(self, y, transpose_x=False, transpose_y=False):
    """``x @ y``, optionally with the last two axes of either transposed."""
    return ops.matmul_v2(self, y, trans_x=bool(transpose_x), trans_y=bool(transpose_y))


def _method_of(name):
    """An operator whose first argument is the variable."""
    op = getattr(ops, name)

    def method(self, *args, **kwargs):
        return op(self, *args, **kwargs)

    method.__wrapped__ = op  # its signature is in help
    method.__name__ = name
    method.__qualname__ = f"Variable.{name}"
    method.__doc__ = op.__doc__
    return method


# Text and facts that Fluid's variables have -------------------------------------------------------


def to_string(self, throw_on_error=False, with_details=False):
    """The text of ``repr``. The arguments are Fluid's and not used."""
    return printing.text(self)


def lod_level(self):
    """The number of levels of detail: 0 for a plain tensor."""
    return len(_core.lod(self))


def grad_name(self):
    """Fluid's name for the gradient: the variable's with ``@GRAD``."""
    return f"{self.name}@GRAD"


# In place -----------------------------------------------------------------------------------------


def set_value(self, value):
    """Write other values of the same shape and type; the tape keeps the old ones."""
    if value is None or isinstance(value, (str, bytes)):
        raise ArgumentTypeError(f"set_value: value must be an array, got {kind_of(value)}")
    if not isinstance(value, Variable) and not _core.is_empty(self):
        value = np.asarray(value)
        target = str(self.dtype)
        if (
            target != "bfloat16"
            and value.dtype != target
            and np.can_cast(value.dtype, target, "same_kind")
        ):
            value = value.astype(target)
    _core.set_value(self, value)


# Copies, arrays, numbers --------------------------------------------------------------------------


def clone(self):
    """A copy that gradients flow through."""
    return ops.assign(self)


def to(self, place=None, dtype=None):
    """The values on another place or of another type; the variable itself if it has both.

    Parameters
    ----------
    place : Place, dtype or Variable, optional
        A type stands for `dtype`, a Variable for its place and type, as in torch.
    dtype : dtype, optional

    Examples
    --------
    >>> import dygraph
    >>> dygraph.zeros(2).to(dygraph.int64).dtype.name
    'int64'
    """
    place, dtype = place_and_type(place, dtype)
    if dtype is not None and self.dtype != _core.dtype_of(dtype):
        self = astype(self, dtype)
    if place is None or place == self.place:
        return self
    return _core.to_place(self, place)


def cpu(self):
    """The values in host memory; the variable itself if it is there."""
    return to(self, _core.CPUPlace())


def cuda(self, device=None):
    """The values on a CUDA device; the variable itself if it is there.

    Parameters
    ----------
    device : int, str or CUDAPlace, optional
        None: the current device, or the first one.

    Examples
    --------
    >>> import dygraph
    >>> x = dygraph.zeros(2)
    >>> y = x.cuda() if dygraph.is_compiled_with_cuda() else x
    >>> y.is_cuda == dygraph.is_compiled_with_cuda()
    True
    """
    return to(self, cuda_place_of(device, "cuda"))


def pin_memory(self):
    """The values in page-locked memory of the host, from which a device copies quickly.

    Operators take such a variable as one of the host. PreconditionNotMetError without a device.
    """
    return to(self, _core.CUDAPinnedPlace())


def is_pinned(self):
    """Whether the values lie in page-locked memory; see `pin_memory`."""
    return self.place.kind == "CUDAPinnedPlace"


def is_cuda(self):
    """Whether the values lie on a CUDA device."""
    return self.place.kind == "CUDAPlace"


def tolist(self):
    """The values as nested lists of Python numbers; a number for a 0-d variable."""
    return _core.view(self).tolist()


def length(self):
    """Size of the first axis, TypeError for a 0-d variable, as in NumPy; elements of an array."""
    if _core.value_kind(self) == "TensorArray":
        return _core.array_length(self)
    if not self.shape:
        raise ArgumentTypeError("len() of a 0-d variable: it has no axis")
    size = self.shape[0]
    if type(size) is not int:
        raise size.refused("len() reads the size", "Use x.shape[0], which is valid in shapes")
    if size < 0:
        raise check.open_size(
            f"the length of '{self.name}' is known when the program runs",
            "Use static.layers.shape(x)[0], or declare the size",
        )
    return size


def iterate(self):
    """The entries along the first axis."""
    if not self.shape:
        raise ArgumentTypeError("iteration over a 0-d variable: it has no axis")
    size = self.shape[0]
    if type(size) is not int:
        raise size.refused("a loop over rows reads the size", "Compute with whole batches")
    return (self[i] for i in range(length(self)))


# Parameter ----------------------------------------------------------------------------------------


class Parameter(Variable):
    """A Variable that a layer owns and an optimizer trains.

    Parameters
    ----------
    value : array_like or Variable
    trainable : bool
        False: no gradient, no update. ``requires_grad`` is torch's name.
    name : str, optional

    Attributes
    ----------
    learning_rate : float
        Factor on the optimizer's.
    regularizer : object or None
        Overrides the optimizer's.
    do_model_average : bool

    Examples
    --------
    >>> import dygraph
    >>> w = dygraph.Parameter([3.0])
    >>> (w * w).backward()
    >>> w.gradient(), w.trainable
    (array([6.], dtype=float32), True)
    """

    learning_rate = 1.0
    regularizer = None
    gradient_clip = None
    do_model_average = True

    def __init__(
        self, value=None, lod=None, dtype=None, trainable=True, name=None, *, requires_grad=True
    ):
        if value is None or isinstance(value, (str, bytes)):
            raise ArgumentTypeError(f"Parameter: value must be an array, got {kind_of(value)}")
        frozen = not (trainable and requires_grad)
        Variable.__init__(self, value, lod=lod, dtype=dtype, stop_gradient=frozen, name=name)
        self.persistable = True

    @property
    def trainable(self):
        """False: no gradient, no update. The opposite of ``stop_gradient``."""
        return not self.stop_gradient

    @trainable.setter
    def trainable(self, value):
        self.stop_gradient = not value


def _round(self, digits=None):
    """Round to a number of decimals, halves to even: ``round(x, 2)``."""
    if digits is None or digits == 0:
        return ops.round(self)
    factor = 10.0 ** check.integer(digits, "round: digits")
    return ops.round(self * factor) / factor


_methods = {
    "backward": backward,
    "gradient": gradient,
    "register_hook": register_hook,
    "retain_grads": retain_grads,
    "grad_fn": property(grad_fn, doc=grad_fn.__doc__),
    "requires_grad": property(requires_grad, set_requires_grad, doc=requires_grad.__doc__),
    "lod": lod,
    "set_lod": set_lod,
    "recursive_sequence_lengths": recursive_sequence_lengths,
    "set_recursive_sequence_lengths": set_recursive_sequence_lengths,
    "astype": astype,
    "cast": astype,
    "reshape": reshape,
    "transpose": transpose,
    "matmul": matmul,
    "__array_namespace__": exchange.array_namespace,
    "__complex__": exchange.to_complex,
    "__lshift__": exchange.shift("bitwise_left_shift"),
    "__rshift__": exchange.shift("bitwise_right_shift"),
    "device": property(
        lambda self: self.place, exchange.refuse_device, doc="The place where the values lie."
    ),
    "mT": property(exchange.matrices_transposed, doc=exchange.matrices_transposed.__doc__),
    "to_device": exchange.to_device,
    "T": property(lambda self: transpose(self), doc="The axes reversed."),
    "set_value": set_value,
    "to_string": to_string,
    "lod_level": property(lod_level, doc=lod_level.__doc__),
    "grad_name": property(grad_name, doc=grad_name.__doc__),
    "clone": clone,
    "copy": clone,
    "to": to,
    "cpu": cpu,
    "cuda": cuda,
    "pin_memory": pin_memory,
    "is_pinned": is_pinned,
    "is_cuda": property(is_cuda, doc=is_cuda.__doc__),
    "tolist": tolist,
    "_repr_html_": printing.html,
    "__array__": exchange.array,
    "__array_priority__": 1000.0,  # above that of CuPy's arrays
    "__array_ufunc__": exchange.array_ufunc,  # so that array + x calls x
    "__array_function__": exchange.array_function,
    "__contains__": exchange.contains,
    "__cuda_array_interface__": property(
        exchange.cuda_array_interface, doc=exchange.cuda_array_interface.__doc__
    ),
    "__cupy_override_elementwise_kernel__": exchange.cupy_kernel,
    "__dlpack__": exchange.dlpack,
    "__dlpack_device__": exchange.dlpack_device,
    "_element": exchange.element,
    "__len__": length,
    "__iter__": iterate,
    "__repr__": printing.text,
    "__format__": printing.formatted,
    "__dir__": spellings.listed,
    "__getitem__": index_arrays.getitem,
    "__setitem__": index_arrays.setitem,
    "__reduce_ex__": copies.reduce,
    "__deepcopy__": copies.deepcopy,
    "__copy__": copies.shallow_copy,
    "clip": in_place.clip,
    "expand": extent.expand_method,
    "dot": products.dot_method,
    "split": pieces.split_method,
    "pow": in_place.power,
    "round": _round,
    "real": property(
        element_methods.later("complex_numbers", "real"), doc="The real parts; x itself if real."
    ),
    "imag": property(
        element_methods.later("complex_numbers", "imag"), doc="The imaginary parts, if complex."
    ),
    "__abs__": element_methods.later("elementwise", "abs"),
    "__round__": _round,
}
# Functions whose first argument is the variable.
_functions = {
    sets: "allclose unique",
    extent: "broadcast_to expand_as repeat_interleave tile",
    manipulation: "cumsum flatten flip moveaxis roll squeeze swapaxes t unsqueeze",
    matrices: "diag tril triu",
    pieces: "chunk unbind unstack",
    searching: "argmax argmin",
    sorting: "argsort topk",
    products: "cross lerp mm mv norm outer trace",
}
# Operators whose first argument is the variable.
_PLAIN = (
    "abs bmm ceil cos digamma dist erf erfc erfinv exp floor i0 kron lgamma log log1p reciprocal "
    "relu rsqrt sigmoid sign sin softmax sqrt square tanh"
)
for _module, _names in _functions.items():
    _methods |= {_name: getattr(_module, _name) for _name in _names.split()}
_methods |= {_name: _method_of(_name) for _name in _PLAIN.split()}
_methods.update(element_methods.METHODS)
_methods.update(reductions.METHODS)
_methods.update(in_place.METHODS)
_methods.update(spellings.ALIASES)
for _name in spellings.HINTS.keys() - _methods.keys():
    _methods[_name] = spellings.Hint(_name, spellings.HINTS[_name])
_core.set_count_type(spellings.Count)
_core.set_foreign_attributes(foreign.OF_VARIABLES)
for _name, _method in _methods.items():
    _core.set_type_attribute(_name, _method)
del _name, _method, _module, _names, _PLAIN
