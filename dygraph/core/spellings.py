"""Other libraries' names for what a Variable does: those that work here, and errors for the rest.

A name that PyTorch users type daily is an alias of ours where it means the same. Every other known
name raises AttributeError with our spelling, see `hints`, so ``hasattr`` answers False. ``dir()``
lists the aliases and leaves the hints out.
"""

import sys

from dygraph import _core
from dygraph.core import check, in_place
from dygraph.core.hints import HINTS
from dygraph.core.lazily import find
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.functions import manipulation

__all__ = ["ALIASES", "Count", "Hint", "OfObjects", "listed", "refuse"]

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

    def __call__(self, dim=None):
        if dim is None:
            return self._shape
        return self._shape[check.axis(dim, len(self._shape), "size: dim")]

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
    return find("dygraph.functions.choices", "where")(mask, value, self)


def view_as(self, other):
    """``x.reshape(other.shape)``, by torch's name. A view shares no memory here."""
    return self.reshape(other.shape)


def index_add(self, axis, index, source, *, alpha=1):
    """`dygraph.index_add` of this variable.

    >>> import dygraph
    >>> rows = dygraph.to_variable([[1.0], [2.0]])
    >>> dygraph.zeros(2, 1).index_add(0, dygraph.to_variable([1, 1]), rows).tolist()
    [[0.0], [3.0]]
    """
    add = find("dygraph.functions.searching", "index_add")
    return add(self, axis, index, source, alpha=alpha)


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
    "view_as": view_as,
    "index_add": index_add,
    **{
        name: _converts(name, dtype)
        for name, dtype in {
            "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16",
            "long": "int64", "int": "int32", "bool": "bool",
        }.items()
    },
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


def refuse(module, name, hint, rule=""):
    """The error of a `module` without `name`; `hint` begins with a space, or is empty.

    ``from module import name`` gets an ImportError with the hint, as Python would write its own.
    """
    rule = rule or f"module '{module}' has no attribute '{name}'"
    if hint and sys._getframe(2).f_code.co_name == "_handle_fromlist":
        import importlib.util

        if importlib.util.find_spec(f"{module}.{name}") is None:
            return ImportError(f"{rule}.{hint}", name=module)
    return AttributeError(f"{rule}.{hint}")
