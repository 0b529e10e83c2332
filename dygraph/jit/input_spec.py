"""Specifications of a program's inputs: types and open sizes."""

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of

__all__ = ["InputSpec"]


class InputSpec:
    """Shape, type and name of one input of a program.

    Parameters
    ----------
    shape : list of int, str or None
        A number is a fixed size. None or -1: the size is open. A name: the size is open, and equal
        on all axes of that name.
    dtype : dtype, optional
    name : str, optional
    stop_gradient : bool, optional

    Examples
    --------
    >>> import dygraph
    >>> dygraph.jit.InputSpec([None, "length", 6], name="x")
    InputSpec(shape=(-1, 'length', 6), dtype=float32, name=x, stop_gradient=False)
    >>> spec = dygraph.jit.InputSpec(["batch", "length"])
    >>> f = dygraph.jit.to_static(lambda x, y: x + y, input_spec=[spec, spec])
    >>> x = dygraph.ones([2, 5])
    >>> f(x, x).shape, f(x[:, :3], x[:, :3]).shape
    ((2, 5), (2, 3))
    """

    def __init__(self, shape=None, dtype="float32", name=None, stop_gradient=False):
        if not isinstance(shape, (list, tuple)):
            raise ArgumentTypeError(
                "InputSpec: shape must be a list of sizes, with None for those that are open, got "
                f"{kind_of(shape)}"
            )
        if name is not None and not isinstance(name, str):
            raise ArgumentTypeError(f"InputSpec: name must be a str, got {kind_of(name)}")
        self.sizes = tuple(_size(n) for n in shape)
        self.dtype, self.name = _core.dtype_of(dtype), name
        self.stop_gradient = bool(stop_gradient)

    @property
    def shape(self):
        """The sizes, -1 for open ones."""
        return tuple(n if type(n) is int else -1 for n in self.sizes)

    def example(self):
        """A Variable that fits: ones, or zeros of integers; open sizes are 2.

        >>> import dygraph
        >>> dygraph.jit.InputSpec([None, 3], "int64").example().tolist()
        [[0, 0, 0], [0, 0, 0]]
        """
        sizes = [2 if n == -1 else n for n in self.shape]
        value = 1.0 if self.dtype.is_floating else 0.0
        return _core.ops.fill_constant(shape=sizes, value=value, dtype=self.dtype)

    @classmethod
    def from_tensor(cls, tensor, name=None):
        """The specification of a Variable, with fixed sizes.

        >>> import dygraph
        >>> dygraph.jit.InputSpec.from_tensor(dygraph.ones([2, 3]), "x").shape
        (2, 3)
        """
        tensor = check.variable(tensor, "InputSpec.from_tensor: tensor")
        return cls(tensor.shape, tensor.dtype, name or tensor.name, tensor.stop_gradient)

    @classmethod
    def from_numpy(cls, ndarray, name=None):
        """The specification of an array, with fixed sizes.

        >>> import dygraph, numpy as np
        >>> dygraph.jit.InputSpec.from_numpy(np.zeros([2, 3], "int64")).dtype
        dygraph.int64
        """
        return cls(ndarray.shape, ndarray.dtype, name)

    def batch(self, batch_size):
        """Add a first axis: a size, None or a name.

        >>> import dygraph
        >>> dygraph.jit.InputSpec([3]).batch(None).shape
        (-1, 3)
        """
        self.sizes = (_size(batch_size), *self.sizes)
        return self

    def unbatch(self):
        """Remove the first axis.

        >>> import dygraph
        >>> dygraph.jit.InputSpec([None, 3]).unbatch().shape
        (3,)
        """
        if not self.sizes:
            raise InvalidArgumentError("InputSpec.unbatch: there must be an axis, got shape ()")
        self.sizes = self.sizes[1:]
        return self

    def __repr__(self):
        shape = tuple(-1 if n is None else n for n in self.sizes)
        return (
            f"InputSpec(shape={shape}, dtype={self.dtype}, name={self.name}, "
            f"stop_gradient={self.stop_gradient})"
        )

    def _parts(self):
        return self.sizes, str(self.dtype), self.name, self.stop_gradient

    def __eq__(self, other):
        return self._parts() == other._parts() if type(other) is InputSpec else NotImplemented

    def __hash__(self):
        return hash(self._parts())


def _size(n):
    """A size of a specification: a number, a name, or None for one that is open."""
    if isinstance(n, str):
        if not n:
            raise InvalidArgumentError("InputSpec: the name of a size must not be ''")
        return n
    n = -1 if n is None else check.integer(n, "InputSpec: a size in shape", -1)
    return None if n == -1 else n


def sizes_of(given, shape, what):
    """A number, a name, or None for an open size, for each axis of an input.

    `given` is an `InputSpec`, another object with a shape, a list of sizes, or a dict of axes:
    ``{1: "length", 2: None}``. `shape` is that of the input.
    """
    if isinstance(given, dict):
        sizes = list(shape)
        for axis, name in given.items():
            sizes[check.axis(axis, len(sizes), f"{what}: an axis")] = _size(name)
        return tuple(sizes)
    sizes = getattr(given, "sizes", getattr(given, "shape", given))
    if not isinstance(sizes, (list, tuple)):
        raise ArgumentTypeError(
            f"{what} must be an InputSpec, a list of sizes or a dict of axes, got {kind_of(given)}"
        )
    sizes = tuple(_size(n) for n in sizes)
    if len(sizes) != len(shape) or any(
        type(n) is int and n != m for n, m in zip(sizes, shape, strict=True)
    ):
        raise InvalidArgumentError(
            f"{what} must fit the input, whose shape is {list(shape)}, got "
            f"{['None' if n is None else n for n in sizes]}"
        )
    return sizes


def listed(given, names, owner):
    """The specification of each input, or None: from a list, or a dict by names."""
    if given is None:
        return None
    if isinstance(given, dict):
        for name in given:
            if name not in names:
                raise InvalidArgumentError(
                    f"{owner}: there must be an input '{name}', got {', '.join(names)}"
                )
        return [given.get(name) for name in names]
    if not isinstance(given, (list, tuple)):
        raise ArgumentTypeError(
            f"{owner} must be a list or a dict with an entry for each input, got {kind_of(given)}"
        )
    if len(given) != len(names):
        raise InvalidArgumentError(
            f"{owner} must hold an entry for each input, {', '.join(names)}, got {len(given)}"
        )
    return list(given)
