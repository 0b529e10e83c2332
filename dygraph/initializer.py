"""Initial values of parameters, drawn by the library's own generator."""

import math

import numpy as np

from dygraph import _core
from dygraph.core import check
from dygraph.errors import ArgumentTypeError, InvalidArgumentError, kind_of
from dygraph.inspect.shown import Shown

__all__ = [
    "MSRA",
    "Bilinear",
    "Constant",
    "Initializer",
    "Normal",
    "NumpyArrayInitializer",
    "TruncatedNormal",
    "Uniform",
    "Xavier",
]

ops = _core.ops


class Initializer(Shown):
    """Base of the initializers: called with a shape and a dtype, it returns a Variable.

    A subclass defines ``make(shape, dtype)``. Called with a Parameter, an initializer writes the
    values into it and returns it, as in Paddle.

    Examples
    --------
    >>> import dygraph
    >>> class Diagonal(dygraph.initializer.Initializer):
    ...     def make(self, shape, dtype):
    ...         return dygraph.eye(*shape, dtype=dtype)
    >>> dygraph.nn.Linear(2, 2, param_attr=Diagonal()).weight.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def __call__(self, shape, dtype="float32"):
        if isinstance(shape, _core.Variable) and shape.persistable:
            shape.set_value(self.make(list(shape.shape), shape.dtype))
            return shape
        shape = check.shape(shape, f"{type(self).__name__}: shape")
        return self.make(shape, dtype)

    def make(self, shape, dtype):
        """The values; defined by subclasses."""
        raise NotImplementedError(f"{type(self).__name__} must define make(shape, dtype)")


def fans(shape):
    """(fan_in, fan_out): the numbers of inputs and outputs of one unit.

    ``[in, out]`` of a linear layer; ``[out, in, h, w]`` of a convolution counts its window.

    >>> from dygraph.initializer import fans
    >>> fans([3, 4]), fans([8, 3, 5, 5])
    ((3, 4), (75, 200))
    """
    if len(shape) < 2:
        return (shape[0], shape[0]) if shape else (1, 1)
    if len(shape) == 2:
        return shape[0], shape[1]
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


class Constant(Initializer):
    """One value for all elements.

    Parameters
    ----------
    value : float, default 0.0
        The value.
    force_cpu : bool, default False
        Accepted as in Fluid; not used.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.initializer.Constant(2.0)([2], "float32").numpy()
    array([2., 2.], dtype=float32)
    """

    def __init__(self, value=0.0, force_cpu=False):
        self.value = check.number(value, "Constant: value")

    def make(self, shape, dtype):
        return ops.fill_constant(shape=shape, value=self.value, dtype=dtype)


class Uniform(Initializer):
    """Random numbers from [low, high), each as likely as the others.

    Parameters
    ----------
    low, high : float, default -1.0 and 1.0
        The range, by default -1 to 1.
    seed : int, default 0
        0: the library's generator, see `dygraph.seed`. Others draw the same numbers at each call.
    diag_num : int, default 0
        How many elements of a diagonal get another value; 0: none.
    diag_step : int, default 0
        The distance of these elements.
    diag_val : float, default 1.0
        Their value.

    Raises
    ------
    InvalidArgumentError
        `high` is below `low`.

    Examples
    --------
    >>> import dygraph
    >>> drawn = dygraph.initializer.Uniform(2.0, 3.0)([100]).numpy()
    >>> bool((drawn >= 2).all() and (drawn <= 3).all())
    True
    """

    def __init__(self, low=-1.0, high=1.0, seed=0, diag_num=0, diag_step=0, diag_val=1.0):
        self.low, self.high = check.number(low, "Uniform: low"), check.number(high, "Uniform: high")
        if self.high < self.low:
            raise InvalidArgumentError(f"Uniform: high must be at least low {low}, got {high}")
        self.seed = check.integer(seed, "Uniform: seed")
        self.diagonal = {"diag_num": diag_num, "diag_step": diag_step, "diag_val": diag_val}

    def make(self, shape, dtype):
        extra = self.diagonal if self.diagonal["diag_num"] else {}
        return ops.uniform_random(
            shape=shape, min=self.low, max=self.high, seed=self.seed, dtype=dtype, **extra
        )


class Normal(Initializer):
    """Random numbers of the normal distribution.

    Parameters
    ----------
    loc : float, default 0.0
        The mean.
    scale : float, default 1.0
        The standard deviation, at least 0.
    seed : int, default 0
        0: the library's generator, see `dygraph.seed`. Others draw the same numbers at each call.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.initializer.Normal(2.0, 0.0)([2, 1]).tolist()
    [[2.0], [2.0]]
    """

    operator = "gaussian_random"

    def __init__(self, loc=0.0, scale=1.0, seed=0):
        name = type(self).__name__
        self.loc = check.number(loc, f"{name}: loc")
        self.scale = check.number(scale, f"{name}: scale", 0)
        self.seed = check.integer(seed, f"{name}: seed")

    def make(self, shape, dtype):
        draw = getattr(ops, self.operator)
        return draw(shape=shape, mean=self.loc, std=self.scale, seed=self.seed, dtype=dtype)


class TruncatedNormal(Normal):
    """Random numbers of the normal distribution; those beyond two deviations are drawn again.

    Parameters
    ----------
    loc : float, default 0.0
        The mean.
    scale : float, default 1.0
        The standard deviation, at least 0.
    seed : int, default 0
        0: the library's generator, see `dygraph.seed`. Others draw the same numbers at each call.

    Examples
    --------
    >>> import dygraph
    >>> drawn = dygraph.initializer.TruncatedNormal(5.0, 0.5)([1000]).numpy()
    >>> bool((abs(drawn - 5) <= 1).all())
    True
    """

    operator = "truncated_gaussian_random"


class _Scaled(Initializer):
    """Uniform in +-sqrt(6/n), or normal with deviation sqrt(2/n): both have variance 2/n."""

    def __init__(self, uniform, seed):
        self.uniform = bool(uniform)
        self.seed = check.integer(seed, f"{type(self).__name__}: seed")

    def _draw(self, n, shape, dtype):
        n = max(float(n), 1e-12)
        if self.uniform:
            limit = math.sqrt(6.0 / n)
            return Uniform(-limit, limit, self.seed).make(shape, dtype)
        return Normal(0.0, math.sqrt(2.0 / n), self.seed).make(shape, dtype)


class Xavier(_Scaled):
    """Variance ``2 / (fan_in + fan_out)`` (Glorot and Bengio, 2010): for tanh and linear layers.

    Parameters
    ----------
    uniform : bool, default True
        Whether the numbers are uniform; else normal.
    fan_in, fan_out : float, optional
        The inputs and outputs of a unit; None: as the shape of the parameter says.
    seed : int, default 0
        0: the library's generator, see `dygraph.seed`. Others draw the same numbers at each call.

    Examples
    --------
    >>> import dygraph
    >>> drawn = dygraph.initializer.Xavier()([2, 4]).numpy()
    >>> bool((abs(drawn) <= 1).all())  # the limit is sqrt(6 / (2 + 4))
    True
    """

    def __init__(self, uniform=True, fan_in=None, fan_out=None, seed=0):
        super().__init__(uniform, seed)
        self.fan_in = None if fan_in is None else check.number(fan_in, "Xavier: fan_in", 0)
        self.fan_out = None if fan_out is None else check.number(fan_out, "Xavier: fan_out", 0)

    def make(self, shape, dtype):
        fan_in, fan_out = fans(shape)
        fan_in = fan_in if self.fan_in is None else self.fan_in
        fan_out = fan_out if self.fan_out is None else self.fan_out
        return self._draw(fan_in + fan_out, shape, dtype)


class MSRA(_Scaled):
    """Variance ``2 / fan_in`` (He and others, 2015): for layers followed by relu.

    Parameters
    ----------
    uniform : bool, default True
        Whether the numbers are uniform; else normal.
    fan_in : float, optional
        The inputs of a unit; None: as the shape of the parameter says.
    seed : int, default 0
        0: the library's generator, see `dygraph.seed`. Others draw the same numbers at each call.

    Examples
    --------
    >>> import dygraph
    >>> drawn = dygraph.initializer.MSRA()([6, 100]).numpy()
    >>> bool((abs(drawn) <= 1).all())  # the limit is sqrt(6 / 6)
    True
    """

    def __init__(self, uniform=True, fan_in=None, seed=0):
        super().__init__(uniform, seed)
        self.fan_in = None if fan_in is None else check.number(fan_in, "MSRA: fan_in", 0)

    def make(self, shape, dtype):
        return self._draw(fans(shape)[0] if self.fan_in is None else self.fan_in, shape, dtype)


class Bilinear(Initializer):
    """Weights that make a transposed convolution a bilinear enlargement.

    For a weight ``[c_in, c_out, k, k]`` with ``stride = k // 2`` or so: each k x k window is the
    product of two triangles. Use ``groups = c_in`` and no bias.

    Raises
    ------
    InvalidArgumentError
        For a shape without four axes, or windows that are not square.

    Examples
    --------
    >>> import dygraph
    >>> dygraph.initializer.Bilinear()([1, 1, 4, 4]).numpy()[0, 0, 0]
    array([0.0625, 0.1875, 0.1875, 0.0625], dtype=float32)
    """

    def make(self, shape, dtype):
        if len(shape) != 4 or shape[2] != shape[3]:
            raise InvalidArgumentError(
                f"Bilinear: the parameter must be [filters, channels, k, k], got {list(shape)}"
            )
        size = shape[3]
        half = -(-size // 2)
        middle = (2 * half - 1 - half % 2) / (2 * half) if half else 0.0
        triangle = 1 - np.abs(np.arange(size) / half - middle) if half else np.zeros(0)
        window = np.broadcast_to(np.outer(triangle, triangle), shape)
        return _core.to_variable(np.ascontiguousarray(window), None, dtype)


class NumpyArrayInitializer(Initializer):
    """The values of an array, whose shape must be the parameter's.

    Parameters
    ----------
    value : ndarray
        The values.

    Raises
    ------
    ArgumentTypeError
        `value` is no NumPy array.

    Examples
    --------
    >>> import numpy as np
    >>> import dygraph
    >>> import dygraph, numpy as np
    >>> table = dygraph.initializer.NumpyArrayInitializer(np.array([[1.0, 2.0]]))
    >>> dygraph.nn.Embedding([1, 2], param_attr=table).weight.tolist()
    [[1.0, 2.0]]
    """

    def __init__(self, value):
        if not isinstance(value, np.ndarray):
            raise ArgumentTypeError(
                f"NumpyArrayInitializer: value must be a NumPy array, got {kind_of(value)}"
            )
        self.value = value

    def make(self, shape, dtype):
        if list(self.value.shape) != list(shape):
            raise InvalidArgumentError(
                f"NumpyArrayInitializer: the array must have the parameter's shape {list(shape)}, "
                f"got {list(self.value.shape)}"
            )
        return _core.to_variable(self.value, None, dtype)


BilinearInitializer = Bilinear
ConstantInitializer = Constant
UniformInitializer = Uniform
NormalInitializer = Normal
TruncatedNormalInitializer = TruncatedNormal
XavierInitializer = Xavier
MSRAInitializer = MSRA
