"""Arithmetic, element by element.

Examples
--------
>>> import dygraph
>>> from dygraph import static
>>> x, y = dygraph.to_variable([[1.0, 2.0], [3.0, 4.0]]), dygraph.to_variable([10.0, 20.0])
>>> static.layers.elementwise_add(x, y, axis=0).tolist()
[[11.0, 12.0], [23.0, 24.0]]
"""

from dygraph.core import check
from dygraph.static.layers.making import into, layer, operator, run


@operator()
def elementwise_add(x, y, axis=-1, act=None, name=None):
    """``x + y``, element by element.

    Parameters
    ----------
    x, y : Variable
        Of shapes that broadcast; of one type, float32, float64 or an integer type.
    axis : int, default -1
        The axis of `x` that the first axis of `y` lies along; -1: axes are matched from the last
        one, as NumPy's.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape that `x` and `y` broadcast to, of their type.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x, y = to_variable([[1.0, 2.0], [3.0, 4.0]]), to_variable([10.0, 20.0])
    >>> layers.elementwise_add(x, y).tolist()
    [[11.0, 22.0], [13.0, 24.0]]
    >>> layers.elementwise_add(x, y, axis=0).tolist()
    [[11.0, 12.0], [23.0, 24.0]]
    """


@operator()
def elementwise_sub(x, y, axis=-1, act=None, name=None):
    """``x - y``, element by element.

    Parameters
    ----------
    x, y : Variable
        Of shapes that broadcast; of one type, float32, float64 or an integer type.
    axis : int, default -1
        The axis of `x` that the first axis of `y` lies along; -1: axes are matched from the last
        one, as NumPy's.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape that `x` and `y` broadcast to, of their type.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.elementwise_sub(to_variable([3.0, 4.0]), to_variable([1.0, 6.0])).tolist()
    [2.0, -2.0]
    """


@operator()
def elementwise_mul(x, y, axis=-1, act=None, name=None):
    """``x * y``, element by element.

    Parameters
    ----------
    x, y : Variable
        Of shapes that broadcast; of one type, float32, float64 or an integer type.
    axis : int, default -1
        The axis of `x` that the first axis of `y` lies along; -1: axes are matched from the last
        one, as NumPy's.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape that `x` and `y` broadcast to, of their type.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.elementwise_mul(to_variable([3.0, 4.0]), to_variable([2.0, -1.0])).tolist()
    [6.0, -4.0]
    """


@operator()
def elementwise_div(x, y, axis=-1, act=None, name=None):
    """``x / y``, element by element. Quotients of integers are rounded towards 0.

    Parameters
    ----------
    x, y : Variable
        Of shapes that broadcast; of one type, float32, float64 or an integer type.
    axis : int, default -1
        The axis of `x` that the first axis of `y` lies along; -1: axes are matched from the last
        one, as NumPy's.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape that `x` and `y` broadcast to, of their type.

    Raises
    ------
    InvalidArgumentError
        An integer is divided by 0.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.elementwise_div(to_variable([3.0, 4.0]), to_variable([2.0, -1.0])).tolist()
    [1.5, -4.0]
    >>> layers.elementwise_div(to_variable([-7]), to_variable([2])).tolist()
    [-3]
    """


@operator()
def elementwise_max(x, y, axis=-1, act=None, name=None):
    """The greater of `x` and `y`, element by element.

    NaN wins; of equal ones `x` gets the gradient.

    Parameters
    ----------
    x, y : Variable
        Of shapes that broadcast; of one type, float32, float64, int32 or int64.
    axis : int, default -1
        The axis of `x` that the first axis of `y` lies along; -1: axes are matched from the last
        one, as NumPy's.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape that `x` and `y` broadcast to, of their type.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.elementwise_max(to_variable([3.0, 4.0]), to_variable([2.0, 5.0])).tolist()
    [3.0, 5.0]
    """


@operator()
def elementwise_min(x, y, axis=-1, act=None, name=None):
    """The lesser of `x` and `y`, element by element.

    NaN wins; of equal ones `x` gets the gradient.

    Parameters
    ----------
    x, y : Variable
        Of shapes that broadcast; of one type, float32, float64, int32 or int64.
    axis : int, default -1
        The axis of `x` that the first axis of `y` lies along; -1: axes are matched from the last
        one, as NumPy's.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape that `x` and `y` broadcast to, of their type.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.elementwise_min(to_variable([3.0, 4.0]), to_variable([2.0, 5.0])).tolist()
    [2.0, 4.0]
    """


@operator()
def elementwise_pow(x, y, axis=-1, act=None, name=None):
    """``x`` to the power of ``y``, element by element.

    Parameters
    ----------
    x, y : Variable
        Of shapes that broadcast; of one type, float32, float64, int32 or int64.
    axis : int, default -1
        The axis of `x` that the first axis of `y` lies along; -1: axes are matched from the last
        one, as NumPy's.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape that `x` and `y` broadcast to, of their type.

    Raises
    ------
    InvalidArgumentError
        An integer has a negative power.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.elementwise_pow(to_variable([3.0, 4.0]), to_variable([2.0, 0.5])).tolist()
    [9.0, 2.0]
    """


@operator()
def elementwise_mod(x, y, axis=-1, act=None, name=None):
    """``x - floor(x / y) * y``: the remainder, with the sign of `y` as in Python.

    Parameters
    ----------
    x, y : Variable
        Of shapes that broadcast; of one type, float32, float64 or an integer type.
    axis : int, default -1
        The axis of `x` that the first axis of `y` lies along; -1: axes are matched from the last
        one, as NumPy's.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape that `x` and `y` broadcast to, of their type.

    Raises
    ------
    InvalidArgumentError
        An integer is divided by 0.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.elementwise_mod(to_variable([7, -7]), to_variable([3, 3])).tolist()
    [1, 2]
    """


@operator()
def elementwise_floordiv(x, y, axis=-1, act=None, name=None):
    """``floor(x / y)``, rounded down as in Python; Fluid rounds integers towards 0.

    Parameters
    ----------
    x, y : Variable
        Of shapes that broadcast; of one type, float32, float64 or an integer type.
    axis : int, default -1
        The axis of `x` that the first axis of `y` lies along; -1: axes are matched from the last
        one, as NumPy's.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape that `x` and `y` broadcast to, of their type.

    Raises
    ------
    InvalidArgumentError
        An integer is divided by 0.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.elementwise_floordiv(to_variable([7, -7]), to_variable([2, 2])).tolist()
    [3, -4]
    """


@layer
def addcmul(input, tensor1, tensor2, value=1.0, out=None, name=None):
    """``input + value * tensor1 * tensor2``, element by element.

    Parameters
    ----------
    input, tensor1, tensor2 : Variable
        Of shapes that broadcast; of one type.
    value : float, default 1.0
        The factor of the product.
    out : Variable, optional
        A variable of the type of the result, which is written to it and returned.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape that the three broadcast to, of their type.

    Raises
    ------
    ArgumentTypeError
        `value` is not a number.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x, y = to_variable([1.0, 2.0]), to_variable([3.0, 4.0])
    >>> layers.addcmul(x, x, y, value=0.5).tolist()
    [2.5, 6.0]
    """
    product = tensor1 * tensor2 * check.number(value, "addcmul: value")
    return into(out, input + product, "addcmul")


@layer
def clamp(input, min=None, max=None, output=None, name=None):
    """Each element moved into [min, max].

    Parameters
    ----------
    input : Variable
        Any shape; float32, float64, int32 or int64.
    min, max : float, optional
        The bounds; None: no bound.
    output : Variable, optional
        A variable of the type of `input`, which the result is written to and returned.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `input`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.clamp(to_variable([-1.0, 0.5, 2.0]), min=0.0, max=1.0).tolist()
    [0.0, 0.5, 1.0]
    """
    attrs = {"min": min, "max": max}
    return into(output, run("clip", {"X": input}, attrs)["Out"], "clamp")


@layer
def increment(x, value=1.0, in_place=True):
    """``x + value``, written to `x` itself unless `in_place` is False.

    Parameters
    ----------
    x : Variable
        One number, of float32, float64 or an integer type.
    value : float, default 1.0
        The summand.
    in_place : bool, default True
        Whether to write the sum to `x` and return `x`.

    Returns
    -------
    Variable
        `x`, or the sum in a variable of the same shape and type.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> i = to_variable([3])
    >>> layers.increment(i) is i, i.tolist()
    (True, [4])
    >>> layers.increment(i, 2.0, in_place=False).tolist(), i.tolist()
    ([6], [4])
    """
    result = run("increment", {"X": x}, {"step": check.number(value, "increment: value")})["Out"]
    return into(x, result, "increment") if in_place else result


@operator()
def clip(x, min, max, name=None):
    """``min(max(x, min), max)``: each element moved into [min, max]. NaN stays NaN.

    Parameters
    ----------
    x : Variable
        Any shape; float32, float64, int32 or int64.
    min, max : float or Variable
        The bounds; a Variable must have one element.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Raises
    ------
    InvalidArgumentError
        `max` is below `min`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.clip(to_variable([-1.0, 0.5, 2.0]), 0.0, 1.0).tolist()
    [0.0, 0.5, 1.0]
    """


@operator()
def clip_by_norm(x, max_norm, name=None):
    """``x`` if its L2 norm is at most `max_norm`, else ``x * max_norm / norm``.

    Parameters
    ----------
    x : Variable
        Any shape, float32 or float64; or SelectedRows, whose repeated rows are added first.
    max_norm : float
        The greatest norm of the result.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> layers.clip_by_norm(to_variable([6.0, 8.0]), 5.0).tolist()
    [3.0, 4.0]
    """


@operator()
def scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None):
    """``scale * x + bias``, or ``scale * (x + bias)`` if `bias_after_scale` is False.

    Parameters
    ----------
    x : Variable
        Any shape, float32, float64 or an integer type; or SelectedRows, without a bias.
    scale : float or Variable, default 1.0
        The factor; a Variable must have one element.
    bias : float, default 0.0
        The summand.
    bias_after_scale : bool, default True
        Whether to add after multiplying.
    act : str, optional
        The name of an activation to apply to the result, such as ``"relu"``.
    name : str, optional
        The name of the result in a program; an eager call does not use it.

    Returns
    -------
    Variable
        The shape and type of `x`.

    Examples
    --------
    >>> from dygraph import to_variable
    >>> from dygraph.static import layers
    >>> x = to_variable([1.0, 2.0])
    >>> layers.scale(x, 2.0, bias=1.0).tolist()
    [3.0, 5.0]
    >>> layers.scale(x, 2.0, bias=1.0, bias_after_scale=False).tolist()
    [4.0, 6.0]
    """


__all__ = [
    "addcmul", "clamp", "clip", "clip_by_norm", "elementwise_add", "elementwise_div",
    "elementwise_floordiv", "elementwise_max", "elementwise_min", "elementwise_mod",
    "elementwise_mul", "elementwise_pow", "elementwise_sub", "increment", "scale",
]  # fmt: skip
